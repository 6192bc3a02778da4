"""The programs as exact methods: each is joined to the engines that can solve it."""

from collections.abc import Callable
from typing import Any

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.models.dmlrs.bounds.utility_sums import attained
from schedgap.models.dmlrs.exact.logic_based_benders import lbbd as by_turns
from schedgap.models.dmlrs.heuristics.initial import first_bracket
from schedgap.models.dmlrs.programs import aggregate, one_hot, printed
from schedgap.models.dmlrs.programs import cp_sat as whole_numbers
from schedgap.models.dmlrs.utility_units import WORD
from schedgap.models.method import MethodResult, RunContext


def _pyomo(module: Any) -> Callable[[DmlrsInstance, RunContext], MethodResult]:
    """Return the method that solves the program of a module."""

    def run(instance: DmlrsInstance, call: RunContext) -> MethodResult:
        found = first_bracket(instance, call)
        if found.closed:
            return found.outcome()
        columns, most = module.size(instance), call.options["max_columns"]
        if columns > most:
            return found.outcome(f"too large: {columns} columns > max_columns={most}")
        call.progress.phase("building the program")
        model = module.build(instance, symmetry=call.options["symmetry"], cuts=call.options["cuts"])
        found.solve(
            model,
            lambda values: module.read(model, instance),
            real=lambda bound: -attained(instance, bound + WORD),
        )
        return found.outcome()

    return run


milp_machine, milp_onehot = _pyomo(printed), _pyomo(one_hot)


def cp_sat(instance: DmlrsInstance, call: RunContext) -> MethodResult:
    """Solve the model in whole numbers."""
    found = first_bracket(instance, call)
    if found.closed:
        return found.outcome()
    columns, most = whole_numbers.size(instance), call.options["max_columns"]
    if columns > most:
        return found.outcome(f"too large: {columns} variables > max_columns={most}")
    call.progress.phase("building the model")
    program = whole_numbers.build(instance, symmetry=call.options["symmetry"])
    found.solve(
        program.model,
        lambda values: whole_numbers.read(program, instance, values),
        real=lambda bound: -attained(instance, program.bound(bound)),
        grid=1,
    )
    return found.outcome()


def lbbd(instance: DmlrsInstance, call: RunContext) -> MethodResult:
    """Solve with all machines as one, and pack the slots in turn."""
    found = first_bracket(instance, call)
    if found.closed:
        return found.outcome()
    columns, most = aggregate.size(instance), call.options["max_columns"]
    if columns > most:
        return found.outcome(f"too large: {columns} columns > max_columns={most}")
    by_turns(found, instance)
    return found.outcome()
