"""Exact search without an engine (ours): in each slot what starts, and where; then time passes.

Some optimal schedule cannot be shifted to the left: no job could start a slot earlier with the same
placement and none end later. A job inside one server could, unless a server had no room for it in
the slot before; a ring over several servers also stays where it would have met another ring there.
So a job starts after a completion that made room for it, or in a slot in which such rings run; and
where no ring can start the search leaps from completion to completion.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from schedgap.instances.ring import RingInstance, RingSchedule
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.ring.bounds.elementary import dff_sizes, dff_thresholds
from schedgap.models.ring.heuristics.initial import initial_state, settled_result
from schedgap.models.ring.programs.printed import equal_jobs
from schedgap.models.ring.rates import RateTable, rate_table, refuted
from schedgap.models.ring.simulator import schedule_of

Counts = tuple[int, ...]  # [s] of GPUs or workers
MOST_SEEN = 300_000  # states that are remembered, about half a gigabyte
_PAUSE = 1000  # steps of one placement between two questions whether to stop


class _StoppedError(Exception):
    """The search was told to stop in the middle of a state."""


class Active(NamedTuple):
    """A job that runs."""

    job: int
    left: int  # progress to make
    counts: Counts
    number: int  # servers


class Start(NamedTuple):
    """A decision, and the one before it."""

    job: int
    slot: int
    counts: Counts
    before: "Start | None"


class Before(NamedTuple):
    """What a job would have found in the slot before."""

    free: Counts  # [s] GPUs
    crossed: tuple[bool, ...]  # [s] whether a ring over several servers was there


class State(NamedTuple):
    """The beginning of a slot, before anything starts in it."""

    slot: int
    active: tuple[Active, ...]  # by job
    waiting: tuple[int, ...]  # jobs in list order
    before: "Before | None"  # the slot before; None in slot 1
    started: Start | None


@dataclass(frozen=True, slots=True)
class Search:
    """What was found; `complete`: nothing was left out, so no schedule is better."""

    schedule: RingSchedule | None
    complete: bool
    states: int


def branch_and_simulate(
    instance: RingInstance,
    *,
    below: int | None = None,
    stop: Callable[[], bool] = lambda: False,
    on_better: Callable[[RingSchedule], None] = lambda schedule: None,
    reach: int = 1,
) -> Search:
    """Return a best schedule with a makespan less than `below`; None where there is none.

    Parameters
    ----------
    instance : RingInstance
        In which every job can make progress.
    below : int or None
        Such as a known makespan; None: one more than the horizon.
    stop : callable
        Whether to give up, asked after each state, and within one where it has many ways.
    on_better : callable
        Told of each better schedule.
    reach : int
        A lower bound on the makespan: a schedule that meets it ends the search.

    Notes
    -----
    Pruned by what is left of the longest job and of all GPU time. A state that was reached before,
    no later, is not searched again; equal servers are interchangeable, equal jobs start in list
    order. Exponential: about 8 jobs.
    """
    tree = _Tree(instance, instance.horizon + 1 if below is None else below, stop)
    number = len(instance.jobs)
    root = State(1, (), tuple(range(number)), None, None)
    best: RingSchedule | None = None
    stack = [tree.children(root)]
    states = 0
    while stack:
        if stop():
            return Search(best, False, states)
        try:
            state = next(stack[-1], None)
        except _StoppedError:
            return Search(best, False, states)
        if state is None:
            stack.pop()
            continue
        states += 1
        if state.waiting or state.active:
            if not tree.hopeless(state) and tree.is_new(state):
                stack.append(tree.children(state))
            continue
        makespan = state.slot - 1  # all are complete, the last one in the slot before
        if makespan < tree.below:
            best, tree.below = tree.schedule(state), makespan
            on_better(best)
            if makespan <= reach:
                break
    return Search(best, True, states)


class _Tree:
    """The states of an instance; `below` only falls."""

    def __init__(self, instance: RingInstance, below: int, stop: Callable[[], bool]) -> None:
        self.instance = instance
        self._stop, self._steps = stop, 0
        self.table: RateTable = rate_table(instance)
        self.below = below
        self.best_slots = [int(slots) for slots in self.table.best_slots]
        ks = [0, *dff_thresholds(self.table.size, self.table.gpus)]
        self.sizes = [dff_sizes(self.table.size, self.table.gpus, k) for k in ks]  # [k][j]
        self.twin = {later: earlier for earlier, later in equal_jobs(instance)}
        self._seen: dict[object, int] = {}  # state -> earliest slot

    def hopeless(self, state: State) -> bool:
        """Return whether every schedule that goes on from here is too long."""
        room = self.below - state.slot  # slots that are left for a better schedule
        slots = {j: self.best_slots[j] for j in state.waiting}
        for job, left, _, number in state.active:
            slots[job] = -(-left // self.table.rate(job, number, min(number - 1, 1)))
        return max(slots.values()) > room or any(
            sum(size[j] * length for j, length in slots.items()) > room * self.table.gpus
            for size in self.sizes
        )

    def is_new(self, state: State) -> bool:
        """Return whether a state has not been reached before, and note that it has now.

        Servers of equal size are sorted by what is on them.
        """
        columns = zip(
            self.table.server_gpus,
            *(state.before or ()),
            *(active.counts for active in state.active),
            strict=True,
        )
        key = (
            tuple((active.job, active.left) for active in state.active),
            state.waiting,
            state.before is None,
            tuple(sorted(columns)),
        )
        if self._seen.get(key, math.inf) <= state.slot:
            return False
        if key in self._seen or len(self._seen) < MOST_SEEN:
            self._seen[key] = state.slot
        return True

    def children(self, state: State) -> Iterator[State]:
        """Yield the states that some starts in this slot lead to."""
        free = self._free(state.active)
        for active, started in self._starts(state, 0, free, state.active, state.started):
            if not active:
                continue  # nothing runs: some job could have started
            after = self._pass(state, active, started)
            if after is not None:
                yield after

    def _free(self, active: tuple[Active, ...]) -> Counts:
        """Return [s] the GPUs that no active job holds."""
        return tuple(
            room - sum(a.counts[s] for a in active) for s, room in enumerate(self.table.server_gpus)
        )

    def _starts(
        self,
        state: State,
        k: int,
        free: Counts,
        active: tuple[Active, ...],
        started: Start | None,
    ) -> Iterator[tuple[tuple[Active, ...], Start | None]]:
        """Yield what can be active in this slot: of waiting jobs from the k-th on some start."""
        if k == len(state.waiting):
            yield active, started
            return
        j = state.waiting[k]
        twin = self.twin.get(j)
        if twin is None or twin not in state.waiting or any(a.job == twin for a in active):
            for counts, number in self._placements(j, state, free, active):
                if _could_start_earlier(counts, number, state.before):
                    continue
                rest = tuple(room - count for room, count in zip(free, counts, strict=True))
                more = (*active, Active(j, self.table.required_progress[j], counts, number))
                decision = Start(j, state.slot, counts, started)
                yield from self._starts(state, k + 1, rest, more, decision)
        yield from self._starts(state, k + 1, free, active, started)

    def _placements(
        self, j: int, state: State, free: Counts, active: tuple[Active, ...]
    ) -> Iterator[tuple[Counts, int]]:
        """Yield ways to put a job on free GPUs, one of each kind that equal servers allow."""
        size, table = self.table.size[j], self.table
        alike: list[int | None] = []  # [s] an earlier server with the same on it
        seen: dict[object, int] = {}
        for s, room in enumerate(table.server_gpus):
            before = [column[s] for column in state.before or ()]
            key = (room, *before, *(a.counts[s] for a in active))
            alike.append(seen.get(key))
            seen[key] = s
        behind = [sum(free[s:]) for s in range(len(free) + 1)]
        most_servers = max(
            (
                n
                for n in range(1, table.most_servers[j] + 1)
                if state.slot - 1 + table.slots(j, n, min(n - 1, 1)) < self.below
            ),
            default=0,
        )

        def extend(s: int, counts: Counts, left: int, number: int) -> Iterator[Counts]:
            """Yield ways to put `left` workers on so many of the servers from s on."""
            self._steps += 1
            if self._steps % _PAUSE == 0 and self._stop():
                raise _StoppedError
            if left == 0:
                if number == 0:
                    yield counts + (0,) * (len(free) - s)
            elif 0 < number <= min(left, len(free) - s) and left <= behind[s]:
                twin = alike[s]
                most = min(left, free[s], size if twin is None else counts[twin])
                for count in range(most, 0, -1):
                    yield from extend(s + 1, (*counts, count), left - count, number - 1)
                yield from extend(s + 1, (*counts, 0), left, number)

        for number in range(1, most_servers + 1):
            for counts in extend(0, (), size, number):
                yield counts, number

    def _pass(
        self, state: State, active: tuple[Active, ...], started: Start | None
    ) -> State | None:
        """Let time pass to the next slot in which something may start; None if nothing ever ends.

        That is the first one after a completion; or the next one, where a ring runs and another one
        waits.
        """
        table = self.table
        waiting = tuple(j for j in state.waiting if all(a.job != j for a in active))
        rings = [a for a in active if a.number > 1]
        contention = [sum(a.counts[s] > 0 for a in rings) for s in range(len(table.server_gpus))]
        rates = [
            table.rate(
                a.job,
                a.number,
                0
                if a.number == 1
                else max(c for c, n in zip(contention, a.counts, strict=True) if n),
            )
            for a in active
        ]
        left = [a.left for a in active]
        until = [-(-rest // rate) for rest, rate in zip(left, rates, strict=True) if rate]
        if not until:
            return None
        slots = min(until)
        if rings and any(table.most_servers[j] > 1 for j in waiting):
            slots = 1
        after = tuple(
            sorted(
                a._replace(left=rest)
                for a, rate in zip(active, rates, strict=True)
                if (rest := a.left - rate * slots) > 0
            )
        )
        crossed = tuple(count > 0 for count in contention)
        return State(
            state.slot + slots, after, waiting, Before(self._free(active), crossed), started
        )

    def schedule(self, state: State) -> RingSchedule:
        """Return the schedule of the decisions that led to the end."""
        number = len(self.table.size)
        starts, placements = [0] * number, [dict[int, int]() for _ in range(number)]
        start = state.started
        while start is not None:
            starts[start.job] = start.slot
            placements[start.job] = {s: count for s, count in enumerate(start.counts) if count}
            start = start.before
        found = schedule_of(self.instance, starts, placements)
        assert found is not None  # every start had room, and the end is within the horizon
        return found


def _could_start_earlier(counts: Counts, number: int, before: Before | None) -> bool:
    """Return whether a job had room in the slot before, and would have met no ring there."""
    if before is None or any(n > room for n, room in zip(counts, before.free, strict=True)):
        return False
    return number == 1 or not any(
        n and crossed for n, crossed in zip(counts, before.crossed, strict=True)
    )


def branch_simulate(instance: RingInstance, call: RunContext) -> MethodResult:
    """Run the search from what the lists have."""
    if proof := refuted(instance):
        return proof
    found = initial_state(instance, call)
    if end := settled_result(instance, found):
        return end
    call.progress.phase("searching from slot to slot")
    search = branch_and_simulate(
        instance,
        below=None if found.schedule is None else found.schedule.makespan,
        stop=call.clock.expired,
        on_better=found.offer,
        reach=int(found.lower),
    )
    found.trace["states"] = search.states
    if search.complete:
        found.proofs.append("complete search")
        if found.schedule is None:
            found.infeasible = True
        else:
            found.bound(found.schedule.makespan)
    return found.outcome()
