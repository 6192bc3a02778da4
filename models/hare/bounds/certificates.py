"""Certificates of lower bounds: dual prices, evaluated from the instance's data without an engine.

Every certificate is a set of prices for the rows of some relaxation. Its bound is the value of the
Lagrangian at these prices, computed with an allowance for rounding. So it holds whatever the prices
are and wherever they come from.

References
----------
A. Neumaier, O. Shcherbina, "Safe bounds in linear and mixed-integer linear programming",
Mathematical Programming 99 (2004).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from schedgap.errors import InputError, ScaleError
from schedgap.instances.hare import HareInstance, arrays
from schedgap.instances.hare.scale import LARGEST_VALUE
from schedgap.instances.records import Many, NonEmpty
from schedgap.models.certificates import Certificate, dense, proved, read, sparse
from schedgap.models.hare.bounds import fluid, lagrangian
from schedgap.models.hare.bounds.lagrangian import GpuPrices
from schedgap.models.hare.integer_time import steps
from schedgap.models.hare.programs import time_indexed
from schedgap.solvers.programs.arrays import Floats, LinearProgram, safe_bound

Index = Annotated[int, Field(ge=0)]
Duals = Many[Annotated[tuple[Index, float], Field(strict=False)]]  # (row, price); others are 0
Amount = Annotated[float, Field(ge=0)]
Grid = Annotated[Many[Amount], Field(min_length=2)]
_EPS = float(np.finfo(float).eps)


class CriticalPathCertificate(Certificate):
    """Critical-path bound: every job alone on the fastest GPUs. It needs only the instance."""


class FluidCertificate(Certificate):
    """Prices of the rows of the fluid program, on a grid of times from 0."""

    grid: Grid
    sync_rows: Literal[False] = False  # in older files
    duals: Duals


class TimeIndexedCertificate(Certificate):
    """Prices of the rows of the time-indexed program; `upper` in grid steps, as in its builder."""

    upper: Annotated[int, Field(ge=0, le=LARGEST_VALUE)]
    duals: Duals


class LagrangianCertificate(Certificate):
    """Prices of GPU time by class and cell of a grid, and the time steps of `job_plan`."""

    grid: Grid
    prices: NonEmpty[Many[Amount]]
    steps: Annotated[int, Field(ge=1, le=lagrangian.MAX_STEPS)]
    longest: Annotated[float, Field(gt=0)] = math.inf  # older files have none


def certified(
    kind: str,
    program: LinearProgram,
    duals: Floats,
    to_units: Callable[[float], float] = float,
    **data: object,
) -> tuple[float, dict[str, object]]:
    """Return the bound that duals of a program prove, and the certificate.

    The prices are first rounded to 12 digits, so the prices in a file prove exactly this bound.

    `duals` [i]: any duals of its rows. `to_units`: from the program's value to the instance's
    units. `data`: what the rows of the kind depend on.
    """
    pairs = sparse(duals)
    bound = to_units(safe_bound(program, dense(pairs, len(duals))))
    return bound, {"kind": kind, **data, "duals": pairs, "value": bound}


def check_certificate(instance: HareInstance, certificate: Mapping[str, Any]) -> float:
    """Return the lower bound on the instance's optimum that a certificate proves.

    `instance`: all rows are built from its data. `certificate`: JSON data, not trusted. It has the
    `kind`, the `duals` as pairs (row, price), and what the rows of the kind depend on. For
    `lagrangian`, it has `prices` by class of GPUs and cell of the `grid`. The `value` is not read.
    Any prices prove some bound; they need not be optimal.

    Raises
    ------
    InputError
        If the certificate is not one of this family, or does not fit the instance.
    """
    record = read(certificate, {kind: model for kind, (model, _) in _KINDS.items()})
    _, bound = _KINDS[record.kind]
    return proved(lambda: bound(instance, record))


def critical_certificate(instance: HareInstance) -> tuple[float, dict[str, object]]:
    """Return the critical-path bound and its certificate."""
    value = _critical(instance, CriticalPathCertificate(kind="critical-path"))
    return value, {"kind": "critical-path", "value": value}


def _critical(instance: HareInstance, certificate: Certificate) -> float:
    """Return sum w_n (a_n + L_n), exactly if times are integer steps, else safely rounded down."""
    try:
        whole = steps(instance)
        return whole.to_objective(whole.critical_path_value)
    except ScaleError:
        view = arrays(instance)
    total = float(view.weight @ (view.arrival + view.critical))
    return total * (1 - 4 * _EPS * (view.rounds + view.jobs + 4))


def _value(program: LinearProgram, certificate: Any) -> float:
    """Return the bound that the duals of a certificate prove on its program."""
    return safe_bound(program, dense(certificate.duals, len(program.row_lower)))


def _grid(grid: Sequence[float]) -> Floats:
    """Return a grid of a file as an array; InputError unless it increases from 0."""
    times = np.array(grid, dtype=float)
    if times[0] != 0 or not (np.diff(times) > 0).all():
        raise InputError("need increasing times from 0", path="certificate.grid")
    return times


def lagrangian_certificate(
    instance: HareInstance, prices: GpuPrices, *, steps: int, longest: float = math.inf
) -> tuple[float, dict[str, object]]:
    """Return the bound that prices prove after rounding to 12 digits, and the certificate.

    `prices`: any prices >= 0 of GPU time. `steps`, `longest`: see `lagrangian.job_plan`.
    """
    rounded = prices.rounded()
    view = arrays(instance)
    value = lagrangian.total(view, rounded, lagrangian.job_plans(view, rounded, steps, longest))
    return value, priced_certificate(rounded, value, steps=steps, longest=longest)


def priced_certificate(
    prices: GpuPrices, value: float, *, steps: int, longest: float
) -> dict[str, object]:
    """Return the certificate of a bound that is already evaluated.

    `prices`: prices with 12 digits. `value`: their bound. `steps`, `longest`: see
    `lagrangian.job_plan`.
    """
    certificate = {
        "kind": "lagrangian",
        "grid": prices.grid.tolist(),
        "prices": prices.price.tolist(),
        "steps": steps,
        "value": value,
    }
    return certificate if math.isinf(longest) else certificate | {"longest": longest}


def _lagrangian(instance: HareInstance, certificate: LagrangianCertificate) -> float:
    """Return the Lagrangian bound of the prices."""
    view = arrays(instance)
    grid, classes = _grid(certificate.grid), len(view.class_gpus)
    if [len(row) for row in certificate.prices] != [len(grid) - 1] * classes:
        raise InputError(
            "need one for each class of GPUs and cell of the grid", path="certificate.prices"
        )
    prices = GpuPrices(grid, np.array(certificate.prices))
    return lagrangian.bound(instance, prices, steps=certificate.steps, longest=certificate.longest)


def _fluid(instance: HareInstance, certificate: FluidCertificate) -> float:
    """Return the bound of duals of the fluid program."""
    return _value(fluid.build(instance, _grid(certificate.grid)).program, certificate)


def _time_indexed(instance: HareInstance, certificate: TimeIndexedCertificate) -> float:
    """Return the bound of duals of the time-indexed program, in the instance's units."""
    upper = certificate.upper
    try:
        program = time_indexed.build(instance, upper=upper)
    except ScaleError as error:
        raise InputError(str(error), path="certificate") from None
    # in grid steps, and only for schedules of objective up to `upper`
    return time_indexed.bound_in_units(instance, upper, _value(program, certificate))


# Kind of certificate -> its record, and the function that evaluates it.
_KINDS: dict[str, tuple[type[Certificate], Callable[[HareInstance, Any], float]]] = {
    "critical-path": (CriticalPathCertificate, _critical),
    "fluid-lp": (FluidCertificate, _fluid),
    "lagrangian": (LagrangianCertificate, _lagrangian),
    "time-indexed-lp": (TimeIndexedCertificate, _time_indexed),
}
