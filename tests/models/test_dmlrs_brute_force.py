"""The optima that tests of family `dmlrs` are held to, worked out by hand."""

import pytest

from strategies.dmlrs import best_schedule, optimum, slot_choices
from strategies.dmlrs_examples import TOY, TOY_2, TOY_SCHEDULE, instance_of, job


def test_the_worked_examples_have_their_optima():
    assert optimum(TOY) == 20
    assert optimum(TOY_2) == 10


def test_the_best_schedule_is_worth_what_is_said():
    value, best = best_schedule(TOY)
    assert best.value(TOY) == value == 20
    assert type(best).from_data(TOY, TOY_SCHEDULE).value(TOY) == 20
    assert type(best).from_data(TOY, TOY_SCHEDULE).to_data(TOY) == TOY_SCHEDULE


def test_three_workers_fit_across_two_machines_and_not_inside_one():
    """2 + 1 workers and 2 PSs: 2 GPUs and 4 CPUs of each machine hold them in many ways."""
    one = instance_of([job("j", 1, [1.0] * 4)])
    assert set(slot_choices(one)) == {
        ((0, 0),), ((1, 0),), ((2, 0),), ((0, 1),), ((0, 2),), ((0, 3),), ((0, 4),),
    }  # fmt: skip


def test_a_job_across_machines_takes_longer():
    """Machines of 1 GPU: 2 workers a slot across need 7.2 / 2, thus 4 slots; inside 1 a slot 4."""
    small = {"gpu": 1, "cpu": 4}
    assert optimum(instance_of([job("j", 1, [9.0, 9.0, 9.0, 1.0])], [small, small])) == 1
    assert optimum(instance_of([job("j", 1, [9.0, 9.0, 9.0])], [small, small], 3)) == 0


@pytest.mark.parametrize("rule", ["at_least", "exact"])
def test_nobody_is_admitted_where_nothing_fits(rule):
    value, best = best_schedule(
        instance_of([job("j", 1, [9.0] * 4)], [{"gpu": 0, "cpu": 9}] * 2, ps_rule=rule)
    )
    assert value == 0 and best.admitted == ()
