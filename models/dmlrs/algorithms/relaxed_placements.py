"""The relaxation of (23)-(26) for every number of workers of a slot at once.

Machines with equal prices and equal free capacity form a class. What k of them hold together is k
times what one holds, which is convex. So a class needs only the corners of one of its machines,
each with the number of machines that are there. The numbers of workers and PSs are right sides: a
basis that is optimal for one pair of them is optimal for all pairs for which its solution is
feasible.

References
----------
G. B. Dantzig, P. Wolfe, "Decomposition principle for linear programs", Operations Research 8
(1960): a program over the corners of convex sets.
T. Gal, "Postoptimal analyses, parametric programming, and related topics", McGraw-Hill (1979).
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.dmlrs.compiled import Floats, Ints
from schedgap.models.dmlrs.slot_options import SlotState
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.engines.highs import Relaxation
from schedgap.solvers.programs.arrays import LinearProgram

_AIM, _LARGEST, _CUT_OFF = 1e3, 1e6, 1e9  # scaled optimum, and the largest scaled cost
_FEASIBLE = 1e-9  # rounding errors of a basic solution


@dataclass(frozen=True, slots=True, eq=False)
class _Corners:
    """Classes of equal machines, and the corners (w, s) of a machine of each class.

    The first corner of a class has workers only, the last one PSs only; (0, 0) is left out.
    """

    members: list[Ints]  # [k] machines of a class, in list order
    owner: Ints  # [c] class of a corner
    units: Floats  # [worker or PS, c]
    cost: Floats  # [c]

    @property
    def size(self) -> Ints:
        """[k] number of machines of a class."""
        return np.array([len(machines) for machines in self.members])

    @property
    def ends(self) -> tuple[Ints, Ints]:
        """[k] first and last corner of each class."""
        every = np.arange(len(self.members))
        first = np.searchsorted(self.owner, every)
        return first, np.searchsorted(self.owner, every, side="right") - 1


def relaxed_placements(
    slot: SlotState, machines: Ints, needed: Ints, *, hull: bool = False
) -> Floats:
    """Return an optimum [i, worker or PS, k] of the relaxation for each number of workers.

    `machines` [k]: those that can hold a worker or a PS. `needed` [i, worker or PS]: workers n,
    ascending, and PSs. `hull`: whether (24) is replaced by the integer hull of each machine.

    The result ends before the first number that has no solution.

    Notes
    -----
    Costs are not negative, and a machine that holds units also holds fewer. So exactly n workers
    and the given PSs are placed. Of several optima, the one that HiGHS returns counts. Within a
    class, workers are placed from its first machine on and PSs from its last one, separately if
    the class has room for that.
    """
    corners = _corners(slot, machines, hull=hull)
    shares = _CornerProgram(corners).optima(needed)
    return _on_machines(corners, shares, len(machines))


def _corners(slot: SlotState, machines: Ints, *, hull: bool) -> _Corners:
    """Return the corners of the machines, class by class."""
    prices = np.column_stack([slot.worker_price[machines], slot.ps_price[machines]])
    key = np.column_stack([prices, slot.free[machines]])
    _, first, kind = np.unique(key, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(kind.ravel(), kind="stable")
    members = np.split(order, np.cumsum(np.bincount(kind.ravel()))[:-1])
    owner, units = (_whole_corners if hull else _real_corners)(slot, machines[first])
    return _Corners(members, owner, units, (units * prices[first][owner].T).sum(axis=0))


def _real_corners(slot: SlotState, machines: Ints) -> tuple[Ints, Floats]:
    """Return the corners [worker or PS, c] of (24) with their machines, from workers to PSs."""
    job, (most_workers, most_ps) = slot.job, (limit[machines] for limit in slot.max_units)
    used = np.flatnonzero(job.ps > 0)
    # PSs next to w workers: at most level - slope w, for each resource and for the limit on PSs
    level = np.column_stack([slot.free[machines][:, used] / job.ps[used], most_ps])  # [k, r]
    slope = np.append(job.worker[used] / job.ps[used], 0.0)
    a, b = np.array(list(combinations(range(len(slope)), 2))).reshape(-1, 2).T
    a, b = a[slope[a] != slope[b]], b[slope[a] != slope[b]]
    crossing = (level[:, a] - level[:, b]) / (slope[a] - slope[b])
    w = np.column_stack([most_workers, np.zeros(len(machines)), crossing])
    s = np.maximum((level[:, None, :] - slope * w[:, :, None]).min(axis=2), 0.0)
    corner = (w > 0) & (w < most_workers[:, None])
    corner[:, 2:] &= level[:, a] - slope[a] * crossing <= s[:, 2:] + _FEASIBLE
    corner[:, :2] = True
    w, s = np.column_stack([most_workers, w]), np.column_stack([np.zeros(len(machines)), s])
    owner, place = np.nonzero(np.column_stack([corner[:, 0], corner]))
    order = np.lexsort((s[owner, place], -w[owner, place], owner))
    owner, place = owner[order], place[order]
    return owner, np.array([w[owner, place], s[owner, place]])


def _whole_corners(slot: SlotState, machines: Ints) -> tuple[Ints, Floats]:
    """Return the corners [worker or PS, c] of the integer hulls, from workers to PSs."""
    job, (workers, ps), found = slot.job, slot.max_units, []
    used = job.ps > 0
    for k, h in enumerate(machines.tolist()):
        w = np.arange(int(workers[h]) + 1)
        remaining = slot.free[h] - w[:, None] * job.worker
        s = np.minimum(int(ps[h]), (remaining[:, used] // job.ps[used]).min(axis=1))
        # upper hull of the points (w, largest s for it), from left to right
        hull: list[tuple[int, int]] = []
        for point in zip(w.tolist(), s.tolist(), strict=True):
            while len(hull) > 1 and _turns_left(hull[-2], hull[-1], point):
                hull.pop()
            hull.append(point)
        found += [(k, int(workers[h]), 0), *((k, *point) for point in reversed(hull))]
    owner, *units = np.array(found).T
    return owner, np.array(units, dtype=float)


def _turns_left(a: tuple[int, int], b: tuple[int, int], c: tuple[int, int]) -> bool:
    """Return whether b lies on or below the line from a to c."""
    return (b[0] - a[0]) * (c[1] - a[1]) >= (b[1] - a[1]) * (c[0] - a[0])


class _CornerProgram:
    """The relaxation with a column for each corner, the number of machines that are there.

    Prices range over many orders of magnitude, and most are far below the 1e-7 up to which an
    engine regards a reduced cost as 0. The costs are therefore multiplied such that the optimum is
    between `_AIM` and `_LARGEST`.
    """

    def __init__(self, corners: _Corners) -> None:
        self._size, self._cost = corners.size, corners.cost
        K, C = len(self._size), len(self._cost)
        self._matrix = np.zeros((K + 2, C))
        self._matrix[corners.owner, np.arange(C)] = 1.0
        self._matrix[K:] = corners.units
        largest = corners.units.max(axis=0)
        unit = self._cost[self._cost > 0] / largest[self._cost > 0]
        self._scale = _AIM / float(unit.min()) if len(unit) else 1.0
        self._engine = Relaxation(
            LinearProgram.nonnegative(
                self._scaled(),
                self._matrix,
                row_lower=np.append(np.full(K, -np.inf), [0.0, 0.0]),
                row_upper=np.append(self._size, [0.0, 0.0]),
            )
        )

    def optima(self, needed: Ints) -> Floats:
        """Return an optimum [i, c] for each pair of workers and PSs up to the first without one."""
        found = np.zeros((len(needed), len(self._cost)))
        left = np.arange(len(needed))
        while len(left):
            first, rest = int(left[0]), left[1:]
            values = self._solve(needed[first])
            if values is None:
                return found[:first]  # more workers have no solution either
            found[first] = values
            solutions, feasible = self._same_basis(needed[rest])
            found[rest[feasible]] = solutions[feasible]
            left = rest[~feasible]
        return found

    def _solve(self, needed: Ints) -> Floats | None:
        """Return an optimum for n workers and a number of PSs, or None."""
        rows = len(self._size) + np.arange(2)
        self._engine.change_row_bounds(rows, needed, needed)
        values: Floats | None = self._engine.solve(Clock()).values
        if values is None or self._cost @ values * self._scale <= _LARGEST:
            return values
        self._scale = _AIM / float(self._cost @ values)
        self._engine.change_costs(np.arange(len(values)), self._scaled())
        again: Floats | None = self._engine.solve(Clock()).values
        return again

    def _same_basis(self, needed: Ints) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the solutions [i, c] of the last basis, and for which pairs it is optimal."""
        basic, basic_rows = self._engine.basic()
        tight = ~basic_rows
        sides = np.column_stack([np.tile(self._size, (len(needed), 1)), needed]).T
        values = np.zeros((len(self._cost), len(needed)))
        values[basic] = np.linalg.solve(self._matrix[tight][:, basic], sides[tight])
        slack = sides - self._matrix @ values
        K = len(self._size)
        feasible = (values >= -_FEASIBLE).all(axis=0) & (slack[:K] >= -_FEASIBLE).all(axis=0)
        feasible &= (np.abs(slack[K:]) <= _FEASIBLE * (1 + needed.T)).all(axis=0)
        feasible &= self._cost @ values * self._scale <= _LARGEST
        return np.maximum(values, 0.0).T, feasible

    def _scaled(self) -> Floats:
        """Return the scaled costs; far above the optimum they are cut off."""
        cost: Floats = np.minimum(self._cost * self._scale, _CUT_OFF)
        return cost


