"""The verifier of family `hare`, written from the paper; it shares no code with the models.

Rules: V0 data format, V1 ids, V2 equation (5), V3 (4), V4 (7), V5 (8), V6 fixed synchronization.
Assignments that V0 or V1 reject take no part in the later rules, so one fault gives one
message.
"""

import math
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from schedgap.errors import InputError
from schedgap.instances.hare.instance import Gpu, HareInstance, Task
from schedgap.instances.records import short
from schedgap.instances.shapes import Shapes, require, require_keys, schedule_error
from schedgap.instances.verdict import TOLERANCE, Violation

_KEYS: Shapes = {
    "job": "string",
    "round": "number",
    "task": "number",
    "gpu": "string",
    "start": "number",
}
RELATIVE_TOLERANCE = 1e-3  # part of the training time of the task that is waited for
EQUAL_START_TOLERANCE = 1e-7  # part of the training time, for equal starts of a round
LATEST_START = 1e19  # beyond every left-shifted schedule of the largest instance that can be read


class PlacedTask(NamedTuple):
    """A task with its GPU and start in the schedule; indices from 0, times in meta.time_unit."""

    job: int
    round: int
    number: int
    gpu: int
    train: float  # T^c
    delay: float  # T^s
    start: float
    trained: float  # start + T^c, when the task releases its GPU
    synchronized: float  # start + T^c + T^s


def check(
    instance: HareInstance, schedule: Any, options: Mapping[str, object]
) -> Iterator[Violation]:
    """Yield every violation of the rules by a schedule.

    `schedule`: JSON data from a file, not trusted: `{"assignments": [{"job": id, "round": 1..,
    "task": 1.., "gpu": id, "start": number in the instance's time unit}, ...]}`. `options`: options
    of the method that made the solution; rule V6 applies only with `synchronization` = `fixed`.

    Raises
    ------
    InputError
        If the schedule is not an object with a list `assignments`.

    Notes
    -----
    Source: (4), (5), (7), (8). A start may be too early by 1e-6, but at most by a thousandth of the
    training time of the task that it should wait for. Two units in the last place are added to
    this. `objective` evaluates the schedule as if it had waited. Starts of a round that must be
    equal may differ by min(1e-6, 1e-7 of a training time). Time: O(n log n).
    """
    require(schedule, "object")
    if "assignments" not in schedule:
        raise schedule_error("missing key", "assignments")
    require(schedule["assignments"], "list", "assignments")
    return _violations(instance, schedule, options.get("synchronization") == "fixed")


def objective(instance: HareInstance, schedule: Any) -> float:
    """Return sum w_n C_n of a schedule without violations.

    `schedule`: JSON data that `check` has accepted.

    The unit is weight times the instance's time unit; C_n is the last synchronization of job n.

    Notes
    -----
    Along a chain of tasks the tolerances would add up, to an objective below the optimum. The value
    therefore belongs to the schedule after every start is moved right until (4), (7) and (8) hold
    exactly. The order on each GPU stays, and tasks of a round that start together stay together. A
    schedule that satisfies the constraints exactly is not moved.
    """
    ends = _completion(instance, schedule)
    return math.fsum(job.weight * end for job, end in zip(instance.jobs, ends, strict=True))


def metrics(instance: HareInstance, schedule: Any) -> dict[str, float]:
    """Return the percentage of jobs that are complete by the times of setting `completed_by`.

    `schedule`: JSON data that `check` has accepted.
    """
    settings = instance.meta.get("settings")
    text = str(settings.get("completed_by", "")) if isinstance(settings, Mapping) else ""
    times = [int(part) for part in text.split(",") if part.isdecimal()]
    if not times:
        return {}
    ends = _completion(instance, schedule)
    return {
        f"complete by {time} {instance.time_unit} (%)": 100
        * sum(end <= time for end in ends)
        / len(ends)
        for time in times
    }


