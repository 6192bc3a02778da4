"""The programs as methods: each is joined to the engines that can solve it."""

import math
from collections.abc import Callable
from typing import Any

from schedgap.errors import UsageError
from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge.bounds import column_generation
from schedgap.models.edge.bounds.job_alone import job_bound
from schedgap.models.edge.bounds.reduced_cost_fixing import last_slot
from schedgap.models.edge.bounds.solve_relaxations import proved
from schedgap.models.edge.decisions import Problem, no_schedule, problem, sense
from schedgap.models.edge.exact.stages import program_stage
from schedgap.models.edge.heuristics.initial import first_bracket, starting_schedule
from schedgap.models.edge.placements import count_runs, sound
from schedgap.models.edge.programs import columns, intervals, printed, time_indexed
from schedgap.models.edge.programs.dual import Prices, to_data
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.search_state import SearchState

SPARE_SHARE, SPARE_SECONDS = 0.05, 1.0  # of a limit, for what a child takes to be stopped


def _pyomo(module: Any) -> Callable[[EdgeInstance, RunContext], MethodResult]:
    def run(instance: EdgeInstance, call: RunContext) -> MethodResult:
        if reason := no_schedule(instance):
            return MethodResult(infeasible=True, note=reason)
        found = first_bracket(instance, call)
        if found.closed:
            return found.outcome()
        count, most = module.size(instance), call.options["max_columns"]
        if count > most:
            return found.outcome(f"too large: {count} columns > max_columns={most}")
        return _solved(instance, found, module)

    return run


def _solved(instance: EdgeInstance, found: SearchState, module: Any) -> MethodResult:
    """Return what a program of the whole finds; it is built and solved in a process of its own."""
    call = found.call
    engine = call.engine or "highs"
    call.progress.phase(f"solving with {engine}")
    name = module.__name__
    found.child(
        "complete search",
        program_stage,
        instance,
        name,
        engine,
        clock=call.clock.share(1 - max(SPARE_SHARE, SPARE_SECONDS / (1 + call.clock.remaining()))),
        engine=engine,
    )
    return found.outcome()


milp_literal, milp_mode = _pyomo(printed), _pyomo(time_indexed)


def set_packing(instance: EdgeInstance, call: RunContext) -> MethodResult:
    """Solve the program with a column for every run of every job."""
    if reason := no_schedule(instance):
        return MethodResult(infeasible=True, note=reason)
    most = call.options["max_columns"]
    count = count_runs(problem(instance), most)
    if count > most:
        raise UsageError(f"{count} runs of the jobs or more: max_columns={most}")
    found = first_bracket(instance, call)
    if found.closed:
        return found.outcome()
    return _solved(instance, found, columns)


def cp_sat(instance: EdgeInstance, call: RunContext) -> MethodResult:
    """Solve the interval model."""
    if reason := no_schedule(instance):
        return MethodResult(infeasible=True, note=reason)
    found = first_bracket(instance, call)
    if found.closed:
        return found.outcome()
    count, most = 2 * len(instance.jobs) * len(instance.servers), call.options["max_intervals"]
    if count > most:
        return found.outcome(f"too large: {count} intervals > max_intervals={most}")
    call.progress.phase("building the model")
    model = intervals.build(instance, least=None if instance.is_batch else int(found.lower))
    found.solve(
        model,
        lambda values: sound(instance, intervals.read(model, instance, values)),
        real=lambda bound: sense(instance) * bound,
        grid=1,
        start=intervals.start(model, instance, found.schedule) if found.schedule else None,
    )
    return found.outcome()


def cg_bound(instance: EdgeInstance, call: RunContext) -> MethodResult:
    """Solve the linear relaxation of (4) by column generation."""
    if reason := no_schedule(instance):
        return MethodResult(infeasible=True, note=reason)
    view = problem(instance)
    least = job_bound(view)
    sign = sense(instance)
    call.progress.bound(float(sign * least), {"kind": "job-bound"})
    slots = _slots(instance, view)
    if reason := column_generation.too_large(view, slots):
        return MethodResult(note=reason)
    call.progress.phase("generating columns")
    kind, told = "batch-dual" if instance.is_batch else "cg-bound", float(least)

    def better(bound: float, prices: Prices) -> None:
        nonlocal told
        if math.ceil(bound) > told:
            told = float(math.ceil(bound))
            call.progress.bound(sign * told, {"kind": kind, **to_data(prices)})

    found = column_generation.solve_bound(
        view,
        slots=slots,
        clock=call.clock,
        seed=call.seed,
        threads=call.threads,
        on_bound=better,
    )
    if found.infeasible:
        return MethodResult(infeasible=True, note="the relaxation exceeds every schedule in time")
    if found.prices is None or found.result is None:
        return MethodResult(note="stopped before the first bound")
    master, value = found.result.objective, found.bound
    return proved(
        instance,
        {"kind": kind, **to_data(found.prices)},
        master=None if master is None else sign * master,
        relaxation=None if value is None else sign * value,
        rounds=found.result.rounds,
        columns=len(found.result.tags),
        slots=slots,
    )


def _slots(instance: EdgeInstance, view: Problem) -> int:
    """Return how many slots an optimal schedule can reach into, from a list where there is one."""
    if instance.is_batch:
        return view.slots
    start = starting_schedule(instance)
    if start is None:
        return view.slots
    return last_slot(view, start.value(instance) + 1) - view.first + 1
