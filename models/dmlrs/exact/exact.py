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
from schedgap.models.dmlrs.bounds.certificate_data import rent_certificate
from schedgap.models.dmlrs.bounds.machine_patterns import (
    MOST_ROWS,
    MOST_WORKERS,
    Parts,
    Rents,
    solve_patterns,
)
from schedgap.models.dmlrs.bounds.utility_sums import attained
from schedgap.models.dmlrs.exact.logic_based_benders import lbbd
from schedgap.models.dmlrs.exact.reduced_cost_fixing import Left, left
from schedgap.models.dmlrs.heuristics.initial import first_bracket, tell
from schedgap.models.dmlrs.heuristics.search_stages import begin, by_columns, search
from schedgap.models.dmlrs.offers import Offer
from schedgap.models.dmlrs.programs import aggregate
from schedgap.models.dmlrs.utility_units import WORD
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.search_state import SearchState
from schedgap.solvers.programs.pyomo import InfeasibleModelError

MOVES = 80  # of the search, for each job
SEARCH_TIME, PATTERN_TIME = 0.1, 0.4  # of what is left
SEARCHES = 20  # at most, with what time is left where nothing is decided
GRID = 3000  # parts of the work, for columns of all machines as one
BETTER = 5e-7  # relative: a schedule of less more value is as good
STEP = 0.25  # of the gap: how far below the bound the first goal lies
START_SECONDS = 1.0  # left, or no program is begun: what builds it takes a while to load
GAP = 0.03  # relative: any schedule worth the goal will do
FEW = 150  # bundles: no goal between is worth its program


def exact(instance: DmlrsInstance, call: RunContext) -> MethodResult:
    """Run `exact`."""
    found = first_bracket(instance, call)
    if found.closed:
        return found.outcome()
    moves = MOVES * len(instance.jobs)
    begun = begin(found, instance, moves=moves, part=SEARCH_TIME)
    if begun is None or found.closed:
        return found.outcome()
    prices, board = begun
    settings: dict[str, Any] = {"seed": call.seed, "threads": call.threads}
    prices, board = by_columns(
        found, instance, prices, board, grid=GRID, moves=moves // 2, part=SEARCH_TIME
    )
    large = (
        aggregate.size(instance) > call.options["max_columns"]
        or int(arrays(instance).batch.max()) > MOST_WORKERS
        or Parts(instance).rows > MOST_ROWS
    )
    decided: bool = found.closed
    if not large and not decided:
        call.progress.phase("generating patterns")
        clock = call.clock.share(PATTERN_TIME)
        rents = solve_patterns(
            instance,
            prices,
            clock=clock,
            on_bound=lambda bound, rent: tell(found, instance, bound, rent_certificate(rent)),
            **settings,
        )
        decided = found.closed or (rents is not None and decide(found, instance, rents))
    for again in range(SEARCHES if not decided else 0):
        if found.closed or call.clock.expired():
            break
        board = search(found, board, prices, moves=10 * moves, part=1.0, again=again)
    return found.outcome("too large to decide: bounded and searched only" if large else "")


def decide(found: SearchState, instance: DmlrsInstance, rents: Rents) -> bool:
    """Lower a goal from the bound to the known value, and return whether the best one is proved.

    What has no schedule is above the optimum. A goal near the bound leaves little to look at. A
    schedule worth the goal is taken as soon as it is found: what is better than it is less.
    """
    assert found.upper is not None
    step = STEP * (found.upper - found.lower)
    if len(left(instance, rents, -found.upper).items) <= FEW:
        step = math.inf
    while not found.closed and found.call.clock.remaining() > START_SECONDS:
        value, bound = -found.upper, -found.lower
        last = bound - step <= value + BETTER * max(1.0, value)
        goal = value + BETTER * max(1.0, value) if last else bound - step
        rest = left(instance, rents, goal)
        sizes = {"completions": len(rest.completions), "bundles": len(rest.items)}
        found.trace["left"] = {"goal": goal, **sizes}
        found.call.progress.phase(f"whether {len(rest.items)} bundles make a better schedule")
        end = _search(found, instance, rest, rents, goal)
        if end == "infeasible":
            found.bound(-attained(instance, goal))
            if last:
                found.proofs.append("no schedule is better")
                return True
        elif -found.upper <= value:
            break  # there is no time left
    return found.closed


def _search(
    found: SearchState, instance: DmlrsInstance, rest: Left, rents: Rents, goal: float
) -> str:
    """Look for the best schedule that is worth a goal or more; how that ended.

    An engine's tolerance lets more pass each row, never less, and the rows of (3) are of whole
    numbers; so `infeasible` is a proof as far as the engine's search is complete, which it has to
    say twice, once without presolve. What slots hold is proved in whole numbers.
    """
    made = Parts(instance)
    offers = {i: made.offers(i, rents.rent) for i in made.jobs}
    try:
        model = narrowed(instance, rest, rents, offers, goal)
        # what the model leaves out is worth no more than the goal
        return lbbd(
            found,
            instance,
            model,
            lambda bound: -attained(instance, max(WORD - bound, goal)),
            offers=offers,
            gap=GAP,
        ).end
    except InfeasibleModelError:
        return "infeasible"


def narrowed(
    instance: DmlrsInstance,
    rest: Left,
    rents: Rents,
    offers: Mapping[int, Sequence[Sequence[Offer]]],
    least: float,
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
        if key not in rest.completions:
            var.fix(0)
    rent: dict[int, list[Any]] = {}
    known = {
        (i, t, offer.internal, offer.workers): offer.cost
        for i, rows in offers.items()
        for t, row in enumerate(rows, int(arrays(instance).arrival[i]))
        for offer in row
    }
    for key, var in model.v.items():
        t, item = aggregate.chosen(key)
        if (t, item) not in rest.items:
            var.fix(0)
        elif cost := known[item.job, t, item.internal, item.workers]:
            rent.setdefault(t, []).append(cost * var)
    model.cut_rent = pyo.Constraint(
        list(rent),
        doc="what the machines of a slot can earn",
        rule=lambda model, t: sum(rent[t]) <= float(rents.room[t - 1]) + 1e-6,
    )
    model.cut_admitted = pyo.Constraint(
        sorted(rest.admitted),
        doc="a job that every better schedule admits",
        rule=lambda model, i: sum(model.y[i, f] for j, f in model.y if j == i) >= 1,
    )
    model.cut_value = pyo.Constraint(
        expr=model.objective.expr >= least, doc="more than the best schedule known"
    )
    return model
