"""The paper's algorithms as methods: `a-online`, `a-online-compact`, `a-maxweight`."""

import math
from collections.abc import Mapping
from functools import partial
from itertools import islice
from typing import Any

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic import rules, windows
from schedgap.models.elastic.algorithm import OnlineRun, Round, run_online
from schedgap.models.elastic.batch import a_maxweight, batch_of, constants, schedule_of
from schedgap.models.elastic.bounds.dual_prices import most_weight
from schedgap.models.elastic.guarantees import gamma, lemma_1, windows_needed
from schedgap.models.method import Call, Method, Option, Outcome

_SHOWN = 20  # violations kept in a trace


def needs_completion(instance: ElasticInstance) -> str | None:
    """Refuse a batch problem."""
    return "needs objective weighted_completion" if instance.is_batch else None


def needs_batch(instance: ElasticInstance) -> str | None:
    """Refuse a problem over time."""
    return None if instance.is_batch else "needs objective scheduled_weight"


def no_schedule(instance: ElasticInstance) -> Outcome | None:
    """Return the proof that some job can never run as it must, if there is one."""
    reason = windows.no_schedule(instance)
    return Outcome(infeasible=True, note=reason) if reason else None


def deliver(
    instance: ElasticInstance, schedule: ElasticSchedule, trace: Mapping[str, Any]
) -> Outcome:
    """Return a schedule that was made without an eye on a closed horizon, if it ends in time."""
    if instance.last_end is not None:
        data = schedule.to_data(instance)
        late = list(islice(rules.check(instance, data, {}), _SHOWN))
        if late and all(item.rule == "V4" for item in late):
            words = [{"rule": item.rule, "message": item.message} for item in late]
            note = f"the schedule ends after the closed horizon: {late[0].message}"
            return Outcome(note=note, partial=data, trace={**trace, "violations": words})
    return Outcome(schedule=schedule, trace=dict(trace))


def run_a_online(instance: ElasticInstance, call: Call) -> Outcome:
    """Run `a-online`."""
    return _online(instance, call, compact=call.options["compact"])


def run_a_online_compact(instance: ElasticInstance, call: Call) -> Outcome:
    """Run `a-online-compact`."""
    return _online(instance, call, compact=True)


def _online(instance: ElasticInstance, call: Call, *, compact: bool) -> Outcome:
    if proof := no_schedule(instance):
        return proof
    options = call.options
    run = run_online(
        instance,
        alpha=options["alpha"],
        F=options["F"],
        normalise=options["normalise"],
        rule=options["placement"],
        order=options["order"],
        tie=options["tie"],
        compact=compact,
    )
    trace = {
        "alpha": run.given.alpha,
        "kappa": run.given.fixed.kappa,
        "F": run.given.fixed.F,
        "gamma": gamma(run.given.fixed),
        "lemma_1": lemma_1(run.rounds, run.given.alpha, upper=partial(most_weight, instance)),
        "rounds": [
            told | {"alpha_needed": _needed(instance, run, each)}
            for told, each in zip(run.trace(), run.rounds, strict=True)
        ],
    }
    return deliver(instance, run.schedule, trace)


def _needed(instance: ElasticInstance, run: OnlineRun, each: Round) -> int:
    """Return the alpha of a round that the text after Theorem 5 gives: (6) with w(J_i)."""
    total = math.fsum(arrived.job.weight for arrived in each.batch)
    least = min(job.weight for job in instance.jobs)
    return windows_needed(total, least, gamma(run.given.fixed))


def run_a_maxweight(instance: ElasticInstance, call: Call) -> Outcome:
    """Run `a-maxweight`."""
    options = call.options
    view, jobs = batch_of(instance)
    fixed = constants(instance, F=options["F"], normalise=options["normalise"])
    assert instance.deadline is not None
    batch = a_maxweight(
        view,
        jobs,
        instance.deadline,
        fixed,
        rule=options["placement"],
        order=options["order"],
        tie=options["tie"],
    )
    trace = {"kappa": fixed.kappa, "F": fixed.F, "gamma": gamma(fixed)}
    return Outcome(schedule_of(view, batch), trace=trace)


SUBROUTINES = (
    Option(
        "placement",
        "choice",
        "exact",
        "split placements of least cost (ours, E19), or Algorithm 4 with its slips mended",
        choices=("exact", "repaired"),
    ),
    Option(
        "F",
        "float",
        None,
        "bound on weight by consumption; without it the least true one",
        least=1e-9,
    ),
    Option(
        "normalise", "bool", True, "divide demands by mean capacities, scale weights (ours, E8)"
    ),
    Option(
        "order",
        "choice",
        "arrival",
        "jobs of a batch as they arrived, or by weight over least volume (ours, E15)",
        choices=("arrival", "density"),
    ),
    Option(
        "tie",
        "choice",
        "order",
        "equal costs: first in the printed order, or least volume, then earliest end (ours, E21)",
        choices=("order", "volume"),
    ),
)
ALPHA = Option(
    "alpha",
    "int",
    4,
    "windows of a round, or the number that Theorem 5 gives, as printed or repaired (E12, E13)",
    choices=("theory", "theory-repaired"),
    least=1,
)

METHODS: tuple[Method, ...] = (
    Method(
        "a-online",
        "algorithm",
        run_a_online,
        "batches at doubling times, served by rising prices in later windows",
        "Algorithms 1-7",
        options=(
            ALPHA,
            Option("compact", "bool", False, "start a batch at once, as a-online-compact (ours)"),
            *SUBROUTINES,
        ),
        online=True,
        refuses=needs_completion,
    ),
    Method(
        "a-online-compact",
        "algorithm",
        run_a_online_compact,
        "a-online without its waiting: a batch starts once the one before has ended",
        "Algorithms 1-7, Section 4.2 (terminating a round)",
        ours=True,
        options=(ALPHA, *SUBROUTINES),
        online=True,
        refuses=needs_completion,
    ),
    Method(
        "a-maxweight",
        "algorithm",
        run_a_maxweight,
        "of a batch, serve the jobs that weigh more than rising prices ask for them",
        "Algorithms 3-7",
        options=SUBROUTINES,
        refuses=needs_batch,
    ),
)
