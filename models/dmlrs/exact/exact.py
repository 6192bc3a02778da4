"""`exact` (ours): a schedule by search, rents that prove a bound, and what they leave to decide.

Column generation with patterns of machines gives rents, whose bound is often within 2 % of the best
schedule of a search. What a better schedule can still do is then little: few slots of completion,
few bundles in a slot. A program over that, with all machines as one and slots packed in turn, looks
for a schedule of more value; that there is none is the proof. Completions whose slots do not fit
are asked for others, for one set of completions can have very many.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from schedgap.instances.dmlrs import DmlrsInstance, arrays
from schedgap.models.dmlrs.bounds.certificate_data import item_price_certificate
from schedgap.models.dmlrs.bounds.machine_patterns import (
    MAX_ROWS,
    MAX_WORKERS,
    ItemPrices,
    PatternMaster,
    generate_patterns,
)
from schedgap.models.dmlrs.bounds.utility_sums import attained
from schedgap.models.dmlrs.exact.logic_based_benders import lbbd
from schedgap.models.dmlrs.exact.reduced_cost_fixing import RemainingChoices, remaining_choices
from schedgap.models.dmlrs.heuristics.initial import initial_state, report_bound
from schedgap.models.dmlrs.heuristics.search_stages import (
    column_stage,
    fluid_stage,
    neighborhood_stage,
)
from schedgap.models.dmlrs.programs import aggregate
from schedgap.models.dmlrs.slot_options import SlotOption
from schedgap.models.dmlrs.utility_scaling import ENGINE_TOLERANCE
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.search_state import SearchState
from schedgap.solvers.programs.pyomo import InfeasibleModelError

MOVES = 80  # of the search, for each job
SEARCH_TIME, PATTERN_TIME = 0.1, 0.4  # of what is left
MAX_SEARCHES = 20  # at most, with what time is left where nothing is decided
GRID = 3000  # parts of the work, for columns of all machines as one
IMPROVEMENT = 5e-7  # relative: a schedule of less more value is as good
TARGET_STEP = 0.25  # of the gap: how far below the bound the first goal lies
START_SECONDS = 1.0  # left, or no program is begun: what builds it takes a while to load
MASTER_GAP = 0.03  # relative: any schedule worth the goal will do
FEW_BUNDLES = 150  # bundles: no goal between is worth its program


def exact(instance: DmlrsInstance, call: RunContext) -> MethodResult:
    """Run `exact`."""
    state = initial_state(instance, call)
    if state.closed:
        return state.outcome()
    moves = MOVES * len(instance.jobs)
    started = fluid_stage(state, instance, moves=moves, time_share=SEARCH_TIME)
    if started is None or state.closed:
        return state.outcome()
    prices, partial = started
    settings: dict[str, Any] = {"seed": call.seed, "threads": call.threads}
    prices, partial = column_stage(
        state, instance, prices, partial, grid=GRID, moves=moves // 2, time_share=SEARCH_TIME
    )
    large = (
        aggregate.size(instance) > call.options["max_columns"]
        or int(arrays(instance).batch.max()) > MAX_WORKERS
        or PatternMaster(instance).rows > MAX_ROWS
    )
    decided: bool = state.closed
    if not large and not decided:
        call.progress.phase("generating patterns")
        clock = call.clock.share(PATTERN_TIME)
        item_prices = generate_patterns(
            instance,
            prices,
            clock=clock,
            on_bound=lambda bound, at_prices: report_bound(
                state, instance, bound, item_price_certificate(at_prices)
            ),
            **settings,
        )
        decided = state.closed or (
            item_prices is not None and prove_by_targets(state, instance, item_prices)
        )
    for seed_offset in range(MAX_SEARCHES if not decided else 0):
        if state.closed or call.clock.expired():
            break
        partial = neighborhood_stage(
            state, partial, prices, moves=10 * moves, time_share=1.0, seed_offset=seed_offset
        )
    return state.outcome("too large to decide: bounded and searched only" if large else "")


def prove_by_targets(state: SearchState, instance: DmlrsInstance, item_prices: ItemPrices) -> bool:
    """Lower a goal from the bound to the known value, and return whether the best one is proved.

    What has no schedule is above the optimum. A goal near the bound leaves little to look at. A
    schedule worth the goal is taken as soon as it is found: what is better than it is less.
    """
    assert state.upper is not None
    step = TARGET_STEP * (state.upper - state.lower)
    if len(remaining_choices(instance, item_prices, -state.upper).items) <= FEW_BUNDLES:
        step = math.inf
    while not state.closed and state.call.clock.remaining() > START_SECONDS:
        value, bound = -state.upper, -state.lower
        last = bound - step <= value + IMPROVEMENT * max(1.0, value)
        target = value + IMPROVEMENT * max(1.0, value) if last else bound - step
        remaining = remaining_choices(instance, item_prices, target)
        sizes = {"completions": len(remaining.completions), "bundles": len(remaining.items)}
        state.trace["left"] = {"goal": target, **sizes}
        state.call.progress.phase(f"whether {len(remaining.items)} bundles make a better schedule")
        outcome = _solve_for_target(state, instance, remaining, item_prices, target)
        if outcome == "infeasible":
            state.bound(-attained(instance, target))
            if last:
                state.proofs.append("no schedule is better")
                return True
        elif -state.upper <= value:
            break  # there is no time left
    return state.closed


def _solve_for_target(
    state: SearchState,
    instance: DmlrsInstance,
    remaining: RemainingChoices,
    item_prices: ItemPrices,
    target: float,
) -> str:
    """Look for the best schedule that is worth a goal or more; how that ended.

    An engine's tolerance lets more pass each row, never less, and the rows of (3) are of whole
    numbers; so `infeasible` is a proof as far as the engine's search is complete, which it has to
    say twice, once without presolve. What slots hold is proved in whole numbers.
    """
    layout = PatternMaster(instance)
    options = {i: layout.options(i, item_prices.price) for i in layout.jobs}
    try:
        model = restricted_program(instance, remaining, item_prices, options, target)
        # what the model leaves out is worth no more than the goal
        return lbbd(
            state,
            instance,
            model,
            lambda bound: -attained(instance, max(ENGINE_TOLERANCE - bound, target)),
            options=options,
            gap=MASTER_GAP,
        ).end
    except InfeasibleModelError:
        return "infeasible"


def restricted_program(
    instance: DmlrsInstance,
    remaining: RemainingChoices,
    item_prices: ItemPrices,
    options: Mapping[int, Sequence[Sequence[SlotOption]]],
    target: float,
) -> Any:
    """Return the program of all machines as one, for schedules worth `least` or more.

    Parameters
    ----------
    rest : Left
        What they can do.
    rents : Rents
        No slot's bundles pay more rent than its machines can earn.
    offers : mapping
        What each job can rent, slot by slot from its arrival on.
    """
    import pyomo.environ as pyo

    model = aggregate.build(instance)
    for key, var in model.y.items():
        if key not in remaining.completions:
            var.fix(0)
    priced: dict[int, list[Any]] = {}
    price_of = {
        (i, t, option.internal, option.workers): option.cost
        for i, rows in options.items()
        for t, row in enumerate(rows, int(arrays(instance).arrival[i]))
        for option in row
    }
    for key, var in model.v.items():
        t, item = aggregate.chosen(key)
        if (t, item) not in remaining.items:
            var.fix(0)
        elif cost := price_of[item.job, t, item.internal, item.workers]:
            priced.setdefault(t, []).append(cost * var)
    model.cut_rent = pyo.Constraint(
        list(priced),
        doc="what the machines of a slot can earn",
        rule=lambda model, t: sum(priced[t]) <= float(item_prices.slot_value[t - 1]) + 1e-6,
    )
    model.cut_admitted = pyo.Constraint(
        sorted(remaining.admitted),
        doc="a job that every better schedule admits",
        rule=lambda model, i: sum(model.y[i, f] for j, f in model.y if j == i) >= 1,
    )
    model.cut_value = pyo.Constraint(
        expr=model.objective.expr >= target, doc="more than the best schedule known"
    )
    return model
