"""Proofs of hare optima: windows and prices of `proof.py` against enumeration."""

import json
import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import schedgap as sg
from schedgap.analysis.results.verifying import verify_file
from schedgap.instances.hare import HareInstance, HareSchedule, arrays
from schedgap.models.hare import proof
from schedgap.models.hare.algorithms.list_wspt import list_wspt
from schedgap.models.hare.decode import to_schedule
from schedgap.models.hare.exact.branch_and_price import BranchAndPrice
from schedgap.models.hare.exact.kernel import JobWindows
from schedgap.models.hare.exact.proof_log import ProofLog
from schedgap.models.hare.exact.prove import prove_goal
from schedgap.models.hare.integer_time import steps
from schedgap.models.method import Budget
from schedgap.models.proofs import check_here, check_proof, proof_data, write_proof
from schedgap.proof import main
from schedgap.solvers import Clock
from schedgap.solvers.proofs.checker import Checked, RefusedError, check_tree
from schedgap.solvers.proofs.prover import Proved
from strategies.clocks import StopAt
from strategies.hare import brute_force, hare_instances, instance_of


def proved(instance: HareInstance, optimum: float) -> Proved:
    """Return what the prover says, from an optimal schedule."""
    search = BranchAndPrice(instance, list_wspt(instance), budget=Budget(Clock(60)))
    result = search.run()
    schedule = result.schedule.to_data(instance)
    goal = proof.goal(instance, optimum)
    assert goal is not None
    return prove_goal(instance, goal, schedule, budget=Budget(Clock(60)))


def as_file(found: Proved) -> dict[str, Any]:
    assert found.proof is not None, found.reason
    data = {"vectors": found.proof.vectors, "cuts": [], "tree": found.proof.tree}
    loaded: dict[str, Any] = json.loads(json.dumps(data))
    return loaded


def checked(instance: HareInstance, goal: int, data: dict[str, Any]) -> Checked:
    return check_tree(proof.space(instance, goal, data), data)


def hold_to_enumeration(instance: HareInstance) -> None:
    optimum = brute_force(instance)
    goal = proof.goal(instance, optimum)
    assert goal is not None
    data = as_file(proved(instance, optimum))
    checked(instance, goal, data)
    for more in (1, 2, 10):
        with pytest.raises(RefusedError):
            checked(instance, goal + more, data)


@settings(max_examples=8, deadline=None)
@given(hare_instances(max_total=6))
def test_optima_are_proved_and_nothing_else(instance: HareInstance) -> None:
    hold_to_enumeration(instance)


@pytest.mark.nightly
@settings(max_examples=3000, deadline=None)
@given(hare_instances(max_total=6))
def test_thousands_of_optima_are_proved_and_nothing_else(instance: HareInstance) -> None:
    hold_to_enumeration(instance)


def leaves(search: BranchAndPrice, windows: list[JobWindows]) -> list[JobWindows]:
    """Return the windows of the only job in which nothing is left to branch on."""
    branch = search._any_branch(windows)
    if branch is None:
        return windows
    return [leaf for side in search._children(windows, branch) for leaf in leaves(search, side)]


def test_branches_part_the_schedules_of_three_kinds_of_gpus() -> None:
    """Without columns to choose from, the tree divides by barriers, starts and kinds alone."""
    tasks = [
        {"training_time": dict(zip("abc", times, strict=True))} for times in ((1, 2, 3), (3, 1, 2))
    ]
    instance = instance_of({"g1": "a", "g2": "b", "g3": "c"}, [{"task_rounds": [tasks]}])
    one_after_the_other = to_schedule(instance, [0, 3], [2, 2])
    search = BranchAndPrice(instance, one_after_the_other, budget=Budget())
    (root,) = (job.root for job in search.jobs)
    found = leaves(search, [root])
    cells = [np.argwhere(table).tolist() for table in (*root.barrier, *root.start)]
    assert [len({kind for kind, _ in starts}) for starts in cells[1:]] == [3, 3]
    for (end,), first, second in product(*cells):
        inside = [
            leaf
            for leaf in found
            if leaf.barrier[0, end] and leaf.start[0, *first] and leaf.start[1, *second]
        ]
        assert len(inside) == 1


def waiting(start: float) -> dict[str, Any]:
    """Return a schedule of one task of 5 s that starts at a time."""
    item = {"job": "J1", "round": 1, "task": 1, "gpu": "g", "start": start}
    return {"assignments": [item]}


