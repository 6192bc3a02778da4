"""Prices (12)-(14) and gains (31)-(32) of family `dmlrs`."""

import math

import numpy as np
import pytest

from schedgap.instances.dmlrs import arrays
from schedgap.models.dmlrs.algorithms.prices import declared, of_jobs
from schedgap.models.dmlrs.algorithms.rounding_gain import cover_gain, packing_gain, packing_width
from schedgap.models.dmlrs.slot_options import SlotState, job_at_arrival
from strategies.dmlrs_examples import TOY, instance_of, job


def test_a_price_goes_from_l_to_u():
    given = declared(TOY)
    assert given is not None
    capacity = arrays(TOY).capacity_milli
    empty, full = given.price(0 * capacity, capacity), given.price(capacity, capacity)
    assert empty == pytest.approx(0.01)
    assert full == pytest.approx(np.array([[8.0, 4.0]] * 2))
    half = given.price(capacity // 2, capacity)
    assert half[0, 0] == pytest.approx(math.sqrt(8 * 0.01))
    assert given.alpha == pytest.approx(math.log(800))


def test_a_resource_that_a_machine_lacks_has_no_price():
    given = declared(TOY)
    assert given is not None
    capacity = np.array([[0, 4000]])
    assert given.price(0 * capacity, capacity).tolist() == [[0.0, 0.01]]


def test_the_range_of_one_job_by_hand():
    # N_int / F = 1 slot, delay 0: 6 over alpha + beta = 1 GPU, 2 CPUs. N_ext = 7.2: 8 worker-slots,
    # 3 units each: 24. 1 / mu = 24 / (4 slots x 12 units); u(T - a) = 2: 24/48 x 1/2 x 2/24.
    one = instance_of([job("j1", 1, [6.0, 5.0, 4.0, 2.0])])
    found = of_jobs([job_at_arrival(one, 0)], 4, arrays(one).capacity_milli)
    assert found.largest.tolist() == [6.0, 3.0]
    assert found.smallest == pytest.approx(24 / 48 / 2 * 2 / 24)
    # as printed, the duration 1 less the arrival 3 gives no delay; the least delay is 0 as well
    late = instance_of([job("j1", 2, [6.0, 5.0, 4.0, 2.0], epochs=4)])
    capacity = arrays(late).capacity_milli
    assert of_jobs([job_at_arrival(late, 0)], 4, capacity).largest[0] == 5.0  # 2 slots, delay 1
    assert of_jobs([job_at_arrival(late, 0)], 4, capacity, literal=True).largest[0] == 6.0  # 2 - 2


def test_the_range_of_several_jobs_by_hand():
    # takes: 8 x 3 = 24, 14.4 across: 15 x 3 = 45, 24; 1 / mu = 24 / 48 by the least of them. Of
    # what they earn at T, 2, 1 and 0, for what they take, the least above 0 is 1/45.
    several = instance_of(
        [
            job("j1", 1, [6.0, 5.0, 4.0, 2.0]),
            job("j2", 1, [6.0, 5.0, 4.0, 1.0], epochs=4),
            job("j3", 1, [6.0, 5.0, 4.0, 0.0]),
        ]
    )
    found = of_jobs(
        [job_at_arrival(several, j) for j in range(3)], 4, arrays(several).capacity_milli
    )
    assert found.smallest == pytest.approx(24 / 48 / 2 * 1 / 45)


def test_a_utility_of_0_at_t_does_not_make_all_prices_0():
    one = instance_of([job("j1", 1, [6.0, 5.0, 4.0, 0.0])])
    found = of_jobs([job_at_arrival(one, 0)], 4, arrays(one).capacity_milli)
    assert found.smallest == pytest.approx(3e-6)
    dear = of_jobs([job_at_arrival(one, 0)], 4, arrays(one).capacity_milli, floor=100.0)
    assert dear.smallest == 3.0  # never above the least U


def test_gains_meet_their_tail_bounds():
    for width in (5.0, 8.0, 12.0, 43.0, 100.0, 1e6):
        gain = packing_gain(width, 10, 0.5)
        log = math.log(3 * 11 / 0.5)
        if width <= log:
            assert gain is None
            continue
        assert gain is not None
        mean, over = gain * width, 1 / gain - 1
        tail = over * over * mean / (3 if width >= 6 * log else 2 + over)
        assert tail == pytest.approx(log)
    for width in (1, 5, 100):
        gain = cover_gain(width, 0.5)
        under = 1 - 1 / gain
        assert under * under * gain * width / 2 == pytest.approx(math.log(6))


def test_no_gain_serves_machines_of_four_workers_at_scale():
    # 4 resources, 100 machines, delta 1: c <= 1/2 takes a width of 6 ln 1203
    assert 6 * math.log(1203) == pytest.approx(42.55, abs=0.01)
    assert packing_gain(4.0, 400, 1.0) is None
    two_forms = packing_gain(42.5, 400, 1.0), packing_gain(42.6, 400, 1.0)
    assert two_forms == pytest.approx((0.50, 0.50), abs=0.01)


def test_a_full_machine_does_not_narrow_the_width():
    room = arrays(TOY).capacity_milli.copy()
    room[1] = 0
    assert (
        packing_width(SlotState(job_at_arrival(TOY, 0), room, np.ones((2, 2)))) == 2.0
    )  # GPUs of m1
