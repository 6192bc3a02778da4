"""Bounds evaluated again from their dual prices: no engine, only the instance's data."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from schedgap.errors import InputError
from schedgap.instances.hare import HareInstance
from schedgap.models.hare import fluid, program_time_indexed
from schedgap.models.hare.windows import LARGEST_VALUE
from schedgap.solvers.linear import Floats, LinearProgram, safe_bound


def certify(program: LinearProgram, duals: Floats) -> tuple[float, list[list[float]]]:
    """Return the bound that duals [i] prove, and those that are not 0 as pairs (row, price).

    Prices are first rounded to 12 digits, so that what a file holds proves just this bound.
    """
    kept = [[int(i), float(f"{duals[i]:.12g}")] for i in np.flatnonzero(np.isfinite(duals))]
    kept = [[row, price] for row, price in kept if price]
    return safe_bound(program, _dense(program, kept)), kept


def check_certificate(instance: HareInstance, certificate: Mapping[str, Any]) -> float:
    """Return the lower bound on the instance's optimum that a certificate proves.

    Parameters
    ----------
    instance : HareInstance
        The rows are built from its data alone.
    certificate : Mapping
        `kind`, the `duals` as pairs (row, price), and what the kind's rows depend on. Its `value`
        is not read. Prices need not be those of an optimum: any prove some bound.

    Raises
    ------
    InputError
        When the certificate is not one of this family, or does not fit the instance.
    """
    kind = certificate.get("kind")
    if not isinstance(kind, str) or kind not in _PROGRAMS:
        raise InputError(f"need one of {', '.join(_PROGRAMS)}", path="certificate.kind")
    try:
        program = _PROGRAMS[kind](instance, certificate)
        duals = _dense(program, certificate["duals"])
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise InputError(f"does not fit the instance ({error})", path="certificate") from None
    return _FINISH[kind](instance, certificate, safe_bound(program, duals))


def _dense(program: LinearProgram, pairs: Any) -> Floats:
    """[i] prices by row."""
    duals = np.zeros(len(program.row_lower))
    for row, price in pairs:
        if not 0 <= row < len(duals):
            raise IndexError(f"no row {row}")
        duals[row] = price
    return duals


def _fluid(instance: HareInstance, certificate: Mapping[str, Any]) -> LinearProgram:
    grid = np.array(certificate["grid"], dtype=float)
    rising = len(grid) > 1 and grid[0] == 0 and bool((np.diff(grid) > 0).all())
    if not rising or not math.isfinite(grid[-1]):
        raise ValueError("grid: need increasing times from 0")
    return fluid.build(instance, grid, sync_rows=bool(certificate["sync_rows"])).program


def _time_indexed(instance: HareInstance, certificate: Mapping[str, Any]) -> LinearProgram:
    upper = certificate["upper"]
    if not isinstance(upper, int) or not 0 <= upper <= LARGEST_VALUE:
        raise ValueError("upper: need a value in grid steps")
    return program_time_indexed.program(instance, upper)


# The program of each kind of certificate, from the instance and what the certificate adds.
_PROGRAMS: dict[str, Callable[[HareInstance, Mapping[str, Any]], LinearProgram]] = {
    "fluid-lp": _fluid,
    "time-indexed-lp": _time_indexed,
}
# What the bound of that program says of the instance.
_FINISH: dict[str, Callable[[HareInstance, Mapping[str, Any], float], float]] = {
    "fluid-lp": lambda instance, certificate, bound: bound,
    "time-indexed-lp": lambda instance, certificate, bound: program_time_indexed.real_bound(
        instance, certificate["upper"], bound
    ),
}
