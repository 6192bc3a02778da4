"""Repetitions aggregated inside an instance, and the instances that methods are compared on."""

from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from schedgap.analysis.names import natural
from schedgap.analysis.statistics.estimators import (
    ANSWERED,
    SHARE,
    UNANSWERED,
    WRONG,
    common_set,
)

GROUP = ["family", "preset", "problem"]  # whose methods are compared with each other
OPTIMAL = ("proved", "certified", "reported")  # what an optimum rests on, or that there is none
SCHEDULED = (*OPTIMAL, "feasible")  # results with a schedule that obeys all rules
RESULTS = (*SCHEDULED, "bounded", "relaxed", "incomplete", "failed", "wrong", "skipped")
_OF_RECORDS = (  # columns that are aggregated, in addition to the columns of a group
    *("seed", "key", "status", "result", "objective", "ratio_low", "ratio_high", "bound_low"),
    *("bound_high", "completed", "seconds", "at_limit", "par2"),
)
# Order of kinds; the first are compared.
_FIRST = {"algorithm": 0, "exact": 1, "baseline": 2, "bound": 3}
_RANKS = {name: rank for rank, name in enumerate(RESULTS)}  # better ones first


def by_instance(records: pd.DataFrame) -> pd.DataFrame:
    """Return a table with a row for each method and instance: its repetitions together.

    Seeds are repetitions, and so are several records of one seed. Of these, the records with a
    schedule count. If a seed has no schedule, its instance has no mean: a mean over the successful
    seeds would describe another experiment. So does a seed one of whose records is wrong, whatever
    the others say. If a method was skipped for lack of an engine or a licence, and ran elsewhere,
    the records that ran count alone.

    `records`: a row for each record, as returned by `schedgap.analysis.statistics.tables.records`.

    Columns: family, preset, problem, method, instance, kind, rank (of the method in its family),
    sense, tasks (records), repetitions (seeds), result (the worst of all seeds; of one seed the
    best, unless one is wrong), scheduled, optimal (reported at least), optimal_certified (certified
    at least), optimal_proved, completed (by all repetitions), level (0 if answered, 1 if not, 2 if
    wrong), objective (for maximization the harmonic mean: its ratio to any reference is then the
    mean ratio), ratio_low, ratio_high, bound_low, bound_high (means of ratios), worst_low,
    worst_high, seconds, at_limit, par2 (means, in seconds), slowest.
    """
    key = [*GROUP, "method", "instance"]
    columns = ["kind", "rank", "sense"]
    ran = _without_skipped(records[[*key, *columns, *_OF_RECORDS]], key)
    frame = ran.assign(group=ran.groupby(key, sort=True).ngroup(), grade=ran["result"].map(_RANKS))
    ties = ["seconds", "objective", "key"] if frame.duplicated(["group", "seed"]).any() else []
    frame = frame.sort_values(["group", "seed", *ties], kind="stable")
    wrong = frame["result"] == "wrong"
    if wrong.any():  # all records of the seed
        wrong = wrong.groupby([frame[name] for name in ("group", "seed")]).transform("any")
    usable = frame["objective"].notna() & frame["result"].isin(SCHEDULED) & ~wrong
    value = frame["objective"].where(frame["sense"] == "min", _inverse(frame["objective"]))
    optimal = (frame["status"] == "optimal") & ~wrong
    counted = ~wrong | (frame["result"] == "wrong")  # a wrong seed counts as not completed
    frame = frame.assign(
        value=value.where(usable),
        ratio_low=frame["ratio_low"].where(usable),
        ratio_high=frame["ratio_high"].where(usable),
        bound_low=frame["bound_low"].where(~wrong),
        bound_high=frame["bound_high"].where(~wrong),
        wrong=wrong,
        scheduled=frame["objective"].notna() & ~wrong,
        optimal=optimal,
        optimal_certified=optimal & frame["result"].isin(["proved", "certified"]),
        optimal_proved=optimal & (frame["result"] == "proved"),
        completed=frame["completed"] & ~wrong,
        at_limit=frame["at_limit"].where(counted),
        par2=frame["par2"].where(counted),
        slowest=frame["seconds"],
    )
    means = ["value", "ratio_low", "ratio_high", "bound_low", "bound_high"]
    times = ["seconds", "at_limit", "par2"]
    flags = ["scheduled", "optimal", "optimal_certified", "optimal_proved", "completed"]
    seeds = frame.groupby(["group", "seed"], sort=False)
    seed = seeds[[*means, *times]].mean()
    seed[flags] = seeds[flags].any()
    seed[["wrong"]] = seeds[["wrong"]].any()
    seed["grade"] = seeds["grade"].min().where(~seed["wrong"], _RANKS["wrong"])
    every = seed.groupby(level="group", sort=False)
    by_group = frame.groupby("group", sort=False)
    table = frame.drop_duplicates("group").set_index("group")[[*key, *columns]]
    table["tasks"], table["repetitions"] = by_group.size(), every.size()
    for name in means:
        table[name] = every[name].mean().where(every[name].count() == table["repetitions"])
    table[times] = every[times].mean()
    table[flags] = every[flags].all()
    table[["worst_low", "worst_high"]] = by_group[["ratio_low", "ratio_high"]].max()
    table["slowest"] = by_group["slowest"].max()
    grade = every["grade"].max().where(~every["wrong"].any(), _RANKS["wrong"])
    table["result"] = grade.map(dict(enumerate(RESULTS)))
    none = grade <= _RANKS["certified"]  # a checked proof of infeasibility is an answer
    answered = none | ((grade <= _RANKS["feasible"]) & table["scheduled"])
    table["level"] = np.select(
        [table["result"] == "wrong", answered], [WRONG, ANSWERED], UNANSWERED
    )
    table["objective"] = table["value"].where(table["sense"] == "min", _inverse(table["value"]))
    table = table.reset_index(drop=True).drop(columns="value")
    return table.iloc[_order(table)].reset_index(drop=True)


