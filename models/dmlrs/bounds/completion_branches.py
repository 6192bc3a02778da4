"""Branches on the completions of jobs (ours), with prices of the resources in each part.

The dual (10), (11) lets a job complete in part early and in part late, and be admitted in part. A
branch forbids this: a job completes in slot c or earlier, or it completes later or never. Every
schedule is in one of both parts. Within the *windows* of a part, prices p >= 0 of the resources
bound its value by

    sum p C + sum_i max_f [u_i(f - a_i) - cost_i(f)],

where f is in the window of job i, and a rejection counts 0 where it is allowed. The largest of
these bounds over the parts holds for all schedules. The best prices of a part come from column
generation: a column is a job's cheapest plan with fractional bundles.

References
----------
C. Barnhart, E. L. Johnson, G. L. Nemhauser, M. W. P. Savelsbergh, P. H. Vance, "Branch-and-price:
column generation for solving huge integer programs", Operations Research 46 (1998).
A. M. Geoffrion, "Lagrangean relaxation for integer programming", Mathematical Programming Study 2
(1974).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from schedgap.instances.dmlrs import DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Floats, Ints
from schedgap.models.dmlrs.bounds.column_generation import resource_prices
from schedgap.models.dmlrs.bounds.completion_trees import MAX_LEAVES, Branch, Windows, narrowed
from schedgap.models.dmlrs.bounds.kernel import price_jobs
from schedgap.models.dmlrs.bounds.pricing import priced_bound
from schedgap.models.dmlrs.throughput import first_completions
from schedgap.models.mechanisms.branch_and_price import OUT_OF_TIME, UnsettledError, best_first
from schedgap.models.mechanisms.restricted_master import Priced, RestrictedMaster
from schedgap.models.method import Budget
from schedgap.solvers.loops.column_generation import Columns

RELATIVE_GAP = 4e-4  # between master and bound of a part
REPORTED = 1e-4  # least relative improvement that is reported before the end
DIGITS = 7  # significant digits of a price
LEAST_DEMAND = 1e-8  # smaller entries are left out of the master, since HiGHS refuses tiny ones


class CompletionColumn(NamedTuple):
    """A plan of one job with fractional bundles. It demands `amounts` at `places` of [t, r]."""

    job: int
    completion: int
    utility: float
    places: Ints
    amounts: Floats


@dataclass(eq=False)
class Part:
    """The schedules within some windows. `bound` is minus the one that its prices prove."""

    windows: Windows
    prices: Floats  # [t, r]
    bound: float
    columns: list[CompletionColumn]
    basis: Any = None  # the last basis of the master over these columns
    split: tuple[int, int] | None = None  # job and c
    children: list["Part"] = field(default_factory=list)  # early, late


def flattened(root: Part) -> tuple[float, list[Branch], list[Floats]]:
    """Return the bound that a tree of parts proves, its branches, and the prices of its leaves."""
    value, branches, prices = 0.0, list[Branch](), list[Floats]()
    parts = [root]
    for part in parts:  # breadth first, while it grows: the root is branch 0
        parts += part.children
    inner = [part for part in parts if part.children]
    number = {id(part): k for k, part in enumerate(inner)}
    for part in parts:
        if not part.children:
            number[id(part)] = -1 - len(prices)
            prices.append(part.prices)
            value = max(value, -part.bound)
    for part in inner:
        assert part.split is not None
        early, late = (number[id(child)] for child in part.children)
        branches.append((*part.split, early, late))
    return value, branches, prices


def branch_on_completions(
    instance: DmlrsInstance,
    prices: Floats,
    *,
    upper: Callable[[], float],
    budget: Budget,
    on_bound: Callable[[Part], None],
) -> Floats:
    """Generate columns, then branch on completions, and report each better bound.

    `prices` [t, r]: the first prices. `upper`: minus the value of the incumbent. `on_bound`:
    receives the root of the tree that proves a better bound.

    Return the prices [t, r] before the first branch.
    """
    leaves, reported = 1, math.inf

    def branch(part: Part) -> Iterator[Part]:
        nonlocal leaves
        if part.split is None:
            raise UnsettledError("no job is split")
        if leaves == MAX_LEAVES:
            raise UnsettledError(f"{MAX_LEAVES} parts")
        children = []
        for windows in narrowed(instance, part.windows, *part.split):
            bound = -price_jobs(instance, part.prices, windows)[0].bound
            child = Part(windows, part.prices, bound, part.columns, part.basis)
            if bound < upper():
                price_part(instance, child, upper=upper, budget=budget)
            children.append(child)
        part.children, leaves = children, leaves + 1
        part.columns, part.basis = [], None
        return iter(children)

    def report(bound: float) -> None:
        nonlocal reported
        if -bound < reported * (1 - REPORTED):
            reported = -bound
            on_bound(root)

    root = Part({}, prices, -priced_bound(instance, prices), [])
    try:
        price_part(instance, root, upper=upper, budget=budget, on_bound=report)
    except UnsettledError:
        on_bound(root)
        return root.prices
    end = best_first(
        root,
        branch,
        is_closed=lambda bound: bound >= upper(),
        clock=budget.clock,
        on_bound=report,
    )
    if -end.bound < reported:
        on_bound(root)
    return root.prices


def price_part(
    instance: DmlrsInstance,
    part: Part,
    *,
    upper: Callable[[], float],
    budget: Budget,
    on_bound: Callable[[float], None] = lambda bound: None,
) -> None:
    """Improve the prices of a part by column generation, and choose the branch that splits it.

    `upper`: minus the value of the incumbent. `on_bound`: receives minus each better bound.

    Raises
    ------
    UnsettledError
        When the time is up.
    """
    view, T, R = arrays(instance), instance.horizon, len(instance.resources)
    never = T + 1
    jobs = [i for i, first in enumerate(first_completions(instance)) if first <= T]
    within = {i: part.windows.get(i, (1, never)) for i in jobs}
    master: RestrictedMaster[CompletionColumn] = RestrictedMaster()
    capacity = master.rows("capacity", (T, R), upper=view.capacity_milli.sum(axis=0) / 1000)
    must = np.array([within[i][1] < never for i in jobs], dtype=float)
    once = master.rows("once", len(jobs), lower=must, upper=1)
    place_of, row_of = capacity.positions.ravel(), dict(zip(jobs, once.positions, strict=True))

    def columns_of(columns: Sequence[CompletionColumn]) -> Columns:
        entries = [
            [(np.append(place_of[c.places], row_of[c.job]), np.append(c.amounts, 1.0))]
            for c in columns
        ]
        return master.columns([-c.utility for c in columns], entries, columns)

    def pricing(duals: Floats) -> Priced | None:
        if budget.clock.expired():
            return None
        prices = rounded(resource_prices(instance, duals))
        priced, demand = price_jobs(instance, prices, part.windows)
        if -priced.bound > part.bound:
            part.bound, part.prices = -priced.bound, prices
            on_bound(part.bound)
        if part.bound >= upper():
            return Priced(None, part.bound)
        columns = []
        for i, f in priced.completions.items():
            if f <= T:
                flat = demand(i, f).ravel()
                places = np.flatnonzero(flat > LEAST_DEMAND)
                utility = float(view.utility[i, f - view.arrival[i]])
                columns.append(CompletionColumn(i, f, utility, places, flat[places]))
        return Priced(columns_of(columns), -priced.bound)

    most = 1 + float(view.utility.max(axis=1, initial=0.0).sum())  # more than a job can be worth
    master.begin(master.artificial(once, np.where(must > 0, most, 0.0)))
    # Columns outside of the windows stay as long as they are in the basis, fixed at 0.
    inside = [within[c.job][0] <= c.completion <= within[c.job][1] for c in part.columns]
    master.begin(columns_of(part.columns), upper=np.where(inside, np.inf, 0.0))
    found = master.solve(
        pricing,
        clock=budget.clock,
        gap=RELATIVE_GAP,
        duals=master.duals({capacity: -part.prices}),
        seed=budget.seed,
        threads=budget.threads,
        basis=part.basis,
    )
    if budget.clock.expired() or found.result.basis is None:
        raise UnsettledError(OUT_OF_TIME)
    part.split = choose(instance, found.support)
    part.basis, known = found.result.basis, [*part.columns, *found.result.tags]
    payoffs = price_jobs(instance, part.prices, part.windows)[0].payoffs
    flat, states = part.prices.ravel(), part.basis.col_status
    kept = [
        k
        for k, column in enumerate(known)
        if states[len(jobs) + k].name == "kBasic"
        or payoffs[column.job] - column.utility + column.amounts @ flat[column.places]
        <= upper() - part.bound
    ]
    part.columns = [known[k] for k in kept]
    part.basis.col_status = states[: len(jobs)] + [states[len(jobs) + k] for k in kept]


def choose(
    instance: DmlrsInstance, support: Sequence[tuple[CompletionColumn, float]]
) -> tuple[int, int] | None:
    """Return job and slot c of the branch that separates the most utility; None if no job is split.

    `support`: the plans in use, with their shares.
    """
    view, never = arrays(instance), instance.horizon + 1
    shares: dict[int, dict[int, float]] = {}
    for column, share in support:
        own = shares.setdefault(column.job, {})
        own[column.completion] = own.get(column.completion, 0.0) + share
    best, found = 0.0, None
    for i, own in shares.items():
        if (rejected := 1 - sum(own.values())) > 1e-6:
            own[never] = rejected
        slots = sorted(own)
        shares_of = np.array([own[f] for f in slots])
        value = np.array(
            [view.utility[i, f - view.arrival[i]] if f < never else 0.0 for f in slots]
        )
        for k, (c, _) in enumerate(pairwise(slots), 1):
            early, late = shares_of[:k].sum(), shares_of[k:].sum()
            mean = shares_of[:k] @ value[:k] / early, shares_of[k:] @ value[k:] / late
            score = min(early, late) * (mean[0] - mean[1])
            if score > best + 1e-9:
                best, found = float(score), (i, c)
    return found


def rounded(prices: Floats) -> Floats:
    """Return prices with few digits: a tree has many of them."""
    with np.errstate(divide="ignore"):
        size = np.where(prices > 0, np.floor(np.log10(prices)), 0.0)
    scale = 10.0 ** (DIGITS - 1 - size)
    return np.where(prices > 1e-12, np.round(prices * scale) / scale, 0.0)
