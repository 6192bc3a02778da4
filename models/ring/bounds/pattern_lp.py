"""`pattern-lp`: makespans refuted by column generation over GPU patterns (ours).

A GPU serves whole jobs one after the other. The jobs that it serves, its pattern, take at most H
slots together if the makespan is H. There are as many patterns as GPUs, and job j must be in G_j of
them. If jobs are long relative to H, a pattern holds few of them and leaves a remainder that no job
can use; `area` does not see this. Servers on which all jobs take the same time form a
class c with N_c GPUs, and P_c is the set of its patterns. The master program is

    theta(H) = min theta  subject to
        sum over classes and patterns with j:  x_cp >= G_j         for each job j
        sum over patterns p in P_c:            x_cp <= N_c theta   for each class c

and H is refuted, that is, every schedule takes more than H slots, if theta(H) > 1. The pricing
problem is a knapsack of capacity H for each class. The dual values of the jobs, rounded to
integers, refute H in exact arithmetic: see `refutes`.

References
----------
P. C. Gilmore, R. E. Gomory, "A linear programming approach to the cutting-stock problem",
Operations Research 9 (1961): patterns, and their generation by knapsacks.
A. A. Farley, "A note on bounding a class of linear programming problems, including cutting stock
problems", Operations Research 38 (1990): the bound from the values of the pricing problems.
R. Klein, A. Scholl, "Computing lower bounds by destructive improvement: an application to
resource-constrained project scheduling", European Journal of Operational Research 112 (1999).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from schedgap.models.mechanisms.knapsack import best_subset, knapsack_values
from schedgap.models.mechanisms.restricted_master import Priced, RestrictedMaster
from schedgap.models.ring.bounds.elementary import inside_slots, spread_slots
from schedgap.models.ring.rates import RateTable
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.loops.column_generation import Columns
from schedgap.solvers.programs.arrays import Floats

Pattern = tuple[int, tuple[int, ...]]  # class, jobs

_PRICE_SUM = 10**12  # approximate sum of G_j price_j after rounding to integers
_MOST_STEPS = 4096  # largest capacity of a knapsack; beyond it several slots are one step
_ROUNDS = 400  # most rounds of column generation
_MOST_PATTERNS = 1500  # patterns kept for the next makespan
_ARTIFICIAL = 10.0  # cost of not placing a worker, in units of theta


@dataclass(frozen=True, slots=True)
class ServerClass:
    """Servers on whose GPUs every job takes the same time."""

    gpus: int  # N_c
    slots: tuple[float, ...]  # [j] shortest execution time of a job with a worker here, or NEVER


def server_classes(table: RateTable) -> tuple[ServerClass, ...]:
    """Return the classes: servers that can host the same jobs.

    Parameters
    ----------
    table : RateTable
        Of an instance that `no_schedule` does not refute.
    """
    inside, spread = inside_slots(table), spread_slots(table)
    gpus: dict[tuple[float, ...], int] = {}
    for capacity in table.server_gpus:
        times = tuple(
            inside[j] if size <= capacity else spread[j] for j, size in enumerate(table.size)
        )
        gpus[times] = gpus.get(times, 0) + capacity
    return tuple(ServerClass(number, times) for times, number in gpus.items())


@dataclass(frozen=True, slots=True)
class Refutation:
    """Integer prices [j] of a GPU that prove that every schedule takes more than `slots`."""

    slots: int
    prices: tuple[int, ...]


def refutes(table: RateTable, refutation: Refutation) -> bool:
    """Return whether the prices prove that no schedule ends by the end of slot `slots`.

    They do if the value of all workers, sum_j G_j price_j, exceeds sum_c N_c v_c. Here v_c is the
    largest value of a pattern of class c. Integer arithmetic throughout.

    Parameters
    ----------
    table : RateTable
        Of an instance that `no_schedule` does not refute.
    refutation : Refutation
        Any slots and prices; negative prices count as 0.
    """
    prices = [max(0, int(price)) for price in refutation.prices]
    required = sum(size * price for size, price in zip(table.size, prices, strict=True))
    if required > 2**62 or refutation.slots < 1:
        return False
    available = 0
    for servers in server_classes(table):
        lengths, capacity = _in_steps(servers, refutation.slots)
        values = knapsack_values(lengths, np.array(prices, dtype=np.int64), capacity)
        available += servers.gpus * int(values[-1])
    return available < required


@dataclass(slots=True)
class WarmStart:
    """Dual values and patterns kept from one makespan to the next."""

    prices: Floats | None = None  # prices of the master's rows: jobs, then classes
    patterns: dict[Pattern, None] = field(default_factory=dict)  # ordered by age


def refute(table: RateTable, slots: int, clock: Clock, warm_start: WarmStart) -> Refutation | None:
    """Solve the master program for a makespan; return a refutation, or None if there is none.

    `table`: of an instance that `no_schedule` does not refute. `slots`: H, at least max_j d_j.
    `clock`: when to stop; None is returned then. `warm_start`: from other makespans; the patterns
    of this one are added, and the prices of a refutation.
    """
    classes = server_classes(table)
    knapsacks = [_in_steps(servers, slots) for servers in classes]
    size = np.array(table.size, dtype=np.float64)
    master = RestrictedMaster[Pattern]()
    job_block = master.rows("jobs", len(size), lower=size)
    class_block = master.rows("classes", len(classes), upper=0.0)
    job_row, class_row = job_block.positions.tolist(), class_block.positions.tolist()

    def columns(patterns: Sequence[Pattern]) -> Columns:
        rows = ([*(job_row[j] for j in jobs), class_row[c]] for c, jobs in patterns)
        entries = [dict.fromkeys(of_pattern, 1.0) for of_pattern in rows]
        return master.columns(np.zeros(len(patterns)), entries, patterns)

    gpus = [-float(servers.gpus) for servers in classes]
    master.begin(master.columns([1.0], [dict(zip(class_row, gpus, strict=True))]))  # theta
    master.begin(master.artificial(job_block, _ARTIFICIAL))
    fitting = [  # patterns of other makespans that fit into this one
        (c, jobs)
        for c, jobs in warm_start.patterns
        if sum(knapsacks[c][0][j] for j in jobs) <= knapsacks[c][1]
        and all(knapsacks[c][0][j] >= 0 for j in jobs)
    ]
    if fitting:
        master.begin(columns(fitting))

    def price(duals: Floats) -> Priced:
        """Return the best pattern of each class, and Farley's bound on theta."""
        prices = np.maximum(job_block.extract(duals), 0.0)
        patterns: list[Pattern] = []
        available = 0.0  # sum_c N_c v_c
        for c, (servers, (lengths, capacity)) in enumerate(zip(classes, knapsacks, strict=True)):
            value, jobs = best_subset(lengths, prices, capacity)
            available += servers.gpus * value
            patterns.append((c, tuple(jobs)))
        required = float(size @ prices)  # sum_j G_j price_j
        # prices / available are dual feasible, so required / available <= theta(H)
        bound = required / available if available > 0 else 0.0
        # The master's dual values give required = its value >= theta(H), so 1 refutes nothing.
        if bound > 1 + 1e-6 or required <= 1 + 1e-9:
            return Priced(None, bound)
        return Priced(columns(patterns), bound)

    solution = master.solve(price, clock=clock, rounds=_ROUNDS, duals=warm_start.prices)
    warm_start.patterns |= dict.fromkeys(solution.result.tags)
    excess = max(0, len(warm_start.patterns) - _MOST_PATTERNS)
    for oldest in list(warm_start.patterns)[:excess]:
        del warm_start.patterns[oldest]
    if solution.bound is None or solution.duals is None or solution.bound <= 1:
        return None
    prices = np.maximum(job_block.extract(solution.duals), 0.0)
    rounded = np.floor(prices * (_PRICE_SUM / float(size @ prices)) + 0.5).astype(np.int64)
    refutation = Refutation(slots, tuple(rounded.tolist()))
    if not refutes(table, refutation):
        return None
    warm_start.prices = solution.duals
    return refutation


