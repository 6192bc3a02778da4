"""Explore a family: settings of an instance, the paper's algorithm and the optimum side by side."""

import base64
import html
import tempfile
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from schedgap.analysis.comparing.judged import ratio
from schedgap.analysis.plots.figure import FITTING, Figure
from schedgap.analysis.records.ratios import RatioInterval
from schedgap.analysis.results.solution import Solution
from schedgap.analysis.solving import live
from schedgap.analysis.solving.solve import solve
from schedgap.errors import InputError, SchedgapError, UsageError
from schedgap.instances.arguments import a_text, checked, positive
from schedgap.instances.generate import generate, presets, small_preset
from schedgap.instances.instance import Instance
from schedgap.instances.settings import Option
from schedgap.models.family import family

MAIN = ("jobs", "servers", "edge_servers", "machines", "gpus")  # settings that have a slider
LARGEST_SEED = 20


class Explorer:
    """An instance with a schedule of an algorithm, next to one of another method.

    A notebook shows sliders above the picture if ipywidgets is installed, and otherwise the picture
    alone; `redraw` does what the sliders do. Created by `explore`.

    Attributes
    ----------
    instance : Instance
    solution, reference : Solution
        Of the algorithm, and of the method that it is compared with.
    ratio : RatioInterval or None
        Of the algorithm to the optimum; None without a schedule.
    figure : plotly.graph_objects.Figure or None
        Gantt charts of both schedules; None without a schedule.
    """

    instance: Instance
    solution: Solution
    reference: Solution
    ratio: RatioInterval | None
    figure: Figure | None

    def __init__(
        self, name: str, preset: str, method: str, against: str, time_limit: float
    ) -> None:
        self._name, self._preset = name, preset
        self._methods, self._time_limit = (method, against), time_limit
        self._drawn: tuple[int, Mapping[str, object]] | None = None

    def redraw(self, seed: int = 1, **settings: object) -> "Explorer":
        """Generate another instance, solve it with both methods, and return the explorer.

        Parameters
        ----------
        seed : int
            Seed of the generator, >= 0.
        **settings
            Settings of the preset, such as `jobs=8`.
        """
        if self._drawn == (seed, settings):
            return self
        self._drawn = None
        instance = generate(self._name, preset=self._preset, seed=seed, settings=settings)
        self.solution, self.reference = (
            solve(instance, method, time_limit=self._time_limit, on_message=_ignore)
            for method in self._methods
        )
        self.instance, self.ratio, self.figure = instance, None, None
        if self.solution.schedule is not None:
            self.ratio = ratio(self.solution, self.reference)
            below = None if self.reference.schedule is None else self.reference
            self.figure = self.solution.gantt(compare_with=below)
        self._drawn = seed, settings
        return self

    def __repr__(self) -> str:
        first, second = (
            f"{solution.method} {solution.status} " + ("-" if value is None else f"{value:.10g}")
            for solution in (self.solution, self.reference)
            for value in (None if solution.schedule is None else solution.objective,)
        )
        known = f"ratio to the optimum {self.ratio or 'unknown'}"
        return f"{self.instance.name}: {first}; {second}; {known}"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self))}</p>{self._picture()}"

    def _picture(self) -> str:
        """Return the figure as an image that needs no script."""
        if self.figure is None:
            return ""
        with tempfile.TemporaryDirectory() as folder:
            data = self.figure.save(Path(folder) / "gantt.png").read_bytes()
        code = base64.b64encode(data).decode()
        return f'<img alt="Gantt charts" style="{FITTING}" src="data:image/png;base64,{code}">'

    def _ipython_display_(self) -> None:
        """Show the picture and, where there are widgets, sliders that take its place.

        Pages that draw no widgets, as `jupyter nbconvert` writes them without a network, keep the
        picture: only a widget hides it.
        """
        from IPython.display import display

        still = f"still-{uuid.uuid4()}"
        page = f'<div class="{still}">{self._repr_html_()}</div>'
        display({"text/plain": repr(self), "text/html": page}, raw=True)
        widgets = self._widgets()
        if widgets is not None:
            import ipywidgets

            hiding = ipywidgets.HTML(f"<style>.{still} {{ display: none; }}</style>")
            display(ipywidgets.VBox([*widgets.children, hiding]))

    def _widgets(self) -> Any:
        """Return the sliders and what they show, or None where there are no widgets."""
        if not live.in_notebook():
            return None
        try:
            import ipywidgets
        except ImportError:
            return None
        assert self._drawn is not None
        seed, chosen = self._drawn
        preset = presets(self._name)[self._preset]
        ranges = {option.name: _range(option, chosen) for option in preset.options if _main(option)}
        if preset.seeded:
            ranges = {"seed": (seed, 0, max(LARGEST_SEED, seed)), **ranges}
        sliders = {
            name: ipywidgets.IntSlider(
                value=value, min=low, max=high, description=name, continuous_update=False
            )
            for name, (value, low, high) in ranges.items()
        }
        fixed = {name: value for name, value in chosen.items() if name not in sliders}
        shown = ipywidgets.interactive_output(lambda **values: self._show(fixed | values), sliders)
        return ipywidgets.VBox([*sliders.values(), shown])

    def _show(self, values: dict[str, Any]) -> None:
        """Display what the sliders ask for, or why there is no such instance."""
        from IPython.display import display

        seed, chosen = self._drawn or (1, {})
        defaults = {option.name: option.default for option in self._options()}
        settings = {
            name: value
            for name, value in values.items()
            if name != "seed" and (name in chosen or value != defaults.get(name))
        }
        try:
            self.redraw(values.get("seed", seed), **settings)
        except SchedgapError as error:
            display({"text/plain": str(error)}, raw=True)
            return
        display({"text/plain": repr(self)}, raw=True)
        if self.figure is not None:
            display(self.figure)

    def _options(self) -> tuple[Option, ...]:
        return presets(self._name)[self._preset].options


