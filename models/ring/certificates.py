"""Bounds evaluated again from their certificates: no engine, only the instance and its prices."""

from collections.abc import Mapping
from typing import Any

from schedgap.instances.ring import RingInstance
from schedgap.models.certificates import evaluate
from schedgap.models.ring.bounds.class_lp import ClassPrices, certified, class_program
from schedgap.models.ring.bounds.elementary import rounded_sizes, work_needed
from schedgap.models.ring.bounds.pattern_lp import Refutation, refutes
from schedgap.models.ring.rates import no_schedule, rate_table

KINDS = ("longest", "area", "width-dff", "class-lp", "pattern-lp")


def check_certificate(instance: RingInstance, certificate: Mapping[str, Any]) -> float:
    """Return the bound on the makespan that a certificate proves, in slots.

    Parameters
    ----------
    instance : RingInstance
    certificate : Mapping
        `kind`, and what the kind adds: `longest` its `job`; `width-dff` its `k`; `class-lp` the
        prices of `classes` and `jobs`; `pattern-lp` the `slots` that it refutes and the whole
        prices of `jobs`. Its `value` is not read. Any prices >= 0 prove some bound.

    Raises
    ------
    InputError
        When the certificate is not one of this family, or does not fit the instance.
    """
    return evaluate(certificate, KINDS, lambda kind: _bound(instance, kind, certificate))


def _bound(instance: RingInstance, kind: str, certificate: Mapping[str, Any]) -> float:
    table = rate_table(instance)
    names = [job.id for job in instance.jobs]
    if reason := no_schedule(instance):
        raise ValueError(reason)
    if kind == "longest":
        return table.best_slots[names.index(certificate["job"])]
    if kind == "area":
        return work_needed(table, table.size)
    if kind == "width-dff":
        k = certificate["k"]
        if not 0 <= 2 * k <= table.gpus + 1:
            raise ValueError("k is at most half of the GPUs, rounded up")
        return work_needed(table, rounded_sizes(table.size, table.gpus, k))
    paid = certificate["jobs"]
    if kind == "class-lp":
        given = ClassPrices(certificate["classes"], tuple(paid.get(name, 0.0) for name in names))
        return certified(class_program(table), given)
    refutation = Refutation(certificate["slots"], tuple(paid.get(name, 0) for name in names))
    if not refutes(table, refutation):
        raise ValueError("the prices refute nothing")
    return refutation.slots + 1
