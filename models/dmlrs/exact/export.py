"""Programs with the names of their columns and rows, for `schedgap export` and `schedgap.model`."""

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.models.dmlrs.bounds import fluid
from schedgap.solvers.programs.arrays import LinearProgram


def fluid_lp(instance: DmlrsInstance) -> LinearProgram:
    """Return the compact fluid program."""
    return fluid.compact(instance, names=True).program


def fluid_lp_disaggregated(instance: DmlrsInstance) -> LinearProgram:
    """Return the fluid program with columns for each completion slot."""
    return fluid.disaggregated(instance, names=True).program