@pytest.mark.parametrize("start", [0.4, 2.0, 1e-4])
def test_a_schedule_that_waits_is_not_proved_optimal(tmp_path: Path, start: float) -> None:
    instance = instance_of(
        {"g": "k"}, [{"rounds": 1, "tasks_per_round": 1, "training_time": {"k": 5}}]
    )
    value = 5 + start
    data = proof_data(instance, 0, vectors=[{"q": 0, "p": []}], cuts=[], tree=[{"v": 0}])
    assert check_here(instance, data).status == "proved"  # nothing below 5, in steps of 5
    sha256 = write_proof(tmp_path / "a.proof.json.gz", data)
    solution = {
        "family": "hare", "version": 1, "instance": "test", "instance_sha256": instance.sha256,
        "method": "exact", "engine": None, "kind": "exact", "options": {}, "seed": None,
        "status": "optimal", "sense": "min", "objective": value, "bound": value, "seconds": 0.0,
        "schedule": waiting(start),
        "proof": {"kind": "tree", "file": "a.proof.json.gz", "sha256": sha256},
    }  # fmt: skip
    (tmp_path / "a.json").write_text(json.dumps(solution), encoding="utf-8")
    verdict = verify_file(instance, tmp_path / "a.json")
    assert verdict.objective == value
    assert verdict.optimality_status == "refuted"
    assert verdict.bound_status != "checked"


def test_round_off_of_an_objective_does_not_change_what_is_better() -> None:
    instance = instance_of(
        {"g": "k"}, [{"rounds": 3, "tasks_per_round": 1, "training_time": {"k": 0.1}}]
    )
    assert 0.1 + 0.1 + 0.1 > 0.3
    assert proof.goal(instance, 0.1 + 0.1 + 0.1) == proof.goal(instance, 0.3) == 2


def test_times_count_from_the_first_arrival() -> None:
    """Jobs that arrive at 10^6 have the windows and costs of those that arrive at 0."""
    shape = {"rounds": 2, "tasks_per_round": 1, "training_time": {"k": 0.002}}
    spaces, vectors = [], []
    for late in (0, 10**6):
        jobs = [shape | {"arrival": late + wait, "weight": w} for wait, w in ((0, 2), (0.001, 3))]
        space = proof.HareSpace(instance_of({"g": "k"}, jobs), 30 + 5 * late * 1000)
        spaces.append(space)
        vectors.append({"q": 1, "p": [[0, late * 1000 + t, 1 + t] for t in (0, 2, 5)]})
    early, late_space = spaces
    assert early.jobs == late_space.jobs
    assert 0 < early.end < 20
    region = early.root()
    excess = early.excess(region, vectors[0])
    assert excess == late_space.excess(region, vectors[1])
    assert excess != late_space.excess(region, vectors[0])  # prices that nobody pays
    assert late_space.excess(region, vectors[0]) == late_space.excess(region, {"q": 1, "p": []})


def test_what_does_not_fit_into_memory_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = {"rounds": 2, "tasks_per_round": 1, "weight": 0, "training_time": {"k": 1}}
    long = job | {"training_time": {"k": 10**6}}  # tables of 10^12 pairs of steps
    instance = instance_of({"g": "k"}, [job, long])
    data = proof_data(instance, -1, vectors=[{"q": 0, "p": []}], cuts=[], tree=[{"v": 0}])
    assert check_proof(instance, data).reason == "not checked within 4096 MB of memory"
    (tmp_path / "i.json").write_text(json.dumps(instance.to_data()), encoding="utf-8")
    write_proof(tmp_path / "p.json.gz", data)
    files = [str(tmp_path / name) for name in ("i.json", "p.json.gz")]
    assert main(["check", *files, "--memory", "100"]) == 1
    assert capsys.readouterr().out == "NOT PROVED: not checked within 100 MB of memory\n"


def test_a_check_is_ended_within_a_node() -> None:
    """One leaf, for which 10,000 tables of 16 million entries are filled."""
    job = {"rounds": 1, "tasks_per_round": 1, "weight": 1}
    times = [4000] + [4 + n % 3 for n in range(10_000)]
    instance = instance_of({"g": "k"}, [job | {"training_time": {"k": t}} for t in times])
    vectors = [{"q": 0, "p": []}]
    data = proof_data(instance, 10**7, vectors=vectors, cuts=[], tree=[{"v": 0}])
    verdict = check_proof(instance, data, seconds=0.5)
    assert verdict.reason == "not checked within 0.5 seconds"
    assert verdict.status == "unchecked"  # the proof may be right, so nothing is refuted


def test_values_that_doubles_cannot_tell_apart_have_no_proof() -> None:
    chain = {"rounds": 500, "tasks_per_round": 1, "training_time": {"k": 0.1}, "weight": 10**12}
    other = {"rounds": 1, "tasks_per_round": 1, "training_time": {"k": 0.1}}
    instance = instance_of({"g": "k"}, [chain, other])
    with pytest.raises(RefusedError, match="too large to be summed exactly"):
        proof.HareSpace(instance, 500 * 10**12 + 500)


