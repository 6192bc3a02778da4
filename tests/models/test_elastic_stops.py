"""Exact methods of family `elastic`, stopped at any reading of the clock, claim nothing false."""

import math
from collections.abc import Callable
from itertools import takewhile

import pytest

from schedgap.models.elastic.exact import branching
from schedgap.solvers.children import run_child
from strategies.elastic_stops import STOPPED, WAYS, optimum_of, stopped, stops, switched

NAMES = sorted(STOPPED)
PROGRAMS = ("compact-exponential", "paper-milp", "time-indexed")


def tried(
    name: str, way: tuple[str, ...], *, first: int, spread: int, most: int,
    method: str = "price-and-enumerate",
) -> int:  # fmt: skip
    """Stop a method at many readings, until it ends by itself; returns how many."""
    optimum, engine = optimum_of(name), None if method == "price-and-enumerate" else "highs"
    number = 0
    with switched(way):
        for k in takewhile(lambda k: k <= most, stops(first, spread)):
            number += 1
            if stopped(method, STOPPED[name], optimum, k, engine):
                break
    return number


@pytest.mark.parametrize("name", NAMES)
def test_exact_stopped_anywhere_claims_nothing_false(name: str) -> None:
    way = WAYS[1 + NAMES.index(name) % 5]
    assert tried(name, way, first=8, spread=5, most=800) >= 8


@pytest.mark.parametrize("name", ["thirds", "closed"])
@pytest.mark.parametrize("method", PROGRAMS)
def test_programs_stopped_anywhere_claim_nothing_false(method: str, name: str) -> None:
    assert tried(name, ("bad start",), first=4, spread=3, most=60, method=method) >= 4


@pytest.mark.nightly
@pytest.mark.parametrize("way", WAYS, ids=", ".join)
@pytest.mark.parametrize("name", NAMES)
def test_exact_stopped_anywhere_claims_nothing_false_at_length(
    name: str, way: tuple[str, ...], record_property: Callable[[str, object], None]
) -> None:
    record_property("stops", tried(name, way, first=150, spread=60, most=1500))


@pytest.mark.nightly
@pytest.mark.parametrize("method", PROGRAMS)
@pytest.mark.parametrize("name", NAMES)
def test_programs_stopped_anywhere_claim_nothing_false_at_length(
    method: str, name: str, record_property: Callable[[str, object], None]
) -> None:
    number = tried(name, ("bad start",), first=40, spread=20, most=1000, method=method)
    record_property("stops", number)


def test_cp_sat_stopped_claims_nothing_false() -> None:
    """In a child of its own; amounts and weights in thirds are rounded there."""
    names = [name for name in NAMES if name != "wide"]
    reply = run_child(
        "strategies.elastic_cp_sat:stopped",
        [STOPPED[name] for name in names],
        limit=60,
        engine="cp-sat",
    )
    for name, ends in zip(names, reply.result(), strict=True):
        instance, optimum = STOPPED[name], optimum_of(name)
        sign = -1 if instance.is_batch else 1
        near = 1e-6 * abs(optimum) if math.isfinite(optimum) else 0.0
        for schedules, bounds, infeasible in ends:
            assert not infeasible or optimum == math.inf
            assert all(bound <= sign * optimum + near for bound in bounds)
            for schedule in schedules:
                assert sign * schedule.value(instance) >= sign * optimum - near
        *_, (schedules, bounds, infeasible) = ends
        assert infeasible or max(bounds) == pytest.approx(sign * optimum, rel=1e-6)
        assert infeasible or schedules[-1].value(instance) == pytest.approx(optimum)


def test_a_tree_that_loses_nodes_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same search, with a tree that forgets its children."""
    monkeypatch.setattr(branching.heapq, "heappush", lambda heap, node: None)
    with switched(WAYS[2]), pytest.raises(AssertionError):
        stopped("price-and-enumerate", STOPPED["ring"], optimum_of("ring"), 2000)
