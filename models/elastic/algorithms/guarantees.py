"""The paper's statements evaluated on an instance, with the assumptions that they need.

Lemma 1 is a statement on a run (`a_online.lemma_1_of_run`), Theorems 2 and 7 are on its prices.

Logarithms are to base 2 (E8). E13, E19, E28 are the paper's errata as numbered in `paper.toml`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.algorithms.a_maxweight import (
    ArrivedJob,
    MaxWeightConstants,
    ServedBatch,
    batch_of,
    constants,
    gamma,
    serve_batch,
    split_windows,
    volume_ranges,
)
from schedgap.models.elastic.algorithms.pricing import PricedServers
from schedgap.models.elastic.modes import cluster, modes
from schedgap.models.elastic.placement import Rule, fits


class ServedRound(NamedTuple):
    """One round i of A_online in which a job could be served."""

    number: int  # i
    tau: int
    base: int  # slot after which the first window starts
    batch: tuple[ArrivedJob, ...]  # J_i
    windows: tuple[ServedBatch, ...]  # iota = 1, 2, ...: results of A_maxweight


def windows_needed(total: float, least: float, ratio: float, *, repaired: bool = False) -> int:
    """Return how many windows A_dual needs to serve as much weight as the best single window.

    `total`: weight that the best single window serves, or an upper bound on it. `least`: smallest
    weight of a job. `ratio`: gamma of the algorithm that serves each window. `repaired`: ceil(x) +
    1 instead of floor(x) + 1 (ours). After ceil(x) windows at most `least` is missing, and one more
    window serves at least a whole job. Lemma 2 overlooks that the unserved jobs of the best window
    weigh more than its weight less the total weight served (E13).

    Notes
    -----
    Source: (6).
    """
    if ratio <= 1:
        return 1  # each window would be as good as the best
    x = (math.log2(total) - math.log2(least)) / (math.log2(ratio) - math.log2(ratio - 1))
    # Rounding must not move a whole quotient to the next number.
    whole = round(x)
    if abs(x - whole) <= 1e-9 * max(1.0, x):
        return whole + 1
    return (math.ceil(x) if repaired else math.floor(x)) + 1


def theorem_alpha(
    instance: ElasticInstance, const: MaxWeightConstants, *, repaired: bool = False
) -> int:
    """Return the alpha of Theorem 5.

    `repaired`: the alpha for which its proof holds with the gap of Lemma 2 closed.
    """
    weights = [job.weight for job in instance.jobs]
    return windows_needed(math.fsum(weights), min(weights), gamma(const), repaired=repaired)


def alpha_of(alpha: int | str, instance: ElasticInstance, const: MaxWeightConstants) -> int:
    """Return the number of windows of a round.

    `alpha`: the number itself, "theory" or "theory-repaired".
    """
    if isinstance(alpha, int):
        return alpha
    return theorem_alpha(instance, const, repaired=alpha == "theory-repaired")


def failed_assumptions(
    instance: ElasticInstance, const: MaxWeightConstants, *, rule: Rule = "exact"
) -> list[str]:
    """Return the assumptions behind Theorem 3 that fail on an instance, in words (E28).

    `rule`: how split placements are found.
    """
    log, close = math.log2(const.lam), 1e-9
    ranges = volume_ranges(instance, const)
    low = min((const.kappa * weight / most for weight, _, most in ranges), default=1.0)
    high = max((const.kappa * weight / least for weight, least, _ in ranges), default=1.0)
    share, needed = _largest_share(instance), _overflow_factor(instance, const)
    fails = {
        f"A1: weight by consumption lies in [1, F = {const.F:.6g}]; it is {low:.4g}-{high:.4g}":
            low < 1 - close or high > const.F * (1 + close),
        f"A2: no job takes more than 1/log lambda = {1 / log:.4g} of a server's resource; "
        f"one can take {share:.4g}": share > 1 / log,
        "A3: split placements are of least cost": rule != "exact" and not instance.is_ring,
        f"A4: F = {const.F:.6g} prices out every job that overflows a single server and slot; "
        f"that takes {needed:.6g}": needed > const.F,
    }  # fmt: skip
    return [words for words in fails if fails[words]]


def _largest_share(instance: ElasticInstance) -> float:
    """Return the largest share of a server's resource that the workers of a mode, or a PS, use."""
    view, largest = cluster(instance), 0.0
    capacity = np.where(view.capacity > 0, view.capacity, np.inf)
    pairs = {
        (mode.worker_type, mode.ps_type, mode.workers)
        for j in range(len(instance.jobs))
        for mode in modes(instance, j)
    }
    for m, p, workers in pairs:
        on_server = np.minimum(fits(view.capacity, view.worker_units[m]), workers)
        largest = max(largest, float((on_server[:, None] * view.worker_units[m] / capacity).max()))
        if p is not None:
            hosts = (fits(view.capacity, view.ps_units[p]) >= 1)[:, None]
            largest = max(largest, float((hosts * view.ps_units[p] / capacity).max()))
    return largest


