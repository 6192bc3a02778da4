"""What is reported of a `ring` schedule beside its makespan."""

from collections.abc import Mapping
from typing import Any

from schedgap.instances.ring import RingInstance, RingSchedule
from schedgap.models.ring.rates import rate_table


def extra_share(instance: RingInstance, schedule: RingSchedule, job: int) -> float:
    """Return the share of a job's time that contention and overhead cost it, in 0..1.

    The paper's "within 15%" (Section 7): one minus its slots inside one server, were there one that
    large, over the slots that it takes.
    """
    record = instance.jobs[job]
    return 1 - rate_table(instance).slots(job, 1, 0) / schedule.runs[record.id].slots


def measures(instance: RingInstance, schedule: RingSchedule) -> dict[str, Any]:
    """Return plain JSON data for the trace of a solution.

    `makespan_eq9` is the makespan as (9) counts it, one slot more; `mean_end` the average
    completion time of Fig. 4; `extra_share` the largest and the mean over the jobs.
    """
    ends = [run.end for run in schedule.runs.values()]
    extra = [extra_share(instance, schedule, j) for j in range(len(instance.jobs))]
    return {
        "makespan_eq9": max(ends) + 1,
        "mean_end": round(sum(ends) / len(ends), 6),
        "extra_share": {
            "max": round(max(extra), 6),
            "mean": round(sum(extra) / len(extra), 6),
        },
    }


def beside(instance: RingInstance, schedule: Mapping[str, Any]) -> dict[str, float]:
    """Return what is shown of a verified schedule beside its makespan, by what it is."""
    found = measures(instance, RingSchedule.from_data(instance, schedule))
    return {
        "makespan by (9)": found["makespan_eq9"],
        "mean completion": found["mean_end"],
        "largest extra share": found["extra_share"]["max"],
    }
