"""The report says what the run folder holds, in one file that asks nothing of the network."""

import json
import math
import re

import pytest
from reports import HOSTILE, Reader, made_page, made_run, store  # noqa: F401
from toy_family import toy

import schedgap
from schedgap import show
from schedgap.analysis.comparing.run import Run
from schedgap.analysis.records.folder import Folder
from schedgap.analysis.report import page as report
from schedgap.analysis.report import pictures, words
from schedgap.analysis.report.headline import headline, news, trouble
from schedgap.analysis.report.overview import overview_figure
from schedgap.analysis.report.results import collect
from schedgap.analysis.report.tables import (
    overview_rows,
    overview_table,
    pairs_table,
    summary_table,
)
from schedgap.cli import run as command_line
from schedgap.errors import InputError
from strategies.hare_examples import THREE_UNIT_TASKS

# --- what it says --------------------------------------------------------------------------------


def test_the_headline_is_derived_from_the_run(run):
    head, (sentence,) = headline(collect(Run(run)))
    assert head == (
        "4 instances of toy: 1 proved optimal, 1 within 20 % of the optimum, "
        "1 without a bound and 1 without a schedule."
    )
    # first: 1.5, [1.25, 1.5], [1, unknown]; the mean is at least (1.5 + 1.25 + 1) / 3 = 1.25
    assert sentence == (
        "The paper’s algorithm first is at least 1.250 times the optimum on average."
    )


def test_the_headline_reads_no_instance_once_the_guarantees_are_known(tmp_path, monkeypatch):
    """The library has worst cases of the method, which only the tables show."""
    instance = schedgap.generate("ring", preset="small", settings={"jobs": 3})
    stored = schedgap.compare([instance], run=tmp_path, methods=["sjf-bco", "first-fit"])
    expected = headline(collect(Run(tmp_path)))
    stored.ratios()
    monkeypatch.setattr(Run, "instance_data", lambda *_: pytest.fail("an instance was read"))
    assert headline(collect(stored)) == expected and "sjf-bco is" in expected[1][0]


def test_the_headline_gives_intervals_where_the_optimum_is_bracketed(tmp_path):
    for name, values in {"a": (15, 12, 10), "b": (20, 10)}.items():
        store(tmp_path, toy(*values, name=name), "first", objective=float(values[0]))
        store(tmp_path, toy(*values, name=name), "scan", kind="exact", place=1, bound=10.0,
              objective=float(values[1]))  # fmt: skip
    head, (sentence,) = headline(collect(Run(tmp_path)))
    assert head == "2 instances of toy: 1 proved optimal and 1 within 20 % of the optimum."
    # a: [15/12, 15/10] = [1.25, 1.5]; b: 20/10 = 2; mean [3.25/2, 3.5/2]
    assert sentence == (
        "The paper’s algorithm first is 1.625 to 1.750 times the optimum on average, "
        "at worst 2.000 times."
    )


def test_where_more_is_better_the_headline_turns_round(tmp_path):
    instance = toy(5, 10, sense="max")
    store(tmp_path, instance, "first", objective=5.0)
    store(tmp_path, instance, "scan", kind="exact", objective=10.0, bound=10.0, status="optimal")
    head, (sentence,) = headline(collect(Run(tmp_path)))
    assert head == "1 instance of toy: proved optimal."
    assert sentence == "The optimum is 2.000 times the value of the paper’s algorithm first."


def test_the_summary_counts_how_runs_ended(tmp_path):
    """Three with a schedule, 2 / 1, 3 / 3 and 4 / [2, 4]; two incomplete, one skipped."""
    ended = {5: "done", 6: "timeout", 7: "skipped"}
    for value in range(2, 8):
        instance = toy(value, name=str(value))
        store(tmp_path, instance, "first", outcome=ended.get(value, "done"),
              objective=float(value) if value < 5 else None)  # fmt: skip
    store(tmp_path, toy(2, name="2"), "scan", kind="exact", objective=1.0, bound=1.0)
    for value, bound in ((3, 3.0), (4, 2.0)):
        store(tmp_path, toy(value, name=str(value)), "scan", kind="bound", bound=bound)
    found = Run(tmp_path).summary(by_preset=False).set_index("method").loc["first"]
    counts = ["tasks", "scheduled", "feasible", "incomplete", "failed", "skipped", "optimal"]
    assert found[counts].tolist() == [5, 3, 3, 2, 0, 1, 0]
    assert found[["worst_low", "worst_high"]].tolist() == [2, 2]
    assert found["mean_low"] == pytest.approx(4 / 3) and found["mean_high"] == pytest.approx(5 / 3)
    assert found["n"] == 3 and math.isnan(found["boot_low"])  # too few for an interval


