"""Branch and price (ours): a tree of restricted windows, bounded by schedules of single jobs.

Every node solves the linear program over all schedules of each job, joined by the capacity of the
kinds of GPUs in each step, by column generation. Its bound is that of the prices: the cheapest
schedule of each job under them, less what the prices ask for all GPUs. Prices are rounded to
multiples of a power of two, so that every sum of them is exact, and so is the bound. Against the
best schedule known it removes starts and barriers from the windows; a node branches on the time of
a barrier, of a start, or on a kind.

A node is settled only by a bound of its own prices that reaches the best schedule, or by children
that together hold all of it. The clock stops the search with `_UnsettledError`, wherever it is; the
node in work then stays open.
"""

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from schedgap.instances.hare import HareInstance, HareSchedule, arrays
from schedgap.models.hare.algorithms.algorithm_1 import algorithm_1
from schedgap.models.hare.decode import assign_gpus, left_shifted, to_schedule, to_steps, value_of
from schedgap.models.hare.exact.job_pricing import (
    Floats,
    JobData,
    JobPricer,
    JobWindows,
    PricedJob,
    ScheduleColumn,
    job_data,
)
from schedgap.models.hare.exact.job_pricing import column as cheapest_column
from schedgap.models.hare.integer_time import Ints, latest_completions, steps
from schedgap.solvers import Clock
from schedgap.solvers.engines.highs import Relaxation
from schedgap.solvers.programs.arrays import LinearProgram

MOST_CELLS = 40_000_000  # of the tables from barrier to barrier, all jobs together
MOST_COLUMNS = 3000  # of the linear program, before those out of use are dropped
MOST_SLOTS = 10_000_000  # classes of GPUs times steps from 0 to the horizon
LARGEST_EXACT = 2.0**52  # sums of whole numbers and prices below it are exact in doubles
OUT_OF_TIME = "time is up"
ZERO = 1e-6  # of a column's share


class _OpenNodeError(Exception):
    """The node in work is not settled: time is up, or its linear program has no answer."""


@dataclass(frozen=True, slots=True, eq=False)
class BranchAndPriceResult:
    """`lower` and `upper` in grid steps; the search is complete when they meet.

    `stopped` says why it is not complete; empty otherwise.
    """

    schedule: HareSchedule
    upper: int
    lower: int
    root: float  # bound of the root, in grid steps
    nodes: int
    columns: int
    stopped: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class _Branch:
    """Split a job: barrier or start `what` up to `at` or later; or `what` on kind `at` or not.

    `distance`: by how much the mean of the columns in use must move on either side.
    """

    job: int
    by: str  # "barrier", "start", "kind"
    what: int
    at: int
    distance: tuple[float, float] = (1.0, 1.0)


@dataclass(order=True, slots=True)
class _TreeNode:
    bound: float
    number: int
    windows: list[JobWindows] = field(compare=False)
    prices: Floats = field(compare=False)  # [k * horizon + t]
    parent: float = field(default=-math.inf, compare=False)  # its parent's bound
    branch: _Branch | None = field(default=None, compare=False)
    side: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True, eq=False)
class _NodeRelaxation:
    """A node after column generation, whose bound is that of the prices.

    `shares` [j] by column of the program are for the search; None when the bound closes the node.
    """

    bound: float
    prices: Floats
    shares: Floats | None


def cells(instance: HareInstance, upper: int) -> float:
    """Return the size of the tables of the pricing, over all rounds."""
    view, whole = arrays(instance), steps(instance)
    span = (latest_completions(whole, upper) - whole.arrival).astype(float)
    return float((span[view.round_job] ** 2).sum())


def refusal(instance: HareInstance, upper: int) -> str:
    """Return why a search from a schedule of this value would not fit, or nothing."""
    view, whole = arrays(instance), steps(instance)
    slots = len(view.class_gpus) * int(latest_completions(whole, upper).max())
    if cells(instance, upper) > MOST_CELLS or slots > MOST_SLOTS:
        return "too large"
    if 8.0 * float(whole.weight.sum()) * whole.horizon > LARGEST_EXACT:
        return "too large for exact sums in doubles"
    return ""


