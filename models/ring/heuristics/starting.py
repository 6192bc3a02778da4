"""What is known of a `ring` instance before any search: free bounds, list schedules."""

import math

from schedgap.instances.ring import RingInstance, RingSchedule
from schedgap.models.bracket import Bracket
from schedgap.models.method import Call
from schedgap.models.ring.bounds.elementary import width_dff
from schedgap.models.ring.dispatch import schedule
from schedgap.models.ring.packing import lpt_pack, random_orders
from schedgap.models.ring.rates import rate_table
from schedgap.models.ring.sjf_bco import sjf_bco


def starting_schedule(instance: RingInstance, seed: int = 0) -> RingSchedule | None:
    """Return the best of a few list schedules; None where none ends within the horizon.

    There must be one at all: `rates.no_schedule` is asked first.
    """
    table = rate_table(instance)
    trials = [lpt_pack(table), random_orders(table, seed)]
    best = sjf_bco(table).best
    trials.append(best.trial if best is not None else None)
    found = [trial for trial in trials if trial is not None and trial.feasible]
    if not found:
        return None
    return schedule(instance, min(found, key=lambda trial: trial.makespan))


def first_bracket(instance: RingInstance, call: Call) -> Bracket:
    """Return the bracket of what is known at once."""
    table = rate_table(instance)
    found = Bracket(
        call,
        lambda schedule: float(schedule.makespan),
        up=lambda bound: math.ceil(bound - 1e-6),
        close=0.0,
    )
    found.bound(max(table.longest, width_dff(table)[0]))
    first = starting_schedule(instance, call.seed)
    if first is not None:
        found.offer(first)
    return found
