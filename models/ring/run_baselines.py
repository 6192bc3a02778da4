"""The policies that the paper compares SJF-BCO with, as methods."""

from schedgap.instances.ring import RingInstance
from schedgap.models.method import Call, Method, Option, Outcome
from schedgap.models.ring import baselines
from schedgap.models.ring.rates import rate_table
from schedgap.models.ring.run_algorithms import deliver, deliver_search, refuted, reporter


def run_first_fit(instance: RingInstance, call: Call) -> Outcome:
    """Run `first-fit`."""
    if proof := refuted(instance):
        return proof
    found = baselines.first_fit(
        rate_table(instance),
        call.options["order"],
        stop=call.clock.expired,
        on_better=reporter(instance, call),
    )
    return deliver_search(instance, found, {})


def run_list_scheduling(instance: RingInstance, call: Call) -> Outcome:
    """Run `list-scheduling`."""
    if proof := refuted(instance):
        return proof
    found = baselines.list_scheduling(
        rate_table(instance),
        call.options["order"],
        stop=call.clock.expired,
        on_better=reporter(instance, call),
    )
    return deliver_search(instance, found, {})


def run_random(instance: RingInstance, call: Call) -> Outcome:
    """Run `random`."""
    if proof := refuted(instance):
        return proof
    trial = baselines.random_placement(rate_table(instance), call.seed, call.options["order"])
    return deliver(instance, trial, {})


_ORDER = Option(
    "order", "choice", "list", "jobs in list order, or smallest first as in Algorithm 1 (E28)",
    choices=("list", "sjf"),
)  # fmt: skip

METHODS: tuple[Method, ...] = (
    Method(
        "first-fit",
        "baseline",
        run_first_fit,
        "the first idle GPUs, server by server, within the best limit",
        "Section 7, FF; completed by us",
        options=(_ORDER,),
    ),
    Method(
        "list-scheduling",
        "baseline",
        run_list_scheduling,
        "the least loaded idle GPUs of the cluster, within the best limit",
        "Section 7, LS; completed by us",
        options=(_ORDER,),
    ),
    Method(
        "random",
        "baseline",
        run_random,
        "servers and GPUs at random",
        "Section 7, RAND; completed by us",
        options=(_ORDER,),
        seeded=True,
    ),
)
