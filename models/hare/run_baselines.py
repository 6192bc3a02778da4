"""Methods of family `hare` that need no engine: the paper's baselines and our list rule."""

from schedgap.instances.hare import HareInstance
from schedgap.models.hare.algorithm import list_wspt
from schedgap.models.hare.baselines import gavel_fifo, sched_allox, sched_homo, srtf
from schedgap.models.method import Call, Method, Option, Outcome


def run_gavel_fifo(instance: HareInstance, call: Call) -> Outcome:
    """Run `gavel-fifo`."""
    return Outcome(gavel_fifo(instance))


def run_srtf(instance: HareInstance, call: Call) -> Outcome:
    """Run `srtf`."""
    return Outcome(srtf(instance, backfill=call.options["backfill"]))


def run_sched_homo(instance: HareInstance, call: Call) -> Outcome:
    """Run `sched-homo`."""
    return Outcome(sched_homo(instance))


def run_sched_allox(instance: HareInstance, call: Call) -> Outcome:
    """Run `sched-allox`."""
    return Outcome(sched_allox(instance, weighted=call.options["weighted"]))


def run_list_wspt(instance: HareInstance, call: Call) -> Outcome:
    """Run `list-wspt`."""
    return Outcome(list_wspt(instance, gpu_rule=call.options["gpu_rule"]))


METHODS = (
    Method(
        name="gavel-fifo",
        kind="baseline",
        run=run_gavel_fifo,
        summary="jobs in order of arrival, each on the fastest idle GPUs, never overtaken",
        source="Section 7.1, Gavel_FIFO; completed by us",
        online=True,
    ),
    Method(
        name="srtf",
        kind="baseline",
        run=run_srtf,
        summary="shortest remaining time first, preemptive between rounds",
        source="Section 7.1, SRTF; completed by us",
        options=(
            Option(
                "backfill", "bool", True,
                "let later jobs start when too few GPUs are idle for the first",
            ),
        ),
        online=True,
    ),
    Method(
        name="sched-homo",
        kind="baseline",
        run=run_sched_homo,
        summary="weight over work first, blind to the speed of GPUs, in equal shares",
        source="Section 7.1, Sched_Homo; completed by us",
        online=True,
    ),
    Method(
        name="sched-allox",
        kind="baseline",
        run=run_sched_allox,
        summary="one GPU for each job by matchings of least total completion time",
        source="Section 7.1, Sched_Allox; completed by us",
        options=(
            Option(
                "weighted", "bool", False,
                "start by weight over length instead of the matching's order",
            ),
        ),
        online=True,
    ),
    Method(
        name="list-wspt",
        kind="algorithm",
        run=run_list_wspt,
        summary="Algorithm 1 with jobs in Smith's order: least work over weight first",
        source="ours, after Algorithm 1",
        ours=True,
        options=(
            Option(
                "gpu_rule", "choice", "finish",
                "GPU on which a task is done first, or that is free first (Algorithm 1, line 12)",
                choices=("finish", "available"),
            ),
        ),
    ),
)  # fmt: skip
