"""The paper's own programs as methods, and the search that needs no engine."""

import math
from typing import Any

from schedgap.errors import UsageError
from schedgap.instances.ring import RingInstance
from schedgap.models.bracket import solve_program
from schedgap.models.method import Call, Method, Option, Outcome
from schedgap.models.ring import program, schedule_pool, theta
from schedgap.models.ring.exact import branch_simulate
from schedgap.models.ring.heuristics.starting import (
    first_bracket,
    settled,
    starting_schedule,
)
from schedgap.models.ring.measures import measures
from schedgap.models.ring.rates import rate_table
from schedgap.models.ring.run_algorithms import refuted
from schedgap.models.ring.run_bounds import BoundsOnly, within_horizon
from schedgap.solvers import solve

MOST_COLUMNS = 200_000  # of a limit on loads
NO_PLAN = "no start and placement of all jobs is feasible"


def run_rar_ddls(instance: RingInstance, call: Call) -> Outcome:
    """Run `rar-ddls`: (1)-(9), up to the makespan of a first schedule."""
    if proof := refuted(instance):
        return proof
    found = first_bracket(instance, call)
    if end := settled(instance, found):
        return end
    horizon = instance.horizon if found.schedule is None else found.schedule.makespan
    columns = program.columns(instance, horizon)
    if columns > program.MOST_COLUMNS:
        return found.outcome(f"too large: about {columns} columns > {program.MOST_COLUMNS}")
    if columns > call.clock.remaining() * program.COLUMNS_PER_SECOND:
        return found.outcome(f"no time to build a program of about {columns} columns")
    call.progress.phase("building the program")
    model = program.build(instance, horizon=horizon, least=int(found.lower))
    found.solve(model, lambda values: program.read(model, instance), grid=1)
    return found.outcome()


def run_branch_simulate(instance: RingInstance, call: Call) -> Outcome:
    """Run `branch-simulate`."""
    if proof := refuted(instance):
        return proof
    found = first_bracket(instance, call)
    if end := settled(instance, found):
        return end
    call.progress.phase("searching from slot to slot")
    search = branch_simulate.branch_and_simulate(
        instance,
        below=None if found.schedule is None else found.schedule.makespan,
        stop=call.clock.expired,
        on_better=found.offer,
        reach=int(found.lower),
    )
    found.trace["states"] = search.states
    if search.complete:
        found.proofs.append("complete search")
        if found.schedule is None:
            found.infeasible = True
        else:
            found.bound(found.schedule.makespan)
    return found.outcome()


def run_schedule_pool(instance: RingInstance, call: Call) -> Outcome:
    """Run `schedule-pool`: (10)-(13) over the pool that is asked for."""
    return _choose(instance, call, call.options["pool"] == "complete")


def run_complete_pool(instance: RingInstance, call: Call) -> Outcome:
    """Run `complete-pool`: (10)-(13) over all schedules."""
    return _choose(instance, call, True)


def _choose(instance: RingInstance, call: Call, complete: bool) -> Outcome:
    if proof := refuted(instance):
        return proof
    engine = call.engine or "highs"
    call.progress.phase("collecting schedules")
    if complete:
        pool = _complete(instance, call)
    else:
        pool = schedule_pool.default_pool(instance, call.seed, call.clock.expired)
    if pool is None:
        return Outcome(note="stopped before the pool was complete")
    if not pool:
        if complete:
            return Outcome(infeasible=True, note=NO_PLAN)
        return Outcome(note="no run found a schedule within the horizon")
    trace: dict[str, Any] = {"schedules": len(pool)}
    call.progress.phase(f"solving with {engine}")
    settings: dict[str, Any] = {
        "clock": call.clock, "threads": call.threads, "seed": call.seed, "grid": 1
    }  # fmt: skip
    if engine == "cp-sat":
        program_of_choice = schedule_pool.build_cp_sat(instance, pool)
        result = solve(program_of_choice, engine, **settings)
    else:
        relaxation = schedule_pool.build(instance, pool, relaxed=True)
        trace["lp_value"] = solve(relaxation, engine, **(settings | {"grid": None})).objective
        program_of_choice = schedule_pool.build(instance, pool)
        result = solve(program_of_choice, engine, **settings)
    if result.objective is None:
        return Outcome(note="stopped before the first choice", trace=trace)
    if engine == "cp-sat":
        chosen = schedule_pool.read_cp_sat(result.values, pool)
    else:
        chosen = schedule_pool.read(program_of_choice, pool)
    return Outcome(
        chosen,
        bound=float(min(kept.makespan for kept in pool)) if complete else None,
        trace=trace | measures(instance, chosen),
    )


def _complete(instance: RingInstance, call: Call) -> Any:
    """Return all schedules that may be best; None when time was up."""
    return schedule_pool.complete_pool(instance, _latest(instance, call), call.clock.expired)


