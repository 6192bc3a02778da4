"""Targets between incumbent and bound, over the choices that item prices leave (ours).

Few completions and few bundles in a slot remain that a better schedule can use (reduced-cost
fixing). A program over these, with all machines merged, is solved for a target value by logic-based
Benders decomposition: slots are packed in turn, and one set of completions is checked for all its
slots. If no schedule reaches the target, it is the new bound.

References
----------
R. Baldacci, N. Christofides, A. Mingozzi, "An exact algorithm for the vehicle routing problem based
on the set partitioning formulation with additional cuts", Mathematical Programming 115 (2008):
price, then enumerate what the gap leaves.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from schedgap.instances.dmlrs import DmlrsInstance, arrays
from schedgap.models.dmlrs.bounds.machine_patterns import ItemPrices, PatternMaster
from schedgap.models.dmlrs.bounds.utility_sums import attained
from schedgap.models.dmlrs.exact.logic_based_benders import lbbd
from schedgap.models.dmlrs.exact.reduced_cost_fixing import RemainingChoices, remaining_choices
from schedgap.models.dmlrs.programs import aggregate
from schedgap.models.dmlrs.slot_options import SlotOption
from schedgap.models.dmlrs.utility_scaling import ENGINE_TOLERANCE
from schedgap.models.search_state import SearchState
from schedgap.solvers.programs.pyomo import InfeasibleModelError

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel

IMPROVEMENT = 5e-7  # relative; smaller improvements are not searched for
TARGET_STEP = 0.25  # of the gap: how far below the bound the first target lies
START_SECONDS = 1.0  # time left below which no program is built
MASTER_GAP = 0.03  # relative gap of the programs: any schedule that attains the target will do
FEW_BUNDLES = 150  # bundles up to which the target is the incumbent at once


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
    model.cut_slot_value = pyo.Constraint(
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
