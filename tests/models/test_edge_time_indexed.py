"""The time-indexed program over modes and starts against enumeration."""

import math

import pytest
from hypothesis import HealthCheck, given, settings

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge.decisions import compiled
from schedgap.models.edge.placements import schedule_from_runs
from schedgap.models.edge.programs import time_indexed
from schedgap.models.edge.rules import check, objective
from schedgap.solvers import Clock, solve
from strategies.edge import brute_force, edge_instances
from strategies.edge_examples import TOY_A, TOY_BATCH

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}


@pytest.mark.parametrize(("instance", "optimum"), [(TOY_A, 5), (TOY_BATCH, 3)])
def test_the_arrays_solve_the_examples(instance: EdgeInstance, optimum: int) -> None:
    found = time_indexed.build(instance)
    result = solve(found.program, "highs", clock=Clock(60), grid=1)
    data = schedule_from_runs(instance, found.runs(result.values)).to_data(instance)
    assert list(check(instance, data, {})) == []
    assert objective(instance, data) == optimum


@settings(max_examples=25, **QUIET)
@given(edge_instances(horizon=(4, 7), batch=None))
def test_the_arrays_have_the_optimum_by_enumeration(instance: EdgeInstance) -> None:
    if {start.job for start in compiled(instance).mode_starts()} != {
        task.job for task in compiled(instance).tasks
    }:
        return
    found, optimum = time_indexed.build(instance), brute_force(instance)
    result = solve(found.program, "highs", clock=Clock(60), grid=1)
    if optimum == math.inf:
        assert result.status == "infeasible"
        return
    data = schedule_from_runs(instance, found.runs(result.values)).to_data(instance)
    assert list(check(instance, data, {})) == [] and objective(instance, data) == optimum
