"""The search for worst cases."""

from pathlib import Path
from time import monotonic
from typing import Annotated

import typer

from schedgap import show
from schedgap.cli.arguments import (
    AsJson,
    FamilyName,
    complete_method,
    complete_preset,
    split_commas,
    with_settings,
)
from schedgap.cli.parser import app
from schedgap.errors import UsageError


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
            autocompletion=complete_method,
            help="The method whose schedules should be bad, or your own, FILE.py:FUNCTION; with "
            "--grid, several: A,B,C.",
        ),
    ] = None,
    against: Annotated[
        str,
        typer.Option(
            metavar="exact|bound|NAME",
            help="exact: the proved optimum; bound: an interval for it; or a method.",
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
            autocompletion=complete_preset,
            help="Where the search starts. [default: small, or the family's default]",
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
        float,
        typer.Option(
            metavar="S", help="Seconds of search, shrinking and certificate, of each pair."
        ),
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
    if grid:
        if settings or guarantee or against != "exact":
            raise UsageError("--grid compares methods with their default options with each other")
        if preset is not None or fixed is not None:
            raise UsageError(
                "--grid starts from the default preset: leave out --preset and --fixed"
            )
        names = [name.strip() for name in split_commas(method)]
        table = search.worst_grid(
            family, names, time_limit=time_limit, evaluations=evaluations, jobs=jobs, seed=seed,
            workers=workers, out=out,
        )  # fmt: skip
        show.grid(table, as_json=as_json)
        return
    what = "worst ratio" if guarantee is None else "best score"
    begin = monotonic()
    with show.solving(f"worst case of {method}") as on_message:
        found = search.worst_case(
            family,
            with_settings(method, settings),
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
            on_progress=lambda done, best: on_message(
                ("phase", monotonic() - begin, f"{done} instances, {what} {best:.4g}")
            ),
        )
    if as_json:
        show.json_document({**found.to_data(), "instance": found.instance.to_data()})
    else:
        show.facts(found.facts())
        if out is None:
            show.note("the instance is not kept: give --out DIR")
    raise typer.Exit(1 if found.refuted else 0)
