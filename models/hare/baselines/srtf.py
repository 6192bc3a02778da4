"""SRTF: the shortest remaining time first, preemptive between rounds."""

from schedgap.instances.hare import HareInstance, HareSchedule
from schedgap.models.hare.baselines.simulation import (
    Arrived,
    Cluster,
    Policy,
    Starts,
    fastest,
    run_round,
    simulate,
    sums,
)


def srtf(instance: HareInstance, backfill: bool = True) -> HareSchedule:
    """Start rounds of the jobs with the shortest remaining time first, whatever their weight.

    The paper: always schedule the jobs that could complete earlier. Ours: preemptive between
    rounds. The remaining time is the length of the rounds left, each on its fastest GPUs of the
    whole cluster, one for each task, at most all. A round starts on the fastest idle GPUs when as
    many are idle; `backfill` lets later jobs start when they are not. Ties: list order.
    """
    return simulate(instance, _shortest_remaining_time(backfill), by_round=True)


def _shortest_remaining_time(backfill: bool) -> Policy:
    known: dict[int, list[float]] = {}  # of each job that has arrived, `_remaining`

    def remaining(job: Arrived, cluster: Cluster) -> tuple[float, int]:
        if job.place not in known:
            known[job.place] = _remaining(job, cluster)
        return known[job.place][len(job.train)], job.place

    def policy(now: float, waiting: list[Arrived], cluster: Cluster) -> Starts:
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


def _remaining(job: Arrived, cluster: Cluster) -> list[float]:
    """[rounds left] the time that the last so many rounds take on their fastest GPUs."""
    everyone, found = range(len(cluster.free)), [0.0]
    for r in reversed(range(len(job.train))):
        gang = fastest(everyone, sums(job.duration[r]), len(job.train[r]), cluster)
        found.append(found[-1] + run_round(job, r, 0.0, gang, cluster)[2])
    return found
