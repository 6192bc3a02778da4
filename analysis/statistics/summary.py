"""The summary of a run: a row for each family, preset and method."""

import math
from collections.abc import Collection

import numpy as np
import pandas as pd

from schedgap.analysis.records.stored import StoredRun
from schedgap.analysis.statistics.aggregates import RESULTS, compared, groups
from schedgap.analysis.statistics.estimators import bootstrap, shifted_geometric_mean
from schedgap.analysis.statistics.tables import instances, ratios, records

TIME_SHIFT = 1.0  # shift of the geometric mean of times, in seconds


def summary(
    run: StoredRun,
    *,
    by_preset: bool = True,
    common: bool = True,
    methods: Collection[str] | None = None,
) -> pd.DataFrame:
    """Return a table with a row for each family, preset and method.

    Repetitions (several seeds, or records) are aggregated inside an instance first: all counts and
    means are over instances. The means of one family and preset are over the same instances, on
    which all compared methods have a finite ratio. A method is not compared if it would leave less
    than half of the instances. Such a method has no mean (n is 0).

    `by_preset`: whether each preset has its own rows; otherwise `preset` is empty. `common`:
    whether means are over the common set of instances. Otherwise each method has means over its own
    instances; these are not comparable if n differs. `methods`: names of the methods to compare; by
    default all.

    Columns: family, preset, method, kind, then

    - counts: tasks (records, without skipped ones) and instances; of the instances: proved,
      certified, reported (optimal, or infeasible: what this rests on), feasible (a schedule
      that is not said to be optimal), bounded (a bound, for kind `bound`), relaxed (a schedule
      outside the program), incomplete (nothing, though the method ended or used up its time),
      failed (nothing, for another reason), wrong (an invalid schedule or a refuted claim),
      which add up to all, see `schedgap.analysis.records.outcomes.Tasks.results`; skipped (not
      supported); scheduled (with a schedule), optimal (reported at least), optimal_certified
      (certified at least), optimal_proved, infinite (ratios x/0, which are left out of the
      means);
    - ratios: n (instances behind the means), mean_low, mean_high, worst_low, worst_high (over
      all instances of the method), gap_low, gap_high (shifted geometric mean of ratio - 1 with
      shift 1), boot_low, boot_high (95 % bootstrap interval of the mean: the lower end from the
      lower ratios, the upper end from the upper ones; NaN for less than four instances),
      bound_n, bound_mean (mean ratio of optimum to bound, upper ends, and its instances);
    - times: seconds_n (of the instances that all compared methods of the kind tried, those on
      which the time is known), seconds (shifted geometric mean, shift 1 s, of what was taken;
      `Run.times()` counts tasks that were not completed with their limits), slowest;
    - guarantees: guarantee_low, guarantee_high, holds (share of instances on which the
      assumptions hold), exceeded (instances on which the ratio exceeds the guarantee although
      they hold), beyond (instances on which it does and they do not hold);
    - outside: rules of the program that some of the schedules need not obey. Such schedules do
      not count in the ratios.
    """
    wanted = None if methods is None else tuple(methods)
    key = f"summary {by_preset} {common} {wanted}"
    if key not in run.tables:
        run.tables[key] = _summary(run, by_preset, common, wanted)
    copy: pd.DataFrame = run.tables[key].copy()
    return copy


def _summary(
    run: StoredRun, by_preset: bool, common: bool, methods: tuple[str, ...] | None
) -> pd.DataFrame:
    every, promised, each = records(run), ratios(run), instances(run)
    if methods is not None:
        every, each = (frame[frame["method"].isin(methods)] for frame in (every, each))
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
        "optimal_certified": each["optimal_certified"],
        "optimal_proved": each["optimal_proved"],
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
                lambda rules: ", ".join(sorted(set(rules.unique()) - {""}))
            ),
        ],
        axis=1,
    ).loc[per_instance.size().index]
    counted = ["tasks", "n", "bound_n", "seconds_n", "exceeded", "beyond"]
    frame[counted] = frame[counted].fillna(0).astype(int)
    frame["holds"] = frame["holds"].astype(float)
    return frame.reset_index()[SUMMARY_COLUMNS]


SUMMARY_COLUMNS = [
    "family", "preset", "method", "kind", "tasks", "instances", *RESULTS, "scheduled", "optimal",
    "optimal_certified", "optimal_proved", "infinite", "n", "mean_low", "mean_high", "worst_low",
    "worst_high", "gap_low", "gap_high", "boot_low", "boot_high", "bound_n", "bound_mean",
    "seconds_n", "seconds", "slowest", "guarantee_low", "guarantee_high", "holds", "exceeded",
    "beyond", "outside",
]  # fmt: skip
METHOD = SUMMARY_COLUMNS[:3]  # key of a row


def _means(instances: pd.DataFrame, *, by_preset: bool, common: bool) -> pd.DataFrame:
    """Return the means of each method over the instances on which it is compared."""
    rows: dict[tuple[str, str, str], dict[str, float]] = {}
    for names, selected in groups(instances, by_preset=by_preset):
        group = selected[[*MEANT]].astype({"method": object, "instance": object, "kind": object})
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
                seconds = np.sort(time[method]["seconds"].dropna())
                mean = shifted_geometric_mean(seconds, TIME_SHIFT) if len(seconds) else math.nan
                row |= {"seconds_n": len(seconds), "seconds": mean}
    index = pd.MultiIndex.from_tuples(rows, names=METHOD)
    return pd.DataFrame(list(rows.values()), index=index, columns=MEANS, dtype=float)


MEANT = ["method", "instance", "kind", "ratio_low", "ratio_high", "bound_high", "seconds"]
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
