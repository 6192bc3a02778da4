"""Write the proof of an optimum: branch and price against the known value, and what closed it.

The search runs again with the optimal schedule as its incumbent and writes down, for every node,
the branch and the prices. Prices are rounded to few bits, so that the file is short and every sum
is a whole number for the checker (`proof.py`).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from schedgap.instances.hare import HareInstance, HareSchedule
from schedgap.models.hare import proof
from schedgap.models.hare.exact.branch_and_price import (
    BranchAndPrice,
    _NodeRelaxation,
    _TreeNode,
    refusal,
)
from schedgap.models.hare.exact.job_pricing import Floats, ScheduleColumn
from schedgap.models.hare.integer_time import steps
from schedgap.solvers import Clock
from schedgap.solvers.proofs.checker import RefusedError
from schedgap.solvers.proofs.prover import Proof, Proved

BITS = 10  # of the prices, in units of weight per step


def prove_goal(
    instance: HareInstance, goal: int, schedule: Any, *, clock: Clock, seed: int = 0
) -> Proved:
    """Look for a proof that no schedule has a value of `goal` or less.

    Parameters
    ----------
    instance : HareInstance
    goal : int
        As `proof.goal` gives it.
    schedule : JSON data
        The schedule that is claimed to be optimal, of value `goal` + 1.
    clock : Clock
    seed : int
        Of the list schedules of the search, which are not drawn here.

    Raises
    ------
    RefusedError
        When the search, or the checker, is too large for the instance.
    """
    if proof.steps(instance)[0] != steps(instance).step:
        raise RefusedError("/goal", "times have no common step")
    start = HareSchedule.from_data(instance, schedule)
    search = _LoggedSearch(instance, start, clock=clock, seed=seed, rounding=False)
    if reason := refusal(instance, search.upper):
        raise RefusedError("/goal", reason)
    result = search.run()
    if result.upper <= goal:
        return Proved(None, reason="a better schedule exists", nodes=result.nodes)
    if result.stopped:
        return Proved(None, reason=result.stopped, nodes=result.nodes)
    return Proved(search.written(), nodes=result.nodes)


@dataclass(frozen=True, slots=True)
class _Record:
    """What was done at a node: reduced by prices, then split, or closed by a vector."""

    fix: Floats | None
    close: dict[str, Any] | Floats | None  # a vector, or prices; None: it was split, or is empty
    parts: list[_TreeNode]


class _LoggedSearch(BranchAndPrice):
    """The search, with a record of what it did at every node."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._last: Floats = np.zeros(len(self.capacity))
        self._single: list[ScheduleColumn] | None = None
        self._first: _TreeNode | None = None
        self._records: dict[int, _Record] = {}  # by id of the node
        self._kept: list[_TreeNode] = []  # so that no other node has the id of one

    def _rounded(self, prices: Floats) -> Floats:
        exact = super()._rounded(prices)
        return np.asarray(np.round(exact * 2.0**BITS) / 2.0**BITS)

    def _solve(self, node: _TreeNode, gap: float) -> _NodeRelaxation:
        relaxation = super()._solve(node, gap)
        self._last, self._single = relaxation.prices, None
        return relaxation

    def _assemble(self, chosen: list[ScheduleColumn]) -> None:
        self._single = chosen
        super()._assemble(chosen)

    def _expand(self, node: _TreeNode) -> list[_TreeNode]:
        self._first = self._first or node
        parts = super()._expand(node)
        if parts:
            record = _Record(self._last, None, parts)
        elif self._closed(node.bound):
            record = _Record(None, self._last, [])
        else:  # after fixing, one schedule of each job is left, or none of some job
            single = None if self._single is None else self._only(self._single)
            record = _Record(self._last, single, [])
        self._records[id(node)] = record
        self._kept += [node, *parts]
        return parts

    def _only(self, chosen: list[ScheduleColumn]) -> dict[str, Any]:
        """Return the prices that close a node with one schedule of each job.

        If they need more GPUs than there are at some time, a high price there; else none: the
        bound without prices is their value.
        """
        used = sum(self._master.usage(n, item) for n, item in enumerate(chosen))
        over = np.flatnonzero(used > self.capacity)
        if not len(over):
            return {"q": 0, "p": []}
        k, t = divmod(int(over[0]), self.horizon)
        return {"q": 0, "p": [[k, t, self.upper]]}

    def written(self) -> Proof:
        """Return the record as a proof: nodes in preorder, prices by kind and step."""
        vectors: list[dict[str, Any]] = []
        numbers: dict[str, int] = {}
        tree: list[dict[str, Any]] = []
        kinds = len(self.view.class_gpus)

        def number(given: dict[str, Any] | Floats) -> int:
            if isinstance(given, np.ndarray):
                whole = np.round(given * 2.0**BITS).astype(np.int64).reshape(kinds, -1)
                cells = [[int(k), int(t), int(whole[k, t])] for k, t in np.argwhere(whole)]
                given = {"q": BITS, "p": cells}
            key = repr(given)
            if key not in numbers:
                numbers[key] = len(vectors)
                vectors.append(given)
            return numbers[key]

        stack = [] if self._first is None else [self._first]
        while stack:
            node = stack.pop()
            record = self._records.get(id(node))
            if record is None:  # never taken up: the prices of its parent close it
                tree.append({"v": number(node.prices)})
                continue
            entry: dict[str, Any] = {}
            if record.fix is not None:
                entry["fix"] = [number(record.fix)]
            if record.parts:
                branch = record.parts[0].branch
                assert branch is not None
                entry["b"] = [branch.by, branch.job, branch.what, branch.at]
            elif record.close is None:
                entry["empty"] = True
            else:
                entry["v"] = number(record.close)
            tree.append(entry)
            stack += reversed(record.parts)
        return Proof(vectors, [], tree)
