"""Bounds evaluated again from their certificates: no engine, only the instance and its prices."""

import math
from collections.abc import Mapping
from typing import Any

from schedgap.instances.edge import EdgeInstance
from schedgap.models.certificates import dense, evaluate, sparse
from schedgap.models.edge.bounds import column_bound, job_bounds, mode_arrays, type_bound
from schedgap.models.edge.exact import parts
from schedgap.models.edge.problem import no_schedule, problem
from schedgap.solvers.linear import Floats, safe_bound

KINDS = ("cg-bound", "batch-dual", "type-bound", "lp-mode", "job-bound", "srpt-bound", "parts")


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
    return evaluate(certificate, KINDS, lambda kind: _value(instance, kind, certificate))


def _value(instance: EdgeInstance, kind: str, certificate: Mapping[str, Any]) -> float:
    if instance.is_batch != (kind == "batch-dual"):
        raise ValueError("the certificate is for the other problem")
    if no_schedule(instance) is not None:
        raise ValueError("the instance has no schedule at all")
    if kind == "job-bound":
        return job_bounds.alone(instance)
    if kind == "srpt-bound":
        return job_bounds.srpt(instance)
    if kind == "parts":
        return parts.certified(instance, certificate)
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
        "duals": sparse(duals),
    }


def duals_certified(instance: EdgeInstance, data: Mapping[str, Any]) -> float:
    """Return what prices of the rows of all groups' program prove, by weak duality."""
    view = problem(instance)
    program = mode_arrays.build(view, list(view.groups()), orders=False).program
    rows = len(program.row_lower)
    if data["rows"] != rows:
        raise ValueError(f"rows: the program has {rows}")
    return float(math.ceil(safe_bound(program, dense(data["duals"], rows)) - 1e-6))
