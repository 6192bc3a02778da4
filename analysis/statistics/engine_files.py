"""A benchmark of engines as files for other programs: PAVER 2 and benchopt.

PAVER (https://github.com/coin-or/Paver) reads the trace files of GAMS; benchopt
(https://benchopt.github.io) has one table with a row for each run.
"""

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from schedgap.analysis.records.rows import TaskRow
from schedgap.analysis.records.stored import StoredRun, configurations_of
from schedgap.analysis.statistics.engines import configurations, engine_tasks
from schedgap.errors import InputError, UsageError
from schedgap.instances.records import write_text

TRACE = (
    *("InputFileName", "ModelType", "SolverName", "NLP", "MIP", "JulianDate", "Direction"),
    *("NumberOfEquations", "NumberOfVariables", "NumberOfDiscreteVariables", "NumberOfNonZeros"),
    *("NumberOfNonlinearNonZeros", "OptionFile", "ModelStatus", "SolverStatus", "ObjectiveValue"),
    *("ObjectiveValueEstimate", "SolverTime", "NumberOfIterations", "NumberOfDomainViolations"),
    *("NumberOfNodes", "#User1"),
)
# model statuses of GAMS
OPTIMAL, INTEGER_SOLUTION, INFEASIBLE, NO_SOLUTION, ERROR = 1, 8, 10, 14, 13
# solver statuses of GAMS
NORMAL, TIME, LICENCE, INCAPABLE, FAILED = 1, 3, 7, 6, 13
FIRST_DAY = datetime(1899, 12, 31, tzinfo=UTC)  # 1 January 1900 is day 1


def paver(run: StoredRun) -> dict[str, str]:
    """Return the trace files of a benchmark, by the name of the file.

    There is one file for each configuration of an engine with a program. The permutations and
    seeds of an instance are separate instances, as in benchmarks of performance variability.
    A wrong answer has the statuses of an error and no objective.
    """
    tasks = {row["key"]: row for row in engine_tasks(run).to_dict("records")}
    files: dict[str, str] = {}
    for configuration in configurations(run):
        named = zip(configurations_of(run), run.rows, strict=True)
        some = [row for name, row in named if row.formulation and name == configuration]
        limits = [row.time_limit for row in some if row.time_limit is not None]
        columns = ",".join(TRACE)
        lines = [
            "* Trace Record Definition",
            "* GamsSolve",
            f"* {columns}",
            "*",
            f"* SOLVER,{_plain(configuration)}",
            *([f"* TIMELIMIT,{max(limits):g}"] if limits else []),
            "* NODELIMIT,2100000000",
            "* GAPLIMIT,0",
        ]
        lines += [_trace(run, row, tasks[row.key], configuration) for row in some]
        name = re.sub(r"[^\w.@=+-]+", "-", configuration).strip("-")
        while f"{name}.trc" in files:
            name += "-"
        files[f"{name}.trc"] = "\n".join(lines) + "\n"
    return files


def _trace(run: StoredRun, row: TaskRow, task: Mapping[Any, Any], name: str) -> str:
    """Return the trace record of a task."""
    model, solver = _statuses(row, str(task["result"]))
    answered = model in (OPTIMAL, INTEGER_SOLUTION)
    values = {
        "InputFileName": _plain(_data_name(run, row)),
        "ModelType": "MIP",
        "SolverName": _plain(name),
        "NLP": "",
        "MIP": row.engine or "",
        "JulianDate": _day(row.started),
        "Direction": 0 if row.sense == "min" else 1,
        "NumberOfEquations": _number(task["rows"]),
        "NumberOfVariables": _number(task["columns"]),
        "NumberOfDiscreteVariables": _number(task["integers"]),
        "NumberOfNonZeros": _number(task["nonzeros"]),
        "NumberOfNonlinearNonZeros": 0,
        "OptionFile": 1 if task["options"] else 0,
        "ModelStatus": model,
        "SolverStatus": solver,
        "ObjectiveValue": _number(task["objective"]) if answered else "NA",
        "ObjectiveValueEstimate": _number(task["bound"]) if model != ERROR else "NA",
        "SolverTime": _number(task["seconds"]),
        "NumberOfIterations": _number(task["iterations"]),
        "NumberOfDomainViolations": 0,
        "NumberOfNodes": _number(task["nodes"]),
        "#User1": row.key,
    }
    return ",".join(str(values[column]) for column in TRACE)


