"""Prove that an integer program has no solution with cost x <= goal, and write the proof.

The prover is a depth-first branch and cut on HiGHS linear programs. Branches are chosen by strong
branching, and cuts are separated at the nodes. The dual values that close a node are rounded to few
bits and evaluated in integer arithmetic before they are stored. Hence the tolerances of an engine
can make the prover fail, but not write a wrong proof; and the checker evaluates everything again.

References
----------
T. Achterberg, T. Koch, A. Martin, "Branching rules revisited", Operations Research Letters 33
(2005): strong branching.
E. M. L. Beale, J. A. Tomlin, "Special facilities in a general mathematical programming system for
non-convex problems using ordered sets of variables", OR 69: Proceedings of the Fifth International
Conference on Operational Research, Tavistock (1970): branching on a row of choice.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedgap.solvers.children.clock import Clock
from schedgap.solvers.engines.highs import Relaxation
from schedgap.solvers.programs.arrays import Floats, LinearProgram
from schedgap.solvers.programs.sparse import sparse
from schedgap.solvers.proofs.checker import (
    CUTS,
    Box,
    Cut,
    IntegerProgram,
    ProgramSpace,
    RefusedError,
    with_cuts,
)
from schedgap.solvers.proofs.tree import Proof

__all__ = ["Proof", "Proved", "Prover", "Separator", "linear_program", "prove"]

Ints = NDArray[np.int64]

# bits of the rounded dual values; the fewest sufficient ones are used
BITS = (2, 4, 6, 8, 11, 14, 18, 22, 27, 32, 40)
FIXING_BITS = 12
FEW_FIXED = 0.03  # fixing is stored only if it fixes this fraction of the open columns
STRONG_CANDIDATES, STRONG_ITERATIONS = 8, 60
ROOT_ROUNDS, NODE_ROUNDS = 20, 2  # rounds of cuts
FRACTIONAL = 1e-6
FEW_LEFT = 0.5  # the engine is rebuilt when at most this fraction of its columns is not fixed at 0
COST_BITS = 20  # bits of the largest cost in the engine, whose tolerances are absolute
LARGEST = 10**100  # largest goal in the engine

Separator = Callable[[Floats, Box], Sequence[Mapping[str, Any]]]
"""Takes a fractional point [j] and the box, and returns cuts as written in proof files."""


@dataclass(frozen=True, slots=True)
class Proved:
    """Result of an attempt to find a proof.

    `better`: a solution [j] with cost x <= goal, which shows that the claim is wrong or rows are
    missing. The provers of some families return its schedule, if it is one. `reason`: reason why
    there is no proof; empty if there is one. `nodes`: number of nodes of the tree.
    """

    proof: Proof | None
    better: Any = None
    reason: str = ""
    nodes: int = 0


class _StoppedError(Exception):
    def __init__(self, reason: str, better: tuple[int, ...] | None = None) -> None:
        super().__init__(reason)
        self.better = better


def prove(
    program: IntegerProgram,
    *,
    clock: Clock,
    separate: Sequence[Separator] = (),
    kinds: Mapping[str, Cut] = CUTS,
    seed: int = 0,
    max_nodes: int = 100_000,
) -> Proved:
    """Search for a proof that no solution has cost x <= goal.

    `program`: the program; all columns have finite bounds. `clock`: time budget. `separate`:
    separators, called in turn at nodes with an open point, fractional or not. `kinds`: functions
    that derive the cuts, by kind; cuts that cannot be derived are not added. `seed`: random seed of
    the engine. `max_nodes`: limit on the number of nodes.
    """
    return Prover(program, separate, kinds=kinds, seed=seed, max_nodes=max_nodes).search(clock)


@dataclass(slots=True)
class _Node:
    """A box to refute, a vector that may refute it, and the basis to start from.

    The engine has the columns `frame`; the others are fixed at 0 in the box.
    """

    box: Box
    frame: Ints
    vector: int | None = None
    basis: Any = None
    depth: int = 0
    rounds: int = field(default=0)
    before: float = -math.inf  # value of the relaxation in the previous round


class Prover:
    """A search for a proof that goes on where it was stopped; arguments as for `prove`."""

    def __init__(
        self,
        program: IntegerProgram,
        separate: Sequence[Separator] = (),
        *,
        kinds: Mapping[str, Cut] = CUTS,
        seed: int = 0,
        max_nodes: int = 100_000,
    ) -> None:
        self.program, self.clock, self.kinds = program, Clock(None), kinds
        self.separators, self.max_nodes = separate, max_nodes
        self.space = ProgramSpace(program)
        self.nodes = 0
        self.tree: list[dict[str, Any]] = []
        self.vectors: list[dict[str, Any]] = []
        self.numbers: dict[tuple[Any, ...], int] = {}
        self.cuts: list[Mapping[str, Any]] = []
        most = max((abs(c) for c in program.cost), default=0)
        self.shift = max(0, most.bit_length() - COST_BITS)
        self.most = LARGEST << self.shift
        self.cost = np.array([self._scaled(c) for c in program.cost])
        self.goal = self._scaled(program.goal)
        self.choice_rows = [
            i
            for i, (entries, _, high) in enumerate(program.rows)
            if high == 1
            and len(entries) > 1
            and all(a == 1 and program.lower[j] == 0 for j, a in entries.items())
        ]
        self.choices = [np.array(list(program.rows[i][0])) for i in self.choice_rows]
        arrays = linear_program(program, self.cost)
        self.matrix, self.sides = arrays.matrix, (arrays.row_lower, arrays.row_upper)
        self.seed = seed
        self._build(np.arange(len(self.cost)))
        self.open = [_Node(self.space.root(), self.frame)]

    def _scaled(self, number: int) -> float:
        """Return a cost, or a sum of costs, in the unit of the engine."""
        return float(Fraction(min(max(number, -self.most), self.most), 1 << self.shift))

    def search(self, clock: Clock) -> Proved:
        """Search for a proof until time is up; a further call goes on."""
        self.clock = clock
        while self.open:
            node = self.open.pop()
            try:
                parts = self._settle(node)
            except _StoppedError as stop:
                self.open.append(node)
                return Proved(None, stop.better, str(stop), self.nodes)
            self.open += reversed(parts)
        return Proved(self._written(), nodes=self.nodes)

    def _settle(self, node: _Node) -> list[_Node]:
        """Close or split a node; return its parts, or the node itself if cuts were added."""
        self._still_going()
        if node.rounds == 0:
            self.nodes += 1
        if any(a > b for a, b in zip(*node.box, strict=True)):
            self.tree.append({"empty": True})
            return []
        if node.vector is not None and self._closes(self.vectors[node.vector], node.box):
            self.tree.append({"v": node.vector})
            return []
        if node.frame is not self.frame:
            self._build(node.frame)
        self._show(node.box)
        if node.basis is not None:
            self.relaxation.basis = node.basis
        result = self.relaxation.solve(self.clock)
        self._still_going()
        if result.status == "infeasible":
            return self._refute(node)
        if result.duals is None or result.values is None or result.objective is None:
            raise _StoppedError(f"the relaxation ended {result.status}")
        value, point = result.objective, np.zeros(len(self.cost))
        point[self.frame] = result.values
        goal = self.goal
        if value > goal - 1e-9 * max(1.0, abs(goal)) and self._close(node, result.duals, True):
            return []
        fraction = np.abs(point - np.round(point))
        if not (fraction > FRACTIONAL).any():
            if self._cut(point, node.box):
                return [node]
            return self._refuse_integral(point)
        limit = NODE_ROUNDS if node.depth else ROOT_ROUNDS
        gains = node.rounds < 2 or value - node.before > 0.02 * (goal - value)
        if node.rounds < limit and gains and self._cut(point, node.box):
            node.rounds, node.before, node.basis = node.rounds + 1, value, None
            return [node]
        return self._branch(node, np.asarray(result.duals), point, value)

    # --- closing -------------------------------------------------------------------------------

    def _refute(self, node: _Node) -> list[_Node]:
        """Close an infeasible node by a dual ray, or raise _StoppedError."""
        ray = self.relaxation.dual_ray()
        for prices in () if ray is None else (ray, -ray):
            if self._close(node, prices, False):
                return []
        duals = self._elastic_duals(node.box)
        if duals is not None and self._close(node, duals, False):
            return []
        raise _StoppedError("infeasible, but no ray of few bits shows it")

    def _elastic_duals(self, box: Box) -> Floats | None:
        """Return the dual values of the program that minimizes the total violation of the rows."""
        rows = self.space.program.rows
        height, width = len(rows), len(self.cost)
        matrix = _matrix([entries for entries, _, _ in rows], width)
        missed = sparse.eye_array(height)
        relaxed = LinearProgram(
            cost=np.append(np.zeros(width), np.ones(2 * height)),
            lower=np.append(np.array(box[0], float), np.zeros(2 * height)),
            upper=np.append(np.array(box[1], float), np.full(2 * height, np.inf)),
            matrix=sparse.hstack([matrix, missed, -missed], format="csr"),
            row_lower=np.array([_side(low, -math.inf) for _, low, _ in rows]),
            row_upper=np.array([_side(high, math.inf) for _, _, high in rows]),
        )
        duals: Floats | None = Relaxation(relaxed).solve(self.clock).duals
        return duals

    def _close(self, node: _Node, prices: Floats, objective: bool) -> bool:
        """Close a node by dual values rounded to few bits; return whether it is closed."""
        if not objective:
            size = np.abs(prices).max(initial=0.0)
            if size == 0:
                return False
            prices = prices / size
        for bits in BITS:
            vector = self._rounded(prices, bits, objective)
            if self._closes(vector, node.box):
                self.tree.append({"v": self._kept(vector)})
                return True
        return False

    def _closes(self, vector: Mapping[str, Any], box: Box) -> bool:
        excess = self.space.excess(box, vector)
        return excess is None or excess > 0

    def _rounded(self, prices: Floats, bits: int, objective: bool) -> dict[str, Any]:
        """Return a vector of dual values rounded to integers; absent sides get none.

        With the objective, the dual values belong to scaled costs.
        """
        scaled = np.round(prices * 2.0**bits)
        rows = self.space.program.rows
        o, lift = (
            (1 << max(0, bits - self.shift), max(0, self.shift - bits)) if objective else (0, 0)
        )
        entries = []
        for i in np.flatnonzero(scaled).tolist():
            y = int(scaled[i]) << lift
            if rows[i][1 if y > 0 else 2] is not None:
                entries.append([i, y])
        return {"o": o, "d": entries}

    def _kept(self, vector: dict[str, Any]) -> int:
        key = vector["o"], tuple(map(tuple, vector["d"]))
        if key not in self.numbers:
            self.numbers[key] = len(self.vectors)
            self.vectors.append(vector)
        return self.numbers[key]

    def _refuse_integral(self, point: Floats) -> list[_Node]:
        """Raise _StoppedError: there is a better solution, or the bound fails by round-off."""
        x = [round(value) for value in point.tolist()]
        program = self.space.program
        fits = True
        for entries, low, high in program.rows:
            total = sum(a * x[j] for j, a in entries.items())
            fits &= (low is None or low <= total) and (high is None or total <= high)
        cost = sum(c * v for c, v in zip(program.cost, x, strict=True))
        if fits and cost <= program.goal:
            raise _StoppedError("a better solution exists", tuple(x))
        raise _StoppedError("the bound of a whole solution is short by rounding")

    # --- cuts ----------------------------------------------------------------------------------

    def _cut(self, point: Floats, box: Box) -> bool:
        """Add violated cuts; return whether there are any."""
        for separate in self.separators:
            fresh = [cut for cut in separate(point, box) if cut not in self.cuts]
            grown = self.space.program
            added = []
            for cut in fresh:
                try:
                    grown = with_cuts(grown, [cut], self.kinds)
                except RefusedError:
                    continue
                added.append(cut)
            if added:
                rows = grown.rows[len(self.space.program.rows) :]
                matrix = _matrix([entries for entries, _, _ in rows], len(self.cost))
                low = np.array([_side(side, -math.inf) for _, side, _ in rows])
                high = np.array([_side(side, math.inf) for _, _, side in rows])
                self.relaxation.add_rows(low, high, matrix[:, self.frame])
                self.matrix = sparse.vstack([self.matrix, matrix], format="csr")
                self.sides = np.append(self.sides[0], low), np.append(self.sides[1], high)
                self.cuts += added
                self.space = ProgramSpace(grown)
                return True
        return False

    # --- branching -----------------------------------------------------------------------------

    def _branch(self, node: _Node, duals: Floats, point: Floats, value: float) -> list[_Node]:
        """Apply reduced-cost fixing, choose a branch, and return its parts."""
        basis, box, entry = self.relaxation.basis, node.box, {}
        vector = node.vector
        trial = self._rounded(duals, FIXING_BITS, True)
        if self._closes(trial, box):
            self.tree.append({"v": self._kept(trial)})
            return []
        fixed = self.space.reduce(box, trial)
        pairs = zip(box[0], box[1], fixed[0], fixed[1], strict=True)
        changed = sum(a != c or b != d for a, b, c, d in pairs)
        is_open = sum(a < b for a, b in zip(*box, strict=True))
        if changed >= max(3, FEW_FIXED * is_open):
            vector = self._kept(trial)
            entry["fix"], box = [vector], fixed
        candidates = self._candidates(point, box)
        if not candidates:  # all fractional columns have just been fixed
            entry, vector, box = {}, node.vector, node.box
            candidates = self._candidates(point, box)
        if not candidates:
            raise _StoppedError("nothing to branch on")
        if self._few_left(box):
            self._show(box)
            self.relaxation.solve(self.clock)
            basis = self.relaxation.basis
        chosen = self._strongest(candidates, box, basis, value)
        self.tree.append({"b": chosen, **entry})
        return [
            _Node(part, self.frame, vector, basis, node.depth + 1)
            for part in self.space.split(box, chosen)
        ]

    def _few_left(self, box: Box) -> bool:
        """Rebuild the engine without columns fixed at 0, if they are many; return whether."""
        left = np.array([a != 0 or b != 0 for a, b in zip(*box, strict=True)])
        if left.sum() > FEW_LEFT * len(self.frame):
            return False
        self._build(np.flatnonzero(left))
        return True

    def _build(self, frame: Ints) -> None:
        """Give the engine some of the columns, and all rows."""
        self.frame = frame
        self.shown = (
            np.array(self.program.lower, float)[frame],
            np.array(self.program.upper, float)[frame],
        )
        self.relaxation = Relaxation(
            LinearProgram(
                cost=self.cost[frame],
                lower=self.shown[0],
                upper=self.shown[1],
                matrix=self.matrix[:, frame],
                row_lower=self.sides[0],
                row_upper=self.sides[1],
            ),
            seed=self.seed,
            options={"presolve": "off", "simplex_strategy": 1},
        )

    def _candidates(self, point: Floats, box: Box) -> list[list[Any]]:
        """Return candidate branches, the most promising first."""
        found: list[tuple[float, list[Any]]] = []
        lower, upper = np.array(box[0], float), np.array(box[1], float)
        for i, columns in zip(self.choice_rows, self.choices, strict=True):
            share = np.where(upper[columns] > 0, point[columns], 0.0)
            total = float(share.sum())
            if np.minimum(share, np.abs(1 - share)).sum() < 1e-5 or total < FRACTIONAL:
                continue
            cumulated = np.cumsum(share)
            cost = self.cost[columns]
            spread = float(share @ cost) / total - float(cost.min())
            weight = 1.0 + abs(spread) if np.ptp(cost) else 0.5
            middle = int(np.searchsorted(cumulated, total / 2)) + 1
            for at in {middle, middle - 1}:
                if 0 < at < len(columns):
                    moved = min(cumulated[at - 1], total - cumulated[at - 1])
                    if moved > FRACTIONAL:
                        found.append((float(moved) * weight, ["row", i, at]))
        fraction = np.abs(point - np.round(point))
        for j in np.flatnonzero((fraction > FRACTIONAL) & (upper > lower)).tolist():
            found.append((0.4 * float(fraction[j]), ["var", j, math.floor(point[j])]))
        found.sort(key=lambda item: -item[0])
        return [branch for _, branch in found]

    def _strongest(
        self, candidates: Sequence[list[Any]], box: Box, basis: Any, value: float
    ) -> list[Any]:
        """Return the candidate with the largest gain by a few pivots (strong branching)."""
        needed = max(self.goal - value, 1e-6)
        best, chosen = -1.0, candidates[0]
        for branch in candidates[:STRONG_CANDIDATES] if len(candidates) > 1 else ():
            score = 1.0
            for part in self.space.split(box, branch):
                self._still_going()
                score *= min(self._gain(part, basis, value), 1.5 * needed)
            if score > best:
                best, chosen = score, branch
        return chosen

    def _gain(self, box: Box, basis: Any, value: float) -> float:
        """Return an estimate of the increase of the relaxation in a box."""
        if any(a > b for a, b in zip(*box, strict=True)):
            return math.inf
        self._show(box)
        self.relaxation.basis = basis
        after = self.relaxation.trial(self.clock, STRONG_ITERATIONS)
        return max(1e-6, after - value)

    def _show(self, box: Box) -> None:
        """Set the bounds of a box in the engine."""
        lower, upper = (np.array(side, float)[self.frame] for side in box)
        changed = np.flatnonzero((lower != self.shown[0]) | (upper != self.shown[1]))
        if len(changed):
            self.relaxation.change_bounds(changed, lower[changed], upper[changed])
        self.shown = lower, upper

    def _still_going(self) -> None:
        if self.clock.expired():
            raise _StoppedError("time is up")
        if self.nodes > self.max_nodes:
            raise _StoppedError(f"more than {self.max_nodes} nodes")

    def _written(self) -> Proof:
        """Return the proof without unused vectors and cuts."""
        used = sorted(
            {k for node in self.tree for k in (node.get("v"), *node.get("fix", []))} - {None}
        )
        number = {k: n for n, k in enumerate(used)}
        vectors = [self.vectors[k] for k in used]
        first = len(self.program.rows)
        open_rows = {i for vector in vectors for i, _ in vector["d"]}
        open_rows |= {node["b"][1] for node in self.tree if node.get("b", [""])[0] == "row"}
        needed: set[int] = set()
        while open_rows:
            i = open_rows.pop()
            if i >= first and i - first not in needed:
                needed.add(i - first)
                open_rows |= set(_rows_of(self.cuts[i - first]))
        row = {first + k: first + n for n, k in enumerate(sorted(needed))}
        tree = []
        for node in self.tree:
            node = dict(node)
            if "v" in node:
                node["v"] = number[node["v"]]
            if "fix" in node:
                node["fix"] = [number[k] for k in node["fix"]]
            if "b" in node and node["b"][0] == "row":
                node["b"] = ["row", row.get(node["b"][1], node["b"][1]), node["b"][2]]
            tree.append(node)
        renumbered = [
            vector | {"d": [[row.get(i, i), y] for i, y in vector["d"]]} for vector in vectors
        ]
        return Proof(renumbered, [_renumbered(self.cuts[k], row) for k in sorted(needed)], tree)


def _rows_of(cut: Mapping[str, Any]) -> list[int]:
    """Return the rows from which a cut is derived."""
    rows = [cut["row"]] if "row" in cut else []
    rows += [i for i, _ in cut.get("d", [])]
    return rows + [choice for _, choice in cut.get("sets", []) if choice is not None]


def _renumbered(cut: Mapping[str, Any], row: Mapping[int, int]) -> dict[str, Any]:
    """Return a cut with renumbered rows."""
    changed = dict(cut)
    if "row" in cut:
        changed["row"] = row.get(cut["row"], cut["row"])
    if "d" in cut:
        changed["d"] = [[row.get(i, i), y] for i, y in cut["d"]]
    if "sets" in cut:
        changed["sets"] = [
            [columns, choice if choice is None else row.get(choice, choice)]
            for columns, choice in cut["sets"]
        ]
    return changed


def linear_program(program: IntegerProgram, cost: Floats) -> LinearProgram:
    """Return the linear relaxation of a program, for an engine.

    `cost` [j]: in the unit of the engine.
    """
    return LinearProgram(
        cost=cost,
        lower=np.array(program.lower, float),
        upper=np.array(program.upper, float),
        matrix=_matrix([entries for entries, _, _ in program.rows], len(program.cost)),
        row_lower=np.array([_side(low, -math.inf) for _, low, _ in program.rows]),
        row_upper=np.array([_side(high, math.inf) for _, _, high in program.rows]),
    )


def _matrix(rows: Sequence[Mapping[int, int]], width: int) -> "sparse.csr_array":
    starts = np.cumsum([0, *map(len, rows)])
    columns = np.array([j for entries in rows for j in entries], dtype=np.int64)
    values = np.array([float(a) for entries in rows for a in entries.values()])
    return sparse.csr_array((values, columns, starts), shape=(len(rows), width))


def _side(side: int | None, free: float) -> float:
    return free if side is None else float(side)
