"""The record book takes only what verifies, loses nothing, and says what it has."""

import contextlib
import copy
import gzip
import hashlib
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import schedgap as sg
from schedgap.analysis.book import updating
from schedgap.analysis.book.checking import Offers, offers_of
from schedgap.errors import ContradictionError, SchedgapError, UsageError
from schedgap.instances.book import HERE, Book
from schedgap.instances.families import OWN
from schedgap.models.family import family

Data = dict[str, Any]


@pytest.fixture
def book(tmp_path: Path) -> sg.RecordBook:
    """An empty book with the bundled recipes."""
    (tmp_path / "book").mkdir()
    return sg.records(book=tmp_path / "book")


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of solution files, each with its evidence."""
    folder = tmp_path_factory.mktemp("solved")
    for name, method in (
        ("edge-a1", "exact"), ("edge-a1", "fifo"), ("edge-a1", "cg-bound"), ("hare-a1", "list"),
        ("hare-a1", "lagrangian"), ("edge-a1", "preemptive"), ("ring-a1", "exact"),
    ):  # fmt: skip
        sg.solve(sg.load(name), method, seed=1).save(folder / f"{name}-{method}.json")
    fixed = sg.solve(sg.load("hare-a1"), "cp-sat", synchronization="fixed", time_limit=2, seed=1)
    fixed.save(folder / "hare-a1-fixed.json")
    return folder


@pytest.fixture(scope="module")
def filled(solved: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a book with all of them."""
    folder = tmp_path_factory.mktemp("filled")
    assert sg.records(book=folder).update(*_files(solved))
    return folder


def _files(folder: Path) -> list[Path]:
    evidence = ("certificate.json", "preemptive.json")
    return sorted(each for each in folder.glob("*.json") if not each.name.endswith(evidence))


def _row(book: sg.RecordBook, name: str, problem: str = "") -> Data:
    return next(row for row in book.rows() if (row["instance"], row["problem"]) == (name, problem))


def _content(book: sg.RecordBook) -> dict[str, bytes]:
    root = book._book.path
    files = (each for each in root.rglob("*") if each.is_file() and each.name != ".lock")
    return {str(each.relative_to(root)): each.read_bytes() for each in files}


def test_improvements_enter_and_others_do_not(book: sg.RecordBook, solved: Path) -> None:
    fifo = solved / "edge-a1-fifo.json"
    (first,) = book.update(fifo).taken
    assert (first.instance, first.side, first.before, first.method) == (
        "edge-a1", "schedule", None, "fifo",
    )  # fmt: skip
    assert not book.update(fifo).taken  # nothing new
    exact = book.update(solved / "edge-a1-exact.json")
    assert {(each.side, each.before) for each in exact.taken} == {
        ("schedule", first.value), ("bound", None),
    }  # fmt: skip
    assert not book.update(fifo, solved / "edge-a1-cg-bound.json").taken
    row = _row(book, "edge-a1")
    assert row["status"] == "closed"
    assert row["low"] == row["high"] == 1
    assert row["schedule_by"] == row["bound_by"] == "exact"
    assert row["evidence"] == "tree"
    index = json.loads((book._book.path / "edge" / "records.json").read_text())
    assert [change["method"] for change in index["changes"]] == ["exact", "exact", "fifo"]
    assert len([*(book._book.path / "edge").glob("*.json.gz")]) == 1  # the file of fifo is gone
    assert not book.verify()


def test_each_side_has_its_own_file_and_finder(filled: Path) -> None:
    book = sg.records("hare-a1", book=filled)
    best, bound = book.best("hare-a1"), book.best_bound("hare-a1")
    assert best is not None
    assert bound is not None
    assert (best.method, best.bound, best.certificate) == ("list", None, None)
    assert (bound.method, bound.schedule) == ("lagrangian", None)
    assert sg.verify(best.of_instance, best).feasible
    assert sg.verify(bound.of_instance, bound).bound_status == "checked"
    entry = book._book.records("hare").records["hare-a1"][""]
    assert entry.bound is not None
    assert (entry.bound.by.seed, entry.bound.by.machine) == (1, "not stated")
    assert entry.bound.evidence == "lagrangian"


def test_a_proof_is_kept_rather_than_a_certificate(filled: Path, solved: Path) -> None:
    assert (solved / "ring-a1-exact.certificate.json").exists()
    assert _row(sg.records("ring", book=filled), "ring-a1")["evidence"] == "tree"


