"""Methods as users write them: `hare`, `big-m@gurobi`, `hare:gpu_rule=finish`, own functions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from schedgap.analysis.benchmarks.formulation import PREFIX, Formulation
from schedgap.analysis.own.methods import Own, from_text, own
from schedgap.analysis.solving.tasks import TaskSpec
from schedgap.errors import UsageError
from schedgap.models.method import Method


@dataclass(frozen=True, slots=True)
class Choice:
    """A method by name, with an optional engine and options that differ from the defaults.

    `own` is the method itself, if it is one of the user's own; `formulation`, if it is a program
    that an engine solves in a benchmark.
    """

    method: str
    engine: str | None = None
    settings: tuple[tuple[str, object], ...] = ()
    own: Own | None = None
    formulation: Formulation | None = None

    @property
    def given(self) -> str | Own | Formulation:
        """The method for `task_spec`: its name, or the method itself."""
        return self.formulation or self.own or self.method

    @classmethod
    def of(cls, given: "Callable[..., Any] | str | Own | Formulation | Choice") -> "Choice":
        """Return the choice of a method in any of the forms that `solve` and `compare` accept.

        `given`: a text as for `read`, a function, or what `schedgap.own` returns.

        Raises
        ------
        UsageError
            If it has another form, or is a function that cannot be called.
        """
        if isinstance(given, Choice):
            return given
        if isinstance(given, Formulation):
            return cls(PREFIX + given.program, given.engine, formulation=given)
        return cls.read(given) if isinstance(given, str) else cls._own(own(given))

    def with_settings(self, settings: Mapping[str, object]) -> "Choice":
        """Return the choice with further options; they replace options of the same name.

        `settings`: values of options by name.
        """
        return replace(self, settings=tuple({**dict(self.settings), **settings}.items()))

    @classmethod
    def _own(cls, found: Own) -> "Choice":
        return cls(found.name, settings=found.settings, own=found)

    @classmethod
    def read(cls, text: str) -> "Choice":
        """Return the choice written as `NAME`, `NAME@ENGINE` or `NAME:KEY=VALUE`.

        Own methods are written as `FILE.py:FUNCTION`, with options behind it, or `cmd:PROGRAM ...`.

        `text`: the method as the user wrote it.

        Raises
        ------
        UsageError
            If the text has another form.
        """
        found = from_text(text)
        if found is not None:
            return cls._own(found)
        head, *words = text.strip().split(":")
        name, _, engine = head.partition("@")
        settings: dict[str, object] = {}
        for word in words:
            key, equals, value = word.partition("=")
            if not equals or not key or key in settings:
                raise UsageError(f"method '{text}': need NAME or NAME:KEY=VALUE")
            settings[key] = value
        if not name:
            raise UsageError(f"method '{text}': need NAME or NAME:KEY=VALUE")
        return cls(name, engine or None, tuple(settings.items()))


def label(spec: TaskSpec) -> str:
    """Return a method's name with its non-default engine and options: `hare:gpu_rule=finish`.

    `spec`: the task that runs the method.
    """
    if spec.formulation is not None:
        return spec.formulation.label(spec.family)
    method: Method = spec.method
    default = method.choose_engine(None)
    engine = f"@{spec.engine}" if spec.engine != default else ""
    changed = [
        f":{option.name}={option.plain(spec.options[option.name])}"
        for option in method.options
        if spec.options[option.name] != option.default
    ]
    return method.name + engine + "".join(changed)
