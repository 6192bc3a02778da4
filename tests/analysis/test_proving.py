"""What an optimum rests on: a proof file, a certificate, or a report."""

import json
from pathlib import Path
from typing import Any

import pytest
from toy_family import toy

import schedgap as sg
from schedgap.analysis.solving.proving import find_evidence, with_evidence
from schedgap.errors import InputError
from schedgap.instances.edge import EdgeInstance
from schedgap.models.proofs import (
    check_proof,
    excluded_value,
    proof_data,
    read_proof,
    search_again,
    write_proof,
)
from strategies.edge import instance_of
from strategies.edge_examples import FIVE_JOBS

OPTIMUM = 39


@pytest.fixture(scope="module")
def instance() -> Any:
    return FIVE_JOBS


@pytest.fixture(scope="module")
def by_engine(instance: Any) -> sg.Solution:
    return sg.solve(instance, "cp-sat", proof=120)


def saved(solution: sg.Solution, folder: Path) -> Path:
    file = folder / "s.json"
    solution.save(file)
    return file


def test_an_engine_s_optimum_is_proved_anew(
    instance: Any, by_engine: sg.Solution, tmp_path: Path
) -> None:
    assert by_engine.status == "optimal"
    assert by_engine.proof is not None
    assert by_engine.proof.kind == "tree"
    file = saved(by_engine, tmp_path)
    data = json.loads(file.read_text())
    assert data["proof"]["file"] == "s.proof.json.gz"
    verdict = sg.verify(instance, sg.load_solution(file, instance))
    assert verdict
    assert verdict.complete
    assert (verdict.bound_status, verdict.optimality_status) == ("checked", "checked")
    assert verdict.claims[0] == "bound 39: proved, with the optimum"
    assert verdict.claims[1].startswith("optimal: PROVED (tree, ")
    assert verdict.claims[1].endswith("; no schedule has value <= 38)")


def test_without_a_proof_it_is_the_engine_s_word(instance: Any) -> None:
    solution = sg.solve(instance, "cp-sat", proof="off")
    assert solution.proof is not None
    assert solution.proof.kind == "engine"
    verdict = sg.verify(instance, solution)
    assert verdict
    assert not verdict.complete
    assert verdict.claims[-1].startswith("optimal: reported by cp-sat 9.")


def test_a_certificate_that_meets_the_objective_is_proof_enough(instance: Any) -> None:
    solution = sg.solve(instance, "exact", time_limit=60, proof="auto")
    assert solution.status == "optimal"
    assert solution.certificate is not None
    assert solution.proof is not None
    assert solution.proof.kind == "certificate"
    assert sg.verify(instance, solution).claims[-1].startswith("optimal: certified (")


def test_what_claims_no_optimum_names_no_proof(instance: Any) -> None:
    solution = sg.solve(instance, "fifo")
    assert solution.proof is None
    assert solution.to_data()["proof"] is None


def test_no_time_leaves_the_word(instance: Any, by_engine: sg.Solution) -> None:
    for effort, limit in ((0.0, None), ("auto", by_engine.seconds)):
        again = with_evidence(
            instance, by_engine, engines=("cp-sat",), effort=effort, time_limit=limit
        )
        assert again.proof is not None
        assert again.proof.kind == "engine"
        assert again.proof_data is None


