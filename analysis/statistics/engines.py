"""Tables of a benchmark of engines: by configuration, and by task."""

import math
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import pandas as pd

from schedgap.analysis.benchmarks.formulation import recorded_version, shown
from schedgap.analysis.records.folder import TIMES
from schedgap.analysis.records.rows import TaskRow
from schedgap.analysis.records.stored import StoredRun, configurations_of
from schedgap.analysis.statistics.aggregates import OPTIMAL, SCHEDULED, compared, groups, wide
from schedgap.analysis.statistics.comparisons import pairs
from schedgap.analysis.statistics.estimators import gap, shifted_geometric_mean
from schedgap.analysis.statistics.tables import instances, records
from schedgap.instances.families import FAMILIES
from schedgap.models.family import family
from schedgap.solvers.engines.results import STATISTICS

SHIFT = 10.0  # seconds, of geometric means
SPENT = 0.8  # an unsolved task is a timeout if it used this share of its limit
SIZES = ("rows", "columns", "integers", "nonzeros")
Part = Literal["", "size", "model", "engine"]


def is_benchmark(run: StoredRun) -> bool:
    """Return whether a run has tasks of a benchmark of engines."""
    return any(row.formulation for row in run.rows)


def configurations(run: StoredRun) -> list[str]:
    """Return the names of the configurations of engines in a run, as in its tables."""
    named = zip(configurations_of(run), run.rows, strict=True)
    return list(dict.fromkeys(name for name, row in named if row.formulation))


def engine_tasks(run: StoredRun) -> pd.DataFrame:
    """Return a row for each task of a benchmark, with all that the engine reports.

    Columns: family, preset, instance, formulation, engine, version, options (of the engine, that
    were changed), threads, workers (tasks at a time), method (name of the configuration), seed,
    permutation, outcome, result, status, objective, bound, gap (relative, of the task's own bound),
    time_limit, seconds (build_seconds plus engine_seconds), build_seconds, engine_seconds,
    engine_cpu_seconds, confirm_seconds, load_seconds, peak_memory_mb; rows, columns, integers,
    nonzeros (of the program); the names in `schedgap.solvers.engines.results.STATISTICS`, empty if
    the engine does not report them; root_gap (of the root bound to the best known schedule); pinned
    (cores), log (file), note, key.
    """
    frame = records(run)
    rows = [place for place, row in enumerate(run.rows) if row.formulation]
    found = frame.iloc[rows].reset_index(drop=True)
    some = [run.rows[place] for place in rows]
    known = [row.statistics for row in some]
    best = [run.brackets[row.sha256, row.problem].best for row in some]
    facts: dict[str, Any] = {
        "formulation": [_formulation(row) for row in some],
        "engine": [row.engine or "" for row in some],
        "version": [recorded_version(row.engine or "", row.versions) for row in some],
        "options": [str(row.options.get("engine_options", "")) for row in some],
        **{name: [getattr(row, name) for row in some] for name in _SAME},
        "gap": [
            gap(value, bound) if not (math.isnan(value) or math.isnan(bound)) else math.nan
            for value, bound in zip(found["objective"], found["bound"], strict=True)
        ],
        **{name: [record.get(name) for record in known] for name in (*SIZES, *STATISTICS)},
        "root_gap": [
            math.nan if value is None or record.get("root_bound") is None
            else gap(record["root_bound"], value)
            for record, value in zip(known, best, strict=True)
        ],
        "pinned": [" ".join(map(str, row.pinned)) for row in some],
    }  # fmt: skip
    found = found.assign(**facts)
    found = found.astype(dict.fromkeys([*SIZES, *STATISTICS, *TIMES], float))
    return found[TASK_COLUMNS]


