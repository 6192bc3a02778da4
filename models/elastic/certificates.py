"""Bounds evaluated again from their certificates: no engine, only the instance and its prices."""

from collections.abc import Mapping
from typing import Any

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.certificates import evaluate
from schedgap.models.elastic.bounds import coarse, container_prices, pooled, schedule_lp

KINDS = (
    "schedule-lp",
    "pooled-lp",
    "pooled-lp-coarse",
    "configuration-lp",
    "dual-lp",
    "dual-prices",
    "no-contention",
    "volume",
)


def check_certificate(instance: ElasticInstance, certificate: Mapping[str, Any]) -> float:
    """Return the bound on the instance's optimum that a certificate proves.

    Parameters
    ----------
    instance : ElasticInstance
        Its cheapest runs under the prices are computed afresh.
    certificate : Mapping
        `kind`, and what the kind adds: `prices` by server or pool, resource and slot or block,
        or by container and block; `volume` its `resource`. Its `value` is not read. Prices need not
        be those of an optimum: any prove some bound, below the optimum, or above it with
        `scheduled_weight`.

    Raises
    ------
    InputError
        When the certificate is not one of this family, or does not fit the instance.
    """
    return evaluate(certificate, KINDS, lambda kind: _bound(instance, kind, certificate))


def _bound(instance: ElasticInstance, kind: str, certificate: Mapping[str, Any]) -> float:
    if kind == "no-contention":
        return pooled.no_contention(instance)
    if kind == "volume":
        at = instance.resources.index(certificate["resource"])
        value = None if instance.is_batch else pooled.volume(instance, at)
        if value is None:
            raise ValueError("no bound by the volume of this resource")
        return value
    if kind == "pooled-lp-coarse":
        return coarse.coarse_certified(instance, certificate)
    if kind == "configuration-lp":
        return container_prices.configuration_certified(instance, certificate)
    return schedule_lp.certified(instance, certificate)
