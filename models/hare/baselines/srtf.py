"""SRTF: shortest remaining time first, preemptive between rounds."""

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


def srtf(instance: HareInstance, backfill: bool = True) -> HareSchedule:
    """Start rounds of the jobs with the shortest remaining time first, whatever their weight.

    The paper: always schedule the jobs that could complete earlier. Ours: preemptive between
    rounds. The remaining time is the length of the remaining rounds, each on its fastest GPUs of
    the whole cluster, one per task, at most all. A round starts on the fastest idle GPUs once
    enough are idle. Ties: list order.

    Parameters
    ----------
    backfill : bool
        Let later jobs start while too few GPUs are idle for the first.
    """
    return simulate(instance, _shortest_remaining_time(backfill), by_round=True)


def _shortest_remaining_time(backfill: bool) -> Policy:
    """Return the policy that starts the round of the job with the shortest remaining time."""
    times: dict[int, list[float]] = {}  # job -> `_remaining`, once it has arrived

    def remaining(job: WaitingJob, cluster: GpuCluster) -> tuple[float, int]:
        if job.place not in times:
            times[job.place] = _remaining(job, cluster)
        return times[job.place][len(job.train)], job.place

    def policy(now: float, waiting: list[WaitingJob], cluster: GpuCluster) -> Starts:
        idle, starts = cluster.idle(now), []
        for job in sorted(waiting, key=lambda job: remaining(job, cluster)):
            width = min(len(job.train[0]), len(cluster.free))
            if width <= len(idle):
                gang = fastest(idle, sums(job.duration[0]), width, cluster)
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
