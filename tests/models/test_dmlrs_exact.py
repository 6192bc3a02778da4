"""Exact methods and bounds of family `dmlrs` as they are called: optima with their proofs."""

import pytest
from hypothesis import HealthCheck, given, settings

from schedgap.instances.generate import generate
from schedgap.models.dmlrs import rules
from schedgap.models.dmlrs.certificates import check_certificate
from schedgap.models.dmlrs.programs import PROGRAMS
from schedgap.models.dmlrs.run_algorithms import METHODS as ALGORITHMS
from schedgap.models.dmlrs.run_bounds import METHODS as BOUNDS
from schedgap.models.dmlrs.run_exact import METHODS as EXACT
from strategies.dmlrs import dmlrs_instances, optimum
from strategies.dmlrs_examples import TOY, TOY_2, instance_of, job
from strategies.dmlrs_methods import METHODS, run
from strategies.engines import needs

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}
EXACT_NAMES = [method.name for method in EXACT]
BOUND_NAMES = [method.name for method in BOUNDS]


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


@pytest.mark.nightly
@pytest.mark.parametrize("name", EXACT_NAMES)
@settings(max_examples=500, **QUIET)
@given(instance=dmlrs_instances())
def test_methods_prove_the_optimum_of_brute_force_at_length(name, instance):
    check(instance, run(name, instance), optimum(instance))


@pytest.mark.parametrize("name", ["milp-onehot", "milp-machine"])
def test_gurobi_proves_a_toy(name):
    needs("gurobi")
    check(TOY, run(name, TOY, "gurobi"), 20)


def test_cp_sat_allows_for_the_rounding_of_utilities():
    """1.0000004 is 1,000,000 steps of a millionth, twice, and 2 times half a step above that."""
    two = instance_of([job(name, 1, [1.0000004] * 4) for name in ("j1", "j2")])
    assert 2.0000008 <= run("cp-sat", two).bound <= 2.000001 + 1e-12


def test_small_instances_have_one_optimum():
    instance = generate("dmlrs", preset="small", seed=2)
    found = [run(name, instance) for name in ("milp-onehot", "cp-sat")]
    check(instance, found[0], found[1].schedule.value(instance))
    check(instance, found[1], found[0].schedule.value(instance))


@pytest.mark.parametrize("name", EXACT_NAMES)
def test_a_stopped_method_has_a_schedule_and_a_bound(name):
    """Nobody admitted, and each job alone: 8 + 3 + 9; too large, `exact` searches all the same."""
    for found in (run(name, TOY, limit=0), run(name, TOY, max_columns=1)):
        assert 20 <= found.bound < 20 + 1e-9
        assert found.schedule.admitted == () or (name == "pattern-fix" and found.note)
    assert "too large" in found.note


@pytest.mark.parametrize("name", BOUND_NAMES)
def test_bounds_carry_what_proves_them(name):
    for instance, best in ((TOY, 20), (TOY_2, 10), (instance_of([]), 0)):
        found = run(name, instance)
        assert best <= found.bound <= max(best, 20) + 1e-6
        assert check_certificate(instance, found.certificate) == found.bound


def test_a_stopped_bound_is_that_of_the_jobs_alone():
    for name in ("fluid-lp", "fluid-lp-disaggregated"):
        for found in (run(name, TOY_2, limit=0), run(name, TOY_2, max_columns=1)):
            assert found.bound == pytest.approx(3 + 9) and found.note


def test_every_program_is_of_a_method():
    known = set(METHODS) | {method.name for method in ALGORITHMS}
    assert {name for name in PROGRAMS if not name.startswith("sub-")} < known
    for build in PROGRAMS.values():
        assert build(TOY) is not None
