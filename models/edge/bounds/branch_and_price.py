"""Branch and price for the jobs of one worker type, on merged servers as in `worker_types`.

The search is best first: it branches on the leaf with the least bound, which is the bound of the
whole tree. The bound of a leaf is the Lagrangian bound of its prices over the columns in its boxes.
Column generation finds the prices. One master serves all nodes: columns outside of the boxes have
the upper bound 0. Violated cuts become rows of the master. Blocks of slots are long where prices
change little. Where a solution needs no branch, blocks are split at its starts and ends.

References
----------
C. Barnhart, E. L. Johnson, G. L. Nemhauser, M. W. P. Savelsbergh, P. H. Vance, "Branch-and-price:
column generation for solving huge integer programs", Operations Research 46 (1998).
P. Wentges, "Weighted Dantzig-Wolfe decomposition for linear mixed-integer programming",
International Transactions in Operational Research 4 (1997): smoothing.
"""

import heapq
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from schedgap.instances.edge.compiled import Floats, Ints
from schedgap.models.edge.bounds.type_pricing import (
    ATTRIBUTES,
    CAPACITY,
    CLOUD,
    DURATION,
    EDGE,
    FLOW,
    NO_COLUMNS,
    START,
    TASK,
    Bools,
    TypeRelaxation,
)
from schedgap.models.edge.bounds.type_tree import MAX_NODES, Branch, Node, halves
from schedgap.models.edge.bounds.worker_types import TypeBound
from schedgap.models.edge.decisions import CompiledInstance
from schedgap.models.edge.programs.dual import rounded
from schedgap.models.method import Budget
from schedgap.solvers import Clock
from schedgap.solvers.engines.highs import Relaxation
from schedgap.solvers.programs.arrays import LinearProgram
from schedgap.solvers.programs.sparse import sparse

BLOCKS = 64  # largest number of blocks at first
JOINS = 8  # a round of joins removes this part of the blocks that are too many
GAP, CLOSED = 1.0, 0.01  # slots between master and bound: to branch; to need no branch
SMOOTHING = 0.5  # weight of the best prices in the pricing
VIOLATED = 0.02, 0.3  # relative: a cut that the master violates by more gets a row; root, others
MANY, KEPT = 1_200, 400  # a master of more than MANY columns keeps only KEPT
SLICE = 0.05  # fraction of the time for which one tree grows
IMPROVING = 1e-4  # least reduction of the cost by a new column; the rounding of prices is less
TINY = 1e-6


class MasterSolution(NamedTuple):
    """An optimum of the master: shares [task] of artificial columns, and [column] of the others."""

    objective: float
    artificial: Floats
    share: Floats
    worth: Floats  # [task] duals
    prices: Floats  # [row, block] of a unit in a slot


