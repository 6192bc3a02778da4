"""The method `exact`, stopped anywhere: whether its bounds can be evaluated again."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest import mock

import schedgap as sg
from schedgap.analysis.results.bounds import Scale
from schedgap.instances.instance import Instance
from schedgap.models.family import Family, family
from schedgap.models.method import Budget, MethodResult, NullProgress, RunContext
from schedgap.models.proofs import check_proof, excluded_value, proof_data
from schedgap.models.search_state import SearchState, StageResult
from schedgap.solvers.children.processes import run_child
from strategies.clocks import StopAt
from strategies.edge_stops import inline

Case = tuple[str, int, int, int]  # family, seed and jobs of preset small, reading of the clock


class Heard:
    """Progress that remembers the bounds: value and certificate."""

    def __init__(self) -> None:
        self.bounds: list[tuple[float, Any]] = []

    def incumbent(self, schedule: Any, objective: float) -> None: ...

    def bound(self, value: float, certificate: Any = None, *, confirmed: bool = True) -> None:
        assert confirmed  # an engine's word is not even reported
        self.bounds.append((value, certificate))

    def phase(self, text: str) -> None: ...


def evidence_of(
    owner: Family, instance: Instance, outcome: MethodResult, heard: Heard, objective: float | None
) -> str:
    """Return what the bound of an outcome rests on; AssertionError if it cannot be evaluated."""
    scale = Scale.of(instance)

    def proves(certificate: Any, bound: float) -> bool:
        return scale.implies(owner.check_certificate(instance, certificate), bound)

    for value, certificate in heard.bounds:
        closes = objective is not None and scale.meets(objective, value)
        assert closes or proves(certificate, value)
    if outcome.infeasible or outcome.bound is None:
        return "nothing"
    bound = scale.on_grid(outcome.bound)
    if objective is not None and scale.meets(objective, bound):
        return "optimum"
    if outcome.proof is None:
        assert proves(outcome.certificate, bound)
        return "certificate"
    goal = excluded_value(instance, bound)
    written = outcome.proof
    data = proof_data(instance, goal, vectors=written.vectors, cuts=written.cuts, tree=written.tree)
    verdict = check_proof(instance, data)
    assert verdict.status == "proved", verdict.reason
    return "tree"


def stopped(engine: str, case: Case, word: float = -math.inf) -> tuple[Counter[str], float]:
    """Run `exact` with the stages of one engine here; count what its bound rests on.

    Before each schedule and each stage comes the bound `word`, for which there is no evidence.
    `left out` counts the better bounds that were not returned. Returns the value of the incumbent,
    too.
    """
    name, seed, jobs, k = case
    owner = family(name)
    instance = sg.generate(name, preset="small", seed=seed, settings={"jobs": jobs})
    method, heard, values = owner.method("exact"), Heard(), [math.inf]
    call = RunContext(method.parse({}), method.choose_engine(None), Budget(StopAt(k)), heard)
    hear, run = SearchState.incumbent, inline(engine)

    def say(found: SearchState) -> None:
        whole = not isinstance(found.call.progress, NullProgress)  # not the jobs of one type
        if whole and found.checkable_only:
            found.bound(word)
        if whole and found.upper is not None:
            values[0] = found.upper

    def incumbent(found: SearchState, schedule: Any, objective: float | None = None) -> None:
        say(found)
        hear(found, schedule, objective)
        say(found)

    def child(found: SearchState, *args: Any, **more: Any) -> StageResult | None:
        say(found)
        return run(found, *args, **more)

    with (
        mock.patch.object(SearchState, "child", child),
        mock.patch.object(SearchState, "incumbent", incumbent),
    ):
        outcome = owner.run(method, instance, call)
    objective = None
    if outcome.schedule is not None:
        objective = owner.objective(instance, outcome.schedule.to_data(instance))
    kind = evidence_of(owner, instance, outcome, heard, objective)
    counts = Counter([kind, *(["left out"] if "reported_bound" in outcome.trace else [])])
    return counts, values[0]


def stops_in_process(
    send: Callable[[Any], None], engine: str, cases: Sequence[Case], claim: bool
) -> Counter[str]:
    """Count what the bounds rest on; with `claim`, with a word of 2 % below the optimum."""
    total: Counter[str] = Counter()
    for name, seed, jobs, k in cases:
        word = -math.inf
        if claim:
            counts, optimum = stopped(engine, (name, seed, jobs, 10**9))
            assert counts["optimum"]
            word = optimum - max(1.0, 0.02 * abs(optimum))
        total += stopped(engine, (name, seed, jobs, k), word)[0]
    return total


def stops_of(engine: str, cases: Sequence[Case], *, claim: bool = False) -> Counter[str]:
    """Run `stops_in_process` in a child; a false claim is raised here."""
    place = "strategies.exact_stops:stops_in_process"
    counts: Counter[str] = run_child(place, engine, cases, claim, engine=engine).result()
    return counts


def readings(first: int, most: int) -> Iterator[int]:
    """Yield `first`, twice as many and so on, up to `most`."""
    k = first
    while k <= most:
        yield k
        k *= 2