def test_a_problem_variant_has_its_own_record(filled: Path) -> None:
    book = sg.records("hare", book=filled)
    fixed, plain = _row(book, "hare-a1", "fixed"), _row(book, "hare-a1")
    assert fixed["schedule"] < plain["schedule"]  # by another method
    assert (fixed["schedule_by"], plain["schedule_by"]) == ("cp-sat", "list")
    assert not sg.records("hare-a1", book=filled).verify()


def test_a_solution_of_a_variant_is_no_solution_of_another(
    book: sg.RecordBook, solved: Path, tmp_path: Path
) -> None:
    data = json.loads((solved / "hare-a1-list.json").read_text())
    data["options"]["synchronization"] = "fixed"
    (tmp_path / "a.json").write_text(json.dumps(data))
    found = book.update(tmp_path / "a.json")
    assert not found.taken or _row(book, "hare-a1")["schedule"] is None
    assert len(found.refused) == 1


# --- what does not enter ------------------------------------------------------------------------


def _bound(data: Data) -> None:
    data["bound"] += 1


def _objective(data: Data) -> None:
    data["objective"] -= 1


def _sense(data: Data) -> None:
    data["sense"] = "max"


def _instance(data: Data) -> None:
    data["instance_sha256"] = Book().recipes["edge-a2"].sha256


def _elsewhere(data: Data) -> None:
    data["instance_sha256"] = "0" * 64


def _family(data: Data) -> None:
    data["family"] = "ring"


def _optimal(data: Data) -> None:
    data["objective"] = data["bound"] = data["objective"] - 1


def _unproved(data: Data) -> None:
    data["proof"]["sha256"] = "0" * 64


def _path(data: Data) -> None:
    data["proof"]["file"] = "../edge-a1-exact.proof.json.gz"


def _key(data: Data) -> None:
    data["extra"] = 1


def _line(data: Data) -> None:
    data["method"] = "a\nb | c"


def _long(data: Data) -> None:
    data["versions"] = {"k" * 1000: "1"}


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (_bound, "bound"),
        (_objective, "objective"),
        (_sense, "sense"),
        (_instance, ""),
        (_elsewhere, "not a solution of an instance of the book"),
        (_family, "family"),
        (_optimal, "objective"),
        (_unproved, "hash differs"),
        (_path, "same folder"),
        (_key, "extra"),
        (_line, "method"),
        (_long, "versions"),
    ],
)
def test_a_changed_solution_is_refused_and_the_rest_goes_on(
    book: sg.RecordBook, solved: Path, tmp_path: Path, change: Callable[[Data], None], fault: str
) -> None:
    folder = shutil.copytree(solved, tmp_path / "forged")
    file = folder / "edge-a1-exact.json"
    data = json.loads(file.read_text())
    change(data)
    file.write_text(json.dumps(data))
    lines: list[str] = []
    found = book.update(file, solved / "ring-a1-exact.json", on_line=lines.append)
    assert not found
    (line,) = found.refused
    assert fault in line
    assert str(file) in line
    assert "\n" not in line
    assert {each.instance for each in found.taken} == {"ring-a1"}
    assert len(lines) == 1 + len(found.taken)


