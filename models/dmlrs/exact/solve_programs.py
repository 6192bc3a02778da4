"""The programs as exact methods: each with the engines that can solve it."""

from typing import Annotated

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.models.dmlrs.bounds.solve_relaxations import MaxColumns
from schedgap.models.dmlrs.bounds.utility_sums import attained
from schedgap.models.dmlrs.exact.logic_based_benders import lbbd as logic_based_benders
from schedgap.models.dmlrs.heuristics.initial import initial_state
from schedgap.models.dmlrs.programs import aggregate, printed
from schedgap.models.dmlrs.programs import cp_sat as cp_sat_program
from schedgap.models.dmlrs.utility_scaling import ENGINE_TOLERANCE
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.search_state import SearchState

Symmetry = Annotated[bool, "break the symmetry of equal machines and of equal jobs"]


def _refused(
    state: SearchState, size: int, limit: int, unit: str = "columns"
) -> MethodResult | None:
    """Return the result if bounds close the gap, or if the program is too large; else None."""
    if state.closed:
        return state.outcome()
    if size > limit:
        return state.outcome(f"too large: {size} {unit} > max_columns={limit}")
    return None


def milp_machine(
    instance: DmlrsInstance,
    call: RunContext,
    *,
    symmetry: Symmetry = True,
    cuts: Annotated[bool, "add valid inequalities that tighten the relaxation"] = True,
    max_columns: MaxColumns = 100_000,
) -> MethodResult:
    """Solve the printed program."""
    state = initial_state(instance, call)
    if refused := _refused(state, printed.size(instance), max_columns):
        return refused
    call.progress.phase("building the program")
    model = printed.build(instance, symmetry=symmetry, cuts=cuts)
    state.solve(
        model,
        lambda values: printed.read(model, instance),
        real=lambda bound: -attained(instance, bound + ENGINE_TOLERANCE),
    )
    return state.outcome()


def cp_sat(
    instance: DmlrsInstance,
    call: RunContext,
    *,
    symmetry: Symmetry = True,
    max_columns: MaxColumns = 100_000,
) -> MethodResult:
    """Solve the CP-SAT model."""
    state = initial_state(instance, call)
    if refused := _refused(state, cp_sat_program.size(instance), max_columns, "variables"):
        return refused
    call.progress.phase("building the model")
    program = cp_sat_program.build(instance, symmetry=symmetry)
    state.solve(
        program.model,
        lambda values: cp_sat_program.read(program, instance, values),
        real=lambda bound: -attained(instance, program.bound(bound)),
        grid=1,
    )
    return state.outcome()


def lbbd(
    instance: DmlrsInstance, call: RunContext, *, max_columns: MaxColumns = 100_000
) -> MethodResult:
    """Solve the program with all machines merged, and pack its slots in turn."""
    state = initial_state(instance, call)
    if refused := _refused(state, aggregate.size(instance), max_columns):
        return refused
    logic_based_benders(state, instance)
    return state.outcome()
