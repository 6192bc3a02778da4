"""The report's section on a benchmark of engines: tables, profiles of times, and logs."""

import math
import os
from pathlib import Path
from typing import Any

import pandas as pd

from schedgap.analysis.plots.charts import method_colors
from schedgap.analysis.plots.csv_text import comma_separated
from schedgap.analysis.plots.curves import performance_profile, time_profile
from schedgap.analysis.records.stored import StoredRun
from schedgap.analysis.report.pictures import Figure, plotly_data
from schedgap.analysis.report.tables import SIGNIFICANT, Cell, Table, number
from schedgap.analysis.report.words import UNKNOWN, count, seconds_text, value_text
from schedgap.analysis.statistics.comparisons import CLOSE, profile
from schedgap.analysis.statistics.engines import (
    SHIFT,
    configurations,
    engine_pairs,
    engine_tasks,
    engines,
    is_benchmark,
)

MOST_LINES = 8  # configurations in a profile
MOST_TASKS = 500  # tasks with links to their logs


def engine_section(
    run: StoredRun, place: Path
) -> tuple[dict[str, Any] | None, list[tuple[str, str, str, Figure]]]:
    """Return what the template shows of a benchmark, and its figures; None without a benchmark.

    `place`: folder of the report, from which the logs are linked.
    """
    if not is_benchmark(run):
        return None, []
    frame, tasks = engines(run), engine_tasks(run)
    figures = _figures(run)
    section = {
        "table": _table(frame),
        "pairs": _pairs(engine_pairs(run)),
        "tasks": _tasks(run, tasks, place),
        "left_out": max(0, len(tasks) - MOST_TASKS),
        "wrong": run.wrong_answers,
        "figures": [figure[:3] for figure in figures],
    }
    return section, figures


def _table(frame: pd.DataFrame) -> Table:
    """Return the table of configurations; wrong answers are red."""
    rows = frame.to_dict("records")
    several = {name for name in ("family", "preset") if frame[name].nunique() > 1}
    columns: list[tuple[str, list[Cell]]] = [
        ("formulation and engine", [Cell(row["method"]) for row in rows]),
        *((name, [Cell(row[name]) for row in rows]) for name in ("family", "preset")),
        ("tasks", [_count(row["tasks"]) for row in rows]),
        ("with a schedule", [_count(row["found"]) for row in rows]),
        ("solved", [_count(row["solved"]) for row in rows]),
        ("proved", [_count(row["proved"]) for row in rows]),
        ("wrong", [_count(row["wrong"], "bad" if row["wrong"] else "") for row in rows]),
        ("timeouts", [_count(row["timeouts"]) for row in rows]),
        ("failed", [_count(row["failed"]) for row in rows]),
        ("refused", [_count(row["refused"]) for row in rows]),
        ("n", [_count(row["n"]) for row in rows]),
        ("mean (s)", [_time(row["seconds"]) for row in rows]),
        ("PAR2 (s)", [_time(row["par2"]) for row in rows]),
        ("median (s)", [_time(row["median"]) for row in rows]),
        ("to the best", [_number(row["ratio"], "{:.2f}") for row in rows]),
        ("root gap", [_number(row["root_gap"], "{:.1%}") for row in rows]),
        ("nodes", [_number(row["nodes"], "{:.0f}") for row in rows]),
        ("spread", [_number(row["spread"], "{:.2f}") for row in rows]),
        ("note", [Cell(row["note"].removeprefix("refused: ")) for row in rows]),
    ]
    optional = {"failed", "spread", "refused", "root gap", "nodes", "note"}
    shown = [
        (name, cells)
        for name, cells in columns
        if (name not in ("family", "preset") or name in several)
        and (name not in optional or any(cell.text not in ("", "0", UNKNOWN) for cell in cells))
    ]
    at_a_time = sorted({int(each) for each in frame["workers"]})
    counts = " or ".join(count(each, "task") for each in at_a_time)
    return Table(
        "engine-table",
        f"A task is one formulation, engine, setting and instance; {counts} at a time. Solved: the "
        "engine reports an optimum, or that there is none, and nothing refutes it. Proved: the "
        "optimum of the instance also has a certificate or a proof in this run. Wrong: an invalid "
        "schedule, or a claim that a verified schedule refutes; a wrong answer is not solved. "
        f"Means are shifted geometric means (shift {SHIFT:g} s) over n instances that all compared "
        "configurations tried. They count building and engine. A task that is not solved counts "
        "with its time limit, and with twice the limit for PAR2. To the best: the mean over that "
        "of the fastest configuration on each instance. Spread: slowest over fastest repetition.",
        tuple((name, cells[0].number if cells else False) for name, cells in shown),
        tuple(zip(*(cells for _, cells in shown), strict=True)),
    )


def _count(value: float, look: str = "") -> Cell:
    return Cell(str(int(value)), float(value), number=True, look=look)