def _ignore(message: object) -> None:
    """Take the messages of a run; then no bar is shown."""


def _main(option: Option) -> bool:
    return option.name in MAIN and option.type == "int" and option.default is not None


def _range(option: Option, chosen: Mapping[str, object]) -> tuple[int, int, int]:
    """Return value, least and largest value of a slider."""
    value = int(option.parse(chosen.get(option.name, option.default)))
    return value, int(option.least or 1), max(value, 2 * int(option.default))


@checked(name=a_text, preset=a_text, method=a_text, against=a_text, time_limit=positive())
def explore(
    name: str,
    *,
    preset: str | None = None,
    method: str | None = None,
    against: str = "exact",
    seed: int = 1,
    time_limit: float = 10.0,
    **settings: object,
) -> Explorer:
    """Show a paper's algorithm and the optimum side by side, with sliders for the instance.

    The sliders are the seed and the main settings of the preset, such as the number of jobs. In a
    script, in a notebook without ipywidgets and after `jupyter nbconvert`, there is a picture
    instead.

    Parameters
    ----------
    name : str
        The family.
    preset : str, optional
        One of the family's presets; by default `small`, or else the default one.
    method : str, optional
        The algorithm; by default the first of the paper.
    against : str
        The method to compare with; its schedule is drawn below.
    seed : int
        Seed of the generator, >= 0.
    time_limit : float
        Limit of each solve, in seconds.
    **settings
        Settings of the preset, such as `jobs=8`.

    Raises
    ------
    UsageError, InputError
        For an unknown family, preset or method, or a setting outside its range.
    """
    owner = family(name)
    preset = preset or small_preset(name)
    if preset not in presets(name):
        raise UsageError(f"{name} has no preset '{preset}': choose from {', '.join(presets(name))}")
    papers = [
        method.name for method in owner.methods if method.kind == "algorithm" and not method.ours
    ]
    if method is None and not papers:
        raise InputError(f"{name} has no algorithm of a paper: name a method")
    explorer = Explorer(name, preset, method or papers[0], against, time_limit)
    return explorer.redraw(seed, **settings)
