"""Refutation by worker type: better values of the jobs of each type are refuted on their own.

Worker types share only the PSs. So the bounds of the jobs of each type add up to a bound on all
jobs. Where programs would be too large, branch and price raises the bounds instead. Half the jobs
take a small part of the time. Schedules of the types form a schedule of the whole; where the PSs
do not suffice, some jobs move.

References
----------
The decomposition follows from the structure of (2). That proofs for the worker types make a proof
for the whole is the lemma on worker types in `models.edge.proof`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from schedgap.instances.edge import EdgeInstance, EdgeSchedule, arrays
from schedgap.models.edge.bounds.branch_and_price import branch_types
from schedgap.models.edge.bounds.job_alone import job_bound
from schedgap.models.edge.bounds.kernel import PRICING
from schedgap.models.edge.bounds.worker_types import (
    TypeBound,
    certificate,
    solve_types,
    whole_bound,
)
from schedgap.models.edge.decisions import compiled, sense
from schedgap.models.edge.exact.prove import GoalSearch, TypeProof, of_types
from schedgap.models.edge.heuristics.list_search import anneal_types
from schedgap.models.edge.heuristics.lists import best_list
from schedgap.models.edge.heuristics.partial_schedule import PartialSchedule
from schedgap.models.edge.placements import runs_from_schedule
from schedgap.models.edge.proof import goal as proof_goal
from schedgap.models.method import Budget
from schedgap.models.search_state import ProofProgress, StageProgress, StageResult
from schedgap.solvers.proofs.checker import RefusedError

TYPE_SHARE = 0.3  # fraction of the time for the bound by prices of the worker types
TREE_SHARE = 0.7  # fraction of the time left for branch and price, if other types have goals
LIST_SHARE, LIST_SECONDS = 0.05, 2.0  # limits of the annealing over the lists of one type
LIST_MOVES = 20  # moves of each job in the first round; a round without improvement is the last
LOOP_SHARE = 0.9  # fraction of the time for all goals, because writing a program takes its time
# Limits of one goal at a time; twice as long if the nearest goal takes longer.
GOAL_SHARE, GOAL_SECONDS = 0.1, 2.0
QUICK = 0.3  # a goal refuted within this fraction of its time doubles the step to the next one
MANY_CELLS = 4_000_000  # a program of more entries takes too long to write
STEP = 0.25  # first step above the known bound, as a fraction of the gap of the type


def components(instance: EdgeInstance) -> dict[int, EdgeInstance]:
    """Return the jobs of each worker type that has some as an instance."""
    data, jobs = instance.to_data(), dict[int, list[Any]]()
    for job, kind in zip(data["jobs"], arrays(instance).worker_type.tolist(), strict=True):
        jobs.setdefault(kind, []).append(job)
    return {kind: EdgeInstance.from_data(data | {"jobs": jobs[kind]}) for kind in sorted(jobs)}


def merge_schedules(
    instance: EdgeInstance, schedules: Sequence[EdgeSchedule]
) -> EdgeSchedule | None:
    """Return one schedule of jobs of different worker types, or None if a job does not fit.

    Jobs keep their workers and slots; the PS of a split job may move to another server. Jobs
    without a free PS are placed last, each where it ends earliest.

    `schedules`: feasible ones, of disjoint sets of jobs.
    """
    placements = {job: run for schedule in schedules for job, run in schedule.placements.items()}
    partial = PartialSchedule(instance)
    runs = runs_from_schedule(instance, EdgeSchedule(placements))
    ordered = sorted(runs, key=lambda run: not run.on_one_server)
    without_ps = [run for run in ordered if not partial.place(run)]
    partial.insert(run.job for run in sorted(without_ps, key=lambda run: run.start))
    return partial.schedule() if len(partial.runs) == len(runs) else None


@dataclass(slots=True, eq=False)
class _Component:
    """The jobs of one worker type, with what is known of their minimised value."""

    instance: EdgeInstance
    lower: int
    upper: int  # value of the schedule; without one, more than any schedule has
    schedule: EdgeSchedule | None = None
    proof: TypeProof | None = None  # that there is no value below `lower`
    step: int = 1  # distance of the next bound to be proved from `lower`
    limit: float = GOAL_SECONDS  # time limit of a goal, in seconds
    spent: float = 0.0  # seconds
    note: str = ""  # why no proof can be found
    prices: list[dict[str, Any]] = field(default_factory=list)  # the last ones of the last goal
    searches: dict[int, GoalSearch] = field(default_factory=dict)  # stopped ones, by goal

    @property
    def name(self) -> str:
        return self.instance.jobs[0].worker_type

    @property
    def is_open(self) -> bool:
        return not self.note and (self.proof is None or self.lower < self.upper)

    def incumbent(self, schedule: EdgeSchedule) -> None:
        """Receive a schedule."""
        value = sense(self.instance) * schedule.value(self.instance)
        if value < self.upper:
            self.schedule, self.upper = schedule, value

    @property
    def is_large(self) -> bool:
        """Whether a program with all runs would be too large."""
        view, slack = compiled(self.instance), self.upper - job_bound(compiled(self.instance))
        sizes = [
            min(slack, len(view.starts(task, k))) * mode.duration
            for task in view.tasks
            for k, mode in enumerate(task.modes)
        ]
        return sum(sizes) * len(view.workers) > MANY_CELLS

    def advance(self, most: float, budget: Budget) -> None:
        """Refute a goal, find a schedule of this value, or leave it for later.

        The first goal lies below the known bound, which thus gets a proof. A goal that takes too
        long gives way to a nearer one, and after the nearest one all go on, the largest first.
        `most`: the bound that closes the gap of the whole.
        """
        bound = self.lower if self.proof is None else self.lower + self.step
        goal = int(min(bound, self.upper, max(most, self.lower))) - 1
        clock = budget.clock.share(1.0, most=self.limit)
        try:
            if goal not in self.searches:
                limited = replace(budget, clock=clock)
                self.searches[goal] = GoalSearch(self.instance, goal, limited, self.prices)
            search = self.searches[goal]
            if search.pools and search.pools[-1]["p"]:
                self.prices = search.pools[-1:]
            found = search.run(clock)
        except RefusedError as error:
            self.note = str(error)
            return
        took = clock.elapsed()
        self.spent += took
        if found.proof is not None:
            self.lower, self.proof = goal + 1, TypeProof(search.model, found.proof)
            self.step *= 2 if took <= QUICK * self.limit else 1
        elif isinstance(found.better, EdgeSchedule):
            self.incumbent(found.better)
        elif not clock.expired():
            self.note = found.reason
        elif goal > self.lower and self.proof is not None:
            self.step = (goal + 1 - self.lower) // 2
        else:
            self.limit *= 2
            self.step = max(1, self.upper - self.lower)
        if not found.nodes:  # time was up before its prices were known
            del self.searches[goal]
        least = self.lower if self.proof is not None else self.lower - 1
        for other in [key for key in self.searches if not least <= key < self.upper]:
            del self.searches[other]


def _annealed(part: EdgeInstance, budget: Budget) -> EdgeSchedule | None:
    """Return the best list schedule after annealing, if it places all jobs."""
    _, partial = best_list(part)
    clock = budget.clock.share(LIST_SHARE, most=LIST_SECONDS)
    anneal_types(partial, clock, moves=LIST_MOVES, patience=1, seed=budget.seed)
    return partial.schedule() if partial.complete else None


def type_stage(found: StageProgress, instance: EdgeInstance, *, budget: Budget) -> StageResult:
    """Bound the jobs of each worker type; `value` is the list of these bounds.

    `found`: receives bounds on the whole problem.
    """
    view = compiled(instance)

    def report(bounds: Sequence[TypeBound]) -> None:
        if (bound := whole_bound(view, bounds)) > found.lower:
            found.bound(bound, certificate(instance, bounds))

    price = PRICING.compiled(instance)
    bounds = solve_types(view, budget=budget, price=price, on_better=report)
    trace = {"by_type": {instance.worker_types[bound.worker_type]: bound.bound for bound in bounds}}
    return StageResult(trace=trace, value=bounds)


def tree_stage(
    found: StageProgress,
    instance: EdgeInstance,
    bounds: Sequence[TypeBound],
    uppers: Mapping[int, float],
    *,
    budget: Budget,
) -> StageResult:
    """Raise the bounds of some worker types by branch and price; `value` is the list of bounds.

    `found`: receives bounds on the whole problem. `uppers`: value of a schedule of these types.
    """
    view = compiled(instance)

    def report(bounds: Sequence[TypeBound]) -> None:
        if (bound := whole_bound(view, bounds)) > found.lower:
            found.bound(bound, certificate(instance, bounds))

    price = PRICING.compiled(instance)
    raised = branch_types(view, bounds, uppers, budget=budget, price=price, on_better=report)
    trace = {"by_type": {instance.worker_types[bound.worker_type]: bound.bound for bound in raised}}
    return StageResult(trace=trace, value=raised)


def components_stage(
    progress: ProofProgress[EdgeSchedule],
    instance: EdgeInstance,
    schedule: EdgeSchedule | None,
    *,
    budget: Budget,
) -> StageResult:
    """Refute better and better values of the jobs of each worker type, in turn.

    `progress`: receives schedules, bounds, and proofs. `schedule`: of the whole, if there is one.

    The `value` of the result has the starts of the jobs (by index) in the best schedules of the
    types, which may not fit together.
    """
    sign = sense(instance)
    none = proof_goal(instance, None) + 1  # more than the value of any schedule
    best = none if schedule is None else sign * schedule.value(instance)
    types: list[_Component] = []

    def merge() -> None:
        nonlocal best
        parts = [component.schedule for component in types]
        whole = merge_schedules(instance, [part for part in parts if part is not None])
        if None not in parts and whole is not None and sign * whole.value(instance) < best:
            best = sign * whole.value(instance)
            progress.incumbent(whole)

    bounds: dict[int, TypeBound] = {}
    if not instance.is_batch:
        found = type_stage(progress, instance, budget=budget.share(TYPE_SHARE))
        bounds = {bound.worker_type: bound for bound in found.value}
    for kind, part in components(instance).items():
        lower = job_bound(compiled(part))
        lower = max(lower, math.ceil(min(bounds[kind].bound if kind in bounds else lower, none)))
        component = _Component(part, lower, none)
        if schedule is not None:
            ids = {job.id for job in part.jobs}
            own = {name: run for name, run in schedule.placements.items() if name in ids}
            component.incumbent(EdgeSchedule(own))
        if not instance.is_batch and (annealed := _annealed(part, budget)) is not None:
            component.incumbent(annealed)
        types.append(component)
    merge()
    kinds = dict(zip(components(instance), types, strict=True))
    uppers = {u: component.upper for u, component in kinds.items() if component.is_large}
    for component in types:
        component.note = "the program is too large" if component.is_large else ""
    if bounds and uppers:
        limited = budget.share(TREE_SHARE if len(uppers) < len(types) else LOOP_SHARE)
        trees = tree_stage(progress, instance, list(bounds.values()), uppers, budget=limited)
        for bound in trees.value:
            component = kinds[bound.worker_type]
            component.lower = max(component.lower, math.ceil(min(bound.bound, none)))
    for component in types:
        component.step = max(1, math.ceil(STEP * (component.upper - component.lower)))
    whole, proved, rounds = None, -math.inf, 0
    clock = budget.clock.share(LOOP_SHARE)
    for component in types:
        component.limit = clock.share(GOAL_SHARE, most=GOAL_SECONDS).remaining()
    while not clock.expired():
        bound = sum(component.lower for component in types)
        still_open = [component for component in types if component.is_open]
        if not still_open or (whole is not None and bound >= best):
            break
        component = min(
            still_open, key=lambda component: (component.proof is not None, component.spent)
        )
        component.advance(best - bound + component.lower, replace(budget, clock=clock))
        rounds += 1
        merge()
        proofs = {
            component.name: component.proof for component in types if component.proof is not None
        }
        reached = sum(proof.model.goal + 1 for proof in proofs.values())
        if len(proofs) == len(types) and reached > proved:
            whole, proved = of_types(proofs), reached
            progress.proved_bound(proved, whole)
    index = {job.id: j for j, job in enumerate(instance.jobs)}
    starts = {
        index[component.instance.jobs[run.job].id]: run.start
        for component in types
        if component.schedule is not None
        for run in runs_from_schedule(component.instance, component.schedule)
    }
    return StageResult(
        complete=proved >= best,
        infeasible=proved >= none,
        trace={
            "rounds": rounds,
            "by_type": {
                component.name: [component.lower, component.upper, component.note]
                for component in types
            },
        },
        value=starts,
        proof=whole,
        proved=proved,
    )