def _latest(instance: RingInstance, call: Call) -> int:
    """Return a slot by which a best schedule ends, where all schedules up to it can be had."""
    first = starting_schedule(instance, call.seed, clock=call.clock)
    latest = instance.horizon if first is None else first.makespan
    most = schedule_pool.MOST_PLANS
    plans = schedule_pool.count_plans(instance, latest)
    if plans > most:
        raise UsageError(
            f"complete pool: more than {most} starts and placements up to slot {latest}: "
            "take fewer or shorter jobs, or a method without a pool"
        )
    return latest


def _limit(instance: RingInstance, call: Call, loads: tuple[float, ...]) -> Outcome:
    """Bound the makespan by the least limit on loads."""
    table = rate_table(instance)
    free = theta.least_limit(table, loads)
    call.progress.bound(float(free))
    kinds = len(set(zip(table.size, loads, strict=True)))
    trace: dict[str, Any] = {"kinds": kinds, "free": free}
    if kinds * table.gpus > MOST_COLUMNS:
        return Outcome(bound=float(free), note="too large: free bound only", trace=trace)
    call.progress.phase("solving with highs")
    kept = BoundsOnly(call.progress, free)
    _, report = solve_program(
        kept,
        theta.build(table, loads),
        "highs",
        clock=call.clock,
        read=lambda values: None,
        threads=call.threads,
        seed=call.seed,
        grid=1,
    )
    trace |= {"exact": report.complete, **report.trace}
    return within_horizon(instance, Outcome(bound=float(kept.lower), trace=trace))


def run_theta_feasible(instance: RingInstance, call: Call) -> Outcome:
    """Run `theta-feasible`: theta_u* of (14)-(16), with the estimates of (15)."""
    if proof := refuted(instance):
        return proof
    if call.options["form"] == "pool":
        return _limit_of_pool(instance, call)
    return _limit(instance, call, theta.estimated_loads(rate_table(instance)))


def _limit_of_pool(instance: RingInstance, call: Call) -> Outcome:
    """Bound the makespan by the least limit that a schedule keeps: an optimal one is among them.

    The schedules are enumerated, and so is the limit; the program over the best of them agrees.
    """
    call.progress.phase("collecting schedules")
    found = schedule_pool.limit_pool(instance, _latest(instance, call), call.clock.expired)
    if found is None:
        return Outcome(note="stopped before the pool was complete")
    pool, limit = found
    if not pool:
        return Outcome(infeasible=True, note=NO_PLAN)
    call.progress.phase("solving with highs")
    model = schedule_pool.build_limit(instance, pool)
    result = solve(model, "highs", clock=call.clock, threads=call.threads, seed=call.seed)
    trace = {"schedules": len(pool), "limit": limit, "engine_limit": result.objective}
    return Outcome(bound=float(math.ceil(limit - 1e-6)), trace=trace)


def run_load_ilp(instance: RingInstance, call: Call) -> Outcome:
    """Run `load-ilp`: the same with each job's least execution time."""
    return refuted(instance) or _limit(instance, call, rate_table(instance).best_slots)


_MIP = ("highs", "gurobi")

METHODS: tuple[Method, ...] = (
    Method(
        "rar-ddls",
        "exact",
        run_rar_ddls,
        "the paper's program, linear slot by slot",
        "RAR-DDLS, (1)-(9)",
        engines=_MIP,
        seeded=True,
        refuses=program.refuses,
    ),
    Method(
        "branch-simulate",
        "exact",
        run_branch_simulate,
        "from slot to slot: what starts and where; no engine, a few jobs",
        "RAR-DDLS",
        ours=True,
        seeded=True,
    ),
    Method(
        "schedule-pool",
        "algorithm",
        run_schedule_pool,
        "the paper's choice among given schedules; the pool is ours",
        "(10)-(13)",
        ours=True,
        engines=(*_MIP, "cp-sat"),
        options=(
            Option(
                "pool", "choice", "default",
                "runs of the algorithms, or every start and placement, as complete-pool",
                choices=("default", "complete"),
            ),
        ),
        seeded=True,
    ),
    Method(
        "complete-pool",
        "exact",
        run_complete_pool,
        "the same choice among all schedules there are; tiny instances, for teaching",
        "(10)-(13)",
        engines=(*_MIP, "cp-sat"),
        seeded=True,
        refuses=schedule_pool.refuses,
    ),
    Method(
        "theta-feasible",
        "bound",
        run_theta_feasible,
        "the least limit on estimated loads of GPUs, by kinds of jobs",
        "(14)-(16)",
        engines=("highs",),
        options=(
            Option(
                "form", "choice", "compact",
                "any choice of GPUs (ours), or as printed the choice among all schedules and GPU "
                "numbers up to the end of a first schedule; tiny instances, for teaching",
                choices=("compact", "pool"),
            ),
        ),
        seeded=True,
    ),
    Method(
        "load-ilp",
        "bound",
        run_load_ilp,
        "the same with each job's least execution time",
        "(14)-(16)",
        ours=True,
        engines=("highs",),
        seeded=True,
    ),
)  # fmt: skip
