"""Figures show themselves in plain notebooks, and are saved by one call."""

import base64
import re

import numpy as np
import plotly.io
import pytest
from browser import PATIENCE, SEEN, needs_chromium, seen_of
from plotly.offline import get_plotlyjs

import schedgap
from schedgap.analysis.plots import charts, curves
from schedgap.errors import InputError, UsageError
from schedgap.models.family import Bar, Chart

CHART = Chart(("gpu",), (Bar("gpu", 0, 2, "J1", "J1"), Bar("gpu", 2, 3, "J2", "J2")), "s")
FIGURES = {
    "gantt": lambda: charts.gantt(CHART, CHART, ("a", "$b")),
    "progress": lambda: curves.progress_figure({"m": [(0.1, 5.0, None), (0.5, 4.0, 3.0)]}),
    "ratios": lambda: curves.ratio_distribution({"m": [("i", 1.0, 1.0), ("j", 1.1, 1.3)]}),
    "profile": lambda: curves.performance_profile({"m": [(1.0, 0.5), (2.0, 1.0)]}),
    "times": lambda: curves.time_profile({"m": [(0.1, 0.5), (2.0, 1.0)]}),
    "gaps": lambda: curves.gap_figure({"m": [(0.1, 1.0, 1.0), (1.0, 0.1, 0.2)]}),
}


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("kind", ["pdf", "svg", "png", "html"])
def test_a_figure_is_saved_in_each_format(tmp_path, name, kind):
    file = FIGURES[name]().save(tmp_path / f"figure.{kind}")
    head = file.read_bytes()[:200].lstrip()
    marks = {"pdf": b"%PDF", "svg": b"<?xml", "png": b"\x89PNG", "html": b"<html"}
    assert marks[kind] in head
    assert file.stat().st_size > 2000


def test_an_unknown_format_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"figure.gif: cannot be saved: need one of .pdf"):
        FIGURES["gantt"]().save(tmp_path / "figure.gif")


@pytest.mark.parametrize("kind", ["png", "html"])
def test_a_figure_that_cannot_be_written_is_one_line(tmp_path, kind):
    figure, old = FIGURES["gaps"](), tmp_path / f"old.{kind}"
    with pytest.raises(InputError, match=r"figure.\w+: cannot be written: no such file"):
        figure.save(tmp_path / "none" / f"figure.{kind}")
    old.mkdir()
    with pytest.raises(InputError, match=r"old.\w+: cannot be written: "):
        figure.save(old)
    assert [each.name for each in tmp_path.iterdir()] == [old.name]  # nothing half written
    with pytest.raises(UsageError, match="file None: need"):
        figure.save(None)


def test_a_gap_on_paper_has_the_same_curves():
    figure = FIGURES["gaps"]()
    (pane,) = charts.gantt(CHART)._draw().axes  # drawn by Matplotlib, and not converted
    assert len(pane.collections) == 2
    from schedgap.analysis.plots.figure import on_paper

    (pane,) = on_paper(figure).axes
    assert [line.get_ydata().tolist() for line in pane.lines] == [[100, 20], [100, 10]]
    assert pane.get_xscale() == "log" and pane.get_xlabel() == "wall-clock time (s)"


@pytest.fixture
def chosen_by_nobody(monkeypatch):
    """Leave the renderer to the figure."""
    monkeypatch.delenv("PLOTLY_RENDERER", raising=False)
    monkeypatch.setattr(plotly.io.renderers, "default", "plotly_mimetype")


def test_without_a_chosen_renderer_a_figure_brings_html_and_a_picture(chosen_by_nobody):
    bundle = FIGURES["gantt"]()._repr_mimebundle_()
    assert "application/vnd.plotly.v1+json" in bundle
    assert "Plotly.newPlot" in bundle["text/html"]
    assert base64.b64decode(bundle["application/pdf"]).startswith(b"%PDF")
    (picture,) = re.findall(r'src="data:image/png;base64,(.*?)"', bundle["text/html"])
    assert base64.b64decode(picture).startswith(b"\x89PNG")
    assert "image/png" not in bundle  # JupyterLab would show that and no interactive figure


@pytest.mark.parametrize("name", FIGURES)
def test_what_a_notebook_keeps_of_a_figure_is_small(name, chosen_by_nobody):
    """Less than 200 kB each; plotly.js would be 4 MB."""
    bundle = FIGURES[name]()._repr_mimebundle_()
    assert 10_000 < len(bundle["text/html"]) < 150_000
    assert len(bundle["application/pdf"]) < 50_000


def test_a_figure_with_parts_that_matplotlib_does_not_draw_has_no_picture(
    chosen_by_nobody, tmp_path
):
    for trace, said in (
        ({"type": "pie", "values": [1, 2]}, "no picture: pie traces are drawn in a browser only"),
        ({"type": "heatmap", "z": [[1, "x"]]}, "no picture: Matplotlib cannot draw it"),
    ):
        figure = schedgap.Figure([trace])
        bundle = figure._repr_mimebundle_()
        assert "application/pdf" not in bundle and "<img" not in bundle["text/html"]
        assert "<p>This figure needs scripts and a network.</p>" in bundle["text/html"]
        assert "Plotly.newPlot" in bundle["text/html"]
        with pytest.raises(UsageError, match=said):
            figure.save(tmp_path / "it.png")


def test_a_figure_of_arrays_has_a_picture_and_one_without_x_too(chosen_by_nobody):
    for x in (np.array([1, 2]), np.array(["2020-01", "2020-02"]), None):
        figure = schedgap.Figure()
        figure.add_scatter(x=x, y=np.array([3.5, 4.5]))
        bundle = figure._repr_mimebundle_()
        assert "application/pdf" in bundle
        assert "Plotly.newPlot" in bundle["text/html"]


COUNTED = """
addEventListener("load", async () => {
  await until(() => document.querySelector(".main-svg"));
  const seen = [document.images.length, document.querySelectorAll(".main-svg").length];
  document.body.dataset.seen = JSON.stringify(seen);
});
"""


@needs_chromium
@pytest.mark.parametrize(("library", "seen"), [(False, [1, 0]), (True, [0, 3])])
def test_a_page_without_a_network_has_the_picture(chosen_by_nobody, browse, library, seen):
    part = FIGURES["gantt"]()._repr_mimebundle_()["text/html"]
    loaded = f"<script>{get_plotlyjs()}</script>" if library else ""
    short = PATIENCE.replace("2000", "50")
    page = f"<!doctype html><body>{loaded}{part}<script>{short}{COUNTED}</script></body>"
    assert seen_of(browse(page, SEEN)) == seen


def test_a_figure_that_is_shown_is_displayed_with_html(monkeypatch, chosen_by_nobody):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda data, raw: shown.append(data))
    schedgap.Figure([{"type": "scatter", "x": [1, 2], "y": [3, 4]}]).show()
    (data,) = shown
    assert "Plotly.newPlot" in data["text/html"] and "application/pdf" in data


def test_a_chosen_renderer_is_used(monkeypatch):
    monkeypatch.setenv("PLOTLY_RENDERER", "json")
    monkeypatch.setattr(plotly.io.renderers, "default", "json")
    assert set(FIGURES["gantt"]()._repr_mimebundle_()) == {"application/json"}
