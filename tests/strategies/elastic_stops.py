"""Searches of `elastic` that are stopped at any reading of the clock, and what may be said then."""

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from schedgap.analysis.results.bounds import Scale
from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic import FAMILY, rules
from schedgap.models.elastic.bounds.certificates import check_certificate
from schedgap.models.elastic.exact import exact, prove
from schedgap.models.elastic.heuristics import initial, list_schedules
from schedgap.models.elastic.heuristics.list_schedules import Stop, wspt_order
from schedgap.models.elastic.methods import METHODS
from schedgap.models.elastic.modes import modes
from schedgap.models.elastic.programs.columns import schedule_of
from schedgap.models.elastic.programs.weights import value_step
from schedgap.models.elastic.time_windows import no_schedule
from schedgap.models.method import Budget, MethodResult, RunContext, SentProgress
from schedgap.models.proofs import check_here, excluded_value, proof_data
from schedgap.models.search_state import SearchState, StageResult
from schedgap.solvers import Clock
from schedgap.solvers.proofs import cliques
from strategies.clocks import StopAt
from strategies.elastic import brute_force, instance_of
from strategies.elastic_examples import J1, J2

VALUE_TOLERANCE = 1e-9  # relative
EXACT = {method.name: method for method in METHODS if method.kind == "exact"}


@dataclass
class Heard:
    """Progress that keeps every value and bound, with its certificate."""

    values: list[float] = field(default_factory=list)
    bounds: list[tuple[float, Any]] = field(default_factory=list)

    def incumbent(self, schedule: Any, objective: float) -> None:
        """Keep a value."""
        self.values.append(objective)

    def bound(self, value: float, certificate: Any = None, **more: object) -> None:
        """Keep a bound."""
        self.bounds.append((value, certificate))

    def phase(self, text: str) -> None:
        """Keep nothing."""


def in_this_process(
    self: SearchState,
    name: str,
    stage: Callable[..., StageResult],
    *args: Any,
    budget: Budget | None = None,
    engine: str | None = None,
    **kwargs: Any,
) -> StageResult | None:
    """Run a stage of HiGHS here, for `SearchState.child`; one of CP-SAT ends with nothing."""
    if engine == "cp-sat":
        return None
    report: StageResult = stage(
        SentProgress(self._receive, Clock(), self.lower),
        *args,
        budget=self.call.budget if budget is None else budget,
        **kwargs,
    )
    return self.take(name, report)


def one_by_one(instance: ElasticInstance, stop: Stop = lambda: False) -> Iterator[ElasticSchedule]:
    """Yield the worst schedule that is offered anywhere, or nothing where the time ends."""
    order = [j for j in wspt_order(instance)[::-1] if modes(instance, j)]
    if instance.last_end is None and no_schedule(instance) is None:
        runs = list_schedules.one_by_one(instance, order)
        assert runs is not None
        yield schedule_of(instance, runs)
    elif instance.is_batch:
        yield schedule_of(instance, [])


SWITCHES: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "bad start": lambda patch: patch.setattr(initial, "starting_schedules", one_by_one),
    "no lists": lambda patch: patch.setattr(exact, "lists_by_prices", lambda *args: None),
    "no cuts": lambda patch: patch.setattr(cliques, "MAX_CLIQUES", 0),
    "few runs": lambda patch: (
        patch.setattr(prove, "FEW_RUNS", 6),
        patch.setattr(prove, "MANY_RUNS", 9),
    )[0],
    "no refutation": lambda patch: patch.setattr(exact, "refute_values", lambda *args: None),
}
WAYS: tuple[tuple[str, ...], ...] = (
    (),
    ("bad start", "no lists", "few runs"),
    ("bad start", "no lists", "no cuts"),
    ("bad start", "no lists", "no cuts", "few runs"),
    ("bad start", "no lists", "no refutation"),
    ("bad start", "no refutation"),
    ("bad start",),
)


@contextmanager
def switched(way: tuple[str, ...]) -> Iterator[None]:
    """Stages in this process, with some heuristics off."""
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setattr(SearchState, "child", in_this_process)
        for name in way:
            SWITCHES[name](patch)
        yield


