"""The command on the record book."""

from pathlib import Path
from typing import Annotated

import typer

from schedgap import show
from schedgap.cli.arguments import AsJson
from schedgap.cli.parser import app
from schedgap.errors import UsageError

ACTIONS = ("update", "verify")


def _complete(incomplete: str) -> list[str]:
    from schedgap.instances.families import OWN

    return [word for word in (*ACTIONS, *OWN) if word.startswith(incomplete)]


@app.command(epilog="Example:  schedgap records hare,  or  schedgap records update runs/first")
def records(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FAMILY|NAME] | update RUN|FILE... | verify [FAMILY|NAME]...",
            autocompletion=_complete,
            help="A family, a tier such as hare-p, or an instance such as hare-p3.",
        ),
    ] = None,
    book: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Another record book. [default: the bundled one]"),
    ] = None,
    since: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="With 'verify': an older record book, of which nothing may be lost.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List benchmark instances with the best schedule and the best bound known of each.

    `update` takes over what run folders and solution files improve. A schedule must obey the rules,
    and a bound must have a certificate or a proof; both are checked here. The exit code is 1 if a
    file is refused. `verify` checks the whole book again, without an engine; the exit code is 1 if
    something is wrong. With `--since` it is also a fault if something of an older book is missing,
    worse, or replaced without an improvement.
    """
    from schedgap.analysis.book.records import records as book_of
    from schedgap.instances.library import library

    given = words or []
    action = given[0] if given and given[0] in ACTIONS else ""
    if since is not None and action != "verify":
        raise UsageError("--since: only with 'verify'")
    if action == "update":
        if len(given) < 2:
            raise UsageError("update: need run folders or solution files")
        on_line = None if as_json else show.lines
        found = book_of(book=book).update(*given[1:], on_line=on_line)
        show.book_update(found, as_json=as_json)
        raise typer.Exit(0 if found else 1)
    if action == "verify":
        books = [book_of(name, book=book) for name in given[1:] or ["records"]]
        every = (fault for part in books for fault in part.verify(since=since))
        faults = [*dict.fromkeys(every)]  # a missing instance is a fault of each part
        show.book_verified(sum(map(len, books)), faults, as_json=as_json)
        raise typer.Exit(1 if faults else 0)
    if len(given) > 1:
        raise UsageError(f"records {given[0]}: need one family or one instance")
    rows = book_of(given[0] if given else None, book=book).rows()
    worst_cases = sum(len(library(name)) for name in {row["family"] for row in rows})
    show.records(rows, worst_cases, as_json=as_json)
