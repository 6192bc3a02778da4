"""Cheapest placement of a fixed number of workers in a fixed window, for many windows at once.

Arrays have a row t for each window (one start slot) and a column h for each server. All parameter
servers (PSs) of a job are placed on one server n. This is enough: (2i) restricts every server with
PSs separately, so a placement stays feasible without the PSs of all other servers. The ring of
Section 6 has no PSs.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Number = TypeVar("Number", np.float64, np.int64)
Rule = Annotated[
    Literal["exact", "repaired"],
    "optimal split placements (ours, E19), or Algorithm 4 with its errors corrected",
]
TOLERANCE = 1e-6  # slack in (2i) and (2h), the same as in the rules
MOST = 10**15  # containers on a server; a larger number counts as this
TIE = 1e-9  # costs that differ by less are equal; relative to costs above 1


def tie_margin(cost: float) -> float:
    """Return by how much a cost must be undercut for another one to count as less.

    `cost`: in the unit of the objective.
    """
    return TIE * max(1.0, abs(cost))


def fits(free: Floats, demand: Floats) -> Ints:
    """Return how many containers of one kind fit into free amounts.

    `free` [..., r]: free amount of each resource; below 0 counts as 0. `demand` [r]: demand of one
    container, in the same units; some entry is > 0.
    """
    needed = np.flatnonzero(demand > 0)
    counts = np.asarray(np.floor(free[..., needed[0]] / demand[needed[0]]))
    for r in needed[1:]:
        np.minimum(counts, np.floor(free[..., r] / demand[r]), out=counts)
    result: Ints = np.clip(counts, 0, MOST).astype(np.int64)
    return result


def ps_numbers(bandwidth: Floats | float, ps_bandwidth: Floats | float, away: Ints) -> Floats:
    """Return the smallest numbers of PSs, at least 1, that serve workers on other servers, (2i).

    `bandwidth`, `ps_bandwidth`: b_m of a worker and B_p of a PS, in units of the bandwidth
    resource. `away`: workers on other servers.
    """
    numbers: Floats = np.maximum(1.0, np.ceil((away * bandwidth - TOLERANCE) / ps_bandwidth))
    return numbers


def ps_needed(bandwidth: float, ps_bandwidth: float, away: int) -> int:
    """Return the number of `ps_numbers` for one number of workers."""
    return max(1, math.ceil((away * bandwidth - TOLERANCE) / ps_bandwidth))


def workers_served(bandwidth: float, ps_bandwidth: float, ps: int) -> int:
    """Return how many workers on other servers the PSs on one server can serve, (2i).

    `bandwidth`, `ps_bandwidth`: b_m of a worker and B_p of a PS, in units of the bandwidth
    resource. `ps`: PSs on the server.
    """
    return int(np.floor((ps * ps_bandwidth + TOLERANCE) / bandwidth))


@dataclass(frozen=True, slots=True, eq=False)
class ModeDemand:
    """Number of workers of a mode, and the demand of one worker and one PS."""

    workers: int  # N
    worker: Floats  # [r] e_m, in the units of the free amounts
    ps: Floats | None = None  # [r] z_p; None in the ring
    bandwidth: float = 1.0  # b_m
    ps_bandwidth: float = 1.0  # B_p

    def most_ps(self) -> int:
        """Return how many PSs suffice when all workers are on other servers."""
        return ps_needed(self.bandwidth, self.ps_bandwidth, self.workers)


class SplitPlacements(NamedTuple):
    """The cheapest split placement in each window; where none exists, its cost is infinite."""

    cost: Floats  # [t]
    server: Ints  # [t] n, the server of the PSs; -1 in the ring
    ps: Ints  # [t] s, PSs on n
    workers_on_n: Ints  # [t] g


class GreedyFill:
    """Workers on the cheapest servers first, in each window t: the cost F(q) of q workers.

    Servers are sorted by price, equal ones in list order; arrays [t, k] are in this order. F is
    convex and piecewise linear in q, with a breakpoint wherever a server is full.
    """

    def __init__(self, omega: Floats, most: Ints, workers: int) -> None:
        """Sort the servers.

        `omega` [t, h]: price of one worker in the window. `most` [t, h]: workers that fit
        throughout the window. `workers`: N; no server is counted for more.
        """
        self.order = np.argsort(omega, axis=1, kind="stable")
        self.omega = np.take_along_axis(omega, self.order, 1)
        self.most = np.take_along_axis(np.minimum(most, workers), self.order, 1)
        self.upto = np.cumsum(self.most, axis=1)  # workers on the first k + 1 servers
        self.before = exclusive_sums(self.upto)  # workers on the first k servers
        self.paid = exclusive_sums(np.cumsum(self.most * self.omega, axis=1))  # their cost
        self.total = self.upto[:, -1]
        # One search serves all windows: row t of `upto` is shifted by t times more than any total.
        self._span = workers * omega.shape[1] + 1
        self._ascending = self.upto + self._span * np.arange(len(omega))[:, None]

    def replace(self, rows: Ints, changed: "GreedyFill") -> None:
        """Replace some windows.

        `rows` [i]: windows t. `changed`: a fill of these windows only, for as many workers.
        """
        for name in ("order", "omega", "most", "upto", "before", "paid", "total"):
            getattr(self, name)[rows] = getattr(changed, name)
        self._ascending[rows] = self.upto[rows] + self._span * rows[:, None]

    def cost(self, rows: Ints, workers: Ints) -> Floats:
        """Return F(q), the cost of q workers on the cheapest servers, for pairs (window, q).

        `rows` [i]: windows t. `workers` [i]: q in the window, 0 <= q <= total.
        """
        at = np.searchsorted(self._ascending.ravel(), rows * self._span + workers)
        rest = workers - self.before.ravel()[at]
        cost: Floats = self.paid.ravel()[at] + rest * self.omega.ravel()[at]
        return cost

    def cost_elsewhere(self, rows: Ints, k: Ints, workers: Ints) -> Floats:
        """Return the cost of workers on the cheapest servers apart from one, for each window.

        Where the fill reaches beyond this server, it counts as full, and its workers are paid back.

        `rows` [i]: windows t. `k` [i]: the server, in the order of prices. `workers` [i]: at most
        as many as the others hold.
        """
        full = np.where(workers > self.before[rows, k], self.most[rows, k], 0)
        cost: Floats = self.cost(rows, workers + full) - full * self.omega[rows, k]
        return cost


def exclusive_sums(running: NDArray[Number]) -> NDArray[Number]:
    """Shift running totals [t, k] by one column: column k then sums the columns before k.

    `running` [t, k]: cumulative sums along k.
    """
    shifted = np.zeros_like(running)
    shifted[:, 1:] = running[:, :-1]
    return shifted


def ring_split(fill: GreedyFill, workers: int) -> SplitPlacements:
    """Return the cheapest fill of at least two servers in each window (Algorithm 7).

    A fill that uses one server only is not split: the central placement there costs no more.

    `fill`: of the workers of the mode. `workers`: N.
    """
    rows = np.flatnonzero(fill.total >= workers)
    first = (fill.most[rows] > 0).argmax(axis=1)  # the first server that holds a worker
    rows = rows[fill.most[rows, first] < workers]
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

    `demand`: workers and PSs of the mode. `zeta` [t, h]: price of one PS in the window. `free` [t,
    h, r]: free amounts throughout the window. `rule`: `exact`: for each server n of the PSs the
    best number g of workers on n. `repaired`: Algorithm 4 with N^ reset for each n; neither optimal
    nor always successful (E19). `below`: placements that do not cost less may be left out.

    Notes
    -----
    Source: Algorithm 4. Let the PSs be on n, and their number s be fixed. All other workers go to
    the cheapest servers, so the cost of g workers on n is convex in g. So the best g is the number
    that the greedy fill would put on n, clipped to the range that capacity and (2i) allow. Ties:
    the first server in the sorted order, then the fewest PSs.
    """
    assert demand.ps is not None
    N, windows = demand.workers, len(fill.total)
    result = SplitPlacements(np.full(windows, np.inf), *(np.full(windows, -1) for _ in range(3)))
    rows = np.flatnonzero(fill.total >= N)
    if not len(rows):
        return result
    base = fill.cost(rows, np.full(len(rows), N))
    holds = (free[rows] >= demand.ps).all(axis=2)
    holds &= base[:, None] + zeta[rows] < below
    holds = np.take_along_axis(holds, fill.order[rows], 1)
    at, k = np.nonzero(holds)  # pairs (window, n): n is the k-th cheapest server
    t = rows[at]
    if not len(t):
        return result
    place = _optimal_split if rule == "exact" else _greedy_split
    n = fill.order[t, k]
    cost, s, g = place(fill, demand, t, k, zeta[t, n], free[t, n])
    # Of each window the first n whose cost no other n undercuts.
    cheapest_cost = np.full(windows, np.inf)
    np.minimum.at(cheapest_cost, t, cost)
    finite = np.isfinite(cost)
    limit = cheapest_cost[t] + TIE * np.maximum(1.0, np.abs(cheapest_cost[t]))
    candidates = np.flatnonzero(finite & (cost <= limit))
    first = candidates[np.unique(t[candidates], return_index=True)[1]]
    for array, values in zip(result, (cost, n, s, g), strict=True):
        array[t[first]] = values[first]
    return result


