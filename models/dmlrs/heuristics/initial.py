"""What is known of an instance before any search: every job alone, and nobody admitted."""

from collections.abc import Mapping
from typing import Any

from schedgap.instances.dmlrs import DmlrsInstance, DmlrsSchedule
from schedgap.models.dmlrs.bounds.certificate_data import on_sums
from schedgap.models.dmlrs.bounds.job_alone import NO_PRICES, alone_bound
from schedgap.models.dmlrs.rules import check
from schedgap.models.method import RunContext
from schedgap.models.search_state import SearchState


def first_bracket(instance: DmlrsInstance, call: RunContext) -> SearchState:
    """Return the bracket of what is known at once; its values are minus sums of utilities."""

    def kept(schedule: DmlrsSchedule) -> DmlrsSchedule | None:
        broken = any(check(instance, schedule.to_data(instance), {}))
        return None if broken else schedule

    found = SearchState(
        call,
        lambda schedule: -float(schedule.value(instance)),
        to_objective=lambda value: -value + 0.0,  # no -0.0
        normalise=kept,
    )
    tell(found, instance, alone_bound(instance), NO_PRICES)
    found.offer(DmlrsSchedule())
    return found


def tell(
    found: SearchState, instance: DmlrsInstance, bound: float, certificate: Mapping[str, Any] | None
) -> None:
    """Tell a bracket a bound on the sum of utilities, brought down to a sum that there can be."""
    least, proof = on_sums(instance, bound, certificate)
    found.bound(-least, proof)
