"""The executor: run each GPU's task sequence, with or without the time to switch between jobs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from schedgap.errors import InputError
from schedgap.instances.hare import HareInstance, HareSchedule, arrays

SwitchingMode = Literal["none", "default", "pipeswitch", "hare", "hare-memory"]


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """What came out of a replay; all times in the instance's time unit."""

    schedule: HareSchedule  # starts of training, after any switch
    completion: NDArray[np.float64]  # [n] C_n
    objective: float  # sum w_n C_n, switching included
    switching: float  # time that all GPUs spend on switches
    training: float  # time that all GPUs spend on training

    @property
    def share(self) -> float:
        """Switching / (switching + training), in 0..1."""
        return self.switching / (self.switching + self.training)


def sequences_of(instance: HareInstance, schedule: HareSchedule) -> list[list[int]]:
    """Return [m] the tasks of each GPU, as indices into `HareArrays`, in the order of starts.

    `schedule`: its starts matter by their order only.
    """
    found: list[list[int]] = [[] for _ in instance.gpus]
    for i in np.argsort(schedule.start, kind="stable").tolist():
        found[schedule.gpu[i]].append(i)
    return found


def replay(
    instance: HareInstance,
    sequences: Sequence[Sequence[int]],
    switching: SwitchingMode = "none",
) -> Replay:
    """Start every task as early as the order of its GPU and the barriers allow.

    Parameters
    ----------
    sequences : [m][position]
        Task indices (order of `HareArrays`) that each GPU runs in turn, as by `sequences_of`.
    switching : str
        `none`; `default`, `pipeswitch` or `hare`: the time of the incoming job's model, whenever
        the task before on the GPU is of another job, and for its first task; `hare-memory` (ours,
        after Section 4): models of the latest jobs stay while they fit with the running one, a
        job that is still there costs 0, another one the `pipeswitch` time.

    Returns
    -------
    Replay
        Without switching no start is later than in a schedule that has these sequences.

    Raises
    ------
    InputError
        When the sequences do not hold every task once, wait for each other (a deadlock), or the
        instance lacks `switching` or `memory_gb` that the mode needs.

    Notes
    -----
    Source: Sections 3, 4 and 6 (executor), Table 3. A switch starts as soon as the GPU is free,
    before the task is ready, and occupies the GPU. The programs and algorithms ignore it, as the
    paper does. Time: O(n), times the number of jobs kept on a GPU for `hare-memory`.
    """
    view = arrays(instance)
    counts = Counter(i for own in sequences for i in own)
    if len(sequences) != view.gpus or counts != Counter(range(view.tasks)):
        raise InputError("need one list per GPU, and each task once in all", path="sequences")
    costs = _Switches(instance, switching)
    task_job, task_round = view.task_job.tolist(), view.task_round.tolist()
    train, duration = view.train.tolist(), view.duration.tolist()
    gpu_class, first_round = view.gpu_class.tolist(), set(view.job_rounds.tolist())
    barrier = view.arrival[view.round_job].tolist()  # latest end of each round so far
    unfinished = np.diff(view.round_tasks).tolist()  # tasks of each round that are not started
    waiting: list[list[int]] = [[] for _ in unfinished]  # GPUs whose next task waits for a round
    start, gpu = np.full(view.tasks, np.nan), np.empty(view.tasks, dtype=np.int64)
    free, place = [0.0] * view.gpus, [0] * view.gpus
    switched = trained = 0.0

    awake = list(range(view.gpus))
    while awake:
        m = awake.pop()
        k = gpu_class[m]
        while place[m] < len(sequences[m]):
            i = sequences[m][place[m]]
            q = task_round[i]
            if q not in first_round and unfinished[q - 1]:
                waiting[q - 1].append(m)
                break
            ready = view.arrival[task_job[i]] if q in first_round else barrier[q - 1]
            cost = costs.of(task_job[i], m)
            begin = max(free[m] + cost, ready)
            start[i], gpu[i], free[m] = begin, m, begin + train[i][k]
            barrier[q] = max(barrier[q], begin + duration[i][k])
            switched, trained, place[m] = switched + cost, trained + train[i][k], place[m] + 1
            unfinished[q] -= 1
            if not unfinished[q]:
                awake += waiting[q]
    if any(unfinished):
        m = next(m for m, own in enumerate(sequences) if place[m] < len(own))
        raise InputError(
            f"deadlock: GPU {instance.gpus[m].id} waits for a round whose tasks wait for others",
            path=f"sequences[{m}][{place[m]}]",
        )
    schedule = HareSchedule(gpu, start)
    completion = schedule.completion(instance)
    return Replay(schedule, completion, float(view.weight @ completion), switched, trained)


def switching_metrics(instance: HareInstance, schedule: Mapping[str, Any]) -> dict[str, float]:
    """Return what switching costs a schedule: its value and the share of switching, in each mode.

    `schedule`: JSON data of a feasible schedule; each GPU keeps the order of its tasks.

    Notes
    -----
    Empty for an instance without `switching`. `hare-memory` is left out where the memory of a kind
    is not known or a job does not fit.
    """
    if instance.switching is None:
        return {}
    sequences = sequences_of(instance, HareSchedule.from_data(instance, schedule))
    found: dict[str, float] = {}
    for mode in get_args(SwitchingMode)[1:]:
        try:
            run = replay(instance, sequences, mode)
        except InputError:
            if mode != "hare-memory":
                raise
        else:
            found[f"objective, {mode} switching"] = run.objective
            found[f"{mode} switching share (%)"] = 100 * run.share
    return found


class _Switches:
    """What the next task on each GPU costs to switch to."""

    def __init__(self, instance: HareInstance, mode: SwitchingMode) -> None:
        if mode not in get_args(SwitchingMode):
            raise InputError(f"need one of {', '.join(get_args(SwitchingMode))}", path="switching")
        self.instance = instance
        self.keep = mode == "hare-memory"
        self.resident: list[list[int]] = [[] for _ in instance.gpus]  # jobs, latest first
        self.cost = [0.0] * len(instance.jobs)
        if mode == "none":
            return
        if instance.switching is None:
            raise InputError(f"missing key: switching mode '{mode}' needs it", path="switching")
        models = [instance.switching.models[str(job.model)] for job in instance.jobs]
        self.cost = [float(getattr(m, "pipeswitch" if self.keep else mode)) for m in models]
        self.memory = [model.memory_gb for model in models]
        memory = {kind.id: kind.memory_gb for kind in instance.gpu_kinds}
        for k, kind in enumerate(instance.gpu_kinds):
            if self.keep and kind.memory_gb is None:
                text = f"missing key: switching mode '{mode}' needs it"
                raise InputError(text, path=f"gpu_kinds[{k}].memory_gb")
        self.room = [memory[gpu.kind] or 0.0 for gpu in instance.gpus]

    def of(self, n: int, m: int) -> float:
        """Return the time to bring job n onto GPU m, and remember who is there from now on."""
        before = self.resident[m]
        cost = 0.0 if n in before else self.cost[n]
        self.resident[m] = [n]
        if self.keep:
            room = self.room[m] - self.memory[n]
            if room < 0:
                raise InputError(
                    f"job {self.instance.jobs[n].id} needs {self.memory[n]:g} GB, GPU "
                    f"{self.instance.gpus[m].id} has {self.room[m]:g}",
                    path=f"jobs[{n}].model",
                )
            for other in before:
                if other == n:
                    continue
                room -= self.memory[other]
                if room < 0:
                    break
                self.resident[m].append(other)
        return cost
