"""Proof files: written, read, checked and refused; the checker alone from the command line."""

import copy
import gzip
import importlib
import inspect
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import schedgap as sg
from schedgap.errors import InputError
from schedgap.instances.edge import EdgeInstance
from schedgap.instances.records import read_json
from schedgap.models import proofs
from schedgap.models.edge.exact.prove import prove_goal
from schedgap.models.method import Budget
from schedgap.models.proofs import check_proof, excluded_value, proof_data, read_proof, write_proof
from schedgap.proof import main
from schedgap.solvers import Clock
from schedgap.solvers.proofs.checker import MAX_BITS, RefusedError
from strategies.edge_examples import FIVE_JOBS

OPTIMUM = 39


@pytest.fixture(scope="module")
def instance() -> EdgeInstance:
    return FIVE_JOBS


@pytest.fixture(scope="module")
def proof(instance: EdgeInstance) -> dict[str, Any]:
    goal = excluded_value(instance, OPTIMUM)
    assert goal == OPTIMUM - 1
    proved = prove_goal(instance, goal, budget=Budget(Clock(120)))
    assert proved.proof is not None
    found = proved.proof
    return proof_data(instance, goal, vectors=found.vectors, cuts=found.cuts, tree=found.tree)


def test_a_proof_is_written_read_and_checked(
    instance: EdgeInstance, proof: dict[str, Any], tmp_path: Path
) -> None:
    write_proof(tmp_path / "a.proof.json.gz", proof)
    write_proof(tmp_path / "b.proof.json.gz", proof)
    first, second = (tmp_path / f"{name}.proof.json.gz" for name in "ab")
    assert first.read_bytes() == second.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == [first.name, second.name]
    data = read_proof(first)
    assert data == json.loads(json.dumps(proof))
    verdict = check_proof(instance, data)
    assert verdict.status == "proved"
    assert verdict.goal == OPTIMUM - 1
    assert verdict.checked is not None
    assert verdict.checked.leaves >= 1


def test_no_proof_says_more_than_the_optimum(instance: EdgeInstance, proof: dict[str, Any]) -> None:
    verdict = check_proof(instance, proof | {"goal": OPTIMUM})
    assert verdict.status == "refused"
    assert verdict.reason.startswith("/tree/")


def test_a_proof_is_of_one_instance(proof: dict[str, Any]) -> None:
    other = sg.generate("edge", preset="small", seed=8)
    assert check_proof(other, proof).reason.startswith("/instance_sha256: must be")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"kind": "forest"}, "/kind: must be 'tree'"),
        ({"version": 2}, "/version: must be 1"),
        ({"version": True}, "/version: must be 1"),
        ({"family": "hare"}, "/family: must be 'edge'"),
        ({"goal": 38.0}, "/goal: needs a whole number"),
        ({"goal": None}, "/goal: needs a whole number"),
        ({"goal": 10**2000}, "/goal: needs a whole number"),
        ({"cuts": None}, "/cuts: needs a list"),
        ({"note": "trust me"}, "/note: unknown key"),
        ({"tree": []}, "/tree: 1 part of the search space without a node"),
    ],
)
def test_what_is_no_such_proof_is_refused(
    instance: EdgeInstance, proof: dict[str, Any], change: dict[str, Any], reason: str
) -> None:
    verdict = check_proof(instance, proof | change)
    assert verdict.status == "refused"
    assert verdict.reason.startswith(reason)
    assert "\n" not in verdict.reason


