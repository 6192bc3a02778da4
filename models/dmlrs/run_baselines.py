"""The paper's baselines as methods, completed by us where it leaves them open."""

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.models.dmlrs import baselines
from schedgap.models.method import Call, Method, Option, Outcome

SOURCE = "Numerical results; completed by us"


def _fifo(instance: DmlrsInstance, call: Call) -> Outcome:
    workers, strict = call.options["fifo_workers"], call.options["strict"]
    return Outcome(schedule=baselines.fifo(instance, workers, strict=strict))


def _drf(instance: DmlrsInstance, call: Call) -> Outcome:
    return Outcome(schedule=baselines.drf(instance))


METHODS: tuple[Method, ...] = (
    Method(
        "fifo",
        "baseline",
        _fifo,
        "jobs by arrival, each with as many workers as it can use",
        SOURCE,
        options=(
            Option("fifo_workers", "int", None, "most workers of a job; else its batch", least=1),
            Option("strict", "bool", False, "a job that gets nothing keeps later ones waiting"),
        ),
        online=True,
    ),
    Method(
        "drf",
        "baseline",
        _drf,
        "workers one by one to the job of the least dominant share",
        SOURCE,
        online=True,
    ),
)