class BranchAndPrice:
    """The search. `run` may be called once.

    Parameters
    ----------
    rounding : bool
        Look for better schedules at every node, beside those of whole solutions.
    """

    def __init__(
        self,
        instance: HareInstance,
        start: HareSchedule,
        *,
        clock: Clock,
        seed: int = 0,
        rounding: bool = True,
        on_incumbent: Callable[[HareSchedule], None] | None = None,
        on_bound: Callable[[int], None] | None = None,
    ) -> None:
        self.instance, self.clock, self.rounding = instance, clock, rounding
        self.view, self.whole = arrays(instance), steps(instance)
        self._on_incumbent, self._on_bound = on_incumbent, on_bound
        self._random = np.random.default_rng(seed)
        begin = to_steps(instance, start)
        self.schedule = to_schedule(instance, begin, start.gpu)
        self.upper = value_of(instance, begin, start.gpu)
        if reason := refusal(instance, self.upper):
            raise ValueError(reason)
        ends = latest_completions(self.whole, self.upper)
        self.horizon = int(ends.max())
        self.jobs = [job_data(instance, n, int(ends[n])) for n in range(self.view.jobs)]
        self.pricer = JobPricer(max(job.span for job in self.jobs))
        self.lower, self.root, self.nodes, self.made = (
            self.whole.critical_path_value,
            -math.inf,
            0,
            0,
        )
        self.capacity = np.repeat(self.view.class_size, self.horizon).astype(float)
        self._pseudocosts = _Pseudocosts()
        self._pool: list[_ColumnPool] = [_ColumnPool(job) for job in self.jobs]
        self._open_program()
        self._add_schedule(begin, self.view.gpu_class[start.gpu])

    # --- the linear program over columns -----------------------------------------------------

    def _open_program(self) -> None:
        """Start with one dear column for each job, so that there always is a solution."""
        count, rows = len(self.jobs), len(self.capacity)
        self._upper_of = [math.inf] * count
        matrix = sparse.coo_array(
            (np.ones(count), (rows + np.arange(count), np.arange(count))), (rows + count, count)
        )
        self._program = Relaxation(
            LinearProgram(
                np.full(count, 20.0 * max(1, self.upper)),
                np.zeros(count),
                np.full(count, np.inf),
                matrix,
                np.append(np.full(rows, -np.inf), np.ones(count)),
                np.append(self.capacity, np.ones(count)),
            ),
            options={"presolve": "off", "dual_simplex_cost_perturbation_multiplier": 0.0},
        )

    def _add(self, new: list[tuple[int, ScheduleColumn]]) -> None:
        """Put columns into the program."""
        rows, entries, starts, cost = [], [], [0], []
        for n, item in new:
            usage = self._usage(n, item)
            used = np.flatnonzero(usage)
            rows.append(np.append(used, len(self.capacity) + n))
            entries.append(np.append(usage[used], 1.0))
            starts.append(starts[-1] + len(used) + 1)
            cost.append(float(self.jobs[n].weight * (self.jobs[n].arrival + item.barrier[-1])))
            self._pool[n].put(item, len(self._upper_of), self.nodes)
            self._upper_of.append(math.inf)
        if new:
            shape = len(self.capacity) + len(self.jobs), len(new)
            matrix = sparse.csc_array(
                (np.concatenate(entries), np.concatenate(rows), np.array(starts)), shape
            )
            many = len(new)
            self._program.add_columns(cost, np.zeros(many), np.full(many, np.inf), matrix)
            self.made += many

    def _usage(self, n: int, item: ScheduleColumn) -> Floats:
        """[k * horizon + t] GPUs that a column occupies."""
        job = self.jobs[n]
        change = np.zeros((len(self.view.class_gpus), self.horizon + 1))
        for j, (k, t) in enumerate(zip(item.kind, item.start, strict=True)):
            change[k, job.arrival + t] += 1
            change[k, job.arrival + t + job.train[j, k]] -= 1
        return np.cumsum(change, axis=1)[:, :-1].ravel()

    def _show(self, windows: list[JobWindows]) -> None:
        """Close the columns that a node does not allow, and open the others."""
        changed, upper = [], []
        for n, pool in enumerate(self._pool):
            for number, allowed in zip(pool.numbers, pool.allowed(windows[n]), strict=True):
                most = math.inf if allowed else 0.0
                if self._upper_of[number] != most:
                    self._upper_of[number] = most
                    changed.append(number)
                    upper.append(most)
        if changed:
            self._program.change_bounds(changed, np.zeros(len(changed)), upper)

    def _forget(self) -> None:
        """Open the program anew with the columns that were used lately."""
        recent = self.nodes - 200
        kept = [(n, item) for n, pool in enumerate(self._pool) for item in pool.used_since(recent)]
        made = self.made
        self._pool = [_ColumnPool(job) for job in self.jobs]
        self._open_program()
        self._add(kept)
        self.made = made

    # --- prices and bounds -------------------------------------------------------------------

    def _prefix(self, prices: Floats) -> Floats:
        """[k, t] price of a GPU from 0 to t."""
        kinds = len(self.view.class_gpus)
        table = np.zeros((kinds, self.horizon + 1))
        np.cumsum(prices.reshape(kinds, self.horizon), axis=1, out=table[:, 1:])
        return table

    def _rounded(self, prices: Floats) -> Floats:
        """Return prices >= 0, rounded so that sums of them and of whole costs are exact.

        Prices so large that they would take all digits are cut.
        """
        prices = np.nan_to_num(np.maximum(prices, 0.0), posinf=0.0)
        costs, half = 4.0 * float(self.whole.weight.sum()) * self.horizon, LARGEST_EXACT / 2
        size = costs + self._paid(prices)
        if not size < half:
            most = 4.0 * (float(self.capacity.sum()) + self.view.tasks * self.horizon)
            prices = np.minimum(prices, (half - costs) / most)
            size = half
        quantum = 2.0 ** (math.ceil(math.log2(max(1.0, size))) - 52)
        return np.asarray(np.round(prices / quantum) * quantum)

    def _paid(self, prices: Floats) -> float:
        """Return four times the most that any sum of prices comes to."""
        most = self._prefix(prices)[:, -1].max()
        return 4.0 * (float(self.capacity @ prices) + self.view.tasks * float(most))

    def _price(self, prices: Floats, windows: list[JobWindows]) -> tuple[float, list[PricedJob]]:
        """Return the bound of prices, and each job's cheapest schedules.

        inf and no schedules: some job has none in its window.
        """
        prefix = self._prefix(prices)
        priced = []
        for job, allowed in zip(self.jobs, windows, strict=True):
            if self.clock.expired():
                raise _OpenNodeError(OUT_OF_TIME)
            found = self.pricer.price(job, allowed, prefix)
            if found is None:
                return math.inf, []
            priced.append(found)
        return sum(found.cost for found in priced) - float(self.capacity @ prices), priced

    def _closed(self, bound: float) -> bool:
        return bound > self.upper - 1

    def _solve(self, node: _TreeNode, near: float) -> _NodeRelaxation:
        """Generate columns for a node, and raise its bound.

        `near`: with the bound so near to the program's value, as a part of the gap, branching is
        worth more than further columns; 0: until no column improves.
        """
        self._show(node.windows)
        bound, _ = self._price(node.prices, node.windows)
        best, prices = max(node.bound, bound), node.prices
        smoothing = 0.7 if node.number == 0 else 0.5
        while True:
            node.bound = best
            if node.number == 0:
                self._raise_lower(best)
            if self._closed(best):
                return _NodeRelaxation(best, prices, None)
            result = self._program.solve(self.clock)
            if result.objective is None or result.duals is None:
                up = self.clock.expired()
                raise _OpenNodeError(OUT_OF_TIME if up else f"linear program {result.status}")
            shares = np.asarray(result.values)
            rows = len(self.capacity)
            master, worth = self._rounded(-result.duals[:rows]), result.duals[rows:]
            tried = smoothing
            while True:
                trial = self._rounded(tried * prices + (1 - tried) * master)
                bound, priced = self._price(trial, node.windows)
                if bound > best:
                    best, prices = bound, trial
                if not priced:
                    break
                new = self._improving(priced, self._prefix(master), worth)
                if new or tried == 0:
                    break
                tried = 0.0 if tried < 0.2 else tried / 2
            if not priced or self._closed(best):
                continue
            if not new or result.objective - best < near * (self.upper - best):
                node.bound = best
                return _NodeRelaxation(best, prices, shares)
            self._add(new)

    def _improving(
        self, priced: list[PricedJob], prefix: Floats, worth: Floats
    ) -> list[tuple[int, ScheduleColumn]]:
        """Return new columns with a negative reduced cost under the program's own prices."""
        new = []
        for n, (job, found) in enumerate(zip(self.jobs, priced, strict=True)):
            for e in np.argsort(found.by_end)[:1]:
                if not np.isfinite(found.by_end[e]):
                    break
                item = cheapest_column(job, found, int(e))
                cost = job.weight * (job.arrival + item.barrier[-1]) - worth[n]
                for j, (k, t) in enumerate(zip(item.kind, item.start, strict=True)):
                    begin = job.arrival + t
                    cost += prefix[k, begin + job.train[j, k]] - prefix[k, begin]
                if cost < -1e-7 and item not in self._pool[n].known:
                    new.append((n, item))
        return new

    def _reduce(self, solved: _NodeRelaxation, windows: list[JobWindows]) -> list[JobWindows]:
        """Return windows without what no schedule better than the best known can use.

        The node is open: its bound, that of these prices, is not above `upper - 1`.
        """
        bound, priced = self._price(solved.prices, windows)
        slack = self.upper - 1 - bound
        return [
            self.pricer.reduce(job, found, allowed, slack)
            for job, found, allowed in zip(self.jobs, priced, windows, strict=True)
        ]

    # --- schedules ---------------------------------------------------------------------------

    def _add_schedule(self, start: Ints, kind: Ints) -> None:
        """Put the columns of a schedule into the program."""
        new = []
        for n, job in enumerate(self.jobs):
            own = slice(job.first, job.first + len(job.train))
            time, kinds = (start[own] - job.arrival).tolist(), kind[own].tolist()
            for tasks in set(job.alike):
                order = sorted((time[j], kinds[j]) for j in tasks)
                for j, (t, k) in zip(tasks, order, strict=True):
                    time[j], kinds[j] = t, k
            barrier = tuple(
                max(time[j] + int(job.duration[j, kinds[j]]) for j in tasks) for tasks in job.rounds
            )
            item = ScheduleColumn(barrier, tuple(kinds), tuple(time))
            if barrier[-1] <= job.span and item not in self._pool[n].known:
                new.append((n, item))
        self._add(new)

    def _improve(self, start: Ints, gpu: Ints) -> None:
        """Keep a schedule when it is the best so far."""
        value = value_of(self.instance, start, gpu)
        if value < self.upper:
            self.upper, self.schedule = value, to_schedule(self.instance, start, gpu)
            if self._on_incumbent is not None:
                self._on_incumbent(self.schedule)
            self._add_schedule(start, self.view.gpu_class[gpu])

    def _round(self, support: list[list[tuple[float, ScheduleColumn]]]) -> None:
        """Try list schedules in the order of the shares' starts: their mean, and a few drawn."""
        middle = np.zeros((6, self.view.tasks))
        for job, columns in zip(self.jobs, support, strict=True):
            own = slice(job.first, job.first + len(job.train))
            share = np.array([part for part, _ in columns])
            task = np.arange(len(job.train))
            times = np.array(
                [job.arrival + np.array(c.start) + job.train[task, c.kind] / 2 for _, c in columns]
            )
            middle[0, own] = share @ times / share.sum()
            drawn = self._random.choice(len(share), size=5, p=share / share.sum())
            middle[1:, own] = times[drawn]
        for row in middle:
            if self.clock.expired():
                raise _OpenNodeError(OUT_OF_TIME)
            found = algorithm_1(
                self.instance, row * float(self.whole.step), gpu_rule="finish"
            ).schedule
            self._improve(to_steps(self.instance, found), found.gpu)

    def _assemble(self, chosen: list[ScheduleColumn]) -> None:
        """Keep the schedule of one column for each job, if there are GPUs enough for it."""
        used = sum(self._usage(n, item) for n, item in enumerate(chosen))
        if (used > self.capacity).any():
            return
        start = np.zeros(self.view.tasks, dtype=np.int64)
        kind = np.zeros(self.view.tasks, dtype=np.int64)
        for job, item in zip(self.jobs, chosen, strict=True):
            own = slice(job.first, job.first + len(job.train))
            start[own], kind[own] = job.arrival + np.array(item.start), item.kind
        gpu = assign_gpus(self.instance, start, kind)
        self._improve(left_shifted(self.instance, start, gpu), gpu)

    # --- branching ---------------------------------------------------------------------------

    def _support(self, shares: Floats) -> list[list[tuple[float, ScheduleColumn]]]:
        found = []
        for pool in self._pool:
            own = shares[pool.numbers]
            places = np.flatnonzero(own > ZERO)
            pool.touch(places, self.nodes)
            found.append([(float(own[p]), pool.items[p]) for p in places])
        return found

    def _choose(self, support: list[list[tuple[float, ScheduleColumn]]]) -> _Branch | None:
        """Return the branch that promises most, or None when no column is split."""
        split = [n for n, columns in enumerate(support) if len(columns) > 1]
        for by in ("barrier", "start"):
            best, chosen = 0.0, None
            for n in split:
                share = np.array([part for part, _ in support[n]])
                share /= share.sum()
                times = np.array([getattr(item, by) for _, item in support[n]])
                for what in range(times.shape[1]):
                    for branch in _splits(n, by, what, share, times[:, what]):
                        score = self._pseudocosts.score(branch, self.jobs[n].weight)
                        if score > best:
                            best, chosen = score, branch
            if chosen is not None:
                return chosen
        for n in split:
            for j in range(len(self.jobs[n].train)):
                kinds = {item.kind[j] for _, item in support[n]}
                if len(kinds) > 1:
                    return _Branch(n, "kind", j, min(kinds))
        return None

    def _any_branch(self, windows: list[JobWindows]) -> _Branch | None:
        """Return a branch that leaves something out on both sides, or None when nothing is open."""
        for n, allowed in enumerate(windows):
            for r, mask in enumerate(allowed.barrier):
                times = np.flatnonzero(mask == 0)
                if len(times) > 1:
                    return _Branch(n, "barrier", r, int(times[(len(times) - 1) // 2]))
            for j, table in enumerate(allowed.start):
                times = np.flatnonzero((table == 0).any(axis=0))
                if len(times) > 1:
                    return _Branch(n, "start", j, int(times[(len(times) - 1) // 2]))
                kinds = np.flatnonzero((table == 0).any(axis=1))
                if len(kinds) > 1:
                    return _Branch(n, "kind", j, int(kinds[0]))
        return None

    def _children(self, windows: list[JobWindows], branch: _Branch) -> list[list[JobWindows]]:
        """Return the windows of both sides."""
        job, old = self.jobs[branch.job], windows[branch.job]
        time = np.arange(job.span + 1)
        sides = []
        for early in (True, False):
            barrier, start = list(old.barrier), list(old.start)
            side = np.where((time <= branch.at) == early, 0.0, np.inf)
            if branch.by == "barrier":
                barrier[branch.what] = barrier[branch.what] + side
            elif branch.by == "start":
                # Alike tasks start in the order of their numbers.
                tasks = [
                    j for j in job.alike[branch.what]
                    if (j <= branch.what if early else j >= branch.what)
                ]  # fmt: skip
                masks = {id(start[j]): start[j] + side for j in tasks}
                for j in tasks:
                    start[j] = masks[id(start[j])]
            else:
                own = np.arange(len(self.view.class_gpus)) == branch.at
                closed = np.where(own == early, 0.0, np.inf)
                start[branch.what] = start[branch.what] + closed[:, None]
            new = list(windows)
            new[branch.job] = JobWindows(tuple(barrier), tuple(start))
            sides.append(new)
        return sides

    # --- the search --------------------------------------------------------------------------

    def run(self) -> BranchAndPriceResult:
        """Search until the bounds meet or the clock is up."""
        root = _TreeNode(
            -math.inf, 0, [job.root for job in self.jobs], np.zeros(len(self.capacity))
        )
        heap, number, stopped = [root], 1, ""
        while heap:
            node = heapq.heappop(heap)
            self._raise_lower(node.bound)
            if self._closed(node.bound):
                heap = []  # the others' bounds are no lower
                break
            try:
                if self.clock.expired():
                    raise _OpenNodeError(OUT_OF_TIME)
                branch, windows, prices = self._work_on(node)
            except _OpenNodeError as reason:
                heapq.heappush(heap, node)
                stopped = str(reason)
                break
            if branch is None:
                continue
            for side, child in enumerate(self._children(windows, branch)):
                heapq.heappush(
                    heap, _TreeNode(node.bound, number, child, prices, node.bound, branch, side)
                )
                number += 1
        self._raise_lower(min([math.inf, *(node.bound for node in heap)]))
        if self.lower >= self.upper:
            stopped = ""
        return BranchAndPriceResult(
            self.schedule, self.upper, self.lower, self.root, self.nodes, self.made, stopped
        )

    def _work_on(self, node: _TreeNode) -> tuple[_Branch | None, list[JobWindows], Floats]:
        """Solve a node; return how to split it, its reduced windows, and prices to go on with.

        No branch: it is settled, since its bound reaches `upper`, or since it holds one schedule
        only, which is kept. Raises `_UnsettledError` with its best bound in `node.bound`.
        """
        if len(self._upper_of) > MOST_COLUMNS:
            self._forget()
        # Near enough, branching gains more; at the root the bound and its reductions count.
        near = 0.005 if node.number == 0 else 0.1
        learned = False
        while True:
            try:
                solved = self._solve(node, near)
            finally:
                if node.number == 0:
                    self.root = node.bound
            if not learned:
                learned = True
                self.nodes += 1
                if node.branch is not None:
                    gain = min(solved.bound, float(self.upper)) - node.parent
                    self._pseudocosts.learn(node.branch, node.side, max(0.0, gain))
            if solved.shares is None:
                return None, [], solved.prices
            support = self._support(solved.shares)
            if all(support) and self.rounding:
                self._round(support)
            if all(len(columns) == 1 for columns in support):
                self._assemble([item for [(_, item)] in support])
            if self._closed(node.bound):
                return None, [], solved.prices
            branch = self._choose(support)
            if branch is not None or near == 0:
                break
            near = 0.0  # one column of each job, but cheaper ones may still be missing
        windows = self._reduce(solved, node.windows)
        if branch is None:
            branch = self._any_branch(windows)
        if branch is None:
            _, priced = self._price(solved.prices, windows)
            if priced:
                pairs = zip(self.jobs, priced, strict=True)
                self._assemble([cheapest_column(job, found) for job, found in pairs])
        return branch, windows, solved.prices

    def _raise_lower(self, bound: float) -> None:
        """Take a bound on all that is open, if it is better; closed nodes hold nothing better."""
        bound = min(float(self.upper), bound)
        if bound > self.lower:
            self.lower = math.ceil(bound)
            if self._on_bound is not None:
                self._on_bound(self.lower)


class _ColumnPool:
    """The columns of one job that are in the program."""

    def __init__(self, job: JobData) -> None:
        self.items: list[ScheduleColumn] = []
        self.numbers: list[int] = []  # column of the program
        self.used: list[int] = []  # node in which it last had a share
        self.known: set[ScheduleColumn] = set()
        self._job = job
        self._stacked: tuple[Ints, Ints, Ints] | None = None

    def put(self, item: ScheduleColumn, number: int, node: int) -> None:
        """Take a column in."""
        self.items.append(item)
        self.numbers.append(number)
        self.used.append(node)
        self.known.add(item)
        self._stacked = None

    def touch(self, places: Ints, node: int) -> None:
        """Note that columns are in use."""
        for place in places:
            self.used[place] = node

    def used_since(self, node: int) -> list[ScheduleColumn]:
        """Return the columns that were in use in or after a node."""
        return [item for item, last in zip(self.items, self.used, strict=True) if last >= node]

    def allowed(self, windows: JobWindows) -> list[bool]:
        """Return for each column whether it lies in the windows."""
        if not self.items:
            return []
        if self._stacked is None:
            parts = [(item.barrier, item.kind, item.start) for item in self.items]
            self._stacked = tuple(np.array(part) for part in zip(*parts, strict=True))  # type: ignore[assignment]  # three of them
        assert self._stacked is not None
        barrier, kind, start = self._stacked
        total = np.zeros(len(self.items))
        for r, mask in enumerate(windows.barrier):
            total += mask[barrier[:, r]]
        for j, mask in enumerate(windows.start):
            total += mask[kind[:, j], start[:, j]]
        return list((total == 0).tolist())


class _Pseudocosts:
    """What branches have gained so far, by unit of distance: it predicts what others will."""

    def __init__(self) -> None:
        self._sum: dict[tuple[int, str, int, int], tuple[float, int]] = {}

    def learn(self, branch: _Branch, side: int, gain: float) -> None:
        """Note by how much the bound rose on a side of a branch."""
        key = branch.job, branch.by, branch.what, side
        total, count = self._sum.get(key, (0.0, 0))
        self._sum[key] = total + gain / max(branch.distance[side], 0.01), count + 1

    def score(self, branch: _Branch, weight: int) -> float:
        """Return the product of the gains to expect; a job's weight stands in for experience."""
        score = 1.0
        for side in (0, 1):
            key = branch.job, branch.by, branch.what, side
            total, count = self._sum.get(key, (0.0, 0))
            score *= (total + max(weight, 0.1)) / (count + 1) * branch.distance[side] + 1e-6
        return score


def _splits(n: int, by: str, what: int, share: Floats, times: Ints) -> list[_Branch]:
    """Return a branch for each time that divides the columns in use."""
    found = []
    for at in np.unique(times)[:-1].tolist():
        late = float(share @ np.maximum(times - at, 0))
        early = float(share @ np.maximum(at + 1 - times, 0))
        found.append(_Branch(n, by, what, at, (late, early)))
    return found
