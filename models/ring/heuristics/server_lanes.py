"""Servers cut into lanes, and jobs in them: what a local search moves (ours).

Jobs inside one server meet nobody, so all that matters is which GPUs serve which jobs. A server is
cut into lanes as wide as most jobs are: of 8 GPUs, say, each of these into two of 4, and so on. A
job runs in the narrowest lane that holds it, before the jobs of the lanes inside: ends are sums
from the server down, and what changes in a lane changes nothing outside it.
"""

from random import Random

from schedgap.models.ring.bounds.elementary import inside_slots
from schedgap.models.ring.heuristics.large_jobs_first import LargeJobsSchedule
from schedgap.models.ring.heuristics.serial_schedules import PlacedSchedule
from schedgap.models.ring.rates import NEVER, RateTable

_ALONE = 0.3  # share of moves to which nothing is moved in return
_LATE = 0.7  # share of moves of jobs that are in the way
_OWN = 0.7  # chance that a wide job is exchanged, and not the narrow ones behind it


def lane_widths(table: RateTable) -> list[int]:
    """Return sizes of jobs each of which divides the next, those with the most work, ascending."""
    work: dict[int, int] = {}
    for size, slots in zip(table.size, inside_slots(table), strict=True):
        if slots != NEVER:
            work[size] = work.get(size, 0) + size * int(slots)
    best: dict[int, tuple[int, list[int]]] = {}  # widest of a chain -> (its work, the chain)
    for size in sorted(work):
        narrower = [best[other] for other in best if size % other == 0]
        total, chain = max(narrower, default=(0, []))
        best[size] = total + work[size], [*chain, size]
    return max(best.values(), default=(0, []))[1]


