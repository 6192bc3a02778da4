"""Sweeps over the settings of a generator, and charts of results over a setting."""

from collections.abc import Collection, Iterable, Sequence
from itertools import islice, product
from typing import Literal

import numpy as np
import pandas as pd

from schedgap.analysis.intervals import FOUR_DIGITS, interval_text
from schedgap.analysis.plots.charts import TEMPLATE, in_order, plain
from schedgap.analysis.plots.figure import Figure
from schedgap.analysis.records.stored import StoredRun
from schedgap.analysis.statistics.aggregates import by_instance, compared
from schedgap.analysis.statistics.tables import records
from schedgap.errors import UsageError, choices
from schedgap.instances.arguments import a_text, checked
from schedgap.instances.generate import generate
from schedgap.instances.instance import Instance

Measure = Literal["ratio", "objective", "seconds"]
ENDS = {
    "ratio": ("ratio_low", "ratio_high"),
    "objective": ("objective", "objective"),
    "seconds": ("seconds", "seconds"),
}
TITLES = {
    "ratio": "mean ratio to the optimum",
    "objective": "mean objective",
    "seconds": "mean time (s)",
}
MOST = 10_000  # instances of a grid
LEAST_SECONDS = 1e-4  # shorter times are drawn as this


@checked(family=a_text, preset=a_text)
def grid(
    family: str,
    *,
    preset: str | None = None,
    seed: int | Iterable[int] = 0,
    **settings: object,
) -> list[Instance]:
    """Generate an instance for each combination of settings and seeds.

    Parameters
    ----------
    family : str
        Name of the family.
    preset : str, optional
        One of `presets(family)`; by default the default preset of the family.
    seed : int or iterable of int
        Random seeds, >= 0.
    **settings
        Settings of the preset by name. A list, range or array is swept over; any other value, a
        tuple too, is the same for all: `jobs=[40, 80], gpus=(2, 8)`.

    Returns
    -------
    list of Instance
        The last setting changes fastest, seeds faster still.

    Raises
    ------
    UsageError
        If there is no such family, preset or setting, a value is outside its domain, or there are
        more than 10,000 combinations.

    Examples
    --------
    >>> import schedgap as sg
    >>> instances = sg.grid("ring", preset="small", jobs=[3, 4], seed=range(2))
    >>> [(len(each.jobs), each.meta["seed"]) for each in instances]
    [(3, 0), (3, 1), (4, 0), (4, 1)]
    """
    swept = {name: _values(value) for name, value in settings.items()}
    seeds = _seeds(seed)
    for name, values in (*swept.items(), ("seed", seeds)):
        if not values:
            raise UsageError(f"{name}: need at least one value")
    count = len(seeds) * int(np.prod([len(values) for values in swept.values()], dtype=object))
    if count > MOST:
        raise UsageError(f"{count} combinations of settings: need at most {MOST}")
    return [
        generate(family, preset=preset, seed=number, settings=dict(zip(swept, values, strict=True)))
        for values in product(*swept.values())
        for number in seeds
    ]


def _seeds(seed: int | Iterable[int]) -> Sequence[int]:
    """Return the seeds of a grid; UsageError if they are no numbers, or too many."""
    if isinstance(seed, int | np.integer):
        return [int(seed)]
    if isinstance(seed, range):
        return seed
    if isinstance(seed, str) or not isinstance(seed, Iterable):
        raise UsageError(f"seed {seed!r}: need an integer or several")
    return list(islice(seed, MOST + 1))


def _values(value: object) -> Sequence[object]:
    """Return the values that a setting of a grid takes."""
    if isinstance(value, np.ndarray | pd.Series):
        return list(np.atleast_1d(value).tolist())
    return value if isinstance(value, list | range) else [value]


def points(
    run: StoredRun,
    x: str,
    y: Measure = "ratio",
    *,
    color: str = "method",
    methods: Collection[str] | None = None,
) -> pd.DataFrame:
    """Return the means that `plot` draws, each over the same instances for all groups.

    `x`: a column of `Run.table()`, such as a setting of the generator. `y`: what is measured. Means
    of ratios and of seconds are geometric. `color`: a column of `Run.table()` whose values are the
    groups. `methods`: names of the methods; by default all.

    Columns: `color` and `x`; low and high (ends of the mean: a ratio to an optimum that
    is not known is an interval), least and most (of single instances), n (instances), of (instances
    with this x). Instances are repeated for each group. If groups are methods, the means at one x
    are over the common set of instances. Methods that have too few of these instances are left out
    (see `Run.summary`).

    Raises
    ------
    UsageError
        If there is no such column, it is empty, or it does not have one value for each instance
        and method.
    """
    if y not in ENDS:
        raise UsageError(f"y '{y}': {choices(str(y), ENDS)}")
    frame = _measured(run, x, color)
    frame = frame[frame["result"] != "skipped"]
    if methods is not None:
        frame = frame[frame["method"].isin(list(methods))]
    low, high = ENDS[y]
    rows = []
    for value, at in frame.groupby(x, sort=True, dropna=True):
        instances = at["instance"].nunique()
        for _, part in at.groupby(["family", "problem"], sort=True):
            for method, chosen in compared(part, low).items():
                for name, group in chosen.groupby(color, sort=False):
                    several = {} if color == "method" else {"method": method}
                    rows.append(
                        {
                            color: name,
                            **several,
                            x: value,
                            "low": _mean(group[low], y),
                            "high": _mean(group[high], y),
                            "least": float(group[low].min()),
                            "most": float(group[high].max()),
                            "n": len(group),
                            "of": instances,
                        }
                    )
    names = [color, *([] if color == "method" else ["method"]), x]
    return pd.DataFrame(rows, columns=[*names, "low", "high", "least", "most", "n", "of"])


