"""Local search for schedules: jobs on blocks of GPUs, by simulated annealing (ours).

The annealing minimises the excess, the GPU-slots beyond a target makespan; `kernel` has the moves.
Targets bisect the range between a lower bound and the best makespan.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Annotated, Any, NamedTuple

import numpy as np
from annotated_types import Ge, Le

from schedgap.instances.ring import RingInstance, RingSchedule
from schedgap.models.method import Budget, MethodResult, RunContext
from schedgap.models.ring.algorithms.packing import lpt_pack
from schedgap.models.ring.bounds.elementary import inside_slots, width_dff
from schedgap.models.ring.dispatch import NO_PLACE, trial_schedule
from schedgap.models.ring.heuristics.kernel import (
    ANY,
    FEW,
    KERNEL,
    Ints,
    Plan,
    Problem,
    State,
    Terms,
    move_to,
    run_all,
    run_free,
    run_inside,
)
from schedgap.models.ring.rates import NEVER, RateTable, past_horizon, rate_table
from schedgap.models.ring.simulator import Placement, schedule_metrics, schedule_of, simulate
from schedgap.models.search_state import SearchState, StageProgress, StageResult
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.search.annealing import anneal
from schedgap.solvers.search.moves import total

_MOVES, _FEW_MOVES = 2000, 100  # moves of a job for a target, compiled or not
_MANY, _TURN = 40, 0.1
_MORE_SERVERS = 2  # that a ring may use beyond the fewest possible
_COOLING = 0.002  # final over initial temperature
_MOST_CELLS = 20_000_000  # jobs x GPUs
_TARGET_SHARE, _TARGET_SECONDS = 0.25, 2.0  # share of the remaining time for each target


class PlacedSchedule(NamedTuple):
    """A schedule of all jobs by first slots and workers by server, each [j]."""

    makespan: int  # simulated value, below the plan's where rings do not meet
    starts: list[int]
    placements: list[Placement]


def problem_of(table: RateTable) -> Problem:
    """Return the instance as lists."""
    first, server = [0], list[int]()
    for s, gpus in enumerate(table.server_gpus):
        first.append(first[-1] + gpus)
        server += [s] * gpus
    inside = [0 if slots == NEVER else int(slots) for slots in inside_slots(table)]
    off, modes = [0], list[tuple[int, int, int]]()  # (servers, slots, whether it shares)
    for j, least in enumerate(table.fewest_servers):
        if inside[j]:
            modes.append((1, inside[j], 1))
        least = max(2, least)
        for n in range(least, min(least + _MORE_SERVERS, table.most_servers[j]) + 1):
            alone, shared = table.slots(j, n, 1), table.slots(j, n, 2)
            if NEVER != alone != shared:
                modes.append((n, int(alone), 0))
            if shared != NEVER:
                modes.append((n, int(shared), 1))
        off.append(len(modes))
    number, length, shares = zip(*modes, strict=True)
    return Problem(
        list(table.size),
        inside,
        off,
        list(number),
        list(length),
        list(shares),
        first,
        server,
    )


def state_of(
    problem: Problem,
    order: Sequence[int],
    block: Sequence[int],
    convert: Callable[[list[int]], Ints] = list,
) -> State:
    """Return the state of a plan before any job runs; `convert`: from lists to lists or arrays."""

    def zeros(*lengths: int) -> Iterator[Ints]:
        return (convert([0] * length) for length in lengths)

    gpus, servers, jobs = len(problem.server), len(problem.first) - 1, len(problem.size)
    plan = Plan(convert([*order]), convert([ANY] * jobs), *zeros(servers, gpus, gpus, 1))
    rank, following = convert(np.argsort(order).tolist()), convert([-1] * (jobs + servers))
    room = zeros(2 * servers, servers, jobs + 1, jobs + 1, jobs + 1)
    state = State(plan, rank, following, *room)
    for j in reversed(order):
        move_to(problem, state, j, block[j])
    return state


def first_plan(problem: Problem, target: int) -> Plan:
    """Return a plan: first the rings that no server can host, then the others, wide ones first.

    Each of these is where it ends last within the target, or where it ends first after it.
    """

    def rank(j: int) -> tuple[int, ...]:
        inside = problem.inside[j]
        return inside > 0, -problem.size[j], -(inside or problem.slots[problem.off[j]])

    jobs, first = range(len(problem.size)), problem.first
    state = state_of(problem, sorted(jobs, key=rank), [ANY for _ in jobs])
    plan = state.plan
    for j in plan.order:
        size, slots = problem.size[j], problem.inside[j]
        if not slots:
            run_free(problem, state, j)
            continue
        ends = {
            g: max(plan.free[g : g + size]) + slots
            for a, b in pairwise(first)
            for g in range(a, b - size + 1, size)
        }
        plan.block[j] = min(ends, key=lambda g: (ends[g] > target, abs(ends[g] - target)))
        run_inside(plan.free, plan.block[j], size, slots)
    return plan


def placed(table: RateTable, problem: Problem, plan: Plan) -> PlacedSchedule:
    """Return the schedule of a plan."""
    state = state_of(problem, plan.order, plan.block)
    free = state.plan.free
    starts, placements = [0] * len(problem.size), list[Placement]({} for _ in problem.size)
    for j in plan.order:
        g = plan.block[j]
        if g >= 0:
            starts[j] = run_inside(free, g, problem.size[j], problem.inside[j]) + 1
            placements[j] = {problem.server[g]: problem.size[j]}
        else:
            before, workers = list(free), dict[int, int]()
            starts[j] = run_free(problem, state, j) + 1
            for s, one, other in zip(problem.server, before, free, strict=True):
                if one != other:
                    workers[s] = workers.get(s, 0) + 1
            placements[j] = workers
    ends = simulate(table, starts, [tuple(servers) for servers in placements])
    return PlacedSchedule(max(end for end in ends if end is not None), starts, placements)


def local_search(
    table: RateTable,
    lower: int,
    upper: int,
    *,
    moves: Annotated[
        int | None,
        "number of moves for each job and target makespan, in the first round (default: 2000; 100 "
        "with fewer than 15 jobs)",
        Ge(1),
        Le(10**6),
    ] = None,
    rounds: int = 2,
    budget: Budget,
    on_better: Callable[[PlacedSchedule], None] = lambda schedule: None,
) -> PlacedSchedule | None:
    """Return the best schedule with a makespan below `upper`, or None if none was found.

    `table`: of an instance that `no_schedule` does not refute. `lower`: lower bound on the
    makespan, slots; no target is below it. `upper`: makespan to improve on, slots: the best known
    one, or the horizon plus 1. `moves`: moves per job and target in the first round; r times as
    many in round r. `rounds`: number of rounds, in each of which the search begins anew. `budget`:
    each target has a share of the remaining time; without a limit, the result depends on the seed,
    and time only decides which of the better plans are simulated. `on_better`: called with every
    schedule that is better than all before it.

    Notes
    -----
    A target that is not attained proves nothing; the makespan may still have improved.
    """
    best: PlacedSchedule | None = None
    if len(table.size) * table.gpus > _MOST_CELLS or budget.clock.expired():
        return None
    jobs, problem, clock = len(table.size), problem_of(table), budget.clock
    run = KERNEL.entry(table.instance)
    if moves is None:
        moves = _FEW_MOVES if jobs < FEW else _MOVES
    convert: Any = list if run is KERNEL.plain else lambda row: np.array(row, dtype=np.int64)

    aimed, turn = Problem(*map(convert, problem)), _TURN if jobs < _MANY else 0.0

    def take(plan: Any, value: float = 0.0) -> None:
        nonlocal best, upper
        schedule = placed(table, problem, Plan(*(list(map(int, row)) for row in plan)))
        if schedule.makespan < upper:
            upper, best = schedule.makespan, schedule
            on_better(schedule)

    temperature = max(1.0, sum(map(float, table.best_slots)) / jobs / 2)
    rng = np.random.default_rng(budget.seed)
    first = first_plan(problem, lower)
    take(first)
    for number in range(1, rounds + 1):
        low, state = lower, state_of(aimed, first.order, first.block, convert)
        while low < upper and not clock.expired():
            target = (low + upper - 1) // 2  # `upper` falls with every better schedule
            run_all(aimed, state, target)
            share = _target_clock(clock)
            anneal(
                run, aimed, state, Terms(target, turn), hot=temperature,
                cold=temperature * _COOLING, moves=moves * jobs * number,
                seed=int(rng.integers(2**31)), target=0.0, stop=share.expired, spent=share.spent,
                on_better=take,
            )  # fmt: skip
            if total(state.plan.cost) > 0:
                low = target + 1
            else:
                take(state.plan)
    return best


def _target_clock(clock: Clock) -> Clock:
    """Return a clock with a quarter of the remaining time, and some seconds of it at least."""
    least = _TARGET_SECONDS / max(clock.remaining(), 1e-9)
    return clock.share(min(1.0, max(_TARGET_SHARE, least)))


def run_local_search(instance: RingInstance, call: RunContext, **options: Any) -> MethodResult:
    """Run method `local-search` between the closed-form bounds and the schedule of `lpt-pack`.

    `options`: as of `local_search`.
    """
    table = rate_table(instance)
    lower = max(int(table.longest), width_dff(table)[0])
    if lower > instance.horizon:
        return MethodResult(infeasible=True, note=past_horizon(instance, lower))
    state = SearchState(call, lambda schedule: float(schedule.makespan), tolerance=0.0)
    call.progress.phase("packing the longest jobs first")
    first = lpt_pack(table)
    if first.feasible:
        state.incumbent(trial_schedule(instance, first))
    call.progress.phase("moving jobs")
    report = search_stage(
        state,
        instance,
        state.schedule,
        lower,
        budget=call.budget,
        **options,
    )
    if state.schedule is None:
        return MethodResult(note=NO_PLACE)
    trace = {"lpt_pack": first.makespan if first.feasible else None, "lower": lower}
    trace["end"] = report.trace["end"]
    return MethodResult(state.schedule, trace=schedule_metrics(instance, state.schedule) | trace)


def search_stage(
    state: StageProgress,
    instance: RingInstance,
    incumbent: RingSchedule | None,
    lower: int,
    *,
    budget: Budget,
    **options: int,
) -> StageResult:
    """Look for schedules that are better than the incumbent, by `local_search`.

    `state`: receiver of the schedules. `incumbent`: best known schedule. `lower`: lower bound on
    the makespan, slots. `**options`: `moves` and `rounds` of `local_search`.

    `trace["end"]` says why the search ended.
    """

    def offer(better: PlacedSchedule) -> None:
        schedule = schedule_of(instance, better.starts, better.placements)
        if schedule is not None:
            state.incumbent(schedule)

    table = rate_table(instance)
    best = local_search(
        table,
        lower,
        instance.horizon + 1 if incumbent is None else incumbent.makespan,
        budget=budget,
        on_better=offer,
        **options,
    )
    makespans = [schedule.makespan for schedule in (best, incumbent) if schedule is not None]
    if makespans and min(makespans) <= lower:
        end = "the bound is met"
    elif budget.clock.expired():
        end = "time is up"
    elif len(table.size) * table.gpus > _MOST_CELLS:
        end = "too many jobs and GPUs"
    else:
        end = "all rounds are done"
    return StageResult(trace={"seconds": round(budget.clock.elapsed(), 3), "end": end})
