"""Bounds evaluated again from their dual prices: no engine, only the instance's data."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from schedgap.instances.hare import HareInstance, arrays
from schedgap.models.certificates import dense, evaluate, sparse
from schedgap.models.hare import program_time_indexed, relaxation
from schedgap.models.hare.bounds import fluid, lagrangian, relaxation_linear
from schedgap.models.hare.bounds.lagrangian import Prices
from schedgap.models.hare.bounds.relaxation_linear import Cut, Relaxed
from schedgap.models.hare.windows import LARGEST_VALUE
from schedgap.solvers.linear import Floats, LinearProgram, safe_bound


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
        When the certificate is not one of this family, or does not fit the instance.
    """
    kinds = (*_PROGRAMS, "lagrangian")
    return evaluate(certificate, kinds, lambda kind: _bound(instance, kind, certificate))


def _bound(instance: HareInstance, kind: str, certificate: Mapping[str, Any]) -> float:
    if kind == "lagrangian":
        return _lagrangian(instance, certificate)
    program = _PROGRAMS[kind](instance, certificate)
    bound = safe_bound(program, dense(certificate["duals"], len(program.row_lower)))
    if kind == "time-indexed-lp":  # in grid steps, and of the schedules up to `upper` only
        return program_time_indexed.real_bound(instance, certificate["upper"], bound)
    return bound


def _grid(certificate: Mapping[str, Any]) -> Floats:
    grid = np.array(certificate["grid"], dtype=float)
    rising = len(grid) > 1 and grid[0] == 0 and bool((np.diff(grid) > 0).all())
    if not rising or not math.isfinite(grid[-1]):
        raise ValueError("grid: need increasing times from 0")
    return grid


def lagrangian_certificate(
    instance: HareInstance, prices: Prices, *, steps: int
) -> tuple[float, dict[str, Any]]:
    """Return the bound that prices prove, once rounded to 12 digits, and the certificate."""
    rounded = [[float(f"{price:.12g}") for price in row] for row in prices.price]
    certificate = {
        "kind": "lagrangian",
        "grid": prices.grid.tolist(),
        "prices": rounded,
        "steps": steps,
    }
    value = _lagrangian(instance, certificate)
    return value, certificate | {"value": value}


def _lagrangian(instance: HareInstance, certificate: Mapping[str, Any]) -> float:
    grid, price = _grid(certificate), np.array(certificate["prices"], dtype=float)
    if price.shape != (len(arrays(instance).class_gpus), len(grid) - 1):
        raise ValueError("prices: need one for each class of GPUs and cell")
    if not np.isfinite(price).all() or price.min() < 0:
        raise ValueError("prices: need numbers >= 0")
    steps = certificate["steps"]
    if not isinstance(steps, int) or not 1 <= steps <= lagrangian.MOST_STEPS:
        raise ValueError("steps: need a number >= 1")
    return lagrangian.bound(instance, Prices(grid, price), steps=steps)


def _fluid(instance: HareInstance, certificate: Mapping[str, Any]) -> LinearProgram:
    grid = _grid(certificate)
    return fluid.build(instance, grid, sync_rows=bool(certificate["sync_rows"])).program


def _time_indexed(instance: HareInstance, certificate: Mapping[str, Any]) -> LinearProgram:
    upper = certificate["upper"]
    if not isinstance(upper, int) or not 0 <= upper <= LARGEST_VALUE:
        raise ValueError("upper: need a value in grid steps")
    return program_time_indexed.program(instance, upper)


def cut_certificate(
    kind: str, relaxed: Relaxed, program: LinearProgram, cuts: Sequence[Cut], duals: Floats
) -> tuple[float, dict[str, Any]]:
    """Return the bound that duals [i] of a relaxation with cuts prove, and the certificate.

    `program` is that of the duals: it may have fewer cuts than there are now. Cuts of price 0 are
    left out.
    """
    base = len(relaxed.program.row_lower)
    paid = [at for at in range(len(program.row_lower) - base) if duals[base + at]]
    kept = [cuts[at] for at in paid]
    chosen = np.concatenate([duals[:base], duals[base + np.array(paid, dtype=np.int64)]])
    bound, pairs = certify(relaxation_linear.with_cuts(relaxed, kept), chosen)
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


def _cuts(instance: HareInstance, certificate: Mapping[str, Any]) -> LinearProgram:
    limit = relaxation.limit(instance, horizon_cap=True)
    relaxed = relaxation_linear.build(instance, limit=limit, integer=False)
    items, machines = relaxed.items.train.shape
    cuts = []
    for row in certificate["cuts"]:
        chosen = np.unique(np.array(row["items"], dtype=np.int64))  # a set: each item once
        machine, load = int(row["machine"]), float(row["load"])
        if not len(chosen) or chosen[0] < 0 or chosen[-1] >= items or not 0 <= machine < machines:
            raise IndexError("no such items or machine")
        if not math.isfinite(load):
            raise ValueError("load: need a finite number")
        cuts.append(Cut(machine, chosen, load, bool(row["release"])))
    return relaxation_linear.with_cuts(relaxed, cuts)


# The program of each kind of certificate, from the instance and what the certificate adds.
_PROGRAMS: dict[str, Callable[[HareInstance, Mapping[str, Any]], LinearProgram]] = {
    "fluid-lp": _fluid,
    "relaxed-conic": _cuts,
    "relaxed-prefix": _cuts,
    "time-indexed-lp": _time_indexed,
}