def test_one_schedule_is_optimal_and_several_are_on_every_instance(tmp_path):
    for value, where in ((2, ""), (3, " on every instance")):
        instance = toy(value, name=str(value))
        store(tmp_path, instance, "first", objective=float(value), bound=float(value))
        _, (sentence,) = headline(collect(Run(tmp_path)))
        assert sentence == f"The paper’s algorithm first is optimal{where}."


@pytest.mark.parametrize(
    ("outcome", "said"), [("skipped", "was skipped"), ("done", "found no schedule")]
)
def test_a_skipped_algorithm_did_not_search_in_vain(tmp_path, outcome, said):
    store(tmp_path, toy(2), "first", outcome=outcome, objective=None)
    store(tmp_path, toy(2), "scan", kind="exact", objective=2.0, bound=2.0, place=1)
    _, (sentence,) = headline(collect(Run(tmp_path)))
    assert sentence == f"The paper’s algorithm first {said}."


def test_a_guarantee_that_does_not_hold_is_in_the_headline(tmp_path):
    # the toy family promises twice the optimum for less than four values; 30 / 10 is more
    store(tmp_path, toy(30, 10), "first", objective=30.0)
    store(tmp_path, toy(30, 10), "scan", kind="exact", objective=10.0, bound=10.0, place=1)
    found = collect(Run(tmp_path))
    assert headline(found)[1] == [
        "The paper’s algorithm first is 3.000 times the optimum. "
        "On 1 instance it exceeds its guarantee although the assumptions hold."
    ]
    cells = dict(zip(*summary_cells(found, "first"), strict=True))
    assert (cells["guarantee"].text, cells["guarantee"].look) == ("2: exceeded on 1", "bad")


def summary_cells(found, method):
    table = summary_table(found.rows, "summary-1")
    row = next(row for row in table.rows if row[0].text == method)
    return [name for name, _ in table.columns], row


def test_several_families_have_a_sentence_each(tmp_path, capsys):
    store(tmp_path, toy(2, name="a"), "scan", kind="exact", objective=2.0, bound=2.0)
    store(tmp_path, THREE_UNIT_TASKS, "big-m", kind="exact", objective=6.4, bound=6.0, schedule={
        "assignments": [
            {"job": job.id, "round": 1, "task": 1, "gpu": "g", "start": float(start)}
            for start, job in enumerate(THREE_UNIT_TASKS.jobs[::-1])
        ]
    })  # fmt: skip
    head, sentences = headline(collect(Run(tmp_path)))
    assert head == (
        "2 instances of 2 families: 1 proved optimal and 1 within 6.7 % of the optimum."
    )  # 6.4 / 6 = 1.0667, rounded up
    assert sentences == [
        "1 instance of hare: within 6.7 % of the optimum.",
        "1 instance of toy: proved optimal.",
    ]
    page = report.write_report([tmp_path]).read_text(encoding="utf-8")
    assert page.count('<section aria-labelledby="family-') == 2
    show.run(Run(tmp_path), as_json=False, every=True)
    assert "big-m" in capsys.readouterr().out
    show.run(Run(tmp_path), as_json=False)
    first, *shown = Run(tmp_path).headline()
    said = capsys.readouterr().out
    assert said.startswith(f"{first}\n\n") and "within 6.67 %" in first
    assert "\n".join(["", *shown, ""]) in said


def test_infeasible_instances_are_counted_apart(tmp_path):
    store(tmp_path, toy(1), "none", kind="exact", bound=None, objective=None)
    store(tmp_path, toy(2, name="n"), "scan", kind="exact", objective=2.0, bound=2.0)
    file = next((tmp_path / "tasks").glob("*-none.json"))
    record = json.loads(file.read_text())
    other = json.loads(next((tmp_path / "tasks").glob("*-scan.json")).read_text())["solution"]
    empty = {"status": "infeasible", "objective": None, "bound": None, "schedule": None}
    record["solution"] = other | empty | {"instance_sha256": toy(1).sha256}
    file.write_text(json.dumps(record))
    assert headline(collect(Run(tmp_path)))[0] == (
        "2 instances of toy: 1 proved optimal and 1 proved infeasible."
    )


