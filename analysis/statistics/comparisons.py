"""Comparisons of the methods of a run: pairs, times, virtual best, profiles, progress."""

import math
from collections.abc import Collection, Iterable, Iterator
from itertools import combinations
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from schedgap.analysis.records.ratios import Bracket
from schedgap.analysis.records.rows import TaskRow
from schedgap.analysis.records.stored import StoredRun
from schedgap.analysis.statistics.aggregates import SCHEDULED, compared, groups, wide
from schedgap.analysis.statistics.estimators import (
    ANSWERED,
    TIE,
    UNANSWERED,
    WRONG,
    gap,
    gap_at,
    gap_integral,
    holm,
    paired,
    paired_ratios,
    shifted_geometric_mean,
)
from schedgap.analysis.statistics.estimators import profile as steps_of
from schedgap.analysis.statistics.estimators import virtual_best as contributions
from schedgap.analysis.statistics.summary import TIME_SHIFT
from schedgap.analysis.statistics.tables import instances, records

Measure = Literal["objective", "seconds"]
Profiled = Literal["objective", "seconds", "factor"]
CLOSE = 0.1  # relative difference of two times that count as a tie
Step = tuple[float, float]  # seconds, gap
GAPS = ("primal_low", "primal_high", "dual_low", "dual_high", "primal_dual")
POINTS = 60  # default number of times at which gaps are listed


def pairs(
    run: StoredRun,
    by: Measure = "objective",
    *,
    by_preset: bool = True,
    methods: Collection[str] | None = None,
) -> pd.DataFrame:
    """Return a row for each two methods of a family and preset: who is better.

    Only objectives are compared, so no bound is needed and nothing is an estimate. Methods
    that schedule outside the program, or solve a variant of it, are compared with each other only
    if they solve the same one.

    `by`: what is compared: the schedules, or the seconds of exact methods until they report an
    optimum or infeasibility. Times that differ by less than 10 % are a tie. `by_preset`: whether
    each preset has its own rows; otherwise `preset` is empty. `methods`: names of the methods to
    compare; by default all. The p-values of all pairs of these methods are adjusted together.

    Columns: family, preset, problem, method, other, instances (tried by both), wins, ties, losses,
    neither (of the first method; a failure of one side is its loss), unanswered, unanswered_other
    (instances that only this one did not answer), undefined (x/0), n (pairs of schedules with a
    ratio), ratio (geometric mean of how many times worse the first method is: less than 1 if it is
    better), low, high, interval (95 % paired bootstrap, and its method), p (Wilcoxon signed-rank
    test), holm (p adjusted for all pairs of the family and preset). See
    `schedgap.analysis.statistics.estimators.Paired`.
    """
    rows = []
    for names, group in groups(instances(run), by_preset=by_preset, methods=methods):
        if by == "seconds":
            plain = _timed(group[group["kind"] == "exact"])
        else:
            plain = group[(group["kind"] != "bound") & ~_relaxed(group)]
            plain = plain.assign(objective=plain["objective"].where(plain["level"] == ANSWERED))
        if plain.empty:
            continue
        senses = plain.drop_duplicates("instance").set_index("instance")["sense"].sort_index()
        objective, level = (wide(plain, name) for name in ("objective", "level"))
        assert list(level.index) == list(senses.index)
        found: list[dict[str, Any]] = []
        for one, other in combinations(map(str, level.columns), 2):
            tried = (level[one].notna() & level[other].notna()).to_numpy()
            if not tried.any():
                continue
            result = paired(
                objective[one].to_numpy()[tried],
                objective[other].to_numpy()[tried],
                list(senses[tried]),
                levels=(level[one].to_numpy()[tried], level[other].to_numpy()[tried]),
                tie=CLOSE if by == "seconds" else TIE,
            )
            values = {name: getattr(result, name) for name in result.__slots__}
            head = {"method": one, "other": other, "instances": int(tried.sum())}
            found.append(names | head | values)
        for row, adjusted in zip(
            found, holm(np.array([row["p"] for row in found], float)), strict=True
        ):
            rows.append(row | {"holm": float(adjusted)})
    return pd.DataFrame(rows, columns=PAIR_COLUMNS)


PAIR_COLUMNS = [
    "family", "preset", "problem", "method", "other", "instances", "wins", "ties", "losses",
    "neither", "unanswered", "unanswered_other", "undefined", "n", "ratio", "low", "high",
    "interval", "p", "holm",
]  # fmt: skip


