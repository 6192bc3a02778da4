"""The cheapest schedules of one job, against all of them."""

import itertools
import random

import numpy as np
import pytest

from schedgap.instances.hare import HareInstance, arrays
from schedgap.models.hare.exact.job_pricing import (
    JobData,
    JobPricer,
    ScheduleColumn,
    column,
    job_data,
)
from schedgap.models.hare.integer_time import steps
from strategies.hare import instance_of

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
    kinds, tasks = job.train.shape[1], len(job.train)
    spots = [(k, t) for k in range(kinds) for t in range(job.span + 1)]
    for places in itertools.product(spots, repeat=tasks):
        ready, barriers = 0, []
        for members in job.rounds:
            if any(places[j][1] < ready for j in members):
                break
            ready = max(places[j][1] + int(job.duration[j, places[j][0]]) for j in members)
            barriers.append(ready)
        else:
            if ready <= job.span:
                cost = float(job.weight * (job.arrival + ready))
                for j, (k, t) in enumerate(places):
                    begin = job.arrival + t
                    cost += prefix[k, begin + job.train[j, k]] - prefix[k, begin]
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
    pricer = JobPricer(job.span)
    priced = pricer.price(job, job.root, prefix)
    assert priced is not None
    least = min(cost for cost, _ in everything)
    assert priced.cost == least
    chosen = column(job, priced)
    assert any(item.kind == chosen.kind and item.start == chosen.start for _, item in everything)

    # What is removed is used by no schedule within the slack, and all else by one at least.
    slack = rng.choice([0.0, 1.0, 2.5])
    reduced = pricer.reduce(job, priced, job.root, slack)
    near = [item for cost, item in everything if cost <= least + slack]
    for j in range(arrays(instance).tasks):
        used = {(item.kind[j], item.start[j]) for item in near}
        left = set(zip(*(axis.tolist() for axis in np.nonzero(reduced.start[j] == 0)), strict=True))
        if len(job.alike[j]) == 1:
            assert left == used
        else:
            assert left >= used
    for item in near:
        assert all(reduced.barrier[r][t] == 0 for r, t in enumerate(item.barrier))


def test_no_window_no_schedule() -> None:
    instance = _job(random.Random(0))
    whole = steps(instance)
    job = job_data(instance, 0, int(whole.arrival[0] + whole.critical[0]) - 1)
    assert JobPricer(job.span).price(job, job.root, np.zeros((2, 40))) is None
