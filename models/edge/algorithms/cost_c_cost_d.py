"""Algorithms 3 and 4, COST_C and COST_D, as printed; Algorithm 4 with minimal repairs.

Used by `a-online-printed` only; elsewhere `cheapest_schedule.PricingProblem` computes the cheapest
schedule exactly. E22, E23, ... are errata of the paper as numbered in `paper.toml`.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedgap.models.edge.algorithms.cheapest_schedule import (
    DECIMALS,
    Floats,
    Ints,
    PricedPlacement,
    PricingProblem,
    fewest_first,
)
from schedgap.models.edge.modes import JobMode

Bools = NDArray[np.bool_]


class WindowPrices(NamedTuple):
    """Input of a subroutine for the window tau_i + 1..c_j: arrays [s] over all servers."""

    ready: Bools  # the data are there in time
    worker_first: Floats  # lambda, mu in slot tau_i + 1, for the printed tau_i (E23); inf: W = 0
    ps_first: Floats
    worker: Floats  # lambda, mu summed over the window
    ps: Floats
    free_workers: Ints  # throughout the window
    free_ps: Ints


class ReportedPlacement(NamedTuple):
    """A placement with its cost as a subroutine reports it, which may differ from the true one."""

    cost: float
    workers: dict[int, int]
    ps: int


def cost_c(given: WindowPrices, n: int) -> ReportedPlacement | None:
    """Return n workers and the PS on the server that is cheapest in the first slot, or None.

    Source: Algorithm 3.

    `given`: prices and free units. `n`: workers.
    """
    # A3 L1-L2: the window is given
    fits = given.ready & (given.free_workers >= n) & (given.free_ps >= 1)  # A3 L3
    if not fits.any():  # A3 L4
        return None  # A3 L5
    # A3 L6
    rank = np.where(fits, given.worker_first * n + given.ps_first, np.inf)
    s = int(np.argmin(np.round(rank, DECIMALS)))  # A3 L7: s_1
    return ReportedPlacement(float(given.worker[s] * n + given.ps[s]), {s: n}, s)  # A3 L8-L10


def cost_d(given: WindowPrices, n: int) -> ReportedPlacement | None:
    """Return n workers on any servers and the PS on one as Algorithm 4 finds them, or None.

    `given`: prices and free units. `n`: workers.

    Notes
    -----
    Source: Algorithm 4, with two repairs. The PS is present on entry of line 19, and line 28 stores
    y' (E27). Without them, no placement of the second loop has a PS. The rest is literal. Moves of
    workers may increase the cost, and are credited with the PS's price for every worker (E26).
    Moves of a server onto itself stay. Nothing is stored if the inner loop ends without a break
    (E27).
    """
    # A4 L1-L2: the window is given
    ready = np.flatnonzero(given.ready)
    rank = np.round(given.worker_first[ready], DECIMALS)
    servers = ready[np.argsort(rank, kind="stable")].tolist()  # A4 L3
    free, total = given.free_workers.tolist(), given.ps.tolist()
    lam, mu = given.worker_first.tolist(), given.ps_first.tolist()
    y: dict[int, int] = {}  # workers by used server
    rest, z = n, 0  # D'_u, and the position of the last used server s_z
    for i, s in enumerate(servers):  # A4 L4 (E25)
        if count := min(free[s], rest):  # A4 L5
            y[s] = count
            rest -= count  # A4 L6
            z = i
    # A4 L7
    if rest > 0:  # A4 L8
        return None  # A4 L9-L10
    worker_cost = sum(float(given.worker[s]) * count for s, count in y.items())  # A4 L11
    placements: list[ReportedPlacement] = []  # L
    # A4 L12: z
    for s in servers[:z]:  # A4 L13
        if given.free_ps[s] >= 1:  # A4 L14
            placements.append(ReportedPlacement(worker_cost + total[s], _used(y), s))  # A4 L15
        # A4 L16
    # A4 L17
    for one in servers[z:]:  # A4 L18
        free_here, shifted = free[one] - y.get(one, 0), dict(y)  # A4 L19 (E27)
        cost = worker_cost + total[one]  # A4 L20
        for two in reversed(servers[: z + 1]):  # A4 L21
            change = lam[one] - lam[two] - mu[one]
            if change <= 0 and free_here > 0:  # A4 L22
                count = min(shifted.get(two, 0), free_here)  # A4 L23
                free_here -= count
                cost += change * count  # A4 L24 (E26)
                shifted[two] = shifted.get(two, 0) - count  # A4 L25
                shifted[one] = shifted.get(one, 0) + count
            else:  # A4 L26
                if given.free_ps[one] >= 1:  # A4 L27
                    placements.append(ReportedPlacement(cost, _used(shifted), one))  # A4 L28 (E27)
                # A4 L29
                break  # A4 L30
            # A4 L31
        # A4 L32
    # A4 L33
    if not placements:  # A4 L34
        return None  # A4 L35-L36
    return min(placements, key=lambda placed: round(placed.cost, DECIMALS))  # A4 L37-L38


def _used(y: dict[int, int]) -> dict[int, int]:
    return {s: count for s, count in sorted(y.items()) if count}


def printed_schedule(
    problem: PricingProblem, modes: Iterable[JobMode], ready: Bools
) -> PricedPlacement | None:
    """Return the schedule that lines 3-14 of Algorithm 2 choose with Algorithms 3 and 4, or None.

    `problem`: prices and free units of the round. `modes`: for every number of workers one
    colocated and one split mode. `ready` [s]: servers on which the data are there in time.
    """
    best: tuple[tuple[float, ...], PricedPlacement] | None = None  # eta_j = 0 (E18)
    workers, ps = problem.workers, problem.ps
    worker_first = np.full(len(ready), np.inf)
    worker_first[workers.servers] = workers.price[workers.servers, 0]
    for mode in modes:  # A2 L3-L4 (E17)
        if mode.duration > workers.slots:  # E21
            continue
        lengths = np.array([mode.duration])
        (L, W), (M, P) = workers.prefixes(lengths), ps.prefixes(lengths)
        given = WindowPrices(
            ready, worker_first, ps.price[:, 0], L[:, 0], M[:, 0], W[:, 0], P[:, 0]
        )
        reported = (cost_c if mode.colocated else cost_d)(given, mode.workers)  # A2 L5-L6
        if reported is None:
            continue
        rank = fewest_first(round(reported.cost, DECIMALS), mode, 0)  # A2 L7-L10
        if best is None or rank < best[0]:  # A2 L11
            placed = PricedPlacement(
                reported.cost, 0, mode.duration, mode.colocated, reported.workers, reported.ps
            )
            best = rank, placed  # A2 L12-L13
    # A2 L14
    return None if best is None else best[1]
