"""Branch and price over schedules of single jobs (ours).

Each node has time windows. A linear program over all schedules of each job in them bounds the
problem. Its rows are the capacities of each kind of GPU in each step, and column generation solves
it. The bound is the Lagrangian bound of its prices: the cheapest schedule of each job at these
prices, less the price of all GPUs. Prices are rounded to multiples of 2^-10, or of a larger power
of two where they are large. So every sum of them, and hence the bound, is exact. Reduced-cost
fixing removes starts and barriers that no schedule better than the incumbent can use. A node
branches on the time of a barrier, the time of a start, or the kind of GPU of a task.

Each node is recorded (`proof_log.py`), so a complete search is a proof that can be checked.

A node is settled in one of two ways: the Lagrangian bound of prices found there reaches the
incumbent, or children together contain all its schedules. The clock may interrupt the search
anywhere, by `UnsettledError`; the node then stays open.

References
----------
C. Barnhart, E. L. Johnson, G. L. Nemhauser, M. W. P. Savelsbergh, P. H. Vance, "Branch-and-price:
column generation for solving huge integer programs", Operations Research 46 (1998).
P. Wentges, "Weighted Dantzig-Wolfe decomposition for linear mixed-integer programming",
International Transactions in Operational Research 4 (1997): dual smoothing.
S. Irnich, G. Desaulniers, J. Desrosiers, A. Hadjar, "Path-reduced costs for eliminating arcs in
routing and scheduling", INFORMS Journal on Computing 22 (2010): reduced-cost fixing on paths.
M. W. P. Savelsbergh, R. N. Uma, J. Wein, "An experimental study of LP-based approximation
algorithms for scheduling problems", INFORMS Journal on Computing 17 (2005): list schedules from a
fractional solution.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from schedgap.instances.hare import HareInstance, HareSchedule, arrays
from schedgap.models.hare.algorithms.algorithm_1 import algorithm_1
from schedgap.models.hare.decode import assign_gpus, left_shifted, to_schedule, to_steps, value_of
from schedgap.models.hare.exact.job_pricing import JobPricer, ScheduleColumn, job_data
from schedgap.models.hare.exact.kernel import Floats, JobWindows
from schedgap.models.hare.exact.proof_log import BITS, ProofLog
from schedgap.models.hare.exact.schedule_master import ScheduleMaster, Support
from schedgap.models.hare.integer_time import Ints, latest_completions, steps
from schedgap.models.mechanisms.branch_and_price import (
    OUT_OF_TIME,
    Pseudocosts,
    UnsettledError,
    best_first,
    splits,
)
from schedgap.models.method import Budget
from schedgap.solvers.proofs.tree import Proof

MAX_CELLS = 40_000_000  # in the tables between barriers, all jobs together
MAX_SLOTS = 10_000_000  # kinds of GPUs x steps from 0 to the horizon
LARGEST_EXACT = 2.0**52  # smaller sums of integers and prices are exact in doubles
_ROOT_GAP, _NODE_GAP = 0.005, 0.03  # see `_solve`
_ROOT_SMOOTHING, _NODE_SMOOTHING = (0.7, 0.35, 0.175, 0.0), (0.5, 0.25, 0.125, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class _Branch:
    """Division of a node by one quantity of a job.

    Barrier or start `what` is at most `at` on one side, and later on the other. Or task `what` runs
    on kind `at` on one side, and on another kind on the other. `distance`: by how much the mean
    over the columns in use must move on either side.
    """

    job: int
    by: str  # "barrier", "start", "kind"
    what: int
    at: int
    distance: tuple[float, float] = (1.0, 1.0)

    @property
    def key(self) -> tuple[int, str, int]:
        """The quantity, as a key of pseudocosts."""
        return self.job, self.by, self.what


@dataclass(slots=True)
class _TreeNode:
    """An open node; `bound` is what `prices` prove, and rises while the node is solved."""

    bound: float
    windows: list[JobWindows]  # [n]
    prices: Floats  # [k * horizon + t]
    parent_bound: float = -math.inf
    branch: _Branch | None = None  # that created it; None for the root
    side: int = 0
    number: int = 0  # in the record


def pricing_table_size(instance: HareInstance, upper: int) -> float:
    """Return the size of the tables between barriers, over all rounds.

    `upper`: objective of the incumbent, in grid steps.
    """
    view, whole = arrays(instance), steps(instance)
    span = (latest_completions(whole, upper) - whole.arrival).astype(float)
    return float((span[view.round_job] ** 2).sum())


def refusal(instance: HareInstance, upper: int) -> str:
    """Return why a search from a given incumbent is too large, or an empty string.

    `upper`: objective of the incumbent, in grid steps.
    """
    view, whole = arrays(instance), steps(instance)
    slots = len(view.class_gpus) * int(latest_completions(whole, upper).max())
    if pricing_table_size(instance, upper) > MAX_CELLS or slots > MAX_SLOTS:
        return "too large"
    if 8.0 * float(whole.weight.sum()) * whole.horizon > LARGEST_EXACT:
        return "too large for exact sums in doubles"
    return ""


class BranchAndPrice:
    """The search; `run` may be called once.

    It is complete if `lower` meets `upper`, both in grid steps; otherwise `stopped` says why it is
    not. `proof` shows that nothing is better than `proved`, in grid steps, which is `upper` where
    the search is complete. `root` is the bound of the root.

    `budget`: its clock stops the search. `on_incumbent`, `on_bound`: called with every better
    schedule, and with every better bound in grid steps.
    """

    def __init__(
        self,
        instance: HareInstance,
        start: HareSchedule,
        *,
        budget: Budget,
        on_incumbent: Callable[[HareSchedule], None] | None = None,
        on_bound: Callable[[int], None] | None = None,
    ) -> None:
        self.instance, self.clock = instance, budget.clock
        self.view, self.whole = arrays(instance), steps(instance)
        self._on_incumbent, self._on_bound = on_incumbent, on_bound
        begin = to_steps(instance, start)
        self.schedule = to_schedule(instance, begin, start.gpu)
        self.upper = value_of(instance, begin, start.gpu)
        if reason := refusal(instance, self.upper):
            raise ValueError(reason)
        ends = latest_completions(self.whole, self.upper)
        self.horizon = int(ends.max())
        self.jobs = [job_data(instance, n, int(ends[n])) for n in range(self.view.jobs)]
        self.pricer = JobPricer(instance)
        self.lower, self.root = self.whole.critical_path_value, -math.inf
        self.nodes, self.columns, self.stopped = 0, 0, ""
        self.proof: Proof | None = None
        self.proved = -math.inf
        self._pseudocosts = Pseudocosts()
        self._log = ProofLog(len(self.view.class_gpus), self.horizon)
        self._master = ScheduleMaster(
            self.jobs, self.view.class_size, self.horizon, dear=20.0 * max(1, self.upper)
        )
        self.capacity = self._master.capacity
        self._add_schedule(begin, self.view.gpu_class[start.gpu])

    # --- prices and bounds -------------------------------------------------------------------

    def _prefix(self, prices: Floats) -> Floats:
        """Return [k, t] the price of a GPU from 0 to t."""
        kinds = len(self.view.class_gpus)
        table = np.zeros((kinds, self.horizon + 1))
        np.cumsum(prices.reshape(kinds, self.horizon), axis=1, out=table[:, 1:])
        return table

    def _rounded(self, prices: Floats) -> Floats:
        """Return prices >= 0, rounded so that sums of them and of integer costs are exact.

        Sums stay below 2^52 quanta, where a quantum is 2^-BITS, or the power of two that the
        largest sum of prices and costs requires. Prices that would leave no digits for the costs
        are capped.
        """
        prices = np.nan_to_num(np.maximum(prices, 0.0), posinf=0.0)
        costs, half = 4.0 * float(self.whole.weight.sum()) * self.horizon, LARGEST_EXACT / 2
        # four times an upper bound on every sum of prices, and of costs
        dearest = float(self._prefix(prices)[:, -1].max())
        size = costs + 4.0 * (float(self.capacity @ prices) + self.view.tasks * dearest)
        if not size < half:
            terms = 4.0 * (float(self.capacity.sum()) + self.view.tasks * self.horizon)
            prices = np.minimum(prices, (half - costs) / terms)
            size = half
        quantum = 2.0 ** max(-BITS, math.ceil(math.log2(max(1.0, size))) - 52)
        return np.asarray(np.round(prices / quantum) * quantum)

    def _price(
        self, prices: Floats, windows: list[JobWindows]
    ) -> tuple[float, list[ScheduleColumn]]:
        """Return the Lagrangian bound of prices, and the cheapest schedule of each job.

        Returns inf and no schedules if a job has none in its windows.
        """
        prefix = self._prefix(prices)
        total, cheapest = 0.0, []
        for job, own in zip(self.jobs, windows, strict=True):
            if self.clock.expired():
                raise UnsettledError(OUT_OF_TIME)
            one = self.pricer.price(job, own, prefix)
            if one is None:
                return math.inf, []
            total += one[0]
            cheapest.append(one[1])
        return total - float(self.capacity @ prices), cheapest

    def _closed(self, bound: float) -> bool:
        """Return whether no schedule of this bound is better than the incumbent."""
        return bound > self.upper - 1

    def _solve(self, node: _TreeNode) -> Floats | None:
        """Generate columns for a node, and raise its bound to what its prices prove.

        Returns the shares [j] of the master's columns, or None if the bound closes the node.

        Columns are priced at a mix of the best prices so far and the master's prices (dual
        smoothing). If none improves, the weight of the former is reduced down to 0. Column
        generation ends early once bound and master differ by little, relative to the distance of
        the bound to the incumbent: at the root, bound and fixing are worth more columns.
        """
        is_root = node.branch is None
        gap = _ROOT_GAP if is_root else _NODE_GAP
        self._master.restrict(node.windows)
        bound, _ = self._price(node.prices, node.windows)
        best, prices = max(node.bound, bound), node.prices
        while True:
            node.bound, node.prices = best, prices
            if is_root:
                self._raise_lower(best)
            if self._closed(best):
                return None
            result = self._master.solve(self.clock)
            if result.objective is None or result.duals is None:
                expired = self.clock.expired()
                raise UnsettledError(OUT_OF_TIME if expired else f"linear program {result.status}")
            shares = np.asarray(result.values)
            rows = len(self.capacity)
            master, convexity = self._rounded(-result.duals[:rows]), result.duals[rows:]
            for weight in _ROOT_SMOOTHING if is_root else _NODE_SMOOTHING:
                trial = self._rounded(weight * prices + (1 - weight) * master)
                bound, priced = self._price(trial, node.windows)
                if bound > best:
                    best, prices = bound, trial
                new = self._improving(priced, self._prefix(master), convexity) if priced else []
                if new or not priced:
                    break
            if not priced or self._closed(best):
                continue
            if not new or result.objective - best < gap * (self.upper - best):
                node.bound, node.prices = best, prices
                return shares
            self._master.add(new)

    def _improving(
        self, cheapest: list[ScheduleColumn], prefix: Floats, convexity: Floats
    ) -> list[tuple[int, ScheduleColumn]]:
        """Return the cheapest new columns that have a negative reduced cost in the master.

        The reduced cost of a schedule is w C + price of its GPU time - dual of its convexity row.
        """
        new = []
        for n, (data, item) in enumerate(zip(self.jobs, cheapest, strict=True)):
            job = data.steps
            cost = job.weight * (job.arrival + item.barrier[-1]) - convexity[n]
            for j, (k, t) in enumerate(zip(item.kind, item.start, strict=True)):
                begin = job.arrival + t
                cost += prefix[k, begin + job.train[j, k]] - prefix[k, begin]
            if cost < -1e-7 and not self._master.contains(n, item):
                new.append((n, item))
        return new

    def _reduce(self, node: _TreeNode) -> list[JobWindows]:
        """Return the windows of a node after reduced-cost fixing.

        A schedule better than the incumbent costs at most `upper - 1`. So the schedule of each job
        in it costs at most `upper - 1 - bound` more than the cheapest one at these prices. The node
        is open, so this slack is not negative.
        """
        slack = self.upper - 1 - self._price(node.prices, node.windows)[0]
        prefix = self._prefix(node.prices)
        return [
            self.pricer.reduce(job, own, prefix, slack)
            for job, own in zip(self.jobs, node.windows, strict=True)
        ]

    # --- schedules ---------------------------------------------------------------------------

    def _add_schedule(self, start: Ints, kind: Ints) -> None:
        """Add the columns of a schedule, given starts [i] and kinds [i], to the master."""
        new = []
        for n, job in enumerate(self.jobs):
            own = slice(job.first, job.first + len(job.alike))
            time, kinds = (start[own] - job.steps.arrival).tolist(), kind[own].tolist()
            for tasks in set(job.alike):  # identical tasks start in order of their numbers
                order = sorted((time[j], kinds[j]) for j in tasks)
                for j, (t, k) in zip(tasks, order, strict=True):
                    time[j], kinds[j] = t, k
            barrier = tuple(
                max(time[j] + int(job.steps.duration[j, kinds[j]]) for j in tasks)
                for tasks in job.rounds
            )
            item = ScheduleColumn(barrier, tuple(kinds), tuple(time))
            if barrier[-1] <= job.span and not self._master.contains(n, item):
                new.append((n, item))
        self._master.add(new)

    def _offer(self, start: Ints, gpu: Ints) -> None:
        """Make a schedule, given starts [i] and GPUs [i], the incumbent if it is better."""
        value = value_of(self.instance, start, gpu)
        if value < self.upper:
            self.upper, self.schedule = value, to_schedule(self.instance, start, gpu)
            if self._on_incumbent is not None:
                self._on_incumbent(self.schedule)
            self._add_schedule(start, self.view.gpu_class[gpu])

    def _round(self, support: Support) -> None:
        """Offer the list schedule in the order of the tasks' mean midpoints in the columns."""
        middle = np.zeros(self.view.tasks)
        for job, columns in zip(self.jobs, support, strict=True):
            task, whole = np.arange(len(job.alike)), job.steps
            for share, item in columns:
                times = whole.arrival + np.array(item.start) + whole.train[task, item.kind] / 2
                middle[job.first + task] += share * times
        step = float(self.whole.step)
        schedule = algorithm_1(self.instance, middle * step, gpu_rule="finish").schedule
        self._offer(to_steps(self.instance, schedule), schedule.gpu)

    def _assemble(self, chosen: list[ScheduleColumn]) -> None:
        """Offer the schedule made of one column of each job, if it respects the capacities."""
        used = sum(self._master.usage(n, item) for n, item in enumerate(chosen))
        if (used > self.capacity).any():
            return
        start = np.zeros(self.view.tasks, dtype=np.int64)
        kind = np.zeros(self.view.tasks, dtype=np.int64)
        for job, item in zip(self.jobs, chosen, strict=True):
            own = slice(job.first, job.first + len(job.alike))
            start[own], kind[own] = job.steps.arrival + np.array(item.start), item.kind
        gpu = assign_gpus(self.instance, start, kind)
        self._offer(left_shifted(self.instance, start, gpu), gpu)

    # --- branching ---------------------------------------------------------------------------

    def _choose(self, support: Support) -> _Branch | None:
        """Return the branch of the best pseudocost score, or None if each job uses one column.

        Barriers come first, then starts, then kinds.
        """
        divided = [n for n, columns in enumerate(support) if len(columns) > 1]
        for by in ("barrier", "start", "kind"):
            best, chosen = 0.0, None
            for n in divided:
                share = np.array([part for part, _ in support[n]])
                share /= share.sum()
                values = np.array([getattr(item, by) for _, item in support[n]])
                prior = max(self.jobs[n].steps.weight, 0.1)
                for what in range(values.shape[1]):
                    for at, distance in splits(share, values[:, what]):
                        branch = _Branch(n, by, what, at, distance)
                        score = self._pseudocosts.score(branch.key, distance, prior=prior)
                        if score > best:
                            best, chosen = score, branch
            if chosen is not None:
                return chosen
        return None

    def _any_branch(self, windows: list[JobWindows]) -> _Branch | None:
        """Return a branch that excludes something on both sides, or None if nothing is open.

        Starts and kinds decide on the barriers.
        """
        for n, own in enumerate(windows):
            for j, table in enumerate(own.start):
                kinds, times = map(np.unique, np.nonzero(table))
                for by, values in (("start", times), ("kind", kinds)):
                    if len(values) > 1:
                        return _Branch(n, by, j, int(values[(len(values) - 1) // 2]))
        return None

    def _children(self, windows: list[JobWindows], branch: _Branch) -> list[list[JobWindows]]:
        """Return the windows on both sides of a branch; together they contain all schedules."""
        job, old = self.jobs[branch.job], windows[branch.job]
        time = np.arange(job.span + 1)
        sides = []
        for early in (True, False):
            barrier, start = old.barrier.copy(), old.start.copy()
            side = (time <= branch.at) == early
            if branch.by == "barrier":
                barrier[branch.what] &= side
            elif branch.by == "start":
                # Identical tasks start in order of their numbers, so the branch holds for the
                # earlier ones too, or for the later ones.
                for j in job.alike[branch.what]:
                    if j <= branch.what if early else j >= branch.what:
                        start[j] &= side
            else:
                is_kind = np.arange(len(self.view.class_gpus)) == branch.at
                start[branch.what] &= (is_kind == early)[:, None]
            new = list(windows)
            new[branch.job] = JobWindows(barrier, start)
            sides.append(new)
        return sides

    # --- the search --------------------------------------------------------------------------

    def run(self) -> "BranchAndPrice":
        """Search until the bounds meet or the clock expires, and return the search itself."""
        root = _TreeNode(-math.inf, [job.root for job in self.jobs], np.zeros(len(self.capacity)))
        end = best_first(
            root,
            self._expand,
            is_closed=self._closed,
            clock=self.clock,
            on_bound=self._raise_lower,
        )
        self._raise_lower(end.bound)
        for node in end.open:
            self._log.close(node.number, node.prices)
        self.columns, self.proof = self._master.generated, self._log.written()
        self.stopped = "" if self.lower >= self.upper else end.stopped
        proved = end.bound if math.isinf(end.bound) else math.ceil(end.bound)
        self.proved = min(float(self.upper), proved)
        return self

    def _expand(self, node: _TreeNode) -> list[_TreeNode]:
        """Solve a node and return its children, none if it is settled.

        It is settled if its bound reaches `upper`, or if it contains a single schedule, which is
        offered. Raises UnsettledError with the best bound in `node.bound`.
        """
        try:
            shares = self._solve(node)
        finally:
            if node.branch is None:
                self.root = node.bound
        self._learn(node)
        support = [] if shares is None else self._master.support(shares)
        if support and all(support):
            self._round(support)
        if support and all(len(columns) == 1 for columns in support):
            self._assemble([item for [(_, item)] in support])
        if self._closed(node.bound):
            self._log.close(node.number, node.prices)
            return []
        windows = self._reduce(node)
        branch = self._choose(support) or self._any_branch(windows)
        if branch is None:
            closing = self._offer_last(node.prices, windows)
            self._log.close_reduced(node.number, node.prices, closing)
            return []
        entry = branch.by, branch.job, branch.what, branch.at
        first = self._log.split(node.number, node.prices, entry)
        return [
            _TreeNode(node.bound, child, node.prices, node.bound, branch, side, first + side)
            for side, child in enumerate(self._children(windows, branch))
        ]

    def _learn(self, node: _TreeNode) -> None:
        """Count a node, and record by how much its branch has raised the bound."""
        self.nodes += 1
        if node.branch is not None:
            gain = min(node.bound, float(self.upper)) - node.parent_bound
            distance = node.branch.distance[node.side]
            self._pseudocosts.learn(
                node.branch.key, node.side, gain=max(0.0, gain), distance=distance
            )

    def _offer_last(self, prices: Floats, windows: list[JobWindows]) -> Floats | None:
        """Offer the only schedule left in some windows; return prices that show it is no better.

        Without prices, the bound is its value. If it needs more GPUs than there are at some time, a
        high price at that time rules it out. None if some job has no schedule left.
        """
        _, chosen = self._price(prices, windows)
        if not chosen:
            return None
        self._assemble(chosen)
        closing = np.zeros(len(self.capacity))
        used = sum(self._master.usage(n, item) for n, item in enumerate(chosen))
        over = np.flatnonzero(used > self.capacity)
        closing[over[:1]] = float(self.upper)
        return closing

    def _raise_lower(self, bound: float) -> None:
        """Report a better bound on all open nodes; closed nodes contain nothing better."""
        bound = min(float(self.upper), bound)
        if bound > self.lower:
            self.lower = math.ceil(bound)
            if self._on_bound is not None:
                self._on_bound(self.lower)
