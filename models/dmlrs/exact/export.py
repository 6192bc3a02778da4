"""The programs that `schedgap export` writes, by the name of the method that solves them.

Those named `sub` are subproblems of PD-ORS.
"""

from collections.abc import Callable
from typing import Any

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.models.dmlrs.bounds import fluid
from schedgap.models.dmlrs.programs import aggregate, dual, printed
from schedgap.models.dmlrs.programs.subproblems import of_the_last_job


def milp_machine(instance: DmlrsInstance) -> Any:
    """Return (3)-(7) by machine, as printed."""
    return printed.build(instance)


def lbbd(instance: DmlrsInstance) -> Any:
    """Return (3)-(7) with all machines merged, without the cuts of `lbbd`."""
    return aggregate.build(instance)


def fluid_lp(instance: DmlrsInstance) -> Any:
    """Return the compact fluid program."""
    return fluid.compact(instance).program


def fluid_lp_disaggregated(instance: DmlrsInstance) -> Any:
    """Return the fluid program disaggregated by completion slot."""
    return fluid.disaggregated(instance).program


def dual_10(instance: DmlrsInstance) -> Any:
    """Return (10), (11) with a row for every schedule."""
    return dual.build(instance)


def _sub(equation: str) -> Callable[[DmlrsInstance], Any]:
    """Return the function that builds a subproblem of the last job to arrive."""

    def build(instance: DmlrsInstance) -> Any:
        return of_the_last_job(instance, equation)

    return build


sub_15, sub_16, sub_19 = _sub("15"), _sub("16"), _sub("19")
sub_22, sub_23, sub_23_relaxed = _sub("22"), _sub("23"), _sub("23 relaxed")
