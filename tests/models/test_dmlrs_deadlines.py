"""The best of a slot, and whether jobs can be complete by their deadlines, of family `dmlrs`."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.models.dmlrs.bounds.machine_patterns import PatternMaster
from schedgap.models.dmlrs.exact.deadlines import CompletionCut, DeadlineOracle
from schedgap.models.dmlrs.exact.slot_packings import PackingCache, best_of_slot, progress_levels
from schedgap.models.dmlrs.throughput import first_completions
from schedgap.models.method import Budget
from schedgap.solvers import Clock
from schedgap.solvers.proofs.bins import OutOfTimeError
from strategies.dmlrs import best_schedule, dmlrs_instances, plain_work, slot_choices
from strategies.dmlrs_examples import TOY, instance_of, job

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}


def asked(instance):
    """An answer from item prices that are the parts of the work."""
    return DeadlineOracle(PackingCache(instance, Clock(60)), offers_of(instance), Budget(Clock(60)))


def offers_of(instance):
    """Each worker pays 1, in every slot."""
    made = PatternMaster(instance)
    worker = np.array([part.workers for part in made.items], dtype=float)
    price = np.tile(worker, (instance.horizon, 1))
    return {i: made.options(i, price) for i in made.jobs}


def with_worth(instance: DmlrsInstance, worth: Callable[[int, int], float]) -> DmlrsInstance:
    """Job i that is complete in slot f is worth `worth(i, f)`, which never rises with f."""
    jobs = []
    for i, one in enumerate(instance.jobs):
        values = tuple(worth(i, one.arrival + k) for k in range(instance.horizon))
        utility = {"type": "table", "values": values}
        jobs.append(one.model_copy(update={"utility": type(TOY.jobs[0].utility)(**utility)}))
    return instance.model_copy(update={"jobs": tuple(jobs)})


@st.composite
def due_jobs(draw):
    """An instance, and a deadline for some of its jobs, no sooner than each alone can meet."""
    instance = draw(dmlrs_instances(max_machines=3))
    due = {
        i: draw(st.integers(first, instance.horizon))
        for i, first in enumerate(first_completions(instance))
        if first <= instance.horizon and draw(st.integers(0, 3))
    }
    return instance, due


def judge(instance, due):
    """An answer is right, and a cut holds for the schedule of which it says the most."""
    answer = asked(instance).check(due)
    in_time = with_worth(instance, lambda i, f: float(f <= due.get(i, 0)))
    met = best_schedule(in_time)[0] > len(due) - 0.5
    if isinstance(answer, CompletionCut):
        assert not met
        assert sum(answer.weight[each] for each in due.items()) > answer.upper + 1e-4
        weighed = with_worth(instance, lambda i, f: answer.weight.get((i, f), 0.0))
        assert best_schedule(weighed)[0] <= answer.upper + 1e-6
    elif answer is not None:
        assert met
        schedule = asked(instance).slots.schedule(answer)
        own = schedule.plans(instance)
        assert all(max(own[i]) <= f for i, f in due.items())
    return answer


@settings(max_examples=20, **QUIET)
@given(due_jobs())
def test_an_answer_is_right(case):
    judge(*case)


@pytest.mark.nightly
@settings(max_examples=1500, **QUIET)
@given(due_jobs())
def test_at_length(case):
    judge(*case)


@settings(max_examples=35, **QUIET)
@given(dmlrs_instances(max_machines=3), st.randoms(use_true_random=False))
def test_no_slot_is_worth_more_than_its_best(instance, random):
    """The best of all that slots can hold, each choice one by one."""
    levels = progress_levels(instance)
    values = {
        i: np.cumsum([random.choice([0.0, 0.5, 1.0, 3.0]) for _ in own.items])
        for i, own in levels.items()
    }
    slots = PackingCache(instance, Clock(30))
    most, chosen = best_of_slot(slots, levels, values, (), Clock(30))
    worth = sum(float(values[i][level]) for i, level in chosen.items())
    assert worth == pytest.approx(most, abs=1e-8)
    assert slots.fits([levels[i].items[level] for i, level in chosen.items()])
    for choice in slot_choices(instance):
        total = 0.0
        for i, own in levels.items():
            inside, across = plain_work(instance, i)
            stretch = across / inside if len(instance.machines) > 1 else 1.0
            done = choice[i][0] * stretch + choice[i][1]
            under = np.flatnonzero(own.progress <= done + 1e-9)
            total += float(values[i][under[-1]]) if len(under) else 0.0
        assert total <= most


def test_two_small_jobs_are_worth_more_than_a_large_one():
    """One machine of 4 GPUs: a job of 4 GPUs pays 5, two of 2 GPUs pay 3 each."""
    short = {"epochs": 1, "samples": 1, "batch_size": 1}
    jobs = [
        job(f"j{n}", 1, [1.0, 0.0, 0.0, 0.0], **short, worker_demand={"gpu": gpus, "cpu": 1})
        for n, gpus in enumerate((4, 2, 2))
    ]
    instance = instance_of(jobs, [{"gpu": 4, "cpu": 9}])
    slots = PackingCache(instance, Clock(30))
    levels = progress_levels(instance)
    values = {i: np.full(len(levels[i].items), worth) for i, worth in enumerate((5.0, 3.0, 3.0))}
    most, chosen = best_of_slot(slots, levels, values, (), Clock(30))
    assert most == pytest.approx(6) and set(chosen) == {1, 2}


def test_as_much_progress_with_less_room():
    """A worker inside does what two across do: of 1 GPU each, j1 leaves one for j2."""
    short = {"epochs": 1, "samples": 1, "gradient_size": 1.0, "worker_ps_ratio": 1.0}
    jobs = [
        job("j1", 1, [1.0], batch_size=2, time_per_sample=0.75, internal_bandwidth=4.0,
            external_bandwidth=0.8, **short),
        job("j2", 1, [1.0], batch_size=1, time_per_sample=0.75, internal_bandwidth=8.0,
            external_bandwidth=8.0, **short),
    ]  # fmt: skip
    instance = instance_of(jobs, [{"gpu": 1, "cpu": 2}] * 2, horizon=1)
    answer = asked(instance).check({0: 1, 1: 1})
    assert answer is not None and not isinstance(answer, CompletionCut)


def test_two_jobs_want_one_machine():
    """toy2's machine holds 2 of j1's or of j3's 4 worker-slots: both by slot 3 is 8 in 3 slots."""
    jobs = [job("j1", 1, [3.0, 3.0, 1.0, 1.0]), job("j3", 2, [9.0, 9.0, 0.0, 0.0])]
    instance = instance_of(jobs, [{"gpu": 2, "cpu": 4}])
    assert isinstance(
        judge(instance, {0: 3, 1: 3}), CompletionCut
    )  # which some schedules just keep
    answer = judge(instance, {0: 4, 1: 3})
    assert answer is not None and not isinstance(answer, CompletionCut)


def test_out_of_time_there_is_no_answer():
    slots = PackingCache(TOY, Clock(0.0))
    assert (
        DeadlineOracle(slots, offers_of(TOY), Budget(Clock(30))).check({0: 4, 1: 4, 2: 4}) is None
    )
    with pytest.raises(OutOfTimeError):
        slots.fits([own.items[-1] for own in progress_levels(TOY).values()])
