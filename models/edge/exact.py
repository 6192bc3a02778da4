"""`exact` (ours): CP-SAT on intervals, prices by column generation, and the groups they leave.

CP-SAT settles small networks and finds schedules. Beyond, prices prove: their bound L, better still
with prices of bundles, is within a few per cent, and a schedule with an objective up to a goal
above L can use few groups. A program over these decides whether there is one; if not, the goal is
raised. The first schedule found so is optimal, and every goal that fails is a bound. In between,
large neighborhoods look for better schedules.
"""

import math
from collections.abc import Mapping

from schedgap.instances.edge import EdgeInstance
from schedgap.models.bracket import Bracket
from schedgap.models.edge.column_bound import too_large
from schedgap.models.edge.cost import Floats
from schedgap.models.edge.fixing import Kept, keep, last_slot
from schedgap.models.edge.lists import Search, best_list
from schedgap.models.edge.prices import Prices
from schedgap.models.edge.problem import no_schedule, problem
from schedgap.models.edge.starting import first_bracket
from schedgap.models.method import Call, Outcome
from schedgap.solvers import Clock

STAGES = "schedgap.models.edge.exact_stages"
FIRST_SHARE, FIRST_SECONDS = 0.2, 2.5  # of CP-SAT on all groups
LIST_SHARE = 0.1  # of a search over lists
MOVES = 10, 30  # of such a search, for each job: before there are prices, and with them
PRICE_SHARE = 0.4
GOAL_SHARE, GOAL_SECONDS = 0.05, 3.0  # for one goal and engine; doubled where both fail
TURNS = 2  # of doubling, before the last goal
LAST_SHARE, LAST_SECONDS = 0.8, 60.0  # for that one
CHECK_SHARE, CHECK_SECONDS = 0.1, 3.0  # of the second engine, on the last goal
DECIDERS = "highs", "cp-sat"
QUICK = 0.04  # a goal that took no more of what was left doubles the step to the next one
NEAR = 0.03, 0.02, 0.01, 0.005  # of the bound: groups of schedules up to there are cut by bundles
CUT_GROUPS = 3_000  # of them; where there are more, those of the next nearer schedules
LAST_GROUPS = 6_000  # of the last goal; where there are more, goals stay near
FAR, FAR_SHARE = 0.015, 0.3  # of the bound: better schedules are looked for before any goal
MOST_GROUPS = 60_000  # in one program
MOST_PLACES = 10_000  # jobs x servers in one search of CP-SAT


def exact(instance: EdgeInstance, call: Call) -> Outcome:
    """Run `exact`."""
    if reason := no_schedule(instance):
        return Outcome(infeasible=True, note=reason)
    found = first_bracket(instance, call)
    if found.closed:
        return found.outcome()
    if instance.is_batch:
        return _batch(instance, found)
    _lists(instance, found)
    view = problem(instance)
    if not found.closed and len(view.tasks) * len(view.workers) > MOST_PLACES:
        return _coarse(instance, found)
    if not found.closed:
        _search(instance, found, call.clock.share(FIRST_SHARE, most=FIRST_SECONDS))
    if not found.closed:
        prices = _price(instance, found, call.clock.share(PRICE_SHARE))
        if prices is not None:
            settle(instance, found, [prices])
    if not found.closed and not call.clock.expired():
        _search(instance, found, call.clock)
    return found.outcome()


def _batch(instance: EdgeInstance, found: Bracket) -> Outcome:
    """Search, bound, and search again what is left between."""
    clock = found.call.clock
    small = len(instance.jobs) * len(instance.servers) <= MOST_PLACES
    if small:
        _search(instance, found, clock.share(0.5))
    if not found.closed:
        _price(instance, found, clock.share(0.5))
    if small and not found.closed and not clock.expired():
        _search(instance, found, clock)
    return found.outcome("" if small else "too large for an exact search")


def _coarse(instance: EdgeInstance, found: Bracket) -> Outcome:
    """Bound what is too large for all else by worker types; list jobs by the starts of that."""
    found.call.progress.phase("bound by worker types")
    stage = f"{STAGES}:type_stage"
    report = found.child("type-bound", stage, instance, clock=found.call.clock, engine="highs")
    if report is not None and not found.closed:
        _lists(instance, found, report.value, 1.0)
    return found.outcome("too large for an exact search")


def _lists(
    instance: EdgeInstance,
    found: Bracket,
    starts: Mapping[int, float] | None = None,
    share: float = LIST_SHARE,
) -> None:
    """Place jobs by lists, and search over these; `starts` order one more list."""
    found.call.progress.phase("lists")
    clock = found.call.clock.share(share)
    search = Search(instance, best_list(instance, starts)[1], seed=found.call.seed)
    if search.complete:
        found.offer(search.schedule())
    moves = MOVES[starts is not None] * len(instance.jobs)
    search.run(moves, stop=clock.expired, on_better=lambda better: found.offer(better.schedule()))


def _search(instance: EdgeInstance, found: Bracket, clock: Clock) -> None:
    """Search with CP-SAT."""
    found.call.progress.phase("CP-SAT on intervals")
    found.child(
        "cp-sat",
        f"{STAGES}:search_stage",
        instance,
        found.schedule,
        found.lower,
        clock=clock,
        engine="cp-sat",
    )


