"""What is proved of runs that list scheduling carries: bounds on makespans (ours)."""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from schedgap.models.ring.algorithms.limit_search import Attempt
from schedgap.models.ring.dispatch import Trial
from schedgap.models.ring.rates import RateTable, factors


def list_bound(table: RateTable, trial: Trial) -> int | None:
    """Return what a greedy run's makespan cannot exceed, by its own execution times (ours).

    Parameters
    ----------
    table : RateTable
    trial : Trial
        Of a choice that takes a job whenever as many GPUs are idle as it asks for; all do but
        `lbsgf`, and `pack` with a number of servers.

    Returns
    -------
    int or None
        max_j floor((A - G_j rho_j) / (N - g_j + 1)) + rho_j with A = sum G_i rho_i, and g_j the
        most GPUs that a job up to j asks for. None where the run is infeasible, or the limit kept a
        job from an idle GPU.

    Notes
    -----
    In every slot before start_j some job up to j waits, so at least N - g_j + 1 GPUs are busy, none
    of them with j: end_j = start_j - 1 + rho_j.
    """
    if not trial.feasible or trial.filtered:
        return None
    slots = [end - start + 1 for start, end in zip(trial.starts, trial.ends, strict=True)]
    work = [size * each for size, each in zip(table.size, slots, strict=True)]
    total, widest, bound = sum(work), 0, 0
    for j in trial.order:
        widest = max(widest, table.size[j])
        bound = max(bound, (total - work[j]) // (table.gpus - widest + 1) + slots[j])
    return bound


def list_factor(table: RateTable, *, smallest_first: bool = True) -> Fraction:
    """Return F such that a greedy run's makespan is at most phi F times the optimum (ours).

    Parameters
    ----------
    smallest_first : bool
        Whether jobs were dispatched by G_j ascending; otherwise the order may be any.

    Notes
    -----
    A <= phi N T* and rho_j <= phi T* in `list_bound`. Smallest first, g_j = G_j, and the
    coefficient of rho_j, (N - 2 G_j + 1) / (N - G_j + 1), is left out where it is negative. With
    one-GPU jobs it is Graham's 2 - 1/m. F <= n_g for n_g >= 2, so Theorem 5's inequality follows
    there.
    """
    N, widest = table.gpus, max(table.size)
    alone = Fraction(N, N - widest + 1)
    if not smallest_first:
        return alone + 1
    graham = 2 - Fraction(1, N)
    return graham if 2 * widest <= N + 1 else max(graham, alone)


def greedy(table: RateTable, attempts: Iterable[Attempt]) -> list[Trial]:
    """Return those runs of SJF-BCO to which `list_bound` and `list_factor` apply.

    All jobs by FA-FFP, and none kept from an idle GPU by the limit. SJF-BCO returns the best of all
    its runs, so what holds for one of these holds for it.
    """
    widest = max(table.size)
    return [
        attempt.trial
        for attempt in attempts
        if attempt.kappa is not None
        and attempt.kappa >= widest
        and attempt.trial.feasible
        and not attempt.trial.filtered
    ]


def facts(table: RateTable, attempts: Sequence[Attempt]) -> dict[str, Any]:
    """Return the constants of Section 6, and what is proved of a run of SJF-BCO (a trace)."""
    known, runs = factors(table), greedy(table, attempts)
    bounds = [bound for trial in runs if (bound := list_bound(table, trial)) is not None]
    factor = float(list_factor(table)) * known.stretch
    return {
        "n_g": known.largest,
        "u": known.over,
        "l": known.under,
        "phi": known.stretch if math.isfinite(known.stretch) else None,
        "theorem_5": known.theorem_5 if math.isfinite(known.theorem_5) else None,
        "list_factor": factor if runs and math.isfinite(factor) else None,
        "list_bound": min(bounds, default=None),
    }