def test_a_bound_that_its_certificate_does_not_reach_is_refused(
    book: sg.RecordBook, solved: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(solved, tmp_path / "forged")
    file = folder / "hare-a1-lagrangian.json"
    data = json.loads(file.read_text())
    data["bound"] += 1
    file.write_text(json.dumps(data))
    (line,) = book.update(file).refused
    assert "certificate: it gives the bound" in line
    certificate = folder / "hare-a1-lagrangian.certificate.json"
    changed = json.loads(certificate.read_text())
    changed["certificate"]["kind"] = "nothing"
    certificate.write_text(json.dumps(changed))
    assert "certificate.kind" in book.update(file).refused[0]
    certificate.unlink()
    assert book.update(file).left_out == (f"{file}: neither a schedule nor a certified bound",)
    assert not _content(book)


def _numbers(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all numbers."""
    if isinstance(data, dict | list):
        items = data.items() if isinstance(data, dict) else enumerate(data)
        return [each for key, value in items for each in _numbers(value, (*path, key))]
    return [path] if type(data) in (int, float) else []


def _moved(data: Any, path: tuple[Any, ...], by: int) -> Any:
    changed = copy.deepcopy(data)
    at = changed
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] += by
    return changed


def test_no_changed_number_gives_a_better_record(
    book: sg.RecordBook, solved: Path, tmp_path: Path
) -> None:
    """Numbers of a solution and its proof, whose hash is made to fit; the optimum is 32."""
    solution = json.loads((solved / "edge-a1-exact.json").read_text())
    proof = json.loads(gzip.decompress((solved / "edge-a1-exact.proof.json.gz").read_bytes()))
    parts = {"solution": solution, "proof": proof}
    of = {name: _numbers(part) for name, part in parts.items()}
    chosen = [("proof", ("goal",), by) for by in (1, -1)]
    chosen += [("solution", (side,), by) for side in ("objective", "bound") for by in (1, -1)]
    draw = random.Random(1)
    chosen += [(name, draw.choice(of[name]), draw.choice((-2, -1, 1, 2)))
               for name in ("proof", "solution") for _ in range(20)]  # fmt: skip
    refused = 0
    for name, path, by in chosen:
        forged = parts | {name: _moved(parts[name], path, by)}
        packed = gzip.compress(json.dumps(forged["proof"]).encode())
        claim = {"file": "a.proof.json.gz", "sha256": hashlib.sha256(packed).hexdigest()}
        data = forged["solution"] | {"proof": solution["proof"] | claim}
        (tmp_path / "a.proof.json.gz").write_bytes(packed)
        (tmp_path / "a.json").write_text(json.dumps(data))
        try:
            found = offers_of(print, str(book._book.path), str(tmp_path / "a.json"))
        except SchedgapError:
            refused += 1
            continue
        for offer in found.offers:
            assert offer.value >= 32 if offer.side == "schedule" else offer.value <= 32
    assert refused > len(chosen) // 2


def test_an_unknown_problem_variant_is_refused(
    book: sg.RecordBook, solved: Path, tmp_path: Path
) -> None:
    data = json.loads((solved / "hare-a1-list.json").read_text())
    for value in ("Fixed", "", None, ["fixed"]):
        data["options"] = {"synchronization": value}
        (tmp_path / "a.json").write_text(json.dumps(data))
        (line,) = book.update(tmp_path / "a.json").refused
        assert "options.synchronization: unknown problem variant" in line
        assert "choose one of relaxed, fixed" in line
    assert not _content(book)
    data["options"] = {"moves": "mine"}  # names no variant
    (tmp_path / "a.json").write_text(json.dumps(data))
    assert book.update(tmp_path / "a.json").taken


def test_a_relaxed_schedule_is_refused(book: sg.RecordBook, solved: Path) -> None:
    (line,) = book.update(solved / "edge-a1-preemptive.json").refused
    assert "a relaxed schedule, which omits" in line


def test_a_schedule_of_another_instance_is_refused(
    book: sg.RecordBook, solved: Path, tmp_path: Path
) -> None:
    data = json.loads((solved / "hare-a1-list.json").read_text())
    data["instance_sha256"] = Book().recipes["hare-a2"].sha256
    (tmp_path / "a.json").write_text(json.dumps(data))
    assert len(book.update(tmp_path / "a.json").refused) == 1
    (tmp_path / "b.json").write_text(json.dumps(data["schedule"]))
    assert "a schedule without its instance" in book.update(tmp_path / "b.json").refused[0]
    assert not _content(book)


def test_unusable_files_are_one_line_each(
    book: sg.RecordBook, solved: Path, tmp_path: Path
) -> None:
    files = {name: tmp_path / f"{name}.json" for name in ("broken", "list", "deep", "huge", "nan")}
    files["broken"].write_text('{"family": "hare"')
    files["list"].write_text("[1, 2]")
    files["deep"].write_text("[" * 10_000)
    files["nan"].write_text('{"bound": NaN}')
    with files["huge"].open("wb") as huge:
        huge.truncate(65 * 2**20)  # takes no space
    given = [*files.values(), tmp_path / "missing.json", tmp_path]
    if hasattr(os, "mkfifo"):
        link, pipe, loop = tmp_path / "link.json", tmp_path / "pipe.json", tmp_path / "loop.json"
        link.symlink_to(solved / "edge-a1-fifo.json")
        loop.symlink_to(loop)
        os.mkfifo(pipe)
        given += [link, loop, pipe]
    found = book.update(*given, solved / "edge-a1-fifo.json")
    assert len(found.refused) == len(given)
    assert all("\n" not in line and len(line) < 400 for line in found.refused)
    assert len(found.taken) == 1
    assert any(line.endswith("huge.json: larger than 64 MB") for line in found.refused)


def test_a_certificate_that_is_a_link_or_a_pipe_is_refused(
    book: sg.RecordBook, solved: Path, tmp_path: Path
) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("no pipes here")
    file = Path(shutil.copy(solved / "hare-a1-lagrangian.json", tmp_path / "a.json"))
    evidence = tmp_path / "a.certificate.json"
    evidence.symlink_to(solved / "hare-a1-lagrangian.certificate.json")
    assert "not a regular file" in book.update(file).refused[0]
    evidence.unlink()
    os.mkfifo(evidence)
    assert "not a regular file" in book.update(file).refused[0]


def test_a_file_that_needs_too_much_memory_or_time_is_refused(
    book: sg.RecordBook, tmp_path: Path
) -> None:
    (tmp_path / "a.json").write_text("[" + "[]," * 6_000_000 + "[]]")
    (line,) = book.update(tmp_path / "a.json", memory_mb=250).refused
    assert line.endswith("a.json: not checked within 250 MB of memory")
    (line,) = book.update(tmp_path / "a.json", seconds=0.05).refused
    assert line.endswith("a.json: not checked within 0.05 seconds")


# --- runs -----------------------------------------------------------------------------------------


def test_a_run_folder_is_taken_over_and_an_edited_record_refused(
    book: sg.RecordBook, tmp_path: Path
) -> None:
    methods = ["fifo", "preemptive", "job-alone"]
    run = tmp_path / "run"
    sg.compare(["edge-a1", sg.generate("edge", seed=1)], methods=methods, run=run, workers=1)
    tasks = [*(run / "tasks").glob("*.json")]
    for file in tasks:
        data = json.loads(file.read_text())
        if data["method"] == "fifo" and data["instance"]["name"] == "edge-a1":
            changed = data | {"instance": data["instance"] | {"grid": 100.0}}
            file.write_text(json.dumps(changed))
            (line,) = book.update(run).refused
            assert "instance.grid: must be 1" in line
            changed = data | {"problem": "fixed"}
            file.write_text(json.dumps(changed))
            assert "problem: must be ''" in book.update(run).refused[0]
            file.write_text(json.dumps(data))
    found = book.update(run)
    assert found  # the relaxed schedule of preemptive says that it is one
    assert {(each.side, each.method) for each in found.taken} == {("schedule", "fifo")}
    assert len(found.left_out) == 4
    entry = book._book.records("edge").records["edge-a1"][""]
    assert entry.bound is not None  # job-alone found it, in the first update
    assert entry.bound.by.machine.endswith("cores, Linux") or sys.platform != "linux"
    assert str(Path.home()) not in json.dumps(entry.model_dump())


def test_a_record_is_broken_by_hand(book: sg.RecordBook, solved: Path, tmp_path: Path) -> None:
    """Judge a better schedule from elsewhere into a run, and update the book from it."""
    book.update(solved / "edge-a1-fifo.json")
    before = _row(book, "edge-a1")["schedule"]
    plan = tmp_path / "plan.json"
    solution = json.loads((solved / "edge-a1-exact.json").read_text())
    plan.write_text(json.dumps(solution["schedule"]))
    judged = sg.judge(sg.load("edge-a1"), plan, name="by-me")
    judged.store(tmp_path / "run")
    (change,) = book.update(tmp_path / "run").taken
    assert (change.method, change.before, change.value) == ("by-me", before, judged.objective)
    assert _row(book, "edge-a1")["schedule_by"] == "by-me"
    assert not sg.records("edge-a1", book=book._book.path).verify()


# --- two at once, killed, contradictions ----------------------------------------------------------


def test_a_schedule_that_refutes_a_bound_is_a_contradiction(
    book: sg.RecordBook, solved: Path
) -> None:
    offers = offers_of(
        lambda message: None, str(book._book.path), str(solved / "edge-a1-exact.json")
    )
    bound, schedule = offers.offers
    object.__setattr__(bound, "value", schedule.value + 1)
    updating.enter(book._book, Offers("edge-a1", "", "exact", (bound,)))
    before = _content(book)
    with pytest.raises(ContradictionError, match="refutes the verified bound"):
        updating.enter(book._book, Offers("edge-a1", "", "exact", (schedule,)))
    found = book.update(solved / "edge-a1-exact.json")
    assert found.refused[0].startswith("contradiction: edge-a1: ")
    assert _content(book) == before
    assert any("bound" in fault for fault in sg.records("edge-a1", book=book._book.path).verify())


SLOW = """
import os, sys, time
import schedgap as sg
from schedgap.analysis.book import updating
write = updating.write_json
def slow(file, value, **more):
    print("index", flush=True)
    time.sleep(float(sys.argv[1]))
    write(file, value, **more)
updating.write_json = slow
sg.records(book=sys.argv[2]).update(*sys.argv[3:])
"""


def _start(seconds: float, book: sg.RecordBook, *files: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", SLOW, str(seconds), str(book._book.path), *map(str, files)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_a_killed_update_leaves_the_old_book(book: sg.RecordBook, solved: Path) -> None:
    book.update(solved / "edge-a1-fifo.json")
    before = book.rows()
    process = _start(60, book, solved / "edge-a1-exact.json")
    assert process.stdout is not None
    assert process.stdout.readline() == "index\n"
    process.send_signal(signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
    process.wait()
    process.stdout.close()
    assert book.rows() == before
    assert len([*book._book.path.glob("edge/*.json.gz")]) == 2  # one without a record
    assert not sg.records("edge-a1", book=book._book.path).verify()
    book.update(solved / "edge-a1-exact.json")  # the lock is free, and the rest is removed
    assert len([*book._book.path.glob("edge/*.json.gz")]) == 1


def test_two_updates_at_once_lose_nothing(book: sg.RecordBook, solved: Path) -> None:
    first = _start(5, book, solved / "hare-a1-list.json")
    assert first.stdout is not None
    assert first.stdout.readline() == "index\n"  # it holds the lock
    second = _start(0, book, solved / "hare-a1-lagrangian.json")
    for process in (first, second):
        process.communicate()
        assert process.returncode == 0
    row = _row(book, "hare-a1")
    assert row["schedule"] is not None
    assert row["bound"] is not None
    assert len(book._book.records("hare").changes) == 2


# --- a book from elsewhere ------------------------------------------------------------------------


def _edit(folder: Path, change: Callable[[Data], None]) -> None:
    file = folder / "edge" / "records.json"
    data = json.loads(file.read_text())
    entry = data["records"]["edge-a1"][""]
    change(entry)
    if change is not _without_change:
        for each in data["changes"]:
            each["value"] = entry[each["side"]]["value"]
    file.write_text(json.dumps(data))


def _better(entry: Data) -> None:
    entry["schedule"]["value"] -= 1
    entry["status"] = "open"


def _without_change(entry: Data) -> None:
    entry["bound"]["value"] -= 1  # the file shows it, but the last change says otherwise
    entry["status"] = "open"


def _tighter(entry: Data) -> None:
    entry["bound"]["value"] += 1
    entry["status"] = "open"


def _open(entry: Data) -> None:
    entry["status"] = "open"


def _swapped(entry: Data) -> None:
    entry["schedule"]["file"] = "0" * 64


def _outside(entry: Data) -> None:
    entry["schedule"]["file"] = "../../x"


@pytest.mark.parametrize("change", [_better, _without_change, _tighter, _open, _swapped, _outside])
def test_an_edited_book_has_faults(
    filled: Path, tmp_path: Path, change: Callable[[Data], None]
) -> None:
    copied = shutil.copytree(filled, tmp_path / "copy")
    _edit(copied, change)
    name = "edge-a1"
    if change is _outside:
        with pytest.raises(sg.errors.InputError, match=r"schedule\.file"):
            sg.records(name, book=copied).verify()
        return
    faults = sg.records(name, book=copied).verify()
    assert faults
    assert all(fault.startswith("edge-a1: ") for fault in faults)


def test_a_changed_or_huge_file_of_a_book_is_a_fault(filled: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(filled, tmp_path / "copy")
    for file in copied.glob("edge/*.json.gz"):
        file.write_bytes(file.read_bytes() + b" ")
    faults = sg.records("edge-a1", book=copied).verify()
    assert all("was changed" in fault for fault in faults)
    assert len(faults) == 2


def test_a_record_of_no_instance_is_a_fault(filled: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(filled, tmp_path / "copy")
    file = copied / "edge" / "records.json"
    data = json.loads(file.read_text())
    data["records"]["edge-z1"] = data["records"].pop("edge-a1")
    file.write_text(json.dumps(data))
    assert "edge-z1: no such instance" in sg.records("edge-a1", book=copied).verify()


# --- an older book --------------------------------------------------------------------------------


def _entry(data: Data) -> Data:
    found: Data = data["records"]["edge-a1"][""]
    return found


def _no_entry(data: Data) -> None:
    del data["records"]["edge-a1"]


def _no_bound(data: Data) -> None:
    _entry(data).update(bound=None, status="open")


def _worse_bound(data: Data) -> None:
    _entry(data)["bound"]["value"] -= 1
    _entry(data)["status"] = "open"
    last = next(each for each in data["changes"] if each["side"] == "bound")
    data["changes"].insert(0, last | {"value": last["value"] - 1})


def _other_name(data: Data) -> None:
    _entry(data)["schedule"]["by"]["method"] = "mine"


def _no_first_change(data: Data) -> None:
    data["changes"].append(data["changes"].pop(0))


@pytest.mark.parametrize(
    ("change", "faults"),
    [
        (_no_entry, ["schedule: missing, was 32", "bound: missing, was 32"]),
        (_no_bound, ["bound: missing, was 32"]),
        (_worse_bound, ["bound: 31 is worse than 32 before"]),
        (_other_name, ["schedule: replaced without an improvement"]),
        (_no_first_change, ["changes: older lines are missing"]),
    ],
)
def test_what_is_lost_since_an_older_book_is_a_fault(
    filled: Path, tmp_path: Path, change: Callable[[Data], None], faults: list[str]
) -> None:
    copied = shutil.copytree(filled, tmp_path / "copy")
    file = copied / "edge" / "records.json"
    data = json.loads(file.read_text())
    change(data)
    file.write_text(json.dumps(data))
    book = sg.records("edge-a1", book=copied)
    assert not book.verify()  # what is left is right
    assert book.verify(since=filled) == [f"edge-a1: {fault}" for fault in faults]
    assert not sg.records("edge-a1", book=filled).verify(since=filled)


def test_a_worse_schedule_in_the_place_of_a_record_is_a_fault(
    book: sg.RecordBook, filled: Path, solved: Path, tmp_path: Path
) -> None:
    """With its own file and line of the changes, and in a variant."""
    place = book._book.path
    book.update(solved / "edge-a1-fifo.json", solved / "hare-a1-list.json")
    assert not sg.records("edge-a1", book=place).verify()
    assert sg.records("edge-a1", book=place).verify(since=filled) == [
        "edge-a1: schedule: 44 is worse than 32 before",
        "edge-a1: bound: missing, was 32",
        "edge-a1: changes: older lines are missing",
    ]
    faults = sg.records("hare-a1", book=place).verify(since=filled)
    assert any(fault.startswith("hare-a1: fixed: schedule: missing, was ") for fault in faults)
    older = shutil.copytree(place, tmp_path / "older")
    assert book.update(solved / "edge-a1-exact.json").taken
    assert not sg.records("edge-a1", book=place).verify(since=older)  # better, and more


def _with_recipes(folder: Path, change: Callable[[str], str]) -> Path:
    (folder / "edge").mkdir(exist_ok=True)
    text = (HERE / "edge" / "recipes.toml").read_text()
    (folder / "edge" / "recipes.toml").write_text(change(text))
    return folder


def test_a_changed_recipe_and_a_missing_instance_are_faults(filled: Path, tmp_path: Path) -> None:
    """A recipe of another instance, with the hash of that one, is a recipe that works."""
    first, second = (Book().recipes[f"edge-a{n}"] for n in (1, 2))
    other = sg.generate("edge", preset=first.preset, seed=7, settings=first.settings)
    copied = shutil.copytree(filled, tmp_path / "copy")
    _with_recipes(
        copied,
        lambda text: (
            text.replace(f"seed = {first.seed}", "seed = 7", 1)
            .replace(first.sha256, other.sha256)
            .replace(second.about, "in other words")
        ),
    )
    (copied / "edge" / "records.json").unlink()
    names = sg.records("edge-a", book=copied)
    assert not names.verify()
    assert names.verify(since=filled) == ["edge-a1: recipe: changed: sha256, seed"]
    _with_recipes(copied, lambda text: text[text.index("[edge-a2]") :])
    code, said = _command("records", "verify", "edge-a2", "edge-a3", "--book", copied,
                          "--since", filled)  # fmt: skip
    assert (code, said) == (1, "edge-a1: missing\n2 instances: 1 faults\n")


def test_an_older_book_must_have_records(
    filled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--book", filled, "--since", tmp_path)
    assert _command("records", "verify", "edge-a1", *words)[0] == 2
    assert "a book without records" in capsys.readouterr().err
    assert _command("records", "edge-a1", *words)[0] == 2
    assert "--since: only with 'verify'" in capsys.readouterr().err


# --- tables ---------------------------------------------------------------------------------------


def test_the_table_and_the_instances(filled: Path) -> None:
    book = sg.records("edge", book=filled)
    frame = book.table()
    assert len(frame) == len(book) == len(book.instances) == 20
    assert frame.set_index("instance").loc["edge-a1", "status"] == "closed"
    assert "20 instances, 1 closed" in repr(book)
    assert ">5 instances, 1 closed<" in book._repr_html_()
    assert book.best("edge-a2") is None
    with pytest.raises(UsageError, match="edge-a1"):
        book.best("edge-a0")
    with pytest.raises(UsageError, match="no instance of the book"):
        sg.records("nothing")


def test_a_ratio_without_an_upper_end_is_json_data(book: sg.RecordBook, tmp_path: Path) -> None:
    instance = sg.load("dmlrs-a1")
    nothing = family("dmlrs").null_schedule(instance)
    sg.judge(instance, nothing).save(tmp_path / "a.json")
    sg.solve(instance, "fluid-lp").save(tmp_path / "b.json")
    assert len(book.update(tmp_path / "a.json", tmp_path / "b.json").taken) == 2
    row = _row(book, "dmlrs-a1")
    assert (row["schedule"], row["high"]) == (0, None)
    json.dumps(row, allow_nan=False)
    assert ">= " in _command("records", "dmlrs-a1", "--book", book._book.path)[1]


# --- the command ----------------------------------------------------------------------------------


def _command(*words: object) -> tuple[int, str]:
    from schedgap.cli import run

    with contextlib.redirect_stdout(io.StringIO()) as said:
        code = run([*map(str, words)])
    return code, said.getvalue()


def test_the_command_updates_lists_and_verifies(solved: Path, tmp_path: Path) -> None:
    place = tmp_path / "book"
    place.mkdir()
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    code, said = _command(
        "records", "update", solved / "edge-a1-fifo.json", broken, "--book", place
    )
    assert code == 1
    assert said.splitlines() == [
        "edge-a1: schedule 44 by fifo, the first",
        f"refused: {broken}: line 1 column 2: not JSON: expecting property name enclosed in double "
        "quotes",
        "2 files checked: 1 improvements, 1 refused, 0 left out",
    ]
    code, said = _command("records", "edge-a", "--book", place, "--json")
    assert [row["schedule"] for row in json.loads(said)] == [44, None, None, None, None]
    said = _command("records", "edge", "--book", place)[1]
    assert "edge-a1" in said
    cases = len(sg.library("edge"))
    assert f"\nbeside the book: {cases} worst cases of methods, by sg.library() in Python\n" in said
    assert _command("records", "verify", "edge-a1", "--book", place) == (
        0, "1 instances: no faults found\n",
    )  # fmt: skip
    for file in place.glob("edge/*.json.gz"):
        file.unlink()
    code, said = _command("records", "verify", "edge-a1", "--book", place, "--json")
    assert (code, len(json.loads(said)["faults"])) == (1, 1)
    code, said = _command("records", "update", solved / "edge-a1-exact.json", "--book", place,
                          "--json")  # fmt: skip
    assert {each["side"] for each in json.loads(said)["taken"]} == {"schedule", "bound"}


@pytest.mark.parametrize("file", ["records.json", "recipes.toml"])
@pytest.mark.parametrize("family", ["edge", "hare"])  # the solution's, and another
def test_an_update_of_a_damaged_book_is_one_error(
    solved: Path,
    filled: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    file: str,
    family: str,
) -> None:
    copied = shutil.copytree(filled, tmp_path / "copy")
    (copied / family / file).write_text("{")
    assert _command("records", "update", solved / "edge-a1-fifo.json", "--book", copied)[0] == 2
    said = capsys.readouterr().err
    assert said.startswith(f"schedgap: {copied / family / file}: ") and said.count("\n") == 1


def test_an_update_with_a_recipe_of_another_instance_is_one_error(
    solved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "edge").mkdir()
    text = (HERE / "edge" / "recipes.toml").read_text()
    first = Book().recipes["edge-a1"]
    changed = text.replace(f"seed = {first.seed}", f"seed = {first.seed + 1}", 1)
    (tmp_path / "edge" / "recipes.toml").write_text(changed)
    assert _command("records", "update", solved / "edge-a1-fifo.json", "--book", tmp_path)[0] == 2
    assert "the recipe of edge-a1 gives the hash" in capsys.readouterr().err


def test_a_folder_that_is_no_book_is_refused(
    solved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "hare").mkdir()
    (tmp_path / "hare" / "notes.txt").touch()
    for words in ([], ["verify"], ["update", solved / "edge-a1-fifo.json"]):
        assert _command("records", *words, "--book", tmp_path) == (2, "")
        assert "not a record book" in capsys.readouterr().err
    (tmp_path / "hare" / ".lock").touch()  # a killed update has left it
    assert _command("records", "hare", "--book", tmp_path)[0] == 0


def test_an_instance_of_the_book_is_generated_by_its_name(tmp_path: Path) -> None:
    file = tmp_path / "ring.json"
    assert _command("generate", "ring-a1", "--out", file)[0] == 0
    assert sg.load(file) == sg.load("ring-a1")
    assert _command("generate", "ring-a1", "--seed", 3, "--out", file)[0] == 2
    assert _command("generate", "ring-a", "--out", file)[0] == 2
    assert _command("solve", "records/ring/ring-a1", "--method", "lpt-pack")[0] == 0


@pytest.mark.parametrize("words", [["nothing"], ["update"], ["hare", "edge"], ["verify", "x"]])
def test_a_wrong_word_is_a_usage_error(words: list[str]) -> None:
    assert _command("records", *words) == (2, "")


def test_judge_says_by_how_much_a_record_is_broken(
    solved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = sg.records(book=tmp_path)
    book.update(solved / "edge-a1-fifo.json")
    monkeypatch.setattr("schedgap.instances.book.HERE", tmp_path)
    shutil.copy(Path(HERE, "edge", "recipes.toml"), tmp_path / "edge" / "recipes.toml")
    code, said = _command("judge", "edge-a1", solved / "edge-a1-exact.json")
    assert code == 0
    assert "improves the record of " in said
    assert " by fifo (44) by 27.27%" in said


# --- ratios to records ----------------------------------------------------------------------------


def test_a_ratio_is_to_the_record_if_no_reference_is_as_good(solved: Path) -> None:
    instance = sg.load("hare-a1")
    record = sg.records().best("hare-a1")
    assert record is not None
    plain = sg.judge(instance, solved / "hare-a1-list.json")
    assert plain.ratio is not None
    assert plain.ratio.low == plain.ratio.high == plain.objective / record.objective
    assert {each.name for each in plain.references} == {f"record of {_date()} by exact"}
    known = sg.judge(instance, solved / "hare-a1-list.json", sg.load_solution(
        solved / "hare-a1-lagrangian.json", instance))  # fmt: skip
    assert known.ratio == plain.ratio  # its bound is weaker
    assert len(known.references) == 3
    same = sg.judge(instance, record, record)
    assert [each.name for each in same.references if each.objective is not None] == ["exact"]
    assert not sg.judge(sg.generate("hare", seed=1), {"assignments": []}).references


def _date() -> str:
    entry = Book().records("hare").records["hare-a1"][""]
    assert entry.schedule is not None
    return entry.schedule.by.date


def test_a_run_is_measured_against_records(tmp_path: Path) -> None:
    run = sg.compare("hare-a1", methods=["list"], run=tmp_path / "run", workers=1)
    (bracket,) = run.brackets.values()
    assert bracket.closed
    assert bracket.best_by == bracket.bound_by == f"record of {_date()} by exact"
    assert bracket.evidence == "proved"
    assert run.records_used == 1
    (row,) = run.ratios().to_dict("records")
    assert row["low"] == row["high"] > 1
    other = sg.compare(sg.generate("edge", seed=1), methods=["fifo"], workers=1)
    assert other.records_used == 0


def test_a_sample_of_the_bundled_book_verifies() -> None:
    """`schedgap records verify` checks all of it, in a separate workflow."""
    for name in OWN:
        assert not sg.records(f"{name}-a1").verify()


def test_verification_needs_no_solver(filled: Path, tmp_path: Path) -> None:
    for engine in ("highspy", "ortools", "gurobipy", "pyscipopt", "cvxpy", "clarabel"):
        (tmp_path / f"{engine}.py").write_text("raise ImportError('no engine here')")
    command = [sys.executable, "-m", "schedgap", "records", "verify", "edge-a1", "hare-a1"]
    done = subprocess.run(
        [*command, "ring-a1", "--book", str(filled)], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(tmp_path)}, cwd=tmp_path,
    )  # fmt: skip
    assert (done.stdout, done.returncode) == ("3 instances: no faults found\n", 0), done.stderr


def test_the_bundled_book_is_small() -> None:
    assert sum(file.stat().st_size for file in HERE.rglob("*") if file.is_file()) < 15 * 2**20
