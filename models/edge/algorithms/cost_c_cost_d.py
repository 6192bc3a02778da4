"""Algorithms 3 and 4, COST_C and COST_D, as printed; Algorithm 4 with the least mending.

`cheapest_schedule.Market` finds the cheapest schedules instead; `a-online-printed` uses these.
E22, E23, ... are the paper's errata as numbered in `paper.py`.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedgap.models.edge.algorithms.cheapest_schedule import (
    DECIMALS,
    Floats,
    Ints,
    Market,
    Mode,
    Offer,
    fewest_first,
)

Bools = NDArray[np.bool_]


class Priced(NamedTuple):
    """What a subroutine is given in a window tau_i + 1..c_j: arrays [s] over all servers."""

    able: Bools  # the data are there in time
    worker_first: Floats  # lambda, mu in slot tau_i + 1, for the printed tau_i (E23); inf: W = 0
    ps_first: Floats
    worker: Floats  # lambda, mu summed over the window
    ps: Floats
    free_workers: Ints  # throughout the window
    free_ps: Ints


class Counted(NamedTuple):
    """A cost as a subroutine reports it, and its placement."""

    cost: float
    workers: dict[int, int]
    ps: int


def cost_c(given: Priced, n: int) -> Counted | None:
    """Return n workers and the PS on one server, the cheapest in the first slot; None: nowhere.

    Source: Algorithm 3.
    """
    # A3 L1-L2: the window is given
    able = given.able & (given.free_workers >= n) & (given.free_ps >= 1)  # A3 L3
    if not able.any():  # A3 L4
        return None  # A3 L5
    # A3 L6
    rank = np.where(able, given.worker_first * n + given.ps_first, np.inf)
    s = int(np.argmin(np.round(rank, DECIMALS)))  # A3 L7: s_1
    return Counted(float(given.worker[s] * n + given.ps[s]), {s: n}, s)  # A3 L8-L10


def cost_d(given: Priced, n: int) -> Counted | None:
    """Return n workers on any servers and the PS on one, as Algorithm 4 finds them; None: nothing.

    Notes
    -----
    Source: Algorithm 4, with the PS present on entry of line 19 and y' stored in line 28 (E27):
    without these no placement of the second loop has a PS. The rest is literal: shifts that cost
    money and are credited with the PS's price for every worker (E26), a shift of a server onto
    itself, and nothing stored where the inner loop ends by itself (E27).
    """
    # A4 L1-L2: the window is given
    able = np.flatnonzero(given.able)
    rank = np.round(given.worker_first[able], DECIMALS)
    servers = able[np.argsort(rank, kind="stable")].tolist()  # A4 L3
    free, total = given.free_workers.tolist(), given.ps.tolist()
    lam, mu = given.worker_first.tolist(), given.ps_first.tolist()
    y: dict[int, int] = {}  # of the used servers
    rest, z = n, 0  # D'_u, and the last used server s_z
    for i, s in enumerate(servers):  # A4 L4 (E25)
        if count := min(free[s], rest):  # A4 L5
            y[s] = count
            rest -= count  # A4 L6
            z = i
    # A4 L7
    if rest > 0:  # A4 L8
        return None  # A4 L9-L10
    wages = sum(float(given.worker[s]) * count for s, count in y.items())  # A4 L11
    found: list[Counted] = []  # L
    # A4 L12: z
    for s in servers[:z]:  # A4 L13
        if given.free_ps[s] >= 1:  # A4 L14
            found.append(Counted(wages + total[s], _used(y), s))  # A4 L15
        # A4 L16
    # A4 L17
    for one in servers[z:]:  # A4 L18
        room, shifted = free[one] - y.get(one, 0), dict(y)  # A4 L19 (E27)
        cost = wages + total[one]  # A4 L20
        for two in reversed(servers[: z + 1]):  # A4 L21
            change = lam[one] - lam[two] - mu[one]
            if change <= 0 and room > 0:  # A4 L22
                count = min(shifted.get(two, 0), room)  # A4 L23
                room -= count
                cost += change * count  # A4 L24 (E26)
                shifted[two] = shifted.get(two, 0) - count  # A4 L25
                shifted[one] = shifted.get(one, 0) + count
            else:  # A4 L26
                if given.free_ps[one] >= 1:  # A4 L27
                    found.append(Counted(cost, _used(shifted), one))  # A4 L28 (E27)
                # A4 L29
                break  # A4 L30
            # A4 L31
        # A4 L32
    # A4 L33
    if not found:  # A4 L34
        return None  # A4 L35-L36
    return min(found, key=lambda each: round(each.cost, DECIMALS))  # A4 L37-L38


def _used(y: dict[int, int]) -> dict[int, int]:
    return {s: count for s, count in sorted(y.items()) if count}


def printed_schedule(market: Market, modes: Iterable[Mode], able: Bools) -> Offer | None:
    """Return what lines 3-14 of Algorithm 2 make of Algorithms 3 and 4.

    Parameters
    ----------
    modes : iterable of Mode
        Of every number of workers, one together and one split.
    able : array [s]
        Servers whose data are there in time.
    """
    best: tuple[tuple[float, ...], Offer] | None = None  # eta_j = 0 (E18)
    worker_first = np.full(len(able), np.inf)
    worker_first[market.workers.hosts] = market.workers.price[market.workers.hosts, 0]
    for mode in modes:  # A2 L3-L4 (E17)
        if mode.duration > market.workers.slots:  # E21
            continue
        lengths = np.array([mode.duration])
        (L, W), (M, P) = market.workers.opening(lengths), market.ps.opening(lengths)
        given = Priced(
            able, worker_first, market.ps.price[:, 0], L[:, 0], M[:, 0], W[:, 0], P[:, 0]
        )
        found = (cost_c if mode.together else cost_d)(given, mode.workers)  # A2 L5-L6
        if found is None:
            continue
        offer = Offer(found.cost, 0, mode.duration, mode.together, found.workers, found.ps)
        rank = fewest_first(round(found.cost, DECIMALS), mode, 0)  # A2 L7-L10
        if best is None or rank < best[0]:  # A2 L11
            best = rank, offer  # A2 L12-L13
    # A2 L14
    return None if best is None else best[1]
