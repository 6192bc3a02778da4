"""Branch and price for worker types: bounds that hold at every stop, and what certificates say."""

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedgap.errors import InputError
from schedgap.instances.edge import EdgeInstance
from schedgap.instances.edge.compiled import Ints
from schedgap.models.edge.bounds import branch_and_price
from schedgap.models.edge.bounds.branch_and_price import Master, TypeTree, branch_types
from schedgap.models.edge.bounds.certificates import check_certificate
from schedgap.models.edge.bounds.type_pricing import ATTRIBUTES, TASK, TypeRelaxation, blocks
from schedgap.models.edge.bounds.type_tree import Branch, halves, least_bound
from schedgap.models.edge.bounds.worker_types import certificate, solve_types, sum_of_bounds
from schedgap.models.edge.decisions import compiled, infeasibility_reason
from schedgap.models.edge.programs.dual import rounded
from schedgap.models.method import Budget
from schedgap.solvers import Clock
from strategies.edge import brute_force, edge_instances, instance_of

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}


class Steps(Clock):
    """A clock that expires after it has been asked some times."""

    def __init__(self, steps: int) -> None:
        super().__init__(None)
        object.__setattr__(self, "left", steps)

    def expired(self) -> bool:
        object.__setattr__(self, "left", self.left - 1)  # type: ignore[attr-defined]
        return bool(self.left < 0)  # type: ignore[attr-defined]


def tree_bounds(instance: EdgeInstance, steps: int | None, upper: float, block: int) -> float:
    """Grow a tree of each worker type, and evaluate the certificate."""
    view = compiled(instance)
    known = solve_types(view, budget=Budget(Clock(10)), block=block)
    found = []
    for bound in known:
        tree = TypeTree(view, bound, upper, budget=Budget(Clock(10)))
        tree.grow(Clock(5) if steps is None else Steps(steps))
        tree.grow(Steps(3))  # it goes on
        found.append(tree.found())
        assert found[-1].bound >= bound.bound
    data = json.loads(json.dumps(certificate(instance, found)))
    assert check_certificate(instance, data) == sum_of_bounds([each.bound for each in found])
    return sum_of_bounds([each.bound for each in found])


def holds(instance: EdgeInstance, steps: int | None, above: int, block: int) -> None:
    if infeasibility_reason(instance) is None:
        optimum = brute_force(instance)
        upper = math.inf if optimum == math.inf else optimum + above
        assert tree_bounds(instance, steps, upper, block) <= optimum


STEPS = st.none() | st.integers(0, 40)


@settings(max_examples=20, **QUIET)
@given(edge_instances(placeable=True), STEPS, st.integers(0, 3), st.sampled_from([1, 2, 4]))
def test_the_bound_is_below_the_optimum_at_every_stop(
    instance: EdgeInstance, steps: int | None, above: int, block: int
) -> None:
    holds(instance, steps, above, block)


@pytest.mark.nightly
@settings(max_examples=300, **QUIET)
@given(edge_instances(placeable=True), STEPS, st.integers(0, 3), st.sampled_from([1, 2, 4]))
def test_the_bound_is_below_the_optimum_at_every_stop_at_length(
    instance: EdgeInstance, steps: int | None, above: int, block: int
) -> None:
    holds(instance, steps, above, block)


@st.composite
def trees(draw: st.DrawFn, jobs: int, depth: int = 0) -> list[Branch | None]:
    """Branches in preorder; None for a leaf."""
    if depth == 4 or draw(st.booleans()):
        return [None]
    number = st.integers(-1, 9)
    branch = draw(st.builds(Branch, st.integers(0, jobs - 1), st.integers(0, 3), number))
    return [branch, *draw(trees(jobs, depth + 1)), *draw(trees(jobs, depth + 1))]


