"""Cuts for one server in one slot: the runs on it form a configuration.

The rows of single resources allow one and a half jobs of two GPUs on a server with three. The
convex hull of all configurations, multisets of usages that fit on the server together, does not. A
linear program over the maximal configurations finds a facet that a fractional point violates, or
shows that none exists.

References
----------
E. A. Boyd, "Fenchel cutting planes for integer programs", Operations Research 42 (1994).
"""

from dataclasses import dataclass

import numpy as np

from schedgap.models.elastic.exact.run_pool import RunPool
from schedgap.models.elastic.modes import cluster
from schedgap.models.elastic.placement import Floats
from schedgap.models.mechanisms.configurations import FacetSeparator, maximal_configurations
from schedgap.solvers import Clock

MAX_CONFIGURATIONS = 5_000  # of a server; with more, it gets no cuts
_MAX_VISITED = 100_000  # configurations of a server, including those that are not maximal
_ROUNDING = 1e-14  # relative error of sums; what fits within it counts, so that cuts are valid


@dataclass(frozen=True, slots=True, eq=False)
class SlotCut:
    """sum of coefficients over what the runs use of a server in a slot <= limit."""

    server: int
    slot: int
    amounts: Floats  # [k, r] kinds of usage
    coefficient: Floats  # [k] >= 0
    limit: float

    def row(self, pool: RunPool, first: Floats) -> Floats:
        """Return [i] the coefficients of all runs of a pool.

        Lifting: a usage that is new in this pool gets the largest coefficient of the kinds that use
        no more of any resource, since one of these could take its place.

        `first` [i]: ignored: unlike a clique, this cut leaves no choice.
        """
        usage = pool.amounts[self.server]
        covers = (usage[:, None] >= self.amounts[None, :]).all(axis=2)
        lifted = np.where(covers, self.coefficient, 0.0).max(axis=1, initial=0.0)
        kind = pool.kind[:, self.server]
        row: Floats = np.where(pool.running(self.slot), lifted[kind], 0.0)
        return row


class SlotSeparator:
    """Finds violated cuts for the kinds of usage in a pool; valid for its subsets as well."""

    def __init__(self, pool: RunPool, *, seed: int = 0) -> None:
        self._servers: list[tuple[Floats, FacetSeparator] | None] = []
        for h, capacity in enumerate(cluster(pool.instance).capacity):
            kinds = pool.amounts[h][1:]
            found = maximal_configurations(
                kinds, capacity, rounding=_ROUNDING, at_most=_MAX_VISITED
            )
            if found is None or not found.size > 0 or len(found) > MAX_CONFIGURATIONS:
                self._servers.append(None)
            else:
                self._servers.append((kinds, FacetSeparator(found, seed=seed)))

    def separate(self, pool: RunPool, shares: Floats, clock: Clock) -> list[SlotCut]:
        """Return a cut for each server and slot where the solution violates one.

        `pool`: the pool of the constructor, or a part of it. `shares` [i]: solution of the
        relaxation.
        """
        cuts: list[SlotCut] = []
        support = np.flatnonzero(shares > 1e-9)
        slots = int(pool.end.max(initial=1))
        for h, prepared in enumerate(self._servers):
            if prepared is None:
                continue
            kinds, separator = prepared
            at = {tuple(usage): k for k, usage in enumerate(kinds.tolist())}
            point = np.zeros((slots, len(kinds)))  # sum of shares by slot and kind of usage
            for i in support[pool.kind[support, h] > 0]:
                k = at[tuple(pool.amounts[h][pool.kind[i, h]].tolist())]
                point[pool.start[i] : pool.end[i], k] += shares[i]
            whole = (np.abs(point - np.rint(point)) < 1e-7).all(axis=1)
            facets: dict[bytes, tuple[Floats, float] | None] = {}  # equal points occur often
            for t in np.flatnonzero(~whole & (point.sum(axis=1) > 1)).tolist():
                if clock.expired():
                    return cuts
                key = np.round(point[t], 9).tobytes()
                if key not in facets:
                    facets[key] = separator.separate(point[t], clock)
                if (facet := facets[key]) is not None:
                    cuts.append(SlotCut(h, t, kinds, *facet))
        return cuts
