"""Weights and amounts in whole numbers, for CP-SAT: the instance's own, or rounded ones."""

import math
from dataclasses import dataclass

import numpy as np

from schedgap.errors import ScaleError
from schedgap.instances.elastic import ElasticInstance
from schedgap.instances.scaling import common_step, decimal
from schedgap.models.elastic.modes import cluster, modes
from schedgap.models.elastic.placement import Floats, Ints
from schedgap.models.elastic.programs.weights import value_step
from schedgap.models.elastic.time_windows import JobWindows

_LARGEST = 2**40  # amounts, capacities and slots: products and sums stay far from 2^63
_LARGEST_VALUE = 2**59
_BITS = 30  # of the largest weight, where weights are rounded
_AMOUNT_BITS = 36  # of the largest amount, where amounts are
_ROUNDING = 1e-12  # relative, of sums of amounts


@dataclass(frozen=True, slots=True, eq=False)
class IntegerData:
    """Weights and amounts in whole numbers.

    `exact`: they are those of the instance. Else some are rounded, so that every schedule keeps to
    the rounded capacities, and costs by the rounded weights no more than it does.
    """

    weight: list[int]  # [j]
    step: float  # of the weights
    capacity: Ints  # [h, r]
    worker: Ints  # [m, r]
    ps: Ints  # [p, r]
    exact: bool


def whole_numbers(instance: ElasticInstance, span: JobWindows) -> IntegerData:
    """Return the instance's own numbers; ScaleError when they are not whole, or too large."""
    check_whole(instance)
    weight, step = whole_weights(instance), value_step(instance)
    if not sum(weight) * max(span.end) < _LARGEST_VALUE:
        raise ScaleError("values of schedules exceed whole numbers of 59 bits")
    parts = amounts(instance)
    if not max(float(part.sum(axis=0).max(initial=0.0)) for part in parts) < _LARGEST:
        raise ScaleError("amounts exceed whole numbers of 40 bits")
    assert step is not None
    room, worker, ps = (part.astype(np.int64) for part in parts)
    return IntegerData(weight, step, room, worker, ps, exact=True)


def rounded_numbers(instance: ElasticInstance, span: JobWindows) -> IntegerData:
    """Return the instance's numbers, rounded where they are not whole or too large.

    Demands are rounded down and capacities up. Weights are rounded down, those of a batch up: its
    objective is minus the weight.

    Raises
    ------
    ScaleError
        When slots exceed whole numbers of 40 bits.
    """
    if not max(span.end) < _LARGEST:
        raise ScaleError("slots exceed whole numbers of 40 bits")
    try:
        return whole_numbers(instance, span)
    except ScaleError:
        pass
    weights = [job.weight for job in instance.jobs]
    most = math.log2(_LARGEST_VALUE) - math.log2(len(weights) * (max(span.end) + 1)) - 1
    step = 2.0 ** (math.frexp(max(weights))[1] - math.floor(min(_BITS, most)))
    to_whole = math.ceil if instance.is_batch else math.floor
    room, worker, ps = amounts(instance)
    bits = np.frexp(np.concatenate([room, worker, ps]).max(axis=0))[1]
    fine = cluster(instance).whole & (bits <= _AMOUNT_BITS)
    scale = np.where(fine, 1.0, 2.0 ** (_AMOUNT_BITS - bits))  # [r]
    room = np.floor(room * scale * (1 + _ROUNDING)) + np.where(fine, 0, 1)
    return IntegerData(
        [to_whole(weight / step) for weight in weights],
        step,
        room.astype(np.int64),
        np.floor(worker * scale).astype(np.int64),
        np.floor(ps * scale).astype(np.int64),
        exact=False,
    )


def amounts(instance: ElasticInstance) -> tuple[Floats, Floats, Floats]:
    """Return capacities [h, r], demands of workers [m, r] and of PSs [p, r], in units.

    A capacity counts no further than all jobs together could use it.
    """
    view = cluster(instance)
    worker, ps = view.worker_units, view.ps_units.reshape(-1, len(view.scale))
    used = np.zeros(len(view.scale))
    for j in range(len(instance.jobs)):
        own = modes(instance, j)
        used += np.max([mode.workers * worker[mode.worker_type] for mode in own] or [0 * used], 0)
        several = [
            view.demand(mode).most_ps() * ps[mode.ps_type]
            for mode in own
            if mode.ps_type is not None
        ]
        used += np.max(several or [0 * used], 0)
    return np.minimum(view.capacity, used), worker, ps


def whole_weights(instance: ElasticInstance) -> list[int]:
    """Return the weights in steps of `weights.value_step`; ScaleError when there is none."""
    weights = [job.weight for job in instance.jobs]
    step = common_step(weights, "weights")
    return [int(decimal(weight) / step) for weight in weights]


def check_whole(instance: ElasticInstance) -> None:
    """Raise ScaleError when demands of a resource are no multiples of a step of 0.0001 or more."""
    view = cluster(instance)
    for r, name in enumerate(instance.resources):
        if not view.whole[r]:
            raise ScaleError(f"demands of {name} have more than 4 decimals: no whole steps")
