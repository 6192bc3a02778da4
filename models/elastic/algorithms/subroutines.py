"""Algorithms 4-7 as printed, loop by loop, with their errors corrected.

No method calls them: `pricing.PricedServers` finds the same schedules without the loops, and tests
compare the two. Here the reader finds the paper's lines, and the study of Theorem 1 its variants.
E16, E17, ... are the paper's errata as numbered in `paper.toml`.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from schedgap.instances.elastic import Job
from schedgap.models.elastic.algorithms.pricing import PricedRun
from schedgap.models.elastic.modes import ElasticCluster, Mode, batch_slots, usable_types
from schedgap.models.elastic.placement import (
    TOLERANCE,
    Floats,
    ModeDemand,
    Placed,
    fits,
    ps_needed,
    tie_margin,
)


@dataclass(frozen=True, slots=True, eq=False)
class SubroutineInput:
    """Input of a subroutine: the cluster, prices and free amounts [t, h, r], and tau."""

    view: ElasticCluster
    price: Floats  # delta, per unit of demand as given in the file
    free: Floats  # omega = C - beta, in units of the cluster
    deadline: int  # tau

    def window(self, mode: Mode, start: int) -> tuple[Floats, Floats, Floats]:
        """Return the prices [h] of a worker and of a PS, and the free amounts [h, r], in a window.

        `start`: first slot, from 1.
        """
        slots, view = slice(start - 1, start - 1 + mode.duration), self.view
        price, free = self.price[slots].sum(axis=0), self.free[slots].min(axis=0)
        omega = price @ view.worker_demand[mode.worker_type]  # A6 L7, A7 L7, half open (E18)
        ps = view.ps_demand[mode.ps_type] if mode.ps_type is not None else np.zeros(price.shape[1])
        return omega, price @ ps, free

    def windows(
        self, job: Job, *, central: bool
    ) -> Iterator[tuple[Mode, int, tuple[Floats, Floats, Floats]]]:
        """Yield the modes and starts that the outer loops of Algorithms 4-7 go through.

        `job`: with all its types. `central`: q.
        """
        for m, p in usable_types(self.view, job):  # A4 L3-L4, A5 L3, A6 L3, A7 L3
            for N, L in self._sizes(job, m, p, central):  # A4 L5-L6, A6 L4-L5, A7 L4-L5
                mode = Mode(m, p, N, central, L)
                for start in range(1, self.deadline - L + 1):  # A4 L7, A6 L6, A7 L6
                    yield mode, start, self.window(mode, start)

    def _sizes(self, job: Job, m: int, p: int | None, central: bool) -> Iterator[tuple[int, int]]:
        """Yield numbers of workers with their durations.

        In the ring all numbers; otherwise the fewest workers of every duration, not only of the
        modes' durations: the others never cost less.
        """

        def needed(workers: int) -> float:
            [slots] = batch_slots(self.view, job, m, p, np.array([workers]), central)
            return job.work * float(slots) - TOLERANCE

        if p is None:
            for N in range(1, job.chunks + 1):
                yield N, max(1, math.ceil(needed(N) / N))
            return
        all_slots = needed(1)
        shortest, longest = (max(1, math.ceil(all_slots / N)) for N in (job.chunks, 1))
        for L in range(shortest, min(longest, self.deadline - 1) + 1):
            yield max(1, math.ceil(all_slots / L)), L


def greedy_split(
    demand: ModeDemand,
    omega: Floats,
    zeta: Floats,
    free: Floats,
    *,
    count_afresh: bool = True,
    leave_one: bool = True,
) -> Placed | None:
    """Return the placement that lines 8-33 of Algorithm 4 choose in one window.

    Parameters
    ----------
    demand : ModeDemand
        N, and the demands of a worker and a PS.
    omega, zeta : array [h]
        Price of one worker, and of one PS, in the window.
    free : array [h, r]
        Free amounts throughout the window.
    count_afresh : bool
        Reset the number of workers to place for each server of the PSs. The printed algorithm goes
        on with the number left by the previous server (E16), and its results need not be
        placements.
    leave_one : bool
        At most N - 1 workers on the server of the PSs. As printed it may be N, with no PS (E17).

    Returns
    -------
    Placed or None
        None when it finds no placement.

    Notes
    -----
    Source: Algorithm 4, lines 8-33. Neither optimal nor sure to find a placement (E19). Ties: the
    first server of the PSs in the sorted order.
    """
    assert demand.ps is not None
    N, b, B = demand.workers, demand.bandwidth, demand.ps_bandwidth
    fit = fits(free, demand.worker)
    best: Placed | None = None
    rest = N  # A4 L6: N^
    servers = np.argsort(omega, kind="stable").tolist()  # A4 L8
    for n in servers:  # A4 L9
        y, s = dict.fromkeys(servers, 0), 0  # A4 L10
        if count_afresh:
            rest = N  # E16
        for k in servers:  # A4 L11
            y[k] = min(int(fit[k]), rest)  # A4 L12-L13
            if k == n:  # A4 L14
                for g in range(min(y[k], N - 1 if leave_one else N) + 1):  # A4 L15
                    most = int(fits(free[n] - g * demand.worker, demand.ps))  # A4 L16
                    if most * B >= (N - g) * b - TOLERANCE:  # A4 L17
                        y[n] = g  # A4 L18
                        away = math.ceil(((N - g) * b - TOLERANCE) / B)
                        s = min(most, max(int(leave_one), away))  # A4 L19 (E17: at least 1)
                # A4 L20-L21
            rest -= y[k]  # A4 L22-L23
        # A4 L24
        if rest > 0 or s < 1:  # A4 L25
            continue  # A4 L26-L27: the cost is infinite
        cost = float(sum(omega[k] * y[k] for k in servers) + zeta[n] * s)  # A4 L28-L29
        if best is None or cost < best.cost - tie_margin(best.cost):  # A4 L30
            best = Placed(cost, {k: y[k] for k in sorted(y) if y[k]}, {n: s})  # A4 L31-L32
    return best  # A4 L33


def cheapest_split(given: SubroutineInput, job: Job) -> PricedRun | None:
    """Return the schedule of Algorithm 4, A_mincost1: q = 0, greedy placements.

    `given`: cluster, prices and free amounts. `job`: with all its types.
    """
    best: PricedRun | None = None  # A4 L1-L2: omega is given
    for mode, start, window in given.windows(job, central=False):  # A4 L3-L7
        placement = greedy_split(given.view.demand(mode), *window)  # A4 L8-L33
        best = _better(best, placement, mode, start)
    # A4 L34-L37
    return best  # A4 L38


def cheapest_central(given: SubroutineInput, job: Job) -> PricedRun | None:
    """Return the schedule of Algorithm 5, A_mincost2: q = 1, N workers and one PS (E20).

    `given`: cluster, prices and free amounts. `job`: with all its types.
    """
    best: PricedRun | None = None  # A5 L1-L2: omega is given
    for mode, start, (omega, zeta, free) in given.windows(job, central=True):  # A5 L3
        N, demand = mode.workers, given.view.demand(mode)
        assert demand.ps is not None
        for h in range(len(omega)):  # A5 L4
            placement = None  # A5 L5
            if (free[h] >= N * demand.worker + demand.ps).all():
                placement = Placed(float(N * omega[h] + zeta[h]), {h: N}, {h: 1})  # A5 L6
            best = _better(best, placement, mode, start)  # A5 L7-L10
        # A5 L11
    # A5 L12
    return best  # A5 L13


def cheapest_ring_central(given: SubroutineInput, job: Job) -> PricedRun | None:
    """Return the schedule of Algorithm 6, A_RAmincost1: q = 1, all workers on one server.

    `given`: cluster, prices and free amounts.
    """
    best: PricedRun | None = None  # A6 L1-L2
    for mode, start, (omega, _, free) in given.windows(job, central=True):  # A6 L3-L7
        N, fit = mode.workers, fits(free, given.view.demand(mode).worker)
        for h in range(len(omega)):  # A6 L8-L9
            y = min(int(fit[h]), N)  # A6 L10
            placement = None  # A6 L11-L12
            if y >= N:
                placement = Placed(float(N * omega[h]), {h: N}, {})  # A6 L13-L15
            best = _better(best, placement, mode, start)  # A6 L16-L18
        # A6 L19
    # A6 L20-L22
    return best  # A6 L23


def cheapest_ring_split(given: SubroutineInput, job: Job) -> PricedRun | None:
    """Return the schedule of Algorithm 7, A_RAmincost2: q = 0, the cheapest servers first (E18).

    `given`: cluster, prices and free amounts.
    """
    best: PricedRun | None = None  # A7 L1-L2
    for mode, start, (omega, _, free) in given.windows(job, central=False):  # A7 L3-L7
        fit = fits(free, given.view.demand(mode).worker)
        rest, y = mode.workers, {}  # E18: N^ = N, for each start
        for h in np.argsort(omega, kind="stable").tolist():  # A7 L8-L9, sorted (E18)
            if count := min(int(fit[h]), rest):  # A7 L10-L11
                y[h] = count
            rest -= count  # A7 L12
        # A7 L13
        placement = None  # A7 L14-L15
        if rest == 0 and len(y) > 1:  # E18: a split placement has two servers
            cost = float(sum(omega[h] * count for h, count in y.items()))
            placement = Placed(cost, dict(sorted(y.items())), {})  # A7 L16-L18
        best = _better(best, placement, mode, start)  # A7 L19-L21
    # A7 L22-L24
    return best  # A7 L25


def _better(
    best: PricedRun | None, placement: Placed | None, mode: Mode, start: int
) -> PricedRun | None:
    """Return the cheaper schedule; the earlier one when the costs are equal (E21)."""
    if placement is None or (
        best is not None and not placement.cost < best.cost - tie_margin(best.cost)
    ):
        return best
    return PricedRun(placement.cost, mode, start, *placement[1:])


def best_split(demand: ModeDemand, omega: Floats, zeta: Floats, free: Floats) -> Placed | None:
    """Return the cheapest placement of exactly N workers on >= 2 servers, by enumeration.

    All numbers of workers and PSs on all servers are tried, with PSs on any number of servers; for
    a few servers and workers only.

    Parameters
    ----------
    demand : ModeDemand
        N, and the demands of a worker and a PS.
    omega, zeta : array [h]
        Price of one worker, and of one PS, in the window.
    free : array [h, r]
        Free amounts throughout the window.

    Notes
    -----
    Source: (13) for q = 0: (13c) with equality, as more workers cost more; (13d), (13e), capacity.
    """
    assert demand.ps is not None
    N, hosts = demand.workers, len(omega)
    max_ps = ps_needed(demand.bandwidth, demand.ps_bandwidth, N)
    # All vectors [i, h] of numbers of workers, and of PSs, by server.
    y, s = (np.indices((most + 1,) * hosts).reshape(hosts, -1).T for most in (N, max_ps))
    y, s = y[y.sum(axis=1) == N], s[s.sum(axis=1) >= 1]
    served = (N - y[:, None]) * demand.bandwidth <= s[None] * demand.ps_bandwidth + TOLERANCE
    used = y[:, None, :, None] * demand.worker + s[None, :, :, None] * demand.ps
    feasible = (served | (s[None] == 0)).all(axis=2) & (used <= free).all(axis=(2, 3))
    feasible &= ((y[:, None] > 0) | (s[None] > 0)).sum(axis=2) >= 2
    cost = np.where(feasible, (y @ omega)[:, None] + (s @ zeta)[None], np.inf)
    a, c = np.unravel_index(int(cost.argmin()), cost.shape)
    if not np.isfinite(cost[a, c]):
        return None
    counts = [
        {h: int(count) for h, count in enumerate(row.tolist()) if count} for row in (y[a], s[c])
    ]
    return Placed(float(cost[a, c]), *counts)