@pytest.mark.parametrize(
    ("proof", "word"),
    [
        *((kind, "reported") for kind in ("engine", "engines", "none")),
        *((kind, "certified") for kind in ("certificate", "search")),
        ("tree", "proved"),
    ],
)
def test_an_optimum_is_called_by_its_evidence(tmp_path, proof, word):
    store(tmp_path, toy(2), "scan", kind="exact", objective=2.0, bound=2.0, status="optimal",
          proof=proof)  # fmt: skip
    assert headline(collect(Run(tmp_path)))[0] == f"1 instance of toy: {word} optimal."


def test_an_empty_run_has_a_page(tmp_path):
    Folder(tmp_path).create()
    text = report.write_report([tmp_path]).read_text(encoding="utf-8")
    assert "Nothing has been run yet." in Reader(text).text


def test_failures_and_skipped_runs_are_counted_with_their_reasons(run, page):
    assert trouble(collect(Run(run))) == "Of 8 runs, 1 killed at their limit and 1 skipped."
    rows = Reader(page).rows
    assert ["scan (toy)", "timeout", "1", f"stopped: {HOSTILE}", "lost"] in rows
    assert ["picky (toy)", "skipped", "1", "needs three values", "lost"] in rows


def test_every_record_is_a_row_with_its_ratio(page):
    rows = {(row[0], row[1]): row[2:5] for row in Reader(page).rows}
    assert rows[HOSTILE, "scan"] == ["1", "10", "10"]
    assert rows[HOSTILE, "first"] == ["1.500", "15", "–"]
    assert rows["wide", "first"] == ["1.250 – 1.500", "15", "–"]
    assert rows["wide", "scan"] == ["≤ 1.200", "12", "10"]
    assert rows["free", "first"] == ["–", "7", "–"]
    assert rows[HOSTILE, "below"] == ["–", "–", "9.75"]


def test_the_summary_shows_only_columns_that_say_something(run):
    table = summary_table(collect(Run(run)).rows, "summary-1")
    names = [name for name, _ in table.columns]
    assert "infinite" not in names and "preset" not in names
    assert "guarantee" in names  # the toy family promises factor 2 for `first`


def test_contradictions_come_first_and_in_red(tmp_path):
    store(tmp_path, toy(10, 9), "scan", kind="exact", objective=10.0, bound=10.0)
    store(tmp_path, toy(10, 9), "first", objective=9.0, place=1)
    text = report.write_report([tmp_path]).read_text(encoding="utf-8")
    assert text.index('class="contradictions" role="alert"') < text.index("<h1>")
    assert "scan claims the" in text


def test_the_same_run_gives_the_same_page(run, page, tmp_path):
    again = report.write_report([run], tmp_path / "again.html")
    assert again.read_text(encoding="utf-8") == page


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(InputError, match="not a run folder"):
        report.write_report([tmp_path])


# --- the file ------------------------------------------------------------------------------------


def test_the_page_is_well_formed_and_complete(page):
    reader = Reader(page)
    assert reader.open == []
    ids = [attributes["id"] for _, attributes in reader.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    known = set(ids)
    for _, attributes in reader.elements:
        assert attributes.get("aria-labelledby", ids[0]) in known
        href = attributes.get("href", "#content")
        assert href.startswith("#") and href[1:] in known


def test_the_page_asks_nothing_of_the_network(page):
    reader = Reader(page)
    for tag, attributes in reader.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "form")
        assert "src" not in attributes and "srcset" not in attributes
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy":
            policy = attributes["content"]
    assert policy.startswith("default-src 'none'")  # the browser refuses what we overlooked
    assert "http" not in policy
    css = page[page.index("<style>") : page.index("</style>")]
    assert "url(" not in css and "@import" not in css
    ours = [text for text in reader.scripts if "plotly.js (basic" not in text[:200]]
    assert len(ours) == 2
    assert not re.search(r"https?://|fetch\(|XMLHttpRequest|import\(", ours[1])


def test_hostile_names_are_shown_and_never_run(page):
    reader = Reader(page)
    assert [row[0] for row in reader.rows].count(HOSTILE) >= 3
    kinds = [attributes.get("type") for tag, attributes in reader.elements if tag == "script"]
    assert [kind for kind in kinds if kind != "application/gzip"] == [
        "application/json",
        None,
        None,
    ]
    assert not any("onerror" in attributes for _, attributes in reader.elements)


