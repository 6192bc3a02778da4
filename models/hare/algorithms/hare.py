"""Hare as a whole: the paper's relaxation, then Algorithm 1 on its solution."""

from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from schedgap.instances.hare import HareInstance
from schedgap.models.hare import rules
from schedgap.models.hare.algorithms.algorithm_1 import (
    GpuRule,
    Midpoint,
    algorithm_1,
    middles,
)
from schedgap.models.hare.algorithms.guarantees import lemma_report
from schedgap.models.hare.programs.relaxation_arrays import separate_full_set, separate_prefixes
from schedgap.models.hare.programs.solve_relaxation import (
    RelaxationSolution,
    has_few_cells,
    solve_relaxation,
)
from schedgap.models.method import MethodResult, RunContext
from schedgap.solvers.programs.arrays import Floats

ROUNDING = 5  # decimals of H; engine noise below that must not decide the order
_MAX_VIOLATIONS = 20  # largest number in the trace


def place(
    instance: HareInstance,
    start: Floats,
    gpu: NDArray[np.int64],
    *,
    relaxation_proved: bool,
    trace: dict[str, object],
    gpu_rule: Annotated[
        GpuRule,
        "GPU that is free first (as printed), or that synchronizes the task first (ours)",
    ] = "available",
    order_guard: Annotated[
        bool, "raise H so that the rounds of a job keep their order (ours, E4)"
    ] = True,
    midpoint: Annotated[
        Midpoint,
        "H with the slowest GPU (as printed), or with the GPU that the relaxation chose (E14)",
    ] = "max",
) -> MethodResult:
    """Run Algorithm 1 on a solution of a relaxation, and evaluate the lemmas of Theorem 4.

    `start` [i]: x_hat in the instance's time unit. `gpu` [i]: y_hat as indices into
    `instance.gpus`. `relaxation_proved`: whether they come from a proved optimum of the paper's
    relaxation. `trace`: extended and returned as the trace of the method.
    """
    middle = middles(instance, start, gpu, midpoint=midpoint).round(ROUNDING)
    schedule = algorithm_1(instance, middle, gpu_rule=gpu_rule, order_guard=order_guard).schedule
    trace["relaxation_proved"] = relaxation_proved
    if not order_guard:  # E4
        data = schedule.to_data(instance)
        broken = [
            {"rule": item.rule, "message": item.message}
            for item in islice(rules.check(instance, data, {}), _MAX_VIOLATIONS)
        ]
        if broken:
            note = f"without the order guard the schedule breaks {broken[0]['rule']}"
            return MethodResult(note=note, partial=data, trace=trace | {"violations": broken})
    trace["lemmas"] = lemma_report(instance, middle, schedule, relaxation_proved=relaxation_proved)
    return MethodResult(schedule=schedule, trace=trace)


def hare(instance: HareInstance, call: RunContext, **options: Any) -> MethodResult:
    """Run Algorithm 1 on the optimum of Hare_Sched_RL as printed."""
    relaxed = partial(solve_relaxation, separate=separate_full_set, horizon_cap=False, integer=True)
    return cut_loop(instance, call, "relaxed-miqcp", relaxed, **options)


def hare_prefix(instance: HareInstance, call: RunContext, **options: Any) -> MethodResult:
    """Run Algorithm 1 on the relaxation that Lemma 2 needs: row (9) for every set of tasks."""
    relaxed = partial(solve_relaxation, separate=separate_prefixes, integer=has_few_cells(instance))
    return cut_loop(instance, call, "relaxed-prefix", relaxed, **options)


def cut_loop(
    instance: HareInstance,
    call: RunContext,
    name: str,
    relax: Callable[..., RelaxationSolution],
    *,
    canonical: Annotated[
        bool, "take the optimum of the relaxation with the least sum of starts (E28)"
    ] = True,
    max_relaxation: Annotated[int, "solve no relaxation with more tasks x GPUs", Ge(1)] = 400,
    **rule: Any,
) -> MethodResult:
    """Solve a relaxation by cutting planes if it is small enough, then run Algorithm 1.

    `name`, `relax`: the relaxation, and the function that solves it. `rule`: options of `place`.
    """
    size = instance.number_of_tasks * len(instance.gpus)
    if size > max_relaxation:
        return MethodResult(
            note=f"the relaxation has {size} tasks x GPUs, more than "
            f"max_relaxation={max_relaxation}; use hare-fluid"
        )
    found = relax(instance, call, canonical=canonical)
    trace: dict[str, object] = {"relaxation": name} | found.trace()
    if found.values is None:
        return MethodResult(note="the relaxation was stopped without a solution", trace=trace)
    call.progress.phase("placing the tasks")
    return place(
        instance,
        found.start,
        found.gpu,
        relaxation_proved=found.closed,
        trace=trace,
        **rule,
    )
