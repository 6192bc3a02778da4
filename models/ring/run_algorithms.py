"""SJF-BCO and the list algorithms that pack tightly, as methods."""

from collections.abc import Callable, Sequence
from typing import Any

from schedgap.instances.ring import RingInstance
from schedgap.models.method import Call, Method, Option, Outcome
from schedgap.models.ring import guarantees, packing
from schedgap.models.ring.dispatch import Trial, schedule
from schedgap.models.ring.measures import measures
from schedgap.models.ring.rates import no_schedule, rate_table
from schedgap.models.ring.sjf_bco import Attempt, Search, sjf_bco

NO_PLACE = "no run found a schedule within the horizon"


def refuted(instance: RingInstance) -> Outcome | None:
    """Return the proof that no schedule exists, if the bounds that cost nothing are one."""
    reason = no_schedule(instance)
    return Outcome(infeasible=True, note=reason) if reason else None


def deliver_search(instance: RingInstance, found: Search, trace: dict[str, Any]) -> Outcome:
    """Return the best run of a search over limits, and its log."""
    trace = {**trace, "runs": log(found.attempts)}
    if found.best is None:
        return Outcome(note=NO_PLACE, trace=trace)
    best = found.best
    facts: dict[str, Any] = {"theta": best.limit}
    if best.kappa is not None:
        facts["kappa"] = best.kappa
    made = schedule(instance, best.trial, **facts)
    return Outcome(made, trace=measures(instance, made) | trace)


def deliver(instance: RingInstance, trial: Trial | None, trace: dict[str, Any]) -> Outcome:
    """Return one run."""
    if trial is None or not trial.feasible:
        return Outcome(note=NO_PLACE, trace=trace)
    made = schedule(instance, trial)
    return Outcome(made, trace=measures(instance, made) | trace)


def log(attempts: Sequence[Attempt]) -> list[dict[str, Any]]:
    """Return the runs of a search, each once, at the limit where it was made."""
    rows, seen = [], set()
    for attempt in attempts:
        trial = attempt.trial
        if id(trial) in seen:
            continue
        seen.add(id(trial))
        row: dict[str, Any] = {"theta": attempt.limit}
        if attempt.kappa is not None:
            row["kappa"] = attempt.kappa
        row["makespan"] = trial.makespan if trial.feasible else None
        row["load"] = trial.load if trial.feasible else None
        rows.append(row | {"filtered": trial.filtered})
    return rows


def reporter(instance: RingInstance, call: Call) -> Callable[[Attempt], None]:
    """Return what tells the caller of a better attempt."""

    def report(attempt: Attempt) -> None:
        made = schedule(instance, attempt.trial)
        call.progress.incumbent(made, made.makespan)

    return report


def run_sjf_bco(instance: RingInstance, call: Call) -> Outcome:
    """Run `sjf-bco`."""
    if proof := refuted(instance):
        return proof
    options, table = call.options, rate_table(instance)
    found = sjf_bco(
        table,
        bisection=options["bisection"],
        kappa=None if options["kappa"] == "all" else options["kappa"],
        pack_shared=options["ffp_rule"] == "pack",
        by_server=options["lbsgf_rule"] == "list",
        clock=options["clock"],
        stop=call.clock.expired,
        on_better=reporter(instance, call),
    )
    proved = guarantees.facts(table, found.attempts) if options["clock"] == "actual" else {}
    return deliver_search(instance, found, proved)


def run_lpt_pack(instance: RingInstance, call: Call) -> Outcome:
    """Run `lpt-pack`."""
    return refuted(instance) or deliver(instance, packing.lpt_pack(rate_table(instance)), {})


def run_random_orders(instance: RingInstance, call: Call) -> Outcome:
    """Run `random-orders`."""
    if proof := refuted(instance):
        return proof

    def report(trial: Trial) -> None:
        call.progress.incumbent(schedule(instance, trial), trial.makespan)

    trial = packing.random_orders(
        rate_table(instance),
        call.seed,
        tries=call.options["tries"],
        stop=call.clock.expired,
        on_better=report,
    )
    return deliver(instance, trial, {})


METHODS: tuple[Method, ...] = (
    Method(
        "sjf-bco",
        "algorithm",
        run_sjf_bco,
        "smallest job first on the least loaded GPUs, within the best limit and threshold",
        "Algorithms 1-3",
        options=(
            Option(
                "bisection",
                "choice",
                "improvement",
                "the limit falls when the makespan improves (as printed, E17), while some run is "
                "feasible, or all limits are tried",
                choices=("improvement", "feasibility", "scan"),
            ),
            Option(
                "kappa", "int", "all", "jobs up to this size go by FA-FFP, others by LBSGF (E23)",
                choices=("all",), least=1,
            ),
            Option(
                "ffp_rule",
                "choice",
                "literal",
                "FA-FFP takes the least loaded GPUs (Algorithm 2), or packs (E19)",
                choices=("literal", "pack"),
            ),
            Option(
                "lbsgf_rule",
                "choice",
                "literal",
                "LBSGF takes the least loaded GPUs of its servers, or server by server (E22)",
                choices=("literal", "list"),
            ),
            Option(
                "clock",
                "choice",
                "actual",
                "jobs leave when they are through, or after their estimates (ours)",
                choices=("actual", "estimated"),
            ),
        ),
    ),
    Method(
        "lpt-pack",
        "algorithm",
        run_lpt_pack,
        "longest or largest jobs first, packed tightly; the best of three orders",
        "list scheduling",
        ours=True,
    ),
    Method(
        "random-orders",
        "algorithm",
        run_random_orders,
        "jobs in random orders, packed tightly on one, two or any number of servers",
        "list scheduling",
        ours=True,
        options=(Option("tries", "int", 60, "orders that are tried", least=1, most=10**6),),
        seeded=True,
    ),
)  # fmt: skip