def test_tables_and_headline_stand_in_the_page_without_scripts(page):
    text = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert "1 proved optimal" in text and "1.250 – 1.500" in text


def test_every_figure_brings_its_data(page):
    reader = Reader(page)
    data = reader.data()
    assert set(data["figures"]) == {
        "ratios-toy", "profile-toy", "primal-gap-toy", "dual-gap-toy"
    }  # fmt: skip
    lines = json.loads(reader.unpacked("figure-ratios-toy"))["csv"].splitlines()
    assert "first,wide,1.25,1.5" in lines
    assert "first,free,1.0,inf" in lines
    (place,) = (k for k, each in enumerate(data["instances"]) if each.startswith(HOSTILE[:20]))
    even = json.loads(reader.unpacked(f"instance-{place}"))
    progress = even["progress"]["csv"].splitlines()
    assert progress[0] == "method,seconds,objective,bound"
    assert "scan,0.1,15.0," in progress and "scan,0.25,10.0,10.0" in progress
    assert reader.unpacked("results.csv").startswith("family,preset,instance,trace,load,")


def test_schedules_of_an_instance_share_colors_and_open_with_the_algorithm(page):
    reader = Reader(page)
    data = reader.data()
    wide = json.loads(reader.unpacked(f"instance-{data['instances'].index('wide (toy)')}"))
    best, other = (wide["schedules"][place] for place in wide["pair"])
    assert (best["label"], other["label"]) == ("scan: 12", "first: 15")
    colors = {trace["marker"]["color"] for each in (best, other) for trace in each["traces"]}
    assert len(colors) == 1
    assert json.loads(reader.unpacked(f"instance-{data['first']}"))["worst"] == 1.5


def test_the_page_opens_with_a_part_of_many_results_and_brings_them_all(page, run, monkeypatch):
    monkeypatch.setattr(report, "MAX_ROWS", 5)
    reader = Reader(report.render(collect(Run(run))))
    shown = [row for row in reader.rows if row[-3:-1] == ["toy", row[-2]]]
    more = Reader(f"<table>{reader.unpacked('more')}</table>").rows
    assert (len(shown), len(more), reader.data()["rows"]) == (5, 3, 8)
    assert sorted([*shown, *more]) == sorted(
        row for row in Reader(page).rows if row[-3:-1] == ["toy", row[-2]]
    )


def test_the_papers_algorithms_come_first_with_ratio_guarantee_and_verdicts(page):
    reader = Reader(page)
    ids = [attributes["id"] for _, attributes in reader.elements if "id" in attributes]
    assert ids.index("overview-table") < ids.index("family-1") < ids.index("every-result")
    (row,) = (row for row in reader.rows if row[:2] == ["toy", "first"])
    # first: 1.5, [1.25, 1.5] and [1, unknown]
    assert row[2:5] == ["≥ 1.250", "3", "≥ 1.500"]
    assert {"ratios wide", "ratios narrow"} <= {
        attributes.get("class") for _, attributes in reader.elements
    }


def _two_families(folder):
    """Store an algorithm of two families each: `first` 3 / 1, `hare` 6.4 / [6, 6.4]."""
    store(folder, toy(30, 10), "first", objective=30.0)
    store(folder, toy(30, 10), "scan", kind="exact", objective=10.0, bound=10.0, place=1)
    plan = {"assignments": [
        {"job": job.id, "round": 1, "task": 1, "gpu": "g", "start": float(start)}
        for start, job in enumerate(THREE_UNIT_TASKS.jobs[::-1])
    ]}  # fmt: skip
    for method, kind in (("hare", "algorithm"), ("big-m", "exact")):
        store(folder, THREE_UNIT_TASKS, method, kind=kind, objective=6.4, bound=6.0, schedule=plan)
    return collect(Run(folder))


def test_over_several_families_the_finding_is_the_headline(tmp_path):
    """`first` is 3 times the optimum, and `hare` 1 to 6.4 / 6 = 1.0667 times."""
    found = _two_families(tmp_path)
    head, sentences = headline(found)
    assert head == "On average, the papers’ algorithms miss the optimum by factors of 1.00 to 3.00."
    assert sentences[0].startswith("2 instances of 2 families: 1 proved optimal and 1 within")
    assert news(found) == [
        "Family toy: first exceeds its guarantee on 1 instance.",
        "Instances of the library of worst cases refute Theorem 4 (hare).",
    ]
    page = Reader(report.render(found))
    assert ("h1", {}) in page.elements and head in page.text