def _completion(instance: HareInstance, schedule: Any) -> list[float]:
    """Return [n] C_n of a schedule that `check` has accepted."""
    placed = _read(instance, schedule["assignments"], Counter(), [])
    completion = [0.0] * len(instance.jobs)
    for run in _shifted_right(instance, placed):
        completion[run.job] = max(completion[run.job], run.synchronized)
    return completion


def _shifted_right(instance: HareInstance, placed: Sequence[PlacedTask]) -> Iterator[PlacedTask]:
    """Yield the tasks of a schedule without violations, moved right to their exact earliest start.

    Tasks of a round that start together form a group and move together. Groups are processed in
    topological order of the precedence graph: a group follows the round before it and the previous
    tasks on its GPUs. A cycle, possible only within the tolerances, is a `CycleError`.
    """
    rounds = _by_round(placed)
    groups: list[tuple[PlacedTask, ...]] = []
    of_round: dict[tuple[int, int], list[int]] = {}
    for key, members in rounds.items():
        distinct_gpus = len({run.gpu for run in members}) == len(members)
        together = distinct_gpus and len({run.start for run in members}) == 1
        new = [tuple(members)] if together else [(run,) for run in members]
        of_round[key] = list(range(len(groups), len(groups) + len(new)))
        groups += new
    order: TopologicalSorter[int | tuple[int, int]] = TopologicalSorter()
    on_gpu: dict[int, list[tuple[float, float, int]]] = {}
    for g, group in enumerate(groups):
        order.add(g)
        for run in group:
            on_gpu.setdefault(run.gpu, []).append((run.start, run.trained, g))
    for line in on_gpu.values():
        for (*_, first), (*_, second) in pairwise(sorted(line)):
            order.add(second, first)
    for (n, r), numbers in of_round.items():  # (n, r) is the barrier between two rounds
        order.add((n, r), *numbers)
        for g in of_round.get((n, r + 1), ()):
            order.add(g, (n, r))
    free = [0.0] * len(instance.gpus)
    barrier: dict[tuple[int, int], float] = {}
    for node in order.static_order():
        if not isinstance(node, int):
            continue
        start = max(max(run.start, free[run.gpu]) for run in groups[node])
        for run in groups[node]:
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


def _by_round(placed: Sequence[PlacedTask]) -> dict[tuple[int, int], list[PlacedTask]]:
    """Return the tasks by job and round."""
    rounds: dict[tuple[int, int], list[PlacedTask]] = {}
    for run in placed:
        rounds.setdefault((run.job, run.round), []).append(run)
    return rounds


def _violations(
    instance: HareInstance, schedule: Mapping[str, Any], fixed: bool
) -> Iterator[Violation]:
    """Yield the violations of all rules, in the order of their numbers."""
    for key in schedule:
        if key != "assignments":
            yield Violation("V0", ("schedule",), 1, f"schedule: unknown key {short(key)}")
    violations: list[Violation] = []
    counts: Counter[tuple[int, int, int]] = Counter()  # assignments of each task
    placed = _read(instance, schedule["assignments"], counts, violations)
    violations += _assigned_once(instance, counts)
    violations += _not_before_arrival(instance, placed)
    violations += _rounds_in_order(instance, placed)
    violations += _no_overlap(instance, placed)
    if fixed:
        violations += _one_start_per_round(instance, placed)
    yield from violations
    if not violations:
        try:
            deque(_shifted_right(instance, placed), maxlen=0)
        except CycleError:
            message = "tasks wait for each other, each within the tolerance"
            yield Violation("V4", ("schedule",), TOLERANCE, message)


