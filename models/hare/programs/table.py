"""The programs of family `hare`, and the names of what their indices stand for."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from schedgap.instances.hare import HareInstance
from schedgap.models.method import Lazy
from schedgap.models.program import Narrowed, Program, by_name

_PRINTED = by_name(
    {
        "task": "x eq_4 eq_5 eq_6 eq_7_end eq_7_start",
        "task gpu": "y",
        "task task": "PAIRS before cut_alike",
        "task task gpu": "eq_8_first eq_8_second",
        "job": "C",
        "round": "barrier",
    }
)
_RELAXED = by_name(
    {
        "task": "D x eq_5 eq_6 eq_7_end eq_7_start lin_start",
        "task gpu": "y z lin_lower lin_upper",
        "gpu": "M eq_9",
        "round": "R b",
    }
)
_PREFIX = by_name(
    {"task": "x", "task gpu": "y z", "round": "b", "task#": "eq_5 lin_start", "gpu task": "eq_9"}
)
_TIME_INDEXED = by_name(
    {
        "alike kind step": "u",
        "round step": "z",
        "alike#": "eq_5",
        "kind row": "eq_8",
        "round row": "eq_7_end lin_once eq_7_start",
    }
)
_FLUID = by_name(
    {"block kind cell": "f", "job": "C", "block#": "demand", "job#": "cut_length mean_busy"}
)


def _unit(instance: HareInstance) -> float:
    """Return one grid step of the objective."""
    from schedgap.models.hare.integer_time import steps

    return float(steps(instance).grid)


def index_names(instance: HareInstance) -> Mapping[str, list[tuple[Any, ...]]]:
    """Return the names of jobs, rounds, tasks, GPUs and their kinds.

    A round is (job, round) and a task (job, round, task), with numbers from 1 as in schedules.
    `alike` stands for tasks of a round with the same data, by the first of them, and `kind` for
    GPUs of the same kind.
    """
    from schedgap.instances.hare import arrays

    view = arrays(instance)
    ids = [job.id for job in instance.jobs]
    columns = view.task_job.tolist(), view.place.tolist(), view.number.tolist()
    tasks = [(ids[n], r, i) for n, r, i in zip(*columns, strict=True)]
    return {
        "job": [(name,) for name in ids],
        "round": [tasks[first][:2] for first in view.round_tasks[:-1]],
        "task": [*tasks],
        "alike": [tasks[group[0]] for group in view.alike],
        "gpu": [(gpu.id,) for gpu in instance.gpus],
        "kind": [(instance.gpus[group[0]].kind,) for group in view.class_gpus],
    }


_BUILDERS = "schedgap.models.hare.exact.build_programs"


def _builders(place: str, **settings: object) -> dict[str, Any]:
    """Return a builder for the full horizon and for the time windows of a list schedule."""
    build: Any = partial(Lazy(place), **settings)
    heuristic = Lazy("schedgap.models.hare.heuristics.initial:starting_schedule")
    return {"build": build, "narrow": Narrowed(build, heuristic)}


PROGRAMS: Mapping[str, Program[HareInstance, Any]] = {
    "big-m": Program(
        "the paper's program Hare_Sched, with a big-M row for each order of two tasks on a GPU",
        "exact",
        equations="(4)-(8)",
        indices=_PRINTED,
        literal=Lazy("schedgap.models.hare.programs.printed:literal"),
        **_builders("schedgap.models.hare.programs.printed:build"),
        symmetry=("cut_alike",),
        also=("printed",),
    ),
    "time-indexed": Program(
        "how many tasks start on each kind of GPU in each time step",
        "exact",
        indices=_TIME_INDEXED,
        **_builders(f"{_BUILDERS}:time_indexed", max_columns=None),
        unit=_unit,
    ),
    "time-indexed-lp": Program(
        "the linear relaxation of `time-indexed`",
        "relaxation",
        indices=_TIME_INDEXED,
        **_builders(f"{_BUILDERS}:relaxed_time_indexed"),
        unit=_unit,
    ),
    "relaxed-miqcp": Program(
        "the paper's relaxation Hare_Sched_RL with its quadratic rows (9)",
        "relaxation",
        Lazy("schedgap.models.hare.programs.relaxation:build"),
        equations="(4)-(7), (9)",
        indices=_RELAXED,
    ),
    "relaxed-prefix": Program(
        "Hare_Sched_RL with Queyranne's inequality (9) for single tasks, where the cutting-plane "
        "loop of Algorithm 1 starts",
        "relaxation",
        Lazy(f"{_BUILDERS}:relaxed_prefix"),
        equations="(4)-(7), (9)",
        indices=_PREFIX,
        symmetry=("cut_alike_tasks",),
        also=("rounded", "queyranne"),
    ),
    "fluid-lp": Program(
        "linear program over jobs, kinds of GPUs and cells of time",
        "relaxation",
        Lazy(f"{_BUILDERS}:fluid_lp"),
        indices=_FLUID,
    ),
}
