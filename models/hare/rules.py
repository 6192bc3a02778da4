"""What makes a `hare` schedule valid, written from the paper; shares no code with the models.

V0 shape, V1 ids, V2 equation (5), V3 (4), V4 (7), V5 (8), V6 fixed synchronization. A task that an
earlier rule rejects is left out of the later ones, so that one fault gives one message.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from schedgap.errors import InputError
from schedgap.instances.hare.instance import Gpu, HareInstance, Task
from schedgap.instances.records import short
from schedgap.instances.verdict import TOLERANCE, Violation

KEYS = ("job", "round", "task", "gpu", "start")
_KEYS = frozenset(KEYS)
PART = 1e-3  # of a task's training, which no tolerance exceeds
SAME = 1e-7  # of it, by which starts of a round may differ where they are to be equal
LATEST = 1e19  # no left-shifted schedule of the largest instance that can be read starts later


class Run(NamedTuple):
    """One task where the schedule puts it; indices count from 0, times are in meta.time_unit."""

    job: int
    round: int
    number: int
    gpu: int
    train: float  # T^c
    delay: float  # T^s
    start: float
    trained: float  # start + T^c: until then the task has its GPU
    synchronized: float  # start + T^c + T^s


def check(instance: HareInstance, schedule: Any, options: Mapping[str, Any]) -> Iterator[Violation]:
    """Yield every broken rule of a schedule.

    Parameters
    ----------
    schedule : Any
        Plain JSON data, not trusted: `{"assignments": [{"job": id, "round": 1.., "task": 1..,
        "gpu": id, "start": number in the instance's time unit}, ...]}`.
    options : Mapping[str, Any]
        Of the solution; rule V6 holds only with `synchronization` = `fixed`.

    Raises
    ------
    InputError
        When the schedule is no object with a list `assignments`.

    Notes
    -----
    Source: (4), (5), (7), (8). A start may be early by 1e-6, but by no more than a thousandth of
    the training that it does not wait for, or by two units in the last place where doubles are
    coarser than that; `objective` judges the schedule as if it had waited. Starts of a round that
    are to be equal may differ by 1e-6, and by no more than 1e-7 of a training. Time: O(n log n).
    """
    if not isinstance(schedule, Mapping):
        raise InputError("need an object with the key 'assignments'", path="schedule")
    if "assignments" not in schedule:
        raise InputError("missing key", path="schedule.assignments")
    if not isinstance(schedule["assignments"], (list, tuple)):
        raise InputError("need a list", path="schedule.assignments")
    return _violations(instance, schedule, options.get("synchronization") == "fixed")


def objective(instance: HareInstance, schedule: Any) -> float:
    """Return sum w_n C_n of a schedule without violations; C_n is the last synchronized end.

    Notes
    -----
    What the tolerance admits would add up along a chain of tasks, to a value below the optimum.
    So the value is that of the schedule with every start moved to the right as far as (4), (7) and
    (8) ask for it exactly, in the same order on each GPU; tasks of a round that start together stay
    together. A schedule that keeps the constraints exactly is not moved.
    """
    runs = _read(instance, schedule["assignments"], Counter(), [])
    completion = [0.0] * len(instance.jobs)
    for run in _waiting(instance, runs):
        completion[run.job] = max(completion[run.job], run.synchronized)
    return math.fsum(job.weight * end for job, end in zip(instance.jobs, completion, strict=True))


def _waiting(instance: HareInstance, runs: Sequence[Run]) -> Iterator[Run]:
    """Yield the runs of a schedule without violations, each moved to where it may start.

    Tasks of a round that start together move together. They come after what they wait for: the
    round before, and the tasks before them on their GPUs. Runs that wait for each other, which
    only what the tolerance admits can bring about, are left out.
    """
    rounds: dict[tuple[int, int], list[Run]] = {}
    for run in runs:
        rounds.setdefault((run.job, run.round), []).append(run)
    groups: list[tuple[Run, ...]] = []
    of_round: dict[tuple[int, int], list[int]] = {}
    for key, own in rounds.items():
        apart = len({run.gpu for run in own}) == len(own)
        together = apart and len({run.start for run in own}) == 1
        made = [tuple(own)] if together else [(run,) for run in own]
        of_round[key] = list(range(len(groups), len(groups) + len(made)))
        groups += made
    on_gpu: dict[int, list[tuple[float, float, int]]] = {}
    for g, group in enumerate(groups):
        for run in group:
            on_gpu.setdefault(run.gpu, []).append((run.start, run.trained, g))
    pairs = [pair for own in on_gpu.values() for pair in pairwise(g for _, _, g in sorted(own))]
    for (n, r), members in of_round.items():  # a round's end stands between it and the next
        groups.append(())
        pairs += [(first, len(groups) - 1) for first in members]
        pairs += [(len(groups) - 1, second) for second in of_round.get((n, r + 1), ())]
    after: list[list[int]] = [[] for _ in groups]
    waits = [0] * len(groups)
    for first, second in pairs:
        after[first].append(second)
        waits[second] += 1
    free = [0.0] * len(instance.gpus)
    barrier: dict[tuple[int, int], float] = {}
    ready = [g for g, count in enumerate(waits) if not count]
    while ready:
        g = ready.pop()
        group = groups[g]
        start = max((max(run.start, free[run.gpu]) for run in group), default=0.0)
        for run in group:
            n, r = run.job, run.round
            start = max(start, instance.jobs[n].arrival, barrier.get((n, r - 1), 0.0))
            delay = start - run.start
            moved = run._replace(
                start=start,
                trained=run.trained if not delay else start + run.train,
                synchronized=run.synchronized if not delay else start + run.train + run.delay,
            )
            free[run.gpu] = moved.trained
            barrier[n, r] = max(barrier.get((n, r), 0.0), moved.synchronized)
            yield moved
        for other in after[g]:
            waits[other] -= 1
            if not waits[other]:
                ready.append(other)


def _violations(
    instance: HareInstance, schedule: Mapping[str, Any], fixed: bool
) -> Iterator[Violation]:
    for key in schedule:
        if key != "assignments":
            yield Violation("V0", ("schedule",), 1, f"schedule: unknown key {short(key)}")
    found: list[Violation] = []
    times: Counter[tuple[int, int, int]] = Counter()  # how often each task is named
    runs = _read(instance, schedule["assignments"], times, found)
    found += assigned_once(instance, times)
    found += not_before_arrival(instance, runs)
    found += rounds_in_order(instance, runs)
    found += no_overlap(instance, runs)
    if fixed:
        found += one_start_per_round(instance, runs)
    yield from found
    if not found and sum(1 for _ in _waiting(instance, runs)) < len(runs):
        message = "tasks wait for each other, each within the tolerance"
        yield Violation("V4", ("schedule",), TOLERANCE, message)


def _read(
    instance: HareInstance,
    assignments: Sequence[Any],
    times: Counter[tuple[int, int, int]],
    found: list[Violation],
) -> list[Run]:
    """Return the first sound assignment of each task, in file order, and note rules V0 and V1.

    Counts in `times` every assignment that names a task, sound or not.
    """
    jobs = {job.id: n for n, job in enumerate(instance.jobs)}
    gpus = {gpu.id: m for m, gpu in enumerate(instance.gpus)}
    rounds = [[job.tasks_of(r) for r in range(job.number_of_rounds)] for job in instance.jobs]
    runs: list[Run] = []
    for k, item in enumerate(assignments):
        fault = _malformed(item)
        if fault:
            found.append(Violation("V0", (f"assignments[{k}]",), 1, f"assignments[{k}]{fault}"))
        missing = _unknown(item, rounds, jobs, gpus)
        if missing and not fault:
            message = f"assignments[{k}].{missing}"
            found.append(Violation("V1", (f"assignments[{k}]",), 1, message))
        if missing and not missing.startswith("gpu"):
            continue
        n, r, i = jobs[item["job"]], item["round"] - 1, item["task"] - 1
        times[n, r, i] += 1
        if fault or missing or times[n, r, i] > 1:
            continue
        m, start, task = gpus[item["gpu"]], float(item["start"]), rounds[n][r][i]
        train = _value(task.training_time, instance.gpus[m])
        delay = _delay(task, instance.gpus[m])
        runs.append(Run(n, r, i, m, train, delay, start, start + train, start + train + delay))
    return runs


def _malformed(item: Any) -> str:
    """Rule V0: exactly the five keys; ids strings, counts integers, a finite start."""
    if not isinstance(item, Mapping):
        return f": need an object, got {short(item)}"
    if item.keys() != _KEYS:
        for key in KEYS:
            if key not in item:
                return f".{key}: missing key"
        return f": unknown key {short(next(key for key in item if key not in KEYS))}"
    for key in ("job", "gpu"):
        if type(item[key]) is not str:
            return f".{key}: need a string, got {short(item[key])}"
    for key in ("round", "task"):
        if type(item[key]) is not int:
            return f".{key}: not an integer, got {short(item[key])}"
    start = item["start"]
    if isinstance(start, bool) or not isinstance(start, (int, float)):
        return f".start: need a number, got {short(start)}"
    if not abs(start) <= LATEST:
        return f".start: need a finite number up to {LATEST:g}, got {short(start)}"
    return ""


def _unknown(
    item: Any,
    rounds: Sequence[Sequence[Sequence[Task]]],
    jobs: Mapping[str, int],
    gpus: Mapping[str, int],
) -> str:
    """Rule V1: job, round, task and GPU exist; also says so of what rule V0 refused."""
    if not isinstance(item, Mapping):
        return "job: none"
    job, r, i, gpu = item.get("job"), item.get("round"), item.get("task"), item.get("gpu")
    if type(job) is not str or job not in jobs:
        return f"job: no job {short(job)}"
    own = rounds[jobs[job]]
    if type(r) is not int or not 1 <= r <= len(own):
        return f"round: job '{job}' has rounds 1 to {len(own)}, not {short(r)}"
    if type(i) is not int or not 1 <= i <= len(own[r - 1]):
        return f"task: {job} round {r} has tasks 1 to {len(own[r - 1])}, not {short(i)}"
    if type(gpu) is not str or gpu not in gpus:
        return f"gpu: {job} round {r} task {i} is on {short(gpu)}, which is no GPU"
    return ""


def assigned_once(
    instance: HareInstance, times: Mapping[tuple[int, int, int], int]
) -> Iterator[Violation]:
    """Rule V2, (5): each task is assigned to exactly one GPU."""
    for n, job in enumerate(instance.jobs):
        for r in range(job.number_of_rounds):
            for i in range(len(job.tasks_of(r))):
                count = times.get((n, r, i), 0)
                if count != 1:
                    task = _task(instance, n, r, i)
                    said = f"assigned {count} times" if count else "not assigned to any GPU"
                    yield Violation("V2", (task,), abs(count - 1), f"{task} is {said}")


def not_before_arrival(instance: HareInstance, runs: Sequence[Run]) -> Iterator[Violation]:
    """Rule V3, (4): a task starts at the arrival of its job or later."""
    for run in runs:
        arrival = instance.jobs[run.job].arrival
        if _exceeds(arrival, run.start, run):
            task, gpu = _name(instance, run)
            yield Violation(
                "V3", (task, gpu), arrival - run.start,
                f"{task} starts at {run.start:.10g} on {gpu}, {arrival - run.start:.6g} before "
                f"its job arrives at {arrival:.10g}",
            )  # fmt: skip


def rounds_in_order(instance: HareInstance, runs: Sequence[Run]) -> Iterator[Violation]:
    """Rule V4, (7): a round starts when every task of the round before is synchronized."""
    barrier: dict[tuple[int, int], Run] = {}  # of each round, the task that allows the least
    for run in runs:
        last = barrier.setdefault((run.job, run.round), run)
        if _earliest(run) > _earliest(last):
            barrier[run.job, run.round] = run
    for run in runs:
        last = barrier.get((run.job, run.round - 1), run)
        if last is not run and _exceeds(last.synchronized, run.start, last):
            (task, gpu), (waited, _) = _name(instance, run), _name(instance, last)
            early = last.synchronized - run.start
            yield Violation(
                "V4", (task, gpu, waited), early,
                f"{task} starts at {run.start:.10g} on {gpu}, {early:.6g} before {waited} is "
                f"synchronized at {last.synchronized:.10g}",
            )  # fmt: skip


def no_overlap(instance: HareInstance, runs: Sequence[Run]) -> Iterator[Violation]:
    """Rule V5, (8): on one GPU a task starts after the one before has trained, never with it.

    Neighbours in start order suffice: if any two tasks overlap, some two neighbours do.
    Synchronization does not occupy the GPU.
    """
    order = sorted(runs, key=lambda run: (run.gpu, run.start, run.trained))
    for _, own in groupby(order, lambda run: run.gpu):
        for first, second in pairwise(own):
            if _exceeds(first.trained, second.start, first):
                (task, gpu), (other, _) = _name(instance, second), _name(instance, first)
                overlap = first.trained - second.start
                yield Violation(
                    "V5", (task, gpu, other), overlap,
                    f"{task} starts at {second.start:.10g} on {gpu}, {overlap:.6g} before "
                    f"{other} has trained at {first.trained:.10g}",
                )  # fmt: skip


def one_start_per_round(instance: HareInstance, runs: Sequence[Run]) -> Iterator[Violation]:
    """Rule V6, fixed synchronization: tasks of a round start together on distinct GPUs."""
    rounds: dict[tuple[int, int], list[Run]] = {}
    for run in runs:
        rounds.setdefault((run.job, run.round), []).append(run)
    for own in rounds.values():
        first, *others = sorted(own, key=lambda run: run.start)
        taken = {first.gpu}
        for run in others:
            task, gpu = _name(instance, run)
            late = run.start - first.start
            if _exceeds(run.start, first.start, first, SAME):
                message = (
                    f"{task} starts at {run.start:.10g} on {gpu}, {late:.6g} after "
                    f"{_name(instance, first)[0]}"
                )
                yield Violation("V6", (task, gpu), late, message)
            elif run.gpu in taken:
                message = f"{task} is on {gpu}, as is another task of its round"
                yield Violation("V6", (task, gpu), 1, message)
            taken.add(run.gpu)


def _earliest(run: Run) -> float:
    """Return the earliest start that the tolerance admits of a task which waits for this one."""
    end = run.synchronized
    return end - min(TOLERANCE, PART * run.train) - 2 * math.ulp(end)


def _exceeds(bound: float, value: float, run: Run, part: float = PART) -> bool:
    """True when a value is below its bound by more than the tolerance, rounding allowed for.

    `run` is the task that is cut short: the tolerance is a small part of it at most.
    """
    return bound - value > min(TOLERANCE, part * run.train) + 2 * math.ulp(bound)


def _value(times: Mapping[str, float], gpu: Gpu) -> float:
    """Return the time on a GPU: its own key first, then its kind's."""
    return times[gpu.id] if gpu.id in times else times[gpu.kind]


def _delay(task: Task, gpu: Gpu) -> float:
    return _value(task.synchronization_time, gpu) if task.synchronization_time else 0.0


def _task(instance: HareInstance, n: int, r: int, i: int) -> str:
    return f"{instance.jobs[n].id} round {r + 1} task {i + 1}"


def _name(instance: HareInstance, run: Run) -> tuple[str, str]:
    return _task(instance, run.job, run.round, run.number), instance.gpus[run.gpu].id
