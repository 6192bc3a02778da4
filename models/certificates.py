"""Certificates of bounds: what every family's checker asks before it computes."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from schedgap.errors import InputError
from schedgap.solvers.linear import Floats


def evaluate(
    certificate: Mapping[str, Any], kinds: Collection[str], bound: Callable[[str], float]
) -> float:
    """Return `bound(kind)`, the number that a certificate of a file proves.

    Parameters
    ----------
    certificate : Mapping
        JSON data, not trusted.
    kinds : collection of str
        Those of the family.
    bound : callable
        Computes the bound afresh; errors of Python in it mean that the data are of no use.

    Raises
    ------
    InputError
        When the kind is none of these, or the certificate does not fit the instance.
    """
    kind = certificate.get("kind")
    if not isinstance(kind, str) or kind not in kinds:
        raise InputError(f"need one of {', '.join(kinds)}", path="certificate.kind")
    try:
        return float(bound(kind))
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise InputError(f"does not fit the instance ({error})", path="certificate") from None


def sparse(prices: Floats) -> list[list[float]]:
    """Return prices [i] as pairs (i, price), 12 digits, without zeros and what is no number."""
    pairs = [[int(i), float(f"{prices[i]:.12g}")] for i in np.flatnonzero(np.isfinite(prices))]
    return [[i, price] for i, price in pairs if price]


def dense(pairs: Any, rows: int) -> Floats:
    """Return prices [i] of so many rows from pairs of a file; IndexError for a row beyond them."""
    prices = np.zeros(rows)
    for i, price in pairs:
        if not 0 <= i < rows:
            raise IndexError(f"no row {i}")
        prices[i] = price
    return prices
