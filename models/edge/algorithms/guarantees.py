"""Guarantees of the online algorithms; all of them are ours, as the paper proves none.

- G1, weak duality of (4) and (5). Any prices, with the exact least cost of each job, bound the
  number of jobs that a round can run. The bound is evaluated at the final prices of A_maxsche.
- G2. Let every batch be solved to proved optimality. Then the sum of all c_j is at most 4 times the
  sum of any schedule that ends by T / 4. The argument is that for interval-indexed batches.
- G3. G2 says nothing on sum c_j - a_j, the paper's objective. No online algorithm without
  preemption has a constant ratio there, not even on one worker.
- G4. The usual argument for price-based ratios does not apply to A_maxsche. A job has weight 1 but
  uses at least two units, and one worker in use closes its server.

References
----------
L. A. Hall, A. S. Schulz, D. B. Shmoys, J. Wein, "Scheduling to minimize average completion time:
off-line and on-line approximation algorithms", Mathematics of Operations Research 22 (1997): the
argument of G2.
"""

import math
from collections.abc import Mapping

import numpy as np

from schedgap.instances.edge import EdgeInstance, EdgeSchedule, arrays
from schedgap.models.edge.algorithms.cheapest_schedule import Floats, SlotWindows
from schedgap.models.edge.algorithms.prices import RoundPrices, price_scale
from schedgap.models.edge.decisions import compiled
from schedgap.models.edge.modes import all_modes
from schedgap.models.edge.programs.dual import LARGEST, CapacityPrices, LagrangianDual, rounded

FLOW = "none on sum c_j - a_j: no online algorithm without preemption has a constant there (G3)"


def dual_value(instance: EdgeInstance, prices: RoundPrices) -> float | None:
    """Return the upper bound (5) on a batch that prices prove (G1), at most its number of jobs.

    `prices`: of its round.

    The result is None if the prices are too large to be summed exactly.

    Notes
    -----
    Source: (5), (5a), (6), with least costs over all starts, not only those that A_maxsche tried.
    """
    given, slots = arrays(instance), prices.slots
    dual_prices = CapacityPrices(
        _stacked(prices.workers, (*given.workers.shape, slots)),
        _stacked(prices.ps, (*given.ps.shape, slots)),
    )
    if max(dual_prices.workers.max(), dual_prices.ps.max()) * slots >= LARGEST:
        return None
    dual = LagrangianDual(compiled(instance), slots)
    try:
        return min(float(len(dual.view.tasks)), -dual.bound(dual_prices))
    except ValueError:
        return None


def _stacked(tables: Mapping[int, SlotWindows], shape: tuple[int, ...]) -> Floats:
    """Return prices [s, type, t] from tables by type; 0 for types without a table."""
    stacked = np.zeros(shape)
    for kind, windows in tables.items():
        stacked[:, kind] = windows.price
    return rounded(stacked)


def exact_batches(
    instance: EdgeInstance, reference: EdgeSchedule | None = None, **free: object
) -> dict[str, object]:
    """Return guarantee G2 of A_online with every batch solved to proved optimality.

    `reference`: the schedule R to compare with, an optimal or the best known one. Without it the
    assumption on its end counts as failed. `**free`: options of the run; the guarantee does not
    depend on them.

    The keys are `claim` in words; `factor`, None because the objective has none; `holds` and
    `failed`, whether the assumptions hold and which do not; `limit`, the upper bound 4 sum (c_j^R -
    a_j) + 3 sum a_j on sum c_j - a_j, None without `reference`.

    Notes
    -----
    A job that ends in R by tau_i arrives before tau_i (first assumption). The jobs that end in R by
    tau_i, shifted to tau_i + 1.., are a feasible batch of round i; hence A_online has started at
    least as many jobs after round i. Let the k-th job to end in R end in tau_{i-1} + 1..tau_i. The
    k-th job that A_online starts runs in round i or before. So it ends by 2 tau_i = 4 tau_{i-1},
    which is less than 4 times the end of the k-th job in R. The last job of R ends in a round with
    2 tau_i <= T (second assumption).
    """
    failed = _too_short(instance)
    limit = None
    if reference is None:
        failed.append("horizon >= 4 times the last slot of the reference schedule")
    else:
        last = max(reference.completion(job.id) for job in instance.jobs)
        if instance.horizon < 4 * last:
            failed.append(f"horizon {instance.horizon} >= 4 times the last slot {last}")
        limit = 4 * reference.value(instance) + 3 * sum(job.arrival for job in instance.jobs)
    return {
        "claim": f"sum c_j <= 4 times that of any schedule, if every batch is proved (G2); {FLOW}",
        "factor": None,
        "holds": not failed,
        "failed": failed,
        "limit": limit,
    }


def _too_short(instance: EdgeInstance) -> list[str]:
    """Return the failed first assumption for each job that could end in its slot of arrival."""
    failed = []
    for j, job in enumerate(instance.jobs):
        shortest = min((mode.duration for mode in all_modes(instance, j)), default=math.inf)
        least = min(job.transfer_delay.values())
        if least + shortest < 2:
            failed.append(f"least delay + duration of job {job.id} >= 2; it is {least + shortest}")
    return failed


def no_guarantee(instance: EdgeInstance, **free: object) -> dict[str, object]:
    """Return why there is no guarantee for A_online and A_maxsche on an instance (G4).

    `**free`: options of the run; they do not matter.

    The keys are `claim`, `factor` (None), `holds` (False) and `failed`. The last one has the
    assumptions of price-based ratios that fail: weight over volume in [1, F]; demands below 1 / log
    theta of a server.
    """
    failed = []
    volume = least_volume(instance)
    if volume > 1:
        failed.append(f"the weight of a job is at least its volume; they are 1 and {volume} units")
    theta = price_scale(instance)
    given = arrays(instance)
    for name, capacity, theta_1 in (
        ("worker", given.workers, theta.worker),
        ("PS", given.ps, theta.ps),
    ):
        least, log = int(capacity[capacity > 0].min(initial=2**62)), math.log2(theta_1 + 1)
        if least < log:
            failed.append(f"every server has log2 theta = {log:.3g} {name}s; one has {least}")
    return {
        "claim": "none: the paper proves nothing on A_online",
        "factor": None,
        "holds": False,
        "failed": failed,
    }


def least_volume(instance: EdgeInstance) -> int:
    """Return the least volume n d + d over all modes, workers and PS times slots; at least 2."""
    modes = (mode for j in range(len(instance.jobs)) for mode in all_modes(instance, j))
    return min((mode.duration * (mode.workers + 1) for mode in modes), default=2)
