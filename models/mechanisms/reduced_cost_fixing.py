"""Reduced-cost fixing: which options a schedule better than the incumbent can still use.

Every owner (a job) takes one of its options (a schedule of this job). Under dual prices of what the
owners share, any schedule costs at least

    L = sum over owners of the least cost of an option - what the prices pay for all capacity,

and one in which an owner takes option g costs at least L - (its least cost) + (cost of g). An
option for which this exceeds the value that is asked for is in no such schedule. Least costs are
then taken over the options that remain, which raises L; several price vectors help each other.

References
----------
H. Crowder, E. L. Johnson, M. Padberg, "Solving large-scale zero-one linear programming problems",
Operations Research 31 (1983).
R. Baldacci, N. Christofides, A. Mingozzi, "An exact algorithm for the vehicle routing problem based
on the set partitioning formulation with additional cuts", Mathematical Programming 115 (2008): all
columns within the gap.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from schedgap.solvers.programs.arrays import Floats

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class PricedOptions:
    """What all options cost under one price vector.

    Attributes
    ----------
    cost : array [g]
        Cost of each option, prices included.
    owner : array [g] of int
        0, ..., `owners` - 1.
    owners : int
    paid : float
        What the prices pay for all capacity; inf where the prices prove nothing.
    """

    cost: Floats
    owner: Ints
    owners: int
    paid: float

    def bound(self, remaining: Bools) -> tuple[float, Floats]:
        """Return L over the options that remain, and the least cost of each owner.

        `remaining` is [g].
        """
        least = np.full(self.owners, np.inf)
        np.minimum.at(least, self.owner[remaining], self.cost[remaining])
        return -math.inf if math.isinf(self.paid) else math.fsum(least) - self.paid, least


@dataclass(frozen=True, slots=True, eq=False)
class Fixed:
    """What remains: options [g], none when there is no such schedule, and the best bound L."""

    remaining: Bools
    bound: float


def fix(options: Sequence[PricedOptions], at_most: float) -> Fixed:
    """Return the options that a schedule of a value up to `at_most` can use.

    `options`: the same options under one or more price vectors. `at_most`: value of the schedules
    that are looked for.

    Notes
    -----
    Costs and `at_most` have to be exact, or `at_most` larger than the value by all rounding.

    Examples
    --------
    Two jobs; the second option of the first cannot be in a schedule of 6 or less.

    >>> costs = PricedOptions(np.array([2.0, 5.0, 3.0]), np.array([0, 0, 1]), 2, paid=0.0)
    >>> fixed = fix([costs], at_most=6)
    >>> fixed.remaining.tolist(), fixed.bound
    ([True, False, True], 5.0)
    """
    remaining = np.ones(len(options[0].cost), dtype=bool)
    bound, before = -math.inf, -1
    while before != (count := int(remaining.sum())):
        before = count
        for own in options:
            value, least = own.bound(remaining)
            bound = max(bound, value)
            if bound > at_most:
                return Fixed(np.zeros_like(remaining), bound)
            remaining &= own.cost - least[own.owner] <= at_most - value
    return Fixed(remaining, bound)
