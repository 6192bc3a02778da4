"""The programs of the family, for engines, files and readers; no schedule narrows them."""

from typing import Annotated

from schedgap.instances.dmlrs import DmlrsInstance, DmlrsSchedule
from schedgap.models.dmlrs import proof
from schedgap.models.dmlrs.bounds import fluid
from schedgap.models.dmlrs.bounds.solve_relaxations import MaxColumns, initial_state
from schedgap.models.dmlrs.bounds.utility_sums import attained
from schedgap.models.dmlrs.exact.logic_based_benders import benders_stage
from schedgap.models.dmlrs.heuristics.search_stages import density
from schedgap.models.dmlrs.programs import printed
from schedgap.models.dmlrs.utility_scaling import ENGINE_TOLERANCE
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.program import BuiltProgram, Known, NotBuiltError, check_size
from schedgap.solvers.programs.arrays import LinearProgram

Built = BuiltProgram[DmlrsSchedule]


def milp_machine(
    instance: DmlrsInstance,
    known: Known[DmlrsSchedule] | None = None,
    *,
    cuts: Annotated[bool, "add valid inequalities that tighten the relaxation"] = True,
    max_columns: MaxColumns | None = 100_000,
) -> Built:
    """Build (3)-(7) as printed."""
    check_size(printed.size(instance), max_columns)
    model = printed.build(instance, cuts=cuts)
    return BuiltProgram(
        model,
        lambda values: printed.read(model, instance),
        lambda bound: -attained(instance, bound + ENGINE_TOLERANCE),
    )


def lbbd(
    instance: DmlrsInstance, call: RunContext, *, max_columns: MaxColumns = 100_000
) -> MethodResult:
    """Look for better schedules than a greedy one, until there are none."""
    state = initial_state(instance, call)
    if state.closed:
        return state.outcome()
    try:
        check_size(proof.size(instance), max_columns)
    except NotBuiltError as error:
        return state.outcome(str(error))
    state.incumbent(density(instance, call).schedule)
    assert state.upper is not None
    if not state.closed:
        call.progress.phase("slots packed in turn")
        master = call.engine or "cp-sat"
        report = benders_stage(state, instance, state.upper, master=master, budget=call.budget)
        state.take("benders", report)
    return state.outcome()


def fluid_lp(instance: DmlrsInstance) -> LinearProgram:
    """Build the fluid program."""
    return fluid.build(instance, names=True).program
