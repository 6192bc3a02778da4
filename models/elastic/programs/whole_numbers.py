"""Weights and amounts as integers, for CP-SAT."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from schedgap.errors import ScaleError
from schedgap.instances.elastic import ElasticInstance
from schedgap.instances.scaling import as_fraction, common_step
from schedgap.models.elastic.modes import cluster, mode_columns, modes
from schedgap.models.elastic.placement import Floats, Ints, ps_numbers
from schedgap.models.elastic.time_windows import ElasticWindows

_LARGEST = 2**40  # amounts, capacities and slots: products and sums stay far from 2^63
_LARGEST_VALUE = 2**59


@dataclass(frozen=True, slots=True, eq=False)
class IntegerData:
    """Weights and amounts of an instance as integers."""

    weight: list[int]  # [j]
    step: float  # each weight is a multiple of it
    capacity: Ints  # [h, r]
    worker: Ints  # [m, r]
    ps: Ints  # [p, r]


def exact_integers(instance: ElasticInstance, span: ElasticWindows) -> IntegerData:
    """Return the instance's own numbers.

    `span`: time windows of the jobs; the latest end limits the values.

    Raises
    ------
    ScaleError
        When they are not multiples of a common step, or too large.
    """
    step = check_whole(instance)
    weight = [int(as_fraction(job.weight) / step) for job in instance.jobs]
    if not sum(weight) * max(span.end) < _LARGEST_VALUE:
        raise ScaleError("values of schedules exceed whole numbers of 59 bits")
    data = amounts(instance)
    if not max(float(array.sum(axis=0).max(initial=0.0)) for array in data) < _LARGEST:
        raise ScaleError("amounts exceed whole numbers of 40 bits")
    capacity, worker, ps = (array.astype(np.int64) for array in data)
    return IntegerData(weight, float(step), capacity, worker, ps)


def amounts(instance: ElasticInstance) -> tuple[Floats, Floats, Floats]:
    """Return capacities [h, r], demands of workers [m, r] and of PSs [p, r], in units.

    A capacity is cut to the largest total that all jobs together can use.
    """
    view = cluster(instance)
    worker, ps = view.worker_units, view.ps_units.reshape(-1, len(view.scale))
    largest_use = np.zeros(len(view.scale))
    for j in range(len(instance.jobs)):
        m, p, N, *_ = mode_columns(modes(instance, j))
        largest_use += (N[:, None] * worker[m]).max(axis=0, initial=0.0)
        if not view.is_ring:
            number = ps_numbers(view.worker_bandwidth[m], view.ps_bandwidth[p], N)
            largest_use += (number[:, None] * ps[p]).max(axis=0, initial=0.0)
    return np.minimum(view.capacity, largest_use), worker, ps


def check_whole(instance: ElasticInstance) -> Fraction:
    """Return the largest step of which all weights are multiples.

    Raises
    ------
    ScaleError
        When there is none, or demands of a resource are not multiples of 0.0001.
    """
    view = cluster(instance)
    for r, name in enumerate(instance.resources):
        if not view.whole[r]:
            raise ScaleError(f"demands of {name} have more than 4 decimals: no whole steps")
    return common_step([job.weight for job in instance.jobs], "weights")
