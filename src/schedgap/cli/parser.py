"""The command line's parser, to which each module adds its commands."""

from collections.abc import Callable
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from schedgap import show
from schedgap.errors import Interrupted

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _flags_without_type(parameters: list[Any]) -> list[Any]:
    """Return parameters; the help shows no `<bool>` behind those that take no value."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


class Command(TyperCommand):
    """A command."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, `--help` among them."""
        return _flags_without_type(super().get_params(ctx))

    def invoke(self, ctx: Any) -> Any:
        """Run the command; after an interrupt, say what is kept."""
        try:
            return super().invoke(ctx)
        except Interrupted as error:
            if str(error):
                show.note(str(error))
            raise


class _Group(TyperGroup):
    """All commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, `--help` among them."""
        return _flags_without_type(super().get_params(ctx))


class _App(typer.Typer):
    """A parser whose commands are of the class `Command`."""

    def command(self, *arguments: Any, **more: Any) -> Callable[[_Function], _Function]:
        """Return a decorator that adds a command."""
        return super().command(*arguments, cls=Command, **more)


app = _App(
    name="schedgap",
    cls=_Group,
    help="Exact programs and published algorithms for scheduling ML jobs, with certified gaps.",
    epilog="Start with:  schedgap generate hare --preset small --out small.json",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
