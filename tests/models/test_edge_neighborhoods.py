"""Large neighborhoods: better and better schedules; all jobs at once is a proof."""

from typing import Any

import pytest

from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.models.edge import rules
from schedgap.models.edge.bounds.column_generation import solve_bound
from schedgap.models.edge.bounds.reduced_cost_fixing import ReducedCostFixing
from schedgap.models.edge.decisions import compiled
from schedgap.models.edge.exact.neighborhoods import improve
from schedgap.models.edge.heuristics.initial import initial_state
from schedgap.models.edge.heuristics.lists import orders, place_all
from schedgap.models.edge.programs.dual import CapacityPrices
from schedgap.models.method import Budget, RunContext
from schedgap.models.search_state import SearchState
from schedgap.solvers import Clock
from strategies.edge import brute_force, instance_of
from strategies.edge_examples import TOY_A, TOY_C
from strategies.edge_methods import Silence


def prices_of(instance: EdgeInstance) -> CapacityPrices:
    view = compiled(instance)
    found = solve_bound(view, slots=view.slots, budget=Budget(Clock(60))).prices
    assert found is not None
    return found


def improved(instance: EdgeInstance, schedule: EdgeSchedule) -> SearchState:
    found = initial_state(instance, RunContext({}, None, Budget(Clock(60)), Silence()))
    found.incumbent(schedule)
    found.child(
        "neighborhoods",
        improve,
        instance,
        schedule,
        ReducedCostFixing((prices_of(instance),)),
        budget=Budget(Clock(30)),
        engine="cp-sat",
    )
    return found


def by_arrival(instance: EdgeInstance) -> EdgeSchedule:
    return place_all(instance, orders(instance)["arrival"]).schedule()


LATE: Any = instance_of([{"epochs": n % 3 + 1, "arrival": n // 4 + 1} for n in range(12)])


@pytest.mark.parametrize("instance", [TOY_A, TOY_C, LATE])
def test_lists_by_arrival_are_improved(instance: EdgeInstance) -> None:
    schedule = by_arrival(instance)
    found = improved(instance, schedule)
    data = found.schedule.to_data(instance)
    assert list(rules.check(instance, data, {})) == []
    assert found.upper == rules.objective(instance, data) <= schedule.value(instance)
    assert found.lower <= found.upper


def test_a_neighborhood_of_all_jobs_is_a_proof() -> None:
    """Three jobs or fewer are all free from the first neighborhood on."""
    found = improved(TOY_C, by_arrival(TOY_C))
    assert found.upper == found.lower == brute_force(TOY_C) == 6
