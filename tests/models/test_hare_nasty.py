"""Near-equal, unrepresentable and far-apart numbers: bounds and schedules against enumeration."""

import warnings
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

import schedgap as sg
from schedgap.errors import ScaleError
from schedgap.instances.hare import HareInstance
from schedgap.models.hare import FAMILY, rules
from schedgap.models.hare.baselines.gavel_fifo import gavel_fifo
from schedgap.models.hare.baselines.sched_allox import sched_allox
from schedgap.models.hare.baselines.sched_homo import sched_homo
from schedgap.models.hare.baselines.srtf import srtf
from schedgap.models.hare.bounds.certificates import check_certificate
from schedgap.models.hare.decode import left_shifted_schedule, to_steps, value_of
from schedgap.models.hare.exact import branch_and_price
from schedgap.models.hare.heuristics.initial import starting_schedules
from schedgap.models.hare.heuristics.local_search import LocalSearch
from schedgap.models.hare.integer_time import steps
from schedgap.models.hare.methods import METHODS
from schedgap.models.hare.programs.relaxation_arrays import (
    Separate,
    separate_full_set,
    separate_prefixes,
)
from schedgap.models.hare.programs.solve_relaxation import solve_relaxation
from schedgap.models.method import Budget, NullProgress, RunContext
from schedgap.solvers import Clock
from strategies.hare import brute_force, instance_of, nasty_instances
from strategies.hare_batch import answers_of

SLACK = 1e-9  # relative, of sums of doubles


def _schedules_hold(instance: HareInstance, optimum: float) -> None:
    search = LocalSearch(instance)
    search.improve(Clock(), 20)
    found = [
        search.incumbent,
        *starting_schedules(instance),
        *(baseline(instance) for baseline in (gavel_fifo, srtf, sched_allox, sched_homo)),
    ]
    for schedule in found:
        for each in (schedule, left_shifted_schedule(instance, schedule, "relaxed")):
            data = each.to_data(instance)
            assert [str(item) for item in rules.check(instance, data, {})] == []
            assert rules.objective(instance, data) >= optimum * (1 - SLACK)


def _bounds_hold(instance: HareInstance, optimum: float) -> None:
    for name, options in (
        ("job-alone", {}),
        ("fluid-lp", {"cells": 5}),
        ("lagrangian", {"cells": 5, "rounds": 3, "steps": 4}),
    ):
        [method] = [method for method in METHODS if method.name == name]
        engine = next(iter(method.engines), None)
        call = RunContext(method.parse(options), engine, Budget(Clock(20)), NullProgress())
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            outcome = FAMILY.run(method, instance, call)
        assert outcome.bound is not None
        assert outcome.bound <= optimum * (1 + SLACK), name
        assert check_certificate(instance, outcome.certificate or {}) == outcome.bound


@settings(max_examples=25, deadline=None)
@given(nasty_instances())
def test_nasty_numbers_make_no_schedule_wrong(instance: HareInstance) -> None:
    _schedules_hold(instance, brute_force(instance))


@settings(max_examples=9, deadline=None, suppress_health_check=list(HealthCheck))
@given(nasty_instances(max_tasks=4))
def test_nasty_numbers_make_no_bound_wrong(instance: HareInstance) -> None:
    _bounds_hold(instance, brute_force(instance))


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(nasty_instances(max_tasks=4))
def test_a_tree_of_nasty_numbers_is_right_or_refuses(instance: HareInstance) -> None:
    try:
        whole = steps(instance)
    except ScaleError:
        return
    start = gavel_fifo(instance)
    try:
        found = branch_and_price.BranchAndPrice(instance, start, budget=Budget()).run()
    except ValueError:
        assert branch_and_price.refusal(
            instance, value_of(instance, to_steps(instance, start), start.gpu)
        )
        return
    optimum = brute_force(instance)
    assert found.lower == found.upper
    assert whole.to_objective(found.upper) == pytest.approx(optimum, rel=SLACK)


THIRD = instance_of(
    {"g1": "a"},
    [
        {"rounds": 2, "tasks_per_round": 1, "training_time": {"a": 1 / 3}},
        {"rounds": 1, "tasks_per_round": 1, "training_time": {"a": 0.7}, "arrival": 0.1,
         "weight": 2},
    ],
)  # fmt: skip


def test_exact_brackets_an_optimum_that_no_step_holds() -> None:
    """The weights of the second need more steps in one unit than there are, too."""
    for instance in (THIRD, _with_weights(THIRD, [1 / 7, 1e3])):
        optimum = brute_force(instance)
        solution = sg.solve(instance, "exact", time_limit=20)
        assert sg.verify(instance, solution)
        assert solution.objective is not None and solution.bound is not None
        assert solution.objective >= optimum * (1 - SLACK)
        assert 0.8 * optimum <= solution.bound <= optimum * (1 + SLACK)
        assert "integer steps per unit" in solution.trace["note"]


