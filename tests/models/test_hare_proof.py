"""Proofs of hare optima: windows and prices of `proof.py` against enumeration."""

import json
from typing import Any

import pytest
from hypothesis import given, settings

from schedgap.instances.hare import HareInstance
from schedgap.models.hare import proof
from schedgap.models.hare.algorithms.list_wspt import list_wspt
from schedgap.models.hare.exact.branch_and_price import BranchAndPrice
from schedgap.models.hare.exact.prove import prove_goal
from schedgap.solvers import Clock
from schedgap.solvers.proofs.checker import Checked, RefusedError, check_tree
from schedgap.solvers.proofs.prover import Proved
from strategies.hare import brute_force, hare_instances


def proved(instance: HareInstance, optimum: float) -> Proved:
    """Return what the prover says, from an optimal schedule."""
    search = BranchAndPrice(instance, list_wspt(instance), clock=Clock(60))
    result = search.run()
    schedule = result.schedule.to_data(instance)
    goal = proof.goal(instance, optimum)
    assert goal is not None
    return prove_goal(instance, goal, schedule, clock=Clock(60))


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


@settings(max_examples=20, deadline=None)
@given(hare_instances())
def test_optima_are_proved_and_nothing_else(instance: HareInstance) -> None:
    hold_to_enumeration(instance)


@pytest.mark.nightly
@settings(max_examples=3000, deadline=None)
@given(hare_instances())
def test_thousands_of_optima_are_proved_and_nothing_else(instance: HareInstance) -> None:
    hold_to_enumeration(instance)
