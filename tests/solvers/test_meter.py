"""What engines have spent is counted once, and confirmations apart."""

import pytest

from schedgap.solvers.children import meter


@pytest.fixture(autouse=True)
def _new_task() -> None:
    meter.reset()


def spin() -> None:
    sum(range(200_000))


def test_an_engine_inside_another_one_counts_once() -> None:
    for runs in (1, 2):
        with meter.engine() as outer:
            with meter.engine() as inner:
                spin()
            assert meter.total().runs == runs - 1  # the outer one has not ended
            spin()
        assert meter.total().runs == runs
        assert outer.engine > inner.engine > 0
    assert meter.total().engine >= outer.engine
    assert meter.total().engine_cpu > 0


def test_an_engine_that_fails_has_run() -> None:
    for runs in (1, 2):
        with pytest.raises(ValueError, match="engine"), meter.engine():
            raise ValueError("engine")
        assert meter.total().runs == runs


def test_the_engines_of_a_confirmation_count_as_such() -> None:
    with meter.engine():
        spin()
    before = meter.total()
    with meter.confirmation(), meter.engine():
        spin()
    after = meter.total()
    assert (after.runs, after.engine) == (before.runs, before.engine) == (1, before.engine)
    assert after.confirm > before.confirm == 0


def test_the_times_of_a_child_are_added() -> None:
    for _ in range(2):
        meter.add(meter.Spent(runs=3, engine=2.0, engine_cpu=1.0, confirm=0.5))
    assert meter.total() == meter.Spent(runs=6, engine=4.0, engine_cpu=2.0, confirm=1.0)
    meter.reset()
    assert meter.total() == meter.Spent()