def _on_machines(corners: _Corners, shares: Floats, machines: int) -> Floats:
    """Return the units [i, worker or PS, k] of numbers of machines [i, c] at each corner.

    The machines of a class are the unit intervals of a line, and each corner occupies as much of it
    as its number: from the front, but from the back for PSs only. A machine is a mix of the corners
    that its interval meets.
    """
    shares = _on_axes(corners, shares)
    first, last = corners.ends
    begin = np.cumsum(shares, axis=1) - shares
    begin -= begin[:, first][:, corners.owner]
    begin[:, last] = corners.size - shares[:, last]
    width = last - first + 1
    # pairs of a machine and a corner of its class, machine by machine
    places = np.concatenate([np.arange(len(each)) for each in corners.members])
    owner = np.repeat(np.arange(len(corners.members)), corners.size)
    pairs = np.cumsum(width[owner]) - width[owner]  # first pair of each machine
    total = int(width[owner].sum())
    offset = np.arange(total) - np.repeat(pairs, width[owner])
    corner = np.repeat(first[owner], width[owner]) + offset
    left = np.repeat(places, width[owner])
    end = begin + shares
    met = np.minimum(end[:, corner], left + 1) - np.maximum(begin[:, corner], left)
    met = np.maximum(met, 0.0)[:, None, :] * corners.units[:, corner]
    units = np.zeros((len(shares), 2, machines))
    units[:, :, np.concatenate(corners.members)] = np.add.reduceat(met, pairs, axis=2)
    return units


def _on_axes(corners: _Corners, shares: Floats) -> Floats:
    """Return shares [i, c] of the same units with workers and PSs apart, where a class has room.

    The costs are the same, and fewer values are fractional.
    """
    apart = np.zeros_like(shares)
    filled = np.zeros((len(shares), len(corners.members)))
    for units, corner in zip(corners.units, corners.ends, strict=True):
        total = np.add.reduceat(shares * units, corners.ends[0], axis=1)
        most = units[corner]
        number = np.divide(total, most, out=np.zeros_like(total), where=most > 0)
        apart[:, corner] += number
        filled += number
    room = filled <= corners.size + _FEASIBLE
    return np.where(room[:, corners.owner], apart, shares)
