"""Tables of a run in pandas: by record, by schedule, by instance, and of progress."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial, wraps
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from schedgap.analysis.records.folder import TIMES, TaskRecord
from schedgap.analysis.records.generated import settings
from schedgap.analysis.records.index import Facts
from schedgap.analysis.records.outcomes import Tasks
from schedgap.analysis.records.ratios import Bracket, Mask, as_array, strongest_evidence
from schedgap.analysis.records.ratios import ratios as ratio_arrays
from schedgap.analysis.records.stored import StoredRun, groups
from schedgap.analysis.statistics.aggregates import by_instance
from schedgap.errors import UsageError
from schedgap.instances.families import FAMILIES
from schedgap.instances.solution import SolutionFile
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

    Returns
    -------
    DataFrame
        Columns: family, preset, instance, trace, load and load_reached (the offered load asked for
        and the one reached, see `schedgap.instances.loads`; empty without), method, kind, outcome,
        result (what the task ended with, see `schedgap.analysis.records.outcomes.Tasks.results`),
        status, proof (what an optimum rests on, see `ProofClaim`; empty for other statuses),
        problem (empty for the instance itself), sense, objective, bound, ratio_low, ratio_high
        (ratio of the schedule to the optimum; infinite if no bound is known), bound_low, bound_high
        (ratio of the optimum to the method's own bound), outside (rules of the program that the
        schedule need not obey), seconds (wall-clock), note; then configuration (equal to method:
        the method's label, with what differs between its configurations in brackets), label,
        engine, options, seed, time_limit (seconds) and memory_limit (MB), schedgap (its version),
        code (hash of the source), session, host, started, cpu_seconds; the times that are not in
        seconds, or parts of it (see `TaskRecord`): load_seconds, build_seconds, engine_seconds,
        engine_cpu_seconds, confirm_seconds, verify_seconds; peak_memory_mb, reused (key of the
        record under smaller limits whose result this is), key;
        and the other settings of the generator (see
        `schedgap.analysis.records.generated.settings`), such as `jobs`, with `_setting` behind a
        name that is taken.
    """
    records = run.records
    values = list(map(vars, records))
    found = [_solution(each["solution"]) for each in values]
    brackets = _brackets(run)
    tasks = _tasks(run)
    ratio = ratio_arrays(tasks.objective, tasks.bound, tasks.largest, brackets)
    columns: Columns = {
        **_identity(run, records),
        "outcome": tasks.outcome,
        "result": tasks.results(),
        "status": [each["status"] for each in found],
        "objective": tasks.objective,
        "bound": tasks.bound,
        "seconds": [each["seconds"] for each in found],
        "proof": ["" if each["proof"] is None else each["proof"].kind for each in found],
        "problem": _shared(run, lambda record: record.problem),
        "sense": _shared(run, lambda record: record.sense),
        "ratio_low": ratio.low,
        "ratio_high": ratio.high,
        "bound_low": ratio.bound_low,
        "bound_high": ratio.bound_high,
        "outside": _shared(run, lambda record: ", ".join(record.relaxed)),
        "note": [record.note for record in records],
        **_circumstances(run, values),
        "key": [each["key"] for each in values],
    }  # fmt: skip
    numbers = [
        "objective", "bound", "ratio_low", "ratio_high", "bound_low", "bound_high", "seconds",
        "time_limit", "memory_limit", "cpu_seconds", *TIMES, "verify_seconds", "peak_memory_mb",
        "load", "load_reached",
    ]  # fmt: skip
    frame = pd.DataFrame(columns, columns=TABLE_COLUMNS)
    frame = frame.astype(dict.fromkeys(numbers, float) | {"seed": "Int64"})
    generated = settings(run).rename(
        columns=lambda name: f"{name}_setting" if name in TABLE_COLUMNS else name
    )
    return frame.join(generated, on="instance")


def _solution(found: SolutionFile | None) -> dict[str, Any]:
    return _NO_SOLUTION if found is None else vars(found)


_NO_SOLUTION = dict.fromkeys(("status", "objective", "bound", "seconds", "proof", "sense"))


def _tasks(run: StoredRun) -> Tasks:
    """Return what the tasks of a run ended with, as arrays."""
    if "tasks" not in run.tables:
        found = [_solution(record.solution) for record in run.records]
        known = [
            "" if each.solution is None else strongest_evidence(each, each.solution)
            for each in run.records
        ]
        run.tables["tasks"] = Tasks(
            outcome=np.array([record.outcome for record in run.records], str),
            kind=_shared(run, lambda record: record.kind).to_numpy(str),
            status=np.array([each["status"] or "" for each in found], str),
            relaxed=_shared(run, lambda record: bool(record.relaxed)).to_numpy(bool),
            evidence=np.array(known, str),
            objective=as_array(each["objective"] for each in found),
            bound=as_array(each["bound"] for each in found),
            best=as_array(each.best for each in _brackets(run)),
            grid=as_array(each.scale.grid for each in _brackets(run)),
            largest=np.array([each["sense"] == "max" for each in found], bool),
        )
    tasks: Tasks = run.tables["tasks"]
    return tasks


