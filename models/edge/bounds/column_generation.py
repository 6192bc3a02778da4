"""The linear relaxation of (4) by column generation: rows (4a)-(4c), pricing problem (9).

For (2) every job has exactly one column, and the bound is on sum c_j - a_j; for a batch the same
loop solves the dual (5). The bound reported is the Lagrangian bound of the prices, evaluated
exactly without the master: see `programs.dual`.

References
----------
P. C. Gilmore, R. E. Gomory, "A linear programming approach to the cutting-stock problem",
Operations Research 9 (1961).
J. M. van den Akker, C. A. J. Hurkens, M. W. P. Savelsbergh, "Time-indexed formulations for machine
scheduling problems: column generation", INFORMS Journal on Computing 12 (2000).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge.algorithms.cheapest_schedule import Floats
from schedgap.models.edge.decisions import CompiledInstance, compiled
from schedgap.models.edge.placements import PlacedRun
from schedgap.models.edge.programs import dual
from schedgap.models.edge.programs.dual import CapacityPrices, LagrangianDual
from schedgap.models.mechanisms.restricted_master import Priced, RestrictedMaster
from schedgap.models.method import Budget
from schedgap.solvers.loops.column_generation import ColumnGenerationResult, Columns
from schedgap.solvers.programs.builder import Entries

MAX_CELLS = 2_000_000  # jobs x servers with their workers x slots with prices
MAX_WORK = 4_000_000_000  # the same, times the modes of each job
MAX_COLUMNS = 12  # new ones of each job in a round


def too_large(view: CompiledInstance, slots: int) -> str | None:
    """Return why the relaxation is too large to be solved, or None.

    `slots`: number of slots with prices.
    """
    able = (view.workers > 0).sum(axis=0).tolist()
    cells = sum(able[task.worker_type] for task in view.tasks) * slots
    if cells > MAX_CELLS:
        return f"too large: {cells} jobs x servers x slots, at most {MAX_CELLS}"
    work = sum(able[task.worker_type] * len(task.modes) for task in view.tasks) * slots
    if work > MAX_WORK:
        return f"too large: {work} jobs x modes x servers x slots, at most {MAX_WORK}"
    prices = slots * (view.workers.size + view.ps.size)
    if prices > dual.MAX_CELLS:
        return f"too large: {prices} prices, at most {dual.MAX_CELLS}"
    return None


@dataclass(frozen=True, slots=True, eq=False)
class RelaxationBound:
    """Result of column generation; for a batch, values are minus the number of jobs."""

    bound: float | None  # None if no prices were found
    prices: CapacityPrices | None
    result: ColumnGenerationResult
    infeasible: bool = False  # the bound exceeds the objective of every schedule


def solve_bound(
    view: CompiledInstance,
    *,
    slots: int,
    budget: Budget,
    gap: float = 1e-6,
    on_bound: Callable[[float, CapacityPrices], None] | None = None,
) -> RelaxationBound:
    """Solve the linear relaxation; every bound on the way is valid.

    `slots`: number of slots with prices, from the window's first; see `LagrangianDual`. `gap`:
    relative difference between master and bound at which to stop. `on_bound`: called with every
    better bound and the prices that prove it.
    """
    lagrangian, master = LagrangianDual(view, slots), _Master(view, slots)
    artificial_cost = _artificial_cost(view)
    # One further column of each job keeps the master feasible: ending late, or artificial.
    if view.tasks:
        late = np.minimum(lagrangian.late_costs, artificial_cost)
        master.program.begin(master.program.artificial(master.jobs, late))

    def pricing(duals: Floats) -> Priced:
        prices = master.prices(duals)
        problems = lagrangian.pricing_problems(prices)
        costs = lagrangian.all_start_costs(problems)
        try:
            bound = lagrangian.bound(prices, costs)
        except ValueError:
            bound = -np.inf
        runs = [
            lagrangian.cheapest_run(problems, task, task.modes[m], start)
            for k, task in enumerate(view.tasks)
            for m, start in _cheapest_starts(costs[k], float(duals[k]) - 1e-9)
        ]
        return Priced(master.columns(runs) if runs else None, bound)

    solution = master.program.solve(
        pricing,
        clock=budget.clock,
        gap=gap,
        seed=budget.seed,
        threads=budget.threads,
        on_bound=None if on_bound is None else lambda bound, at: on_bound(bound, master.prices(at)),
    )
    bound = solution.bound
    infeasible = bound is not None and not view.is_batch and bound > artificial_cost - 0.5
    prices = None if solution.duals is None else master.prices(solution.duals)
    return RelaxationBound(bound, prices, solution.result, infeasible)


def _cheapest_starts(costs: list[Floats], limit: float) -> list[tuple[int, int]]:
    """Return (mode, start) of the cheapest start of each mode if below a limit, cheapest first."""
    below = []
    for m, cost in enumerate(costs):
        if cost.size and (least := float(cost.min())) < limit:
            below.append((least, m, int(cost.argmin())))
    return [(m, start) for _, m, start in sorted(below)[:MAX_COLUMNS]]


def _artificial_cost(view: CompiledInstance) -> float:
    """Return a cost of an artificial column that exceeds the objective of every schedule."""
    if view.is_batch:
        return 0.0
    return 1.0 + sum(view.last - task.arrival for task in view.tasks)


class _Master:
    """The restricted master: one row for each job, capacity rows by server, type and slot.

    A pair of server and type with capacity for all jobs of the type at once needs no rows: its
    price is 0.
    """

    def __init__(self, view: CompiledInstance, slots: int) -> None:
        self._view, self._slots = view, slots
        demand = np.zeros(view.workers.shape[1])  # workers of all jobs of a type together, at most
        jobs_of_ps_type = np.zeros(view.ps.shape[1])
        for task in view.tasks:
            demand[task.worker_type] += max((mode.workers for mode in task.modes), default=0)
            jobs_of_ps_type[task.ps_type] += 1
        self.program: RestrictedMaster[PlacedRun] = RestrictedMaster()
        self.jobs = self.program.rows(
            "eq_4c", len(view.tasks), lower=-np.inf if view.is_batch else 1.0, upper=1.0
        )
        self._resources = []
        for name, units, most in (
            ("eq_4a", view.workers, demand),
            ("eq_4b", view.ps, jobs_of_ps_type),
        ):
            scarce = np.nonzero((units > 0) & (units < most))  # servers, types
            rows = self.program.rows(
                name, (len(scarce[0]), slots), upper=units[scarce][:, None].astype(float)
            )
            place = np.full(units.shape, -1)
            place[scarce] = np.arange(len(scarce[0]))
            self._resources.append((units.shape, scarce, place, rows))
        self._task_of = {task.job: k for k, task in enumerate(view.tasks)}

    def prices(self, duals: Floats) -> CapacityPrices:
        """Return the prices that duals [i] of the rows stand for."""
        arrays = []
        for shape, scarce, _, rows in self._resources:
            prices = np.zeros((*shape, self._slots))
            prices[scarce] = dual.rounded(-rows.extract(duals))
            arrays.append(prices)
        return CapacityPrices(arrays[0], arrays[1])

    def columns(self, runs: Sequence[PlacedRun]) -> Columns:
        """Return the columns of runs."""
        tasks = self._view.tasks
        costs = [
            -1.0
            if self._view.is_batch
            else float(tasks[self._task_of[run.job]].flow(run.mode_start))
            for run in runs
        ]
        return self.program.columns(costs, [self._entries(run) for run in runs], runs)

    def _entries(self, run: PlacedRun) -> Entries:
        """Return (rows, coefficients): 1 in the job's row, units used in the rows of its slots."""
        k = self._task_of[run.job]
        task = self._view.tasks[k]
        slots = run.start - self._view.first + np.arange(run.mode.duration)
        entries: list[tuple[Any, float]] = [(self.jobs.at(k), 1.0)]
        used = [[(s, task.worker_type, n) for s, n in run.workers], [(run.host, task.ps_type, 1)]]
        for (_, _, place, rows), units in zip(self._resources, used, strict=True):
            entries += [
                (rows.at(place[s, kind], slots), float(n))
                for s, kind, n in units
                if place[s, kind] >= 0
            ]
        return entries


def certified_bound(instance: EdgeInstance, data: Mapping[str, Any]) -> float:
    """Return the bound that a certificate proves, in the objective's own sense.

    `data`: as for `programs.dual.from_data`.

    Raises
    ------
    ValueError
        If the prices do not fit the instance, or there are too many.
    """
    view = compiled(instance)
    if reason := too_large(view, data["slots"]):
        raise ValueError(reason)
    prices = dual.from_data(view, data)
    bound = LagrangianDual(view, prices.slots).bound(prices)
    return -bound if view.is_batch else bound
