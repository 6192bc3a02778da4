"""Exact methods and bounds of family `dmlrs` as they are called: optima with their proofs."""

import pytest
from hypothesis import HealthCheck, given, settings

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.instances.generate import generate
from schedgap.models.dmlrs import rules
from schedgap.models.dmlrs.bounds.certificates import check_certificate
from schedgap.models.dmlrs.methods import PROGRAMS
from strategies.dmlrs import dmlrs_instances, optimum
from strategies.dmlrs_examples import TOY, TOY_2, instance_of
from strategies.dmlrs_methods import METHODS, run
from strategies.engines import needs

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}
EXACT_NAMES = [name for name, method in METHODS.items() if method.kind == "exact"]
BOUND_NAMES = [name for name, method in METHODS.items() if method.kind == "bound"]


def check(instance, outcome, value):
    """The outcome is the optimum with its proof."""
    data = outcome.schedule.to_data(instance)
    assert list(rules.check(instance, data, {})) == []
    assert rules.objective(instance, data) == pytest.approx(value, rel=1e-6, abs=1e-6)
    assert outcome.bound == pytest.approx(value, rel=1e-6, abs=1e-5)


@pytest.mark.parametrize("name", EXACT_NAMES)
@pytest.mark.parametrize(("instance", "value"), [(TOY, 20), (TOY_2, 10), (instance_of([]), 0)])
def test_methods_prove_the_examples(name, instance, value):
    check(instance, run(name, instance), value)


@pytest.mark.parametrize("name", EXACT_NAMES)
@settings(max_examples=8, **QUIET)
@given(instance=dmlrs_instances())
def test_methods_prove_the_optimum_of_brute_force(name, instance):
    check(instance, run(name, instance), optimum(instance))


def near_parallel():
    """Three jobs of which one needs 1 + 1e-7 times as many worker-slots across machines."""
    amount = {"worker_demand": {"a": 0.002}, "ps_demand": {"a": 0.001}}
    jobs = [
        {
            "id": "j0", "arrival": 1, "epochs": 3, "samples": 1, "batch_size": 2,
            "gradient_size": 1.0, "time_per_sample": 0.0, "worker_ps_ratio": 1.0,
            "internal_bandwidth": 1.2, "external_bandwidth": 1.2, **amount,
            "utility": {"type": "table", "values": [9.0, 8.0]},
        },
        {
            "id": "j1", "arrival": 1, "epochs": 1, "samples": 7, "batch_size": 2,
            "gradient_size": 1.0, "time_per_sample": 0.14285714285714285, "worker_ps_ratio": 7.0,
            "internal_bandwidth": 49.0, "external_bandwidth": 9.8, **amount,
            "utility": {"type": "table", "values": [5.0, 2.0]},
        },
        {
            "id": "j2", "arrival": 1, "epochs": 3, "samples": 7, "batch_size": 3,
            "gradient_size": 1.0, "time_per_sample": 0.05952380952380952,
            "worker_ps_ratio": 1.3333333333, "internal_bandwidth": 14.93333333296,
            "external_bandwidth": 14.933330346293928, **amount, "worker_demand": {"a": 0.001},
            "utility": {"type": "sigmoid", "priority": 9.0, "sensitivity": 0.1, "target": 0.5},
        },
    ]  # fmt: skip
    machines = [
        {"id": f"m{h}", "capacity": {"a": room}} for h, room in enumerate((0.001, 0.003, 0.003))
    ]
    return DmlrsInstance.from_data(
        {
            "family": "dmlrs", "version": 1, "name": "t", "horizon": 2, "resources": ["a"],
            "machines": machines, "jobs": jobs,
        }
    )  # fmt: skip


@pytest.mark.parametrize("name", EXACT_NAMES)
def test_columns_that_are_nearly_parallel(name):
    """A presolve of HiGHS finds 6.387523 where the row of (3) has 1 next to 1.0000000999999998."""
    instance = near_parallel()
    assert optimum(instance) == 8
    check(instance, run(name, instance), 8)


@pytest.mark.nightly
@pytest.mark.parametrize("name", EXACT_NAMES)
@settings(max_examples=500, **QUIET)
@given(instance=dmlrs_instances())
def test_methods_prove_the_optimum_of_brute_force_at_length(name, instance):
    check(instance, run(name, instance), optimum(instance))


def test_gurobi_proves_a_toy():
    needs("gurobi")
    check(TOY, run("milp-machine", TOY, "gurobi"), 20)


def test_small_instances_have_one_optimum():
    instance = generate("dmlrs", preset="small", seed=2)
    found = [run(name, instance) for name in ("lbbd", "milp-machine")]
    check(instance, found[0], 159.136732328)
    check(instance, found[0], found[1].schedule.value(instance))
    check(instance, found[1], found[0].schedule.value(instance))


@pytest.mark.parametrize("name", EXACT_NAMES)
def test_a_stopped_method_has_a_schedule_and_a_bound(name):
    """Nobody admitted, and each job alone: 8 + 3 + 9; too large, `exact` searches all the same."""
    for found in (run(name, TOY, limit=0), run(name, TOY, max_columns=1)):
        assert 20 <= found.bound < 20 + 1e-9
        assert found.schedule.admitted == () or name == "exact"
    assert "too large" in found.note or found.schedule.value(TOY) == 20


@pytest.mark.parametrize("name", BOUND_NAMES)
def test_bounds_carry_what_proves_them(name):
    for instance, best in ((TOY, 20), (TOY_2, 10), (instance_of([]), 0)):
        found = run(name, instance)
        assert best <= found.bound <= max(best, 20) + 1e-6
        assert check_certificate(instance, found.certificate) == found.bound


def test_a_stopped_bound_is_that_of_the_jobs_alone():
    for found in (run("fluid-lp", TOY_2, limit=0), run("fluid-lp", TOY_2, max_columns=1)):
        assert found.bound == pytest.approx(3 + 9) and found.note


def test_every_program_is_of_a_method():
    own = {name for name in PROGRAMS if not name.startswith("sub-")}
    assert own - set(METHODS) == {"primal-8"}  # it is there to be compared with `dual-10`
    for build in PROGRAMS.values():
        assert build(TOY) is not None