_SAME = ("threads", "workers", "permutation", "seed", "log", *TIMES)  # columns copied from the row
TASK_COLUMNS = [
    "family", "preset", "instance", "formulation", "engine", "version", "options", "threads",
    "workers", "method", "seed", "permutation", "outcome", "result", "status", "objective", "bound",
    "gap", "time_limit", "seconds", "build_seconds", "engine_seconds", "engine_cpu_seconds",
    "confirm_seconds", "load_seconds", "peak_memory_mb", *SIZES, *STATISTICS, "root_gap", "pinned",
    "log", "note", "key",
]  # fmt: skip


def _formulation(row: TaskRow) -> str:
    """Return the name of a row's program: `paper` for the paper's."""
    if row.family not in FAMILIES:
        return row.formulation
    return shown(family(row.family), row.formulation)


def engines(run: StoredRun, by: Part = "", *, shift: float = SHIFT) -> pd.DataFrame:
    """Return a row for each formulation and configuration of an engine: what it solved, and times.

    `by`: which configurations are compared with each other. They are all of a family and preset, or
    only those within a size class of instances, a formulation, or an engine. `shift`: of the
    geometric means, in seconds, > 0.

    Columns: family, preset, within (the part that `by` asks for: a size class by the nonzeros of
    the smallest program of the instance, a formulation or an engine), formulation, engine, version,
    options, threads, workers, method (name of the configuration); tasks, found (with a schedule
    that obeys all rules), solved (the engine reports an optimum or infeasibility, and nothing
    refutes it), proved (of these: the run has a certificate or a proof for the optimum of the
    instance), wrong, timeouts, failed, refused; n (instances that all compared configurations
    tried, on which the following means are), seconds (shifted geometric mean; a task that did not
    solve its program counts with its time limit), par2 (the same with twice the limit), median,
    best (mean of the fastest configuration on each instance), ratio ((seconds + shift) / (best +
    shift)); root_gap (mean, if the engine reports a root bound), nodes (median), repetitions (most
    for an instance), spread (geometric mean of slowest to fastest repetition, over the instances
    that some repetition solved), note. A wrong answer has not solved its program.
    """
    tasks = engine_tasks(run)
    if tasks.empty:
        return pd.DataFrame(columns=ENGINE_COLUMNS)
    known = records(run).set_index("key")
    tasks = tasks.assign(
        at_limit=tasks["key"].map(known["at_limit"]),
        completed=tasks["key"].map(known["completed"]).astype(bool),
        within=_within(tasks, by),
        proof=_has_proof(run, tasks),
    )
    means = _means(run, tasks, shift)
    rows: list[dict[str, Any]] = []
    for names, group in tasks.groupby(_KEY, sort=False):
        head = dict(zip(_KEY, names, strict=True))
        first = group.iloc[0]
        solved = group["completed"] & group["result"].isin(OPTIMAL)
        late = group["seconds"] >= SPENT * group["time_limit"]
        stopped = (group["outcome"] == "timeout") | ((group["outcome"] == "done") & late)
        wrong = group["result"] == "wrong"
        refused = group["result"] == "skipped"
        unclear = ~(solved | wrong | refused)
        rows.append(
            head
            | {name: first[name] for name in _FACTS}
            | {
                "tasks": len(group),
                "found": int(group["result"].isin(SCHEDULED).sum()),
                "solved": int(solved.sum()),
                "proved": int((solved & group["proof"]).sum()),
                "wrong": int(wrong.sum()),
                "timeouts": int((unclear & stopped).sum()),
                "failed": int((unclear & group["result"].eq("failed")).sum()),
                "refused": int(refused.sum()),
                "root_gap": group["root_gap"].mean(),
                "nodes": group["nodes"].median(),
                "note": "; ".join(sorted(set(group.loc[refused, "note"].map(_reason)))),
            }
            | means.get(tuple(map(str, names)), {"n": 0})
            | _spread(group[~refused])
        )
    frame = pd.DataFrame(rows, columns=ENGINE_COLUMNS)
    order = ["family", "preset", "within", "formulation", "engine"]
    return frame.sort_values(order, kind="stable").reset_index(drop=True)


