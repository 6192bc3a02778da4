"""What a comparison has to do: instances, methods as the user names them, and one task for each."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from schedgap.analysis.attempts import Plan, plan
from schedgap.analysis.runs import task_key
from schedgap.errors import EngineUnavailableError, InputError, UsageError
from schedgap.instances.families import load
from schedgap.instances.instance import Instance
from schedgap.models.family import families, family
from schedgap.models.method import Method

Target = Instance | str | os.PathLike[str]
SUITE = "quick"


@dataclass(frozen=True, slots=True)
class Choice:
    """A method as the user names it: `hare`, `big-m@gurobi`, `hare:gpu_rule=finish`."""

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


@dataclass(frozen=True, slots=True)
class Task:
    """One method on one instance, by names: what is sent to a worker, and what a record says."""

    key: str
    instance: Instance
    choice: Choice
    time_limit: float | None
    memory_limit: float | None
    seed: int | None


def instances_of(targets: Target | Iterable[Target]) -> Iterator[Instance]:
    """Yield each instance once, in the order given: files, folders of them, or the suite."""
    single = isinstance(targets, Instance | str | os.PathLike)
    given = [targets] if single else list(cast(Iterable[Target], targets))
    seen: set[str] = set()
    for target in given:
        for instance in _expand(cast(Target, target)):
            if instance.sha256 not in seen:
                seen.add(instance.sha256)
                yield instance
    if not seen:
        raise UsageError("no instances to compare on")


def _expand(target: Target) -> list[Instance]:
    if isinstance(target, Instance):
        return [target]
    path = Path(target)
    if path.is_dir():
        files = sorted(path.glob("[!.]*.json"))
        if not files:
            raise InputError("no instance files (*.json) in it", file=str(path))
        return [load(file) for file in files]
    if str(target) == SUITE and not path.exists():
        return [item for owner in families() if owner.suite is not None for item in owner.suite()]
    return [load(path)]


def tasks_of(
    problems: Sequence[Instance],
    methods: Sequence[str] | None,
    time_limit: float | None,
    memory_limit: float | None,
    seed: int | None,
) -> Iterator[Task]:
    """Yield each task once; names and settings are checked before anything runs."""
    chosen = None if methods is None else [Choice.read(text) for text in methods]
    if chosen is not None:
        owners = {instance.family: family(instance.family) for instance in problems}
        for choice in chosen:
            if not any(_has(name, choice.method) for name in owners):
                next(iter(owners.values())).method(choice.method)  # raises, and names the others
    seen: set[str] = set()
    for instance in problems:
        choices = _installed(instance) if chosen is None else chosen
        for choice in choices:
            if chosen is not None and not _has(instance.family, choice.method):
                continue
            task = Task("", instance, choice, time_limit, memory_limit, seed)
            task = replace(task, key=_key(instance, plan_of(task)))
            if task.key not in seen:
                seen.add(task.key)
                yield task


def _has(name: str, method: str) -> bool:
    owner = family(name)
    return method in owner.aliases or any(each.name == method for each in owner.methods)


def _installed(instance: Instance) -> list[Choice]:
    """Return every method of the family whose engines are there."""
    found = []
    for method in family(instance.family).methods:
        try:
            plan(instance, method.name, settings={})
        except EngineUnavailableError:
            continue
        found.append(Choice(method.name))
    return found


def plan_of(task: Task) -> Plan:
    """Return a task's plan: every option, engine and limit settled."""
    return plan(
        task.instance,
        task.choice.method,
        engine=task.choice.engine,
        time_limit=task.time_limit,
        memory_limit=task.memory_limit,
        seed=task.seed,
        settings=dict(task.choice.settings),
    )


def _key(instance: Instance, plan: Plan) -> str:
    identity = {
        "instance": instance.sha256,
        "method": plan.method.name,
        "engine": plan.engine,
        "options": plan.recorded_options(),
        "seed": plan.seed,
        "versions": plan.versions(),
    }
    return task_key(identity)


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
