"""Logic-based Benders decomposition (ours): a master with merged machines, slots packed in turn.

The master chooses bundles for every slot with all machines merged; each slot is then packed on the
machines. If a slot cannot be packed, a minimal infeasible subset S of its bundles gives the cut

    sum over bundles that dominate a member of S <= |S| - 1

in every slot, because capacities are the same in every slot. The master is a relaxation throughout,
so its bound is valid. That bound is only reported until the last master has been solved in two
ways.

References
----------
J. N. Hooker, G. Ottosson, "Logic-based Benders decomposition", Mathematical Programming 96 (2003).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from schedgap.instances.dmlrs import DmlrsInstance, arrays
from schedgap.models.dmlrs.bounds.utility_sums import attained
from schedgap.models.dmlrs.exact.deadlines import CompletionCut, DeadlineOracle
from schedgap.models.dmlrs.exact.packing import dominates
from schedgap.models.dmlrs.exact.slot_packings import PackingCache
from schedgap.models.dmlrs.programs import aggregate
from schedgap.models.dmlrs.programs.aggregate import JobBundle
from schedgap.models.dmlrs.slot_options import SlotOption
from schedgap.models.dmlrs.utility_scaling import ENGINE_TOLERANCE
from schedgap.models.search_state import SearchState
from schedgap.solvers import solve
from schedgap.solvers.engines.confirm import confirm
from schedgap.solvers.engines.registry import find_engine
from schedgap.solvers.engines.results import EngineResult
from schedgap.solvers.loops.cutting_planes import CuttingPlaneResult, Rows, cutting_planes
from schedgap.solvers.programs.arrays import Floats, LinearProgram
from schedgap.solvers.programs.pyomo import compile_model
from schedgap.solvers.programs.sparse import sparse

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel

CLOSE = 1e-9  # utilities that differ by less are equal


def lbbd(
    state: SearchState,
    instance: DmlrsInstance,
    model: "ConcreteModel | None" = None,
    to_bound: Callable[[float], float] | None = None,
    *,
    options: Mapping[int, Sequence[Sequence[SlotOption]]] | None = None,
    gap: float = 0.0,
) -> CuttingPlaneResult:
    """Alternate between the master and its slots until every slot can be packed.

    `state`: receives bounds, and the schedules of the packed slots; its values are minus sums of
    utilities. `model`: the master, with additional rows and bounds; None builds it. `to_bound`:
    from a bound on that model to a bound on all schedules; None if they are the same. `options`:
    the options of each job, by slot. With them, the completions of a master solution are checked
    for all slots (`deadlines`), because one set of completions can have very many choices of
    bundles. `gap`: relative gap at which a master solution is packed; the loop then ends at the
    first schedule.
    """
    call = state.call
    engine = call.engine or "highs"
    call.progress.phase("building the relaxation")
    model = aggregate.build(instance) if model is None else model
    compiled = compile_model(model)
    v = {id(var): index for index, var in model.v.items()}
    y = {id(var): index for index, var in model.y.items()}
    variables = [(j, id(var)) for j, var in enumerate(compiled.variables)]
    columns = {j: aggregate.chosen(v[var]) for j, var in variables if var in v}
    complete = {j: y[var] for j, var in variables if var in y}
    to_bound = to_bound or (lambda bound: -attained(instance, ENGINE_TOLERANCE - bound))
    packings = PackingCache(instance, call.clock)
    oracle = None if options is None else DeadlineOracle(packings, options, call.budget)
    cuts: set[tuple[JobBundle, ...]] = set()

    def separate(values: Floats) -> Rows | None:
        """Return the cuts that a master solution violates, or None."""
        slots: dict[int, list[JobBundle]] = {}
        for j, (t, item) in columns.items():
            if values[j] > 0.5:
                slots.setdefault(t, []).append(item)
        infeasible = [own for own in slots.values() if packings.packing(own).infeasible]
        fresh = {packings.minimal_subset(own) for own in infeasible} - cuts
        state.incumbent(packings.schedule(slots))
        if not fresh:
            return None
        cuts.update(fresh)
        lines, right = _rows(fresh, columns, len(values))
        if oracle is not None:
            due = dict(complete[j] for j in complete if values[j] > 0.5)
            answer = oracle.check(due)
            if isinstance(answer, CompletionCut):
                lines.append(np.zeros(len(values)))
                for j, completion in complete.items():
                    lines[-1][j] = answer.weight.get(completion, 0.0)
                right.append(answer.upper)
            elif answer is not None:
                state.incumbent(packings.schedule(answer))
                if state.upper is not None and -state.upper >= total_utility(due) - CLOSE:
                    return None
        return Rows(np.full(len(right), -np.inf), right, sparse.csr_array(np.array(lines)))

    def total_utility(due: Mapping[int, int]) -> float:
        """Return the sum of utilities of some completions."""
        view = arrays(instance)
        return sum(float(view.utility[i, f - view.arrival[i]]) for i, f in due.items())

    usual = dict(find_engine(engine).usual)
    settings: dict[str, Any] = {"threads": call.threads, "seed": call.seed}
    asked: list[tuple[LinearProgram, EngineResult]] = []

    def master(program: LinearProgram) -> EngineResult:
        """Solve the master, and remember program and result for the confirmation."""
        result = solve(
            program,
            engine,
            clock=call.clock,
            on_bound=lambda bound: state.bound(to_bound(bound), confirmed=False),
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
        on_bound=lambda bound: state.bound(to_bound(bound), confirmed=False),
        solve=master,
    )
    if result.end != "stopped":
        program, first = asked[0]
        again, said = confirm(program, engine, first, clock=call.clock, options=usual, **settings)
        state.trace["asked_again"] = said
        if again.bound is not None:
            state.bound(to_bound(again.bound))
        if again.status != first.status:
            result = replace(result, end="stopped")
    state.trace |= {"rounds": result.rounds, "cuts": len(cuts), "packings": len(packings)}
    return result


def _rows(
    sets: set[tuple[JobBundle, ...]], columns: Mapping[int, tuple[int, JobBundle]], width: int
) -> tuple[list[Floats], list[float]]:
    """Return the rows of the cuts, for each set and slot: coefficients and right sides."""
    lines, right = [], []
    slots = sorted({t for t, _ in columns.values()})
    for minimal_subset in sorted(sets):
        for t in slots:
            line = np.zeros(width)
            for j, (slot, item) in columns.items():
                if slot == t and any(dominates(item, each) for each in minimal_subset):
                    line[j] = 1
            if line.any():
                lines.append(line)
                right.append(len(minimal_subset) - 1.0)
    return lines, right