def judge(instance: ElasticInstance, optimum: float, outcome: MethodResult, heard: Heard) -> None:
    """Nothing that was said, then or in the end, is false."""
    sign = -1 if instance.is_batch else 1
    near = VALUE_TOLERANCE * max(1e-300, abs(optimum) if math.isfinite(optimum) else 0.0)
    bounds = [*heard.bounds]
    if outcome.bound is not None:
        bounds.append((outcome.bound, None if outcome.proof else outcome.certificate))
    if outcome.bound is not None and outcome.proof is not None:
        needed, proof = excluded_value(instance, outcome.bound), outcome.proof
        assert needed is not None
        goal = needed if proof.goal is None else proof.goal
        data = proof_data(instance, goal, vectors=proof.vectors, cuts=proof.cuts, tree=proof.tree)
        scaled = "weights" in outcome.trace  # the proof is about the scaled weights
        assert goal >= needed and (scaled or check_here(instance, data).status == "proved")
    for value, certificate in bounds:
        assert sign * value <= sign * optimum + near
        if certificate is not None:
            scale = Scale("max" if instance.is_batch else "min", value_step(instance))
            proved = scale.on_grid(check_certificate(instance, certificate))
            assert proved == pytest.approx(value, rel=1e-6, abs=0)
    for value in heard.values:
        assert sign * value >= sign * optimum - near
    if outcome.infeasible:
        assert optimum == math.inf
    closed = "proof" in outcome.trace
    if outcome.schedule is not None:
        data = outcome.schedule.to_data(instance)
        assert list(rules.check(instance, data, {})) == []
        value = rules.objective(instance, data)
        assert sign * value >= sign * optimum - near
        assert outcome.bound is None or sign * outcome.bound <= sign * value + near
        if closed:
            assert value == pytest.approx(optimum, rel=1e-6, abs=0)
    if closed:
        assert outcome.bound == pytest.approx(optimum, rel=1e-6, abs=0)


def stopped(
    name: str, instance: ElasticInstance, optimum: float, k: int, engine: str | None = None
) -> bool:
    """Run an exact method that is stopped at the k-th reading; True when it ended before."""
    method, clock, heard = EXACT[name], StopAt(k), Heard()
    call = RunContext(method.parse({}), method.choose_engine(engine), Budget(clock), heard)
    judge(instance, optimum, FAMILY.run(method, instance, call), heard)
    return clock.readings_left > 0


def stops(first: int, spread: int) -> Iterator[int]:
    """Yield 1, 2, ... and then ever larger numbers, about `spread` of them for each factor 10."""
    k = 1
    while True:
        yield k
        k = k + 1 if k < first else max(k + 1, math.ceil(k * 10 ** (1 / spread)))


# --- instances whose bounds do not meet their first schedules ---

RING_TYPES = [
    {"id": "w1", "demand": {"gpu": 2, "bandwidth": 1}},
    {"id": "w2", "demand": {"gpu": 1, "bandwidth": 1}},
]
THREE = [{"id": "s1", "capacity": {"gpu": 3, "cpu": 8, "bandwidth": 9}}]
TWO = [{"id": s, "capacity": {"gpu": 2, "cpu": 4, "bandwidth": 5}} for s in ("s1", "s2")]


def _ring(times: list[tuple[float, float]], weights: list[float], **more: Any) -> ElasticInstance:
    jobs = [
        {"train_time": {"w1": a, "w2": b}, "update_time": 0.1, "weight": w, "chunks": 2,
         "gradient_size": 0.5}
        for (a, b), w in zip(times, weights, strict=True)
    ]  # fmt: skip
    fields: dict[str, Any] = {
        "architecture": "ring_allreduce", "servers": THREE, "worker_types": RING_TYPES
    }  # fmt: skip
    return instance_of(jobs, **(fields | more))


NEARLY = [1.0, 1 + 1e-7, 1 + 3e-9, 2 - 1e-8]
STOPPED: dict[str, ElasticInstance] = {
    "ring": _ring([(1, 2), (1.5, 2.5), (1, 1.5), (2, 3)], [3, 2, 2, 1]),
    "ring on two servers": _ring([(1, 2), (1.5, 2.5), (2, 1.5)], [3, 2, 2], servers=TWO),
    "nearly equal": _ring([(1, 2), (1, 2), (1, 2), (1, 2)], NEARLY),
    "thirds": _ring([(1 / 3, 2 / 3), (1, 4 / 3), (5 / 3, 2)], [1 / 3, 2 / 3, 1 / 7]),
    "tiny": _ring([(1, 2), (1.5, 2.5), (1, 1.5)], [3e-9, 2e-9, 2e-9]),
    "wide": _ring([(1, 2), (1.5, 2.5), (1, 1.5)], [1e9, 2e-9, 1.0]),
    "huge amounts": _ring([(1, 2), (1.5, 2.5), (1, 1.5), (2, 3)], [3, 2, 2, 1],
                          servers=[{"id": "s1", "capacity": {"gpu": 6e11, "bandwidth": 9.0}}],
                          worker_types=[
                              {"id": "w1", "demand": {"gpu": 4e11, "bandwidth": 1}},
                              {"id": "w2", "demand": {"gpu": 2e11, "bandwidth": 1}},
                              {"id": "w3", "demand": {"gpu": 0.01, "bandwidth": 1}}]),
    "parameter servers": instance_of([J1, J2, {**J2, "weight": 4}, {**J1, "weight": 2}]),
    "batch": _ring([(1, 2), (1.5, 2.5), (1, 1.5), (2, 3)], [3, 2, 2, 4],
                   objective="scheduled_weight", deadline=6),
    "closed": _ring([(1, 2), (1, 2), (1, 2)], [1, 2, 3], horizon=6, horizon_policy="closed"),
    "empty": _ring([(2, 4), (2, 4), (2, 4)], [1, 2, 3], horizon=5, horizon_policy="closed"),
}  # fmt: skip


def optimum_of(name: str) -> float:
    """Return the optimum by enumeration."""
    return brute_force(STOPPED[name])
