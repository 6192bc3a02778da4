"""OASiS: PD-ORS where a machine holds workers only, or parameter servers (PSs) only.

The paper says that OASiS keeps workers and PSs strictly apart (Bao et al., INFOCOM 2018), so
every slot is external. A slot is then two problems, which are solved by unit price, without a
program.
"""

import math
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Le

from schedgap.instances.dmlrs import EXTERNAL, DmlrsInstance
from schedgap.instances.dmlrs.compiled import Floats, Ints
from schedgap.models.dmlrs.algorithms.pd_ors import pd_ors, stop_note
from schedgap.models.dmlrs.algorithms.prices import PriceFloor, PriceSource
from schedgap.models.dmlrs.slot_options import SlotOption, SlotState
from schedgap.models.method import AlgorithmRun, MethodResult, RunContext
from schedgap.solvers.children.clock import Clock


def oasis(
    instance: DmlrsInstance,
    *,
    worker_share: Annotated[float, "share of the machines that hold workers", Ge(0), Le(1)] = 0.5,
    prices: PriceSource = None,
    price_floor: PriceFloor = 0.0,
    clock: Clock | None = None,
) -> AlgorithmRun:
    """Admit or reject the jobs as PD-ORS does, with workers and PSs on different machines.

    Every slot option and every schedule of a job is the cheapest one. On one machine no job runs.

    `worker_share`: share of the machines, the first ones, that hold workers; 0..1, rounded up.
    `prices`, `price_floor`, `clock`: as in `pd_ors`.

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
        options=lambda slot: separated(slot, first),
        clock=clock,
    )


def run_oasis(instance: DmlrsInstance, call: RunContext, **options: Any) -> MethodResult:
    """Run OASiS within the time of a call; `options`: its own."""
    run = oasis(instance, **options, clock=call.clock)
    return MethodResult(run.schedule, note=stop_note(instance, run), trace=run.trace)


def worker_machines(machines: int, share: float) -> int:
    """Return how many machines, the first ones, hold workers: ceil(share H), at most H.

    `machines`: H. `share`: in 0..1.
    """
    return min(machines, math.ceil(share * machines - 1e-9))


def separated(slot: SlotState, worker_hosts: int) -> list[SlotOption]:
    """Return the cheapest placement for each n with workers on the first machines only, by n.

    The PSs are on the other machines. Time: O(H log H + F H). Ties: the first machine.

    `slot`: state of the slot for the job. `worker_hosts`: number of machines, the first ones, that
    hold workers.
    """
    workers, ps = slot.max_units
    hosts, others = np.arange(worker_hosts), np.arange(worker_hosts, len(workers))
    job_bundles, last = slot.job.bundles, slot.job.useful_bundles(EXTERNAL)
    w_order, w_total = _fill_order(hosts, workers, slot.worker_price)
    s_order, s_total = _fill_order(others, ps, slot.ps_price)
    options = []
    for n, m in zip(
        job_bundles.workers[:last].tolist(), job_bundles.ps[:last].tolist(), strict=True
    ):
        if not len(w_order) or not len(s_order) or n > w_total[-1] or m > s_total[-1]:
            break
        counts = {h: (w, 0) for h, w in _counts(w_order, w_total, n)}
        counts |= {h: (0, s) for h, s in _counts(s_order, s_total, m)}
        options.append(slot.option(dict(sorted(counts.items()))))
    return options


def _fill_order(machines: Ints, max_units: Ints, price: Floats) -> tuple[Ints, Ints]:
    """Return the usable machines, cheapest first, and how many units they hold cumulatively."""
    usable = machines[max_units[machines] > 0]
    order = usable[np.argsort(price[usable], kind="stable")]
    return order, np.cumsum(max_units[order])


def _counts(order: Ints, total: Ints, units: int) -> list[tuple[int, int]]:
    """Return the machines that hold the given number of units, with the number on each."""
    before = np.concatenate([[0], total[:-1]])
    parts = np.minimum(total, units) - before
    return [(int(h), int(part)) for h, part in zip(order, parts, strict=True) if part > 0]
