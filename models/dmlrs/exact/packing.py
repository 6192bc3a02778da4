"""Pack the bundles of one slot on the machines, or name a minimal subset that does not fit (ours).

Capacities are the same in every slot, so what does not fit one slot fits none.

References
----------
J. W. Chinneck, E. W. Dravnieks, "Locating minimal infeasible constraint sets in linear programs",
ORSA Journal on Computing 3 (1991): the deletion filter.
"""

from collections.abc import Sequence

from schedgap.instances.dmlrs import Counts, DmlrsSchedule
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.proof import Bundle, Model
from schedgap.models.dmlrs.rules import check
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.proofs.bins import BinCompletion

CLOCK_INTERVAL = 1024  # nodes between two readings of the clock


def pack(model: Model, items: Sequence[Bundle], clock: Clock) -> tuple[Counts, ...] | None:
    """Return a placement of each bundle on the empty machines, or None if they do not fit.

    The search is complete and in integer thousandths, without any tolerance.

    `items`: bundles of one slot, at most one for each job.

    Raises
    ------
    OutOfTimeError
        When the time is up before that is decided.
    """
    units, numbers = model.units(items)
    meaning = []  # bundle, workers and PSs of each kind of unit
    for k, item in enumerate(items):
        ps = model.ps_of[item.job][item.workers]
        meaning += [(k, item.workers, ps)] if item.internal else [(k, 1, 0), (k, 0, 1)]
    search = BinCompletion(
        units, model.bins, lambda nodes: nodes % CLOCK_INTERVAL == 0 and clock.expired()
    )
    filled = search.run(numbers)
    if filled is None:
        return None
    machines = {
        q: [h for h, own in enumerate(model.machines) if own == capacity]
        for q, (capacity, _) in enumerate(model.bins)
    }
    counts: list[dict[int, tuple[int, int]]] = [{} for _ in items]
    for q, contents in filled:
        h = machines[q].pop(0)
        for number, (k, w, s) in zip(contents, meaning, strict=True):
            if number:
                previous = counts[k].get(h, (0, 0))
                counts[k][h] = previous[0] + number * w, previous[1] + number * s
    return tuple(counts)


def minimal_infeasible_subset(
    model: Model, items: Sequence[Bundle], clock: Clock
) -> tuple[Bundle, ...]:
    """Return a minimal subset of bundles that cannot be packed, each as small as possible.

    Bundles are dropped, then allowed to spread over machines, then given fewer workers, as long as
    the rest provably does not fit.

    `items`: bundles that cannot be packed.

    Raises
    ------
    OutOfTimeError
        When the time is up.
    """

    def infeasible(subset: Sequence[Bundle]) -> bool:
        return pack(model, subset, clock) is None

    kept = list(items)
    for item in items:
        others = [other for other in kept if other != item]
        if others and infeasible(others):
            kept = others
    for k, item in enumerate(kept):
        if item.internal and len(model.machines) > 1:
            relaxed = [*kept[:k], item._replace(internal=False), *kept[k + 1 :]]
            kept = relaxed if infeasible(relaxed) else kept
        fewer = [n for n in model.ps_of[item.job] if n < item.workers]
        low, high = 0, len(fewer)  # fewer[high:] and the item itself do not fit
        while low < high:
            middle = (low + high) // 2
            reduced = [*kept[:k], kept[k]._replace(workers=fewer[middle]), *kept[k + 1 :]]
            if infeasible(reduced):
                high, kept = middle, reduced
            else:
                low = middle + 1
    return tuple(kept)


def read(
    model: Model, point: Floats, clock: Clock
) -> tuple[DmlrsSchedule | None, list[tuple[Bundle, ...]]]:
    """Return the schedule of a solution, and the sets of bundles that no slot can hold.

    None with any such set, or if it breaks a rule by less than the program rounds.

    `model`: program with all machines merged. `point` [j]: an integer solution of it.

    Raises
    ------
    OutOfTimeError
        When the time is up before all slots are packed.
    """
    plans: dict[int, dict[int, Counts]] = {}
    infeasible = []
    for t, own in enumerate(model.bundles):
        items = tuple(bundle for j, bundle in own.items() if point[j] > 0.5)
        placed = pack(model, items, clock) if items else ()
        if placed is None:
            infeasible.append(items)
        else:
            for item, counts in zip(items, placed, strict=True):
                plans.setdefault(item.job, {})[t] = counts
    schedule = DmlrsSchedule.of_plans(model.instance, plans)
    broken = infeasible or any(check(model.instance, schedule.to_data(model.instance), {}))
    return None if broken else schedule, infeasible
