"""The exact methods: each joins one program to the engines that can solve it."""

from collections.abc import Callable
from typing import Any

from schedgap.errors import UsageError
from schedgap.instances.edge import EdgeInstance
from schedgap.models.bracket import Bracket
from schedgap.models.edge import program_cp_sat, program_literal, program_mode, program_packing
from schedgap.models.edge.exact.column_fix import exact
from schedgap.models.edge.exact.steps import STAGES
from schedgap.models.edge.heuristics.starting import first_bracket, sense
from schedgap.models.edge.placements import count_runs, sound
from schedgap.models.edge.problem import no_batches, no_schedule, only_batches, problem
from schedgap.models.method import Call, Method, Option, Outcome

SPARE_SHARE, SPARE_SECONDS = 0.05, 1.0  # of a limit, for what a child takes to be stopped

MAX_COLUMNS = Option(
    "max_columns", "int", 100_000, "give up when the program has more columns", least=1
)
MAX_INTERVALS = Option(
    "max_intervals", "int", 50_000, "give up when workers and PSs have more", least=1
)
MAX_RUNS = Option(
    "max_columns", "int", 200_000, "refuse an instance with more runs of its jobs", least=1
)


def _pyomo(module: Any) -> Callable[[EdgeInstance, Call], Outcome]:
    def run(instance: EdgeInstance, call: Call) -> Outcome:
        if reason := no_schedule(instance):
            return Outcome(infeasible=True, note=reason)
        found = first_bracket(instance, call)
        if found.closed:
            return found.outcome()
        columns, most = module.columns(instance), call.options["max_columns"]
        if columns > most:
            return found.outcome(f"too large: {columns} columns > max_columns={most}")
        return _solved(instance, found, module)

    return run


def _solved(instance: EdgeInstance, found: Bracket, module: Any) -> Outcome:
    """Return what a program of the whole finds; it is built and solved in a process of its own."""
    call = found.call
    engine = call.engine or "highs"
    call.progress.phase(f"solving with {engine}")
    name = module.__name__
    found.child(
        "complete search",
        f"{STAGES}:program_stage",
        instance,
        name,
        engine,
        clock=call.clock.share(1 - max(SPARE_SHARE, SPARE_SECONDS / (1 + call.clock.remaining()))),
        engine=engine,
    )
    return found.outcome()


def packing(instance: EdgeInstance, call: Call) -> Outcome:
    """Solve the program with a column for every run of every job."""
    if reason := no_schedule(instance):
        return Outcome(infeasible=True, note=reason)
    most = call.options["max_columns"]
    count = count_runs(problem(instance), most)
    if count > most:
        raise UsageError(f"{count} runs of the jobs or more: max_columns={most}")
    found = first_bracket(instance, call)
    if found.closed:
        return found.outcome()
    return _solved(instance, found, program_packing)


def cp_sat(instance: EdgeInstance, call: Call) -> Outcome:
    """Solve the interval model."""
    if reason := no_schedule(instance):
        return Outcome(infeasible=True, note=reason)
    found = first_bracket(instance, call)
    if found.closed:
        return found.outcome()
    count, most = 2 * len(instance.jobs) * len(instance.servers), call.options["max_intervals"]
    if count > most:
        return found.outcome(f"too large: {count} intervals > max_intervals={most}")
    call.progress.phase("building the model")
    model = program_cp_sat.build(instance, least=None if instance.is_batch else int(found.lower))
    found.solve(
        model,
        lambda values: sound(instance, program_cp_sat.read(model, values, instance)),
        real=lambda bound: sense(instance) * bound,
        grid=1,
        start=program_cp_sat.hints(model, instance, found.schedule) if found.schedule else None,
    )
    return found.outcome()


_MIP = ("highs", "gurobi")

METHODS: tuple[Method, ...] = (
    Method(
        "column-fix",
        "exact",
        exact,
        "prices by column generation; programs over the groups that they leave",
        "(2), (3), (5)",
        ours=True,
        engines=("highs", "cp-sat"),
        drives=True,
        seeded=True,
    ),
    Method(
        "cp-sat",
        "exact",
        cp_sat,
        "one interval for each job, its workers on each server a variable demand",
        "(2)",
        ours=True,
        engines=("cp-sat",),
        options=(MAX_INTERVALS,),
        seeded=True,
        refuses=no_batches,
    ),
    Method(
        "milp-mode",
        "exact",
        _pyomo(program_mode),
        "starts and modes; as strong as a column for every schedule, without them",
        "(2)",
        ours=True,
        engines=_MIP,
        options=(MAX_COLUMNS,),
        seeded=True,
        refuses=no_batches,
    ),
    Method(
        "milp-literal",
        "exact",
        _pyomo(program_literal),
        "the paper's program, made linear constraint by constraint",
        "(2)",
        engines=_MIP,
        options=(MAX_COLUMNS,),
        seeded=True,
        refuses=no_batches,
    ),
    Method(
        "set-packing",
        "exact",
        packing,
        "the paper's columns (4), every run of every job, for its objective (2)",
        "(2), (4)",
        engines=_MIP,
        options=(MAX_RUNS,),
        seeded=True,
        refuses=no_batches,
    ),
    Method(
        "batch-cp-sat",
        "exact",
        cp_sat,
        "optional intervals: as many jobs as possible in the round",
        "(3)",
        ours=True,
        engines=("cp-sat",),
        options=(MAX_INTERVALS,),
        seeded=True,
        refuses=only_batches,
    ),
    Method(
        "batch-milp",
        "exact",
        _pyomo(program_mode),
        "the paper's batch problem over starts and modes",
        "(3)",
        engines=_MIP,
        options=(MAX_COLUMNS,),
        seeded=True,
        refuses=only_batches,
    ),
    Method(
        "batch-ilp4",
        "exact",
        packing,
        "the paper's program with a column for every schedule of every job",
        "(4)",
        engines=_MIP,
        options=(MAX_RUNS,),
        seeded=True,
        refuses=only_batches,
    ),
)