class LaneAssignment:
    """Jobs by lane, and the work beyond a target that they leave.

    Lanes are numbered from a server down: those inside lane i are the next ones, before `stop[i]`.
    """

    def __init__(self, table: RateTable, large_jobs: LargeJobsSchedule, target: int) -> None:
        self.table, self.large_jobs, self.target = table, large_jobs, target
        self.slots = [0 if each == NEVER else int(each) for each in inside_slots(table)]
        self.jobs = [j for j in range(len(table.size)) if j not in large_jobs.starts]
        self.server: list[int] = []  # [i]
        self.width: list[int] = []  # [i] GPUs
        self.gpus: list[int] = []  # [i] the same, 0 where it is cut into others
        self.ready: list[int] = []  # [i] slots until the last of them is free
        self.around: list[int] = []  # [i] the lane that it is a part of; -1: a whole server
        self.parts: list[list[int]] = []  # [i] the lanes that it is cut into
        self.stop: list[int] = []  # [i]
        widths = lane_widths(table)
        for s, room in enumerate(table.server_gpus):
            self._cut(s, range(room), widths, -1)
        lanes = len(self.width)
        self.own: list[list[int]] = [[] for _ in range(lanes)]  # [i] jobs
        self.load = [0] * lanes  # [i] their slots
        self.end = [0] * (lanes + 1)  # [i] slots until they are complete; [-1] is around a server
        self.excess = [0] * lanes  # [i] GPU-slots beyond the target, of lanes that are not cut
        self.lane = [-1] * len(table.size)  # [j]
        self.late = self.jobs  # see `look`
        homes = {size: self._homes(size) for size in {table.size[j] for j in self.jobs}}
        self.homes = [homes.get(size, []) for size in table.size]  # [j] lanes
        self._tried: tuple[int, int, int, list[int]] = 0, 0, 0, []  # see `try_move`
        self._before: tuple[list[int], ...] = ()  # ends and excess in both lanes
        self._start()

    def _cut(self, s: int, gpus: range, widths: list[int], around: int) -> int:
        """Number a lane and those inside it; return its number."""
        i = len(self.width)
        self.server.append(s)
        self.width.append(len(gpus))
        self.gpus.append(0)
        self.ready.append(max(self.large_jobs.free[s][g] for g in gpus))
        self.around.append(around)
        self.parts.append([])
        self.stop.append(0)
        left = gpus
        while part := max((w for w in widths if w <= len(left) and w < len(gpus)), default=0):
            self.parts[i].append(self._cut(s, left[:part], widths, i))
            left = left[part:]
        if not self.parts[i]:
            self.gpus[i] = len(gpus)
        self.stop[i] = len(self.width)
        return i

    def _homes(self, size: int) -> list[int]:
        """Return the narrowest lanes of each server that are wide enough."""
        narrowest: dict[int, int] = {}
        for s, width in zip(self.server, self.width, strict=True):
            if width >= size:
                narrowest[s] = min(width, narrowest.get(s, width))
        return [i for i, s in enumerate(self.server) if self.width[i] == narrowest.get(s)]

    def _start(self) -> None:
        """Widest first, then longest, each where it ends last within the target, or else first."""
        size, slots, target = self.table.size, self.slots, self.target
        for j in sorted(self.jobs, key=lambda j: (-size[j], -slots[j])):
            ends = {i: max(self.end[i], self.ready[i]) + slots[j] for i in self.homes[j]}
            i = min(ends, key=lambda i: (ends[i] > target, abs(ends[i] - target)))
            self._put(j, i)
            self.load[i] += slots[j]
            self._run(i)

    def _put(self, j: int, i: int) -> None:
        self.own[i].append(j)
        self.lane[j] = i

    def aim(self, target: int) -> int:
        """Take another target; return the GPU-slots beyond it."""
        self.target = target
        return sum(self._run(i) for i, around in enumerate(self.around) if around < 0)

    def look(self) -> None:
        """Note which jobs are in the way of those that end after the target."""
        late = set()
        for i, beyond in enumerate(self.excess):
            while beyond and i >= 0:
                late.update(self.own[i])
                i = self.around[i]
        self.late = sorted(late) or self.jobs

    def _run(self, i: int) -> int:
        """Let the jobs of a lane and inside it run; return their GPU-slots beyond the target."""
        around, ready, gpus, load = self.around, self.ready, self.gpus, self.load
        end, excess, target, total = self.end, self.excess, self.target, 0
        for k in range(i, self.stop[i]):
            now = end[around[k]]
            if load[k]:
                if now < ready[k]:
                    now = ready[k]
                now += load[k]
            end[k] = now
            if now > target:
                excess[k] = gpus[k] * (now - target)
                total += excess[k]
            else:
                excess[k] = 0
        return total

    def try_move(self, rng: Random) -> int | None:
        """Exchange a job with nothing, or with jobs that are as wide together, in another lane.

        Returns
        -------
        int or None
            The change of the excess; `drop` or `keep` the move then. None: nothing was moved.
        """
        random = rng.random
        jobs = self.late if random() < _LATE else self.jobs
        j = jobs[int(random() * len(jobs))]
        homes = self.homes[j]
        a, b = self.lane[j], homes[int(random() * len(homes))]
        if a == b:
            return None
        back: list[int] = []  # from inside b to the same places inside a
        if random() >= _ALONE and self.width[a] == self.width[b]:
            self._layer(b, rng, back)
        end, excess, after_a, after_b = self.end, self.excess, self.stop[a], self.stop[b]
        beyond = excess[a:after_a], excess[b:after_b]
        self._before = end[a:after_a], end[b:after_b], *beyond
        self._tried = j, a, b, back
        self._shift(1)
        return self._run(a) + self._run(b) - sum(beyond[0]) - sum(beyond[1])

    def _shift(self, sign: int) -> None:
        """Move the slots of the jobs that are tried: there with 1, back again with -1."""
        j, a, b, back = self._tried
        load, slots = self.load, self.slots
        load[a] -= sign * slots[j]
        load[b] += sign * slots[j]
        for k in back:
            i = self.lane[k]
            load[i] -= sign * slots[k]
            load[i - b + a] += sign * slots[k]

    def drop(self) -> None:
        """Undo the move that was tried."""
        self._shift(-1)
        _, a, b, _ = self._tried
        self.end[a : self.stop[a]], self.end[b : self.stop[b]], *beyond = self._before
        self.excess[a : self.stop[a]], self.excess[b : self.stop[b]] = beyond

    def keep(self) -> None:
        """Accept the move that was tried."""
        j, a, b, back = self._tried
        for k, i in [(j, b), *((k, self.lane[k] - b + a) for k in back)]:
            self.own[self.lane[k]].remove(k)
            self._put(k, i)

    def _layer(self, i: int, rng: Random, found: list[int]) -> None:
        """Add a job of this lane, or else such layers of its parts."""
        own, parts = self.own[i], self.parts[i]
        if own and (not parts or rng.random() < _OWN):
            found.append(own[int(rng.random() * len(own))])
        else:
            for part in parts:
                self._layer(part, rng, found)

    def found(self) -> PlacedSchedule:
        """Return the schedule of all jobs, those of the prefix too."""
        starts, ends = dict(self.large_jobs.starts), dict(self.large_jobs.ends)
        placed = dict(self.large_jobs.placements)
        for i, own in enumerate(self.own):
            now = max(self.end[self.around[i]], self.ready[i])
            for j in own:
                starts[j], now = now + 1, now + self.slots[j]
                ends[j] = now
                placed[j] = {self.server[i]: self.table.size[j]}
        every = range(len(self.lane))
        return PlacedSchedule(
            tuple(starts[j] for j in every),
            tuple(ends[j] for j in every),
            tuple(placed[j] for j in every),
        )
