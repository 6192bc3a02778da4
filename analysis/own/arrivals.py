"""Drive an online algorithm of the user's own through the arrivals of an instance.

The algorithm runs in a child process that receives only the jobs that have arrived, so it cannot
look at later ones. What it decided for the time before an arrival is fixed.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from schedgap.analysis.own.child import Arrival, Call
from schedgap.analysis.own.methods import CHILD, Own, OwnRunner, own_process, schedule_data
from schedgap.analysis.runners.run import MethodRun
from schedgap.errors import InputError, InvalidScheduleError, SchedgapError
from schedgap.instances.instance import Instance
from schedgap.models.family import Family, family
from schedgap.solvers.children.processes import ChildResult, run_child

KEPT = ("time_unit",)  # keys of `meta`; others, such as the seed, would reveal later jobs


def view(instance: Instance, now: float) -> Instance:
    """Return an instance with the jobs that have arrived, and nothing that tells of others.

    `instance`: an instance whose jobs have arrivals. `now`: time, in the unit of the instance.
    """
    data = instance.to_data()
    jobs = [job for job in data["jobs"] if job["arrival"] <= now]
    meta = {key: value for key, value in data.get("meta", {}).items() if key in KEPT}
    return type(instance).from_data({**data, "name": "view", "meta": meta, "jobs": jobs})


def arrivals(instance: Instance) -> list[float]:
    """Return the times at which jobs arrive, in increasing order.

    `instance`: an instance whose jobs have arrivals.
    """
    return sorted({job["arrival"] for job in instance.to_data()["jobs"]})


@dataclass(frozen=True, slots=True)
class OnlineOwn(Own):
    """A method of the user's own that is called at each arrival."""

    online: ClassVar[bool] = True

    def unsupported_reason(self, instance: Instance) -> str | None:
        """Return why it cannot be run on an instance, or None."""
        if family(instance.family).past is not None:
            return None
        return f"in family {instance.family}, all jobs are there from the start: nothing is online"

    def _runner(self) -> type[OwnRunner]:
        return OnlineRunner


@dataclass(frozen=True, slots=True)
class OnlineRunner(OwnRunner):
    """Calls an online algorithm at each arrival; its last plan is the schedule."""

    def call(self, run: MethodRun, **terms: Any) -> ChildResult:
        """Call the algorithm at each arrival, all calls together within the limits."""
        own, limit, spent = self.own, self.limits.time, 0.0
        arrival = Arrival(0.0)
        text: str | None = None
        total = ChildResult("done", limited=False)
        for now in arrivals(self.instance):
            arrival = replace(arrival, now=now)
            left = None if limit is None else max(0.0, limit - spent)
            reply = run_child(
                f"{CHILD}:decide",
                own.address,
                own.code,
                view(self.instance, now),
                Call(self.options, own.offered, self.seed or 0, left, os.getcwd()),
                arrival,
                engine=own_process(own.code),
                **terms | {"limit": left},
            )
            spent += reply.value[1] if reply.outcome == "done" else reply.seconds
            total = replace(
                reply,
                start_seconds=total.start_seconds + reply.start_seconds,
                seconds=spent,
                cpu_seconds=total.cpu_seconds + reply.cpu_seconds,
                peak_mb=max(total.peak_mb, reply.peak_mb),
                limited=total.limited or reply.limited,
            )
            if reply.outcome != "done":
                return total
            text, _, state = reply.value
            try:
                plan = schedule_data(self.instance, str(text), own.name).data
                _fixed(self.instance, self.family, own.name, arrival, plan)
            except SchedgapError as error:
                return replace(total, outcome="error", value=None, error=error)
            arrival = Arrival(now, plan, state)
        return replace(total, value=(text, spent))


def _fixed(instance: Instance, owner: Family, name: str, before: Arrival, plan: object) -> None:
    """Raise an error unless two plans agree on all that lies before an arrival."""
    assert owner.past is not None
    try:
        old = [] if before.plan is None else owner.past(instance, before.plan, before.now)
        new = owner.past(instance, plan, before.now)
    except InputError as error:
        raise InvalidScheduleError(f"method {name} returned no schedule: {error}") from None
    except Exception:  # noqa: BLE001 - data of any shape
        raise InvalidScheduleError(
            f"method {name} returned no schedule of family {owner.name} at time {before.now:g}"
        ) from None
    for decision in old:
        if decision not in new:
            raise InvalidScheduleError(
                f"method {name} changed its past at time {before.now:g}: {_said(decision)} is gone"
            )
    for decision in new:
        if decision not in old:
            raise InvalidScheduleError(
                f"method {name} decided in the past at time {before.now:g}: {_said(decision)}"
            )


def _said(decision: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in decision.items())[:200]
