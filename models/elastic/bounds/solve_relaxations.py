"""The linear relaxations as bounds: each joined to its engine, with a certificate of its prices.

`first` finds a schedule: it says how far prices must reach, and is the first column of each job.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from schedgap.errors import ScaleError
from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic.bounds import (
    coarse_lp,
    coarse_prices,
    configuration_lp,
    container_prices,
    schedule_lp,
)
from schedgap.models.elastic.bounds.job_alone import job_alone
from schedgap.models.elastic.bounds.schedule_lp import SlotPrices
from schedgap.models.elastic.modes import cluster
from schedgap.models.elastic.programs import compact
from schedgap.models.elastic.time_windows import JobWindows, no_schedule
from schedgap.models.method import MethodResult, RunContext
from schedgap.solvers import solve

StartingSchedule = Callable[
    [ElasticInstance], ElasticSchedule | None
]  # a schedule, if one is found

_GAP = 1e-6  # relative, between master and bound, at which one pool is done
_GAP_OF_MANY = 5e-4  # others: their master is large and degenerate, and its tail long


def _own_sense(instance: ElasticInstance, value: float) -> float:
    """Return a bound of the minimisation in the objective's own sense."""
    return -value if instance.is_batch else value


def _tell(instance: ElasticInstance, call: RunContext) -> schedule_lp.OnProved:
    """Return what passes a bound of the minimisation on."""
    return lambda bound, proof: call.progress.bound(_own_sense(instance, bound), proof)


def _by_columns(
    kind: str, instance: ElasticInstance, call: RunContext, first: StartingSchedule
) -> MethodResult:
    if reason := no_schedule(instance):
        return MethodResult(infeasible=True, note=reason)
    call.progress.bound(job_alone(instance), {"kind": "no-contention"})
    start = first(instance)
    slots = schedule_lp.priced_slots(instance, start)
    if reason := schedule_lp.too_large(instance, slots):
        return MethodResult(note=reason)
    call.progress.phase("generating columns")
    found = schedule_lp.solve_lp(
        instance,
        start,
        pooled=kind == "pooled-lp",
        clock=call.clock,
        seed=call.seed,
        threads=call.threads,
        on_bound=_tell(instance, call),
    )
    if found.infeasible:
        return MethodResult(infeasible=True, note="the relaxation exceeds every schedule in time")
    if found.prices is None or found.result is None:
        return MethodResult(note="stopped before the first bound")
    result = found.result
    return schedule_lp.certified_result(
        instance,
        schedule_lp.certificate(kind, found.prices),
        master=None if result.objective is None else _own_sense(instance, result.objective),
        rounds=result.rounds,
        columns=len(result.tags),
        slots=slots,
    )


schedule_lp_bound = partial(_by_columns, "schedule-lp")
pooled_lp_bound = partial(_by_columns, "pooled-lp")


def pooled_lp_coarse_bound(instance: ElasticInstance, call: RunContext) -> MethodResult:
    """Price blocks of slots of servers in pools."""
    if reason := no_schedule(instance):
        return MethodResult(infeasible=True, note=reason)
    call.progress.bound(job_alone(instance), {"kind": "no-contention"})
    call.progress.phase("generating columns")
    found = coarse_lp.solve_coarse(
        instance,
        block=call.options["block"],
        pools=call.options["pools"],
        clock=call.clock,
        seed=call.seed,
        threads=call.threads,
        on_bound=_tell(instance, call),
        gap=_GAP if call.options["pools"] == 1 else _GAP_OF_MANY,
    )
    if found.prices is None:
        return MethodResult(note="stopped before the first bound")
    certificate = coarse_prices.coarse_certificate(found.prices)
    bound = coarse_prices.coarse_certificate_bound(instance, certificate)
    master = None if found.objective is None else _own_sense(instance, found.objective)
    return MethodResult(
        bound=bound,
        trace={"master": master, "rounds": found.rounds, "columns": found.columns},
        certificate=certificate | {"value": bound},
    )


def configuration_lp_bound(instance: ElasticInstance, call: RunContext) -> MethodResult:
    """Price workers and PSs, and fill servers with whole ones."""
    if reason := no_schedule(instance):
        return MethodResult(infeasible=True, note=reason)
    call.progress.bound(job_alone(instance), {"kind": "no-contention"})
    call.progress.phase("generating columns")
    try:
        found = configuration_lp.solve_configurations(
            instance,
            block=call.options["block"],
            clock=call.clock,
            seed=call.seed,
            threads=call.threads,
            on_bound=_tell(instance, call),
            gap=_GAP_OF_MANY,
        )
    except ScaleError as error:
        return MethodResult(note=f"too large: {error}")
    if found.prices is None:
        return MethodResult(note="stopped before the first bound")
    certificate = container_prices.configuration_certificate(found.prices)
    bound = container_prices.configuration_certificate_bound(instance, certificate)
    master = None if found.objective is None else _own_sense(instance, found.objective)
    return MethodResult(
        bound=bound,
        trace={"master": master, "rounds": found.rounds, "columns": found.columns},
        certificate=certificate | {"value": bound},
    )


def dual_lp_bound(
    instance: ElasticInstance, call: RunContext, first: StartingSchedule
) -> MethodResult:
    """Solve the dual (9) with a row for every run, and return what its prices prove."""
    if reason := no_schedule(instance):
        return MethodResult(infeasible=True, note=reason)
    start = first(instance)
    slots = schedule_lp.priced_slots(instance, start)
    jobs = len(instance.jobs)
    span = JobWindows(tuple(job.arrival for job in instance.jobs), (slots + 1,) * jobs)
    most = call.options["max_columns"]
    runs = compact.enumerate_runs(instance, span, most)
    if runs is None:
        return MethodResult(note=f"too large: more than max_columns={most} runs of single jobs")
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
