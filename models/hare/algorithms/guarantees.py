"""Theorem 4 on an instance, and Lemmas 2 and 3 and inequality (22) on a run of Algorithm 1.

E1, E4, ... are the paper's errata as numbered in `paper.toml`.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from schedgap.instances.hare import HareInstance, HareSchedule, arrays
from schedgap.models.hare.algorithms.algorithm_1 import monotone_middles


def alpha(instance: HareInstance) -> float:
    """Return the largest ratio between the times of a task on two GPUs; infinite if one is 0.

    Notes
    -----
    Source: Lemma 3. A synchronization time of 0 on all GPUs counts as ratio 1 (E17).
    """
    view = arrays(instance)
    worst = 1.0
    for times in (view.train, view.sync):
        least, most = times.min(axis=1), times.max(axis=1)
        if ((least == 0) & (most > 0)).any():
            return math.inf
        worst = max(worst, float(np.max(most[most > 0] / least[most > 0], initial=1.0)))
    return worst


def theorem_4(instance: HareInstance) -> dict[str, object]:
    """Evaluate Theorem 4 on an instance.

    The keys are `claim` in words; `factor` = alpha (2 + alpha), or None if alpha is infinite;
    `holds`, whether the instance meets the assumptions; `failed`, those that it does not meet, in
    words.

    Notes
    -----
    Source: Theorem 4. Its proof has gaps (E1, E2, E18-E20), and for the printed relaxation the
    theorem is false. The factor is reported next to the measured ratio and never relied on.
    """
    ratio = alpha(instance)
    factor = ratio * (2 + ratio) if math.isfinite(ratio) else None
    return _claim(instance, "value <= alpha (2 + alpha) optimum (Theorem 4)", factor)


def lemma_2(instance: HareInstance) -> dict[str, object]:
    """State Lemma 2 for an instance, as `theorem_4`; `lemma_report` evaluates it on a schedule."""
    return _claim(instance, "load <= 2 H of every task on its GPU (Lemma 2)")


def lemma_3(instance: HareInstance) -> dict[str, object]:
    """State Lemma 3 for an instance, as `theorem_4`; `lemma_report` evaluates it on a schedule."""
    return _claim(instance, "idle time <= alpha H before every task (Lemma 3)")


def inequality_22(instance: HareInstance) -> dict[str, object]:
    """State (22) for an instance, as `theorem_4`; `lemma_report` evaluates it on a schedule."""
    claim = "start + training time <= (2 + alpha) H of every task (inequality (22))"
    return _claim(instance, claim)


def _claim(instance: HareInstance, claim: str, factor: float | None = None) -> dict[str, object]:
    """Return a claim, its factor if it has one, and the assumptions that the instance fails."""
    failed = failed_assumptions(instance)
    return {"claim": claim, "factor": factor, "holds": not failed, "failed": failed}


def failed_assumptions(instance: HareInstance, *, relaxation_proved: bool = True) -> list[str]:
    """Return which of the four assumptions of Theorem 4 fail, in words.

    `relaxation_proved`: whether the relaxation was solved to optimality.
    """
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
) -> dict[str, object]:
    """Evaluate the two lemmas behind Theorem 4 on a schedule of Algorithm 1.

    Parameters
    ----------
    middle : array [i]
        The H that Algorithm 1 was given, in the instance's time unit.
    schedule : HareSchedule
        The schedule that it returned.
    relaxation_proved : bool
        Whether H comes from a proved optimum of the paper's relaxation.

    Returns
    -------
    dict
        Plain data: `alpha` and `factor` = alpha (2 + alpha), None if infinite; `lemma_2`, the
        largest load / 2 H over the tasks, where the load is the training time on the task's GPU up
        to and including the task; `lemma_3`, the largest idle time / alpha H before a task on its
        GPU (None if alpha is infinite); `equation_22`, the largest (start + training time) /
        ((2 + alpha) H); `lemma_2_holds`, `lemma_3_holds`, `equation_22_holds`;
        `failed_assumptions`, in words.

    Notes
    -----
    Source: Lemma 2 (10) for the GPU that runs the task (E16), Lemma 3 (14), (22). H is raised along
    the rounds as in Algorithm 1 with its order guard. Each GPU runs its tasks in the order of pi,
    so sorting by start recovers that order.
    """
    view = arrays(instance)
    # H is at least half a training time, but for rounding.
    key = np.maximum(monotone_middles(instance, middle), view.train.min(axis=1) / 2)
    train = view.train[np.arange(view.tasks), view.gpu_class[schedule.gpu]]
    load, idle = np.empty(view.tasks), np.empty(view.tasks)
    order = np.lexsort((schedule.start, schedule.gpu))
    cuts = np.flatnonzero(np.diff(schedule.gpu[order])) + 1
    for on_gpu in np.split(order, cuts):
        load[on_gpu] = np.cumsum(train[on_gpu])
        idle[on_gpu] = schedule.start[on_gpu] - (load[on_gpu] - train[on_gpu])
    ratio = alpha(instance)
    finite = math.isfinite(ratio)
    second = float(np.max(load / (2 * key)))
    third = float(np.max(idle / (ratio * key))) if finite else None
    trained = float(np.max((schedule.start + train) / ((2 + ratio) * key))) if finite else None
    return {
        "alpha": ratio if finite else None,
        "factor": ratio * (2 + ratio) if finite else None,
        "lemma_2": second,
        "lemma_2_holds": second <= 1 + 1e-9,
        "lemma_3": third,
        "lemma_3_holds": None if third is None else third <= 1 + 1e-9,
        "equation_22": trained,
        "equation_22_holds": None if trained is None else trained <= 1 + 1e-9,
        "failed_assumptions": failed_assumptions(instance, relaxation_proved=relaxation_proved),
    }
