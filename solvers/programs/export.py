"""Write a program, with its names, as an LP or MPS file."""

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from schedgap.errors import UsageError
from schedgap.solvers.programs.arrays import LinearProgram
from schedgap.solvers.programs.pyomo import PyomoArrays, Quadratic, compile_model

if TYPE_CHECKING:
    import pyomo.core as pyo

_ONE = "ONE"  # a column fixed at 1, because solvers read a constant in the objective differently


def write_model(program: "LinearProgram | pyo.ConcreteModel", file: Path | str) -> None:
    """Write a program as a file; its suffix determines the format.

    `program`: quadratic Pyomo models can be written in the LP format only. `file`: `*.lp` (the
    format of CPLEX) or `*.mps` (free form).

    Raises
    ------
    UsageError
        For another suffix, a quadratic program as MPS, or a model of higher degree.

    Notes
    -----
    Names are kept, except for characters that the formats do not allow: `eq_5[1,a]` becomes
    `eq_5(1,a)`. In LP files, a row with two finite sides becomes the rows `<name>.low` and
    `<name>.high`. No engine is needed.
    """
    path = Path(file)
    if isinstance(program, LinearProgram):
        arrays = PyomoArrays(None, program, (), (), "min")
        named = program
    else:
        arrays = compile_model(program, quadratic=True)
        named = arrays.named()
    rows = _names(named.row_names, "row", named.matrix.shape[0])
    columns = _names(named.column_names, "x", named.matrix.shape[1])
    if path.suffix == ".lp":
        lines = _lp(arrays, rows, columns)
    elif path.suffix != ".mps":
        raise UsageError(f"{path}: the name must end in .lp or .mps")
    elif arrays.quadratics or arrays.square:
        raise UsageError(f"{path}: a quadratic program can be written as .lp only")
    else:
        lines = _mps(arrays, rows, columns)
    path.write_text("".join(line + "\n" for line in lines), encoding="ascii")


def _names(names: Sequence[str] | None, prefix: str, count: int) -> list[str]:
    """Return distinct names that both formats allow."""
    if names is None:
        return [f"{prefix}{k}" for k in range(count)]
    table = {ord("["): "(", ord("]"): ")", ord(" "): "_"}
    seen: set[str] = {_ONE}
    unique_names = []
    for name in names:
        plain = "".join(
            c if (c.isascii() and c.isalnum()) or c in "_(),." else "_"
            for c in name.translate(table)
        )
        if not plain or not (plain[0].isalpha() or plain[0] == "_"):
            plain = "_" + plain
        unique, k = plain, 2
        while unique in seen:
            unique, k = f"{plain}_{k}", k + 1
        seen.add(unique)
        unique_names.append(unique)
    return unique_names


def _lp(arrays: PyomoArrays, rows: list[str], columns: list[str]) -> Iterator[str]:
    """Yield the lines of an LP file."""
    program, sign = arrays.program, arrays.in_model_sense(1.0)
    terms = [(sign * c, name) for c, name in zip(program.cost.tolist(), columns, strict=True) if c]
    square: list[str] = []
    if arrays.square is not None:
        terms += _linear(arrays.square, columns, sign)
        # In the LP format, the quadratic part of the objective is divided by 2.
        square = _square(arrays.square, columns, 2 * sign, " / 2")
    if program.offset:
        terms.append((sign * program.offset, _ONE))
    yield "Maximize" if arrays.sense == "max" else "Minimize"
    yield from _sum(" obj:", terms, square, columns)
    yield "Subject To"
    matrix = program.matrix
    for i, name in enumerate(rows):
        entries = slice(matrix.indptr[i], matrix.indptr[i + 1])
        pairs = zip(matrix.data[entries].tolist(), matrix.indices[entries].tolist(), strict=True)
        terms = [(value, columns[j]) for value, j in pairs]
        low, high = float(program.row_lower[i]), float(program.row_upper[i])
        yield from _lp_row(name, terms, [], low, high, columns)
    for row in arrays.quadratics:
        name = _names([row.name], "", 1)[0]
        terms, square = _linear(row, columns), _square(row, columns)
        yield from _lp_row(name, terms, square, row.lower, row.upper, columns)
    yield "Bounds"
    if program.offset:
        yield f" {_ONE} = 1"
    for name, low, high in _column_bounds(program, columns):
        if low == high:
            yield f" {name} = {_number(low)}"
        elif math.isinf(low) and math.isinf(high):
            yield f" {name} free"
        else:
            yield f" {_number(low)} <= {name} <= {_number(high)}"
    integer = _integer_columns(program, columns)
    if integer:
        yield "Generals"
        yield from (f" {name}" for name in integer)
    yield "End"


