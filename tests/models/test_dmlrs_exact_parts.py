"""`exact` of family `dmlrs` by its parts: item prices prove bounds, and leave what is optimal."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedgap.instances.dmlrs import DmlrsSchedule
from schedgap.models.dmlrs import rules
from schedgap.models.dmlrs.bounds.machine_patterns import (
    PatternItem,
    PatternMaster,
    evaluate_prices,
    generate_patterns,
)
from schedgap.models.dmlrs.exact import targets
from schedgap.models.dmlrs.exact.exact import exact
from schedgap.models.dmlrs.exact.reduced_cost_fixing import remaining_choices
from schedgap.models.dmlrs.exact.targets import FEW_BUNDLES, prove_by_targets
from schedgap.models.dmlrs.heuristics.initial import initial_state
from schedgap.models.dmlrs.programs.aggregate import JobBundle
from schedgap.models.mechanisms.knapsack import NodeBudget
from schedgap.models.method import Budget, NullProgress, RunContext
from schedgap.solvers import Clock
from strategies.dmlrs import best_schedule, dmlrs_instances, optimum
from strategies.dmlrs_examples import TOY, TOY_2, instance_of, job
from strategies.dmlrs_methods import run

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}


def item_prices_of(instance):
    """The item prices of the best bound."""
    prices = np.zeros((instance.horizon, len(instance.resources)))
    return generate_patterns(instance, prices, budget=Budget(Clock(30)))


@st.composite
def priced(draw):
    """An instance, and any item prices of it."""
    instance = draw(dmlrs_instances(max_machines=3))
    made = PatternMaster(instance)
    size = instance.horizon * len(made.items)
    drawn = draw(st.lists(st.sampled_from([0, 0, 0.1, 0.5, 2]), min_size=size, max_size=size))
    price = np.array(drawn, dtype=float).reshape(instance.horizon, -1)
    return instance, evaluate_prices(made, price, Clock(30)).item_prices


def uses(instance, schedule):
    """Completions and items of a schedule."""
    completions, items = set(), set()
    for i, plan in schedule.plans(instance).items():
        completions.add((i, max(plan)))
        for t, counts in plan.items():
            workers = sum(w for w, _ in counts.values())
            items.add((t, JobBundle(i, len(counts) == 1, workers)))
    return completions, items


def worth(instance, schedule):
    data = schedule.to_data(instance)
    assert list(rules.check(instance, data, {})) == []
    return rules.objective(instance, data)


def keep_the_optimum(instance, item_prices, below):
    """What is left for schedules above some value holds one that is worth more, whole."""
    best, schedule = best_schedule(instance)
    assert best <= item_prices.bound + 1e-9
    remaining = remaining_choices(instance, item_prices, best - below)
    completions, items = uses(instance, schedule)
    assert completions <= remaining.completions and items <= remaining.items
    assert remaining.admitted <= {i for i, _ in completions}


def from_nothing(instance, few=FEW_BUNDLES, item_prices=None):
    """Without a search before it, the decision finds the optimum and proves it.

    With `few` 0 it lowers its goal by small steps.
    """
    item_prices = item_prices_of(instance) if item_prices is None else item_prices
    call = RunContext({}, "highs", Budget(Clock(60)), NullProgress())
    found = initial_state(instance, call)
    if not found.closed:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(targets, "FEW_BUNDLES", few)
            patch.setattr(targets, "TARGET_STEP", 0.02)
            patch.setattr(targets, "MASTER_GAP", 0.9)  # any schedule, also one far from the best
            prove_by_targets(found, instance, item_prices)
    assert worth(instance, found.schedule) == pytest.approx(optimum(instance), rel=1e-6, abs=1e-6)
    assert found.lower == pytest.approx(found.upper, rel=1e-6, abs=1e-6)


def prove(instance):
    """`exact`, as it is called, has the optimum of brute force and its proof."""
    found, best = run("exact", instance), optimum(instance)
    assert worth(instance, found.schedule) == pytest.approx(best, rel=1e-6, abs=1e-6)
    assert best - 1e-9 <= found.bound <= best + 1e-6 * max(1, best)


@settings(max_examples=27, **QUIET)
@given(priced(), st.sampled_from([1e-3, 2.0]))
def test_what_item_prices_leave_holds_the_optimum(made, below):
    keep_the_optimum(*made, below)


@settings(max_examples=25, **QUIET)
@given(dmlrs_instances(max_machines=3), st.sampled_from([FEW_BUNDLES, 0]))
def test_a_decision_from_nothing_is_the_optimum(instance, few):
    from_nothing(instance, few)


def test_goals_that_no_schedule_reaches_lower_the_bound():
    """At prices of 0 the bound is 3 + 9; 11.76, 11.28 and 10.32 are out of reach, then comes 10."""
    made = PatternMaster(TOY_2)
    free = evaluate_prices(made, np.zeros((TOY_2.horizon, len(made.items))), Clock(30))
    assert free.item_prices.bound == pytest.approx(12)
    from_nothing(TOY_2, 0, free.item_prices)


def test_a_search_out_of_time_proves_nothing(monkeypatch):
    call = RunContext({}, "highs", Budget(Clock(60)), NullProgress())
    found, item_prices = initial_state(TOY_2, call), item_prices_of(TOY_2)
    before = found.lower
    found.call = replace(call, budget=Budget(Clock(0.0)))
    monkeypatch.setattr(targets, "START_SECONDS", -1.0)  # so that it is begun
    assert not prove_by_targets(found, TOY_2, item_prices)
    assert found.lower == before and found.trace["left"]["bundles"] > 0


@settings(max_examples=9, **QUIET)
@given(dmlrs_instances())
def test_exact_agrees_with_brute_force(instance):
    prove(instance)


@pytest.mark.nightly
@settings(max_examples=600, **QUIET)
@given(priced(), st.sampled_from([1e-3, 2.0]))
def test_at_length(made, below):
    keep_the_optimum(*made, below)
    from_nothing(made[0])
    prove(made[0])


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
    assert item_prices_of(crowd()).bound == pytest.approx(17, rel=1e-3)


@pytest.mark.parametrize("instance", [TOY_2, crowd(), pairs()])
def test_contention(instance):
    from_nothing(instance)
    for below in (1e-3, 1.5):
        keep_the_optimum(instance, item_prices_of(instance), below)


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
    prove(instance)


def test_a_large_instance_is_searched_only(monkeypatch):
    monkeypatch.setattr("schedgap.models.dmlrs.bounds.machine_patterns.MAX_ROWS", 1)
    outcome = exact(
        TOY_2,
        RunContext({}, "highs", Budget(Clock(30)), NullProgress()),
    )
    assert isinstance(outcome.schedule, DmlrsSchedule) and outcome.bound >= 10 - 1e-9
