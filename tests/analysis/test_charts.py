"""Charts show every bar where it belongs, and nothing else."""

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedgap.analysis.names import natural
from schedgap.analysis.plots import charts
from schedgap.models.family import Bar, Chart, Link, families
from schedgap.models.gantt import Span, stack

FIRST = Chart(
    lanes=("gpu-1", "gpu-2"),
    bars=(
        Bar("gpu-1", 0.0, 2.0, "J1", "J1, round 1, task 1"),
        Bar("gpu-1", 2.0, 2.5, "J1", "J1 synchronizes", soft=True),
        Bar("gpu-2", 1.0, 4.0, "J2", "J2, round 1, task 1"),
    ),
    unit="s",
)
SECOND = Chart(lanes=("gpu-1", "gpu-2"), bars=(Bar("gpu-2", 3.0, 7.0, "J2", "J2 again"),), unit="s")


def drawn(figure):
    """Return (axis, lane index, start, end, text) of every bar of a figure."""
    return {
        (trace.yaxis or "y", y, base, base + x, text.split("<br>")[0])
        for trace in figure.data
        if trace.type == "bar"
        for y, base, x, text in zip(trace.y, trace.base, trace.x, trace.hovertext, strict=True)
    }


def test_every_bar_is_drawn_on_its_lane_of_its_chart():
    assert drawn(charts.gantt(FIRST, SECOND, ("a", "b"))) == {
        ("y", 0, 0.0, 2.0, "J1, round 1, task 1"),
        ("y", 0, 2.0, 2.5, "J1 synchronizes"),
        ("y", 1, 1.0, 4.0, "J2, round 1, task 1"),
        ("y2", 1, 3.0, 7.0, "J2 again"),
    }


def test_links_lead_from_bar_to_bar_in_the_colour_of_their_group():
    links = (Link("J1", "gpu-1", 2.0, "gpu-2", 4.0), Link("J2", "gpu-2", 4.0, "gpu-2", 6.0))
    linked = replace(FIRST, links=links)
    figure = charts.gantt(linked, SECOND)
    assert drawn(figure) == drawn(charts.gantt(FIRST, SECOND))
    lines = {trace.legendgroup: trace for trace in figure.data if trace.type == "scatter"}
    assert lines["J1"].x == (2.0, 4.0, None) and lines["J1"].y == (0, 1, None)
    assert lines["J2"].y == (1, 1, None) and lines["J2"].yaxis == "y"
    bars = {trace.legendgroup: trace.marker.color for trace in figure.data if trace.type == "bar"}
    assert all(line.line.color == bars[group] for group, line in lines.items())
    assert not any(line.showlegend for line in lines.values())
    (pane,) = charts.gantt_matplotlib(linked).axes
    assert [line.get_xydata().tolist() for line in pane.lines] == [
        [[2.0, 0.0], [4.0, 1.0]],
        [[4.0, 1.0], [6.0, 1.0]],
    ]


def test_hover_says_when():
    first = charts.gantt(SECOND).data[0]
    assert first.hovertext == ("J2 again<br>3 to 7 s",)


def test_two_charts_share_one_time_axis():
    figure = charts.gantt(FIRST, SECOND)
    assert figure.layout.xaxis2.matches == "x"
    assert figure.layout.xaxis.range == figure.layout.xaxis2.range == (0.0, 7.0)
    assert figure.layout.yaxis.domain[0] > figure.layout.yaxis2.domain[1]


def test_a_group_has_one_colour_in_both_charts():
    by_group = {}
    for trace in charts.gantt(FIRST, SECOND).data:
        by_group.setdefault(trace.legendgroup, set()).add(trace.marker.color)
    assert set(by_group) == {"J1", "J2"}
    assert all(len(found) == 1 for found in by_group.values())
    assert by_group["J1"] != by_group["J2"]


def test_a_delay_is_fainter_than_work_and_leaves_the_lane_visible():
    hard, soft = (
        next(t for t in charts.gantt(FIRST).data if t.name == "J1" and (t.marker.opacity < 1) == w)
        for w in (False, True)
    )
    assert hard.offset + hard.width <= soft.offset  # side by side: neither hides the other


PARTS = Chart(
    ("s",),
    (
        Bar("s", 0, 4, "a", "two of four", share=0.5),
        Bar("s", 1, 3, "b", "one of four", share=0.25, offset=0.5),
        Bar("s", 5, 6, "a", "all"),
    ),
    "slot",
)


