"""The rows of the paper's program, looked at one by one."""

from itertools import combinations, product

from schedgap.models.hare.programs import printed
from strategies.hare import instance_of

# Two GPUs; J1 has two rounds of two tasks (tasks 0, 1 and 2, 3), J2 one task (4).
INSTANCE = instance_of(
    ["g1", "g2"],
    [
        {"rounds": 2, "tasks_per_round": 2, "training_time": {"kind-g1": 2, "kind-g2": 3}},
        {"rounds": 1, "tasks_per_round": 1, "training_time": {"kind-g1": 4, "kind-g2": 1}},
    ],
)


def test_big_m_has_both_orders_of_every_pair() -> None:
    """Every pair but those that (7) orders already, on every GPU, both ways round."""
    model = printed.build(INSTANCE).model
    ordered = set(product((0, 1), (2, 3)))
    pairs = set(combinations(range(5), 2)) - ordered
    for rows in (model.eq_8_first, model.eq_8_second):
        assert set(rows) == {(i, j, m) for i, j in pairs for m in (0, 1)}
    assert set(model.before) == pairs


def test_the_last_round_has_no_barrier_row() -> None:
    """(7) for round 1 only: tasks 0, 1 end it, tasks 2, 3 start after it; pairs when asked for."""
    model = printed.build(INSTANCE).model
    assert set(model.eq_7_end) == {0, 1}
    assert set(model.eq_7_start) == {2, 3}
    assert set(model.eq_6) == {2, 3, 4}
    pairs = printed.build(INSTANCE, pairwise=True).model.eq_7
    assert set(pairs) == set(product((0, 1), (2, 3)))
