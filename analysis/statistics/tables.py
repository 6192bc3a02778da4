"""Tables of a run in pandas: by record, by schedule, by instance, and of progress."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from operator import attrgetter, itemgetter
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from schedgap.analysis.records.folder import TaskRecord, alike
from schedgap.analysis.records.generated import settings
from schedgap.analysis.records.index import Facts
from schedgap.analysis.records.ratios import Result, completed, result
from schedgap.analysis.records.ratios import ratios as ratio_arrays
from schedgap.analysis.records.stored import StoredRun
from schedgap.analysis.statistics.aggregates import by_instance
from schedgap.errors import UsageError
from schedgap.instances.families import FAMILIES
from schedgap.models.family import family

Columns = dict[str, Any]  # lists, arrays or Series, with a value for each record


def _once(make: Callable[[StoredRun], pd.DataFrame]) -> Callable[[StoredRun], pd.DataFrame]:
    """Make a table of a run's records once, because they do not change; return copies."""

    @wraps(make)
    def made(run: StoredRun) -> pd.DataFrame:
        if make.__name__ not in run.tables:
            run.tables[make.__name__] = make(run)
        copy: pd.DataFrame = run.tables[make.__name__].copy()
        return copy

    return made


@_once
def table(run: StoredRun) -> pd.DataFrame:
    """Return a table with a row for each record.

    Parameters
    ----------
    run : StoredRun
        The run.

    Returns
    -------
    DataFrame
        Columns: family, preset, instance, trace, load and load_reached (the offered load asked for
        and the one reached, see `schedgap.instances.loads`; empty without), method, kind, outcome,
        result (what the task ended with, see `schedgap.analysis.records.ratios.result`), status,
        proof (what an optimum rests on, see `ProofClaim`; empty for other statuses), problem (empty
        for the instance itself), sense, objective, bound, ratio_low, ratio_high (ratio of the
        schedule to the optimum; infinite if no bound is known), bound_low, bound_high (ratio of the
        optimum to the method's own bound), outside (rules of the program that the schedule need not
        obey), seconds (wall-clock), note; then configuration (equal to method: the method's label,
        with what differs between its configurations in brackets), label, engine, options, seed,
        time_limit (seconds) and memory_limit (MB), schedgap (its version), code (hash of the
        source), session, host, started, cpu_seconds, start_seconds, peak_memory_mb, reused (key of
        the record under smaller limits whose result this is), key; and the other settings of the
        generator (see `schedgap.analysis.records.generated.settings`), such as `jobs`, with
        `_setting` behind a name that is taken.
    """
    records = run.records
    values = list(map(vars, records))
    solutions = [each["solution"] for each in values]
    found = [_NO_SOLUTION if each is None else vars(each) for each in solutions]
    known = run.brackets
    brackets = [known[each["instance"].sha256, each["problem"]] for each in values]
    ratio = ratio_arrays(solutions, brackets)
    columns: Columns = {
        **_identity(run, records),
        "outcome": [each["outcome"] for each in values],
        "result": [result(*each) for each in zip(records, brackets, strict=True)],
        **{
            name: list(map(itemgetter(name), found))
            for name in ("status", "objective", "bound", "seconds")
        },
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
        "time_limit", "memory_limit", "cpu_seconds", "start_seconds", "peak_memory_mb", "load",
        "load_reached",
    ]  # fmt: skip
    frame = pd.DataFrame(columns, columns=TABLE_COLUMNS)
    frame = frame.astype(dict.fromkeys(numbers, float) | {"seed": "Int64"})
    generated = settings(run).rename(
        columns=lambda name: f"{name}_setting" if name in TABLE_COLUMNS else name
    )
    return frame.join(generated, on="instance")


_NO_SOLUTION = dict.fromkeys(("status", "objective", "bound", "seconds", "proof"))


