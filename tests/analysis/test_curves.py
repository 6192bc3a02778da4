"""Curves show the numbers that they are given, exact ones apart from bracketed ones."""

import math

from schedgap.analysis.plots import curves


def test_running_best_keeps_the_better_of_each():
    points = [(0.1, 10, None), (0.2, 12, 3), (0.3, None, 2), (0.4, 9, 5)]
    assert list(curves.running_best(points, "min")) == [
        (0.1, 10, None), (0.2, 10, 3), (0.3, 10, 3), (0.4, 9, 5),
    ]  # fmt: skip
    assert list(curves.running_best(points, "max"))[-1] == (0.4, 12, 2)


def test_progress_draws_incumbent_and_bound_in_one_colour():
    points = {"exact": [(1, 10, None), (2, 10, 7)], "relaxed": [(1, None, 6)]}
    figure = curves.progress_figure(points)
    incumbent, bound, other = figure.data
    assert (list(incumbent.x), list(incumbent.y)) == ([1, 2], [10, 10])
    assert (list(bound.x), list(bound.y)) == ([2], [7])
    assert incumbent.line.color == bound.line.color != other.line.color
    assert {incumbent.line.shape, bound.line.shape} == {"hv"}  # a value holds until the next


def test_ratio_distribution_tells_exact_bracketed_and_open_apart():
    figure = curves.ratio_distribution(
        {"hare": [("a", 1.5, 1.5), ("b", 1.20000099, 1.40000001), ("c", 1.1, math.inf)], "none": []}
    )
    lines, exact, open_ended = figure.data
    assert list(exact.x) == [1.5]
    assert list(lines.x) == [1.20000099, 1.40000001, None]
    assert lines.hovertext[0] == "b<br>hare<br>ratio 1.2 to 1.40001"  # rounded outwards
    assert list(open_ended.x) == [1.1]
    assert "at least 1.1" in open_ended.hovertext[0]
    assert figure.layout.yaxis.ticktext == ("hare", "none")


def test_performance_profile_is_in_per_cent():
    figure = curves.performance_profile({"a": [(1.0, 0.5), (2.0, 1.0)], "b": [(1.0, 0.5)]})
    assert list(figure.data[0].y) == [0, 50, 100, 100]
    assert list(figure.data[1].x) == [1.0, 1.0, 2.04]  # drawn to the right-hand edge


def test_time_profile_has_a_logarithmic_axis_and_no_instance_before_the_first():
    figure = curves.time_profile({"a": [(0.1, 0.5), (10.0, 1.0)], "none": []})
    assert (list(figure.data[0].x), list(figure.data[0].y)) == ([0.05, 0.1, 10, 12],
                                                                [0, 50, 100, 100])  # fmt: skip
    assert figure.layout.xaxis.type == "log" and list(figure.data[1].x) == []


def test_gap_figure_draws_a_band_where_the_gap_is_an_interval():
    figure = curves.gap_figure({"a": [(1, 0.5, 0.5)], "b": [(1, 0.25, 0.5), (2, 0, 0.125)]})
    exact, high, low = figure.data
    assert (list(exact.y), list(high.y), list(low.y)) == ([50], [50, 12.5], [25, 0])
    assert low.fill == "tonexty" and exact.fill is None
    assert high.line.color == low.line.color != exact.line.color
