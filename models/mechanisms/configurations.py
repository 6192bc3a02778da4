"""Configurations of a server: which numbers of items fit on it together.

A configuration is a vector of numbers of items of each kind whose demands together keep to the
capacity in every resource. Everything that a server can hold at one time lies below a maximal
configuration. So a linear program over maximal configurations sees more than rows for single
resources. For example, it sees that two items of 3 GPUs do not share a server of 5 by halves.

References
----------
P. C. Gilmore, R. E. Gomory, "A linear programming approach to the cutting-stock problem",
Operations Research 9 (1961): patterns as columns.
"""

import numpy as np
from numpy.typing import NDArray

from schedgap.solvers.programs.arrays import Floats

Ints = NDArray[np.int64]
MOST = 10**12  # items of one kind on a server; coefficients of HiGHS end at 10^15


def maximal_configurations(
    demand: Floats, capacity: Floats, *, rounding: float = 0.0, at_most: int = 200_000
) -> Ints | None:
    """Return the maximal configurations [c, k] of a server, or None when there are too many.

    `demand` [k, r]: what one item of each kind takes of each resource, of some resource more than
    0. `capacity` is [r]. `rounding`: relative to 1 + capacity: by how much sums of demands may be
    off. 0 where they are exact, such as sums of integers. Configurations above the capacity by
    no more than this count as fitting. `at_most`: number of configurations to look at, those that
    are not maximal included.

    Every vector of numbers that fits is at most one of the rows, in every entry. With `rounding`
    some rows may not be maximal.

    Raises
    ------
    ValueError
        When an item takes nothing of any resource: any number of them fits.

    Examples
    --------
    >>> maximal_configurations(np.array([[3.0], [2.0]]), np.array([7.0])).tolist()
    [[2, 0], [1, 2], [0, 3]]
    """
    if (demand <= 0).all(axis=1).any():
        raise ValueError("an item that takes nothing fits any number of times")
    # Large items first. The number of the last kind is never less than what fits.
    share = (demand / np.where(capacity > 0, capacity, 1.0)).max(axis=1, initial=0.0)
    order = np.argsort(-share, kind="stable")
    slack = rounding * (1 + capacity)
    count, free = np.zeros((1, len(order)), dtype=np.int64), (capacity + slack)[None]
    for k in order.tolist():
        taken = demand[k] > 0
        room = np.maximum(0.0, (free[:, taken] / demand[k, taken]).min(axis=1))
        if room.max() > MOST:
            return None
        fit = room.astype(np.int64)
        ways = np.ones_like(fit) if k == order[-1] else fit + 1
        if ways.sum() > at_most:
            return None
        above = np.arange(ways.sum()) - np.repeat(np.cumsum(ways) - ways, ways)
        number = np.repeat(fit, ways) - above
        count, free = np.repeat(count, ways, axis=0), np.repeat(free, ways, axis=0)
        count[:, k] = number
        free -= number[:, None] * demand[k]
    # Half of the allowance suffices to grow: then the order of sums does not decide which
    # configurations are maximal.
    grows = np.zeros(len(count), dtype=bool)
    for one in demand:
        grows |= (free - one >= slack / 2).all(axis=1)
    return count[~grows]
