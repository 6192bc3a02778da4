"""`exact` of family `dmlrs` by its parts: bounds of item prices, and the search slot by slot."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedgap.instances.dmlrs import DmlrsSchedule
from schedgap.models.dmlrs import proof, rules
from schedgap.models.dmlrs.bounds.machine_patterns import (
    PatternItem,
    PatternMaster,
    evaluate_prices,
    generate_patterns,
)
from schedgap.models.dmlrs.bounds.solve_relaxations import initial_state
from schedgap.models.dmlrs.exact import exact as exact_module
from schedgap.models.dmlrs.exact import logic_based_benders, stages
from schedgap.models.dmlrs.exact.exact import exact
from schedgap.models.dmlrs.exact.logic_based_benders import benders_stage
from schedgap.models.mechanisms.knapsack import NodeBudget
from schedgap.models.method import Budget, NullProgress, RunContext
from schedgap.solvers import Clock
from strategies.dmlrs import best_schedule, dmlrs_instances, optimum
from strategies.dmlrs_examples import TOY, TOY_2, instance_of, job
from strategies.dmlrs_methods import run
from strategies.engines import needs

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}


def bound_by_patterns(instance):
    """The best bound of item prices."""
    prices, bounds = np.zeros((instance.horizon, len(instance.resources))), []
    generate_patterns(
        instance, prices, budget=Budget(Clock(30)), on_bound=lambda bound, at: bounds.append(bound)
    )
    return min(bounds)


@st.composite
def priced(draw):
    """An instance, and the bound of any item prices."""
    instance = draw(dmlrs_instances(max_machines=3))
    made = PatternMaster(instance)
    size = instance.horizon * len(made.items)
    drawn = draw(st.lists(st.sampled_from([0, 0, 0.1, 0.5, 2]), min_size=size, max_size=size))
    price = np.array(drawn, dtype=float).reshape(instance.horizon, -1)
    return instance, evaluate_prices(made, price, Clock(30)).bound


def worth(instance, schedule):
    data = schedule.to_data(instance)
    assert list(rules.check(instance, data, {})) == []
    return rules.objective(instance, data)


def from_nothing(instance):
    """Return what the decomposition finds and proves without a search before it."""
    call = RunContext({}, "highs", Budget(Clock(60)), NullProgress())
    found = initial_state(instance, call)
    if not found.closed:
        report = benders_stage(found, instance, found.upper, master="highs", budget=call.budget)
        assert report.complete
    assert found.lower == pytest.approx(found.upper, rel=1e-6, abs=1e-6)
    return worth(instance, found.schedule)


def near(best):
    return pytest.approx(best, rel=1e-6, abs=1e-6)


def above_optimum(instance):
    """Return how far the bound of `exact` is above the optimum of brute force, which it finds."""
    found, best = run("exact", instance), optimum(instance)
    assert worth(instance, found.schedule) == near(best)
    return (found.bound - best) / max(1, best)


@settings(max_examples=27, **QUIET)
@given(priced())
def test_any_item_prices_bound_the_optimum(made):
    instance, bound = made
    assert optimum(instance) <= bound + 1e-9


@settings(max_examples=25, **QUIET)
@given(dmlrs_instances(max_machines=3))
def test_a_search_from_nothing_is_the_optimum(instance):
    assert from_nothing(instance) == near(optimum(instance))


def test_prices_of_zero_bound_each_job_alone():
    made = PatternMaster(TOY_2)
    free = evaluate_prices(made, np.zeros((TOY_2.horizon, len(made.items))), Clock(30))
    assert free.bound == pytest.approx(3 + 9)


@pytest.mark.parametrize("most", [0.0, 9.0, 10 - 1e-3])
def test_a_better_schedule_is_found_from_any_incumbent(most):
    found = initial_state(TOY_2, RunContext({}, "highs", Budget(Clock(60)), NullProgress()))
    report = benders_stage(found, TOY_2, -most, master="highs", budget=Budget(Clock(60)))
    assert report.complete and found.closed and -found.upper == 10


def test_a_search_out_of_time_proves_nothing():
    found = initial_state(TOY_2, RunContext({}, "highs", Budget(Clock(60)), NullProgress()))
    before = found.lower
    report = benders_stage(found, TOY_2, 0.0, master="highs", budget=Budget(Clock(0.0)))
    assert not report.complete and found.lower == before


def by_a_hair():
    """j1 is worth 8 and would do 1 - 1e-9 - 8e-17 of its work: the rules refuse it. j2 is worth 5.

    Its worker fits one machine and its PS the other, which both have room for one job.
    """
    hair = {
        "epochs": 1, "samples": 7, "batch_size": 1, "gradient_size": 1.0,
        "time_per_sample": 0.32142857142857145, "worker_ps_ratio": 3.0,
        "internal_bandwidth": 56.0, "worker_demand": {"gpu": 2.5, "cpu": 0},
        "ps_demand": {"gpu": 0.5, "cpu": 0},
    }  # fmt: skip
    jobs = [
        job("j1", 1, [8, 8, 8], **hair, external_bandwidth=55.99999977599998),
        job("j2", 1, [5, 5, 5], **hair, external_bandwidth=56.0),
    ]
    return instance_of(jobs, [{"gpu": 2.5, "cpu": 0}, {"gpu": 0.5, "cpu": 0}], 3)


def test_a_schedule_that_the_rules_refuse_by_a_hair_closes_no_gap():
    instance = by_a_hair()
    call = RunContext({}, "highs", Budget(Clock(60)), NullProgress())
    found = initial_state(instance, call)
    assert not stages.refute_utilities(instance, found, call.budget)
    assert optimum(instance) == 5 <= -found.lower
    report = benders_stage(found, instance, -5.0, master="highs", budget=call.budget)
    assert not report.complete


def test_numbers_too_large_for_cp_sat_end_the_search():
    """One to 140 workers of 10^9 each: in thousandths, the coefficients of (5) exceed 2^53."""
    large = {
        "epochs": 1, "samples": 200, "batch_size": 140, "worker_ps_ratio": 1.0,
        "gradient_size": 1.0, "time_per_sample": 1.0, "internal_bandwidth": 4.0,
        "external_bandwidth": 2.0, "worker_demand": {"gpu": 5e8, "cpu": 0},
        "ps_demand": {"gpu": 5e8, "cpu": 0},
    }  # fmt: skip
    instance = instance_of([job("j", 1, [9, 8, 7, 6], **large)], [{"gpu": 1e9, "cpu": 0}] * 140)
    call = RunContext({}, "highs", Budget(Clock(60)), NullProgress())
    found = initial_state(instance, call)
    report = found.child(
        "benders",
        benders_stage,
        instance,
        0.0,
        master="cp-sat",
        budget=call.budget,
        engine="cp-sat",
    )
    assert not report.complete and "2^53" in report.trace["note"]


def test_a_schedule_that_is_better_only_by_rounding_is_cut_off(monkeypatch):
    """With costs of two bits 9 and 10 are the same. Then some job must earn more, and none can."""
    monkeypatch.setattr(logic_based_benders, "COST_BITS", 2)
    instance = instance_of([job("j1", 1, [9.0] * 4)])
    call = RunContext({}, "highs", Budget(Clock(60)), NullProgress())
    found = initial_state(instance, call)
    report = benders_stage(found, instance, -9.0, master="highs", budget=call.budget)
    assert report.complete and report.trace["rounds"] == 2


def test_some_job_earns_more_than_in_a_solution_that_misses_the_goal():
    """A job that completes second-best earns more only by its best completion."""
    instance = instance_of([job("j1", 1, [9, 8, 7, 6]), job("j2", 1, [9, 8, 7, 6])])
    model = proof.Model(instance, proof.goal(instance, 0.0))
    chosen = np.zeros(len(model.program.cost), dtype=bool)
    first, second = model.completions
    own = sorted(first)
    chosen[first[own[1]]] = True
    row, least, most = logic_based_benders._improvement(model, chosen)
    assert (least, most) == (1, None)
    assert row == dict.fromkeys([first[own[0]], *second.values()], 1)


def test_an_answer_that_is_not_confirmed_proves_nothing(monkeypatch):
    monkeypatch.setattr(
        logic_based_benders,
        "confirm",
        lambda program, engine, first, **settings: (
            replace(first, status="unknown"),
            "differently",
        ),
    )
    found = initial_state(TOY_2, RunContext({}, "highs", Budget(Clock(60)), NullProgress()))
    before = found.lower
    report = benders_stage(found, TOY_2, -10.0, master="highs", budget=Budget(Clock(60)))
    assert not report.complete and found.lower == before


def test_small_utilities_count():
    """The largest utility is 2^31 units; j2 and j3 are worth 10^-6 and 2 * 10^-6 of it."""
    instance = instance_of([job(f"j{u}", 1, [u] * 4) for u in (1e3, 1e-3, 2e-3)])
    assert from_nothing(instance) == near(optimum(instance))


@settings(max_examples=9, **QUIET)
@given(dmlrs_instances())
def test_exact_agrees_with_brute_force(instance):
    assert -1e-9 <= above_optimum(instance) <= 1e-6


@pytest.mark.nightly
@settings(max_examples=600, **QUIET)
@given(priced())
def test_at_length(made):
    instance, bound = made
    assert optimum(instance) <= bound + 1e-9
    assert from_nothing(instance) == near(optimum(instance))
    assert -1e-9 <= above_optimum(instance) <= 1e-6


@settings(max_examples=40, **QUIET)
@given(dmlrs_instances(max_machines=3), st.data())
def test_no_machine_earns_more_than_its_knapsack(instance, data):
    """Nor does any slot of the best schedule pay more than its machines, whatever the prices."""
    made = PatternMaster(instance)
    size = len(made.items)
    drawn = data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=size, max_size=size))
    price = np.array(drawn)
    _, schedule = best_schedule(instance)
    for t in range(1, instance.horizon + 1):
        earned = sum(
            made.machines[q] * made.knapsack(q, t, price, NodeBudget(10**6))[0]
            for q in range(len(made.machines))
        )
        paid = 0.0
        for i, plan in schedule.plans(instance).items():
            counts = plan.get(t, {})
            workers, ps = (sum(pair[k] for pair in counts.values()) for k in (0, 1))
            if len(counts) == 1:
                paid += price[made.index[PatternItem(i, workers, ps, True)]]
            elif counts:
                worker, server = (
                    made.index[PatternItem(i, *unit, False)] for unit in ((1, 0), (0, 1))
                )
                paid += workers * price[worker] + ps * price[server]
        assert paid <= earned + 1e-9


def crowd():
    """Three jobs of one worker of 3 GPUs in slot 1, worth 9, 8, 7; two machines of 4 GPUs."""
    large = {
        "epochs": 1, "samples": 1, "batch_size": 1, "worker_ps_ratio": 1.0, "gradient_size": 1.0,
        "time_per_sample": 0.5, "internal_bandwidth": 4.0, "external_bandwidth": 4.0,
        "worker_demand": {"gpu": 3, "cpu": 1},
    }  # fmt: skip
    jobs = [job(f"j{u}", 1, [u, 0, 0, 0], **large) for u in (9, 8, 7)]
    return instance_of(jobs, [{"gpu": 4, "cpu": 9}] * 2)


def pairs():
    """Two jobs of 3 worker-slots in pairs of workers, for slots 1 and 2: one of them fits."""
    paired = {"time_per_sample": 0.05 - 8 / 300, "external_bandwidth": 300.0}
    jobs = [job(name, 1, [u, u, 0, 0], **paired) for name, u in (("j1", 9), ("j2", 8))]
    return instance_of(jobs, [{"gpu": 3, "cpu": 9}], ps_rule="exact")


def test_machines_as_they_are_bound_better_than_all_as_one():
    """Two workers in a slot: 9 + 8. All as one, 8 GPUs hold two and 2/3: 9 + 8 + 7 x 2/3."""
    assert run("colgen", crowd()).bound == pytest.approx(17 + 14 / 3, rel=1e-4)
    assert bound_by_patterns(crowd()) == pytest.approx(17, rel=1e-3)


@pytest.mark.parametrize("instance", [TOY_2, crowd(), pairs()])
def test_contention(instance):
    assert from_nothing(instance) == near(optimum(instance))


@pytest.mark.parametrize(("instance", "best"), [(TOY, 20), (TOY_2, 10), (instance_of([]), 0)])
def test_the_toys(instance, best):
    found = run("exact", instance)
    assert worth(instance, found.schedule) == best == pytest.approx(found.bound)


def test_unlike_machines():
    """j1 runs on the machine of 2 GPUs for two slots; the other one holds a worker: 1 of 4."""
    instance = instance_of(
        [job("j1", 1, [10.0, 8.0, 2.0, 0.0])], [{"gpu": 1, "cpu": 2}, {"gpu": 2, "cpu": 4}]
    )
    assert list(PatternMaster(instance).machines) == [1, 1]
    assert -1e-9 <= above_optimum(instance) <= 1e-6


def test_a_large_instance_is_searched_only(monkeypatch):
    monkeypatch.setattr("schedgap.models.dmlrs.bounds.machine_patterns.MAX_ROWS", 1)
    outcome = exact(
        TOY_2,
        RunContext({}, "highs", Budget(Clock(30)), NullProgress()),
    )
    assert isinstance(outcome.schedule, DmlrsSchedule) and outcome.bound >= 10 - 1e-9


@pytest.mark.parametrize("installed", [True, False])
def test_exact_decides_with_cp_sat_or_highs(monkeypatch, installed):
    """Without all other stages: 6 of 6 GPUs, but a machine of 3 holds one job of 2 workers.

    c_int = 0.04 + 16/300, 21 samples: N_int = 1.96; across machines an exchange takes 16 slots.
    """
    if installed:
        needs("cp-sat")
    pair = {"samples": 21, "epochs": 1, "batch_size": 2, "external_bandwidth": 1.0}
    jobs = [job(f"j{u}", 1, [u], **pair) for u in (9.0, 8.0, 7.0)]
    instance = instance_of(jobs, [{"gpu": 3, "cpu": 9}] * 2, horizon=1)
    prices = np.zeros((1, len(instance.resources)))
    monkeypatch.setattr(stages, "is_installed", lambda engine: installed)
    monkeypatch.setattr(exact_module, "search", lambda *args, **settings: None)
    for stage in ("list_stage", "solve_columns"):
        monkeypatch.setattr(exact_module, stage, lambda *args, **settings: prices)
    monkeypatch.setattr(exact_module, "bound_by_patterns", lambda *args: None)
    for module in (exact_module, stages):
        monkeypatch.setattr(module, "refute_utilities", lambda *args, **settings: False)
    found = exact(instance, RunContext({}, "highs", Budget(Clock(60)), NullProgress()))
    assert worth(instance, found.schedule) == 17 == pytest.approx(found.bound)
    assert found.trace["benders"]["cuts"] >= 1 and found.trace["proof"] == ["benders"]


@pytest.mark.parametrize(
    ("few", "order"),
    [
        (10**6, ["search", "decide_by_packing", "solve_columns", "bound_by_patterns", "search"]),
        (
            0,
            [
                "search",
                "solve_columns",
                "search",
                "decide_by_packing",
                "bound_by_patterns",
                "search",
            ],
        ),
    ],
)
def test_where_cp_sat_may_not_end_columns_and_a_search_at_their_prices_come_first(
    monkeypatch, few, order
):
    called, prices = [], np.zeros((TOY_2.horizon, len(TOY_2.resources)))

    def spy(stage, answer):
        def run(*arguments, **settings):
            called.append(stage)
            return answer

        return run

    monkeypatch.setattr(exact_module, "FEW_COLUMNS", few)
    monkeypatch.setattr(exact_module, "list_stage", lambda *arguments: prices)
    monkeypatch.setattr(exact_module, "refute_utilities", lambda *arguments, **settings: False)
    for stage, answer in {"solve_columns": prices, "decide_by_packing": False}.items():
        monkeypatch.setattr(exact_module, stage, spy(stage, answer))
    for stage in ("search", "bound_by_patterns"):
        monkeypatch.setattr(exact_module, stage, spy(stage, None))
    exact(TOY_2, RunContext({}, "highs", Budget(), NullProgress()))
    assert called == order
