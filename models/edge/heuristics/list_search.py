"""Simulated annealing over the orders of list schedules; offline.

Worker types share only parameter servers. So a move changes the order of one worker type, and only
the jobs of that type from the changed position on are placed again.

References
----------
S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi, "Optimization by simulated annealing", Science 220
(1983).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge

from schedgap.instances.edge import EdgeInstance, EdgeSchedule, arrays
from schedgap.models.edge.algorithms.unplaced import complete_or_partial
from schedgap.models.edge.baselines.partial_schedule import EdgePartialSchedule, FreeWorkerProfile
from schedgap.models.edge.decisions import compiled
from schedgap.models.edge.heuristics.earliest_end import earliest_run
from schedgap.models.edge.heuristics.lists import best_list, orders, place_all
from schedgap.models.edge.placements import schedule_from_runs
from schedgap.models.method import MethodResult, RunContext

MAX_SHIFT = 3  # positions by which a move shifts a job
FLIP_SHARE = 0.3  # probability of a move that forces a job to be colocated, or allows it to split
TEMPERATURE = 0.01  # initial temperature, relative to the mean c_j - a_j
ROUND = 30  # moves per job in the first round of a search without a limit
PATIENCE = 3  # rounds in a row without improvement after which such a search ends


@dataclass(slots=True)
class _TypeOrder:
    """The order of the jobs of one worker type, and the profile before each of them is placed."""

    order: list[int]
    colocated: set[int] = field(default_factory=set)  # jobs that must be colocated
    before: list[FreeWorkerProfile] = field(default_factory=list)  # [position]
    ends: list[int] = field(default_factory=list)  # [position]


class OrderAnnealing:
    """Simulated annealing over the orders of all worker types.

    A move shifts a job in the order of its type, or changes whether it must be colocated; the jobs
    from there on are placed again, each where it ends earliest. A job that does not fit is
    penalised with an end long after the horizon.

    `order`: jobs by index: the first list.

    Attributes
    ----------
    value : int
        sum c_j - a_j of the best list, penalties included.
    best : dict
        Its runs by job.
    least : int
        sum c_j - a_j if every job ended as early as it can alone.
    """

    def __init__(self, instance: EdgeInstance, order: Sequence[int], *, seed: int = 0) -> None:
        """Place all jobs in the given order."""
        self.instance = instance
        self._random = np.random.default_rng(seed)
        self._view = arrays(instance)
        self._partial = EdgePartialSchedule(instance)
        view, last = compiled(instance), instance.window[1]
        self._late = 10 * last + max((task.arrival for task in view.tasks), default=0)
        self._earliest_end = {
            task.job: task.arrival + (last if flow is None else flow)
            for task in view.tasks
            for flow in [view.minimum_flow(task)]
        }
        self._types: dict[int, _TypeOrder] = {}
        for job in order:
            u = int(self._view.worker_type[job])
            own = self._types.setdefault(u, _TypeOrder([]))
            before, ends, _ = self._place(u, [job], own.colocated, math.inf)
            own.order.append(job)
            own.before += before
            own.ends += ends
        self._arrivals = sum(task.arrival for task in view.tasks)
        self.least = sum(self._earliest_end[job] for job in order) - self._arrivals
        self._jobs = list(order)
        self.best = dict(self._partial.runs)
        self.value = self._total()

    @property
    def complete(self) -> bool:
        """Whether the best list places all jobs."""
        return len(self.best) == len(self._jobs)

    def schedule(self) -> EdgeSchedule:
        """Return the best schedule so far, without unplaced jobs."""
        return schedule_from_runs(self.instance, self.best.values())

    def run_until(
        self,
        *,
        moves: int = ROUND,
        patience: float = PATIENCE,
        stop: Callable[[], bool] = lambda: False,
        on_better: Callable[["OrderAnnealing"], None] = lambda search: None,
    ) -> str:
        """Repeat `run`, each round with twice as many moves; return why the search ended.

        It ends when `stop` returns True, when every job ends as early as it can alone, or when some
        rounds in a row bring no improvement.

        `moves`: per job, in the first round. `patience`: number of such rounds. `stop`: asked
        before each move. `on_better`: as in `run`.
        """
        total, left = moves * len(self._jobs), patience
        while left and not stop():
            if self.value <= self.least:
                return "every job ends as soon as it can alone"
            value = self.value
            self.run(total, stop=stop, on_better=on_better)
            left = patience if self.value < value else left - 1
            total *= 2
        return "time is up" if stop() else f"{patience} rounds in a row found nothing better"

    def run(
        self,
        moves: int,
        *,
        stop: Callable[[], bool] = lambda: False,
        on_better: Callable[["OrderAnnealing"], None] = lambda search: None,
    ) -> None:
        """Make a number of moves, fewer only if stopped.

        A move that increases the objective by `loss` is accepted with probability
        exp(-loss / temperature); the temperature falls linearly to 0.

        `moves`: number of moves. `stop`: asked before each move. `on_better`: called for every
        complete schedule that is better than all before.
        """
        if not self._jobs:
            return
        temperature = TEMPERATURE * max(1.0, self.value / len(self._jobs))
        for step in range(moves):
            if stop():
                return
            # Accepting with probability exp(-loss / t) is accepting if loss <= -t log(1 - U).
            allowed = -temperature * (1 - step / moves) * math.log(1 - self._random.random())
            self._move(allowed)
            total = self._total()
            if total < self.value:
                self.value, self.best = total, dict(self._partial.runs)
                if self.complete:
                    on_better(self)

    def _total(self) -> int:
        return sum(sum(own.ends) for own in self._types.values()) - self._arrivals

    def _move(self, allowed: float) -> None:
        """Try one move of a random job; keep it if it adds at most `allowed` to the objective."""
        job = self._jobs[int(self._random.integers(len(self._jobs)))]
        u = int(self._view.worker_type[job])
        own = self._types[u]
        position = own.order.index(job)
        order, colocated, first = own.order, own.colocated, position
        if self._random.random() < FLIP_SHARE:
            colocated = colocated ^ {job}
        else:
            shift = int(self._random.integers(1, MAX_SHIFT + 1))
            to = position + (shift if self._random.random() < 0.5 else -shift)
            if not 0 <= to < len(order):
                return
            order = [*order[:position], *order[position + 1 :]]
            order.insert(to, job)
            first = min(position, to)
        profile = self._partial.profiles[u]
        old = [self._partial.remove(j) for j in own.order[first:] if j in self._partial.runs]
        self._partial.profiles[u] = own.before[first]
        limit = sum(own.ends[first:]) + allowed
        before, ends, accepted = self._place(u, order[first:], colocated, limit)
        if accepted:
            own.order, own.colocated = order, colocated
            own.before[first:], own.ends[first:] = before, ends
            return
        for j in order[first:]:
            if j in self._partial.runs:
                self._partial.remove(j)
        self._partial.profiles[u] = profile
        for run in old:
            self._partial.restore(run)

    def _place(
        self, u: int, jobs: Sequence[int], colocated: set[int], limit: float
    ) -> tuple[list[FreeWorkerProfile], list[int], bool]:
        """Place jobs in order; return profiles before and ends, and whether these sum to <= limit.

        Stops as soon as the ends so far and the earliest ends of the others exceed the limit.
        """
        before: list[FreeWorkerProfile] = []
        ends: list[int] = []
        total = sum(self._earliest_end[job] for job in jobs)
        for job in jobs:
            before.append(self._partial.profiles[u])
            run = earliest_run(self._partial, job, colocated=job in colocated)
            if run is not None:
                self._partial.place(run)
            ends.append(self._late if run is None else run.end)
            total += ends[-1] - self._earliest_end[job]
            if total > limit:
                return before, ends, False
        return before, ends, True


def list_search(
    instance: EdgeInstance,
    call: RunContext,
    *,
    order: Annotated[
        Literal["arrival", "best"],
        "best: the best of several orders, improved by annealing; arrival: the order of arrival, "
        "without annealing",
    ] = "best",
    moves: Annotated[
        int | None,
        "moves of the annealing per job (default: 30, doubled in each round, until the time limit "
        "or three rounds in a row without improvement)",
        Ge(0),
    ] = None,
) -> MethodResult:
    """Run `list`: the best of several orders improved by annealing, or the order of arrival."""
    if order == "arrival":
        partial = place_all(instance, orders(instance)["arrival"])
        return complete_or_partial(instance, partial.schedule())
    call.progress.phase("lists")
    name, best = best_list(instance)
    search = OrderAnnealing(instance, best, seed=call.seed)
    first = search.value if search.complete else None

    def report(search: OrderAnnealing) -> None:
        call.progress.incumbent(search.schedule(), float(search.value))

    if search.complete:
        report(search)
    call.progress.phase("moving jobs")
    stop = call.clock.expired
    if moves is None:
        ended = search.run_until(stop=stop, on_better=report)
    else:
        total = moves * len(instance.jobs)
        search.run(total, stop=stop, on_better=report)
        ended = "time is up" if stop() else f"{total} moves are made (option moves)"
    trace = {"order": name, "first": first, "ended": ended}
    return complete_or_partial(instance, search.schedule(), trace)
