"""The library's worst cases stand next to the guarantees in the report of a run."""

import base64
import json
import os
import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

import schedgap as sg
from schedgap.analysis.comparing.run import Run
from schedgap.analysis.records import index
from schedgap.analysis.records.finds import finds
from schedgap.analysis.records.switches import variant
from schedgap.analysis.report import page, results
from schedgap.analysis.report.results import collect
from schedgap.analysis.report.tables import overview_table, summary_table
from schedgap.errors import InputError

FIND = next(each for each in finds("ring") if each.instance.name == "sjf-bco-2")  # the worst ratio
METHODS = ["sjf-bco", "branch-simulate", "lpt-pack"]


def run_of(instance: sg.Instance, folder: Path) -> Run:
    return sg.compare([instance], methods=METHODS, time_limit=5, run=folder)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run_of(FIND.instance, tmp_path_factory.mktemp("finds"))


def found(run: Run, kind: str = "summary") -> dict[str, str]:
    """Return the column of a table of the report, by method."""
    data = collect(run)
    table = summary_table(data.rows, "x") if kind == "summary" else overview_table(data)
    assert table is not None
    names = [name for name, _ in table.columns]
    if "worst found" not in names:
        return {}
    place, method = (
        names.index("worst found"),
        names.index("method" if kind == "summary" else "algorithm"),
    )
    return {row[method].text: row[place].text for row in table.rows}


def test_the_worst_ratio_stands_beside_the_guarantee(run: Run) -> None:
    text = "≥ 10.000; another one refutes Theorem 5"
    assert found(run) == {"sjf-bco": text, "branch-simulate": "–", "lpt-pack": "–"}
    assert found(run, "overview") == {"sjf-bco": text}


def test_the_find_is_linked_and_can_be_saved(run: Run, tmp_path: Path) -> None:
    text = page.write_report(run.folders[0].path, tmp_path / "page.html").read_text("utf-8")
    assert '<a href="#finds-ring">≥ 10.000;' in text
    assert '<details id="finds-ring">' in text
    (code,) = re.findall(
        r'href="data:application/json;base64,(.*?)" download="sjf-bco-2.json"', text
    )
    saved = sg.load(json.loads(base64.b64decode(code)))
    assert saved.sha256 == FIND.instance.sha256
    assert text.count('.json">') == len(finds("ring"))


def test_only_the_certain_end_is_stated(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    unsure = replace(FIND, low=1.4999, high=None)
    monkeypatch.setattr(results, "finds", lambda name: (unsure,))
    assert found(run)["sjf-bco"] == "≥ 1.499"
    refuting = replace(FIND, low=1.0, high=1.0, refutes="lemma_3", score=1.2)
    monkeypatch.setattr(results, "finds", lambda name: (refuting,))
    assert found(run)["sjf-bco"] == "refutes Lemma 3"


def test_instances_of_a_large_run_are_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "LEAST", 1)
    plain = found(run_of(FIND.instance, tmp_path))
    file = tmp_path / "instances" / f"{FIND.instance.sha256}.json"
    times = file.stat()
    file.write_text(" " * times.st_size)  # same size and time: what the index says counts
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    rows = results._finds(Run(tmp_path), by_preset=False)
    assert [each.instance.name for each in rows["ring", "", "sjf-bco"]] and plain["sjf-bco"]
    with closing(sqlite3.connect(tmp_path / index.NAME)) as database, database:
        database.execute("PRAGMA user_version = 1")  # so it was written by another version
    with pytest.raises(InputError):  # the file, which is not an instance any more, is read
        results._finds(Run(tmp_path), by_preset=False)


def test_a_find_of_another_reading_or_of_other_options_is_not_stated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = FIND.instance.replace(clamp_contention=False, contention_factor=1.0)
    assert variant("ring", other.to_data()) != FIND.variant
    run = run_of(other, tmp_path / "other")
    assert found(run) == {}
    monkeypatch.setattr(results, "finds", lambda name: (replace(FIND, options={"kappa": 1}),))
    assert found(run_of(FIND.instance, tmp_path / "same")) == {}
