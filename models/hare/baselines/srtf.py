"""SRTF: shortest remaining time first, preemptive between rounds or not."""

from typing import Annotated

from schedgap.instances.hare import HareInstance, HareSchedule
from schedgap.models.hare.baselines.simulation import (
    GpuCluster,
    Policy,
    Starts,
    WaitingJob,
    fastest,
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

    Without `preempt`, a job holds as many GPUs as its widest round has tasks until it completes:
    the paper says that existing works forbid to preempt a job, but not whether its SRTF does.
    """
    policy = _shortest_remaining_time(backfill, preempt)
    return simulate(instance, policy, by_round=preempt)


def _shortest_remaining_time(backfill: bool, preempt: bool) -> Policy:
    """Return the policy that starts the job with the shortest remaining time, or a round of it."""
    times: dict[int, list[float]] = {}  # job -> `_remaining`, once it has arrived

    def remaining(job: WaitingJob, cluster: GpuCluster) -> tuple[float, int]:
        if job.place not in times:
            times[job.place] = _remaining(job, cluster)
        return times[job.place][len(job.train)], job.place

    def policy(now: float, waiting: list[WaitingJob], cluster: GpuCluster) -> Starts:
        idle, starts = cluster.idle(now), []
        for job in sorted(waiting, key=lambda job: remaining(job, cluster)):
            width = min(len(job.train[0]) if preempt else job.width, len(cluster.free))
            if width <= len(idle):
                total = sums(job.duration[0]) if preempt else job.total
                gang = fastest(idle, total, width, cluster)
                idle = [m for m in idle if m not in gang]
                starts.append((job, gang))
            if not idle or (width > len(idle) and not backfill):
                break
        return starts

    return policy


def _remaining(job: WaitingJob, cluster: GpuCluster) -> list[float]:
    """Return [r] the time that the last r rounds take on their fastest GPUs."""
    gpus, times = range(len(cluster.free)), [0.0]
    for r in reversed(range(len(job.train))):
        gang = fastest(gpus, sums(job.duration[r]), len(job.train[r]), cluster)
        times.append(times[-1] + run_round(job, r, 0.0, gang, cluster)[2])
    return times
