"""`exact` of family `dmlrs` by its parts: rents prove bounds, and leave what is optimal."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedgap.instances.dmlrs import DmlrsSchedule
from schedgap.models.dmlrs import rules
from schedgap.models.dmlrs.exact import decide, exact
from schedgap.models.dmlrs.fixing import left
from schedgap.models.dmlrs.packing import Item
from schedgap.models.dmlrs.patterns import Part, Parts, solve_patterns
from schedgap.models.dmlrs.starting import first_bracket
from schedgap.models.method import Call, Unheard
from schedgap.solvers import Clock
from strategies.dmlrs import best_schedule, dmlrs_instances, optimum
from strategies.dmlrs_examples import TOY, TOY_2, instance_of, job
from strategies.dmlrs_methods import run

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}


def rents_of(instance, price=0.0):
    """The rents from equal prices of all resources."""
    prices = np.full((instance.horizon, len(instance.resources)), price)
    return solve_patterns(instance, prices, clock=Clock(30))


def uses(instance, schedule):
    """Completions and items of a schedule."""
    completions, items = set(), set()
    for i, plan in schedule.plans(instance).items():
        completions.add((i, max(plan)))
        for t, counts in plan.items():
            workers = sum(w for w, _ in counts.values())
            items.add((t, Item(i, len(counts) == 1, workers)))
    return completions, items


def judge(instance, schedule):
    data = schedule.to_data(instance)
    assert list(rules.check(instance, data, {})) == []
    return rules.objective(instance, data)


def keep_the_optimum(instance, price, below):
    """What is left for schedules above some value holds one that is worth more, whole."""
    best, schedule = best_schedule(instance)
    rents = rents_of(instance, price)
    assert best <= rents.bound + 1e-9
    rest = left(instance, rents, best - below)
    completions, items = uses(instance, schedule)
    assert completions <= rest.completions and items <= rest.items
    assert rest.admitted <= {i for i, _ in completions}


def from_nothing(instance):
    """Without a search before it, the decision finds the optimum and proves it."""
    call = Call({}, "highs", Clock(60), seed=0, progress=Unheard())
    found = first_bracket(instance, call)
    if not found.closed:
        decide(found, instance, rents_of(instance))
    assert judge(instance, found.schedule) == pytest.approx(optimum(instance), rel=1e-6, abs=1e-6)
    assert found.closed or found.lower == pytest.approx(found.upper, rel=1e-6, abs=1e-6)


def prove(instance):
    """`exact`, as it is called, has the optimum of brute force and its proof."""
    found, best = run("pattern-fix", instance), optimum(instance)
    assert judge(instance, found.schedule) == pytest.approx(best, rel=1e-6, abs=1e-6)
    assert best - 1e-9 <= found.bound <= best + 1e-6 * max(1, best)


@settings(max_examples=40, **QUIET)
@given(dmlrs_instances(max_machines=3), st.sampled_from([0.0, 0.3]), st.sampled_from([1e-3, 2.0]))
def test_what_rents_leave_holds_the_optimum(instance, price, below):
    keep_the_optimum(instance, price, below)


@settings(max_examples=25, **QUIET)
@given(dmlrs_instances(max_machines=3))
def test_a_decision_from_nothing_is_the_optimum(instance):
    from_nothing(instance)


@settings(max_examples=60, **QUIET)
@given(dmlrs_instances())
def test_exact_agrees_with_brute_force(instance):
    prove(instance)


@pytest.mark.nightly
@settings(max_examples=600, **QUIET)
@given(dmlrs_instances(max_machines=3), st.sampled_from([0.0, 0.3]), st.sampled_from([1e-3, 2.0]))
def test_at_length(instance, price, below):
    keep_the_optimum(instance, price, below)
    from_nothing(instance)
    prove(instance)


@settings(max_examples=40, **QUIET)
@given(dmlrs_instances(max_machines=3), st.data())
def test_no_machine_earns_more_than_its_knapsack(instance, data):
    """Nor does any slot of the best schedule pay more than its machines, whatever the rents."""
    made = Parts(instance)
    size = len(made.parts)
    drawn = data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=size, max_size=size))
    rent = np.array(drawn)
    _, schedule = best_schedule(instance)
    for t in range(1, instance.horizon + 1):
        earned = sum(
            made.machines[q] * made.knapsack(q, t, rent, Clock(30))[0]
            for q in range(len(made.machines))
        )
        paid = 0.0
        for i, plan in schedule.plans(instance).items():
            counts = plan.get(t, {})
            workers, ps = (sum(pair[k] for pair in counts.values()) for k in (0, 1))
            if len(counts) == 1:
                paid += rent[made.place[Part(i, workers, ps, True)]]
            elif counts:
                worker, server = (made.place[Part(i, *unit, False)] for unit in ((1, 0), (0, 1)))
                paid += workers * rent[worker] + ps * rent[server]
        assert paid <= earned + 1e-9


def test_machines_as_they_are_bound_better_than_all_as_one():
    """Workers of 3 GPUs on two machines of 4: two a slot; all as one, 8 GPUs hold two and 2/3.

    Three jobs of one worker-slot, each worth 9 in slot 1 only: 18, not 9 x 8/3 = 24.
    """
    large = {
        "epochs": 1, "samples": 1, "batch_size": 1, "worker_ps_ratio": 1.0, "gradient_size": 1.0,
        "time_per_sample": 0.5, "internal_bandwidth": 4.0, "external_bandwidth": 4.0,
        "worker_demand": {"gpu": 3, "cpu": 1},
    }  # fmt: skip
    jobs = [job(name, 1, [9, 0, 0, 0], **large) for name in ("j1", "j2", "j3")]
    instance = instance_of(jobs, [{"gpu": 4, "cpu": 9}] * 2)
    assert run("colgen", instance).bound == pytest.approx(24, rel=1e-4)
    assert rents_of(instance).bound == pytest.approx(18, rel=1e-3)


@pytest.mark.parametrize(("instance", "best"), [(TOY, 20), (TOY_2, 10), (instance_of([]), 0)])
def test_the_toys(instance, best):
    found = run("pattern-fix", instance)
    assert judge(instance, found.schedule) == best == pytest.approx(found.bound)


def test_unlike_machines():
    """j1 runs on the machine of 2 GPUs for two slots; the other one holds a worker: 1 of 4."""
    instance = instance_of(
        [job("j1", 1, [10.0, 8.0, 2.0, 0.0])], [{"gpu": 1, "cpu": 2}, {"gpu": 2, "cpu": 4}]
    )
    assert list(Parts(instance).machines) == [1, 1]
    prove(instance)


def test_a_large_instance_is_searched_only(monkeypatch):
    monkeypatch.setattr("schedgap.models.dmlrs.exact.MOST_ROWS", 1)
    outcome = exact(TOY_2, Call({}, "highs", Clock(30), seed=0, progress=Unheard()))
    assert isinstance(outcome.schedule, DmlrsSchedule) and outcome.bound >= 10 - 1e-9
