"""What a job's workers bring and cost: parameter servers (2), bundles, widths, first completion."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from schedgap.instances.dmlrs import EXTERNAL, INTERNAL, DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Floats, Ints

ROUNDING = 1e-9  # of n / gamma, and of the cover of the work in (3)
FULL = 1 - ROUNDING  # the part of its work that completes a job


@dataclass(frozen=True, slots=True, eq=False)
class Bundles:
    """The numbers of workers that a job may have in a slot, each with its PSs and their demand.

    Arrays by k; all are read-only.
    """

    workers: Ints  # [k] n, ascending, 1..F
    ps: Ints  # [k] m(n)
    demand_milli: Ints  # [k, r] n alpha + m(n) beta, in thousandths

    @property
    def demand(self) -> Floats:
        """The same in the resources' own units [k, r]."""
        found: Floats = self.demand_milli / 1000
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Widths:
    """The most that an empty machine holds of each job; all arrays are read-only, [i, h]."""

    internal: Ints  # M_h: workers together with their PSs; 0 if none fit
    workers: Ints  # Wx: workers alone, at most F
    ps: Ints  # Sx: PSs alone, at most m(F)


def ps_needed(ratio: float, workers: int) -> int:
    """Return m(n) = ceil(n / gamma - 1e-9): the PSs that n workers need, (2); at least 1."""
    return max(1, math.ceil(workers / ratio - ROUNDING)) if workers else 0


def is_allowed(instance: DmlrsInstance, ratio: float, workers: int) -> bool:
    """Whether a job may have n >= 1 workers: with `ps_rule` exact only multiples of gamma."""
    if instance.ps_rule == "at_least":
        return True
    whole = round(workers / ratio)
    return whole >= 1 and abs(workers / ratio - whole) < ROUNDING


def least_worker_slots(needed: float) -> int:
    """Return the least whole number of worker-slots that does the work, in one mode, of N = needed.

    The very expression that judges schedules decides.
    """
    n = max(1, math.ceil(FULL * needed) - 1)
    while n / needed < FULL:
        n += 1
    return n


def progress(instance: DmlrsInstance, i: int, internal: int, external: int) -> float:
    """Return A / N_int + B / N_ext, the part of job i's work that so many worker-slots do, (3)."""
    needed = arrays(instance).needed[i]
    return float(internal / needed[INTERNAL] + external / needed[EXTERNAL])


@lru_cache(maxsize=4096)
def bundles(instance: DmlrsInstance, i: int) -> Bundles:
    """Return the bundles of job i."""
    view = arrays(instance)
    ratio = float(view.ratio[i])
    n = [k for k in range(1, int(view.batch[i]) + 1) if is_allowed(instance, ratio, k)]
    workers = np.array(n, dtype=np.int64)
    ps = np.array([ps_needed(ratio, k) for k in n], dtype=np.int64)
    demand = workers[:, None] * view.worker_milli[i] + ps[:, None] * view.ps_milli[i]
    found = Bundles(workers, ps, demand)
    for array in (workers, ps, demand):
        array.setflags(write=False)
    return found


@lru_cache(maxsize=64)
def widths(instance: DmlrsInstance) -> Widths:
    """Return what each empty machine holds of each job."""
    view = arrays(instance)
    shape = len(instance.jobs), len(instance.machines)
    found = Widths(*(np.zeros(shape, dtype=np.int64) for _ in range(3)))
    for i in range(shape[0]):
        some = bundles(instance, i)
        most = int(some.ps[-1]) if len(some.ps) else 0
        found.workers[i] = _alone(view.capacity_milli, view.worker_milli[i], int(view.batch[i]))
        found.ps[i] = _alone(view.capacity_milli, view.ps_milli[i], most)
        # demand grows with n, so the bundles that fit are the first ones
        fitting = (some.demand_milli[:, None, :] <= view.capacity_milli).all(axis=2).sum(axis=0)
        if len(some.workers):
            found.internal[i] = np.concatenate([[0], some.workers])[fitting]
    for array in (found.internal, found.workers, found.ps):
        array.setflags(write=False)
    return found


def _alone(capacity: Ints, demand: Ints, most: int) -> Ints:
    """Return how many units of one demand [r] each machine [h] holds, at most `most`."""
    used = demand > 0
    found: Ints = np.minimum(most, (capacity[:, used] // demand[used]).min(axis=1))
    return found


def external_width(instance: DmlrsInstance, i: int) -> int:
    """Return a number of workers that job i never exceeds in a slot on several machines.

    0 on one machine. All workers must fit on the machines without their PSs, and all PSs without
    the workers; both together may still not fit.
    """
    if len(instance.machines) == 1:
        return 0
    some, most = bundles(instance, i), widths(instance)
    fits = (some.workers <= most.workers[i].sum()) & (some.ps <= most.ps[i].sum())
    return int(some.workers[fits].max(initial=0))


@lru_cache(maxsize=64)
def first_completions(instance: DmlrsInstance) -> tuple[int, ...]:
    """Return f0 of each job: no schedule completes it earlier; T + 1 if none can complete it."""
    view, most = arrays(instance), widths(instance)
    found = []
    for i, job in enumerate(instance.jobs):
        rate = max(
            most.internal[i].max() / view.needed[i, INTERNAL],
            external_width(instance, i) / view.needed[i, EXTERNAL],
        )
        slots = instance.horizon - job.arrival + 1
        if rate * slots < FULL - 1e-12:
            found.append(instance.horizon + 1)
            continue
        # 1e-12: progress is added up in another order by the rules
        least = max(1, math.ceil((FULL - 1e-12) / rate))
        found.append(job.arrival + least - 1)
    return tuple(found)
