"""The bounds: each joins one relaxation to the engine that solves it, with a certificate."""

from collections.abc import Callable
from typing import Any

import numpy as np

from schedgap.errors import ScaleError
from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic import program_compact
from schedgap.models.elastic.batch import a_maxweight, batch_of, constants
from schedgap.models.elastic.bounds import (
    coarse,
    coarse_lp,
    configuration_lp,
    container_prices,
    pooled,
    schedule_lp,
)
from schedgap.models.elastic.bounds.dual_prices import scaled
from schedgap.models.elastic.bounds.schedule_lp import Prices
from schedgap.models.elastic.heuristics.starting import starting_schedule
from schedgap.models.elastic.modes import cluster
from schedgap.models.elastic.windows import Windows, no_schedule
from schedgap.models.method import Call, Method, Option, Outcome
from schedgap.solvers import solve

_GAP = 1e-6  # relative, between master and bound, at which one pool is done
_GAP_OF_MANY = 5e-4  # others: their master is large and degenerate, and its tail long


def _own_sense(instance: ElasticInstance, value: float) -> float:
    """Return a bound of the minimisation in the objective's own sense."""
    return -value if instance.is_batch else value


def _tell(instance: ElasticInstance, call: Call) -> schedule_lp.OnProved:
    """Return what passes a bound of the minimisation on."""
    return lambda bound, proof: call.progress.bound(_own_sense(instance, bound), proof)


def _proved(instance: ElasticInstance, certificate: dict[str, Any], **trace: Any) -> Outcome:
    """Return what a certificate proves: evaluated as it stands in the file, rounded prices."""
    bound = schedule_lp.certified(instance, certificate)
    return Outcome(bound=bound, trace=trace, certificate=certificate | {"value": bound})


def _lp(kind: str) -> Callable[[ElasticInstance, Call], Outcome]:
    def run(instance: ElasticInstance, call: Call) -> Outcome:
        if reason := no_schedule(instance):
            return Outcome(infeasible=True, note=reason)
        call.progress.bound(pooled.no_contention(instance), {"kind": "no-contention"})
        start = starting_schedule(instance)
        slots = schedule_lp.priced_slots(instance, start)
        if reason := schedule_lp.too_large(instance, slots):
            return Outcome(note=reason)
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
            return Outcome(infeasible=True, note="the relaxation exceeds every schedule in time")
        if found.prices is None or found.result is None:
            return Outcome(note="stopped before the first bound")
        result = found.result
        return _proved(
            instance,
            schedule_lp.certificate(kind, found.prices),
            master=None if result.objective is None else _own_sense(instance, result.objective),
            rounds=result.rounds,
            columns=len(result.tags),
            slots=slots,
        )

    return run


def pooled_coarse(instance: ElasticInstance, call: Call) -> Outcome:
    """Price blocks of slots of servers in pools."""
    if reason := no_schedule(instance):
        return Outcome(infeasible=True, note=reason)
    call.progress.bound(pooled.no_contention(instance), {"kind": "no-contention"})
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
        return Outcome(note="stopped before the first bound")
    certificate = coarse.coarse_certificate(found.prices)
    bound = coarse.coarse_certified(instance, certificate)
    master = None if found.objective is None else _own_sense(instance, found.objective)
    return Outcome(
        bound=bound,
        trace={"master": master, "rounds": found.rounds, "columns": found.columns},
        certificate=certificate | {"value": bound},
    )


def configurations(instance: ElasticInstance, call: Call) -> Outcome:
    """Price workers and PSs, and fill servers with whole ones."""
    if reason := no_schedule(instance):
        return Outcome(infeasible=True, note=reason)
    call.progress.bound(pooled.no_contention(instance), {"kind": "no-contention"})
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
        return Outcome(note=f"too large: {error}")
    if found.prices is None:
        return Outcome(note="stopped before the first bound")
    certificate = container_prices.configuration_certificate(found.prices)
    bound = container_prices.configuration_certified(instance, certificate)
    master = None if found.objective is None else _own_sense(instance, found.objective)
    return Outcome(
        bound=bound,
        trace={"master": master, "rounds": found.rounds, "columns": found.columns},
        certificate=certificate | {"value": bound},
    )


