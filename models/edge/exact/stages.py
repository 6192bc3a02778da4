"""The stages of `exact`: lists here, every stage that needs an engine in a child process."""

from collections.abc import Mapping

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge.exact.build_programs import cp_sat
from schedgap.models.edge.exact.components import components_stage
from schedgap.models.edge.exact.neighborhoods import improve
from schedgap.models.edge.heuristics.list_search import anneal_types
from schedgap.models.edge.heuristics.lists import best_list, orders, place_all
from schedgap.models.edge.heuristics.partial_schedule import PartialSchedule
from schedgap.models.edge.placements import runs_from_schedule
from schedgap.models.method import Budget
from schedgap.models.program import Known, program_stage
from schedgap.models.search_state import SearchState


def search_lists(
    instance: EdgeInstance,
    state: SearchState,
    budget: Budget,
    moves: int,
    patience: float,
    starts: Mapping[int, float] | None = None,
) -> None:
    """Build list schedules and improve the best one by annealing.

    `state`: receives the schedules. `moves`: for each job in the first round; each round has twice
    as many. `patience`: rounds in a row without improvement after which it ends. `starts`: a slot
    for each job (index), for one more order.
    """
    state.call.progress.phase("lists")
    partial = PartialSchedule(instance)
    if state.schedule is None:
        _, partial = best_list(instance)
    else:
        for run in runs_from_schedule(instance, state.schedule):
            partial.place(run)
    if starts is not None:
        by_start = place_all(instance, orders(instance, starts)["starts"])
        partial = min(partial, by_start, key=lambda each: each.value)
    if partial.complete:
        state.incumbent(partial.schedule())
    anneal_types(
        partial,
        budget.clock.share(1.0),
        moves=moves,
        patience=patience,
        seed=budget.seed,
        stop=lambda: state.closed,
        on_better=state.incumbent,
    )


def search_neighborhoods(instance: EdgeInstance, state: SearchState, budget: Budget) -> None:
    """Improve the incumbent, if there is one and the gap is open."""
    if not state.closed and state.schedule is not None:
        state.call.progress.phase("large neighborhoods")
        arguments = improve, instance, state.schedule
        state.child("neighborhoods", *arguments, budget=budget, engine="cp-sat")


def refute_components(
    instance: EdgeInstance, state: SearchState, budget: Budget
) -> dict[int, float] | None:
    """Refute better values by worker type; return the starts of the jobs in the best schedules."""
    state.call.progress.phase("refuting better values by worker type")
    arguments = components_stage, instance, state.schedule
    found = state.child("components", *arguments, budget=budget, engine="highs")
    return None if found is None else found.value


def search_intervals(instance: EdgeInstance, state: SearchState, budget: Budget) -> None:
    """Solve the interval model by CP-SAT, from the incumbent on."""
    state.call.progress.phase("CP-SAT on intervals")
    known, options = Known(state.schedule, state.lower), {"max_intervals": None}
    program = cp_sat, instance, known, options, "cp-sat"
    state.child("cp-sat", program_stage, *program, budget=budget, engine="cp-sat")
