"""The enumeration that is the reference for family `ring`, against optima worked out by hand."""

from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.models.ring.rates import no_schedule, rate_table
from schedgap.models.ring.simulator import schedule_of
from strategies.ring import optimum, ring_instances, ring_plans
from strategies.ring_examples import W1, W2, W3, instance_of, job


def test_the_examples_have_their_optima():
    assert optimum(W1) == 7
    assert optimum(W2) == 6  # 3 + 3 | 2 + 2 + 2
    assert optimum(W3) == 8


def test_a_spread_that_ruins_a_job_is_not_taken():
    # two servers of 5; two rings of 4 that spreading stops, one of 2 without data; 5 slots each:
    # 4 + 1 | 4 + 1 fills the cluster
    jobs = [job("a", 4, 50, 4 / 3), job("b", 4, 50, 4 / 3), job("c", 2, 60)]
    instance = instance_of(jobs, [5, 5], bandwidth_between=1.0)
    assert rate_table(instance).rates(0, 2) == (0, 0, 0, 0)
    assert rate_table(instance).rates(2, 2)[1:] == (12, 12, 12)
    assert optimum(instance) == 5


def test_no_schedule_within_the_horizon():
    assert optimum(instance_of([job("a", 4, 24, 4 / 3)], [3, 3], horizon=3)) is None
    assert optimum(instance_of([job("a", 4, 24, 4 / 3)], [3, 3], bandwidth_between=0.5)) is None
    assert optimum(instance_of([job("a", 4, 24)], [3])) is None


@given(ring_instances(max_jobs=3, max_servers=2, max_slots=3))
@settings(max_examples=60, deadline=None)
def test_the_first_reasons_against_a_schedule_are_right(instance):
    best = optimum(instance)
    if no_schedule(instance) is not None:
        assert best is None
    else:
        table = rate_table(instance)
        assert best is None or best >= max(table.longest, table.area)


@given(st.data())
@settings(max_examples=45, deadline=None)
def test_no_plan_is_better_than_the_optimum(data):
    instance = data.draw(ring_instances(max_jobs=3, max_servers=2, max_slots=3, placeable=True))
    found = schedule_of(instance, *data.draw(ring_plans(instance, latest=5)))
    if found is not None:
        best = optimum(instance)
        assert best is not None and best <= found.makespan
