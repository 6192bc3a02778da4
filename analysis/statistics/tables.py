"""Tables of a run in pandas: by record, by schedule, by instance, and of progress."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from schedgap.analysis.records.folder import TIMES
from schedgap.analysis.records.generated import generator_settings
from schedgap.analysis.records.index import Facts
from schedgap.analysis.records.outcomes import Tasks
from schedgap.analysis.records.ratios import Bracket, Mask, as_array
from schedgap.analysis.records.ratios import ratios as ratio_arrays
from schedgap.analysis.records.rows import TaskRow
from schedgap.analysis.records.stored import StoredRun, configurations_of
from schedgap.analysis.statistics.aggregates import by_instance
from schedgap.errors import UsageError
from schedgap.instances.families import FAMILIES
from schedgap.models.family import family

Columns = dict[str, Any]  # lists, arrays or Series, with a value for each record
COPY_ON_WRITE = int(pd.__version__.partition(".")[0]) >= 3  # pandas copies what is changed


def _once(make: Callable[[StoredRun], pd.DataFrame]) -> Callable[[StoredRun], pd.DataFrame]:
    """Make a table of a run's records once, because they do not change; return copies."""

    @wraps(make)
    def made(run: StoredRun) -> pd.DataFrame:
        if make.__name__ not in run.tables:
            run.tables[make.__name__] = make(run)
        copy: pd.DataFrame = run.tables[make.__name__].copy(deep=not COPY_ON_WRITE)
        return copy

    return made


@_once
def table(run: StoredRun) -> pd.DataFrame:
    """Return a table with a row for each record.

    Columns: family, preset, instance, trace, load and load_reached (the offered load asked for and
    the one reached, see `schedgap.instances.loads`; empty without), method, kind, outcome, result
    (what the task ended with, see `schedgap.analysis.records.outcomes.Tasks.results`), status,
    proof (what an optimum rests on, see `ProofClaim`; empty for other statuses), problem (empty for
    the instance itself), sense, objective, bound, ratio_low, ratio_high (ratio of the schedule to
    the optimum; infinite if no bound is known), bound_low, bound_high (ratio of the optimum to the
    method's own bound), outside (rules of the program that the schedule need not obey), seconds
    (wall-clock), note; then configuration (equal to method: the method's label, with what differs
    between its configurations in brackets), label, engine, options, seed, time_limit (seconds) and
    memory_limit (MB), schedgap (its version), code (hash of the source), session, host, started,
    cpu_seconds; the times that are not in seconds, or parts of it (see `TaskRecord`): load_seconds,
    build_seconds, engine_seconds, engine_cpu_seconds, confirm_seconds, verify_seconds;
    peak_memory_mb, reused (key of the record under smaller limits whose result this is), key; and
    the other settings of the generator (`analysis/records/generated.py`), such as `jobs`, with
    `_setting` behind a name that is taken.
    """
    known = columns(run)
    tasks = _tasks(run)
    ratio = ratio_arrays(tasks.objective, tasks.bound, tasks.largest, _brackets(run))
    names, hosts = (
        configurations_of(run),
        {key: session.host for key, session in run.sessions.items()},
    )
    frame = _frame(
        {
            **{name: known[name] for name in TABLE_COLUMNS if name in known},
            **_of_instances(run),
            "method": names,
            "configuration": names,
            "outcome": tasks.outcome,
            "result": tasks.results(),
            "objective": tasks.objective,
            "bound": tasks.bound,
            "proof": [kind or "" for kind in known["proof"]],
            "ratio_low": ratio.low,
            "ratio_high": ratio.high,
            "bound_low": ratio.bound_low,
            "bound_high": ratio.bound_high,
            "outside": [", ".join(rules) for rules in known["relaxed"]],
            "load_seconds": [
                row.start_seconds if row.load_seconds is None else row.load_seconds
                for row in run.rows
            ],
            "engine": [engine or "" for engine in known["engine"]],
            "options": list(map(_options, known["options"])),
            "schedgap": [versions.get("schedgap", "") for versions in known["versions"]],
            "host": [hosts.get(session, "") for session in known["session"]],
            "started": [start or "" for start in known["started"]],
        }
    )[TABLE_COLUMNS]
    numbers = [
        "objective", "bound", "ratio_low", "ratio_high", "bound_low", "bound_high", "seconds",
        "time_limit", "memory_limit", "cpu_seconds", *TIMES, "verify_seconds", "peak_memory_mb",
        "load", "load_reached",
    ]  # fmt: skip
    frame = frame.astype(dict.fromkeys(numbers, float) | {"seed": "Int64"})
    generated = generator_settings(run).rename(
        columns=lambda name: f"{name}_setting" if name in TABLE_COLUMNS else name
    )
    return frame.join(generated, on="instance")


def _frame(values: Columns) -> pd.DataFrame:
    """Return a table whose columns hold texts, and not numbers, if it has no row."""
    return pd.DataFrame({name: pd.Series(column) for name, column in values.items()})


