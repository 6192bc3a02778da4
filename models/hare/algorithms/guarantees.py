"""What the paper promises of Algorithm 1 on an instance, and what its lemmas say of a run.

E1, E4, ... are the paper's errata as numbered in `paper.py`.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from schedgap.instances.hare import HareInstance, HareSchedule, arrays
from schedgap.models.hare.algorithms.algorithm_1 import raised


def alpha(instance: HareInstance) -> float:
    """Return the greatest ratio of a task's times over the GPUs, >= 1; infinite when x / 0 occurs.

    Notes
    -----
    Source: Lemma 3. A task whose synchronization takes 0 everywhere has ratio 1 (E17).
    """
    view = arrays(instance)
    worst = 1.0
    for times in (view.train, view.sync):
        least, most = times.min(axis=1), times.max(axis=1)
        if ((least == 0) & (most > 0)).any():
            return math.inf
        worst = max(worst, float(np.max(most[most > 0] / least[most > 0], initial=1.0)))
    return worst


def theorem_4(instance: HareInstance) -> dict[str, Any]:
    """Return what Theorem 4 says of an instance.

    Returns
    -------
    dict
        `claim` in words; `factor` = alpha (2 + alpha), or None when alpha is infinite; `holds`,
        whether the instance meets the conditions; `failed`, those that it does not meet, in words.

    Notes
    -----
    Source: Theorem 4. Its proof has gaps (E1, E2, E18-E20), and with the printed relaxation the
    theorem is false: the factor is to be reported beside the measured ratio, never relied on.
    """
    worst, failed = alpha(instance), failed_assumptions(instance)
    return {
        "claim": "value <= alpha (2 + alpha) optimum (Theorem 4)",
        "factor": worst * (2 + worst) if math.isfinite(worst) else None,
        "holds": not failed,
        "failed": failed,
    }


def failed_assumptions(instance: HareInstance, *, relaxation_proved: bool = True) -> list[str]:
    """Return which of the four assumptions behind Theorem 4 fail, in words."""
    view = arrays(instance)
    first = view.round_tasks[view.job_rounds[:-1]][view.task_job]  # first task of each one's job
    unlike = ((view.train != view.train[first]) | (view.sync != view.sync[first])).any()
    checks = [
        ("(i) no synchronization is longer than training", bool((view.sync > view.train).any())),
        ("(ii) alpha is finite", math.isinf(alpha(instance))),
        ("(iii) the relaxation is solved to optimality", not relaxation_proved),
        ("(iv) the tasks of each job are alike", bool(unlike)),
    ]
    return [words for words, fails in checks if fails]


def lemma_report(
    instance: HareInstance,
    middle: ArrayLike,
    schedule: HareSchedule,
    *,
    relaxation_proved: bool = True,
) -> dict[str, Any]:
    """Measure both lemmas behind Theorem 4 on a schedule of Algorithm 1.

    Parameters
    ----------
    middle : array [i]
        The H that Algorithm 1 was given, in the instance's time unit.
    relaxation_proved : bool
        Whether H comes from a proved optimum of the paper's relaxation.

    Returns
    -------
    dict
        Plain data: `alpha` and `factor` = alpha (2 + alpha), None when infinite; `lemma_2`, the
        greatest load / 2 H, where load is the training time on the task's GPU up to and with the
        task; `lemma_3`, the greatest idle time / alpha H before a task on its GPU (None without
        alpha); `lemma_2_holds`, `lemma_3_holds`; `failed_assumptions`, in words.

    Notes
    -----
    Source: Lemma 2 (10) for the GPU that takes the task (E16), Lemma 3 (14). H is raised along the
    rounds as in Algorithm 1 with its guard. A GPU serves its tasks in the order of pi, so starts
    give that order.
    """
    view = arrays(instance)
    # Rounding may have pushed an H below half a training time, which no H can be.
    key = np.maximum(raised(instance, middle), view.train.min(axis=1) / 2)
    train = view.train[np.arange(view.tasks), view.gpu_class[schedule.gpu]]
    load, idle = np.empty(view.tasks), np.empty(view.tasks)
    order = np.lexsort((schedule.start, schedule.gpu))
    cuts = np.flatnonzero(np.diff(schedule.gpu[order])) + 1
    for own in np.split(order, cuts):
        load[own] = np.cumsum(train[own])
        idle[own] = schedule.start[own] - (load[own] - train[own])
    worst = alpha(instance)
    finite = math.isfinite(worst)
    lemma_2 = float(np.max(load / (2 * key)))
    lemma_3 = float(np.max(idle / (worst * key))) if finite else None
    return {
        "alpha": worst if finite else None,
        "factor": worst * (2 + worst) if finite else None,
        "lemma_2": lemma_2,
        "lemma_2_holds": lemma_2 <= 1 + 1e-9,
        "lemma_3": lemma_3,
        "lemma_3_holds": None if lemma_3 is None else lemma_3 <= 1 + 1e-9,
        "failed_assumptions": failed_assumptions(instance, relaxation_proved=relaxation_proved),
    }