def _lp_row(
    name: str,
    terms: list[tuple[float, str]],
    square: list[str],
    low: float,
    high: float,
    columns: list[str],
) -> Iterator[str]:
    """Yield a row, or two rows if both sides are finite and differ."""
    sides = [("", "=", low)] if low == high else [(".low", ">=", low), (".high", "<=", high)]
    finite = [side for side in sides if not math.isinf(side[2])]
    for suffix, relation, value in finite:
        label = name + (suffix if len(finite) > 1 else "")
        yield from _sum(f" {label}:", terms, square, columns)
        yield f"  {relation} {_number(value)}"


def _sum(
    head: str, terms: list[tuple[float, str]], square: list[str], columns: list[str]
) -> Iterator[str]:
    """Yield the lines of a sum, four terms per line; an empty sum gets a zero term."""
    if not terms and not square:
        terms = [(0.0, columns[0] if columns else _ONE)]
    words = [f"{'-' if value < 0 else '+'} {_number(abs(value))} {name}" for value, name in terms]
    words += square
    for k in range(0, len(words), 4):
        yield (head if k == 0 else "  ") + " " + " ".join(words[k : k + 4])


def _linear(row: Quadratic, columns: list[str], sign: float = 1.0) -> list[tuple[float, str]]:
    return [(sign * v, columns[j]) for v, j in zip(row.linear, row.columns, strict=True)]


def _square(row: Quadratic, columns: list[str], sign: float = 1.0, end: str = "") -> list[str]:
    """Return the bracket with the quadratic terms."""
    words = []
    for value, j, k in zip(row.coefficient, row.first, row.second, strict=True):
        product = f"{columns[j]} ^ 2" if j == k else f"{columns[j]} * {columns[k]}"
        words.append(f"{'-' if sign * value < 0 else '+'} {_number(abs(sign * value))} {product}")
    return ["+ [", *words, "]" + end]


def _mps(arrays: PyomoArrays, rows: list[str], columns: list[str]) -> Iterator[str]:
    """Yield the lines of a free MPS file."""
    program, sign = arrays.program, arrays.in_model_sense(1.0)
    kinds = [_mps_kind(low, high) for low, high in _sides(program)]
    yield "NAME schedgap"
    if arrays.sense == "max":
        yield from ("OBJSENSE", "    MAX")
    yield from ("ROWS", " N obj")
    yield from (f" {kind} {name}" for kind, name in zip(kinds, rows, strict=True))
    yield "COLUMNS"
    by_column = program.matrix.tocsc()
    integer = [False] * len(columns) if program.integer is None else program.integer.tolist()
    inside = False
    for j, name in enumerate(columns):
        if integer[j] != inside:
            inside = integer[j]
            yield f" MARKER 'MARKER' '{'INTORG' if inside else 'INTEND'}'"
        yield f" {name} obj {_number(sign * float(program.cost[j]))}"
        for k in range(by_column.indptr[j], by_column.indptr[j + 1]):
            yield f" {name} {rows[by_column.indices[k]]} {_number(float(by_column.data[k]))}"
    if inside:
        yield " MARKER 'MARKER' 'INTEND'"
    if program.offset:
        yield f" {_ONE} obj {_number(sign * program.offset)}"
    yield "RHS"
    for kind, name, (low, high) in zip(kinds, rows, _sides(program), strict=True):
        if kind != "N":
            yield f" RHS {name} {_number(high if kind == 'L' else low)}"
    yield "RANGES"
    for kind, name, (low, high) in zip(kinds, rows, _sides(program), strict=True):
        if kind == "G" and not math.isinf(high):
            yield f" RANGE {name} {_number(high - low)}"
    yield "BOUNDS"
    if program.offset:
        yield f" FX BOUND {_ONE} 1"
    for name, low, high in _column_bounds(program, columns):
        if low == high:
            yield f" FX BOUND {name} {_number(low)}"
            continue
        yield f" MI BOUND {name}" if math.isinf(low) else f" LO BOUND {name} {_number(low)}"
        yield f" PL BOUND {name}" if math.isinf(high) else f" UP BOUND {name} {_number(high)}"
    yield "ENDATA"


def _mps_kind(low: float, high: float) -> str:
    if low == high:
        return "E"
    if math.isinf(low):
        return "N" if math.isinf(high) else "L"
    return "G"


def _sides(program: LinearProgram) -> list[tuple[float, float]]:
    return list(zip(program.row_lower.tolist(), program.row_upper.tolist(), strict=True))


def _column_bounds(
    program: LinearProgram, columns: list[str]
) -> Iterable[tuple[str, float, float]]:
    lower, upper = program.whole_bounds()
    return zip(columns, lower.tolist(), upper.tolist(), strict=True)


def _integer_columns(program: LinearProgram, columns: list[str]) -> list[str]:
    if program.integer is None:
        return []
    kinds = zip(columns, program.integer.tolist(), strict=True)
    return [name for name, integer in kinds if integer]


def _number(value: float) -> str:
    """Return the shortest text that represents exactly this number."""
    if math.isinf(value):
        return "-inf" if value < 0 else "+inf"
    return repr(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
