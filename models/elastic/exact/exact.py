"""`exact` (ours): the recipe of stages that close the gap between incumbent and bound.

Small instances are closed at once by refuting all values below the incumbent's, which leaves a
proof. Otherwise CP-SAT on intervals comes first. Then the prover refutes values from the bound of
column generation up to the incumbent's, and finds better schedules on its way; this closes most
gaps. Where it does not, dual prices guide list schedules to a good incumbent, the
runs whose reduced costs are within the gap are enumerated, and their relaxation is tightened by
cuts; branch and cut over the remaining runs decides. Where that is too much, lists guided by a
coarser relaxation and CP-SAT use the rest of the time.

References
----------
R. Baldacci, N. Christofides, A. Mingozzi, "An exact algorithm for the vehicle routing problem based
on the set partitioning formulation with additional cuts", Mathematical Programming 115 (2008).
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from schedgap.errors import ScaleError
from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic.bounds import coarse_lp, configuration_lp, schedule_lp
from schedgap.models.elastic.bounds.schedule_lp import SlotPrices
from schedgap.models.elastic.exact.branch_and_cut import value_of
from schedgap.models.elastic.exact.cutting_planes import PoolCut
from schedgap.models.elastic.exact.enumeration import (
    GROWTH,
    RemainingRuns,
    branch_remaining,
    enumerate_and_cut,
    next_better_value,
)
from schedgap.models.elastic.exact.prove import attempt
from schedgap.models.elastic.exact.prove import schedule_of as schedule_of_solution
from schedgap.models.elastic.exact.weight_scaling import with_scaled_weights
from schedgap.models.elastic.heuristics.initial import initial_state, priced_list_schedule
from schedgap.models.elastic.heuristics.lp_guided import lp_guided
from schedgap.models.elastic.modes import modes
from schedgap.models.elastic.programs import intervals
from schedgap.models.elastic.programs.columns import ElasticRun, schedule_of
from schedgap.models.elastic.programs.weights import value_step
from schedgap.models.elastic.programs.whole_numbers import rounded_integers
from schedgap.models.elastic.proof import weight_unit, within
from schedgap.models.elastic.time_windows import windows
from schedgap.models.method import Budget, MethodResult, RunContext
from schedgap.models.proofs import excluded_value
from schedgap.models.search_state import SearchState, StageProgress, StageResult, solve_program
from schedgap.solvers.proofs.checker import RefusedError

# Shares of the remaining time, and upper limits in seconds.
LP_SHARE = 0.4  # column generation
FIRST_SHARE, FIRST_SECONDS = 0.2, 3.0  # each of the two searches at the beginning
CP_SAT_SHARE, CP_SAT_SECONDS = 0.2, 6.0  # CP-SAT after the first enumeration
GUIDED_SHARE, GUIDED_SECONDS = 0.1, 4.0  # list schedules guided by prices
REFUTE_SHARE = 0.8  # refuting better values
MORE = 0.2  # of the gap to the incumbent by which a refuted goal is raised
NARROW_SHARE = 0.5  # the first enumeration
LIST_SHARE = 0.5  # list schedules guided by a coarser relaxation
# Sizes.
REFUTED_SIZE = 500  # of the interval model, up to which better values are refuted at once
FIRST_SIZE, MAX_SIZE = 3_000, 100_000  # of the interval model: for CP-SAT first, and at all
FEW_MODE_STARTS, MAX_MODE_STARTS = 150_000, 3_000_000  # jobs x modes x slots
COARSE_BLOCK = 5  # slots that share a price when servers have too many configurations
# List schedules guided by prices.
GUIDES = (1.0, 0.6, 0.3, 0.1)  # factors of the prices
LISTS = 8  # largest number of lists without improvement, per job
NOISE = 0.15  # perturbation of the mean ends, relative to their range


@with_scaled_weights
def exact(instance: ElasticInstance, call: RunContext) -> MethodResult:
    """Run `exact`."""
    state = initial_state(instance, call)
    state.checkable_only = True
    note = "" if state.closed else _search(instance, state)
    if not state.closed and state.call.clock.expired():
        note = note or "out of time"
    return state.outcome("" if state.closed else note)


def _search(instance: ElasticInstance, state: SearchState) -> str:
    """Run the stages until the gap is closed; return why it is not."""
    budget, size = state.call.budget, _interval_size(instance, state)
    if size <= REFUTED_SIZE:
        _refute(instance, state, budget.share(FIRST_SHARE, most=FIRST_SECONDS))
    if size <= FIRST_SIZE and not _over(state):
        _intervals(instance, state, budget.share(FIRST_SHARE, most=FIRST_SECONDS))
    if not _over(state):
        _refute(instance, state, budget.share(REFUTE_SHARE))
    if _over(state):
        return ""
    slots = schedule_lp.priced_slots(instance, state.schedule)
    starts = slots * sum(len(modes(instance, j)) for j in range(len(instance.jobs)))
    note = schedule_lp.too_large(instance, slots) or ""
    if starts > MAX_MODE_STARTS:
        note = f"too large to enumerate: {starts} modes x slots, at most {MAX_MODE_STARTS}"
    many = starts > FEW_MODE_STARTS  # the relaxation over runs takes long
    if many:
        _coarse(instance, state, budget if note and size > MAX_SIZE else budget.share(LIST_SHARE))
    if not note and not _over(state):
        note = _by_prices(instance, state, size)
    if not _over(state) and not many:
        _coarse(instance, state, budget if size > MAX_SIZE else budget.share(LIST_SHARE))
    if not _over(state) and size <= MAX_SIZE:
        _intervals(instance, state, budget)
    return note


def _coarse(instance: ElasticInstance, state: SearchState, budget: Budget) -> None:
    """Run the stage whose bound and schedules scale to large instances."""
    state.call.progress.phase("lists by a coarser relaxation")
    name, stage = ("coarse", coarse_stage) if instance.is_batch else ("lp-guided", list_stage)
    state.child(name, stage, instance, budget=budget, engine="highs")


def _over(state: SearchState) -> bool:
    return state.closed or state.call.clock.expired()


def _by_prices(instance: ElasticInstance, state: SearchState, interval_size: float) -> str:
    """Price, enumerate, cut and branch; return why that did not close the gap."""
    budget = state.call.budget
    prices = _price(instance, state, budget.share(LP_SHARE))
    if prices is None or state.closed:
        return "no prices in time"
    remaining, note = _narrow(instance, state, prices, None, (), budget.share(NARROW_SHARE))
    if interval_size <= MAX_SIZE and not _over(state):
        _intervals(instance, state, budget.share(CP_SAT_SHARE, most=CP_SAT_SECONDS))
    while remaining is not None and not _over(state):
        if not _branch(instance, state, remaining):
            return "the search of the remaining runs was not completed"
        gap = GROWTH * remaining.gap
        remaining, note = _narrow(instance, state, prices, gap, remaining.cuts, budget)
    return note


def _refute(instance: ElasticInstance, state: SearchState, budget: Budget) -> None:
    """Refute all values below the incumbent's, or find better schedules."""
    state.call.progress.phase("refuting better values")
    state.child("refute", refute_stage, instance, state.schedule, budget=budget, engine="highs")


