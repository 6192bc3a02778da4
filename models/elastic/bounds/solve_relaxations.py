"""The linear relaxations as methods: each is solved and its bound certified by its prices.

`starting_schedule` returns a feasible schedule if it finds one: it limits the slots that need
prices, and gives the first column of each job.
"""

from collections.abc import Callable
from typing import Annotated

import numpy as np
from annotated_types import Ge

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic.bounds import schedule_lp
from schedgap.models.elastic.bounds.configuration_lp import Block, solve_configurations
from schedgap.models.elastic.bounds.container_prices import block_certificate_bound
from schedgap.models.elastic.bounds.job_alone import job_alone
from schedgap.models.elastic.bounds.schedule_lp import SlotPrices
from schedgap.models.elastic.modes import cluster
from schedgap.models.elastic.programs import compact
from schedgap.models.elastic.time_windows import ElasticWindows
from schedgap.models.method import MethodResult, RunContext
from schedgap.solvers import solve

StartingSchedule = Callable[[ElasticInstance], ElasticSchedule | None]

_GAP = 5e-4  # relative gap between master and bound: masters over blocks converge slowly
_NO_BOUND = "stopped before the first bound"


def _own_sense(instance: ElasticInstance, value: float) -> float:
    """Return a bound of the minimisation in the objective's own sense."""
    return -value if instance.is_batch else value


def _on_bound(instance: ElasticInstance, call: RunContext) -> schedule_lp.OnProved:
    """Return the function that reports a bound of the minimisation as progress."""
    return lambda bound, proof: call.progress.bound(_own_sense(instance, bound), proof)


def by_columns(
    kind: str, instance: ElasticInstance, call: RunContext, starting_schedule: StartingSchedule
) -> MethodResult:
    """Bound by the relaxation over all runs.

    `kind`: `schedule-lp`, or `pooled-lp` with equal servers pooled. `starting_schedule`: its
    schedule limits the slots that need prices.
    """
    call.progress.bound(job_alone(instance), {"kind": "no-contention"})
    start = starting_schedule(instance)
    slots = schedule_lp.priced_slots(instance, start)
    if reason := schedule_lp.too_large(instance, slots):
        return MethodResult(note=reason)
    call.progress.phase("generating columns")
    lp = schedule_lp.solve_lp(
        instance,
        start,
        pooled=kind == "pooled-lp",
        budget=call.budget,
        on_bound=_on_bound(instance, call),
    )
    if lp.infeasible:
        return MethodResult(infeasible=True, note="the relaxation exceeds every schedule in time")
    if lp.prices is None:
        return MethodResult(note=_NO_BOUND)
    master = lp.result.objective
    return schedule_lp.certified_result(
        instance,
        schedule_lp.certificate(kind, lp.prices),
        master=None if master is None else _own_sense(instance, master),
        rounds=lp.result.rounds,
        columns=len(lp.result.tags),
        slots=slots,
    )


def configuration_lp_bound(
    instance: ElasticInstance, call: RunContext, *, block: Block = None
) -> MethodResult:
    """Bound by the relaxation over whole workers and PSs and configurations of servers."""
    call.progress.bound(job_alone(instance), {"kind": "no-contention"})
    call.progress.phase("generating columns")
    lp = solve_configurations(
        instance, block=block, budget=call.budget, on_bound=_on_bound(instance, call), gap=_GAP
    )
    if lp is None:
        return MethodResult(note=_NO_BOUND)
    bound = block_certificate_bound(instance, lp.certificate)
    master = None if lp.objective is None else _own_sense(instance, lp.objective)
    return MethodResult(
        bound=bound,
        trace={"master": master, "rounds": lp.rounds, "columns": lp.columns},
        certificate={**lp.certificate, "value": bound},
    )


def dual_lp_bound(
    instance: ElasticInstance,
    call: RunContext,
    starting_schedule: StartingSchedule,
    *,
    max_columns: Annotated[int, "largest number of runs to enumerate", Ge(1)] = 50_000,
) -> MethodResult:
    """Solve the dual (9) with a row for every run, and return the bound that its prices prove.

    `starting_schedule`: its schedule limits the slots that need prices.
    """
    start = starting_schedule(instance)
    slots = schedule_lp.priced_slots(instance, start)
    jobs = len(instance.jobs)
    span = ElasticWindows(tuple(job.arrival for job in instance.jobs), (slots + 1,) * jobs)
    runs = compact.enumerate_runs(instance, span, max_columns)
    if runs is None:
        note = f"too large: more than max_columns={max_columns} runs of single jobs"
        return MethodResult(note=note)
    model = compact.build_dual(instance, runs=runs)
    result = solve(
        model, call.engine or "highs", clock=call.clock, threads=call.threads, seed=call.seed
    )
    if result.status == "unbounded" and start is None:  # zero prices are feasible
        return MethodResult(infeasible=True, note="the dual is unbounded: the relaxation is empty")
    if result.objective is None:
        return MethodResult(note=f"the program was not solved ({result.status})")
    price = np.zeros((*cluster(instance).capacity.shape, slots))
    for (h, r, t), variable in model.delta.items():
        price[h, r, t - 1] = max(0.0, variable.value or 0.0)
    certificate = schedule_lp.certificate("dual-lp", SlotPrices(np.arange(len(price)), price))
    return schedule_lp.certified_result(
        instance, certificate, dual_value=result.objective, rows=len(runs)
    )
