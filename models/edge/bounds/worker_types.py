"""The bound `type-bound`: one relaxation for each worker type, with merged servers and no PSs.

Without the capacities (2h) of the PSs, worker types are independent, so their bounds add up. For
each type, all edge servers are merged into one class and all clouds into another. A class offers
the workers of its ready servers; a colocated job may use as many workers as one ready server with a
PS has. The workers of a class are interchangeable, and runs are intervals of time. So merging
relaxes only two rules: a worker stays on a ready server, and a colocated job needs a single server.
Every schedule, reduced to modes, is feasible for the merged classes with the same c_j - a_j.

The relaxation (4) over classes is solved by column generation, with prices by class and block of
slots. The capacity rows of the slots of a block are added up. That weakens the bound and makes the
master small. All sums are exact, as in `programs.dual`.

Lemma (cut). Let the jobs that run in a slot have w_j workers in a class of C workers, or in both
classes. Let u >= 1 be an integer. Then sum floor(w_j / u) <= floor(C / u): the left side is an
integer, and at most sum w_j / u. With u = floor(C / k) + 1, at most k - 1 jobs have u workers or
more at a time. Fractional columns need not respect that. Capacity is the case u = 1.

References
----------
J. P. Sousa, L. A. Wolsey, "A time indexed formulation of non-preemptive single machine scheduling
problems", Mathematical Programming 54 (1992): the relaxation over start times.
J. M. van den Akker, C. A. J. Hurkens, M. W. P. Savelsbergh, "Time-indexed formulations for machine
scheduling problems: column generation", INFORMS Journal on Computing 12 (2000).
V. Chvatal, "Edmonds polytopes and a hierarchy of combinatorial problems", Discrete Mathematics 4
(1973): rounding of a row.
F. Glover, "Surrogate constraint duality in mathematical programming", Operations Research (1975):
sums of rows as a relaxation.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from schedgap.instances.edge import EdgeInstance
from schedgap.instances.edge.compiled import Floats, Ints
from schedgap.models.edge.bounds.type_pricing import (
    ATTRIBUTES,
    CAPACITY,
    CLOUD,
    EDGE,
    FLOW,
    NO_COLUMNS,
    START,
    TASK,
    Bools,
    ClassRow,
    TypeRelaxation,
    blocks,
    class_workers,
)
from schedgap.models.edge.bounds.type_tree import Branch, Node, least_bound
from schedgap.models.edge.decisions import CompiledInstance, CompiledJob, compiled
from schedgap.models.edge.programs.dual import LARGEST, rounded
from schedgap.models.mechanisms.restricted_master import MasterSolution, Priced, RestrictedMaster
from schedgap.models.method import Budget
from schedgap.solvers.loops.column_generation import Columns
from schedgap.solvers.programs.sparse import sparse

KIND = "type-bound"
CLASSES = ("edge", "cloud", "all")
BLOCK = 32  # slots that share a price at first
GAP = 0.0005  # relative difference between master and bound at which a type ends
PARTS = 2, 3, 4, 5  # k of the lemma, of the cuts that are tried
VIOLATED = 0.01  # relative: a cut that the master violates by more gets a row
NEAR = 2.0  # reduced cost, in slots, up to which a column is in the next master
MAX_SLOTS = 20_000  # most slots that have prices
MAX_STARTS = 3_000_000  # modes of one job x slots
NO_PRICES = {"slots": 1, "block": 1, "prices": {"edge": [], "cloud": []}, "cuts": []}


def class_cuts(view: CompiledInstance, worker_type: int) -> list[ClassRow]:
    """Return the cuts of the lemma that some job can count in."""
    edge, cloud = class_workers(view, worker_type)
    tasks = view.of_type[worker_type]
    widest = max(mode.workers for task in tasks for mode in task.modes)
    cuts = {
        ClassRow(where, workers // k + 1)
        for where, workers in enumerate((edge, cloud, edge + cloud))
        for k in PARTS
        if 1 < workers // k + 1 <= min(widest, workers)
    }
    return sorted(cuts)


@dataclass(frozen=True, slots=True, eq=False)
class TypeBound:
    """Prices of one worker type, the bound that they prove, and the last master."""

    worker_type: int
    ends: Ints  # last slots of the blocks that share a price
    rows: tuple[ClassRow, ...]
    prices: Floats  # [row, block]
    bound: float
    master: float | None = None  # objective
    rounds: int = 0
    starts: Mapping[int, float] = field(default_factory=dict)
    """Mean start in the master by job (index in the instance)."""
    columns: Ints = field(default_factory=lambda: NO_COLUMNS)
    """Columns of the last master, [column, entry]."""
    tree: Node | None = None
    """Root of a tree that proves the bound, in place of `prices`; `ends` is about its prices."""

    @property
    def block(self) -> int:
        """Length of the first block; without a tree, no other one is longer."""
        return int(self.ends[0])


def priced_slots(view: CompiledInstance, worker_type: int) -> int:
    """Return the number of slots to price: after them there is little contention."""
    tasks = view.of_type[worker_type]
    ready = max(max(slot for slot in task.earliest if slot is not None) for task in tasks)
    shortest = max(min(mode.duration for mode in task.modes) for task in tasks)
    slots = ready - view.first + math.ceil(_load_per_worker(view, worker_type)) + shortest
    return max(1, min(view.slots, slots, _max_priced_slots(tasks)))


def _max_priced_slots(tasks: Sequence[CompiledJob]) -> int:
    """Return the limit on slots with prices for which the arrays of `cheapest` fit into memory."""
    return min(MAX_SLOTS, MAX_STARTS // max(len(task.modes) for task in tasks))


def solve_type(
    view: CompiledInstance,
    worker_type: int,
    *,
    budget: Budget,
    block: int = BLOCK,
    gap: float = GAP,
    coarse: TypeBound | None = None,
    price: Callable[..., Any] | None = None,
    on_better: Callable[[TypeBound], None] = lambda better: None,
) -> TypeBound:
    """Bound the jobs of one worker type by column generation and cutting planes.

    `view`: the instance; every job of the type fits on the empty network. `block`: number of slots
    that share a price, halved until there are as many. `gap`: relative difference between master
    and bound at which to stop. `coarse`: known prices for blocks of twice this size. `price`: as
    for `TypeRelaxation`.
    `on_better`: called with every bound whose next integer is larger than before.
    """
    slots = priced_slots(view, worker_type)
    while block > slots:
        block //= 2
    cuts = class_cuts(view, worker_type)
    types = TypeRelaxation(view, worker_type, blocks(slots, block), cuts, price)
    capacity = np.outer(types.capacity, types.lengths)  # [row, block]
    prices = np.zeros(capacity.shape)
    if coarse is not None:
        prices = np.repeat(coarse.prices, 2, axis=1)[:, : len(types.lengths)]
    present = prices > 0
    present[: len(CAPACITY)] = True
    bound = types.bound(prices)[0]  # without prices, of all jobs alone
    best = TypeBound(worker_type, types.ends, types.rows, prices, bound)
    if coarse is not None:
        best = replace(best, starts=coarse.starts, columns=coarse.columns)
    on_better(best)

    def report(bound: float, prices: Floats) -> None:
        nonlocal best
        if bound > best.bound:
            before, best = best.bound, replace(best, bound=bound, prices=prices)
            if math.ceil(bound) > math.ceil(before):
                on_better(best)

    while True:
        before = best.bound
        solution = _generate(types, present, best, budget, gap, report)
        result, starts = solution.result, best.starts
        used = np.concatenate([NO_COLUMNS, *([column] for column, _ in solution.support)])
        share = np.array([value for _, value in solution.support])
        if len(used) and (result.end == "closed" or not starts):  # a stopped master has worse ones
            late = share * (used[:, START] - slots)
            mean = slots + np.bincount(used[:, TASK], late, len(types.tasks))
            starts = {task.job: m + view.first for task, m in zip(types.tasks, mean, strict=True)}
        best = replace(
            best,
            master=result.objective,
            rounds=best.rounds + result.rounds,
            starts=starts,
            columns=np.unique(
                np.concatenate([best.columns, *([each] for each in result.tags)]), axis=0
            ),
        )
        usage = types.counted(used[:, EDGE], used[:, CLOUD]) * share @ types.overlap(used)
        violated = (usage > (1 + VIOLATED) * capacity) & ~present
        gained = best.bound - before > gap * best.bound
        if budget.clock.expired() or not (gained and violated.any()):
            return best
        present |= violated


def _generate(
    types: TypeRelaxation,
    present: Bools,
    known: TypeBound,
    budget: Budget,
    gap: float,
    on_bound: Callable[[float, Floats], None],
) -> MasterSolution[Ints]:
    """Generate columns for a master with some rows.

    `present` [row, block]: whether the master has a row. `known`: columns and prices to begin with.
    `gap`: as for `solve_type`. `on_bound`: called with every better bound, and its prices.
    """
    master: RestrictedMaster[Ints] = RestrictedMaster()
    jobs = master.rows("job", len(types.tasks), lower=1.0, upper=1.0)
    block = known.block  # rows are in units of whole blocks
    upper = np.outer(types.capacity, types.lengths / block)[present]
    rows = master.rows("capacity", len(upper), upper=upper)

    def in_master(fresh: Ints) -> Columns:
        count, overlap = types.counted(fresh[:, EDGE], fresh[:, CLOUD]), types.overlap(fresh)
        parts = [fresh[:, TASK, None] == np.arange(len(types.tasks))]
        parts += [
            own[:, None] * overlap[:, chosen] / block
            for own, chosen in zip(count, present, strict=True)
        ]
        return Columns(fresh[:, FLOW], sparse.csc_array(np.hstack(parts).T), list(fresh))

    def prices_of(duals: Floats) -> Floats:
        found = np.zeros(present.shape)
        found[present] = rounded(-rows.extract(duals) / block)
        return found

    def pricing(duals: Floats) -> Priced:
        bound, least, columns = types.bound(prices_of(duals))
        fresh = columns[(least < duals[: len(least)] - 1e-9)[columns[:, TASK]]]
        return Priced(in_master(fresh) if len(fresh) else None, bound)

    # An artificial column of each job that cannot end late costs more than every schedule.
    master.begin(master.artificial(jobs, np.minimum(types.late_costs, types.ceiling)))
    cost = types.cost(known.columns, types.prefix_sums(known.prices))
    least = np.full(len(types.tasks), np.inf)
    np.minimum.at(least, known.columns[:, TASK], cost)
    master.begin(in_master(known.columns[cost <= least[known.columns[:, TASK]] + NEAR]))
    return master.solve(
        pricing,
        clock=budget.clock,
        gap=gap,
        seed=budget.seed,
        threads=budget.threads,
        duals=master.duals({rows: -known.prices[present] * block}),
        on_bound=lambda bound, duals: on_bound(bound, prices_of(duals)),
    )


def solve_types(
    view: CompiledInstance,
    *,
    budget: Budget,
    block: int = BLOCK,
    price: Callable[..., Any] | None = None,
    on_better: Callable[[Sequence[TypeBound]], None] = lambda better: None,
) -> list[TypeBound]:
    """Bound all worker types in turn, then again with smaller blocks, low loads first.

    `view`: the instance; every job fits on the empty network. `block`: number of slots that share a
    price at first; it is halved while time is left. `price`: as for `TypeRelaxation`. `on_better`:
    called with the bounds of all types so far whenever one of them improves.
    """
    types = sorted(view.of_type, key=partial(_load_per_worker, view))
    bounds: dict[int, TypeBound] = {}

    def report(better: TypeBound) -> None:
        on_better(_by_type({**bounds, better.worker_type: better}.values()))

    while types and not (bounds and budget.clock.expired()):
        for k, worker_type in enumerate(types):
            coarse = bounds.get(worker_type)
            if coarse is not None and budget.clock.expired():
                break
            bounds[worker_type] = solve_type(
                view,
                worker_type,
                budget=budget.share(1.0 / (len(types) - k)),
                block=block if coarse is None else coarse.block // 2,
                coarse=coarse,
                price=price,
                on_better=report,
            )
        types = [u for u in types if bounds[u].block % 2 == 0]
    return _by_type(bounds.values())


def _by_type(bounds: Iterable[TypeBound]) -> list[TypeBound]:
    return sorted(bounds, key=lambda bound: bound.worker_type)


def _load_per_worker(view: CompiledInstance, worker_type: int) -> float:
    """Return the least worker-slots of all jobs of a type, per worker."""
    tasks = view.of_type[worker_type]
    work = sum(min(mode.workers * mode.duration for mode in task.modes) for task in tasks)
    return work / max(1, int(view.workers[:, worker_type].sum()))


def sum_of_bounds(bounds: Sequence[float]) -> float:
    """Return the sum of the bounds of types, each rounded up, as sums of c_j - a_j are integers.

    `bounds`: one for each type.
    """
    return float(sum(math.ceil(bound) for bound in bounds))


def whole_bound(view: CompiledInstance, bounds: Sequence[TypeBound]) -> float:
    """Return the bound on all jobs from bounds of some types; other jobs count as alone.

    `bounds`: of different types.
    """
    bounded = {bound.worker_type for bound in bounds}
    others = [task for task in view.tasks if task.worker_type not in bounded]
    alone = sum(task.alone or 0 for task in others)
    return sum_of_bounds([bound.bound for bound in bounds]) + alone


def certificate(instance: EdgeInstance, bounds: Sequence[TypeBound]) -> dict[str, object]:
    """Return the prices as plain JSON data; blocks count from 1.

    `bounds`: of different types.
    """
    return {"kind": KIND, "types": [_type_data(instance, bound) for bound in bounds]}


def _type_data(instance: EdgeInstance, bound: TypeBound) -> dict[str, Any]:
    name = instance.worker_types[bound.worker_type]
    data = {"worker_type": name, "slots": int(bound.ends[-1]), "block": bound.block}
    if bound.tree is None:
        return {**data, **_prices_data(bound.rows, bound.prices)}
    view = compiled(instance)
    tasks, tree = view.of_type[bound.worker_type], list[dict[str, Any]]()
    for node in bound.tree.preorder():
        if node.children:
            assert node.branch is not None
            job, (_, k, most) = instance.jobs[tasks[node.branch.task].job].id, node.branch
            tree.append({"job": job, "attribute": ATTRIBUTES[k], "most": most + _first(view, k)})
        else:
            node.data = node.data or _prices_data(bound.rows, node.prices)
            tree.append(node.data)
    return {**data, "ends": bound.ends.tolist(), "tree": tree}


def _first(view: CompiledInstance, attribute: int) -> int:
    """Return what an attribute of value 0 is in a certificate."""
    return view.first if ATTRIBUTES[attribute] in ("start", "end") else 0


def _prices_data(rows: Sequence[ClassRow], prices: Floats) -> dict[str, Any]:
    named = list(zip(rows, map(_block_prices, prices), strict=True))
    return {
        "prices": {CLASSES[row.where]: own for row, own in named[: len(CAPACITY)]},
        "cuts": [
            {"workers": CLASSES[row.where], "unit": row.unit, "prices": own}
            for row, own in named[len(CAPACITY) :]
            if own
        ],
    }


def _block_prices(prices: Floats) -> list[list[float]]:
    return [[int(b) + 1, float(prices[b])] for b in np.flatnonzero(prices)]


def certified_bound(instance: EdgeInstance, data: Mapping[str, Any]) -> float:
    """Return the bound that a certificate proves; types that it leaves out have no prices.

    `data`: as `certificate` returns it.

    Raises
    ------
    ValueError
        If the certificate does not fit the instance.
    """
    view, bounds = compiled(instance), []
    given = {entry["worker_type"]: entry for entry in data["types"]}
    for name in given:
        if name not in instance.worker_types:
            raise ValueError(f"no worker type {name}")
    for worker_type in view.of_type:
        entry = given.get(instance.worker_types[worker_type], NO_PRICES)
        slots, block, nodes = entry["slots"], entry["block"], entry.get("tree", [entry])
        tasks = view.of_type[worker_type]
        limit = min(view.slots, max(1, _max_priced_slots(tasks)))
        if not (1 <= slots <= limit and 1 <= block <= slots):
            raise ValueError("slots, block: need numbers >= 1 within the horizon, and not too many")
        ends = np.array(entry.get("ends") or blocks(slots, block))
        if ends[-1] != slots or not (np.diff(ends, prepend=0) > 0).all():
            raise ValueError("ends: need ascending slots up to the last one with a price")
        cuts = {_cut_row(cut) for node in nodes if "job" not in node for cut in node["cuts"]}
        types = TypeRelaxation(view, worker_type, ends, sorted(cuts - {*CAPACITY}))
        if not all(1 <= count < max(PARTS) for count in types.capacity[len(CAPACITY) :]):
            raise ValueError("cuts: need units of which few fit into the workers")
        number = {instance.jobs[task.job].id: k for k, task in enumerate(tasks)}
        bounds.append(least_bound(types, (_read_node(types, number, node) for node in nodes)))
    return sum_of_bounds(bounds)


def _cut_row(cut: Mapping[str, Any]) -> ClassRow:
    return ClassRow(CLASSES.index(cut["workers"]), cut["unit"])


def _read_node(
    types: TypeRelaxation, number: Mapping[str, int], node: Mapping[str, Any]
) -> Branch | Floats:
    """Return the branch or the prices that a node of a certificate stands for.

    `number`: of each job of the worker type.
    """
    if "job" in node:
        if node["job"] not in number:
            raise ValueError(f"job: {node['job']} is not a job of this worker type")
        k = ATTRIBUTES.index(node["attribute"])
        return Branch(number[node["job"]], k, node["most"] - _first(types.view, k))
    prices = np.zeros((len(types.rows), len(types.lengths)))
    given = [(ClassRow(CLASSES.index(name), 1), own) for name, own in node["prices"].items()]
    for row, own in [*given, *((_cut_row(cut), cut["prices"]) for cut in node["cuts"])]:
        for b, price in own:
            if not (1 <= b <= prices.shape[1] and 0 <= price < LARGEST):
                raise ValueError("prices: need numbers >= 0 of blocks that there are")
            prices[types.rows.index(row), b - 1] = price
    return rounded(prices)
