"""The programs of the families as Pyomo models: to read, to change, and to compare."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from schedgap.errors import FamilyError, SchedgapError, UsageError, choices
from schedgap.instances.arguments import a_flag, a_text, an_instance, checked
from schedgap.instances.instance import Instance
from schedgap.models.family import Family, family
from schedgap.models.program import BuiltProgram

if TYPE_CHECKING:
    import pyomo.core as pyo

    from schedgap.solvers.programs.arrays import LinearProgram

ORIGIN = "_schedgap_origin"  # attribute of a model


@dataclass(frozen=True, slots=True)
class Origin:
    """Which program of which instance a model was, when `model` returned it."""

    family: str
    program: str
    instance: str
    sha256: str
    relax: bool
    narrow: bool
    symmetry: bool

    @property
    def is_relaxed(self) -> bool:
        """Whether the values of the model are no schedule."""
        return self.relax or family(self.family).programs[self.program].kind != "exact"


def program_name(owner: Family, name: str) -> str:
    """Return the name of a program under which the family lists it.

    `name`: the name, one of the program's further names, or an alias of the method that solves it.

    Raises
    ------
    UsageError
        If there is no such program.
    """
    programs = owner.programs
    if name in programs:
        return name
    further = {other: key for key, program in programs.items() for other in program.also}
    further |= {alias: key for alias, key in owner.aliases.items() if key in programs}
    if name in further:
        return further[name]
    known = [*programs, *further]
    raise UsageError(f"family {owner.name} has no program '{name}': {choices(name, known)}")


@checked(instance=an_instance, name=a_text, relax=a_flag, narrow=a_flag, symmetry=a_flag)
def model(
    instance: Instance,
    name: str = "paper",
    *,
    relax: bool = False,
    narrow: bool = False,
    symmetry: bool = False,
) -> "pyo.ConcreteModel":
    """Return a program of an instance as a Pyomo model, whose indices are names of the instance.

    The rows have the numbers of the paper's equations: `model.eq_7.pprint()`. The model may be
    changed and then given to `solve`, or to any solver that Pyomo supports.

    Parameters
    ----------
    instance : Instance
        Source of the data of the program.
    name : str
        A program as listed by `models(family)`. "paper" is the paper's program. Some families also
        have "dual", the dual of the program, and "rounded", the relaxation that the paper's
        algorithm rounds.
    relax : bool
        Whether to make all variables continuous: the linear relaxation, if the rows are linear.
    narrow : bool
        Whether jobs may run only in the time windows that the schedule of a heuristic leaves open.
        The program is then smaller and has the same optimum, but a constraint of your own may
        exclude every schedule in these windows.
    symmetry : bool
        Whether rows that only remove symmetric solutions are active. They speed up the search, but
        may contradict constraints of your own.

    Raises
    ------
    UsageError
        If there is no such program, or the instance is too large for it.

    Notes
    -----
    Each kind of index has a set, such as `model.JOB` and `model.TASK`; slots and numbers count as
    in schedules. `models(family)` and docs/programs.md say more.

    Examples
    --------
    >>> import schedgap as sg
    >>> toy = sg.generate("hare", preset="toy")
    >>> program = sg.model(toy, "paper")
    >>> str(program.eq_5["J1", 1, 2].expr)[:42]
    'y[J1,1,2,GPU1] + y[J1,1,2,GPU2] + y[J1,1,2'
    """
    import pyomo.environ  # noqa: F401 - registers the solvers and writers that the caller may use

    owner = family(instance.family)
    key = program_name(owner, name)
    built = build(instance, key, narrow=narrow)
    program = owner.programs[key]
    for symmetric in () if symmetry else program.symmetry:
        if built.component(symmetric) is not None:
            built.component(symmetric).deactivate()
    from schedgap.solvers.programs.indices import rename_indices

    rename_indices(built, program.index_names(owner.index_names(instance)))
    if relax:
        relax_integers(built)
    built.name = f"{key} of {instance.name}{', relaxed' if relax else ''}"
    origin = Origin(owner.name, key, instance.name, instance.sha256, relax, narrow, symmetry)
    setattr(built, ORIGIN, origin)
    return built


def build(instance: Instance, key: str, *, narrow: bool = False) -> "pyo.ConcreteModel":
    """Return a program as a Pyomo model, with indices as its builder counts them.

    `narrow`: as for `model`.
    """
    return as_pyomo(instance, key, build_program(instance, key, narrow=narrow).model)


def as_pyomo(
    instance: Instance, key: str, built: "LinearProgram | pyo.ConcreteModel"
) -> "pyo.ConcreteModel":
    """Return what the builder of a program has built as a Pyomo model."""
    from schedgap.solvers.programs.arrays import LinearProgram
    from schedgap.solvers.programs.indices import as_model

    if not isinstance(built, LinearProgram):
        return built
    owner = family(instance.family)
    unit = owner.programs[key].unit(instance)
    return as_model(built, key, sense=owner.sense(instance), unit=unit)


def build_program(instance: Instance, key: str, *, narrow: bool = False) -> BuiltProgram:
    """Build a program; FamilyError unless it is a Pyomo model or arrays.

    `narrow`: as for `model`.
    """
    import pyomo.core as pyo

    from schedgap.solvers.programs.arrays import LinearProgram

    built = family(instance.family).programs[key].built(instance, narrow=narrow)
    if not isinstance(built.model, LinearProgram | pyo.ConcreteModel):
        what = type(built.model).__name__
        what = f"returned {what}, need a Pyomo ConcreteModel or a LinearProgram"
        raise FamilyError(f"family {instance.family}: program {key}: {what}")
    return built


def relax_integers(built: "pyo.ConcreteModel") -> None:
    """Make all variables of a model continuous, in place; bounds stay."""
    import pyomo.environ as pyo  # registers the transformation

    if any(not variable.is_continuous() for variable in built.component_data_objects(pyo.Var)):
        pyo.TransformationFactory("core.relax_integer_vars").apply_to(built)


def program_sizes(instance: Instance, key: str) -> dict[str, Any]:
    """Return rows, columns, integer columns and nonzeros of a program, or why there are none."""
    from schedgap.solvers.programs.pyomo import InfeasibleModelError, compile_model

    none = {"rows": None, "columns": None, "integers": None, "nonzeros": None}
    try:
        arrays = compile_model(model(instance, key), quadratic=True)
    except SchedgapError as error:
        return none | {"note": str(error)}
    except InfeasibleModelError:
        return none | {"note": "infeasible: a row without variables is violated"}
    program = arrays.program
    quadratic = len(arrays.quadratics) + (arrays.square is not None)
    return {
        "rows": program.matrix.shape[0] + len(arrays.quadratics),
        "columns": program.matrix.shape[1],
        "integers": 0 if program.integer is None else int(program.integer.sum()),
        "nonzeros": int(program.matrix.nnz)
        + sum(len(row.columns) + len(row.first) for row in arrays.quadratics),
        "note": "quadratic" if quadratic else "",
    }


def exported(
    instance: Instance, name: str, *, relax: bool = False
) -> "LinearProgram | pyo.ConcreteModel":
    """Return the program that `schedgap export` writes: in the narrow time windows, where it has.

    `name`: as for `model`. `relax`: whether to make all columns continuous.
    """
    from schedgap.solvers.programs.arrays import LinearProgram
    from schedgap.solvers.programs.indices import rename_indices

    owner = family(instance.family)
    key = program_name(owner, name)
    built: LinearProgram | pyo.ConcreteModel = build_program(instance, key, narrow=True).model
    if isinstance(built, LinearProgram):
        return replace(built, integer=None) if relax else built
    rename_indices(built, owner.programs[key].index_names(owner.index_names(instance)))
    if relax:
        relax_integers(built)
    return built
