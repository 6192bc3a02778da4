"""The claims on PD-ORS: a competitive ratio, the odds of its rounding, and its running time.

The notes on the paper hold no theorem. The argument of online primal-dual methods gives

    OPT <= 2 alpha kappa PD-ORS,    alpha = max_r max(1, ln(U^r / L)),

where 2 alpha is the expected form and kappa, which tends to 1 as jobs become small against the
machines, is ours. An admitted job raises D = sum p C + sum lambda by lambda_i + sum (p' - p) C.
C ln(U / L) times a price is its slope in the load. Hence the rise is at most alpha kappa u_i. D
ends at no more than D_0 + alpha kappa PD-ORS, and it bounds the optimum if

- A1: U and L are known beforehand, hence prices never fall;
- A2: a schedule that no longer fits costs more than the job's utility, hence (11) holds (E9);
- A3: (15) is solved exactly, and a schedule that fits costs no less than its price said;
- A4: D_0 = T L sum C is at most half of the optimum.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from schedgap.instances.dmlrs import INTERNAL, DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Ints
from schedgap.models.dmlrs.algorithms.prices import PriceRange, declared, final_range, of_jobs
from schedgap.models.dmlrs.algorithms.rounding_gain import gain_parameters
from schedgap.models.dmlrs.slot_options import JobAtArrival, candidates
from schedgap.models.dmlrs.throughput import FULL, machine_limits, ps_needed
from schedgap.models.method import AlgorithmRun

CLAIM = "optimum <= 2 alpha kappa times the utility (ours, after the paper's prices)"


class MachineDemand(NamedTuple):
    """Least and largest demand of one job on a machine [h, r] in a slot, thousandths; 0 if none."""

    smallest: Ints
    largest: Ints


def machine_demand(instance: DmlrsInstance, job: JobAtArrival) -> MachineDemand:
    """Return the least and the largest demand of a job on a machine that it uses."""
    capacity = arrays(instance).capacity_milli
    if len(capacity) == 1:  # whole bundles
        fits = job.bundles.workers <= int(machine_limits(instance).internal[job.index, 0])
        demands = job.bundles.demand_milli[fits]
        return MachineDemand(demands[:1], demands[-1:])
    units = np.stack([job.worker, job.ps])
    smallest = np.where(units > 0, units, np.iinfo(np.int64).max).min(axis=0)
    largest = job.batch * job.worker + ps_needed(job.ratio, job.batch) * job.ps
    possible = (largest > 0) & (smallest <= capacity)
    return MachineDemand(
        np.where(possible, smallest, 0), np.where(possible, np.minimum(largest, capacity), 0)
    )


@dataclass(frozen=True, slots=True)
class PrimalDualConstants:
    """The constants of the ratio and of its assumptions, at their worst over the jobs."""

    alpha: float  # max_r max(1, ln(U^r / L))
    share: float  # largest share of a resource of a machine that one job takes
    kappa: float  # (e^x - 1) / x, x = share times ln(U^r / L): rise of prices over demand
    first_dual: float  # T L sum C
    one_job: float  # largest utility of a job that runs alone on one machine; OPT is no less
    overflow: float  # least price of a schedule that does not fit, over the job's utility


def constants(instance: DmlrsInstance, prices: PriceRange) -> PrimalDualConstants:
    """Return the constants of an instance under a range of the prices.

    `prices`: U and L.
    """
    view = arrays(instance)
    growth = np.zeros(len(instance.resources))  # ln(U / L)
    if prices.smallest > 0:
        growth = np.log(prices.largest / prices.smallest)
    share, steepest, one_job, overflow = 0.0, 0.0, 0.0, math.inf
    for job in candidates(instance):
        extremes = machine_demand(instance, job)
        best = float(job.utility[job.first - job.arrival])
        one_job = max(one_job, _internal_utility(instance, job))
        for taken_amount in extremes:
            taken = taken_amount > 0
            shares = np.where(taken, taken_amount / np.maximum(view.capacity_milli, 1), 0.0)
            share = max(share, float(shares.max()))
            steepest = max(steepest, float((shares * growth).max()))
            # rho > C - d: p > U e^{-x}; over d this is least at one of the ends
            price = (prices.largest * np.exp(-growth * shares) * taken_amount / 1000)[taken]
            if best > 0:
                overflow = min(overflow, float(price.min(initial=math.inf)) / best)
    total = float(view.capacity.sum())
    return PrimalDualConstants(
        prices.alpha,
        share,
        math.expm1(steepest) / steepest if steepest else 1.0,
        instance.horizon * prices.smallest * total,
        one_job,
        overflow,
    )


def _internal_utility(instance: DmlrsInstance, job: JobAtArrival) -> float:
    """Return the utility of a job alone on the cluster that stays on one machine; 0 if late."""
    width = int(machine_limits(instance).internal[job.index].max())
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
    """Return what the argument above proves for PD-ORS on an instance.

    Parameters
    ----------
    prices, price_floor, dp, literal_13
        Options of the run, as in `pd_ors`.
    free
        Options on which the claim does not depend.

    Returns
    -------
    dict
        `claim`, `factor` (None unless all holds), `holds`, `failed`: the failed assumptions in
        words.
    """
    given = declared(instance, price_floor) if prices in (None, "declared") else None
    price_range = given or of_jobs(
        candidates(instance),
        instance.horizon,
        arrays(instance).capacity_milli,
        floor=price_floor,
        literal=literal_13,
    )
    parts = constants(instance, price_range)
    setting = "dp=exact" if len(instance.machines) == 1 else "dp=exact, and no rounding"
    checks = (
        ("A1: U and L are declared, or prices=oracle", given is None and prices != "oracle"),
        (
            "A2: a schedule that no longer fits costs more than the job's utility; it may cost "
            f"{parts.overflow:.3g} of it",
            parts.overflow < 1,
        ),
        (f"A3: (15) is solved exactly ({setting})", dp != "exact" or len(instance.machines) > 1),
        (
            f"A4: T L sum C = {parts.first_dual:.4g} is at most half of the optimum, or of one "
            f"job's utility, {parts.one_job:.4g}",
            2 * parts.first_dual > parts.one_job,
        ),
    )
    failed = [words for words, fails in checks if fails]
    return {
        "claim": CLAIM,
        "factor": None if failed else 2 * parts.alpha * parts.kappa,
        "holds": not failed,
        "failed": failed,
    }


def rounding(
    instance: DmlrsInstance, *, gain: str | float = "one", delta: float = 1.0, **free: object
) -> dict[str, Any]:
    """Return what the gains (31), (32) guarantee for a draw, on the empty cluster, where most fits.

    Parameters
    ----------
    gain, delta
        Options of the run, as in `Rounding`.
    free
        Options on which the claim does not depend.

    Returns
    -------
    dict
        As `competitive`; without a factor, because the odds of a draw do not concern the optimum.
    """
    rows = "(24), (25)" if gain == "packing" else "(26) and the row of PSs"
    claim = (
        f"a draw satisfies {rows} at a cost of at most 3 G / delta times that of (23), with "
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
        parameters = [gain_parameters(instance, job, delta) for job in candidates(instance)]
        vacuous = [each for each in parameters if each.packing is None]
        if vacuous:
            low, high = (f"{end(each.W_a for each in vacuous):.3g}" for end in (min, max))
            failed.append(
                f"R3: W_a > ln(3 (R H + 1) / delta) = {vacuous[0].log:.3g}; for {len(vacuous)} of "
                f"{len(parameters)} jobs it is {low} to {high}, and the claim is vacuous"
            )
    return {"claim": claim, "factor": None, "holds": not failed, "failed": failed}


def recursion_calls(slots: int, volume: int) -> int:
    """Return how often Algorithm 3, as printed, calls Algorithm 4: each call of itself starts anew.

    Let f(n, V) be the sum over v = 0..V of 1 + f(n - 1, V - v), with f(0, .) = 0. This number is
    C(V + n + 1, n) - 1.

    `slots`: from the arrival of the job to its completion. `volume`: V, its samples.
    """
    return math.comb(volume + slots + 1, slots) - 1


def complexity(instance: DmlrsInstance, **free: object) -> dict[str, Any]:
    """Return the number of steps behind the stated running time of PD-ORS.

    `free`: options of the run; the statement is about dp=literal with quanta of one sample.

    The keys are as in `competitive`, without a factor, because a running time does not concern the
    optimum.
    """
    volumes = [job.volume for job in instance.jobs]
    stated = sum(instance.horizon * volume**2 for volume in volumes)
    claim = (
        f"PD-ORS solves sum_i T K_i^2 E_i^2 = {stated:.3g} problems (19), each in O(H^3 + S) time, "
        "if each Theta(t, v) is computed once"
    )
    return {"claim": claim, "factor": None, "holds": True, "failed": []}


def conditions(instance: DmlrsInstance, run: AlgorithmRun) -> dict[str, Any]:
    """Return 2 alpha and the conditions of its argument, as far as a run shows them.

    `run`: a run of `pd_ors` on the instance.

    The keys are `two_alpha`, `largest_step` and `first_dual`. `largest_step` is the largest share
    of a machine's resource that one job took in a slot, which must be far below 1. `first_dual` is
    T L sum C, which must be at most half of the optimum.
    """
    view, prices = arrays(instance), final_range(instance, run)
    machine_index = {machine.id: h for h, machine in enumerate(instance.machines)}
    job_index = {job.id: j for j, job in enumerate(instance.jobs)}
    step = 0.0
    for row in run.schedule.allocations:
        h, j = machine_index[row.machine], job_index[row.job]
        taken = row.workers * view.worker_milli[j] + row.ps * view.ps_milli[j]
        used = taken > 0
        step = max(step, float((taken[used] / view.capacity_milli[h][used]).max()))
    return {
        "two_alpha": 2 * prices.alpha,
        "largest_step": step,
        "first_dual": instance.horizon * prices.smallest * float(view.capacity.sum()),
    }


def rounding_odds(instance: DmlrsInstance, delta: float) -> dict[str, Any]:
    """Return the ranges of W_a, W_b, c and d over the jobs on the empty cluster, for a trace.

    `without_gain` counts the jobs for which no G makes (24) and (25) likely, because W_a is too
    small.

    Parameters
    ----------
    delta : float
        In (0, 1].
    """
    parameters = [gain_parameters(instance, job, delta) for job in candidates(instance)]
    if not parameters or len(instance.machines) == 1:
        return {}

    def ends(values: list[float]) -> list[float]:
        return [round(min(values), 6), round(max(values), 6)]

    return {
        "W_a": ends([each.W_a for each in parameters]),
        "W_b": ends([each.W_b for each in parameters]),
        "c": ends([each.c for each in parameters]),
        "d": ends([each.d for each in parameters]),
        "without_gain": sum(each.packing is None for each in parameters),
        "jobs": len(parameters),
    }
