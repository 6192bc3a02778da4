"""Plotly figures drawn with Matplotlib have their values, places, colours and names."""

import json

import numpy as np
import plotly.graph_objects as go
import pytest
from matplotlib.colors import to_rgba
from plotly.subplots import make_subplots

import schedgap
from schedgap.analysis.plots.on_paper import on_paper
from schedgap.errors import UsageError


def texts(pane):
    return [text.get_text() for text in pane.texts]


def ticks(pane, which):
    return [text.get_text() for text in getattr(pane, f"get_{which}ticklabels")()]


def test_heat_maps_in_panes_with_shared_names():
    figure = make_subplots(
        figure=schedgap.Figure(), rows=1, cols=2, shared_yaxes=True, subplot_titles=("a", "b<br>c")
    )
    for column, scale in ((1, "Blues"), (2, "Oranges")):
        figure.add_heatmap(
            z=[[1, 2, np.nan], [4, 5, 6]], x=["1", "2", "5"], y=["4", "8"], colorscale=scale,
            text=np.array([[1, 2, 3], [4, 5, 6]]), texttemplate="%{text} s", showscale=False,
            row=1, col=column,
        )  # fmt: skip
    figure.update_xaxes(type="category").update_yaxes(type="category", col=1)
    again = go.Figure(json.loads(figure.to_json()))  # its arrays are encoded
    for each in (figure, again):
        left, right = on_paper(each).axes
        assert (left.get_title(), right.get_title()) == ("a", "b\nc")
        assert texts(left) == texts(right) == ["1 s", "2 s", "4 s", "5 s", "6 s"]
        assert ticks(left, "x") == ["1", "2", "5"] and ticks(left, "y") == ["4", "8"]
        assert left.get_ylim() == right.get_ylim() == (-0.5, 1.5)
        (mesh,) = left.collections
        assert mesh.get_array().filled(-1).tolist() == [[1, 2, -1], [4, 5, 6]]
        assert mesh.to_rgba(6)[2] > mesh.to_rgba(6)[0]  # blue


def test_one_colour_axis_is_one_scale_and_reversed_axes_are():
    figure = make_subplots(figure=schedgap.Figure(), rows=2, cols=1, shared_xaxes=True)
    for row in (1, 2):
        figure.add_heatmap(
            z=[[row, 10 * row, 5][: row + 1]], y=["m"], coloraxis="coloraxis", row=row, col=1
        )
    figure.update_layout(coloraxis={"colorscale": "Blues", "colorbar": {"title": "price"}})
    figure.update_yaxes(autorange="reversed")
    drawn = on_paper(figure)
    upper, lower, bar = drawn.axes
    assert [pane.collections[0].get_clim() for pane in (upper, lower)] == [(1, 20), (1, 20)]
    assert bar.get_ylabel() == "price"
    drawn.draw_without_rendering()  # lays the panes out
    heights = [pane.get_position().height for pane in (upper, lower)]
    assert heights[0] == pytest.approx(heights[1], rel=0.02)
    assert upper.yaxis_inverted() and upper.get_position().y0 > lower.get_position().y1
    assert upper.get_xlim() == lower.get_xlim() == (-0.5, 2.5)


def test_horizontal_bars_are_stacked_from_the_top():
    colors = (("a", 1, "#BBBBBB"), ("b", 3, "rgba(255,0,0,0.5)"))
    bars = [go.Bar(name=name, y=["p", "q"], x=[length, 2], orientation="h", marker_color=color)
            for name, length, color in colors]  # fmt: skip
    figure = schedgap.Figure(bars, {"barmode": "stack", "yaxis": {"autorange": "reversed"}})
    drawn = on_paper(figure)
    (pane,) = drawn.axes
    assert [(bar.get_x(), bar.get_width()) for bar in pane.patches] == [
        (0, 1), (0, 2), (1, 3), (2, 2),
    ]  # fmt: skip
    assert pane.patches[2].get_facecolor() == (1, 0, 0, 0.5)
    assert ticks(pane, "y") == ["p", "q"] and pane.yaxis_inverted()
    (legend,) = drawn.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b"]


def test_bars_of_one_place_stand_side_by_side_with_their_errors():
    figure = schedgap.Figure()
    for height in (1, 2):
        figure.add_bar(x=["p", "q"], y=[height, 4], error_y={"type": "data", "array": [0.5, 0]})
    (pane,) = on_paper(figure).axes
    left = [round(bar.get_x(), 3) for bar in pane.patches]
    assert left == [-0.4, 0.6, 0, 1]
    (ends, _) = pane.collections[0].get_segments()
    assert ends.tolist() == [[-0.2, 0.5], [-0.2, 1.5]]


def test_lines_across_a_pane_and_what_they_are_called():
    figure = schedgap.Figure()
    figure.add_scatter(x=[4, 6], y=[1.2, 1.4], line={"dash": "dot", "color": "#EE6677"})
    figure.add_hline(y=0.5, line_color="#888888", annotation_text="the claim")
    figure.add_vrect(x0=4.5, x1=5, fillcolor="red", opacity=0.2, line_width=0)
    figure.update_layout(yaxis={"title": "mean $ratio$"}, xaxis={"tickvals": [0, 4, 6]})
    (pane,) = on_paper(figure).axes
    curve, line = pane.lines
    assert curve.get_linestyle() == ":" and curve.get_color() == to_rgba("#EE6677")
    assert list(curve.get_ydata()) == [1.2, 1.4] and list(line.get_ydata()) == [0.5, 0.5]
    assert pane.get_ylim()[0] < 0.5 and texts(pane) == ["the claim"]
    assert (pane.patches[0].get_x(), pane.patches[0].get_width()) == (4.5, 0.5)
    assert pane.get_ylabel() == r"mean \$ratio\$" and ticks(pane, "x") == ["0", "4", "6"]
    assert pane.get_xlim()[0] == 3.9  # as without the tick at 0


def test_marks_have_their_symbols_and_a_second_axis_its_side():
    figure = schedgap.Figure()
    marker = {"symbol": ["x", "circle-open"], "color": ["red", "blue"]}
    figure.add_scatter(x=[1, 2], y=[3, 4], mode="markers", marker=marker)
    figure.add_scatter(x=[1, 2], y=[30, 40], yaxis="y2", mode="lines")
    figure.update_layout(yaxis2={"overlaying": "y", "side": "right", "title": "second"})
    first, second = on_paper(figure).axes
    full, hollow = first.collections
    assert full.get_facecolors()[0].tolist() == [*to_rgba("red")]
    assert not len(hollow.get_facecolors())
    assert second.get_ylabel() == "second" and list(second.lines[0].get_ydata()) == [30, 40]


def test_a_figure_without_traces_is_drawn_and_a_map_is_refused():
    assert len(on_paper(schedgap.Figure()).axes) == 1
    with pytest.raises(UsageError, match="no picture: pie traces"):
        on_paper(go.Figure(go.Pie(values=[1])))
