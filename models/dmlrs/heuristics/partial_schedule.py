"""A cluster that jobs are put on one by one, each with a schedule that pays well there (ours).

A job takes the slots that cost least for its progress, as wide as they hold it, the last one as
narrow as will do, and completes where its utility less that cost is largest.
"""

import numpy as np

from schedgap.instances.dmlrs import EXTERNAL, INTERNAL, DmlrsInstance, DmlrsSchedule, arrays
from schedgap.instances.dmlrs.compiled import Floats, Ints
from schedgap.models.dmlrs.heuristics.placing import Counts, fit, place
from schedgap.models.dmlrs.throughput import FULL, bundles, first_completions, progress

EVEN = 1e-6  # price of room that has none, in utility for what the cluster has of it

Plan = dict[int, Counts]  # of one job, by slot from 1


class Board:
    """What is left of the cluster, and the plans of the jobs on it; a plan may be taken back.

    `room` [t, h, r] is in thousandths.
    """

    def __init__(self, instance: DmlrsInstance) -> None:
        self.instance = instance
        self.room: Ints = np.tile(arrays(instance).capacity_milli, (instance.horizon, 1, 1))
        self.plans: dict[int, Plan] = {}

    def copy(self) -> "Board":
        """Return the same, to be changed apart."""
        other = Board(self.instance)
        other.room, other.plans = self.room.copy(), dict(self.plans)
        return other

    def schedule(self) -> DmlrsSchedule:
        """Return the schedule of the jobs on the board."""
        return DmlrsSchedule.of_plans(self.instance, self.plans)

    def value(self) -> float:
        """Return the sum of their utilities."""
        return sum(self.utility(i) for i in self.plans)

    def utility(self, i: int) -> float:
        """Return the utility of a job on the board."""
        view = arrays(self.instance)
        return float(view.utility[i, max(self.plans[i]) - view.arrival[i]])

    def put(self, i: int, plan: Plan) -> None:
        """Put a job on; its plan must fit."""
        self.plans[i] = plan
        self._move(i, plan, -1)

    def drop(self, i: int) -> None:
        """Take a job off."""
        self._move(i, self.plans.pop(i), 1)

    def _move(self, i: int, plan: Plan, sign: int) -> None:
        view = arrays(self.instance)
        units = sign * np.stack([view.worker_milli[i], view.ps_milli[i]])
        for slot, counts in plan.items():
            self.room[slot - 1, list(counts)] += np.array(list(counts.values())) @ units

    def insert(self, i: int, prices: Floats) -> bool:
        """Put a job on with a schedule of positive payoff at prices [t, r]; whether there is one.

        Notes
        -----
        Not always the best one. Ties: the earliest completion. Time: O(T H R + T^2).
        """
        first, arrival = first_completions(self.instance)[i], int(arrays(self.instance).arrival[i])
        if first > self.instance.horizon:
            return False
        room = self.room[arrival - 1 :]
        width = fit(self.instance, i, room).width
        own = prices[arrival - 1 :]
        chosen = self._cheapest(i, width, own, first - arrival)
        plan, done = {}, [0, 0]
        for k in chosen.tolist():
            if k != chosen[-1]:
                mode = self._better(i, width[k])
                n = int(width[k, mode])
            else:
                mode, n = self._least(i, done, width[k])
            done[mode] += n
            counts = place(self.instance, i, room[k], n, mode, own[k] + EVEN)
            assert counts is not None
            plan[arrival + k] = counts
        if plan:
            self.put(i, plan)
        return bool(plan)

    def _cheapest(self, i: int, width: Ints, prices: Floats, lead: int) -> Ints:
        """Return slots from the arrival on, the dearest last, that do the work and pay best."""
        view, some = arrays(self.instance), bundles(self.instance, i)
        parts = width / view.needed[i]
        part = parts.max(axis=1)
        usable = np.flatnonzero(part > 0)
        widest = width[usable, parts[usable].argmax(axis=1)]
        demand = some.demand_milli[np.searchsorted(some.workers, widest)] / 1000
        cost = np.zeros(len(part))
        cost[usable] = (prices[usable] * demand).sum(axis=1)
        order = usable[np.argsort(cost[usable] / part[usable], kind="stable")]
        payoff, chosen = 0.0, order[:0]
        for k in range(lead, len(part)):
            worth = float(view.utility[i, k])
            if worth <= payoff:
                break  # utilities only fall
            slots = order[order <= k]
            done = np.cumsum(part[slots])
            last = int(np.searchsorted(done, FULL))
            if last == len(slots):
                continue
            spare = max(0.0, float((done[last] - 1) / part[slots[last]]))
            paid = float(cost[slots[: last + 1]].sum() - spare * cost[slots[last]])
            if worth - paid > payoff:
                payoff, chosen = worth - paid, slots[: last + 1]
        return chosen

    def _better(self, i: int, width: Ints) -> int:
        return int((width / arrays(self.instance).needed[i]).argmax())

    def _least(self, i: int, done: list[int], width: Ints) -> tuple[int, int]:
        """Return mode and least number of workers that end the work; inside a machine if it can."""
        workers = bundles(self.instance, i).workers
        for mode in (INTERNAL, EXTERNAL):
            for n in workers[workers <= width[mode]].tolist():
                total = [*done]
                total[mode] += n
                if progress(self.instance, i, *total) >= FULL:
                    return mode, n
        mode = self._better(i, width)
        return mode, int(width[mode])