def _statuses(row: TaskRow, result: str) -> tuple[int, int]:
    """Return the model status and the solver status of GAMS."""
    if result == "wrong":
        return ERROR, FAILED
    if result == "skipped":
        absent = ("licence", "not installed", "cannot be loaded")
        missing = any(words in row.message for words in absent)
        return NO_SOLUTION, LICENCE if missing else INCAPABLE
    if row.status is None:
        return NO_SOLUTION, TIME if row.outcome == "timeout" else FAILED
    status = row.status
    if status == "optimal":
        return OPTIMAL, NORMAL
    if status == "infeasible":
        return INFEASIBLE, NORMAL
    return (INTEGER_SOLUTION if status == "feasible" else NO_SOLUTION), TIME


def _day(started: str | None) -> str:
    """Return the day in the count of GAMS, with the time as a fraction."""
    if not started:
        return "0"
    passed = datetime.fromisoformat(started) - FIRST_DAY
    return f"{passed.total_seconds() / 86400:.5f}"


def _plain(text: str) -> str:
    """Return a text without the separator of trace files."""
    return text.replace(",", ";")


def _number(value: Any) -> str:
    if value is None or pd.isna(value) or not math.isfinite(float(value)):
        return "NA"
    return f"{int(value)}" if float(value).is_integer() else f"{float(value):.10g}"


def _data_name(run: StoredRun, row: TaskRow) -> str:
    """Return the name of the instance, and behind it which repetition it is."""
    name = run.names[row.sha256]
    return f"{name}~s{row.seed or 0}p{row.permutation or 0}"


def write_paver(run: StoredRun, folder: Path) -> list[Path]:
    """Write the trace files of a benchmark into a folder and return their paths."""
    files = paver(run)
    if not files:
        raise UsageError("the run has no benchmark of engines: see 'schedgap bench --help'")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"cannot be written: {reason}", file=str(folder)) from None
    for name, text in files.items():
        write_text(folder / name, text)
    return [folder / name for name in files]


def benchopt(run: StoredRun) -> pd.DataFrame:
    """Return the tasks of a benchmark with the columns of a benchopt result.

    Columns: objective_name (family), data_name (instance), solver_name (configuration), idx_rep
    (number of the repetition), stop_val (time limit), time, objective_value (empty without a
    schedule, and for a wrong answer), objective_bound, objective_result, sampling_strategy,
    p_solver_engine, p_solver_formulation, p_solver_threads, p_solver_seed, p_solver_permutation,
    and system-processor.
    """
    tasks = engine_tasks(run)
    wrong = tasks["result"] == "wrong"
    sessions = [run.sessions.get(row.session) for row in run.rows if row.formulation]
    assert len(sessions) == len(tasks)
    order = tasks.sort_values(["seed", "permutation"], kind="stable")
    repetition = order.groupby(["family", "instance", "method"]).cumcount()
    return pd.DataFrame(
        {
            "objective_name": tasks["family"],
            "data_name": tasks["instance"],
            "solver_name": tasks["method"],
            "idx_rep": repetition.reindex(tasks.index),
            "stop_val": tasks["time_limit"],
            "time": tasks["seconds"],
            "objective_value": tasks["objective"].mask(wrong),
            "objective_bound": tasks["bound"].mask(wrong),
            "objective_result": tasks["result"],
            "sampling_strategy": "run_once",
            "p_solver_engine": tasks["engine"],
            "p_solver_formulation": tasks["formulation"],
            "p_solver_threads": tasks["threads"],
            "p_solver_seed": tasks["seed"],
            "p_solver_permutation": tasks["permutation"],
            "system-processor": ["" if session is None else session.cpu for session in sessions],
        }
    )
