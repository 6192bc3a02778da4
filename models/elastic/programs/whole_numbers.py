"""Weights and amounts in whole numbers, for CP-SAT: the instance's own numbers, or rounded ones."""

import math
from dataclasses import dataclass

import numpy as np

from schedgap.errors import ScaleError
from schedgap.instances.elastic import ElasticInstance
from schedgap.instances.scaling import as_fraction, common_step
from schedgap.models.elastic.modes import cluster, modes
from schedgap.models.elastic.placement import Floats, Ints
from schedgap.models.elastic.programs.weights import value_step
from schedgap.models.elastic.time_windows import ElasticWindows

_LARGEST = 2**40  # amounts, capacities and slots: products and sums stay far from 2^63
_LARGEST_VALUE = 2**59
_BITS = 30  # of the largest rounded weight
_AMOUNT_BITS = 36  # of the largest rounded amount
_ROUNDING = 1e-12  # relative rounding error of sums of amounts


@dataclass(frozen=True, slots=True, eq=False)
class IntegerData:
    """Weights and amounts in whole numbers.

    If `exact`, they are those of the instance. Otherwise some are rounded such that every schedule
    respects the rounded capacities and costs no more with the rounded weights: a relaxation.
    """

    weight: list[int]  # [j]
    step: float  # of the weights
    capacity: Ints  # [h, r]
    worker: Ints  # [m, r]
    ps: Ints  # [p, r]
    exact: bool


def exact_integers(instance: ElasticInstance, span: ElasticWindows) -> IntegerData:
    """Return the instance's own numbers.

    `span`: time windows of the jobs; the latest end limits the values.

    Raises
    ------
    ScaleError
        When they are not multiples of a common step, or too large.
    """
    check_whole(instance)
    weight, step = whole_weights(instance), value_step(instance)
    if not sum(weight) * max(span.end) < _LARGEST_VALUE:
        raise ScaleError("values of schedules exceed whole numbers of 59 bits")
    data = amounts(instance)
    if not max(float(array.sum(axis=0).max(initial=0.0)) for array in data) < _LARGEST:
        raise ScaleError("amounts exceed whole numbers of 40 bits")
    assert step is not None
    capacity, worker, ps = (array.astype(np.int64) for array in data)
    return IntegerData(weight, step, capacity, worker, ps, exact=True)


def rounded_integers(instance: ElasticInstance, span: ElasticWindows) -> IntegerData:
    """Return the instance's numbers, rounded where they are not whole or too large.

    Demands are rounded down and capacities up. Weights are rounded down, those of a batch up, since
    its objective is minus the weight.

    `span`: time windows of the jobs.

    Raises
    ------
    ScaleError
        When slots exceed whole numbers of 40 bits.
    """
    if not max(span.end) < _LARGEST:
        raise ScaleError("slots exceed whole numbers of 40 bits")
    try:
        return exact_integers(instance, span)
    except ScaleError:
        pass
    weights = [job.weight for job in instance.jobs]
    max_bits = math.log2(_LARGEST_VALUE) - math.log2(len(weights) * (max(span.end) + 1)) - 1
    step = 2.0 ** (math.frexp(max(weights))[1] - math.floor(min(_BITS, max_bits)))
    to_whole = math.ceil if instance.is_batch else math.floor
    capacity, worker, ps = amounts(instance)
    bits = np.frexp(np.concatenate([capacity, worker, ps]).max(axis=0))[1]
    unscaled = cluster(instance).whole & (bits <= _AMOUNT_BITS)
    scale = np.where(unscaled, 1.0, 2.0 ** (_AMOUNT_BITS - bits))  # [r]
    capacity = np.floor(capacity * scale * (1 + _ROUNDING)) + np.where(unscaled, 0, 1)
    return IntegerData(
        [to_whole(weight / step) for weight in weights],
        step,
        capacity.astype(np.int64),
        np.floor(worker * scale).astype(np.int64),
        np.floor(ps * scale).astype(np.int64),
        exact=False,
    )


def amounts(instance: ElasticInstance) -> tuple[Floats, Floats, Floats]:
    """Return capacities [h, r], demands of workers [m, r] and of PSs [p, r], in units.

    A capacity is cut to the largest total that all jobs together can use.
    """
    view = cluster(instance)
    worker, ps = view.worker_units, view.ps_units.reshape(-1, len(view.scale))
    largest_use = np.zeros(len(view.scale))
    for j in range(len(instance.jobs)):
        job_modes = modes(instance, j)
        largest_use += np.max(
            [mode.workers * worker[mode.worker_type] for mode in job_modes] or [0 * largest_use], 0
        )
        ps_use = [
            view.demand(mode).most_ps() * ps[mode.ps_type]
            for mode in job_modes
            if mode.ps_type is not None
        ]
        largest_use += np.max(ps_use or [0 * largest_use], 0)
    return np.minimum(view.capacity, largest_use), worker, ps


def whole_weights(instance: ElasticInstance) -> list[int]:
    """Return the weights as multiples of `weights.value_step`; ScaleError when there is none."""
    weights = [job.weight for job in instance.jobs]
    step = common_step(weights, "weights")
    return [int(as_fraction(weight) / step) for weight in weights]


def check_whole(instance: ElasticInstance) -> None:
    """Raise ScaleError when demands of a resource are not multiples of 0.0001."""
    view = cluster(instance)
    for r, name in enumerate(instance.resources):
        if not view.whole[r]:
            raise ScaleError(f"demands of {name} have more than 4 decimals: no whole steps")
