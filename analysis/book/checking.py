"""What a file offers to the record book, checked here; and the check of what the book has.

Both run in a child process with the limits of the check of a proof, since the files may come from
anybody. A schedule is checked by the family's rules, a bound by its certificate or its proof. What
a file claims counts nowhere else.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from schedgap.analysis.book.improvements import losses
from schedgap.analysis.records.folder import UNKNOWN_GRID, TaskRecord, read_record
from schedgap.analysis.records.sessions import Session
from schedgap.analysis.results.bounds import Scale
from schedgap.analysis.results.solution import Solution, certificate_file, load_solution
from schedgap.analysis.results.verifying import is_schedule, verify
from schedgap.errors import InputError, choices
from schedgap.instances.book import (
    MOST_BYTES,
    Book,
    Entry,
    Finder,
    Records,
    Side,
    SideName,
    check_plain,
)
from schedgap.instances.instance import Instance
from schedgap.instances.json_files import read_bytes, read_json, short
from schedgap.instances.records import validate
from schedgap.instances.verdict import Verdict
from schedgap.models.family import Family, family
from schedgap.models.proofs import packed_proof, parse_proof

NOT_STATED = "not stated"  # the machine of a solution file
RULES, TREE = "rules", "tree"  # evidence of schedules and of proved bounds


@dataclass(frozen=True, slots=True)
class Offer:
    """A verified schedule or bound, with the content of its file."""

    side: SideName
    value: float
    evidence: str
    content: bytes
    by: Finder

    def stored(self) -> Side:
        """Return it as a side of a record."""
        sha256 = hashlib.sha256(self.content).hexdigest()
        return Side(value=self.value, evidence=self.evidence, file=sha256, by=self.by)


@dataclass(frozen=True, slots=True)
class Offers:
    """What a file offers for a problem variant of an instance.

    `instance`, `problem`, `method`: name in the book, problem variant, and method with its options.
    `offers`: verified sides of the record. `left_out`: why it offers nothing although the file has
    no fault.
    """

    instance: str = ""
    problem: str = ""
    method: str = ""
    offers: tuple[Offer, ...] = ()
    left_out: str = ""


def offers_of(send: Callable[[object], None], folder: str, file: str) -> Offers:
    """Return what the solution or the record of a run in a file offers to a book.

    `folder`: of the book.

    Raises
    ------
    InputError
        If the file is unusable, or makes a wrong claim.
    """
    path, book = Path(file), Book(folder)
    check_plain(path)
    data = read_json(path)
    if not isinstance(data, Mapping):
        raise InputError("neither a solution nor a record of a run", file=file)
    record = read_record(path) if "key" in data else None
    if record is None and is_schedule(data):
        text = "a schedule without its instance: judge it into a run folder first"
        raise InputError(text, file=file)
    named = record.instance.sha256 if record else data.get("instance_sha256")
    name = book.names.get(str(named))
    if name is None:
        if record is None:
            raise InputError("not a solution of an instance of the book", file=file)
        return Offers(left_out="not on an instance of the book")
    instance = book.instance(name)
    try:
        if record is None:
            evidence = certificate_file(path)
            if evidence.is_symlink() or evidence.exists():
                check_plain(evidence)
            solution = load_solution(path, instance)
        elif record.solution is None:
            return Offers(name, record.problem, record.label, left_out="no solution")
        else:
            solution = _of_record(record, path, instance)
        return _offers(name, instance, solution, record, path)
    except InputError as error:
        raise error.inside(file) from None


def _of_record(record: TaskRecord, file: Path, instance: Instance) -> Solution:
    """Return the solution of a record of a run."""
    grid = Scale.of(instance).grid
    if record.instance.grid not in (grid, UNKNOWN_GRID):
        raise InputError(f"must be {grid}", path="instance.grid")
    bound = Solution.bind(instance, dict(record.solution or {}), certificate=record.certificate)
    return bound.with_proof_file(file)


def _offers(
    name: str, instance: Instance, solution: Solution, record: TaskRecord | None, file: Path
) -> Offers:
    owner, scale = family(instance.family), Scale.of(instance)
    method = solution.method if record is None else record.label
    problem = _problem(owner, solution.options)
    if record is not None and record.problem != problem:
        raise InputError(f"must be {problem!r}", path="problem")
    if solution.schedule is None and solution.certificate is None:
        return Offers(name, problem, method, left_out="neither a schedule nor a certified bound")
    verdict = verify(instance, solution)
    if not verdict.feasible:
        first = verdict.violations[0]
        raise InputError(f"{first.rule}: {first.message}")
    if verdict.relaxed:
        if record is None or set(record.relaxed) != set(verdict.relaxed):
            raise InputError(f"a relaxed schedule, which omits {', '.join(verdict.relaxed)}")
        return Offers(name, problem, method, left_out="a relaxed schedule")
    by = _finder(solution, record, file)
    return Offers(name, problem, method, _verified(solution, verdict, scale, by))


def _problem(owner: Family, options: Mapping[str, Any]) -> str:
    """Return the problem variant that the options of a solution name.

    Raises
    ------
    InputError
        If the option that names the variant has an unknown value.
    """
    for option in (option for method in owner.methods for option in method.options):
        variants = {owner.problem({option.name: value}) for value in option.choices}
        value = options.get(option.name, option.default)
        if len(variants) > 1 and value not in option.choices:
            text = f"unknown problem variant {short(value)}: {choices(str(value), option.choices)}"
            raise InputError(text, path=f"options.{option.name}")
    return owner.problem(options)


def _verified(solution: Solution, verdict: Verdict, scale: Scale, by: Finder) -> tuple[Offer, ...]:
    """Return what of a verified solution can be checked again; each side without the other.

    A proof stays with its schedule, since the check of a claim needs both.
    """
    bound, certificate, proof = solution.bound, solution.certificate, solution.proof_data
    proved = proof is not None and any(": PROVED" in claim for claim in verdict.claims)
    found: list[Offer] = []
    content = _content(solution, {"bound": None, "status": "feasible", "proof": None})
    if bound is not None and proof is not None and proved:
        content = _content(solution, {}, proof=proof)
        found.append(Offer("bound", scale.demanded(bound), TREE, content, by))
    elif bound is not None and certificate is not None and verdict.bound_status == "checked":
        changes = {"schedule": None, "objective": None, "status": "bound", "proof": None}
        alone = _content(solution, changes, certificate=certificate)
        kind = str(certificate.get("kind"))
        found.append(Offer("bound", scale.demanded(bound), kind, alone, by))
    if verdict.objective is not None:
        found.append(Offer("schedule", verdict.objective, RULES, content, by))
    return tuple(found)


def _content(
    solution: Solution, changes: Mapping[str, object], **evidence: Mapping[str, Any]
) -> bytes:
    """Return the bytes of the file of a solution, without its trace."""
    return packed_proof({"solution": solution.to_data() | {"trace": {}, **changes}, **evidence})


def _finder(solution: Solution, record: TaskRecord | None, file: Path) -> Finder:
    """Return who found a solution; a solution file does not say on what machine and when."""
    started = "" if record is None else str(record.started)[:10]
    known = re.fullmatch(r"\d{4}-\d\d-\d\d", started)
    session = None if record is None else _session(record, file)
    system = None if session is None else re.match(r"[A-Za-z]+", session.os)
    found = {
        "method": solution.method if record is None else record.label,
        "options": dict(solution.options),
        "engine": solution.engine,
        "seed": solution.seed,
        "versions": dict(solution.versions),
        "seconds": solution.seconds,
        "cpu_seconds": None if record is None else record.cpu_seconds,
        "time_limit": None if record is None else record.time_limit,
        "machine": f"{session.cores} cores, {system[0]}" if session and system else NOT_STATED,
        "load": None if session is None else session.load,
        "date": started if known else datetime.now(UTC).date().isoformat(),
    }
    return validate(Finder, found)


def _session(record: TaskRecord, file: Path) -> Session | None:
    """Return the session of a record of a run; None if there is none."""
    session = file.parent.parent / "sessions" / f"{record.session}.json"
    try:
        if not re.fullmatch(r"[0-9a-f]{4,32}", record.session):
            return None
        check_plain(session)
        return validate(Session, read_json(session))
    except InputError:
        return None


# --- the book ---------------------------------------------------------------------------------


def stored(book: Book, side: Side, instance: Instance) -> Solution:
    """Return the solution in the file of a side, with the certificate or the proof of its bound.

    Raises
    ------
    InputError
        If the file is missing, has another hash, or does not contain a solution of the instance.
    """
    file = book.folder(instance.family) / f"{side.file}.json.gz"
    check_plain(file)
    packed = read_bytes(file, most=MOST_BYTES)
    if hashlib.sha256(packed).hexdigest() != side.file:
        raise InputError("was changed: its name is not its hash", file=str(file))
    try:
        data = parse_proof(packed)
        if not data.keys() <= {"solution", "certificate", "proof"}:
            raise InputError("unknown key")
        solution = Solution.bind(
            instance, data.get("solution", {}), certificate=data.get("certificate")
        )
        return solution.with_proof("tree", data["proof"]) if "proof" in data else solution
    except InputError as error:
        raise error.inside(str(file)) from None


def faults_of(
    send: Callable[[object], None], folder: str, name: str, since: str | None = None
) -> list[str]:
    """Return what is wrong with an instance of a book and with its records, in this process.

    `since`: folder of an older book, of which nothing may be lost.
    """
    book = Book(folder)
    instance = book.instance(name)
    records = book.records(instance.family)
    found = [
        f"{problem}: {fault}" if problem else fault
        for problem, entry in records.records.get(name, {}).items()
        for fault in _faults(book, records, instance, name, problem, entry)
    ]
    return found if since is None else [*found, *losses(book, Book(since), instance, name)]


def _faults(
    book: Book, records: Records, instance: Instance, name: str, problem: str, entry: Entry
) -> list[str]:
    found: list[str] = []
    names: tuple[SideName, ...] = ("schedule", "bound")
    for side_name in names:
        side = entry.side(side_name)
        if side is None:
            continue
        try:
            fault = _fault(book, instance, problem, side_name, side)
        except InputError as error:
            fault = str(error)
        told = next(
            (change.value for change in records.changes
             if (change.instance, change.problem, change.side) == (name, problem, side_name)),
            None,
        )  # fmt: skip
        if not fault and told != side.value:
            fault = "its last change has another value"
        found += [f"{side_name}: {fault}"] if fault else []
    if entry.status != status_of(Scale.of(instance), entry.schedule, entry.bound):
        found.append(f"status: not {entry.status}")
    return found


def _fault(book: Book, instance: Instance, problem: str, name: str, side: Side) -> str:
    """Return what is wrong with a side of a record; empty if nothing is."""
    scale, owner = Scale.of(instance), family(instance.family)
    solution = stored(book, side, instance)
    if _problem(owner, solution.options) != problem:
        return "of another problem variant"
    verdict = verify(instance, solution)
    if not verdict.feasible:
        return f"{verdict.violations[0].rule}: {verdict.violations[0].message}"
    if verdict.relaxed:
        return "a relaxed schedule"
    if name == "schedule":
        same = verdict.objective is not None and scale.same(verdict.objective, side.value)
        return "" if same else f"its value is {verdict.objective}"
    if solution.bound is None or verdict.bound_status != "checked":
        return "a bound without evidence"
    shown = scale.demanded(solution.bound)
    return "" if scale.implies(shown, side.value) else f"the file shows {shown}"


def status_of(scale: Scale, schedule: Side | None, bound: Side | None) -> Any:
    """Return whether a schedule and a bound meet: `closed`, otherwise `open`."""
    if schedule is None or bound is None:
        return "open"
    return "closed" if scale.meets(schedule.value, bound.value) else "open"
