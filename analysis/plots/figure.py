"""Plotly figures that a plain notebook shows, and that are saved as PDF, SVG, PNG or HTML."""

import base64
import io
import os
import uuid
from collections.abc import Callable
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go
import plotly.io
from plotly.offline import get_plotlyjs_version

from schedgap.errors import UsageError

if TYPE_CHECKING:
    from matplotlib import figure as matplotlib_figure

FORMATS = (".pdf", ".svg", ".png")
AUTOMATIC = ("", "plotly_mimetype")  # renderers that nobody chose
DASHES = {"dash": "--", "dot": ":"}
INCH = 100  # pixels


DOTS = 150  # per inch, of the picture in a notebook
FITTING = "width: 100%; max-width: 800px"  # of a picture in a notebook
ALT = "Figure; with a network and scripts it is interactive"
NO_PICTURE = "<p>This figure needs scripts and a network.</p>"
PAGE = Template("""<div id="$place">$picture</div>
<script>
(() => {
  const place = document.getElementById("$place"), figure = $figure;
  window.schedgapPlotly ??= window.Plotly ? Promise.resolve() : new Promise((done) => {
    const script = document.createElement("script");
    script.src = "$library";
    script.onload = done;
    document.head.append(script);
  });
  window.schedgapPlotly.then(() => {
    if (!window.Plotly) return;
    place.replaceChildren();
    Plotly.newPlot(place, figure.data, figure.layout, { responsive: true });
  });
})();
</script>""")


