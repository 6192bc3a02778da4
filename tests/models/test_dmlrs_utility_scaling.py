"""Utilities of any size: units that are powers of two, and what is known of sums of utilities."""

import math
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedgap.instances.dmlrs import DmlrsInstance, arrays
from schedgap.models.dmlrs import rules
from schedgap.models.dmlrs.algorithms.guarantees import competitive
from schedgap.models.dmlrs.algorithms.pd_ors import pd_ors
from schedgap.models.dmlrs.bounds.certificates import check_certificate
from schedgap.models.dmlrs.bounds.utility_sums import attained
from schedgap.models.dmlrs.throughput import first_completions
from schedgap.models.dmlrs.utility_scaling import scaled_instance
from schedgap.models.method import Budget, NullProgress, RunContext
from schedgap.solvers import Clock
from strategies.dmlrs import dmlrs_instances, optimum
from strategies.dmlrs_examples import TOY, TOY_2, instance_of, job
from strategies.dmlrs_methods import METHODS, run

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}
SIZES = [1e-22, 1e-9, 8e-11, 1 / 3, 1e-5, 1e9]


def times(instance, factor):
    """The instance with all its utilities, as tables, times a factor."""
    data = instance.to_data()
    for own, raw in zip(instance.jobs, data["jobs"], strict=True):
        values = [factor * own.utility.at(d) for d in range(instance.horizon)]
        raw["utility"] = {"type": "table", "values": values}
    data.pop("price_parameters", None)
    return DmlrsInstance.from_data(data)


def in_process(name, instance, **settings):
    method = METHODS[name]
    call = RunContext(method.parse({}), "highs", Budget(Clock(30)), NullProgress())
    return method(instance, replace(call, **settings))


def proves(instance, found, best):
    """The outcome is the optimum, whatever its size, and nothing else."""
    data = found.schedule.to_data(instance)
    assert list(rules.check(instance, data, {})) == []
    value = rules.objective(instance, data)
    assert value == pytest.approx(best, rel=1e-6, abs=0)
    assert best * (1 - 1e-12) <= found.bound <= best * (1 + 1e-6)
    if found.certificate is not None:
        assert check_certificate(instance, found.certificate) == pytest.approx(
            found.bound, rel=1e-9, abs=0
        )


@settings(max_examples=40, deadline=None)
@given(dmlrs_instances(), st.sampled_from(SIZES))
def test_a_unit_is_a_power_of_two(instance, factor):
    instance = times(instance, factor)
    small, k = scaled_instance(instance)
    before, after = arrays(instance).utility, arrays(small).utility
    tops = []
    for i, first in enumerate(first_completions(instance)):
        if first <= instance.horizon:
            lead = first - instance.jobs[i].arrival
            assert (after[i, lead:] == before[i, lead:] * 2.0**k).all()
            tops.append(after[i, lead])
    assert not tops or max(tops) == 0 or 512 <= max(tops) < 1024
    assert DmlrsInstance.from_data(small.to_data()) == small
    assert k == 0 or small != instance


@settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
@given(dmlrs_instances(), st.sampled_from([0.0, 0.3, 1.0]))
def test_what_is_cut_down_is_above_the_bound(instance, more):
    """Completions worth more than any schedule is are none of any schedule."""
    best = optimum(instance)
    small, k = scaled_instance(instance, best * (1 + more) + more * 1e-3)
    assert optimum(small) * 2.0**-k == pytest.approx(best, rel=1e-12, abs=0)
    values = [value for own in small.jobs for value in own.utility.values]
    assert all(value < 1024 for value in values)


@settings(max_examples=40, deadline=None)
@given(dmlrs_instances(), st.floats(0, 40), st.sampled_from(SIZES))
def test_sums_that_schedules_can_have(instance, bound, factor):
    view, choices = arrays(times(instance, factor)), []
    for i, first in enumerate(first_completions(instance)):
        if first <= instance.horizon:
            arrival = instance.jobs[i].arrival
            choices.append(
                [0.0, *view.utility[i, first - arrival : instance.horizon - arrival + 1]]
            )
    bound *= factor
    sums = [math.fsum(chosen) for chosen in product(*choices)]
    below = max(each for each in sums if each <= bound)
    found = attained(times(instance, factor), bound)
    assert below <= found <= min(bound, below * (1 + 1e-9)) or found == bound


@pytest.mark.parametrize("name", ["exact", "milp-machine", "lbbd"])
@pytest.mark.parametrize("factor", SIZES)
def test_exact_methods_prove_optima_of_any_size(name, factor):
    for instance, best in ((TOY, 20), (TOY_2, 10)):
        instance = times(instance, factor)
        proves(instance, run(name, instance), best * factor)


@pytest.mark.parametrize("name", ["exact", "milp-machine", "lbbd"])
def test_small_utilities_beside_large_ones_that_nobody_earns(name):
    """Two machines of 1 GPU do not hold j1's bundles of 3 GPUs, which all as one might."""
    wide = {"worker_demand": {"gpu": 1, "cpu": 1}, "ps_demand": {"gpu": 1, "cpu": 0}}
    jobs = [
        job(
            "j1",
            1,
            [1e9] * 4,
            **wide,
        ),
        job("j2", 1, [3e-9, 2e-9, 1e-9, 1e-9], samples=1, epochs=1),
    ]
    instance = instance_of(jobs, [{"gpu": 1, "cpu": 4}] * 2)
    proves(instance, run(name, instance), optimum(instance))


