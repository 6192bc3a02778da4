"""What can be said of the online algorithms on an instance; the paper itself proves nothing.

Numbers G1-G4:

- G1, weak duality of (4) and (5): prices, with every job's true least cost, bound what a round can
  run. Evaluated on the prices that A_maxsche ends with.
- G2: with every batch solved to proof, the sum of all c_j is at most 4 times that of any schedule
  that ends by T / 4. The argument is that of interval-indexed batches (Hall, Schulz, Shmoys, Wein).
- G3: it says nothing on sum c_j - a_j, the paper's objective: no online algorithm that never
  preempts is within a constant there, already on one worker.
- G4: why prices cannot carry a ratio for A_maxsche as they do elsewhere: a job weighs 1 and takes
  at least two units, and one worker in use closes its server.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from schedgap.instances.edge import EdgeInstance, EdgeSchedule, arrays
from schedgap.models.edge.algorithms.prices import RoundMarket, scale, unit_price
from schedgap.models.edge.decisions import problem
from schedgap.models.edge.modes import all_modes
from schedgap.models.edge.programs.dual import LARGEST, Pricer, Prices, rounded

FLOW = "none on sum c_j - a_j: no online algorithm without preemption has a constant there (G3)"


def dual_value(instance: EdgeInstance, market: RoundMarket) -> float | None:
    """Return the bound (5) on a batch that the market's prices prove (G1), at most all jobs.

    Parameters
    ----------
    instance : EdgeInstance
        A batch, of the round of the market.

    Returns
    -------
    float or None
        None where the prices are too large to be summed exactly, and would prove nothing.

    Notes
    -----
    Source: (5), (5a), (6), with least costs over every start, whatever A_maxsche looked at.
    """
    given = arrays(instance)
    prices = Prices(
        _stacked(market, given.workers.shape, of_workers=True),
        _stacked(market, given.ps.shape, of_workers=False),
    )
    if max(prices.workers.max(), prices.ps.max()) * market.slots >= LARGEST:
        return None
    pricer = Pricer(problem(instance), market.slots)
    try:
        return min(float(len(pricer.view.tasks)), -pricer.bound(prices))
    except ValueError:
        return None


def _stacked(market: RoundMarket, shape: tuple[int, ...], *, of_workers: bool) -> Any:
    """[s, type, t] prices of a round; 0 for types that nobody asked for."""
    found = np.zeros((*shape, market.slots))
    for kind, windows in (market.workers if of_workers else market.ps).items():
        found[:, kind] = windows.price
    return rounded(found)


def exact_batches(
    instance: EdgeInstance, reference: EdgeSchedule | None = None, **free: object
) -> dict[str, Any]:
    """Return what G2 says of A_online with every batch solved to proof.

    Parameters
    ----------
    reference : EdgeSchedule or None
        The schedule R to compare with: an optimal one, or the best that is known. Without it,
        nothing is said of when it ends.
    free
        Options of the run, on which the claim does not depend.

    Returns
    -------
    dict
        `claim` in words; `factor` None, as there is none on the objective; `holds` and `failed`,
        whether the assumptions are met and which are not; `limit`, 4 sum (c_j^R - a_j) + 3 sum a_j,
        the most that sum c_j - a_j can be, or None without `reference`.

    Notes
    -----
    A job that R ends by tau_i arrives before tau_i (first assumption), and that part of R, moved to
    tau_i + 1.., is one possible batch of round i; hence after round i as many jobs run as R ends by
    tau_i. The k-th job of round i ends by 4 tau_{i-1}, and the k-th of R after tau_{i-1}. The last
    job of R ends in a round that still has 2 tau_i <= T slots (second assumption).
    """
    failed = list(_too_short(instance))
    limit = None
    if reference is None:
        failed.append("horizon >= 4 times the last slot of the schedule that it is compared with")
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
    """Jobs that could end in their slot of arrival: of these G2 speaks only a slot too late."""
    found = []
    for j, job in enumerate(instance.jobs):
        shortest = min((mode.duration for mode in all_modes(instance, j)), default=math.inf)
        least = min(job.transfer_delay.values())
        if least + shortest < 2:
            found.append(f"least delay + duration of job {job.id} >= 2; it is {least + shortest}")
    return found


def no_guarantee(instance: EdgeInstance, **free: object) -> dict[str, Any]:
    """Return why there is no guarantee for A_online and A_maxsche on an instance (G4).

    Returns
    -------
    dict
        `claim`, `factor` None, `holds` False, and in `failed` the assumptions of price-based ratios
        (weight over consumption in [1, F]; demands below 1 / log theta of a server) that fail.
    """
    failed = []
    volume = least_volume(instance)
    if volume > 1:
        failed.append(f"a job weighs no less than it takes; it weighs 1 and takes {volume} units")
    theta = scale(instance)
    given = arrays(instance)
    for name, capacity, each in (
        ("worker", given.workers, theta.worker),
        ("PS", given.ps, theta.ps),
    ):
        least, log = int(capacity[capacity > 0].min(initial=2**62)), math.log2(each + 1)
        if least < log:
            failed.append(f"every server has log2 theta = {log:.3g} of a {name}; one has {least}")
    return {
        "claim": "none: the paper proves nothing on A_online",
        "factor": None,
        "holds": False,
        "failed": failed,
    }


def least_volume(instance: EdgeInstance) -> int:
    """Return the least n d + d of all modes: workers and PS times slots, at least 2."""
    modes = (mode for j in range(len(instance.jobs)) for mode in all_modes(instance, j))
    return min((mode.duration * (mode.workers + 1) for mode in modes), default=2)


def closed_servers(instance: EdgeInstance) -> Mapping[str, tuple[int, int]]:
    """Return how many servers one job closes for a round, of those with two units or more (G4).

    Returns
    -------
    mapping
        For `worker` and `ps`: pairs of server and type with one unit in use where the next one
        costs every job 1 or more, even for its shortest duration; and all pairs with at least two
        units of a type that some job asks for. Nobody pays that.
    """
    given, theta = arrays(instance), scale(instance)
    found = {}
    for name, capacity, wanted, each in (
        ("worker", given.workers, given.worker_type, theta.worker),
        ("ps", given.ps, given.ps_type, theta.ps),
    ):
        shortest: dict[int, int] = {}  # by type
        for j, kind in enumerate(wanted.tolist()):
            for mode in all_modes(instance, j):
                shortest[kind] = min(shortest.get(kind, mode.duration), mode.duration)
        pairs = [(d, int(c)) for kind, d in shortest.items() for c in capacity[:, kind] if c >= 2]
        closed = sum(d * float(unit_price(each, np.array(1), c)) >= 1 for d, c in pairs)
        found[name] = closed, len(pairs)
    return found


def opening_cap(instance: EdgeInstance, capacity: int, volume: int) -> float:
    """Return the F_1 below which one worker in use leaves a server open to the next job.

    Parameters
    ----------
    capacity : int
        W_su of the server.
    volume : int
        Workers times slots of the next job; its PS is taken to be free of charge.

    Notes
    -----
    volume (theta_1^(1/capacity) - 1) < 1 with theta_1 = 2 T S U F_1 + 1, of (7).
    """
    per_cap = scale(instance).worker / instance.price_caps.worker  # 2 T S U
    return ((1 + 1 / volume) ** capacity - 1) / per_cap
