"""Many small `hare` instances, and one child process that solves them all with one method."""

import random
from collections.abc import Callable, Sequence
from typing import Any

from schedgap.instances.hare import HareInstance
from schedgap.models.hare import FAMILY, rules
from schedgap.models.hare.methods import METHODS
from schedgap.models.method import Budget, RunContext
from schedgap.solvers import Clock
from schedgap.solvers.children.processes import run_child
from strategies.hare import instance_of


class Silent:
    """Progress that keeps the bounds it hears, to be held against the optimum."""

    def __init__(self) -> None:
        self.bounds: list[float] = []

    def incumbent(self, schedule: Any, objective: float) -> None:
        """Ignore it."""

    def bound(self, value: float, certificate: object = None, **more: object) -> None:
        """Keep it."""
        self.bounds.append(value)

    def phase(self, text: str) -> None:
        """Ignore it."""


def tiny_instances(count: int, seed: int, most_tasks: int = 6) -> list[HareInstance]:
    """Return instances of at most so many tasks: unlike tasks and rounds, times with up to two
    decimals, GPUs with unrelated times, long synchronization, arrivals, weights of 0.
    """
    rng = random.Random(seed)
    return [_tiny(rng, most_tasks) for _ in range(count)]


def _tiny(rng: random.Random, most_tasks: int) -> HareInstance:
    scale = rng.choice([1, 1, 1, 2, 10])
    kinds = [rng.choice(["fast", "slow"]) for _ in range(rng.randint(1, 3))]
    gpus = {f"g{m}": kind for m, kind in enumerate(kinds, 1)}

    def time(least: int, most: int = 6) -> float:
        return (
            rng.randint(least * scale, most * scale) / scale
            if scale > 1
            else rng.randint(least, most)
        )

    def times(least: int) -> dict[str, float]:
        keys = [*dict.fromkeys(kinds)]
        if rng.random() < 0.15:
            keys.append(rng.choice([*gpus]))
        return {key: time(least) or (least and 1) for key in keys}

    def task() -> dict[str, Any]:
        found: dict[str, Any] = {"training_time": times(1)}
        if rng.random() < 0.5:
            found["synchronization_time"] = times(0)
        return found

    jobs: list[dict[str, Any]] = []
    left = rng.randint(2, most_tasks)
    while left:
        job: dict[str, Any] = {"weight": rng.choice([0, 1, 1, 2, 3, 5, 0.5])}
        job["arrival"] = rng.choice([0, 0, time(0, 8)])
        size = rng.randint(1, min(4, left))
        if rng.random() < 0.5:
            width = rng.choice([width for width in (1, 2, 3, 4) if size % width == 0])
            job |= {"rounds": size // width, "tasks_per_round": width, **task()}
        else:
            rounds: list[list[dict[str, Any]]] = [[]]
            for _ in range(size):
                if rounds[-1] and rng.random() < 0.5:
                    rounds.append([])
                rounds[-1].append(task())
            job["task_rounds"] = rounds
        jobs.append(job)
        left -= size
    return instance_of(gpus, jobs)


def solve_batch(
    send: Callable[[Any], None],
    name: str,
    engine: str | None,
    instances: Sequence[HareInstance],
    settings: dict[str, Any],
    seconds: float | None,
) -> list[dict[str, Any]]:
    """Run one method on many instances in this process, and judge its schedules by the rules."""
    [method] = [method for method in METHODS if method.name == name]
    options = method.parse(settings)
    answers = []
    for instance in instances:
        progress = Silent()
        outcome = FAMILY.run(
            method, instance, RunContext(options, engine, Budget(Clock(seconds)), progress)
        )
        objective, violations = None, []
        if outcome.schedule is not None:
            data = outcome.schedule.to_data(instance)
            violations = [item.message for item in rules.check(instance, data, options)]
            objective = rules.objective(instance, data)
        answers.append(
            {
                "objective": objective,
                "bound": outcome.bound,
                "violations": violations,
                "heard": progress.bounds,
                "infeasible": outcome.infeasible,
                "trace": dict(outcome.trace),
                "note": outcome.note,
                "certificate": outcome.certificate,
            }
        )
    return answers


def answers_of(
    name: str,
    engine: str | None,
    instances: Sequence[HareInstance],
    settings: dict[str, Any] | None = None,
    seconds: float | None = None,
) -> list[dict[str, Any]]:
    """Run `solve_batch` in a child."""
    reply = run_child(
        "strategies.hare_batch:solve_batch", name, engine, instances, settings or {}, seconds,
        engine=engine,
    )  # fmt: skip
    answers: list[dict[str, Any]] = reply.result()
    return answers


def tree_batch(
    send: Callable[[Any], None], instances: Sequence[HareInstance]
) -> list[tuple[int, int, list[int]]]:
    """Run branch and price on many instances: upper, lower, and the bounds on the way, in steps."""
    from schedgap.models.hare.exact.branch_and_price import BranchAndPrice
    from schedgap.models.hare.heuristics.initial import starting_schedule

    answers = []
    for instance in instances:
        heard: list[int] = []
        tree = BranchAndPrice(
            instance, starting_schedule(instance), budget=Budget(), on_bound=heard.append
        )
        result = tree.run()
        answers.append((result.upper, result.lower, heard))
    return answers


def trees_of(instances: Sequence[HareInstance]) -> list[tuple[int, int, list[int]]]:
    """Run `tree_batch` in a child."""
    reply = run_child("strategies.hare_batch:tree_batch", instances, engine="highs")
    answers: list[tuple[int, int, list[int]]] = reply.result()
    return answers