def _price(instance: EdgeInstance, found: Bracket, clock: Clock) -> Prices | None:
    """Solve the relaxation as far as an optimal schedule can reach; list jobs by its starts."""
    view = problem(instance)
    slots = view.slots
    if found.upper is not None and not instance.is_batch:
        slots = last_slot(view, int(found.upper)) - view.first + 1
    if reason := too_large(view, slots):
        found.trace["prices"] = reason
        return None
    found.call.progress.phase("generating columns")
    report = found.child(
        "prices",
        f"{STAGES}:price_stage",
        instance,
        found.schedule,
        slots,
        clock=clock,
        engine="highs",
    )
    if report is None or report.value is None:
        return None
    prices, starts = report.value
    if not instance.is_batch and not found.closed:
        _lists(instance, found, starts)
    return prices  # type: ignore[no-any-return]


def _tighten(instance: EdgeInstance, found: Bracket, prices: list[Prices]) -> None:
    """Add prices with bundles, from the relaxation over the groups that matter most."""
    view = problem(instance)
    for part in NEAR:
        near = math.ceil(found.lower * (1 + part)) + 1
        kept = keep(view, prices, near if found.upper is None else min(near, int(found.upper)))
        if len(kept.groups) <= CUT_GROUPS:
            break
    if kept.hopeless or len(kept.groups) > MOST_GROUPS:
        return
    found.call.progress.phase(f"cutting the relaxation over {len(kept.groups)} groups")
    report = found.child(
        "bundles",
        "schedgap.models.edge.tightening:tighten",
        instance,
        kept,
        prices[0].slots,
        clock=found.call.clock.share(PRICE_SHARE),
        engine="highs",
    )
    if report is not None and report.value is not None:
        prices.append(report.value)
        # Beyond these slots a schedule is no better than the one that is known.
        bound = keep(view, prices, view.last * len(view.tasks)).bound
        found.bound(bound if found.upper is None else min(bound, found.upper))


def settle(instance: EdgeInstance, found: Bracket, prices: list[Prices]) -> None:
    """Raise the goal from the bound on; where that takes too long, look for better schedules.

    After some goals in vain the goal is the last one, just below the best schedule, for long: what
    a search bounds on the way there counts as well.
    """
    view, clock = problem(instance), found.call.clock
    _tighten(instance, found, prices)
    worst = sum(view.last - task.arrival for task in view.tasks)  # of any schedule
    step, turn, looked, vain, decided = 1, 0, 0, 0, ""
    engines = list(DECIDERS)
    while not found.closed and not clock.expired():
        far = found.upper is not None and found.upper - found.lower > FAR * found.lower
        if far and not vain:  # as long as that helps
            looked += 1
            vain += not _improve(instance, found, prices, looked, clock.share(FAR_SHARE))
            continue
        if found.lower > worst:
            found.infeasible = True
            return
        final = worst if found.upper is None else int(found.upper) - 1
        goal = final
        kept = keep(view, prices, goal + 1)
        last = turn >= TURNS and len(kept.groups) <= LAST_GROUPS
        if not last:
            goal = min(int(found.lower) + step - 1, final)
            kept = keep(view, prices, goal + 1)
        if kept.hopeless:
            found.bound(goal + 1)
            step *= 2
            continue
        if len(kept.groups) > MOST_GROUPS:
            return
        found.call.progress.phase(f"a schedule of {goal} or less: {len(kept.groups)} groups")
        found.trace["goal"] = {"value": goal, "groups": len(kept.groups), "slack": kept.slack}
        left, decided = clock.remaining(), ""
        for engine in DECIDERS[:1] if last else engines:
            budget = _budget(clock, turn, last)
            bundles = prices[-1].bundles if last else {}  # rows that slow a short search down
            if _decide(instance, found, kept, goal, bundles, budget, engine):
                decided = engine
                break
        if decided:
            engines.sort(key=decided.__ne__)  # the one that was quick enough is asked first
            if left - clock.remaining() <= QUICK * left:
                step *= 2
            continue
        step, turn, looked = 1, turn + 1, looked + 1
        budget = _budget(clock, turn)
        if found.schedule is None:
            _search(instance, found, budget)
        elif _improve(instance, found, prices, looked, budget.share(0.5**vain)):
            vain = 0
        else:
            vain += 1
    if found.closed and decided and found.upper is not None:
        # What one engine alone has refuted is put before the other one.
        kept = keep(view, prices, int(found.upper))
        other = next(name for name in DECIDERS if name != decided)
        if not kept.hopeless:
            budget = clock.share(CHECK_SHARE, most=CHECK_SECONDS)
            _decide(instance, found, kept, int(found.upper) - 1, {}, budget, other)


def _budget(clock: Clock, turn: int, last: bool = False) -> Clock:
    """Return the time for one engine and one goal."""
    if last:
        return clock.share(LAST_SHARE, most=LAST_SECONDS * 2**turn)
    return clock.share(min(0.5, GOAL_SHARE * 2**turn), most=GOAL_SECONDS * 2**turn)


def _improve(
    instance: EdgeInstance, found: Bracket, prices: list[Prices], turn: int, clock: Clock
) -> bool:
    """Look for better schedules in large neighborhoods, other ones each turn; whether there was."""
    found.call.progress.phase("large neighborhoods")
    upper = found.upper
    found.child(
        "neighborhoods",
        "schedgap.models.edge.neighborhoods:improve",
        instance,
        found.schedule,
        prices,
        turn,
        clock=clock,
        engine="cp-sat",
    )
    return found.upper != upper


def _decide(
    instance: EdgeInstance,
    found: Bracket,
    kept: Kept,
    goal: int,
    bundles: Mapping[int, Floats],
    clock: Clock,
    engine: str,
) -> bool:
    """Look for a schedule with an objective up to a goal; return whether that is decided."""
    report = found.child(
        f"goals in {engine}",
        f"{STAGES}:goal_stage",
        instance,
        kept,
        goal,
        bundles,
        engine,
        clock=clock,
        engine=engine,
    )
    return report is not None and bool(report.value)
