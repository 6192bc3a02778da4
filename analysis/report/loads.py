"""The report's chart of ratios by offered load."""

import math
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from schedgap.analysis.intervals import interval_text
from schedgap.analysis.plots.charts import PALETTE, TEMPLATE, plain
from schedgap.analysis.plots.csv_text import comma_separated
from schedgap.analysis.report.pictures import Figure, plotly_data
from schedgap.analysis.statistics.loads import COLUMNS, ROLES

APART = 1.012  # factor between the places of two lines at one load; both bars are then seen
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")  # line style of each trace


def load_figures(frame: pd.DataFrame, name: str) -> list[tuple[str, str, str, Figure]]:
    """Return (id, title, caption, figure) of the ratios by load, if instances have loads.

    `frame`: result of `schedgap.analysis.statistics.loads.by_load`.
    """
    rows = frame[(frame["family"] == name) & (frame["low"] < math.inf)]
    if not len(rows):
        return []
    caption = (
        "Mean ratio to the optimum by offered load: work demanded over capacity in the arrival "
        "span. A bar spans the interval that contains the mean where not all optima are proved; "
        "lines are set apart at each load. "
        "The best is the algorithm or baseline with the smallest mean at that load."
    )
    table = comma_separated(COLUMNS, rows[COLUMNS].itertuples(index=False))
    picture = plotly_data(load_figure(rows), table)
    return [(f"loads-{name}", "Ratios by offered load.", caption, picture)]


def load_figure(rows: pd.DataFrame) -> go.Figure:
    """Return a figure with a line for each role and trace over the loads.

    `rows`: rows of one family of `schedgap.analysis.statistics.loads.by_load`.
    """
    figure = go.Figure()
    traces = sorted(rows["trace"].unique())
    for role, color in zip(ROLES, PALETTE, strict=False):
        for place, trace in enumerate(traces):
            points = rows[(rows["role"] == role) & (rows["trace"] == trace)].sort_values("load")
            if len(points):
                line = {"color": color, "dash": DASHES[place % len(DASHES)], "width": 2}
                steps = place * len(ROLES) + list(ROLES).index(role)
                shift = APART ** (steps - (len(traces) * len(ROLES) - 1) / 2)
                figure.add_trace(_line(points, role, str(trace), line, shift))
    figure.update_layout(
        template=TEMPLATE,
        height=380,
        showlegend=True,
        xaxis={
            "title": {"text": "offered load"},
            "type": "log",
            "tickvals": sorted(rows["load"].unique()),
            "ticktext": [f"{load:g}" for load in sorted(rows["load"].unique())],
        },
        yaxis={"title": {"text": "ratio to the optimum"}, "type": "log"},
    )
    return figure


def _line(
    points: pd.DataFrame, role: str, trace: str, line: dict[str, object], shift: float
) -> dict[str, Any]:
    """Return a Plotly trace: lower ends joined by a line, with bars up to the upper ends."""
    ends = [high if math.isfinite(high) else low for low, high in points[["low", "high"]].values]
    method = ROLES[role] if role == "best" else points["method"].iloc[0]
    name = f"{method}, {trace}" if trace else str(method)
    texts = [
        f"{plain(str(row['method']))}, {plain(trace or 'no trace')}, load {row['reached']:.3g}<br>"
        f"ratio {interval_text(row['low'], row['high'])}, {row['schedules']} schedules"
        for row in points.to_dict("records")
    ]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": plain(name),
        "x": (points["load"] * shift).tolist(),
        "y": points["low"].tolist(),
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [end - low for end, low in zip(ends, points["low"], strict=True)],
            "arrayminus": [0.0] * len(ends),
            "color": line["color"],
            "thickness": 1.5,
            "width": 0,
        },
        "line": line,
        "hovertext": texts,
        "hoverinfo": "text",
    }