def _time(value: float) -> Cell:
    return number(seconds_text(value), value)


def _number(value: float, form: str) -> Cell:
    return number(UNKNOWN if math.isnan(value) else form.format(value), value)


def _pairs(frame: pd.DataFrame) -> Table | None:
    """Return the table of pairs of configurations, by time."""
    if frame.empty:
        return None
    rows = tuple(
        (
            Cell(row["method"]),
            Cell(row["other"]),
            Cell(row["family"]),
            _count(row["instances"]),
            _count(row["wins"]),
            _count(row["ties"]),
            _count(row["losses"]),
            _count(row["neither"]),
            _number(row["ratio"], "{:.2f}"),
            Cell(
                UNKNOWN if math.isnan(row["holm"]) else f"{row['holm']:.3g}",
                None if math.isnan(row["holm"]) else row["holm"],
                number=True,
                look="better" if row["holm"] < SIGNIFICANT else "faint",
            ),
        )
        for row in frame.to_dict("records")
    )
    columns = (
        ("configuration", False), ("other", False), ("family", False), ("instances", True),
        ("wins", True), ("ties", True), ("losses", True), ("neither", True),
        ("times as slow", True), ("p", True),
    )  # fmt: skip
    return Table(
        "engine-pairs",
        f"Who solved an instance in less time; times that differ by less than {CLOSE:.0%} are a "
        "tie. Times as slow: geometric mean over the instances that both solved. p: Wilcoxon "
        "signed-rank test of these, with Holm’s correction.",
        columns,
        rows,
    )


def _tasks(run: StoredRun, tasks: pd.DataFrame, place: Path) -> Table:
    """Return a row for each task, with a link to the log of its engine."""
    known = {each.key: each for each in run.rows}
    rows = []
    for row in tasks.head(MOST_TASKS).to_dict("records"):
        task = known[row["key"]]
        link = ""
        if task.log:
            file = Path(task.file).parent.parent / "logs" / task.log
            link = Path(os.path.relpath(file, place)).as_posix()
        wrong = row["result"] == "wrong"
        rows.append(
            (
                Cell(row["instance"]),
                Cell(row["method"]),
                Cell(f"{row['seed']}.{row['permutation']}"),
                Cell(row["result"], look="bad" if wrong else ""),
                number(value_text(_known(row["objective"])), row["objective"]),
                number(value_text(_known(row["bound"])), row["bound"]),
                _time(row["seconds"]),
                _time(row["build_seconds"]),
                _time(row["engine_seconds"]),
                _number(row["nodes"], "{:.0f}"),
                Cell("log" if link else "", link=link, download=task.log),
                Cell(row["note"], look="bad" if wrong else ""),
            )
        )
    columns = (
        ("instance", False), ("formulation and engine", False), ("seed.order", False),
        ("result", False), ("objective", True), ("bound", True), ("time (s)", True),
        ("build (s)", True), ("engine (s)", True), ("nodes", True), ("log", False),
        ("note", False),
    )  # fmt: skip
    return Table(
        "engine-tasks",
        "Each task with the log of its engine. The links need the run folder next to the page.",
        columns,
        tuple(rows),
    )


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _figures(run: StoredRun) -> list[tuple[str, str, str, Figure]]:
    """Return (id, title, caption, figure) of the profiles of times, by family."""
    chosen = configurations(run)
    figures: list[tuple[str, str, str, Figure]] = []
    frames = {by: profile(run, by, methods=chosen) for by in ("factor", "seconds")}
    for name in dict.fromkeys(frames["factor"]["family"]):
        for by, frame in frames.items():
            rows = frame[frame["family"] == name]
            steps: dict[str, list[tuple[float, float]]] = {
                method: [] for method in dict.fromkeys(rows["method"])
            }
            for method, value, share in rows[["method", by, "share"]].itertuples(index=False):
                if share > 0:
                    steps[method].append((value, share))
            best = sorted(steps, key=lambda method: -max([0.0, *(s for _, s in steps[method])]))
            shown = {method: steps[method] for method in best[:MOST_LINES]}
            palette = method_colors("", shown)
            draw = performance_profile if by == "factor" else time_profile
            caption = (
                "Share of instances that a configuration solved within a factor of the time of the "
                "fastest one (Dolan and Moré). It compares each one with the fastest only."
                if by == "factor"
                else "Share of instances that a configuration solved, by the time it took."
            )
            if len(steps) > MOST_LINES:
                caption += f" The {MOST_LINES} that solved most are shown; the values have all."
            table = comma_separated(
                ("method", by, "share_of_instances"),
                [(method, *step) for method, each in steps.items() for step in each],
            )
            title = "Performance profile of times" if by == "factor" else "Solved over time"
            figures.append(
                (
                    f"engine-{by}-{name}",
                    f"{title}, {name}.",
                    caption,
                    plotly_data(draw(shown, palette), table),
                )
            )
    return figures