def test_the_figure_shows_mean_worst_and_guarantee_on_one_axis(tmp_path):
    rows = overview_rows(_two_families(tmp_path))
    picture, narrow = overview_figure(rows).split("\n")
    names = re.findall(r'class="name"[^>]*>([^<]*)<', picture)
    assert re.findall(r'<text x="[^>]*>([^<]*)<', narrow) == ["hare: ≤ 1.07", "toy first: 3.00"]
    assert narrow.count('class="mean"') == 2 and 'class="limit exceeded"' in narrow
    means = [
        tuple(map(float, pair)) for pair in re.findall(r'"mean" d="M(\S+) \d+H(\S+)"', picture)
    ]
    one = float(re.search(r'class="one" d="M(\S+) ', picture)[1])
    assert names == ["hare", "toy first"]
    (low, high), (three, same) = means
    assert low == one < high < three == same  # hare: [1, 1.0667]; first: 3
    assert math.log(16 / 15) / math.log(3) == pytest.approx((high - one) / (three - one), abs=0.01)
    assert ">1.00 – 1.07<" in picture or ">≤ 1.07<" in picture
    assert 'class="limit exceeded"' in picture  # the limit is 2, and `first` exceeds it
    assert overview_figure([]) is None


def test_equal_algorithms_share_a_line_of_the_figure(tmp_path):
    for method in ("first", "luck"):
        store(tmp_path, toy(20, 10, 10, 10), method, objective=20.0)
    store(tmp_path, toy(20, 10, 10, 10), "scan", kind="exact", objective=10.0, bound=10.0, place=1)
    rows = overview_rows(collect(Run(tmp_path)))
    assert [row.method for row in rows] == ["first", "luck"]
    names = re.findall(r'class="name"[^>]*>([^<]*)<', overview_figure(rows))
    assert names == ["toy first (+ 1 equal)"]
    table = overview_table(collect(Run(tmp_path)))
    assert [row[1].text for row in table.rows] == ["first (+ 1 equal)"]


def test_methods_are_compared_pair_by_pair(tmp_path):
    for value in (20, 30, 40, 50, 60):
        instance = toy(value, 10, name=str(value))
        store(tmp_path, instance, "first", objective=float(value))
        store(tmp_path, instance, "weak", kind="baseline", objective=float(2 * value))
    found = collect(Run(tmp_path))
    assert found.heuristics("toy") == ["first", "weak"]
    rows = {row[0].text: row for row in pairs_table(found, "toy", "pairs-1").rows}
    assert (rows["first"][2].text, rows["first"][2].look) == ("0.500 (5/0/0)", "better")
    assert (rows["weak"][1].text, rows["weak"][1].look) == ("2.000 (0/0/5)", "worse")
    page = Reader(report.render(found))
    assert ["first", "", "0.500 (5/0/0)"] in page.rows


def test_two_runs_of_one_method_keep_their_own_schedules(tmp_path):
    instance = toy(30, 10)
    store(tmp_path, instance, "luck", objective=30.0, place=0, key="a" * 32)
    store(tmp_path, instance, "luck", objective=10.0, place=1, key="b" * 32, seed=1)
    ((entry,), _) = pictures.explorer(collect(Run(tmp_path)))
    labels = [each["label"] for each in entry["schedules"]]
    assert labels == ["luck #aaaaaa: 30", "luck #bbbbbb: 10"]
    assert entry["progress"]["methods"] == ["luck #aaaaaa", "luck #bbbbbb"]


def test_a_variant_of_the_problem_is_not_taken_for_the_problem(tmp_path):
    store(tmp_path, toy(30, 10), "other", kind="exact", objective=10.0, bound=10.0,
          problem="fixed", label="other:fixed=true")  # fmt: skip
    assert headline(collect(Run(tmp_path))) == (
        "1 instance of toy: with results on a variant of the problem only.", []
    )  # fmt: skip