@pytest.mark.parametrize(("price", "fits"), [(2**49, True), (2**50, False)])
def test_prices_are_summed_exactly_or_refused(price: int, fits: bool) -> None:
    """Two tasks and one GPU: sums reach three times a price, which int64 has to hold."""
    instance = instance_of(
        {"g": "k"}, [{"rounds": 2, "tasks_per_round": 1, "training_time": {"k": 1}}]
    )
    space = proof.HareSpace(instance, 1)
    vector = {"q": 0, "p": [[0, 0, price], [0, 1, price]]}
    if fits:
        assert space.excess(space.root(), vector) == 2 - 1
    else:
        with pytest.raises(RefusedError, match="too large to be summed exactly"):
            space.excess(space.root(), vector)


def one_by_one(instance: HareInstance) -> HareSchedule:
    """Return the schedule with one task at a time, all on the first GPU."""
    view, whole = arrays(instance), steps(instance)
    lengths = whole.duration[:, view.gpu_class[0]]
    ends = int(whole.arrival.max()) + np.cumsum(lengths)
    return to_schedule(instance, ends - lengths, np.zeros(view.tasks, dtype=np.int64))


@settings(max_examples=8, deadline=None)
@given(hare_instances(max_total=6))
def test_a_search_that_improves_its_schedule_writes_a_proof(instance: HareInstance) -> None:
    """From the schedule that runs one task after another, with every incumbent on the way."""
    optimum = brute_force(instance)
    goal = proof.goal(instance, optimum)
    assert goal is not None
    result = BranchAndPrice(instance, one_by_one(instance), budget=Budget(Clock(60))).run()
    assert result.proof is not None
    data = as_file(Proved(result.proof))
    checked(instance, goal, data)
    with pytest.raises(RefusedError):
        checked(instance, goal + 1, data)


def test_the_open_nodes_of_a_stopped_search_prove_its_bound() -> None:
    instance = sg.generate("hare", preset="small", seed=2, settings={"jobs": 8})
    assert isinstance(instance, HareInstance)
    bounds = set()
    for k in [*range(1, 90, 11), *range(100, 3000, 260)]:
        search = BranchAndPrice(instance, list_wspt(instance), budget=Budget(StopAt(k)))
        result = search.run()
        assert result.proof is not None
        if result.proved == -math.inf:
            continue
        bounds.add(result.proved)
        goal = proof.goal(instance, steps(instance).to_objective(result.proved))
        assert goal is not None
        data = as_file(Proved(result.proof))
        checked(instance, goal, data)
        # An open child may prove a little more; there is a schedule of value `upper`.
        for more in {min(goal + 10, result.upper), result.upper}:
            with pytest.raises(RefusedError):
                checked(instance, more, data)
    assert len(bounds) > 5


def test_sums_that_doubles_cannot_hold_are_refused_in_one_line() -> None:
    """The weights differ by a factor of 10^15."""
    job = {"rounds": 1, "tasks_per_round": 1, "training_time": {"k": 2}}
    heavy = job | {"rounds": 30, "weight": 1e9}
    instance = instance_of({"g": "k"}, [heavy, job | {"weight": 1e-6}, job | {"weight": 1.0}])
    schedule = one_by_one(instance).to_data(instance)
    with pytest.raises(RefusedError, match="/goal: too large for exact sums in doubles"):
        prove_goal(instance, 0, schedule, budget=Budget(Clock(10)))


def test_the_record_of_a_search_is_a_tree_in_preorder(monkeypatch: pytest.MonkeyPatch) -> None:
    none, some = np.zeros(4), np.array([0.0, 1.5, 0.0, 0.0])
    log = ProofLog(kinds=2, horizon=2)
    first = log.split(0, some, ["barrier", 0, 0, 3])
    log.close_reduced(first, none, None)
    second = log.split(first + 1, none, ["kind", 0, 0, 1])
    log.close_reduced(second, some, none)
    written = log.written()
    assert written is not None
    assert written.vectors == [{"q": 0, "p": []}, {"q": 1, "p": [[0, 1, 3]]}]
    assert written.tree == [
        {"fix": [1], "b": ["barrier", 0, 0, 3]},
        {"fix": [0], "empty": True},
        {"fix": [0], "b": ["kind", 0, 0, 1]},
        {"fix": [1], "v": 0},
        {"v": 0},  # never solved: the prices of its parent close it
    ]
    monkeypatch.setattr("schedgap.models.hare.exact.proof_log.MAX_PRICES", 0)
    log.close(second, np.ones(4))
    assert log.written() is None
