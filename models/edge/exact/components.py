"""The jobs of each worker type solved as instances of their own, which meet in nothing but PSs.

The optima of the parts sum up to a bound on that of the whole, far above the relaxation, for half
the jobs are settled in a small part of the time. Schedules of the parts make one of the whole where
their PSs suffice for all; where not, each part leaves the others only so much above their bounds.
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.models.edge.baselines.timetable import Timetable
from schedgap.models.edge.bounds.decomposition import jobs_by_type, part_of
from schedgap.models.edge.bounds.reduced_cost_fixing import Fixing, Side
from schedgap.models.edge.bounds.worker_types import TypeBound, total
from schedgap.models.edge.bounds.worker_types import certificate as type_certificate
from schedgap.models.edge.decisions import problem
from schedgap.models.edge.exact.steps import price, search_intervals, search_lists
from schedgap.models.edge.exact.targets import FEW_JOBS, Targets
from schedgap.models.edge.heuristics.initial import first_bracket
from schedgap.models.edge.placements import runs_from, schedule_of
from schedgap.models.edge.programs.dual import Prices
from schedgap.models.method import NullProgress
from schedgap.models.search_state import SearchState
from schedgap.solvers import Clock

LIST_SHARE, SEARCH_SHARE, PRICE_SHARE = 0.05, 0.1, 0.6  # of what is left for one part
SEARCH_SECONDS = 2.0
PARTS_FIRST, JOINT_SHARE = 0.6, 0.3  # of the time; where schedules of parts do not fit together


def joined(instance: EdgeInstance, schedules: Sequence[EdgeSchedule]) -> EdgeSchedule | None:
    """Return one schedule of jobs of different worker types, or None where PSs do not suffice.

    Jobs keep their workers and slots. Those that are split may find their PS on another server.
    """
    placements = {job: run for each in schedules for job, run in each.placements.items()}
    view, timetable = problem(instance), Timetable(instance)
    runs = runs_from(instance, EdgeSchedule(placements))
    for run in sorted(runs, key=lambda run: not run.colocated):
        task = view.tasks[run.group.job]
        hosts, window = timetable.hosts[task.ps_type], (run.group.start, run.group.end)
        free = {s: hosts.most_free(s, *window) for s in range(len(view.ps))}
        choice = [run.host]
        if not run.group.mode.together:
            choice += [s for s in free if view.ps[s, task.ps_type] and task.ready[s] <= window[0]]
        host = max(choice, key=lambda s: free[s] + (s == run.host) * (free[s] > 0))
        if free[host] < 1:
            return None
        timetable.restore(run._replace(host=host))
    return schedule_of(instance, timetable.runs.values())


@dataclass(slots=True, eq=False)
class _Part:
    """One part, and how far it is; `targets` as soon as there are prices."""

    instance: EdgeInstance
    jobs: tuple[int, ...]  # the index of each in the whole
    found: SearchState
    types: Sequence[TypeBound] = ()
    targets: Targets | None = None
    seconds: float = 0.0

    @property
    def is_open(self) -> bool:
        return self.targets is not None and not (self.found.closed or self.targets.stuck)


class Parts:
    """All parts of an instance; what they find goes to the bracket of the whole."""

    def __init__(
        self, instance: EdgeInstance, whole: SearchState, types: Sequence[TypeBound] = ()
    ) -> None:
        self._instance, self._whole = instance, whole
        self._parts: list[_Part] = []
        known = {each.worker_type: each for each in types}
        for kind, jobs in jobs_by_type(instance).items():
            part = part_of(instance, jobs)
            found = first_bracket(part, replace(whole.call, progress=NullProgress()))
            own_types = [known[kind]] if kind in known else []
            if own_types:
                found.bound(total([known[kind].bound]), type_certificate(part, own_types))
            if whole.schedule is not None:
                own = {job.id: whole.schedule.placements[job.id] for job in part.jobs}
                found.offer(EdgeSchedule(own))
            self._parts.append(_Part(part, jobs, found, own_types))
        for each in self._parts:
            each.found.call = replace(whole.call, progress=_Ear(self))
        self.heard()

    @property
    def bound(self) -> float:
        """The sum of their bounds: one on the whole."""
        return sum(part.found.lower for part in self._parts)

    def _certificate(self) -> dict[str, Any] | None:
        """Return what proves that sum, None where a search had to."""
        own = {p.instance.jobs[0].worker_type: p.found.certificate for p in self._parts}
        return None if None in own.values() else {"kind": "parts", "parts": own}

    @property
    def apart(self) -> bool:
        """Whether the best schedules of the parts do not make one of the whole."""
        return self._whole.upper is None or self._whole.upper > self._value

    @property
    def _value(self) -> float:
        """The sum of what their best schedules cost."""
        return sum(math.inf if p.found.upper is None else p.found.upper for p in self._parts)

    def heard(self) -> None:
        """Tell the whole what the parts have by now."""
        whole, bound = self._whole, self.bound
        whole.infeasible |= any(part.found.infeasible for part in self._parts)
        whole.bound(bound, self._certificate())
        if self._value < (math.inf if whole.upper is None else whole.upper):
            schedules = [part.found.schedule for part in self._parts]
            schedule = joined(self._instance, [each for each in schedules if each is not None])
            if schedule is not None:
                whole.offer(schedule)

    def prepare(self, clock: Clock) -> bool:
        """Take the first steps with each part: lists, a search, prices; whether all have prices."""
        for k, part in enumerate(self._parts):
            found, own = part.found, clock.share(1 / (len(self._parts) - k))
            if not found.closed:
                search_lists(part.instance, found, own.share(LIST_SHARE))
            if not found.closed and len(part.jobs) <= FEW_JOBS:
                limit = own.share(SEARCH_SHARE, most=SEARCH_SECONDS)
                search_intervals(part.instance, found, limit)
        for k, part in enumerate(self._parts):
            self.heard()
            if self._whole.closed:
                return True
            found, own = part.found, clock.share(1 / (len(self._parts) - k))
            limit = own.share(PRICE_SHARE)
            prices = price(part.instance, found, limit, self._most(part), part.types)
            if prices is None:
                return False
            part.targets = Targets(part.instance, found, Fixing((prices,)))
            if not found.closed:
                part.targets.tighten(own)
        self.heard()
        return True

    def _most(self, part: _Part) -> float:
        """Return what a part may cost in a schedule no worse than the one that is known."""
        whole = self._whole
        return math.inf if whole.upper is None else whole.upper - self.bound + part.found.lower

    def settle(self, clock: Clock, targets: Targets) -> None:
        """Raise the targets of all parts in turn, until none is left or no time.

        Where their schedules do not make one of the whole, some time is for better ones of it.
        """
        whole, joint = self._whole, False
        while not whole.closed and not clock.expired():
            still = [part for part in self._parts if part.is_open]
            if not still:
                return
            if self.apart and not joint and clock.spent() > PARTS_FIRST:
                joint = True
                targets.fixing = replace(targets.fixing, sides=self.fixing().sides)
                targets.improve(clock.share(JOINT_SHARE))
                continue
            part = min(still, key=lambda part: part.seconds)
            assert part.targets is not None
            since = time.monotonic()
            part.targets.advance(clock, 1 / len(still), alone=len(still) == 1)
            part.seconds += time.monotonic() - since
            self.heard()

    def fixing(self) -> Fixing:
        """Return what the parts leave to the whole."""
        sides = [
            Side(part.instance, part.jobs, part.targets.fixing.prices, int(part.found.lower))
            for part in self._parts
            if part.targets is not None
        ]
        slots = max(side.prices[0].slots for side in sides)
        each = [side.prices[0].until(slots) for side in sides]
        workers = np.sum([prices.workers for prices in each], axis=0)
        return Fixing(
            (Prices(workers, np.max([prices.ps for prices in each], axis=0)),), tuple(sides)
        )


class _Ear(NullProgress):
    """Progress of a part: all parts are asked what they have."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def incumbent(self, schedule: EdgeSchedule, objective: float) -> None:
        """Look at all."""
        self._parts.heard()

    def bound(
        self,
        value: float,
        certificate: Mapping[str, Any] | None = None,
        *,
        confirmed: bool = True,
    ) -> None:
        """Look at all."""
        self._parts.heard()
