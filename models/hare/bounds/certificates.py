"""Bounds evaluated again from their dual prices: no engine, only the instance's data."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from schedgap.errors import InputError, ScaleError
from schedgap.instances.hare import HareInstance, arrays
from schedgap.instances.records import Many, NonEmpty, Record
from schedgap.models.certificates import Certificate, dense, proved, read, sparse
from schedgap.models.hare.bounds import fluid, lagrangian
from schedgap.models.hare.bounds.lagrangian import GpuPrices
from schedgap.models.hare.integer_time import LARGEST_VALUE, steps
from schedgap.models.hare.programs import relaxation, relaxation_arrays, time_indexed
from schedgap.models.hare.programs.relaxation_arrays import BaseRelaxation, LoadCut
from schedgap.solvers.programs.arrays import Floats, LinearProgram, safe_bound

Index = Annotated[int, Field(ge=0)]
Duals = Many[Annotated[tuple[Index, float], Field(strict=False)]]  # (row, price), if not 0
Amount = Annotated[float, Field(ge=0)]
Grid = Annotated[Many[Amount], Field(min_length=2)]
MOST_ENTRIES = 30_000_000  # of a program, or of tables over steps of time, that a check may build
MOST_COLUMNS = 3_000_000
MOST_WORK = 3_000_000_000  # numbers that an evaluation of prices of GPU time computes
MOST_ITEMS = 20_000  # of a relaxation with cuts, items times machines
_EPS = float(np.finfo(float).eps)


class CriticalPathCertificate(Certificate):
    """Every job alone on the fastest GPUs: nothing beside the instance is needed."""


class FluidCertificate(Certificate):
    """Prices of the fluid program's rows, on a grid of times from 0."""

    grid: Grid
    sync_rows: bool
    duals: Duals


class TimeIndexedCertificate(Certificate):
    """Prices of the rows of the program over starts up to a value in grid steps."""

    upper: Annotated[int, Field(ge=0, le=LARGEST_VALUE)]
    duals: Duals


class CutRow(Record):
    """Row (9) for a set of items, at a tangent point `load`."""

    machine: Index
    items: NonEmpty[Index]
    load: float
    release: bool


class CutsCertificate(Certificate):
    """Prices of a relaxation's rows, and of the rows (9) that were added."""

    cuts: Many[CutRow]
    duals: Duals


class LagrangianCertificate(Certificate):
    """Prices of GPU time by class and cell of a grid, and how fine jobs are scheduled."""

    grid: Grid
    prices: NonEmpty[Many[Amount]]
    steps: Annotated[int, Field(ge=1, le=lagrangian.MOST_STEPS)]


def certify(program: LinearProgram, duals: Floats) -> tuple[float, list[list[float]]]:
    """Return the bound that duals [i] prove, and those that are not 0 as pairs (row, price).

    Prices are first rounded to 12 digits, so that what a file holds proves just this bound.
    """
    kept = sparse(duals)
    return safe_bound(program, dense(kept, len(duals))), kept


def check_certificate(instance: HareInstance, certificate: Mapping[str, Any]) -> float:
    """Return the lower bound on the instance's optimum that a certificate proves.

    Parameters
    ----------
    instance : HareInstance
        The rows are built from its data alone.
    certificate : Mapping
        `kind`, the `duals` as pairs (row, price), and what the kind's rows depend on; of the kind
        `lagrangian` the `prices` by class of GPUs and cell of the `grid`. Its `value` is not read.
        Prices need not be those of an optimum: any prove some bound.

    Raises
    ------
    InputError
        When the certificate is not one of this family, does not fit the instance, or would take
        too long to evaluate.
    """
    record = read(certificate, {kind: own for kind, (own, _) in _KINDS.items()})
    _, bound = _KINDS[record.kind]
    return proved(lambda: bound(instance, record))


def critical_certificate(instance: HareInstance) -> tuple[float, dict[str, Any]]:
    """Return the bound of the critical paths and its certificate."""
    value = _critical(instance, CriticalPathCertificate(kind="critical-path"))
    return value, {"kind": "critical-path", "value": value}


def _critical(instance: HareInstance, certificate: Certificate) -> float:
    """Return sum w_n (a_n + L_n): from whole steps, or else less an allowance for rounding."""
    try:
        whole = steps(instance)
        return whole.to_objective(whole.critical_path_value)
    except ScaleError:
        view = arrays(instance)
    total = float(view.weight @ (view.arrival + view.critical))
    return total * (1 - 4 * _EPS * (view.rounds + view.jobs + 4))


def _programmed(
    program: Callable[[HareInstance, Any], LinearProgram],
) -> Callable[[HareInstance, Any], float]:
    """Return the evaluation of the duals of a program."""

    def bound(instance: HareInstance, certificate: Any) -> float:
        rows = program(instance, certificate)
        return safe_bound(rows, dense(certificate.duals, len(rows.row_lower)))

    return bound


def _grid(instance: HareInstance, grid: Sequence[float]) -> Floats:
    found = np.array(grid, dtype=float)
    if found[0] != 0 or not (np.diff(found) > 0).all():
        raise InputError("need increasing times from 0", path="certificate.grid")
    return found


