"""Tables of a run in pandas: by record, by schedule, and by family, preset and method.

References
----------
E. D. Dolan, J. J. Moré, "Benchmarking optimization software with performance profiles",
Mathematical Programming 91 (2002): `profile`.
B. Efron, R. J. Tibshirani, "An Introduction to the Bootstrap", Chapman & Hall (1993), Section
13.3: the percentile interval of `bootstrap`.
"""

import html
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from schedgap.analysis.folder import FAILURES, TaskRecord
from schedgap.analysis.ratios import RatioInterval, bound_ratio, objective_ratio
from schedgap.analysis.stored import KIND_ORDER, StoredRun
from schedgap.instances.solution import CHECKABLE
from schedgap.models.family import family

TIME_SHIFT = 1.0  # shift of the geometric mean of times, in seconds
RESAMPLES = 2000  # bootstrap samples


def table(run: StoredRun) -> pd.DataFrame:
    """Return a table with a row for each record.

    Parameters
    ----------
    run : StoredRun
        The run.

    Returns
    -------
    DataFrame
        Columns: family, preset, instance, method, kind, outcome, status, proof (what an optimum
        rests on, see `ProofClaim`; empty for other statuses), objective, bound, ratio_low,
        ratio_high (ratio of the schedule to the optimum; infinite if no bound is known), bound_low,
        bound_high (ratio of the optimum to the method's own bound), outside (rules of the program
        that the schedule need not obey), seconds, note, key.
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
                "status": None if solution is None else solution.status,
                "proof": "" if solution is None or solution.proof is None else solution.proof.kind,
                "objective": None if solution is None else solution.objective,
                "bound": None if solution is None else solution.bound,
                "ratio_low": None if ratio is None else ratio.low,
                "ratio_high": None if ratio is None else ratio.high,
                "bound_low": None if own_bound is None else own_bound.low,
                "bound_high": None if own_bound is None else own_bound.high,
                "outside": ", ".join(record.relaxed),
                "seconds": None if solution is None else solution.seconds,
                "note": record.message
                or ("" if solution is None else solution.trace.get("note", "")),
                "key": record.key,
            }
        )
    frame = pd.DataFrame(rows, columns=TABLE_COLUMNS)
    numbers = [
        "objective", "bound", "ratio_low", "ratio_high", "bound_low", "bound_high", "seconds",
    ]  # fmt: skip
    return frame.astype(dict.fromkeys(numbers, float))


def _identity(run: StoredRun, record: TaskRecord) -> dict[str, str]:
    """Return the columns that say which task a record belongs to."""
    return {
        "family": record.instance.family,
        "preset": preset(run, record),
        "instance": run.names[record.instance.sha256],
        "method": record.label,
        "kind": record.kind,
    }


TABLE_COLUMNS = [
    "family", "preset", "instance", "method", "kind", "outcome", "status", "proof", "objective",
    "bound", "ratio_low", "ratio_high", "bound_low", "bound_high", "outside", "seconds", "note",
    "key",
]  # fmt: skip


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
    if record.problem:
        return none
    options = {
        option: option.parse(record.options[option.name])
        for option in owner.method(record.method).options
        if option.name in record.options
    }
    changed = {option.name: value for option, value in options.items() if value != option.default}
    guarantee = owner.paper.guarantee(run.instance(record.instance.sha256), record.method, changed)
    if not guarantee:
        return none
    factor, holds = guarantee.get("factor"), bool(guarantee.get("holds"))
    failed = guarantee.get("failed") or ""
    exceeded = factor is not None and ratio.low > factor * (1 + 1e-9)
    return {
        "guarantee": factor,
        "claim": str(guarantee.get("claim", "")),
        "holds": holds,
        "failed": failed if isinstance(failed, str) else "; ".join(map(str, failed)),
        "within": None if factor is None or not holds else not exceeded,
        "beyond": exceeded and not holds,
    }


def summary(run: StoredRun, *, by_preset: bool = True) -> pd.DataFrame:
    """Return a table with a row for each family, preset and method.

    Parameters
    ----------
    run : StoredRun
        The run.
    by_preset : bool
        Whether each preset has its own rows; otherwise `preset` is empty.

    Returns
    -------
    DataFrame
        Columns: family, preset, method, kind, then

        - counts: tasks (without skipped ones), solved (with a schedule), optimal (claimed), proved
          (claimed with a certificate or a proof file), incomplete (ended without a schedule; not
          for kind `bound`), failed, skipped, infinite (ratios x/0, which are left out of the
          means);
        - ratios: mean_low, mean_high, worst_low, worst_high, gap_low, gap_high (shifted geometric
          mean of ratio - 1 with shift 1), boot_low, boot_high (95 % bootstrap interval of the mean:
          the lower end from the lower ratios, the upper end from the upper ones), bound_mean (mean
          ratio of optimum to bound, upper ends);
        - times: seconds (shifted geometric mean, shift 1 s), slowest;
        - guarantees: guarantee_low, guarantee_high, holds (share of instances on which the
          assumptions hold), exceeded (instances on which the ratio exceeds the guarantee although
          they hold), beyond (instances on which it does and they do not hold);
        - outside: rules of the program that some of the schedules need not obey. Such schedules do
          not count in the ratios.
    """
    records, promised = table(run), ratios(run)
    if not by_preset:
        records, promised = records.assign(preset=""), promised.assign(preset="")
    if records.empty:
        return pd.DataFrame(columns=SUMMARY_COLUMNS)
    ran = records["outcome"] != "skipped"
    scheduled = records["objective"].notna()
    inside = ran & records["ratio_low"].notna() & (records["outside"] == "")
    finite = inside & np.isfinite(records["ratio_low"])
    counts = {
        "tasks": ran,
        "solved": scheduled,
        "optimal": records["status"] == "optimal",
        "proved": (records["status"] == "optimal") & records["proof"].isin(CHECKABLE),
        "incomplete": (records["outcome"] == "done") & ~scheduled & (records["kind"] != "bound"),
        "failed": records["outcome"].isin(FAILURES),
        "skipped": ~ran,
        "infinite": inside & ~finite,
    }
    groups = records.assign(**counts).groupby(METHOD, sort=False)
    usable = records[finite]
    parts: list[pd.DataFrame | pd.Series[Any]] = [
        groups["kind"].first(),
        groups[list(counts)].sum(),
        _by_method(usable, "ratio_low", mean_low=np.mean, worst_low=np.max, gap_low=_gap),
        _by_method(usable, "ratio_high", mean_high=np.mean, worst_high=np.max, gap_high=_gap),
        _by_method(usable, "ratio_low", boot_low=lambda values: bootstrap(values)[0]),
        _by_method(usable, "ratio_high", boot_high=lambda values: bootstrap(values)[1]),
        _by_method(records[np.isfinite(records["bound_high"])], "bound_high", bound_mean=np.mean),
        _by_method(records, "seconds", seconds=_time, slowest=np.max),
        _by_method(promised, "guarantee", guarantee_low=np.min, guarantee_high=np.max),
        _by_method(promised, "holds", holds=np.mean),
        _by_method(promised, "within", exceeded=lambda values: float(np.sum(values == 0))),
        _by_method(promised, "beyond", beyond=np.sum),
        groups["outside"].agg(lambda rules: ", ".join(sorted(set(rules) - {""}))),
    ]
    frame: pd.DataFrame = pd.concat(parts, axis=1).loc[groups.size().index].reset_index()
    for name in ("exceeded", "beyond"):
        frame[name] = frame[name].fillna(0).astype(int)
    order = frame["kind"].map({kind: place for place, kind in enumerate(KIND_ORDER)})
    frame = frame.assign(order=order).sort_values(["family", "preset", "order"], kind="stable")
    return frame[SUMMARY_COLUMNS].reset_index(drop=True)


SUMMARY_COLUMNS = [
    "family", "preset", "method", "kind", "tasks", "solved", "optimal", "proved", "incomplete",
    "failed", "skipped", "infinite", "mean_low", "mean_high", "worst_low", "worst_high", "gap_low",
    "gap_high", "boot_low", "boot_high", "bound_mean", "seconds", "slowest", "guarantee_low",
    "guarantee_high", "holds", "exceeded", "beyond", "outside",
]  # fmt: skip
METHOD = SUMMARY_COLUMNS[:3]  # key of a row


def _by_method(
    rows: pd.DataFrame, column: str, **functions: Callable[[NDArray[np.float64]], float]
) -> pd.DataFrame:
    """Return a column for each function, applied to the known values of each method."""
    known = rows[rows[column].notna()].astype({column: float})
    values = {key: group.to_numpy() for key, group in known.groupby(METHOD)[column]}
    index = pd.MultiIndex.from_tuples(values, names=METHOD)
    columns = {
        name: [float(of(each)) for each in values.values()] for name, of in functions.items()
    }
    return pd.DataFrame(columns, index=index, dtype=float)


def _gap(ratios: NDArray[np.float64]) -> float:
    return shifted_geometric_mean(ratios - 1, 1.0)


def _time(seconds: NDArray[np.float64]) -> float:
    return shifted_geometric_mean(seconds, TIME_SHIFT)


def shifted_geometric_mean(values: NDArray[np.float64], shift: float) -> float:
    """Return exp(mean(log(values + shift))) - shift; infinite if a value is.

    Compared with the arithmetic mean, large values weigh less; compared with the geometric mean,
    tiny values weigh less.

    Parameters
    ----------
    values : array [k]
        Each > -shift.
    shift : float
        > 0.
    """
    if np.isinf(values).any():
        return math.inf
    return float(np.exp(np.log(values + shift).mean()) - shift)


def bootstrap(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the 95 % bootstrap percentile interval of the mean, with a fixed seed.

    Parameters
    ----------
    values : array [k]
        A sample, k >= 1.
    """
    if len(values) < 2 or np.isinf(values).any():
        return float(np.mean(values)), float(np.mean(values))
    random = np.random.default_rng(0)
    means = random.choice(values, (RESAMPLES, len(values))).mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def profile(run: StoredRun) -> pd.DataFrame:
    """Return performance profiles of the methods that return schedules.

    A profile compares each method with the best known schedules only, not with another method.

    Parameters
    ----------
    run : StoredRun
        The run.

    Returns
    -------
    DataFrame
        Columns family, method, ratio, share: on the fraction `share` of its instances, the method
        has a schedule within the factor `ratio` of the best known one.
    """
    records = table(run)
    usable = records[(records["outcome"] != "skipped") & (records["kind"] != "bound")]
    rows = []
    for key, group in usable.groupby(["family", "method"], sort=False):
        inside = group[group["outside"] == ""]
        values = np.sort(inside["ratio_low"].dropna().to_numpy())
        values = values[np.isfinite(values)]
        for ratio in np.unique(values):
            share = np.searchsorted(values, ratio, side="right") / len(group)
            rows.append((*key, float(ratio), float(share)))
    return pd.DataFrame(rows, columns=["family", "method", "ratio", "share"])


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
            record.label,
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
            "solved": frame["solved"],
            "optimal": frame["optimal"],
            "proved": frame["proved"],
            "failed": frame["failed"],
            "skipped": frame["skipped"],
            "mean ratio": [
                "- (outside)" if text == "-" and outside else text
                for text, outside in zip(
                    ratio("mean_low", "mean_high"), frame["outside"], strict=True
                )
            ],
            "worst ratio": ratio("worst_low", "worst_high"),
            "optimum / bound": [
                "-" if math.isnan(value) else f"<= {value:.4f}" for value in frame["bound_mean"]
            ],
            "guarantee": [_guarantee_text(row) for _, row in frame.iterrows()],
            "seconds": ["-" if math.isnan(value) else f"{value:.3g}" for value in frame["seconds"]],
        }
    )
    uninformative = [
        name
        for name, plain in (("failed", 0), ("skipped", 0), ("preset", ""), ("guarantee", "-"))
        if (shown[name] == plain).all()
    ]
    if frame["family"].nunique() == 1:
        uninformative.append("family")
    return shown.drop(columns=uninformative)


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
