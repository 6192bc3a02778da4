"""Methods of family `ring` stopped at each reading of the clock, and checked against optima."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from schedgap.instances.ring import RingInstance
from schedgap.models.method import Budget, Method, MethodResult, RunContext
from schedgap.models.ring import FAMILY, rules
from schedgap.models.ring.algorithms.packing import pack
from schedgap.models.ring.bounds.certificates import check_certificate
from schedgap.models.ring.dispatch import Trial, dispatch
from schedgap.models.ring.exact.interval_stages import destructive_bound_stage
from schedgap.models.ring.heuristics import initial
from schedgap.models.ring.heuristics.initial import initial_state, settled_result
from schedgap.models.ring.methods import METHODS as ALL
from schedgap.models.ring.rates import RateTable
from schedgap.solvers.children.processes import run_child
from strategies.clocks import LONG, StopAt


def _climb(instance: RingInstance, call: RunContext) -> MethodResult:
    """Run the destructive bound from the initial state, in this process."""
    found = initial_state(instance, call)
    if end := settled_result(instance, found):
        return end
    lower = int(found.lower)
    report = destructive_bound_stage(
        found, instance, found.schedule, lower, "free", budget=call.budget
    )
    found.take("stage", report)
    assert found.closed or not report.complete
    return settled_result(instance, found) or found.outcome()


METHODS: dict[str, Method] = {method.name: method for method in ALL}
METHODS["climb"] = Method("climb", "exact", _climb, "", "", engines=("cp-sat",))
STARTS = ("usual", "bad", "none")
MANY = 10**7  # readings: no stop at all
FEW = 60  # the same of a search whose engine never has enough time

Lists = Callable[[RateTable, int, Callable[[Trial], None], Callable[[], bool]], None]


class Witness:
    """Progress that checks all reports against the optimum, None if there is no schedule."""

    def __init__(self, instance: RingInstance, best: int | None) -> None:
        self.instance, self.best = instance, best
        self.bounds: list[float] = []

    def incumbent(self, schedule: Any, objective: float) -> None:
        """Check a schedule by the rules."""
        data = schedule.to_data(self.instance)
        assert list(rules.check(self.instance, data, {})) == []
        assert self.best is not None
        assert rules.objective(self.instance, data) == objective >= self.best

    def bound(
        self, value: float, certificate: Mapping[str, Any] | None = None, **more: object
    ) -> None:
        """Check a bound against the optimum, and against its certificate."""
        assert self.best is None or value <= self.best, (value, self.best)
        assert certificate is None or check_certificate(self.instance, certificate) == value
        self.bounds.append(value)

    def phase(self, text: str) -> None:
        """Ignore the phase."""

    def judge(self, outcome: MethodResult) -> None:
        """Check the returned result."""
        if outcome.infeasible:
            assert self.best is None
            if outcome.certificate is not None:
                proved = check_certificate(self.instance, outcome.certificate)
                assert proved > self.instance.horizon
            return
        if outcome.schedule is not None:
            self.incumbent(outcome.schedule, outcome.schedule.makespan)
        if outcome.bound is not None:
            self.bound(outcome.bound, outcome.certificate)
        assert outcome.bound is not None or outcome.certificate is None


def _one_by_one(
    table: RateTable, seed: int, offer: Callable[[Trial], None], stop: Callable[[], bool]
) -> None:
    """Offer a bad schedule: each job waits until all GPUs are idle, in list order."""
    jobs = range(len(table.size))

    def choose(job: int, cluster: Any) -> Any:
        return pack(job, cluster) if cluster.idle.all() else None

    offer(dispatch(table, jobs, choose))


def _nothing(
    table: RateTable, seed: int, offer: Callable[[Trial], None], stop: Callable[[], bool]
) -> None:
    """Offer no schedule."""


@contextmanager
def starting_with(start: str) -> Iterator[None]:
    """Start searches from the usual list schedules, from a bad one, or from none."""
    usual: Lists = initial.run_list_algorithms
    initial.run_list_algorithms = {"usual": usual, "bad": _one_by_one, "none": _nothing}[start]
    try:
        yield
    finally:
        initial.run_list_algorithms = usual


def attempt(
    name: str,
    instance: RingInstance,
    best: int | None,
    k: int,
    *,
    seconds: float = LONG,
    **options: Any,
) -> tuple[MethodResult, int]:
    """Run a method whose time is up at the k-th reading; return result and number of readings."""
    method, witness = METHODS[name], Witness(instance, best)
    clock = StopAt(k, limit=seconds)
    call = RunContext(method.parse(options), method.choose_engine(None), Budget(clock), witness)
    outcome = FAMILY.run(method, instance, call)
    witness.judge(outcome)
    return outcome, k - clock.readings_left


def every_stop(
    name: str,
    instance: RingInstance,
    best: int | None,
    *,
    first: int = 60,
    spread: int = 10,
    start: str = "usual",
    seconds: float = LONG,
    **options: Any,
) -> int:
    """Stop a method at its first readings and at some later ones; return the number of stops.

    Without a stop it must end with the optimum if it is exact.
    """
    with starting_with(start):
        most = MANY if seconds == LONG else FEW
        whole, readings = attempt(name, instance, best, most, seconds=seconds, **options)
        if METHODS[name].kind == "exact" and seconds == LONG:
            assert whole.infeasible == (best is None)
            assert best is None or whole.bound == whole.schedule.makespan == best
        later = range(first, readings, max(1, (readings - first) // spread)) if spread else ()
        stops = [*range(min(first, readings)), *later]
        for k in stops:
            attempt(name, instance, best, k, seconds=seconds, **options)
    return len(stops)


Task = tuple[str, RingInstance, int | None, dict[str, Any]]


def together(send: Callable[[Any], None], tasks: Sequence[Task]) -> int:
    """Do `every_stop` for each task in this process; return the number of stops."""
    return sum(every_stop(name, *data, **more) for name, *data, more in tasks)


def apart(tasks: Sequence[Task]) -> int:
    """Do the same in a process for CP-SAT."""
    stops: int = run_child("strategies.ring_stops:together", tasks, engine="cp-sat").result()
    return stops
