"""What is known of an instance before any search: every job alone, and nobody admitted."""

import numpy as np

from schedgap.instances.dmlrs import DmlrsInstance, DmlrsSchedule
from schedgap.models.bracket import Bracket
from schedgap.models.dmlrs.bounds.pricing import priced_bound
from schedgap.models.dmlrs.rules import check
from schedgap.models.method import Call


def alone_bound(instance: DmlrsInstance) -> float:
    """Return the sum of utilities where every job has the cluster for itself."""
    return priced_bound(instance, np.zeros((instance.horizon, len(instance.resources))))


def first_bracket(instance: DmlrsInstance, call: Call) -> Bracket:
    """Return the bracket of what is known at once; its values are minus sums of utilities."""

    def kept(schedule: DmlrsSchedule) -> DmlrsSchedule | None:
        broken = any(check(instance, schedule.to_data(instance), {}))
        return None if broken else schedule

    found = Bracket(
        call,
        lambda schedule: -float(schedule.value(instance)),
        real=lambda value: -value + 0.0,  # no -0.0
        keep=kept,
    )
    found.bound(-alone_bound(instance))
    found.offer(DmlrsSchedule())
    return found
