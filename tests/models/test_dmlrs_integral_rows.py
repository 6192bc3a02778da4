"""Rows for (2) and (3) separate just the integers that the rules separate, with room."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.errors import ScaleError
from schedgap.instances.dmlrs import arrays
from schedgap.models.dmlrs.programs.integral_rows import (
    CoverRow,
    cover_row,
    min_external,
    ps_slope,
    separate,
    simplest_fraction,
)
from schedgap.models.dmlrs.throughput import (
    first_completions,
    machine_limits,
    max_external_workers,
    progress,
)
from strategies.dmlrs import dmlrs_instances, is_done, plain_ps
from strategies.dmlrs_examples import TOY, TOY_2, instance_of, job


def test_toy():
    """N_int = 4, N_ext = 7.2: A inside needs ceil(7.2 - 1.8 A) across: 8, 6, 4, 2, 0."""
    assert min_external(TOY, 0).tolist() == [8, 6, 4, 2, 0]
    # 2 A + B >= 8; 1.8 A + B >= 7.1 says no more of integers
    assert cover_row(TOY, 0) == CoverRow(2, 1, 8)


def test_one_machine_has_worker_slots_inside_only():
    assert cover_row(TOY_2, 0) == CoverRow(1, 1, 4)


def near_parallel():
    """The job of 8 x (1 + 1e-7) worker-slots inside, that needs 1e-7 more across."""
    own = job(
        "j1", 1, [1.0, 1.0], epochs=3, samples=7, batch_size=3, gradient_size=1.0,
        time_per_sample=0.05952380952380952, worker_ps_ratio=1.3333333333,
        internal_bandwidth=14.93333333296, external_bandwidth=14.933330346293928,
    )  # fmt: skip
    return instance_of([own], [{"gpu": 9, "cpu": 9}] * 3, horizon=2)


def test_a_stretch_near_1_is_the_row_of_1_and_1():
    view = arrays(near_parallel())
    assert 1 < view.needed[0, 1] / view.needed[0, 0] < 1 + 2e-7
    row = cover_row(near_parallel(), 0)
    assert (row.internal, row.external) == (1, 1)


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [(0, None, 1), ("7/2", None, 4), (0, 1, "1/2"), (1, 2, "3/2"), ("1/3", "1/2", "2/5")],
)
def test_the_simplest_fraction_between_two(low, high, found):
    end = None if high is None else Fraction(high)
    assert simplest_fraction(Fraction(low), end) == Fraction(found)


@settings(max_examples=50, deadline=None)
@given(st.fractions(0, 50), st.fractions(0, 50))
def test_no_fraction_of_less_denominator_lies_between(one, other):
    low, high = sorted((one, other))
    if low == high:
        return
    found = simplest_fraction(low, high)
    assert low < found < high
    for q in range(1, min(found.denominator, 200)):
        assert math.ceil(high * q) - 1 <= math.floor(low * q)  # no p with low < p / q < high


def test_no_row_for_pairs_on_no_line():
    """(0, 2) and (2, 2) suffice, and (1, 3), which is above what lies between them, does not."""
    assert separate(np.array([2, 4, 2]), 5) is None


def test_of_a_job_that_no_slots_complete_no_pair_passes():
    row = separate(np.array([4, 4]), 3)
    assert all(row.internal * A + row.external * B < row.least for A in (0, 1) for B in range(4))


@settings(deadline=None, max_examples=115)
@given(st.integers(0, 2**32))
def test_rows_hold_for_the_pairs_that_do_the_work(seed):
    """Needs near integers and stretches near 1, which floats tell apart by little."""
    random = np.random.default_rng(seed)
    inside = random.choice(
        [
            random.uniform(1, 40),
            random.integers(1, 40) * (1 + random.choice([0, 1e-8, -1e-8, 3e-7])),
        ]
    )
    stretch = random.choice([1 + 10.0 ** -random.integers(0, 13), 4 / 3, random.uniform(1, 90)])
    across, most = inside * stretch, int(random.choice([3, 30, 1000]))
    A, B = np.arange(math.ceil(inside) + 1)[:, None], np.arange(most + 1)
    done = A / inside + B / across >= 1 - 1e-9
    need = np.where(done.any(axis=1), done.argmax(axis=1), most + 1)
    row = separate(need, most)
    assert ((row.internal * A + row.external * B >= row.least) == done).all()


def test_slope_of_two_workers_for_each_ps():
    """n / m(n) is at most 2; n / (m(n) - 1) at least 3: (2) holds for any slope between."""
    assert ps_slope(TOY, 0) == 2.5


def test_a_long_row():
    """300,000 samples: N_int = 4e4, N_ext = 7.2e4; 4,000 slots of 2 workers, or of 4 across."""
    long = instance_of([job("j1", 1, [1.0] * 4000, samples=300_000)], horizon=4000)
    row = cover_row(long, 0)
    need = min_external(long, 0)
    for A in (0, 1, 2, 7_999, 8_000):
        for B in (0, 1, int(need[A]) - 1, int(need[A])):
            if 0 <= B <= 16_000:
                assert (row.internal * A + row.external * B >= row.least) == (need[A] <= B)


@settings(max_examples=45, deadline=None)
@given(dmlrs_instances())
def test_rows_say_what_the_rules_say(instance):
    view = arrays(instance)
    for i, first in enumerate(first_completions(instance)):
        if first > instance.horizon:
            continue
        row, slots = cover_row(instance, i), instance.horizon - int(view.arrival[i]) + 1
        for A in range(slots * int(machine_limits(instance).internal[i].max()) + 1):
            for B in range(slots * max_external_workers(instance, i) + 1):
                enough = row.internal * A + row.external * B >= row.least
                assert enough == is_done(instance, i, (A, B))


@settings(max_examples=45, deadline=None)
@given(dmlrs_instances())
def test_least_external_is_the_first_that_does_the_work(instance):
    for i in range(len(instance.jobs)):
        slots = instance.horizon - instance.jobs[i].arrival + 1
        beyond = slots * max_external_workers(instance, i) + 1
        for A, B in enumerate(min_external(instance, i).tolist()):
            assert beyond >= B and (beyond == B or progress(instance, i, A, B) >= 1 - 1e-9)
            assert B == 0 or progress(instance, i, A, B - 1) < 1 - 1e-9


@settings(max_examples=45, deadline=None)
@given(dmlrs_instances(max_workers=9, exact=False))
def test_slope_allows_just_enough_ps(instance):
    for i, own in enumerate(instance.jobs):
        slope = ps_slope(instance, i)
        for n in range(1, own.batch_size + 1):
            for s in range(1, own.batch_size + 1):
                assert (n <= slope * s) == (s >= plain_ps(instance, i, n))
                assert abs(n - slope * s) > 1e-3


def test_a_job_of_too_many_worker_slots_is_named():
    """6e8 samples at 1/15 of a slot: N_int = 4e7; 1,000 slots of 10,000 workers hold 1e7."""
    many = job(
        "j1", 1, [1.0] * 1000, samples=3 * 10**8, batch_size=10_000, worker_ps_ratio=5000.0,
    )  # fmt: skip
    room = {"gpu": 20_000, "cpu": 20_000}
    instance = instance_of([many], [room, room], horizon=1000)
    with pytest.raises(ScaleError, match="job j1 may have"):
        min_external(instance, 0)
