"""AlloX against brute force, its program, its rules and its certificates, on random instances."""

from itertools import permutations, product
from typing import Any

import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import schedgap as sg
from allox_family import FAMILY, AlloxInstance, algorithms, exact, programs, rules
from schedgap.extend import Clock, InputError, solve_program

JOBS = st.lists(st.tuples(st.integers(0, 4), st.integers(1, 6), st.integers(1, 6)), max_size=4,
                min_size=1)  # fmt: skip
POLICIES = (algorithms.allox, algorithms.best_fit, algorithms.shortest_queue,
            algorithms.shortest_first)  # fmt: skip


def instance(jobs: list[tuple[int, int, int]], cpus: int = 1, gpus: int = 1) -> AlloxInstance:
    listed = [{"id": f"j{k}", "arrival": a, "cpu": c, "gpu": g} for k, (a, c, g) in enumerate(jobs)]
    data = {"family": "allox", "version": 1, "name": "t", "cpus": cpus, "gpus": gpus}
    return AlloxInstance.from_data({**data, "jobs": listed})


def brute_force(problem: AlloxInstance) -> int:
    """The least value over all orders of the jobs and all machines for them."""
    values = []
    for order in permutations(problem.jobs):
        for machines in product(range(problem.cpus + problem.gpus), repeat=len(order)):
            free, total = [0] * (problem.cpus + problem.gpus), 0
            for job, m in zip(order, machines, strict=True):
                time = job.cpu if m < problem.cpus else job.gpu
                free[m] = max(free[m], job.arrival) + time
                total += free[m] - job.arrival
            values.append(total)
    return min(values)


def value(problem: AlloxInstance, schedule: Any) -> float:
    data = schedule.to_data(problem)
    assert not list(rules.check(problem, data, {}))
    return rules.objective(problem, data)


@settings(max_examples=40, deadline=None)
@given(JOBS, st.integers(1, 2))
def test_no_policy_beats_brute_force_and_the_matching_attains_it(jobs: Any, cpus: int) -> None:
    problem = instance(jobs, cpus)
    best = brute_force(problem)
    assert all(value(problem, policy(problem)) >= best for policy in POLICIES)
    queued = instance([(0, cpu, gpu) for _, cpu, gpu in jobs], cpus)
    assert value(queued, algorithms.allox(queued)) == brute_force(queued)


@settings(max_examples=20, deadline=None)
@given(JOBS, st.data())
def test_no_prices_prove_more_than_the_optimum(jobs: Any, data: Any) -> None:
    """Prices for other machines, positions or slots than the instance has included."""
    problem = instance(jobs)
    row = st.lists(st.integers(0, 12), max_size=len(jobs) + 20)
    table = st.lists(st.lists(st.integers(0, 12), max_size=5), max_size=3)
    for prices in (
        {"kind": "positions", "prices": [[3] * len(jobs)] * 2},
        {"kind": "positions", "prices": [[3] * len(jobs)]},
        {"kind": "positions", "prices": data.draw(table)},
        {"kind": "slots", "cpu": data.draw(row), "gpu": data.draw(row)},
        {"kind": "slots"} | dict.fromkeys(("cpu", "gpu"), data.draw(row)),
    ):
        try:
            bound = exact.check_certificate(problem, prices)
        except InputError:
            continue
        assert bound <= brute_force(problem) + 1e-9


def test_prices_prove_the_bound_of_the_relaxation() -> None:
    problem = instance([(1, 4, 2), (0, 3, 5), (0, 1, 2)])
    relaxed = sg.solve(problem, "lp")
    assert relaxed.bound == 7 == brute_force(problem)
    assert exact.check_certificate(problem, relaxed.certificate or {}) == pytest.approx(7)


def test_a_constraint_may_be_added_to_the_program() -> None:
    """The jobs run one after the other: later than in any schedule as good as AlloX's."""
    problem = instance([(0, 2, 1)] * 4)
    model = programs.time_indexed(problem)
    model.no_gpu = pyo.Constraint(expr=sum(x for (_, kind, _), x in model.x.items()
                                           if kind == "gpu") == 0)  # fmt: skip
    assert solve_program(model, "highs", clock=Clock(20)).objective == pytest.approx(2 + 4 + 6 + 8)


def test_the_longest_jobs_have_schedules() -> None:
    longest = instance([(0, 10**6, 10**6)] * 4)
    assert value(longest, algorithms.allox(longest)) == 6 * 10**6


@pytest.mark.parametrize(("preset", "seed"), [("queued", 1), ("arrivals", 1)])
def test_the_program_equals_brute_force(preset: str, seed: int) -> None:
    problem = sg.generate("allox", preset=preset, seed=seed, settings={"jobs": 4, "span": 6}
                          if preset == "arrivals" else {"jobs": 4})  # fmt: skip
    assert isinstance(problem, AlloxInstance)
    found = sg.solve(problem, "exact")
    assert found.objective == found.bound == brute_force(problem)
    checked = sg.verify(problem, found)
    assert checked and (checked.complete or preset == "arrivals")  # by the certificate alone
    model = programs.time_indexed(problem)  # it is exact for both
    assert solve_program(model, "highs", clock=Clock(20)).objective == pytest.approx(found.bound)


def test_each_rule_is_checked() -> None:
    problem = instance([(0, 2, 1), (3, 2, 1)])
    right = {"job": "j0", "machine": "cpu-1", "start": 0}
    last = {"job": "j1", "machine": "cpu-1", "start": 3}
    for jobs, broken in (
        ([right, last], set()),
        ([right], {"V1"}),
        ([right, last, last | {"job": "j9"}], {"V1"}),
        ([right, last | {"machine": "tpu-1"}], {"V2"}),
        ([right, last | {"start": 2}], {"V3"}),
        ([right | {"start": 2}, last], {"V4"}),
    ):
        assert {each.rule for each in rules.check(problem, {"jobs": jobs}, {})} == broken, jobs
    with pytest.raises(InputError, match=r"^schedule.jobs\[0\].start: not an integer, got 1.5"):
        list(rules.check(problem, {"jobs": [right | {"start": 1.5}]}, {}))


def test_the_guarantee_holds_without_arrivals_only() -> None:
    for arrival, holds in ((0, True), (1, False)):
        promise = FAMILY.paper.guarantee(instance([(0, 1, 1), (arrival, 1, 1)]), "allox", {})
        assert promise["factor"] == 1 and promise["holds"] is holds