def _timed(group: pd.DataFrame) -> pd.DataFrame:
    """Return rows whose objective is the time of a completed task."""
    level = np.where(group["completed"], ANSWERED, UNANSWERED)
    return group.assign(
        objective=group["seconds"].where(group["completed"]),
        level=np.where(group["result"] == "wrong", WRONG, level),
        sense="min",
    )


def _relaxed(group: pd.DataFrame) -> "pd.Series[bool]":
    """Return whether a row is of a method all of whose schedules lie outside the program."""
    outside = group["result"] == "relaxed"
    never = ~group["result"].isin(SCHEDULED)
    both = pd.DataFrame({"outside": outside, "never": never}).groupby(group["method"])
    marks: pd.Series[bool] = both["outside"].transform("any") & both["never"].transform("all")
    return marks


def times(
    run: StoredRun,
    *,
    by_preset: bool = True,
    shift: float = TIME_SHIFT,
    methods: Collection[str] | None = None,
) -> pd.DataFrame:
    """Return shifted geometric means of wall-clock seconds, in three modes, for each method.

    `by_preset`: whether each preset has its own rows; otherwise `preset` is empty. `shift`: of the
    geometric mean, in seconds, > 0. `methods`: names of the methods to compare; by default all.

    Columns: family, preset, problem, method, kind, shift; n (instances that all compared methods of
    the same kind tried), completed (of these), at_limit (a task that was not completed counts with
    its time limit; infinite if there is none), par2 (with twice its limit); common_n (instances
    that all compared methods of the same kind completed), common (mean on these). An exact method
    completes a task with a claim of optimality or infeasibility, others with a schedule or a bound;
    a wrong answer completes none. Which methods are compared: see
    `schedgap.analysis.statistics.estimators.common_set`.
    """
    rows = []
    for names, family in groups(instances(run), by_preset=by_preset, methods=methods):
        for kind, group in family.groupby("kind", sort=False):
            group = group.assign(tried=1.0, finished=group["seconds"].where(group["completed"]))
            tried = compared(group, "tried")
            joint = compared(group, "finished")
            for method in dict.fromkeys(group["method"]):
                own, known = tried.get(method, group[:0]), joint.get(method, group[:0])
                means = [
                    shifted_geometric_mean(np.sort(values), shift)
                    for values in (own["at_limit"], own["par2"], known["finished"])
                ]
                rows.append(
                    names
                    | {"method": method, "kind": kind, "shift": shift, "n": len(own)}
                    | {"completed": int(own["completed"].sum()), "common_n": len(known)}
                    | dict(zip(("at_limit", "par2", "common"), means, strict=True))
                )
    return pd.DataFrame(rows, columns=TIME_COLUMNS)


TIME_COLUMNS = [
    "family", "preset", "problem", "method", "kind", "shift", "n", "completed", "at_limit", "par2",
    "common_n", "common",
]  # fmt: skip


def virtual_best(
    run: StoredRun,
    by: Measure = "objective",
    *,
    by_preset: bool = True,
    shift: float = TIME_SHIFT,
    methods: Collection[str] | None = None,
) -> pd.DataFrame:
    """Return what each method contributes to the virtual best, the best method on each instance.

    `by`: what is compared. Objectives are compared as ratios to the best of the run, without
    bounds. Seconds are the times until exact methods report an optimum or infeasibility.
    `by_preset`: whether each preset has its own rows; otherwise `preset` is empty. `shift`: of the
    geometric means of seconds, in seconds, > 0. `methods`: names of the methods to compare; by
    default all.

    Columns: family, preset, problem, method, kind, by, instances (tried by some method), and the
    columns of `schedgap.analysis.statistics.estimators.virtual_best`. `contribution` is the factor
    by which the virtual best is worse without the method, over the instances that another method
    answered. `only` counts the instances that no other method answered.
    """
    rows = []
    for names, group in groups(instances(run), by_preset=by_preset, methods=methods):
        group = group[group["kind"].eq("exact") if by == "seconds" else group["kind"].ne("bound")]
        if group.empty:
            continue
        costs = _times(group) if by == "seconds" else _ratios(group)
        kinds = dict(zip(group["method"], group["kind"], strict=True))
        found = contributions(costs, shift if by == "seconds" else 0.0)
        for method, row in found.to_dict("index").items():
            head = {"method": method, "kind": kinds[str(method)], "by": by, "instances": len(costs)}
            rows.append(names | head | {str(name): value for name, value in row.items()})
    return pd.DataFrame(rows, columns=BEST_COLUMNS)


