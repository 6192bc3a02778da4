"""Searches of family `dmlrs` that are stopped anywhere claim nothing that is not so."""

import random
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedgap.models.dmlrs import proof
from schedgap.models.dmlrs.bounds.machine_patterns import generate_patterns
from schedgap.models.dmlrs.bounds.solve_relaxations import initial_state
from schedgap.models.dmlrs.exact import exact, packing
from schedgap.models.dmlrs.exact.logic_based_benders import benders_stage
from schedgap.models.dmlrs.exact.packing import minimal_infeasible_subset, pack
from schedgap.models.method import Budget, NullProgress, RunContext
from schedgap.solvers import Clock
from schedgap.solvers.proofs.bins import OutOfTimeError
from strategies.clocks import StopAt
from strategies.dmlrs import dmlrs_instances, optimum
from strategies.dmlrs_examples import TOY, TOY_2, instance_of, job
from strategies.dmlrs_methods import run
from strategies.dmlrs_stops import STARTS, Judge, known_best, places, stop_everywhere

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}
IN_PROCESS = ("exact", "milp-machine", "lbbd", "colgen-heuristic", "colgen")


@pytest.fixture(autouse=True, scope="module")
def looks():
    """Searches look at the clock at every node."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "CLOCK_INTERVAL", 1)
        yield


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


def contested():
    """Three jobs for two machines, each worth less from slot to slot, by thirds."""
    jobs = [job(f"j{n}", 1, [n + 4 / 3, n + 1, n / 3, 0]) for n in (1, 2, 3)]
    return instance_of(jobs, [{"gpu": 2, "cpu": 4}, {"gpu": 3, "cpu": 3}])


EXAMPLES = {"toy2": TOY_2, "crowd": crowd(), "pairs": pairs(), "contested": contested()}


def search_stopped(instance, k, known):
    """Run the search slot by slot up to the k-th reading; return the readings that were left."""
    value, schedule = known_best(instance)
    ear = Judge(instance, value)
    clock = StopAt(k)
    found = initial_state(instance, RunContext({}, "highs", Budget(), ear))
    if known:
        found.incumbent(schedule)
    if found.closed:
        return clock.readings_left
    report = benders_stage(found, instance, found.upper, master="highs", budget=Budget(clock))
    found.take("benders", report)
    assert -found.lower >= value * (1 - 1e-9)
    if report.complete:
        assert -found.upper == pytest.approx(value, rel=1e-6, abs=0)
    ear.outcome(found.outcome())
    return clock.readings_left


@pytest.mark.parametrize("name", IN_PROCESS)
@pytest.mark.parametrize("example", EXAMPLES)
def test_methods_stopped_anywhere(name, example):
    starts = STARTS if name == "exact" else STARTS[1:2]
    for start in starts:
        assert stop_everywhere(name, EXAMPLES[example], start, first=2, more=3) >= 1


def test_cp_sat_stopped_after_a_short_time():
    for k in (0, 1, 3):
        ear = Judge(TOY_2, 10.0)
        ear.outcome(run("lbbd", TOY_2, "cp-sat", limit=0 if k == 0 else 10**-k))


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("example", EXAMPLES)
def test_searches_stopped_anywhere(example, known):
    instance = EXAMPLES[example]
    for k in places(lambda k: search_stopped(instance, k, known), 4, 3):
        search_stopped(instance, k, known)


@settings(max_examples=8, **QUIET)
@given(dmlrs_instances(max_machines=3), st.sampled_from([0.0, 0.5, 3.0]))
def test_item_prices_stopped_anywhere_prove_a_bound(instance, price):
    best_value = optimum(instance)
    prices = np.full((instance.horizon, len(instance.resources)), price)
    for k in (*range(12), 20, 40):
        heard = []
        generate_patterns(
            instance,
            prices,
            budget=Budget(StopAt(k)),
            on_bound=lambda bound, price, heard=heard: heard.append(bound),
        )
        assert all(bound >= best_value * (1 - 1e-12) for bound in heard)
        assert heard == sorted(heard, reverse=True)


@settings(max_examples=25, **QUIET)
@given(dmlrs_instances(max_machines=3, max_jobs=3), st.data())
def test_packings_stopped_anywhere_are_unknown_or_right(instance, data):
    model = proof.Model(instance, -1)
    items = []
    for i in range(len(instance.jobs)):
        own = sorted({b for slot in model.bundles for b in slot.values() if b.job == i})
        if own and data.draw(st.booleans()):
            items.append(data.draw(st.sampled_from(own)))
    if not items:
        return
    whole = pack(proof.Model(instance, -1), items, Clock())
    for k in range(3):
        with suppress(OutOfTimeError):
            assert pack(proof.Model(instance, -1), items, StopAt(k)) == whole
        if whole is None:
            with suppress(OutOfTimeError):
                few = minimal_infeasible_subset(proof.Model(instance, -1), items, StopAt(k))
                assert pack(proof.Model(instance, -1), few, Clock()) is None


@pytest.mark.nightly
def test_ten_thousand_stops():
    """Hypothesis would draw too many alike; the seeds of a plain generator make the instances."""
    tried, draws = 0, random.Random(7)
    many = list(EXAMPLES.items())
    for name in IN_PROCESS:
        for _, instance in [*many, ("toy", TOY)]:
            for start in STARTS:
                tried += stop_everywhere(name, instance, start, first=60, more=60)
    for instance in EXAMPLES.values():
        for known in (False, True):
            for k in places(
                lambda k, of=(instance, known): search_stopped(of[0], k, of[1]), 60, 60
            ):
                search_stopped(instance, k, known)
                tried += 1
    while tried < 10_000:
        instance = EXAMPLES[draws.choice(list(EXAMPLES))]
        name, start = draws.choice(IN_PROCESS[:4]), draws.choice(STARTS)
        tried += stop_everywhere(name, instance, start, first=0, more=draws.randint(10, 40))
    print(f"{tried} stops")
    assert tried >= 10_000


@pytest.mark.nightly
@settings(max_examples=150, **QUIET)
@given(dmlrs_instances(max_machines=3), st.sampled_from(IN_PROCESS[:4]), st.sampled_from(STARTS))
def test_stops_at_length(instance, name, start):
    stop_everywhere(name, instance, start, first=10, more=20)


def test_a_stopped_call_hears_nothing_false_from_the_first_reading():
    """Nothing was looked at: nobody admitted, each job alone."""
    ear = Judge(TOY_2, 10.0)
    call = RunContext({}, "highs", Budget(StopAt(0)), NullProgress())
    found = exact.exact(TOY_2, call, max_columns=10**6)
    ear.outcome(found)
    assert found.bound == 12 and found.schedule.admitted == ()
