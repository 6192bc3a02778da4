"""Hare at full scale (ours): Algorithm 1 on the progress of the jobs in the fluid program.

The paper's relaxation cannot be solved at full scale. Here the starts x_hat are the times at which
the fluid solution reaches each round, in the manner of alpha-points.

References
----------
M. X. Goemans, M. Queyranne, A. S. Schulz, M. Skutella, Y. Wang, "Single machine scheduling with
release dates", SIAM Journal on Discrete Mathematics 15 (2002): alpha-points.
"""

from typing import Any

import numpy as np

from schedgap.instances.hare import HareInstance, arrays
from schedgap.models.hare.algorithms.hare import place
from schedgap.models.hare.bounds import fluid
from schedgap.models.hare.bounds.solve_fluid import Cells, solve_fluid
from schedgap.models.method import MethodResult, RunContext


def hare_fluid(
    instance: HareInstance, call: RunContext, *, cells: Cells = 100, **rule: Any
) -> MethodResult:
    """Run Algorithm 1 on the progress of the jobs in the fluid program.

    `rule`: options of `place`.
    """
    solution = solve_fluid(instance, call, cells)
    model, values = solution.model, solution.result.values
    if values is None:
        return MethodResult(note=f"the fluid program was not solved ({solution.result.status})")
    call.progress.phase("placing the tasks")
    start = fluid.start_times(instance, model, values)
    view = arrays(instance)
    share = np.zeros((len(model.task_blocks.job), len(view.class_gpus)))  # [b, k]
    np.add.at(share, (model.block, model.kind), values[: len(model.block)])
    first = np.array([gpus[0] for gpus in view.class_gpus])
    gpu = first[share.argmax(axis=1)][model.task_blocks.task_block]
    trace: dict[str, object] = {
        "relaxation": "fluid-lp",
        "relaxation_value": solution.result.objective,
    }
    # The fluid program, even if solved to optimality, is not the relaxation of the paper's lemmas.
    return place(instance, start, gpu, relaxation_proved=False, trace=trace, **rule)