def _brackets(run: StoredRun) -> list[Bracket]:
    """Return the best known schedule and bound of each record's instance."""
    if "brackets" not in run.tables:
        numbers, some = groups(run)
        problems = [record.problem for record in some]
        run.tables["brackets"] = [
            run.brackets[record.instance.sha256, problems[number]]
            for record, number in zip(run.records, numbers.tolist(), strict=True)
        ]
    found: list[Bracket] = run.tables["brackets"]
    return found


def _shared(run: StoredRun, value: Callable[[TaskRecord], object]) -> "pd.Series[Any]":
    """Return a column whose values are those of the records' groups; see `folder.alike`."""
    numbers, some = groups(run)
    return _taken([value(record) for record in some], numbers)


def _taken(values: list[Any], places: NDArray[np.intp]) -> "pd.Series[Any]":
    """Return a column from its different values and the place of each row's value."""
    return pd.Series(values).take(places).reset_index(drop=True)


def _identity(run: StoredRun, records: Sequence[TaskRecord]) -> Columns:
    """Return the columns that say which task each record belongs to."""
    names, facts = run.names, run.facts
    instances = [
        (preset_of(facts[sha256]), name, *_load(facts[sha256])) for sha256, name in names.items()
    ]
    order = {sha256: place for place, sha256 in enumerate(names)}
    which = np.array([order[record.instance.sha256] for record in records], np.intp)
    texts = ["preset", "instance", "trace", "load", "load_reached"]
    return {
        "family": _shared(run, lambda record: record.instance.family),
        **{
            name: _taken([each[place] for each in instances], which)
            for place, name in enumerate(texts)
        },
        "method": _shared(run, lambda record: run.configurations[id(record)]),
        "kind": _shared(run, lambda record: record.kind),
    }


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
    asked, reached = (each if isinstance(each, int | float) else None for each in numbers)
    return trace if isinstance(trace, str) else "", asked, reached


def _circumstances(run: StoredRun, values: Sequence[Mapping[str, Any]]) -> Columns:
    """Return the columns that say with what, where and when each task was run."""
    hosts = {key: session.host for key, session in run.sessions.items()}
    own = ("seed", "reused", "cpu_seconds", *TIMES[1:], "verify_seconds", "peak_memory_mb")
    shared = ("label", "time_limit", "memory_limit", "code", "session")
    return {
        **{name: list(map(itemgetter(name), values)) for name in own},
        "load_seconds": [
            each["start_seconds"] if each["load_seconds"] is None else each["load_seconds"]
            for each in values
        ],
        **{name: _shared(run, attrgetter(name)) for name in shared},
        "configuration": _shared(run, lambda record: run.configurations[id(record)]),
        "engine": _shared(run, lambda record: record.engine or ""),
        "options": _shared(run, lambda record: _options(record.options)),
        "schedgap": _shared(run, lambda record: record.versions.get("schedgap", "")),
        "host": _shared(run, lambda record: hosts.get(record.session, "")),
        "started": [each["started"] or "" for each in values],
    }


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

    Returns
    -------
    DataFrame
        Columns: family, preset, instance, problem, method, kind, objective, best (best known
        objective), best_by (its method), bound (best known bound), bound_by, low, high (ends of
        the ratio), exact (low equals high), outside (rules that the schedule need not obey),
        guarantee (the factor), claim, holds (whether all assumptions of the guarantee hold for the
        instance), failed (the assumptions that do not), within (False if the ratio exceeds a
        guarantee whose assumptions hold), beyond (whether the ratio exceeds a guarantee whose
        assumptions do not hold).
    """
    every = table(run)
    rows = np.flatnonzero(every["objective"].notna())
    brackets = [_brackets(run)[row] for row in rows]
    different = list({id(each): each for each in brackets}.values())
    order = {id(each): place for place, each in enumerate(different)}
    places = np.array([order[id(each)] for each in brackets], np.intp)
    frame = every[[*_KEPT, "ratio_low", "ratio_high"]].iloc[rows].reset_index(drop=True)
    frame = frame.rename(columns={"ratio_low": "low", "ratio_high": "high"})
    frame = frame.assign(
        **{
            name: _taken([getattr(each, name) for each in different], places)
            for name in ("best", "best_by", "bound", "bound_by")
        },
        exact=frame["low"] == frame["high"],
        **_guarantees(run, rows.tolist(), frame["low"].to_numpy(float)),
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


def _guarantees(run: StoredRun, rows: Sequence[int], low: NDArray[np.float64]) -> Columns:
    """Return the paper's guarantee for each row of `table`: its method, options and instance."""
    promises = list(map(cache(partial(_promise, run)), groups(run)[0][rows].tolist()))
    hashes = [run.records[row].instance.sha256 for row in rows]
    found = [promise(sha256) for promise, sha256 in zip(promises, hashes, strict=True)]
    factor = as_array(each["factor"] if each else None for each in found)
    holds = np.array([bool(each) and each["holds"] for each in found], bool)
    exceeded = low > factor * (1 + 1e-9)
    known = np.array(list(map(bool, found)), bool)
    return {
        "guarantee": factor,
        "claim": [each["claim"] if each else "" for each in found],
        "holds": _where(known, holds),
        "failed": ["; ".join(each["failed"]) if each else "" for each in found],
        "within": _where(holds & ~np.isnan(factor), ~exceeded),
        "beyond": exceeded & ~holds,
    }


