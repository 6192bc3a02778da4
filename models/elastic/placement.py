"""The cheapest placement of a fixed number of workers in a fixed window, for many windows at once.

Everything is on plain arrays: a row t is one window (one start slot), a column h one server. Of
parameter servers (PSs) only those on one server n matter: (2i) binds every server with PSs by
itself, so dropping all others keeps a placement feasible. Section 6 of the paper has no PSs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Rule = Literal["exact", "repaired"]
TOLERANCE = 1e-6  # of (2i) and (2h), as in the rules
TIE = 1e-9  # a cost is less than another one when it is less by this, relative to values over 1


def tie_margin(cost: float) -> float:
    """Return by how much a cost must be undercut to count as undercut."""
    return TIE * max(1.0, abs(cost))


def fits(free: Floats, demand: Floats) -> Ints:
    """Return how many containers fit into free amounts.

    Parameters
    ----------
    free : array [..., r]
        What is left of each resource; below 0 counts as 0.
    demand : array [r]
        Of one container, same units; some entry is > 0.
    """
    needed = np.flatnonzero(demand > 0)
    counts = np.asarray(np.floor(free[..., needed[0]] / demand[needed[0]]))
    for r in needed[1:]:
        np.minimum(counts, np.floor(free[..., r] / demand[r]), out=counts)
    result: Ints = np.maximum(counts, 0).astype(np.int64)
    return result


def ps_needed(bandwidth: float, ps_bandwidth: float, away: int) -> int:
    """Return the least number of PSs on a server for workers on other servers, (2i), at least 1.

    Parameters
    ----------
    bandwidth, ps_bandwidth : float
        b_m of a worker and B_p of a PS, in units of the bandwidth resource.
    away : int
        Workers on other servers.
    """
    return max(1, int(np.ceil((away * bandwidth - TOLERANCE) / ps_bandwidth)))


def workers_served(bandwidth: float, ps_bandwidth: float, ps: int) -> int:
    """Return the most workers on other servers that so many PSs on one server can serve, (2i)."""
    return int(np.floor((ps * ps_bandwidth + TOLERANCE) / bandwidth))


@dataclass(frozen=True, slots=True, eq=False)
class ModeDemand:
    """What a job of a fixed mode asks for."""

    workers: int  # N
    worker: Floats  # [r] e_m, in the units of the free amounts
    ps: Floats | None = None  # [r] z_p; None in the ring
    bandwidth: float = 1.0  # b_m
    ps_bandwidth: float = 1.0  # B_p

    def most_ps(self) -> int:
        """PSs that serve all workers from elsewhere."""
        return ps_needed(self.bandwidth, self.ps_bandwidth, self.workers)


class SplitPlacements(NamedTuple):
    """The cheapest split placement in each window; where there is none the cost is infinite."""

    cost: Floats  # [t]
    server: Ints  # [t] n, the server of the PSs; -1 in the ring
    ps: Ints  # [t] s, PSs on it
    beside: Ints  # [t] g, workers on it


class GreedyFill:
    """Workers on the cheapest servers first, in each window t: F(q), and what comes before each.

    Servers are sorted by price, equal ones stay in list order. Arrays [t, k] are in that order.
    """

    def __init__(self, omega: Floats, most: Ints, workers: int) -> None:
        """Sort the servers.

        Parameters
        ----------
        omega : array [t, h]
            Price of one worker in the window.
        most : array [t, h]
            Workers that fit throughout the window.
        workers : int
            N; no server is counted for more.
        """
        self.order = np.argsort(omega, axis=1, kind="stable")
        self.omega = np.take_along_axis(omega, self.order, 1)
        self.most = np.take_along_axis(np.minimum(most, workers), self.order, 1)
        self.upto = np.cumsum(self.most, axis=1)  # workers on the first k + 1 servers
        self.before = before(self.upto)  # and on the first k
        self.paid = before(np.cumsum(self.most * self.omega, axis=1))  # the cost of these
        self.total = self.upto[:, -1]
        self._span = int(self.total.max(initial=0)) + 1
        self._flat = (self.upto + self._span * np.arange(len(omega))[:, None]).ravel()

    def cost(self, rows: Ints, workers: Ints) -> Floats:
        """Return F(q) in given windows for q workers, 0 <= q <= total."""
        at = np.searchsorted(self._flat, rows * self._span + workers)
        rest = workers - self.before.ravel()[at]
        cost: Floats = self.paid.ravel()[at] + rest * self.omega.ravel()[at]
        return cost


def before(running: NDArray[Any]) -> NDArray[Any]:
    """Return running totals [t, k] without the own term: 0, then what was reached."""
    shifted = np.zeros_like(running)
    shifted[:, 1:] = running[:, :-1]
    return shifted


def ring_split(fill: GreedyFill, workers: int) -> SplitPlacements:
    """Return the cheapest fill on at least two servers in each window (Algorithm 7).

    A fill that one server holds is no split placement; the central one there costs no more.
    """
    rows = np.flatnonzero(fill.total >= workers)
    rows = rows[fill.most[rows, _first_used(fill, rows)] < workers]
    cost = np.full(len(fill.total), np.inf)
    cost[rows] = fill.cost(rows, np.full(len(rows), workers))
    none = np.full(len(cost), -1)
    return SplitPlacements(cost, none, np.zeros_like(none), np.zeros_like(none))


def ps_split(
    fill: GreedyFill,
    demand: ModeDemand,
    zeta: Floats,
    free: Floats,
    *,
    rule: Rule = "exact",
    below: float = np.inf,
) -> SplitPlacements:
    """Return the cheapest placement on at least two servers in each window, problem (13).

    Parameters
    ----------
    fill : Fill
        Of the demand's workers.
    zeta : array [t, h]
        Price of one PS in the window.
    free : array [t, h, r]
        What is free throughout the window.
    rule : "exact" or "repaired"
        `exact`: for each server n of the PSs the best number of workers beside them. `repaired`:
        Algorithm 4 with N^ reset for each n; neither optimal nor always successful (E19).
    below : float
        Placements that do not cost less need not be found.

    Notes
    -----
    Source: Algorithm 4. With the PSs on n fixed, the cost of g workers beside them is convex in g:
    the others go to the cheapest servers. So the best g is the one that the fill would put on n,
    moved into the range that capacity and (2i) leave. Ties: the first server in the sorted order,
    then the fewest PSs.
    """
    assert demand.ps is not None
    N, windows = demand.workers, len(fill.total)
    found = SplitPlacements(np.full(windows, np.inf), *(np.full(windows, -1) for _ in range(3)))
    rows = np.flatnonzero(fill.total >= N)
    if not len(rows):
        return found
    base = fill.cost(rows, np.full(len(rows), N))
    holds = (free[rows] >= demand.ps).all(axis=2)
    holds &= base[:, None] + zeta[rows] < below
    holds = np.take_along_axis(holds, fill.order[rows], 1)
    at, k = np.nonzero(holds)  # pairs of a window and the k-th cheapest server, the latter as n
    t = rows[at]
    if not len(t):
        return found
    place = _best_beside if rule == "exact" else _most_beside
    n = fill.order[t, k]
    cost, s, g = place(fill, demand, t, k, zeta[t, n], free[t, n])
    # The first n of each window whose cost nothing undercuts.
    least = np.full(windows, np.inf)
    np.minimum.at(least, t, cost)
    finite = np.isfinite(cost)
    bar = least[t] + TIE * np.maximum(1.0, np.abs(least[t]))
    good = np.flatnonzero(finite & (cost <= bar))
    first = good[np.unique(t[good], return_index=True)[1]]
    for array, values in zip(found, (cost, n, s, g), strict=True):
        array[t[first]] = values[first]
    return found


def _best_beside(
    fill: GreedyFill, demand: ModeDemand, t: Ints, k: Ints, price: Floats, free: Floats
) -> tuple[Floats, Ints, Ints]:
    """Return the least cost, s and g with all PSs on the k-th server of window t, pair by pair."""
    N = demand.workers
    assert demand.ps is not None
    cost, s_best, g_best = np.full(len(t), np.inf), np.zeros_like(t), np.zeros_like(t)
    own, omega, total = fill.most[t, k], fill.omega[t, k], fill.total[t]
    ahead = fill.before[t, k]
    wanted = np.minimum(own, np.maximum(0, N - ahead))  # g of the plain fill
    room = fits(free, demand.ps)
    left = np.arange(len(t))  # pairs for which more PSs may help
    for s in range(1, demand.most_ps() + 1):
        left = left[room[left] >= s]
        if not len(left):
            break
        beside = fits(free[left] - s * demand.ps, demand.worker)
        served = workers_served(demand.bandwidth, demand.ps_bandwidth, s)
        low = np.maximum(max(0, N - served), N - (total[left] - own[left]))
        high = np.minimum(np.minimum(own[left], N - 1), beside)
        able = low <= high
        i = left[able]
        g = np.clip(wanted[i], low[able], high[able])
        away = N - g
        skip = away > ahead[i]  # the fill passes n: leave out what it would put there
        others = fill.cost(t[i], away + np.where(skip, own[i], 0))
        others -= np.where(skip, own[i] * omega[i], 0.0)
        value = g * omega[i] + s * price[i] + others
        better = value < cost[i] - TIE * np.maximum(1.0, np.abs(value))
        i, g = i[better], g[better]
        cost[i], s_best[i], g_best[i] = value[better], s, g
        # A pair whose g is that of the plain fill, or that no worker can leave, is done.
        settled = (able & (low <= wanted[left])) | (
            high < np.maximum(0, N - total[left] + own[left])
        )
        left = left[~settled]
    return cost, s_best, g_best


def _most_beside(
    fill: GreedyFill, demand: ModeDemand, t: Ints, k: Ints, price: Floats, free: Floats
) -> tuple[Floats, Ints, Ints]:
    """Algorithm 4's greedy choice of g on the k-th server, N^ reset and at most N - 1 (E16, E17).

    Cheaper servers are filled first; on n as many workers as leave room for the PSs that serve the
    rest; then the servers after n.
    """
    N = demand.workers
    assert demand.ps is not None
    own, omega, total = fill.most[t, k], fill.omega[t, k], fill.total[t]
    ahead = fill.before[t, k]
    rest = np.maximum(0, N - ahead)  # N^ when the walk comes to n
    g = np.minimum(np.minimum(own, rest), N - 1)
    s = np.zeros_like(g)
    left = np.arange(len(t))
    while len(left):
        away = (N - g[left]) * demand.bandwidth
        s[left] = np.maximum(1, np.ceil((away - TOLERANCE) / demand.ps_bandwidth))
        after = free[left] - g[left, None] * demand.worker - s[left, None] * demand.ps
        left = left[(after < 0).any(axis=1)]
        g[left] -= 1
        left = left[g[left] >= 0]
    rest -= g
    able = (g >= 0) & (rest <= total - ahead - own)
    cost = np.full(len(t), np.inf)
    i = np.flatnonzero(able)
    cost[i] = (
        fill.cost(t[i], np.minimum(N, ahead[i]))
        + g[i] * omega[i]
        + s[i] * price[i]
        + fill.cost(t[i], ahead[i] + own[i] + rest[i])
        - fill.cost(t[i], ahead[i] + own[i])
    )
    return cost, s, g


def counts(
    fill: GreedyFill, demand: ModeDemand, found: SplitPlacements, t: int
) -> tuple[dict[int, int], dict[int, int]]:
    """Return the workers and PSs by server of the placement found in window t.

    `repaired` and `exact` differ in g alone: around n, both fill the cheapest servers first.
    """
    n, g = int(found.server[t]), int(found.beside[t])
    rest = demand.workers - g
    workers = {n: g} if g else {}
    for h, most in zip(fill.order[t].tolist(), fill.most[t].tolist(), strict=True):
        if h != n and most and rest:
            workers[h] = min(most, rest)
            rest -= workers[h]
    ps: Mapping[int, int] = {n: int(found.ps[t])} if demand.ps is not None else {}
    return dict(sorted(workers.items())), dict(ps)


def _first_used(fill: GreedyFill, rows: Ints) -> Ints:
    """Return the first server, in the sorted order, that holds any worker."""
    first: Ints = (fill.most[rows] > 0).argmax(axis=1)
    return first


def cheapest(
    demand: ModeDemand,
    omega: Floats,
    zeta: Floats,
    free: Floats,
    *,
    central: bool = False,
    rule: Rule = "exact",
    fill: GreedyFill | None = None,
) -> tuple[float, dict[int, int], dict[int, int]] | None:
    """Return the cheapest placement in one window: its cost, workers by server, PSs by server.

    Parameters
    ----------
    omega, zeta : array [h]
        Price of one worker, and of one PS, in the window.
    free : array [h, r]
        What is free throughout the window.
    central : bool
        Everything on one server, or on at least two.
    fill : Fill or None
        Of the demand's workers in this window, where it is known.

    Notes
    -----
    Source: Algorithms 4-7 for one window. None when there is no such placement.
    """
    if central:
        cost = central_costs(demand, omega, zeta, free)
        h = int(np.argmax(cost <= cost.min() + tie_margin(float(cost.min()))))
        if not np.isfinite(cost[h]):
            return None
        return float(cost[h]), {h: demand.workers}, {} if demand.ps is None else {h: 1}
    if fill is None:
        fill = GreedyFill(omega[None], fits(free, demand.worker)[None], demand.workers)
    if demand.ps is None:
        found = ring_split(fill, demand.workers)
    else:
        found = ps_split(fill, demand, zeta[None], free[None], rule=rule)
    if not np.isfinite(found.cost[0]):
        return None
    return float(found.cost[0]), *counts(fill, demand, found, 0)


def central_costs(demand: ModeDemand, omega: Floats, zeta: Floats, free: Floats) -> Floats:
    """Return the cost of all on one server, for each one, infinite where it does not fit.

    Parameters
    ----------
    omega, zeta : array [..., h]
        Price of one worker, and of one PS, in the window.
    free : array [..., h, r]
        What is free throughout the window.

    Notes
    -----
    Source: Algorithm 5 with one PS (E20), Algorithm 6 without.
    """
    needed = demand.workers * demand.worker
    cost = demand.workers * omega
    if demand.ps is not None:
        needed, cost = needed + demand.ps, cost + zeta
    result: Floats = np.where((free >= needed).all(axis=-1), cost, np.inf)
    return result
