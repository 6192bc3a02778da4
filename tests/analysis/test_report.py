"""The report says what the run folder holds, in one file that asks nothing of the network."""

import base64
import gzip
import html
import json
import math
import re
from html.parser import HTMLParser

import pytest
import toy_family
from browser import PATIENCE, browse, needs_chromium
from toy_family import toy

from schedgap import show
from schedgap.analysis.comparing.run import Run
from schedgap.analysis.records.folder import Folder
from schedgap.analysis.report import page as report
from schedgap.analysis.report import pictures, words
from schedgap.analysis.report.headline import headline, trouble
from schedgap.analysis.report.results import collect
from schedgap.analysis.report.tables import overview_table, pairs_table, summary_table
from schedgap.errors import InputError
from strategies.hare_examples import THREE_UNIT_TASKS

HOSTILE = "</script><script>document.title='pwned'</script><img src=x onerror=alert(1)>\"'&%{x}"


def store(run, instance, method, *, objective=None, bound=None, place=0, proof="tree", **more):
    """Put one record into a run folder, as a comparison would."""
    folder = Folder(run)
    folder.create()
    folder.store_instance(instance)
    kind, status = more.pop("kind", "algorithm"), more.pop("status", "feasible")
    sense = getattr(instance, "sense", "min")
    outcome = more.get("outcome", "done")
    schedule = more.pop("schedule", {"place": place})
    solution = {
        "family": instance.family, "version": 1, "instance": instance.name,
        "instance_sha256": instance.sha256, "method": method, "engine": None, "kind": kind,
        "options": {}, "seed": None, "status": status, "sense": sense, "objective": objective,
        "bound": bound, "seconds": 0.25, "schedule": None if objective is None else schedule,
        "trace": {}, "versions": {}, "proof": {"kind": proof},
    }  # fmt: skip
    key = f"{instance.sha256[:8]}-{method}"
    folder.store(
        {
            "key": key, "outcome": outcome, "message": "", "method": method, "label": method,
            "instance": {
                "name": instance.name, "family": instance.family, "sha256": instance.sha256
            },
            "kind": kind, "engine": None, "options": {"log": ""}, "seed": None, "problem": "",
            "sense": sense, "time_limit": 60.0, "versions": {"schedgap": "0.1.0"},
            "solution": None if objective is None and bound is None else solution,
        } | more
    )  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return a run of four instances.

    even: 10 proved, `first` 15 = 1.5 times. wide: best 12, bound 10, so within 20 %; `first` 15 is
    between 15 / 12 = 1.25 and 15 / 10 = 1.5 times. free: 7 without a bound. lost: nothing.
    """
    folder = tmp_path_factory.mktemp("report") / "run"
    even, wide = toy(15, 10, name=HOSTILE), toy(15, 12, 10.5, name="wide")
    free, lost = toy(7, 8, name="free"), toy(1, name="lost")
    store(folder, even, "scan", kind="exact", objective=10.0, bound=10.0, place=1, status="optimal",
          progress=[[0.1, 15.0, None], [0.2, 10.0, 9.0], [0.25, 10.0, 10.0]])  # fmt: skip
    store(folder, wide, "scan", kind="exact", objective=12.0, bound=10.0, place=1)
    store(folder, even, "first", objective=15.0)
    store(folder, wide, "first", objective=15.0)
    store(folder, free, "first", objective=7.0)
    store(folder, even, "below", kind="bound", bound=9.75, status="bound")
    store(folder, lost, "scan", kind="exact", outcome="timeout", message=f"stopped: {HOSTILE}")
    store(folder, lost, "picky", kind="exact", outcome="skipped", message="needs three values")
    return folder


@pytest.fixture(scope="module")
def page(run):
    toy_family.register()
    try:
        return report.write_report([run], run / "report.html").read_text(encoding="utf-8")
    finally:
        toy_family.unregister()


class Reader(HTMLParser):
    """Collects elements, attributes and the text of scripts, and checks that all are closed."""

    VOID = frozenset({"meta", "input", "path", "link", "br", "img"})

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.scripts, self.rows, self.text = [], [], [], [], []
        self.packed = {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        attributes = self.elements[-1][1] if self.elements else {}
        if attributes.get("type") == "application/gzip" and "script" in self.open:
            self.packed.setdefault(attributes["id"], []).append(text)
        elif "script" in self.open:
            self.scripts.append(text)
        elif "style" not in self.open:
            self.text.append(text)
            if {"td", "th"} & set(self.open):
                self.rows[-1][-1] += text

    def data(self):
        return json.loads(next(text for text in self.scripts if text.startswith('{"figures"')))

    def unpacked(self, key):
        """Return a text that the page unpacks when it shows it."""
        (text,) = self.packed[f"packed-{key}"]
        return gzip.decompress(base64.b64decode(text)).decode()


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


def test_one_schedule_is_optimal_and_several_are_always_so(tmp_path):
    for value, always in ((2, ""), (3, "always ")):
        instance = toy(value, name=str(value))
        store(tmp_path, instance, "first", objective=float(value), bound=float(value))
        _, (sentence,) = headline(collect(Run(tmp_path)))
        assert sentence == f"The paper’s algorithm first is {always}optimal."


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
    assert "\n".join(["", head, *sentences, ""]) in capsys.readouterr().out


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


@pytest.mark.parametrize(("proof", "said"), [("engine", False), ("engines", False),
                                             ("none", False), ("certificate", True)])  # fmt: skip
def test_an_optimum_without_a_proof_is_not_called_proved(tmp_path, proof, said):
    store(tmp_path, toy(2), "scan", kind="exact", objective=2.0, bound=2.0, status="optimal",
          proof=proof)  # fmt: skip
    end = "proved optimal" if said else "optimal without a proof"
    assert headline(collect(Run(tmp_path)))[0] == f"1 instance of toy: {end}."


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
    assert row[3:6] == ["≥ 1.250", "3", "≥ 1.500"]
    assert "limit" in {attributes.get("class") for _, attributes in reader.elements}


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
        "1 instance of toy: solved only as a variant of the problem.", []
    )  # fmt: skip


def test_more_bars_than_a_page_carries_are_left_out_with_a_note(run, monkeypatch):
    monkeypatch.setattr(pictures, "MAX_BARS", 3)  # of 5 schedules with one bar each
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
    # of three instances: gap 0 (even), at most 2/12 (wide, between 10 and 12), and 1 (lost)
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
        (3.456, "246 %"),
        (1.21 + 3e-16, "21 %"),
    ],
)
def test_a_gap_in_per_cent_is_rounded_up(ratio, text):
    assert words.percent_above(ratio) == text


# --- in a browser --------------------------------------------------------------------------------

ALL_DRAWN = """
const drawn = () => document.querySelectorAll(".plot .main-svg").length;
addEventListener("load", () => until(() => drawn() >= 12));
"""


@needs_chromium
def test_a_browser_draws_all_figures_and_reports_no_error(page, tmp_path):
    patient = page.replace("</body>", f"<script>{PATIENCE}{ALL_DRAWN}</script></body>")
    done = browse(patient, tmp_path, "--dump-dom")
    assert done.stdout.count('class="main-svg"') >= 12  # two or more for each of six figures
    assert (
        len(re.findall(r'<g class="trace bars"', done.stdout)) == 2
    )  # two schedules, one bar each
    assert "<title>schedgap:" in done.stdout  # the hostile names did not change it
    assert "scan: 10, optimal" in done.stdout
    assert not re.findall(r"CONSOLE.*(?:Error|Refused|violates)", done.stderr)


WIDTHS = [320, 360, 768, 1024, 1400, 1600]
MEASURED = """
addEventListener("load", () => setTimeout(() => {
  const root = document.documentElement;
  const tables = [...document.querySelectorAll("table[id]")];
  document.querySelectorAll("section > details").forEach((each) => { each.open = true; });
  setTimeout(() => {
    const clipped = tables.filter((each) =>
      each.offsetWidth > each.parentElement.clientWidth + 1).length;
    const summary = document.getElementById("summary-1");
    const row = summary.tBodies[0].rows[0], all = row.cells.length;
    const heads = summary.classList.contains("cards") ? 0
      : [...summary.tHead.rows[0].cells].filter((each) => each.offsetWidth).length;
    const fit = summary.parentElement.nextElementSibling;
    if (!fit.hidden) fit.querySelector("button").click();
    const cards = [...row.cells].slice(1).filter((each) =>
      !/^(none|normal)$/.test(getComputedStyle(each, "::before").content)).length;
    parent.found([innerWidth, root.scrollWidth - root.clientWidth, clipped,
      heads === all ? "whole" : cards === all - 1 ? "cards" : "cut"].join(" "));
  }, 200);
}, 500));
"""
FOUND = """
const all = [];
window.found = (text) => { all.push(text); document.title = all.join(", "); };
"""


@pytest.fixture(scope="module")
def widths(page, tmp_path_factory):
    """Return what a page found about its own width in frames of several widths.

    Frames, because headless windows themselves cannot be that narrow.
    """
    inner = html.escape(page.replace("</body>", f"<script>{MEASURED}</script></body>"))
    frames = "".join(
        f'<iframe srcdoc="{inner}" style="width:{width}px;height:900px;border:0"></iframe>'
        for width in WIDTHS
    )
    outer = f"<!doctype html><title>empty</title><script>{FOUND}</script><body>{frames}"
    done = browse(outer, tmp_path_factory.mktemp("widths"), "--dump-dom")
    found = re.search(r"<title>(.*?)</title>", done.stdout)[1].split(", ")
    return {int(each.partition(" ")[0]): each for each in found}


@needs_chromium
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_wider_than_the_screen(widths, width):
    assert widths[width].startswith(f"{width} 0 0 ")  # no table scrolls
    # either all columns are shown, or the cards, which one can ask for, have them
    assert widths[width].endswith("whole" if width == 1600 else "cards")


PRINTED = """
addEventListener("load", () => until(() => true));
addEventListener("beforeprint", () => {
  const plots = [...document.querySelectorAll(".plot")];
  const figures = plots.filter((each) => each.querySelector(".main-svg"));
  const widths = new Set(figures.map((each) => each.querySelector(".main-svg").clientWidth));
  console.log(`drawn ${figures.length} of ${plots.length}, ${[...widths]} wide`);
});
"""


@needs_chromium
def test_a_print_has_all_figures(page, tmp_path):
    """Also those that were never near the window, which is small."""
    patient = page.replace("</body>", f"<script>{PATIENCE}{PRINTED}</script></body>")
    paper = tmp_path / "page.pdf"
    done = browse(patient, tmp_path, "--window-size=800,300", f"--print-to-pdf={paper}")
    assert "drawn 6 of 6, 680 wide" in done.stderr
    assert len(re.findall(rb"/Type /Page\b", paper.read_bytes())) >= 3


ACTIONS = """
const saved = [], seen = {};
window.Blob = function (parts, { type }) { saved.push({ type, text: parts.join("") }); };
URL.createObjectURL = () => "#";
addEventListener("load", async () => {
  const pick = (id, text) => {
    const select = document.querySelector(id);
    select.value = [...select.options].find((each) => each.text.startsWith(text)).value;
    select.dispatchEvent(new Event("change"));
  };
  const rows = () => [...document.querySelectorAll("#every-result tbody tr")];
  const firsts = () => rows().filter((row) => !row.hidden).map((row) => row.cells[1].textContent);
  const head = [...document.querySelectorAll("#every-result thead button")]
    .find((button) => button.textContent.startsWith("objective"));
  const soon = async () => {
    for (let turn = 0; turn < 10; turn += 1) await wait();
  };
  head.click();
  await soon();
  seen.up = firsts();
  head.click();
  await soon();
  seen.down = firsts().slice(0, 2);
  const filter = document.querySelector("#filter");
  filter.value = "FIRST free";
  filter.dispatchEvent(new Event("input"));
  await soon();
  seen.filtered = firsts();
  seen.count = document.querySelector("#filter-count").textContent;
  const kind = document.querySelector("#filter-kind");
  filter.value = "";
  kind.value = "bound";
  kind.dispatchEvent(new Event("input"));
  await soon();
  seen.bounds = firsts();
  const details = document.querySelector('[data-figure="ratios-toy"] details');
  details.open = true;
  await soon();
  seen.values = details.querySelectorAll("tbody tr").length;
  const shown = async () => {
    const select = document.querySelector("#instance");
    await until(() => select.dataset.shown === select.value);
  };
  await shown();
  pick("#instance", "wide");
  await shown();
  const plot = document.querySelector('[data-figure="gantt"] .plot');
  seen.titles = plot.layout.annotations.map((each) => each.text);
  pick("#lower", "scan");
  seen.alone = plot.layout.annotations.map((each) => each.text);
  pick("#highlight", "job");
  pick("#lower", "first");
  seen.opacity = plot.data.map((each) => each.opacity);
  plot.emit("plotly_click", { points: [{ data: { legendgroup: "job" } }] });
  seen.highlight = document.querySelector("#highlight").selectedOptions[0].text;
  pick("#progress-method", "scan");
  seen.progress = document.querySelector('[data-figure="progress"] .plot').data.length;
  const buttons = [...document.querySelectorAll(".buttons button")];
  buttons.forEach((button) => button.click());
  await until(() => saved.length >= buttons.length);
  seen.csv = []; seen.svg = 0;
  for (const { type, text } of saved) {
    if (type === "text/csv") seen.csv.push(text.split("\\r\\n").slice(0, 2));
    else seen.svg += text.startsWith("<svg");
  }
  document.body.dataset.seen = JSON.stringify(seen);
});
"""


@needs_chromium
def test_sorting_filtering_choosing_and_saving_work(page, tmp_path):
    acting = page.replace("</body>", f"<script>{PATIENCE}{ACTIONS}</script></body>")
    done = browse(acting, tmp_path, "--dump-dom")
    seen = json.loads(html.unescape(re.search(r'data-seen="(.*?)"', done.stdout)[1]))
    # objectives 7 (free), 10 (even), 12 (wide), 15, 15, and three results without one at the end
    assert seen["up"][:3] == ["first", "scan", "scan"]
    assert seen["down"] == ["first", "first"]
    assert (seen["filtered"], seen["count"]) == (["first"], "1 of 8 results")
    assert seen["bounds"] == ["below"]
    assert seen["values"] == 5  # two results of `scan` and three of `first`
    assert seen["titles"] == ["scan: 12", "first: 15"]
    assert seen["alone"] == ["scan: 12"]  # one schedule beside itself is one chart
    assert seen["opacity"] == [1, 1]
    assert seen["highlight"] == "all"  # a second click on the highlighted group returns
    assert seen["progress"] == 2  # incumbent and bound
    assert seen["svg"] == 6
    assert ["schedule,lane,start,end,group,faint,text", "scan: 12,lane,0,1,job,false,text"] in (
        seen["csv"]
    )
    assert len(seen["csv"]) == 7


NARROWED = """
addEventListener("load", async () => {
  const find = (selector) => document.querySelector(selector);
  const results = find("#every-result");
  const clipped = () => results.offsetWidth - results.parentElement.clientWidth;
  const resize = (width) => new Promise((go) => {
    addEventListener("resize", go, { once: true });
    frameElement.style.width = width;
  });
  const seen = { before: clipped() };
  await resize("1px");
  await resize("900px");
  seen.after = clipped();
  seen.rank = find("#every-result tbody th").getAttribute("role");
  await resize("360px");
  const role = (selector) => find(`#every-result ${selector}`).getAttribute("role");
  seen.roles = [results.getAttribute("role"), ...["thead", "tbody", "tbody tr", "thead th",
    "tbody th", "tbody td"].map(role)];
  seen.bare = results.querySelectorAll("tr:not([role]), th:not([role]), td:not([role])").length;
  seen.heads = getComputedStyle(find("#every-result thead")).display;
  parent.document.body.dataset.seen = JSON.stringify(seen);
});
"""


@needs_chromium
def test_columns_are_left_out_again_after_a_window_was_closed_and_cards_remain_a_table(
    page, tmp_path
):
    inner = html.escape(page.replace("</body>", f"<script>{PATIENCE}{NARROWED}</script></body>"))
    frame = f'<iframe srcdoc="{inner}" style="width:900px;height:900px;border:0"></iframe>'
    done = browse(f"<!doctype html><title>empty</title><body>{frame}", tmp_path, "--dump-dom")
    seen = json.loads(html.unescape(re.search(r'data-seen="(.*?)"', done.stdout)[1]))
    assert (seen["before"], seen["after"]) == (0, 0)
    assert seen["rank"] is None  # a table that is one needs no roles
    assert seen["roles"] == [
        "table", "rowgroup", "rowgroup", "row", "columnheader", "rowheader", "cell"
    ]  # fmt: skip
    assert seen["bare"] == 0
    assert seen["heads"] != "none"  # screen readers name the cells by them


INKS = """
window.matchMedia = () => ({ matches: DARK, addEventListener() {} });
addEventListener("load", async () => {
  const marks = () => document.querySelectorAll("[data-figure^=ratios] .point, .js-line");
  await until(() => document.querySelectorAll("[data-figure^=profile] .js-line").length > 1);
  const inks = [...marks()].flatMap((each) => [each.style.fill, each.style.stroke]);
  document.body.dataset.seen = JSON.stringify(inks.filter((each) => /^rgb\\(/.test(each)));
});
"""


@needs_chromium
@pytest.mark.parametrize(("dark", "background"), [("true", "#161617"), ("false", "#ffffff")])
def test_lines_and_dots_stand_out_from_the_page(run, tmp_path, monkeypatch, dark, background):
    faint = ("#5E1C41", "#EBE4B4", "#134B1C", "#C2EBF8")
    monkeypatch.setattr(
        pictures, "method_colors",
        lambda name, methods: dict(zip(sorted(methods), faint, strict=False)),
    )  # fmt: skip
    text = report.write_report([run], tmp_path / "report.html").read_text(encoding="utf-8")
    script = f"<script>{PATIENCE}{INKS.replace('DARK', dark)}</script>"
    done = browse(text.replace("</style>", f"</style>{script}", 1), tmp_path, "--dump-dom")
    inks = json.loads(html.unescape(re.search(r'data-seen="(.*?)"', done.stdout)[1]))
    assert len(set(inks)) >= 3  # different colours remain different
    behind = luminance([int(background[place : place + 2], 16) for place in (1, 3, 5)])
    for ink in set(inks):
        pair = sorted((luminance([*map(int, re.findall(r"\d+", ink))]), behind))
        assert (pair[1] + 0.05) / (pair[0] + 0.05) >= 2.99, ink  # bytes are rounded


def luminance(parts):
    """Return the relative luminance of a colour, as WCAG 2.2 defines it."""
    shares = [part / 255 for part in parts]
    light = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in shares]
    return 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2]


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