def _narrow(
    instance: ElasticInstance,
    state: SearchState,
    prices: SlotPrices,
    gap: float | None,
    cuts: Sequence[PoolCut],
    budget: Budget,
) -> tuple[RemainingRuns | None, str]:
    """Enumerate and cut; return the runs to branch on, or None and why there are none."""
    state.call.progress.phase("enumerating and cutting runs")
    result = state.child(
        "narrow",
        narrow_stage,
        instance,
        prices,
        state.upper,
        gap,
        cuts,
        budget=budget,
        engine="highs",
    )
    if result is None:
        return None, "stopped while enumerating"
    remaining: RemainingRuns = result.value
    return (None if remaining.tightened is None else remaining), remaining.note


def _branch(instance: ElasticInstance, state: SearchState, remaining: RemainingRuns) -> bool:
    """Search the remaining runs; return whether a better schedule needs others."""
    state.call.progress.phase("branch and cut")
    report = state.child("branch", branch_stage, instance, remaining, state.upper, engine="highs")
    return report is not None and report.value is True


def _interval_size(instance: ElasticInstance, state: SearchState) -> float:
    """Return the size of the interval model; infinite where its numbers are too large."""
    span = windows(instance, _value(instance, state.schedule))
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


def _price(instance: ElasticInstance, state: SearchState, budget: Budget) -> SlotPrices | None:
    """Solve the relaxation, and let its prices guide list schedules; return the prices."""
    call = state.call
    call.progress.phase("generating columns")
    report = state.child(
        "schedule-lp", price_stage, instance, state.schedule, budget=budget, engine="highs"
    )
    if report is None or report.infeasible:
        return None
    prices, runs = report.value
    if prices is not None and not state.closed:
        call.progress.phase("lists by prices")
        budget = call.budget.share(GUIDED_SHARE, most=GUIDED_SECONDS)
        state.trace["lists"] = _guided(instance, state, prices, runs, budget)
    return prices  # type: ignore[no-any-return]


