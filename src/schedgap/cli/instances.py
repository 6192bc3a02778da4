"""Commands that write instances and their schema."""

from pathlib import Path
from typing import Annotated

import typer

from schedgap import show
from schedgap.cli.arguments import (
    FamilyName,
    Settings,
    check_place,
    complete_preset,
    numbers,
    settings_of,
)
from schedgap.cli.parser import app
from schedgap.errors import (
    InputError,
    UsageError,
)


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
        typer.Option(
            metavar="NAME", autocompletion=complete_preset, help="See 'schedgap presets'."
        ),
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
    """Generate an instance from a preset and a seed, from public traces, or of the record book."""
    from schedgap.instances.book import book_instances
    from schedgap.instances.generate import generate as make
    from schedgap.instances.loads import missed_load
    from schedgap.instances.records import write_json

    if seeds is None:
        check_place(out)
    if booked := list(book_instances(family)):
        if len(booked) > 1 or preset or seed or seeds or settings or jobs_from or machines_from:
            raise UsageError(f"{family}: need one instance of the record book, and only --out")
        booked[0].save(out)
        show.out().print(f"{out}: {booked[0]!r}", markup=False, soft_wrap=True)
        return
    name = f"{family}-{preset}" if preset else family
    instances = {
        out if seeds is None else out / f"{name}-{value}.json": make(
            family,
            preset=preset,
            seed=value,
            settings=settings_of(settings),
            jobs_from=jobs_from,
            machines_from=machines_from,
            rates_from=rates_from,
        )
        for value in ([seed] if seeds is None else numbers(seeds))
    }
    if seeds is not None:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise InputError(f"cannot be written: {reason}", file=str(out)) from None
    for file, instance in instances.items():
        check_place(file)
        write_json(file, instance.to_data())
        show.out().print(f"{file}: {instance!r}", markup=False, soft_wrap=True)
        if missed := missed_load(instance):
            show.note(f"{file}: {missed}")


@app.command(epilog="Example:  schedgap schema hare > hare.schema.json")
def schema(family: FamilyName) -> None:
    """Print the JSON Schema of a family's instance file."""
    from schedgap.instances.families import instance_class

    show.json_document(instance_class(family).schema_of_file())