def dual_lp(instance: ElasticInstance, call: Call) -> Outcome:
    """Solve the dual (9) with a row for every run, and return what its prices prove."""
    if reason := no_schedule(instance):
        return Outcome(infeasible=True, note=reason)
    start = starting_schedule(instance)
    slots = schedule_lp.priced_slots(instance, start)
    jobs = len(instance.jobs)
    span = Windows(tuple(job.arrival for job in instance.jobs), (slots + 1,) * jobs)
    most = call.options["max_columns"]
    runs = program_compact.few_runs(instance, span, most)
    if runs is None:
        return Outcome(note=f"too large: more than max_columns={most} runs of single jobs")
    model = program_compact.build_dual(instance, runs=runs)
    result = solve(
        model, call.engine or "highs", clock=call.clock, threads=call.threads, seed=call.seed
    )
    if result.status == "unbounded" and start is None:  # zero prices are feasible
        return Outcome(infeasible=True, note="the dual is unbounded: the relaxation is empty")
    if result.objective is None:
        return Outcome(note=f"the program was not solved ({result.status})")
    price = np.zeros((*cluster(instance).capacity.shape, slots))
    for (h, r, t), variable in model.delta.items():
        price[h, r, t - 1] = max(0.0, variable.value or 0.0)
    certificate = schedule_lp.certificate("dual-lp", Prices(np.arange(len(price)), price))
    return _proved(instance, certificate, dual_value=result.objective, rows=len(runs))


def no_contention(instance: ElasticInstance, call: Call) -> Outcome:
    """Run every job alone."""
    if reason := no_schedule(instance):
        return Outcome(infeasible=True, note=reason)
    bound = pooled.no_contention(instance)
    return Outcome(bound=bound, certificate={"kind": "no-contention", "value": bound})


def volume(instance: ElasticInstance, call: Call) -> Outcome:
    """Bound by the volume on the resource that is scarcest."""
    if reason := no_schedule(instance):
        return Outcome(infeasible=True, note=reason)
    values = {
        name: value
        for r, name in enumerate(instance.resources)
        for value in [pooled.volume(instance, r)]
        if value is not None
    }
    if not values:
        return Outcome(note="no resource has any capacity")
    best = max(values, key=lambda name: values[name])
    return Outcome(
        bound=values[best],
        trace={"by_resource": values},
        certificate={"kind": "volume", "resource": best, "value": values[best]},
    )


def dual_prices(instance: ElasticInstance, call: Call) -> Outcome:
    """Bound a batch by the final prices of A_maxweight, scaled as well as can be."""
    view, jobs = batch_of(instance)
    deadline = instance.deadline or 2
    if reason := schedule_lp.too_large(instance, deadline - 1):
        return Outcome(note=reason)
    call.progress.phase("running A_maxweight")
    batch = a_maxweight(view, jobs, deadline, constants(instance))
    prices, theta, steps = scaled(instance, batch, call.clock.expired)
    certificate = schedule_lp.certificate("dual-prices", prices)
    return _proved(
        instance, certificate, theta=theta, evaluations=steps, served_weight=batch.weight
    )


def _only_batches(instance: ElasticInstance) -> str | None:
    return None if instance.is_batch else "needs objective scheduled_weight"


def _no_batches(instance: ElasticInstance) -> str | None:
    return "needs objective weighted_completion" if instance.is_batch else None


METHODS: tuple[Method, ...] = (
    Method(
        "schedule-lp",
        "bound",
        _lp("schedule-lp"),
        "linear relaxation over all runs of all jobs, prices by server and slot",
        "(8), (9)",
        ours=True,
        engines=("highs",),
    ),
    Method(
        "pooled-lp",
        "bound",
        _lp("pooled-lp"),
        "the same bound with equal servers pooled: fewer prices",
        "(8), (9)",
        ours=True,
        engines=("highs",),
    ),
    Method(
        "pooled-lp-coarse",
        "bound",
        pooled_coarse,
        "servers in a few pools, prices by block of slots; for full scale",
        "(8), (9)",
        ours=True,
        engines=("highs",),
        options=(
            Option("block", "int", 5, "slots that share a price", least=1),
            Option("pools", "int", 1, "most pools of servers; equal ones are in one", least=1),
        ),
    ),
    Method(
        "configuration-lp",
        "bound",
        configurations,
        "servers filled by whole workers and PSs, prices by block of slots; for full scale",
        "(8), (9)",
        ours=True,
        engines=("highs",),
        options=(
            Option("block", "int", None, "slots that share a price; default: a 100th", least=1),
        ),
    ),
    Method(
        "dual-lp",
        "bound",
        dual_lp,
        "the dual program with a row for every run; small instances",
        "(9), (18)",
        engines=("highs", "gurobi"),
        options=(
            Option("max_columns", "int", 50_000, "give up when there are more runs", least=1),
        ),
    ),
    Method(
        "no-contention",
        "bound",
        no_contention,
        "every job alone at its quickest",
        "(2f), (2j)",
        ours=True,
    ),
    Method(
        "volume",
        "bound",
        volume,
        "mean busy times of the least volumes on one resource",
        "mean busy times",
        ours=True,
        refuses=_no_batches,
    ),
    Method(
        "dual-prices",
        "bound",
        dual_prices,
        "the final prices of A_maxweight, scaled: certifies its own run",
        "(9), Theorem 3",
        ours=True,
        refuses=_only_batches,
    ),
)