def _read(
    instance: HareInstance,
    assignments: Sequence[Any],
    counts: Counter[tuple[int, int, int]],
    violations: list[Violation],
) -> list[PlacedTask]:
    """Return the first valid assignment of each task, in file order, and check rules V0 and V1.

    Adds their violations to `violations`, and counts in `counts` every assignment that names a
    task, valid or not.
    """
    jobs = {job.id: n for n, job in enumerate(instance.jobs)}
    gpus = {gpu.id: m for m, gpu in enumerate(instance.gpus)}
    rounds = [[job.tasks_of(r) for r in range(job.number_of_rounds)] for job in instance.jobs]
    placed: list[PlacedTask] = []
    for k, item in enumerate(assignments):
        fault = _malformed(item, k)
        if fault:
            violations.append(Violation("V0", (f"assignments[{k}]",), 1, fault))
        missing = _unknown(item, rounds, jobs, gpus)
        if missing and not fault:
            message = f"assignments[{k}].{missing}"
            violations.append(Violation("V1", (f"assignments[{k}]",), 1, message))
        if missing and not missing.startswith("gpu"):
            continue
        n, r, i = jobs[item["job"]], item["round"] - 1, item["task"] - 1
        counts[n, r, i] += 1
        if fault or missing or counts[n, r, i] > 1:
            continue
        m, start, task = gpus[item["gpu"]], float(item["start"]), rounds[n][r][i]
        train = _value(task.training_time, instance.gpus[m])
        delay = _delay(task, instance.gpus[m])
        placed.append(
            PlacedTask(n, r, i, m, train, delay, start, start + train, start + train + delay)
        )
    return placed


def _malformed(item: Any, k: int) -> str:
    """Return what breaks rule V0: five keys, string ids, integer numbers, a finite start."""
    try:
        require(item, "object", "assignments", k)
        require_keys(item, _KEYS, {}, "assignments", k)
    except InputError as error:
        return str(error).removeprefix("schedule.")
    where, start = f"assignments[{k}]", item["start"]
    for key in ("round", "task"):
        if type(item[key]) is not int:
            return f"{where}.{key}: not an integer, got {short(item[key])}"
    if not abs(start) <= LATEST_START:
        return f"{where}.start: need a finite number up to {LATEST_START:g}, got {short(start)}"
    return ""


def _unknown(
    item: Any,
    rounds: Sequence[Sequence[Sequence[Task]]],
    jobs: Mapping[str, int],
    gpus: Mapping[str, int],
) -> str:
    """Return which of job, round, task and GPU does not exist (V1), whatever V0 found."""
    if not isinstance(item, Mapping):
        return "job: none"
    job, r, i, gpu = item.get("job"), item.get("round"), item.get("task"), item.get("gpu")
    if type(job) is not str or job not in jobs:
        return f"job: no job {short(job)}"
    job_rounds = rounds[jobs[job]]
    if type(r) is not int or not 1 <= r <= len(job_rounds):
        return f"round: job '{job}' has rounds 1 to {len(job_rounds)}, not {short(r)}"
    if type(i) is not int or not 1 <= i <= len(job_rounds[r - 1]):
        return f"task: {job} round {r} has tasks 1 to {len(job_rounds[r - 1])}, not {short(i)}"
    if type(gpu) is not str or gpu not in gpus:
        return f"gpu: {job} round {r} task {i} is on {short(gpu)}, which is no GPU"
    return ""


def _assigned_once(
    instance: HareInstance, counts: Mapping[tuple[int, int, int], int]
) -> Iterator[Violation]:
    """Rule V2, (5): each task is assigned to exactly one GPU."""
    for n, job in enumerate(instance.jobs):
        for r in range(job.number_of_rounds):
            for i in range(len(job.tasks_of(r))):
                count = counts.get((n, r, i), 0)
                if count != 1:
                    task = _task(instance, n, r, i)
                    said = f"assigned {count} times" if count else "not assigned to any GPU"
                    yield Violation("V2", (task,), abs(count - 1), f"{task} is {said}")


def _not_before_arrival(
    instance: HareInstance, placed: Sequence[PlacedTask]
) -> Iterator[Violation]:
    """Rule V3, (4): no task starts before the arrival of its job."""
    for run in placed:
        arrival = instance.jobs[run.job].arrival
        if _exceeds(arrival, run.start, run):
            yield _early(instance, "V3", run, arrival, "its job arrives")


