"""Proofs of edge optima: the program of `proof.py` against enumeration."""

import json
import math
import random
import re
from itertools import product
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.instances.generate import generate
from schedgap.models.edge import proof
from schedgap.models.edge.exact import prove as prove_module
from schedgap.models.method import Budget
from schedgap.models.proofs import check_here, proof_data
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
from schedgap.solvers.proofs.prover import Proved, Prover, prove
from schedgap.solvers.proofs.runs import Prices
from strategies.clocks import StopAt
from strategies.edge import best_schedule, edge_instances, instance_of
from strategies.edge_stops import GAPS


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


@pytest.mark.parametrize("readings", [1, 2, 5])
def test_a_search_goes_on_where_it_was_stopped(readings: int) -> None:
    """The clock is up after so many readings, again and again; the proof is as good."""
    goal = int(best_schedule(GAPS)[0]) - 1
    program = proof.program(GAPS, goal)
    prover = Prover(program, [CoverSeparator(program)])
    stops = 0
    while (found := prover.search(StopAt(readings + stops // 20))).proof is None:
        assert found.reason and found.better is None
        stops += 1
    assert stops > 3
    checked(GAPS, goal, found)


def hold_pools_to_enumeration(instance: EdgeInstance, seed: int) -> None:
    """Prove by programs without the runs that prices leave out; any prices keep good schedules."""
    optimum, schedule = best_schedule(instance)
    goal, budget = proof.goal(instance, None if schedule is None else optimum), Budget(Clock(120))
    with mock.patch.object(prove_module, "FEW_RUNS", 0):
        proved = prove_module.prove_goal(instance, goal, budget=budget)
        assert proved.proof is not None
        found = proved.proof
        data = proof_data(instance, goal, vectors=found.vectors, cuts=found.cuts, tree=found.tree)
        data = json.loads(json.dumps(data))
        assert check_here(instance, data).status == "proved"
        if schedule is None:
            return
        assert check_here(instance, data | {"goal": goal + 1}).status == "refused"
        better = prove_module.prove_goal(instance, goal + 1, budget=budget).better
        assert better is not None and better.value(instance) == optimum
    rng, model = random.Random(seed), proof.Model(instance, goal + 1)
    for _ in range(3):
        cells = [
            [s, k, t, rng.choice([0, 1, 1, 5])]
            for s in range(len(instance.servers))
            for k in range(len(model.types))
            for t in range(1, model.last + 1)
            if rng.random() < 0.5
        ]
        model.reduce({"o": rng.choice([0, 1, 2, 9]), "p": cells})
    model.write()
    attempted = prove(model.program, clock=Clock(120))
    assert attempted.better is not None
    better = prove_module.schedule_of(instance, model, attempted.better)
    assert better is not None and better.value(instance) == optimum


@settings(max_examples=25, deadline=None)
@given(DRAWN, st.integers(0, 10**6))
def test_prices_leave_out_no_run_of_a_good_schedule(instance: EdgeInstance, seed: int) -> None:
    hold_pools_to_enumeration(instance, seed)


@pytest.mark.nightly
@settings(max_examples=2000, deadline=None)
@given(DRAWN, st.integers(0, 10**6))
def test_prices_leave_out_no_run_of_thousands_of_good_schedules(
    instance: EdgeInstance, seed: int
) -> None:
    hold_pools_to_enumeration(instance, seed)


def test_a_run_pays_for_the_cheapest_servers_that_can_hold_it() -> None:
    instance, rng = generate("edge", preset="medium", seed=1), random.Random(1)
    assert isinstance(instance, EdgeInstance)
    model = proof.Model(instance, 120)
    cells = [
        [s, k, t, rng.randint(1, 50)]
        for s, k, t in product(range(4), range(len(model.types)), range(1, model.last + 1))
    ]
    prices = Prices({"o": 1, "p": cells}, model.capacity, model.before, model.last)
    chosen = [(j, run) for j, own in enumerate(model.runs) for run in rng.sample(own, 20)]
    for j, run in chosen:
        (u, v), mode = model.type_of[j], run.mode
        time = run.start, mode.duration
        limits = model.limits(j, mode, run.start)
        if run.server is not None:
            limits = {run.server: limits[run.server]}
        least = min(
            sum(n * prices.of(s, u, *time) for s, n in zip(limits, counts, strict=True))
            + prices.of(host, v, *time)
            for counts in product(*(range(n + 1) for n in limits.values()))
            if sum(counts) == mode.workers
            for host in limits
            if model.capacity[host][v] >= 1
        )
        assert model._price(j, run, prices) == least
    assert {run.server is None for _, run in chosen} == {True, False}


def test_prices_leave_out_most_runs() -> None:
    instance = generate("edge", preset="medium", seed=1)
    assert isinstance(instance, EdgeInstance)
    model = proof.Model(instance, 119)  # 120 is the optimum
    model.write()
    before = sum(map(len, model.runs))
    pool = prove_module.priced(model, Budget(Clock(60)))
    assert model.reduce(pool) >= 0
    assert 0 < sum(map(len, model.runs)) < 0.2 * before


@pytest.mark.parametrize(
    ("pool", "why"),
    [
        ({"o": -1, "p": []}, "/vectors/1/o: needs a number >= 0"),
        ({"o": 1, "p": [[0, 0, 1]]}, "/vectors/1/p: needs [server, resource, slot, price]"),
        ({"o": 1, "p": [[0, 0, 1, -1]]}, "/vectors/1/p: no such price"),
        ({"o": 1, "p": [[9, 0, 1, 1]]}, "/vectors/1/p: no such price"),
        ({"o": 1, "p": [[0, 99, 1, 1]]}, "/vectors/1/p: no such price"),
        ({"o": 1, "p": [[0, 0, 0, 1]]}, "/vectors/1/p: no such price"),
        ({"o": 1, "p": [[0, 0, 1, 1], [0, 0, 1, 0]]}, "/vectors/1/p: no such price, or a second"),
        ({"o": 1, "p": [[0, 0, 1, 0.5]]}, "/vectors/1/p: needs a whole number"),
        ({"o": 1, "p": 7}, "/vectors/1/o: needs a number >= 0 and a list of prices"),
    ],
)
def test_a_pool_that_is_none_is_refused(pool: dict[str, Any], why: str) -> None:
    instance = instance_of([{}])
    with pytest.raises(RefusedError, match=re.escape(why)):
        proof.space(instance, 5, {"cuts": [], "vectors": [{"o": 1, "d": []}, pool]})


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