def _optimal_split(
    fill: GreedyFill, demand: ModeDemand, t: Ints, k: Ints, price: Floats, free: Floats
) -> tuple[Floats, Ints, Ints]:
    """Return for each pair (t, k) the least cost, s and g with all PSs on server k of window t."""
    N = demand.workers
    assert demand.ps is not None
    cost, s_best, g_best = np.full(len(t), np.inf), np.zeros_like(t), np.zeros_like(t)
    own, omega, total = fill.most[t, k], fill.omega[t, k], fill.total[t]
    ahead = fill.before[t, k]  # workers that the fill puts on cheaper servers than n
    greedy_g = np.minimum(own, np.maximum(0, N - ahead))  # g of the fill without PSs
    ps_fit = fits(free, demand.ps)
    undecided = np.arange(len(t))  # pairs for which more PSs may still reduce the cost
    for s in range(1, demand.most_ps() + 1):
        undecided = undecided[ps_fit[undecided] >= s]
        if not len(undecided):
            break
        # low <= g <= high: s PSs serve N - g workers, the other servers hold N - g, and n holds
        # g workers together with s PSs, with at least one worker elsewhere.
        fit_with_ps = fits(free[undecided] - s * demand.ps, demand.worker)
        served = workers_served(demand.bandwidth, demand.ps_bandwidth, s)
        low = np.maximum(max(0, N - served), N - (total[undecided] - own[undecided]))
        high = np.minimum(np.minimum(own[undecided], N - 1), fit_with_ps)
        able = low <= high
        i = undecided[able]
        g = np.clip(greedy_g[i], low[able], high[able])
        value = g * omega[i] + s * price[i] + fill.cost_elsewhere(t[i], k[i], N - g)
        better = value < cost[i] - TIE * np.maximum(1.0, np.abs(value))
        i, g = i[better], g[better]
        cost[i], s_best[i], g_best[i] = value[better], s, g
        # More PSs do not help a pair whose lower limit no longer exceeds the greedy g, nor one
        # whose n must take more workers (the other servers are full) than fit with s PSs.
        settled = (able & (low <= greedy_g[undecided])) | (
            high < np.maximum(0, N - total[undecided] + own[undecided])
        )
        undecided = undecided[~settled]
    return cost, s_best, g_best


