"""The programs of a family: what each one is, how to build it, and what its indices mean."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal

from schedgap.models.method import I, S

if TYPE_CHECKING:  # they load NumPy
    import pyomo.environ as pyo

    from schedgap.solvers.programs.indices import Indices, Key

ProgramKind = Literal["exact", "relaxation", "dual", "subproblem"]


@dataclass(frozen=True, slots=True)
class Program(Generic[I, S]):
    """A mathematical program of a family.

    Attributes
    ----------
    summary : str
        What it is, in one line.
    kind : "exact", "relaxation", "dual" or "subproblem"
        `exact`: its optimum is that of the instance. `relaxation` and `dual`: its optimum bounds
        that of the instance. `subproblem`: a part of an algorithm; bounds nothing.
    equations : str
        The paper's equations; empty for a program of ours.
    build : callable
        From an instance to a Pyomo model or to arrays, in the instance's full time horizon.
    indices : mapping
        Component -> the kinds of its indices, such as "task gpu"; see `Indices`.
    read : callable or None
        From a solved model, as `build` returns it, and the instance to a schedule, or to None where
        the values give none.
    literal : callable or None
        Like `read`, but the starts, ends and counts are those of the values, whether or not they
        obey the rules; None where `read` returns them.
    narrow : callable or None
        Like `build`, in the time windows that the schedule of a heuristic leaves open.
    symmetry : tuple of str
        Components that only exclude all but one of several equal schedules.
    unit : callable
        From an instance to the value, in units of its objective, of one unit of the program's.
    also : tuple of str
        Further names.
    """

    summary: str
    kind: ProgramKind
    build: Callable[[I], Any]
    equations: str = ""
    indices: Mapping[str, str] = field(default_factory=dict)
    read: "Callable[[pyo.ConcreteModel, I], S | None] | None" = None
    literal: "Callable[[pyo.ConcreteModel, I], S] | None" = None
    narrow: Callable[[I], Any] | None = None
    symmetry: tuple[str, ...] = ()
    unit: Callable[[I], float] = field(default=lambda instance: 1.0)
    also: tuple[str, ...] = ()

    def __call__(self, instance: I) -> Any:
        """Build the program that `schedgap export` writes: in the narrow windows, if it has some.

        Parameters
        ----------
        instance : Instance
            Of the family.
        """
        return (self.narrow or self.build)(instance)

    def index_names(self, names: "Mapping[str, Sequence[Key]]") -> "Indices":
        """Return the indices of the program's components.

        Parameters
        ----------
        names : mapping
            Kind -> names of its members, of an instance.
        """
        from schedgap.solvers.programs.indices import Indices

        return Indices({name: kinds.split() for name, kinds in self.indices.items()}, names)