class Master:
    """The master of all nodes: a row for each job, and rows of capacities and of cuts.

    An artificial column of each job ends late; where that is impossible, it costs `most`.
    `present` [row, block]: whether the master has a row.
    """

    def __init__(self, types: TypeRelaxation, present: Bools, most: float, budget: Budget) -> None:
        self.types, self._most, self._budget = types, most, budget
        self._row, self._block = np.nonzero(present)
        self._worth, self._prices = np.zeros(len(types.tasks)), np.zeros(present.shape)
        self.columns = NO_COLUMNS

    def load(self, columns: Ints) -> None:
        """Start a new master; of too many columns, the ones of least reduced cost stay."""
        if len(columns) > MANY:
            columns = columns[np.argsort(self.reduced(columns), kind="stable")[:KEPT]]
        jobs, rows = len(self.types.tasks), len(self._row)
        free = np.full(jobs, np.inf)
        program = LinearProgram(
            cost=np.full(jobs, self._most),
            lower=np.zeros(jobs),
            upper=free,
            matrix=sparse.csr_array(np.eye(jobs + rows, jobs)),
            row_lower=np.append(np.ones(jobs), np.full(rows, -np.inf)),
            row_upper=np.append(np.ones(jobs), self.types.capacity[self._row]),
        )
        self._lp = Relaxation(
            program,
            threads=self._budget.threads,
            seed=self._budget.seed,
            # New columns leave the basis primal feasible.
            options={"presolve": "off", "simplex_strategy": 4},
        )
        self.columns = NO_COLUMNS
        self.add(columns)

    def _used(self, columns: Ints, row: Ints, block: Ints) -> Floats:
        """Return the entries [row, column] of columns: units, on the average of a block."""
        counted = self.types.counted(columns[:, EDGE], columns[:, CLOUD])
        share = self.types.overlap(columns) / self.types.lengths
        return np.asarray(counted[row] * share.T[block])

    def add(self, columns: Ints) -> None:
        """Add columns."""
        size = len(columns)
        own = columns[:, TASK] == np.arange(len(self.types.tasks))[:, None]
        matrix = np.concatenate([own, self._used(columns, self._row, self._block)])
        free = np.full(size, np.inf)
        self._lp.add_columns(columns[:, FLOW], np.zeros(size), free, sparse.csc_array(matrix))
        self.columns = np.concatenate([self.columns, columns])

    def enter(self, box: Ints) -> None:
        """Forbid the columns outside of a box."""
        if len(self.columns) > MANY:
            self.load(self.columns)
        jobs, size = len(self.types.tasks), len(self.columns)
        self._lp.change_costs(np.arange(jobs), np.minimum(self.types.late(box), self._most))
        upper = np.where(self.types.inside(self.columns, box), np.inf, 0.0)
        self._lp.change_bounds(jobs + np.arange(size), np.zeros(size), upper)

    def solve(self, clock: Clock) -> MasterSolution | None:
        """Solve the master; None if it was stopped."""
        found, jobs = self._lp.solve(clock), len(self.types.tasks)
        if found.duals is None or found.values is None or found.objective is None:
            return None
        prices = np.zeros(self._prices.shape)
        of_units = -found.duals[jobs:] / self.types.lengths[self._block]
        prices[self._row, self._block] = of_units
        self._worth, self._prices = found.duals[:jobs], rounded(prices)
        artificial, share = found.values[:jobs], found.values[jobs:]
        return MasterSolution(found.objective, artificial, share, self._worth, self._prices)

    def reduced(self, columns: Ints) -> Floats:
        """Return the reduced costs of columns in the last solution."""
        cost = self.types.cost(columns, self.types.prefix_sums(self._prices))
        return np.asarray(cost - self._worth[columns[:, TASK]])

    def separate(self, share: Floats, violated: float) -> bool:
        """Add the rows that a solution violates by a fraction; return whether there are some."""
        support = np.flatnonzero(share > TINY)
        used = self.columns[support]
        counted = self.types.counted(used[:, EDGE], used[:, CLOUD]) * share[support]
        usage = counted @ (self.types.overlap(used) / self.types.lengths)
        cuts = usage > (1 + violated) * self.types.capacity[:, None]
        cuts[self._row, self._block] = False
        row, block = np.nonzero(cuts)
        if not len(row):
            return False
        entries = np.zeros((len(row), len(self.types.tasks)))
        entries = np.concatenate([entries, self._used(self.columns, row, block)], axis=1)
        upper = self.types.capacity[row]
        self._lp.add_rows(np.full(len(row), -np.inf), upper, sparse.csr_array(entries))
        self._row, self._block = np.append(self._row, row), np.append(self._block, block)
        return True

    def split(self, types: TypeRelaxation, parent: Ints) -> "Master":
        """Return the master for shorter blocks; `parent` [block]: the block that contains it."""
        present = np.zeros(self._prices.shape, np.bool_)
        present[self._row, self._block] = True
        master = Master(types, present[:, parent], self._most, self._budget)
        master.load(self.columns)
        return master


