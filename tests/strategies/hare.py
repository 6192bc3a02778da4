"""Random `hare` instances, and their optima by enumeration, apart from all models."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any

from hypothesis import strategies as st

from schedgap.instances.hare import HareInstance
from schedgap.instances.hare.instance import Gpu, Job, Task, time_on


def instance_of(
    gpus: Mapping[str, str] | Sequence[str], jobs: Sequence[Mapping[str, Any]], name: str = "test"
) -> HareInstance:
    """Return an instance in seconds: GPU ids by kind (or one kind each GPU), jobs as in the file.

    A job's `id` is J1, J2, ..., its `arrival` 0 and its `weight` 1 unless given.
    """
    kinds = dict(gpus) if isinstance(gpus, Mapping) else {gpu: f"kind-{gpu}" for gpu in gpus}
    return HareInstance.from_data(
        {
            "family": "hare",
            "version": 1,
            "name": name,
            "meta": {"time_unit": "s"},
            "gpu_kinds": [{"id": kind} for kind in dict.fromkeys(kinds.values())],
            "gpus": [{"id": gpu, "kind": kind} for gpu, kind in kinds.items()],
            "jobs": [
                {"id": f"J{n}", "arrival": 0, "weight": 1, **job} for n, job in enumerate(jobs, 1)
            ],
        }
    )


@st.composite
def hare_instances(
    draw: st.DrawFn,
    max_jobs: int = 3,
    max_gpus: int = 3,
    max_rounds: int = 3,
    max_tasks: int = 3,
    *,
    max_total: int = 27,
    max_time: int = 6,
    integer: bool = True,
    unlike: bool = True,
    sync: bool = True,
    arrivals: bool = True,
    zero_weights: bool = True,
    per_gpu: bool = True,
) -> HareInstance:
    """Draw an instance of at most `max_total` tasks (7 for `brute_force`, which then takes ms).

    `integer=False`: times are tenths. The other switches allow, when true: tasks of one round, and
    rounds of one job, that differ; synchronization times, also longer than training; arrivals other
    than 0; weights of 0; times by GPU that split a kind.
    """
    scale = 1 if integer else 10

    def time(least: int, most: int = max_time) -> float | int:
        number = draw(st.integers(least, most * scale))
        return number if integer else number / scale

    count = draw(st.integers(1, max_gpus))
    kinds = draw(st.lists(st.sampled_from(["fast", "slow"]), min_size=count, max_size=count))
    gpus = {f"g{m}": kind for m, kind in enumerate(kinds, 1)}

    def times(least: int) -> dict[str, float | int]:
        keys = [*dict.fromkeys(kinds)]
        if per_gpu and draw(st.integers(0, 4)) == 0:
            keys.append(draw(st.sampled_from([*gpus])))
        return {key: time(least) for key in keys}

    def task() -> dict[str, Any]:
        found: dict[str, Any] = {"training_time": times(1)}
        if sync and draw(st.booleans()):
            found["synchronization_time"] = times(0)
        return found

    jobs: list[dict[str, Any]] = []
    left = max_total
    for waiting in reversed(range(draw(st.integers(1, min(max_jobs, max_total))))):
        job: dict[str, Any] = {"weight": draw(st.integers(0 if zero_weights else 1, 5))}
        if arrivals:
            job["arrival"] = time(0, 2 * max_time)
        most = left - waiting  # every later job keeps at least one task
        if unlike and draw(st.booleans()):
            sizes = [draw(st.integers(1, min(max_tasks, most)))]
            while len(sizes) < max_rounds and sum(sizes) < most and draw(st.booleans()):
                sizes.append(draw(st.integers(1, min(max_tasks, most - sum(sizes)))))
            job["task_rounds"] = [[task() for _ in range(size)] for size in sizes]
            left -= sum(sizes)
        else:
            job["tasks_per_round"] = draw(st.integers(1, min(max_tasks, most)))
            job["rounds"] = draw(st.integers(1, min(max_rounds, most // job["tasks_per_round"])))
            job |= task()
            left -= job["tasks_per_round"] * job["rounds"]
        jobs.append(job)
    return instance_of(gpus, jobs)


# Lengths and weights that engines with tolerances get wrong, if they get anything wrong.
NASTY = {
    "near-equal": (1, 1 + 1e-3, 1 + 1e-6, 1 + 1e-9, 2, 2 - 1e-7, 1 + 1e-12),
    "thirds": (1 / 3, 2 / 3, 4 / 3, 0.1, 0.7, 1 / 7),
    "far-apart": (1e-9, 1e-3, 1.0, 7.0, 1e6, 1e9),
}


@st.composite
def nasty_instances(draw: st.DrawFn, max_tasks: int = 5) -> HareInstance:
    """Draw an instance whose numbers are near-equal, thirds, or from 1e-9 to 1e9 side by side."""
    values = st.sampled_from(NASTY[draw(st.sampled_from([*NASTY]))])
    gpus = {"g1": "k", "g2": "l"} if draw(st.booleans()) else {"g1": "k", "g2": "k"}
    named = list(dict.fromkeys(gpus.values()))
    weights = st.one_of(values, st.sampled_from([0, 1, 3]))
    jobs: list[dict[str, Any]] = []
    left = draw(st.integers(2, max_tasks))
    while left:
        size = draw(st.integers(1, min(3, left)))
        task: dict[str, Any] = {"training_time": {kind: draw(values) for kind in named}}
        if draw(st.integers(0, 3)) == 0:
            task["synchronization_time"] = {kind: draw(values) for kind in named}
        across = draw(st.booleans())
        rounds, width = (1, size) if across else (size, 1)
        job = {"rounds": rounds, "tasks_per_round": width, "weight": draw(weights), **task}
        if draw(st.booleans()):
            job["arrival"] = draw(values)
        jobs.append(job)
        left -= size
    return instance_of(gpus, jobs)


def brute_force(instance: HareInstance, synchronization: str = "relaxed") -> float:
    """Return the least sum of weighted completion times by enumeration; inf when there is none.

    All left-shifted schedules are built task by task in the order of their starts, each task on
    each GPU; `fixed`: round by round, each on each tuple of distinct GPUs. Only branches that
    cannot become better than the best schedule found are left out, and among tasks of a round that
    are the same record the one of least number goes first.
    """
    gpus, best = instance.gpus, float("inf")
    rest = [_least_rest(job, gpus) for job in instance.jobs]

    def choices(job: Job, r: int, todo: tuple[Task, ...]) -> Iterator[tuple[list[int], list[int]]]:
        """Which of the tasks that are left of the round start next, and on which GPUs."""
        if synchronization == "fixed":
            for chosen in permutations(range(len(gpus)), len(todo)):
                yield [*range(len(todo))], [*chosen]
            return
        for place, task in enumerate(todo):
            if task not in todo[:place]:
                for m in range(len(gpus)):
                    yield [place], [m]

    def extend(
        free: tuple[float, ...],
        # by job: round, tasks of it that are left, when it may start, latest end in it
        state: tuple[tuple[int, tuple[Task, ...], float, float], ...],
        last: float,
    ) -> None:
        nonlocal best
        bound = 0.0
        for job, tails, (r, todo, ready, end) in zip(instance.jobs, rest, state, strict=True):
            if r < job.number_of_rounds:
                start = max(ready, last)
                end = max(end, *(start + _least(task, gpus) for task in todo)) + tails[r]
            bound += job.weight * end
        if bound >= best:
            return
        if all(
            r == job.number_of_rounds for job, (r, *_) in zip(instance.jobs, state, strict=True)
        ):
            best = bound
            return
        for n, (job, (r, todo, ready, end)) in enumerate(zip(instance.jobs, state, strict=True)):
            if r == job.number_of_rounds:
                continue
            for places, chosen in choices(job, r, todo):
                start = max(ready, *(free[m] for m in chosen))
                if start < last:
                    continue  # found in another order
                phi, latest_completions = list(free), end
                for place, m in zip(places, chosen, strict=True):
                    phi[m] = start + time_on(todo[place].training_time, gpus[m])
                    delay = todo[place].synchronization_time
                    latest_completions = max(
                        latest_completions, phi[m] + (time_on(delay, gpus[m]) if delay else 0)
                    )
                left = tuple(task for place, task in enumerate(todo) if place not in places)
                new = (r, left, ready, latest_completions)
                if not left:
                    following = job.tasks_of(r + 1) if r + 1 < job.number_of_rounds else ()
                    new = (r + 1, following, latest_completions, latest_completions)
                extend(tuple(phi), (*state[:n], new, *state[n + 1 :]), start)

    extend(
        (0.0,) * len(gpus),
        tuple((0, job.tasks_of(0), job.arrival, job.arrival) for job in instance.jobs),
        0.0,
    )
    return best


def _least(task: Task, gpus: Sequence[Gpu]) -> float:
    delay = task.synchronization_time
    return min(
        time_on(task.training_time, gpu) + (time_on(delay, gpu) if delay else 0) for gpu in gpus
    )


def _least_rest(job: Job, gpus: Sequence[Gpu]) -> list[float]:
    """[r] least length of the rounds after r."""
    tails = [0.0]
    for r in reversed(range(1, job.number_of_rounds)):
        tails.append(tails[-1] + max(_least(task, gpus) for task in job.tasks_of(r)))
    return tails[::-1]
