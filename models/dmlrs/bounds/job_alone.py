"""The bound `job-alone`: every job has the cluster for itself, at its soonest."""

import numpy as np

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.models.certificates import proved
from schedgap.models.dmlrs.bounds.pricing import priced_bound
from schedgap.models.method import MethodResult, RunContext

NO_PRICES = {"kind": "prices", "prices": []}  # the certificate of every job alone


def alone_bound(instance: DmlrsInstance) -> float:
    """Return the sum of utilities where every job has the cluster for itself."""
    return priced_bound(instance, np.zeros((instance.horizon, len(instance.resources))))


def job_alone(instance: DmlrsInstance, call: RunContext) -> MethodResult:
    """Give every job the cluster for itself."""
    bound = proved(lambda: alone_bound(instance))
    return MethodResult(bound=bound, certificate=NO_PRICES | {"value": bound})
