"""Sums of utilities that schedules can have (ours): a bound comes down to the largest it allows."""

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
    """Return the largest sum of utilities that is no more than a bound, where jobs are few.

    A job's utility is one of finitely many, by its slot of completion, so sums are, as floats add
    them in the order of the list. The bound itself where they are too many.
    """
    sums = _sums(instance)
    if sums is None or not math.isfinite(bound):
        return bound
    position = int(
        np.searchsorted(sums, bound * (1 + _SUM_ROUNDING) if bound > 0 else bound, side="right")
    )
    return min(bound, float(sums[max(0, position - 1)]))
