"""The paper's baselines as methods, completed by us where it leaves them open."""

from collections.abc import Callable

from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.models.edge import baselines
from schedgap.models.edge.outcomes import deliver
from schedgap.models.edge.preemptive import preemptive
from schedgap.models.edge.problem import no_batches, no_schedule
from schedgap.models.method import Call, Method, Option, Outcome


def _method(
    name: str,
    make: Callable[[EdgeInstance, Call], EdgeSchedule],
    summary: str,
    *,
    proves: bool = True,
    options: tuple[Option, ...] = (),
) -> Method:
    """Return a baseline; `proves`: a job that cannot end in time settles that there is no schedule.

    Without transfer delays such a job may still run.
    """

    def run(instance: EdgeInstance, call: Call) -> Outcome:
        if proves and (reason := no_schedule(instance)):
            return Outcome(infeasible=True, note=reason)
        return deliver(instance, make(instance, call))

    return Method(
        name,
        "baseline",
        run,
        summary,
        "Section VI; completed by us",
        options=options,
        online=True,
        refuses=no_batches,
    )


METHODS: tuple[Method, ...] = (
    _method(
        "fifo",
        lambda instance, call: baselines.fifo(instance),
        "jobs in order of arrival, each on the server that can start it earliest",
    ),
    _method(
        "drf",
        lambda instance, call: baselines.drf(instance),
        "workers one by one to the job with the least dominant share of workers and PSs",
    ),
    _method(
        "batch-sche",
        lambda instance, call: baselines.batch_sche(instance, call.options["alpha"]),
        "batches at doubling times, each in windows that wait alpha times as long",
        options=(Option("alpha", "int", 4, "windows of a batch, and its wait", least=1),),
    ),
    _method(
        "preemptive",
        lambda instance, call: preemptive(instance),
        "shortest job first in every slot, without transfer delays: outside the program",
        proves=False,
    ),
    _method(
        "preemptive-overhead",
        lambda instance, call: preemptive(instance, call.options["overhead"]),
        "shortest job first with transfer delays and lost slots: outside the program",
        proves=False,
        options=(Option("overhead", "int", 1, "slots lost after an interruption", least=0),),
    ),
)
