"""The bound `job-alone`: every job has the cluster to itself and completes as early as possible.

It is the dual bound (10) at prices 0, that is, DMLRS without (5) across jobs; hence it is valid.

References
----------
A. M. Geoffrion, "Lagrangean relaxation for integer programming", Mathematical Programming Study 2
(1974): any multipliers, such as 0, give a bound.
"""

import numpy as np

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.models.certificates import proved
from schedgap.models.dmlrs.bounds.pricing import priced_bound
from schedgap.models.method import MethodResult, RunContext

NO_PRICES = {"kind": "prices", "prices": []}  # its certificate, without `value`


def alone_bound(instance: DmlrsInstance) -> float:
    """Return the sum of utilities of the jobs, each alone on the cluster."""
    return priced_bound(instance, np.zeros((instance.horizon, len(instance.resources))))


def job_alone(instance: DmlrsInstance, call: RunContext) -> MethodResult:
    """Bound the utilities by what each job earns alone on the cluster."""
    bound = proved(lambda: alone_bound(instance))
    return MethodResult(bound=bound, certificate=NO_PRICES | {"value": bound})
