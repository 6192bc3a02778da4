"""The bound that a tree of branches on the completions of jobs proves, with prices at its leaves.

See `completion_branches`, which finds such trees; certificates evaluate them with this module.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.bounds.pricing import Window, priced_bound

MAX_LEAVES = 400  # a checker takes a tenth of a second for each part

Windows = dict[int, Window]
Branch = tuple[int, int, int, int]  # job and c; numbers of two branches, or -1 - k of leaf k


def narrowed(instance: DmlrsInstance, windows: Windows, job: int, c: int) -> tuple[Windows, ...]:
    """Return the windows where a job completes in slot c or earlier, and where it does not."""
    first, last = windows.get(job, (1, instance.horizon + 1))
    early, late = (first, min(last, c)), (max(first, c + 1), last)
    return {**windows, job: early}, {**windows, job: late}


def tree_bound(
    instance: DmlrsInstance, branches: Sequence[Branch], prices: Mapping[int, Floats]
) -> float:
    """Return the bound on every schedule that a tree of branches proves.

    `branches`: branch 0 is the root; without branches, leaf 0 is. `prices`: prices [t, r] by leaf;
    all prices of other leaves are 0.

    Raises
    ------
    ValueError
        If a branch is missing, a branch or leaf is reached twice, a leaf with prices is not
        reached, a job or slot does not exist, or the tree is too large.
    """
    bounds, reached = [0.0], set[int]()
    none = np.zeros((instance.horizon, len(instance.resources)))
    left: list[tuple[int, Windows]] = [(0 if branches else -1, {})]
    while left:
        number, windows = left.pop()
        if number in reached or len(reached) > 2 * MAX_LEAVES:
            raise ValueError(f"branch or leaf {number} is reached twice, or the tree is too large")
        reached.add(number)
        if number < 0:
            bounds.append(priced_bound(instance, prices.get(-1 - number, none), windows))
            continue
        if number >= len(branches):
            raise ValueError(f"no branch {number}")
        job, c, early, late = branches[number]
        if not (0 <= job < len(instance.jobs) and 1 <= c <= instance.horizon):
            raise ValueError(f"branch {number} has no such job or slot")
        left += zip((early, late), narrowed(instance, windows, job, c), strict=True)
    if unused := [leaf for leaf in prices if -1 - leaf not in reached]:
        raise ValueError(f"no leaf {unused[0]}")
    return max(bounds)
