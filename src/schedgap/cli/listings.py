"""Commands that list engines, methods, presets and programs."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from schedgap import show
from schedgap.cli.arguments import AnyFamily, AsJson
from schedgap.cli.parser import app
from schedgap.errors import (
    UsageError,
)


@app.command(epilog="Example:  schedgap methods hare")
def methods(
    family: AnyFamily = None,
    all_of_them: Annotated[
        bool, typer.Option("--all", help="All methods of the family, not only the first four.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the methods of one family or of all families, with kind, engines and source.

    With a family, list the methods to start with and their options; with --all, all of them.
    --json always lists all.
    """
    from schedgap.analysis.pages import listing

    brief = family is None and not as_json
    rows = [row for row, _ in listing.method_rows()] if brief else listing.methods(family)
    _list(rows, as_json, partial(show.methods, all_of_them=all_of_them), family)


@app.command(epilog="Example:  schedgap engines")
def engines(
    check: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Check one engine against the contract of all engines."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the engines with version, licence status and the kinds of programs that they take.

    With --check, the exit code is 1 if the engine breaks a clause of the contract.
    """
    from schedgap.analysis.pages import listing

    if check is not None:
        from schedgap.solvers import check_engine

        faults = check_engine(check)
        if as_json:
            show.json_document(faults)
        else:
            said = [f"{clause}: {fault or 'ok'}" for clause, fault in faults.items()]
            show.lines("\n".join(said))
        raise typer.Exit(int(any(faults.values())))
    rows = listing.engines()
    if as_json:
        show.json_document(rows)
    else:
        show.engines(rows)


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
    from schedgap.instances.book import load

    if instance is None:
        rows = listing.models(family)
    else:
        loaded = load(instance)
        if loaded.family != family:
            raise UsageError(f"{instance}: an instance of {loaded.family}, not of {family}")
        rows = listing.models(loaded)
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
