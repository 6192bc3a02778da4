"""Each job by itself (ours): no schedule lets it end sooner than alone on the network."""

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge.decisions import Problem, problem


def job_bound(view: Problem) -> int:
    """Return the sum of the least c_j - a_j of each job alone; of a batch minus the jobs that fit.

    A job of (2) that never fits counts as 0: `no_schedule` names it.
    """
    least = [view.least_flow(task) for task in view.tasks]
    if view.is_batch:
        return -sum(flow is not None for flow in least)
    return sum(flow or 0 for flow in least)


def alone(instance: EdgeInstance) -> float:
    """Return `job-alone`: the sum of the least c_j - a_j, every job alone on the network."""
    return float(job_bound(problem(instance)))
