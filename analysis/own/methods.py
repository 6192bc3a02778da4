"""Methods of the user's own, which run in child processes with the limits of every method.

Their schedules are verified as every schedule is. Their failures are outcomes of a task, never
contradictions.
"""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, cast

from schedgap.analysis.own.child import Address, Call, Command
from schedgap.analysis.runners.request import Request
from schedgap.analysis.runners.run import Message, MethodRun
from schedgap.analysis.runners.runner import Receiver, Runnable, Runner
from schedgap.errors import (
    InputError,
    InvalidScheduleError,
    OwnMethodError,
    SchedgapError,
    UsageError,
)
from schedgap.instances.instance import Instance
from schedgap.instances.records import is_instance, parse_json
from schedgap.instances.settings import Option
from schedgap.instances.solution import SolutionFile
from schedgap.models.family import Family, family
from schedgap.models.method import Method, MethodResult
from schedgap.solvers.children.processes import ChildResult, run_child

CHILD = "schedgap.analysis.own.child"
MEMORY_MB = 4096.0  # limit where none is given


@dataclass(frozen=True, slots=True)
class Own(Runnable):
    """A method of the user's own.

    `address`: how a child process finds it. `code`: hash of its source; a changed source is another
    method. `offered`: names of `seed`, `clock` and, if online, `state` that it asks for.
    `settings`: options with the values that the text gave them, as in `mine.py:rule:beta=3`.
    """

    name: str
    address: Address
    code: str
    options: tuple[Option, ...] = ()
    offered: tuple[str, ...] = ()
    settings: tuple[tuple[str, object], ...] = ()

    online: ClassVar[bool] = False

    def prepare(self, instance: Instance, request: Request) -> "OwnRunner":
        """Return its runner, which has a memory limit always."""
        method = self.method(family(instance.family))
        limits, settings = request.limits, {**dict(self.settings), **request.settings}
        limits = replace(limits, memory=MEMORY_MB if limits.memory is None else limits.memory)
        request = replace(request, settings=settings, limits=limits)
        return self._runner().prepare(instance, method, request, own=self)

    def method(self, owner: Family) -> Method:
        """Return it as a method of a family.

        Raises
        ------
        UsageError
            If a method of the family has the same name.
        """
        if self.name in owner.aliases or any(method.name == self.name for method in owner.methods):
            raise UsageError(
                f"'{self.name}' is a method of family {owner.name}: give yours another name, as in "
                f"sg.own(rule, name='my-{self.name}')"
            )
        return Method(
            name=self.name,
            kind="algorithm",
            run=self,
            summary="your own method",
            source="your own",
            options=self.options,
            online=self.online,
            unsupported_reason=self.unsupported_reason,
            seeded="seed" in self.offered,
            proves_infeasible=False,
            code=self.code,
        )

    def unsupported_reason(self, instance: Instance) -> str | None:
        """Return why it cannot be run on an instance, or None."""
        return None

    def _runner(self) -> "type[OwnRunner]":
        return OwnRunner