def test_more_bars_than_a_page_carries_are_left_out_with_a_note(run, monkeypatch):
    monkeypatch.setattr(pictures, "MAX_BARS", 3)  # there are 5 schedules with one bar each
    entries, (note,) = pictures.explorer(collect(Run(run)))
    assert sum(len(each["schedules"]) for each in entries) == 3
    assert note.startswith("2 schedules not embedded: the page has at most 3 bars")


def test_of_many_instances_the_worst_ones_are_shown(run, monkeypatch):
    """`first` is 1.5 times the optimum on one, at least 1.25 times on `wide`, and unknown else."""
    monkeypatch.setattr(pictures, "MAX_INSTANCES", 2)
    entries, (note,) = pictures.explorer(collect(Run(run)))
    assert [each["label"] for each in entries] == [f"{HOSTILE} (toy)", "wide (toy)"]
    assert note.startswith("2 of 4 instances are here, those on which the algorithms are farthest")


def test_long_progress_is_thinned_and_keeps_its_end(tmp_path):
    points = [[k / 100, 1000.0 - k, None] for k in range(900)]
    store(tmp_path, toy(100.0, 101.0), "scan", kind="exact", objective=100.0, progress=points)
    ((entry,), _) = pictures.explorer(collect(Run(tmp_path)))
    rows = entry["progress"]["csv"].splitlines()
    assert len(rows) <= pictures.MAX_POINTS + 2
    assert rows[-1] == "scan,0.25,100.0,"


def test_gaps_are_drawn_over_a_logarithmic_time_axis(page):
    """`scan` knows 15, 10 and 10 of 10 in `even`, 12 in `wide` (best), and nothing in `lost`."""
    figure = json.loads(Reader(page).unpacked("figure-primal-gap-toy"))
    assert figure["layout"]["xaxis"]["type"] == "log"
    traces = {trace["name"]: trace for trace in figure["traces"] if trace.get("name")}
    assert set(traces) == {"scan"}  # not the heuristic, nor the bound
    high = traces["scan"]["y"]
    assert high[0] == 100 and high == sorted(high, reverse=True)
    # three instances: gap 0 (even), at most 2/12 (wide, between 10 and 12), and 1 (lost)
    assert high[-1] == pytest.approx(100 * (0 + 2 / 12 + 1) / 3, abs=1e-3)
    low = figure["csv"].splitlines()[-1].split(",")
    assert float(low[2]) == pytest.approx((0 + 0 + 1) / 3)
    bounds = json.loads(Reader(page).unpacked("figure-dual-gap-toy"))
    assert {trace.get("name") for trace in bounds["traces"]} >= {"scan", "below"}


def test_older_results_are_named_at_the_top_or_shown(tmp_path):
    store(tmp_path, toy(2), "scan", kind="exact", objective=2.0, bound=2.0, code="b" * 12,
          started="2026-01-02T00:00:00+00:00")  # fmt: skip
    store(tmp_path, toy(2), "first", objective=2.0, code="a" * 12,
          started="2026-01-01T00:00:00+00:00")  # fmt: skip
    text = report.write_report([tmp_path]).read_text(encoding="utf-8")
    assert "1 result is of older code: left out" in text
    assert text.index("of older code") < text.index('id="family-1"')
    text = report.write_report([tmp_path], older=True).read_text(encoding="utf-8")
    assert "of older code" not in text and ">first<" in text


# --- numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (1.0, 1.0, "1"),
        (1.5, 1.5, "1.500"),
        (1.00004, 1.00004, "1.00004"),
        (1.23456, 1.23411 * 1.01, "1.234 – 1.247"),  # down, up
        (1.0, 1.2341, "≤ 1.235"),
        (1.1, 1.2 + 3e-16, "1.100 – 1.200"),  # round-off of a division is not a digit
        (1.0, 1.00000012, "≤ 1.000001"),
        (1.2349, math.inf, "≥ 1.234"),
        (1.0, math.inf, "–"),
        (math.nan, math.nan, "–"),
        (math.inf, math.inf, "∞"),
    ],
)
def test_a_ratio_is_rounded_outwards(low, high, text):
    assert words.ratio_text(low, high) == text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (1.0, "0 %"),
        (1.2, "20 %"),
        (1.00751, "0.76 %"),
        (1.0000001, "0.00001 %"),
        (3.456, "245.6 %"),
        (1.21 + 3e-16, "21 %"),
    ],
)
def test_a_gap_in_per_cent_is_rounded_up(ratio, text):
    assert words.percent_above(ratio) == text


