"""Indices of Pyomo models by name, and linear programs as Pyomo models.

Builders count jobs, tasks and machines from 0. `rename_indices` replaces these numbers in a built
model by the names in the instance. For example, `y[0, 2]` becomes `y['j1', 1, 1, 'GPU3']`. Rows,
expressions and values stay the same objects.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from schedgap.solvers.programs.arrays import LinearProgram

if TYPE_CHECKING:
    import pyomo.core as pyo

Key = tuple[Any, ...]
_NAME = re.compile(r"([^\[\]]+)((?:\[[^\[\]]*\])*)")


@dataclass(frozen=True, slots=True)
class Indices:
    """What the indices of a model's components stand for.

    `kinds`: map from a component to the kind of each of its indices, such as `("task", "gpu")`.
    Components that are not in it keep their indices. `names`: map from a kind to names of its
    members [k], each a tuple of one or more parts. A kind without names, such as a time slot, stays
    a number. The kind `job#` has the names of `job`, counted from 1.
    """

    kinds: Mapping[str, Sequence[str]]
    names: Mapping[str, Sequence[Key]]

    def key(self, component: str, index: Any) -> Any:
        """Return the named index that stands for an index of a component.

        `index`: index as the builder counts it.
        """
        return self.renamer(component)(index)

    def renamer(self, component: str) -> Callable[[Any], Any]:
        """Return the function from an index of a component to the named one."""
        if component not in self.kinds:
            return lambda index: index
        kinds = self.kinds[component]
        tables = [_table(kind, self.names.get(kind.removesuffix("#"))) for kind in kinds]
        if len(tables) == 1:
            table = tables[0]
            return lambda index: _single(table.get(index, (index,)))

        def rename(index: Any) -> Any:
            named: Key = ()
            for table, k in zip(tables, index, strict=True):
                named += table.get(k, (k,))
            return named

        return rename


def _table(kind: str, names: Sequence[Key] | None) -> dict[Any, Key]:
    """Return the names of a kind by number; none where it has no names."""
    return {} if names is None else dict(enumerate(names, kind.endswith("#")))


def _single(name: Key) -> Any:
    return name[0] if len(name) == 1 else name


def rename_indices(model: "pyo.ConcreteModel", indices: Indices) -> None:
    """Replace the indices of a model's components by names, in place.

    Each kind of index that occurs gets a named set, such as `model.TASK` or `model.GPU`. Rows,
    expressions and values are not touched.

    `model`: as a builder returns it, with numbers as indices. `indices`: what they stand for.

    Notes
    -----
    Pyomo has no public way to rename an index. So this function sets the dictionary of a component,
    the index of its members, and its index set. The version of Pyomo is pinned in `pyproject.toml`.
    """
    import pyomo.core as pyo

    own_sets = {component.local_name for component in model.component_objects(pyo.Set)}
    for name in own_sets & set(indices.kinds):
        old = getattr(model, name)
        members = [*map(indices.renamer(name), old)]
        doc = old.doc
        model.del_component(old)
        model.add_component(name, pyo.Set(initialize=members, dimen=_dimension(members), doc=doc))
    used = {kind.removesuffix("#") for kinds in indices.kinds.values() for kind in kinds}
    for kind in sorted(used & set(indices.names)):
        members = [_single(part) for part in indices.names[kind]]
        name = kind.upper()
        if model.component(name) is None:
            of_kind = pyo.Set(initialize=members, dimen=_dimension(members), doc=f"each {kind}")
            model.add_component(name, of_kind)
    for name in indices.kinds:
        component = model.component(name)
        if component is None or name in own_sets or not component.is_indexed():
            continue
        rename = indices.renamer(name)
        keys = {index: rename(index) for index in component.index_set()}
        index_set = pyo.SetOf(list(keys.values()), name=" * ".join(indices.kinds[name]))
        data = {}
        for index, item in component._data.items():
            key = item._index = keys[index]
            data[key] = item
        component._data = data
        component._index_set = index_set
        component._anonymous_sets = None


def _dimension(members: Sequence[Any]) -> int | None:
    """Return the number of parts of each member of a set; None where there is none."""
    if not members:
        return None
    return len(members[0]) if isinstance(members[0], tuple) else 1


def as_model(
    program: LinearProgram,
    name: str,
    *,
    sense: Literal["min", "max"] = "min",
    unit: float = 1.0,
) -> "pyo.ConcreteModel":
    """Return a linear program as a Pyomo model, with a component for each block of names.

    The columns, in their order, are `model.columns`. `u[0,1]` and `u[0,2]` become the variable `u`
    with these two indices; `eq_8[0][3]` becomes the row `eq_8[0, 3]`.

    `program`: with or without names. `sense`: of the model; a program to be maximised is minus the
    one that is minimised. `unit`: factor of the objective, > 0.
    """
    import pyomo.core as pyo

    model = pyo.ConcreteModel(name=name)
    rows, width = program.matrix.shape
    integer = program.integer if program.integer is not None else [False] * width
    lower, upper = program.lower.tolist(), program.upper.tolist()
    columns: list[Any] = [None] * width
    for block, places in _blocks(program.column_names, "x", width).items():
        variable = pyo.Var(list(places), domain=pyo.Reals)
        model.add_component(block, variable)
        for key, j in places.items():
            column = columns[j] = variable[key]
            if integer[j]:
                column.domain = pyo.Binary if upper[j] <= 1 <= 1 + lower[j] else pyo.Integers
            column.setlb(lower[j] if lower[j] > -float("inf") else None)
            column.setub(upper[j] if upper[j] < float("inf") else None)
    model.columns = columns
    factor = unit if sense == "min" else -unit
    cost = (factor * program.cost).tolist()
    model.objective = pyo.Objective(
        expr=pyo.quicksum(c * x for c, x in zip(cost, columns, strict=True) if c)
        + factor * program.offset,
        sense=pyo.minimize if sense == "min" else pyo.maximize,
    )
    for block, places in _blocks(program.row_names, "row", rows).items():
        model.add_component(
            block,
            pyo.Constraint(
                list(places),
                rule=lambda model, *at, places=places: _row(
                    program, places[at if len(at) > 1 else at[0]], columns
                ),
            ),
        )
    return model


def _blocks(names: Iterable[str] | None, prefix: str, count: int) -> dict[str, dict[Any, int]]:
    """Return for each block of columns or rows the place of each of its indices."""
    blocks: dict[str, dict[Any, int]] = {}
    for place, name in enumerate(names if names is not None else (prefix,) * count):
        match = _NAME.fullmatch(name)
        block, brackets = match.groups() if match else (name, "")
        parts = tuple(
            int(part) if part.lstrip("-").isdigit() else part
            for part in re.split(r"[\[\],]+", brackets)
            if part
        )
        own = blocks.setdefault(re.sub(r"\W+", "_", block), {})
        if not parts or parts in own or (len(parts) == 1 and parts[0] in own):
            parts = (len(own) + 1,)
        own[parts if len(parts) > 1 else parts[0]] = place
    return blocks


def _row(program: LinearProgram, i: int, columns: Sequence[Any]) -> Any:
    """Return row i with its finite sides."""
    import pyomo.core as pyo

    matrix, inf = program.matrix, float("inf")
    entries = slice(matrix.indptr[i], matrix.indptr[i + 1])
    pairs = zip(matrix.indices[entries].tolist(), matrix.data[entries].tolist(), strict=True)
    low, high = float(program.row_lower[i]), float(program.row_upper[i])
    body = pyo.quicksum(value * columns[j] for j, value in pairs)
    if entries.start == entries.stop:
        return pyo.Constraint.Feasible if low <= 0 <= high else pyo.Constraint.Infeasible
    if low == high:
        return body == low
    if low == -inf and high == inf:
        return pyo.Constraint.Skip
    return (low if low > -inf else None, body, high if high < inf else None)
