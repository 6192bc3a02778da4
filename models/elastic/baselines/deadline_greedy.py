"""The greedy scheme with deadlines: jobs of a batch by weight over volume, as late as can be."""

import numpy as np

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic.algorithms.a_maxweight import constants
from schedgap.models.elastic.algorithms.pricing import PricedCluster, PricedRun
from schedgap.models.elastic.baselines.first_fit import JobPlacement, fastest_mode
from schedgap.models.elastic.modes import Mode, cluster, modes


def deadline_greedy(instance: ElasticInstance) -> ElasticSchedule:
    """Serve jobs of a batch by weight over least volume, each as late as it can run.

    The paper: Jain et al., offline with deadlines. Ours: the worker type of the quickest mode;
    of its modes the one of least volume that fits, at the latest start; else the job is rejected.
    """
    assert instance.deadline is not None
    view, const, end = cluster(instance), constants(instance), instance.deadline
    volumes = [const.volumes(view, modes(instance, j)).tolist() for j in range(len(instance.jobs))]
    able = [j for j, own in enumerate(volumes) if own]
    market, placed = PricedCluster.empty(view, end - 1), {}
    for j in sorted(able, key=lambda j: (-instance.jobs[j].weight / min(volumes[j]), j)):
        own = modes(instance, j)
        kind = fastest_mode(view, const, own).worker_type
        for k in sorted(range(len(own)), key=lambda k: volumes[j][k]):
            if own[k].worker_type != kind:
                continue
            offer = _latest(market, own[k], end)
            if offer is None:
                continue
            job = instance.jobs[j].id
            placed[job] = view.place(own[k], offer.start, offer.workers, offer.ps)
            amounts = JobPlacement(own[k], offer.workers, offer.ps).amounts(view)
            servers = np.flatnonzero(amounts.any(axis=1))
            span = slice(offer.start - 1, offer.end - 1)
            free = market.free[span, servers] - amounts[servers]
            market.change(offer.start, offer.end - 1, servers, np.zeros_like(free), free)
            break
    return ElasticSchedule(placed)


def _latest(market: PricedCluster, mode: Mode, end: int) -> PricedRun | None:
    """Return the latest start of a mode that ends in time."""
    starts = np.arange(1, end - mode.duration + 1)
    able = starts[np.isfinite(market.costs(mode, starts))] if len(starts) else starts
    return market.offer(mode, int(able[-1])) if len(able) else None
