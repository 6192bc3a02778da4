"""Upper bound on a batch from the final prices of A_maxweight, by the dual (9), (18).

As they stand, the prices prove little: they are meant to keep jobs out. Scaled by one factor they
are often close to optimal dual prices. The dual function is convex in the factor, so golden section
finds its minimum. Any factor >= 0 gives a valid bound.

References
----------
J. Kiefer, "Sequential minimax search for a maximum", Proceedings of the American Mathematical
Society 4 (1953): golden section. Scaling the prices of this algorithm is new.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.algorithms.a_maxweight import (
    ArrivedJob,
    Log,
    ServedBatch,
    batch_of,
    constants,
    serve_batch,
)
from schedgap.models.elastic.algorithms.guarantees import ServedRound, fitting_weight
from schedgap.models.elastic.bounds import schedule_lp
from schedgap.models.elastic.bounds.schedule_lp import SlotPrices
from schedgap.models.elastic.modes import cluster
from schedgap.models.elastic.programs.weights import value_step
from schedgap.models.method import MethodResult, RunContext

GOLDEN = (math.sqrt(5) - 1) / 2
EVALUATIONS = 40  # largest number of evaluations of the dual function
MAX_STARTS = 2_000_000  # modes x servers x slots of one evaluation; half a second


def _scaled(
    instance: ElasticInstance, batch: ServedBatch, stop: Callable[[], bool] = lambda: False
) -> tuple[SlotPrices, float, int]:
    """Return the final prices of a batch, scaled for the best bound; the factor; evaluations."""
    view = cluster(instance)
    price = batch.prices / view.scale[:, None]
    paid = float((price.sum(axis=2) * view.capacity).sum())
    pool = np.arange(len(view.servers))

    def dual(theta: float) -> float:
        return schedule_lp.lagrangian_bound(instance, SlotPrices(pool, theta * price))

    # The dual is convex in theta; where the prices alone exceed all weights, theta = 0 is better.
    theta, evaluations = 0.0, 0
    if paid > 0:
        weight = math.fsum(job.weight for job in instance.jobs)
        theta, evaluations = golden_section_minimum(dual, weight / paid, stop)
    return SlotPrices(pool, theta * price), theta, evaluations


def weight_bound(instance: ElasticInstance, served_round: ServedRound) -> float:
    """Return an upper bound on the weight that one window of a round could have served.

    The less of two bounds: the weight of the jobs that fit when alone, and, where that is not too
    much work, the bound that the prices of the round's first window prove.
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


def theorem_2(instance: ElasticInstance, **options: object) -> dict[str, object]:
    """Evaluate Theorem 2 or 7 on the run of A_maxweight: is (u, delta) feasible for (9), (18)?

    u_j is (10), (19) at the moment when job j is served, and 0 if it is not; delta are the final
    prices. A job's cheapest schedule on the empty cluster must not leave more than u_j of its
    weight.

    `options`: options of the run.

    Returns
    -------
    dict
        `claim` in words; `factor` = None; `holds`; `failed`, the jobs whose row is violated.
    """
    claim = "the schedule is feasible for (7), (8), and (u, delta) for (9) (Theorems 2 and 7)"
    failed = ["not evaluated: needs objective scheduled_weight"]
    if instance.is_batch:
        failed = [
            f"job {job}: w - cost is {left:.6g} at the final prices, above u = {u:.6g}"
            for job, left, u in dual_rows(instance, **options)
            if left > u + 1e-6
        ]
    return {"claim": claim, "factor": None, "holds": not failed, "failed": failed}


def dual_rows(instance: ElasticInstance, **options: Any) -> list[tuple[str, float, float]]:
    """Return for each job of a batch its id, the left side of its row of (9), and u_j.

    The left side is the weight that the cheapest schedule leaves at the final prices of
    A_maxweight, at least 0.

    `options`: options of A_maxweight.
    """
    view, jobs = batch_of(instance)
    deadline = instance.deadline or 2
    rule, order = options.pop("placement", "exact"), options.pop("order", "arrival")
    tie = options.pop("tie", "order")
    log: Log = []
    batch = serve_batch(
        view, jobs, deadline, constants(instance, **options),
        rule=rule, order=order, tie=tie, log=log,
    )  # fmt: skip
    u = {
        event["job"]: event["weight"] - event["cost"] for event in log if event["event"] == "accept"
    }
    pool = np.arange(len(view.servers))
    prices = SlotPrices(pool, batch.prices / view.scale[:, None])
    least = schedule_lp.RunPricer(instance, pool).values(prices)[0].tolist()
    return [(each.job.id, -least[each.place], u.get(each.job.id, 0.0)) for each in jobs]


def batch_problem(
    instance: ElasticInstance, jobs: Sequence[ArrivedJob], deadline: int
) -> ElasticInstance:
    """Return the problem (7), (16) of some jobs of an instance, all available from slot 1.

    `jobs`: at least one. `deadline`: tau >= 2.
    """
    data = instance.to_data()
    chosen = [data["jobs"][each.place] | {"arrival": 1} for each in jobs]
    changed = {"objective": "scheduled_weight", "deadline": deadline, "jobs": chosen}
    return ElasticInstance.from_data(data | changed)


def golden_section_minimum(
    function: Callable[[float], float], most: float, stop: Callable[[], bool]
) -> tuple[float, int]:
    """Return an approximate minimiser of a convex function on [0, most], by golden section.

    `function`: convex. `most`: upper end of the interval. `stop`: returns True when time is up.

    Returns
    -------
    (float, int)
        The best of all points tried, 0 among them; and the number of evaluations.
    """
    low, high = 0.0, most
    tried = {0.0: function(0.0)}

    def at(point: float) -> float:
        if point not in tried:
            tried[point] = function(point)
        return tried[point]

    left, right = high - GOLDEN * high, GOLDEN * high
    while len(tried) < EVALUATIONS and not stop():
        if at(left) <= at(right):
            high, right = right, left
            left = high - GOLDEN * (high - low)
        else:
            low, left = left, right
            right = low + GOLDEN * (high - low)
    return min(tried, key=lambda point: tried[point]), len(tried)


def dual_prices_bound(instance: ElasticInstance, call: RunContext) -> MethodResult:
    """Run `dual-prices`: bound a batch by the final prices of A_maxweight, scaled."""
    view, jobs = batch_of(instance)
    deadline = instance.deadline or 2
    if reason := schedule_lp.too_large(instance, deadline - 1):
        return MethodResult(note=reason)
    call.progress.phase("running A_maxweight")
    batch = serve_batch(view, jobs, deadline, constants(instance))
    prices, theta, evaluations = _scaled(instance, batch, call.clock.expired)
    certificate = schedule_lp.certificate("dual-prices", prices)
    return schedule_lp.certified_result(
        instance, certificate, theta=theta, evaluations=evaluations, served_weight=batch.weight
    )
