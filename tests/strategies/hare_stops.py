"""Searches of family `hare` that are stopped anywhere, and what they claim then."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from schedgap.analysis.results.bounds import Scale
from schedgap.instances.hare import HareInstance, HareSchedule
from schedgap.instances.hare.scale import grid
from schedgap.models.hare import FAMILY, rules
from schedgap.models.hare.baselines.gavel_fifo import gavel_fifo
from schedgap.models.hare.baselines.srtf import srtf
from schedgap.models.hare.bounds.certificates import check_certificate
from schedgap.models.hare.exact.branch_and_price import BranchAndPrice
from schedgap.models.hare.heuristics.initial import starting_schedule
from schedgap.models.hare.integer_time import steps
from schedgap.models.hare.methods import METHODS
from schedgap.models.method import Budget, Method, MethodResult, RunContext
from schedgap.models.search_state import SearchState, StageResult
from schedgap.solvers.children.processes import run_child
from strategies.clocks import StopAt
from strategies.hare import instance_of

MEETS = 1e-6  # relative

STARTS: Mapping[str, Callable[[HareInstance], HareSchedule]] = {
    "usual": starting_schedule,
    "fifo": gavel_fifo,
    "srtf": srtf,
}

# Optimum 4799. A restricted program is integral here long before its columns are complete.
INTEGRAL_TOO_EARLY = instance_of(
    {"fast-1": "fast", "slow-1": "slow"},
    [
        {
            "weight": weight,
            "rounds": rounds,
            "tasks_per_round": tasks,
            "training_time": {"fast": fast, "slow": slow},
            "synchronization_time": {"fast": sync, "slow": sync},
        }
        for weight, rounds, tasks, fast, slow, sync in [
            (273, 1, 2, 5, 9, 2),
            (3, 1, 1, 3, 3, 2),
            (197, 2, 1, 2, 4, 0),
            (210, 1, 1, 2, 2, 0),
        ]
    ],
)


class Judge:
    """Progress that holds each schedule and bound, when it comes, against the optimum."""

    def __init__(self, instance: HareInstance, optimum: float, **options: Any) -> None:
        self.instance, self.optimum, self.options = instance, optimum, options
        self.slack = MEETS * max(1.0, optimum)
        self.heard = 0

    def incumbent(self, schedule: HareSchedule, objective: float) -> None:
        """Refuse one that breaks a rule, or whose value is below the optimum."""
        self.heard += 1
        data = schedule.to_data(self.instance)
        assert not list(rules.check(self.instance, data, self.options))
        assert rules.objective(self.instance, data) >= self.optimum - self.slack
        assert objective >= self.optimum - self.slack

    def bound(
        self, value: float, certificate: Mapping[str, Any] | None = None, **more: object
    ) -> None:
        """Refuse one above the optimum, or that its certificate does not give."""
        self.heard += 1
        assert value <= self.optimum + self.slack, f"{value} > {self.optimum}"
        if certificate is not None:
            proved = check_certificate(self.instance, certificate)
            assert proved <= self.optimum + self.slack
            reached = Scale("min", grid(self.instance)).on_grid(proved)
            assert abs(reached - value) <= MEETS * max(1.0, abs(value)), certificate["kind"]

    def phase(self, text: str) -> None:
        """Hear it."""

    def outcome(self, outcome: MethodResult) -> None:
        """Refuse an end that claims too much."""
        assert outcome.infeasible == (self.optimum == float("inf"))
        if outcome.schedule is not None:
            self.incumbent(outcome.schedule, self.optimum)
        if outcome.bound is None:
            return
        if outcome.proof is None:
            self.bound(outcome.bound, outcome.certificate)
        else:  # the proof shows the bound; the certificate may be of a weaker one
            self.bound(outcome.bound)
            if outcome.certificate is not None:
                weaker = check_certificate(self.instance, outcome.certificate)
                assert weaker <= outcome.bound + self.slack

    def call(self, clock: Any, options: Mapping[str, Any] | None = None) -> RunContext:
        """Return a call of a method that this judge hears."""
        return RunContext(options or {}, "highs", Budget(clock), self)


def whole_bracket(instance: HareInstance, call: RunContext) -> SearchState:
    """Return an empty bracket in grid steps."""
    whole = steps(instance)

    def measure(schedule: HareSchedule) -> int:
        return round(schedule.value(instance) / float(whole.grid))

    return SearchState(
        call, measure, to_objective=whole.to_objective, round_bound=round, tolerance=0
    )


def tree_at(instance: HareInstance, optimum: float, start: HareSchedule, k: int) -> bool:
    """Run branch and price up to the k-th reading of the clock; True when it ended by itself."""
    judge = Judge(instance, optimum)
    clock = StopAt(k)
    found = whole_bracket(instance, judge.call(clock))
    found.incumbent(start)
    tree = BranchAndPrice(
        instance,
        start,
        budget=Budget(clock),
        on_incumbent=found.incumbent,
        on_bound=found.bound,
    )
    result = tree.run()
    real = steps(instance).to_objective
    complete = result.lower >= result.upper
    assert real(result.lower) <= optimum + judge.slack
    assert real(result.upper) >= optimum - judge.slack
    assert complete == (not result.stopped)
    found.take("branch-and-price", StageResult(complete=complete))
    judge.outcome(found.outcome())
    if complete:
        assert abs(real(result.upper) - optimum) <= judge.slack
    return complete


def readings(most: int, first: int = 60) -> Iterator[int]:
    """All of the first readings of a clock, then ever fewer: about `most` for each factor of e."""
    k = 0
    while True:
        k += 1 if k < first else max(1, k // most)
        yield k


def method_at(
    instance: HareInstance, optimum: float, method: Method, k: int, **settings: Any
) -> StopAt:
    """Run a method up to the k-th reading of the clock, and judge all that it says."""
    options = method.parse(settings)
    judge = Judge(instance, optimum, **options)
    clock = StopAt(k)
    call = RunContext(options, next(iter(method.engines), None), Budget(clock), judge)
    judge.outcome(FAMILY.run(method, instance, call))
    return clock


def stops_in_process(
    send: Callable[[Any], None],
    cases: Sequence[tuple[str, HareInstance, float, int, dict[str, Any]]],
) -> int:
    """Run methods up to readings of the clock: (name, instance, optimum, k, settings) each."""
    for name, instance, optimum, k, settings in cases:
        [method] = [method for method in METHODS if method.name == name]
        method_at(instance, optimum, method, k, **settings)
    return len(cases)


def stops_of(
    engine: str, cases: Sequence[tuple[str, HareInstance, float, int, dict[str, Any]]]
) -> int:
    """Run `stops_in_process` in a child; a false claim is raised here."""
    reply = run_child("strategies.hare_stops:stops_in_process", cases, engine=engine)
    tried: int = reply.result()
    return tried
