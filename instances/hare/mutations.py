"""What a search for worst cases may change in an instance of family `hare`."""

from typing import Any

from schedgap.instances.mutations import Space


def _repair(data: dict[str, Any]) -> None:
    """Drop kinds without a GPU, and times on kinds and GPUs that are gone; weight 0 becomes 1.

    Jobs of weight 0 would show only how an algorithm breaks ties.
    """
    kinds = {gpu["kind"] for gpu in data["gpus"]}
    data["gpu_kinds"] = [kind for kind in data["gpu_kinds"] if kind["id"] in kinds]
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
