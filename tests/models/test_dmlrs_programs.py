"""The printed program: the optimum of brute force, by schedules that the rules accept."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedgap.models.dmlrs import rules
from schedgap.models.dmlrs.programs import printed
from schedgap.solvers import Clock, solve
from strategies.dmlrs import dmlrs_instances, optimum
from strategies.dmlrs_examples import TOY, TOY_2, instance_of, job

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}


def best(instance, **options):
    """Return the value of an optimal schedule, judged; and what the engine says it is."""
    model = printed.build(instance, **options)
    result = solve(model, "highs", clock=Clock(30))
    assert result.status == "optimal"
    data = printed.read(model, instance).to_data(instance)
    assert list(rules.check(instance, data, {})) == []
    value = rules.objective(instance, data)
    assert result.objective - 1e-5 <= value
    assert result.bound >= value - 1e-5 * max(1, value)
    return value


@pytest.mark.parametrize(("instance", "value"), [(TOY, 20), (TOY_2, 10)])
@pytest.mark.parametrize("cuts", [False, True])
def test_toys(instance, value, cuts):
    assert best(instance, cuts=cuts) == pytest.approx(value)


def test_work_at_the_edge_of_a_lattice():
    """N = 3 (1 + 3e-7): 3 worker-slots are too few for V6, though within 1e-6 of enough.

    One machine of 3 workers and a PS: a slot brings 3, so the job needs two of them: 1, not 9.
    """
    edge = job(
        "j1", 1, [9, 1, 0, 0], epochs=1, samples=1, batch_size=3, worker_ps_ratio=3.0,
        gradient_size=1.0, time_per_sample=3 * (1 + 3e-7) - 2, internal_bandwidth=1.0,
        external_bandwidth=1.0,
    )  # fmt: skip
    assert best(instance_of([edge], [{"gpu": 3, "cpu": 4}])) == 1


@settings(max_examples=20, **QUIET)
@given(instance=dmlrs_instances(), cuts=st.booleans())
def test_the_optimum_of_brute_force(instance, cuts):
    value = best(instance, cuts=cuts)
    assert value == pytest.approx(optimum(instance), rel=1e-6, abs=1e-6)


def test_columns_are_counted():
    """The size is known before the program is built."""
    built = printed.build(TOY)
    variables = sum(len(var) for var in built.component_objects(ctype=_var()))
    assert variables == printed.size(TOY)


def _var():
    import pyomo.environ as pyo

    return pyo.Var
