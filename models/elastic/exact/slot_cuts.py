"""Cuts for one server in one slot: what runs there together is one of few configurations.

The rows of single resources allow one and a half jobs of two GPUs on a server of three. The convex
hull of all configurations, multisets of kinds that fit on the server together, does not: a linear
program over them finds a facet that a fractional point breaks, or shows that there is none.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.exact.run_pool import EXACT, RunPool
from schedgap.models.elastic.modes import cluster
from schedgap.models.elastic.placement import Floats, Ints
from schedgap.solvers import Clock
from schedgap.solvers.engines.highs import Relaxation
from schedgap.solvers.programs.arrays import LinearProgram

MAX_CONFIGURATIONS = 5_000  # of a server; beyond, it gets no cuts
BROKEN = 1e-4  # by which a point must break a cut
ROUNDING = 1e-12  # relative, of a sum of so few terms


@dataclass(frozen=True, slots=True, eq=False)
class SlotCut:
    """At most `limit` of the coefficients of what holds a server in a slot."""

    server: int
    slot: int
    amounts: Floats  # [k, r] kinds of holdings
    coefficient: Floats  # [k] >= 0
    limit: float

    def row(self, pool: RunPool, first: Floats) -> Floats:
        """Return [i] the coefficients of all runs; no order has to be chosen.

        A kind counts like the dearest known one that holds no more of anything: the one could take
        the place of the other.
        """
        held = pool.amounts[self.server]
        covers = (held[:, None] >= self.amounts[None, :]).all(axis=2)
        worth = np.where(covers, self.coefficient, 0.0).max(axis=1, initial=0.0)
        kind = pool.kind[:, self.server]
        row: Floats = np.where(pool.running(self.slot), worth[kind], 0.0)
        return row


def configurations(amounts: Floats, capacity: Floats) -> Ints | None:
    """Return [c, k] all maximal numbers of each kind that fit together; None when there are many.

    Parameters
    ----------
    amounts : array [k, r]
        What each kind holds, of some resource more than 0.
    capacity : array [r]
        Of the server.
    """
    found: list[tuple[int, ...]] = []
    room = capacity * EXACT
    visits = 0

    def fill(k: int, used: Floats, chosen: tuple[int, ...]) -> bool:
        nonlocal visits
        visits += 1
        if visits > 20 * MAX_CONFIGURATIONS or len(found) > MAX_CONFIGURATIONS:
            return False
        if k == len(amounts):
            if not (used + amounts <= room).all(axis=1).any():
                found.append(chosen)
            return True
        count, held = 0, used
        while (held <= room).all():
            if not fill(k + 1, held, (*chosen, count)):
                return False
            count, held = count + 1, held + amounts[k]
        return True

    if not fill(0, np.zeros_like(capacity), ()):
        return None
    return np.array(found, dtype=np.int64).reshape(len(found), len(amounts))


class SlotSeparator:
    """Finds cuts for the kinds that occur in a pool; kept while pools shrink."""

    def __init__(self, pool: RunPool, *, seed: int = 0) -> None:
        instance: ElasticInstance = pool.instance
        self._programs: list[tuple[Floats, Ints, Relaxation] | None] = []
        for h, capacity in enumerate(cluster(instance).capacity):
            kinds = pool.amounts[h][1:]
            found = configurations(kinds, capacity) if len(kinds) else None
            if found is None or not len(found):
                self._programs.append(None)
                continue
            program = LinearProgram(
                cost=np.zeros(len(kinds)),
                lower=np.zeros(len(kinds)),
                upper=np.ones(len(kinds)),
                matrix=sparse.csr_array(found.astype(float)),
                row_lower=np.full(len(found), -np.inf),
                row_upper=np.ones(len(found)),
            )
            self._programs.append((kinds, found, Relaxation(program, seed=seed)))

    def separate(self, pool: RunPool, shares: Floats, clock: Clock) -> list[SlotCut]:
        """Return a cut for each server and slot where the shares [i] of the runs break one."""
        cuts: list[SlotCut] = []
        support = np.flatnonzero(shares > 1e-9)
        slots = int(pool.end.max(initial=1))
        for h, prepared in enumerate(self._programs):
            if prepared is None:
                continue
            kinds, found, program = prepared
            at = {tuple(held): k for k, held in enumerate(kinds.tolist())}
            point = np.zeros((slots, len(kinds)))
            for i in support[pool.kind[support, h] > 0]:
                k = at[tuple(pool.amounts[h][pool.kind[i, h]].tolist())]
                point[pool.start[i] : pool.end[i], k] += shares[i]
            whole = (np.abs(point - np.rint(point)) < 1e-7).all(axis=1)
            known: dict[bytes, tuple[Floats, float] | None] = {}
            for t in np.flatnonzero(~whole & (point.sum(axis=1) > 1)).tolist():
                if clock.expired():
                    return cuts
                key = np.round(point[t], 9).tobytes()
                if key not in known:
                    known[key] = _facet(point[t], found, program, clock)
                if (facet := known[key]) is not None:
                    cuts.append(SlotCut(h, t, kinds, *facet))
        return cuts


def _facet(
    point: Floats, found: Ints, program: Relaxation, clock: Clock
) -> tuple[Floats, float] | None:
    """Return the coefficients and the side of a cut that a point breaks, or None.

    Kinds that do not occur weigh a little, so that their coefficients are as large as can be.
    """
    program.change_costs(np.arange(len(point)), -(point + 1e-6))
    result = program.solve(clock)
    if result.values is None:
        return None
    coefficient = np.where(np.asarray(result.values) > 1e-9, result.values, 0.0)
    limit = float((found @ coefficient).max()) * (1 + ROUNDING)
    return (coefficient, limit) if coefficient @ point > limit + BROKEN else None
