"""Proof files: written, read, checked and refused; the checker alone from the command line."""

import copy
import gzip
import importlib
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import schedgap as sg
from schedgap.errors import InputError
from schedgap.instances.edge import EdgeInstance
from schedgap.models import proofs
from schedgap.models.edge.exact.prove import prove_goal
from schedgap.models.method import Budget
from schedgap.models.proofs import check_proof, excluded_value, proof_data, read_proof, write_proof
from schedgap.solvers import Clock
from schedgap.solvers.proofs.checker import RefusedError
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


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no JSON"),
        (b"[]", "need a JSON object"),
        (b"\x1f\x8b but not packed", "cannot be read"),
        (gzip.compress(b'{"kind": "tree"}')[:-9], "the file ends too early"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"goal": ' + b"9" * 10_000 + b"}", "no JSON"),
        (b"\xff\xfe", "no JSON"),
    ],
    ids=["empty", "list", "packed", "cut", "deep", "huge", "encoding"],
)
def test_a_file_that_is_no_proof_gets_one_line(
    tmp_path: Path, content: bytes, message: str
) -> None:
    file = tmp_path / "x.proof.json.gz"
    file.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read_proof(file)
    assert "\n" not in str(caught.value)
    assert "x.proof.json.gz" in str(caught.value)


def test_a_packed_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proofs, "MAX_BYTES", 1 << 20)
    file = tmp_path / "bomb.json.gz"
    file.write_bytes(gzip.compress(b" " * (1 << 26)))
    with pytest.raises(InputError, match="larger than 1 MB when unpacked"):
        read_proof(file)


def test_a_missing_file_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_proof(tmp_path / "none.json.gz")


def test_the_checker_runs_alone(
    instance: EdgeInstance, proof: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "i.json").write_text(json.dumps(instance.to_data()), encoding="utf-8")
    write_proof(tmp_path / "p.json.gz", proof)
    write_proof(tmp_path / "false.json.gz", proof | {"goal": OPTIMUM})
    code = (
        "import sys; from schedgap.proof import main; code = main(sys.argv[1:]); "
        "heavy = {'numpy', 'scipy', 'pandas', 'highspy', 'ortools', 'typer'} & set(sys.modules); "
        "print(sorted(heavy)); sys.exit(code)"
    )

    def run(*arguments: str) -> tuple[int, str, str]:
        command = [sys.executable, "-c", code, *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    exit_code, out, _ = run("check", "i.json", "p.json.gz")
    assert exit_code == 0
    assert out.startswith("PROVED: no schedule has a value <= 38")
    assert out.splitlines()[-1] == "[]"
    exit_code, out, _ = run("check", "i.json", "false.json.gz")
    assert exit_code == 1
    assert out.startswith("NOT PROVED: /tree/")
    exit_code, _, error = run("check", "i.json", "none.json.gz")
    assert exit_code == 2
    assert error.startswith("error: ")
    assert run("prove")[0] == 2


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
    """They are imported by the name of the family, so that no type checker sees the call."""
    prover = importlib.import_module(f"schedgap.models.{name}.exact.prove")
    inspect.signature(prover.prove_goal).bind(object(), 1, {}, budget=Budget())
    assert {"edge", "hare"} <= set(PROVERS)
