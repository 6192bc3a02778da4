"""The compiled code of `exact`: one kernel for the search, and one for the bound."""

from schedgap.instances.hare import HareInstance
from schedgap.models.hare.bounds.kernel import PLANS
from schedgap.models.hare.heuristics.kernel import KERNEL, LARGE
from schedgap.solvers.search.compiled import Kernels


def kernel(instance: HareInstance) -> Kernels | None:
    """Return the kernels if the instance is worth the compilation."""
    return Kernels((KERNEL, PLANS)) if instance.number_of_tasks >= LARGE else None
