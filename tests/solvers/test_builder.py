"""Programs built from named blocks: positions, names, sides and entries."""

import numpy as np
import pytest

from schedgap.solvers.programs.builder import ProgramBuilder, columns_matrix


def test_blocks_become_a_program() -> None:
    """min x_1 - y_11 - 2 y_22 with x_2 + y >= 1 for each y, and x_1 + 2 x_1 + y_21 <= 5."""
    builder = ProgramBuilder()
    x = builder.columns("x", 2, cost=[1, 0], upper=[3, np.inf])
    y = builder.columns("y", (2, 2), cost=[[-1, 0], [0, -2]], upper=1, integer=True)
    cover = builder.rows(
        "cover", (2, 2), (range(4), x.positions[1], 1.0), (range(4), y.positions.ravel(), 1),
        lower=1,
    )  # fmt: skip
    limit = builder.rows("limit", 1, (0, [0, y.at(1, 0)], [1.0, 1.0]), upper=5)
    builder.add(limit.at(0), x.at(0), 2.0)
    program = builder.program(offset=7.0, names=True)
    assert (builder.width, builder.height) == (6, 5)
    assert y.positions.tolist() == [[2, 3], [4, 5]]
    assert y.at([0, 1], 1).tolist() == [3, 5]
    assert program.matrix.toarray().tolist() == [
        [0, 1, 1, 0, 0, 0],
        [0, 1, 0, 1, 0, 0],
        [0, 1, 0, 0, 1, 0],
        [0, 1, 0, 0, 0, 1],
        [3, 0, 0, 0, 1, 0],
    ]
    assert program.cost.tolist() == [1, 0, -1, 0, 0, -2]
    assert program.upper.tolist() == [3, np.inf, 1, 1, 1, 1]
    assert program.row_lower.tolist() == [1, 1, 1, 1, -np.inf]
    assert program.row_upper.tolist() == [np.inf] * 4 + [5]
    assert program.integer is not None
    assert program.integer.tolist() == [False] * 2 + [True] * 4
    assert program.offset == 7
    assert program.column_names == ["x[1]", "x[2]", "y[1,1]", "y[1,2]", "y[2,1]", "y[2,2]"]
    assert program.row_names == [f"cover[{i},{j}]" for i in (1, 2) for j in (1, 2)] + ["limit[1]"]
    assert cover.extract(np.arange(5.0)).tolist() == [[0, 1], [2, 3]]
    assert limit.extract(np.arange(5.0)).tolist() == [4]


def test_a_position_outside_its_block_is_refused() -> None:
    y = ProgramBuilder().columns("y", (2, 2))
    with pytest.raises(ValueError, match="invalid entry"):
        y.at(0, 2)


def test_a_program_without_rows_and_columns() -> None:
    program = ProgramBuilder().program()
    assert program.matrix.shape == (0, 0)
    assert program.integer is None


def test_the_matrix_of_columns_adds_equal_entries() -> None:
    matrix = columns_matrix([{0: 1.0, 2: 2.0}, [([0, 0], 1.5), (1, 4)], {}], rows=3)
    assert matrix.toarray().tolist() == [[1, 3, 0], [0, 4, 0], [2, 0, 0]]
