"""`schedgap engines`, `schedgap models` and `schedgap export`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import schedgap as sg

Call = Callable[..., Any]


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """The file of an instance."""
    file = tmp_path / "toy.json"
    file.write_text(json.dumps(sg.generate("hare", preset="toy").to_data()))
    return file


def test_models_of_a_family_and_of_an_instance(schedgap: Call, toy: Path) -> None:
    done = schedgap("models", "dmlrs")
    assert done.code == 0 and "dual-10, dual" in done.out and "(10), (11)" in done.out
    rows = json.loads(schedgap("models", "hare", toy, "--json").out)
    assert rows[0]["model"] == "big-m" and rows[0]["columns"] == 60
    assert "columns" in schedgap("models", "hare", toy).out
    assert {row["family"] for row in json.loads(schedgap("models", "--json").out)} >= {"hare"}


def test_models_of_another_family(schedgap: Call, toy: Path) -> None:
    done = schedgap("models", "ring", toy)
    assert done.code == 2 and f"{toy}: an instance of hare, not of ring" in done.line
    assert schedgap("models", "rign").code == 2


@pytest.mark.parametrize("model", ["paper", "time-indexed"])
def test_export_with_names_and_relaxed(
    schedgap: Call, toy: Path, tmp_path: Path, model: str
) -> None:
    texts = []
    for more in ((), ("--relax",)):
        out = tmp_path / f"{len(more)}.lp"
        done = schedgap("export", toy, "--model", model, *more, "--out", out)
        assert done.code == 0 and ("relaxed" in done.out) == bool(more)
        texts.append(out.read_text())
    assert "Generals" in texts[0] and "Generals" not in texts[1]
    if model == "paper":
        assert "eq_5(J1,1,2):" in texts[0] and "y(J1,1,2,GPU3)" in texts[0]
    assert texts[0].split("Bounds")[0] == texts[1].split("Bounds")[0]


def test_engines_with_their_packages_and_licences(schedgap: Call) -> None:
    rows = {row["engine"]: row for row in json.loads(schedgap("engines", "--json").out)}
    assert rows["highs"]["status"] == "available" and rows["highs"]["threads"] is None
    assert rows["scip"]["takes"] == ["linear", "mixed-integer"] and rows["scip"]["threads"] == 1
    assert rows["gurobi"]["install"] == "pip install 'schedgap[gurobi]'"
    shown = schedgap("engines").out
    assert f"pyscipopt {rows['scip']['version']}" in shown and "limited licence" in shown