def _guided(
    instance: ElasticInstance,
    state: SearchState,
    prices: SlotPrices,
    shares: Sequence[tuple[ElasticRun, float]],
    budget: Budget,
) -> int:
    """Offer list schedules by mean ends in the relaxation, at its prices; then perturb them.

    Returns the number of lists.
    """
    jobs = [j for j in range(len(instance.jobs)) if modes(instance, j)]
    ends_of: dict[int, list[tuple[int, float]]] = {j: [] for j in jobs}
    for run, share in shares:
        ends_of[run.job].append((run.end, share))
    last_end = max((run.end for run, _ in shares), default=0) + 1.0
    mean_end = {
        j: sum(end * share for end, share in ends) / sum(share for _, share in ends)
        if ends
        else last_end
        for j, ends in ends_of.items()
    }
    # First lists: by mean ends, at several factors of the prices. Then both are drawn at random,
    # around the mean ends or the ends in the best list so far.
    price = prices.per_demand(instance)
    random = np.random.default_rng(budget.seed)
    lists = failures = 0
    while not budget.clock.expired() and not state.closed and failures < LISTS * len(jobs):
        perturbed = dict(mean_end)
        factor = GUIDES[lists % len(GUIDES)]
        if lists >= len(GUIDES):
            spread = NOISE * (max(mean_end.values()) - min(mean_end.values()) + 1.0)
            scale = spread * random.uniform(0.1, 1.0)
            perturbed = {j: end + scale * random.standard_normal() for j, end in mean_end.items()}
            factor = random.choice(GUIDES) * random.uniform(0.5, 1.2)
        order = sorted(jobs, key=lambda j: (perturbed[j], j))
        runs = priced_list_schedule(instance, order, factor * price, stop=budget.clock.expired)
        lists, failures = lists + 1, failures + 1
        before = state.upper
        if runs is not None:
            state.incumbent(schedule_of(instance, runs))
        if state.upper != before and runs is not None:
            failures = 0
            if lists > len(GUIDES):  # perturb the better list from now on
                mean_end |= {run.job: float(run.end) for run in runs}
    return lists


def _intervals(instance: ElasticInstance, state: SearchState, budget: Budget) -> None:
    state.call.progress.phase("CP-SAT on intervals")
    state.child("cp-sat", interval_stage, instance, state.schedule, budget=budget, engine="cp-sat")


