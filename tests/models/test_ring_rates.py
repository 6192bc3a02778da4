"""The table of rates of family `ring`, against (8) worked out by hand and in plain Python."""

import math

import pytest
from hypothesis import given, settings

from schedgap.models.ring.rates import NEVER, no_schedule, rate_table
from strategies.ring import plain_rate, ring_instances
from strategies.ring_examples import W1, W2, W3, instance_of, job


def test_w1_has_its_rates():
    # chunk = 4/3 / 4 * 3 = 1; passes 0.005 * 8 + 0.02 = 0.06; reduction 1/100
    # one server: 2/100 + .01 + .01 + .06 = .1; two: 2/40 f + .01 + .02 + .06 with f = 1, 3.5
    table = rate_table(W1)
    assert table.iteration_slots(0, 1) == pytest.approx([0.1])
    assert table.iteration_slots(0, 2) == pytest.approx([0.14, 0.265])
    assert table.iteration_slots(0, 3) == pytest.approx([0.15, 0.275])
    assert [table.rates(0, n) for n in (1, 2, 3)] == [(10,), (0, 7, 3), (0, 6, 3)]
    assert table.rate(0, 2, 3) == 0  # three rings never meet


def test_w1_has_its_numbers():
    # no server holds 4: two servers alone, ceil(24/7) = 4; at worst ceil(24/3) = 8
    table = rate_table(W1)
    assert table.fewest_servers == (2, 2) and table.most_servers == (3, 3)
    assert table.best_slots == (4, 4) and table.worst_slots == (8, 8)
    assert table.estimate == pytest.approx((24 * 0.14, 24 * 0.14))
    assert table.longest == 4 and table.area == math.ceil(2 * 4 * 4 / 9)


def test_w2_is_scheduling_on_two_machines():
    table = rate_table(W2)
    assert table.best_slots == table.worst_slots == table.estimate == (3, 3, 2, 2, 2)
    assert table.area == 6


def test_w3_has_its_rates():
    table = rate_table(W3)
    assert table.rates(0, 1) == table.rates(4, 1) == (14,)
    for j in (1, 2, 3):
        assert table.rates(j, 1) == (10,) and table.rates(j, 2) == (0, 7, 4, 3)
    assert table.best_slots == (5, 6, 3, 3, 2) and table.area == 7  # ceil(37/6)


def test_a_quotient_just_under_a_whole_number_is_it():
    # 1 / 0.05 is 20; 0.1 + 0.2 is just above 0.3, so 3 / (0.1 + 0.2) just below 10
    passes = {"batch_size": 1, "forward_time_per_sample": 0.1, "backward_time": 0.2}
    one = instance_of([job("a", 1, 100, **passes)], [1], rate_scale=3, overhead_per_server=0)
    assert rate_table(one).rates(0, 1) == (10,)


def test_a_rate_is_at_most_what_there_is_to_do():
    quick = {"batch_size": 1, "forward_time_per_sample": 0, "backward_time": 1e-300}
    one = instance_of([job("a", 1, 10**9, **quick)], [1], rate_scale=10_000, overhead_per_server=0)
    assert rate_table(one).rates(0, 1) == (10**13,) and rate_table(one).best_slots == (1,)


@given(ring_instances())
@settings(max_examples=70, deadline=None)
def test_the_table_is_equation_8_to_the_bit(instance):
    table = rate_table(instance)
    for j in range(len(instance.jobs)):
        for n in range(1, table.most_servers[j] + 1):
            for p in [0] if n == 1 else range(1, table.max_contention + 1):
                assert table.rate(j, n, p) == plain_rate(instance, j, n, p)


@given(ring_instances())
@settings(max_examples=70, deadline=None)
def test_rates_fall_with_servers_and_with_neighbors(instance):
    table = rate_table(instance)
    for j in range(len(instance.jobs)):
        rows = [table.rates(j, n) for n in range(1, table.most_servers[j] + 1)]
        states = [(1, 0)] + [(n, 1) for n in range(2, len(rows) + 1)]
        alone = [table.rate(j, *state) for state in states]
        assert alone == sorted(alone, reverse=True)
        for row in rows[1:]:
            assert list(row[1:]) == sorted(row[1:], reverse=True)


def test_why_there_is_no_schedule():
    assert no_schedule(W1) is None
    large = instance_of([job("a", 4, 24), job("b", 10, 1)], [3, 3, 3])
    assert no_schedule(large) == "job b asks for 10 GPUs, there are 9"
    assert rate_table(large).best_slots[1] == rate_table(large).area == NEVER
    slow = instance_of([job("a", 4, 24, 4 / 3)], [3, 3, 3], bandwidth_between=0.5)
    assert no_schedule(slow) == "job a makes no progress: less than one unit of it in a slot"
    late = instance_of([job("a", 4, 24, 4 / 3)], [3, 3, 3], horizon=3)
    assert no_schedule(late) == "every schedule takes 4 slots or more, the horizon is 3"
    just = instance_of([job("a", 4, 24, 4 / 3)], [3, 3, 3], horizon=4)
    assert no_schedule(just) is None