def _measured(run: StoredRun, x: str, color: str) -> pd.DataFrame:
    """Return the rows of `by_instance` with the two columns."""
    table = records(run)
    known = [name for name in table.columns if name not in ENDS]
    for name in (x, color):
        if name not in known:
            raise UsageError(f"no column '{name}': {choices(name, known)}")
    frame = by_instance(table)
    for name in {x, color} - {*frame.columns}:
        values = table.groupby(["instance", "method"])[name]
        if (values.nunique(dropna=False) > 1).any():
            raise UsageError(f"column '{name}' has several values for one instance and method")
        frame = frame.merge(values.first().reset_index(), on=["instance", "method"], how="left")
    for name in (x, color):
        if frame[name].isna().all():
            raise UsageError(f"column '{name}' has no values")
    return frame


def _mean(values: "pd.Series[float]", y: Measure) -> float:
    """Return the mean, geometric for ratios and seconds."""
    if y == "objective":
        return float(values.mean())
    positive = values.clip(lower=LEAST_SECONDS) if y == "seconds" else values
    with np.errstate(divide="ignore"):
        return float(np.exp(np.log(positive.to_numpy(float)).mean()))


def plot(
    run: StoredRun,
    x: str,
    y: Measure = "ratio",
    *,
    color: str = "method",
    methods: Collection[str] | None = None,
) -> Figure:
    """Return a figure of means over a setting, with the range of single instances.

    A mean ratio that is known as an interval is drawn as a band between two lines.

    `x`: a column of `Run.table()`, such as a setting of the generator. `y`: what is measured.
    `color`: a column of `Run.table()` whose values are the lines. `methods`: names of the methods;
    by default all.

    Raises
    ------
    UsageError
        As `points`.
    """
    table = points(run, x, y, color=color, methods=methods)
    lines = [color] if color == "method" else [color, "method"]
    groups = {
        ", ".join(dict.fromkeys(map(str, names))): group
        for names, group in table.groupby(lines, sort=False)
    }
    palette = in_order(groups)
    figure = Figure()
    for name, group in groups.items():
        _add_line(figure, name, group, x, palette[name])
    figure.update_layout(
        template=TEMPLATE,
        height=380,
        showlegend=True,
        xaxis={"title": {"text": plain(x)}},
        yaxis={"title": {"text": TITLES[y]}, **({"type": "log"} if y == "seconds" else {})},
    )
    return figure


def _add_line(figure: Figure, name: str, group: pd.DataFrame, x: str, color: str) -> None:
    places = [str(value) if isinstance(value, bool) else value for value in group[x]]
    ends = zip(group["low"], group["high"], strict=True)
    texts = [interval_text(low, high, FOUR_DIGITS) for low, high in ends]
    shown = np.isfinite(group["high"])
    high = group["high"].where(shown, group["low"])  # "at least", where no bound is known
    common = {"type": "scatter", "legendgroup": name, "x": places}
    figure.add_trace(
        common
        | {
            "name": plain(name),
            "mode": "lines+markers",
            "y": high,
            "line": {"color": color, "width": 2},
            "marker": {"symbol": np.where(shown, "circle", "triangle-up-open"), "size": 7},
            "error_y": {
                "type": "data",
                "symmetric": False,
                "array": (group["most"] - high).where(np.isfinite(group["most"]), 0.0),
                "arrayminus": high - group["least"],
                "thickness": 1,
                "width": 3,
            },
            "customdata": list(zip(texts, group["n"], group["of"], strict=True)),
            "hovertemplate": f"{plain(name)}: %{{customdata[0]}}"
            "<br>%{customdata[1]} of %{customdata[2]} instances<extra></extra>",
        }
    )
    if shown.any() and (group["low"] < group["high"]).any():
        red, green, blue = bytes.fromhex(color[1:])
        figure.add_trace(
            common
            | {
                "mode": "lines",
                "y": group["low"],
                "line": {"color": color, "width": 1, "dash": "dot"},
                "fill": "tonexty",
                "fillcolor": f"rgba({red},{green},{blue},0.12)",
                "showlegend": False,
                "hoverinfo": "skip",
            }
        )
