"""Schedules of family `hare`: a GPU and a start for every task."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.hare.compiled import arrays
from schedgap.instances.hare.instance import HareInstance


@dataclass(frozen=True, slots=True, eq=False)
class HareSchedule:
    """GPU and start time of every task i, in the order of `HareArrays`."""

    gpu: NDArray[np.int64]  # [i] index into instance.gpus
    start: NDArray[np.float64]  # [i] in meta.time_unit

    def to_data(self, instance: HareInstance) -> dict[str, object]:
        """Return the schedule of a solution file, sorted by start, GPU, job, round and task."""
        view = arrays(instance)
        order = np.lexsort((view.number, view.place, view.task_job, self.gpu, self.start))
        jobs, gpus = [job.id for job in instance.jobs], [gpu.id for gpu in instance.gpus]
        columns = view.task_job, view.place, view.number, self.gpu, self.start
        rows = zip(*(column[order].tolist() for column in columns), strict=True)
        return {
            "assignments": [
                {"job": jobs[n], "round": r, "task": i, "gpu": gpus[m], "start": start}
                for n, r, i, m, start in rows
            ]
        }

    @classmethod
    def from_data(cls, instance: HareInstance, data: Mapping[str, Any]) -> "HareSchedule":
        """Return the schedule in a verified solution file.

        `data`: JSON data of the schedule.
        """
        view = arrays(instance)
        jobs = {job.id: n for n, job in enumerate(instance.jobs)}
        gpus = {gpu.id: m for m, gpu in enumerate(instance.gpus)}
        gpu = np.full(view.tasks, -1, dtype=np.int64)
        start = np.full(view.tasks, np.nan)
        for row in data["assignments"]:
            q = view.job_rounds[jobs[row["job"]]] + row["round"] - 1
            i = view.round_tasks[q] + row["task"] - 1
            gpu[i], start[i] = gpus[row["gpu"]], row["start"]
        return cls(gpu, start)

    def completion(self, instance: HareInstance) -> NDArray[np.float64]:
        """Return C_n of every job [n], in the instance's time unit."""
        view = arrays(instance)
        task = np.arange(view.tasks)
        ends = self.start + view.duration[task, view.gpu_class[self.gpu]]
        return np.asarray(np.maximum.reduceat(ends, view.round_tasks[view.job_rounds[:-1]]))

    def value(self, instance: HareInstance) -> float:
        """Return sum w_n C_n; for use in searches, as the rules recompute it."""
        return float(arrays(instance).weight @ self.completion(instance))
