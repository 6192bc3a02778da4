"""Draw how far the algorithms of the five papers are from the optimum, and what they guarantee.

`python docs/img/ratios.py RUN` takes the data from a run of `schedgap compare quick` and writes
ratios.csv and ratios.svg beside this file. Without RUN it draws ratios.csv again.
"""

import os
import sys
from pathlib import Path

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure

import schedgap as sg

HERE = Path(__file__).parent
ALGORITHMS = {
    "ring": "sjf-bco",
    "dmlrs": "pd-ors",
    "hare": "hare",
    "edge": "a-online",
    "elastic": "a-online",
}
COLUMNS = ["family", "preset", "instance", "method", "low", "high", "guarantee", "holds"]
INSIDE, ABOVE, CLAIM = "#4477AA", "#CC3311", "#555555"
TICKS = [1, 1.5, 2, 3, 5, 10, 20, 50, 100, 200]


def data(run: sg.Run) -> pd.DataFrame:
    """Return the ratio interval of each instance, and the factor that its paper claims."""
    ratios = run.ratios()
    chosen = ratios["family"].map(ALGORITHMS) == ratios["method"]
    return ratios.loc[chosen, COLUMNS].reset_index(drop=True).round(6)


def picture(ratios: pd.DataFrame) -> Figure:
    """Return the figure: an instance is a point or an interval, a guarantee a tick below it."""
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    axes = figure.subplots()
    for place, family in enumerate(ALGORITHMS):
        mine = ratios[ratios["family"] == family].sort_values("low")
        for k, row in enumerate(mine.itertuples()):
            y = place + 0.3 * (k - (len(mine) - 1) / 2) / max(1, len(mine) - 1)
            color = ABOVE if row.low > row.guarantee * (1 + 1e-9) else INSIDE
            face = color if color == INSIDE or row.holds else "white"
            axes.plot([row.low, row.guarantee], [y, y], color=color, linewidth=0.5, alpha=0.4)
            axes.plot([row.low, row.high], [y, y], color=color, linewidth=2)
            axes.plot([row.low], [y], "o", color=color, markerfacecolor=face, markersize=6)
            axes.plot([row.guarantee], [y], "|", color=CLAIM, alpha=1 if row.holds else 0.35)
        if mine["guarantee"].isna().all():
            axes.text(200, place, "no guarantee applies", ha="right", va="center", color=CLAIM)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xscale("log")
    axes.set_xlim(0.95, 300)
    axes.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
    axes.minorticks_off()
    axes.set_yticks(range(len(ALGORITHMS)), [f"{name}: {ALGORITHMS[name]}" for name in ALGORITHMS])
    axes.invert_yaxis()
    axes.set_xlabel("ratio to the optimum, logarithmic; 1 = optimal")
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    handles = [
        axes.plot([], [], "o", color=INSIDE, label="an instance")[0],
        axes.plot([], [], "o", color=ABOVE, label="above the guarantee")[0],
        axes.plot([], [], "o", color=ABOVE, markerfacecolor="white",
                  label="above, but an assumption fails")[0],
        axes.plot([], [], "|", color=CLAIM, label="guarantee (pale: an assumption fails)")[0],
    ]  # fmt: skip
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    return figure


def main(runs: list[str]) -> None:
    """Write the data of a run, if one is given, and the picture."""
    if runs:
        data(sg.Run.load(*runs)).to_csv(HERE / "ratios.csv", index=False)
    os.environ.setdefault("SOURCE_DATE_EPOCH", "0")  # the same data give the same file
    mpl.rcParams["svg.hashsalt"] = "schedgap"
    picture(pd.read_csv(HERE / "ratios.csv")).savefig(HERE / "ratios.svg")


if __name__ == "__main__":
    main(sys.argv[1:])