WHOLE_FILE = b'{"kind": "tree"}'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not JSON"),
        (b"[]", "need a JSON object"),
        (b"\x1f\x8b but not packed", "cannot be read"),
        (gzip.compress(WHOLE_FILE)[:-9], "the file ends too early"),
        (gzip.compress(WHOLE_FILE) * 2, "something follows the packed data"),
        (gzip.compress(WHOLE_FILE) + b"\0", "something follows the packed data"),
        (WHOLE_FILE * 2, "not JSON: extra data"),
        (b'{"goal": 1, "goal": 2}', "goal: duplicate key"),
        (b'{"tree": [{"v": 1, "v": 2}]}', r"tree\[0\].v: duplicate key"),
        (b'{"tree": [{"b": ["\\ud800", 0]}]}', "not valid Unicode text"),
        (b'{"\\ud800": 0}', "not valid Unicode text"),
        (b'{"goal": NaN}', "goal: not a finite number"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"goal": ' + b"9" * 10_000 + b"}", "goal: number too large"),
        (b"\xff\xfe", "not UTF-8 text"),
    ],
    ids=["empty", "list", "packed", "cut", "two", "rest", "two-plain", "duplicate", "twice",
         "surrogate", "surrogate-key", "nan", "deep", "huge", "encoding"],
)  # fmt: skip
@pytest.mark.parametrize("packed", [False, True])
def test_a_file_that_is_no_proof_gets_one_line(
    tmp_path: Path, content: bytes, message: str, packed: bool
) -> None:
    file = tmp_path / "x.proof.json.gz"
    if packed and content[:1] != b"\x1f":
        content = gzip.compress(content)
    file.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read_proof(file)
    assert "\n" not in str(caught.value)
    assert "x.proof.json.gz" in str(caught.value)


def test_numbers_of_as_many_bits_as_the_checker_takes_are_read(tmp_path: Path) -> None:
    largest = (1 << MAX_BITS) - 1
    write_proof(tmp_path / "a.json.gz", {"goal": largest, "tree": [-largest]})
    assert read_proof(tmp_path / "a.json.gz") == {"goal": largest, "tree": [-largest]}


@pytest.mark.skipif(sys.platform == "win32", reason="no named pipes and no such device")
@pytest.mark.parametrize("read", [read_proof, read_json])
def test_a_pipe_or_a_device_is_not_opened(tmp_path: Path, read: Any) -> None:
    os.mkfifo(tmp_path / "pipe")
    for file in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(InputError, match="not a regular file"):
            read(file)


def test_a_packed_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proofs, "MAX_BYTES", 1 << 20)
    file = tmp_path / "bomb.json.gz"
    file.write_bytes(gzip.compress(b" " * (1 << 26)))
    with pytest.raises(InputError, match="larger than 1 MB when unpacked"):
        read_proof(file)
    file.write_bytes(b" " * (1 << 26))
    with pytest.raises(InputError, match=r"larger than 1 MB$"):
        read_proof(file)


def test_a_proof_of_the_largest_size_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    content = b'{"goal": 1}'
    monkeypatch.setattr(proofs, "MAX_BYTES", len(content))
    assert proofs.parse_proof(gzip.compress(content)) == {"goal": 1}
    monkeypatch.setattr(proofs, "MAX_BYTES", len(content) - 1)
    with pytest.raises(InputError, match="when unpacked"):
        proofs.parse_proof(gzip.compress(content))


def test_a_missing_file_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_proof(tmp_path / "none.json.gz")


def test_what_is_no_json_is_refused(instance: EdgeInstance, proof: dict[str, Any]) -> None:
    """Python data may hold more than a file."""
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for odd in (object(), math.nan, {1, 2}, "\ud800", 10**5000, deep):
        verdict = check_proof(instance, proof | {"vectors": [odd]})
        assert verdict.status == "refused"
        assert verdict.reason.isprintable()
        assert len(verdict.reason) < 400


@pytest.fixture
def folder(instance: EdgeInstance, proof: dict[str, Any], tmp_path: Path) -> Path:
    """Instance, proof and optimal solution, a false proof, and a true one of too little."""
    (tmp_path / "i.json").write_text(json.dumps(instance.to_data()), encoding="utf-8")
    write_proof(tmp_path / "p.json.gz", proof)
    write_proof(tmp_path / "false.json.gz", proof | {"goal": OPTIMUM})
    nothing = {"goal": -1, "vectors": [{"o": 1, "d": []}], "cuts": [], "tree": [{"v": 0}]}
    write_proof(tmp_path / "nothing.json.gz", proof | nothing)
    solution = sg.solve(instance, "cp-sat", proof="off", time_limit=60)
    assert solution.objective == OPTIMUM
    solution.save(tmp_path / "s.json")
    return tmp_path