def columns(run: StoredRun) -> Mapping[str, list[Any]]:
    """Return the values of the rows of a run by field of `TaskRow`."""
    if "columns" not in run.tables:
        run.tables["columns"] = {
            name: [row[place] for row in run.rows] for place, name in enumerate(TaskRow._fields)
        }
    found: Mapping[str, list[Any]] = run.tables["columns"]
    return found


def _tasks(run: StoredRun) -> Tasks:
    """Return what the tasks of a run ended with, as arrays."""
    if "tasks" not in run.tables:
        known, best = columns(run), _brackets(run)
        run.tables["tasks"] = Tasks(
            outcome=np.array(known["outcome"], str),
            kind=np.array(known["kind"], str),
            status=np.array([status or "" for status in known["status"]], str),
            relaxed=np.array(list(map(bool, known["relaxed"])), bool),
            evidence=np.array([kind or "" for kind in known["evidence"]], str),
            objective=as_array(known["objective"]),
            bound=as_array(known["bound"]),
            best=as_array(bracket.best for bracket in best),
            grid=as_array(bracket.scale.grid for bracket in best),
            largest=np.array(known["sense"], str) == "max",
        )
    tasks: Tasks = run.tables["tasks"]
    return tasks


def _brackets(run: StoredRun) -> list[Bracket]:
    """Return the best known schedule and bound of each row's instance."""
    known = run.brackets
    return [known[row.sha256, row.problem] for row in run.rows]


def _of_instances(run: StoredRun) -> Columns:
    """Return the columns that say which instance each row belongs to."""
    facts = {
        sha256: (name, preset_of(run.facts[sha256]), *_load(run.facts[sha256]))
        for sha256, name in run.names.items()
    }
    values = [facts[row.sha256] for row in run.rows]
    texts = ["instance", "preset", "trace", "load", "load_reached"]
    return {name: [value[place] for value in values] for place, name in enumerate(texts)}


def preset_of(facts: Facts) -> str:
    """Return the preset of an instance, or an empty text.

    `facts`: how it was generated, as in `StoredRun.facts`.
    """
    value = facts["meta"].get("preset", "")
    return value if isinstance(value, str) else ""


def _load(facts: Facts) -> tuple[str, float | None, float | None]:
    """Return the trace of an instance, and its load: that asked for, and that reached."""
    trace, load = facts["meta"].get("trace"), facts["meta"].get("load")
    parts = load if isinstance(load, dict) else {}
    numbers = [parts.get(key) for key in ("asked", "reached")]
    asked, reached = (number if isinstance(number, int | float) else None for number in numbers)
    return trace if isinstance(trace, str) else "", asked, reached


def _options(options: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value}" for name, value in options.items() if name != "time_limit")


CIRCUMSTANCES = [
    "configuration", "label", "engine", "options", "seed", "time_limit", "memory_limit",
    "schedgap", "code", "session", "host", "started", "cpu_seconds", *TIMES, "verify_seconds",
    "peak_memory_mb", "reused",
]  # fmt: skip
TABLE_COLUMNS = [
    "family", "preset", "instance", "trace", "load", "load_reached", "method", "kind", "outcome",
    "result", "status", "proof", "problem", "sense", "objective", "bound", "ratio_low",
    "ratio_high", "bound_low", "bound_high", "outside", "seconds", "note", *CIRCUMSTANCES, "key",
]  # fmt: skip


@_once
def ratios(run: StoredRun) -> pd.DataFrame:
    """Return a table with a row for each schedule: its ratio and the paper's guarantee.

    Columns: family, preset, instance, problem, method, kind, objective, best (best known
    objective), best_by (its method), bound (best known bound), bound_by, low, high (ends of the
    ratio), exact (low equals high), outside (rules that the schedule need not obey), guarantee (the
    factor), claim, holds (whether all assumptions of the guarantee hold for the instance), failed
    (the assumptions that do not), within (False if the ratio exceeds a guarantee whose assumptions
    hold), beyond (whether the ratio exceeds a guarantee whose assumptions do not hold).
    """
    every = table(run)
    rows = np.flatnonzero(every["objective"].notna())
    every_bracket = _brackets(run)
    brackets = [every_bracket[row] for row in rows]
    frame = every[[*_KEPT, "ratio_low", "ratio_high"]].iloc[rows].reset_index(drop=True)
    frame = frame.rename(columns={"ratio_low": "low", "ratio_high": "high"})
    frame = frame.assign(
        **{
            name: pd.Series([getattr(bracket, name) for bracket in brackets])
            for name in ("best", "best_by", "bound", "bound_by")
        },
        exact=frame["low"] == frame["high"],
        **_guarantees(run, [run.rows[row] for row in rows], frame["low"].to_numpy(float)),
    )
    run.guarantees.save()
    numbers = ["objective", "best", "bound", "low", "high", "guarantee"]
    return frame[RATIO_COLUMNS].astype(dict.fromkeys(numbers, float))


