"""`exact` (ours): prices by column generation, then the runs that they leave, cut and packed.

CP-SAT on intervals looks first: small instances it closes at once. Prices bound, and guide lists to
a good schedule; between the two bounds lie few runs of each job. The relaxation over these is cut,
which often ends the search, and a packing decides. Where that is too much, lists led by a coarser
relaxation and CP-SAT have the rest of the time.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from schedgap.errors import ScaleError
from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic.bounds import coarse_lp, configuration_lp, schedule_lp
from schedgap.models.elastic.bounds.schedule_lp import SlotPrices
from schedgap.models.elastic.exact.branch_and_cut import value_of
from schedgap.models.elastic.exact.common_size import with_scaled_weights
from schedgap.models.elastic.exact.cutting_planes import PoolCut
from schedgap.models.elastic.exact.enumeration import (
    GROWTH,
    RemainingRuns,
    below,
    branch,
    enumerate_and_cut,
)
from schedgap.models.elastic.heuristics.initial import initial_state, priced_list_schedule
from schedgap.models.elastic.heuristics.lp_guided import lp_guided
from schedgap.models.elastic.modes import modes
from schedgap.models.elastic.programs import intervals
from schedgap.models.elastic.programs.columns import ElasticRun, schedule_of
from schedgap.models.elastic.programs.weights import value_step
from schedgap.models.elastic.programs.whole_numbers import rounded_integers
from schedgap.models.elastic.time_windows import no_schedule, windows
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.search_state import Finder, SearchState, StageResult, solve_program
from schedgap.solvers import Clock

LP_SHARE = 0.4
FIRST_SHARE, FIRST_SECONDS = 0.2, 3.0  # of CP-SAT before all else
CP_SAT_SHARE, CP_SAT_SECONDS = 0.2, 6.0  # and once prices have been enumerated
FIRST_SIZE, MAX_SIZE = 3_000, 100_000  # jobs x servers x types, for CP-SAT first, and at all
GUIDED_SHARE, GUIDED_SECONDS = 0.1, 4.0
NARROW_SHARE = 0.5  # of the rest, for a first enumeration
LIST_SHARE = 0.5  # of the rest, for lists led by a coarser relaxation
GUIDES = (1.0, 0.6, 0.3, 0.1)  # of the prices, where they guide a list
LISTS = 8  # without a better schedule, for each job
NOISE = 0.15  # of the mean distance of ends, where lists are shaken
COARSE_BLOCK = 5  # slots that share a price where all else is too large
FEW_MODE_STARTS, MAX_MODE_STARTS = 150_000, 3_000_000  # jobs x modes x slots, priced one by one


@with_scaled_weights
def exact(instance: ElasticInstance, call: RunContext) -> MethodResult:
    """Run `exact`."""
    if reason := no_schedule(instance):
        return MethodResult(infeasible=True, note=reason)
    found = initial_state(instance, call)
    note = "" if found.closed else _search(instance, found)
    if not found.closed and found.call.clock.expired():
        note = note or "out of time"
    return found.outcome("" if found.closed else note)


def _search(instance: ElasticInstance, found: SearchState) -> str:
    """Run the stages until the bracket is closed; returns why it is not."""
    clock, size = found.call.clock, _interval_size(instance, found)
    if size <= FIRST_SIZE:
        _intervals(instance, found, clock.share(FIRST_SHARE, most=FIRST_SECONDS))
    if _over(found):
        return ""
    slots = schedule_lp.priced_slots(instance, found.schedule)
    starts = slots * sum(len(modes(instance, j)) for j in range(len(instance.jobs)))
    note = schedule_lp.too_large(instance, slots) or ""
    if starts > MAX_MODE_STARTS:
        note = f"too large to enumerate: {starts} modes x slots, at most {MAX_MODE_STARTS}"
    many = starts > FEW_MODE_STARTS  # the finer relaxation takes long
    if many:
        _coarse(instance, found, clock if note and size > MAX_SIZE else clock.share(LIST_SHARE))
    if not note and not _over(found):
        note = _by_prices(instance, found, size)
    if not _over(found) and not many:
        _coarse(instance, found, clock if size > MAX_SIZE else clock.share(LIST_SHARE))
    if not _over(found) and size <= MAX_SIZE:
        _intervals(instance, found, clock)
    return note


def _coarse(instance: ElasticInstance, found: SearchState, clock: Clock) -> None:
    """Find the bound and the schedules that scale."""
    found.call.progress.phase("lists by a coarser relaxation")
    name, stage = ("coarse", coarse_stage) if instance.is_batch else ("lp-guided", list_stage)
    found.child(name, stage, instance, clock=clock, engine="highs")


def _over(found: SearchState) -> bool:
    return found.closed or found.call.clock.expired()


def _by_prices(instance: ElasticInstance, found: SearchState, interval_size: float) -> str:
    """Price, enumerate, cut and branch; returns why that did not close the bracket."""
    clock = found.call.clock
    prices = _price(instance, found, clock.share(LP_SHARE))
    if prices is None or found.closed:
        return "no prices in time"
    narrowed, note = _narrow(instance, found, prices, None, (), clock.share(NARROW_SHARE))
    if interval_size <= MAX_SIZE and not _over(found):
        _intervals(instance, found, clock.share(CP_SAT_SHARE, most=CP_SAT_SECONDS))
    while narrowed is not None and not _over(found):
        if not _branch(instance, found, narrowed):
            return "the runs that are left were not searched to the end"
        gap = GROWTH * narrowed.gap
        narrowed, note = _narrow(instance, found, prices, gap, narrowed.cuts, clock)
    return note


def _narrow(
    instance: ElasticInstance,
    found: SearchState,
    prices: SlotPrices,
    gap: float | None,
    cuts: Sequence[PoolCut],
    clock: Clock,
) -> tuple[RemainingRuns | None, str]:
    """Enumerate and cut; None when nothing is left to branch on, and why."""
    found.call.progress.phase("enumerating and cutting runs")
    report = found.child(
        "narrow",
        narrow_stage,
        instance,
        prices,
        found.upper,
        gap,
        cuts,
        clock=clock,
        engine="highs",
    )
    if report is None:
        return None, "stopped while enumerating"
    narrowed: RemainingRuns = report.value
    return (None if narrowed.left is None else narrowed), narrowed.note


def _branch(instance: ElasticInstance, found: SearchState, narrowed: RemainingRuns) -> bool:
    """Search the runs that are left; True when a better schedule needs others."""
    found.call.progress.phase("branch and cut")
    report = found.child("branch", branch_stage, instance, narrowed, found.upper, engine="highs")
    return report is not None and report.value is True


def _interval_size(instance: ElasticInstance, found: SearchState) -> float:
    """Return the size of the model on intervals; infinite where it cannot be written."""
    span = windows(instance, _value(instance, found.schedule))
    try:
        assert span is not None
        rounded_integers(instance, span)
    except ScaleError:
        return math.inf
    pairs = len(instance.worker_types) * (1 + len(instance.ps_types))
    whole = sum(len(modes(instance, j)) for j in range(len(instance.jobs)))
    return whole + len(instance.jobs) * len(instance.servers) * pairs


def _value(instance: ElasticInstance, schedule: ElasticSchedule | None) -> float | None:
    return None if schedule is None else schedule.value(instance)


def _price(instance: ElasticInstance, found: SearchState, clock: Clock) -> SlotPrices | None:
    """Solve the relaxation, and let its prices guide lists of jobs."""
    call = found.call
    call.progress.phase("generating columns")
    report = found.child(
        "schedule-lp",
        price_stage,
        instance,
        found.schedule,
        clock=clock,
        engine="highs",
    )
    if report is None or report.infeasible:
        return None
    prices, runs = report.value
    if prices is not None and not found.closed:
        call.progress.phase("lists by prices")
        clock = call.clock.share(GUIDED_SHARE, most=GUIDED_SECONDS)
        found.trace["lists"] = _guided(instance, found, prices, runs, clock, call.seed)
    return prices  # type: ignore[no-any-return]


def _guided(
    instance: ElasticInstance,
    found: SearchState,
    prices: SlotPrices,
    shares: Sequence[tuple[ElasticRun, float]],
    clock: Clock,
    seed: int,
) -> int:
    """Dispatch the jobs by their mean ends in the relaxation, under its prices; shake the list.

    Returns the number of lists that were tried.
    """
    jobs = [j for j in range(len(instance.jobs)) if modes(instance, j)]
    own: dict[int, list[tuple[int, float]]] = {j: [] for j in jobs}
    for run, share in shares:
        own[run.job].append((run.end, share))
    late = max((run.end for run, _ in shares), default=0) + 1.0
    key = {
        j: sum(end * share for end, share in ends) / sum(share for _, share in ends)
        if ends
        else late
        for j, ends in own.items()
    }
    price = prices.per_demand(instance)
    random = np.random.default_rng(seed)
    tried = failed = 0
    while not clock.expired() and not found.closed and failed < LISTS * len(jobs):
        shaken = dict(key)
        factor = GUIDES[tried % len(GUIDES)]
        if tried >= len(GUIDES):
            spread = NOISE * (max(key.values()) - min(key.values()) + 1.0)
            scale = spread * random.uniform(0.1, 1.0)
            shaken = {j: end + scale * random.standard_normal() for j, end in key.items()}
            factor = random.choice(GUIDES) * random.uniform(0.5, 1.2)
        order = sorted(jobs, key=lambda j: (shaken[j], j))
        runs = priced_list_schedule(instance, order, factor * price, stop=clock.expired)
        tried, failed = tried + 1, failed + 1
        before = found.upper
        if runs is not None:
            found.offer(schedule_of(instance, runs))
        if found.upper != before and runs is not None:
            failed = 0
            if tried > len(GUIDES):  # shake the better list from now on
                key |= {run.job: float(run.end) for run in runs}
    return tried


def _intervals(instance: ElasticInstance, found: SearchState, clock: Clock) -> None:
    found.call.progress.phase("CP-SAT on intervals")
    found.child(
        "cp-sat",
        interval_stage,
        instance,
        found.schedule,
        clock=clock,
        engine="cp-sat",
    )


def price_stage(
    found: Finder,
    instance: ElasticInstance,
    schedule: ElasticSchedule | None,
    *,
    clock: Clock,
    seed: int,
    threads: int,
) -> StageResult:
    """Solve the relaxation over pools of servers."""
    lp = schedule_lp.solve_lp(
        instance,
        schedule,
        pooled=True,
        clock=clock,
        seed=seed,
        threads=threads,
        on_bound=found.bound,
    )
    trace: dict[str, Any] = {"bound": lp.bound, "seconds": round(clock.elapsed(), 3)}
    if lp.result is not None:
        trace |= {
            "master": lp.result.objective,
            "rounds": lp.result.rounds,
            "columns": len(lp.result.tags),
        }
    return StageResult(infeasible=lp.infeasible, trace=trace, value=(lp.prices, lp.runs))


def coarse_stage(
    found: Finder, instance: ElasticInstance, *, clock: Clock, seed: int, threads: int
) -> StageResult:
    """Solve the relaxation over configurations, or where servers have too many on one pool."""
    settings: dict[str, Any] = {"clock": clock, "seed": seed, "threads": threads}
    lp: coarse_lp.CoarseLpResult | configuration_lp.ConfigurationLpResult
    try:
        lp = configuration_lp.solve_configurations(
            instance, block=None, on_bound=found.bound, **settings
        )
    except ScaleError:
        lp = coarse_lp.solve_coarse(instance, block=COARSE_BLOCK, on_bound=found.bound, **settings)
    return StageResult(trace={"bound": lp.bound, "rounds": lp.rounds, "columns": lp.columns})


def list_stage(
    found: Finder, instance: ElasticInstance, *, clock: Clock, seed: int, threads: int
) -> StageResult:
    """Find the bound and the schedules that scale."""
    options = {"block": None, "moves": None}
    outcome = lp_guided(instance, RunContext(options, "highs", clock, seed, found, threads))
    if outcome.bound is not None:
        found.bound(outcome.bound, outcome.certificate)
    return StageResult(trace={"bound": outcome.bound} | dict(outcome.trace))


def interval_stage(
    found: Finder,
    instance: ElasticInstance,
    schedule: ElasticSchedule | None,
    *,
    clock: Clock,
    seed: int,
    threads: int,
) -> StageResult:
    """Search with CP-SAT over intervals, from a schedule and the bound that `found` has.

    Where numbers had to be rounded, it is a relaxation: it proves bounds, and the schedules that
    keep to the capacities are schedules.
    """
    value = _value(instance, schedule)
    span = windows(instance, value)
    assert span is not None
    whole = rounded_integers(instance, span)
    least = most = None
    if whole.exact:
        if math.isfinite(found.lower):
            least = math.ceil(found.lower / whole.step - 1e-6)
        if value is not None:
            most = round((-value if instance.is_batch else value) / whole.step)
    model = intervals.build(instance, span=span, whole=whole, least=least, most=most)
    _, report = solve_program(
        found,
        model,
        "cp-sat",
        clock=clock,
        seed=seed,
        threads=threads,
        grid=1,
        options={"interleave_search": True} if threads == 1 else None,  # neighbourhoods, too
        start=None if schedule is None else intervals.start(model, instance, schedule),
        read=lambda values: intervals.read(model, instance, values),
        real=lambda bound: bound * whole.step,
    )
    return replace(report, trace=dict(report.trace) | ({} if whole.exact else {"rounded": True}))


def narrow_stage(
    found: Finder,
    instance: ElasticInstance,
    prices: SlotPrices,
    upper: float | None,
    gap: float | None,
    cuts: Sequence[PoolCut],
    *,
    clock: Clock,
    seed: int,
    threads: int,
) -> StageResult:
    """Enumerate the runs between the bound of the prices and a known schedule, and cut."""
    result = enumerate_and_cut(
        instance,
        prices,
        upper,
        lower=found.lower,
        gap=gap,
        cuts=cuts,
        clock=clock,
        seed=seed,
        threads=threads,
        on_schedule=lambda runs: found.offer(schedule_of(instance, runs)),
        on_bound=found.bound,
    )
    if result.complete and upper is not None:
        found.bound(_nothing_up_to(result.goal, upper, instance))
    trace = {
        "gap": result.gap,
        "columns": result.columns,
        "left": 0 if result.left is None else len(result.left.pool),
        "note": result.note,
        "seconds": round(clock.elapsed(), 3),
    }
    return StageResult(
        complete=result.complete,
        infeasible=result.complete and upper is None,
        trace=trace,
        value=result,
    )


def _nothing_up_to(goal: float, upper: float, instance: ElasticInstance) -> float:
    """Return the bound where no schedule up to `goal` is left, the next value below `upper`."""
    return upper if value_step(instance) is not None else goal


def branch_stage(
    found: Finder,
    instance: ElasticInstance,
    narrowed: RemainingRuns,
    upper: float | None,
    *,
    clock: Clock,
    seed: int,
    threads: int,
) -> StageResult:
    """Branch over the runs that are left; the value is whether a better schedule needs others."""
    step = value_step(instance)
    goal = math.inf if upper is None else below(upper, step)
    result = branch(
        instance,
        narrowed,
        most=goal,
        clock=clock,
        seed=seed,
        threads=threads,
        on_schedule=lambda runs: found.offer(schedule_of(instance, runs)),
        on_bound=found.bound,
    )
    found.bound(result.lower)
    nothing = result.complete and result.runs is None
    end = goal if result.runs is None else value_of(instance, result.runs)
    beyond = narrowed.last or end <= narrowed.reach  # what is not in the pool is no better
    if nothing and beyond and upper is not None:
        found.bound(_nothing_up_to(min(goal, narrowed.goal), upper, instance))
    trace = {
        "runs": result.columns,
        "nodes": result.nodes,
        "seconds": round(clock.elapsed(), 3),
    }
    return StageResult(
        complete=result.complete and beyond,
        infeasible=nothing and beyond and upper is None,
        trace=trace,
        value=result.complete and not beyond,
    )
