"""Evidence other than proof files: complete searches, engines that agree, proofs by a search."""

import json
from pathlib import Path
from typing import Any

import pytest

import schedgap as sg
from schedgap.analysis.solving.proving import Evidence, find_evidence
from schedgap.cli import run
from schedgap.solvers.proofs.prover import Proved
from schedgap.solvers.proofs.tree import Proof
from strategies.edge_examples import FIVE_JOBS

EDGE_OPTIMUM = 39


@pytest.fixture(scope="module")
def ring() -> Any:
    return sg.generate("ring", preset="toy")


@pytest.fixture(scope="module")
def edge() -> Any:
    return FIVE_JOBS


def claimed(instance: Any, method: str, kind: str) -> sg.Solution:
    """Return the schedule of a method as an optimum that rests on a kind of evidence."""
    data = sg.solve(instance, method, proof="off", seed=1).to_data()
    claim = {"status": "optimal", "bound": data["objective"], "proof": {"kind": kind}}
    return sg.Solution.bind(instance, data | claim)


def evidence(instance: Any, goal: int, seconds: float, written: Proof | None = None) -> Evidence:
    return find_evidence(lambda message: None, instance, goal, None, seconds, 0, written)


def test_a_complete_search_is_run_again_on_request(ring: Any, tmp_path: Path) -> None:
    solution = claimed(ring, "exact", "search")
    assert sg.verify(ring, solution).claims[-1] == (
        "optimal: reported by a complete search (--search SECONDS runs the search again)"
    )
    verdict = sg.verify(ring, solution, search=60)
    assert verdict.optimality_status == "checked"
    assert verdict.claims[-1].startswith("optimal: certified (complete search, ")
    assert sg.verify(ring, solution, search=0.0).claims[-1] == (
        "optimal: reported by a complete search, which did not end in 0 s"
    )
    files = [str(tmp_path / name) for name in ("ring.json", "solution.json")]
    Path(files[0]).write_text(json.dumps(ring.to_data()), encoding="utf-8")
    solution.save(files[1])
    assert run(["verify", *files, "--strict"]) == 1
    assert run(["verify", *files, "--search", "60"]) == 0


def test_a_search_that_finds_a_better_schedule_refutes_the_claim(ring: Any) -> None:
    best = sg.solve(ring, "exact", proof="off").objective
    worse = claimed(ring, "random", "search")
    assert worse.objective is not None
    assert best is not None
    assert worse.objective > best
    verdict = sg.verify(ring, worse, search=60)
    assert not verdict
    assert verdict.claims[-1].startswith(
        "optimal: NOT PROVED: the complete search found a schedule of value "
    )


def test_a_family_without_searches_has_none_to_run_again(edge: Any) -> None:
    verdict = sg.verify(edge, claimed(edge, "exact", "search"), search=60)
    assert verdict.claims[-1] == "optimal: NOT PROVED: this instance has no complete search"


def test_two_engines_agree_where_no_tree_is_found(
    edge: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "schedgap.models.edge.exact.prove.prove_goal",
        lambda *arguments, **keywords: Proved(None, reason="not tried"),
    )
    found = evidence(edge, EDGE_OPTIMUM - 1, 60)
    assert found == Evidence("engines", None, "not tried")
    assert evidence(edge, EDGE_OPTIMUM, 60) == Evidence(None, None, "not tried")
    text = sg.verify(edge, claimed(edge, "exact", "engines")).claims[-1]
    assert text == "optimal: reported by two engines, highs and cp-sat"


def test_a_proof_that_the_search_has_written_is_checked_first(edge: Any) -> None:
    data = evidence(edge, EDGE_OPTIMUM - 1, 60).data
    assert data is not None
    proof = Proof(data["vectors"], data["cuts"], data["tree"])
    assert evidence(edge, EDGE_OPTIMUM - 1, 0.0, proof).data == data
    broken = Proof(data["vectors"], data["cuts"], [{"empty": True}])
    assert evidence(edge, EDGE_OPTIMUM - 1, 0.0, broken).kind is None
    assert evidence(edge, EDGE_OPTIMUM - 1, 60, broken).kind == "tree"


def test_a_proof_that_the_checker_refuses_is_no_evidence_and_the_reason_is_said(
    edge: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    proof = Proof([], [], [{"empty": True}])
    monkeypatch.setattr(
        "schedgap.models.edge.exact.prove.prove_goal",
        lambda *arguments, **keywords: Proved(proof),
    )
    found = evidence(edge, EDGE_OPTIMUM - 1, 60)
    assert found.kind == "engines"
    assert found.note.startswith("the checker refuses the proof that was found: /tree")
