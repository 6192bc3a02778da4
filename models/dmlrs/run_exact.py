"""The exact methods: each joins one program to the engines that can solve it."""

from collections.abc import Callable
from typing import Any

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.models.dmlrs import program_aggregate, program_cp_sat, program_machine, program_onehot
from schedgap.models.dmlrs.exact.lbbd import lbbd as by_turns
from schedgap.models.dmlrs.exact.pattern_fix import exact
from schedgap.models.dmlrs.heuristics.starting import first_bracket
from schedgap.models.dmlrs.units import WORD, attained, in_units
from schedgap.models.method import Call, Method, Option, Outcome

MAX_COLUMNS = Option(
    "max_columns", "int", 100_000, "give up when the program has more columns", least=1
)
SYMMETRY = Option("symmetry", "bool", True, "put equal machines, and equal jobs, in order")
CUTS = Option("cuts", "bool", True, "add rows that only tighten the relaxation")


def _pyomo(module: Any) -> Callable[[DmlrsInstance, Call], Outcome]:
    def run(instance: DmlrsInstance, call: Call) -> Outcome:
        found = first_bracket(instance, call)
        if found.closed:
            return found.outcome()
        columns, most = module.columns(instance), call.options["max_columns"]
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


def cp_sat(instance: DmlrsInstance, call: Call) -> Outcome:
    """Solve the model in whole numbers."""
    found = first_bracket(instance, call)
    if found.closed:
        return found.outcome()
    columns, most = program_cp_sat.columns(instance), call.options["max_columns"]
    if columns > most:
        return found.outcome(f"too large: {columns} variables > max_columns={most}")
    call.progress.phase("building the model")
    program = program_cp_sat.build(instance, symmetry=call.options["symmetry"])
    found.solve(
        program.model,
        lambda values: program_cp_sat.read(program, values, instance),
        real=lambda bound: -attained(instance, program.bound(bound)),
        grid=1,
    )
    return found.outcome()


def lbbd(instance: DmlrsInstance, call: Call) -> Outcome:
    """Solve with all machines as one, and pack the slots in turn."""
    found = first_bracket(instance, call)
    if found.closed:
        return found.outcome()
    columns, most = program_aggregate.columns(instance), call.options["max_columns"]
    if columns > most:
        return found.outcome(f"too large: {columns} columns > max_columns={most}")
    by_turns(found, instance)
    return found.outcome()


_MIP = ("highs", "gurobi")

METHODS: tuple[Method, ...] = (
    Method(
        "pattern-fix",
        "exact",
        in_units(exact, again=True),
        "rents by patterns of machines; a program over the little that they leave",
        "(2)-(7)",
        ours=True,
        engines=("highs",),
        options=(MAX_COLUMNS,),
        seeded=True,
    ),
    Method(
        "milp-onehot",
        "exact",
        in_units(_pyomo(program_onehot), again=True),
        "the number of workers as one choice: no big M",
        "(2)-(7)",
        ours=True,
        engines=_MIP,
        options=(SYMMETRY, CUTS, MAX_COLUMNS),
        seeded=True,
    ),
    Method(
        "milp-machine",
        "exact",
        in_units(_pyomo(program_machine), again=True),
        "the paper's program made linear, by machine",
        "(2)-(7)",
        engines=_MIP,
        options=(SYMMETRY, CUTS, MAX_COLUMNS),
        seeded=True,
    ),
    Method(
        "cp-sat",
        "exact",
        in_units(cp_sat, again=True),
        "whole numbers throughout: (2), (3) and (5) without tolerance",
        "(2)-(7)",
        ours=True,
        engines=("cp-sat",),
        options=(SYMMETRY, MAX_COLUMNS),
        seeded=True,
        refuses=program_cp_sat.too_large,
    ),
    Method(
        "lbbd",
        "exact",
        in_units(lbbd, again=True),
        "all machines as one, slots packed in turn; what fits in none is cut off",
        "(2)-(7)",
        ours=True,
        engines=_MIP,
        options=(MAX_COLUMNS,),
        seeded=True,
    ),
)
