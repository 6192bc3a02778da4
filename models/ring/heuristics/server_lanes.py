"""Nested lanes of GPUs on each server, and an assignment of jobs to them for a local search (ours).

Jobs inside one server have no contention, so a schedule of them is given by the GPUs that serve
each job. The GPUs of a server are divided into lanes as wide as most jobs are, and these again: 8
GPUs, say, into two lanes of 4, each of them into two of 2, and so on. A job runs in one of the
narrowest lanes that are wide enough, before the jobs of the lanes nested in it. So the end of a
lane is the end of its parent plus the slots of the jobs in it, and a change in a lane changes
nothing outside it.

References
----------
New here. Assigning jobs to nested lanes is a restriction (a lane is idle until its parent is
through), so the schedules are feasible, but nothing is proved by them.
"""

from random import Random

from schedgap.models.ring.bounds.elementary import inside_slots
from schedgap.models.ring.heuristics.large_jobs_first import LargeJobsSchedule
from schedgap.models.ring.heuristics.serial_schedules import PlacedSchedule
from schedgap.models.ring.rates import NEVER, RateTable

_ONE_WAY = 0.3  # probability that a job is moved without an exchange
_LATE = 0.7  # probability that a late job is moved
_WHOLE = 0.7  # probability that a job of a lane is exchanged rather than jobs of its children


def lane_widths(table: RateTable) -> list[int]:
    """Return the widths of lanes, ascending: sizes of jobs each of which divides the next.

    Of all such chains of sizes, the one whose jobs have the most GPU-slots in total.
    """
    work: dict[int, int] = {}  # size -> GPU-slots
    for size, slots in zip(table.size, inside_slots(table), strict=True):
        if slots != NEVER:
            work[size] = work.get(size, 0) + size * int(slots)
    best: dict[int, tuple[int, list[int]]] = {}  # largest size of a chain -> (GPU-slots, chain)
    for size in sorted(work):
        shorter = [best[other] for other in best if size % other == 0]
        total, chain = max(shorter, default=(0, []))
        best[size] = total + work[size], [*chain, size]
    return max(best.values(), default=(0, []))[1]


