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

from schedgap.analysis.plots.on_paper import on_paper
from schedgap.errors import UsageError
from schedgap.instances.arguments import a_path, checked
from schedgap.instances.records import write_bytes, write_text

if TYPE_CHECKING:
    from matplotlib import figure as matplotlib_figure

FORMATS = (".pdf", ".svg", ".png")
AUTOMATIC = ("", "plotly_mimetype")  # renderers that nobody chose
DOTS = 150  # dots per inch of the picture in a notebook
FITTING = "width: 100%; max-width: 800px"  # style of a picture in a notebook
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
    const layout = { margin: { t: 30, r: 30, b: 50, l: 60 }, ...figure.layout };
    Plotly.newPlot(place, figure.data, layout, { responsive: true });
  });
})();
</script>""")


class Figure(go.Figure):  # type: ignore[misc]
    """A Plotly figure that brings its own HTML, and can be saved for a paper.

    Without a chosen renderer, Plotly gives notebooks data that `jupyter nbconvert --to html` and
    notebooks without Plotly's extension leave out. This figure also gives them a PDF, for
    `jupyter nbconvert --to latex`, and HTML. The HTML is a picture, which the interactive figure
    replaces after plotly.js has been loaded from its server. Without a network, or without scripts,
    the picture remains. A renderer that was chosen, by `plotly.io.renderers.default` or
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

    @checked(file=a_path)
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
            If it has another suffix, or traces that Matplotlib does not draw.
        InputError
            If the file cannot be written.
        """
        path = Path(file)
        if path.suffix == ".html":
            write_text(path, self.to_html())
        elif path.suffix in FORMATS:
            content = io.BytesIO()
            self._on_paper().savefig(content, format=path.suffix[1:], dpi=200)
            write_bytes(path, content.getvalue())
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
        if paper:  # JupyterLab would show a PNG instead of the interactive figure
            data["application/pdf"] = paper
        return {**data, "text/html": self._page(picture), "text/plain": repr(type(self))}

    def _picture(self, kind: str) -> str:
        """Return the figure in Base64; empty if it has other parts than `on_paper` draws."""
        file = io.BytesIO()
        try:
            self._on_paper().savefig(file, format=kind, dpi=DOTS)
        except UsageError:
            return ""
        return base64.b64encode(file.getvalue()).decode()

    def _on_paper(self) -> "matplotlib_figure.Figure":
        """Return the figure as one of Matplotlib."""
        if self._draw is not None:
            return self._draw()
        try:
            return on_paper(self)
        except (AttributeError, KeyError, TypeError, ValueError) as error:  # values of any kind
            raise UsageError(
                f"no picture: Matplotlib cannot draw it ({error}): save .html"
            ) from error

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
