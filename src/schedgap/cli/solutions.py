"""Commands on one instance: solve, verify, judge, export."""

from pathlib import Path
from typing import Annotated

import typer

from schedgap import show
from schedgap.cli.arguments import (
    AsJson,
    InstanceFile,
    MemoryLimit,
    Seed,
    Settings,
    TimeLimit,
    check_place,
    complete_method,
    proof_effort,
    split_commas,
    with_settings,
)
from schedgap.cli.parser import app
from schedgap.errors import (
    Interrupted,
    UsageError,
)


@app.command(
    epilog="Example:  schedgap solve small.json --method exact --time-limit 60 --out a.json"
)
def solve(
    instance: InstanceFile,
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            autocompletion=complete_method,
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
            help="Time to prove an optimum after the search; auto: as long as the search took, "
            "or 30 s if it was shorter, within the time limit.",
        ),
    ] = "auto",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Output file of the solution.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run one method on one instance and verify its schedule.

    Exit code 3 means that the method reports the instance infeasible; `verify` shows whether this
    is proved. Exit code 4 means that the method stopped without a schedule. The file is written in
    both cases.
    """
    from schedgap.analysis.solving.solve import solve as run
    from schedgap.instances.book import load

    effort = proof_effort(proof)
    loaded = load(instance)
    chosen = with_settings(method, settings)
    if out is not None:
        check_place(out)
    interrupt: KeyboardInterrupt | None = None
    try:
        with show.solving(f"{method} on {loaded.name}") as on_message:
            result = run(
                loaded,
                chosen,
                engine=engine,
                time_limit=time_limit,
                memory_limit=memory_limit,
                seed=seed,
                proof=effort,
                on_message=on_message,
            )
    except Interrupted as error:
        interrupt, result = error, error.solution
    if out is not None:
        result.save(out)
    for text in loaded.warnings():
        show.note(f"{instance}: warning: {text}")
    if as_json:
        show.json_document(result.to_data())
    else:
        show.solution(result)
    if interrupt is not None:
        what = "schedule" if result.bound is None else "bound"
        what = what if result.objective is None or result.bound is None else "schedule and bound"
        kept = "not kept: give --out FILE" if out is None else f"kept in {out}"
        raise Interrupted(
            f"interrupted: the {what} found so far, {kept}; the same command starts anew"
        )
    reason = result.trace.get("note") or result.trace.get("stopped", "")
    if result.exit_code or reason:
        if not reason and result.status == "unknown":
            reason = show.ended(result.limited)
        words = (f"{instance}", result.method, result.status, reason)
        show.note(": ".join(word for word in words if word))
    raise typer.Exit(result.exit_code)


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
        bool, typer.Option("--strict", help="Exit with 1 if a claim is only reported.")
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
    rules follow the paper and share no code with the methods. Each claim gets one of four words.
    `reported`: only the method or its engine says so. `certified`: the bound was evaluated again
    from its certificate. `PROVED`: every leaf of a proof tree was checked. `refuted`: the claim is
    wrong. Certificate and proof are files written with the solution.

    With a run folder, every solution in it is checked in this way.
    """
    from schedgap.analysis.results.verifying import verify_file
    from schedgap.instances.book import load

    if solution is None:
        if not Path(instance, "tasks").is_dir():
            raise UsageError(f"{instance}: need an instance and its solution, or a run folder")
        from schedgap.analysis.comparing.run import Run

        stored = Run(instance, older=True)
        if search is not None:
            raise UsageError("--search needs an instance and its solution")
        wrong = stored.verify(strict=strict)
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
            metavar="A,B",
            autocompletion=complete_method,
            help="Solve the instance with these methods.",
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
    from schedgap.analysis.own.reading import check_name
    from schedgap.analysis.solving.solve import solve as run_method
    from schedgap.instances.book import load

    if name is not None and run is None:
        raise UsageError("--as: need --run DIR, into which the schedule is put")
    if name is not None:
        check_name(name)
    if gantt is not None:
        if gantt.suffix != ".html":
            raise UsageError(f"--gantt {gantt}: the name must end in .html")
        check_place(gantt)
    loaded = load(instance)
    found = judged(loaded, schedule, name=name or BY_HAND)
    if found.feasible:
        references = [
            run_method(loaded, method, time_limit=time_limit)
            for method in (() if against is None else split_commas(against))
        ]
        runs = [Run(run)] if run is not None and (name is None or (run / "tasks").is_dir()) else []
        known = [stored for stored in runs if loaded.sha256 in stored.names or name is None]
        found = judged(loaded, schedule, *references, *known, name=name or BY_HAND)
        if run is not None and name is not None:
            found.store(run)
    if gantt is not None:
        found.gantt().write_html(gantt)
    show.judged_schedule(found, as_json=as_json)
    raise typer.Exit(0 if found else 1)


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
    from schedgap.instances.book import load
    from schedgap.models import family

    loaded = load(instance)
    name = program_name(family(loaded.family), model)
    if out.suffix not in (".lp", ".mps"):
        raise UsageError(f"{out}: the name must end in .lp or .mps")
    check_place(out)
    from schedgap.solvers.programs.export import write_model

    write_model(exported(loaded, name, relax=relax), out)
    named = model if name == model else f"{model} (= {name})"
    what = f"{named}{', relaxed,' if relax else ''} of {loaded!r}"
    show.out().print(f"{out}: {what}", markup=False, soft_wrap=True)
