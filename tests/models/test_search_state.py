"""Search states: what is kept, what is reported, and what the end of a stage proves."""

from typing import Any

import pytest

from schedgap.errors import ContradictionError, ScaleError
from schedgap.models.method import Budget, RunContext, SentProgress
from schedgap.models.search_state import Relay, SearchState, StageResult
from schedgap.solvers import Clock
from schedgap.solvers.programs.arrays import LinearProgram
from schedgap.solvers.proofs.tree import Proof
from strategies.stages import both, endless, failing


class Ear:
    """Progress that remembers."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, float]] = []

    def incumbent(self, schedule: Any, objective: float) -> None:
        self.heard.append(("incumbent", objective))

    def bound(self, value: float, certificate: object = None, **more: object) -> None:
        self.heard.append(("bound", value))

    def phase(self, text: str) -> None: ...


def bracket(ear: Ear | None = None, limit: float | None = None, **settings: Any) -> SearchState:
    """Return a bracket whose schedules are their own values."""
    call = RunContext({}, "highs", Budget(Clock(limit), 7), ear or Ear())
    return SearchState(call, lambda schedule: schedule, **settings)


def test_only_what_is_better_is_passed_on() -> None:
    ear = Ear()
    found = bracket(ear, to_objective=lambda value: -value)
    for value in (5.0, 5.0, 5.0 - 1e-12, 4.0, 6.0):
        found.incumbent(value)
    for lower in (-float("inf"), 1.0, 0.5, 3.0):
        found.bound(lower)
    assert ear.heard == [("incumbent", -5), ("incumbent", -4), ("bound", -1), ("bound", -3)]
    assert (found.upper, found.lower, found.closed) == (4, 3, False)
    outcome = found.outcome("why")
    assert (outcome.schedule, outcome.bound, outcome.note) == (4, -3, "why")
    assert "proof" not in outcome.trace


def test_whole_numbers_are_compared_without_a_tolerance() -> None:
    """Of values near 1e12, a relative tolerance of 1e-9 would take 1,000 for one."""
    found = bracket(tolerance=0)
    found.incumbent(10**12)
    found.incumbent(10**12 - 1)
    found.bound(10**12 - 2)
    assert (found.upper, found.closed) == (10**12 - 1, False)
    found.bound(10**12 - 1)
    assert found.closed and found.outcome().trace["proof"] == ["bounds meet"]


def test_bounds_go_up_to_the_grid() -> None:
    found = bracket(round_bound=lambda bound: float(-(-bound // 1)))
    found.bound(2.5)
    assert found.lower == 3


def test_a_schedule_is_kept_in_its_own_form_or_dropped() -> None:
    found = bracket(normalise=lambda schedule: None if schedule < 0 else schedule // 1)
    found.incumbent(-1.0)
    found.incumbent(None)
    assert found.schedule is None and found.trace["dropped"].startswith("2 answers")
    found.incumbent(2.5)
    assert found.schedule == 2


def test_a_stage_that_disproves_what_is_known_is_a_contradiction() -> None:
    found = bracket()
    found.incumbent(5.0)
    found.bound(5.1)
    with pytest.raises(ContradictionError, match=r"stage proves 5\.1, beside a schedule of 5"):
        found.take("stage", StageResult())
    found = bracket()
    found.incumbent(5.0)
    with pytest.raises(ContradictionError, match="no schedule"):
        found.take("stage", StageResult(complete=True, infeasible=True))


def test_a_proof_that_there_is_no_schedule() -> None:
    found = bracket()
    found.take("stage", StageResult(complete=True, infeasible=True, trace={"nodes": 3}))
    outcome = found.outcome()
    assert found.closed and outcome.infeasible and outcome.trace == {"stage": {"nodes": 3}}


def test_a_stage_in_a_process_of_its_own() -> None:
    found = bracket(limit=30)
    report = found.child("both", both, 9.0)
    assert report is not None and report.value == "kept"
    assert found.closed
    assert found.outcome().trace == {"both": {"seed": 7, "threads": 1}, "proof": ["both"]}


def test_what_a_stage_had_found_survives_it() -> None:
    found = bracket()
    found.checkable_only = True
    assert found.child("endless", endless, budget=Budget(Clock(0.5))) is None
    assert found.schedule == 9
    outcome = found.outcome()
    assert (outcome.bound, outcome.proof) == (4.0, Proof([], [], [{"v": 0}]))
    assert str(found.outcome().trace["endless"]).startswith("timeout")


def test_an_error_of_a_stage_is_raised_as_it_is() -> None:
    with pytest.raises(ScaleError, match="too fine"):
        bracket().child("failing", failing)


def test_one_program_in_this_process() -> None:
    """min 3x with 2x >= 3 and x whole: x = 2 and 6; without integrality 4.5."""
    import numpy as np
    from scipy import sparse

    program = LinearProgram(
        cost=np.array([3.0]),
        lower=np.zeros(1),
        upper=np.array([5.0]),
        matrix=sparse.csr_array([[2.0]]),
        row_lower=np.array([3.0]),
        row_upper=np.array([np.inf]),
        integer=np.array([True]),
    )
    found = bracket()
    result = found.solve(program, lambda values: 3.0 * values[0], grid=3)
    assert result.status == "optimal"
    assert (found.schedule, found.lower) == (6, 6)
    assert found.outcome().trace["proof"] == ["complete search"]


def test_a_method_as_a_stage_of_another() -> None:
    found = bracket()
    relay = Relay(found, real=lambda bound: bound / 2)
    relay.incumbent(9.0, 18.0)
    relay.bound(8.0)
    relay.phase("unheard")
    assert (found.upper, found.lower) == (9, 4)


def checkable(**settings: Any) -> tuple[SearchState, Ear]:
    ear = Ear()
    found = bracket(ear, **settings)
    found.checkable_only = True
    found.incumbent(9.0)
    return found, ear


def test_a_bound_without_evidence_is_named_in_the_trace_only() -> None:
    found, ear = checkable()
    found.bound(3.0, {"kind": "proved"})
    found.bound(5.0)
    found.bound(6.0, confirmed=False)
    found.bound(4.0, {"kind": "better"})
    found.bound(3.5, {"kind": "worse"})
    assert (found.lower, found.certified, found.certificate) == (5, 4, None)
    outcome = found.outcome()
    assert (outcome.bound, outcome.certificate) == (4, {"kind": "better"})
    assert outcome.trace["reported_bound"] == 6
    assert ear.heard == [("incumbent", 9), ("bound", 3), ("bound", 4)]


def test_a_bound_without_evidence_closes_the_gap() -> None:
    found, ear = checkable()
    found.bound(3.0, {"kind": "proved"})
    found.bound(8.0)
    assert ear.heard[-1] == ("bound", 3)
    found.incumbent(8.0)
    assert ear.heard[-2:] == [("incumbent", 8), ("bound", 8)]
    outcome = found.outcome()
    assert (outcome.bound, outcome.certificate) == (8, None)
    assert "reported_bound" not in outcome.trace


def test_an_exhaustive_search_that_leaves_a_width_open_keeps_its_bound() -> None:
    found, _ = checkable()
    found.bound(9.0 - 1e-6)
    assert not found.closed and found.outcome().bound is None
    found.proofs.append("no schedule is better by more")
    assert found.outcome().bound == 9.0 - 1e-6


def test_a_stopped_search_proves_its_bound_by_a_tree() -> None:
    tree, weaker = Proof([], [], [{"v": 0}]), Proof([], [], [{"v": 1}])
    found, _ = checkable(round_bound=lambda bound: float(-(-bound // 1)))
    found.bound(3.0, {"kind": "proved"})
    found.take("first", StageResult(proof=tree, proved=4.5))
    found.take("second", StageResult(proof=weaker, proved=2.0))
    found.bound(7.0)
    outcome = found.outcome()
    assert (outcome.bound, outcome.proof, outcome.certificate) == (5, tree, {"kind": "proved"})
    assert outcome.trace["reported_bound"] == 7
    sent = Proof([], [], [{"v": 2}])  # by a stage that is killed later
    SentProgress(found._receive, Clock(None)).proved_bound(5.5, sent)
    outcome = found.outcome()
    assert (outcome.bound, outcome.proof) == (6, sent)
    found.bound(6.0, {"kind": "best"})
    outcome = found.outcome()
    assert (outcome.bound, outcome.proof, outcome.certificate) == (6, None, {"kind": "best"})