def _rounds_in_order(instance: HareInstance, placed: Sequence[PlacedTask]) -> Iterator[Violation]:
    """Rule V4, (7): a round starts after every task of the previous round is synchronized."""
    barrier: dict[tuple[int, int], PlacedTask] = {}  # (job, round) -> its task that ends last
    for run in placed:
        last = barrier.setdefault((run.job, run.round), run)
        if _earliest(run) > _earliest(last):
            barrier[run.job, run.round] = run
    for run in placed:
        last = barrier.get((run.job, run.round - 1), run)
        if last is not run and _exceeds(last.synchronized, run.start, last):
            waited, _ = _name(instance, last)
            what = f"{waited} is synchronized"
            yield _early(instance, "V4", run, last.synchronized, what, waited)


def _no_overlap(instance: HareInstance, placed: Sequence[PlacedTask]) -> Iterator[Violation]:
    """Rule V5, (8): on each GPU a task starts after the previous one has trained.

    Comparing neighbours in the order of starts suffices: if any two tasks overlap, some two
    neighbours do. Synchronization does not occupy the GPU.
    """
    order = sorted(placed, key=lambda run: (run.gpu, run.start, run.trained))
    for _, on_gpu in groupby(order, lambda run: run.gpu):
        for first, second in pairwise(on_gpu):
            if _exceeds(first.trained, second.start, first):
                other, _ = _name(instance, first)
                yield _early(instance, "V5", second, first.trained, f"{other} has trained", other)


def _one_start_per_round(
    instance: HareInstance, placed: Sequence[PlacedTask]
) -> Iterator[Violation]:
    """Rule V6, fixed synchronization: the tasks of a round start together on distinct GPUs."""
    for members in _by_round(placed).values():
        first, *others = sorted(members, key=lambda run: run.start)
        taken = {first.gpu}
        for run in others:
            task, gpu = _name(instance, run)
            late = run.start - first.start
            if _exceeds(run.start, first.start, first, EQUAL_START_TOLERANCE):
                message = (
                    f"{task} starts at {run.start:.10g} on {gpu}, {late:.6g} after "
                    f"{_name(instance, first)[0]}"
                )
                yield Violation("V6", (task, gpu), late, message)
            elif run.gpu in taken:
                message = f"{task} is on {gpu}, as is another task of its round"
                yield Violation("V6", (task, gpu), 1, message)
            taken.add(run.gpu)


def _early(
    instance: HareInstance, rule: str, run: PlacedTask, bound: float, what: str, *others: str
) -> Violation:
    """Return the violation of a task that starts before `what` happens, at a later time."""
    task, gpu = _name(instance, run)
    early = bound - run.start
    text = f"{task} starts at {run.start:.10g} on {gpu}, {early:.6g} before {what} at {bound:.10g}"
    return Violation(rule, (task, gpu, *others), early, text)


def _earliest(run: PlacedTask) -> float:
    """Return the earliest start that the tolerance permits to a successor of this task."""
    end = run.synchronized
    return end - min(TOLERANCE, RELATIVE_TOLERANCE * run.train) - 2 * math.ulp(end)


def _exceeds(bound: float, value: float, run: PlacedTask, part: float = RELATIVE_TOLERANCE) -> bool:
    """Return whether a value is below its lower bound by more than the tolerance and round-off.

    `run` is the task that is waited for; the tolerance is at most a small part of its training.
    """
    return bound - value > min(TOLERANCE, part * run.train) + 2 * math.ulp(bound)


def _value(times: Mapping[str, float], gpu: Gpu) -> float:
    """Return the time on a GPU, by the GPU's own key if there is one, else by its kind."""
    return times[gpu.id] if gpu.id in times else times[gpu.kind]


def _delay(task: Task, gpu: Gpu) -> float:
    """Return T^s of a task on a GPU."""
    return _value(task.synchronization_time, gpu) if task.synchronization_time else 0.0


def _task(instance: HareInstance, n: int, r: int, i: int) -> str:
    """Return the name of a task in messages."""
    return f"{instance.jobs[n].id} round {r + 1} task {i + 1}"


def _name(instance: HareInstance, run: PlacedTask) -> tuple[str, str]:
    """Return the names of a task and of its GPU in messages."""
    return _task(instance, run.job, run.round, run.number), instance.gpus[run.gpu].id
