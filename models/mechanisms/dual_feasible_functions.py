"""Dual-feasible (superadditive) functions: sizes changed so that whatever fits still fits.

Let f >= 0 and f(m) + f(n) <= f(m + n). Then items of sizes n_1, n_2, ... that fit on a server of
capacity W satisfy sum f(n_i) <= f(W). With f(n) = n this is the capacity row. Other f can be
stronger. For example, f = (0, 0, 1, 1) shows that a server of 4 holds one item of size 3, not four
thirds of one.

References
----------
S. P. Fekete, J. Schepers, "New classes of fast lower bounds for bin packing problems", Mathematical
Programming (2001): dual-feasible functions and the family `threshold`.
F. Clautiaux, C. Alves, J. Valério de Carvalho, "A survey of dual-feasible and superadditive
functions", Annals of Operations Research 179 (2010).
"""

from collections.abc import Sequence


def threshold(sizes: Sequence[int], capacity: int, k: int) -> list[int]:
    """Return f_k of the sizes: the whole capacity if a size leaves less than k, 0 below k.

    `sizes`: each at most the capacity. `k`: at most half of the capacity, rounded up; f_0 and f_1
    are the identity.

    Notes
    -----
    Beside an item above capacity - k there is room only for items below k. The function U^(epsilon)
    of Fekete and Schepers with epsilon = k / capacity.

    Examples
    --------
    >>> threshold([1, 3, 6], 7, 2)
    [0, 3, 7]
    """
    return [capacity if size > capacity - k else size if size >= k else 0 for size in sizes]


def thresholds(sizes: Sequence[int], capacity: int) -> list[int]:
    """Return the k >= 2 for which `threshold` can say more than the sizes themselves.

    Notes
    -----
    An item of size s takes all of the capacity from k = capacity - s + 1 on. Between two such k a
    larger one only loses.
    """
    return sorted({capacity - s + 1 for s in sizes if capacity < 2 * s and s < capacity})
