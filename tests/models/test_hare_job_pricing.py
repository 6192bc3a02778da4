"""The cheapest schedules of one job, against all of them."""

import itertools
import random

import numpy as np
import pytest

from schedgap.instances.generate import generate
from schedgap.instances.hare import HareInstance, arrays
from schedgap.models.hare.exact.job_pricing import JobData, JobPricer, ScheduleColumn, job_data
from schedgap.models.hare.exact.kernel import SCHEDULES
from schedgap.models.hare.integer_time import latest_completions, steps
from strategies.hare import instance_of
from strategies.kernels import compiled_entry, compiled_types

SPAN = 9


def _job(rng: random.Random) -> HareInstance:
    def task() -> dict[str, object]:
        return {
            "training_time": {"a": rng.randint(1, 3), "b": rng.randint(1, 3)},
            "synchronization_time": {"a": rng.randint(0, 2), "b": rng.randint(0, 2)},
        }

    alike = task()
    rounds = rng.choice([[[task()], [task()]], [[alike, alike]], [[task(), task()]], [[alike]]])
    job = {"arrival": rng.randint(0, 2), "weight": rng.randint(0, 3), "task_rounds": rounds}
    return instance_of({"g1": "a", "g2": "b"}, [job])


def _all(job: JobData, prefix: np.ndarray) -> list[tuple[float, ScheduleColumn]]:
    """Every schedule with its cost; barriers as early as its tasks allow, or any time later."""
    found = []
    whole = job.steps
    tasks, kinds = whole.train.shape
    spots = [(k, t) for k in range(kinds) for t in range(job.span + 1)]
    for places in itertools.product(spots, repeat=tasks):
        ready, barriers = 0, []
        for members in job.rounds:
            if any(places[j][1] < ready for j in members):
                break
            ready = max(places[j][1] + int(whole.duration[j, places[j][0]]) for j in members)
            barriers.append(ready)
        else:
            if ready <= job.span:
                cost = float(whole.weight * (whole.arrival + ready))
                for j, (k, t) in enumerate(places):
                    begin = whole.arrival + t
                    cost += prefix[k, begin + whole.train[j, k]] - prefix[k, begin]
                kind, start = zip(*places, strict=True)
                found.append((cost, ScheduleColumn(tuple(barriers), kind, start)))
    return found


@pytest.mark.parametrize("seed", range(25))
def test_pricing_finds_the_cheapest_of_all_schedules(seed: int) -> None:
    rng = random.Random(seed)
    instance = _job(rng)
    whole = steps(instance)
    end = int(whole.arrival[0] + max(SPAN - 2, whole.critical[0] + 1))
    job = job_data(instance, 0, end)
    kinds = len(arrays(instance).class_gpus)
    price = np.array([[rng.choice([0, 0, 0.5, 2, 3]) for _ in range(end)] for _ in range(kinds)])
    prefix = np.hstack([np.zeros((kinds, 1)), price.cumsum(axis=1)])
    everything = _all(job, prefix)
    pricer = JobPricer(instance)
    priced = pricer.price(job, job.root, prefix)
    assert priced is not None
    least = min(cost for cost, _ in everything)
    cost, chosen = priced
    assert cost == least
    assert any(item.kind == chosen.kind and item.start == chosen.start for _, item in everything)

    # What is removed is used by no schedule within the slack, and all else by one at least.
    slack = rng.choice([0.0, 1.0, 2.5])
    reduced = pricer.reduce(job, job.root, prefix, slack)
    near = [item for cost, item in everything if cost <= least + slack]
    for j in range(arrays(instance).tasks):
        used = {(item.kind[j], item.start[j]) for item in near}
        left = set(zip(*(axis.tolist() for axis in np.nonzero(reduced.start[j])), strict=True))
        if len(job.alike[j]) == 1:
            assert left == used
        else:
            assert left >= used
    for item in near:
        assert all(reduced.barrier[r, t] for r, t in enumerate(item.barrier))


def test_no_window_no_schedule() -> None:
    instance = _job(random.Random(0))
    whole = steps(instance)
    job = job_data(instance, 0, int(whole.arrival[0] + whole.critical[0]) - 1)
    assert JobPricer(instance).price(job, job.root, np.zeros((2, 40))) is None


def test_compiled_or_not_schedules_and_windows_are_the_same_and_compiled_once() -> None:
    instance = generate("hare", preset="medium", seed=6)
    ends = latest_completions(steps(instance), 1000)
    kinds = len(arrays(instance).class_gpus)
    price = np.random.default_rng(6).integers(9, size=(kinds, int(ends.max()))) / 8
    prefix = np.hstack([np.zeros((kinds, 1)), price.cumsum(axis=1)])
    fast, found = compiled_entry(SCHEDULES), []
    for run in (fast, SCHEDULES.plain):
        pricer = JobPricer(instance)
        pricer._run = run
        for n, end in enumerate(ends):
            job = job_data(instance, n, int(end))
            reduced = pricer.reduce(job, job.root, prefix, 2.0)
            masks = [mask.tobytes() for mask in reduced]
            found.append((pricer.price(job, job.root, prefix), *masks))
    middle = len(found) // 2
    assert found[:middle] == found[middle:]
    assert compiled_types(fast) == 1
    assert SCHEDULES.is_ready  # nothing was compiled for other types, and stored


@pytest.mark.parametrize("seed", range(10))
def test_a_barrier_before_a_round_may_be_open_later_than_any_after_it(seed: int) -> None:
    """A branch closes barriers of one round and leaves the other rounds as they are."""
    rng = random.Random(seed)
    task = {"training_time": {"a": rng.randint(1, 2), "b": 3}}
    job_item = {"task_rounds": [[task], [task, task]], "weight": 1}
    instance = instance_of({"g1": "a", "g2": "b"}, [job_item])
    job = job_data(instance, 0, SPAN)
    last = steps(instance).critical[0] + 1
    job.root.barrier[1, last + 1 :] = False
    prefix = np.zeros((2, SPAN + 1))
    prefix[:, 1:] = np.array([[rng.randint(0, 4) for _ in range(SPAN)] for _ in range(2)]).cumsum(1)
    near = [(cost, item) for cost, item in _all(job, prefix) if item.barrier[1] <= last]
    pricer = JobPricer(instance)
    priced = pricer.price(job, job.root, prefix)
    assert priced is not None
    assert priced[0] == min(cost for cost, _ in near)
    reduced = pricer.reduce(job, job.root, prefix, 1.0)
    for cost, item in near:
        if cost <= priced[0] + 1:
            assert all(reduced.barrier[r, t] for r, t in enumerate(item.barrier))
