"""The exact methods: each joins one program to the engines that can solve it."""

import math
from collections.abc import Callable
from typing import Any

from schedgap.errors import ScaleError
from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic import (
    program,
    program_compact,
    program_cp_sat,
    program_time_indexed,
)
from schedgap.models.elastic.columns import fits_together, runs_from, schedule_of
from schedgap.models.elastic.exact import exact
from schedgap.models.elastic.modes import modes
from schedgap.models.elastic.program_compact import whole_weights
from schedgap.models.elastic.starting import starting_schedule
from schedgap.models.elastic.windows import Windows, no_schedule, value_step, windows
from schedgap.models.method import Call, Method, Option, Outcome
from schedgap.solvers import EngineResult, solve

MAX_COLUMNS = Option(
    "max_columns", "int", 60_000, "give up when the program has more columns", least=1
)
_TIGHT = {  # HiGHS: where amounts are not whole, 1e-6 would be a second tolerance
    "mip_feasibility_tolerance": 1e-9,
    "primal_feasibility_tolerance": 1e-9,
}


class _Start:
    """A first schedule, and the windows and bounds that follow from it."""

    def __init__(self, instance: ElasticInstance, call: Call) -> None:
        self.instance = instance
        self.schedule = starting_schedule(instance)
        self.value = None if self.schedule is None else self.schedule.value(instance)
        span = windows(instance, self.value)
        assert span is not None
        self.span: Windows = span
        if self.schedule is not None and self.value is not None:
            call.progress.incumbent(self.schedule, self.value)

    def outcome(
        self, result: EngineResult, found: ElasticSchedule | None, bound: float | None
    ) -> Outcome:
        """Return the better schedule, an engine's bound in the objective's own sense."""
        trace: dict[str, Any] = {"engine_says": result.log}
        if result.status == "infeasible" and self.schedule is None:
            return Outcome(infeasible=True, note="complete search", trace=trace)
        best = self.schedule
        if found is not None and not fits_together(self.instance, runs_from(self.instance, found)):
            trace["dropped"] = "a schedule that its engine accepts within its tolerances only"
            found = None
        if found is not None and (self.value is None or self._is_better(found)):
            best = found
        if result.status == "optimal":
            trace["proof"] = "complete search"
        return Outcome(schedule=best, bound=bound, trace=trace)

    def _is_better(self, found: ElasticSchedule) -> bool:
        assert self.value is not None
        gain = found.value(self.instance) - self.value
        return gain > 0 if self.instance.is_batch else gain < 0


def _options(call: Call) -> dict[str, Any] | None:
    return _TIGHT if call.engine == "highs" else None


def _pyomo(module: Any, size: Callable[[ElasticInstance, Windows], int]) -> Any:
    def run(instance: ElasticInstance, call: Call) -> Outcome:
        if reason := no_schedule(instance):
            return Outcome(infeasible=True, note=reason)
        start = _Start(instance, call)
        columns, most = size(instance, start.span), call.options["max_columns"]
        if columns > most:
            return Outcome(
                schedule=start.schedule, note=f"too large: {columns} columns > max_columns={most}"
            )
        call.progress.phase("building the program")
        model = module.build(instance, span=start.span)
        call.progress.phase(f"solving with {call.engine}")
        result = solve(
            model,
            call.engine or "highs",
            clock=call.clock,
            threads=call.threads,
            seed=call.seed,
            grid=value_step(instance),
            on_bound=call.progress.bound,
            options=_options(call),
        )
        found = None if result.objective is None else module.read(model, instance)
        return start.outcome(result, found, result.bound)

    return run


def _paper_size(instance: ElasticInstance, span: Windows) -> int:
    """Columns of `program`: starts, and usage by server, resource and slot."""
    cells = len(instance.servers) * len(instance.resources)
    return sum(
        (span.end[j] - span.first[j])
        * (cells + len(modes(instance, j)))
        for j in range(len(instance.jobs))
    )  # fmt: skip


