"""Solutions with their instance, as returned by `solve` and `load_solution`."""

import hashlib
import html
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import PrivateAttr

from schedgap.analysis.results.bounds import Scale
from schedgap.errors import InputError, UsageError
from schedgap.instances.arguments import a_path, an_instance, checked
from schedgap.instances.instance import Instance, html_table
from schedgap.instances.records import (
    Record,
    canonical_json,
    changed,
    is_instance,
    plain,
    read_bytes,
    read_json,
    validate,
    write_json,
)
from schedgap.instances.solution import EXIT_CODES, ProofClaim, ProofKind, SolutionFile
from schedgap.instances.verdict import outside
from schedgap.models.family import Chart, family
from schedgap.models.proofs import MAX_BYTES, parse_proof, proof_file, proof_width, write_proof

Progress = tuple[tuple[float, float | None, float | None], ...]  # (seconds, objective, bound)


def solution_data(instance: Instance, **facts: object) -> dict[str, object]:
    """Return the data of a solution file; `facts` are those that are not the instance's."""
    return {
        "family": instance.family,
        "version": 1,
        "instance": instance.name,
        "instance_sha256": instance.sha256,
        "sense": family(instance.family).sense(instance),
    } | facts


class Solution(SolutionFile):
    """Verified result of one method on one instance.

    The solution file has the same fields. Times of the schedule are in the instance's time
    unit; `seconds` is the wall-clock time of the method.
    """

    _instance: Instance = PrivateAttr()
    _progress: Progress = PrivateAttr(default=())
    _certificate: Mapping[str, Any] | None = PrivateAttr(default=None)
    _partial: Any = PrivateAttr(default=None)
    _proof_data: Mapping[str, Any] | None = PrivateAttr(default=None)
    _proof_fault: str = PrivateAttr(default="")
    _verified: str = PrivateAttr(default="")  # hash of the data that were verified

    @classmethod
    @checked(instance=an_instance)
    def bind(
        cls,
        instance: Instance,
        data: Mapping[str, object],
        *,
        progress: Progress = (),
        certificate: Mapping[str, object] | None = None,
        partial: object = None,
    ) -> Self:
        """Return a solution from JSON data, together with its instance.

        Parameters
        ----------
        instance : Instance
            The instance that the solution belongs to.
        data : mapping
            JSON data of a solution file.
        progress : tuple
            Points (seconds, objective or None, bound or None) over time.
        certificate : mapping, optional
            Certificate of the bound.
        partial : optional
            Incomplete schedule of a method that was stopped.

        Raises
        ------
        InputError
            If the data are not a solution file or belong to another instance.
        """
        if isinstance(data, Mapping) and is_instance(data):
            raise InputError("an instance; need a solution")
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

    def replace(self, **changes: object) -> Self:
        """Return a copy with some fields changed; the changed claims are not checked.

        The certificate is dropped if the bound changes.

        Parameters
        ----------
        **changes
            New values of fields, by name.
        """
        kept = (
            {}
            if plain(changes.get("bound", self.bound)) != self.bound
            else {"certificate": self._certificate}
        )
        data = changed(plain(self.to_data()), changes)
        return self.bind(self._instance, data, progress=self._progress, **kept)

    @property
    def of_instance(self) -> Instance:
        """The instance that it belongs to."""
        return self._instance

    @property
    def verified(self) -> bool:
        """Whether it comes from `solve`, which has verified it; `ratio` verifies others itself.

        It is no longer, if its schedule is changed in place.
        """
        return self._verified != "" and self._verified == self._digest()

    def _digest(self) -> str:
        """Return a hash of the schedule; empty if it is not JSON data."""
        try:
            return hashlib.sha256(canonical_json(self.schedule).encode()).hexdigest()
        except (TypeError, ValueError, RecursionError):
            return ""

    def as_verified(self) -> Self:
        """Return the solution, marked as verified."""
        self._verified = self._digest()
        return self

    @property
    def progress(self) -> Progress:
        """Best objective and bound over time, as (seconds, objective or None, bound or None)."""
        return self._progress

    @property
    def certificate(self) -> Mapping[str, Any] | None:
        """Data with which `verify` evaluates `bound` again without an engine, or None."""
        return self._certificate

    @property
    def limited(self) -> bool | None:
        """Whether a time limit may have had an influence; None if that is not known."""
        limited = self.trace.get("limited")
        return limited if isinstance(limited, bool) else None

    @property
    def partial(self) -> Any:
        """Incomplete schedule of a method that found no complete one, for inspection, or None."""
        return self._partial

    @property
    def exit_code(self) -> int:
        """Exit code of the command line for this status."""
        return EXIT_CODES[self.status]

    def to_data(self) -> dict[str, Any]:
        """Return the JSON data of the solution file."""
        data = {name: getattr(self, name) for name in type(self).model_fields}
        return data | {"proof": None if self.proof is None else self.proof.model_dump()}

    @property
    def proof_data(self) -> Mapping[str, Any] | None:
        """Data of the proof file, for `verify`, or None."""
        return self._proof_data

    @property
    def proof_fault(self) -> str:
        """Why the proof file that the solution names is not there; empty if it is."""
        return self._proof_fault

    @checked(file=a_path)
    def with_proof_file(self, file: Path) -> Self:
        """Return a copy with the proof that it names, read from the folder of a file.

        Parameters
        ----------
        file : Path
            The solution file, or a record that holds the solution.
        """
        copy = self.model_copy()
        if self.proof is not None and self.proof.file is not None:
            copy._proof_data, copy._proof_fault = named_proof(file, self.proof)
        return copy

    def with_proof(
        self,
        kind: ProofKind,
        data: Mapping[str, Any] | None = None,
        notes: Mapping[str, object] | None = None,
    ) -> Self:
        """Return a copy that says what its optimality, or its bound, rests on.

        Parameters
        ----------
        kind : str
            See `ProofClaim`.
        data : mapping, optional
            Of the proof file, for the kind `tree`.
        notes : mapping
            On the search for a proof; goes into the trace.
        """
        value = self.bound if self.status == "feasible" else self.objective
        width = proof_width(self._instance, value) if kind == "tree" else self._width()
        changes = {
            "proof": ProofClaim(kind=kind, within=width),
            "trace": {**self.trace, **(notes or {})},
        }
        copy = self.model_copy(update=changes)
        copy._proof_data, copy._verified = data, self._verified
        return copy

    def _width(self) -> float:
        if self.objective is None or self.bound is None:
            return 0.0
        return Scale.of(self._instance).width(self.objective, self.bound)

    def with_bound(
        self,
        bound: float | None,
        certificate: Mapping[str, Any] | None = None,
        notes: Mapping[str, object] | None = None,
    ) -> Self:
        """Return a copy with another bound and its certificate.

        Parameters
        ----------
        bound : float or None
            One that does not meet the objective.
        certificate : mapping, optional
            Of this bound.
        notes : mapping
            On the bound; goes into the trace.
        """
        copy = self.replace(bound=bound, trace={**self.trace, **(notes or {})})
        copy._certificate, copy._verified = certificate, self._verified
        if self._progress:
            copy._progress = (*self._progress[:-1], (*self._progress[-1][:2], bound))
        return copy

    @checked(file=a_path)
    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the solution file and, if the bound has a certificate, the certificate file.

        Parameters
        ----------
        file : path
            The solution file; `certificate_file` gives the name of the other one.
        """
        saved = self.to_data()
        proof = proof_file(file)
        if self.proof is not None and self._proof_data is not None:
            sha256 = write_proof(proof, self._proof_data)
            saved["proof"] |= {"file": proof.name, "sha256": sha256}
        else:
            proof.unlink(missing_ok=True)  # it would belong to an older solution
        write_json(file, saved)
        evidence = certificate_file(file)
        if self._certificate is None:
            evidence.unlink(missing_ok=True)  # it would belong to an older solution
        else:
            head = {"family": self.family, "instance_sha256": self.instance_sha256}
            claim = {"bound": self.bound, "certificate": dict(self._certificate)}
            write_json(evidence, head | claim)

    def gantt(self, compare_with: "Solution | None" = None) -> Any:
        """Return a Gantt chart of the schedule as a Plotly figure.

        `figure.save("schedule.pdf")` saves it as PDF, SVG, PNG or HTML.

        Parameters
        ----------
        compare_with : Solution, optional
            Another solution of the instance, drawn below on the same time axis.

        Raises
        ------
        InputError
            If a solution has no schedule.
        """
        return side_by_side(self, compare_with)

    def _chart(self) -> Chart:
        if self.schedule is None:
            raise InputError(self._no_schedule())
        return family(self.family).chart(self._instance, self.schedule)

    def _no_schedule(self) -> str:
        note = self.trace.get("note")
        reason = f"; {note}" if isinstance(note, str) and note else ""
        return f"{self.method} has no schedule (status {self.status}){reason}"

    @property
    def outside(self) -> str:
        """Text that names the rules which the schedule need not obey; empty if there are none."""
        return outside(
            () if self.schedule is None else family(self.family).omitted_rules(self.schedule)
        )

    @property
    def metrics(self) -> Mapping[str, float]:
        """Further figures of the schedule by name, such as the true completion time."""
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
        facts |= {name: f"{value:.10g}" for name, value in self.metrics.items()}
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
        title = f"<b>{html.escape(self.method)}</b> on {html.escape(self.instance)}"
        return title + html_table(self._facts())


def side_by_side(first: Any, second: Any) -> Any:
    """Return the Gantt chart of a schedule, and of another one below it unless that is None.

    `first`, `second`: solutions or judged schedules.
    """
    from schedgap.analysis.plots.charts import gantt

    if not hasattr(second, "_chart") and second is not None:
        raise UsageError(f"no chart: need a solution to compare with, not {type(second).__name__}")
    drawn = [first] if second is None else [first, second]
    below = None if second is None else second._chart()
    return gantt(first._chart(), below, titles=tuple(chart._title() for chart in drawn))


def certificate_file(file: str | os.PathLike[str]) -> Path:
    """Return the certificate file of a solution file: `name.certificate.json` in its folder."""
    path = Path(file)
    stem = path.name.removesuffix(".json")
    return path.with_name(f"{stem}.certificate.json")


@checked(file=a_path, instance=an_instance)
def load_solution(file: str | os.PathLike[str], instance: Instance) -> Solution:
    """Read a solution file and, if there is one, its certificate file.

    The schedule and the claims are not checked; use `verify`.

    Parameters
    ----------
    file : path
        The solution file.
    instance : Instance
        The instance that it belongs to.

    Raises
    ------
    InputError
        If the file is unusable or belongs to another instance; names file, JSON path and fault.
    """
    try:
        solution = Solution.bind(instance, read_json(file))
    except InputError as error:
        raise error.inside(str(file)) from None
    evidence = certificate_file(file)
    if evidence.exists() and evidence != Path(file):
        solution._certificate = _read_certificate(evidence, instance)
    return solution.with_proof_file(Path(file))


def named_proof(file: Path, claim: ProofClaim) -> tuple[Mapping[str, Any] | None, str]:
    """Return the data of the proof file that a solution names, or why there are none.

    `file`: the solution file; the proof file is in its folder.

    Raises
    ------
    InputError
        If the claim names no file of the same folder, or the file is not a proof.
    """
    assert claim.file is not None
    if claim.file in ("", "..") or Path(claim.file).name != claim.file:
        raise InputError("must be the name of a file in the same folder", path="proof.file").inside(
            str(file)
        )
    path = file.with_name(claim.file)
    try:
        if not path.exists():
            return None, f"{claim.file} is missing"
        if path.stat().st_size > MAX_BYTES:
            return None, f"{claim.file} is larger than {MAX_BYTES >> 20} MB"
        packed = read_bytes(path, most=MAX_BYTES)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"cannot be read: {reason.lower()}", path="proof.file").inside(
            str(file)
        ) from None
    except InputError as error:
        raise InputError(error.message, path="proof.file").inside(str(file)) from None
    if hashlib.sha256(packed).hexdigest() != claim.sha256:
        return None, f"{claim.file} is not the file that the solution names: its hash differs"
    return parse_proof(packed, file=str(path)), ""


class CertificateFile(Record):
    """A certificate file: the evidence for the bound of a solution file."""

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
        raise error.inside(str(file)) from None
    return data.certificate