# --- repetitions and wrong results ----------------------------------------------------------------


def test_repetitions_of_one_instance_count_once_in_the_headline(tmp_path):
    """2 (twice, on two computers) and 4 times the optimum: 3 on average over two instances."""
    for name, value in {"a": 20, "b": 40}.items():
        instance = toy(value, 10, name=name)
        store(tmp_path, instance, "first", objective=float(value))
        store(tmp_path, instance, "scan", kind="exact", objective=10.0, bound=10.0, place=1)
    store(tmp_path, toy(20, 10, name="a"), "first", objective=20.0, key="again")
    found = collect(Run(tmp_path))
    assert headline(found)[1] == [
        "The paper’s algorithm first is 3.000 times the optimum on average, at worst 4.000 times. "
        "On 1 instance it exceeds its guarantee although the assumptions hold."
    ]
    (row,) = [dict(zip([name for name, _ in table.columns], each, strict=True))
              for table in (overview_table(found),) for each in table.rows]  # fmt: skip
    assert (row["mean ratio"].text, row["n"].text) == ("3.000", "2")


def test_a_guarantee_exceeded_twice_on_one_instance_is_exceeded_on_one(tmp_path):
    instance = toy(30, 10)
    store(tmp_path, instance, "first", objective=30.0)
    store(tmp_path, instance, "first", objective=30.0, key="again")
    store(tmp_path, instance, "scan", kind="exact", objective=10.0, bound=10.0, place=1)
    (sentence,) = headline(collect(Run(tmp_path)))[1]
    assert "On 1 instance it exceeds" in sentence


def test_a_refuted_bound_proves_no_optimum(tmp_path):
    """`scan` claims that 20 is the least; `first` has a schedule of 10."""
    instance = toy(10, 20)
    store(tmp_path, instance, "first", objective=10.0)
    store(tmp_path, instance, "scan", kind="exact", objective=20.0, bound=20.0, place=1,
          status="optimal")  # fmt: skip
    head, (sentence,) = headline(collect(Run(tmp_path)))
    assert head == "1 instance of toy: with a schedule that refutes a bound."
    assert sentence == ("The paper’s algorithm first is at an unknown distance from the optimum.")


def test_an_instance_that_a_method_does_not_support_does_not_turn_its_sentence_round(tmp_path):
    store(tmp_path, toy(20, 10), "first", objective=20.0)
    store(tmp_path, toy(20, 10), "scan", kind="exact", objective=10.0, bound=10.0, place=1)
    other = toy(5, 10, sense="max", name="z")
    store(tmp_path, other, "first", outcome="skipped", message="only for sense=min")
    (sentence,) = headline(collect(Run(tmp_path)))[1]
    assert sentence == "The paper’s algorithm first is 2.000 times the optimum."


def test_wrong_results_of_a_method_are_in_its_sentence(tmp_path):
    good, bad = toy(20, 10, name="good"), toy(30, 10, name="bad")
    for instance in (good, bad):
        store(tmp_path, instance, "scan", kind="exact", objective=10.0, bound=10.0, place=1)
    store(tmp_path, good, "mine", objective=20.0, own=True)
    store(tmp_path, bad, "mine", outcome="invalid", message="no place 7", own=True)
    (sentence,) = headline(collect(Run(tmp_path)))[1]
    assert sentence == (
        "Your own mine is 2.000 times the optimum, on the instances with a schedule (1 of 2). "
        "On 1 instance its result is wrong."
    )


def test_a_sentence_has_the_digits_of_the_table_that_it_comments_on(tmp_path, capsys):
    """19.3 / 14 = 1.37857..., and the bound leaves 14 / 12.3 = 1.13821..."""
    instance = toy(14, 19.3)
    store(tmp_path, instance, "scan", kind="exact", objective=14.0, bound=12.3)
    store(tmp_path, instance, "first", objective=19.3)
    assert command_line(["show", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "1.3785 to 1.5692" in text and "is 1.3785 to 1.5692 times the optimum" in text
    assert "<= 1.1383" in text and "within 13.83 % of the optimum" in text
    page = " ".join(Reader(report.write_report([tmp_path]).read_text(encoding="utf-8")).text)
    assert "1.378 – 1.570" in page and "is 1.378 to 1.570 times the optimum" in page
    assert "within 13.9 % of the optimum" in page