BEST_COLUMNS = [
    "family", "preset", "problem", "method", "kind", "by", "instances", "best", "alone", "only",
    "n", "mean", "best_mean", "others_n", "without", "with", "contribution",
]  # fmt: skip


def _times(group: pd.DataFrame) -> pd.DataFrame:
    """Return seconds [instances, methods]; NaN where a task was not completed."""
    return wide(group.assign(seconds=group["seconds"].where(group["completed"])), "seconds")


def _ratios(group: pd.DataFrame) -> pd.DataFrame:
    """Return ratios to the best objective of the group; NaN without a schedule."""
    objectives = wide(group.assign(each=group["objective"].where(group["level"] == 0)), "each")
    senses = group.groupby("instance")["sense"].first()[objectives.index]
    best = objectives.min(axis=1).where(senses == "min", objectives.max(axis=1))
    columns = {
        name: paired_ratios(objectives[name], best, list(senses)) for name in objectives.columns
    }
    return pd.DataFrame(columns, index=objectives.index)


def profile(
    run: StoredRun, by: Profiled = "objective", *, methods: Collection[str] | None = None
) -> pd.DataFrame:
    """Return performance or time profiles of the methods of each family.

    All methods of a family have the same denominator: the instances that any of them tried. An
    instance that a method has no answer for, or a wrong one, or has not tried, is never reached.

    A performance profile compares each method with the best known schedules only, not with another
    method; for two methods see `pairs`.

    `by`: what a step is. `objective`: a ratio to the best known schedule. `seconds`: the wall-clock
    seconds until a method completed its task. `factor`: these seconds divided by the seconds of the
    fastest method on the instance. For completed tasks see
    `schedgap.analysis.records.outcomes.Tasks.completed`. `methods`: names of the methods to
    compare; by default all.

    Columns family, problem, kind, method, ratio (or seconds), share, n. On the fraction `share` of
    the n instances, the method has a schedule within the factor `ratio` of the best known one. For
    times, it has completed its task after `seconds` there. Then unanswered and wrong (fractions
    that the method never reaches, because it has no schedule, or a wrong answer). Schedules with an
    infinite ratio (x/0) are not reached either. A method that reaches no instance has one row, with
    share 0 and without a ratio (or seconds). A method has no row if all its schedules relax rules
    of the problem.
    """
    column = "ratio" if by == "objective" else by
    rows = []
    for names, group in groups(instances(run), by_preset=False, methods=methods):
        total = group["instance"].nunique()
        timed = by != "objective"
        chosen = group if timed else group[group["kind"] != "bound"]
        if chosen.empty:
            continue
        costs = _times(chosen) if timed else wide(chosen, "ratio_low")
        if by == "factor":
            costs = costs.div(costs.min(axis=1), axis=0)
        kinds = dict(zip(chosen["method"], chosen["kind"], strict=True))
        wrong_ones = chosen[chosen["result"] == "wrong"]
        wrongs = {
            str(name): count / total for name, count in wrong_ones["method"].value_counts().items()
        }
        answered = {str(name): (costs[name].notna().sum()) / total for name in costs.columns}
        steps = list(steps_of(costs, total))
        reached = {str(name) for name, _, _ in steps}
        tried = chosen if timed else chosen[~_relaxed(chosen)]
        never = [name for name in dict.fromkeys(map(str, tried["method"])) if name not in reached]
        for name, cost, share in [*steps, *((name, math.nan, 0.0) for name in never)]:
            method = str(name)
            wrong = wrongs.get(method, 0.0)
            rows.append(
                {
                    "family": names["family"],
                    "problem": names["problem"],
                    "kind": kinds[method],
                    "method": method,
                    column: cost,
                    "share": share,
                    "n": total,
                    "unanswered": max(0.0, 1 - answered[method] - wrong),
                    "wrong": wrong,
                }
            )
    columns = ["family", "problem", "kind", "method", column, "share", "n", "unanswered", "wrong"]
    return pd.DataFrame(rows, columns=columns)


# --- progress ----------------------------------------------------------------------------------


