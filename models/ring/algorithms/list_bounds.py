"""A posteriori and a priori bounds on the makespan of greedy runs, by list scheduling (ours).

References
----------
R. L. Graham, "Bounds on multiprocessing timing anomalies", SIAM Journal on Applied Mathematics 17
(1969).
M. R. Garey, R. L. Graham, "Bounds for multiprocessor scheduling with resource constraints", SIAM
Journal on Computing 4 (1975).
"""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

from schedgap.models.ring.algorithms.limit_search import LimitAttempt
from schedgap.models.ring.dispatch import Trial
from schedgap.models.ring.rates import RateTable, guarantee_constants


def list_bound(table: RateTable, trial: Trial) -> int | None:
    """Return an upper bound on the makespan of a greedy run from its execution times (ours).

    `trial`: run with a choice that places a job whenever enough GPUs are idle; this is true of all
    choices except `lbsgf`, and `pack` with a limit on the number of servers.

    The bound is max_j floor((A - G_j rho_j) / (N - g_j + 1)) + rho_j. Here A = sum_i G_i rho_i, and
    g_j is the largest G_i among the jobs dispatched up to j. The result is None if the run is
    infeasible, or if the limit excluded an idle GPU.

    Notes
    -----
    In every slot before start_j some job dispatched up to j waits. So at least N - g_j + 1 GPUs are
    busy with other jobs. Hence (start_j - 1) (N - g_j + 1) <= A - G_j rho_j, and
    end_j = start_j - 1 + rho_j.
    """
    if not trial.feasible or trial.filtered:
        return None
    slots = [end - start + 1 for start, end in zip(trial.starts, trial.ends, strict=True)]
    work = [size * length for size, length in zip(table.size, slots, strict=True)]
    total, largest, bound = sum(work), 0, 0
    for j in trial.order:
        largest = max(largest, table.size[j])  # g_j
        bound = max(bound, (total - work[j]) // (table.gpus - largest + 1) + slots[j])
    return bound


def list_factor(table: RateTable, *, smallest_first: bool = True) -> Fraction:
    """Return F such that the makespan of a greedy run is at most phi F times the optimum (ours).

    `smallest_first`: whether jobs were dispatched by ascending G_j; otherwise F holds for any
    order.

    Notes
    -----
    In `list_bound`, A <= phi N T* and rho_j <= phi T* for the optimum T*. With the smallest job
    first, g_j = G_j. The coefficient of rho_j is then (N - 2 G_j + 1) / (N - G_j + 1), which counts
    as 0 if negative. For jobs of one GPU, F is Graham's 2 - 1/m. F <= n_g if n_g >= 2, so the
    inequality of Theorem 5 follows there.
    """
    N, largest = table.gpus, max(table.size)
    alone = Fraction(N, N - largest + 1)
    if not smallest_first:
        return alone + 1
    graham = 2 - Fraction(1, N)
    return graham if 2 * largest <= N + 1 else max(graham, alone)


def greedy_trials(table: RateTable, attempts: Iterable[LimitAttempt]) -> list[Trial]:
    """Return those runs of SJF-BCO to which `list_bound` and `list_factor` apply.

    In these, FA-FFP places all jobs, and the limit excludes no idle GPU. SJF-BCO returns the best
    of all its runs, so a bound for one of them holds for its result.

    `attempts`: attempts of one search.
    """
    largest = max(table.size)
    return [
        attempt.trial
        for attempt in attempts
        if attempt.kappa is not None
        and attempt.kappa >= largest
        and attempt.trial.feasible
        and not attempt.trial.filtered
    ]


def guarantee_trace(table: RateTable, attempts: Sequence[LimitAttempt]) -> dict[str, float | None]:
    """Return the constants of Section 6 and the proved bounds of a run of SJF-BCO, for its trace.

    `attempts`: attempts of the search.

    The keys are `n_g`, `u`, `l`, `phi`; `theorem_5`, the factor of Theorem 5; `list_factor`, phi F;
    and `list_bound`, an upper bound on the makespan. Infinite values are None, and so is what needs
    a greedy run if there was none.
    """
    constants, runs = guarantee_constants(table), greedy_trials(table, attempts)
    bounds = [bound for trial in runs if (bound := list_bound(table, trial)) is not None]
    factor = float(list_factor(table)) * constants.slowdown
    return {
        "n_g": constants.max_gpus,
        "u": constants.overestimate,
        "l": constants.underestimate,
        "phi": constants.slowdown if math.isfinite(constants.slowdown) else None,
        "theorem_5": constants.theorem_5 if math.isfinite(constants.theorem_5) else None,
        "list_factor": factor if runs and math.isfinite(factor) else None,
        "list_bound": min(bounds, default=None),
    }
