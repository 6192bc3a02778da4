"""What a search for worst cases may change in an instance of family `hare`."""

from typing import Any

from schedgap.instances.mutations import Space

MOST_TASKS = 256  # few enough to prove optima: with 1,400, none is proved within a minute


def _tasks(job: dict[str, Any]) -> int:
    """Return the tasks of a job whose rounds are all alike."""
    tasks: int = max(0, job.get("rounds", 0)) * max(0, job.get("tasks_per_round", 0))
    return tasks


def _repair(data: dict[str, Any]) -> None:
    """Drop kinds without a GPU, and times on kinds and GPUs that are gone; weight 0 becomes 1.

    Jobs of weight 0 would show only how an algorithm breaks ties. If there are more than
    `MOST_TASKS` tasks, the largest jobs get smaller.
    """
    kinds = {gpu["kind"] for gpu in data["gpus"]}
    data["gpu_kinds"] = [kind for kind in data["gpu_kinds"] if kind["id"] in kinds]
    while sum(map(_tasks, data["jobs"])) > MOST_TASKS:
        largest = max(data["jobs"], key=_tasks)
        if _tasks(largest) == 1:
            break
        largest["rounds" if largest["rounds"] > 1 else "tasks_per_round"] //= 2
    known = kinds | {gpu["id"] for gpu in data["gpus"]}
    for job in data["jobs"]:
        job["weight"] = job["weight"] or 1
        tasks = [task for tasks in job.get("task_rounds", ()) for task in tasks]
        for owner in (job, *tasks):
            for key in ("training_time", "synchronization_time"):
                if key in owner:
                    owner[key] = {on: time for on, time in owner[key].items() if on in known}


SPACE = Space(
    lists={"jobs": 8, "gpus": 4},
    fixed=frozenset({"switching"}),
    repair=_repair,
    start={"jobs": 5, "gpus": 2, "rounds": "1-2", "tasks": "5-9", "weights": "1-9"},
)
