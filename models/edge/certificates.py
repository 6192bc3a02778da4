"""Bounds evaluated again from their certificates: no engine, only the instance and its prices."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from schedgap.errors import InputError
from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge import column_bound, job_bounds, mode_arrays, type_bound
from schedgap.models.edge.problem import no_schedule, problem
from schedgap.solvers.linear import Floats, safe_bound

KINDS = ("cg-bound", "batch-dual", "type-bound", "lp-mode", "job-bound", "srpt-bound")


def check_certificate(instance: EdgeInstance, certificate: Mapping[str, Any]) -> float:
    """Return the bound on the instance's optimum that a certificate proves.

    Parameters
    ----------
    certificate : Mapping
        `kind`, and prices for the kinds that have some. Its `value` is not read. Prices need not be
        those of an optimum: any prove some bound. Objectives are whole, so it is rounded up to the
        next whole number, or down for a batch.

    Raises
    ------
    InputError
        When the certificate is not one of this family, or does not fit the instance.
    """
    kind = certificate.get("kind")
    if kind not in KINDS:
        raise InputError(f"need one of {', '.join(KINDS)}", path="certificate.kind")
    try:
        if instance.is_batch != (kind == "batch-dual"):
            raise ValueError("the certificate is for the other problem")
        if no_schedule(instance) is not None:
            raise ValueError("the instance has no schedule at all")
        return _value(instance, kind, certificate)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise InputError(f"does not fit the instance ({error})", path="certificate") from None


def _value(instance: EdgeInstance, kind: str, certificate: Mapping[str, Any]) -> float:
    if kind == "job-bound":
        return job_bounds.alone(instance)
    if kind == "srpt-bound":
        return job_bounds.srpt(instance)
    if kind == "type-bound":
        return type_bound.certified(instance, certificate)
    if kind == "lp-mode":
        return duals_certified(instance, certificate)
    bound = column_bound.certified(instance, certificate)
    return float(math.floor(bound) if instance.is_batch else math.ceil(bound))


def duals_certificate(duals: Floats) -> dict[str, Any]:
    """Return the prices of the rows of `mode_arrays`, by row, as plain JSON data."""
    return {
        "kind": "lp-mode",
        "rows": len(duals),
        "duals": [[int(i), float(f"{duals[i]:.12g}")] for i in np.flatnonzero(duals)],
    }


def duals_certified(instance: EdgeInstance, data: Mapping[str, Any]) -> float:
    """Return what prices of the rows of all groups' program prove, by weak duality."""
    view = problem(instance)
    program = mode_arrays.build(view, list(view.groups()), orders=False).program
    rows = len(program.row_lower)
    if data["rows"] != rows:
        raise ValueError(f"rows: the program has {rows}")
    duals = np.zeros(rows)
    for i, price in data["duals"]:
        if not 0 <= i < rows:
            raise IndexError(f"no row {i}")
        duals[i] = price
    return float(math.ceil(safe_bound(program, duals) - 1e-6))
