"""The integer view of an instance and its windows."""

from fractions import Fraction

import pytest

from schedgap.errors import ScaleError
from schedgap.instances.hare.scale import grid
from schedgap.models.hare.integer_time import identical_jobs, latest_completions, steps
from strategies.hare import instance_of
from strategies.hare_examples import TOY, one_task


def test_the_toy_is_in_half_seconds() -> None:
    whole = steps(TOY)
    assert whole.step == Fraction(1, 2) and whole.grid == Fraction(1, 2)
    # Critical paths: J1 1, J2 1.5 + 1.5, J3 0.5 + 0.5 seconds.
    assert whole.critical.tolist() == [2, 6, 2]
    assert whole.critical_path_value == 10
    # All tasks one after another on their slowest GPUs: 2 x 2 + 2 x 2.5 + 4 x 2 = 17 seconds.
    assert whole.horizon == 34


def test_windows_leave_a_job_what_the_others_cannot_use() -> None:
    """J1 (w 2, L 3), J2 (w 1, L 4), arrivals 0: least 6 + 4 = 10; a schedule of 15 leaves 5."""
    instance = instance_of({"g": "k"}, [one_task(3, 2), one_task(4, 1)])
    assert latest_completions(steps(instance), 15).tolist() == [3 + 5 // 2, min(7, 4 + 5)]
    assert latest_completions(steps(instance)).tolist() == [7, 7]


def test_a_job_without_weight_may_be_as_late_as_the_horizon() -> None:
    instance = instance_of({"g": "k"}, [one_task(3, 0), one_task(4, 1)])
    assert latest_completions(steps(instance), 4).tolist() == [7, 4]


def test_weights_have_a_step_of_their_own() -> None:
    instance = instance_of({"g": "k"}, [one_task(1, weight) for weight in (1, 1.1, 1.2)])
    assert steps(instance).weight.tolist() == [10, 11, 12]
    assert grid(instance) == pytest.approx(0.1)


def test_equal_jobs_are_found() -> None:
    jobs = [one_task(3, 2), one_task(4, 2), one_task(3, 2), one_task(3, 1)]
    assert identical_jobs(instance_of({"g": "k"}, jobs)) == [(0, 2)]


@pytest.mark.parametrize(
    ("jobs", "words"),
    [
        ([one_task(0.0000001), one_task(1)], "integer steps per unit"),
        ([one_task(6e11), one_task(6e11 + 1)], "2^40"),
        ([one_task(2**30, 10**9), one_task(1, 10**9 + 7), one_task(3, 2**31)], "2^60"),
    ],
)
def test_what_whole_steps_cannot_hold_is_refused(jobs: list[dict[str, object]], words: str) -> None:
    instance = instance_of({"g": "k"}, jobs)
    with pytest.raises(ScaleError) as caught:
        steps(instance)
    assert words in str(caught.value)
    assert grid(instance) is None
