"""Rows for (2) and (3) separate just the whole numbers that the rules separate, with room."""

import pytest
from hypothesis import given, settings

from schedgap.errors import ScaleError
from schedgap.instances.dmlrs import arrays
from schedgap.models.dmlrs.cover import cover, is_close, least_external, ps_slope
from schedgap.models.dmlrs.physics import external_width, first_completions, progress, widths
from strategies.dmlrs import dmlrs_instances, is_done, plain_ps
from strategies.dmlrs_examples import TOY, TOY_2, instance_of, job


def test_toy():
    """N_int = 4, N_ext = 7.2: A inside needs ceil(7.2 - 1.8 A) across: 8, 6, 4, 2, 0."""
    assert least_external(TOY, 0).tolist() == [8, 6, 4, 2, 0]
    row = cover(TOY, 0)
    assert row.stretch == pytest.approx(1.8)
    # enough: 7.2 (A = 4, B = 0), the least of all; too little: 7 (A = 0, B = 7), the most
    assert row.least == pytest.approx(7.1) and row.gap == pytest.approx(0.1)


def test_one_machine_needs_no_stretch():
    assert (cover(TOY_2, 0).stretch, cover(TOY_2, 0).least) == (1, 3.5)


def test_slope_of_two_workers_for_each_ps():
    """n / m(n) is at most 2; n / (m(n) - 1) at least 3: (2) holds for any slope between."""
    assert ps_slope(TOY, 0) == 2.5


def test_a_long_row_needs_the_least_tolerances():
    """300,000 samples: N_int = 4e4, N_ext = 7.2e4, and still 0.1 of room."""
    long = instance_of([job("j1", 1, [1.0] * 4000, samples=300_000)], horizon=4000)
    assert cover(long, 0).gap == pytest.approx(0.1)
    assert is_close(long, 0) and not is_close(TOY, 0)


@settings(deadline=None)
@given(dmlrs_instances())
def test_rows_say_what_the_rules_say(instance):
    view = arrays(instance)
    for i, first in enumerate(first_completions(instance)):
        if first > instance.horizon:
            continue
        row, slots = cover(instance, i), instance.horizon - int(view.arrival[i]) + 1
        assert row.gap > 1e-3
        for A in range(slots * int(widths(instance).internal[i].max()) + 1):
            for B in range(slots * external_width(instance, i) + 1):
                value = row.stretch * A + B
                assert abs(value - row.least) > row.gap - 1e-9
                assert (value > row.least) == is_done(instance, i, (A, B))


@settings(deadline=None)
@given(dmlrs_instances())
def test_least_external_is_the_first_that_does_the_work(instance):
    for i in range(len(instance.jobs)):
        for A, B in enumerate(least_external(instance, i).tolist()):
            assert progress(instance, i, A, B) >= 1 - 1e-9
            assert B == 0 or progress(instance, i, A, B - 1) < 1 - 1e-9


@settings(deadline=None)
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
        least_external(instance, 0)