def integrals(
    run: StoredRun, *, by_preset: bool = True, methods: Collection[str] | None = None
) -> pd.DataFrame:
    """Return primal, dual and primal-dual integrals of each method, in seconds.

    The primal integral is over the gap between the incumbent and the optimum, the dual integral
    over the gap between the bound and the optimum. Each is an interval if the optimum is not
    proved. The primal-dual integral, over the gap between the two, needs no optimum. A gap is in
    [0, 1] and 1 as long as there is no incumbent or no bound. The integrals are means over all
    instances that any method of the group tried. A method without an answer, or with a wrong one,
    has a gap of 1 throughout.

    `by_preset`: whether each preset has its own rows; otherwise `preset` is empty. `methods`: names
    of the methods to compare; by default all.

    Columns: family, preset, problem, method, kind, n (instances), horizon (end of the integrals in
    seconds: the smallest time limit of the group, or its longest time), primal_low, primal_high,
    dual_low, dual_high, primal_dual. Integrals of what a method never has, such as the dual ones of
    a heuristic, are NaN.
    """
    rows = []
    for names, total, end, watched in _watched(run, by_preset=by_preset, methods=methods):
        for (method, kind), curves in watched.items():
            means = {
                name: _over(
                    curves, total, [[gap_integral(curve[name], end)] for curve in curves], end
                )
                for name in GAPS
            }
            head = {"method": method, "kind": kind, "n": total, "horizon": end}
            rows.append(names | head | {name: float(value[0]) for name, value in means.items()})
    return _without_foreign(pd.DataFrame(rows, columns=INTEGRAL_COLUMNS))


INTEGRAL_COLUMNS = ["family", "preset", "problem", "method", "kind", "n", "horizon", *GAPS]


def gaps(
    run: StoredRun,
    seconds: Iterable[float] | None = None,
    *,
    by_preset: bool = True,
    methods: Collection[str] | None = None,
) -> pd.DataFrame:
    """Return mean gaps over time, for each method.

    `seconds`: times; by default 60 from a thousandth of the horizon (see `integrals`) to the
    horizon, in equal steps on a logarithmic axis. `by_preset`: whether each preset has its own
    rows; otherwise `preset` is empty. `methods`: names of the methods to compare; by default all.

    Columns: family, preset, problem, method, kind, n (instances), seconds, and the gaps as in
    `integrals`, as means over all instances that any method of the group tried.
    """
    rows: list[dict[str, object]] = []
    asked = None if seconds is None else np.sort(np.asarray(list(seconds), float))
    for names, total, end, watched in _watched(run, by_preset=by_preset, methods=methods):
        moments = np.geomspace(end / 1000, end, POINTS) if asked is None else asked
        for (method, kind), curves in watched.items():
            means = {
                name: _over(curves, total, [gap_at(moments, curve[name]) for curve in curves], 1.0)
                for name in GAPS
            }
            for place, moment in enumerate(moments):
                head = {"method": method, "kind": kind, "n": total, "seconds": float(moment)}
                values = {name: float(value[place]) for name, value in means.items()}
                rows.append({**names, **head, **values})
    return _without_foreign(pd.DataFrame(rows, columns=GAP_COLUMNS))


GAP_COLUMNS = ["family", "preset", "problem", "method", "kind", "n", "seconds", *GAPS]


class Curve(dict[str, list[Step]]):
    """Gaps of one record over time by name, with its instance and seed."""

    def __init__(self, instance: str, seed: str, steps: dict[str, list[Step]]) -> None:
        super().__init__(steps)
        self.instance, self.seed = instance, seed


WATCHED = ["problem", "method", "instance", "seed", "result", "limit", "seconds", "place"]
Watched = dict[tuple[str, str], list[Curve]]  # keys: method and kind