@settings(max_examples=30, **QUIET)
@given(edge_instances(placeable=True), st.data())
def test_any_prices_in_any_tree_prove_a_bound(instance: EdgeInstance, data: st.DataObject) -> None:
    if infeasibility_reason(instance) is not None:
        return
    view, bounds = compiled(instance), []
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6), label="seed"))
    for u in view.of_type:
        ends = data.draw(st.sets(st.integers(1, view.slots), min_size=1), label="ends")
        types = TypeRelaxation(view, u, np.array(sorted(ends)))
        shape = len(types.rows), len(types.lengths)
        nodes = data.draw(trees(len(types.tasks)))
        tree = [rounded(rng.exponential(0.3, shape)) if node is None else node for node in nodes]
        bounds.append(least_bound(types, tree))
        with pytest.raises(ValueError, match="missing"):
            least_bound(types, [Branch(0, 0, 3), *tree])
        with pytest.raises(ValueError, match="more nodes"):
            least_bound(types, [*tree, np.zeros(shape)])
    assert sum_of_bounds(bounds) <= brute_force(instance)


@settings(max_examples=20, **QUIET)
@given(edge_instances(placeable=True), st.data())
def test_every_column_is_in_one_half_of_a_box(instance: EdgeInstance, data: st.DataObject) -> None:
    if infeasibility_reason(instance) is not None:
        return
    view = compiled(instance)
    u = next(iter(view.of_type))
    types = TypeRelaxation(view, u, blocks(view.slots, 1))
    _, _, columns = types.bound(np.zeros((2, view.slots)))
    box = types.everything
    assert types.inside(columns, box).all()
    for _ in range(3):
        branch = Branch(
            data.draw(st.integers(0, len(types.tasks) - 1)),
            data.draw(st.integers(0, len(ATTRIBUTES) - 1)),
            data.draw(st.integers(-1, 9)),
        )
        own = columns[columns[:, TASK] == branch.task]
        one, other = (types.inside(own, half) for half in halves(box, branch))
        assert ((one ^ other) == types.inside(own, box)).all()
        box = halves(box, branch)[data.draw(st.integers(0, 1))]
        inside = types.bound(np.zeros((2, view.slots)), box)[2]
        assert types.inside(inside, box).all()
        missed = set(columns[types.inside(columns, box)][:, TASK].tolist())
        assert missed <= set(inside[:, TASK].tolist())


def contended() -> EdgeInstance:
    """Four jobs on one server of four workers; the relaxation proves 13, the optimum is 14."""
    server = {"id": "s", "kind": "edge", "workers": {"gpu": 4}, "parameter_servers": {"cpu": 9}}
    drawn = [(2, 3, 3), (3, 3, 2), (3, 3, 3), (2, 2, 2)]
    jobs = [
        {"chunks": chunks, "epochs": epochs, "arrival": arrival, "transfer_delay": {"s": 0}}
        for chunks, epochs, arrival in drawn
    ]
    return instance_of(jobs, servers=[server], horizon=14)


@pytest.fixture(scope="module")
def proof() -> dict[str, Any]:
    instance, reported = contended(), list[Any]()
    view, budget = compiled(instance), Budget(Clock(10))
    known = solve_types(view, budget=budget)
    assert known[0].bound <= 13
    found = branch_types(view, known, {0: 14}, budget=budget, on_better=reported.append)
    assert math.ceil(found[0].bound) == 14 == brute_force(instance) and reported
    data: dict[str, Any] = json.loads(json.dumps(certificate(instance, found)))
    return data


def test_a_tree_closes_the_gap_of_the_relaxation(proof: dict[str, Any]) -> None:
    assert check_certificate(contended(), proof) == 14


