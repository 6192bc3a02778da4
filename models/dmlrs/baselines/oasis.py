"""OASiS: PD-ORS where machines hold workers only, or parameter servers (PSs) only.

The paper says that it keeps workers and PSs strictly apart (Bao et al., INFOCOM 2018), so that all
is external. A slot is then two problems that are solved by unit price, without a program.
"""

import math

import numpy as np

from schedgap.instances.dmlrs import EXTERNAL, DmlrsInstance
from schedgap.instances.dmlrs.compiled import Floats, Ints
from schedgap.models.dmlrs.algorithms.pd_ors import pd_ors, stop_note
from schedgap.models.dmlrs.algorithms.prices import Known
from schedgap.models.dmlrs.offers import Offer, Slot
from schedgap.models.method import AlgorithmRun, MethodResult, RunContext
from schedgap.solvers.children.clock import Clock


def oasis(
    instance: DmlrsInstance,
    *,
    worker_share: float = 0.5,
    prices: Known | None = None,
    price_floor: float = 0.0,
    clock: Clock | None = None,
) -> AlgorithmRun:
    """Admit or reject the jobs one by one as PD-ORS does, with workers and PSs apart.

    Every slot and every schedule of a job is the cheapest one. On one machine nobody runs.

    Parameters
    ----------
    worker_share : float
        Part of the machines, the first ones, that hold workers; 0..1, rounded up.
    prices, price_floor, clock
        As in `pd_ors`.

    Notes
    -----
    Source: Numerical results, Figs. 8 and 9; completed by us. Ties: as in PD-ORS.
    """
    first = worker_machines(len(instance.machines), worker_share)
    return pd_ors(
        instance,
        prices=prices,
        price_floor=price_floor,
        dp="exact",
        across="exact",
        offers=lambda slot: separated(slot, first),
        clock=clock,
    )


def run_oasis(instance: DmlrsInstance, call: RunContext) -> MethodResult:
    """Run OASiS until the time of a call is up."""
    found = oasis(instance, **call.options, clock=call.clock)
    return MethodResult(found.schedule, note=stop_note(instance, found), trace=found.trace)


def worker_machines(machines: int, share: float) -> int:
    """Return how many machines, the first ones, hold workers: ceil(share H), or all of a few."""
    return min(machines, math.ceil(share * machines - 1e-9))


def separated(slot: Slot, first: int) -> list[Offer]:
    """Return the cheapest placement for each n with workers on the `first` machines, by n.

    The PSs are on the other machines. Time: O(H log H + F H). Ties: the first machine.
    """
    workers, ps = slot.most
    hosts, others = np.arange(first), np.arange(first, len(workers))
    some, last = slot.job.bundles, slot.job.useful(EXTERNAL)
    w_order, w_filled = _filling(hosts, workers, slot.worker_price)
    s_order, s_filled = _filling(others, ps, slot.ps_price)
    found = []
    for n, m in zip(some.workers[:last].tolist(), some.ps[:last].tolist(), strict=True):
        if not len(w_order) or not len(s_order) or n > w_filled[-1] or m > s_filled[-1]:
            break
        counts = {h: (w, 0) for h, w in _first(w_order, w_filled, n)}
        counts |= {h: (0, s) for h, s in _first(s_order, s_filled, m)}
        found.append(slot.offer(dict(sorted(counts.items()))))
    return found


def _filling(machines: Ints, most: Ints, price: Floats) -> tuple[Ints, Ints]:
    """Return machines with room, cheapest first, and what they hold up to each of them."""
    usable = machines[most[machines] > 0]
    order = usable[np.argsort(price[usable], kind="stable")]
    return order, np.cumsum(most[order])


def _first(order: Ints, filled: Ints, units: int) -> list[tuple[int, int]]:
    """Return the machines that hold so many units, and how many each."""
    before = np.concatenate([[0], filled[:-1]])
    parts = np.minimum(filled, units) - before
    return [(int(h), int(part)) for h, part in zip(order, parts, strict=True) if part > 0]
