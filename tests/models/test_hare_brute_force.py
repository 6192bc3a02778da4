"""The enumeration that other tests take as an oracle, on optima worked out by hand."""

import pytest

from strategies.hare import brute_force
from strategies.hare_examples import FIGURE_4, THREE_UNIT_TASKS, TOY, TWO_GPUS, UNLIKE_ROUNDS


@pytest.mark.parametrize(
    ("instance", "optimum"),
    [(THREE_UNIT_TASKS, 6.4), (UNLIKE_ROUNDS, 2), (FIGURE_4, 11), (TWO_GPUS, 807), (TOY, 8)],
)
def test_enumeration_finds_the_optimum(instance, optimum):
    assert brute_force(instance) == pytest.approx(optimum)


def test_enumeration_of_fixed_synchronization_finds_figure_4():
    assert brute_force(FIGURE_4, "fixed") == 12.5


def test_a_round_wider_than_the_cluster_has_no_fixed_schedule():
    assert brute_force(TWO_GPUS, "fixed") == float("inf")
