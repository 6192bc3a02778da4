"""Runs keep the proofs of their optima, verify them, and count them."""

import json
from pathlib import Path
from typing import Any

import pytest
from toy_family import toy

import schedgap as sg
from schedgap.analysis.results.solution import named_proof
from schedgap.errors import InputError
from schedgap.instances.solution import ProofClaim
from strategies.edge_examples import FIVE_JOBS


def test_a_run_keeps_proofs_and_counts_them(tmp_path: Path) -> None:
    instance = FIVE_JOBS
    run = sg.compare([instance], methods=["cp-sat", "fifo"], run=tmp_path, workers=1)
    (proof,) = tmp_path.glob("tasks/*.proof.json.gz")
    record = json.loads(Path(str(proof).replace(".proof.json.gz", ".json")).read_text())
    assert record["solution"]["proof"]["kind"] == "tree"
    assert record["solution"]["proof"]["file"] == proof.name
    assert "proof" not in record
    assert run.verify() == []
    rows = run.summary().set_index("method")
    assert rows.loc["cp-sat", ["optimal", "proved"]].tolist() == [1, 1]
    assert rows.loc["fifo", ["optimal", "proved"]].tolist() == [0, 0]
    assert dict(zip(run.table()["method"], run.table()["proof"], strict=True)) == {
        "cp-sat": "tree",
        "fifo": "",
    }
    again = sg.compare([instance], methods=["cp-sat", "fifo"], run=tmp_path, workers=1)
    assert len(again) == 2
    proof.write_bytes(proof.read_bytes()[:-1])
    (fault,) = sg.Run.load(tmp_path).verify()
    assert "its hash differs" in fault
    proof.unlink()
    assert sg.Run.load(tmp_path).verify() == []  # nothing is wrong, but nothing is proved


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"proof": {"kind": "certificate"}}, "names a certificate that it does not have"),
        ({"proof": {"kind": "tree"}}, "names a tree that it does not have"),
        ({"grid": 7.0}, "the record has the grid 7.0, not None"),
        ({}, ""),
    ],
)
def test_what_a_record_was_edited_to_is_not_believed(
    tmp_path: Path, change: dict[str, Any], fault: str
) -> None:
    sg.compare([toy(3, 1, 2)], methods=["scan"], run=tmp_path, workers=1)
    (file,) = tmp_path.glob("tasks/*.json")
    record = json.loads(file.read_text())
    record["solution"] |= {key: value for key, value in change.items() if key == "proof"}
    record["instance"] |= {key: value for key, value in change.items() if key == "grid"}
    file.write_text(json.dumps(record))
    run = sg.Run.load(tmp_path)
    assert run.brackets[record["instance"]["sha256"], ""].evidence == "reported"
    wrong = run.verify()
    assert any(fault in text for text in wrong) == bool(fault)
    if not fault:
        (reported, optimal) = run.verify(strict=True)
        assert reported.endswith("scan: bound 1: reported, no certificate")
        assert optimal.endswith("scan: optimal: reported by scan")


def test_a_record_without_a_grid_gets_that_of_its_instance(tmp_path: Path) -> None:
    instance = sg.generate("ring", preset="small", seed=1, settings={"jobs": 1})
    sg.compare([instance], methods=["job-alone"], run=tmp_path, workers=1)
    (file,) = tmp_path.glob("tasks/*.json")
    record = json.loads(file.read_text())
    assert record["instance"].pop("grid") == 1.0
    file.write_text(json.dumps(record))
    (bracket,) = sg.Run.load(tmp_path).brackets.values()
    assert bracket.scale.grid == 1.0


@pytest.mark.parametrize("name", ["", ".", "..", "sub", "x" * 300, "sub/p.json.gz"])
def test_a_proof_file_that_cannot_be_read_gets_one_line(tmp_path: Path, name: str) -> None:
    (tmp_path / "sub").mkdir()
    claim = ProofClaim(kind="tree", file=name, sha256="0" * 64)
    with pytest.raises(InputError, match=r"proof\.file") as caught:
        named_proof(tmp_path / "a.json", claim)
    assert "\n" not in str(caught.value)
