"""Arguments and options that several commands have, and what their text means."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from schedgap.errors import (
    InputError,
    UsageError,
)


def complete_family(incomplete: str) -> list[str]:
    from schedgap.instances.families import FAMILIES

    return [name for name in FAMILIES if name.startswith(incomplete)]


def complete_method(incomplete: str) -> list[str]:
    from schedgap.analysis.pages.listing import methods

    done, comma, last = incomplete.rpartition(",")
    names = dict.fromkeys(row["method"] for row in methods())
    return [done + comma + name for name in names if name.startswith(last)]


def complete_preset(incomplete: str) -> list[str]:
    from schedgap.instances.families import FAMILIES
    from schedgap.instances.generate import presets

    names = dict.fromkeys(name for family in FAMILIES for name in presets(family))
    return [name for name in names if name.startswith(incomplete)]


FamilyName = Annotated[str, typer.Argument(metavar="FAMILY", autocompletion=complete_family)]


AnyFamily = Annotated[
    str | None, typer.Argument(metavar="[FAMILY]", autocompletion=complete_family)
]


InstanceFile = Annotated[
    Path,
    typer.Argument(metavar="INSTANCE", help="Instance file (JSON), or a name of the record book."),
]


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


def proof_effort(text: str) -> Any:
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


def settings_of(given: list[str] | None) -> dict[str, Any]:
    """Return the values of `--set KEY=VALUE` arguments by key."""
    settings: dict[str, Any] = {}
    for word in given or []:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise UsageError(f"--set {word}: need KEY=VALUE")
        if key in settings:
            raise UsageError(f"--set {key}: given twice")
        settings[key] = value
    return settings


def with_settings(method: str, given: list[str] | None) -> Any:
    """Return a method with its `--set` options; an option may have any name, such as `jobs`."""
    from schedgap.analysis.solving.choices import Choice

    return Choice.of(method).with_settings(settings_of(given))


def split_commas(text: str) -> list[str]:
    """Return the parts of a text between commas; a comma in quotes separates nothing."""
    parts, quote = [""], ""
    for char in text:
        if char in "'\"" and quote in ("", char):
            quote = "" if quote else char
        if char == "," and not quote:
            parts.append("")
        else:
            parts[-1] += char
    return parts


def numbers(text: str, name: str = "--seeds") -> list[int]:
    """Return the numbers of a text such as `1-20` or `1,3,5`; `name`: the option, for errors."""
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not (first.isdecimal() and (last.isdecimal() or not dash)):
            raise UsageError(f"{name} {text}: need numbers such as 1-20 or 1,3,5")
        found += range(int(first), int(last or first) + 1)
    if not found or len(set(found)) < len(found):
        raise UsageError(f"{name} {text}: need at least one number, and each only once")
    return found


def check_place(file: Path) -> None:
    """Raise `InputError` if a file cannot be written, before any work is done."""
    if file.is_dir():
        raise InputError("cannot be written: is a directory", file=str(file))
    if not file.parent.is_dir():
        raise InputError("cannot be written: no such directory", file=str(file))
    if not os.access(file.parent, os.W_OK):
        raise InputError("cannot be written: permission denied", file=str(file))
