"""The paper's baselines as methods, completed by us where it leaves them open."""

from schedgap.errors import UsageError
from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic import baselines, preemptive
from schedgap.models.elastic.algorithm import run_online
from schedgap.models.elastic.run_algorithms import (
    deliver,
    needs_batch,
    needs_completion,
    no_schedule,
)
from schedgap.models.method import Call, Method, Option, Outcome


def run_fifo(instance: ElasticInstance, call: Call) -> Outcome:
    """Run `fifo`."""
    proof = no_schedule(instance)
    return proof or deliver(instance, baselines.fifo(instance, call.options["workers"]), {})


def run_drf(instance: ElasticInstance, call: Call) -> Outcome:
    """Run `drf`."""
    return no_schedule(instance) or deliver(instance, baselines.drf(instance), {})


def run_antman(instance: ElasticInstance, call: Call) -> Outcome:
    """Run `antman`."""
    if proof := no_schedule(instance):
        return proof
    schedule = preemptive.antman(instance, call.options["patience"], call.seed)
    return deliver(instance, schedule, {})


def run_tiresias(instance: ElasticInstance, call: Call) -> Outcome:
    """Run `tiresias`."""
    proof = no_schedule(instance)
    return proof or deliver(instance, preemptive.tiresias(instance), {})


def run_deadline_greedy(instance: ElasticInstance, call: Call) -> Outcome:
    """Run `deadline-greedy`."""
    return Outcome(baselines.deadline_greedy(instance))


def run_fixed_type(instance: ElasticInstance, call: Call) -> Outcome:
    """Run `a-online-fixed-type`; that a job cannot use the type does not prove anything."""
    if proof := no_schedule(instance):
        return proof
    number, count = call.options["worker_type"], len(instance.worker_types)
    if number > count:
        raise UsageError(f"option worker_type={number}: there are {count} worker types")
    name = instance.worker_types[number - 1].id
    alone = baselines.with_one_type(instance, number - 1)
    if alone is None or no_schedule(alone) is not None:
        return Outcome(note=f"some job cannot run on worker type {name} alone")
    return deliver(instance, run_online(alone).schedule, {"worker_type": name})


def run_fixed_number(instance: ElasticInstance, call: Call) -> Outcome:
    """Run `a-online-fixed-number`."""
    if proof := no_schedule(instance):
        return proof
    run = run_online(instance, modes_of=baselines.of_number(call.options["workers"]))
    return deliver(instance, run.schedule, {"rounds": run.trace()})


WORKERS = Option("workers", "int", 8, "of each job, as far as it and the cluster allow", least=1)

METHODS: tuple[Method, ...] = (
    Method(
        "fifo",
        "baseline",
        run_fifo,
        "jobs in order of arrival, all with the same number of workers, never overtaken",
        "Section 7, (i); completed by us",
        options=(WORKERS,),
        online=True,
        refuses=needs_completion,
    ),
    Method(
        "drf",
        "baseline",
        run_drf,
        "numbers of workers by max-min fair dominant shares of the waiting jobs",
        "Section 7, (ii); completed by us",
        online=True,
        refuses=needs_completion,
    ),
    Method(
        "antman",
        "baseline",
        run_antman,
        "guaranteed jobs displace opportunistic ones (preemptive)",
        "Section 7, (iii); completed by us",
        options=(Option("patience", "int", 8, "slots of waiting that end a guarantee", least=1),),
        online=True,
        seeded=True,
        refuses=needs_completion,
    ),
    Method(
        "tiresias",
        "baseline",
        run_tiresias,
        "least remaining slots x resources first (preemptive)",
        "Section 7, (iv); completed by us",
        online=True,
        refuses=needs_completion,
    ),
    Method(
        "deadline-greedy",
        "baseline",
        run_deadline_greedy,
        "jobs of a batch by weight over least volume, each as late as it can run",
        "Section 7, Fig. 8; completed by us",
        refuses=needs_batch,
    ),
    Method(
        "a-online-fixed-type",
        "baseline",
        run_fixed_type,
        "a-online with one worker type for all jobs",
        "Section 7, Fig. 9",
        options=(
            Option("worker_type", "int", 1, "its place in the list of worker types", least=1),
        ),
        online=True,
        refuses=needs_completion,
    ),
    Method(
        "a-online-fixed-number",
        "baseline",
        run_fixed_number,
        "a-online with one number of workers for all jobs",
        "Section 7, Fig. 10",
        options=(WORKERS,),
        online=True,
        refuses=needs_completion,
    ),
)