def pattern_bound(
    table: RateTable,
    lower: int,
    upper: int,
    clock: Clock,
    *,
    on_refuted: Callable[[Refutation], None] = lambda refutation: None,
) -> int:
    """Return a lower bound on the makespan in lower..upper by refuting makespans below it.

    Makespans are tried at doubling distances from `lower`, then by bisection.

    `table`: of an instance that `no_schedule` does not refute. `lower`: lower bound on the
    makespan, slots; at least `job-alone`. `upper`: larger bounds are of no use, slots: the makespan
    of a schedule, or the horizon plus 1. `clock`: when to stop with the bound reached so far.
    `on_refuted`: called with each refutation that raises the bound.
    """
    step, warm_start = 1, WarmStart()
    ceiling = upper  # smallest makespan tried that was not refuted
    while lower < ceiling and not clock.expired():
        target = (lower + ceiling) // 2 if ceiling < upper else min(lower + step - 1, upper - 1)
        refutation = refute(table, target, clock, warm_start)
        if refutation is None:
            ceiling = target
        else:
            lower, step = target + 1, 2 * step
            on_refuted(refutation)
    return lower


def _in_steps(servers: ServerClass, slots: int) -> tuple[list[int], int]:
    """Return execution times [j] (-1: longer than `slots`) and H, in steps of one or more slots.

    Both are rounded down, which relaxes the knapsack: floor(a) + floor(b) <= floor(a + b).
    """
    step = -(-slots // _MOST_STEPS)
    lengths = [-1 if time > slots else int(time) // step for time in servers.slots]
    return lengths, slots // step
