"""Every program can be exported, keeps its names, and reads back with the same optimum."""

from pathlib import Path

import pytest

import schedgap as sg
from schedgap.models.hare.methods import PROGRAMS
from schedgap.solvers.children.processes import run_child
from schedgap.solvers.programs.export import write_model

ROWS = {
    "big-m": ("eq_5", "eq_6", "eq_7", "eq_8_first", "eq_8_second"),
    "time-indexed": ("eq_5", "eq_7", "eq_8"),
    "time-indexed-lp": ("eq_5", "eq_7", "eq_8"),
    "relaxed-miqcp": ("eq_5", "eq_6", "eq_7_start", "eq_9"),
    "relaxed-prefix": ("eq_5", "eq_6", "eq_7_start", "eq_9"),
    "fluid-lp": ("demand", "capacity", "width", "mean_busy"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_rows_carry_the_names_of_the_equations(name: str, tmp_path: Path) -> None:
    toy = sg.generate("hare", preset="toy")
    file = tmp_path / "toy.lp"
    write_model(PROGRAMS[name](toy), file)
    text = file.read_text()
    for row in ROWS[name]:
        assert f"{row}(" in text or f"{row}_" in text, row


@pytest.mark.parametrize("suffix", ["lp", "mps"])
@pytest.mark.parametrize(
    ("name", "optimum"),
    # relaxed-prefix starts from the rows of single tasks, which say nothing yet: 5, the critical
    # paths (J1 1, J2 3, J3 1).
    [("big-m", 8), ("time-indexed", None), ("relaxed-prefix", 5), ("fluid-lp", None)],
)
def test_files_read_back_with_the_same_optimum(
    name: str, optimum: float | None, suffix: str, tmp_path: Path
) -> None:
    toy = sg.generate("hare", preset="toy")
    file = tmp_path / f"toy.{suffix}"
    write_model(PROGRAMS[name](toy), file)
    found = run_child("strategies.highs_files:read_back", str(file), engine="highs").result()
    if name == "time-indexed":  # in whole steps of 0.5
        found, optimum = found / 2, 8
    if name == "fluid-lp":
        optimum = sg.solve(toy, name).trace["engine_value"]
    assert found == pytest.approx(optimum, abs=1e-6)


def test_every_program_is_that_of_a_method() -> None:
    from schedgap.models import family

    methods = {method.name for method in family("hare").methods}
    rounded = "relaxed-prefix"  # by `hare-prefix`
    assert set(family("hare").programs) - methods == {rounded}
