"""Command line: parse arguments, call the package, print, and map errors to exit codes."""

import contextlib
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from schedgap import show
from schedgap.errors import (
    ContradictionError,
    FamilyError,
    InputError,
    SchedgapError,
    UsageError,
    choices,
)

app = typer.Typer(
    name="schedgap",
    help="Exact programs and published algorithms for scheduling ML jobs, with certified gaps.",
    epilog="Start with:  schedgap generate hare --preset small --out small.json",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


# --- completion ------------------------------------------------------------------------------


def _families(incomplete: str) -> list[str]:
    from schedgap.instances.families import FAMILIES

    return [name for name in FAMILIES if name.startswith(incomplete)]


def _methods(incomplete: str) -> list[str]:
    from schedgap.analysis.pages.listing import methods

    done, comma, last = incomplete.rpartition(",")
    names = dict.fromkeys(row["method"] for row in methods())
    return [done + comma + name for name in names if name.startswith(last)]


def _presets(incomplete: str) -> list[str]:
    from schedgap.instances.families import FAMILIES
    from schedgap.instances.generate import presets

    names = dict.fromkeys(name for family in FAMILIES for name in presets(family))
    return [name for name in names if name.startswith(incomplete)]


FamilyName = Annotated[str, typer.Argument(metavar="FAMILY", autocompletion=_families)]
AnyFamily = Annotated[str | None, typer.Argument(metavar="[FAMILY]", autocompletion=_families)]
InstanceFile = Annotated[Path, typer.Argument(metavar="INSTANCE", help="Instance file (JSON).")]
Every = Annotated[bool, typer.Option("--all", help="Show all methods, also of several families.")]
Older = Annotated[bool, typer.Option("--older", help="Also show the results of older source code.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print only JSON on stdout.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set one option; may be repeated."),
]
Seed = Annotated[int | None, typer.Option(metavar="N", help="Random seed, >= 0.")]
TimeLimit = Annotated[
    float | None,
    typer.Option(metavar="S", help="Wall-clock limit in seconds, model building included."),
]
MemoryLimit = Annotated[float | None, typer.Option(metavar="MB", help="Memory limit in MB.")]


# --- commands --------------------------------------------------------------------------------


@app.command(epilog="Example:  schedgap methods hare")
def methods(family: AnyFamily = None, as_json: AsJson = False) -> None:
    """List the methods of one family or of all families, with kind, engines and source.

    With a family, also list the options of each method.
    """
    from schedgap.analysis.pages import listing

    _list(listing.methods(family), as_json, show.methods, family)


@app.command(epilog="Example:  schedgap presets hare")
def presets(family: AnyFamily = None, as_json: AsJson = False) -> None:
    """List the presets of 'generate'; with a family, also their settings for '--set'."""
    from schedgap.analysis.pages import listing

    _list(listing.presets(family), as_json, show.presets, family)


@app.command(epilog="Example:  schedgap models hare small.json")
def models(
    family: AnyFamily = None,
    instance: Annotated[
        Path | None,
        typer.Argument(metavar="[INSTANCE]", help="Instance file (JSON), for the sizes."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the programs of one family or of all families: exact, relaxations, duals, subproblems.

    With an instance, also list the rows, columns, integer columns and nonzeros of each.
    """
    from schedgap.analysis.pages import listing
    from schedgap.instances.families import load

    if instance is None:
        rows = listing.models(family)
    else:
        problem = load(instance)
        if problem.family != family:
            raise UsageError(f"{instance}: an instance of {problem.family}, not of {family}")
        rows = listing.models(problem)
    if as_json:
        show.json_document(rows)
    else:
        show.models(rows)


def _list(
    rows: list[dict[str, Any]], as_json: bool, table: Callable[..., None], family: str | None
) -> None:
    if as_json:
        show.json_document(rows)
    else:
        table(rows, options=family is not None)


@app.command(epilog="Example:  schedgap generate hare --preset small --seed 7 --out small.json")
def generate(
    family: FamilyName,
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE|DIR", help="Output file of the instance; with --seeds, a folder."
        ),
    ],
    preset: Annotated[
        str | None,
        typer.Option(metavar="NAME", autocompletion=_presets, help="See 'schedgap presets'."),
    ] = None,
    seed: Annotated[
        int, typer.Option(metavar="N", help="Random seed; the same seed gives the same instance.")
    ] = 0,
    seeds: Annotated[
        str | None,
        typer.Option(
            metavar="A-B",
            help="Write an instance for each of these seeds, such as 1-20 or 1,3,5, as "
            "FAMILY-PRESET-SEED.json into the folder of --out.",
        ),
    ] = None,
    settings: Settings = None,
    jobs_from: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Take the jobs from a public trace file.")
    ] = None,
    machines_from: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Take the machines from a public file.")
    ] = None,
    rates_from: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Take measured rates from a public file.")
    ] = None,
) -> None:
    """Generate an instance from a preset and a seed, or from public traces."""
    from schedgap.instances.generate import generate as make
    from schedgap.instances.loads import missed_load
    from schedgap.instances.records import write_json

    if seeds is None:
        _check_place(out)
    name = f"{family}-{preset}" if preset else family
    instances = {
        out if seeds is None else out / f"{name}-{value}.json": make(
            family,
            preset=preset,
            seed=value,
            settings=_settings(settings),
            jobs_from=jobs_from,
            machines_from=machines_from,
            rates_from=rates_from,
        )
        for value in ([seed] if seeds is None else _numbers(seeds))
    }
    if seeds is not None:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise InputError(f"cannot be written: {reason}", file=str(out)) from None
    for file, instance in instances.items():
        _check_place(file)
        write_json(file, instance.to_data())
        show.out().print(f"{file}: {instance!r}", markup=False, soft_wrap=True)
        if missed := missed_load(instance):
            show.note(f"{file}: {missed}")


@app.command(epilog="Example:  schedgap schema hare > hare.schema.json")
def schema(family: FamilyName) -> None:
    """Print the JSON Schema of a family's instance file."""
    from schedgap.instances.families import instance_class

    show.json_document(instance_class(family).schema_of_file())


@app.command(
    epilog="Example:  schedgap solve small.json --method exact --time-limit 60 --out a.json"
)
def solve(
    instance: InstanceFile,
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            autocompletion=_methods,
            help="See 'schedgap methods'; your own is FILE.py:FUNCTION or 'cmd:PROGRAM ...'.",
        ),
    ] = "exact",
    engine: Annotated[
        str | None, typer.Option(metavar="NAME", help="Engine to use, one of the method's engines.")
    ] = None,
    time_limit: TimeLimit = None,
    memory_limit: MemoryLimit = None,
    seed: Seed = None,
    settings: Settings = None,
    proof: Annotated[
        str,
        typer.Option(
            metavar="auto|off|SECONDS",
            help="Time to prove an optimum after the search; auto: as long as the search took.",
        ),
    ] = "auto",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Output file of the solution.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run one method on one instance and verify its schedule.

    Exit code 3 means proved infeasible, 4 stopped without a schedule. The file is written in
    both cases.
    """
    from schedgap.analysis.solving.solve import solve as run
    from schedgap.instances.families import load

    effort = _effort(proof)
    problem = load(instance)
    if out is not None:
        _check_place(out)
    with show.solving(f"{method} on {problem.name}") as on_message:
        result = run(
            problem,
            method,
            engine=engine,
            time_limit=time_limit,
            memory_limit=memory_limit,
            seed=seed,
            proof=effort,
            on_message=on_message,
            **_settings(settings),
        )
    if out is not None:
        result.save(out)
    for text in problem.warnings():
        show.note(f"{instance}: warning: {text}")
    if as_json:
        show.json_document(result.to_data())
    else:
        show.solution(result)
    reason = result.trace.get("note") or result.trace.get("stopped", "")
    if result.exit_code or reason:
        reason = reason or "stopped at its limit"
        show.note(f"{instance}: {result.method}: {result.status}: {reason}")
    raise typer.Exit(result.exit_code)


def _effort(text: str) -> Any:
    """Return the time for a proof."""
    if text in ("auto", "off"):
        return text
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise UsageError(f"proof '{text}': need auto, off or a number of seconds >= 0")
    return seconds


@app.command(epilog="Example:  schedgap verify small.json a.json,  or  schedgap verify runs/first")
def verify(
    instance: Annotated[
        Path,
        typer.Argument(metavar="INSTANCE|RUN", help="Instance file (JSON), or a run folder alone."),
    ],
    solution: Annotated[
        Path | None,
        typer.Argument(metavar="[SOLUTION]", help="Solution file, or only a schedule (JSON)."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if a claim cannot be checked.")
    ] = False,
    search: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0.0,
            help="Run a complete search again, where optimality rests on one.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a schedule and the claims made about it.

    The exit code is 1 if the schedule breaks a rule or a claim is refuted, and 0 otherwise. The
    rules follow the paper and share no code with the methods. A bound is evaluated again from its
    certificate, and an optimum from its proof; both are files written with the solution. Without
    one, the bound and the optimality that depends on it are reported as not checked.

    With a run folder, every solution in it is checked in this way.
    """
    from schedgap.analysis.results.verifying import verify_file
    from schedgap.instances.families import load

    if solution is None:
        if not Path(instance, "tasks").is_dir():
            raise UsageError(f"{instance}: need an instance and its solution, or a run folder")
        from schedgap.analysis.comparing.run import Run

        stored = Run(instance, older=True)
        wrong = stored.verify()
        show.verified(stored, wrong, as_json=as_json)
        raise typer.Exit(1 if wrong else 0)
    verdict = verify_file(load(instance), solution, search=search)
    show.verdict(verdict, as_json=as_json)
    raise typer.Exit(0 if (verdict.complete if strict else verdict) else 1)


@app.command(epilog="Example:  schedgap judge small.json mine.json --run runs/first --as my-plan")
def judge(
    instance: InstanceFile,
    schedule: Annotated[
        Path,
        typer.Argument(metavar="SCHEDULE", help="Schedule (JSON), or a solution file with one."),
    ],
    run: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Run folder; the ratio is to the best that it knows."),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--as", metavar="NAME", help="Put the schedule into the run by this name."),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="A,B", autocompletion=_methods, help="Solve the instance with these methods."
        ),
    ] = None,
    time_limit: TimeLimit = 60.0,
    gantt: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Draw the schedule into a page.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Verify a schedule from elsewhere; show its objective and its ratio to the optimum.

    The ratio is an interval, from the best schedule and the best bound of the run and of the
    methods. The exit code is 1 if the schedule breaks a rule.
    """
    from schedgap.analysis.comparing.judged import BY_HAND
    from schedgap.analysis.comparing.judged import judge as judged
    from schedgap.analysis.comparing.run import Run
    from schedgap.analysis.own.methods import check_name
    from schedgap.analysis.solving.solve import solve as run_method
    from schedgap.instances.families import load

    if name is not None and run is None:
        raise UsageError("--as: need --run DIR, into which the schedule is put")
    if name is not None:
        check_name(name)
    if gantt is not None:
        if gantt.suffix != ".html":
            raise UsageError(f"--gantt {gantt}: the name must end in .html")
        _check_place(gantt)
    problem = load(instance)
    found = judged(problem, schedule, name=name or BY_HAND)
    if found.feasible:
        references = [
            run_method(problem, each, time_limit=time_limit)
            for each in (() if against is None else _words(against))
        ]
        runs = [Run(run)] if run is not None and (name is None or (run / "tasks").is_dir()) else []
        known = [each for each in runs if problem.sha256 in each.names or name is None]
        found = judged(problem, schedule, *references, *known, name=name or BY_HAND)
        if run is not None and name is not None:
            found.store(run)
    if gantt is not None:
        found.gantt().write_html(gantt)
    show.judged_schedule(found, as_json=as_json)
    raise typer.Exit(0 if found else 1)


@app.command(
    epilog="Example:  schedgap compare small.json --methods exact,hare:gpu_rule=finish --run r1"
)
def compare(
    targets: Annotated[
        list[str],
        typer.Argument(
            metavar="INSTANCE|DIR|SUITE...",
            help="Instance files, folders with instance files, the suites 'quick' and "
            "'FAMILY-figures', or 'traces' (see --traces-from).",
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
            autocompletion=_methods,
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
        show.capped(workers)
    options = {
        "--loads": loads, "--families": families, "--jobs": jobs, "--seeds": seeds,
    }  # fmt: skip
    chosen: list[Any] = list(targets)
    named = None if methods is None else _words(methods)
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
    with show.comparing() as on_record:
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
            seeds=_numbers(seeds) if seeds else (0,),
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
}


@app.command(epilog="Example:  schedgap table runs/first --of pairs --format latex --out pairs.tex")
def table(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.")],
    of: Annotated[
        str, typer.Option(metavar="NAME", help=f"One of {', '.join(TABLES)}.")
    ] = "summary",
    form: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="csv, parquet, latex or markdown.")
    ] = "csv",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Output file. [default: standard output]")
    ] = None,
    older: Older = False,
) -> None:
    """Write a table of run folders as CSV, Parquet, LaTeX or Markdown."""
    from schedgap.analysis.comparing.run import Run
    from schedgap.analysis.statistics.export import FORMATS, export

    if of not in TABLES:
        raise UsageError(f"no table '{of}': {choices(of, TABLES)}")
    chosen = next((each for each in FORMATS if each == form), None)
    if chosen is None:
        raise UsageError(f"no format '{form}': {choices(form, FORMATS)}")
    if out is not None:
        _check_place(out)
    elif chosen == "parquet":
        raise UsageError("--format parquet: need --out FILE")
    stored = Run(*runs, older=older)
    text = export(getattr(stored, TABLES[of])(), chosen, out)
    if out is None:
        show.plain_text(str(text))
    show.warnings(stored)
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

    before, after = (Run(each, older=older) for each in (first, second))
    found = differences(before, after)
    show.differences(found, as_json=as_json)
    for stored in (before, after):
        show.warnings(stored)
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
    from schedgap.analysis.report import write_report

    target = runs[0] / "report.html" if out is None else out
    _check_place(target)
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
    as_json: AsJson = False,
) -> None:
    """Measure the figures of a paper's evaluation and judge what the paper claims of them.

    Each claim is evaluated on every draw: reproduced, mixed, refuted, or not testable. The command
    can be stopped and started again.
    """
    from schedgap.analysis.comparing.run import Run
    from schedgap.analysis.pages import reproduction

    if picture not in (None, "pdf", "svg", "png"):
        raise UsageError(f"--format {picture}: need pdf, svg or png")
    if Path(targets[0], "tasks").is_dir():
        stored, names = Run(targets[0]), targets[1:]
    else:
        figures = reproduction.chosen(targets, quick=quick)
        place = run or Path("runs", "figures-quick" if quick else "figures")
        show.capped(workers)
        with show.comparing() as on_record:
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


@app.command(epilog="Example:  schedgap export small.json --model paper --relax --out small.lp")
def export(
    instance: InstanceFile,
    model: Annotated[str, typer.Option(metavar="NAME", help="See 'schedgap models'.")],
    out: Annotated[Path, typer.Option(metavar="FILE.lp|FILE.mps", help="Output file.")],
    relax: Annotated[
        bool, typer.Option("--relax", help="Make all columns continuous: the linear relaxation.")
    ] = False,
) -> None:
    """Export a program, with the paper's row names, as an LP or MPS file."""
    from schedgap.analysis.programs.models import exported, program_name
    from schedgap.instances.families import load
    from schedgap.models import family

    problem = load(instance)
    name = program_name(family(problem.family), model)
    if out.suffix not in (".lp", ".mps"):
        raise UsageError(f"{out}: the name must end in .lp or .mps")
    _check_place(out)
    from schedgap.solvers.programs.export import write_model

    write_model(exported(problem, name, relax=relax), out)
    what = f"{name}{', relaxed,' if relax else ''} of {problem!r}"
    show.out().print(f"{out}: {what}", markup=False, soft_wrap=True)


@app.command(
    name="worst-case",
    epilog="Example:  schedgap worst-case ring --method sjf-bco --jobs 5 --out worst",
)
def worst_case(
    family: FamilyName,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            autocompletion=_methods,
            help="The method whose schedules should be bad; with --grid, several: A,B,C.",
        ),
    ] = None,
    against: Annotated[
        str,
        typer.Option(
            metavar="exact|bound|NAME",
            help="exact: the proved optimum; bound: an interval for it; or another method.",
        ),
    ] = "exact",
    guarantee: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A claim of the paper to refute, such as theorem_5."),
    ] = None,
    grid: Annotated[
        bool, typer.Option("--grid", help="Compare each pair of methods; prints the table.")
    ] = False,
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            autocompletion=_presets,
            help="Where the search starts. [default: small]",
        ),
    ] = None,
    jobs: Annotated[int | None, typer.Option(metavar="N", help="Largest number of jobs.")] = None,
    fixed: Annotated[
        str | None,
        typer.Option(metavar="KEY,KEY", help="Keys whose values stay those of the preset."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Set one option of the method; may be repeated."
        ),
    ] = None,
    time_limit: Annotated[
        float, typer.Option(metavar="S", help="Seconds of search and shrinking, of each pair.")
    ] = 60.0,
    evaluations: Annotated[
        int | None, typer.Option(metavar="N", help="Most instances that each worker evaluates.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Random seed, >= 0.")] = 0,
    workers: Annotated[int, typer.Option(metavar="N", help="Searches in parallel.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of the finds; a search in it is continued."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Search for a small instance on which a method does as badly as possible.

    The instance found is shrunk, and its ratio certified. With --guarantee, exit code 1 means that
    the claim is refuted.
    """
    from schedgap.analysis.studies import worst_case as search

    if method is None:
        raise UsageError("need --method")
    options = _settings(settings)
    if grid:
        if options or guarantee or against != "exact":
            raise UsageError("--grid compares methods with their default options with each other")
        names = [name.strip() for name in method.split(",")]
        table = search.worst_grid(
            family, names, time_limit=time_limit, evaluations=evaluations, jobs=jobs, seed=seed,
            workers=workers, out=out,
        )  # fmt: skip
        show.grid(table, as_json=as_json)
        return
    with show.solving(f"worst case of {method}") as on_message:
        found = search.worst_case(
            family,
            method,
            against=against,
            guarantee=guarantee,
            preset=preset,
            jobs=jobs,
            fixed=() if fixed is None else tuple(fixed.split(",")),
            time_limit=time_limit,
            evaluations=evaluations,
            seed=seed,
            workers=workers,
            out=out,
            on_progress=None
            if on_message is None
            else lambda done, best: on_message(
                ("phase", 0.0, f"{done} instances, worst ratio {best:.4g}")
            ),
            **options,
        )
    if as_json:
        show.json_document({**found.to_data(), "instance": found.instance.to_data()})
    else:
        show.facts(found.facts())
        if out is None:
            show.note("the instance is not kept: give --out DIR")
    raise typer.Exit(1 if found.refuted else 0)


# --- plumbing --------------------------------------------------------------------------------


def _settings(words: list[str] | None) -> dict[str, Any]:
    """Return the values of `--set KEY=VALUE` arguments by key."""
    settings: dict[str, Any] = {}
    for word in words or []:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise UsageError(f"--set {word}: need KEY=VALUE")
        if key in settings:
            raise UsageError(f"--set {key}: given twice")
        settings[key] = value
    return settings


def _words(text: str) -> list[str]:
    """Return the parts of a text between commas; a comma in quotes separates nothing."""
    parts, quote = [""], ""
    for sign in text:
        if sign in "'\"" and quote in ("", sign):
            quote = "" if quote else sign
        if sign == "," and not quote:
            parts.append("")
        else:
            parts[-1] += sign
    return parts


def _numbers(text: str) -> list[int]:
    """Return the numbers of a text such as `1-20` or `1,3,5`."""
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not (first.isdecimal() and (last.isdecimal() or not dash)):
            raise UsageError(f"--seeds {text}: need numbers such as 1-20 or 1,3,5")
        numbers += range(int(first), int(last or first) + 1)
    if not numbers or len(set(numbers)) < len(numbers):
        raise UsageError(f"--seeds {text}: need at least one number, and each only once")
    return numbers


def _check_place(file: Path) -> None:
    """Raise `InputError` if a file cannot be written, before any work is done."""
    if file.is_dir():
        raise InputError("cannot be written: is a directory", file=str(file))
    if not file.parent.is_dir():
        raise InputError("cannot be written: no such directory", file=str(file))
    if not os.access(file.parent, os.W_OK):
        raise InputError("cannot be written: permission denied", file=str(file))


def _version(asked: bool) -> None:
    if asked:
        from schedgap import __version__

        show.lines(f"schedgap {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


_received: list[int] = []  # signals that asked the process to end


def _terminate(number: int, _: object) -> None:
    """End as with Ctrl-C, when a batch system asks for it at the end of its time."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _received.append(number)
    raise KeyboardInterrupt


def _interrupted() -> int:
    """Return the exit code of an interrupted command; after SIGTERM, say so."""
    if not _received:
        return 130
    show.note("terminated (SIGTERM); what was finished is kept")
    return 143


def _with_retry(arguments: list[str]) -> list[str]:
    """Return the arguments with `all` after each `--retry` that has no value."""
    from schedgap.show import RETRIES

    given: list[str] = []
    for place, word in enumerate(arguments):
        given.append(word)
        following = arguments[place + 1 : place + 2]
        if word == "--retry" and not set("".join(following).split(",")) <= RETRIES:
            given.append("all")
    return given


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code; an error is one line on stderr.

    Parameters
    ----------
    arguments : list of str
        The arguments without the name of the program.
    """
    try:
        code = app(args=_with_retry(arguments), prog_name="schedgap", standalone_mode=False)
        sys.stdout.flush()
        return _interrupted() if _received else code if isinstance(code, int) else 0
    except (SchedgapError, ContradictionError) as error:
        if isinstance(error, FamilyError) and os.environ.get("SCHEDGAP_DEBUG"):
            traceback.print_exc()
        prefix = "contradiction: " if isinstance(error, ContradictionError) else ""
        show.note(f"{prefix}{error}")
        return error.exit_code
    except (BrokenPipeError, SystemExit):  # the reader of a pipe has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except (KeyboardInterrupt, typer.Abort):
        return _interrupted()
    except Exception as error:  # noqa: BLE001 - no traceback reaches the user
        if hasattr(error, "format_message"):  # errors of the parser
            show.note(f"{error.format_message()} (see 'schedgap --help')")
            return 2
        if os.environ.get("SCHEDGAP_DEBUG"):
            traceback.print_exc()
        show.note(f"internal error: {type(error).__name__}: {error} (SCHEDGAP_DEBUG=1 shows more)")
        return 70


def main() -> None:
    """Run the command line of this process and exit."""
    # Looking for plugins of pydantic reads the metadata of every installed package.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # This process does no dense linear algebra, and starting a thread per core costs CPU time.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(
                errors="replace"
            )  # a character that the terminal lacks is shown as '?'
    with contextlib.suppress(ValueError):  # not the main thread
        signal.signal(signal.SIGTERM, _terminate)
    arguments = sys.argv[1:]
    sys.exit(run(arguments or ["--help"]))
