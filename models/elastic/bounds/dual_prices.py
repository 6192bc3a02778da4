"""Upper bound on a window of A_online from the final prices of A_maxweight, by the dual (9), (18).

As they stand, the prices prove little: they are meant to keep jobs out. Scaled by one factor they
are often close to optimal dual prices. The dual function is convex in the factor, so Brent's method
finds its minimum. Any factor >= 0 gives a valid bound.

References
----------
R. P. Brent, "Algorithms for minimization without derivatives", Prentice-Hall (1973). Scaling the
prices of this algorithm is new.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize_scalar

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.algorithms.a_maxweight import ArrivedJob, ServedBatch
from schedgap.models.elastic.algorithms.guarantees import ServedRound, fitting_weight
from schedgap.models.elastic.bounds import schedule_lp
from schedgap.models.elastic.bounds.schedule_lp import SlotPrices
from schedgap.models.elastic.modes import cluster
from schedgap.models.elastic.programs.weights import value_step

STEPS = 30  # evaluations of the dual function
MAX_STARTS = 2_000_000  # modes x servers x slots of one evaluation; half a second


def least_dual(instance: ElasticInstance, batch: ServedBatch) -> float:
    """Return the least bound that the final prices of a batch prove, times any factor."""
    view = cluster(instance)
    price = batch.prices / view.scale[:, None]
    paid = float((price.sum(axis=2) * view.capacity).sum())
    pool = np.arange(len(view.servers))

    def dual(theta: float) -> float:
        return schedule_lp.lagrangian_bound(instance, SlotPrices(pool, theta * price))

    # Above the last factor the prices alone exceed all weights, so theta = 0 is better.
    last = math.fsum(job.weight for job in instance.jobs) / paid if paid > 0 else 0.0
    steps = {"maxiter": STEPS, "xatol": 0.0}
    least = minimize_scalar(dual, bounds=(0.0, last), method="bounded", options=steps)
    return min(dual(0.0), dual(float(least.x)))


def weight_bound(instance: ElasticInstance, served_round: ServedRound) -> float:
    """Return an upper bound on the weight that one window of a round could have served.

    The less of two bounds. One is the weight of the jobs that fit when alone. The other is the
    bound that the prices of the round's first window prove, if that is not too much work.
    """
    fitting = fitting_weight(served_round.batch, served_round.tau)
    size = (
        len(instance.servers)
        * (served_round.tau - 1)
        * sum(len(job.modes) for job in served_round.batch)
    )
    if not served_round.windows or size > MAX_STARTS:
        return fitting
    problem = batch_problem(instance, served_round.batch, served_round.tau)
    bound = least_dual(problem, served_round.windows[0])
    step = value_step(problem)
    if step is not None:
        bound = math.floor(bound / step + 1e-6) * step
    return min(fitting, bound)


def batch_problem(
    instance: ElasticInstance, jobs: Sequence[ArrivedJob], deadline: int
) -> ElasticInstance:
    """Return the problem (7), (16) of some jobs of an instance, all available from slot 1.

    `jobs`: at least one. `deadline`: tau >= 2.
    """
    data = instance.to_data()
    chosen = [data["jobs"][job.place] | {"arrival": 1} for job in jobs]
    changed = {"objective": "scheduled_weight", "deadline": deadline, "jobs": chosen}
    return ElasticInstance.from_data(data | changed)
