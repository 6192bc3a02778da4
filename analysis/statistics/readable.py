"""The summary of a run as text cells, for the terminal, notebooks and documents."""

import html
import math
from decimal import ROUND_CEILING
from typing import Any

import pandas as pd

from schedgap.analysis.intervals import FOUR_DIGITS, interval_text, rounded
from schedgap.analysis.records.stored import StoredRun
from schedgap.analysis.statistics.aggregates import RESULTS
from schedgap.analysis.statistics.summary import summary
from schedgap.models.family import family


def as_html(run: StoredRun) -> str:
    """Return contradictions and the summary of a run as HTML, for notebooks."""
    wrong = "".join(
        f"<div style='color:#b00020'>contradiction: {html.escape(text)}</div>"
        for text in run.contradictions
    )
    frame = summary(run)
    if frame.empty:
        return f"{wrong}{html.escape(repr(run))}"
    return f"{wrong}{html.escape(repr(run))}{readable(frame).to_html(index=False)}"


def by_family(frame: pd.DataFrame, own: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return a summary as text cells with a row for each of the papers' algorithms.

    Algorithms with equal ratios share a row. Each row also has two heuristics of the family: the
    one with the smallest mean ratio, and the one with the greatest. A heuristic is a baseline or an
    algorithm of ours. Its mean is over the instances that the compared methods have in common.

    `frame`: as returned by `summary` with `by_preset=False`. `own`: the same with `common=False`;
    then n and the ratios of the papers' algorithms are over all instances of each.

    Columns: family, algorithm, n, mean ratio, worst ratio, guarantee, best heuristic, worst
    heuristic. A family without an algorithm of its paper has an empty one.
    """
    rows = []
    own = frame if own is None else own
    for name, group in frame.groupby("family", sort=False):
        ours = {method.name: method.ours for method in family(str(name)).methods}

        def is_paper(rows: pd.DataFrame, ours: dict[str, bool] = ours) -> "pd.Series[bool]":
            plain = rows["method"].str.partition(" [")[0]
            return (rows["kind"] == "algorithm") & plain.map(ours).eq(False)

        alone = own[own["family"] == name]
        papers, others = alone[is_paper(alone)], group[~is_paper(group)]
        others = others[others["kind"].isin(("algorithm", "baseline"))]
        ranked = others[others["mean_high"].notna()].sort_values("mean_high", kind="stable")
        ends = [_named_mean(ranked.iloc[place]) if len(ranked) else "-" for place in (0, -1)]
        equal: dict[tuple[str, ...], list[str]] = {}
        for _, row in papers.iterrows():
            ratios = [
                interval_text(row[f"{which}_low"], row[f"{which}_high"])
                for which in ("mean", "worst")
            ]
            cells = (str(row["n"]), *ratios, _guarantee_text(row))
            key = cells if row["n"] else (*cells, row["method"])
            equal.setdefault(key, []).append(row["method"])
        for key, (first, *same) in equal.items():
            shown = f"{first} (+ {len(same)} equal)" if same else first
            rows.append((name, shown, *key[:4], *ends))
        if papers.empty:
            rows.append((name, "-", "", "-", "-", "-", *ends))
    return pd.DataFrame(rows, columns=FAMILY_COLUMNS)


FAMILY_COLUMNS = [
    "family", "algorithm", "n", "mean ratio", "worst ratio", "guarantee", "best heuristic",
    "worst heuristic",
]  # fmt: skip


def _named_mean(row: "pd.Series[Any]") -> str:
    return f"{row['method']} {interval_text(row['mean_low'], row['mean_high'])}"


def readable(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a summary as text cells, as shown in the terminal and in notebooks.

    Columns that carry no information, such as the family if there is only one, are left out.

    `frame`: as returned by `summary`.
    """

    def ratio(low: str, high: str) -> list[str]:
        return [interval_text(a, b) for a, b in zip(frame[low], frame[high], strict=True)]

    shown = pd.DataFrame(
        {
            "family": frame["family"],
            "preset": frame["preset"],
            "method": frame["method"],
            "kind": frame["kind"],
            "tasks": frame["tasks"],
            "instances": frame["instances"],
            **{name: frame[name] for name in RESULTS},
            "infinite": frame["infinite"],
            "n": frame["n"].where(frame["kind"] != "bound", frame["bound_n"]),
            "mean ratio": [
                "- (outside)" if text == "-" and outside else text
                for text, outside in zip(
                    ratio("mean_low", "mean_high"), frame["outside"], strict=True
                )
            ],
            "worst ratio": ratio("worst_low", "worst_high"),
            "optimum / bound": [
                "-"
                if math.isnan(row["bound_mean"])
                else f"<= {rounded(row['bound_mean'], ROUND_CEILING)}{_other(row, 'bound_n')}"
                for _, row in frame.iterrows()
            ],
            "guarantee": [_guarantee_text(row) for _, row in frame.iterrows()],
            "seconds": [
                "-"
                if math.isnan(row["seconds"])
                else f"{row['seconds']:.3g}{_other(row, 'seconds_n')}"
                for _, row in frame.iterrows()
            ],
        }
    )
    counts = [name for name in RESULTS if name not in ("proved", "feasible")]
    plain = dict.fromkeys([*counts, "infinite"], 0) | {"preset": "", "guarantee": "-"}
    uninformative = [name for name, value in plain.items() if (shown[name] == value).all()]
    if (frame["tasks"] == frame["instances"]).all():
        uninformative.append("tasks")
    if frame["family"].nunique() == 1:
        uninformative.append("family")
    return shown.drop(columns=uninformative)


def _other(row: "pd.Series[Any]", count: str) -> str:
    """Return the number of instances of a mean, unless it is one of the two in the table."""
    shown = row["instances"], row["bound_n" if row["kind"] == "bound" else "n"]
    return "" if row[count] in shown else f" (n {row[count]})"


def _guarantee_text(row: "pd.Series[Any]") -> str:
    """Return the guaranteed factor, whether it is void (assumptions fail), and if exceeded."""
    low, high = row["guarantee_low"], row["guarantee_high"]
    if math.isnan(high):
        return "-" if math.isnan(row["holds"]) else "void"
    text = interval_text(low, high, FOUR_DIGITS)
    if row["exceeded"]:
        return f"{text} EXCEEDED"
    if row["holds"] == 1:
        return text
    return f"{text} (void, exceeded)" if row["beyond"] else f"{text} (void)"
