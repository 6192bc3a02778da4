"""Prices and good schedules: the fluid program, jobs by density, choices of columns, searches."""

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

CAPACITY_SHARES = 1.0, 0.97, 0.94  # of the capacity, for the choice of columns
MAX_TIME_SHARE = 0.96  # of what is left: a move at the paper's scale takes a while
CHOICE_TIME, CHOICE_SECONDS = 0.05, 8.0  # of what is left, for each choice


def fluid_stage(
    state: SearchState, instance: DmlrsInstance, *, moves: int, time_share: float
) -> tuple[Floats, PartialSchedule] | None:
    """Tell a bracket the fluid bound and the best board of a short search.

    Returns
    -------
    tuple or None
        Prices [t, r] and that board; None when there was no time for the fluid program.
    """
    call = state.call
    settings: dict[str, Any] = {"seed": call.seed, "threads": call.threads}
    call.progress.phase("solving the fluid program")
    relaxation = fluid.compact(instance)
    result = solve(relaxation.program, "highs", clock=call.clock, **settings)
    if result.duals is None:
        state.trace["fluid"] = result.status
        return None
    prices = relaxation.prices(instance, result.duals)
    report_bound(state, instance, priced_bound(instance, prices), price_certificate(prices))
    partials = []
    for share in PRICE_SHARES:
        partials.append(PartialSchedule(instance))
        insert_by_density(partials[-1], share * prices, clock=call.clock)
        state.offer(partials[-1].schedule())
    best = max(partials, key=PartialSchedule.value)
    return prices, neighborhood_stage(state, best, prices, moves=moves, time_share=time_share)


def column_stage(
    state: SearchState,
    instance: DmlrsInstance,
    prices: Floats,
    partial: PartialSchedule,
    *,
    grid: int,
    moves: int,
    time_share: float,
) -> tuple[Floats, PartialSchedule]:
    """Generate columns from prices [t, r], choose among them, and search from each choice.

    Parameters
    ----------
    board : Board
        The best one so far.
    grid : int
        Parts of the work, for columns.
    moves, part
        Of each search; `part` of the time is for the columns, too.

    Returns
    -------
    tuple
        The prices of the best bound by columns, if there is one, and the best board.
    """
    call = state.call
    settings: dict[str, Any] = {"seed": call.seed, "threads": call.threads}
    checkable = not is_too_fine(instance, grid)

    def certificate(prices_then: Floats) -> dict[str, Any] | None:
        return price_certificate(prices_then, grid) if checkable else None

    call.progress.phase("generating columns")
    columns = column_generation.generate(
        instance,
        grid=grid,
        clock=call.clock.share(time_share),
        prices=prices,
        on_bound=lambda bound, prices_then: report_bound(
            state, instance, bound, certificate(prices_then)
        ),
        **settings,
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
        clock = call.clock.share(CHOICE_TIME, most=CHOICE_SECONDS)
        chosen = schedule_from_columns(instance, usable, prices, share, clock=clock, **settings)
        state.offer(chosen.schedule())
        improved = neighborhood_stage(state, chosen, prices, moves=moves, time_share=CHOICE_TIME)
        partial = max(partial, improved, key=PartialSchedule.value)
    if columns.prices is not None:
        prices = column_generation.resource_prices(instance, columns.prices)
    return prices, partial


def neighborhood_stage(
    state: SearchState,
    partial: PartialSchedule,
    prices: Floats,
    *,
    moves: int,
    time_share: float,
    seed_offset: int = 0,
) -> PartialSchedule:
    """Search neighborhoods from a board, for so many moves and this part of the time left.

    The trace says why the last search ended. `again` counts those with other random moves before.
    """
    call = state.call
    if state.closed:
        return partial
    call.progress.phase("large neighborhoods")
    clock = call.clock.share(min(time_share, MAX_TIME_SHARE))
    better = improve(
        partial,
        prices,
        moves=moves,
        clock=clock,
        seed=call.seed + seed_offset,
        on_better=lambda better: state.offer(better.schedule()),
        target=-state.lower,
    )
    ended = "out of time" if clock.expired() else f"after {moves} moves"
    state.trace["search_ended"] = "closed" if state.closed else ended
    return better