RATIO_COLUMNS = [
    "family", "preset", "instance", "problem", "method", "kind", "objective", "best", "best_by",
    "bound", "bound_by", "low", "high", "exact", "outside", "guarantee", "claim", "holds", "failed",
    "within", "beyond",
]  # fmt: skip
_KEPT = [
    "family", "preset", "instance", "problem", "method", "kind", "objective", "outside",
]  # fmt: skip


def _guarantees(run: StoredRun, rows: Sequence[TaskRow], low: NDArray[np.float64]) -> Columns:
    """Return the paper's guarantee for each row: of its method, options and instance."""
    promises: dict[tuple[object, ...], Callable[[str], Mapping[str, Any]]] = {}
    found = []
    for row in rows:
        key = row.family, row.method, row.own, row.problem, str(row.options)
        if key not in promises:
            promises[key] = _promise(run, row)
        found.append(promises[key](row.sha256))
    factor = as_array(find["factor"] if find else None for find in found)
    holds = np.array([bool(find) and find["holds"] for find in found], bool)
    exceeded = low > factor * (1 + 1e-9)
    known = np.array(list(map(bool, found)), bool)
    return {
        "guarantee": factor,
        "claim": [find["claim"] if find else "" for find in found],
        "holds": _where(known, holds),
        "failed": ["; ".join(find["failed"]) if find else "" for find in found],
        "within": _where(holds & ~np.isnan(factor), ~exceeded),
        "beyond": exceeded & ~holds,
    }


def _where(known: Mask, values: Mask) -> "pd.Series[Any]":
    """Return a column of True, False, and None where the value is not known."""
    found = values.astype(object)
    found[~known] = None
    return pd.Series(found, dtype=object)


def _promise(run: StoredRun, row: TaskRow) -> Callable[[str], Mapping[str, Any]]:
    """Return the guarantee of a row's method with its options, by hash of the instance."""
    changed = None if row.problem or row.own else changed_options(row)
    if changed is None:
        return lambda sha256: {}
    return run.guarantees.of(family(row.family), row.method, changed, run.instance)


def changed_options(row: TaskRow) -> dict[str, object] | None:
    """Return the options of a row's method that do not have their defaults.

    None if this version has no such method, or none with these options.

    `row`: of a method of the family, not of the user's own.
    """
    try:
        options = {
            option: option.parse(row.options[option.name])
            for option in family(row.family).method(row.method).options
            if option.name in row.options
        }
    except UsageError:
        return None
    return {option.name: value for option, value in options.items() if value != option.default}


@_once
def records(run: StoredRun) -> pd.DataFrame:
    """Return the rows of `table` with further columns that the statistics need.

    Columns of `table`, and rank (place of the method in its family's table), seed (as text; empty
    if there is none; of an engine in a benchmark with the permutation), limit (time limit in
    seconds), completed (see `schedgap.analysis.records.outcomes.Tasks.completed`), at_limit
    (seconds of a completed task, otherwise its time limit, infinite without one), par2 (the same
    with twice the limit).
    """
    frame = table(run)
    ended = pd.Series(_tasks(run).completed(frame["result"].to_numpy(str)), dtype=bool)
    limit = frame["time_limit"]
    known = limit.fillna(math.inf)
    return frame.assign(
        rank=[_rank(row.family, row.method) for row in run.rows],
        seed=list(map(_repetition, run.rows)),
        limit=limit,
        completed=ended,
        at_limit=frame["seconds"].where(ended, known),
        par2=frame["seconds"].where(ended, 2 * known),
    )


def _repetition(row: TaskRow) -> str:
    """Return the seed as text, and behind it the permutation of an engine's program."""
    if row.seed is None:
        return ""
    return f"{row.seed}.{row.permutation}" if row.formulation else str(row.seed)


@cache
def _rank(name: str, method: str) -> int:
    """Return the place of a method in its family's table; unknown methods come last."""
    if name not in FAMILIES:
        return 0
    owner = family(name)
    try:
        return owner.methods.index(owner.method(method))
    except UsageError:
        return len(owner.methods)


@_once
def instances(run: StoredRun) -> pd.DataFrame:
    """Return a row for each method and instance, see `statistics.aggregates.by_instance`."""
    return by_instance(records(run))


def progress(run: StoredRun) -> pd.DataFrame:
    """Return a table with a row for each point of progress: seconds, objective, bound."""
    rows = [
        (row.family, run.names[row.sha256], name, *point, row.key)
        for row, name in zip(run.rows, configurations_of(run), strict=True)
        for point in row.points()
    ]
    names = ["family", "instance", "method", "seconds", "objective", "bound", "key"]
    return pd.DataFrame(rows, columns=names).astype({"objective": float, "bound": float})
