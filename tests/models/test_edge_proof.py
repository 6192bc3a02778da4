"""Proofs of edge optima: the program of `proof.py` against enumeration."""

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.models.edge import proof
from schedgap.solvers import Clock
from schedgap.solvers.proofs.checker import (
    CUTS,
    Checked,
    ProgramSpace,
    RefusedError,
    check_tree,
    with_cuts,
)
from schedgap.solvers.proofs.covers import CoverSeparator
from schedgap.solvers.proofs.prover import Proved, prove
from strategies.edge import best_schedule, edge_instances, instance_of


def attempt(instance: EdgeInstance, goal: int) -> Proved:
    program = proof.program(instance, goal)
    return prove(program, clock=Clock(120), separate=[CoverSeparator(program)])


def checked(instance: EdgeInstance, goal: int, proved: Proved) -> Checked:
    assert proved.proof is not None
    data: dict[str, Any] = json.loads(
        json.dumps(
            {
                "vectors": proved.proof.vectors,
                "cuts": proved.proof.cuts,
                "tree": proved.proof.tree,
            }
        )
    )
    program = with_cuts(proof.program(instance, goal), data["cuts"], CUTS)
    return check_tree(ProgramSpace(program), data)


def hold_to_enumeration(instance: EdgeInstance) -> None:
    optimum, schedule = best_schedule(instance)
    if schedule is None:
        goal = sum(instance.horizon - job.arrival for job in instance.jobs)
        proved = attempt(instance, goal)
        assert proved.reason == "", "no schedule of any value"
        checked(instance, goal, proved)
        return
    assert isinstance(schedule, EdgeSchedule)
    assert math.isfinite(optimum)
    goal = proof.goal(instance, optimum)
    proved = attempt(instance, goal)
    assert proved.reason == ""
    checked(instance, goal, proved)
    # The program holds the optimal schedule: the claim that there is none is answered by it.
    false = attempt(instance, goal + 1)
    assert false.proof is None
    assert false.better is not None
    with pytest.raises(RefusedError):
        checked(instance, goal + 1, proved)


DRAWN = st.one_of(edge_instances(batch=None), edge_instances(batch=None, nasty=True))


@settings(max_examples=21, deadline=None)
@given(DRAWN)
def test_optima_are_proved_and_nothing_else(instance: EdgeInstance) -> None:
    hold_to_enumeration(instance)


@pytest.mark.nightly
@settings(max_examples=3000, deadline=None)
@given(DRAWN)
def test_thousands_of_optima_are_proved_and_nothing_else(instance: EdgeInstance) -> None:
    hold_to_enumeration(instance)


def test_long_waits_and_many_modes_are_refused_soon() -> None:
    far = {
        "horizon": 10**9,
        "servers": [
            {"id": "a", "kind": "edge", "workers": {}, "parameter_servers": {"cpu": 1}},
            {"id": "b", "kind": "edge", "workers": {"gpu": 10**9}, "parameter_servers": {}},
        ],
    }
    waits = instance_of([{"transfer_delay": {"a": 0, "b": 10**9}}], **far)
    large = {"chunks": 10**9, "epochs": 10**4, "minibatches_per_chunk": 10**4}
    modes = instance_of([large | {"transfer_delay": {"a": 0, "b": 0}}], **far)
    for instance in (waits, modes):
        with pytest.raises(RefusedError, match="too large to be written down"):
            proof.program(instance, 10**9)
