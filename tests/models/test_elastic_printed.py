"""Program (2) with its own products, in Gurobi: optima by hand, and by enumeration."""

import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedgap.analysis.solving.solve import solve as solve_method
from schedgap.errors import EngineUnavailableError
from schedgap.instances.elastic import ElasticInstance
from schedgap.instances.generate import generate
from schedgap.models.elastic import rules
from schedgap.models.elastic.heuristics.initial import known_windows
from schedgap.models.elastic.programs import printed
from schedgap.models.elastic.time_windows import no_schedule
from schedgap.solvers import Clock, solve
from strategies.elastic import brute_force, elastic_instances
from strategies.elastic_examples import BATCH, RING, TOY
from strategies.engines import needs


@pytest.fixture
def _gurobi() -> None:
    needs("gurobi")


def agrees(instance: ElasticInstance) -> None:
    if no_schedule(instance):
        assert brute_force(instance) == math.inf
        return
    model = printed.build(instance, span=known_windows(instance))
    options = {"FeasibilityTol": 1e-9, "IntFeasTol": 1e-9}
    result = solve(model, "gurobi", clock=Clock(60), options=options)
    optimum = brute_force(instance)
    if result.status == "infeasible":
        assert optimum == math.inf
        return
    assert result.status == "optimal"
    data = printed.read(model, instance).to_data(instance)
    assert list(rules.check(instance, data, {})) == []
    assert rules.objective(instance, data) == pytest.approx(optimum, rel=1e-9)
    assert result.bound == pytest.approx(optimum, rel=1e-6)


@pytest.mark.usefixtures("_gurobi")
@pytest.mark.parametrize(("instance", "optimum"), [(TOY, 27), (BATCH, 5), (RING, 5)])
def test_the_products_give_the_optima_worked_out_by_hand(
    instance: ElasticInstance, optimum: float
) -> None:
    found = solve_method(instance, "paper-miqcp", time_limit=60)
    assert (found.status, found.objective) == ("optimal", optimum)


TWO_JOBS = st.booleans().flatmap(lambda whole: elastic_instances(max_jobs=2, integer=whole))


@pytest.mark.usefixtures("_gurobi")
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(TWO_JOBS)
def test_the_products_agree_with_enumeration(instance: ElasticInstance) -> None:
    agrees(instance)


@pytest.mark.usefixtures("_gurobi")
@pytest.mark.nightly
@settings(max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck))
@given(TWO_JOBS)
def test_the_products_agree_with_enumeration_at_length(instance: ElasticInstance) -> None:
    agrees(instance)


def test_what_the_bundled_licence_does_not_admit_is_said() -> None:
    needs("gurobi", licence="limited licence")
    large = generate("elastic", preset="small", settings={"jobs": 7}, seed=1)
    with pytest.raises(EngineUnavailableError, match="200 columns where there are products"):
        solve_method(large, "paper-miqcp", time_limit=60)
