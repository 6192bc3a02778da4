"""A run of `A_online` with its rounds, which the plain data of `a_online` do not hold."""

from typing import Any

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.algorithms.a_maxweight import ModesOf
from schedgap.models.elastic.algorithms.a_online import (
    Arrivals,
    OnlineRun,
    prepare,
    serve_rounds,
)


def run_online(
    instance: ElasticInstance, modes_of: ModesOf | None = None, **options: Any
) -> OnlineRun:
    """Run `A_online` with some options."""
    given = prepare(instance, modes_of=modes_of, **options)
    return serve_rounds(Arrivals(instance, modes_of), given)
