"""Methods as users write them: `hare`, `big-m@gurobi`, `hare:gpu_rule=finish`, own functions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from schedgap.analysis.benchmarks.formulation import PREFIX, Formulation
from schedgap.analysis.own.child import is_model
from schedgap.analysis.own.methods import Own
from schedgap.analysis.own.reading import from_text, own
from schedgap.analysis.programs.solve_model import ChangedModel
from schedgap.analysis.runners.request import NO_LIMITS, Limits, Request
from schedgap.analysis.runners.runner import NamedMethod, Runnable, Runner
from schedgap.errors import UsageError
from schedgap.instances.instance import Instance
from schedgap.models.family import Family


@dataclass(frozen=True, slots=True)
class Choice:
    """A method by name, with an optional engine and options that differ from the defaults.

    `given` is the method itself, unless a family lists it.
    """

    method: str
    engine: str | None = None
    settings: tuple[tuple[str, object], ...] = ()
    given: Runnable | None = None

    @property
    def own(self) -> Own | None:
        """The method itself, if it is one of the user's own."""
        return self.given if isinstance(self.given, Own) else None

    def has(self, owner: Family) -> bool:
        """Return whether the method can be run on instances of a family."""
        return self._runnable().has(owner)

    def runner(
        self, instance: Instance, limits: Limits = NO_LIMITS, seed: int | None = None
    ) -> Runner:
        """Return the runner of the method on an instance.

        Raises
        ------
        UsageError
            For an unknown method, option or engine, or a limit that is not a positive number.
        EngineUnavailableError
            If a required engine is not installed.
        """
        request = Request(self.engine, dict(self.settings), limits, seed)
        return self._runnable().prepare(instance, request)

    def _runnable(self) -> Runnable:
        return self.given or NamedMethod(self.method)

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
            return cls(PREFIX + given.program, given.engine, given=given)
        return cls.read(given) if isinstance(given, str) else cls._own(own(given))

    @classmethod
    def to_solve(cls, given: Any) -> "Choice":
        """Return the choice of a method for one instance: as `of`, or a model of the instance."""
        return cls("model", given=ChangedModel(given)) if is_model(given) else cls.of(given)

    def with_settings(self, settings: Mapping[str, object]) -> "Choice":
        """Return the choice with further options; they replace options of the same name.

        `settings`: values of options by name.
        """
        return replace(self, settings=tuple({**dict(self.settings), **settings}.items()))

    @classmethod
    def _own(cls, found: Own) -> "Choice":
        return cls(found.name, settings=found.settings, given=found)

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
