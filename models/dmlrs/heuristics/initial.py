"""The search state before any search: the bound of every job alone, and the empty schedule."""

from collections.abc import Mapping
from typing import Any

from schedgap.instances.dmlrs import DmlrsInstance, DmlrsSchedule
from schedgap.models.dmlrs.bounds.certificate_data import rounded_to_sum
from schedgap.models.dmlrs.bounds.job_alone import NO_PRICES, alone_bound
from schedgap.models.dmlrs.rules import check
from schedgap.models.method import RunContext
from schedgap.models.search_state import SearchState


def initial_state(instance: DmlrsInstance, call: RunContext) -> SearchState:
    """Return the search state of a call; its values are minus sums of utilities."""

    def verified(schedule: DmlrsSchedule) -> DmlrsSchedule | None:
        broken = any(check(instance, schedule.to_data(instance), {}))
        return None if broken else schedule

    state = SearchState(
        call,
        lambda schedule: -float(schedule.value(instance)),
        to_objective=lambda value: -value + 0.0,  # no -0.0
        normalise=verified,
    )
    report_bound(state, instance, alone_bound(instance), NO_PRICES)
    state.incumbent(DmlrsSchedule())
    return state


def report_bound(
    state: SearchState, instance: DmlrsInstance, bound: float, certificate: Mapping[str, Any] | None
) -> None:
    """Report a bound on the sum of utilities to a search state, rounded down to an attainable sum.

    `state`: receives the bound. `bound`: upper bound on the sum of utilities. `certificate`:
    certificate of the bound.
    """
    value, proof = rounded_to_sum(instance, bound, certificate)
    state.bound(-value, proof)
