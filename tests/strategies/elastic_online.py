"""A run of `A_online` with its rounds, which the plain data of `a_online` do not hold."""

from typing import Any

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.algorithms.a_maxweight import ModesOf, constants
from schedgap.models.elastic.algorithms.a_online import (
    AOnlineResult,
    ElasticArrivals,
    OnlineSettings,
    serve_rounds,
)
from schedgap.models.elastic.modes import cluster


def run_online(
    instance: ElasticInstance,
    modes_of: ModesOf | None = None,
    placement: Any = "exact",
    **options: Any,
) -> AOnlineResult:
    """Run `A_online` with some settings."""
    const = constants(instance, modes_of=modes_of)
    given = OnlineSettings(cluster(instance), const, rule=placement, **options)
    return serve_rounds(ElasticArrivals(instance, modes_of), given)
