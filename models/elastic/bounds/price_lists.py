"""Prices of a certificate as a list of cells, `[index, ..., price]`: written, read and checked.

Rounding prices changes the bound but never its validity: any prices >= 0 prove some bound.
"""

from collections.abc import Sequence

import numpy as np

from schedgap.models.elastic.placement import Floats


def price_list(price: Floats) -> list[list[int | float]]:
    """Return the positive prices, rounded to 12 digits, with their indices from 0.

    `price`: prices >= 0, with any number of axes.
    """
    return [
        [*map(int, index), float(f"{price[tuple(index)]:.12g}")] for index in np.argwhere(price > 0)
    ]


def read_price_list(
    cells: Sequence[Sequence[float]],
    shape: tuple[int, ...],
    declared: tuple[int, ...] | None = None,
) -> Floats:
    """Return the array of prices that a list describes; other prices are 0.

    `cells`: indices from 0 and a price each. `shape`: of the array; outside of it all prices must
    be 0. `declared`: the shape to which the indices must belong, if it is larger.

    Raises
    ------
    IndexError
        When an index is outside the declared shape.
    ValueError
        When a price is negative or not finite.
    """
    price, declared = np.zeros(shape), declared or shape
    for *index, value in cells:
        if not all(0 <= i < size for i, size in zip(index, declared, strict=True)):
            raise IndexError(f"no price at {index}: the shape is {list(declared)}")
        if not 0 <= value < np.inf:
            raise ValueError("prices: need numbers >= 0")
        if value:
            price[tuple(int(i) for i in index)] = value
    return price
