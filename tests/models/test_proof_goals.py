"""The value that a proof of optimality has to exclude, at all magnitudes and in all families."""

import math
from collections.abc import Callable
from decimal import ROUND_FLOOR
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import schedgap as sg
from schedgap.instances.instance import Instance
from schedgap.models import proofs
from schedgap.models.dmlrs import proof as dmlrs_proof
from schedgap.models.proofs import excluded_text, excluded_value, proof_width, shortfall
from strategies import dmlrs_examples, edge, elastic, hare, ring_examples

MAGNITUDES = [1, 10**6, 10**9, 3 * 10**9, 10**15]
TASK = {"rounds": 1, "tasks_per_round": 1, "training_time": {"k": 1}}
RUN = {"train_time": {"w1": 0.5}, "update_time": {"p1": 0.0}}


def hare_of(magnitude: int, unit: Fraction) -> Instance:
    times = {"training_time": {"k": float(unit)}}
    jobs = [TASK | times | {"weight": min(magnitude, 10**12)}, TASK | times | {"weight": 1}]
    return hare.instance_of({"g": "k"}, jobs)


def edge_of(magnitude: int, unit: Fraction) -> Instance:
    return edge.instance_of([{}])


def ring_of(magnitude: int, unit: Fraction) -> Instance:
    return ring_examples.W1


def elastic_of(magnitude: int, unit: Fraction) -> Instance:
    return elastic.instance_of([RUN | {"weight": float(unit)}, RUN | {"weight": float(3 * unit)}])


def batch_of(magnitude: int, unit: Fraction) -> Instance:
    jobs = [RUN | {"weight": float(unit)}, RUN | {"weight": float(3 * unit)}]
    return elastic.instance_of(jobs, objective="scheduled_weight", deadline=5)


WHOLE = Fraction(1)
GRIDS = [
    (hare_of, WHOLE, False), (hare_of, Fraction(1, 1000), False), (edge_of, WHOLE, False),
    (ring_of, WHOLE, False), (elastic_of, WHOLE, False), (elastic_of, Fraction(1, 100), False),
    (batch_of, WHOLE, True), (batch_of, Fraction(1, 100), True),
]  # fmt: skip


@pytest.mark.parametrize("magnitude", MAGNITUDES)
@pytest.mark.parametrize(("build", "unit", "high"), GRIDS)
def test_the_goal_is_the_next_better_value(
    build: Callable[[int, Fraction], Instance], unit: Fraction, high: bool, magnitude: int
) -> None:
    """Values are whole multiples of a unit; V is among them, and its neighbours are not V."""
    instance, sign = build(magnitude, unit), -1 if high else 1
    for steps in (magnitude, magnitude + 1, magnitude + 2, magnitude + 7):
        value = float(steps * unit)
        goal = excluded_value(instance, value)
        if goal is None:  # said in one line, and no claim is made
            assert build is hare_of and magnitude == 10**15
            assert "too large to be told apart" in shortfall(instance, 10**40, value)
            continue
        assert goal == sign * steps - 1
        assert proof_width(instance, value) == 0
        assert shortfall(instance, goal, value) == ""
        worse, better = (float((steps + d) * unit) for d in (sign, -sign))
        assert shortfall(instance, goal, worse) != ""  # one step worse than the optimum
        assert shortfall(instance, goal - 1, value) != ""
        if steps > 1:
            assert shortfall(instance, goal, better) == ""
        said = excluded_text(instance, goal).removeprefix("no schedule has value ")
        compare, number = said.split()
        assert compare == (">=" if high else "<=")
        assert Fraction(number) == (steps - sign) * unit


@pytest.mark.parametrize("magnitude", MAGNITUDES[:-1])
@pytest.mark.parametrize("wait", [0.4, 0.01, 0.6, 0.999])
def test_the_value_of_a_hare_schedule_that_waits_is_no_optimum(magnitude: int, wait: float) -> None:
    instance = hare_of(magnitude, WHOLE)
    assert excluded_value(instance, magnitude + 2 + wait) == magnitude + 2


