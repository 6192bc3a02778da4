"""Certificates of bounds: validation that the checkers of all families share."""

import math
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from schedgap.errors import InputError
from schedgap.instances.records import Record, validate
from schedgap.solvers.programs.arrays import Floats

# Errors of Python and NumPy for unusable data: wrong types, wrong sizes, overflow, recursion.
_UNUSABLE = (
    ArithmeticError, AttributeError, IndexError, KeyError, MemoryError, RecursionError, TypeError,
    ValueError, RuntimeWarning,
)  # fmt: skip


class Certificate(Record):
    """Base class of certificates; each kind adds its fields, and unknown keys are errors.

    `value` is the bound that the method had; checkers ignore it.
    """

    kind: str
    value: float | None = None


AnyCertificate = TypeVar("AnyCertificate", bound=Certificate)


def read(
    certificate: Mapping[str, Any], kinds: Mapping[str, type[AnyCertificate]]
) -> AnyCertificate:
    """Return a certificate as a record of its kind.

    Parameters
    ----------
    certificate : mapping
        JSON data, not trusted.
    kinds : mapping
        Class of the record by kind.

    Raises
    ------
    InputError
        If the kind is not among `kinds`, or a field is missing, unknown, or of the wrong type.
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
    """Return the bound that a certificate proves.

    Parameters
    ----------
    bound : callable
        Computes the bound; its errors and warnings mean that the certificate is unusable.

    Raises
    ------
    InputError
        If the certificate does not fit the instance, or the bound is not finite.
    """
    try:
        with np.errstate(over="raise", invalid="raise", divide="raise"), warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            value = float(bound())
    except _UNUSABLE as error:
        text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise InputError(f"does not fit the instance ({text})", path="certificate") from None
    if not math.isfinite(value):
        raise InputError("proves no bound: the result is not a finite number", path="certificate")
    return value


def evaluate(
    certificate: Mapping[str, object], kinds: Collection[str], bound: Callable[[str], float]
) -> float:
    """Return the bound that a certificate of one of several kinds proves.

    `certificate`: JSON data, not trusted. `kinds`: kinds of certificates of the family. `bound`:
    takes the kind and computes the bound; its errors mean that the certificate is unusable.

    Raises
    ------
    InputError
        If the kind is not among `kinds`, or the certificate does not fit the instance.
    """
    kind = certificate.get("kind")
    if not isinstance(kind, str) or kind not in kinds:
        raise InputError(f"need one of {', '.join(kinds)}", path="certificate.kind")
    return proved(lambda: bound(kind))


def sparse(prices: Floats) -> list[list[float]]:
    """Return dual values as pairs (i, value) with 12 digits, without zeros and non-finite values.

    `prices` [i]: the dual values.
    """
    pairs = [[int(i), float(f"{prices[i]:.12g}")] for i in np.flatnonzero(np.isfinite(prices))]
    return [[i, price] for i, price in pairs if price]


def dense(pairs: Iterable[Sequence[Any]], rows: int) -> Floats:
    """Return dual values [i] from pairs (i, value).

    `pairs`: as returned by `sparse`, not trusted. `rows`: length of the result.

    Raises
    ------
    IndexError
        If there is no row i.
    """
    prices = np.zeros(rows)
    for i, price in pairs:
        if not 0 <= i < rows:
            raise IndexError(f"no row {i}")
        prices[i] = price
    return prices
