"""Theta(t~, V), Algorithm 3: the cheapest plan that completes a job by each slot, from its options.

One pass gives all t~ at once, because Theta(t~, .) only extends Theta(t~ - 1, .). In (21) only the
volumes of the options and idling matter: between them theta is constant.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.dmlrs import EXTERNAL, INTERNAL
from schedgap.instances.dmlrs.compiled import Floats, Ints
from schedgap.models.dmlrs.slot_options import JobAtArrival, SlotOption
from schedgap.models.dmlrs.throughput import FULL, ROUNDING, min_worker_slots

MAX_STATES = 10_000_000  # slots times worker-slots, stored for backtracking

OptionRow = Sequence[SlotOption]  # the options of one slot
Backpointers = NDArray[np.int32]


class CheapestPlans(NamedTuple):
    """The least cost of completion by each slot, and plans of that cost."""

    cost: Floats  # [k] Theta(a + k, V), never increasing; inf if impossible
    plans: Mapping[int, Mapping[int, SlotOption]]  # plans by the k at which the cost falls


def undominated(job: JobAtArrival, options: OptionRow) -> list[SlotOption]:
    """Return the options that no other dominates, in order of progress.

    An option is dominated by one of no less progress at no more cost.

    `job`: the job, which gives the progress. `options`: options of one slot.
    """
    frontier: list[SlotOption] = []
    for option in sorted(options, key=lambda each: (-job.progress(each), each.cost)):
        if not frontier or option.cost < frontier[-1].cost:
            frontier.append(option)
    return frontier[::-1]


# --- exact -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Labels:
    """Undominated plans of the slots so far, by falling progress and falling cost."""

    internal: Ints  # [l] A, worker-slots
    external: Ints  # [l] B
    cost: Floats  # [l]
    before: Ints  # [l] label of the previous slot that it extends
    taken: Ints  # [l] option taken in this slot, -1 for idle


def exact(job: JobAtArrival, rows: Sequence[OptionRow]) -> CheapestPlans:
    """Return Theta at every slot, with the progress of (3) as it is.

    Parameters
    ----------
    job : JobAtArrival
        It gives the progress of an option.
    rows : sequence of sequences of SlotOption
        Options of each slot from the arrival on.

    Notes
    -----
    A multiple-choice covering knapsack, solved by labels (progress, cost); of two labels, one with
    no more progress at no less cost is dominated. Time: number of labels times options, per slot.
    If all options are of one mode, it is a covering knapsack over whole worker-slots: O(N) per
    option.
    """
    modes = {option.internal for options in rows for option in options}
    if len(modes) == 1:
        target = min_worker_slots(float(job.needed[INTERNAL if modes.pop() else EXTERNAL]))
        if target * len(rows) <= MAX_STATES:
            return _cheapest_cover(
                rows, [[option.workers for option in row] for row in rows], target
            )
    none = np.zeros(1, dtype=np.int64)
    labels = [_Labels(none, none, np.zeros(1), none - 1, none - 1)]
    cost, plans, least = np.full(len(rows), np.inf), {}, math.inf
    for k, options in enumerate(rows):
        extended, completion_cost, last_step = _extend_labels(job, labels[-1], options, least)
        if last_step is not None and completion_cost < least:
            least = completion_cost
            plans[k] = _label_plan(labels, rows, k, *last_step)
        cost[k] = least
        labels.append(extended)
    return CheapestPlans(cost, plans)


def _extend_labels(
    job: JobAtArrival, labels: _Labels, options: OptionRow, cutoff: float
) -> tuple[_Labels, float, tuple[int, int] | None]:
    """Return the labels after one more slot, and the cheapest completion in that slot.

    The completion is its cost, inf if there is none, and its label and option.
    """
    n = np.array([0] + [option.workers for option in options], dtype=np.int64)
    inside = np.array([False] + [option.internal for option in options])
    price = np.array([0.0] + [option.cost for option in options])
    # every label extended by every option of the slot, and by idling (option -1)
    A = (labels.internal[:, None] + np.where(inside, n, 0)).ravel()
    B = (labels.external[:, None] + np.where(inside, 0, n)).ravel()
    cost = (labels.cost[:, None] + price).ravel()
    progress = A / job.needed[0] + B / job.needed[1]
    source, option = np.divmod(np.arange(len(A)), len(n))
    complete = np.flatnonzero(progress >= FULL)
    completion_cost, last_step = math.inf, None
    if len(complete):
        best = complete[cost[complete].argmin()]
        completion_cost, last_step = float(cost[best]), (int(source[best]), int(option[best]) - 1)
    # This is the Pareto frontier of (progress, cost). It is among the unfinished labels that are
    # cheaper than any known completion. By falling progress, a label stays if it is cheaper than
    # all before it.
    unfinished = np.flatnonzero((progress < FULL) & (cost < min(cutoff, completion_cost)))
    order = unfinished[np.lexsort((cost[unfinished], -progress[unfinished]))]
    running_min = np.minimum.accumulate(cost[order])
    frontier = order[np.r_[True, cost[order][1:] < running_min[:-1]]] if len(order) else order
    return (
        _Labels(A[frontier], B[frontier], cost[frontier], source[frontier], option[frontier] - 1),
        completion_cost,
        last_step,
    )


def _label_plan(
    labels: Sequence[_Labels], rows: Sequence[OptionRow], k: int, label: int, option: int
) -> dict[int, SlotOption]:
    """Return the options that lead to a completion, by index of slot."""
    plan = {k: rows[k][option]}
    for slot in range(k - 1, -1, -1):
        step = labels[slot + 1]
        if step.taken[label] >= 0:
            plan[slot] = rows[slot][int(step.taken[label])]
        label = int(step.before[label])
    return dict(sorted(plan.items()))


# --- on a grid ---------------------------------------------------------------------------------


def on_grid(job: JobAtArrival, rows: Sequence[OptionRow], parts: int) -> CheapestPlans:
    """Return Theta with progress rounded down to steps of the work: a valid plan, not below Theta.

    Parameters
    ----------
    job : JobAtArrival
        It gives the progress of an option.
    rows : sequence of sequences of SlotOption
        Options of each slot from the arrival on.
    parts : int
        Q >= 1, steps of the work.

    Notes
    -----
    Theta(V) <= Theta_grid(V) <= Theta(V (1 + (k - 1) / Q)) by the k-th slot. With Q = V / q, for
    quanta of q samples, this is Algorithm 3 as printed. Then v is a multiple of q, and all t~ are
    done at once. Time: O(Q) for each option.
    """
    return _cheapest_cover(rows, [[_down(job, o, parts) for o in row] for row in rows], parts)


def on_grid_up(job: JobAtArrival, rows: Sequence[OptionRow], parts: int) -> CheapestPlans:
    """Return Theta with progress rounded up: a lower bound, whose plans may not do all the work.

    Parameters
    ----------
    job, rows, parts
        As in `on_grid`.
    """
    weights = [[_up(job, o, parts) for o in row] for row in rows]
    return _cheapest_cover(rows, weights, parts)


def in_quanta(
    job: JobAtArrival, rows: Sequence[OptionRow], volume: int, quantum: int
) -> CheapestPlans:
    """Return Theta where each slot trains an integer number of quanta of samples, as printed.

    The last quantum may be partial: its slot trains at least that part.

    `job`, `rows`: as in `on_grid`. `volume`: V, samples of the job. `quantum`: samples per quantum,
    >= 1.
    """
    scale = volume / quantum
    weights = [
        [math.floor(scale * job.progress(option) * (1 + ROUNDING / 2)) for option in row]
        for row in rows
    ]
    return _cheapest_cover(rows, weights, math.ceil(scale))


def _down(job: JobAtArrival, option: SlotOption, parts: int) -> int:
    """Return the steps of the work that an option does, rounded down."""
    # half of the tolerance of (3): a full grid of such progress still does the work
    return min(parts, math.floor(parts * job.progress(option) * (1 + ROUNDING / 2)))


def _up(job: JobAtArrival, option: SlotOption, parts: int) -> int:
    """Return the steps of the work that an option does, rounded up."""
    return min(parts, math.ceil(parts * job.progress(option) / FULL * (1 - 1e-12)))


def _cheapest_cover(
    rows: Sequence[OptionRow], weights: Sequence[Sequence[int]], target: int
) -> CheapestPlans:
    """Return the cheapest plans that reach a target weight, by dynamic programming over the weight.

    The last state means "the target or more".
    """
    least = np.full(target + 1, np.inf)  # A3 L1 (E17); the last state is "at least"
    least[0] = 0.0
    taken = np.full((len(rows), target + 1), -1, dtype=np.int32)
    before = np.tile(np.arange(target + 1, dtype=np.int32), (len(rows), 1))
    cost, plans = np.empty(len(rows)), {}
    for k, (row, row_weights) in enumerate(zip(rows, weights, strict=True)):
        after = least.copy()  # v = 0
        for o in _undominated_weights(row, row_weights):  # A3 L2
            w, price = min(row_weights[o], target), row[o].cost
            moved = least[: target - w] + price  # A3 L3
            better = np.flatnonzero(moved < after[w:target])  # A3 L4
            after[w + better] = moved[better]
            taken[k, w + better], before[k, w + better] = o, better
            last = target - w + int(least[target - w :].argmin())
            if least[last] + price < after[target]:
                after[target] = least[last] + price
                taken[k, target], before[k, target] = o, last
        # A3 L5
        if after[target] < (cost[k - 1] if k else np.inf):
            plans[k] = _backtrack(rows, taken, before, k, target)
        least, cost[k] = after, after[target]
    return CheapestPlans(cost, plans)


def _undominated_weights(row: OptionRow, weights: Sequence[int]) -> list[int]:
    """Return the options of positive weight that no other of as much weight undercuts.

    By falling weight.
    """
    frontier: list[int] = []
    for o in sorted(range(len(row)), key=lambda o: (-weights[o], row[o].cost)):
        if weights[o] and (not frontier or row[o].cost < row[frontier[-1]].cost):
            frontier.append(o)
    return frontier


def _backtrack(
    rows: Sequence[OptionRow], taken: Backpointers, before: Backpointers, k: int, state: int
) -> dict[int, SlotOption]:
    """Return the options that lead to a state after slot k, by index of slot."""
    plan = {}
    for slot in range(k, -1, -1):
        if taken[slot, state] >= 0:
            plan[slot] = rows[slot][int(taken[slot, state])]
        state = int(before[slot, state])
    return dict(sorted(plan.items()))