def test_a_bar_is_as_high_as_its_share_of_the_machine(tmp_path):
    a, b = charts.gantt(PARTS).data
    assert a.width == pytest.approx([0.42, 0.84]) and a.offset == pytest.approx([-0.42, -0.42])
    assert b.width == pytest.approx([0.21]) and b.offset == pytest.approx([0.0])
    (pane,) = charts.gantt_matplotlib(PARTS).axes
    found = {
        tuple(
            round(float(edge), 2) for edge in (path.vertices[:, 1].min(), path.vertices[:, 1].max())
        )
        for collection in pane.collections
        for path in collection.get_paths()
    }
    assert found == {(-0.42, 0.0), (-0.42, 0.42), (0.0, 0.21)}


def test_bars_that_fit_together_share_a_lane():
    spans = [
        Span(0, 4, "a", "", 0.5), Span(1, 3, "b", "", 0.25), Span(2, 5, "c", "", 0.5),
        Span(3, 6, "d", "", 0.5),
    ]  # fmt: skip
    lanes, bars = stack("s", spans, together=True)
    assert lanes == ["s", "s (2)"]
    assert [(bar.lane, bar.offset) for bar in bars] == [
        ("s", 0.0), ("s", 0.5), ("s (2)", 0.0), ("s", 0.5)
    ]  # fmt: skip
    apart, bars = stack("s", spans)
    assert len(apart) == 3 and all(bar.offset == 0 for bar in bars)


def test_the_first_lane_is_on_top():
    assert charts.gantt(FIRST).layout.yaxis.range == (1.5, -0.5)
    assert charts.gantt(FIRST).layout.yaxis.ticktext == ("gpu-1", "gpu-2")


def test_hostile_names_stay_text():
    hostile = "<a href='javascript:alert(1)'>x</a>"
    chart = Chart((hostile,), (Bar(hostile, 0, 1, hostile, hostile),), "s")
    figure = charts.gantt(chart, titles=(hostile,))
    (trace,) = figure.data
    shown = [trace.name, trace.hovertext[0].replace("<br>", ""), figure.layout.yaxis.ticktext[0]]
    assert all("<" not in text for text in [*shown, figure.layout.annotations[0].text])


def test_an_empty_schedule_has_a_picture():
    assert charts.gantt(Chart(("gpu-1",), (), "s")).layout.xaxis.range == (0, 1)
    assert charts.gantt(Chart((), (), "s")).to_json()


@given(st.sets(st.text(max_size=3)))
def test_colours_depend_only_on_the_set_of_names(names):
    assert charts.colors(sorted(names)) == charts.colors(sorted(names, reverse=True))


def test_eighteen_names_have_eighteen_colours():
    assert len(set(charts.colors(str(n) for n in range(18)).values())) == 18


def test_the_papers_algorithm_has_the_first_colour_and_every_method_its_own():
    for owner in families():
        found = charts.method_colors(owner.name, ["other:x=2", "other:x=10"])
        first = next(m.name for m in owner.methods if m.kind == "algorithm" and not m.ours)
        assert found[first] == charts.PALETTE[0]
        assert found["other:x=2"] != found["other:x=10"]
        heuristics = [found[m.name] for m in owner.methods if m.kind in ("algorithm", "baseline")]
        assert len(set(heuristics)) == len(heuristics)
        assert charts.method_colors(owner.name, []).items() <= found.items()


def test_natural_order_counts():
    assert sorted(["J10", "J2", "a", "J1"], key=natural) == ["J1", "J2", "J10", "a"]


def large_chart(lanes: int, bars: int) -> Chart:
    names = tuple(f"gpu-{m}" for m in range(lanes))
    each = (
        Bar(names[k % lanes], k // lanes, k // lanes + 0.9, f"J{k % 200}", f"task {k}")
        for k in range(bars)
    )
    return Chart(names, tuple(each), "s")


def test_a_cluster_of_160_lanes_and_23_000_bars_is_drawn_quickly():
    began = time.process_time()
    figure = charts.gantt(large_chart(160, 23_000))
    assert sum(len(trace.x) for trace in figure.data) == 23_000
    assert len(figure.data) == 200  # one trace for each group, not for each bar
    assert 800 <= figure.layout.height <= 1200
    assert len(figure.layout.yaxis.ticktext) <= 80  # names do not overlap
    assert time.process_time() - began < 10


@pytest.mark.parametrize("kind", ["pdf", "svg"])
def test_matplotlib_draws_the_same_bars_for_a_paper(tmp_path, kind):
    figure = charts.gantt_matplotlib(FIRST, SECOND, ("$a_1", "b"))
    top, below = figure.axes
    spans = sorted(
        (path.vertices[:, 0].min(), path.vertices[:, 0].max())
        for collection in top.collections
        for path in collection.get_paths()
    )
    assert spans == [(0.0, 2.0), (1.0, 4.0), (2.0, 2.5)]
    assert top.get_xlim() == below.get_xlim() == (0.0, 7.0)
    figure.savefig(tmp_path / f"chart.{kind}")
    assert (tmp_path / f"chart.{kind}").stat().st_size > 1000
