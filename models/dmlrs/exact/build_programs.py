"""The programs of the family, for engines, files and readers; no schedule narrows them."""

from typing import Annotated

from schedgap.instances.dmlrs import DmlrsInstance, DmlrsSchedule
from schedgap.models.dmlrs import proof
from schedgap.models.dmlrs.bounds import fluid
from schedgap.models.dmlrs.bounds.solve_relaxations import MaxColumns
from schedgap.models.dmlrs.bounds.utility_sums import attained
from schedgap.models.dmlrs.exact.logic_based_benders import benders_stage
from schedgap.models.dmlrs.heuristics.initial import initial_state
from schedgap.models.dmlrs.programs import cp_sat as cp_sat_program
from schedgap.models.dmlrs.programs import printed
from schedgap.models.dmlrs.utility_scaling import ENGINE_TOLERANCE
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.program import BuiltProgram, Known, NotBuiltError, check_size
from schedgap.solvers.programs.arrays import LinearProgram

Built = BuiltProgram[DmlrsSchedule]
Symmetry = Annotated[bool, "break the symmetry of equal machines and of equal jobs"]


def milp_machine(
    instance: DmlrsInstance,
    known: Known[DmlrsSchedule] | None = None,
    *,
    symmetry: Symmetry = True,
    cuts: Annotated[bool, "add valid inequalities that tighten the relaxation"] = True,
    max_columns: MaxColumns | None = 100_000,
) -> Built:
    """Build (3)-(7) as printed."""
    check_size(printed.size(instance), max_columns)
    model = printed.build(instance, symmetry=symmetry, cuts=cuts)
    return BuiltProgram(
        model,
        lambda values: printed.read(model, instance),
        lambda bound: -attained(instance, bound + ENGINE_TOLERANCE),
    )


def cp_sat(
    instance: DmlrsInstance,
    known: Known[DmlrsSchedule] | None = None,
    *,
    symmetry: Symmetry = True,
    max_columns: MaxColumns = 100_000,
) -> Built:
    """Build the CP-SAT model."""
    check_size(cp_sat_program.size(instance), max_columns, "variables", "max_columns")
    program = cp_sat_program.build(instance, symmetry=symmetry)
    return BuiltProgram(
        program.model,
        lambda values: cp_sat_program.read(program, instance, values),
        lambda bound: -attained(instance, program.bound(bound)),
        grid=1,
    )


def lbbd(
    instance: DmlrsInstance, call: RunContext, *, max_columns: MaxColumns = 100_000
) -> MethodResult:
    """Solve the program with all machines merged, and pack its slots in turn."""
    state = initial_state(instance, call)
    if state.closed:
        return state.outcome()
    try:
        check_size(proof.size(instance), max_columns)
    except NotBuiltError as error:
        return state.outcome(str(error))
    call.progress.phase("slots packed in turn")
    assert state.upper is not None
    report = benders_stage(
        state, instance, state.upper, master=call.engine or "highs", budget=call.budget
    )
    state.take("benders", report)
    return state.outcome()


def fluid_lp(instance: DmlrsInstance) -> LinearProgram:
    """Build the compact fluid program."""
    return fluid.compact(instance, names=True).program


def fluid_lp_disaggregated(instance: DmlrsInstance) -> LinearProgram:
    """Build the fluid program with columns for each completion slot."""
    return fluid.disaggregated(instance, names=True).program
