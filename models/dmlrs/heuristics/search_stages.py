"""Stages of the searches: fluid prices and greedy schedules, columns, large neighbourhoods.

They join relaxations, heuristics and the search state of a method.
"""

from dataclasses import replace
from typing import Any

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.bounds import column_generation, fluid
from schedgap.models.dmlrs.bounds.certificate_data import is_too_fine, price_certificate
from schedgap.models.dmlrs.bounds.pricing import priced_bound
from schedgap.models.dmlrs.heuristics.column_choice import schedule_from_columns, with_full_work
from schedgap.models.dmlrs.heuristics.density import insert_by_density
from schedgap.models.dmlrs.heuristics.initial import report_bound
from schedgap.models.dmlrs.heuristics.large_neighborhoods import PRICE_SHARES, improve
from schedgap.models.dmlrs.heuristics.partial_schedule import PartialSchedule
from schedgap.models.search_state import SearchState
from schedgap.solvers import solve

CAPACITY_SHARES = 1.0, 0.97, 0.94  # shares of the capacity in the integer programs over columns
MAX_TIME_SHARE = 0.96  # fraction of the time left, because a move on a large instance takes long
PATIENCE = 2  # rounds in a row without improvement that end a repeated search
CHOICE_TIME, CHOICE_SECONDS = 0.05, 8.0  # fraction of the time left, and seconds, for each of them


def fluid_stage(
    state: SearchState, instance: DmlrsInstance, *, moves: int, time_share: float
) -> Floats | None:
    """Report the fluid bound and the schedules of a short search.

    `state`: receives bound and schedules. `moves`: largest number of moves of the search.
    `time_share`: share of the remaining time for the search, in (0, 1].

    Returns
    -------
    array or None
        Prices [t, r]; None if time ran out in the fluid program.
    """
    call = state.call
    call.progress.phase("solving the fluid program")
    relaxation = fluid.build(instance)
    result = solve(
        relaxation.program, "highs", clock=call.clock, seed=call.seed, threads=call.threads
    )
    if result.duals is None:
        state.trace["fluid"] = result.status
        return None
    prices = relaxation.prices(result.duals)
    report_bound(state, instance, priced_bound(instance, prices), price_certificate(prices))
    for share in PRICE_SHARES:
        partial = PartialSchedule(instance)
        insert_by_density(partial, share * prices, clock=call.clock)
        state.incumbent(partial.schedule())
    neighborhood_stage(state, instance, prices, moves=moves, time_share=time_share)
    return prices


def column_stage(
    state: SearchState,
    instance: DmlrsInstance,
    prices: Floats,
    *,
    grid: int,
    moves: int,
    time_share: float,
) -> Floats:
    """Generate columns, compose schedules from them, and search from each schedule.

    `state`: receives bounds and schedules. `prices` [t, r]: prices to begin with. `grid`: steps of
    the work, for columns. `moves`: largest number of moves of each search. `time_share`: share of
    the remaining time for the columns.

    Returns
    -------
    array
        The prices of the best bound by columns, if there is one.
    """
    call = state.call
    checkable = not is_too_fine(instance, grid)

    def certificate(prices_then: Floats) -> dict[str, Any] | None:
        return price_certificate(prices_then, grid) if checkable else None

    call.progress.phase("generating columns")
    columns = column_generation.generate(
        instance,
        grid=grid,
        budget=call.budget.share(time_share),
        prices=prices,
        on_bound=lambda bound, prices_then: report_bound(
            state, instance, bound, certificate(prices_then)
        ),
    )
    usable = [
        usable_column
        for usable_column in (with_full_work(instance, column) for column in columns.tags)
        if usable_column
    ]
    state.trace |= {"rounds": columns.rounds, "columns": len(usable)}
    for share in CAPACITY_SHARES:
        if state.closed or call.clock.expired():
            break
        call.progress.phase(f"choosing columns for {share:.0%} of the capacity")
        budget = call.budget.share(CHOICE_TIME, most=CHOICE_SECONDS)
        chosen = schedule_from_columns(instance, usable, prices, share, budget=budget)
        state.incumbent(chosen.schedule())
        neighborhood_stage(
            state, instance, prices, moves=moves, time_share=CHOICE_TIME, start=chosen
        )
    if columns.prices is None:
        return prices
    return column_generation.resource_prices(instance, columns.prices)


def neighborhood_stage(
    state: SearchState,
    instance: DmlrsInstance,
    prices: Floats,
    *,
    moves: int,
    time_share: float,
    seed_offset: int = 0,
    start: PartialSchedule | None = None,
) -> None:
    """Run a large-neighbourhood search from the incumbent, or from another partial schedule.

    The trace says why the last search ended.

    `state`: receives schedules. `prices` [t, r]: prices of the resources. `moves`: largest number
    of moves. `time_share`: share of the remaining time, in (0, 1]. `seed_offset`: added to the
    seed, because repeated searches shall differ. `start`: instead of the incumbent.
    """
    call = state.call
    if state.closed:
        return
    call.progress.phase("large neighborhoods")
    budget = call.budget.share(min(time_share, MAX_TIME_SHARE))
    assert state.schedule is not None
    improve(
        start or PartialSchedule(instance, state.schedule.plans(instance)),
        prices,
        moves=moves,
        budget=replace(budget, seed=budget.seed + seed_offset),
        on_better=lambda better: state.incumbent(better.schedule()),
        target=-state.lower,
    )
    ended = "out of time" if budget.clock.expired() else f"after {moves} moves"
    state.trace["search_ended"] = "closed" if state.closed else ended


def repeat_search(
    state: SearchState, instance: DmlrsInstance, prices: Floats, *, moves: int
) -> None:
    """Repeat the search with twice as many moves each time, until time is up or rounds fail.

    `state`: receives schedules. `prices` [t, r]: prices of the resources. `moves`: of the first
    round.
    """
    patience, seed_offset = PATIENCE, 0
    while patience and not (state.closed or state.call.clock.expired()):
        before = state.upper
        neighborhood_stage(
            state, instance, prices, moves=moves, time_share=1.0, seed_offset=seed_offset
        )
        if state.trace["search_ended"] == "out of time":
            return
        patience = patience - 1 if state.upper == before else PATIENCE
        moves, seed_offset = 2 * moves, seed_offset + 1
    if not patience:
        state.trace["search_ended"] = f"{PATIENCE} rounds in a row found nothing better"
