"""The steps of a run of PD-ORS as events, in order, each a plain dict.

All have `line`, of the pseudocode; `event`, one of the names below; and `time`, a slot. All but
`range` and `stop` have `job`. Ids are as in the file, slots start at 1. Utilities, costs and
payoffs are in the unit of utility, prices per unit of the resource.

- `range` (A1 L1): `max_unit_utility` U by resource, `min_unit_utility` L. From now on the prices
  (12) lie between them; at the start, and whenever the jobs seen change them
- `arrive` (A1 L2): no more keys
- `rounding` (A4 L11): `programs`, `without_solution`, `draws`, `draws_failed`, `gain_undefined`.
  The linear programs that Algorithm 4 solved for the job, and the numbers of workers that it drew
- `costs` (A3 L5): `completions`, `costs`, `utilities`. Theta(t~, V) of all slots t~ by which some
  schedule completes the job, and the utility of the job then
- `best` (A2 L3): `completion`, `utility`, `cost`, `payoff`. The largest payoff, which is not
  positive if the job is rejected
- `admit` (A1 L3): `completion`, `payoff`, `allocations`. Each allocation has `slot`, `machine`,
  `workers`, `ps`; together they are all that the job holds
- `prices` (A1 L3): `rises`. Each of them has `slot`, `machine`, `resource`, `from`, `to`
- `reject` (A1 L4): `reason`. `worthless`: no utility. `too late`: no schedule can complete it.
  `no room`: none was found in the free capacity. `too dear`: none costs less than the utility
- `stop` (A1 L2): `jobs`. Time was up; these were not considered
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from schedgap.instances.dmlrs import DmlrsInstance, Plan
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.instances.dmlrs.instance import Job
from schedgap.models.dmlrs.algorithms.best_schedule import BestSchedule
from schedgap.models.dmlrs.algorithms.prices import PriceRange
from schedgap.models.dmlrs.slot_options import JobAtArrival


class EventLog:
    """The events of one run so far."""

    def __init__(self, instance: DmlrsInstance) -> None:
        """Start without events."""
        self.events: list[dict[str, Any]] = []
        self._instance = instance
        self._range: tuple[list[float], float] | None = None
        self._counts: dict[str, int] = {}

    def _add(self, line: str, event: str, time: int, **keys: Any) -> None:
        self.events.append({"line": line, "event": event, "time": time, **keys})

    def _id(self, job: JobAtArrival) -> str:
        return self._instance.jobs[job.index].id

    def prices_range(self, time: int, price_range: PriceRange) -> None:
        """Record U and L if they have changed.

        `time`: slot, from 1.
        """
        limits = price_range.largest.tolist(), float(price_range.smallest)
        if limits != self._range:
            self._range = limits
            largest = dict(zip(self._instance.resources, limits[0], strict=True))
            self._add(
                "A1 L1", "range", time, max_unit_utility=largest, min_unit_utility=limits[1]
            )  # fmt: skip

    def arrives(self, job: JobAtArrival, price_range: PriceRange) -> None:
        """Record an arrival, and the price range at it."""
        self._add("A1 L2", "arrive", job.arrival, job=self._id(job))
        self.prices_range(job.arrival, price_range)

    def evaluates(self, job: JobAtArrival, best: BestSchedule, counts: Mapping[str, int]) -> None:
        """Record the costs of all completions of a job, and its largest payoff.

        `best`: its best schedule and the costs. `counts`: counts of the rounding since the start of
        the run; empty if it is not used.
        """
        name, time = self._id(job), job.arrival
        increase = {key: count - self._counts.get(key, 0) for key, count in counts.items()}
        self._counts = dict(counts)
        if any(increase.values()):
            self._add("A4 L11", "rounding", time, job=name, **increase)
        reachable = np.flatnonzero(np.isfinite(best.cost))
        if not len(reachable):
            return
        cost, utility_then = best.cost[reachable], job.utility[reachable]
        self._add(
            "A3 L5", "costs", time, job=name, completions=(time + reachable).tolist(),
            costs=cost.tolist(), utilities=utility_then.tolist(),
        )  # fmt: skip
        best_place = int((utility_then - cost).argmax())
        k = int(reachable[best_place]) if best.plan is None else max(best.plan) - time
        utility, price = float(job.utility[k]), float(best.cost[k])
        self._add(
            "A2 L3", "best", time, job=name, completion=time + k, utility=utility, cost=price,
            payoff=utility - price,
        )  # fmt: skip

    def admits(
        self, job: JobAtArrival, payoff: float, plan: Plan, before: Floats, after: Floats
    ) -> None:
        """Record the allocations of an admitted job, and the prices that they raise.

        `payoff`: lambda_i > 0. `plan`: workers and PSs by slot, from 1, and machine. `before`,
        `after` [t - 1, h, r]: prices.
        """
        name, machines = self._id(job), [machine.id for machine in self._instance.machines]
        self._add(
            "A1 L3", "admit", job.arrival, job=name, completion=max(plan), payoff=payoff,
            allocations=[
                {"slot": slot, "machine": machines[h], "workers": int(w), "ps": int(s)}
                for slot, counts in sorted(plan.items())
                for h, (w, s) in sorted(counts.items())
            ],
        )  # fmt: skip
        rises = [
            {
                "slot": t + 1, "machine": machines[h], "resource": self._instance.resources[r],
                "from": float(before[t, h, r]), "to": float(after[t, h, r]),
            }
            for t, h, r in np.argwhere(after != before).tolist()
        ]  # fmt: skip
        self._add("A1 L3", "prices", job.arrival, job=name, rises=rises)

    def rejects(self, job: JobAtArrival, best: BestSchedule) -> None:
        """Record why a job is rejected.

        `best`: its best schedule, without a plan.
        """
        if not job.utility[0] > 0:
            reason = "worthless"
        elif job.first > self._instance.horizon:
            reason = "too late"
        else:
            reason = "too dear" if np.isfinite(best.cost).any() else "no room"
        self._add("A1 L4", "reject", job.arrival, job=self._id(job), reason=reason)

    def stops(self, waiting: Sequence[Job]) -> None:
        """Record the jobs that are not considered any more.

        `waiting`: at least one.
        """
        time = min(job.arrival for job in waiting)
        self._add("A1 L2", "stop", time, jobs=[job.id for job in waiting])