def _watched(
    run: StoredRun, *, by_preset: bool, methods: Collection[str] | None
) -> Iterator[tuple[dict[str, str], int, float, Watched]]:
    """Yield each group: its names, the number of its instances, the horizon, and the gaps."""
    frame = records(run)
    frame = frame.assign(place=np.arange(len(frame)))
    ordered = frame.sort_values(["instance", "seed", "seconds", "objective", "key"], kind="stable")
    parts: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for values in ordered[WATCHED].to_numpy().tolist():
        row = dict(zip(WATCHED, values, strict=True))
        if row["result"] != "skipped":
            parts.setdefault((row["problem"], row["method"], row["instance"]), []).append(row)
    for names, group in groups(instances(run), by_preset=by_preset, methods=methods):
        plain = group[~_relaxed(group)]
        if plain.empty:
            continue
        own: dict[tuple[str, str], list[dict[str, Any]]] = {}
        columns = ["method", "kind", "instance", "result"]
        for method, kind, instance, result in plain[columns].to_numpy().tolist():
            each = parts[names["problem"], method, instance]
            if result == "wrong":  # all of its repetitions are wrong, too
                each = [row | {"result": result} for row in each]
            own.setdefault((method, kind), []).extend(each)
        rows = [row for rows in own.values() for row in rows]
        limits = [row["limit"] for row in rows if not math.isnan(row["limit"])]
        seconds = [row["seconds"] for row in rows if not math.isnan(row["seconds"])]
        end = min(limits) if limits else max(seconds, default=0.0)
        if end <= 0:
            continue
        watched = {key: [_curve(run, row) for row in rows] for key, rows in own.items()}
        yield names, plain["instance"].nunique(), end, watched


def _curve(run: StoredRun, row: dict[str, Any]) -> Curve:
    """Return the gaps of one record; none, which is 1 throughout, for a wrong answer."""
    task = run.rows[row["place"]]
    points = [] if row["result"] == "wrong" else list(_confirmed(task))
    bracket = run.brackets[task.sha256, task.problem]
    return Curve(row["instance"], row["seed"], _gaps(points, bracket))


def _confirmed(row: TaskRow) -> Iterator[tuple[float, float | None, float | None]]:
    """Yield the points of progress that the record's own result confirms, and that result.

    A bound that is tighter than the result's is only reported, and so is an objective better than
    the verified schedule's.
    """
    if row.seconds is None or row.relaxed:
        return
    sign = 1.0 if row.sense == "min" else -1.0
    best, last = row.objective, row.bound
    slack = 1e-9 * max(abs(best or 0.0), abs(last or 0.0))
    objective = bound = None
    for seconds, value, limit in sorted(row.points(), key=lambda point: point[0]):
        if value is not None and best is not None and sign * (value - best) >= -slack:
            objective = value if objective is None else sign * min(sign * objective, sign * value)
        if limit is not None and last is not None and sign * (limit - last) <= slack:
            bound = limit if bound is None else sign * max(sign * bound, sign * limit)
        yield min(seconds, row.seconds), objective, bound
    yield row.seconds, best, last


def _gaps(
    points: Iterable[tuple[float, float | None, float | None]], bracket: Bracket
) -> dict[str, list[Step]]:
    """Return the gaps over time to both ends of the interval that contains the optimum."""
    steps: dict[str, list[Step]] = {name: [] for name in GAPS}
    best, limit = bracket.best, bracket.bound
    if bracket.closed:
        limit = best
    for seconds, objective, bound in points:
        values = (
            gap(objective, best), gap(objective, limit), gap(bound, limit), gap(bound, best),
            gap(objective, bound),
        )  # fmt: skip
        for name, value in zip(GAPS, values, strict=True):
            steps[name].append((seconds, value))
    return steps


def _over(
    curves: list[Curve], total: int, values: Iterable[Iterable[float]], missing: float
) -> NDArray[np.float64]:
    """Return means over instances, of means over their seeds; `missing` where there is none.

    If a seed has several records, their mean is the value of the seed.
    """
    by_name: dict[str, dict[str, list[NDArray[np.float64]]]] = {}
    for curve, matrix in zip(curves, values, strict=True):
        seeds = by_name.setdefault(curve.instance, {})
        seeds.setdefault(curve.seed, []).append(np.asarray(matrix, float))
    means = [
        np.mean([np.mean(integrals, axis=0) for integrals in seeds.values()], axis=0)
        for seeds in by_name.values()
    ]
    absent = total - len(means)
    result: NDArray[np.float64] = (np.sum(means, axis=0) + absent * missing) / total
    return result


def _without_foreign(frame: pd.DataFrame) -> pd.DataFrame:
    """Remove the gaps of what a method never has: schedules of bounds, bounds of heuristics."""
    heuristic = frame["kind"].isin(["algorithm", "baseline"])
    dual, primal = ["dual_low", "dual_high", "primal_dual"], ["primal_low", "primal_high"]
    frame.loc[heuristic, dual] = math.nan
    frame.loc[frame["kind"] == "bound", [*primal, "primal_dual"]] = math.nan
    return frame