def _without_skipped(frame: pd.DataFrame, key: list[str]) -> pd.DataFrame:
    """Remove skipped records of a method and an instance that have others."""
    skipped = frame["result"] == "skipped"
    if not skipped.any():
        return frame
    everywhere = skipped.groupby([frame[name] for name in key]).transform("all")
    return frame[~skipped | everywhere]


def _inverse(values: "pd.Series[float]") -> "pd.Series[float]":
    with np.errstate(divide="ignore"):
        return 1.0 / values


def _order(table: pd.DataFrame) -> NDArray[np.intp]:
    """Return the places of the rows of a table in the order of its methods and instances."""
    kinds = {kind: place for place, kind in enumerate(("exact", "bound", "algorithm", "baseline"))}
    keys: list[NDArray[Any]] = [_ranks(table[name], str) for name in GROUP]
    keys += [table["kind"].map(kinds).to_numpy(), table["rank"].to_numpy()]
    keys += [_ranks(table[name], natural) for name in ("method", "instance")]
    order: NDArray[np.intp] = np.lexsort(keys[::-1])  # stable; the last key is the first in order
    return order


def _ranks(names: "pd.Series[str]", order: Callable[[str], Any]) -> NDArray[np.intp]:
    """Return the place of each name in an order of names; equal keys have equal places."""
    places, known = pd.factorize(names)
    keys = [order(str(name)) for name in known]
    ranks = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    return np.array([ranks[key] for key in keys], int)[places]


def groups(
    instances: pd.DataFrame, *, by_preset: bool, methods: Collection[str] | None = None
) -> Iterator[tuple[dict[str, str], pd.DataFrame]]:
    """Yield each group of methods that are compared: its names, and its rows of `by_instance`.

    `instances`: as returned by `by_instance`; instances that a method does not support are left
    out. `by_preset`: whether each preset is a separate group; otherwise `preset` is empty.
    `methods`: names of the methods to compare; by default all.
    """
    ran = instances[instances["result"] != "skipped"]
    if methods is not None:
        ran = ran[ran["method"].isin(list(methods))]
    if not by_preset:
        ran = ran.assign(preset="")
    for names, group in ran.groupby(GROUP, sort=True):
        ordered = group if by_preset else group.iloc[_order(group)]
        yield dict(zip(GROUP, map(str, names), strict=True)), ordered


def wide(group: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return a column of one group as a table [instances, methods]; NaN where not tried.

    `group`: rows of `by_instance`.
    """
    methods = list(dict.fromkeys(group["method"]))
    table = group.pivot(index="instance", columns="method", values=column)
    return table[methods]


def compared(
    group: pd.DataFrame, column: str, *, common: bool = True, share: float = SHARE
) -> dict[str, pd.DataFrame]:
    """Return, for each method, the rows over which its means are taken.

    `group`: rows of `by_instance`. `column`: the column that must be finite. `common`: whether
    these are the common set of instances, which leaves methods that are not compared without rows;
    otherwise all rows of the method. `share`: see `common_set`.
    """
    known = np.isfinite(group[column].to_numpy(float))
    instance = group["instance"].to_numpy()
    numbers, methods = pd.factorize(group["method"].to_numpy())
    if common:
        last = len(numbers) - 1 - np.unique(numbers[::-1], return_index=True)[1]
        kinds = dict(zip(methods, group["kind"].iloc[last].tolist(), strict=True))
        names = sorted(kinds, key=lambda name: _FIRST[kinds[name]])  # stable: else as in the group
        places, instances = pd.factorize(instance)
        table = np.zeros((len(instances), len(names)), bool)
        columns = np.array([names.index(name) for name in methods], int)
        table[places[known], columns[numbers[known]]] = True
        shared, chosen = common_set(pd.DataFrame(table, index=instances, columns=names), share)
        known &= group["instance"].isin(shared).to_numpy() & group["method"].isin(chosen).to_numpy()
    rows = (np.flatnonzero(known & (numbers == number)) for number in range(len(methods)))
    found = {str(name): row for name, row in zip(methods, rows, strict=True) if len(row)}
    order = sorted(found, key=lambda name: int(found[name][0]))
    return {name: group.iloc[found[name]] for name in order}