def test_the_trace_says_what_the_search_for_a_proof_took(
    instance: Any, by_engine: sg.Solution, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert 0 < by_engine.trace["proof_seconds"] < 120
    assert "no_proof_file" not in by_engine.trace
    assert "proof_seconds" not in sg.solve(instance, "cp-sat", proof="off").trace
    short = with_evidence(instance, by_engine, engines=("cp-sat",), effort=1e-3)
    assert short.proof is not None
    assert short.proof.kind == "engine"
    assert short.trace["no_proof_file"] == "time is up"


def test_a_proof_of_less_than_the_claim_is_refused(
    instance: Any, by_engine: sg.Solution, tmp_path: Path
) -> None:
    data = find_evidence(lambda message: None, instance, OPTIMUM - 2, None, 60.0, 0).data
    assert data is not None
    less = by_engine.with_proof("tree", data)
    verdict = sg.verify(instance, sg.load_solution(saved(less, tmp_path), instance))
    assert not verdict
    assert [item.rule for item in verdict.violations] == ["proof"]
    assert "shows that no schedule has value <= 37; optimality needs that" in verdict.claims[-1]


def test_a_proof_of_more_than_the_truth_is_refused(
    instance: Any, by_engine: sg.Solution, tmp_path: Path
) -> None:
    assert by_engine.proof_data is not None
    more = by_engine.with_proof("tree", dict(by_engine.proof_data) | {"goal": OPTIMUM})
    verdict = sg.verify(instance, sg.load_solution(saved(more, tmp_path), instance))
    assert not verdict
    assert verdict.optimality_status == "refuted"
    assert verdict.claims[-1].startswith("optimal: NOT PROVED: /tree/")


def test_a_file_that_was_changed_or_lost_proves_nothing(
    instance: Any, by_engine: sg.Solution, tmp_path: Path
) -> None:
    file = saved(by_engine, tmp_path)
    proof = tmp_path / "s.proof.json.gz"
    write_proof(proof, read_proof(proof) | {"goal": 0})
    verdict = sg.verify(instance, sg.load_solution(file, instance))
    assert not verdict
    assert "its hash differs" in verdict.claims[-1]
    proof.unlink()
    verdict = sg.verify(instance, sg.load_solution(file, instance))
    assert verdict
    assert not verdict.complete
    assert verdict.claims[-1] == "optimal: reported by cp-sat; s.proof.json.gz is missing"


def test_a_proof_lies_beside_its_solution(
    instance: Any, by_engine: sg.Solution, tmp_path: Path
) -> None:
    file = saved(by_engine, tmp_path)
    data = json.loads(file.read_text())
    data["proof"]["file"] = "../s.proof.json.gz"
    file.write_text(json.dumps(data))
    with pytest.raises(InputError, match=r"proof\.file"):
        sg.load_solution(file, instance)


def test_an_older_proof_goes_when_its_solution_does(
    by_engine: sg.Solution, instance: Any, tmp_path: Path
) -> None:
    saved(by_engine, tmp_path)
    saved(sg.solve(instance, "fifo"), tmp_path)
    assert not (tmp_path / "s.proof.json.gz").exists()


def test_that_there_is_no_schedule_is_proved_too(tmp_path: Path) -> None:
    """Two jobs of two slots on one worker, in three slots."""
    job = {
        "arrival": 1,
        "worker_type": "w",
        "ps_type": "p",
        "epochs": 2,
        "chunks": 1,
        "minibatches_per_chunk": 1,
        "compute_seconds": 10.0,
        "update_seconds": 0.0,
        "gradient_megabytes": 0.0,
        "bandwidth_mbps": 100.0,
        "transfer_delay": {"s": 0},
    }
    tight = instance_of(
        [job, job],
        horizon=3,
        slot_seconds=10,
        worker_types=["w"],
        ps_types=["p"],
        servers=[{"id": "s", "kind": "edge", "workers": {"w": 1}, "parameter_servers": {"p": 2}}],
    )
    assert isinstance(tight, EdgeInstance)
    solution = sg.solve(tight, "cp-sat", proof=60)
    assert solution.status == "infeasible"
    assert solution.proof is not None
    assert solution.proof.kind == "tree"
    verdict = sg.verify(tight, sg.load_solution(saved(solution, tmp_path), tight))
    assert verdict
    assert verdict.optimality_status == "checked"
    assert verdict.claims[-1].startswith("infeasible: PROVED (tree, ")
    assert verdict.claims[-1].endswith("; there is no schedule)")


def test_an_optimum_between_whole_values_is_proved_within_a_width(tmp_path: Path) -> None:
    instance = sg.generate("dmlrs", preset="small", seed=103)
    solution = sg.solve(instance, "cp-sat", time_limit=60, proof=30.0)
    assert solution.proof is not None
    assert (solution.proof.kind, solution.proof.within) == ("tree", 5e-7)
    verdict = sg.verify(instance, sg.load_solution(saved(solution, tmp_path), instance))
    assert verdict.optimality_status == "checked"
    assert verdict.claims[-1].endswith("; no schedule is better by more than 5e-07 of its value)")


def test_a_family_without_proofs_says_so() -> None:
    instance = toy(3.0, 4.0)
    assert excluded_value(instance, 3.0) is None
    assert search_again(instance, 2, seconds=1) is None
    data = proof_data(instance, 2, vectors=[], cuts=[], tree=[])
    assert check_proof(instance, data).reason == "/family: no proofs for family toy"
