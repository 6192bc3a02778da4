"""What PD-ORS did, step by step: the events of a run, in order, each a plain dict.

All have `line`, of the pseudocode; `event`, one of the names below; and `time`, a slot. All but
`range` and `stop` have `job`. Ids are those of the file, slots start at 1. Utilities, costs and
payoffs are in the unit of utility, prices in that for one unit of the resource.

- `range` (A1 L1): `max_unit_utility` U by resource, `min_unit_utility` L. The prices (12) range
  between them from now on; at the start, and where the jobs seen change them
- `arrive` (A1 L2): no more keys
- `rounding` (A4 L11): `programs`, `without_solution`, `draws`, `draws_failed`, `gain_undefined`.
  The linear programs that Algorithm 4 solved for the job, and the numbers of workers that it drew
- `costs` (A3 L5): `completions`, `costs`, `utilities`. Theta(t~, V) of all slots t~ by which some
  schedule completes the job, and what the job is worth then
- `best` (A2 L3): `completion`, `utility`, `cost`, `payoff`. The largest payoff, which is not
  positive where the job is rejected
- `admit` (A1 L3): `completion`, `payoff`, `allocations`. Of each of these `slot`, `machine`,
  `workers`, `ps`: all that the job holds
- `prices` (A1 L3): `rises`. Of each of these `slot`, `machine`, `resource`, `from`, `to`
- `reject` (A1 L4): `reason`. `worthless`: no utility. `too late`: no schedule at all completes it.
  `no room`: none was found in what is left. `too dear`: none costs less than it is worth
- `stop` (A1 L2): `jobs`. Time was up; these were not looked at
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from schedgap.instances.dmlrs import DmlrsInstance, Plan
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.instances.dmlrs.instance import Job
from schedgap.models.dmlrs.algorithms.best_schedule import Best
from schedgap.models.dmlrs.algorithms.prices import Range
from schedgap.models.dmlrs.offers import Arrived


class EventLog:
    """The events of one run so far."""

    def __init__(self, instance: DmlrsInstance) -> None:
        """Start with none."""
        self.events: list[dict[str, Any]] = []
        self._instance = instance
        self._range: tuple[list[float], float] | None = None
        self._counts: dict[str, int] = {}

    def _add(self, line: str, event: str, time: int, **keys: Any) -> None:
        self.events.append({"line": line, "event": event, "time": time, **keys})

    def _id(self, job: Arrived) -> str:
        return self._instance.jobs[job.place].id

    def prices_range(self, time: int, found: Range) -> None:
        """Tell U and L where they are others than before."""
        own = found.largest.tolist(), float(found.least)
        if own != self._range:
            self._range = own
            largest = dict(zip(self._instance.resources, own[0], strict=True))
            self._add(
                "A1 L1", "range", time, max_unit_utility=largest, min_unit_utility=own[1]
            )  # fmt: skip

    def arrives(self, job: Arrived, found: Range) -> None:
        """Tell of an arrival, and of the range of the prices that the job finds."""
        self._add("A1 L2", "arrive", job.arrival, job=self._id(job))
        self.prices_range(job.arrival, found)

    def looked(self, job: Arrived, best: Best, counts: Mapping[str, int]) -> None:
        """Tell what a job could have: `counts` of the rounding since the start, if it was used."""
        name, time = self._id(job), job.arrival
        new = {key: count - self._counts.get(key, 0) for key, count in counts.items()}
        self._counts = dict(counts)
        if any(new.values()):
            self._add("A4 L11", "rounding", time, job=name, **new)
        ends = np.flatnonzero(np.isfinite(best.cost))
        if not len(ends):
            return
        cost, worth = best.cost[ends], job.utility[ends]
        self._add(
            "A3 L5", "costs", time, job=name, completions=(time + ends).tolist(),
            costs=cost.tolist(), utilities=worth.tolist(),
        )  # fmt: skip
        most = int((worth - cost).argmax())
        k = int(ends[most]) if best.plan is None else max(best.plan) - time
        utility, price = float(job.utility[k]), float(best.cost[k])
        self._add(
            "A2 L3", "best", time, job=name, completion=time + k, utility=utility, cost=price,
            payoff=utility - price,
        )  # fmt: skip

    def admits(
        self, job: Arrived, payoff: float, plan: Plan, before: Floats, after: Floats
    ) -> None:
        """Tell what an admitted job holds, and the prices [t - 1, h, r] that it raises."""
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

    def rejects(self, job: Arrived, best: Best) -> None:
        """Tell why a job is rejected."""
        if not job.utility[0] > 0:
            reason = "worthless"
        elif job.first > self._instance.horizon:
            reason = "too late"
        else:
            reason = "too dear" if np.isfinite(best.cost).any() else "no room"
        self._add("A1 L4", "reject", job.arrival, job=self._id(job), reason=reason)

    def stops(self, left: Sequence[Job]) -> None:
        """Tell which jobs are not looked at any more."""
        time = min(job.arrival for job in left)
        self._add("A1 L2", "stop", time, jobs=[job.id for job in left])
