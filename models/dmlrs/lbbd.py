"""Exact by turns (ours): all machines as one, then slot by slot whether its bundles can be packed.

Logic-based Benders decomposition. The few bundles of a slot that no packing holds, and whatever
takes as much room, are cut off in every slot; the bound of the relaxation is valid throughout.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from schedgap.instances.dmlrs import Counts, DmlrsInstance, DmlrsSchedule, arrays
from schedgap.models.bracket import Bracket
from schedgap.models.dmlrs import program_aggregate
from schedgap.models.dmlrs.packing import Item, Packing, dominates, few_that_do_not_fit, pack
from schedgap.solvers import Clock, solve
from schedgap.solvers.cuts import CuttingPlaneResult, Rows, cutting_planes
from schedgap.solvers.linear import Floats
from schedgap.solvers.pyomo_arrays import compile_model

Slots = Mapping[int, Sequence[Item]]  # what runs in each slot


class Subproblems:
    """The packing of slots, each set of items once, and the cuts of those that do not fit."""

    def __init__(self, instance: DmlrsInstance, clock: Clock) -> None:
        self._instance, self._clock = instance, clock
        self._packings: dict[frozenset[Item], Packing] = {}
        self._few: dict[frozenset[Item], tuple[Item, ...]] = {}

    def __len__(self) -> int:
        return len(self._packings)

    def packing(self, items: Sequence[Item]) -> Packing:
        """Return where the items of a slot go."""
        key = frozenset(items)
        if key not in self._packings:
            self._packings[key] = pack(self._instance, sorted(items), self._clock)
        return self._packings[key]

    def few(self, items: Sequence[Item]) -> tuple[Item, ...]:
        """Return the smallest part of impossible items."""
        key = frozenset(items)
        if key not in self._few:
            self._few[key] = few_that_do_not_fit(self._instance, sorted(items), self._clock)
        return self._few[key]

    def schedule(self, slots: Slots) -> DmlrsSchedule:
        """Return the packed slots, without the jobs of least utility that do not fit."""
        view = arrays(self._instance)
        last = {item.job: t for t in sorted(slots) for item in slots[t]}
        worth = {i: float(view.utility[i, t - view.arrival[i]]) for i, t in last.items()}
        left = dict(slots)
        while (t := self._unpacked(left)) is not None:
            among = self.few(left[t]) if self.packing(left[t]).impossible else left[t]
            least = min((item.job for item in among), key=worth.__getitem__)
            left = {s: [each for each in own if each.job != least] for s, own in left.items()}
        plans: dict[int, dict[int, Counts]] = {}
        for t, own in left.items():
            for item, held in zip(sorted(own), self.packing(own).counts or (), strict=True):
                plans.setdefault(item.job, {})[t] = held
        return DmlrsSchedule.of_plans(self._instance, plans)

    def _unpacked(self, slots: Slots) -> int | None:
        """Return the first slot that does not fit, or of which time does not let us tell."""
        return next((t for t in sorted(slots) if self.packing(slots[t]).counts is None), None)


def lbbd(
    found: Bracket,
    instance: DmlrsInstance,
    options: Mapping[str, float] | None,
    model: Any = None,
    real: Callable[[float], float] = float,
) -> CuttingPlaneResult:
    """Alternate between the relaxation and its slots until no slot is impossible.

    Parameters
    ----------
    found : Bracket
        Hears of the bounds, and of the schedules that the packed slots make; its values are minus
        sums of utilities.
    options : mapping or None
        Of the engine, for the relaxation.
    model : ConcreteModel or None
        The relaxation, with more rows and bounds; None builds it.
    real : callable
        From a bound on that model to one on all schedules.
    """
    call = found.call
    engine = call.engine or "highs"
    call.progress.phase("building the relaxation")
    model = program_aggregate.build(instance) if model is None else model
    compiled = compile_model(model)
    places = {id(var): index for index, var in model.v.items()}
    columns = {
        j: program_aggregate.chosen(places[id(var)])
        for j, var in enumerate(compiled.variables)
        if id(var) in places
    }
    parts = Subproblems(instance, call.clock)
    cuts: set[tuple[Item, ...]] = set()

    def separate(values: Floats) -> Rows | None:
        slots: dict[int, list[Item]] = {}
        for j, (t, item) in columns.items():
            if values[j] > 0.5:
                slots.setdefault(t, []).append(item)
        impossible = [own for own in slots.values() if parts.packing(own).impossible]
        fresh = {parts.few(own) for own in impossible} - cuts
        found.offer(parts.schedule(slots))
        cuts.update(fresh)
        return _rows(fresh, columns, len(values)) if fresh else None

    call.progress.phase(f"solving with {engine}, slots packed in turn")
    result = cutting_planes(
        compiled.program,
        separate,
        clock=call.clock,
        on_bound=lambda bound: found.bound(real(bound)),
        solve=lambda program: solve(
            program,
            engine,
            clock=call.clock,
            threads=call.threads,
            seed=call.seed,
            on_bound=lambda bound: found.bound(real(bound)),
            options=options,
        ),
    )
    found.trace |= {"rounds": result.rounds, "cuts": len(cuts), "packings": len(parts)}
    return result


def _rows(sets: set[tuple[Item, ...]], columns: Mapping[int, tuple[int, Item]], width: int) -> Rows:
    """Return, for each set and slot, that what takes as much room as all of it is not chosen."""
    lines, right = [], []
    slots = sorted({t for t, _ in columns.values()})
    for few in sorted(sets):
        for t in slots:
            line = np.zeros(width)
            for j, (slot, item) in columns.items():
                if slot == t and any(dominates(item, each) for each in few):
                    line[j] = 1
            if line.any():
                lines.append(line)
                right.append(len(few) - 1)
    return Rows(np.full(len(right), -np.inf), right, sparse.csr_array(np.array(lines)))
