"""The bound of each job alone: no schedule completes a job earlier than it can end on its own.

References
----------
None needed. Without the other jobs, a job can complete on the empty network as early as in any
schedule. So its earliest completion there bounds its completion, and the sum of these bounds the
objective.
"""

from schedgap.models.edge.decisions import CompiledInstance


def job_bound(view: CompiledInstance) -> int:
    """Return the sum of the least c_j - a_j of each job alone; for a batch minus the jobs that fit.

    A job of (2) that never fits counts as 0; `infeasibility_reason` reports it.
    """
    flows = [task.alone for task in view.tasks]
    if view.is_batch:
        return -sum(flow is not None for flow in flows)
    return sum(flow or 0 for flow in flows)
