"""A run of `A_online` with its rounds, which the plain data of `a_online` do not hold."""

from typing import Any

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.algorithms.a_maxweight import ModesOf
from schedgap.models.elastic.algorithms.a_online import (
    AOnlineResult,
    ElasticArrivals,
    online_settings,
    serve_rounds,
)


def run_online(
    instance: ElasticInstance, modes_of: ModesOf | None = None, **options: Any
) -> AOnlineResult:
    """Run `A_online` with some options."""
    given = online_settings(instance, modes_of=modes_of, **options)
    return serve_rounds(ElasticArrivals(instance, modes_of), given)
