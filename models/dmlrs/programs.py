"""The programs that `schedgap export` writes, by the method that solves them; `sub-` are parts."""

from collections.abc import Callable, Mapping
from typing import Any

from schedgap.instances.dmlrs import DmlrsInstance


def milp_machine(instance: DmlrsInstance) -> Any:
    """Return (3)-(7) by machine."""
    from schedgap.models.dmlrs import program_machine

    return program_machine.build(instance)


def milp_onehot(instance: DmlrsInstance) -> Any:
    """Return (3)-(7) with the number of workers one-hot."""
    from schedgap.models.dmlrs import program_onehot

    return program_onehot.build(instance)


def aggregate(instance: DmlrsInstance) -> Any:
    """Return (3)-(7) with all machines as one, without the cuts of `lbbd`."""
    from schedgap.models.dmlrs import program_aggregate

    return program_aggregate.build(instance)


def fluid_lp(instance: DmlrsInstance) -> Any:
    """Return the compact fluid program."""
    from schedgap.models.dmlrs.bounds import fluid

    return fluid.compact(instance).program


def fluid_lp_disaggregated(instance: DmlrsInstance) -> Any:
    """Return the fluid program by completion slot."""
    from schedgap.models.dmlrs.bounds import fluid

    return fluid.disaggregated(instance).program


def _sub(equation: str) -> Callable[[DmlrsInstance], Any]:
    """Return how to build a subproblem of the last job to arrive."""

    def made(instance: DmlrsInstance) -> Any:
        from schedgap.models.dmlrs.subproblems import of_the_last_job

        return of_the_last_job(instance, equation)

    return made


def dual(instance: DmlrsInstance) -> Any:
    """Return (10), (11) with a row for every schedule."""
    from schedgap.models.dmlrs import program_dual

    return program_dual.build(instance)


PROGRAMS: Mapping[str, Callable[[DmlrsInstance], Any]] = {
    "milp-machine": milp_machine,
    "milp-onehot": milp_onehot,
    "fluid-lp": fluid_lp,
    "fluid-lp-disaggregated": fluid_lp_disaggregated,
    "lbbd": aggregate,
    "dual-10": dual,
    "sub-15": _sub("15"),
    "sub-16": _sub("16"),
    "sub-19": _sub("19"),
    "sub-22": _sub("22"),
    "sub-23": _sub("23"),
    "sub-23-relaxed": _sub("23 relaxed"),
}
