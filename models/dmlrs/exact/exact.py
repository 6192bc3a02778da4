"""The method `exact` (ours): search, dual bound by machine patterns, then a search below the bound.

1. Heuristics give a schedule, the fluid program and columns of jobs a first bound.
2. Column generation with machine patterns gives item prices, whose bound is often within 2 % of
   that schedule.
3. Few completions and few bundles in a slot remain that a better schedule can use (reduced-cost
   fixing). A program over these, with all machines merged, is solved for a target value between
   schedule and bound by logic-based Benders decomposition: slots are packed in turn, and one set of
   completions is checked for all its slots. If no schedule reaches the target, it is the new bound.
4. If the gap stays open, trees prove a bound between that of the prices and the schedule's.

Trees come first as well: on small instances they refute all better utilities at once.

References
----------
R. Baldacci, N. Christofides, A. Mingozzi, "An exact algorithm for the vehicle routing problem based
on the set partitioning formulation with additional cuts", Mathematical Programming 115 (2008):
price, then enumerate what the gap leaves.
R. Klein, A. Scholl, "Computing lower bounds by destructive improvement: an application to
resource-constrained project scheduling", European Journal of Operational Research 112 (1999):
bounds from target values that are refuted.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from schedgap.instances.dmlrs import DmlrsInstance, arrays
from schedgap.models.dmlrs.bounds.certificate_data import item_price_certificate
from schedgap.models.dmlrs.bounds.machine_patterns import (
    MAX_ROWS,
    MAX_WORKERS,
    ItemPrices,
    PatternMaster,
    generate_patterns,
)
from schedgap.models.dmlrs.bounds.solve_relaxations import MaxColumns
from schedgap.models.dmlrs.bounds.utility_sums import attained
from schedgap.models.dmlrs.exact.logic_based_benders import lbbd
from schedgap.models.dmlrs.exact.prove import prove_goal
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
from schedgap.models.method import Budget, MethodResult, RunContext
from schedgap.models.refute import refute_stage
from schedgap.models.search_state import SearchState
from schedgap.solvers.programs.pyomo import InfeasibleModelError

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel

MOVES = 80  # of the first search, per job
SEARCH_TIME, PATTERN_TIME = 0.1, 0.4  # of the time left
MAX_SEARCHES = 20  # if the optimum is not proved in time
GRID = 3000  # steps of the work, for columns with all machines merged
IMPROVEMENT = 5e-7  # relative; smaller improvements are not searched for
TARGET_STEP = 0.25  # of the gap: how far below the bound the first target lies
START_SECONDS = 1.0  # time left below which no program is built
MASTER_GAP = 0.03  # relative gap of the programs: any schedule that attains the target will do
TARGET_TIME, PROOF_TIME = 0.7, 0.95  # of the time left: for targets, then for trees
PROOF_STEP = 0.25  # of the gap that is left for the trees, from one bound to the next
REFUTE_SECONDS = 3.0  # for a proof that the first schedules are optimal
FEW_BUNDLES = 150  # bundles up to which the target is the incumbent at once


def exact(
    instance: DmlrsInstance, call: RunContext, *, max_columns: MaxColumns = 100_000
) -> MethodResult:
    """Run `exact`."""
    state = initial_state(instance, call)
    state.checkable_only = True
    if state.closed:
        return state.outcome()
    moves = MOVES * len(instance.jobs)
    started = fluid_stage(state, instance, moves=moves, time_share=SEARCH_TIME)
    if started is None or state.closed:
        return state.outcome()
    prices, partial = started
    if _refute(state, instance, call.budget.share(SEARCH_TIME, most=REFUTE_SECONDS)):
        return state.outcome()
    prices, partial = column_stage(
        state, instance, prices, partial, grid=GRID, moves=moves // 2, time_share=SEARCH_TIME
    )
    large = (
        aggregate.size(instance) > max_columns
        or int(arrays(instance).batch.max()) > MAX_WORKERS
        or PatternMaster(instance).rows > MAX_ROWS
    )
    decided: bool = state.closed
    if not large and not decided:
        call.progress.phase("generating patterns")
        item_prices = generate_patterns(
            instance,
            prices,
            budget=call.budget.share(PATTERN_TIME),
            on_bound=lambda bound, at_prices: report_bound(
                state, instance, bound, item_price_certificate(at_prices)
            ),
        )
        if item_prices is not None and not state.closed:
            state.call = replace(call, budget=call.budget.share(TARGET_TIME))
            decided = prove_by_targets(state, instance, item_prices)
            state.call = call
        decided |= state.closed
        if not decided:
            decided = _refute(state, instance, call.budget.share(PROOF_TIME), step=PROOF_STEP)
    for seed_offset in range(MAX_SEARCHES if not decided else 0):
        if state.closed or call.clock.expired():
            break
        partial = neighborhood_stage(
            state, partial, prices, moves=10 * moves, time_share=1.0, seed_offset=seed_offset
        )
    return state.outcome("too large to decide: bounded and searched only" if large else "")


def _refute(
    state: SearchState, instance: DmlrsInstance, budget: Budget, *, step: float = 1.0
) -> bool:
    """Refute better utilities over the program of the proof; return whether none is left.

    `step`: as for `refute_stage`.
    """
    state.call.progress.phase("refuting better utilities")
    state.child(
        "refute",
        refute_stage,
        instance,
        prove_goal,
        state.certified,
        state.upper,
        sense=-1,
        grid=0.0,
        step=step,
        budget=budget,
        engine="highs",
    )
    if "refute" not in state.proofs:
        return False
    state.bound(-attained(instance, -state.lower))
    return True


def prove_by_targets(state: SearchState, instance: DmlrsInstance, item_prices: ItemPrices) -> bool:
    """Lower a target from the bound to the incumbent; return whether that proves the incumbent.

    A target near the bound leaves few choices. If no schedule attains it, it bounds the optimum. If
    one does, it is taken as soon as it is found, and the gap above it is smaller.

    `state`: with an incumbent; receives schedules and bounds. `item_prices`: item prices and their
    bound.
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
        state.call.progress.phase(f"searching {len(remaining.items)} remaining bundles")
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
    """Search for a schedule that attains a target; return how the search ended.

    Every row has integer data or an allowance, so that an engine's tolerance admits more solutions,
    not fewer. Hence `infeasible` is a proof if the engine's search is complete, which is confirmed
    without presolve. Packings of slots are decided in whole numbers.
    """
    layout = PatternMaster(instance)
    options = {i: layout.options(i, item_prices.price) for i in layout.jobs}
    try:
        model = restricted_program(instance, remaining, item_prices, options, target)
        # schedules outside the model are worth no more than the target
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
) -> "ConcreteModel":
    """Return the program with all machines merged, for schedules that attain a target.

    `remaining`: the choices that such schedules can make. `item_prices`: the bundles of a slot are
    worth no more at these prices than all its machines can hold. `options`: the options of each job
    at these prices, slot by slot from its arrival on. `target`: least value of the schedules.
    """
    import pyomo.core as pyo

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
        doc="largest value of the items of a slot",
        rule=lambda model, t: sum(priced[t]) <= float(item_prices.slot_value[t - 1]) + 1e-6,
    )
    model.cut_admitted = pyo.Constraint(
        sorted(remaining.admitted),
        doc="a job that every schedule of this value admits",
        rule=lambda model, i: sum(model.y[i, f] for j, f in model.y if j == i) >= 1,
    )
    model.cut_value = pyo.Constraint(
        expr=model.objective.expr >= target, doc="schedules that attain the target"
    )
    return model
