"""Upper bound on a batch from the final prices of A_maxweight, by the dual (9), (18).

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
from functools import cache

import numpy as np
from scipy.optimize import minimize_scalar

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.algorithms.a_maxweight import (
    ArrivedJob,
    ServedBatch,
    batch_of,
    constants,
    serve_batch,
)
from schedgap.models.elastic.algorithms.guarantees import ServedRound, fitting_weight
from schedgap.models.elastic.bounds import schedule_lp
from schedgap.models.elastic.bounds.certificates import certified_result
from schedgap.models.elastic.bounds.schedule_lp import SlotPrices
from schedgap.models.elastic.modes import cluster
from schedgap.models.elastic.programs.weights import value_step
from schedgap.models.method import MethodResult, RunContext

STEPS = 30  # evaluations of the dual function
MAX_STARTS = 2_000_000  # modes x servers x slots of one evaluation; half a second


def _scaled(instance: ElasticInstance, batch: ServedBatch) -> tuple[SlotPrices, float]:
    """Return the final prices of a batch, scaled for the best bound, and the factor."""
    view = cluster(instance)
    price = batch.prices / view.scale[:, None]
    paid = float((price.sum(axis=2) * view.capacity).sum())
    pool = np.arange(len(view.servers))

    @cache
    def dual(theta: float) -> float:
        return schedule_lp.lagrangian_bound(instance, SlotPrices(pool, theta * price))

    # Above the last factor the prices alone exceed all weights, so theta = 0 is better.
    last = math.fsum(job.weight for job in instance.jobs) / paid if paid > 0 else 0.0
    steps = {"maxiter": STEPS, "xatol": 0.0}
    least = minimize_scalar(dual, bounds=(0.0, last), method="bounded", options=steps)
    theta = min((0.0, float(least.x)), key=dual)
    return SlotPrices(pool, theta * price), theta


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
    bound = schedule_lp.lagrangian_bound(problem, _scaled(problem, served_round.windows[0])[0])
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


def dual_prices_bound(instance: ElasticInstance, call: RunContext) -> MethodResult:
    """Run `dual-prices`: bound a batch by the final prices of A_maxweight, scaled."""
    view, jobs = batch_of(instance)
    deadline = instance.deadline or 2
    if reason := schedule_lp.too_large(instance, deadline - 1):
        return MethodResult(note=reason)
    call.progress.phase("running A_maxweight")
    batch = serve_batch(view, jobs, deadline, constants(instance))
    prices, theta = _scaled(instance, batch)
    certificate = schedule_lp.certificate("dual-prices", prices)
    return certified_result(instance, certificate, theta=theta, served_weight=batch.weight)
