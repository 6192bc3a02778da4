"""Searches of `edge` stopped, or killed, at any reading of the clock; every word they say is heard.

Stages that need HiGHS run in this process, on the clock of the test; those that need CP-SAT are
lost, as if killed before their first word, or run in a process where all others are lost.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from unittest import mock

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge import FAMILY, rules
from schedgap.models.edge.bounds.certificates import check_certificate
from schedgap.models.edge.exact import components, exact
from schedgap.models.edge.heuristics import initial
from schedgap.models.edge.heuristics.lists import orders, place_all
from schedgap.models.edge.methods import METHODS
from schedgap.models.mechanisms import restricted_master
from schedgap.models.method import Budget, MethodResult, NullProgress, RunContext, SentProgress
from schedgap.models.proofs import check_here, excluded_value, proof_data
from schedgap.models.search_state import SearchState, StageResult
from schedgap.solvers import Clock
from schedgap.solvers.loops.column_generation import generate_columns
from schedgap.solvers.proofs.tree import Proof
from strategies.clocks import StopAt
from strategies.edge import brute_force, edge_instances, instance_of

EXACT = {method.name: method for method in METHODS if method.kind == "exact"}


class KilledError(Exception):
    """A stage is killed, as a process is: nothing of it is heard any more."""


class KillAt(StopAt):
    """A clock that stops like `StopAt`, and at whose k-th reading the stage that reads it dies."""

    def elapsed(self) -> float:
        """Die at the k-th reading, in a stage."""
        if self.left[0] == 1 and _in_stage[-1]:
            self.left[0] = 0
            raise KilledError
        return super().elapsed()

    def share(self, fraction: float, *, most: float = math.inf) -> "KillAt":
        """Return a clock with the same readings."""
        limit = min(self.remaining() * fraction, most)
        return KillAt(0, self.left, limit)


_in_stage = [False]


@lru_cache(maxsize=256)
def _optimum(instance: EdgeInstance) -> float:
    return brute_force(instance)


def inline(engine_here: str, lost: str = "") -> Callable[..., StageResult | None]:
    """Return a `SearchState.child` that runs the stages of one engine here and no others.

    A stage of the name `lost` is killed before its first word: the stages after it have to prove.
    """

    def child(
        found: SearchState,
        name: str,
        stage: Callable[..., StageResult],
        *args: Any,
        budget: Budget | None = None,
        engine: str | None = None,
        **kwargs: Any,
    ) -> StageResult | None:
        if engine != engine_here or name == lost:
            return None
        line = SentProgress(found._receive, Clock(), found.lower)
        _in_stage.append(True)
        try:
            report: StageResult = stage(
                line, *args, budget=found.call.budget if budget is None else budget, **kwargs
            )
        except KilledError:
            return None
        finally:
            _in_stage.pop()
        return found.take(name, report)

    return child


@dataclass
class Witness:
    """Progress that holds every word against the optimum by enumeration."""

    instance: EdgeInstance
    optimum: float
    best: float | None = None
    certified_bound: int = 0
    checked: set[int] = field(default_factory=set)

    @property
    def sign(self) -> int:
        """1 for a minimum, -1 for a maximum."""
        return -1 if self.instance.is_batch else 1

    def incumbent(self, schedule: Any, objective: float) -> None:
        """Every schedule keeps the rules and costs what is said."""
        data = schedule.to_data(self.instance)
        assert list(rules.check(self.instance, data, {})) == []
        assert rules.objective(self.instance, data) == objective
        assert self.sign * objective >= self.sign * self.optimum

    def bound(
        self, value: float, certificate: Mapping[str, Any] | None = None, **more: object
    ) -> None:
        """Every bound holds, and its certificate proves just that."""
        assert self.sign * value <= self.sign * self.optimum, (value, self.optimum)
        self.best = value
        if certificate is not None:
            self.certified_bound += 1
            assert check_certificate(self.instance, certificate) == value, certificate["kind"]

    def phase(self, text: str) -> None:
        """Nothing is claimed."""

    def outcome(self, outcome: MethodResult) -> None:
        """What is returned claims no more than is true."""
        if outcome.infeasible:
            assert self.optimum == math.inf
            return
        if outcome.bound is not None:
            assert self.sign * outcome.bound <= self.sign * self.optimum
            certified = outcome.bound
            if outcome.certificate is not None:
                certified = check_certificate(self.instance, outcome.certificate)
            if outcome.proof is None:
                assert certified == outcome.bound
            else:  # the certificate may prove a weaker bound
                assert self.sign * certified <= self.sign * outcome.bound
                assert_proof(self.instance, outcome.bound, outcome.proof)
        if outcome.schedule is not None:
            self.incumbent(outcome.schedule, float(outcome.schedule.value(self.instance)))


def assert_proof(instance: EdgeInstance, bound: float, found: Proof) -> None:
    """Assert that the checker accepts a proof, and that it shows a bound."""
    goal = excluded_value(instance, bound)
    assert goal is not None and (found.goal is None or found.goal >= goal)
    parts = {"vectors": found.vectors, "cuts": found.cuts, "tree": found.tree}
    verdict = check_here(instance, proof_data(instance, goal, **parts))
    assert verdict.status == "proved", verdict.reason


@contextmanager
def starts(kind: str) -> Iterator[None]:
    """Change what is known before a search.

    `usual`; `none`: no schedule at all; `poor`: one list, in a bad order; `blind`: no schedule, and
    prices after one round of column generation.
    """

    def nothing(*args: Any, **kwargs: Any) -> None: ...

    def poor(found: SearchState, instance: EdgeInstance) -> None:
        partial = place_all(instance, orders(instance)["arrival"][::-1])
        if len(partial.runs) == len(instance.jobs):
            found.incumbent(partial.schedule())

    if kind == "usual":
        yield
        return
    with (
        mock.patch.object(initial, "_offer_lists", poor if kind == "poor" else nothing),
        mock.patch.object(exact, "search_lists", nothing),
        mock.patch.object(components, "_annealed", nothing),
        one_round() if kind == "blind" else nullcontext(),
    ):
        yield


@contextmanager
def one_round() -> Iterator[None]:
    """Prices do not converge."""

    def one(*args: object, **settings: object) -> object:
        return generate_columns(*args, **{**settings, "rounds": 1})

    with mock.patch.object(restricted_master, "generate_columns", one):
        yield


def stopped(
    instance: EdgeInstance,
    method: str,
    clock: StopAt,
    engine: str = "highs",
    kind: str = "usual",
    lost: str = "",
) -> tuple[MethodResult, Witness]:
    """Run an exact method with the stages of one engine here, and hold it to the truth.

    `lost`: as for `inline`.
    """
    witness = Witness(instance, _optimum(instance))
    chosen = EXACT[method]
    name = None if chosen.runs_children else engine
    call = RunContext(chosen.parse({}), name, Budget(clock), witness)
    with mock.patch.object(SearchState, "child", inline(engine, lost)), starts(kind):
        outcome = FAMILY.run(chosen, instance, call)
    witness.outcome(outcome)
    return outcome, witness


def sweep(
    instance: EdgeInstance,
    method: str,
    engine: str = "highs",
    kind: str = "usual",
    *,
    first: int = 60,
    more: int = 0,
    killed: bool = False,
) -> tuple[int, MethodResult]:
    """Stop at every reading, up to so many, then spread; return the stops and the last outcome."""
    clock = StopAt(10**9)
    last, _ = stopped(instance, method, clock, engine, kind)
    length = 10**9 - clock.readings_left
    stops = list(range(1, min(first, length) + 1))
    if more and length > first:
        stops += sorted({first + (length - first) * i // more for i in range(1, more + 1)})
    for k in stops:
        stopped(instance, method, (KillAt if killed else StopAt)(k), engine, kind)
    return len(stops), last


def drawn(strategy: st.SearchStrategy[EdgeInstance], count: int) -> list[EdgeInstance]:
    """Return the same draws each time."""
    instances: list[EdgeInstance] = []

    @settings(
        max_examples=count, database=None, derandomize=True, deadline=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(strategy)
    def draw(instance: EdgeInstance) -> None:
        instances.append(instance)

    draw()
    return instances


def hard(count: int, **settings: Any) -> list[EdgeInstance]:
    """Return draws whose lists do not meet the bound of each job alone, all different."""
    found = []
    for instance in drawn(edge_instances(placeable=True, **settings), 12 * count):
        call = RunContext({}, None, Budget(StopAt(10**9)), NullProgress())
        begun = initial.initial_state(instance, call)
        if not begun.closed and instance not in found:
            found.append(instance)
    return found[:count]


# Three jobs of three workers each on servers of four and three: the relaxation lets them share.
GAPS = instance_of(
    [{"chunks": 3, "epochs": 2, "transfer_delay": {"s": 0, "r": 1}} for _ in range(3)],
    servers=[
        {"id": "s", "kind": "edge", "workers": {"gpu": 4}, "parameter_servers": {"cpu": 2}},
        {"id": "r", "kind": "edge", "workers": {"gpu": 3}, "parameter_servers": {"cpu": 1}},
    ],
    horizon=9,
)
# Two worker types that meet in one PS: the optima of the parts do not fit together.
MEET = instance_of(
    [
        {"worker_type": kind, "chunks": 2, "epochs": epochs, "transfer_delay": {"s": 0, "r": 2}}
        for kind, epochs in (("a", 2), ("b", 1), ("a", 1), ("b", 2))
    ],
    servers=[
        {"id": "s", "kind": "edge", "workers": {"a": 2, "b": 3}, "parameter_servers": {"cpu": 1}},
        {"id": "r", "kind": "cloud", "workers": {"a": 1, "b": 1}, "parameter_servers": {"cpu": 1}},
    ],
    worker_types=["a", "b"],
    horizon=12,
)


def sweeps(
    send: Any, instances: list[EdgeInstance], method: str, kind: str, first: int, more: int
) -> int:
    """Sweep over instances with CP-SAT's stages in this process, a child; return the stops."""
    return sum(
        sweep(each, method, "cp-sat", kind, first=first, more=more, killed=killed)[0]
        for each in instances
        for killed in (False, True)
    )
