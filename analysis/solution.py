"""A solution bound to its instance: what `solve` returns and `load_solution` reads."""

import html
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import PrivateAttr

from schedgap.errors import InputError
from schedgap.instances.instance import Instance
from schedgap.instances.records import (
    Record,
    changed,
    plain,
    read_json,
    validate,
    write_json,
)
from schedgap.instances.solution import EXIT_CODES, SolutionFile
from schedgap.instances.verdict import outside
from schedgap.models.family import family

Progress = tuple[tuple[float, float | None, float | None], ...]  # (seconds, objective, bound)


class Solution(SolutionFile):
    """One method's verified answer for one instance.

    The fields are those of the solution file. Times are in the instance's time unit, `seconds` is
    the method's own wall clock.
    """

    _instance: Instance = PrivateAttr()
    _progress: Progress = PrivateAttr(default=())
    _certificate: Mapping[str, Any] | None = PrivateAttr(default=None)
    _partial: Any = PrivateAttr(default=None)

    @classmethod
    def bind(
        cls,
        instance: Instance,
        data: Mapping[str, Any],
        *,
        progress: Progress = (),
        certificate: Mapping[str, Any] | None = None,
        partial: Any = None,
    ) -> Self:
        """Return the solution that plain JSON data describe, tied to its instance.

        Raises
        ------
        InputError
            When the data are not a solution file, or one of another instance.
        """
        solution = validate(cls, plain(data))
        if solution.family != instance.family:
            raise InputError(
                f"a solution of family {solution.family} for an instance of {instance.family}",
                path="family",
            )
        if solution.instance_sha256 != instance.sha256:
            raise InputError(
                f"not a solution of this instance ({instance.name!r}), whose hash is "
                f"{instance.sha256[:12]}...",
                path="instance_sha256",
            )
        solution._instance, solution._progress = instance, progress
        solution._certificate, solution._partial = certificate, partial
        return solution

    def replace(self, **changes: Any) -> Self:
        """Return a solution of the same instance with some fields changed; claims nobody checked.

        It has no certificate any more where the bound is another one.
        """
        kept = (
            {}
            if changes.get("bound", self.bound) != self.bound
            else {"certificate": self._certificate}
        )
        data = changed(plain(self.to_data()), changes)
        return self.bind(self._instance, data, progress=self._progress, **kept)

    @property
    def progress(self) -> Progress:
        """Best objective and bound over time: (seconds, objective or None, bound or None)."""
        return self._progress

    @property
    def certificate(self) -> Mapping[str, Any] | None:
        """What `verify` needs to evaluate `bound` again without the engine, or None."""
        return self._certificate

    @property
    def partial(self) -> Any:
        """An incomplete schedule that a method was left with, only to be looked at, or None."""
        return self._partial

    @property
    def exit_code(self) -> int:
        """What the command line returns for this status."""
        return EXIT_CODES[self.status]

    def to_data(self) -> dict[str, Any]:
        """Return the JSON data of the solution file."""
        return {name: getattr(self, name) for name in type(self).model_fields}

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the solution file, and beside it the bound's certificate where there is one."""
        write_json(file, self.to_data())
        beside = certificate_file(file)
        if self._certificate is None:
            beside.unlink(missing_ok=True)  # one of an older solution would not fit this one
        else:
            head = {"family": self.family, "instance_sha256": self.instance_sha256}
            write_json(beside, head | {"bound": self.bound, "certificate": dict(self._certificate)})

    def gantt(self, beside: "Solution | None" = None) -> Any:
        """Return a Plotly figure of the schedule, aligned with that of another solution.

        Raises
        ------
        InputError
            When a solution holds no schedule.
        """
        from schedgap.analysis.charts import gantt

        both = [self] if beside is None else [self, beside]
        charts = [solution._chart() for solution in both]
        titles = tuple(solution._title() for solution in both)
        return gantt(charts[0], beside=charts[1] if beside else None, titles=titles)

    def _chart(self) -> Any:
        if self.schedule is None:
            raise InputError(f"{self.method} left no schedule (status {self.status})")
        return family(self.family).chart(self._instance, self.schedule)

    @property
    def outside(self) -> str:
        """In words, which rules of the program a preemptive schedule leaves out; '' when none."""
        return outside(
            () if self.schedule is None else family(self.family).omitted_rules(self.schedule)
        )

    @property
    def beside(self) -> Mapping[str, float]:
        """Numbers beside the objective, by what they are, such as the true completion time."""
        if self.schedule is None:
            return {}
        return family(self.family).metrics(self._instance, self.schedule)

    def _title(self) -> str:
        return f"{self.method}: {self._value()}{f' ({self.outside})' if self.outside else ''}"

    def _value(self) -> str:
        return "no schedule" if self.objective is None else f"{self.objective:.10g}"

    def _facts(self) -> dict[str, str]:
        apart = f" ({self.outside})" if self.outside else ""
        facts = {"status": self.status + apart, "objective": self._value()}
        facts |= {name: f"{value:.10g}" for name, value in self.beside.items()}
        if self.bound is not None:
            facts["bound"] = f"{self.bound:.10g}"
        if self.trace.get("note"):
            facts["note"] = str(self.trace["note"])
        return facts | {"seconds": f"{self.seconds:.3g}"}

    def __repr__(self) -> str:
        facts = ", ".join(f"{key} {value}" for key, value in self._facts().items())
        return f"<{self.method} on {self.family} {self.instance!r}: {facts}>"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{key}</th>"
            f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
            for key, value in self._facts().items()
        )
        title = f"<b>{html.escape(self.method)}</b> on {html.escape(self.instance)}"
        return f"{title}<table>{rows}</table>"


def certificate_file(file: str | os.PathLike[str]) -> Path:
    """Return where the certificate of a solution file lies: `name.certificate.json` beside it."""
    path = Path(file)
    stem = path.name.removesuffix(".json")
    return path.with_name(f"{stem}.certificate.json")


def load_solution(file: str | os.PathLike[str], instance: Instance) -> Solution:
    """Return the solution of a file, with the certificate that lies beside it.

    Nothing in it is believed: `verify` judges the schedule and the claims.

    Raises
    ------
    InputError
        With file, JSON path and what is wrong, also when it belongs to another instance.
    """
    try:
        solution = Solution.bind(instance, read_json(file))
    except InputError as error:
        raise error if error.file else error.inside(str(file)) from None
    beside = certificate_file(file)
    if beside.exists() and beside != Path(file):
        solution._certificate = _read_certificate(beside, instance)
    return solution


class CertificateFile(Record):
    """What lies beside a solution file: the evidence for its bound."""

    family: str
    instance_sha256: str
    bound: float | None = None
    certificate: dict[str, Any]


def _read_certificate(file: Path, instance: Instance) -> Mapping[str, Any]:
    try:
        data = validate(CertificateFile, read_json(file))
        if data.instance_sha256 != instance.sha256:
            raise InputError("not of this instance", path="instance_sha256")
    except InputError as error:
        raise error if error.file else error.inside(str(file)) from None
    return data.certificate
