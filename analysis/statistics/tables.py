"""Tables of a run in pandas: by record, by schedule, by instance, and of progress."""

import math
from collections.abc import Callable
from functools import wraps

import pandas as pd

from schedgap.analysis.records.folder import TaskRecord
from schedgap.analysis.records.generated import settings
from schedgap.analysis.records.ratios import (
    RatioInterval,
    bound_ratio,
    completed,
    objective_ratio,
    result,
)
from schedgap.analysis.records.stored import StoredRun
from schedgap.analysis.statistics.aggregates import by_instance
from schedgap.errors import UsageError
from schedgap.instances.families import FAMILIES
from schedgap.models.family import family


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
    rows = []
    for record in run.records:
        solution = record.solution
        bracket = run.brackets[record.instance.sha256, record.problem]
        ratio = objective_ratio(solution, bracket) if solution is not None else None
        own_bound = bound_ratio(solution, bracket) if solution is not None else None
        rows.append(
            {
                **_identity(run, record),
                "outcome": record.outcome,
                "result": result(record, bracket),
                "status": None if solution is None else solution.status,
                "proof": "" if solution is None or solution.proof is None else solution.proof.kind,
                "problem": record.problem,
                "sense": record.sense,
                "objective": None if solution is None else solution.objective,
                "bound": None if solution is None else solution.bound,
                "ratio_low": None if ratio is None else ratio.low,
                "ratio_high": None if ratio is None else ratio.high,
                "bound_low": None if own_bound is None else own_bound.low,
                "bound_high": None if own_bound is None else own_bound.high,
                "outside": ", ".join(record.relaxed),
                "seconds": None if solution is None else solution.seconds,
                "note": record.note,
                **_circumstances(run, record),
                "key": record.key,
            }
        )
    frame = pd.DataFrame(rows, columns=TABLE_COLUMNS)
    numbers = [
        "objective", "bound", "ratio_low", "ratio_high", "bound_low", "bound_high", "seconds",
        "time_limit", "memory_limit", "cpu_seconds", "start_seconds", "peak_memory_mb", "load",
        "load_reached",
    ]  # fmt: skip
    frame = frame.astype(dict.fromkeys(numbers, float) | {"seed": "Int64"})
    generated = settings(run).rename(
        columns=lambda name: f"{name}_setting" if name in TABLE_COLUMNS else name
    )
    return frame.join(generated, on="instance")


def _identity(run: StoredRun, record: TaskRecord) -> dict[str, object]:
    """Return the columns that say which task a record belongs to."""
    return {
        "family": record.instance.family,
        "preset": preset(run, record),
        "instance": run.names[record.instance.sha256],
        **_load(run, record),
        "method": run.configurations[id(record)],
        "kind": record.kind,
    }


def _load(run: StoredRun, record: TaskRecord) -> dict[str, object]:
    """Return the trace and the load of a record's instance, as in its `meta`."""
    meta = run.facts[record.instance.sha256]["meta"]
    trace, load = meta.get("trace"), meta.get("load")
    facts = load if isinstance(load, dict) else {}
    numbers = [facts.get(key) for key in ("asked", "reached")]
    asked, reached = (each if isinstance(each, int | float) else None for each in numbers)
    return {
        "trace": trace if isinstance(trace, str) else "",
        "load": asked,
        "load_reached": reached,
    }


def _circumstances(run: StoredRun, record: TaskRecord) -> dict[str, object]:
    """Return the columns that say with what, where and when a task was run."""
    session = run.sessions.get(record.session)
    options = {name: value for name, value in record.options.items() if name != "time_limit"}
    return {
        "configuration": run.configurations[id(record)],
        "label": record.label,
        "engine": record.engine or "",
        "options": ", ".join(f"{name}={value}" for name, value in options.items()),
        "seed": record.seed,
        "time_limit": record.time_limit,
        "memory_limit": record.memory_limit,
        "schedgap": record.versions.get("schedgap", ""),
        "code": record.code,
        "session": record.session,
        "host": "" if session is None else session.host,
        "started": record.started or "",
        "cpu_seconds": record.cpu_seconds,
        "start_seconds": record.start_seconds,
        "peak_memory_mb": record.peak_memory_mb,
        "reused": record.reused,
    }


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
    rows = []
    for record in run.records:
        solution = record.solution
        if solution is None or solution.objective is None:
            continue
        bracket = run.brackets[record.instance.sha256, record.problem]
        ratio = objective_ratio(solution, bracket)
        assert ratio is not None
        row = {
            **_identity(run, record),
            "problem": record.problem,
            "objective": solution.objective,
            "best": bracket.best,
            "best_by": bracket.best_by,
            "bound": bracket.bound,
            "bound_by": bracket.bound_by,
            "low": ratio.low,
            "high": ratio.high,
            "exact": ratio.exact,
            "outside": ", ".join(record.relaxed),
        }
        rows.append(row | _guarantee(run, record, ratio))
    run.guarantees.save()
    frame = pd.DataFrame(rows, columns=RATIO_COLUMNS)
    numbers = ["objective", "best", "bound", "low", "high", "guarantee"]
    return frame.astype(dict.fromkeys(numbers, float))


RATIO_COLUMNS = [
    "family", "preset", "instance", "problem", "method", "kind", "objective", "best", "best_by",
    "bound", "bound_by", "low", "high", "exact", "outside", "guarantee", "claim", "holds", "failed",
    "within", "beyond",
]  # fmt: skip


def _guarantee(run: StoredRun, record: TaskRecord, ratio: RatioInterval) -> dict[str, object]:
    """Return the paper's guarantee for this method, with its options, on this instance."""
    none: dict[str, object] = {
        "guarantee": None, "claim": "", "holds": None, "failed": "", "within": None,
        "beyond": False,
    }  # fmt: skip
    owner = family(record.instance.family)
    if record.problem or record.own:
        return none
    sha256 = record.instance.sha256
    guarantee = run.guarantees.of(
        owner, sha256, lambda: run.instance(sha256), record.method, changed_options(record)
    )
    if not guarantee:
        return none
    factor, holds = guarantee["factor"], guarantee["holds"]
    exceeded = factor is not None and ratio.low > factor * (1 + 1e-9)
    return {
        "guarantee": factor,
        "claim": guarantee["claim"],
        "holds": holds,
        "failed": "; ".join(guarantee["failed"]),
        "within": None if factor is None or not holds else not exceeded,
        "beyond": exceeded and not holds,
    }


def changed_options(record: TaskRecord) -> dict[str, object]:
    """Return the options of a record's method that do not have their defaults.

    Parameters
    ----------
    record : TaskRecord
        A record of a method of the family, not of the user's own.
    """
    options = {
        option: option.parse(record.options[option.name])
        for option in family(record.instance.family).method(record.method).options
        if option.name in record.options
    }
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
    brackets = run.brackets
    ended = pd.Series(
        [
            completed(record, brackets[record.instance.sha256, record.problem])
            for record in run.records
        ],
        dtype=bool,
    )
    limit = pd.Series([record.time_limit for record in run.records], dtype=float)
    frame = table(run)
    known = limit.fillna(math.inf)
    return frame.assign(
        rank=[_rank(record) for record in run.records],
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


def preset(run: StoredRun, record: TaskRecord) -> str:
    """Return the preset of a record's instance, or an empty text.

    Parameters
    ----------
    run : StoredRun
        The run.
    record : TaskRecord
        One of its records.
    """
    value = run.facts[record.instance.sha256]["meta"].get("preset", "")
    return value if isinstance(value, str) else ""
