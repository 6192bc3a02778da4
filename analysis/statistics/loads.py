"""Ratios of a run by trace and offered load: the paper's algorithm, first come first served, best.

The instances come from `schedgap.trace_instances`, or are any others with a load.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import pandas as pd

from schedgap.analysis.intervals import interval_text
from schedgap.analysis.records.stored import StoredRun
from schedgap.analysis.statistics.tables import instances, table
from schedgap.models.family import family

FIRST_COME = {"hare": "gavel-fifo", "ring": "first-fit"}  # family -> baseline; else `fifo`
METHODS = (  # methods of `compare traces`; each family has some of them
    "exact", "hare", "gavel-fifo", "local-search", "a-online", "fifo", "lp-guided", "list",
    "sjf-bco", "first-fit", "pd-ors", "colgen-heuristic",
)  # fmt: skip
ROLES = {"paper": "the paper's algorithm", "fifo": "first come, first served", "best": "the best"}
COLUMNS = [
    "family", "trace", "load", "reached", "role", "method", "instances", "closed", "schedules",
    "low", "high",
]  # fmt: skip


def by_load(run: StoredRun) -> pd.DataFrame:
    """Return a table with three rows for each family, trace and load.

    `run`: the run. The table leaves out instances without a load, modified problems, wrong
    schedules, and schedules that need not obey all rules. Repetitions are aggregated inside an
    instance.

    Columns: family, trace (empty without one), load (asked for), reached (mean of the loads
    reached), role (paper: the first algorithm of the paper; fifo: its baseline that serves the jobs
    in order of arrival, for ring in list order; best: the algorithm or baseline with the smallest
    mean ratio), method, instances, closed (those on which the best schedule and the best bound
    meet), schedules (instances on which the method has a ratio), low, high (means of both ends of
    the ratio over these; `high` may be infinite).
    """
    place = table(run).drop_duplicates("instance").set_index("instance")
    frame = instances(run).join(place[["trace", "load", "load_reached"]], on="instance")
    frame = frame[frame["load"].notna() & (frame["problem"] == "") & (frame["result"] != "skipped")]
    closed = {name: run.brackets.get((sha256, "")) for sha256, name in run.names.items()}
    known = {name for name, bracket in closed.items() if bracket is not None and bracket.closed}
    rows = [
        {"family": name, "trace": trace, "load": load, **row}
        for (name, trace, load), group in frame.groupby(["family", "trace", "load"], sort=True)
        for row in _roles(str(name), group, known)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def _roles(name: str, group: pd.DataFrame, solved: Collection[str]) -> Iterable[dict[str, object]]:
    """Yield the rows of one family, trace and load; `solved`: instances with a known optimum."""
    tried = group[group["kind"].isin(["algorithm", "baseline"])]
    every = group.drop_duplicates("instance")
    common = {
        "reached": every["load_reached"].mean(),
        "instances": len(every),
        "closed": int(every["instance"].isin(solved).sum()),
    }
    scheduled = tried[tried["ratio_low"].notna()]
    means = scheduled.groupby("method").agg(
        schedules=("instance", "size"), low=("ratio_low", "mean"), high=("ratio_high", "mean")
    )
    wanted = {"paper": paper_algorithm(name), "fifo": FIRST_COME.get(name, "fifo")}
    full = means[means["schedules"] == means["schedules"].max()] if len(means) else means
    if len(full):
        wanted["best"] = str(full.sort_values(["low", "high"], kind="stable").index[0])
    for role, method in wanted.items():
        if method in means.index:
            mean = {str(key): value for key, value in means.loc[method].items()}
            yield {"role": role, "method": method, **common, **mean}


def paper_algorithm(name: str) -> str:
    """Return the first algorithm of a family's paper, or an empty text."""
    methods = family(name).methods
    return next(
        (method.name for method in methods if method.kind == "algorithm" and not method.ours), ""
    )


def matrix(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table as texts: a row for each family, role and trace, a column for each load.

    `frame`: result of `by_load`.

    Columns: family, trace, method, and the ratios at `load R` for each load R. A star marks means
    in which the optimum of every instance is known.
    """
    loads = sorted(frame["load"].unique())
    rows = []
    keys = frame.assign(place=frame["role"].map(list(ROLES).index))
    for (name, place, trace), group in keys.groupby(["family", "place", "trace"], sort=True):
        role = list(ROLES)[int(str(place))]
        by = {row["load"]: row for row in group.to_dict("records")}
        best = role == "best"
        cells = [_cell(by[load], named=best) if load in by else "-" for load in loads]
        method = "best" if best else group["method"].iloc[0]
        rows.append([name, method, trace or "-", *cells])
    return pd.DataFrame(
        rows, columns=["family", "method", "trace", *(f"load {r:g}" for r in loads)]
    )


def _cell(row: Mapping[Any, Any], *, named: bool) -> str:
    """Return a ratio, a star if all optima are known, and perhaps the method."""
    ratio = interval_text(row["low"], row["high"])
    star = "*" if row["closed"] == row["instances"] else ""
    return f"{ratio}{star}" + (f" {row['method']}" if named else "")
