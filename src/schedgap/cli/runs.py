"""Commands on many tasks: compare, and what is read from a run folder."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from schedgap import show
from schedgap.cli.arguments import (
    AsJson,
    Every,
    MemoryLimit,
    Older,
    Seed,
    TimeLimit,
    check_place,
    complete_method,
    numbers,
    split_commas,
)
from schedgap.cli.parser import app
from schedgap.errors import (
    ContradictionError,
    Interrupted,
    UsageError,
    choices,
)


@app.command(
    epilog="Example:  schedgap compare small.json --methods exact,hare:gpu_rule=finish --run r1"
)
def compare(
    targets: Annotated[
        list[str],
        typer.Argument(
            metavar="INSTANCE|DIR|SUITE...",
            help="Instance files, folders with instance files, the suites 'quick' and "
            "'FAMILY-figures', 'records/FAMILY' or a name of the record book, or 'traces' (see "
            "--traces-from).",
        ),
    ],
    run: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Run folder; results in it are kept. [default: a temporary one]",
        ),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            autocompletion=complete_method,
            help="NAME, NAME@ENGINE or NAME:KEY=VALUE, separated by commas; your own are "
            "FILE.py:FUNCTION or 'cmd:PROGRAM --in {instance} --out {schedule}', with commas "
            "in quotes. [default: all whose engines are installed, or those of the figure]",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", help="Number of parallel tasks. [default: one per core]"),
    ] = None,
    time_limit: TimeLimit = 60.0,
    memory_limit: MemoryLimit = None,
    seed: Seed = None,
    retry: Annotated[
        str | None,
        typer.Option(
            metavar="[KIND]",
            help="Run failed tasks again: those of KIND timeout, memory, crash, invalid or error, "
            "or, without KIND or with 'all', all of them.",
        ),
    ] = None,
    older: Older = False,
    cluster: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS|FILE", help="Run on a Dask cluster: address or its file."),
    ] = None,
    traces_from: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="With the target 'traces': make instances of each family from the public trace "
            "files in this folder, under each of the loads.",
        ),
    ] = None,
    loads: Annotated[
        str | None,
        typer.Option(metavar="R,R", help="Offered loads of traces. [default: 0.5,1,2]"),
    ] = None,
    families: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Families of traces. [default: all]"),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", help="Jobs of an instance of traces. [default: 15]")
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(metavar="A-B", help="Seeds of the instances of traces. [default: 0]"),
    ] = None,
    every: Every = False,
    as_json: AsJson = False,
) -> None:
    """Run methods on instances and report how far each is from the optimum.

    The command can be stopped and started again, and several processes may share one run folder;
    only unfinished tasks are lost. A method of your own may fail without harm to the others: see
    docs/own-algorithms.md. Exit code 70 means that results contradict each other.
    """
    from schedgap.analysis.comparing.compare import compare as run_all

    if cluster is None:
        show.warn_if_capped(workers)
    options = {
        "--loads": loads, "--families": families, "--jobs": jobs, "--seeds": seeds,
    }  # fmt: skip
    chosen: list[Any] = list(targets)
    named = None if methods is None else split_commas(methods)
    if traces_from is not None:
        from schedgap.analysis.statistics.loads import METHODS

        if targets != ["traces"]:
            raise UsageError("--traces-from: need the target 'traces' and no other")
        chosen = _trace_instances(traces_from, loads, families, jobs, seeds)
        named = named or list(METHODS)
    elif "traces" in targets and not Path("traces").exists():
        raise UsageError("traces: need --traces-from DIR, a folder with public trace files")
    elif given := [name for name, value in options.items() if value is not None]:
        raise UsageError(f"{given[0]}: only with --traces-from")
    with counting(run) as on_record:
        result = run_all(
            chosen,
            run=run,
            methods=named,
            workers=workers,
            time_limit=time_limit,
            memory_limit=memory_limit,
            seed=seed,
            retry=retry or False,
            cluster=cluster,
            on_record=on_record,
        )
    if older and run is not None:
        result = type(result).load(run, older=True)
    show.run(result, as_json=as_json, every=every, stored=run is not None)
    raise typer.Exit(ContradictionError.exit_code if result.contradictions else 0)


LOST = "schedules and bounds of unfinished tasks are lost"


@contextmanager
def counting(run: Path | None) -> Iterator[Callable[..., None]]:
    """Show the progress of a comparison; after an interrupt, say what is kept and how to go on."""
    counted: list[int] = []
    try:
        with show.comparing() as on_record:

            def receive(record: Any, done: int, total: int) -> None:
                counted[:] = done, total
                on_record(record, done, total)

            yield receive
    except KeyboardInterrupt:
        if not counted or not counted[0]:
            raise Interrupted(f"interrupted: no task is done; {LOST}") from None
        done = f"{counted[0]} of {counted[1]} tasks are done"
        if run is None:
            raise Interrupted(f"interrupted: {done}, not stored: give --run DIR") from None
        raise Interrupted(
            f"interrupted: {done} and kept in {run}; {LOST}; the same command continues"
        ) from None


def _trace_instances(
    folder: Path, loads: str | None, families: str | None, jobs: int | None, seeds: str | None
) -> list[Any]:
    """Return the instances of `compare traces`; print a line for what is left out."""
    from schedgap.instances.traces.matrix import JOBS, LOADS, trace_instances

    return list(
        trace_instances(
            folder,
            families=families.split(",") if families else None,
            loads=loads.split(",") if loads else LOADS,
            jobs=JOBS if jobs is None else jobs,
            seeds=numbers(seeds) if seeds else (0,),
            on_note=show.note,
        )
    )


@app.command("show", epilog="Example:  schedgap show runs/first runs/second")
def show_run(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.")],
    older: Older = False,
    every: Every = False,
    as_json: AsJson = False,
) -> None:
    """Show the results of run folders, together, as 'compare' does at its end."""
    from schedgap.analysis.comparing.run import Run

    stored = Run(*runs, older=older)
    show.run(stored, as_json=as_json, every=every)
    raise typer.Exit(ContradictionError.exit_code if stored.contradictions else 0)


TIMED = (  # tables with seconds
    *("results", "summary", "times", "integrals", "gaps", "progress"),
    *("engines", "engine-pairs", "engine-tasks"),
)
TABLES = {  # name -> method of a run
    "results": "table",
    "summary": "summary",
    "ratios": "ratios",
    "loads": "loads",
    "pairs": "pairs",
    "times": "times",
    "virtual-best": "virtual_best",
    "integrals": "integrals",
    "gaps": "gaps",
    "progress": "progress",
    "profile": "profile",
    "engines": "engines",
    "engine-pairs": "engine_pairs",
    "engine-tasks": "engine_tasks",
}
ENGINE_FORMATS = ("paver", "benchopt")  # formats of the table `engines`
PARTS = ("size", "model", "engine")  # ways to divide the table `engines`


@app.command(epilog="Example:  schedgap table runs/first --of pairs --format latex --out pairs.tex")
def table(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.")],
    of: Annotated[
        str, typer.Option(metavar="NAME", help=f"One of {', '.join(TABLES)}.")
    ] = "summary",
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="csv, parquet, latex or markdown; of engines also paver or benchopt.",
        ),
    ] = "csv",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Output file. [default: standard output]")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="size|model|engine",
            help="Of engines: compare only within a class of size, a formulation, or an engine.",
        ),
    ] = None,
    older: Older = False,
) -> None:
    """Write a table of run folders as CSV, Parquet, LaTeX or Markdown."""
    from schedgap.analysis.comparing.run import Run
    from schedgap.analysis.statistics.export import FORMATS, export

    if of not in TABLES:
        raise UsageError(f"no table '{of}': {choices(of, TABLES)}")
    if by is not None and (of != "engines" or by not in PARTS):
        raise UsageError(f"--by {by}: need --of engines and one of {', '.join(PARTS)}")
    if form in ENGINE_FORMATS:
        from schedgap.cli.benchmarks import write_engine_files

        if of != "engines":
            raise UsageError(f"--format {form}: need --of engines")
        write_engine_files(Run(*runs, older=older), form, out)
        return
    chosen = next((name for name in FORMATS if name == form), None)
    if chosen is None:
        raise UsageError(f"no format '{form}': {choices(form, (*FORMATS, *ENGINE_FORMATS))}")
    if out is not None:
        check_place(out)
    elif chosen == "parquet":
        raise UsageError("--format parquet: need --out FILE")
    stored = Run(*runs, older=older)
    part = {} if by is None else {"by": by}
    text = export(getattr(stored, TABLES[of])(**part), chosen, out)
    if out is None:
        show.plain_text(str(text))
    if of.startswith("engine"):
        show.wrong_answers(stored)
    show.warnings(stored, times=of in TIMED)
    raise typer.Exit(ContradictionError.exit_code if stored.contradictions else 0)


@app.command(epilog="Example:  schedgap diff runs/before runs/after")
def diff(
    first: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    second: Annotated[Path, typer.Argument(metavar="RUN", help="Another one.")],
    older: Older = False,
    as_json: AsJson = False,
) -> None:
    """Show which results differ between two runs, and how their times compare.

    The exit code is 1 if a result of a task that both have differs, and 0 otherwise.
    """
    from schedgap.analysis.comparing.differences import differences
    from schedgap.analysis.comparing.run import Run

    before, after = (Run(folder, older=older) for folder in (first, second))
    found = differences(before, after)
    show.differences(found, as_json=as_json)
    show.warnings(before, after, times=found.time is not None)
    raise typer.Exit(1 if len(found.rows) else 0)


@app.command(epilog="Example:  schedgap report runs/first --out first.html")
def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.")],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.html", help="Output file. [default: report.html in the first run folder]"
        ),
    ] = None,
    older: Annotated[
        bool, typer.Option("--older", help="Also show the results of older source code.")
    ] = False,
) -> None:
    """Write a report of a run: one HTML page with ratios, profiles, bounds and schedules."""
    from schedgap.analysis.records.folder import Folder
    from schedgap.analysis.report.page import write_report

    for folder in runs:
        Folder(folder).check()
    target = runs[0] / "report.html" if out is None else out
    check_place(target)
    written = write_report(runs, target, older=older)
    show.out().print(f"{written}", markup=False, soft_wrap=True)


@app.command(epilog="Example:  schedgap figure ring-figure-4 --quick --format pdf")
def figure(
    targets: Annotated[
        list[str],
        typer.Argument(
            metavar="all|FAMILY|FAMILY-figure-N...|RUN [FIGURE...]",
            help="What to measure and to judge, or a run folder whose figures are to be drawn.",
        ),
    ],
    quick: Annotated[
        bool, typer.Option("--quick", help="Scale the figures down, with at least ten draws.")
    ] = False,
    run: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Run folder; results in it are kept. [default: runs/figures or "
            "runs/figures-quick]",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of reproduction.md, its data, and pictures. [default: the run folder]",
        ),
    ] = None,
    picture: Annotated[
        str | None,
        typer.Option("--format", metavar="pdf|svg|png", help="Also draw each figure into a file."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", help="Number of parallel tasks. [default: one per core]"),
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Only say how many tasks are left, and their cost.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Measure the figures of a paper's evaluation and judge what the paper claims of them.

    Each claim is evaluated on every replication: reproduced, mixed or refuted; or it is only
    measured, an input, or not testable. The command can be stopped and started again.
    """
    from schedgap.analysis.comparing.run import Run
    from schedgap.analysis.pages import reproduction

    if picture not in (None, "pdf", "svg", "png"):
        raise UsageError(f"--format {picture}: need pdf, svg or png")
    if Path(targets[0], "tasks").is_dir():
        if plan:
            raise UsageError("--plan: need names of figures; their run folder is --run DIR")
        stored, names = Run(targets[0]), targets[1:]
    else:
        figures = reproduction.chosen(targets, quick=quick)
        place = run or Path("runs", "figures-quick" if quick else "figures")
        if plan:
            show.plan(reproduction.plan(figures, run=place), as_json=as_json)
            raise typer.Exit
        show.warn_if_capped(workers)
        with counting(place) as on_record:
            stored = reproduction.measure(figures, run=place, workers=workers, on_record=on_record)
        names = list(figures)
    folder = out or stored.folders[0].path
    found = reproduction.named(stored, names)
    show.judgements(reproduction.judgements(found), as_json=as_json)
    pictures = reproduction.draw(found, folder, picture) if picture else []
    page = reproduction.publish(stored, folder)
    for file in () if as_json else (*pictures, page):
        show.out().print(f"{file}", markup=False, soft_wrap=True)
    raise typer.Exit(ContradictionError.exit_code if stored.contradictions else 0)