def test_no_task_is_placed_across_one_whose_length_is_lost_in_its_end() -> None:
    """As doubles, 1e9 + 1e-9 is 1e9. J1 would fit before J2 if it arrived 0.001 earlier."""
    task = {"rounds": 1, "tasks_per_round": 1}
    instance = instance_of(
        {"g1": "k"},
        [
            {**task, "training_time": {"k": 1e9}, "arrival": 0.001},
            {**task, "training_time": {"k": 1e-9}, "arrival": 1e9},
        ],
    )
    _schedules_hold(instance, brute_force(instance))


def test_fixed_synchronization_is_bracketed_too() -> None:
    job = {"rounds": 1, "tasks_per_round": 2, "training_time": {"a": 1 / 3}}
    instance = instance_of({"g1": "a", "g2": "a"}, [job, job | {"tasks_per_round": 1}])
    solution = sg.solve(instance, "exact", time_limit=20, synchronization="fixed")
    assert sg.verify(instance, solution)
    assert solution.objective == pytest.approx(1.0) and solution.bound is not None
    assert solution.bound <= 1.0 + SLACK


def _with_weights(instance: HareInstance, weights: list[float]) -> HareInstance:
    data = instance.to_data()
    jobs = [{**job, "weight": w} for job, w in zip(data["jobs"], weights, strict=True)]
    return HareInstance.from_data({**data, "jobs": jobs})


def test_engines_agree_with_enumeration_on_near_equal_times() -> None:
    """Lengths that differ by 1e-6 of themselves: whole steps a million times finer."""
    job = {"rounds": 1, "tasks_per_round": 1}
    instance = instance_of(
        {"g1": "k", "g2": "k"},
        [
            {**job, "training_time": {"k": 1 + 1e-6}, "weight": 2},
            {**job, "training_time": {"k": 1}, "weight": 1.999999},
            {**job, "training_time": {"k": 1.000002}, "weight": 2},
            {**job, "training_time": {"k": 2 - 1e-6}, "weight": 1},
        ],
    )
    optimum = brute_force(instance)
    for name, engine in (("cp-sat", "cp-sat"), ("big-m", "highs")):
        [answer] = answers_of(name, engine, [instance], seconds=20.0)
        assert not answer["violations"]
        assert answer["objective"] >= optimum * (1 - SLACK)
        assert answer["bound"] <= optimum * (1 + SLACK)
        if name == "cp-sat":
            assert answer["objective"] == pytest.approx(optimum, rel=1e-12)


@pytest.mark.nightly
@settings(max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck))
@given(nasty_instances())
def test_thousands_of_nasty_instances(instance: HareInstance) -> None:
    optimum = brute_force(instance)
    _schedules_hold(instance, optimum)
    _bounds_hold(instance, optimum)


FAR: list[dict[str, Any]] = [
    {"id": "J1", "arrival": 0, "weight": 1, "rounds": 1, "tasks_per_round": 2,
     "training_time": {"k": 1e9, "l": 0.001}},
    {"id": "J2", "arrival": 0, "weight": 1e-9, "rounds": 2, "tasks_per_round": 1,
     "training_time": {"k": 1.0, "l": 1e6}},
]  # fmt: skip
TINY: list[dict[str, Any]] = [
    {"id": "J1", "arrival": 0, "weight": 1e-9, "rounds": 3, "tasks_per_round": 1,
     "training_time": {"k": 0.001, "l": 0.001}, "synchronization_time": {"k": 1, "l": 1}},
]  # fmt: skip


@pytest.mark.parametrize(("jobs", "optimum"), [(FAR, 0.002000002), (TINY, 3.003e-9)])
@pytest.mark.parametrize("separate", [separate_full_set, separate_prefixes])
def test_an_engines_tolerance_lifts_no_bound(
    jobs: list[dict[str, Any]], optimum: float, separate: Separate
) -> None:
    """Engines said 3.0035 and 4.004e-9."""
    instance = HareInstance.from_data(
        {
            "family": "hare", "version": 1, "name": "t", "meta": {"time_unit": "s"},
            "gpu_kinds": [{"id": "k"}, {"id": "l"}],
            "gpus": [{"id": "g1", "kind": "k"}, {"id": "g2", "kind": "l"}], "jobs": jobs,
        }
    )  # fmt: skip
    for engine in ("highs", "gurobi"):
        call = RunContext({}, engine, Budget(Clock(10)), NullProgress())
        try:
            bound = solve_relaxation(instance, call, separate, integer=True).bound
        except ScaleError:
            continue
        assert bound is None or bound <= optimum * (1 + 1e-6)
