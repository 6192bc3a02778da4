"""README.md is short, its code runs, and its picture shows what the program computes."""

import importlib.util
import re
import shlex
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

import schedgap as sg
from schedgap.cli import run as command_line

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
STORED = pd.read_csv(ROOT / "docs" / "img" / "ratios.csv")


@pytest.fixture(scope="module")
def ratios() -> ModuleType:
    """Return the script that draws the picture."""
    spec = importlib.util.spec_from_file_location("ratios", ROOT / "docs" / "img" / "ratios.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_short() -> None:
    assert README.count("\n") <= 120


def test_the_lines_of_python_print_what_the_comments_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"^```python\n(.*?)^```", README, re.M | re.S)
    exec(block, {})
    printed = capsys.readouterr().out.splitlines()
    said = re.findall(r"^print\(.*# ([\w. ]+)", block, re.M)
    assert printed[: len(said)] == said
    assert Path("schedules.svg").stat().st_size > 10_000


def test_the_first_page_of_the_site_has_an_interval_that_holds() -> None:
    """It may become narrower when a record is broken."""
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    low, high = map(float, re.search(r"\.ratio  # ([\d.]+) to ([\d.]+)\n", page).groups())  # type: ignore[union-attr]
    _, block = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    names: dict[str, object] = {"sg": sg}
    exec(block.replace("sg.judge", "found = sg.judge"), names)
    found = names["found"]
    assert isinstance(found, sg.RatioInterval)
    assert low <= found.low <= found.high <= high


def test_the_page_on_commands_shows_what_its_commands_print(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    shown = page.partition("```\n")[2].partition("```")[0]
    for command in re.findall(r"^\$ schedgap (.*)$", shown, re.M):
        assert command_line(shlex.split(command)) == 0
    printed = capsys.readouterr().out
    for line in shown.splitlines():
        if line and not line.startswith("$"):
            words = line.split()  # the last word of a row of the table is its time
            words = words[:-1] if line.startswith("small ") else words
            assert re.search(r"\s+".join(map(re.escape, words)), printed), line


def test_the_table_has_the_ratios_of_the_picture() -> None:
    shown = re.findall(
        r"^(\w+) +([\w-]+)(?: \(.*?\))? +(\d) +(\d+\.\d{4}) +(\d+\.\d{4})", README, re.M
    )
    drawn = {(row.family, row.method) for row in STORED.itertuples()}
    assert drawn <= {(family, method) for family, method, *_ in shown} and len(drawn) == 5
    for family, method, n, mean, worst in shown:
        mine = STORED[(STORED["family"] == family) & (STORED["method"] == method)]
        if len(mine):  # the others are algorithms for a part of the problem
            assert float(worst) == round(mine["high"].max(), 4)
            assert (int(n), float(mean)) == (len(mine), round(mine["low"].mean(), 4))
    assert f"on {len(STORED)} small instances" in README


def test_the_picture_marks_what_is_above_its_guarantee(ratios: ModuleType) -> None:
    (axes,) = ratios.picture(STORED).axes
    points = [line for line in axes.lines if line.get_marker() == "o" and len(line.get_xdata())]
    assert len(points) == len(STORED)
    above = {
        (round(line.get_xdata()[0], 2), line.get_markerfacecolor())
        for line in points
        if line.get_color() == ratios.ABOVE
    }
    assert above == {(9.02, ratios.ABOVE), (1.17, "white")}


def test_the_data_of_the_picture_hold_on_the_instances_without_a_seed(ratios: ModuleType) -> None:
    drawn = STORED[~STORED["instance"].str.contains("seed")]
    assert set(drawn["family"]) == set(ratios.ALGORITHMS) and len(drawn) >= 10
    for family, rows in drawn.groupby("family"):
        instances = [sg.generate(family, preset=preset) for preset in rows["preset"]]
        run = sg.compare(instances, methods=["exact", ratios.ALGORITHMS[family]], workers=1)
        again = ratios.data(run).set_index("instance").loc[rows["instance"]].reset_index()
        expected = rows.reset_index(drop=True)
        pd.testing.assert_frame_equal(again[ratios.COLUMNS], expected, check_dtype=False)
