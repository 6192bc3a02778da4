"""Proofs of three families as certificates, and the command that writes them."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import schedgap as sg
from schedgap.errors import UsageError
from schedgap.instances.elastic import ElasticInstance
from schedgap.instances.instance import Instance
from schedgap.models.edge.exact.prove import prove_goal
from schedgap.models.elastic import proof as elastic_proof
from schedgap.models.elastic.exact import program_without_pools as elastic_export
from schedgap.models.elastic.exact import prove as elastic_prove
from schedgap.models.exports import export_vipr
from schedgap.models.method import Budget
from schedgap.models.proofs import excluded_value, proof_data, write_proof
from schedgap.proof import main
from schedgap.solvers import Clock
from schedgap.solvers.proofs.prover import Proved
from schedgap.solvers.proofs.vipr import Exported
from strategies.edge_examples import FIVE_JOBS
from strategies.vipr import Certificate, check

VIPRCHK = shutil.which("viprchk")


def as_data(instance: Instance, goal: int, proved: Proved) -> dict[str, Any]:
    assert proved.proof is not None
    found = proved.proof
    data = proof_data(instance, goal, vectors=found.vectors, cuts=found.cuts, tree=found.tree)
    loaded: dict[str, Any] = json.loads(json.dumps(data))
    return loaded


def proof_of(instance: Instance, prove: Callable[..., Proved]) -> dict[str, Any]:
    """Return a proof of the optimum that `exact` finds."""
    solution = sg.solve(instance, "exact", time_limit=120, proof="off")
    assert solution.status == "optimal"
    goal = excluded_value(instance, solution.objective)
    assert goal is not None
    return as_data(instance, goal, prove(instance, goal, budget=Budget(Clock(120))))


def certificate_of(
    instance: Instance, data: dict[str, Any], folder: Path
) -> tuple[Exported, Certificate]:
    file = folder / "a.vipr"
    found = export_vipr(instance, data, file)
    assert isinstance(found, Exported), found
    if VIPRCHK is not None:
        done = subprocess.run([VIPRCHK, str(file)], capture_output=True, text=True, check=False)
        assert "Infeasibility verified." in done.stdout
    certificate = check(file.read_text(encoding="ascii"))
    assert instance.sha256 in certificate.comments[1]
    return found, certificate


@pytest.fixture(scope="module")
def edge() -> dict[str, Any]:
    return proof_of(FIVE_JOBS, prove_goal)


def test_a_proof_of_family_edge_is_derived(edge: dict[str, Any], tmp_path: Path) -> None:
    found, certificate = certificate_of(FIVE_JOBS, edge, tmp_path)
    assert not found.assumed
    assert certificate.comments[0] == "Proof that no schedule has value <= 38,"
    assert certificate.rows["goal"].side == 38


def test_slot_cuts_of_family_dmlrs_are_named_as_assumptions(tmp_path: Path) -> None:
    from schedgap.models.dmlrs.exact.prove import prove_goal

    instance = sg.generate("dmlrs", preset="small", seed=3)
    data = proof_of(instance, prove_goal)
    slots = [k for k, cut in enumerate(data["cuts"]) if cut["why"] == "slot"]
    assert slots
    found, certificate = certificate_of(instance, data, tmp_path)
    names = [f"assumed_slot_{k}" for k in slots]
    assert list(found.assumed) == [f"row {name}" for name in names]
    assert [name for name in certificate.rows if "assumed" in name] == names
    assert certificate.comments[-1] == f"Assumed, not derived: row {names[-1]}"


@pytest.fixture(scope="module", params=["weighted_completion", "scheduled_weight"])
def elastic(request: pytest.FixtureRequest) -> tuple[ElasticInstance, dict[str, Any]]:
    """Return a proof with pools."""
    settings = {"jobs": 5}
    instance = sg.generate(
        "elastic", preset="small", seed=5, settings=settings, objective=request.param
    )
    assert isinstance(instance, ElasticInstance)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(elastic_prove, "FEW_RUNS", -1)  # also small programs have pools
        data = proof_of(instance, elastic_prove.prove_goal)
    assert any("p" in vector for vector in data["vectors"])
    return instance, data


def test_runs_that_prices_leave_out_of_family_elastic_are_derived(
    elastic: tuple[ElasticInstance, dict[str, Any]], tmp_path: Path
) -> None:
    instance, data = elastic
    found, certificate = certificate_of(instance, data, tmp_path)
    whole = elastic_proof.program(instance, data["goal"])
    reduced = elastic_proof.space(instance, data["goal"], data).program
    assert found.columns == len(whole.cost) > len(reduced.cost)
    assert certificate.cost == {j: c for j, c in enumerate(whole.cost) if c}
    assert all(name.startswith("row assumed_slot_") for name in found.assumed)
    pools = [vector for vector in data["vectors"] if "p" in vector]
    again = data | {"vectors": [*data["vectors"], *pools]}  # which leave out nothing more
    assert certificate_of(instance, again, tmp_path)[0].columns == found.columns


def test_what_is_too_large_to_be_derived_is_named(
    elastic: tuple[ElasticInstance, dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    instance, data = elastic
    whole = elastic_proof.program(instance, data["goal"])
    monkeypatch.setattr(elastic_export, "MAX_ENTRIES", 10)
    found, certificate = certificate_of(instance, data, tmp_path)
    left_out = len(whole.cost) - found.columns
    text = f"{left_out} columns that prices leave out of the program are 0"
    assert found.assumed[0] == text
    assert f"Assumed, not derived: {text}" in certificate.comments


@pytest.mark.parametrize("family", ["hare", "ring"])
def test_proofs_over_other_spaces_are_refused_in_one_line(
    family: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    instance = sg.generate(family, preset="small", seed=1)
    instance.save(tmp_path / "i.json")
    write_proof(
        tmp_path / "p.json.gz", proof_data(instance, 1, vectors=[], cuts=[], tree=[{"v": 0}])
    )
    files = [str(tmp_path / name) for name in ("i.json", "p.json.gz", "a.vipr")]
    assert main(["export", *files[:2], "--vipr", files[2]]) == 2
    assert capsys.readouterr().err == (
        f"error: proofs of family {family} refute no integer program, so VIPR cannot express them\n"
    )
    assert sorted(os.listdir(tmp_path)) == ["i.json", "p.json.gz"]
    with pytest.raises(UsageError):
        export_vipr(instance, {"goal": 1, "vectors": [], "cuts": [], "tree": []}, files[2])


def run(folder: Path, *arguments: str) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "schedgap.proof", "export", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


def test_the_command_writes_what_the_checker_accepts(edge: dict[str, Any], tmp_path: Path) -> None:
    FIVE_JOBS.save(tmp_path / "i.json")
    write_proof(tmp_path / "p.json.gz", edge)
    write_proof(tmp_path / "false.json.gz", edge | {"goal": 39})
    before = sorted(os.listdir(tmp_path))
    exit_code, out, _ = run(tmp_path, "i.json", "false.json.gz", "--vipr", "a.vipr")
    assert exit_code == 1
    assert out.startswith("NOT PROVED: /tree/")
    assert run(tmp_path, "i.json", "p.json.gz")[0] == 2
    exit_code, _, error = run(tmp_path, "i.json", "p.json.gz", "--vipr", "none/a.vipr")
    assert exit_code == 2
    assert error == "error: none/a.vipr: cannot be written: No such file or directory\n"
    exit_code, out, _ = run(
        tmp_path, "i.json", "p.json.gz", "--vipr", "a.vipr", "--seconds", "1e-9"
    )
    assert exit_code == 1
    assert out.startswith("NOT PROVED: ")
    assert sorted(os.listdir(tmp_path)) == before
    exit_code, out, _ = run(tmp_path, "i.json", "p.json.gz", "--vipr", "a.vipr")
    assert exit_code == 0
    assert re.fullmatch(
        r"EXPORTED: a.vipr: \d+ columns, \d+ rows, \d+ derivations?; it assumes nothing beyond "
        r"its program\n",
        out,
    )
    assert sorted(os.listdir(tmp_path)) == sorted([*before, "a.vipr"])
    check((tmp_path / "a.vipr").read_text(encoding="ascii"))


def test_runs_that_prices_leave_out_of_family_edge_are_assumed(tmp_path: Path) -> None:
    instance = sg.generate("edge", preset="medium", seed=1)
    data = as_data(instance, 119, prove_goal(instance, 119, budget=Budget(Clock(120))))
    assert "p" in data["vectors"][-1]
    found = export_vipr(instance, data, tmp_path / "a.vipr")
    assert not isinstance(found, str)
    assert "columns that prices leave out of the program are 0" in found.assumed[0]
    assert found.columns < 2000  # the program has 8,887
