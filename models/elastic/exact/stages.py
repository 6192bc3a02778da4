"""The stages of `exact`, each in a child process: refutation, CP-SAT, relaxations and lists."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from schedgap.errors import ScaleError
from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic.bounds import coarse_lp, configuration_lp, schedule_lp
from schedgap.models.elastic.bounds.schedule_lp import SlotPrices
from schedgap.models.elastic.heuristics.initial import priced_list_schedule
from schedgap.models.elastic.heuristics.lp_guided import lp_guided
from schedgap.models.elastic.modes import modes
from schedgap.models.elastic.programs import intervals
from schedgap.models.elastic.programs.columns import ElasticRun, schedule_of
from schedgap.models.elastic.programs.whole_numbers import rounded_integers
from schedgap.models.elastic.time_windows import windows
from schedgap.models.method import Budget, RunContext
from schedgap.models.search_state import SearchState, StageProgress, StageResult, solve_program

COARSE_BLOCK = 5  # slots that share a price when servers have too many configurations
# List schedules guided by prices.
GUIDES = (1.0, 0.6, 0.3, 0.1)  # factors of the prices
LISTS = 8  # largest number of lists without improvement, per job
NOISE = 0.15  # perturbation of the mean ends, relative to their range


def value_of(instance: ElasticInstance, schedule: ElasticSchedule | None) -> float | None:
    """Return the value of a schedule, if there is one."""
    return None if schedule is None else schedule.value(instance)


def guided_lists(
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


def price_stage(
    progress: StageProgress,
    instance: ElasticInstance,
    schedule: ElasticSchedule | None,
    *,
    budget: Budget,
) -> StageResult:
    """Solve the relaxation over pools of servers; the value is its prices and its runs.

    `progress`: receives bounds. `schedule`: the incumbent.
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

    `progress`: receives schedules and bounds. `schedule`: the incumbent.
    """
    value = value_of(instance, schedule)
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