def price_stage(
    progress: StageProgress,
    instance: ElasticInstance,
    schedule: ElasticSchedule | None,
    *,
    budget: Budget,
) -> StageResult:
    """Solve the relaxation over pools of servers; the value is its prices and its runs.

    `progress`: receives bounds.
    """
    lp = schedule_lp.solve_lp(
        instance,
        schedule,
        pooled=True,
        budget=budget,
        on_bound=progress.bound,
    )
    trace = {
        "bound": lp.bound,
        "seconds": round(budget.clock.elapsed(), 3),
        "master": lp.result.objective,
        "rounds": lp.result.rounds,
        "columns": len(lp.result.tags),
    }
    return StageResult(infeasible=lp.infeasible, trace=trace, value=(lp.prices, lp.runs))


def coarse_stage(
    progress: StageProgress, instance: ElasticInstance, *, budget: Budget
) -> StageResult:
    """Solve the relaxation over configurations, or over one pool if servers have too many of them.

    `progress`: receives bounds.
    """
    lp: coarse_lp.CoarseLpResult | configuration_lp.ConfigurationLpResult
    try:
        lp = configuration_lp.solve_configurations(
            instance, block=None, budget=budget, on_bound=progress.bound
        )
    except ScaleError:
        lp = coarse_lp.solve_coarse(
            instance, block=COARSE_BLOCK, budget=budget, on_bound=progress.bound
        )
    return StageResult(trace={"bound": lp.bound, "rounds": lp.rounds, "columns": lp.columns})


def list_stage(
    progress: StageProgress, instance: ElasticInstance, *, budget: Budget
) -> StageResult:
    """Run `lp-guided`.

    `progress`: receives schedules and bounds.
    """
    result = lp_guided(instance, RunContext({}, "highs", budget, progress))
    if result.bound is not None:
        progress.bound(result.bound, result.certificate)
    return StageResult(trace={"bound": result.bound} | dict(result.trace))


def interval_stage(
    progress: StageProgress,
    instance: ElasticInstance,
    schedule: ElasticSchedule | None,
    *,
    budget: Budget,
) -> StageResult:
    """Search with CP-SAT on intervals, between the bound of `progress` and the incumbent.

    Where numbers have to be rounded, the model is a relaxation: its bounds are valid, and those of
    its schedules that respect the capacities are schedules.

    `progress`: receives schedules and bounds.
    """
    value = _value(instance, schedule)
    span = windows(instance, value)
    assert span is not None
    whole = rounded_integers(instance, span)
    least = most = None
    if whole.exact:
        if math.isfinite(progress.lower):
            least = math.ceil(progress.lower / whole.step - 1e-6)
        if value is not None:
            most = round((-value if instance.is_batch else value) / whole.step)
    model = intervals.build(instance, span=span, whole=whole, least=least, most=most)
    _, report = solve_program(
        progress,
        model,
        "cp-sat",
        budget=budget,
        grid=1,
        options={"interleave_search": True} if budget.threads == 1 else None,  # neighbourhoods, too
        start=None if schedule is None else intervals.start(model, instance, schedule),
        read=lambda values: intervals.read(model, instance, values),
        real=lambda bound: bound * whole.step,
    )
    return replace(report, trace=dict(report.trace) | ({} if whole.exact else {"rounded": True}))


def refute_stage(
    progress: StageProgress,
    instance: ElasticInstance,
    schedule: ElasticSchedule | None,
    *,
    budget: Budget,
) -> StageResult:
    """Look for a proof that no schedule is better; each schedule that refutes it is the next one.

    `progress`: receives schedules and bounds.
    """
    rounds, nodes, model = 0, 0, None
    note, found, least = "", None, -math.inf
    bound, below = -math.inf, None  # the last bound, and its proof
    unit = float(weight_unit(instance))
    while (goal := excluded_value(instance, _value(instance, schedule))) is not None:
        try:
            proved, model = attempt(instance, goal, budget, least=min(goal, least), known=model)
        except RefusedError as error:
            note = str(error)
            break
        rounds, nodes, note = rounds + 1, nodes + proved.nodes, proved.reason
        if proved.better is not None:
            better = schedule_of_solution(instance, model, proved.better)
            if better is None:
                break
            schedule = better
            progress.incumbent(better)
        elif proved.proof is None:
            break
        elif model.goal >= goal:
            found = proved.proof
            break
        else:  # no schedule up to this goal: the gap above the bound of the prices grows
            whole = schedule is not None and within(instance, schedule.value(instance)) == 0
            bound, below = (model.goal + whole) * unit, proved.proof
            progress.bound(bound)
            least = model.goal + math.ceil(MORE * (goal - model.goal))
    value = _value(instance, schedule)
    complete = found is not None and (value is None or within(instance, value) == 0)
    if complete and value is not None:
        progress.bound(-value if instance.is_batch else value)
    seconds = round(budget.clock.elapsed(), 3)
    return StageResult(
        complete=complete,
        infeasible=complete and value is None,
        trace={"rounds": rounds, "nodes": nodes, "note": note, "seconds": seconds},
        proof=found if complete else below,
        proved=bound,
    )