def _greedy_split(
    fill: GreedyFill, demand: ModeDemand, t: Ints, k: Ints, price: Floats, free: Floats
) -> tuple[Floats, Ints, Ints]:
    """Return for each pair (t, k) cost, s and g by the greedy rule of Algorithm 4 (E16, E17).

    Cheaper servers are filled first. Then n gets as many workers as leave space for the PSs that
    serve the others, at most N - 1. Then the servers after n are filled.
    """
    N = demand.workers
    assert demand.ps is not None
    own, omega, total = fill.most[t, k], fill.omega[t, k], fill.total[t]
    ahead = fill.before[t, k]
    rest = np.maximum(0, N - ahead)  # N^ when the loop reaches n
    g = np.minimum(np.minimum(own, rest), N - 1)
    s = np.zeros_like(g)
    too_full = np.arange(len(t))  # pairs whose g workers and s PSs do not fit on n
    while len(too_full):
        s[too_full] = ps_numbers(demand.bandwidth, demand.ps_bandwidth, N - g[too_full])
        used = g[too_full, None] * demand.worker + s[too_full, None] * demand.ps
        too_full = too_full[(free[too_full] - used < 0).any(axis=1)]
        g[too_full] -= 1
        too_full = too_full[g[too_full] >= 0]
    rest -= g
    able = (g >= 0) & (rest <= total - ahead - own)
    cost = np.full(len(t), np.inf)
    i = np.flatnonzero(able)
    cost[i] = g[i] * omega[i] + s[i] * price[i] + fill.cost_elsewhere(t[i], k[i], N - g[i])
    return cost, s, g


