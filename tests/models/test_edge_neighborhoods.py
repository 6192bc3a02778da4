"""Large neighborhoods: better and better schedules."""

from typing import Any

import pytest

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge import rules
from schedgap.models.edge.exact.neighborhoods import improve
from schedgap.models.edge.heuristics.initial import initial_state
from schedgap.models.edge.heuristics.lists import orders, place_all
from schedgap.models.method import Budget, RunContext
from schedgap.solvers import Clock
from strategies.edge import brute_force, instance_of
from strategies.edge_examples import TOY_A, TOY_C
from strategies.edge_methods import Silence

LATE: Any = instance_of([{"epochs": n % 3 + 1, "arrival": n // 4 + 1} for n in range(12)])


@pytest.mark.parametrize("instance", [TOY_A, TOY_C, LATE])
def test_lists_by_arrival_are_improved(instance: EdgeInstance) -> None:
    schedule = place_all(instance, orders(instance)["arrival"]).schedule()
    found = initial_state(instance, RunContext({}, None, Budget(Clock(60)), Silence()))
    found.schedule, found.upper = None, None
    found.incumbent(schedule)
    before = found.lower
    found.child(
        "neighborhoods", improve, instance, schedule, budget=Budget(Clock(20)), engine="cp-sat"
    )
    assert found.schedule is not None and found.lower == before
    data = found.schedule.to_data(instance)
    assert list(rules.check(instance, data, {})) == []
    assert found.upper == rules.objective(instance, data) <= schedule.value(instance)
    if instance is not LATE:  # all jobs are free at a time
        assert found.upper == brute_force(instance)
    else:
        assert found.upper < schedule.value(instance)