class LaneAssignment:
    """Assignment of jobs to lanes, and its excess: the GPU-slots beyond a target makespan.

    Lanes are numbered in preorder: those nested in lane i are i + 1, ..., `subtree_end[i]` - 1.
    Attributes are lists for the speed of `try_move`.

    `large_jobs`: schedule of the jobs that no server can host; they run first. `target`: target
    makespan, slots.
    """

    def __init__(self, table: RateTable, large_jobs: LargeJobsSchedule, target: int) -> None:
        self.table, self.large_jobs, self.target = table, large_jobs, target
        self.slots = [0 if slots == NEVER else int(slots) for slots in inside_slots(table)]  # [j]
        self.jobs = [j for j in range(len(table.size)) if j not in large_jobs.starts]
        self.server: list[int] = []  # [i]
        self.width: list[int] = []  # [i] GPUs
        self.leaf_gpus: list[int] = []  # [i] the same, 0 for lanes with children
        self.ready: list[int] = []  # [i] slots until the last of its GPUs is free of large jobs
        self.parent: list[int] = []  # [i] enclosing lane; -1 for a whole server
        self.children: list[list[int]] = []  # [i]
        self.subtree_end: list[int] = []  # [i]
        widths = lane_widths(table)
        for s, gpus in enumerate(table.server_gpus):
            self._add_lane(s, range(gpus), widths, -1)
        lanes = len(self.width)
        self.jobs_in: list[list[int]] = [[] for _ in range(lanes)]  # [i] in order of execution
        self.load = [0] * lanes  # [i] slots of these jobs
        self.end = [0] * (lanes + 1)  # [i] slots until they are complete; [-1] is always 0
        self.excess = [0] * lanes  # [i] GPU-slots beyond the target, counted at leaves
        self.lane = [-1] * len(table.size)  # [j]
        self.late_jobs = self.jobs  # see `update_late_jobs`
        candidates = {size: self._narrowest(size) for size in {table.size[j] for j in self.jobs}}
        self.candidates = [candidates.get(size, []) for size in table.size]  # [j] lanes
        self._move: tuple[int, int, int, list[int]] = 0, 0, 0, []  # job, from, to, jobs in return
        self._saved: tuple[list[int], ...] = ()  # ends and excess in both subtrees before it
        self._assign_greedily()

    def _add_lane(self, s: int, gpus: range, widths: list[int], parent: int) -> int:
        """Number a lane and those nested in it; return its number."""
        i = len(self.width)
        self.server.append(s)
        self.width.append(len(gpus))
        self.leaf_gpus.append(0)
        self.ready.append(max(self.large_jobs.free[s][g] for g in gpus))
        self.parent.append(parent)
        self.children.append([])
        self.subtree_end.append(0)
        rest = gpus
        while width := max((w for w in widths if w <= len(rest) and w < len(gpus)), default=0):
            self.children[i].append(self._add_lane(s, rest[:width], widths, i))
            rest = rest[width:]
        if not self.children[i]:
            self.leaf_gpus[i] = len(gpus)
        self.subtree_end[i] = len(self.width)
        return i

    def _narrowest(self, size: int) -> list[int]:
        """Return, for each server, the narrowest lanes that are wide enough."""
        narrowest: dict[int, int] = {}  # server -> width
        for s, width in zip(self.server, self.width, strict=True):
            if width >= size:
                narrowest[s] = min(width, narrowest.get(s, width))
        return [i for i, s in enumerate(self.server) if self.width[i] == narrowest.get(s)]

    def _assign_greedily(self) -> None:
        """Assign the jobs, widest then longest first, where each ends last within the target.

        A job that ends within the target nowhere goes where it ends first.
        """
        size, slots, target = self.table.size, self.slots, self.target
        for j in sorted(self.jobs, key=lambda j: (-size[j], -slots[j])):
            ends = {i: max(self.end[i], self.ready[i]) + slots[j] for i in self.candidates[j]}
            i = min(ends, key=lambda i: (ends[i] > target, abs(ends[i] - target)))
            self._assign(j, i)
            self.load[i] += slots[j]
            self._update_ends(i)

    def _assign(self, j: int, i: int) -> None:
        self.jobs_in[i].append(j)
        self.lane[j] = i

    def set_target(self, target: int) -> int:
        """Change the target makespan; return the excess over it.

        `target`: slots.
        """
        self.target = target
        return sum(self._update_ends(i) for i, parent in enumerate(self.parent) if parent < 0)

    def update_late_jobs(self) -> None:
        """Collect the jobs of lanes that end after the target, and of all lanes around these."""
        late = set()
        for i, excess in enumerate(self.excess):
            while excess and i >= 0:
                late.update(self.jobs_in[i])
                i = self.parent[i]
        self.late_jobs = sorted(late) or self.jobs

    def _update_ends(self, i: int) -> int:
        """Recompute the ends in the subtree of a lane; return its excess.

        end[k] = max(end[parent], ready[k]) + load[k] if lane k has jobs, else end[parent].
        """
        parent, ready, leaf_gpus, load = self.parent, self.ready, self.leaf_gpus, self.load
        end, excess, target, total = self.end, self.excess, self.target, 0
        for k in range(i, self.subtree_end[i]):
            slot = end[parent[k]]
            if load[k]:
                if slot < ready[k]:
                    slot = ready[k]
                slot += load[k]
            end[k] = slot
            if slot > target:
                excess[k] = leaf_gpus[k] * (slot - target)
                total += excess[k]
            else:
                excess[k] = 0
        return total

    def try_move(self, rng: Random) -> int | None:
        """Move a job to another lane, possibly in exchange for jobs of the same total width.

        `rng`: source of the move.

        Returns
        -------
        int or None
            Change of the excess; `accept` or `reject` the move next. None if nothing was moved.
        """
        random = rng.random
        jobs = self.late_jobs if random() < _LATE else self.jobs
        j = jobs[int(random() * len(jobs))]
        candidates = self.candidates[j]
        a, b = self.lane[j], candidates[int(random() * len(candidates))]
        if a == b:
            return None
        returned: list[int] = []  # jobs that move from b to the corresponding lanes of a
        if random() >= _ONE_WAY and self.width[a] == self.width[b]:
            self._draw_layer(b, rng, returned)
        end, excess = self.end, self.excess
        a_end, b_end = self.subtree_end[a], self.subtree_end[b]
        excess_before = excess[a:a_end], excess[b:b_end]
        self._saved = end[a:a_end], end[b:b_end], *excess_before
        self._move = j, a, b, returned
        self._shift_loads(1)
        after = self._update_ends(a) + self._update_ends(b)
        return after - sum(excess_before[0]) - sum(excess_before[1])

    def _shift_loads(self, sign: int) -> None:
        """Apply the move to the loads of lanes, or take it back with sign -1."""
        j, a, b, returned = self._move
        load, slots = self.load, self.slots
        load[a] -= sign * slots[j]
        load[b] += sign * slots[j]
        for k in returned:
            i = self.lane[k]
            load[i] -= sign * slots[k]
            load[i - b + a] += sign * slots[k]

    def reject(self) -> None:
        """Take back the move that was tried."""
        self._shift_loads(-1)
        _, a, b, _ = self._move
        a_end, b_end = self.subtree_end[a], self.subtree_end[b]
        self.end[a:a_end], self.end[b:b_end], *excess = self._saved
        self.excess[a:a_end], self.excess[b:b_end] = excess

    def accept(self) -> None:
        """Keep the move that was tried."""
        j, a, b, returned = self._move
        for k, i in [(j, b), *((k, self.lane[k] - b + a) for k in returned)]:
            self.jobs_in[self.lane[k]].remove(k)
            self._assign(k, i)

    def _draw_layer(self, i: int, rng: Random, layer: list[int]) -> None:
        """Add to `layer` one job of a lane, or else a layer of each of its children."""
        jobs, children = self.jobs_in[i], self.children[i]
        if jobs and (not children or rng.random() < _WHOLE):
            layer.append(jobs[int(rng.random() * len(jobs))])
        else:
            for child in children:
                self._draw_layer(child, rng, layer)

    def schedule(self) -> PlacedSchedule:
        """Return the schedule of all jobs, the large ones included."""
        starts, ends = dict(self.large_jobs.starts), dict(self.large_jobs.ends)
        placements = dict(self.large_jobs.placements)
        for i, jobs in enumerate(self.jobs_in):
            slot = max(self.end[self.parent[i]], self.ready[i])
            for j in jobs:
                starts[j], slot = slot + 1, slot + self.slots[j]
                ends[j] = slot
                placements[j] = {self.server[i]: self.table.size[j]}
        J = range(len(self.lane))
        return PlacedSchedule(
            tuple(starts[j] for j in J),
            tuple(ends[j] for j in J),
            tuple(placements[j] for j in J),
        )
