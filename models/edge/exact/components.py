"""Decomposition by worker type: the jobs of each type are solved as an instance of their own.

Worker types share only the PSs. The optima of the components add up to a bound on the whole, often
far above the relaxation, because half the jobs are solved in a small part of the time. Schedules of
the components form a schedule of the whole if the PSs suffice. If not, each component may cost only
so much more than its bound in a better schedule of the whole.

References
----------
The decomposition follows from the structure of (2). Using the optimal values of components as a
bound, and the gap between them and the incumbent to fix starts in each component, is new here; it
is valid because every schedule of the whole contains one of each component.
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.models.edge.baselines.partial_schedule import EdgePartialSchedule
from schedgap.models.edge.bounds.decomposition import jobs_by_type, restricted_to
from schedgap.models.edge.bounds.reduced_cost_fixing import ComponentPrices, ReducedCostFixing
from schedgap.models.edge.decisions import compiled
from schedgap.models.edge.exact.stages import FEW_JOBS, price, search_intervals, search_lists
from schedgap.models.edge.exact.targets import ObjectiveTargets
from schedgap.models.edge.heuristics.initial import initial_state
from schedgap.models.edge.placements import runs_from_schedule, schedule_from_runs
from schedgap.models.edge.programs.dual import CapacityPrices
from schedgap.models.method import Budget, NullProgress
from schedgap.models.search_state import SearchState

LIST_SHARE, SEARCH_SHARE, PRICE_SHARE = 0.05, 0.1, 0.6  # of the remaining time of one component
SEARCH_SECONDS = 2.0


def merge_schedules(
    instance: EdgeInstance, schedules: Sequence[EdgeSchedule]
) -> EdgeSchedule | None:
    """Return one schedule of jobs of different worker types, or None if the PSs do not suffice.

    Jobs keep their workers and slots; the PS of a split job may move to another server.

    `schedules`: feasible ones, of disjoint sets of jobs.
    """
    placements = {job: run for each in schedules for job, run in each.placements.items()}
    view, partial = compiled(instance), EdgePartialSchedule(instance)
    runs = runs_from_schedule(instance, EdgeSchedule(placements))
    for run in sorted(runs, key=lambda run: not run.on_one_server):
        task = view.tasks[run.job]
        usage = partial.ps_usage[task.ps_type]
        free = {s: usage.free_throughout(s, run.start, run.end) for s in range(len(view.ps))}
        candidates = [run.host]
        if not run.mode.colocated:
            candidates += [
                s for s in free if view.ps[s, task.ps_type] and task.ready[s] <= run.start
            ]
        host = max(candidates, key=lambda s: free[s] + (s == run.host) * (free[s] > 0))
        if free[host] < 1:
            return None
        partial.restore(run._replace(host=host))
    return schedule_from_runs(instance, partial.runs.values())


@dataclass(slots=True, eq=False)
class _Component:
    """A component with its search state; `targets` exist once there are prices."""

    instance: EdgeInstance
    jobs: tuple[int, ...]  # index of each in the whole
    state: SearchState
    targets: ObjectiveTargets | None = None
    seconds: float = 0.0

    @property
    def is_open(self) -> bool:
        return self.targets is not None and not (self.state.closed or self.targets.stuck)


class WorkerTypeComponents:
    """All components of an instance; their results go to the search state of the whole."""

    def __init__(self, instance: EdgeInstance, whole: SearchState) -> None:
        self._instance, self._whole = instance, whole
        self._components: list[_Component] = []
        for jobs in jobs_by_type(instance).values():
            part = restricted_to(instance, jobs)
            state = initial_state(part, replace(whole.call, progress=NullProgress()))
            if whole.schedule is not None:
                own = {job.id: whole.schedule.placements[job.id] for job in part.jobs}
                state.incumbent(EdgeSchedule(own))
            self._components.append(_Component(part, jobs, state))
        for component in self._components:
            component.state.call = replace(whole.call, progress=_ComponentProgress(self))
        self.update_whole()

    @property
    def bound(self) -> float:
        """The sum of the components' bounds: a bound on the whole."""
        return sum(component.state.lower for component in self._components)

    def _certificate(self) -> dict[str, object] | None:
        """Return a certificate of that sum; None if a bound was proved by a search."""
        parts = {
            component.instance.jobs[0].worker_type: component.state.certificate
            for component in self._components
        }
        return None if None in parts.values() else {"kind": "parts", "parts": parts}

    @property
    def _value(self) -> float:
        """The sum of the components' best objectives."""
        return sum(
            math.inf if component.state.upper is None else component.state.upper
            for component in self._components
        )

    def update_whole(self) -> None:
        """Report bounds and schedules of the components to the whole."""
        whole, bound = self._whole, self.bound
        whole.infeasible |= any(component.state.infeasible for component in self._components)
        whole.bound(bound, self._certificate())
        if self._value < (math.inf if whole.upper is None else whole.upper):
            schedules = [component.state.schedule for component in self._components]
            schedule = merge_schedules(
                self._instance, [one for one in schedules if one is not None]
            )
            if schedule is not None:
                whole.incumbent(schedule)

    def prepare(self, budget: Budget) -> bool:
        """Take the first steps with each component: lists, CP-SAT, prices.

        Returns
        -------
        bool
            Whether all components have prices, or the gap of the whole is closed.
        """
        count = len(self._components)
        for k, component in enumerate(self._components):
            state, own = component.state, budget.share(1 / (count - k))
            if not state.closed:
                search_lists(component.instance, state, own.share(LIST_SHARE))
            if not state.closed and len(component.jobs) <= FEW_JOBS:
                limit = own.share(SEARCH_SHARE, most=SEARCH_SECONDS)
                search_intervals(component.instance, state, limit)
        for k, component in enumerate(self._components):
            self.update_whole()
            if self._whole.closed:
                return True
            state, own = component.state, budget.share(1 / (count - k))
            limit, upper = own.share(PRICE_SHARE), self._upper_limit(component)
            prices = price(component.instance, state, limit, upper)
            if prices is None:
                return False
            fixing = ReducedCostFixing((prices,))
            component.targets = ObjectiveTargets(component.instance, state, fixing)
        self.update_whole()
        return True

    def _upper_limit(self, component: _Component) -> float:
        """Return what a component can cost in a schedule no worse than the incumbent."""
        whole = self._whole
        return math.inf if whole.upper is None else whole.upper - self.bound + component.state.lower

    def close_gaps(self, budget: Budget) -> None:
        """Try targets of all components in turn until all gaps are closed or time is up."""
        while not self._whole.closed and not budget.clock.expired():
            still_open = [component for component in self._components if component.is_open]
            if not still_open:
                return
            component = min(still_open, key=lambda component: component.seconds)
            assert component.targets is not None
            since = time.monotonic()
            component.targets.advance(budget, 1 / len(still_open), alone=len(still_open) == 1)
            component.seconds += time.monotonic() - since
            self.update_whole()

    def fixing(self) -> ReducedCostFixing:
        """Return prices for the whole, and the components with their prices and bounds."""
        components = [
            ComponentPrices(
                component.instance,
                component.jobs,
                component.targets.fixing.prices,
                int(component.state.lower),
            )
            for component in self._components
            if component.targets is not None
        ]
        view, first = compiled(self._instance), [component.prices[0] for component in components]
        slots = max(prices.slots for prices in first)
        workers = np.zeros((*view.workers.shape, slots))
        ps = np.zeros((*view.ps.shape, slots))
        for prices in first:  # each has prices of its own worker type
            workers[:, :, : prices.slots] += prices.workers
            ps[:, :, : prices.slots] = np.maximum(ps[:, :, : prices.slots], prices.ps)
        return ReducedCostFixing((CapacityPrices(workers, ps),), tuple(components))


class _ComponentProgress(NullProgress):
    """Progress of a component: every schedule or bound updates the whole."""

    def __init__(self, components: WorkerTypeComponents) -> None:
        self._components = components

    def incumbent(self, schedule: EdgeSchedule, objective: float) -> None:
        """Update the whole."""
        self._components.update_whole()

    def bound(
        self,
        value: float,
        certificate: Mapping[str, object] | None = None,
        *,
        confirmed: bool = True,
    ) -> None:
        """Update the whole."""
        self._components.update_whole()