def test_a_solution_that_misses_the_goal_within_tolerances_does_not_end_the_search():
    """The first solution of HiGHS earns 1e-9, where the goal is 1e-3."""
    one = {"gradient_size": 1.0, "worker_demand": {"gpu": 1, "cpu": 0}, "samples": 1, "epochs": 1}
    one |= {"ps_demand": {"gpu": 1, "cpu": 0}, "time_per_sample": 0.75}
    long = {"time_per_sample": 5 / 14, "worker_ps_ratio": 1.0, "samples": 7, "batch_size": 3}
    long |= {"ps_demand": {"gpu": 0.5, "cpu": 0}, "internal_bandwidth": 28 / 15}
    fast = {"internal_bandwidth": 16 / 3, "external_bandwidth": 16 / 3, "batch_size": 3}
    jobs = [
        job("j1", 4, [1e-9] * 4, **{**one, **long, "external_bandwidth": 1.12}),
        job(
            "j2",
            1,
            [1e-9] * 4,
            **{**one, "batch_size": 1, "internal_bandwidth": 16.0, "external_bandwidth": 16.0},
        ),
        job("j3", 2, [1e-3, 1e-3, 1e-9, 1e-9], **{**one, **fast}),
    ]
    instance = instance_of(jobs, [{"gpu": 2, "cpu": 0}] * 3, ps_rule="exact")
    proves(instance, in_process("lbbd", instance), optimum(instance))


@pytest.mark.parametrize("name", ["exact", "milp-machine", "lbbd"])
def test_an_optimum_of_nothing(name):
    """Both jobs together would need 4 workers in slot 1; utilities are 0 later, and in slot 1."""
    instance = instance_of([job("j1", 4, [5.0] * 4), job("j2", 4, [1e-12] * 4)], horizon=4)
    found = run(name, instance)
    assert found.bound == 0 and found.schedule.admitted == ()


@settings(max_examples=12, **QUIET)
@given(dmlrs_instances(), st.sampled_from(SIZES))
def test_bounds_and_exact_hold_at_any_size(instance, factor):
    instance = times(instance, factor)
    best = optimum(instance)
    proves(instance, in_process("exact", instance), best)
    proves(instance, in_process("milp-machine", instance), best)
    for name in ("fluid-lp", "colgen", "job-alone"):
        found = in_process(name, instance)
        assert found.bound >= best * (1 - 1e-12)
        assert check_certificate(instance, found.certificate) == found.bound


def agree(instance, names):
    """Exact methods and bounds, against the optimum of brute force."""
    best = optimum(instance)
    for name in names:
        proves(instance, in_process(name, instance), best)
    for name in ("fluid-lp", "colgen", "colgen-heuristic"):
        found = in_process(name, instance)
        assert found.bound >= best * (1 - 1e-12)
        if found.certificate is not None:
            assert check_certificate(instance, found.certificate) == found.bound
        if found.schedule is not None:
            assert found.schedule.value(instance) <= best * (1 + 1e-12)


@settings(max_examples=14, **QUIET)
@given(dmlrs_instances(wild=True))
def test_large_beside_small_utilities(instance):
    agree(instance, ("exact", "milp-machine"))


@pytest.mark.parametrize("name", ["lbbd"])
@settings(max_examples=12, **QUIET)
@given(instance=dmlrs_instances(wild=True))
def test_large_beside_small_utilities_in_whole_numbers(name, instance):
    proves(instance, run(name, instance), optimum(instance))


@pytest.mark.nightly
@settings(max_examples=1500, **QUIET)
@given(dmlrs_instances(max_machines=3, wild=True))
def test_large_beside_small_utilities_at_length(instance):
    agree(instance, ("exact", "milp-machine", "lbbd"))


@pytest.mark.nightly
@settings(max_examples=1500, **QUIET)
@given(dmlrs_instances(max_machines=3), st.sampled_from(SIZES))
def test_any_size_at_length(instance, factor):
    agree(times(instance, factor), ("exact", "milp-machine", "lbbd"))


@settings(deadline=None, max_examples=27, suppress_health_check=list(HealthCheck))
@given(dmlrs_instances(max_machines=1), st.sampled_from([8e-11, 1e-5, 1.0, 1e9]))
def test_the_guarantee_holds_at_any_size(instance, factor):
    """2 alpha kappa times PD-ORS, wherever all assumptions are said to hold."""
    instance = times(instance, factor)
    said = competitive(instance, prices="oracle", dp="exact")
    if said["holds"]:
        value = pd_ors(instance, prices="oracle", dp="exact").schedule.value(instance)
        assert optimum(instance) <= said["factor"] * value * (1 + 1e-9)


def test_a_tiny_payoff_is_one():
    """One job, worth 8e-11 wherever it ends: its price is far less, and it is admitted."""
    instance = instance_of([job("j1", 1, [8e-11] * 4)], [{"gpu": 2, "cpu": 4}])
    run_ = pd_ors(instance, prices="oracle", dp="exact")
    assert run_.schedule.admitted == ("j1",)
