"""The page of claims says what the stored values say, and pictures can be drawn of them."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import schedgap as sg
from schedgap.analysis.comparing.compare import compare
from schedgap.analysis.comparing.run import Run
from schedgap.analysis.evaluations import experiments
from schedgap.analysis.evaluations.judging import Row
from schedgap.analysis.evaluations.setup import players, sizes
from schedgap.analysis.pages import reproduction
from schedgap.analysis.plots.csv_text import comma_separated
from schedgap.cli import run as command
from schedgap.errors import UsageError
from schedgap.models.figure import (
    Claim,
    Experiment,
    Point,
    best,
    monotone,
)
from schedgap.models.ring import figures

SOURCE = "Section 7"


def figure(name: str, **more: object) -> Experiment:
    claims = (
        best("A", ["B"], text=f"A is best in {name}", source=SOURCE),
        monotone("A", "falls", text="A falls", source=SOURCE),
    )
    return Experiment(
        family="ring", figure=name, title="toy", x="jobs", objective="makespan", claims=claims,
        series=("A", "B"), draw=tuple, brackets=(), quick=True, **more,
    )  # fmt: skip


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The values of one figure at our defaults and at two settings, on ten draws."""
    made = [figure("4"), *(figure("4", setting={"load": load}) for load in (1, 2))]
    files = {experiments.file_name(each): each for each in made}
    monkeypatch.setattr(
        experiments, "suite", lambda text, quick: files if quick and text == "ring-figures" else {}
    )
    for place, file in enumerate(files):
        rows = [
            Row(
                "makespan", x, series, seed, "i", value + (place - 0.25 * (x - 1)) * (series == "A")
            )
            for seed in range(10)
            for series, value in (("A", 2.0), ("B", 2.5))
            for x in (1, 2)
        ]
        (tmp_path / file).write_text(comma_separated(Row._fields, rows), encoding="utf-8")
    return tmp_path


def test_the_page_counts_claims_at_our_defaults_and_lists_the_settings(data: Path) -> None:
    page = reproduction.page(data)
    assert "schedgap figure all --quick" in page
    (counts,) = [line for line in page.splitlines() if "(#ring)" in line]
    assert counts.endswith("| 2 | 1 | 1 | 0 | 0 | 0 | 0 | 0 | 0 | 0 |")
    best_row, falls = (
        next(line for line in page.splitlines() if line.startswith(f"| 4 | A {word}"))
        for word in ("is best", "falls")
    )
    assert "holds on 10 of 10 replications; -20 % [-20, -20] (reproduced at our def" in best_row
    assert best_row.endswith(
        "load = 1: refuted (0 of 10); load = 2: refuted (0 of 10) | **mixed** |"
    )
    assert falls.endswith("; -12.5 % [-12.5, -12.5] | **reproduced** |")
    scan = [line for line in page.splitlines() if "load = 1" in line and "best" in line][-1]
    assert "load = 1: refuted (0 of 10); load = 2: refuted (0 of 10)" in scan


def test_the_page_follows_the_data(data: Path) -> None:
    file = data / "ring-figure-4@quick.csv"
    file.write_text(
        file.read_text().replace(",A,3,i,2.0", ",A,3,i,9.0").replace(",A,4,i,2.0", ",A,4,i,")
    )
    page = reproduction.page(data)
    assert (
        "holds on 8 of 9 replications, 1 not measured, and not on their mean; -20 % [-20, 260]"
        in page
    )