def _shared(run: StoredRun, value: Callable[[TaskRecord], object]) -> "pd.Series[Any]":
    """Return a column whose values are those of the records' groups; see `folder.alike`."""
    if "alike" not in run.tables:
        places, records = alike(run.records)
        run.tables["alike"] = np.array(places, np.intp), records
    numbers, some = run.tables["alike"]
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

    Parameters
    ----------
    facts : mapping
        How it was generated, as in `StoredRun.facts`.
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
    own = ("seed", "reused", "cpu_seconds", "start_seconds", "peak_memory_mb")
    shared = ("label", "time_limit", "memory_limit", "code", "session")
    return {
        **{name: list(map(itemgetter(name), values)) for name in own},
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
    "schedgap", "code", "session", "host", "started", "cpu_seconds", "start_seconds",
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

    Parameters
    ----------
    run : StoredRun
        The run.

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
    scheduled = every["objective"].notna().to_numpy()
    records = [record for record, each in zip(run.records, scheduled, strict=True) if each]
    brackets = [run.brackets[record.instance.sha256, record.problem] for record in records]
    frame = every[scheduled].reset_index(drop=True)
    frame = frame.rename(columns={"ratio_low": "low", "ratio_high": "high"})
    frame = frame.assign(
        **{
            name: [getattr(each, name) for each in brackets]
            for name in ("best", "best_by", "bound", "bound_by")
        },
        exact=frame["low"] == frame["high"],
        **_guarantees(run, records, frame["low"].tolist()),
    )
    run.guarantees.save()
    numbers = ["objective", "best", "bound", "low", "high", "guarantee"]
    return frame[RATIO_COLUMNS].astype(dict.fromkeys(numbers, float))


RATIO_COLUMNS = [
    "family", "preset", "instance", "problem", "method", "kind", "objective", "best", "best_by",
    "bound", "bound_by", "low", "high", "exact", "outside", "guarantee", "claim", "holds", "failed",
    "within", "beyond",
]  # fmt: skip


def _guarantees(run: StoredRun, records: Sequence[TaskRecord], low: Sequence[float]) -> Columns:
    """Return the paper's guarantee for each record: its method, options and instance."""
    columns: dict[str, list[object]] = {
        "guarantee": [None] * len(records),
        "claim": [""] * len(records),
        "holds": [None] * len(records),
        "failed": [""] * len(records),
        "within": [None] * len(records),
        "beyond": [False] * len(records),
    }
    groups: dict[tuple[str, str, int], list[int]] = {}
    for place, record in enumerate(records):
        if not (record.problem or record.own):
            key = record.instance.family, record.method, id(record.options)
            groups.setdefault(key, []).append(place)
    for places in groups.values():
        promise = _promise(run, records[places[0]])
        for place in places:
            guarantee = promise(records[place].instance.sha256)
            if not guarantee:
                continue
            factor, holds = guarantee["factor"], guarantee["holds"]
            exceeded = factor is not None and low[place] > factor * (1 + 1e-9)
            columns["guarantee"][place] = factor
            columns["claim"][place] = guarantee["claim"]
            columns["holds"][place] = holds
            columns["failed"][place] = "; ".join(guarantee["failed"])
            columns["within"][place] = None if factor is None or not holds else not exceeded
            columns["beyond"][place] = exceeded and not holds
    objects = ("holds", "within")  # True, False or None
    return {
        name: pd.Series(values, dtype=object) if name in objects else values
        for name, values in columns.items()
    }


def _promise(run: StoredRun, record: TaskRecord) -> Callable[[str], Mapping[str, Any]]:
    """Return the guarantee of a record's method with its options, by hash of the instance."""
    changed = changed_options(record)
    if changed is None:
        return lambda sha256: {}
    owner = family(record.instance.family)
    return run.guarantees.of(owner, record.method, changed, run.instance)


def changed_options(record: TaskRecord) -> dict[str, object] | None:
    """Return the options of a record's method that do not have their defaults.

    None if this version has no such method, or none with these options.

    Parameters
    ----------
    record : TaskRecord
        A record of a method of the family, not of the user's own.
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

    Parameters
    ----------
    run : StoredRun
        The run.

    Returns
    -------
    DataFrame
        Columns of `table`, and rank (place of the method in its family's table), seed (as text;
        empty if there is none), limit (time limit in seconds), completed (see
        `schedgap.analysis.records.ratios.completed`), at_limit (seconds of a completed task,
        otherwise its time limit, infinite without one), par2 (the same with twice the limit).
    """
    frame = table(run)
    results = cast(Sequence[Result], frame["result"].tolist())
    ended = pd.Series(list(map(completed, run.records, results)), dtype=bool)
    limit = frame["time_limit"]
    known = limit.fillna(math.inf)
    return frame.assign(
        rank=_shared(run, _rank),
        seed=["" if record.seed is None else str(record.seed) for record in run.records],
        limit=limit,
        completed=ended,
        at_limit=frame["seconds"].where(ended, known),
        par2=frame["seconds"].where(ended, 2 * known),
    )


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
    """Return a row for each method and instance, see `statistics.aggregates.by_instance`.

    Parameters
    ----------
    run : StoredRun
        The run.
    """
    return by_instance(records(run))


def progress(run: StoredRun) -> pd.DataFrame:
    """Return a table with a row for each point of progress: seconds, objective, bound.

    Parameters
    ----------
    run : StoredRun
        The run.
    """
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
