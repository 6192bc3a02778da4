"""Local search over which server serves which jobs, in which order (ours).

Few jobs: orders of a timetable. Then: jobs inside one server meet nobody, so servers are
independent of each other: a server takes its jobs one after the other, each on the GPUs that are
free first. Jobs that no server can hold run before all others, as the dispatcher packs them; what
they leave free is where the rest begins. The search is simulated annealing on the work that lies
beyond a target makespan, and targets are tried between a bound and the best makespan so far.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from random import Random

from schedgap.models.ring.bounds import inside_slots
from schedgap.models.ring.dispatch import dispatch
from schedgap.models.ring.packing import longest_first, pack
from schedgap.models.ring.rates import NEVER, RateTable
from schedgap.models.ring.timetable import Found, order_search
from schedgap.solvers.clock import Clock

Free = tuple[tuple[int, int], ...]  # (slots that have passed, GPUs free from then on)

_LAST_HEAT = 0.002  # temperature of the last move, in that of the first
_TIMETABLE = 100_000  # jobs x servers x slots at most
_PREFIXES = 30  # orders of the jobs that run first
_KEPT = 3  # of them that are gone on with
_PART, _PART_SECONDS = 0.25, 2.0  # of the time that is left, for each target
_PAUSE = 256  # moves between two looks at the clock


@dataclass(frozen=True, slots=True)
class Prefix:
    """Jobs that run before all others, and where the rest begins."""

    starts: dict[int, int]  # by job, slot
    ends: dict[int, int]
    placements: dict[int, dict[int, int]]  # by job, workers by server
    makespan: int
    free: tuple[Free, ...]  # [s]

    def blocked(self) -> tuple[int, int]:
        """Return the GPU-slots that are lost to the rest, and the makespan."""
        return sum(time * number for free in self.free for time, number in free), self.makespan


def prefixes(table: RateTable, rng: Random, tries: int = _PREFIXES) -> list[Prefix]:
    """Return ways to run the jobs that no server can hold, in several orders, packed.

    Those come first that block the fewest GPU-slots.
    """
    slots = inside_slots(table)
    outside = {j for j, each in enumerate(slots) if each == NEVER}
    if not outside:
        return [Prefix({}, {}, {}, 0, tuple(((0, room),) for room in table.room))]
    orders = [[j for j in order if j in outside] for order in longest_first(table)]
    while len(orders) < tries:
        orders.append(rng.sample(orders[0], len(orders[0])))
    found: dict[tuple[Free, ...], Prefix] = {}
    for order in orders:
        for most in (1, math.inf):
            prefix = _prefix(table, order, most)
            if prefix is not None:
                found.setdefault(prefix.free, prefix)
    return sorted(found.values(), key=Prefix.blocked)


def _prefix(table: RateTable, order: list[int], most: float) -> Prefix | None:
    trial = dispatch(table, order, lambda j, cluster: pack(j, cluster, most))
    if not trial.feasible:
        return None
    first = [0]
    for room in table.room:
        first.append(first[-1] + room)
    free = [0] * table.gpus
    placements: dict[int, dict[int, int]] = {}
    for j in order:
        placed: dict[int, int] = {}
        server = 0
        for gpu in trial.gpus[j].tolist():
            while gpu >= first[server + 1]:
                server += 1
            placed[server] = placed.get(server, 0) + 1
            free[gpu] = max(free[gpu], trial.ends[j])
        placements[j] = placed
    by_server = []
    for s in range(len(table.room)):
        times = sorted(free[first[s] : first[s + 1]])
        by_server.append(tuple((time, times.count(time)) for time in dict.fromkeys(times)))
    starts = {j: trial.starts[j] for j in order}
    ends = {j: trial.ends[j] for j in order}
    return Prefix(starts, ends, placements, int(trial.makespan), tuple(by_server))


class Packing:
    """Sequences of jobs by server, and the work beyond a target that they leave."""

    def __init__(self, table: RateTable, prefix: Prefix, target: int) -> None:
        self.table, self.prefix, self.target = table, prefix, target
        self.size = table.size
        self.slots = [0 if each == NEVER else int(each) for each in inside_slots(table)]
        self.jobs = [j for j in range(len(table.size)) if j not in prefix.starts]
        self.sequences: list[list[int]] = [[] for _ in table.room]
        self.server = [-1] * len(table.size)  # [j]
        self.excess = [0] * len(table.room)  # [s]
        self._start()

    def _start(self) -> None:
        """Widest first, then longest, each on the server where it can begin first."""
        ends = [list(free) for free in self.prefix.free]
        for heap in ends:
            heapify(heap)
        for j in sorted(self.jobs, key=lambda j: (-self.size[j], -self.slots[j])):
            able = [s for s, room in enumerate(self.table.room) if room >= self.size[j]]
            s = min(able, key=lambda s: (_begin(list(ends[s]), self.size[j]), self.table.room[s]))
            _run(ends[s], self.size[j], self.slots[j])
            self.sequences[s].append(j)
            self.server[j] = s
        self.aim(self.target)

    def aim(self, target: int) -> None:
        """Take another target."""
        self.target = target
        self.excess = [self.beyond(s, own) for s, own in enumerate(self.sequences)]

    def beyond(self, s: int, sequence: Sequence[int]) -> int:
        """Return the GPU-slots after the target that jobs in this sequence would take."""
        heap, target, total = list(self.prefix.free[s]), self.target, 0
        size, slots = self.size, self.slots
        for j in sequence:
            width = size[j]
            time, number = heappop(heap)
            if number < width:
                time = _gather(heap, time, number, width)
            elif number > width:
                heappush(heap, (time, number - width))
            end = time + slots[j]
            heappush(heap, (end, width))
            if end > target:
                total += width * (end - target)
        return total

    def found(self) -> Found:
        """Return the schedule of all jobs, those of the prefix too."""
        starts, ends = dict(self.prefix.starts), dict(self.prefix.ends)
        for s, sequence in enumerate(self.sequences):
            heap = list(self.prefix.free[s])
            for j in sequence:
                passed = _run(heap, self.size[j], self.slots[j])
                starts[j], ends[j] = passed + 1, passed + self.slots[j]
        placed = self.prefix.placements | {j: {self.server[j]: self.size[j]} for j in self.jobs}
        every = range(len(self.size))
        return Found(
            tuple(starts[j] for j in every),
            tuple(ends[j] for j in every),
            tuple(placed[j] for j in every),
        )

    def put(self, s: int, sequence: list[int], excess: int) -> None:
        """Give a server another sequence."""
        self.sequences[s], self.excess[s] = sequence, excess
        for j in sequence:
            self.server[j] = s


def _begin(heap: list[tuple[int, int]], width: int) -> int:
    """Return how many slots have passed when so many GPUs are free."""
    heapify(heap)
    number = 0
    while number < width:
        time, more = heappop(heap)
        number += more
    return time


def _gather(heap: list[tuple[int, int]], time: int, number: int, width: int) -> int:
    """Wait for more GPUs than are free first; return when, the surplus being of the earliest."""
    taken = [(time, number)]
    while number < width:
        time, more = heappop(heap)
        taken.append((time, more))
        number += more
    surplus = number - width
    for earlier, more in taken:
        if not surplus:
            break
        heappush(heap, (earlier, min(more, surplus)))
        surplus -= min(more, surplus)
    return time


def _run(heap: list[tuple[int, int]], width: int, slots: int) -> int:
    """Run a job on the GPUs that are free first; return how many slots pass before."""
    time, number = heappop(heap)
    if number < width:
        time = _gather(heap, time, number, width)
    elif number > width:
        heappush(heap, (time, number - width))
    heappush(heap, (time + slots, width))
    return time


Move = tuple[int, list[int], int, list[int]]  # server, its new sequence; another, or the same twice


def _neighbor(plan: Packing, rng: Random) -> Move | None:
    """Return a change of one or two servers: a job moves, or changes places with others."""
    size, room = plan.size, plan.table.room
    j = plan.jobs[int(rng.random() * len(plan.jobs))]
    a = plan.server[j]
    if rng.random() < 0.35:
        b = int(rng.random() * len(room))
        if room[b] < size[j]:
            return None
        left = [other for other in plan.sequences[a] if other != j]
        if a == b:
            _insert(left, j, size, rng)
            return a, left, a, left
        right = list(plan.sequences[b])
        _insert(right, j, size, rng)
        return a, left, b, right
    k = plan.jobs[int(rng.random() * len(plan.jobs))]
    b = plan.server[k]
    if a == b:
        if j == k or size[j] != size[k]:
            return None
        left = [k if i == j else j if i == k else i for i in plan.sequences[a]]
        return a, left, a, left
    if size[k] > size[j]:
        j, k, a, b = k, j, b, a
    if room[b] < size[j]:
        return None
    group = [k]  # narrower jobs, up to the width of j
    lacking = size[j] - size[k]
    if lacking and rng.random() < 0.8:
        others = [i for i in plan.sequences[b] if i != k and size[i] <= lacking]
        rng.shuffle(others)
        for i in others:
            if size[i] <= lacking:
                group.append(i)
                lacking -= size[i]
    if any(size[i] > room[a] for i in group):
        return None
    left = [i for i in plan.sequences[a] if i != j]
    right = [i for i in plan.sequences[b] if i not in group]
    for i in group:
        _insert(left, i, size, rng)
    _insert(right, j, size, rng)
    return a, left, b, right


def _insert(sequence: list[int], j: int, size: Sequence[int], rng: Random) -> None:
    """Put a job anywhere among those as wide; now and then anywhere at all."""
    if rng.random() < 0.05:
        sequence.insert(int(rng.random() * (len(sequence) + 1)), j)
        return
    low = 0
    while low < len(sequence) and size[sequence[low]] > size[j]:
        low += 1
    high = low
    while high < len(sequence) and size[sequence[high]] == size[j]:
        high += 1
    sequence.insert(low + int(rng.random() * (high - low + 1)), j)


def anneal(
    plan: Packing,
    moves: int,
    heat: float,
    rng: Random,
    *,
    clock: Clock,
    on_better: Callable[[Packing], None] = lambda plan: None,
) -> bool:
    """Move jobs until nothing lies beyond the target; return whether that was reached.

    Parameters
    ----------
    moves : int
        At most.
    heat : float
        Temperature of the first move, in GPU-slots beyond the target; it falls geometrically, with
        the moves or with the clock, whichever is further.
    on_better : callable
        Called when less lies beyond the target than ever before.
    """
    total = least = sum(plan.excess)
    if not total:
        on_better(plan)
        return True
    now = heat
    for tried in range(moves):
        if tried % _PAUSE == 0:
            if clock.expired():
                return False
            now = heat * _LAST_HEAT ** max(tried / moves, clock.spent())
        move = _neighbor(plan, rng)
        if move is None:
            continue
        a, left, b, right = move
        before = plan.excess[a] if a == b else plan.excess[a] + plan.excess[b]
        first = plan.beyond(a, left)
        second = first if a == b else plan.beyond(b, right)
        change = (first if a == b else first + second) - before
        if change > 0 and rng.random() >= math.exp(-change / now):
            continue
        plan.put(a, left, first)
        if a != b:
            plan.put(b, right, second)
        total += change
        if total < least:
            least = total
            on_better(plan)
            if not total:
                return True
    return False


def local_search(
    table: RateTable,
    lower: int,
    upper: int,
    seed: int,
    *,
    orders: int = 30,
    moves: int = 2000,
    rounds: int = 3,
    clock: Clock,
    on_better: Callable[[Found], None] = lambda found: None,
) -> Found | None:
    """Look for a makespan below `upper`; None where there was none, else the best.

    Parameters
    ----------
    table : RateTable
        Of an instance that `no_schedule` does not refute.
    lower : int
        A bound on the makespan, in slots: no target lies below it.
    upper : int
        Makespan of a known schedule, or one slot more than the horizon.
    orders : int
        Orders of a timetable for each job, where it is not too large.
    moves : int
        Of each job, for each target.
    rounds : int
        How often the search begins anew.
    clock : Clock
        Each part of the search has a share of what is left; without a limit a seed repeats it.

    Notes
    -----
    Targets halve the distance between the lowest that may be possible and the best makespan. A
    target that was not reached proves nothing; while it was missed, the makespan may still fall.
    """
    best: Found | None = None

    def take(found: Found) -> None:
        nonlocal best, upper
        if found.makespan < upper:
            upper, best = found.makespan, found
            on_better(found)

    def note(plan: Packing) -> None:
        take(plan.found())

    rng = Random(seed)
    if len(table.size) * len(table.room) * upper <= _TIMETABLE:
        tries = orders * len(table.size)
        order_search(table, lower, upper, rng, tries=tries, clock=clock.share(0.5), on_better=take)
    heat = max(1.0, sum(map(float, table.best_slots)) / len(table.size))
    begins = prefixes(table, rng)[:_KEPT]
    for _ in range(rounds):
        for prefix in begins:
            low = max(lower, prefix.makespan)
            if low >= upper or clock.expired():
                continue
            plan = Packing(table, prefix, low)
            note(plan)
            while plan.jobs and low < upper and not clock.expired():
                target = (low + upper - 1) // 2
                plan.aim(target)
                most = moves * len(plan.jobs)
                if not anneal(plan, most, heat, rng, clock=_part(clock), on_better=note):
                    low = target + 1
    return best


def _part(clock: Clock) -> Clock:
    """Return a quarter of what is left, and some seconds of it at least."""
    return clock.share(min(1.0, max(_PART, _PART_SECONDS / max(clock.remaining(), 1e-9))))
