"""The programs that `schedgap export` writes, by the name of the method that solves them."""

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


def fluid_lp(instance: DmlrsInstance) -> Any:
    """Return the compact fluid program."""
    from schedgap.models.dmlrs import fluid

    return fluid.compact(instance).program


def fluid_lp_disaggregated(instance: DmlrsInstance) -> Any:
    """Return the fluid program by completion slot."""
    from schedgap.models.dmlrs import fluid

    return fluid.disaggregated(instance).program


PROGRAMS: Mapping[str, Callable[[DmlrsInstance], Any]] = {
    "milp-machine": milp_machine,
    "milp-onehot": milp_onehot,
    "fluid-lp": fluid_lp,
    "fluid-lp-disaggregated": fluid_lp_disaggregated,
}