def narrow_stage(
    progress: StageProgress,
    instance: ElasticInstance,
    prices: SlotPrices,
    upper: float | None,
    gap: float | None,
    cuts: Sequence[PoolCut],
    *,
    budget: Budget,
) -> StageResult:
    """Enumerate the runs between the bound of the prices and the incumbent, and cut.

    `progress`: receives schedules and bounds. `prices`: from `price_stage`. `upper`: value of the
    incumbent. `gap`: gap above the bound of the prices; None: as large as few runs allow.
    """
    result = enumerate_and_cut(
        instance,
        prices,
        upper,
        lower=progress.lower,
        gap=gap,
        cuts=cuts,
        budget=budget,
        on_schedule=lambda runs: progress.incumbent(schedule_of(instance, runs)),
        on_bound=progress.bound,
    )
    if result.complete and upper is not None:
        progress.bound(_bound_above(result.target, upper, instance))
    trace = {
        "gap": result.gap,
        "columns": result.columns,
        "left": 0 if result.tightened is None else len(result.tightened.pool),
        "note": result.note,
        "seconds": round(budget.clock.elapsed(), 3),
    }
    return StageResult(
        complete=result.complete,
        infeasible=result.complete and upper is None,
        trace=trace,
        value=result,
    )


def _bound_above(target: float, upper: float, instance: ElasticInstance) -> float:
    """Return the bound when no schedule exists up to `target`, the next value below `upper`."""
    return upper if value_step(instance) is not None else target


def branch_stage(
    progress: StageProgress,
    instance: ElasticInstance,
    remaining: RemainingRuns,
    upper: float | None,
    *,
    budget: Budget,
) -> StageResult:
    """Branch over the remaining runs; the value is whether a better schedule needs other runs.

    `progress`: receives schedules and bounds. `remaining`: from `narrow_stage`. `upper`: value of
    the incumbent.
    """
    step = value_step(instance)
    target = math.inf if upper is None else next_better_value(upper, step)
    assert remaining.tightened is not None
    result = branch_remaining(
        instance,
        remaining,
        most=target,
        budget=budget,
        on_schedule=lambda runs: progress.incumbent(schedule_of(instance, runs)),
        on_bound=progress.bound,
    )
    progress.bound(result.lower)
    # The search covers all schedules of value <= reach. It is exhaustive if larger values are of no
    # interest, or if the best schedule found is within reach.
    nothing = result.complete and result.runs is None
    end = target if result.runs is None else value_of(instance, result.runs)
    exhaustive = remaining.final or end <= remaining.reach  # other runs give nothing better
    if nothing and exhaustive and upper is not None:
        progress.bound(_bound_above(min(target, remaining.target), upper, instance))
    trace = {
        "runs": len(remaining.tightened.pool),
        "nodes": result.nodes,
        "seconds": round(budget.clock.elapsed(), 3),
    }
    return StageResult(
        complete=result.complete and exhaustive,
        infeasible=nothing and exhaustive and upper is None,
        trace=trace,
        value=result.complete and not exhaustive,
    )
