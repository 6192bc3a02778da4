"""What an optimum rests on: a proof file, a certificate, or a report."""

import functools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from toy_family import toy

import schedgap as sg
from schedgap.analysis.solving import proving
from schedgap.analysis.solving.proving import find_evidence, with_evidence
from schedgap.errors import InputError
from schedgap.instances.edge import EdgeInstance
from schedgap.models.elastic.exact.prove import prove_goal
from schedgap.models.hare.exact.branch_and_price import BranchAndPrice
from schedgap.models.hare.heuristics.initial import starting_schedule
from schedgap.models.hare.integer_time import steps
from schedgap.models.method import Budget
from schedgap.models.proofs import (
    check_proof,
    excluded_value,
    proof_data,
    read_proof,
    search_again,
    write_proof,
)
from schedgap.solvers import Clock
from schedgap.solvers.proofs.tree import Proof
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


def test_a_tree_is_sought_where_a_certificate_meets_the_objective() -> None:
    instance = sg.generate("elastic", preset="toy")
    solution = sg.solve(instance, "exact", time_limit=60, proof=30.0)
    assert solution.status == "optimal"
    assert solution.certificate is not None
    assert solution.proof is not None
    assert solution.proof.kind == "tree"
    claims = sg.verify(instance, solution).claims
    assert claims[0].startswith("bound 27: certified (")
    assert claims[1].startswith("optimal: PROVED (tree, ")


def test_a_certificate_that_meets_the_objective_is_left_without_a_tree() -> None:
    instance = sg.generate("elastic", preset="toy")
    solution = sg.solve(instance, "exact", time_limit=60, proof=1e-3)
    assert solution.certificate is not None
    assert solution.proof is not None
    assert solution.proof.kind == "certificate"
    assert sg.verify(instance, solution).claims[-1].startswith("optimal: certified (")
    assert sg.verify(instance, solution).complete


def stopped_search(seconds: float) -> tuple[sg.Solution, Proof]:
    """Return a search of family hare, as if stopped, and the record of its nodes."""
    instance = sg.generate("hare", preset="small", seed=2, settings={"jobs": 8})
    start = starting_schedule(instance)
    search = BranchAndPrice(instance, start, budget=Budget(Clock(seconds)))
    result = search.run()
    assert result.proof is not None
    solution = sg.solve(instance, "gavel-fifo")
    bound = steps(instance).to_objective(result.proved)
    assert solution.objective > bound
    certificate = {"kind": "critical-path"}
    return solution.with_bound(bound, certificate), result.proof


def test_the_record_of_a_search_proves_a_bound(tmp_path: Path) -> None:
    solution, written = stopped_search(60.0)
    found = with_evidence(solution.of_instance, solution, engines=("highs",), written=written)
    assert found.proof is not None
    assert (found.status, found.proof.kind, found.certificate) == ("feasible", "tree", None)
    verdict = sg.verify(
        found.of_instance, sg.load_solution(saved(found, tmp_path), found.of_instance)
    )
    assert verdict
    assert verdict.complete
    assert verdict.bound_status == "checked"
    (claim,) = verdict.claims
    assert claim.startswith(f"bound {found.bound:.10g}: PROVED (tree, ")
    assert claim.endswith(f"no schedule has value <= {found.bound - 1:.10g})")
    more = found.with_bound(found.bound + 1).with_proof("tree", found.proof_data)
    verdict = sg.verify(found.of_instance, more)
    assert not verdict
    assert [item.rule for item in verdict.violations] == ["proof"]
    assert verdict.bound_status == "refuted"


def test_a_bound_whose_proof_is_refused_gives_way_to_its_certificate() -> None:
    solution, written = stopped_search(60.0)
    instance, wrong = solution.of_instance, replace(written, tree=written.tree[:-1])
    for limit in (10**6, 0):  # checked here, or in a child process
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("schedgap.analysis.solving.proving.FEW_NODES", limit)
            found = with_evidence(instance, solution, engines=("highs",), written=wrong)
        assert (found.proof, found.proof_data) == (None, None)
        assert found.certificate == solution.certificate
        assert found.bound < solution.bound
        assert found.trace["reported_bound"] == solution.bound
        assert found.trace["no_proof_file"].startswith("the checker refuses the proof")
        assert sg.verify(instance, found).complete


def test_a_proof_that_takes_too_long_to_check_is_no_refutation(
    instance: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    solution = sg.solve(instance, "cp-sat", time_limit=60, proof=30.0)
    slow = functools.partial(check_proof, seconds=1e-9)
    monkeypatch.setattr("schedgap.analysis.results.optimality.check_proof", slow)
    verdict = sg.verify(instance, solution)
    assert verdict.feasible
    assert verdict.optimality_status == "unchecked"
    assert "; not checked within 1e-09 seconds" in verdict.claims[-1].replace("/tree/0: ", "")


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
    assert verdict.claims[-1].startswith("optimal: PROVED within 5e-07 (tree, ")
    assert verdict.claims[-1].endswith("; no schedule has value >= 72.7712391195)")


def test_a_family_without_proofs_says_so() -> None:
    instance = toy(3.0, 4.0)
    assert excluded_value(instance, 3.0) is None
    assert search_again(instance, 2, seconds=1) is None
    data = proof_data(instance, 2, vectors=[], cuts=[], tree=[])
    assert check_proof(instance, data).reason == "/family: no proofs for family toy"


def test_a_proof_of_more_than_its_claim_is_written_with_its_own_goal() -> None:
    """The toy's optimum is 27: a proof that excludes 26 shows the bound 21, too."""
    instance = sg.generate("elastic", preset="toy")
    proof = prove_goal(instance, 26, budget=Budget(Clock(60))).proof
    assert proof is not None
    found = proving._checked(instance, 20, replace(proof, goal=26), Clock(60))
    assert (found.kind, found.data and found.data["goal"]) == ("tree", 26)
