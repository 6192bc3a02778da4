"""Exact by turns (ours): all machines as one, then slot by slot whether its bundles can be packed.

Logic-based Benders decomposition. The few bundles of a slot that no packing holds, and whatever
takes as much room, are cut off in every slot; the bound of the relaxation is valid throughout. It
is an engine's word until the last relaxation has been solved in two ways.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from schedgap.instances.dmlrs import DmlrsInstance, arrays
from schedgap.models.dmlrs.bounds.utility_sums import attained
from schedgap.models.dmlrs.exact.deadlines import Cut, Deadlines
from schedgap.models.dmlrs.exact.packing import dominates
from schedgap.models.dmlrs.exact.slot_packings import Slots
from schedgap.models.dmlrs.offers import Offer
from schedgap.models.dmlrs.programs import aggregate
from schedgap.models.dmlrs.programs.aggregate import Item
from schedgap.models.dmlrs.utility_units import WORD
from schedgap.models.search_state import SearchState
from schedgap.solvers import solve
from schedgap.solvers.engines.confirm import confirm
from schedgap.solvers.engines.results import USUAL_TOLERANCES, EngineResult
from schedgap.solvers.loops.cutting_planes import CuttingPlaneResult, Rows, cutting_planes
from schedgap.solvers.programs.arrays import Floats, LinearProgram
from schedgap.solvers.programs.pyomo import compile_model

CLOSE = 1e-9  # of utility


def lbbd(
    found: SearchState,
    instance: DmlrsInstance,
    model: Any = None,
    real: Callable[[float], float] | None = None,
    *,
    offers: Mapping[int, Sequence[Sequence[Offer]]] | None = None,
    gap: float = 0.0,
) -> CuttingPlaneResult:
    """Alternate between the relaxation and its slots until no slot is impossible.

    Parameters
    ----------
    found : Bracket
        Hears of the bounds, and of the schedules that the packed slots make; its values are minus
        sums of utilities.
    model : ConcreteModel or None
        The relaxation, with more rows and bounds; None builds it.
    real : callable
        From a bound on that model to one on all schedules; None where it is one.
    offers : mapping or None
        What each job can rent, by slot. With them HiGHS is asked of completions whose slots do not
        fit whether others do: one set of completions can have very many slots.
    gap : float
        Relative gap at which the relaxation is good enough to be packed; it ends at the first
        schedule then.
    """
    call = found.call
    engine = call.engine or "highs"
    call.progress.phase("building the relaxation")
    model = aggregate.build(instance) if model is None else model
    compiled = compile_model(model)
    places = {id(var): index for index, var in model.v.items()}
    columns = {
        j: aggregate.chosen(places[id(var)])
        for j, var in enumerate(compiled.variables)
        if id(var) in places
    }
    completions = {id(var): index for index, var in model.y.items()}
    complete = {
        j: completions[id(var)]
        for j, var in enumerate(compiled.variables)
        if id(var) in completions
    }
    real = real or (lambda bound: -attained(instance, WORD - bound))
    known = Slots(instance, call.clock)
    judge = None if offers is None else Deadlines(known, offers, call.clock, call.seed)
    cuts: set[tuple[Item, ...]] = set()

    def separate(values: Floats) -> Rows | None:
        slots: dict[int, list[Item]] = {}
        for j, (t, item) in columns.items():
            if values[j] > 0.5:
                slots.setdefault(t, []).append(item)
        impossible = [own for own in slots.values() if known.packing(own).impossible]
        fresh = {known.few(own) for own in impossible} - cuts
        found.offer(known.schedule(slots))
        if not fresh:
            return None
        cuts.update(fresh)
        lines, right = _rows(fresh, columns, len(values))
        if judge is not None:
            due = dict(complete[j] for j in complete if values[j] > 0.5)
            answer = judge.check(due)
            if isinstance(answer, Cut):
                lines.append(np.zeros(len(values)))
                for j, completion in complete.items():
                    lines[-1][j] = answer.weight.get(completion, 0.0)
                right.append(answer.most)
            elif answer is not None:
                found.offer(known.schedule(answer))
                if found.upper is not None and -found.upper >= worth(due) - CLOSE:
                    return None
        return Rows(np.full(len(right), -np.inf), right, sparse.csr_array(np.array(lines)))

    def worth(due: Mapping[int, int]) -> float:
        view = arrays(instance)
        return sum(float(view.utility[i, f - view.arrival[i]]) for i, f in due.items())

    usual = dict(USUAL_TOLERANCES.get(engine, {}))
    settings: dict[str, Any] = {"threads": call.threads, "seed": call.seed}
    asked: list[tuple[LinearProgram, EngineResult]] = []

    def master(program: LinearProgram) -> EngineResult:
        result = solve(
            program,
            engine,
            clock=call.clock,
            on_bound=lambda bound: found.bound(real(bound), confirmed=False),
            options={**usual, "mip_rel_gap": gap} if gap else usual,
            **settings,
        )
        asked[:] = [(program, result)]
        return result

    call.progress.phase(f"solving with {engine}, slots packed in turn")
    result = cutting_planes(
        compiled.program,
        separate,
        clock=call.clock,
        on_bound=lambda bound: found.bound(real(bound), confirmed=False),
        solve=master,
    )
    if result.end != "stopped":
        program, first = asked[0]
        again, said = confirm(program, engine, first, clock=call.clock, options=usual, **settings)
        found.trace["asked_again"] = said
        if again.bound is not None:
            found.bound(real(again.bound))
        if again.status != first.status:
            result = replace(result, end="stopped")
    found.trace |= {"rounds": result.rounds, "cuts": len(cuts), "packings": len(known)}
    return result


def _rows(
    sets: set[tuple[Item, ...]], columns: Mapping[int, tuple[int, Item]], width: int
) -> tuple[list[Floats], list[float]]:
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
                right.append(len(few) - 1.0)
    return lines, right