class Figure(go.Figure):  # type: ignore[misc]
    """A Plotly figure that brings its own HTML, and can be saved for a paper.

    Without a chosen renderer, Plotly gives notebooks data that `jupyter nbconvert --to html` and
    notebooks without Plotly's extension leave out. This figure also gives them a PDF, for
    `jupyter nbconvert --to latex`, and HTML: a picture, which the interactive figure replaces as
    soon as plotly.js has been loaded from its server. Without a network, or without scripts, the
    picture remains. A renderer that was chosen, by `plotly.io.renderers.default` or
    PLOTLY_RENDERER, is used.

    Parameters
    ----------
    *args, **kwargs
        As for `plotly.graph_objects.Figure`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._draw: Callable[[], matplotlib_figure.Figure] | None = None

    def drawn_by(self, draw: "Callable[[], matplotlib_figure.Figure]") -> "Figure":
        """Let `save` draw the figure with this function, and return the figure.

        Parameters
        ----------
        draw : callable
            Returns the same figure of Matplotlib.
        """
        self._draw = draw
        return self

    def save(self, file: str | os.PathLike[str]) -> Path:
        """Save the figure and return the path of the file.

        Parameters
        ----------
        file : path
            Its suffix is .pdf, .svg or .png, drawn with Matplotlib, or .html, a page that works
            without a network.

        Raises
        ------
        UsageError
            If it has another suffix.
        """
        path = Path(file)
        if path.suffix == ".html":
            self.write_html(path)
        elif path.suffix in FORMATS:
            drawn = on_paper(self) if self._draw is None else self._draw()
            drawn.savefig(path, dpi=200)
        else:
            raise UsageError(f"{file}: cannot be saved: need one of {', '.join(FORMATS)}, .html")
        return path

    def show(self, *args: Any, **kwargs: Any) -> None:
        """Show the figure, in a notebook as the result of a cell.

        Parameters
        ----------
        *args, **kwargs
            As for `plotly.graph_objects.Figure.show`.
        """
        if args or kwargs or not _automatic():
            super().show(*args, **kwargs)
        else:
            self._ipython_display_()

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None, validate: bool = True, **kwargs: Any
    ) -> Any:
        if not _automatic():
            return super()._repr_mimebundle_(include, exclude, validate, **kwargs)
        data = plotly.io.renderers["plotly_mimetype"].to_mimebundle(self.to_plotly_json())
        picture, paper = self._picture("png"), self._picture("pdf")
        if paper:  # no PNG: JupyterLab would show that instead of the interactive figure
            data["application/pdf"] = paper
        return {**data, "text/html": self._page(picture), "text/plain": repr(type(self))}

    def _picture(self, kind: str) -> str:
        """Return the figure in Base64; empty if it has other parts than `on_paper` draws."""
        usual = all(
            trace.type == "scatter" or (trace.type == "bar" and trace.orientation != "h")
            for trace in self.data
        )
        if self._draw is None and not (usual and "xaxis2" not in self.to_plotly_json()["layout"]):
            return ""
        file = io.BytesIO()
        try:
            drawn = on_paper(self) if self._draw is None else self._draw()
        except (KeyError, TypeError, ValueError):  # such as dates, or a trace without x
            return ""
        drawn.savefig(file, format=kind, dpi=DOTS)
        return base64.b64encode(file.getvalue()).decode()

    def _page(self, picture: str) -> str:
        """Return HTML that shows the picture until the interactive figure can be drawn."""
        image = f'<img alt="{ALT}" style="{FITTING}" src="data:image/png;base64,{picture}">'
        return PAGE.substitute(
            place=f"figure-{uuid.uuid4()}",
            picture=image if picture else NO_PICTURE,
            figure=self.to_json().replace("<", "\\u003c"),
            library=f"https://cdn.plot.ly/plotly-{get_plotlyjs_version()}.min.js",
        )

    def _ipython_display_(self) -> None:
        if not _automatic():
            super()._ipython_display_()
            return
        from IPython.display import display

        display(self._repr_mimebundle_(), raw=True)


def _automatic() -> bool:
    chosen = "PLOTLY_RENDERER" in os.environ
    return not chosen and (plotly.io.renderers.default or "") in AUTOMATIC


def on_paper(figure: go.Figure) -> "matplotlib_figure.Figure":
    """Return a figure of lines, points and bars as one of Matplotlib.

    Parameters
    ----------
    figure : plotly.graph_objects.Figure
        With scatter and bar traces on one pair of axes.
    """
    from matplotlib import figure as matplotlib_figure

    data = figure.to_plotly_json()
    layout = data["layout"]
    height = (layout.get("height") or 340) / INCH
    made = matplotlib_figure.Figure(figsize=(6.5, max(2.4, height)), layout="constrained")
    pane = made.subplots()
    previous: Any = None
    for trace, drawn in zip(data["data"], figure.data, strict=True):
        # arrays are encoded in the data
        previous = _draw_trace(pane, trace | {"x": drawn.x, "y": drawn.y}, previous)
    for which in ("x", "y"):
        _set_axis(pane, which, layout.get(f"{which}axis", {}))
    pane.spines[["top", "right"]].set_visible(False)
    handles, names = pane.get_legend_handles_labels()
    if names and layout.get("showlegend") is not False:
        made.legend(handles, names, loc="outside lower left", ncols=4, fontsize=7, frameon=False)
    return made


def _draw_trace(pane: Any, trace: dict[str, Any], previous: Any) -> Any:
    """Draw a trace and return its coordinates; a filled one is a band down to `previous`."""
    xs, ys = list(trace["x"]), [_number(y) for y in trace["y"]]
    name = _text(trace.get("name") or "") if trace.get("showlegend", True) else None
    line, marker = trace.get("line", {}), trace.get("marker", {})
    if trace["type"] == "bar":
        pane.bar([str(x) for x in xs], ys, 0.6, color=marker.get("color"), label=name)
        return xs, ys
    xs = [_number(x) for x in xs] if not any(isinstance(x, str) for x in xs) else xs
    mode = trace.get("mode", "lines")
    if "lines" in mode:
        style = "steps-post" if line.get("shape") == "hv" else "default"
        pane.plot(
            xs, ys, DASHES.get(line.get("dash", ""), "-"), drawstyle=style, linewidth=1.2,
            color=line.get("color"), label=name,
        )  # fmt: skip
        name = None
    if "markers" in mode:
        pane.scatter(
            xs, ys, s=12, c=marker.get("color", line.get("color")), alpha=0.8, label=name,
            linewidths=0,
        )  # fmt: skip
    if trace.get("fill") == "tonexty" and previous is not None:
        pane.fill_between(xs, ys, previous[1], color=line.get("color"), alpha=0.2, linewidth=0)
    return xs, ys


def _set_axis(pane: Any, which: str, axis: dict[str, Any]) -> None:
    log = axis.get("type") == "log"
    if log:
        getattr(pane, f"set_{which}scale")("log")
    if axis.get("range"):
        ends = [10.0**end if log else end for end in axis["range"]]
        getattr(pane, f"set_{which}lim")(*ends)
    if axis.get("tickvals") is not None:
        texts = [_text(text) for text in axis.get("ticktext", axis["tickvals"])]
        getattr(pane, f"set_{which}ticks")(list(axis["tickvals"]), texts, fontsize=7)
        getattr(pane, f"{which}axis").minorticks_off()
    title = (axis.get("title") or {}).get("text")
    getattr(pane, f"set_{which}label")(_text(title or ""), fontsize=8)
    pane.tick_params(axis=which, labelsize=7)


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)


def _text(text: object) -> str:
    """Return text for Matplotlib: no HTML entities, and dollar signs are no mathematics."""
    import html

    return html.unescape(str(text)).replace("$", r"\$").lstrip("_")
