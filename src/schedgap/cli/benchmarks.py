"""The command that compares engines and formulations."""

from pathlib import Path
from typing import Annotated, Any

import typer

from schedgap import show
from schedgap.cli.arguments import AsJson, check_place, numbers, settings_of
from schedgap.cli.parser import app
from schedgap.cli.runs import counting
from schedgap.errors import ContradictionError, UsageError

WHAT, HOW, CLOCK, OUTPUT = "What is solved", "How it is solved", "Limits", "Results"


@app.command(
    epilog="Example:  schedgap bench hare --preset small --seeds 1-20 --model paper,time-indexed "
    "--engines highs,scip --run runs/engines"
)
def bench(
    targets: Annotated[
        list[str],
        typer.Argument(
            metavar="FAMILY|INSTANCE|DIR...",
            help="Families, whose instances are generated, or instance files, folders and suites.",
        ),
    ],
    preset: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Preset of the families.", rich_help_panel=WHAT),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            metavar="A-B", help="Seeds of the instances. [default: 0]", rich_help_panel=WHAT
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Set one option of the preset; may be repeated.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Programs: 'paper' and those listed by 'schedgap models' as exact. [default: all]",
            rich_help_panel=WHAT,
        ),
    ] = None,
    methods: Annotated[str | None, typer.Option(hidden=True)] = None,
    reference: Annotated[
        str,
        typer.Option(
            metavar="METHOD|none",
            help="Method that runs once on each instance, so that wrong answers show; not ranked.",
            rich_help_panel=WHAT,
        ),
    ] = "exact",
    engines: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Engines; NAME:OPTION=VALUE is one with a changed option. [default: all]",
            rich_help_panel=HOW,
        ),
    ] = None,
    engine_set: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ENGINE:OPTION=VALUE",
            help="Set an option in all tasks of an engine; may be repeated.",
            rich_help_panel=HOW,
        ),
    ] = None,
    threads: Annotated[
        str,
        typer.Option(metavar="N,N", help="Numbers of threads of an engine.", rich_help_panel=HOW),
    ] = "1",
    permutations: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Orders of rows and columns: as built, and N - 1 others.",
            rich_help_panel=HOW,
        ),
    ] = 1,
    engine_seeds: Annotated[
        str,
        typer.Option(metavar="A-B", help="Random seeds of the engines.", rich_help_panel=HOW),
    ] = "0",
    narrow: Annotated[
        bool,
        typer.Option(
            "--narrow/--no-narrow",
            help="Let jobs run only in the time windows that a heuristic leaves open.",
            rich_help_panel=HOW,
        ),
    ] = False,
    confirm: Annotated[
        str,
        typer.Option(
            metavar="off|on",
            help="Let an engine repeat its answer without presolve, outside the clock.",
            rich_help_panel=HOW,
        ),
    ] = "off",
    time_limit: Annotated[
        float,
        typer.Option(
            metavar="S",
            help="Wall-clock limit of a task in seconds, model building included.",
            rich_help_panel=CLOCK,
        ),
    ] = 60.0,
    memory_limit: Annotated[
        float | None,
        typer.Option(metavar="MB", help="Memory limit in MB.", rich_help_panel=CLOCK),
    ] = None,
    workers: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Tasks at a time. With more than one, times depend on the other tasks.",
            rich_help_panel=CLOCK,
        ),
    ] = 1,
    run: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Run folder; results in it are kept. [default: a temporary one]",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    retry: Annotated[
        str | None,
        typer.Option(
            metavar="[KIND]",
            help="Run failed tasks again, as for 'compare'.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare engines, and formulations of one problem, on instances.

    Each task is one program, engine, setting and instance. Every answer is verified as a schedule.
    A claim that a verified schedule refutes is counted as wrong. One task runs at a time, bound to
    its cores where the system can do that. The command can be stopped and started again.
    """
    from schedgap.analysis.comparing.bench import bench as run_all
    from schedgap.analysis.comparing.bench import option

    if methods is not None:
        raise UsageError(
            "--methods: bench runs programs on engines: give --model and --engines; "
            f"schedgap compare ... --methods {methods} compares methods"
        )
    if confirm not in ("off", "on"):
        raise UsageError(f"--confirm {confirm}: need off or on")
    options: dict[str, dict[str, object]] = {}
    for word in engine_set or []:
        engine, colon, setting = word.partition(":")
        if not colon or not engine:
            raise UsageError(f"--engine-set {word}: need ENGINE:OPTION=VALUE")
        name, value = option(setting)
        options.setdefault(engine, {})[name] = value
    with counting(run) as on_record:
        result = run_all(
            targets,
            run=run,
            preset=preset,
            seeds=None if seeds is None else numbers(seeds),
            settings=settings_of(settings),
            models=model,
            engines=engines,
            engine_options=options,
            threads=numbers(threads, "--threads"),
            permutations=permutations,
            engine_seeds=numbers(engine_seeds, "--engine-seeds"),
            narrow=narrow,
            confirm=confirm == "on",
            reference=reference,
            workers=workers,
            time_limit=time_limit,
            memory_limit=memory_limit,
            retry=retry or False,
            on_record=on_record,
        )
    show.benchmark(result, as_json=as_json, stored=run is not None)
    raise typer.Exit(ContradictionError.exit_code if result.contradictions else 0)


def write_engine_files(run: Any, form: str, out: Path | None) -> None:
    """Write a benchmark as trace files of PAVER, or as a table for benchopt."""
    from schedgap.analysis.statistics.engine_files import benchopt, write_paver
    from schedgap.analysis.statistics.export import export

    if form == "paver":
        if out is None:
            raise UsageError("--format paver: need --out DIR, for one file per configuration")
        for file in write_paver(run, out):
            show.out().print(f"{file}", markup=False, soft_wrap=True)
        return
    if out is not None:
        check_place(out)
    text = export(benchopt(run), "csv", out)
    if out is None:
        show.plain_text(str(text))