@dataclass(frozen=True, slots=True)
class OwnRunner(Runner):
    """Runs a method of the user's own, and takes its schedules as JSON text."""

    own: Own

    is_own: ClassVar[bool] = True

    def call(self, run: MethodRun, **terms: Any) -> ChildResult:
        """Call the method in a child process; a command has a temporary folder for its files."""
        with self._folder() as folder:
            return run_child(
                f"{CHILD}:run",
                self.own.address,
                self.own.code,
                self.instance,
                Call(self.options, self.own.offered, self.seed or 0, self.limits.time,
                     os.getcwd(), folder),
                engine=own_process(self.own.code),
                **terms,
            )  # fmt: skip

    @contextmanager
    def _folder(self) -> Iterator[str]:
        if isinstance(self.own.address, Command):
            with tempfile.TemporaryDirectory(prefix="schedgap-", ignore_cleanup_errors=True) as at:
                yield at
        else:
            yield ""

    def receiver(self, run: MethodRun) -> Receiver:
        """Return what measures the schedules that a generator yields."""

        def read(message: Message) -> Message | None:
            _, seconds, text = message
            try:
                schedule, value = self._measured(text)
            except InvalidScheduleError as error:
                run.rejected.append(str(error))
                return None
            return "incumbent", seconds, value, schedule

        return read

    def read(self, run: MethodRun) -> None:
        """Read the schedule that was returned as JSON text, or None; name the method in errors."""
        if isinstance(run.error, OwnMethodError):
            named = OwnMethodError(f"method {self.method.name}: {run.error}")
            for note in getattr(run.error, "__notes__", ()):  # such as a traceback
                named.add_note(note)
            run.error = named
        if run.end != "done":
            return
        text, run.result = cast(str | None, run.result), MethodResult()
        if run.rejected:
            more = "" if len(run.rejected) == 1 else f" (and {len(run.rejected) - 1} more)"
            run.result = MethodResult(note=f"not counted: {run.rejected[0]}{more}")
        try:
            if text is not None and run.schedule is None:
                run.result = MethodResult(schedule_data(self.instance, text, self.method.name))
            elif text is not None:  # the last schedule of a generator
                schedule, value = self._measured(text)
                run.receive(("incumbent", run.seconds, value, schedule), self.sense)
            elif run.schedule is None and run.rejected:
                raise InvalidScheduleError(run.rejected[0])
        except SchedgapError as error:
            run.end, run.error, run.message = "error", error, str(error)

    def failure(self, run: MethodRun) -> Exception | None:
        """Return the error of a method that failed before it had a schedule."""
        if run.end != "error" or run.schedule is not None:
            return None
        return run.error or OwnMethodError(f"method {self.method.name}: {run.message}")

    def refused(self, error: Exception, text: str) -> Exception:
        """Return the error for an invalid schedule, which is the user's fault, not ours."""
        return InvalidScheduleError(text)

    def _measured(self, text: str) -> tuple["PlainSchedule", float]:
        """Return a schedule and its objective, after checking it against the family's rules."""
        name = self.method.name
        schedule = schedule_data(self.instance, text, name)
        try:
            options = self.recorded_options()
            violations = list(self.family.check(self.instance, schedule.data, options))
        except InputError as error:
            raise InvalidScheduleError(f"method {name} returned no schedule: {error}") from None
        if violations:
            first = violations[0]
            raise InvalidScheduleError(
                f"method {name} returned a schedule that breaks {first.rule}: {first.message}"
            )
        return schedule, float(self.family.objective(self.instance, schedule.data))


def own_process(code: str) -> str:
    """Return the key of the child processes of a method, which run nothing else.

    `code`: hash of its source.
    """
    return f"own-{code}"


@dataclass(frozen=True, slots=True)
class PlainSchedule:
    """A schedule as JSON data, not yet verified."""

    data: Any = field(repr=False)

    def to_data(self, instance: Instance) -> dict[str, object]:
        """Return the data."""
        return self.data  # type: ignore[no-any-return]


def schedule_data(instance: Instance, text: str, name: str) -> PlainSchedule:
    """Return the schedule in JSON text that a method has returned.

    `text`: data of a schedule or of a solution file. `name`: name of the method, for messages.

    Raises
    ------
    InvalidScheduleError
        If it is not strict JSON, or a solution of another instance.
    """
    try:
        data = parse_json(text)
    except InputError as error:
        raise InvalidScheduleError(f"method {name} returned no schedule: {error}") from None
    if not isinstance(data, Mapping):
        raise InvalidScheduleError(f"method {name} returned no schedule: need one JSON object")
    if is_instance(data):
        raise InvalidScheduleError(f"method {name} returned an instance: need a schedule")
    if data.keys() & SolutionFile.model_fields.keys():
        if data.get("instance_sha256") != instance.sha256:
            raise InvalidScheduleError(f"method {name} returned a solution of another instance")
        trace = data.get("trace")
        note = trace.get("note") if isinstance(trace, Mapping) else None
        data = data.get("schedule")
        if data is None:
            reason = f": {note}" if isinstance(note, str) and note else ""
            raise InvalidScheduleError(
                f"method {name} returned a solution without a schedule{reason}"
            )
    return PlainSchedule(data)
