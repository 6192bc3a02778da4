"""Rows of superadditive cuts; the functions themselves are tested with the shared mechanisms."""

import numpy as np

from schedgap.models.edge.programs.superadditive_cuts import WorkerEntries, cut_rows


def test_rows_count_what_runs_in_a_slot() -> None:
    """Columns 5 and 7: three workers in slots 0-1, two in slots 1-2, on server 0 of four."""
    one, two = np.array([1, 1]), np.array([0, 0])
    columns = WorkerEntries(np.array([5, 7]), np.array([3, 2]), two, two, np.array([0, 1]), 2 * one)
    wanted = np.ones((1, 1, 3), dtype=bool)
    rows = cut_rows(columns, (0, 1, 2, 2), np.array([[4]]), wanted)
    assert rows.cells[:, 2].tolist() == [0, 1, 2] and rows.upper.tolist() == [2, 2, 2]
    entries = sorted(zip(rows.row.tolist(), rows.column.tolist(), rows.entry.tolist(), strict=True))
    assert entries == [(0, 5, 2), (1, 5, 2), (1, 7, 1), (2, 7, 1)]
