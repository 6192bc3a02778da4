"""Branch and bound on the simulation, without an engine (ours).

A node is the beginning of a slot; its branches decide which jobs start in the slot, and where, and
then time passes to the next slot in which something can start. Some optimal schedule has no left
shift: no job could start one slot earlier, with the same placement, without another ending later. A
job inside one server has a left shift unless the server had too few free GPUs in the previous slot;
a ring over several servers also has none if it would have met another ring there. So a job starts
after a completion that freed GPUs for it, or in a slot in which such rings run; if no ring can
start, time passes from completion to completion.

References
----------
E. Demeulemeester, W. Herroelen, "A branch-and-bound procedure for the multiple resource-constrained
project scheduling problem", Management Science 38 (1992): branching in time, dominance by left
shifts and by earlier partial schedules. The left-shift rule for contending rings is new here; it is
valid because a shift that meets no other ring delays nobody.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from schedgap.instances.ring import RingInstance, RingSchedule
from schedgap.models.mechanisms.dual_feasible_functions import threshold, thresholds
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.ring.heuristics.initial import from_initial_state
from schedgap.models.ring.programs.printed import equal_jobs
from schedgap.models.ring.rates import rate_table
from schedgap.models.ring.simulator import schedule_of
from schedgap.models.search_state import SearchState

Counts = tuple[int, ...]  # [s] of GPUs or workers
MOST_SEEN = 300_000  # stored nodes, about half a gigabyte
_PAUSE = 1000  # steps of one enumeration of placements between two questions whether to stop


class _StoppedError(Exception):
    """The search was stopped while it expanded a node."""


class RunningJob(NamedTuple):
    """A job that runs at the beginning of a slot."""

    job: int
    remaining: int  # progress
    workers: Counts  # [s]
    servers: int


class StartDecision(NamedTuple):
    """The start of a job, linked to the previous decision on the path to the root."""

    job: int
    slot: int
    workers: Counts  # [s]
    previous: "StartDecision | None"


class PreviousSlot(NamedTuple):
    """State of the servers in the slot before a node."""

    free: Counts  # [s] GPUs
    has_ring: tuple[bool, ...]  # [s] whether a ring over several servers ran there


class SlotNode(NamedTuple):
    """A node of the tree: the beginning of a slot, before anything starts in it."""

    slot: int
    running: tuple[RunningJob, ...]  # by job
    waiting: tuple[int, ...]  # jobs in list order
    before: PreviousSlot | None  # None in slot 1
    decision: StartDecision | None  # the last one


@dataclass(frozen=True, slots=True)
class BranchingResult:
    """Result of the search; if `complete`, no schedule is better than `schedule` and the cutoff."""

    schedule: RingSchedule | None
    complete: bool
    states: int  # nodes


def branch_and_simulate(
    instance: RingInstance,
    *,
    cutoff: int | None = None,
    stop: Callable[[], bool] = lambda: False,
    on_better: Callable[[RingSchedule], None] = lambda schedule: None,
    lower: int = 1,
) -> BranchingResult:
    """Search for the best schedule with a makespan below the cutoff.

    `instance`: not refuted by `no_schedule`. `cutoff`: such as the makespan of a known schedule,
    slots; by default the horizon plus 1. `stop`: asked at every node, and from time to time within
    one, whether to stop. `on_better`: called with each better schedule. `lower`: lower bound on the
    makespan, slots; a schedule that attains it ends the search.

    Notes
    -----
    Depth first. A node is fathomed if the longest remaining job or the remaining GPU time (with
    dual-feasible functions) does not fit below the cutoff, or if the same state was reached in the
    same or an earlier slot. Equal servers are interchangeable, and equal jobs start in list order.
    Exponential: about 8 jobs.
    """
    tree = _Tree(instance, instance.horizon + 1 if cutoff is None else cutoff, stop)
    root = SlotNode(1, (), tuple(range(len(instance.jobs))), None, None)
    best: RingSchedule | None = None
    stack = [tree.children(root)]
    nodes = 0
    while stack:
        if stop():
            return BranchingResult(best, False, nodes)
        try:
            node = next(stack[-1], None)
        except _StoppedError:
            return BranchingResult(best, False, nodes)
        if node is None:
            stack.pop()
            continue
        nodes += 1
        if node.waiting or node.running:
            if not tree.is_bounded(node) and tree.is_new(node):
                stack.append(tree.children(node))
            continue
        makespan = node.slot - 1  # all jobs are complete, the last one in the previous slot
        if makespan < tree.cutoff:
            best, tree.cutoff = tree.schedule(node), makespan
            on_better(best)
            if makespan <= lower:
                break
    return BranchingResult(best, True, nodes)


class _Tree:
    """Branching, bounding and dominance for one instance; `cutoff` only decreases."""

    def __init__(self, instance: RingInstance, cutoff: int, stop: Callable[[], bool]) -> None:
        self.instance = instance
        self._stop, self._steps = stop, 0
        self.table = rate_table(instance)
        self.cutoff = cutoff
        self.best_slots = [int(slots) for slots in self.table.best_slots]
        ks = [0, *thresholds(self.table.size, self.table.gpus)]
        self.sizes = [threshold(self.table.size, self.table.gpus, k) for k in ks]  # [k][j]
        self.equal_before = {later: earlier for earlier, later in equal_jobs(instance)}
        self._seen: dict[object, int] = {}  # state -> earliest slot

    def is_bounded(self, node: SlotNode) -> bool:
        """Return whether every schedule below a node reaches the cutoff."""
        slots_left = self.cutoff - node.slot
        slots = {j: self.best_slots[j] for j in node.waiting}
        for job, remaining, _, servers in node.running:
            slots[job] = -(-remaining // self.table.rate(job, servers, min(servers - 1, 1)))
        return max(slots.values()) > slots_left or any(
            sum(size[j] * length for j, length in slots.items()) > slots_left * self.table.gpus
            for size in self.sizes
        )

    def is_new(self, node: SlotNode) -> bool:
        """Return whether the state of a node was not reached by this slot before, and store it.

        Servers of equal size are sorted by their content.
        """
        servers = zip(
            self.table.server_gpus,
            *(node.before or ()),
            *(running.workers for running in node.running),
            strict=True,
        )
        key = (
            tuple((running.job, running.remaining) for running in node.running),
            node.waiting,
            node.before is None,
            tuple(sorted(servers)),
        )
        if self._seen.get(key, math.inf) <= node.slot:
            return False
        if key in self._seen or len(self._seen) < MOST_SEEN:
            self._seen[key] = node.slot
        return True

    def children(self, node: SlotNode) -> Iterator[SlotNode]:
        """Yield a child for each combination of starts in the slot of a node."""
        free = self._free(node.running)
        for running, decision in self._starts(node, 0, free, node.running, node.decision):
            if not running:
                continue  # nothing runs, so some job could have started: a left shift
            child = self._after(node, running, decision)
            if child is not None:
                yield child

    def _free(self, running: tuple[RunningJob, ...]) -> Counts:
        """Return the number of free GPUs [s]."""
        return tuple(
            gpus - sum(each.workers[s] for each in running)
            for s, gpus in enumerate(self.table.server_gpus)
        )

    def _starts(
        self,
        node: SlotNode,
        k: int,
        free: Counts,
        running: tuple[RunningJob, ...],
        decision: StartDecision | None,
    ) -> Iterator[tuple[tuple[RunningJob, ...], StartDecision | None]]:
        """Yield the running jobs after each choice of starts among the waiting jobs from k on."""
        if k == len(node.waiting):
            yield running, decision
            return
        j = node.waiting[k]
        equal = self.equal_before.get(j)
        if equal is None or equal not in node.waiting or any(r.job == equal for r in running):
            for workers, servers in self._placements(j, node, free, running):
                if _has_left_shift(workers, servers, node.before):
                    continue
                rest = tuple(gpus - count for gpus, count in zip(free, workers, strict=True))
                job = RunningJob(j, self.table.required_progress[j], workers, servers)
                start = StartDecision(j, node.slot, workers, decision)
                yield from self._starts(node, k + 1, rest, (*running, job), start)
        yield from self._starts(node, k + 1, free, running, decision)

    def _placements(
        self, j: int, node: SlotNode, free: Counts, running: tuple[RunningJob, ...]
    ) -> Iterator[tuple[Counts, int]]:
        """Yield workers [s] and number of servers of a job on free GPUs, up to equal servers.

        Of servers with the same size and content, an earlier one gets no fewer workers.
        """
        size, table = self.table.size[j], self.table
        equal_server: list[int | None] = []  # [s] the last earlier server that is equal to s
        last: dict[object, int] = {}
        for s, gpus in enumerate(table.server_gpus):
            before = [state[s] for state in node.before or ()]
            key = (gpus, *before, *(each.workers[s] for each in running))
            equal_server.append(last.get(key))
            last[key] = s
        free_from = [sum(free[s:]) for s in range(len(free) + 1)]
        # the shortest time on n servers must fit below the cutoff
        most_servers = max(
            (
                n
                for n in range(1, table.most_servers[j] + 1)
                if node.slot - 1 + table.slots(j, n, min(n - 1, 1)) < self.cutoff
            ),
            default=0,
        )

        def extend(s: int, workers: Counts, left: int, servers: int) -> Iterator[Counts]:
            """Yield ways to put `left` workers on exactly `servers` of the servers from s on."""
            self._steps += 1
            if self._steps % _PAUSE == 0 and self._stop():
                raise _StoppedError
            if left == 0:
                if servers == 0:
                    yield workers + (0,) * (len(free) - s)
            elif 0 < servers <= min(left, len(free) - s) and left <= free_from[s]:
                equal = equal_server[s]
                most = min(left, free[s], size if equal is None else workers[equal])
                for count in range(most, 0, -1):
                    yield from extend(s + 1, (*workers, count), left - count, servers - 1)
                yield from extend(s + 1, (*workers, 0), left, servers)

        for servers in range(1, most_servers + 1):
            for workers in extend(0, (), size, servers):
                yield workers, servers

    def _after(
        self, node: SlotNode, running: tuple[RunningJob, ...], decision: StartDecision | None
    ) -> SlotNode | None:
        """Let time pass to the next slot in which a job may start; None if nothing ever ends.

        That is the slot after the next completion, or the next slot if a ring runs and a waiting
        job may be spread.
        """
        table = self.table
        waiting = tuple(j for j in node.waiting if all(each.job != j for each in running))
        rings = [each for each in running if each.servers > 1]
        rings_on = [sum(r.workers[s] > 0 for r in rings) for s in range(len(table.server_gpus))]
        rates = []
        for job, _, workers, servers in running:
            levels = (p for p, count in zip(rings_on, workers, strict=True) if count)
            rates.append(table.rate(job, servers, 0 if servers == 1 else max(levels)))
        slots_left = [
            -(-each.remaining // rate) for each, rate in zip(running, rates, strict=True) if rate
        ]
        if not slots_left:
            return None
        slots = min(slots_left)
        if rings and any(table.most_servers[j] > 1 for j in waiting):
            slots = 1
        after = tuple(
            sorted(
                each._replace(remaining=remaining)
                for each, rate in zip(running, rates, strict=True)
                if (remaining := each.remaining - rate * slots) > 0
            )
        )
        before = PreviousSlot(self._free(running), tuple(number > 0 for number in rings_on))
        return SlotNode(node.slot + slots, after, waiting, before, decision)

    def schedule(self, node: SlotNode) -> RingSchedule:
        """Return the schedule of the decisions on the path to a leaf."""
        number = len(self.table.size)
        starts, placements = [0] * number, [dict[int, int]() for _ in range(number)]
        decision = node.decision
        while decision is not None:
            starts[decision.job] = decision.slot
            workers = enumerate(decision.workers)
            placements[decision.job] = {s: count for s, count in workers if count}
            decision = decision.previous
        schedule = schedule_of(self.instance, starts, placements)
        assert schedule is not None  # the nodes keep to capacity and horizon
        return schedule


def _has_left_shift(workers: Counts, servers: int, before: PreviousSlot | None) -> bool:
    """Return whether a job fits into the previous slot, and would have met no ring there."""
    if before is None or any(n > gpus for n, gpus in zip(workers, before.free, strict=True)):
        return False
    return servers == 1 or not any(
        n and has_ring for n, has_ring in zip(workers, before.has_ring, strict=True)
    )


@from_initial_state
def branch_simulate(instance: RingInstance, call: RunContext, state: SearchState) -> MethodResult:
    """Run method `branch-simulate` from the best list schedule.

    `state`: initial state, given by `from_initial_state`.
    """
    call.progress.phase("searching from slot to slot")
    result = branch_and_simulate(
        instance,
        cutoff=None if state.schedule is None else state.schedule.makespan,
        stop=call.clock.expired,
        on_better=state.incumbent,
        lower=int(state.lower),
    )
    state.trace["states"] = result.states
    if result.complete:
        state.proofs.append("complete search")
        if state.schedule is None:
            state.infeasible = True
        else:
            state.bound(state.schedule.makespan)
    return state.outcome()