def run(folder: Path, *arguments: str, code: str = "") -> tuple[int, str, str]:
    start = ["-c", code] if code else ["-m", "schedgap.proof"]
    command = [sys.executable, *start, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


def test_the_checker_runs_alone(folder: Path) -> None:
    exit_code, out, _ = run(folder, "check", "i.json", "p.json.gz")
    assert exit_code == 0
    assert re.fullmatch(
        r"PROVED: no schedule has value <= 38 \(1 leaf, checked in [\d.]+ s\); whether this proves "
        r"a schedule optimal depends on its value: give the solution as third argument\n",
        out,
    )
    exit_code, out, _ = run(folder, "check", "i.json", "false.json.gz")
    assert exit_code == 1
    assert out.startswith("NOT PROVED: /tree/")


@pytest.fixture
def check(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """The command `check` on files of the folder, in this process."""

    def called(*names: str) -> tuple[int, str, str]:
        exit_code = main(["check", *(str(folder / name) for name in names)])
        out, error = (text.replace(f"{folder}{os.sep}", "") for text in capsys.readouterr())
        return exit_code, out, error

    return called


def test_bad_input_has_exit_code_2(check: Callable[..., tuple[int, str, str]]) -> None:
    exit_code, _, error = check("i.json", "none.json.gz")
    assert exit_code == 2
    assert error.startswith("error: none.json.gz: cannot be read")
    for words in (["prove"], ["check", "i.json", "p.json.gz", "--seconds", "soon"]):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 2


def test_the_checker_compares_the_proof_with_a_solution(
    folder: Path, check: Callable[..., tuple[int, str, str]]
) -> None:
    exit_code, out, _ = check("i.json", "p.json.gz", "s.json")
    assert exit_code == 0
    assert out.startswith("PROVED: s.json is optimal: objective 39, no schedule has value <= 38 (")
    exit_code, out, _ = check("i.json", "nothing.json.gz", "s.json")
    assert exit_code == 1
    assert out == (
        "NOT PROVED: /goal: the proof shows that no schedule has value <= -1; "
        "optimality needs that no schedule has value <= 38\n"
    )
    solution = json.loads((folder / "s.json").read_text(encoding="utf-8"))
    jobs = solution["schedule"]["jobs"]
    (folder / "alone.json").write_text(json.dumps(solution["schedule"]), encoding="utf-8")
    exit_code, out, _ = check("i.json", "p.json.gz", "alone.json")
    assert exit_code == 0
    assert "alone.json is optimal: objective 39" in out

    def changed(**fields: Any) -> tuple[int, str, str]:
        (folder / "c.json").write_text(json.dumps(solution | fields), encoding="utf-8")
        return check("i.json", "p.json.gz", "c.json")

    first = min(jobs)
    later = {key: jobs[first][key] + 4 for key in ("start", "completion")}
    exit_code, out, _ = changed(schedule={"jobs": jobs | {first: jobs[first] | later}})
    assert exit_code == 1
    assert out.startswith(("NOT PROVED: /goal: ", "NOT PROVED: the schedule breaks rule "))
    exit_code, out, _ = changed(schedule={"jobs": {}})
    assert exit_code == 1
    assert out.startswith("NOT PROVED: the schedule breaks rule ")
    exit_code, _, error = changed(status="unknown", schedule=None)
    assert exit_code == 2
    assert error == "error: c.json: schedule: status 'unknown' without a schedule\n"
    exit_code, _, error = changed(instance_sha256="0" * 64)
    assert exit_code == 2
    assert "not a solution of this instance" in error
    exit_code, out, _ = changed(status="infeasible", schedule=None, objective=None)
    assert exit_code == 1
    assert "that there is no schedule needs" in out


def test_no_proof_is_about_a_schedule_that_leaves_rules_out(
    instance: EdgeInstance, folder: Path, check: Callable[..., tuple[int, str, str]]
) -> None:
    """Its value may be below the value of every schedule."""
    schedule = sg.solve(instance, "preemptive", proof="off").schedule
    (folder / "c.json").write_text(json.dumps(schedule), encoding="utf-8")
    exit_code, out, _ = check("i.json", "p.json.gz", "c.json")
    assert exit_code == 1
    assert out.startswith("NOT PROVED: the schedule need not obey rule ")


def test_the_checker_says_that_there_is_no_schedule(instance: EdgeInstance, tmp_path: Path) -> None:
    data = instance.to_data()
    jobs = [job | {"minibatches_per_chunk": 10**6} for job in data["jobs"]]
    none = EdgeInstance.from_data(data | {"jobs": jobs})
    (tmp_path / "i.json").write_text(json.dumps(none.to_data()), encoding="utf-8")
    goal = excluded_value(none, None)
    assert goal is not None
    proved = prove_goal(none, goal, budget=Budget(Clock(120)))
    assert proved.proof is not None
    parts = proved.proof
    data = proof_data(none, goal, vectors=parts.vectors, cuts=parts.cuts, tree=parts.tree)
    write_proof(tmp_path / "p.json.gz", data)
    exit_code, out, _ = run(tmp_path, "check", "i.json", "p.json.gz")
    assert exit_code == 0
    assert out.startswith("PROVED: there is no schedule (1 leaf, checked in")


def test_a_tree_without_end_is_stopped_before_it_fills_the_memory(
    folder: Path, proof: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """Each branch leaves a part open, with the bounds of all columns."""
    write_proof(folder / "deep.json.gz", proof | {"tree": [{"b": ["var", 0, 0]}] * 10**5})
    files = [str(folder / name) for name in ("i.json", "deep.json.gz")]
    assert main(["check", *files, "--memory", "200"]) == 1
    assert capsys.readouterr().out == "NOT PROVED: not checked within 200 MB of memory\n"


def test_the_checker_imports_no_engine(folder: Path) -> None:
    """Neither the command nor the child process in which it checks the proof."""
    code = (
        "import sys; from schedgap.proof import _judge, main; "
        "here = _judge(None, *sys.argv[2:], 60.0)[0]; code = main(sys.argv[1:]); "
        "heavy = {'numpy', 'scipy', 'pandas', 'highspy', 'ortools', 'typer'} & set(sys.modules); "
        "print(sorted(heavy)); sys.exit(code if here else 1)"
    )
    exit_code, out, _ = run(folder, "check", "i.json", "p.json.gz", "s.json", code=code)
    assert exit_code == 0
    assert out.splitlines()[-1] == "[]"


def test_the_checker_keeps_its_limits(folder: Path) -> None:
    exit_code, out, _ = run(folder, "check", "i.json", "p.json.gz", "--seconds", "1e-9")
    assert exit_code == 1
    assert re.fullmatch("NOT PROVED: (/tree/0: )?not checked within 1e-09 seconds\n", out)


def test_the_proof_that_the_documentation_reads_by_hand_is_one() -> None:
    page = (Path(__file__).parents[2] / "docs" / "proofs.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```python\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(block, "proofs.md", "exec"), names)
    proof = copy.deepcopy(names["proof"])
    proof["vectors"][0]["d"] = [[0, -5]]
    with pytest.raises(RefusedError, match=r"/tree/\d/v: the leaf is open by 13 units"):
        names["check_tree"](names["ProgramSpace"](names["program"]), proof)


PROVERS = sorted(
    path.parents[1].name for path in Path(proofs.__file__).parent.glob("*/exact/prove.py")
)


@pytest.mark.parametrize("name", PROVERS)
def test_all_provers_are_called_alike(name: str) -> None:
    """They are imported by the name of the family, so no type checker sees the call."""
    prover = importlib.import_module(f"schedgap.models.{name}.exact.prove")
    inspect.signature(prover.prove_goal).bind(object(), 1, {}, budget=Budget())
    assert {"edge", "hare"} <= set(PROVERS)