def _overflow_factor(instance: ElasticInstance, const: MaxWeightConstants) -> float:
    """Return the F for which the price lambda / 2 of one server and slot exceeds every weight."""
    view = cluster(instance)
    used = [mode for j in range(len(instance.jobs)) for mode in modes(instance, j)]
    demands = [view.worker_demand[mode.worker_type] for mode in used]
    demands += [view.ps_demand[mode.ps_type] for mode in used if mode.ps_type is not None]
    scaled = np.array(demands).reshape(-1, len(const.per_unit)) * const.per_unit
    smallest = float(scaled[scaled > 0].min()) if (scaled > 0).any() else 1.0
    heaviest = max(job.weight for job in instance.jobs)
    H, R = view.capacity.shape
    return float((const.kappa * heaviest / smallest + 0.5) / (instance.horizon * H * R))


def evaluated(
    claim: str, factor: float | None, failed: list[str], **more: object
) -> dict[str, object]:
    """Return an evaluated claim, which holds if nothing has failed."""
    return {"claim": claim, "factor": factor, "holds": not failed, "failed": failed, **more}


def theorem_3(
    instance: ElasticInstance,
    *,
    F: float | None = None,
    normalise: bool = True,
    placement: Rule = "exact",
    **free: object,
) -> dict[str, Any]:
    """Evaluate Theorem 3, the guarantee of A_maxweight, on an instance.

    `F`, `normalise`, `placement`: options of the run. `free`: other options of the run, on which
    the claim does not depend.

    `claim` in words; `factor` = 2 log lambda; `holds`, whether the instance meets the assumptions;
    `failed`, those that it does not meet, in words.
    """
    const = constants(instance, F=F, normalise=normalise)
    failed = failed_assumptions(instance, const, rule=placement)
    return evaluated("optimum <= 2 log lambda x value (Theorem 3)", gamma(const), failed)