def compact(instance: ElasticInstance, call: Call) -> Outcome:
    """Solve the packing over all runs of all jobs."""
    if reason := no_schedule(instance):
        return Outcome(infeasible=True, note=reason)
    start = _Start(instance, call)
    most = call.options["max_columns"]
    call.progress.phase("enumerating runs")
    runs = program_compact.few_runs(instance, start.span, most)
    if runs is None:
        return Outcome(
            schedule=start.schedule, note=f"too large: more than max_columns={most} runs"
        )
    call.progress.phase(f"solving with {call.engine}")
    settings: dict[str, Any] = {"clock": call.clock, "threads": call.threads, "seed": call.seed}
    if call.engine == "cp-sat":
        step = value_step(instance)
        model = program_compact.to_cp_sat(instance, runs)
        assert step is not None
        scale = -step if instance.is_batch else step
        result = solve(
            model,
            "cp-sat",
            grid=1,
            on_bound=lambda bound: call.progress.bound(bound * scale),
            **settings,
        )
        bound = None if result.bound is None else result.bound * scale
        chosen = [] if result.values is None else result.values
        found = None
        if result.values is not None:
            taken = [run for run, value in zip(runs, chosen, strict=True) if value]
            found = schedule_of(instance, taken)
        return start.outcome(result, found, bound)
    model = program_compact.build(instance, runs=runs)
    result = solve(
        model,
        call.engine or "highs",
        grid=value_step(instance),
        on_bound=call.progress.bound,
        options=_options(call),
        **settings,
    )
    found = None if result.objective is None else program_compact.read(model, instance, runs)
    return start.outcome(result, found, result.bound)


def cp_sat(instance: ElasticInstance, call: Call) -> Outcome:
    """Solve the interval model."""
    if reason := no_schedule(instance):
        return Outcome(infeasible=True, note=reason)
    start = _Start(instance, call)
    call.progress.phase("building the model")
    sign = -1 if instance.is_batch else 1
    weights = whole_weights(instance)  # ScaleError
    step = value_step(instance)
    assert step is not None
    if not sum(weights) * max(start.span.end) < 2**60:
        raise ScaleError("values of schedules exceed whole numbers of 60 bits")
    most = None if start.value is None else round(sign * start.value / step)
    model = program_cp_sat.build(instance, span=start.span, most=most)
    hints = None
    if start.schedule is not None:
        hints = program_cp_sat.start_from(model, instance, start.schedule)
    call.progress.phase("solving with cp-sat")

    def better(objective: float, values: Any) -> None:
        schedule = program_cp_sat.read(model, values, instance)
        call.progress.incumbent(schedule, schedule.value(instance))

    result = solve(
        model,
        "cp-sat",
        clock=call.clock,
        threads=call.threads,
        seed=call.seed,
        grid=1,
        start=hints,
        on_incumbent=better,
        on_bound=lambda bound: call.progress.bound(sign * bound * step),
    )
    found = None
    if result.values is not None:
        found = program_cp_sat.read(model, result.values, instance)
    bound = None if result.bound is None else sign * math.ceil(result.bound - 1e-6) * step
    return start.outcome(result, found, bound)


METHODS: tuple[Method, ...] = (
    Method(
        "price-and-enumerate",
        "exact",
        exact,
        "prices by column generation, then a packing over the runs that prices leave",
        "(8), (9)",
        ours=True,
        engines=("highs", "cp-sat"),
        drives=True,
        seeded=True,
    ),
    Method(
        "cp-sat",
        "exact",
        cp_sat,
        "one interval for each job, its usage of each server a variable demand",
        "(2), (7)",
        ours=True,
        engines=("cp-sat",),
        seeded=True,
    ),
    Method(
        "time-indexed",
        "exact",
        _pyomo(program_time_indexed, program_time_indexed.size),
        "a copy of the placement for each job, mode and start; no big-M",
        "(2), (7)",
        ours=True,
        engines=("highs", "gurobi"),
        options=(MAX_COLUMNS,),
        seeded=True,
    ),
    Method(
        "compact-exponential",
        "exact",
        compact,
        "the paper's program with a column for every run of every job",
        "(8), (17)",
        engines=("cp-sat", "highs", "gurobi"),
        options=(MAX_COLUMNS,),
        seeded=True,
    ),
    Method(
        "paper-milp",
        "exact",
        _pyomo(program, _paper_size),
        "the paper's program; modes for its rates, big-M rows for what runs",
        "(2), (15); (7), (16)",
        engines=("highs", "gurobi"),
        options=(MAX_COLUMNS,),
        seeded=True,
    ),
)
