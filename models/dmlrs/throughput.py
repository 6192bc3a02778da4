"""Work and demand of a job's workers: parameter servers (2), bundles, limits, first completion."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from schedgap.instances.dmlrs import EXTERNAL, INTERNAL, DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Floats, Ints

ROUNDING = 1e-9  # tolerance on n / gamma, and on the fraction of the work in (3)
FULL = 1 - ROUNDING  # the fraction of its work that completes a job


@dataclass(frozen=True, slots=True, eq=False)
class Bundles:
    """The numbers of workers that a job may have in a slot, with the PSs and demand of each.

    Read-only arrays by k.
    """

    workers: Ints  # [k] n, ascending, 1..F
    ps: Ints  # [k] m(n)
    demand_milli: Ints  # [k, r] n alpha + m(n) beta, in thousandths

    @property
    def demand(self) -> Floats:
        """Demand [k, r] in the units of the resources."""
        demand: Floats = self.demand_milli / 1000
        return demand


@dataclass(frozen=True, slots=True, eq=False)
class MachineLimits:
    """What an empty machine can hold of each job; read-only arrays [i, h]."""

    internal: Ints  # M_h: most workers together with their PSs; 0 if none fit
    workers: Ints  # Wx: most workers alone, at most F
    ps: Ints  # Sx: most PSs alone, at most m(F)


def ps_needed(ratio: float, workers: int) -> int:
    """Return m(n) = max(1, ceil(n / gamma - 1e-9)), the PSs that n workers need, (2); 0 for n = 0.

    `ratio`: gamma >= 1, workers per PS. `workers`: n >= 0.
    """
    return max(1, math.ceil(workers / ratio - ROUNDING)) if workers else 0


def min_worker_slots(needed: float) -> int:
    """Return the least number of worker-slots, all in one mode, that completes a job.

    It is found with the same floating-point expression as the rules use.

    `needed`: N > 0, worker-slots of the whole job in that mode.
    """
    n = max(1, math.ceil(FULL * needed) - 1)
    while n / needed < FULL:
        n += 1
    return n


def progress(instance: DmlrsInstance, i: int, internal: int, external: int) -> float:
    """Return A / N_int + B / N_ext, the fraction of job i's work that A and B worker-slots do, (3).

    `internal`, `external`: worker-slots A on a single machine and B across machines.
    """
    needed = arrays(instance).needed[i]
    return float(internal / needed[INTERNAL] + external / needed[EXTERNAL])


@lru_cache(maxsize=4096)
def bundles(instance: DmlrsInstance, i: int) -> Bundles:
    """Return the bundles of job i; with `ps_rule` exact, n is a multiple of gamma."""
    view = arrays(instance)
    workers, ratio = np.arange(1, int(view.batch[i]) + 1), float(view.ratio[i])
    if instance.ps_rule == "exact":
        whole = np.round(workers / ratio)
        workers = workers[(whole >= 1) & (np.abs(workers / ratio - whole) < ROUNDING)]
    ps = np.array([ps_needed(ratio, n) for n in workers.tolist()], dtype=np.int64)
    demand = workers[:, None] * view.worker_milli[i] + ps[:, None] * view.ps_milli[i]
    job_bundles = Bundles(workers, ps, demand)
    for array in (workers, ps, demand):
        array.setflags(write=False)
    return job_bundles


@lru_cache(maxsize=64)
def machine_limits(instance: DmlrsInstance) -> MachineLimits:
    """Return what each machine holds of each job when it is empty."""
    view = arrays(instance)
    shape = len(instance.jobs), len(instance.machines)
    limits = MachineLimits(*(np.zeros(shape, dtype=np.int64) for _ in range(3)))
    for i in range(shape[0]):
        own, free = bundles(instance, i), view.capacity_milli
        max_ps = int(own.ps[-1]) if len(own.ps) else 0
        limits.workers[i] = units_that_fit(free, view.worker_milli[i], int(view.batch[i]))
        limits.ps[i] = units_that_fit(free, view.ps_milli[i], max_ps)
        limits.internal[i] = np.append(0, own.workers)[bundles_that_fit(own, free)]
    for array in (limits.internal, limits.workers, limits.ps):
        array.setflags(write=False)
    return limits


def units_that_fit(free: Ints, demand: Ints, limit: int) -> Ints:
    """Return how many units of one demand fit, at most `limit`.

    `free` [..., r]: free capacities in thousandths. `demand` [r]: in thousandths, not all 0.
    `limit`: largest number of units.
    """
    used = demand > 0
    fitting: Ints = np.minimum(limit, (free[..., used] // demand[used]).min(axis=-1))
    return fitting


def bundles_that_fit(job_bundles: Bundles, free: Ints) -> Ints:
    """Return how many of the bundles fit; demand grows with n, so they are the first ones.

    `free` [..., r]: free capacities in thousandths.
    """
    count = np.full(free.shape[:-1], len(job_bundles.workers))
    for r in np.flatnonzero(job_bundles.demand_milli.any(axis=0)):
        held = np.searchsorted(job_bundles.demand_milli[:, r], free[..., r], side="right")
        np.minimum(count, held, out=count)
    return count


def unit_by_unit(
    job_bundles: Bundles, ratio: float, demand: tuple[Ints, Ints], limit: int, free: Ints
) -> Iterator[dict[int, tuple[int, int]]]:
    """Yield a placement for each allowed number of workers, up to a limit, in one sweep.

    Worker by worker, with a PS first when the ratio requires one; each is placed on the first
    machine that holds it. A machine that cannot hold a worker or a PS never can again, so the
    search for each resumes at its last position.

    `ratio`: workers per PS. `demand` [r]: of a worker, and of a PS. `limit`: largest number of
    workers. `free` [h, r]: free capacity in thousandths; not changed.
    """
    remaining, units = free.tolist(), (demand[0].tolist(), demand[1].tolist())
    cursor = [0, 0]  # first machine that may have room for a worker, for a PS
    counts: dict[int, tuple[int, int]] = {}
    allowed = set(job_bundles.workers.tolist())
    for n in range(1, min(limit, max(allowed, default=0)) + 1):
        new_ps = ps_needed(ratio, n) - ps_needed(ratio, n - 1)
        for kind in (1,) * new_ps + (0,):
            unit, h = units[kind], cursor[kind]
            while h < len(remaining) and any(
                u > left for u, left in zip(unit, remaining[h], strict=True)
            ):
                h += 1
            cursor[kind] = h
            if h == len(remaining):
                return
            remaining[h] = [left - u for u, left in zip(unit, remaining[h], strict=True)]
            w, s = counts.get(h, (0, 0))
            counts[h] = (w + 1, s) if kind == 0 else (w, s + 1)
        if n in allowed:
            yield dict(counts)


def max_external_workers(instance: DmlrsInstance, i: int) -> int:
    """Return an upper limit on the workers of job i in a slot across machines; 0 on one machine.

    The workers must fit without their PSs, and the PSs without the workers; both together may still
    not fit.
    """
    if len(instance.machines) == 1:
        return 0
    job_bundles, limits = bundles(instance, i), machine_limits(instance)
    fits = (job_bundles.workers <= limits.workers[i].sum()) & (job_bundles.ps <= limits.ps[i].sum())
    return int(job_bundles.workers[fits].max(initial=0))


def mode_limits(instance: DmlrsInstance, i: int) -> tuple[int, int]:
    """Return upper limits on the workers of job i in a slot, by mode."""
    return int(machine_limits(instance).internal[i].max()), max_external_workers(instance, i)


@lru_cache(maxsize=64)
def first_completions(instance: DmlrsInstance) -> tuple[int, ...]:
    """Return f0 of each job, its earliest possible completion; T + 1 if it cannot be completed."""
    view = arrays(instance)
    completions = []
    for i, job in enumerate(instance.jobs):
        rate = max(np.array(mode_limits(instance, i)) / view.needed[i])
        slots = instance.horizon - job.arrival + 1
        if rate * slots < FULL - 1e-12:
            completions.append(instance.horizon + 1)
            continue
        # 1e-12: the rules add up progress in another order
        duration = max(1, math.ceil((FULL - 1e-12) / rate))
        completions.append(job.arrival + duration - 1)
    return tuple(completions)