@pytest.mark.parametrize(("most", "upper"), [(64, 14), (2, 16)])
def test_a_tree_that_is_stopped_at_any_time_has_a_certificate_of_its_bound(
    most: int, upper: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A leaf that was stopped has other prices afterwards; blocks of slots are split."""
    monkeypatch.setattr(branch_and_price, "BLOCKS", most)
    instance = contended()
    view = compiled(instance)
    (known,) = solve_types(view, budget=Budget(Clock(10)), block=4)
    weak = replace(known, bound=-1.0, prices=0 * known.prices, columns=known.columns[:0])
    split = False
    for steps in (1, 2, 5, 11):
        tree = TypeTree(view, weak, upper, budget=Budget(Clock(10)))
        first = len(tree.types.ends)
        for _ in range(60):
            tree.grow(Steps(steps))
            data = json.loads(json.dumps(certificate(instance, [tree.found()])))
            assert check_certificate(instance, data) == math.ceil(tree.bound)
        split |= len(tree.types.ends) > first
    assert split == (most == 2)


@pytest.mark.parametrize("most", range(1, 6))
def test_a_tree_never_has_more_nodes_than_a_certificate_takes(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A branch adds two nodes."""
    monkeypatch.setattr(branch_and_price, "MAX_NODES", most)
    view = compiled(contended())
    (known,) = solve_types(view, budget=Budget(Clock(10)))
    tree = TypeTree(view, known, math.inf, budget=Budget(Clock(10)))
    assert not tree.grow(Clock(10))
    assert tree.nodes == len(list(tree.root.preorder())) == most - (most + 1) % 2


def test_the_master_never_loads_more_columns_than_it_keeps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Column generation may have found a hundred thousand, which fill the memory."""
    monkeypatch.setattr(branch_and_price, "MANY", 5)
    monkeypatch.setattr(branch_and_price, "KEPT", 4)
    loaded, add = list[int](), Master.add

    def recorded(master: Master, columns: Ints) -> None:
        loaded.append(len(columns))
        add(master, columns)

    monkeypatch.setattr(Master, "add", recorded)
    view = compiled(contended())
    (known,) = solve_types(view, budget=Budget(Clock(10)))
    assert len(known.columns) > 5
    TypeTree(view, known, 14, budget=Budget(Clock(10)))
    assert loaded == [4]


def refusal(instance: EdgeInstance, data: dict[str, Any]) -> InputError | None:
    """Return why a certificate is refused; otherwise it proves at most the optimum."""
    try:
        assert check_certificate(instance, data) <= 14
    except InputError as error:
        return error
    return None


def test_a_changed_tree_proves_less_or_is_refused(proof: dict[str, Any]) -> None:
    """Left out, swapped, or about something else: in one line, and never a false bound."""
    instance, tree = contended(), proof["types"][0]["tree"]
    changed = [tree[:k] + tree[k + 1 :] for k in range(len(tree))]
    changed += [[*tree[:k], tree[k + 1], tree[k], *tree[k + 2 :]] for k in range(len(tree) - 1)]
    changed += [tree + tree[-1:], [], tree + tree]
    for k, node in enumerate(tree):
        if "job" in node:
            for key, wrong in (("job", "x"), ("attribute", "x"), ("most", node["most"] + 3)):
                changed.append([*tree[:k], node | {key: wrong}, *tree[k + 1 :]])
    refused = 0
    for other in changed:
        data = proof | {"types": [proof["types"][0] | {"tree": other}]}
        if (error := refusal(instance, data)) is not None:
            assert (error.path or "").startswith("certificate") and "\n" not in str(error)
            refused += 1
    assert refused > len(tree)


def test_the_reason_of_a_refusal_names_the_place(proof: dict[str, Any]) -> None:
    entry = proof["types"][0]
    leaf = next(k for k, node in enumerate(entry["tree"]) if "job" not in node)
    first, *others = entry["tree"]
    wrong = {
        "certificate.types[0].block": {"block": 0},
        "certificate.types[0].tree[0].attribute": {"tree": [first | {"attribute": "x"}, *others]},
        f"certificate.types[0].tree[{leaf}].cuts": {
            "tree": [*entry["tree"][:leaf], entry["tree"][leaf] | {"cuts": 0}]
        },
    }
    for path, change in wrong.items():
        error = refusal(contended(), proof | {"types": [entry | change]})
        assert error is not None and error.path == path


def test_the_blocks_of_a_tree_ascend_to_its_last_slot(proof: dict[str, Any]) -> None:
    entry = proof["types"][0]
    slots = entry["slots"]
    first, second, *others = entry["ends"]
    for ends in (
        [slots - 1], [slots + 1], [2, 2, slots], [slots, 2],
        [first, first, *others], [second, first, *others], [second + 1, second, *others],
    ):  # fmt: skip
        data = proof | {"types": [entry | {"ends": ends}]}
        assert "ends: need ascending slots" in str(refusal(contended(), data))