@given(st.integers(1, 10**12), st.lists(st.sampled_from([0.1, 0.001, 0.7]), max_size=9))
def test_round_off_of_a_hare_objective_is_no_wait(weight: int, times: list[float]) -> None:
    """The rules add times in doubles and multiply by the weight; the grid is exact."""
    rounds = [[{"training_time": {"k": time}}] for time in (0.001, *times)]
    instance = hare.instance_of({"g": "k"}, [{"task_rounds": rounds, "weight": weight},
                                             TASK | {"weight": 1}])  # fmt: skip
    end, exact = 0.0, Fraction(0)
    for (task,) in rounds:
        time = task["training_time"]["k"]
        end, exact = end + time, exact + Fraction(repr(time))
    goal = excluded_value(instance, math.fsum([weight * end, 1.0]))
    if goal is not None:
        assert goal == (weight * exact + 1) * 1000 - 1


@pytest.mark.parametrize("build", [edge_of, ring_of])
def test_objectives_beyond_doubles_have_no_proof(build: Any) -> None:
    instance = build(1, WHOLE)
    assert excluded_value(instance, 2.0**53 - 1) == 2**53 - 2
    assert excluded_value(instance, 2.0**53) is None
    assert excluded_value(instance, 40.5) == 40  # no schedule has it, and 40 would be better


@pytest.mark.parametrize("size", [0, 1, 1e6, 1e9, 3e9, 1e12, 1e-9])
def test_the_goal_of_utilities_leaves_the_width_open_and_no_more(size: float) -> None:
    values = [size * share for share in (1.0, 0.75, 0.5, 0.25)]
    instance = dmlrs_examples.instance_of([dmlrs_examples.job("j1", 1, values)])
    width = Fraction(5, 10**7)
    assert proof_width(instance, size) == 5e-7
    for value in (size, 0.75 * size):
        goal = excluded_value(instance, value)
        assert goal is not None
        _, least = dmlrs_proof.excluded(instance, goal)  # the least sum that is excluded
        step = Fraction(1, dmlrs_proof.units(instance))
        assert Fraction(value) < least <= max(Fraction(value) * (1 + width) + step, step)
        assert shortfall(instance, goal, value) == ""
        if size:
            assert shortfall(instance, goal, 0.25 * size) != ""
        text = excluded_text(instance, goal).removeprefix("no schedule has value >= ")
        assert least <= Fraction(text) <= least * (1 + Fraction(1, 10**11))  # claims no more


def test_weights_that_are_rounded_leave_a_width_open() -> None:
    instance = elastic.instance_of([RUN, RUN | {"weight": 1e9 + 1 / 3}])
    goal = excluded_value(instance, 2e9)
    assert goal is not None
    assert proof_width(instance, 2e9) == 5e-7
    said = excluded_text(instance, goal).removeprefix("no schedule has value <= ")
    assert 2e9 * (1 - 6e-7) < float(said) <= 2e9 * (1 - 5e-7)


@pytest.mark.parametrize(
    ("instance", "reason"),
    [
        (hare_of(1, WHOLE), "there always is a schedule"),
        (batch_of(1, WHOLE), "there always is a schedule of a batch"),
        (dmlrs_examples.TOY, "there always is a schedule"),
    ],
)
def test_a_family_that_always_has_a_schedule_says_so(instance: Instance, reason: str) -> None:
    assert excluded_value(instance, None) is None
    assert shortfall(instance, 10**40, None).endswith(f"that there is no schedule: {reason}")


def test_a_bound_between_two_values_asks_for_the_next_one() -> None:
    """No part of a unit is given away: a bound of 338.4 needs that 338 is excluded."""
    instance = sg.generate("elastic", preset="small", seed=1)
    assert excluded_value(instance, 338.0) == 337
    assert [excluded_value(instance, 338 + part) for part in (0.4, 0.5, 0.6)] == [338] * 3


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Fraction(10**16), "10000000000000000"),
        (Fraction(10**17), "1e+17"),
        (Fraction(1, 10**9), "0.000000001"),
        (Fraction(1, 10**10), "1e-10"),
        (Fraction(2, 3), "0.666666666666"),  # below, with 12 digits
        (Fraction(-2, 3), "-0.666666666667"),
    ],
)
def test_an_excluded_value_is_short_and_on_the_weaker_side(value: Fraction, shown: str) -> None:
    assert proofs._decimal(value, ROUND_FLOOR) == shown
