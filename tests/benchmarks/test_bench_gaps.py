"""The tables of `make bench` have a row for each class, with the numbers of its records."""

import sys
import tomllib
from pathlib import Path

import pandas as pd
import pytest
from rich.table import Table

import schedgap as sg
from schedgap.instances.families import OWN
from schedgap.models.family import family

sys.path.append(str(Path(__file__).parent))

import bench_gaps

METHODS = ("area", "first-fit", "sjf-bco")
ROOT = Path(__file__).parents[2]


def rows(table: Table) -> list[tuple[str, ...]]:
    """The rows of a table, as texts."""
    return list(zip(*(map(str, column.cells) for column in table.columns), strict=True))


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bench_gaps.Work:
    """Methods without an engine on a few jobs of family `ring`."""
    monkeypatch.setattr(bench_gaps, "PARTS", {"ring": METHODS, "hare": METHODS})
    monkeypatch.setattr(
        bench_gaps, "SIZES", {"ring": {"jobs": 3, "servers": 2}, "hare": {"jobs": 3, "gpus": 2}}
    )
    tiny = [bench_gaps.Class(name, "tiny", "small", {"jobs": 3}) for name in ("ring", "hare")]
    monkeypatch.setattr(bench_gaps, "FULL", tiny)
    monkeypatch.setattr(bench_gaps, "EXACT", ())
    return bench_gaps.Work(("ring",), (1, 2), str(tmp_path / "run"), 20.0, 10.0, 1)


def test_growth_has_a_row_for_each_size_and_method(work: bench_gaps.Work) -> None:
    table = rows(bench_gaps.growth(work))
    sizes = [(jobs, servers) for servers in (2, 4) for jobs in (3, 6)]
    titles = [f"ring, {jobs} jobs, {servers} servers" for jobs, servers in sizes]
    assert [row[:2] for row in table] == [(title, name) for title in titles for name in METHODS]
    records = sg.Run.load(f"{work.folder}/10-seconds").table()
    assert len(records) == len(table)  # one seed
    for title, method, cpu, megabytes, status in table:
        (record,) = records[
            (records.instance == f"{title}: 1") & (records.method == method)
        ].itertuples()
        assert cpu == f"{record.cpu_seconds:.1f}"
        assert megabytes == f"{record.peak_memory_mb:.0f}"
        assert status == record.status


def test_start_separates_the_first_task_from_later_ones(
    work: bench_gaps.Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    compare, tables = sg.compare, list[pd.DataFrame]()

    def spied(*arguments: object, **terms: object) -> sg.Run:
        run = compare(*arguments, **terms)
        tables.append(run.table())
        return run

    monkeypatch.setattr(sg, "compare", spied)
    bench_gaps.start(work)  # its processes are not used again
    ((name, first, later),) = rows(bench_gaps.start(work))
    records = tables[-1]
    assert list(records.method) == ["sjf-bco"] * 3
    assert name == "ring" and first == f"{records.load_seconds[0]:.2f}"
    assert later == bench_gaps.spread(records.load_seconds[1:], ".2f")
    assert records.load_seconds[0] > max(0.02, records.load_seconds[1:].max())  # it loads modules


def test_gaps_count_what_is_closed(work: bench_gaps.Work) -> None:
    ((title, closed, _, gap, aim, *_),) = rows(bench_gaps.gaps(work))
    assert (title, closed, gap, aim) == ("ring, tiny", "2 of 2", "0.00", "closed")


def test_a_spread_is_the_median_with_the_extremes() -> None:
    assert bench_gaps.spread(pd.Series([3.0, 1.0, 2.0])) == "2.0 (1.0 to 3.0)"
    assert bench_gaps.spread(pd.Series([1.0, 1.0])) == "1.0"
    assert bench_gaps.spread(pd.Series([1.0, None])) == "inf (1.0 to inf)"


@pytest.mark.parametrize("name", OWN)
def test_growth_starts_at_half_of_the_papers_size_with_a_bound_and_two_searches(name: str) -> None:
    presets = tomllib.loads((ROOT / "instances" / name / "presets.toml").read_text("utf-8"))
    settings = presets["presets"]["paper"]["settings"]
    assert {key: settings[key] / 2 for key in bench_gaps.SIZES[name]} == bench_gaps.SIZES[name]
    bound, *schedules = (family(name).method(each) for each in bench_gaps.PARTS[name])
    assert bound.kind == "bound" and {each.kind for each in schedules} <= {"algorithm", "baseline"}


def test_moves_counts_those_of_the_local_search(
    work: bench_gaps.Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_gaps, "PARTS", {"ring": ("area", "local-search", "sjf-bco")})
    open_one = sg.generate("ring", preset="medium", seed=1)  # lists do not meet the bound
    monkeypatch.setattr(sg, "generate", lambda name, **_: open_one)
    ((family, search, shown),) = rows(bench_gaps.moves(work))
    assert (family, search) == ("ring", "local-search") and shown[0] != "0"
