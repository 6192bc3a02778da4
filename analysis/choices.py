"""Methods as the user names them: `hare`, `big-m@gurobi`, `hare:gpu_rule=finish`."""

from dataclasses import dataclass

from schedgap.analysis.attempts import Plan
from schedgap.errors import UsageError
from schedgap.models.method import Method


@dataclass(frozen=True, slots=True)
class Choice:
    """A method, perhaps with an engine, and settings that differ from its defaults."""

    method: str
    engine: str | None = None
    settings: tuple[tuple[str, object], ...] = ()

    @classmethod
    def read(cls, text: str) -> "Choice":
        """Return the choice that a word on the command line names."""
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


def label(plan: Plan) -> str:
    """Return a method's name with what differs from its defaults: `hare:gpu_rule=finish`."""
    method: Method = plan.method
    default = method.choose_engine(None)
    engine = f"@{plan.engine}" if plan.engine != default else ""
    changed = [
        f":{option.name}={option.plain(plan.options[option.name])}"
        for option in method.options
        if plan.options[option.name] != option.default
    ]
    return method.name + engine + "".join(changed)
