"""A run of `A_online` with its rounds, which the plain data of `a_online` do not hold."""

from typing import Any, NamedTuple

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic.algorithms.a_maxweight import ModesOf, constants
from schedgap.models.elastic.algorithms.a_online import (
    ElasticArrivals,
    OnlineSettings,
    serve_rounds,
)
from schedgap.models.elastic.algorithms.guarantees import ServedRound
from schedgap.models.elastic.modes import cluster


class OnlineRun(NamedTuple):
    """Schedule and rounds of a run."""

    schedule: ElasticSchedule
    rounds: list[ServedRound]


def run_online(
    instance: ElasticInstance,
    modes_of: ModesOf | None = None,
    placement: Any = "exact",
    **options: Any,
) -> OnlineRun:
    """Run `A_online` with some settings."""
    const = constants(instance, modes_of=modes_of)
    given = OnlineSettings(cluster(instance), const, rule=placement, **options)
    return OnlineRun(*serve_rounds(ElasticArrivals(instance, modes_of), given))