def _where(known: Mask, values: Mask) -> "pd.Series[Any]":
    """Return a column of True, False, and None where the value is not known."""
    found = values.astype(object)
    found[~known] = None
    return pd.Series(found, dtype=object)


def _promise(run: StoredRun, number: int) -> Callable[[str], Mapping[str, Any]]:
    """Return the guarantee of the method of a group with its options, by hash of the instance."""
    record = groups(run)[1][number]
    changed = None if record.problem or record.own else changed_options(record)
    if changed is None:
        return lambda sha256: {}
    owner = family(record.instance.family)
    return run.guarantees.of(owner, record.method, changed, run.instance)


def changed_options(record: TaskRecord) -> dict[str, object] | None:
    """Return the options of a record's method that do not have their defaults.

    None if this version has no such method, or none with these options.

    `record`: a record of a method of the family, not of the user's own.
    """
    try:
        options = {
            option: option.parse(record.options[option.name])
            for option in family(record.instance.family).method(record.method).options
            if option.name in record.options
        }
    except UsageError:
        return None
    return {option.name: value for option, value in options.items() if value != option.default}


@_once
def records(run: StoredRun) -> pd.DataFrame:
    """Return the rows of `table` with what the statistics need beside them.

    Returns
    -------
    DataFrame
        Columns of `table`, and rank (place of the method in its family's table), seed (as text;
        empty if there is none; of an engine in a benchmark with the permutation), limit (time limit
        in seconds), completed (see `schedgap.analysis.records.outcomes.Tasks.completed`), at_limit
        (seconds of a completed task, otherwise its time limit, infinite without one), par2 (the
        same with twice the limit).
    """
    frame = table(run)
    ended = pd.Series(_tasks(run).completed(frame["result"].to_numpy(str)), dtype=bool)
    limit = frame["time_limit"]
    known = limit.fillna(math.inf)
    return frame.assign(
        rank=_shared(run, _rank),
        seed=list(map(_repetition, run.records)),
        limit=limit,
        completed=ended,
        at_limit=frame["seconds"].where(ended, known),
        par2=frame["seconds"].where(ended, 2 * known),
    )


def _repetition(record: TaskRecord) -> str:
    """Return the seed as text, and behind it the permutation of an engine's program."""
    if record.seed is None:
        return ""
    return f"{record.seed}.{record.permutation}" if record.formulation else str(record.seed)


def _rank(record: TaskRecord) -> int:
    """Return the place of a method in its family's table; unknown methods come last."""
    if record.instance.family not in FAMILIES:
        return 0
    owner = family(record.instance.family)
    try:
        return owner.methods.index(owner.method(record.method))
    except UsageError:
        return len(owner.methods)


@_once
def instances(run: StoredRun) -> pd.DataFrame:
    """Return a row for each method and instance, see `statistics.aggregates.by_instance`."""
    return by_instance(records(run))


def progress(run: StoredRun) -> pd.DataFrame:
    """Return a table with a row for each point of progress: seconds, objective, bound."""
    rows = [
        (
            record.instance.family,
            run.names[record.instance.sha256],
            run.configurations[id(record)],
            *point,
            record.key,
        )
        for record in run.records
        for point in record.progress
    ]
    columns = ["family", "instance", "method", "seconds", "objective", "bound", "key"]
    return pd.DataFrame(rows, columns=columns).astype({"objective": float, "bound": float})
