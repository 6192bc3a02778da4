"""Proofs of dmlrs optima: the program of `proof.py` against enumeration."""

import json
import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.models.dmlrs import proof
from schedgap.models.dmlrs.exact.prove import prove_goal
from schedgap.models.method import Budget
from schedgap.models.proofs import check_proof, proof_data
from schedgap.solvers import Clock
from schedgap.solvers.proofs.prover import Proved
from strategies.dmlrs import best_schedule, dmlrs_instances


def as_file(instance: DmlrsInstance, goal: int, proved: Proved) -> dict[str, Any]:
    assert proved.proof is not None
    found = proved.proof
    data = proof_data(instance, goal, vectors=found.vectors, cuts=found.cuts, tree=found.tree)
    loaded: dict[str, Any] = json.loads(json.dumps(data))
    return loaded


def hold_to_enumeration(instance: DmlrsInstance) -> None:
    optimum, _ = best_schedule(instance)
    goal = proof.goal(instance, optimum)
    assert goal is not None
    proved = prove_goal(instance, goal, budget=Budget(Clock(60)))
    assert proved.reason == ""
    data = as_file(instance, goal, proved)
    assert check_proof(instance, data).status == "proved"
    # The program holds the optimal schedule: the claim that there is none is answered by it.
    reached = -math.floor(Fraction(optimum) * (1 - Fraction(1, 10**15)) * proof.units(instance))
    false = prove_goal(instance, reached, budget=Budget(Clock(60)))
    assert false.proof is None
    assert false.better is not None
    assert check_proof(instance, data | {"goal": reached}).status == "refused"


DRAWN = st.one_of(dmlrs_instances(), dmlrs_instances(wild=True), dmlrs_instances(exact=True))


@settings(max_examples=60, deadline=None)
@given(DRAWN)
def test_optima_are_proved_and_nothing_else(instance: DmlrsInstance) -> None:
    hold_to_enumeration(instance)


@pytest.mark.nightly
@settings(max_examples=3000, deadline=None)
@given(DRAWN)
def test_thousands_of_optima_are_proved_and_nothing_else(instance: DmlrsInstance) -> None:
    hold_to_enumeration(instance)
