"""The linear relaxations as methods: each is solved and its bound certified by its prices.

`starting_schedule` returns a feasible schedule if it finds one: it limits the slots that need
prices.
"""

from collections.abc import Callable
from functools import partial
from typing import Annotated

import numpy as np
from annotated_types import Ge

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic.bounds import schedule_lp
from schedgap.models.elastic.bounds.certificates import certified_result
from schedgap.models.elastic.bounds.compiled_pricing import fastest_pricer
from schedgap.models.elastic.bounds.configuration_lp import Block, LpResult, solve_configurations
from schedgap.models.elastic.bounds.job_alone import job_alone
from schedgap.models.elastic.bounds.schedule_lp import SlotPrices
from schedgap.models.elastic.modes import cluster
from schedgap.models.elastic.programs import compact
from schedgap.models.elastic.time_windows import ElasticWindows
from schedgap.models.method import MethodResult, RunContext
from schedgap.solvers import solve

StartingSchedule = Callable[[ElasticInstance], ElasticSchedule | None]

_GAP = 5e-4  # relative gap between master and bound: masters over blocks converge slowly


def _generated(
    instance: ElasticInstance,
    call: RunContext,
    solve_lp: Callable[..., LpResult | None],
    **trace: object,
) -> MethodResult:
    """Return the result of column generation; each bound on the way is reported."""
    sign = -1.0 if instance.is_batch else 1.0
    call.progress.phase("generating columns")
    lp = solve_lp(
        budget=call.budget,
        on_bound=lambda bound, proof: call.progress.bound(sign * bound, proof),
    )
    if lp is None:
        return MethodResult(note="stopped before the first bound")
    latest = sum(job.weight for job in instance.jobs) * (instance.horizon + 1)
    closed = not instance.is_batch and instance.last_end is not None
    if closed and lp.bound > latest * (1 + 1e-9) + 1e-6:
        return MethodResult(infeasible=True, note="the relaxation exceeds every schedule in time")
    found = lp.solution.result
    master = None if found.objective is None else sign * found.objective
    sizes = {"rounds": found.rounds, "columns": len(found.tags)}
    return certified_result(instance, lp.certificate, master=master, **sizes, **trace)


def schedule_lp_bound(
    instance: ElasticInstance, call: RunContext, starting_schedule: StartingSchedule
) -> MethodResult:
    """Bound by the relaxation over all runs.

    `starting_schedule`: its schedule limits the slots that need prices.
    """
    call.progress.bound(job_alone(instance), {"kind": "no-contention"})
    slots = schedule_lp.priced_slots(instance, starting_schedule(instance))
    if reason := schedule_lp.too_large(instance, slots):
        return MethodResult(note=reason)
    return _generated(instance, call, partial(schedule_lp.solve_lp, instance, slots), slots=slots)


def configuration_lp_bound(
    instance: ElasticInstance, call: RunContext, *, block: Block = None
) -> MethodResult:
    """Bound by the relaxation over whole workers and PSs and configurations of servers."""
    call.progress.bound(job_alone(instance), {"kind": "no-contention"})
    solve_lp = partial(
        solve_configurations, instance, block=block, pricer=fastest_pricer(instance), gap=_GAP
    )
    return _generated(instance, call, solve_lp)


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
    return certified_result(instance, certificate, dual_value=result.objective, rows=len(runs))