def counts(
    fill: GreedyFill, demand: ModeDemand, found: SplitPlacements, t: int
) -> tuple[dict[int, int], dict[int, int]]:
    """Return the workers and the PSs by server of the split placement in one window.

    Both rules fill the cheapest servers first, apart from n; they differ in g alone.

    `fill`: the fill from which `found` was computed. `demand`: workers and PSs of the mode.
    `found`: of all windows.
    """
    n, g = int(found.server[t]), int(found.workers_on_n[t])
    rest = demand.workers - g
    workers = {n: g} if g else {}
    for h, most in zip(fill.order[t].tolist(), fill.most[t].tolist(), strict=True):
        if h != n and most and rest:
            workers[h] = min(most, rest)
            rest -= workers[h]
    ps: Mapping[int, int] = {n: int(found.ps[t])} if demand.ps is not None else {}
    return dict(sorted(workers.items())), dict(ps)


class Placed(NamedTuple):
    """The placement of a job in one window: workers and PSs by index of server, with their cost."""

    cost: float
    workers: dict[int, int]
    ps: dict[int, int]


def cheapest_in_windows(
    demand: ModeDemand,
    omega: Floats,
    zeta: Floats,
    free: Floats,
    *,
    central: bool = False,
    rule: Rule = "exact",
    below: float = np.inf,
) -> tuple[Floats, Callable[[int], Placed]]:
    """Return [t] the least cost in each window, infinite without a placement, and the placements.

    `demand`: workers and PSs of the mode. `omega`, `zeta` [t, h]: price of one worker, and of one
    PS, in the window. `free` [t, h, r]: free amounts throughout the window. `central`: everything
    on one server, or on at least two. `rule`: as in `ps_split`. `below`: split placements that do
    not cost less may be left out.

    Notes
    -----
    Source: Algorithms 4-7 for one window.
    """
    if central:
        costs = central_costs(demand, omega, zeta, free)
        least = costs.min(axis=1)

        def on_one_server(t: int) -> Placed:
            h = int(np.argmax(costs[t] <= least[t] + tie_margin(float(least[t]))))
            ps = {} if demand.ps is None else {h: 1}
            return Placed(float(costs[t, h]), {h: demand.workers}, ps)

        return least, on_one_server
    fill = GreedyFill(omega, fits(free, demand.worker), demand.workers)
    if demand.ps is None:
        found = ring_split(fill, demand.workers)
    else:
        found = ps_split(fill, demand, zeta, free, rule=rule, below=below)
    return found.cost, lambda t: Placed(float(found.cost[t]), *counts(fill, demand, found, t))


def cheapest(
    demand: ModeDemand,
    omega: Floats,
    zeta: Floats,
    free: Floats,
    *,
    central: bool = False,
    rule: Rule = "exact",
) -> Placed | None:
    """Return the cheapest placement in one window, or None when there is none.

    `omega`, `zeta` [h], `free` [h, r]: of the window; all else as in `cheapest_in_windows`.
    """
    cost, placed = cheapest_in_windows(
        demand, omega[None], zeta[None], free[None], central=central, rule=rule
    )
    return placed(0) if np.isfinite(cost[0]) else None


def central_costs(demand: ModeDemand, omega: Floats, zeta: Floats, free: Floats) -> Floats:
    """Return the cost of the whole job on each server alone; infinite where it does not fit.

    `demand`: workers and PSs of the mode. `omega`, `zeta` [..., h]: price of one worker, and of one
    PS, in the window. `free` [..., h, r]: free amounts throughout the window.

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