def theorem_2(instance: ElasticInstance, **options: Any) -> dict[str, Any]:
    """Evaluate Theorem 2 or 7 on the run of A_maxweight: is (u, delta) feasible for (9), (18)?

    `options`: of `a_maxweight.constants`.

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
    return evaluated(claim, None, failed)


def dual_rows(instance: ElasticInstance, **options: Any) -> list[tuple[str, float, float]]:
    """Return for each job of a batch its id, the left side of its row of (9), and u_j.

    The left side is the weight that the cheapest schedule on the empty cluster leaves at the final
    prices of A_maxweight, at least 0. u_j is (10), (19) when job j is served, and 0 if it is not.

    `options`: of `a_maxweight.constants`.
    """
    view, jobs = batch_of(instance)
    log, deadline = list[Mapping[str, Any]](), instance.deadline or 2
    batch = serve_batch(view, jobs, deadline, constants(instance, **options), log=log)
    u = {
        event["job"]: event["weight"] - event["cost"] for event in log if event["event"] == "accept"
    }
    price = np.moveaxis(batch.prices, 2, 0)
    empty = np.broadcast_to(view.capacity, price.shape)
    priced, rows = PricedServers(view, price, empty, longest=len(price)), []
    for arrived in jobs:
        run = priced.cheapest(arrived.modes, 1, deadline)
        left = 0.0 if run is None else max(0.0, arrived.job.weight - run.cost)
        rows.append((arrived.job.id, left, u.get(arrived.job.id, 0.0)))
    return rows


def theorem_5(
    instance: ElasticInstance,
    *,
    alpha: int | str = 4,
    F: float | None = None,
    normalise: bool = True,
    placement: Rule = "exact",
    **free: object,
) -> dict[str, Any]:
    """Evaluate Theorem 5, the guarantee of A_online, on an instance.

    `alpha`, `F`, `normalise`, `placement`: options of the run. `free`: other options of the run, on
    which the claim does not depend.

    `claim` in words; `factor` = 4 alpha, with the larger one of the run's alpha and the theorem's
    own; `holds`, whether the assumptions are met, the one on alpha with the gap of Lemma 2 closed
    (E13); `failed`, those that are not, in words; `note`, both alphas in words if they differ.
    """
    const = constants(instance, F=F, normalise=normalise)
    failed = failed_assumptions(instance, const, rule=placement)
    run, needed = alpha_of(alpha, instance, const), theorem_alpha(instance, const, repaired=True)
    own = theorem_alpha(instance, const)
    if run < needed:
        failed.append(f"A5: alpha = {run} is at least {needed}")
    note = ""
    if run != own:
        note = f"4 alpha of the run is {4 * run}; the theorem's own alpha is {own}, its claim "
        note += f"{4 * own}, but the run does not use its alpha"
    return evaluated("value <= 4 alpha optimum (Theorem 5)", 4.0 * max(run, own), failed, note=note)


def fitting_weight(batch: Sequence[ArrivedJob], tau: int) -> float:
    """Return the total weight of the jobs that fit before tau when alone: no window serves more.

    `tau`: deadline of the window.
    """
    return math.fsum(job.job.weight for job in batch if job.shortest < tau)


def lemma_1(
    rounds: Sequence[ServedRound],
    alpha: int,
    *,
    upper: Callable[[ServedRound], float] | None = None,
) -> dict[str, Any]:
    """Return whether Lemma 1 certifies that a run of A_online is 4 alpha-competitive.

    `rounds`: of the run; the rounds that are missing had no job that fits. `upper`: round -> an
    upper bound on the weight that (7) can serve, such as `dual_prices.weight_bound`. It is asked
    for rounds that did not serve all jobs that fit when alone.

    `certified`: in every round at least the upper bound was served, which is property (ii);
    `factor` = 4 alpha, or None; `short`, tau of the rounds that served less.

    Notes
    -----
    The certificate does not depend on gamma.
    """
    short = []
    for served_round in rounds:
        served = math.fsum(window.weight for window in served_round.windows)
        enough = 1 - 1e-12
        if served >= fitting_weight(served_round.batch, served_round.tau) * enough:
            continue
        if upper is None or served < upper(served_round) * enough:
            short.append(served_round.tau)
    return {"certified": not short, "factor": None if short else 4 * alpha, "short": short}


def theorem_1_missed(instance: ElasticInstance) -> float:
    """Return by what factor Algorithm 4 misses the least cost of (13) in the run of A_maxweight.

    The largest over the jobs, at the prices of the run; E16 and E17 are corrected. 1 if it is
    always optimal. Jobs for which it finds nothing although there is a schedule do not count.

    `instance`: with objective `scheduled_weight`.
    """
    costs = ((least.min(initial=np.inf), found.min(initial=np.inf))
             for least, found in split_windows(instance))  # fmt: skip
    return max((found / least for least, found in costs if least > 0 and found < np.inf),
               default=1.0)  # fmt: skip


def theorem_1_near(instance: ElasticInstance) -> float:
    """Return how near Algorithm 4 is to missing the least cost of (13), from 0 to 1.

    For one job, the share of the modes and starts at which its placement is not the cheapest one.
    At 1, Algorithm 4 misses the cheapest of them, whichever it is. The largest over the jobs.

    `instance`: with objective `scheduled_weight`.
    """
    shares = [0.0]
    for least, found in split_windows(instance):
        feasible = np.isfinite(least)
        if feasible.any():
            missed = found[feasible] > least[feasible] * (1 + 1e-9)
            shares.append(float(missed.mean()))
    return max(shares)
