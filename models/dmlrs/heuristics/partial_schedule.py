"""Partial schedules, into which jobs are inserted one by one at good payoff (ours).

A job takes the slots of least cost for its progress, each at its largest number of workers and the
last one at the least that suffices. It completes in the slot where its utility minus that cost is
largest.

References
----------
R. Kolisch, "Serial and parallel resource-constrained project scheduling methods revisited: theory
and computation", European Journal of Operational Research 90 (1996): schedules built serially.
"""

from collections.abc import Mapping

import numpy as np

from schedgap.instances.dmlrs import EXTERNAL, INTERNAL, DmlrsInstance, DmlrsSchedule, arrays
from schedgap.instances.dmlrs.compiled import Floats, Ints
from schedgap.models.dmlrs.heuristics.placing import Counts, place, slot_limits
from schedgap.models.dmlrs.throughput import FULL, bundles, first_completions, progress

BASE_PRICE = 1e-6  # price of free capacity without a price, per capacity of the cluster

Plan = dict[int, Counts]  # what a job holds, by slot from 1


class PartialSchedule:
    """Free capacity of the cluster and plans of the scheduled jobs; jobs can be removed again.

    `free` [t, h, r] is in thousandths. `plans`: of the jobs that are scheduled at the start.
    """

    def __init__(self, instance: DmlrsInstance, plans: Mapping[int, Plan] | None = None) -> None:
        self.instance = instance
        self.free: Ints = np.tile(arrays(instance).capacity_milli, (instance.horizon, 1, 1))
        self.plans: dict[int, Plan] = {}
        for i, plan in (plans or {}).items():
            self.add(i, plan)

    def copy(self) -> "PartialSchedule":
        """Return an independent copy."""
        other = PartialSchedule(self.instance)
        other.free, other.plans = self.free.copy(), dict(self.plans)
        return other

    def schedule(self) -> DmlrsSchedule:
        """Return the schedule of the scheduled jobs."""
        return DmlrsSchedule.of_plans(self.instance, self.plans)

    def value(self) -> float:
        """Return the sum of the utilities."""
        return sum(self.utility(i) for i in self.plans)

    def utility(self, i: int) -> float:
        """Return the utility of a scheduled job."""
        view = arrays(self.instance)
        return float(view.utility[i, max(self.plans[i]) - view.arrival[i]])

    def add(self, i: int, plan: Plan) -> None:
        """Schedule a job.

        `plan`: workers and PSs by slot, from 1, and machine; it must fit the free capacity.
        """
        self.plans[i] = plan
        self._change(i, plan, -1)

    def remove(self, i: int) -> None:
        """Remove a job."""
        self._change(i, self.plans.pop(i), 1)

    def _change(self, i: int, plan: Plan, sign: int) -> None:
        """Add the demand of a plan, times a sign, to the free capacity."""
        view = arrays(self.instance)
        units = sign * np.stack([view.worker_milli[i], view.ps_milli[i]])
        for slot, counts in plan.items():
            self.free[slot - 1, list(counts)] += np.array(list(counts.values())) @ units

    def insert(self, i: int, prices: Floats) -> bool:
        """Schedule a job with a plan of positive payoff; return whether one was found.

        `prices` [t, r]: prices of the resources in the payoff.

        Notes
        -----
        Not always the plan of largest payoff. Ties: the earliest completion. Time: O(T H R + T^2).
        """
        first, arrival = first_completions(self.instance)[i], int(arrays(self.instance).arrival[i])
        if first > self.instance.horizon:
            return False
        free = self.free[arrival - 1 :]
        max_workers = slot_limits(self.instance, i, free).max_workers
        slot_prices = prices[arrival - 1 :]
        chosen = self._best_slots(i, max_workers, slot_prices, first - arrival)
        plan, worker_slots = {}, [0, 0]
        for k in chosen.tolist():
            if k != chosen[-1]:
                mode = self._faster_mode(i, max_workers[k])
                n = int(max_workers[k, mode])
            else:
                mode, n = self._last_slot(i, worker_slots, max_workers[k])
            worker_slots[mode] += n
            counts = place(self.instance, i, free[k], n, mode, slot_prices[k] + BASE_PRICE)
            assert counts is not None
            plan[arrival + k] = counts
        if plan:
            self.add(i, plan)
        return bool(plan)

    def _best_slots(self, i: int, max_workers: Ints, prices: Floats, lead: int) -> Ints:
        """Return the slots of the best payoff that do the work, the most expensive last."""
        view, job_bundles = arrays(self.instance), bundles(self.instance, i)
        progress_by_mode = max_workers / view.needed[i]
        progress_of = progress_by_mode.max(axis=1)
        usable = np.flatnonzero(progress_of > 0)
        workers = max_workers[usable, progress_by_mode[usable].argmax(axis=1)]
        demand = job_bundles.demand_milli[np.searchsorted(job_bundles.workers, workers)] / 1000
        cost = np.zeros(len(progress_of))
        cost[usable] = (prices[usable] * demand).sum(axis=1)
        order = usable[np.argsort(cost[usable] / progress_of[usable], kind="stable")]
        best_payoff, chosen = 0.0, order[:0]
        for k in range(lead, len(progress_of)):
            utility = float(view.utility[i, k])
            if utility <= best_payoff:
                break  # utilities only fall
            slots = order[order <= k]
            cumulative = np.cumsum(progress_of[slots])
            end = int(np.searchsorted(cumulative, FULL))
            if end == len(slots):
                continue
            excess = max(0.0, float((cumulative[end] - 1) / progress_of[slots[end]]))
            price_paid = float(cost[slots[: end + 1]].sum() - excess * cost[slots[end]])
            if utility - price_paid > best_payoff:
                best_payoff, chosen = utility - price_paid, slots[: end + 1]
        return chosen

    def _faster_mode(self, i: int, max_workers: Ints) -> int:
        """Return the mode in which the largest number of workers makes more progress."""
        return int((max_workers / arrays(self.instance).needed[i]).argmax())

    def _last_slot(self, i: int, worker_slots: list[int], max_workers: Ints) -> tuple[int, int]:
        """Return mode and least number of workers that end the work; on one machine if possible."""
        workers = bundles(self.instance, i).workers
        for mode in (INTERNAL, EXTERNAL):
            for n in workers[workers <= max_workers[mode]].tolist():
                total = [*worker_slots]
                total[mode] += n
                if progress(self.instance, i, *total) >= FULL:
                    return mode, n
        mode = self._faster_mode(i, max_workers)
        return mode, int(max_workers[mode])
