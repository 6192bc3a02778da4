"""A search over the orders of list schedules, by simulated annealing.

Offline, so no online algorithm. Worker types meet in nothing but parameter servers: a move shifts a
job within the order of its type, and only what comes after it is placed anew.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from schedgap.instances.edge import EdgeInstance, EdgeSchedule, arrays
from schedgap.models.edge.algorithms.unplaced import deliver
from schedgap.models.edge.baselines.timetable import Table, Timetable
from schedgap.models.edge.decisions import no_schedule, problem
from schedgap.models.edge.heuristics.earliest_end import soonest
from schedgap.models.edge.heuristics.lists import best_list, orders, place_all
from schedgap.models.edge.placements import Run
from schedgap.models.method import MethodResult, RunContext

REACH = 3  # places that a move shifts a job, at most
FLIPS = 0.3  # part of the moves that change where a job's workers may be, instead of its place
TEMPERATURE = 0.01  # of the mean c_j - a_j: what a move may lose at the start of the search
ROUND = 30  # moves for each job in the first round of a search without a limit
PATIENCE = 3  # rounds in a row that find nothing better, before such a search ends


@dataclass(slots=True)
class _Team:
    """The jobs of one worker type in their order, and the table before each of them is placed."""

    order: list[int]
    together: set[int] = field(default_factory=set)  # jobs kept on one server
    before: list[Table] = field(default_factory=list)  # [position]
    ends: list[int] = field(default_factory=list)  # [position]


class Search:
    """A search over the orders of all worker types by simulated annealing.

    A move takes a job some places up or down in its type's order, or keeps all of its workers on
    the server of its PS (or no longer); the jobs from there on are placed anew. A job that ends
    nowhere counts as if it ended long after the horizon.
    """

    def __init__(self, instance: EdgeInstance, order: Sequence[int], *, seed: int = 0) -> None:
        """Place all jobs in an order."""
        self.instance = instance
        self._random = np.random.default_rng(seed)
        self._view = arrays(instance)
        self._timetable = Timetable(instance)
        tasks = problem(instance).tasks
        last = instance.window[1]
        self._late = 10 * last + max((task.arrival for task in tasks), default=0)
        self._least = {
            task.job: task.arrival + (last if flow is None else flow)
            for task in tasks
            for flow in [problem(instance).least_flow(task)]
        }
        self._teams: dict[int, _Team] = {}
        for job in order:
            u = int(self._view.worker_type[job])
            team = self._teams.setdefault(u, _Team([]))
            before, ends, _ = self._place(u, [job], team.together, math.inf)
            team.order.append(job)
            team.before += before
            team.ends += ends
        self._arrivals = sum(task.arrival for task in tasks)
        self.least = sum(self._least[job] for job in order) - self._arrivals
        self._jobs = list(order)
        self.best = dict(self._timetable.runs)
        self.value = self._total()

    @property
    def complete(self) -> bool:
        """Whether the best runs are those of all jobs."""
        return len(self.best) == len(self._jobs)

    def schedule(self) -> EdgeSchedule:
        """Return the best schedule so far, of all jobs that are placed."""
        timetable = Timetable(self.instance)
        timetable.runs = self.best
        return timetable.schedule()

    def run_until(
        self,
        *,
        stop: Callable[[], bool] = lambda: False,
        on_better: Callable[["Search"], None] = lambda search: None,
    ) -> str:
        """Anneal again and again, each round twice as long; return why the search ended.

        It ends when told to stop, when every job ends as soon as it could alone, or when `PATIENCE`
        rounds in a row find nothing better.
        """
        moves, patience = ROUND * len(self._jobs), PATIENCE
        while patience and not stop():
            if self.value <= self.least:
                return "every job ends as soon as it can alone"
            value = self.value
            self.run(moves, stop=stop, on_better=on_better)
            patience = PATIENCE if self.value < value else patience - 1
            moves *= 2
        return "time is up" if stop() else f"{PATIENCE} rounds in a row found nothing better"

    def run(
        self,
        moves: int,
        *,
        stop: Callable[[], bool] = lambda: False,
        on_better: Callable[["Search"], None] = lambda search: None,
    ) -> None:
        """Make so many moves, fewer only when told to stop.

        A move that loses is kept with probability exp(-loss / temperature); it falls to 0 in
        equal steps. `on_better` hears of every complete schedule that is better than all before.
        """
        if not self._jobs:
            return
        temperature = TEMPERATURE * max(1.0, self.value / len(self._jobs))
        for step in range(moves):
            if stop():
                return
            allowed = -temperature * (1 - step / moves) * math.log(1 - self._random.random())
            self._move(allowed)
            total = self._total()
            if total < self.value:
                self.value, self.best = total, dict(self._timetable.runs)
                if self.complete:
                    on_better(self)

    def _total(self) -> int:
        return sum(sum(team.ends) for team in self._teams.values()) - self._arrivals

    def _move(self, allowed: float) -> None:
        """Try one move of a random job; keep it when it does not lose more than allowed."""
        job = self._jobs[int(self._random.integers(len(self._jobs)))]
        u = int(self._view.worker_type[job])
        team = self._teams[u]
        place = team.order.index(job)
        order, together, first = team.order, team.together, place
        if self._random.random() < FLIPS:
            together = together ^ {job}
        else:
            shift = int(self._random.integers(1, REACH + 1))
            to = place + (shift if self._random.random() < 0.5 else -shift)
            if not 0 <= to < len(order):
                return
            order = [*order[:place], *order[place + 1 :]]
            order.insert(to, job)
            first = min(place, to)
        table = self._timetable.tables[u]
        old = [self._timetable.forget(j) for j in team.order[first:] if j in self._timetable.runs]
        self._timetable.tables[u] = team.before[first]
        limit = sum(team.ends[first:]) + allowed
        before, ends, whole = self._place(u, order[first:], together, limit)
        if whole:
            team.order, team.together = order, together
            team.before[first:], team.ends[first:] = before, ends
            return
        for j in order[first:]:
            if j in self._timetable.runs:
                self._timetable.forget(j)
        self._timetable.tables[u] = table
        for run in old:
            self._timetable.restore(run)

    def _place(
        self, u: int, jobs: Sequence[int], together: set[int], limit: float
    ) -> tuple[list[Table], list[int], bool]:
        """Place jobs in order; False as soon as their ends must sum to more than the limit."""
        before: list[Table] = []
        ends: list[int] = []
        total = sum(self._least[job] for job in jobs)
        for job in jobs:
            before.append(self._timetable.tables[u])
            run: Run | None = soonest(self._timetable, job, together=job in together)
            if run is not None:
                self._timetable.take(run)
            ends.append(self._late if run is None else run.group.end)
            total += ends[-1] - self._least[job]
            if total > limit:
                return before, ends, False
        return before, ends, True


def list_search(instance: EdgeInstance, call: RunContext) -> MethodResult:
    """Run `list`: the best of several orders, improved by moves; or jobs by arrival alone."""
    if reason := no_schedule(instance):
        return MethodResult(infeasible=True, note=reason)
    if call.options["order"] == "arrival":
        timetable = place_all(instance, orders(instance)["arrival"])
        return deliver(instance, timetable.schedule())
    call.progress.phase("lists")
    name, order = best_list(instance)
    search = Search(instance, order, seed=call.seed)
    first = search.value if search.complete else None

    def report(search: Search) -> None:
        call.progress.incumbent(search.schedule(), float(search.value))

    if search.complete:
        report(search)
    call.progress.phase("moving jobs")
    stop, each = call.clock.expired, call.options["moves"]
    if each is None:
        ended = search.run_until(stop=stop, on_better=report)
    else:
        moves = each * len(instance.jobs)
        search.run(moves, stop=stop, on_better=report)
        ended = "time is up" if stop() else f"{moves} moves are made (option moves)"
    trace = {"order": name, "first": first, "ended": ended}
    return deliver(instance, search.schedule(), trace)