def _refuse(size: float, most: int, what: str) -> None:
    if size > most:
        raise InputError(f"too large to evaluate: {size:.3g} {what}", path="certificate")


def lagrangian_certificate(
    instance: HareInstance, prices: GpuPrices, *, steps: int
) -> tuple[float, dict[str, Any]]:
    """Return the bound that prices prove, once rounded to 12 digits, and the certificate."""
    kept = prices.rounded()
    value = lagrangian.bound(instance, kept, steps=steps)
    return value, priced_certificate(kept, value, steps=steps)


def priced_certificate(prices: GpuPrices, value: float, *, steps: int) -> dict[str, Any]:
    """Return the certificate of prices that are rounded already, and of their bound."""
    return {
        "kind": "lagrangian",
        "grid": prices.grid.tolist(),
        "prices": prices.price.tolist(),
        "steps": steps,
        "value": value,
    }


def _lagrangian(instance: HareInstance, certificate: LagrangianCertificate) -> float:
    view = arrays(instance)
    grid, classes = _grid(instance, certificate.grid), len(view.class_gpus)
    if [len(row) for row in certificate.prices] != [len(grid) - 1] * classes:
        raise InputError(
            "need one for each class of GPUs and cell of the grid", path="certificate.prices"
        )
    fine = certificate.steps
    _refuse(
        lagrangian.evaluation_size(view, float(grid[-1]), len(grid), fine),
        MOST_WORK,
        "steps of time",
    )
    return lagrangian.bound(instance, GpuPrices(grid, np.array(certificate.prices)), steps=fine)


def _fluid(instance: HareInstance, certificate: FluidCertificate) -> LinearProgram:
    grid = _grid(instance, certificate.grid)
    size = fluid.entry_count(arrays(instance), len(grid), sync_rows=certificate.sync_rows)
    _refuse(size, MOST_ENTRIES, "entries")
    return fluid.build(instance, grid, sync_rows=certificate.sync_rows).program


def _time_indexed(instance: HareInstance, certificate: TimeIndexedCertificate) -> float:
    upper = certificate.upper
    try:
        place = time_indexed.layout(instance, upper)
    except ScaleError as error:
        raise InputError(str(error), path="certificate") from None
    _refuse(place.columns, MOST_COLUMNS, "columns")
    _refuse(place.entries, MOST_ENTRIES, "entries")
    program = time_indexed.build(instance, upper=upper)
    # in grid steps, and of the schedules up to `upper` only
    bound = safe_bound(program, dense(certificate.duals, len(program.row_lower)))
    return time_indexed.bound_in_units(instance, upper, bound)


def cut_certificate(
    kind: str,
    relaxed: BaseRelaxation,
    program: LinearProgram,
    cuts: Sequence[LoadCut],
    duals: Floats,
) -> tuple[float, dict[str, Any]]:
    """Return the bound that duals [i] of a relaxation with cuts prove, and the certificate.

    `program` is that of the duals: it may have fewer cuts than there are now. Cuts of price 0 are
    left out.
    """
    base = len(relaxed.program.row_lower)
    paid = [at for at in range(len(program.row_lower) - base) if duals[base + at]]
    kept = [cuts[at] for at in paid]
    chosen = np.concatenate([duals[:base], duals[base + np.array(paid, dtype=np.int64)]])
    bound, pairs = certify(relaxation_arrays.with_cuts(relaxed, kept), chosen)
    return bound, {
        "kind": kind,
        "cuts": [
            {
                "machine": cut.machine,
                "items": cut.items.tolist(),
                "load": cut.load,
                "release": cut.release,
            }
            for cut in kept
        ],
        "duals": pairs,
        "value": bound,
    }


def _cuts(instance: HareInstance, certificate: CutsCertificate) -> LinearProgram:
    view = arrays(instance)
    _refuse(len(view.alike) * len(view.class_gpus), MOST_ITEMS, "items and machines")
    relaxed = relaxation_arrays.build(
        instance, limit=relaxation.start_limit(instance, horizon_cap=True), integer=False
    )
    items, machines = relaxed.items.train.shape
    _refuse(sum(len(row.items) for row in certificate.cuts), MOST_ENTRIES, "entries of cuts")
    cuts = []
    for row in certificate.cuts:
        chosen = np.unique(np.array(row.items, dtype=np.int64))  # a set: each item once
        if chosen[-1] >= items or row.machine >= machines:
            raise InputError("no such items or machine", path="certificate.cuts")
        cuts.append(LoadCut(row.machine, chosen, row.load, row.release))
    return relaxation_arrays.with_cuts(relaxed, cuts)


# Each kind of certificate: its record, and the evaluation of one.
_KINDS: dict[str, tuple[type[Certificate], Callable[[HareInstance, Any], float]]] = {
    "critical-path": (CriticalPathCertificate, _critical),
    "fluid-lp": (FluidCertificate, _programmed(_fluid)),
    "lagrangian": (LagrangianCertificate, _lagrangian),
    "relaxed-conic": (CutsCertificate, _programmed(_cuts)),
    "relaxed-prefix": (CutsCertificate, _programmed(_cuts)),
    "time-indexed-lp": (TimeIndexedCertificate, _time_indexed),
}