def test_rows_that_are_not_the_papers_stand_apart(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence of two parts; a row of ours and one not stated; and what has no verdict."""
    made = figure("4")
    fails = best("B", ["A"], text="B is best", source=SOURCE)
    claims = (
        *(replace(each, sentence="each is best") for each in (made.claims[0], fails)),
        replace(fails, standing="ours"),
        replace(fails, text="B is the best one", standing="not stated"),
        replace(fails, text="B is close to A", holds=None, threshold="ours"),
        Claim("B takes 2.5", SOURCE, measure=lambda draw: draw.value("B", 1), given="it is given"),
    )
    files = {experiments.file_name(made): replace(made, claims=claims)}
    monkeypatch.setattr(
        experiments, "suite", lambda text, quick: files if quick and text == "ring-figures" else {}
    )
    lines = reproduction.page(data).splitlines()
    (counts,) = [line for line in lines if "(#ring)" in line]
    assert counts.endswith("| 3 | 0 | 1 | 0 | 1 | 1 | 0 | 0 | 1 | 1 |")
    (sentence,) = [place for place, line in enumerate(lines) if "each is best" in line]
    assert lines[sentence].endswith("| parts: 1 reproduced, 1 refuted | **mixed** |")
    assert [line.split(" | ")[1] for line in lines[sentence + 1 : sentence + 3]] == [
        "– A is best in 4", "– B is best"
    ]  # fmt: skip
    (close,) = [line for line in lines if "B is close" in line]
    assert close.endswith("| on 10 replications; 42.9 % [42.9, 42.9] | **measured** |")
    (given,) = [line for line in lines if "B takes" in line]
    assert given.endswith("| it is given; 2.5 [2.5, 2.5] | **input** |")
    for word, row in (("Not stated in", "B is the best one"), ("On variants of ours", "B is best")):
        place = next(k for k, line in enumerate(lines) if line.startswith(word))
        assert lines[place + 4].startswith(f"| 4 | {row} | {SOURCE} | holds on 0 of 10")


def test_the_heading_has_the_sizes_and_the_methods_of_the_figures() -> None:
    drawn = figures.experiments(seeds=(0, 1), servers=(3, 4), jobs=5, settings=({},))
    rows = [Row("makespan (slots)", 3, "FF", seed, "i", 1.0) for seed in (0, 1)]
    made = [(each, rows) for each in drawn]
    assert sizes(made) == [
        ("4, 5, 7", "full", "5 jobs, 4 servers", "2"),
        ("6", "full", "5 jobs, 3-4 servers", "2"),
        ("6-large", "full", "5 jobs, 4-64 servers", "2"),
    ]
    found = {name: (at, method) for name, at, method, _ in players(made)}
    assert [*found] == ["SJF-BCO", "FF", "LS", "RAND"]
    assert found["FF"] == ("4, 6", "`first-fit` with order=list")
    at, method = found["SJF-BCO"]
    assert at == "4, 5, 6, 6-large, 7" and method.endswith("; spread_factor=job, 2, 4, 8")


def test_the_page_names_the_verdicts_that_change_at_the_papers_sizes(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On three replications of the paper's size A is not the best any more, and still falls."""
    large = replace(figure("4"), quick=False)
    name, small = experiments.file_name(large), experiments.suite
    monkeypatch.setattr(
        experiments,
        "suite",
        lambda text, quick: (
            small(text, quick=quick) if quick or text != "ring-figures" else {name: large}
        ),
    )
    assert "At the papers' sizes" not in reproduction.page(data)
    rows = [
        Row("makespan", x, series, seed, "i", value)
        for seed in range(3)
        for series, values in (("A", (9.0, 8.0)), ("B", (2.5, 2.5)))
        for x, value in zip((10, 20), values, strict=True)
    ]
    (data / reproduction.FULL).mkdir()
    (data / reproduction.FULL / name).write_text(comma_separated(Row._fields, rows))
    section = reproduction.page(data).partition("At the papers' sizes")[2]
    assert "| ring | 4 | jobs: 10, 20 | 3 | 2 | 1 |" in section
    (changed,) = [line for line in section.splitlines() if "(0 of 3)" in line]
    assert changed == "| ring | 4 | A is best in 4 | reproduced (10 of 10) | refuted (0 of 3) |"


def test_pictures_are_drawn_of_curves_and_bars(tmp_path: Path) -> None:
    curve = [Row("makespan", x, "A", seed, "i", x + seed) for x in (1, 2) for seed in (0, 1)]
    bars = [Row("makespan", x, "policy", 0, "i", 3.0) for x in ("A", "B_1$")]
    drawn = {"a.csv": (figure("4"), curve), "b.csv": (figure("5"), bars)}
    for suffix, head in (("pdf", b"%PDF"), ("svg", b"<?xml"), ("png", b"\x89PNG")):
        files = reproduction.draw(drawn, tmp_path, suffix)
        assert [file.name for file in files] == [f"a.{suffix}", f"b.{suffix}"]
        assert all(file.read_bytes().startswith(head) for file in files)


def test_a_run_of_figures_is_published_with_its_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = {
        experiments.file_name(each): each
        for each in figures.experiments(seeds=(0, 1), servers=(3, 4), jobs=5, settings=({},))
        if each.figure == "7"
    }
    monkeypatch.setattr(
        experiments, "suite", lambda text, quick: tiny if "ring" in text and not quick else {}
    )
    run = reproduction.measure(tiny, run=tmp_path / "run", workers=1)
    page = reproduction.publish(run, tmp_path / "docs")
    assert page.read_text(encoding="utf-8") == reproduction.page(tmp_path / "docs" / "reproduction")
    (file,) = (tmp_path / "docs" / "reproduction").iterdir()
    rows = experiments.read(file)
    assert rows == experiments.rows(run, next(iter(tiny.values())))
    assert any(row.value is not None for row in rows)
    found = reproduction.named(run, ["ring-figure-7"])
    assert list(found) == ["ring-figure-7.csv"]
    assert json.dumps([item.verdict for item in reproduction.judgements(found)])
    with pytest.raises(UsageError, match="no figure 'ring-figure-9': choose one of ring-figure-7"):
        reproduction.named(run, ["ring-figure-9"])


def test_what_is_no_figure_is_refused(tmp_path: Path) -> None:
    for name in ("rings", "quick", "ring-figure-99"):
        with pytest.raises(UsageError):
            reproduction.chosen([name], quick=True)
    (tmp_path / "tasks").mkdir()
    with pytest.raises(UsageError, match="no figures"):
        reproduction.named(Run(tmp_path), [])


def figure_4() -> Experiment:
    (found,) = (
        each
        for each in figures.experiments(seeds=(0,), servers=(3,), jobs=4, settings=({},))
        if each.figure == "4"
    )
    return found


def test_a_figure_that_was_killed_is_shown_with_what_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fourth = figure_4()
    name = experiments.file_name(fourth)
    run = compare([fourth], run=tmp_path, workers=1, time_limit=5)
    known = experiments.read(tmp_path / experiments.FOLDER / name)
    (tmp_path / experiments.FOLDER / name).unlink()
    experiments.write_heads(run.folders[0], [name])
    monkeypatch.setattr(experiments, "suite", lambda text, quick: {} if quick else {name: fourth})
    (found,) = experiments.written(Run(tmp_path)).values()
    assert found == (fourth, known)


def test_a_file_without_a_metric_of_the_figure_is_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that was stored before a claim got its metric is judged by its schedules."""
    fourth = figure_4()
    name = experiments.file_name(fourth)
    compare([fourth], run=tmp_path, workers=1, time_limit=5)
    file = tmp_path / experiments.FOLDER / name
    known = experiments.read(file)
    older = [row for row in known if row.measure != figures.UNEVEN]
    assert 0 < len(older) < len(known)
    file.write_text(comma_separated(Row._fields, older), encoding="utf-8")
    monkeypatch.setattr(experiments, "suite", lambda text, quick: {} if quick else {name: fourth})
    (found,) = experiments.written(Run(tmp_path)).values()
    assert found == (fourth, known)


def test_a_figure_of_several_folders_has_the_values_of_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two computers measured a half each: neither folder alone, nor their order, decides."""
    fourth = figure_4()
    name = experiments.file_name(fourth)
    run = compare([fourth], run=tmp_path / "whole", workers=1, time_limit=5)
    known = experiments.rows(run, fourth)
    halves = [shutil.copytree(tmp_path / "whole", tmp_path / half) for half in ("one", "two")]
    for place, record in enumerate(run.records):
        (halves[place % 2] / "tasks" / run.file(record).name).unlink()
    for half in halves:
        experiments.write(Run(half), {name: fourth})
    monkeypatch.setattr(experiments, "suite", lambda text, quick: {} if quick else {name: fourth})
    for folders in (halves, halves[::-1]):
        (found,) = experiments.written(Run(*folders)).values()
        assert found == (fourth, known)
    (half,) = experiments.written(Run(halves[0])).values()
    assert {row.value is None for row in half[1]} == {True, False}
    for file in (halves[1] / "tasks").glob("*.json"):  # records are added, the file is the old one
        shutil.copy(file, halves[0] / "tasks")
    long_ago = (10**9, 10**9)
    os.utime(halves[0] / "tasks", ns=long_ago)  # as `cp -a` and `rsync -a` leave it
    (found,) = experiments.written(Run(halves[0])).values()
    assert found == (fourth, known)


def test_a_record_that_was_stopped_or_of_another_seed_hides_no_value(tmp_path: Path) -> None:
    fourth = figure_4()
    run = compare([fourth], run=tmp_path, workers=1, time_limit=5)
    known = experiments.rows(run, fourth)
    for number, file in enumerate(sorted((tmp_path / "tasks").glob("[!.]*.json"))):
        data = json.loads(file.read_text())
        for place, more in enumerate(({"outcome": "timeout"}, {"seed": 7, "message": "other"})):
            key = f"{number:031x}{place}-{data['key'][-12:]}"
            again = data | more | {"key": key, "task": "0" * 32, "started": "2999-01-01"}
            if "seed" in more and data["solution"]["objective"] is not None:
                worse = data["solution"]["objective"] + 1000
                again["solution"] = data["solution"] | {"objective": worse, "status": "feasible"}
            (tmp_path / "tasks" / f"{key}.json").write_text(json.dumps(again))
    again = Run(tmp_path)
    assert len(again) == 3 * len(run)
    assert experiments.rows(again, fourth) == known


def test_the_plan_of_figures_knows_what_a_run_folder_has(tmp_path: Path) -> None:
    toy = sg.generate("ring", preset="small", seed=1)
    points = [Point(1, 1, "A", toy, "first-fit"), Point(1, 1, "B", toy, "list-scheduling")]
    figures = {
        f"{name}.csv": replace(
            figure(name, time_limit=limit), draw=lambda: points, brackets=(extra,)
        )
        for name, limit, extra in (("4", 36.0, "job-alone"), ("5", 72.0, "first-fit"))
    }
    before = {"family": "ring", "figures": 2, "tasks": 5, "done": 0, "hours_done": 0.0}
    assert reproduction.plan(figures, run=tmp_path / "none") == [
        {**before, "hours_left": pytest.approx((3 * 36 + 2 * 72) / 3600)}
    ]
    assert not (tmp_path / "none").exists()
    compare([figures["4.csv"]], run=tmp_path / "run", workers=1, time_limit=36)
    (after,) = reproduction.plan(figures, run=tmp_path / "run")
    assert after["done"] == 5  # the others end by themselves: a longer limit changes nothing
    assert 0 < after["hours_done"] < 0.05 and after["hours_left"] == 0


def test_the_command_only_says_what_is_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = str(tmp_path / "run")
    assert command(["figure", "hare-figure-1", "--quick", "--plan", "--run", run]) == 0
    assert "hours left, at most" in capsys.readouterr().out and not Path(run).exists()
    Path(run, "tasks").mkdir(parents=True)
    assert command(["figure", run, "--plan"]) == 2
    assert "--plan: need names of figures" in capsys.readouterr().err
