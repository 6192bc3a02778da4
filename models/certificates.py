"""Certificates of bounds: what every family's checker asks before it computes."""

import math
import warnings
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

import numpy as np

from schedgap.errors import InputError
from schedgap.instances.records import Record, validate
from schedgap.solvers.programs.arrays import Floats

# What Python and NumPy raise where data are of no use: wrong types, sizes, overflow, recursion.
_NO_USE = (
    ArithmeticError, AttributeError, IndexError, KeyError, MemoryError, RecursionError, TypeError,
    ValueError, RuntimeWarning,
)  # fmt: skip


class Certificate(Record):
    """What all certificates have; a kind adds its own fields, and unknown keys are errors.

    `value` is the bound that the writer had; no checker reads it.
    """

    kind: str
    value: float | None = None


Kept = TypeVar("Kept", bound=Certificate)


def read(certificate: Mapping[str, Any], kinds: Mapping[str, type[Kept]]) -> Kept:
    """Return a certificate of a file as the record of its kind.

    Raises
    ------
    InputError
        When the kind is none of these, or a field is missing, unknown, or of the wrong type.
    """
    kind = certificate.get("kind")
    if not isinstance(kind, str) or kind not in kinds:
        raise InputError(f"need one of {', '.join(kinds)}", path="certificate.kind")
    try:
        return validate(kinds[kind], certificate)
    except InputError as error:
        inside = f".{error.path}" if error.path and not error.path.startswith("[") else error.path
        raise InputError(error.message, path=f"certificate{inside}") from None


def proved(bound: Callable[[], float]) -> float:
    """Return the number that a certificate proves, computed by `bound` without a warning.

    Raises
    ------
    InputError
        When the data do not fit the instance, or prove nothing: no finite number.
    """
    try:
        with np.errstate(over="raise", invalid="raise", divide="raise"), warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            value = float(bound())
    except _NO_USE as error:
        text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise InputError(f"does not fit the instance ({text})", path="certificate") from None
    if not math.isfinite(value):
        raise InputError("proves no bound: it comes to no finite number", path="certificate")
    return value


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
    return proved(lambda: bound(kind))


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
