"""SRTF: shortest remaining time first, preemptive between rounds or not."""

from typing import Annotated

from schedgap.instances.hare import HareInstance, HareSchedule
from schedgap.models.hare.baselines.simulation import (
    GpuCluster,
    WaitingJob,
    fastest,
    fastest_gang,
    in_order,
    run_round,
    simulate,
    sums,
)


def srtf(
    instance: HareInstance,
    backfill: Annotated[
        bool, "let later jobs start while too few GPUs are idle for the first"
    ] = True,
    preempt: Annotated[
        bool,
        "let a job lose its GPUs between rounds; false: it holds them until it completes",
    ] = True,
) -> HareSchedule:
    """Start rounds of the jobs with the shortest remaining time first, whatever their weight.

    The paper: always schedule the jobs that could complete earlier. Ours: preemptive between
    rounds. The remaining time is the length of the remaining rounds, each on its fastest GPUs of
    the whole cluster, one per task, at most all. A round starts on the fastest idle GPUs once
    enough are idle. Ties: list order.

    Without `preempt`, a job holds as many GPUs as its widest round has tasks until it completes.
    The paper says that existing works forbid to preempt a job, but not whether its SRTF does.
    """
    times: dict[int, list[float]] = {}  # job -> `_remaining`, once it has arrived

    def remaining(job: WaitingJob, cluster: GpuCluster) -> tuple[float, int]:
        if job.place not in times:
            times[job.place] = _remaining(job, cluster)
        return times[job.place][len(job.train)], job.place

    def next_gang(job: WaitingJob, idle: list[int], cluster: GpuCluster) -> list[int]:
        return fastest_gang(job.rounds(0, 1), idle, cluster)

    policy = in_order(remaining, next_gang if preempt else fastest_gang, backfill=backfill)
    return simulate(instance, policy, by_round=preempt)


def _remaining(job: WaitingJob, cluster: GpuCluster) -> list[float]:
    """Return [r] the time that the last r rounds take on their fastest GPUs."""
    gpus, times = range(len(cluster.free)), [0.0]
    for r in reversed(range(len(job.train))):
        gang = fastest(gpus, sums(job.duration[r]), len(job.train[r]), cluster)
        times.append(times[-1] + run_round(job, r, 0.0, gang, cluster)[2])
    return times
