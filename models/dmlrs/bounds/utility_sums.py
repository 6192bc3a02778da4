"""Attainable sums of utilities (ours): any bound can be rounded down to the largest one.

A job's utility is one of finitely many, by its completion slot, so the objective of a schedule is
one of finitely many sums. No schedule lies between a bound and the largest sum below it, so the
rounding is valid, as for a bound on an integer objective.

References
----------
S. Martello, P. Toth, "Knapsack Problems: Algorithms and Computer Implementations", Wiley (1990),
chapter 4: the sums of subsets by dynamic programming over states.
"""

import math
from functools import lru_cache

import numpy as np

from schedgap.instances.dmlrs import DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.throughput import first_completions

MAX_SUMS = 50_000
_SUM_ROUNDING = 1e-12  # relative, of sums of utilities


@lru_cache(maxsize=16)
def _sums(instance: DmlrsInstance) -> Floats | None:
    """Return all attainable sums in ascending order, or None if they are too many."""
    view, sums = arrays(instance), np.zeros(1)
    for i, first in enumerate(first_completions(instance)):
        if first <= instance.horizon:
            arrival = int(view.arrival[i])
            utilities = view.utility[i, first - arrival : instance.horizon - arrival + 1]
            gains = np.unique(np.append(utilities, 0.0))
            if len(sums) * len(gains) > 8 * MAX_SUMS:
                return None
            sums = np.unique(sums[:, None] + gains)
            if len(sums) > MAX_SUMS:
                return None
    return sums


def attained(instance: DmlrsInstance, bound: float) -> float:
    """Return the largest attainable sum of utilities that is no more than a bound.

    The sums are added in floating point in the order of the jobs. If there are too many of them,
    the bound itself is returned.

    `bound`: upper bound on the sum of utilities.
    """
    sums = _sums(instance)
    if sums is None or not math.isfinite(bound):
        return bound
    position = int(
        np.searchsorted(sums, bound * (1 + _SUM_ROUNDING) if bound > 0 else bound, side="right")
    )
    return min(bound, float(sums[max(0, position - 1)]))
