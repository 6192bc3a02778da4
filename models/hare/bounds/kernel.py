"""Kernel of the bound `lagrangian`: one more round of identical tasks, as `lagrangian` adds it.

Both do the same operations in the same order, so their numbers are equal to the last bit.
Certificates are evaluated without compiled code.
"""

from typing import Any

import numpy as np

from schedgap.solvers.search.compiled import Kernel

LARGE = 1000  # tasks from which on rounds are added by compiled code


def add_round(ready: Any, cost: Any, steps: Any) -> Any:
    """Return [j] the minimum price with one more round, if the next starts at step j or later.

    `ready` [j]: the same without the round. `cost` [k, j], `steps` [k]: price of its tasks if they
    start at step j, and steps until they are synchronized.
    """
    size = len(ready)
    after = np.full(size, np.inf)
    for k in range(len(steps)):
        reached = max(0, size - steps[k])
        price, target = cost[k, :reached], after[size - reached :]
        for j in range(reached):
            value = ready[j] + price[j]
            target[j] = value if value < target[j] else target[j]
    least = np.inf
    for j in range(size):
        least = after[j] if after[j] < least else least
        after[j] = least
    return after


PLANS = Kernel(
    "hare-plans",
    (add_round,),
    lambda: (np.zeros(1), np.zeros((1, 1)), np.zeros(1, np.int64)),
    lambda instance: instance.number_of_tasks >= LARGE,
)