def joined(types: TypeRelaxation, prices: Floats) -> tuple[Ints, Floats]:
    """Join blocks of similar prices until few are left; return their ends and mean prices."""
    sums, ends = types.prefix_sums(prices), types.ends
    while True:
        lengths = np.diff(ends, prepend=0)
        mean = np.diff(sums[:, ends], axis=1, prepend=0.0) / lengths
        many = len(ends) - BLOCKS
        if many <= 0:
            return ends, rounded(mean)
        apart = types.capacity @ np.abs(np.diff(mean, axis=1))
        loss = apart / (1 / lengths[:-1] + 1 / lengths[1:])
        ends = np.delete(ends, np.argsort(loss, kind="stable")[: -(-many // JOINS)])


class TypeTree:
    """A tree for the jobs of one worker type, which grows until time is up; it can go on later.

    `known`: prices and columns to begin with. `upper`: value of a schedule of the jobs; leaves that
    cannot be below it stay as they are. `price`: as for `TypeRelaxation`.
    """

    def __init__(
        self,
        view: CompiledInstance,
        known: TypeBound,
        upper: float,
        *,
        budget: Budget,
        price: Callable[..., Any] | None = None,
    ) -> None:
        self._view, self.known, self._price = view, known, price
        ends, prices = joined(self._relaxation(known.ends), known.prices)
        self.types = types = self._relaxation(ends)
        self.upper = min(upper, types.ceiling)
        present = prices > 0
        present[: len(CAPACITY)] = True
        self._master = Master(types, present, min(3 * self.upper, types.ceiling), budget)
        self._master.load(known.columns)
        self.root = Node(types.everything, prices, types.bound(prices)[0])
        self.nodes, self._number = 1, count()
        self._leaves: list[tuple[float, int, Node]] = []
        self._push(self.root)

    def _relaxation(self, ends: Ints) -> TypeRelaxation:
        rows = self.known.rows[len(CAPACITY) :]
        return TypeRelaxation(self._view, self.known.worker_type, ends, rows, self._price)

    @property
    def bound(self) -> float:
        """The least bound of the leaves."""
        return self._leaves[0][0]

    def found(self) -> TypeBound:
        """Return the bound with the tree that proves it, or what was known before if better."""
        if math.ceil(self.bound) <= math.ceil(self.known.bound):
            return self.known
        return replace(self.known, ends=self.types.ends, bound=self.bound, tree=self.root)

    def grow(self, clock: Clock) -> bool:
        """Branch until time is up; return whether it can go on."""
        while self.nodes + 2 <= MAX_NODES and math.ceil(self.bound) < self.upper:
            if clock.expired():
                return True
            _, _, node = heapq.heappop(self._leaves)
            if node.branch is not None:
                boxes = halves(node.box, node.branch)
                children = [Node(box, node.prices, node.bound) for box in boxes]
                for child in children:
                    self._solve(child, clock)
                    self._push(child)
                node.children, self.nodes = tuple(children), self.nodes + 2
            elif node.solution is None:
                self._solve(node, clock)
                self._push(node)
            else:
                self._push(node)
                if not self._split(node.solution):
                    return False
        return False

    def _push(self, node: Node) -> None:
        heapq.heappush(self._leaves, (node.bound, next(self._number), node))

    def _split(self, columns: Ints) -> bool:
        """Split blocks at starts and ends of columns, if possible; prices and bounds remain."""
        before, start = self.types.ends, columns[:, START]
        after = np.union1d(before, np.append(start[start > 0], start + columns[:, DURATION]))
        if len(after) == len(before):
            return False
        parent = before.searchsorted(after)
        self.types = self._relaxation(after)
        self._master = self._master.split(self.types, parent)
        for _, _, node in self._leaves:
            node.prices = node.prices[:, parent]
            node.solution, node.data = None, None
        return True

    def _solve(self, node: Node, clock: Clock) -> None:
        """Generate columns until master and bound of the node are close; find its branch."""
        node.bound = max(node.bound, self.types.bound(node.prices, node.box)[0])
        if math.ceil(node.bound) >= self.upper:
            return
        master, gap = self._master, GAP
        master.enter(node.box)
        while (solution := master.solve(clock)) is not None:
            fresh = NO_COLUMNS
            if solution.objective - node.bound > gap:
                own = solution.prices
                for prices in (rounded(SMOOTHING * node.prices + (1 - SMOOTHING) * own), own):
                    bound, _, columns = self.types.bound(prices, node.box)
                    if bound > node.bound:
                        node.bound, node.prices, node.data = bound, prices, None
                    fresh = columns[master.reduced(columns) < -IMPROVING]
                    if len(fresh):
                        break
                if math.ceil(node.bound) >= self.upper:
                    return
            if len(fresh):
                master.add(fresh)
            elif not master.separate(solution.share, VIOLATED[node is not self.root]):
                node.branch = self._branch(solution)
                if node.branch is not None or gap == CLOSED:
                    if node.branch is None:
                        node.solution = master.columns[solution.share > TINY]
                    return
                gap = CLOSED

    def _branch(self, solution: MasterSolution) -> Branch | None:
        """Return the branch that moves the jobs most, weighted by the smaller part of a job."""
        jobs = len(self.types.tasks)
        support = np.flatnonzero(solution.share > TINY)
        columns, share = self._master.columns[support], solution.share[support]
        task, values = columns[:, TASK], self.types.attributes(columns)

        def mean(value: Any, part: Bools) -> tuple[Floats, Floats]:
            """Return the share of a part of each job, and the mean of a value in it."""
            total = np.bincount(task[part], share[part], jobs).astype(float)
            summed = np.bincount(task[part], (share * value)[part], jobs)
            return total, summed / np.maximum(total, TINY)

        every = np.ones(len(task), np.bool_)
        flow, most, found = mean(columns[:, FLOW], every)[1], 0.0, None
        for k, name in enumerate(ATTRIBUTES):
            middle = mean(values[:, k], every)[1]
            at = np.floor(middle + TINY).astype(int)
            low = values[:, k] <= at[task]
            moved = values[:, 1] if name == "colocated" else values[:, k]
            (below, first), (above, second) = mean(moved, low), mean(moved, ~low)
            apart = np.abs(second - first)
            if name == "workers":
                apart *= 0.5 * flow / np.maximum(middle, 1.0)  # in slots
            elif name == "colocated":
                apart += 10.0
            smaller = np.minimum(below, above)
            score = np.where(smaller > 1e-4, smaller * apart, 0.0)
            j = int(score.argmax())
            if score[j] > most:
                most, found = float(score[j]), Branch(j, k, int(at[j]))
        late = np.where(solution.artificial < 1 - TINY, solution.artificial, 0.0)
        if found is None and late.max() > TINY:
            return Branch(int(late.argmax()), ATTRIBUTES.index("end"), self.types.slots - 1)
        return found


def branch_types(
    view: CompiledInstance,
    bounds: Sequence[TypeBound],
    uppers: Mapping[int, float],
    *,
    budget: Budget,
    price: Callable[..., Any] | None = None,
    on_better: Callable[[Sequence[TypeBound]], None] = lambda better: None,
) -> list[TypeBound]:
    """Grow a tree for some worker types, always where the bound has risen fastest.

    `bounds`: of different types. `uppers`: value of a schedule of the jobs of these types. `price`:
    as for `TypeRelaxation`. `on_better`: called with the bounds of all types when one improves.
    """
    found = {bound.worker_type: bound for bound in bounds}
    trees: dict[int, TypeTree] = {}
    rates = {u: math.inf for u, upper in uppers.items() if math.ceil(found[u].bound) < upper}
    seconds = SLICE * budget.clock.remaining()
    while rates and not budget.clock.expired():
        u = max(rates, key=rates.__getitem__)
        clock = budget.clock.share(1.0, most=seconds)
        if u not in trees:
            trees[u] = TypeTree(view, found[u], uppers[u], budget=budget, price=price)
        before = trees[u].bound
        goes_on = trees[u].grow(clock)
        rates[u] = (trees[u].bound - before) / max(clock.elapsed(), TINY)
        if not goes_on:
            del rates[u]
        known, found[u] = found[u].bound, trees[u].found()
        if math.ceil(found[u].bound) > math.ceil(known):
            on_better(list(found.values()))
    return list(found.values())