_KEY = ["family", "preset", "within", "method"]
_FACTS = ("formulation", "engine", "version", "options", "threads", "workers")
ENGINE_COLUMNS = [
    "family", "preset", "within", *_FACTS, "method", "tasks", "found", "solved", "proved", "wrong",
    "timeouts", "failed", "refused", "n", "seconds", "par2", "median", "best", "ratio", "root_gap",
    "nodes", "repetitions", "spread", "note",
]  # fmt: skip


def _reason(note: str) -> str:
    """Return why a task was refused, in a few words."""
    for words in ("not installed", "refused: licence"):
        if words in note:
            return words
    return note.partition(";")[0]


def _has_proof(run: StoredRun, tasks: pd.DataFrame) -> list[bool]:
    """Return whether the optimum of each task's instance has a certificate or a proof."""
    found = {
        run.names[sha256]: bracket.closed and bracket.evidence != "reported"
        for (sha256, problem), bracket in run.brackets.items()
        if not problem
    }
    return [found.get(name, False) for name in tasks["instance"]]


def _within(tasks: pd.DataFrame, by: Part) -> "pd.Series[str]":
    """Return which part of the tasks each one is compared in."""
    if by == "model":
        return tasks["formulation"]
    if by == "engine":
        return tasks["engine"]
    if by == "size":
        least = tasks.groupby(["family", "instance"])["nonzeros"].transform("min")
        return least.map(_size)
    return pd.Series("", index=tasks.index)


def _size(nonzeros: float) -> str:
    """Return the size class: a power of ten."""
    if math.isnan(nonzeros):
        return "unknown"
    power = math.floor(math.log10(max(1.0, nonzeros)))
    return f"1e{power} to 1e{power + 1} nonzeros"


def _means(
    run: StoredRun, tasks: pd.DataFrame, shift: float
) -> dict[tuple[str, ...], dict[str, Any]]:
    """Return the means of each row, over the instances that its part has in common."""
    every = instances(run)
    parts = tasks[["family", "preset", "within", "method", "instance"]].drop_duplicates()
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for names, group in groups(every, by_preset=True, methods=set(tasks["method"])):
        here = parts[(parts["family"] == names["family"]) & (parts["preset"] == names["preset"])]
        joined = group.merge(here, on=["family", "preset", "method", "instance"])
        for within, part in joined.groupby("within", sort=False):
            for method, row in _of_part(part, shift):
                found[names["family"], names["preset"], str(within), method] = row
    return found


def _of_part(part: pd.DataFrame, shift: float) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the means of each configuration that is compared."""
    chosen = compared(part.assign(tried=1.0), "tried")
    if not chosen:
        return
    common = pd.concat(chosen.values())
    fastest = wide(common, "at_limit").min(axis=1)
    best = shifted_geometric_mean(np.sort(fastest), shift)
    for method, rows in chosen.items():
        seconds, par2 = (
            shifted_geometric_mean(np.sort(rows[name]), shift) for name in ("at_limit", "par2")
        )
        yield (
            method,
            {
                "n": len(rows),
                "seconds": seconds,
                "par2": par2,
                "median": float(rows["at_limit"].median()),
                "best": best,
                "ratio": (seconds + shift) / (best + shift),
            },
        )


def _spread(group: pd.DataFrame) -> dict[str, Any]:
    """Return how much the times of an instance's repetitions differ."""
    times = group.groupby("instance")["at_limit"]
    several = (times.size() > 1) & group.groupby("instance")["completed"].any()
    ratios = (times.max() / times.min())[several]
    return {
        "repetitions": int(times.size().max()) if len(group) else 0,
        "spread": shifted_geometric_mean(ratios, 0.0),
    }


def engine_pairs(run: StoredRun) -> pd.DataFrame:
    """Return wins, ties and losses by time of each two configurations of engines, with tests.

    The columns are as in `schedgap.analysis.statistics.comparisons.pairs` by seconds.
    """
    return pairs(run, "seconds", methods=configurations(run))
