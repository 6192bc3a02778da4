"""What is claimed of PD-ORS: a competitive ratio and the odds of its rounding, with conditions.

The notes on the paper hold no theorem. The argument of online primal-dual methods gives

    OPT <= 2 alpha kappa PD-ORS,    alpha = max_r max(1, ln(U^r / L)),

where 2 alpha is the form to expect and kappa, which tends to 1 as jobs get small against machines,
is ours. An admitted job raises D = sum p C + sum lambda by lambda_i + sum (p' - p) C; as
C ln(U / L) times a price is its slope in the load, that is at most alpha kappa u_i. So D ends at
D_0 + alpha kappa PD-ORS at most, and it bounds the optimum if

- A1: U and L are known beforehand, so that prices never fall;
- A2: a schedule that no longer fits costs more than the job is worth, so that (11) holds (E9);
- A3: (15) is solved exactly, and what does fit costs no less than its price said;
- A4: D_0 = T L sum C is at most half of the optimum.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from schedgap.instances.dmlrs import INTERNAL, DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Ints
from schedgap.models.dmlrs.algorithms.prices import Range, declared, final_range, of_jobs
from schedgap.models.dmlrs.algorithms.rounding_gain import Odds, odds
from schedgap.models.dmlrs.offers import Arrived, arrived
from schedgap.models.dmlrs.throughput import FULL, ps_needed, widths
from schedgap.models.method import AlgorithmRun

CLAIM = "optimum <= 2 alpha kappa times the utility (ours, after the paper's prices)"


class Demand(NamedTuple):
    """What one job can take of the machines [h, r] in a slot, thousandths; 0 where nothing."""

    least: Ints
    most: Ints


def demand(instance: DmlrsInstance, job: Arrived) -> Demand:
    """Return the least and the most that a schedule takes of a machine of which it takes some."""
    capacity = arrays(instance).capacity_milli
    if len(capacity) == 1:  # whole bundles
        fits = job.bundles.workers <= int(widths(instance).internal[job.place, 0])
        own = job.bundles.demand_milli[fits]
        return Demand(own[:1], own[-1:])
    units = np.stack([job.worker, job.ps])
    least = np.where(units > 0, units, np.iinfo(np.int64).max).min(axis=0)
    most = job.batch * job.worker + ps_needed(job.ratio, job.batch) * job.ps
    possible = (most > 0) & (least <= capacity)
    return Demand(np.where(possible, least, 0), np.where(possible, np.minimum(most, capacity), 0))


@dataclass(frozen=True, slots=True)
class Constants:
    """What the ratio and its assumptions are made of, at their worst over the jobs."""

    alpha: float  # max_r max(1, ln(U^r / L))
    share: float  # of a machine's resource, that one job can take in a slot
    kappa: float  # (e^x - 1) / x, x = that share times ln(U^r / L): prices outrun the demand by it
    first_dual: float  # T L sum C
    one_job: float  # the utility of a job that ends inside one machine, alone; OPT is no less
    overflow: float  # price of what no longer fits, as a part of the job's best utility


def constants(instance: DmlrsInstance, prices: Range) -> Constants:
    """Return the constants of an instance under a range of the prices."""
    view = arrays(instance)
    growth = np.zeros(len(instance.resources))  # ln(U / L)
    if prices.least > 0:
        growth = np.log(prices.largest / prices.least)
    share, steepest, one_job, overflow = 0.0, 0.0, 0.0, math.inf
    for job in _able(instance):
        own = demand(instance, job)
        best = float(job.utility[job.first - job.arrival])
        one_job = max(one_job, _alone(instance, job))
        for part in own:
            taken = part > 0
            shares = np.where(taken, part / np.maximum(view.capacity_milli, 1), 0.0)
            share = max(share, float(shares.max()))
            steepest = max(steepest, float((shares * growth).max()))
            # rho > C - d: p > U e^{-x}; over d this is least at one of the ends
            price = (prices.largest * np.exp(-growth * shares) * part / 1000)[taken]
            if best > 0:
                overflow = min(overflow, float(price.min(initial=math.inf)) / best)
    total = float(view.capacity.sum())
    return Constants(
        prices.alpha,
        share,
        math.expm1(steepest) / steepest if steepest else 1.0,
        instance.horizon * prices.least * total,
        one_job,
        overflow,
    )


def _able(instance: DmlrsInstance) -> Iterator[Arrived]:
    """Yield the jobs that may be completed."""
    for j in range(len(instance.jobs)):
        job = arrived(instance, j)
        if job.first <= instance.horizon:
            yield job


def _alone(instance: DmlrsInstance, job: Arrived) -> float:
    """Return what a job earns that has the machines for itself and stays inside one; 0 if late."""
    width = int(widths(instance).internal[job.place].max())
    slots = math.ceil(float(job.needed[INTERNAL]) / width * FULL) if width else math.inf
    return float(job.utility[int(slots) - 1]) if slots <= len(job.utility) else 0.0


def competitive(
    instance: DmlrsInstance,
    *,
    prices: str | None = None,
    price_floor: float = 0.0,
    dp: str = "grid",
    literal_13: bool = False,
    **free: object,
) -> dict[str, Any]:
    """Return what the argument above says of PD-ORS on an instance.

    Parameters
    ----------
    prices, price_floor, dp, literal_13
        Options of the run, as in `pd_ors`.
    free
        Options on which the claim does not depend.

    Returns
    -------
    dict
        `claim`, `factor` (None unless all holds), `holds`, `failed` in words with their numbers.
    """
    given = declared(instance, price_floor) if prices in (None, "declared") else None
    used = given or of_jobs(
        list(_able(instance)),
        instance.horizon,
        arrays(instance).capacity_milli,
        floor=price_floor,
        literal=literal_13,
    )
    found = constants(instance, used)
    ways = "dp=exact" if len(instance.machines) == 1 else "dp=exact, and no rounding"
    checks = (
        ("A1: U and L are declared, or prices=oracle", given is None and prices != "oracle"),
        (
            "A2: what no longer fits is priced above the job's utility; it may be "
            f"{found.overflow:.3g} of it",
            found.overflow < 1,
        ),
        (f"A3: (15) is solved exactly ({ways})", dp != "exact" or len(instance.machines) > 1),
        (
            f"A4: T L sum C = {found.first_dual:.4g} is at most half of the optimum, or of one "
            f"job's utility, {found.one_job:.4g}",
            2 * found.first_dual > found.one_job,
        ),
    )
    failed = [words for words, fails in checks if fails]
    return {
        "claim": CLAIM,
        "factor": None if failed else 2 * found.alpha * found.kappa,
        "holds": not failed,
        "failed": failed,
    }


def rounding(
    instance: DmlrsInstance, *, gain: str | float = "one", delta: float = 1.0, **free: object
) -> dict[str, Any]:
    """Return what the gains (31), (32) promise of a draw, on the empty cluster, where most fits.

    Returns
    -------
    dict
        As `competitive`; there is no factor, as a draw's odds say nothing on the optimum.
    """
    rows = "(24), (25)" if gain == "packing" else "(26) and the row of PSs"
    claim = (
        f"a draw keeps {rows} at a cost of at most 3 G / delta times that of (23), with "
        "probability >= 1 - delta"
    )
    if len(instance.machines) == 1:
        return {}
    failed = []
    if gain not in ("packing", "cover"):
        failed.append("R1: the gain is (31) or (32)")
    if delta >= 1:
        failed.append("R2: delta < 1; with delta = 1 the claim is vacuous")
    if gain == "packing":
        every = [odds(instance, job, delta) for job in _able(instance)]
        vacuous = [each for each in every if each.packing is None]
        if vacuous:
            low, high = (f"{width:.3g}" for width in _ends(vacuous))
            failed.append(
                f"R3: W_a > ln(3 (R H + 1) / delta) = {vacuous[0].log:.3g}; for {len(vacuous)} of "
                f"{len(every)} jobs it is {low} to {high}, and the claim is vacuous"
            )
    return {"claim": claim, "factor": None, "holds": not failed, "failed": failed}


def _ends(every: list[Odds]) -> tuple[float, float]:
    return min(each.W_a for each in every), max(each.W_a for each in every)


def conditions(instance: DmlrsInstance, run: AlgorithmRun) -> dict[str, Any]:
    """Return 2 alpha and what its argument needs, as far as a run shows it.

    Returns
    -------
    dict
        `two_alpha`; `largest_step`, the most that one job took of a machine's resource in a slot,
        as a part of it, which must be far below 1; `first_dual`, T L sum C, which must be at most
        half of the optimum.
    """
    view, prices = arrays(instance), final_range(instance, run)
    place = {machine.id: h for h, machine in enumerate(instance.machines)}
    jobs = {job.id: j for j, job in enumerate(instance.jobs)}
    step = 0.0
    for row in run.schedule.allocations:
        h, j = place[row.machine], jobs[row.job]
        taken = row.workers * view.worker_milli[j] + row.ps * view.ps_milli[j]
        used = taken > 0
        step = max(step, float((taken[used] / view.capacity_milli[h][used]).max()))
    return {
        "two_alpha": 2 * prices.alpha,
        "largest_step": step,
        "first_dual": instance.horizon * prices.least * float(view.capacity.sum()),
    }


def rounding_odds(instance: DmlrsInstance, delta: float) -> dict[str, Any]:
    """Return W_a, W_b, c and d of the jobs on the empty cluster, from least to most (a trace).

    `without_gain`: the jobs for which no G makes (24) and (25) likely, as W_a is too small.
    """
    every = [odds(instance, job, delta) for job in _able(instance)]
    if not every or len(instance.machines) == 1:
        return {}

    def ends(values: list[float]) -> list[float]:
        return [round(min(values), 6), round(max(values), 6)]

    return {
        "W_a": ends([each.W_a for each in every]),
        "W_b": ends([each.W_b for each in every]),
        "c": ends([each.c for each in every]),
        "d": ends([each.d for each in every]),
        "without_gain": sum(each.packing is None for each in every),
        "jobs": len(every),
    }
