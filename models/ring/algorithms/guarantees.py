"""The statements of Sections 5 and 6 on an instance; what we can prove is in `list_bounds`.

Lemmas 2-4 and Theorem 6 are statements on a run of SJF-BCO, and are evaluated on that run. E24 and
E25 are the errata of these numbers in `paper.toml`.
"""

import math

from schedgap.instances.ring import RingInstance
from schedgap.models.ring.algorithms.fa_ffp import fa_ffp
from schedgap.models.ring.algorithms.limit_search import LimitAttempt, first_limit
from schedgap.models.ring.algorithms.sjf_bco import search_runs, sjf_bco, smallest_first
from schedgap.models.ring.dispatch import NO_PLACE, dispatch
from schedgap.models.ring.rates import (
    guarantee_constants,
    load_increments,
    no_schedule,
    rate_table,
)


def theorem_5(instance: RingInstance) -> dict[str, object]:
    """Return the factor of Theorem 5 for an instance, and whether its inequality is proved.

    The keys are `claim`, the theorem in words; `factor`, n_g phi u / l, or None if infinite;
    `holds`, whether our own argument proves the inequality; `failed`, the assumptions that fail, in
    words.

    Notes
    -----
    Every step of the printed proof but the last is wrong (E24). The inequality follows from
    `list_factor` if n_g >= 2 and some run was greedy. For n_g = 1 it is false.
    """
    claim = "makespan <= n_g phi (u/l) optimum (Theorem 5)"
    if reason := no_schedule(instance):
        return {"claim": claim, "factor": None, "holds": False, "failed": [reason]}
    constants, failed = guarantee_constants(rate_table(instance)), []
    if constants.max_gpus == 1:
        failed.append("A1: some job asks for two GPUs or more; with exact estimates the factor is "
                      "1 and list scheduling would be optimal")  # fmt: skip
    if math.isinf(constants.theorem_5):
        failed.append(
            "A2: every job makes progress at every contention level, else the factor is infinite"
        )
    if not _some_run_is_greedy(instance):
        failed.append("A3: in some run with kappa >= n_g the limit excludes no idle GPU")
    return {
        "claim": claim,
        "factor": None if math.isinf(constants.theorem_5) else constants.theorem_5,
        "holds": not failed,
        "failed": failed,
    }


def lemma_2(instance: RingInstance) -> dict[str, object]:
    """Return whether the largest load of the run of SJF-BCO is its limit (Lemma 2)."""
    claim = "W-hat = theta-tilde (Lemma 2)"
    best = _best_run(instance)
    if isinstance(best, str):
        return _statement(claim, None, best)
    equal = math.isclose(best.trial.load, best.limit)
    return _statement(
        claim, None, "" if equal else f"W-hat is {best.trial.load:g}, the limit {best.limit}"
    )


def lemma_3(instance: RingInstance) -> dict[str, object]:
    """Return whether the makespan of SJF-BCO is at most n_g times its largest load (Lemma 3).

    `factor` is n_g.
    """
    claim = "makespan <= n_g W-hat (Lemma 3)"
    best, largest = _best_run(instance), max(job.gpus for job in instance.jobs)
    if isinstance(best, str):
        return _statement(claim, largest, best)
    most = largest * best.trial.load
    holds = best.trial.makespan <= most + 1e-9
    return _statement(
        claim, largest, "" if holds else f"the makespan is {best.trial.makespan}, above {most:g}"
    )


def lemma_4(instance: RingInstance) -> dict[str, object]:
    """Return whether the largest load of SJF-BCO is shown to be within Lemma 4.

    The least limit theta_u* is replaced by a bound: the largest estimate, or the average load.

    The keys are `factor`, phi u / l, or None if infinite; and `holds`, whether the inequality holds
    with the bound, and hence with theta_u*.
    """
    claim = "theta-tilde <= phi (u/l) theta_u* (Lemma 4)"
    best, table = _best_run(instance), rate_table(instance)
    constants, loads = guarantee_constants(table), load_increments(table)
    factor = constants.theorem_5 / constants.max_gpus
    known = None if math.isinf(factor) else factor
    if isinstance(best, str):
        return _statement(claim, known, best)
    work = math.fsum(size * load for size, load in zip(table.size, loads, strict=True))
    least = max(*loads, work / table.gpus)
    holds = best.trial.load <= factor * least * (1 + 1e-9)
    return _statement(
        claim,
        known,
        ""
        if holds
        else f"W-hat is {best.trial.load:g}; {factor:g} times {least:g}, a bound on "
        "theta_u*, is less",
    )


def theorem_6(instance: RingInstance) -> dict[str, object]:
    """Return whether SJF-BCO makes at most n_g (1 + log2 T) runs, as the proof of Theorem 6 counts.

    `factor` is this number.
    """
    most = max(job.gpus for job in instance.jobs) * instance.horizon.bit_length()
    claim = "at most n_g (1 + log2 T) runs of the dispatcher (Theorem 6)"
    if reason := no_schedule(instance):
        return _statement(claim, most, reason)
    number = len(search_runs(rate_table(instance)).attempts)
    return _statement(claim, most, "" if number <= most else f"there are {number} runs")


def _some_run_is_greedy(instance: RingInstance) -> bool:
    """Return whether `list_bound` applies to one of the runs of SJF-BCO with its default options.

    One of its first runs has kappa = n_g and the first limit. If that is greedy, which is likely
    because the limit is high, no other run is made.
    """
    table = rate_table(instance)
    first = dispatch(table, smallest_first(table), fa_ffp, limit=first_limit(table.horizon))
    if first.feasible and not first.filtered:
        return True
    return sjf_bco(instance).trace["list_bound"] is not None


def _best_run(instance: RingInstance) -> LimitAttempt | str:
    """Return the run whose schedule SJF-BCO returns, or why there is none."""
    if reason := no_schedule(instance):
        return reason
    best = search_runs(rate_table(instance)).best
    return NO_PLACE if best is None else best


def _statement(claim: str, factor: float | None, failed: str) -> dict[str, object]:
    """Return a statement; it holds if no reason is given why it fails."""
    reasons = [failed] if failed else []
    return {"claim": claim, "factor": factor, "holds": not failed, "failed": reasons}
