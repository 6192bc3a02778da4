"""The programs as exact methods: each with the engines that can solve it."""

from collections.abc import Callable
from typing import Any

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.models.dmlrs.bounds.utility_sums import attained
from schedgap.models.dmlrs.exact.logic_based_benders import lbbd as logic_based_benders
from schedgap.models.dmlrs.heuristics.initial import initial_state
from schedgap.models.dmlrs.programs import aggregate, one_hot, printed
from schedgap.models.dmlrs.programs import cp_sat as whole_numbers
from schedgap.models.dmlrs.utility_scaling import ENGINE_TOLERANCE
from schedgap.models.method import MethodResult, RunContext


def _solve_pyomo(module: Any) -> Callable[[DmlrsInstance, RunContext], MethodResult]:
    """Return the method that solves the program of a module."""

    def run(instance: DmlrsInstance, call: RunContext) -> MethodResult:
        state = initial_state(instance, call)
        if state.closed:
            return state.outcome()
        columns, limit = module.size(instance), call.options["max_columns"]
        if columns > limit:
            return state.outcome(f"too large: {columns} columns > max_columns={limit}")
        call.progress.phase("building the program")
        model = module.build(instance, symmetry=call.options["symmetry"], cuts=call.options["cuts"])
        state.solve(
            model,
            lambda values: module.read(model, instance),
            real=lambda bound: -attained(instance, bound + ENGINE_TOLERANCE),
        )
        return state.outcome()

    return run


milp_machine, milp_onehot = _solve_pyomo(printed), _solve_pyomo(one_hot)


def cp_sat(instance: DmlrsInstance, call: RunContext) -> MethodResult:
    """Solve the CP-SAT model."""
    state = initial_state(instance, call)
    if state.closed:
        return state.outcome()
    columns, limit = whole_numbers.size(instance), call.options["max_columns"]
    if columns > limit:
        return state.outcome(f"too large: {columns} variables > max_columns={limit}")
    call.progress.phase("building the model")
    program = whole_numbers.build(instance, symmetry=call.options["symmetry"])
    state.solve(
        program.model,
        lambda values: whole_numbers.read(program, instance, values),
        real=lambda bound: -attained(instance, program.bound(bound)),
        grid=1,
    )
    return state.outcome()


def lbbd(instance: DmlrsInstance, call: RunContext) -> MethodResult:
    """Solve the program with all machines merged, and pack its slots in turn."""
    state = initial_state(instance, call)
    if state.closed:
        return state.outcome()
    columns, limit = aggregate.size(instance), call.options["max_columns"]
    if columns > limit:
        return state.outcome(f"too large: {columns} columns > max_columns={limit}")
    logic_based_benders(state, instance)
    return state.outcome()
