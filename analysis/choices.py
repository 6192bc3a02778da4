"""Methods as users write them: `hare`, `big-m@gurobi`, `hare:gpu_rule=finish`."""

from dataclasses import dataclass

from schedgap.analysis.tasks import TaskSpec
from schedgap.errors import UsageError
from schedgap.models.method import Method


@dataclass(frozen=True, slots=True)
class Choice:
    """A method by name, with an optional engine and options that differ from the defaults."""

    method: str
    engine: str | None = None
    settings: tuple[tuple[str, object], ...] = ()

    @classmethod
    def read(cls, text: str) -> "Choice":
        """Return the choice written as `NAME`, `NAME@ENGINE` or `NAME:KEY=VALUE`.

        Parameters
        ----------
        text : str
            The method as the user wrote it.

        Raises
        ------
        UsageError
            If the text has another form.
        """
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

    Parameters
    ----------
    spec : TaskSpec
        The task that runs the method.
    """
    method: Method = spec.method
    default = method.choose_engine(None)
    engine = f"@{spec.engine}" if spec.engine != default else ""
    changed = [
        f":{option.name}={option.plain(spec.options[option.name])}"
        for option in method.options
        if spec.options[option.name] != option.default
    ]
    return method.name + engine + "".join(changed)
