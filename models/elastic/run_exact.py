"""The exact methods: each joins one program to the engines that can solve it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.bracket import Bracket
from schedgap.models.elastic import (
    program,
    program_compact,
    program_cp_sat,
    program_miqcp,
    program_time_indexed,
    program_time_indexed_cp_sat,
)
from schedgap.models.elastic.columns import schedule_of
from schedgap.models.elastic.exact.price_and_enumerate import exact
from schedgap.models.elastic.heuristics.starting import first_bracket
from schedgap.models.elastic.modes import cluster, modes
from schedgap.models.elastic.program_compact import whole_weights
from schedgap.models.elastic.sizes import in_common_size
from schedgap.models.elastic.windows import Windows, no_schedule, value_step, windows
from schedgap.models.method import Call, Method, Option, Outcome
from schedgap.solvers.engine import LEAST_TOLERANCES

FARTHEST = 1e7  # ratio of two amounts of a resource in rows for an engine in floating point
MAX_COLUMNS = Option(
    "max_columns", "int", 60_000, "give up when the program has more columns", least=1
)


def _span(instance: ElasticInstance, found: Bracket) -> Windows:
    """Return the windows that the first schedule leaves; of a closed horizon without one, all."""
    value = None if found.schedule is None else found.schedule.value(instance)
    span = windows(instance, value)
    assert span is not None
    return span


def _pyomo(module: Any, size: Callable[[ElasticInstance, Windows], int]) -> Any:
    def run(instance: ElasticInstance, call: Call) -> Outcome:
        if reason := no_schedule(instance):
            return Outcome(infeasible=True, note=reason)
        found = first_bracket(instance, call)
        span = _span(instance, found)
        columns, most = size(instance, span), call.options["max_columns"]
        if columns > most:
            return found.outcome(f"too large: {columns} columns > max_columns={most}")
        if reason := _too_far_apart(instance):
            return found.outcome(reason)
        call.progress.phase("building the program")
        model = module.build(instance, span=span)
        found.solve(
            model,
            lambda values: module.read(model, instance),
            real=_minimised(instance),
            grid=value_step(instance),
            options=_tolerances(instance, call),
        )
        return found.outcome()

    return run


def _tolerances(instance: ElasticInstance, call: Call) -> dict[str, Any] | None:
    """Return the options of an engine: the least tolerances where amounts are not whole.

    Sums may then differ from a capacity by as little as the engine grants. Without presolve: that
    of HiGHS 1.15.1 has lost optima at the least tolerances.
    """
    if bool(cluster(instance).whole.all()) or call.engine not in LEAST_TOLERANCES:
        return None
    plain: dict[str, dict[str, Any]] = {"highs": {"presolve": "off"}, "gurobi": {"Presolve": 0}}
    return {**plain[call.engine], **LEAST_TOLERANCES[call.engine]}


def _too_far_apart(instance: ElasticInstance) -> str | None:
    """Return why an engine in floating point cannot be trusted with the rows of capacities."""
    room, worker, ps = program_cp_sat.amounts(instance)
    for r, name in enumerate(instance.resources):
        amounts = np.concatenate([worker[:, r], ps[:, r], room[:, r]])
        if amounts.max() > FARTHEST * amounts[amounts > 0].min(initial=np.inf):
            return f"amounts of {name} are too far apart for floating point: over {FARTHEST:g} to 1"
    return None


def _minimised(instance: ElasticInstance) -> Callable[[float], float]:
    """Return what turns a bound on the objective into one on what a bracket minimises."""
    return (lambda bound: -bound) if instance.is_batch else float


def _paper_size(instance: ElasticInstance, span: Windows) -> int:
    """Columns of `program`: starts, and usage by server, resource and slot."""
    cells = len(instance.servers) * len(instance.resources)
    return sum(
        (span.end[j] - span.first[j])
        * (cells + len(modes(instance, j)))
        for j in range(len(instance.jobs))
    )  # fmt: skip


_time_indexed = _pyomo(program_time_indexed, program_time_indexed.size)


def time_indexed(instance: ElasticInstance, call: Call) -> Outcome:
    """Solve the time-indexed program: with CP-SAT in whole numbers, else as Pyomo writes it."""
    if call.engine != "cp-sat":
        return _time_indexed(instance, call)  # type: ignore[no-any-return]
    if reason := no_schedule(instance):
        return Outcome(infeasible=True, note=reason)
    whole_weights(instance)  # ScaleError before any search
    found = first_bracket(instance, call)
    span, most = _span(instance, found), call.options["max_columns"]
    if (columns := program_time_indexed.size(instance, span)) > most:
        return found.outcome(f"too large: {columns} columns > max_columns={most}")
    program_cp_sat.whole_numbers(instance, span)  # ScaleError
    call.progress.phase("building the model")
    model, step = program_time_indexed_cp_sat.build(instance, span=span), value_step(instance)
    assert step is not None
    found.solve(
        model,
        lambda values: program_time_indexed_cp_sat.read(model, values, instance),
        real=lambda bound: bound * step,
        grid=1,
    )
    return found.outcome()


def compact(instance: ElasticInstance, call: Call) -> Outcome:
    """Solve the packing over all runs of all jobs."""
    if reason := no_schedule(instance):
        return Outcome(infeasible=True, note=reason)
    found = first_bracket(instance, call)
    most = call.options["max_columns"]
    call.progress.phase("enumerating runs")
    runs = program_compact.few_runs(instance, _span(instance, found), most)
    if runs is None:
        return found.outcome(f"too large: more than max_columns={most} runs")
    step = value_step(instance)
    if call.engine == "cp-sat":
        program_cp_sat.whole_numbers(instance, _span(instance, found))  # ScaleError
        model = program_compact.to_cp_sat(instance, runs)
        assert step is not None

        def chosen(values: Any) -> ElasticSchedule:
            return schedule_of(
                instance, [run for run, value in zip(runs, values, strict=True) if value]
            )

        found.solve(model, chosen, real=lambda bound: bound * step, grid=1)
        return found.outcome()
    if reason := _too_far_apart(instance):
        return found.outcome(reason)
    model = program_compact.build(instance, runs=runs)
    found.solve(
        model,
        lambda values: program_compact.read(model, instance, runs),
        real=_minimised(instance),
        grid=step,
        options=_tolerances(instance, call),
    )
    return found.outcome()


def cp_sat(instance: ElasticInstance, call: Call) -> Outcome:
    """Solve the interval model."""
    if reason := no_schedule(instance):
        return Outcome(infeasible=True, note=reason)
    found = first_bracket(instance, call)
    span = _span(instance, found)
    whole = program_cp_sat.whole_numbers(instance, span)  # ScaleError
    call.progress.phase("building the model")
    step = whole.step
    most = None if found.upper is None else round(found.upper / step)
    model = program_cp_sat.build(instance, span=span, whole=whole, most=most)
    hints = None
    if found.schedule is not None:
        hints = program_cp_sat.start_from(model, instance, found.schedule)
    found.solve(
        model,
        lambda values: program_cp_sat.read(model, values, instance),
        real=lambda bound: bound * step,
        grid=1,
        start=hints,
    )
    return found.outcome()


METHODS: tuple[Method, ...] = (
    Method(
        "price-and-enumerate",
        "exact",
        in_common_size(exact),
        "prices by column generation; the runs that they leave are cut, then packed",
        "(8), (9)",
        ours=True,
        engines=("highs", "cp-sat"),
        drives=True,
        seeded=True,
    ),
    Method(
        "cp-sat",
        "exact",
        in_common_size(cp_sat),
        "one interval for each job, its usage of each server a variable demand",
        "(2), (7)",
        ours=True,
        engines=("cp-sat",),
        seeded=True,
    ),
    Method(
        "time-indexed",
        "exact",
        in_common_size(time_indexed),
        "a copy of the placement for each job, mode and start; no big-M",
        "(2), (7)",
        ours=True,
        engines=("highs", "gurobi", "cp-sat"),
        options=(MAX_COLUMNS,),
        seeded=True,
    ),
    Method(
        "compact-exponential",
        "exact",
        in_common_size(compact),
        "the paper's program with a column for every run of every job",
        "(8), (17)",
        engines=("cp-sat", "highs", "gurobi"),
        options=(MAX_COLUMNS,),
        seeded=True,
    ),
    Method(
        "paper-milp",
        "exact",
        in_common_size(_pyomo(program, _paper_size)),
        "the paper's program; modes for its rates, big-M rows for what runs",
        "(2), (15); (7), (16)",
        engines=("highs", "gurobi"),
        options=(MAX_COLUMNS,),
        seeded=True,
    ),
    Method(
        "paper-miqcp",
        "exact",
        in_common_size(_pyomo(program_miqcp, program_miqcp.size)),
        "the paper's program with its own products; tiny instances, for teaching",
        "(2), (15); (7), (16)",
        engines=("gurobi",),
        options=(replace(MAX_COLUMNS, default=5000),),
        seeded=True,
    ),
)
