"""The command line's parser, to which each module adds its commands."""

import typer

app = typer.Typer(
    name="schedgap",
    help="Exact programs and published algorithms for scheduling ML jobs, with certified gaps.",
    epilog="Start with:  schedgap generate hare --preset small --out small.json",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
