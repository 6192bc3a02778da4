"""Hare at full scale (ours): Algorithm 1 on the progress of the jobs in the fluid program."""

import numpy as np

from schedgap.instances.hare import HareInstance, arrays
from schedgap.models.hare.algorithms.hare import place
from schedgap.models.hare.bounds import fluid
from schedgap.models.hare.bounds.solve_fluid import solve_fluid
from schedgap.models.method import MethodResult, RunContext


def hare_fluid(instance: HareInstance, call: RunContext) -> MethodResult:
    """Run Algorithm 1 on the progress of the jobs in the fluid program."""
    solution = solve_fluid(instance, call)
    if solution.values is None:
        return MethodResult(note=f"the fluid program was not solved ({solution.result.status})")
    call.progress.phase("placing the tasks")
    model = solution.model
    start = fluid.start_times(instance, model, solution.values)
    view = arrays(instance)
    share = np.zeros((len(model.task_blocks.job), len(view.class_gpus)))  # [b, k]
    np.add.at(share, (model.block, model.kind), solution.values[: len(model.block)])
    first = np.array([gpus[0] for gpus in view.class_gpus])
    gpu = first[share.argmax(axis=1)][model.task_blocks.task_block]
    trace = {"relaxation": "fluid-lp", "relaxation_value": solution.result.objective}
    # Proved or not, the fluid program is not the relaxation that the paper's lemmas start from.
    return place(instance, call, start, gpu, relaxation_proved=False, trace=trace)
