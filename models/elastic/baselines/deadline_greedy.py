"""Greedy baseline with deadlines: jobs by weight over volume, each as late as possible."""

import numpy as np

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic.algorithms.a_maxweight import constants
from schedgap.models.elastic.algorithms.pricing import PricedRun, PricedServers
from schedgap.models.elastic.baselines.first_fit import fastest_mode
from schedgap.models.elastic.modes import Mode, cluster, modes


def deadline_greedy(instance: ElasticInstance) -> ElasticSchedule:
    """Serve the jobs of a batch by weight over least volume, each as late as possible.

    The paper: Jain et al., offline with deadlines. Ours: the worker type of the fastest mode, and
    of its modes the one of least volume that fits, at its latest start. Otherwise the job is
    rejected.
    """
    assert instance.deadline is not None
    view, const, end = cluster(instance), constants(instance), instance.deadline
    volumes = [const.volumes(view, modes(instance, j)).tolist() for j in range(len(instance.jobs))]
    schedulable = [j for j, job_modes in enumerate(volumes) if job_modes]
    priced, placed = PricedServers.empty(view, end - 1), {}
    for j in sorted(schedulable, key=lambda j: (-instance.jobs[j].weight / min(volumes[j]), j)):
        job_modes = modes(instance, j)
        worker_type = fastest_mode(view, const, job_modes).worker_type
        for k in sorted(range(len(job_modes)), key=lambda k: volumes[j][k]):
            if job_modes[k].worker_type != worker_type:
                continue
            run = _latest(priced, job_modes[k], end)
            if run is None:
                continue
            job = instance.jobs[j].id
            placed[job] = view.place(run.mode, run.start, run.workers, run.ps)
            priced.occupy(run)
            break
    return ElasticSchedule(placed)


def _latest(priced: PricedServers, mode: Mode, end: int) -> PricedRun | None:
    """Return the cheapest placement at the latest start of a mode that ends in time."""
    starts = np.arange(1, end - mode.duration + 1)
    feasible = starts[np.isfinite(priced.costs(mode, starts))] if len(starts) else starts
    return priced.cheapest_at(mode, int(feasible[-1])) if len(feasible) else None
