"""Hare as a whole: a relaxation, then Algorithm 1 on its solution."""

from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np

from schedgap.instances.hare import HareInstance, arrays
from schedgap.models.hare import rules
from schedgap.models.hare.algorithm import algorithm_1, lemma_report, middles
from schedgap.models.hare.bounds import fluid
from schedgap.models.hare.bounds.solve_relaxation import (
    RelaxationSolution,
    solve_literal,
    solve_prefix,
)
from schedgap.models.hare.run_bounds import CELLS, solve_fluid
from schedgap.models.method import Call, Method, Option, Outcome
from schedgap.solvers.linear import Floats

ROUNDING = 5  # decimals of H: what an engine leaves below is noise, and must not decide the order
_SHOWN = 20  # violations kept in a trace

OPTIONS = (
    Option(
        "gpu_rule",
        "choice",
        "available",
        "GPU that is free first (as printed), or on which the task is synchronized first (ours)",
        choices=("available", "finish"),
    ),
    Option("order_guard", "bool", True, "raise H along the rounds of a job (ours, E4)"),
    Option(
        "midpoint",
        "choice",
        "max",
        "H on the slowest GPU (as printed), or on the relaxation's own (E14)",
        choices=("max", "assigned"),
    ),
)


def place(
    instance: HareInstance,
    call: Call,
    start: Floats,
    gpu: Any,
    *,
    relaxation_proved: bool,
    trace: dict[str, Any],
) -> Outcome:
    """Run Algorithm 1 on a relaxation's starts [i] and GPUs [i], and measure its lemmas."""
    options = call.options
    middle = middles(instance, start, gpu, midpoint=options["midpoint"]).round(ROUNDING)
    schedule = algorithm_1(
        instance, middle, gpu_rule=options["gpu_rule"], order_guard=options["order_guard"]
    )
    trace["relaxation_proved"] = relaxation_proved
    if not options["order_guard"]:  # E4
        data = schedule.to_data(instance)
        broken = [
            {"rule": item.rule, "message": item.message}
            for item in islice(rules.check(instance, data, {}), _SHOWN)
        ]
        if broken:
            note = f"without the order guard the schedule breaks {broken[0]['rule']}"
            return Outcome(note=note, partial=data, trace=trace | {"violations": broken})
    trace["lemmas"] = lemma_report(instance, middle, schedule, relaxation_proved=relaxation_proved)
    return Outcome(schedule=schedule, trace=trace)


def hare(instance: HareInstance, call: Call) -> Outcome:
    """Run Algorithm 1 on the optimum of Hare_Sched_RL as printed."""
    return _cut_loop(instance, call, "relaxed-miqcp", solve_literal)


def hare_prefix(instance: HareInstance, call: Call) -> Outcome:
    """Run Algorithm 1 on the relaxation that Lemma 2 uses: row (9) for every set of tasks."""
    return _cut_loop(instance, call, "relaxed-prefix", solve_prefix)


def _cut_loop(
    instance: HareInstance,
    call: Call,
    name: str,
    relax: Callable[..., RelaxationSolution],
) -> Outcome:
    size, most = instance.number_of_tasks * len(instance.gpus), call.options["max_relaxation"]
    if size > most:
        return Outcome(
            note=f"the relaxation has {size} tasks x GPUs, more than max_relaxation={most}; "
            "take hare-fluid"
        )
    solution = relax(instance, call, choose_point=call.options["canonical"])
    trace = {"relaxation": name} | solution.trace()
    if solution.point is None:
        return Outcome(note="the relaxation was stopped without a point", trace=trace)
    call.progress.phase("placing the tasks")
    return place(
        instance,
        call,
        solution.start,
        solution.gpu,
        relaxation_proved=solution.found.closed,
        trace=trace,
    )


def hare_fluid(instance: HareInstance, call: Call) -> Outcome:
    """Run Algorithm 1 on the progress of the jobs in the fluid program."""
    solution = solve_fluid(instance, call)
    if solution.values is None:
        return Outcome(note=f"the fluid program was not solved ({solution.result.status})")
    call.progress.phase("placing the tasks")
    model = solution.model
    start = fluid.starts(instance, model, solution.values)
    view = arrays(instance)
    share = np.zeros((len(model.blocks.job), len(view.class_gpus)))  # [b, k]
    np.add.at(share, (model.block, model.kind), solution.values[: len(model.block)])
    first = np.array([gpus[0] for gpus in view.class_gpus])
    gpu = first[share.argmax(axis=1)][model.blocks.task_block]
    trace = {"relaxation": "fluid-lp", "relaxation_value": solution.result.objective}
    # Proved or not, the fluid program is not the relaxation that the paper's lemmas start from.
    return place(instance, call, start, gpu, relaxation_proved=False, trace=trace)


_RELAXATION_OPTIONS = (
    Option("canonical", "bool", True, "of all optima, the one of least sum of starts (E28)"),
    Option("max_relaxation", "int", 400, "refuse beyond so many tasks x GPUs", least=1),
)
METHODS: tuple[Method, ...] = (
    Method(
        "hare",
        "algorithm",
        hare,
        "Algorithm 1 on the paper's relaxation",
        "Algorithm 1, Section 5.2",
        engines=("highs", "gurobi"),
        options=(*OPTIONS, *_RELAXATION_OPTIONS),
    ),
    Method(
        "hare-prefix",
        "algorithm",
        hare_prefix,
        "Algorithm 1 on the relaxation that Lemma 2 uses",
        "Algorithm 1, Lemma 2",
        ours=True,
        engines=("highs", "gurobi"),
        options=(*OPTIONS, *_RELAXATION_OPTIONS),
    ),
    Method(
        "hare-fluid",
        "algorithm",
        hare_fluid,
        "Algorithm 1 on the fluid program's progress; for full scale",
        "Algorithm 1",
        ours=True,
        engines=("highs",),
        options=(*OPTIONS, CELLS),
    ),
)
