"""Tables of a run in pandas: by record, by schedule, and by family, preset and method."""

import html
import math
from collections.abc import Callable, Collection
from functools import wraps
from typing import Any

import numpy as np
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
from schedgap.analysis.statistics.aggregates import RESULTS, by_instance, compared, groups
from schedgap.analysis.statistics.estimators import bootstrap, shifted_geometric_mean
from schedgap.errors import UsageError
from schedgap.instances.families import FAMILIES
from schedgap.models.family import family

TIME_SHIFT = 1.0  # shift of the geometric mean of times, in seconds


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
    meta = run.instance_data(record.instance.sha256).get("meta", {})
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
    options = {
        option: option.parse(record.options[option.name])
        for option in owner.method(record.method).options
        if option.name in record.options
    }
    changed = {option.name: value for option, value in options.items() if value != option.default}
    sha256 = record.instance.sha256
    guarantee = run.guarantees.of(
        owner, sha256, lambda: run.instance(sha256), record.method, changed
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


def summary(
    run: StoredRun,
    *,
    by_preset: bool = True,
    common: bool = True,
    methods: Collection[str] | None = None,
) -> pd.DataFrame:
    """Return a table with a row for each family, preset and method.

    Repetitions (several seeds, or records) are aggregated inside an instance first: all counts and
    means are over instances. The means of one family and preset are over the same instances, those
    on which all compared methods have a finite ratio; a method without a ratio on so many of them
    that less than half would remain is not compared and has no mean (n is 0).

    Parameters
    ----------
    run : StoredRun
        The run.
    by_preset : bool
        Whether each preset has its own rows; otherwise `preset` is empty.
    common : bool
        Whether means are over the common set of instances; otherwise each method has means over
        its own instances, which are not comparable where n differs.
    methods : collection of str, optional
        Names of the methods to compare; by default all.

    Returns
    -------
    DataFrame
        Columns: family, preset, method, kind, then

        - counts: tasks (records, without skipped ones) and instances; of the instances: solved
          (proved optimal or infeasible), feasible (a schedule without a proof), bounded (a bound,
          for kind `bound`), relaxed (a schedule outside the program), incomplete (nothing, though
          the method ended or used up its time), failed (nothing, for another reason), wrong (an
          invalid schedule or a refuted claim), which add up to all, see
          `schedgap.analysis.records.ratios.result`; skipped (not supported); scheduled (with a
          schedule), optimal (claimed), proved (claimed with a certificate or a proof file),
          infinite (ratios x/0, which are left out of the means);
        - ratios: n (instances behind the means), mean_low, mean_high, worst_low, worst_high (over
          all instances of the method), gap_low, gap_high (shifted geometric mean of ratio - 1 with
          shift 1), boot_low, boot_high (95 % bootstrap interval of the mean: the lower end from the
          lower ratios, the upper end from the upper ones; NaN for less than four instances),
          bound_n, bound_mean (mean ratio of optimum to bound, upper ends, and its instances);
        - times: seconds_n (instances, those that all compared methods of the kind tried), seconds
          (shifted geometric mean, shift 1 s, in which a method that did not complete its task
          counts with its time limit), slowest;
        - guarantees: guarantee_low, guarantee_high, holds (share of instances on which the
          assumptions hold), exceeded (instances on which the ratio exceeds the guarantee although
          they hold), beyond (instances on which it does and they do not hold);
        - outside: rules of the program that some of the schedules need not obey. Such schedules do
          not count in the ratios.
    """
    every, promised, each = records(run), ratios(run), instances(run)
    if methods is not None:
        every, each = (frame[frame["method"].isin(list(methods))] for frame in (every, each))
    if every.empty:
        return pd.DataFrame(columns=SUMMARY_COLUMNS)
    if not by_preset:
        every, promised, each = (frame.assign(preset="") for frame in (every, promised, each))
    per_instance = each.groupby(METHOD, sort=False)
    ran = each["result"] != "skipped"
    counts = {name: each["result"] == name for name in RESULTS} | {
        "instances": ran,
        "scheduled": each["scheduled"],
        "optimal": each["optimal"],
        "proved": each["proved"],
        "infinite": np.isinf(each["ratio_low"]),
    }
    frame = pd.concat(
        [
            per_instance["kind"].first(),
            each.assign(**counts).groupby(METHOD, sort=False)[list(counts)].sum(),
            each["tasks"].where(ran, 0).groupby([each[k] for k in METHOD]).sum(),
            per_instance[["worst_low", "worst_high", "slowest"]].max(),
            _means(each, by_preset=by_preset, common=common),
            _guarantees(promised),
            every.groupby(METHOD)["outside"].agg(
                lambda rules: ", ".join(sorted(set(rules) - {""}))
            ),
        ],
        axis=1,
    ).loc[per_instance.size().index]
    whole = ["tasks", "n", "bound_n", "seconds_n", "exceeded", "beyond"]
    frame[whole] = frame[whole].fillna(0).astype(int)
    frame["holds"] = frame["holds"].astype(float)
    return frame.reset_index()[SUMMARY_COLUMNS]


SUMMARY_COLUMNS = [
    "family", "preset", "method", "kind", "tasks", "instances", "solved", "feasible", "bounded",
    "relaxed", "incomplete", "failed", "wrong", "skipped", "scheduled", "optimal", "proved",
    "infinite", "n", "mean_low", "mean_high", "worst_low", "worst_high", "gap_low", "gap_high",
    "boot_low", "boot_high", "bound_n", "bound_mean", "seconds_n", "seconds", "slowest",
    "guarantee_low", "guarantee_high", "holds", "exceeded", "beyond", "outside",
]  # fmt: skip
METHOD = SUMMARY_COLUMNS[:3]  # key of a row


def _means(instances: pd.DataFrame, *, by_preset: bool, common: bool) -> pd.DataFrame:
    """Return the means of each method over the instances on which it is compared."""
    rows: dict[tuple[str, str, str], dict[str, float]] = {}
    for names, whole in groups(instances, by_preset=by_preset):
        group = whole[[*MEANT]].astype({"method": object, "instance": object, "kind": object})
        ratio, bound = (
            compared(group, column, common=common) for column in ("ratio_low", "bound_high")
        )
        time = {
            method: rows
            for _, same in group.assign(tried=1.0).groupby("kind")
            for method, rows in compared(same, "tried", common=common).items()
        }
        for method in dict.fromkeys(group["method"]):
            row = rows.setdefault((names["family"], names["preset"], method), {})
            if method in ratio:
                row |= _ratio_means(ratio[method])
            if method in bound:
                values = np.sort(bound[method]["bound_high"])
                row |= {"bound_n": len(values), "bound_mean": float(np.mean(values))}
            if method in time:
                seconds = np.sort(time[method]["at_limit"])
                mean = shifted_geometric_mean(seconds, TIME_SHIFT)
                row |= {"seconds_n": len(seconds), "seconds": mean}
    index = pd.MultiIndex.from_tuples(rows, names=METHOD)
    return pd.DataFrame(list(rows.values()), index=index, columns=MEANS, dtype=float)


MEANT = ["method", "instance", "kind", "ratio_low", "ratio_high", "bound_high", "at_limit"]
MEANS = [
    "n", "mean_low", "mean_high", "gap_low", "gap_high", "boot_low", "boot_high", "bound_n",
    "bound_mean", "seconds_n", "seconds",
]  # fmt: skip


def _ratio_means(rows: pd.DataFrame) -> dict[str, float]:
    low, high = (np.sort(rows[name].to_numpy(float)) for name in ("ratio_low", "ratio_high"))
    finite = bool(np.isfinite(high).all())
    below = bootstrap(low)
    above = below if np.array_equal(low, high) else bootstrap(high) if finite else None
    return {
        "n": len(low),
        "mean_low": float(np.mean(low)),
        "mean_high": float(np.mean(high)),
        "gap_low": shifted_geometric_mean(low - 1, 1.0),
        "gap_high": shifted_geometric_mean(high - 1, 1.0),
        "boot_low": below.low,
        "boot_high": math.inf
        if above is None and below.method
        else above.high
        if above
        else np.nan,
    }


def _guarantees(promised: pd.DataFrame) -> pd.DataFrame:
    """Return guaranteed factors of each method, and on how many instances they are exceeded."""
    marks = promised.assign(exceeded=promised["within"].eq(False), beyond=promised["beyond"])
    each = marks.groupby([*METHOD, "instance"], sort=False).agg(
        guarantee_low=("guarantee", "min"),
        guarantee_high=("guarantee", "max"),
        holds=("holds", "first"),
        exceeded=("exceeded", "any"),
        beyond=("beyond", "any"),
    )
    each = each.assign(holds=each["holds"].astype(float))
    return each.groupby(level=METHOD, sort=False).agg(
        guarantee_low=("guarantee_low", "min"),
        guarantee_high=("guarantee_high", "max"),
        holds=("holds", "mean"),
        exceeded=("exceeded", "sum"),
        beyond=("beyond", "sum"),
    )


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
    value = run.instance_data(record.instance.sha256).get("meta", {}).get("preset", "")
    return value if isinstance(value, str) else ""


def interval_text(low: float, high: float) -> str:
    """Return an interval as text: `1.25`, `1.2 to 1.3`, `>= 1.2`, or a dash for NaN.

    Parameters
    ----------
    low, high : float
        Ends of the interval; `high` may be infinite.
    """
    return "-" if math.isnan(low) else str(RatioInterval(low, high))


def as_html(run: StoredRun) -> str:
    """Return contradictions and the summary of a run as HTML, for notebooks.

    Parameters
    ----------
    run : StoredRun
        The run.
    """
    wrong = "".join(
        f"<div style='color:#b00020'>contradiction: {html.escape(text)}</div>"
        for text in run.contradictions
    )
    frame = summary(run)
    if frame.empty:
        return f"{wrong}{html.escape(repr(run))}"
    return f"{wrong}{html.escape(repr(run))}{readable(frame).to_html(index=False)}"


def by_family(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a summary as text cells with a row for each of the papers' algorithms.

    Beside each algorithm stand, of its family, the heuristic (algorithm of ours or baseline) with
    the smallest and the one with the greatest mean ratio. Means are those of the summary, over the
    instances that the compared methods have in common.

    Parameters
    ----------
    frame : DataFrame
        As returned by `summary` with `by_preset=False`.

    Returns
    -------
    DataFrame
        Columns: family, algorithm, n, mean ratio, worst ratio, guarantee, best heuristic, worst
        heuristic. A family without an algorithm of its paper has an empty one.
    """
    rows = []
    for name, group in frame.groupby("family", sort=False):
        ours = {method.name: method.ours for method in family(str(name)).methods}
        plain = group["method"].str.partition(" [")[0]
        is_paper = (group["kind"] == "algorithm") & plain.map(ours).eq(False)
        papers, others = group[is_paper], group[~is_paper]
        others = others[others["kind"].isin(("algorithm", "baseline"))]
        ranked = others[others["mean_high"].notna()].sort_values("mean_high", kind="stable")
        ends = [_named_mean(ranked.iloc[place]) if len(ranked) else "-" for place in (0, -1)]
        for _, row in papers.iterrows():
            ratios = [
                interval_text(row[f"{which}_low"], row[f"{which}_high"])
                for which in ("mean", "worst")
            ]
            count, guarantee = str(row["n"]), _guarantee_text(row)
            rows.append((name, row["method"], count, *ratios, guarantee, *ends))
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

    Parameters
    ----------
    frame : DataFrame
        As returned by `summary`.
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
            **{name: frame[name] for name in COUNTS},
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
                else f"<= {_up(row['bound_mean'])}{_other(row, 'bound_n')}"
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
    plain = dict.fromkeys([*COUNTS[2:], "infinite"], 0) | {"preset": "", "guarantee": "-"}
    uninformative = [name for name, value in plain.items() if (shown[name] == value).all()]
    if (frame["tasks"] == frame["instances"]).all():
        uninformative.append("tasks")
    if frame["family"].nunique() == 1:
        uninformative.append("family")
    return shown.drop(columns=uninformative)


COUNTS = [
    "solved", "feasible", "bounded", "relaxed", "incomplete", "failed", "wrong", "skipped",
]  # fmt: skip


def _other(row: "pd.Series[Any]", count: str) -> str:
    """Return the number of instances of a mean, unless it is one of the two in the table."""
    shown = row["instances"], row["bound_n" if row["kind"] == "bound" else "n"]
    return "" if row[count] in shown else f" (n {row[count]})"


def _up(value: float) -> str:
    """Return a number with four decimals, rounded up."""
    return str(RatioInterval(1.0, value)).rpartition(" ")[2]


def _guarantee_text(row: "pd.Series[Any]") -> str:
    """Return the guaranteed factor, whether it is void (assumptions fail), and if exceeded."""
    low, high = row["guarantee_low"], row["guarantee_high"]
    if math.isnan(high):
        return "-" if math.isnan(row["holds"]) else "void"
    text = f"{high:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
    if row["exceeded"]:
        return f"{text} EXCEEDED"
    if row["holds"] == 1:
        return text
    return f"{text} (void, exceeded)" if row["beyond"] else f"{text} (void)"
