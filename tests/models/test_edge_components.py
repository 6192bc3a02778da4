"""Worker types one by one: what is proved holds for the whole, what is found makes one schedule."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.models.edge import proof, rules
from schedgap.models.edge.decisions import infeasibility_reason
from schedgap.models.edge.exact import components as components_module
from schedgap.models.edge.exact import prove as prove_module
from schedgap.models.edge.exact.components import components, components_stage, merge_schedules
from schedgap.models.edge.exact.prove import GoalSearch, TypeProof, of_types
from schedgap.models.exports import export_vipr
from schedgap.models.method import Budget
from schedgap.models.proofs import check_here, proof_data
from schedgap.models.search_state import StageResult
from schedgap.solvers import Clock
from schedgap.solvers.proofs.checker import RefusedError
from schedgap.solvers.proofs.prover import Proved, prove
from schedgap.solvers.proofs.tree import Proof
from schedgap.solvers.proofs.vipr import Exported
from strategies.edge import best_schedule, edge_instances, instance_of
from strategies.edge_stops import MEET
from strategies.vipr import check

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}


def two_kinds(**server: int) -> EdgeInstance:
    """One job of each of two worker types, one slot each, on one server with so many PSs."""
    only = {"id": "s", "kind": "edge", "workers": {"a": 1, "b": 1}}
    jobs = [{"worker_type": kind, "transfer_delay": {"s": 0}} for kind in ("a", "b")]
    servers = [only | {"parameter_servers": server}]
    return instance_of(jobs, servers=servers, worker_types=["a", "b"], horizon=4)


def test_jobs_are_told_apart_by_their_workers() -> None:
    instance = two_kinds(cpu=2)
    found = components(instance).items()
    assert {kind: [job.id for job in part.jobs] for kind, part in found} == {0: ["j1"], 1: ["j2"]}


@pytest.mark.parametrize(("ps", "value"), [(2, 0), (1, 1)])
def test_a_job_without_a_free_ps_moves(ps: int, value: int | None) -> None:
    """Both jobs run in slot 1: c_j - a_j = 0 each, with two PSs; with one, the second one waits."""
    instance = two_kinds(cpu=ps)
    best = [best_schedule(part)[1] for part in components(instance).values()]
    found = merge_schedules(instance, best)
    assert (None if found is None else found.value(instance)) == value


def test_a_ps_moves_where_it_has_to() -> None:
    """The job that is split finds its PS on the other server; nothing else changes."""
    servers = [
        {"id": "s", "kind": "edge", "workers": {"a": 2}, "parameter_servers": {"cpu": 1}},
        {"id": "r", "kind": "edge", "workers": {"b": 1}, "parameter_servers": {"cpu": 1}},
    ]
    jobs = [{"worker_type": kind, "transfer_delay": {"s": 0, "r": 0}} for kind in ("a", "b")]
    instance = instance_of(jobs, servers=servers, worker_types=["a", "b"], horizon=4)
    near = {"start": 1, "completion": 1, "ps_server": "s"}
    each = [
        EdgeSchedule.from_data(instance, {"jobs": {name: near | {"workers": workers}}})
        for name, workers in (("j1", {"s": 1}), ("j2", {"r": 1}))
    ]
    found = merge_schedules(instance, each)
    assert found is not None and found.placements["j2"].ps_server == "r"
    assert list(rules.check(instance, found.to_data(instance), {})) == []


class Found:
    """Progress that keeps schedules, bounds, and proofs."""

    lower = -math.inf

    def __init__(self) -> None:
        self.bounds: list[float] = []
        self.proofs: list[Proof] = []
        self.schedules: list[EdgeSchedule] = []

    def incumbent(self, schedule: EdgeSchedule, objective: float | None = None) -> None:
        """Keep a schedule."""
        self.schedules.append(schedule)

    def bound(self, value: float, certificate: object = None, **more: object) -> None:
        """Keep a bound."""
        self.bounds.append(value)

    def proved_bound(self, value: float, proof: Proof) -> None:
        """Keep a bound with its proof."""
        assert proof.goal is not None and value == proof.goal + 1
        self.bounds.append(value)
        self.proofs.append(proof)


def data_of(instance: EdgeInstance, found: Proof) -> dict[str, Any]:
    assert found.goal is not None
    parts = {"vectors": found.vectors, "cuts": found.cuts, "tree": found.tree}
    data: dict[str, Any] = json.loads(json.dumps(proof_data(instance, found.goal, **parts)))
    return data


def components_alone(instance: EdgeInstance, most: int = 10**9) -> tuple[StageResult, Found]:
    """Bounds hold, proofs are accepted for what they claim and for nothing that is false.

    `most`: entries of a program above which branch and price takes its place.
    """
    optimum, schedule = best_schedule(instance)
    least = (-1 if instance.is_batch else 1) * optimum
    found = Found()
    with (
        mock.patch.object(prove_module, "FEW_RUNS", 0),  # prices leave out runs
        mock.patch.object(components_module, "MANY_CELLS", most),
    ):
        report = components_stage(found, instance, None, budget=Budget(Clock(60)))
    assert all(bound <= least for bound in found.bounds)
    for each in found.proofs:
        data = data_of(instance, each)
        assert check_here(instance, data).status == "proved"
        if schedule is not None:
            assert check_here(instance, data | {"goal": int(least)}).status == "refused"
    assert not report.infeasible or schedule is None
    if report.complete and not report.infeasible:
        assert found.schedules[-1].value(instance) == optimum
    for each in found.schedules:
        assert list(rules.check(instance, each.to_data(instance), {})) == []
    return report, found


@settings(max_examples=40, **QUIET)
@given(edge_instances(batch=None, max_jobs=4, horizon=(5, 9)), st.sampled_from([-1, 10**9]))
def test_components_bound_the_whole(instance: EdgeInstance, most: int) -> None:
    if infeasibility_reason(instance) is not None:  # then no method is asked
        return
    report, found = components_alone(instance, most)
    assert report.complete or len(components(instance)) > 1 or most < 0
    assert not (found.proofs and most < 0)


@pytest.mark.nightly
@settings(max_examples=1000, **QUIET)
@given(edge_instances(batch=None, max_jobs=4, horizon=(5, 9), nasty=True))
def test_components_bound_the_whole_at_length(instance: EdgeInstance) -> None:
    if infeasibility_reason(instance) is not None:
        return
    components_alone(instance)


@settings(max_examples=40, **QUIET)
@given(edge_instances(batch=None, max_jobs=4, horizon=(5, 9)), st.data())
def test_the_joint_program_has_every_schedule(instance: EdgeInstance, data: st.DataObject) -> None:
    """Whatever the goals of the types are; and nothing cheaper than their optima together."""
    optimum, schedule = best_schedule(instance)
    if schedule is None:
        return
    sign = -1 if instance.is_batch else 1
    least, parts = 0, []
    for part in components(instance).values():
        best = sign * int(best_schedule(part)[0])
        goal = best + data.draw(st.integers(-2, 2))
        parts.append({"type": part.jobs[0].worker_type, "goal": goal})
        least += min(best, goal + 1)
    for goal in (sign * int(optimum), least, least - 1):
        space = proof.space(instance, goal, {"vectors": parts, "cuts": []})
        found = prove(space.program, clock=Clock(60))
        assert (found.proof is None) == (found.better is not None) == (goal >= least)


def test_types_that_meet_in_one_ps_are_bounded_only() -> None:
    """Each type is solved; their schedules do not fit together, and the whole stays open."""
    least = sum(best_schedule(part)[0] for part in components(MEET).values())
    report, found = components_alone(MEET)
    assert not report.complete and max(found.bounds) == least < best_schedule(MEET)[0]


def three_each() -> EdgeInstance:
    """Three equal jobs of each of two worker types: 0 + 1 + 2 for each type, 6 in all."""
    server = {"id": "s", "kind": "edge", "workers": {"a": 1, "b": 1}}
    jobs = [{"worker_type": kind, "transfer_delay": {"s": 0}} for kind in "aaabbb"]
    servers = [server | {"parameter_servers": {"cpu": 6}}]
    return instance_of(jobs, servers=servers, worker_types=["a", "b"], horizon=9)


def proved() -> tuple[EdgeInstance, dict[str, Any]]:
    """The proof that the three of each type cost 3, so 6 in all."""
    instance, proofs = three_each(), {}
    for part in components(instance).values():
        search = GoalSearch(part, 2, Budget(Clock(60)))
        found = search.run(Clock(60)).proof
        assert found is not None
        proofs[part.jobs[0].worker_type] = TypeProof(search.model, found)
    return instance, data_of(instance, of_types(proofs))


def test_proofs_of_types_add_up(tmp_path: Path) -> None:
    instance, data = proved()
    assert data["goal"] == 5 and check_here(instance, data).status == "proved"
    assert [part["goal"] for part in data["vectors"] if "type" in part] == [2, 2]
    found = export_vipr(instance, data, tmp_path / "a.vipr")
    assert isinstance(found, Exported) and not found.assumed
    check((tmp_path / "a.vipr").read_text(encoding="ascii"))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda parts: parts[:1], "/vectors: needs one part for each worker type that has jobs"),
        (lambda parts: [*parts, parts[0]], "/vectors: needs one part for each worker type"),
        (lambda parts: [*parts, {"type": "c", "goal": 2}], "/vectors: needs one part"),
        (lambda parts: [parts[0], {"type": ["b"], "goal": 2}], "/vectors: needs one part"),
        (lambda parts: [parts[0], parts[1] | {"goal": 2.0}], "/vectors/goal: needs a whole number"),
        (lambda parts: [parts[0], parts[1] | {"goal": 1}], "/tree/"),
        (lambda parts: [parts[0] | {"goal": 3}, parts[1]], "/tree/"),
        (lambda parts: [parts[0] | {"goal": 10**9}, parts[1]], "/tree/"),
        (lambda parts: [parts[0], parts[1] | {"pools": [{"o": 1, "p": [[0]]}]}], "needs [server"),
        (lambda parts: [parts[0], parts[1] | {"pools": [5]}], "/vectors/pools: needs prices"),
    ],
)
def test_types_that_do_not_add_up_are_refused(
    change: Callable[[list[Any]], list[Any]], why: str
) -> None:
    instance, data = proved()
    parts = [vector for vector in data["vectors"] if "type" in vector]
    data["vectors"][: len(parts)] = change(parts)
    verdict = check_here(instance, data)
    assert verdict.status == "refused" and why in verdict.reason


def test_forged_proofs_of_types_are_refused() -> None:
    instance, data = proved()
    first, *rest = data["tree"]
    forged = [
        data | {"tree": [first]},
        data | {"tree": [first, *rest[: len(rest) // 2]]},
        data | {"tree": [first, *rest, *rest]},
        data | {"tree": [{"v": len(data["vectors"]) - 1}]},
        data | {"tree": rest},
        data | {"goal": 6},
    ]
    for wrong in forged:
        assert check_here(instance, wrong).status == "refused"


@pytest.mark.parametrize(("nodes", "number"), [(1, 1), (0, 2)])
def test_a_stopped_search_goes_on(nodes: int, number: int) -> None:
    """Also for the first goal, below the known bound; but not if its prices were not found."""
    (part, _) = components(three_each()).values()
    component = components_module._Component(part, 3, 4, limit=0.0)
    stopped = {"run.return_value": Proved(None, nodes=nodes), "pools": []}
    search = mock.Mock(return_value=mock.Mock(**stopped))
    with mock.patch.object(components_module, "GoalSearch", search):
        for _ in range(2):
            component.advance(6, Budget(Clock(60)))
    assert search.call_count == number
    component.limit = 60.0
    component.searches.clear()
    component.advance(6, Budget(Clock(60)))
    assert component.lower == 3 and component.proof is not None and not component.searches


def test_a_goal_that_takes_too_long_gives_way_to_a_nearer_one() -> None:
    """Of the goals 3 to 8, the last one is tried first, then the one in the middle."""
    (part, _) = components(three_each()).values()
    component = components_module._Component(part, 3, 9, proof=mock.Mock(), step=20, limit=0.0)
    stopped = {"run.return_value": Proved(None, nodes=1), "pools": []}
    search = mock.Mock(return_value=mock.Mock(**stopped))
    with mock.patch.object(components_module, "GoalSearch", search):
        for _ in range(3):
            component.advance(20, Budget(Clock(60)))
    assert [call.args[1] for call in search.call_args_list] == [8, 5, 3]


def test_a_goal_begins_with_the_prices_of_the_last_one() -> None:
    """They leave out runs of its program before others are found."""
    (part, _) = components(three_each()).values()
    component = components_module._Component(part, 3, 9)
    with mock.patch.object(prove_module, "FEW_RUNS", 0):
        component.advance(9, Budget(Clock(60)))
    assert component.proof is not None
    prices = [vector for vector in component.proof.proof.vectors if "p" in vector][-1:]
    with mock.patch.object(
        components_module, "GoalSearch", side_effect=RefusedError("", "")
    ) as new:
        component.advance(9, Budget(Clock(60)))
    assert component.prices == prices != [] and new.call_args.args[3] == prices
