"""Every notebook runs from top to bottom, is stored without outputs, and uses public names."""

import ast
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "notebooks").glob("*.ipynb"))
PUBLIC = {"schedgap", "schedgap.extend", "schedgap.proof", "schedgap.errors"}
LESSONS = {  # what a lesson looks inside of: modules whose steps it shows one by one
    "dmlrs": {
        "schedgap.instances.dmlrs",
        "schedgap.models.dmlrs.algorithms",
        "schedgap.models.dmlrs.algorithms.best_schedule",
        "schedgap.models.dmlrs.algorithms.guarantees",
        "schedgap.models.dmlrs.algorithms.pd_ors",
        "schedgap.models.dmlrs.algorithms.prices",
        "schedgap.models.dmlrs.slot_options",
    },
    "edge": {"schedgap.models.edge.modes"},
    "elastic": {
        "schedgap.models.elastic.algorithms.a_maxweight",
        "schedgap.models.elastic.algorithms.pricing",
        "schedgap.models.elastic.algorithms.subroutines",
        "schedgap.models.elastic.algorithms.theorem_1",
        "schedgap.models.elastic.modes",
        "schedgap.models.elastic.placement",
    },
    "ring": {
        "schedgap.models.mechanisms.knapsack",
        "schedgap.models.ring.algorithms.sjf_bco",
        "schedgap.models.ring.bounds.pattern_lp",
        "schedgap.models.ring.rates",
        "schedgap.models.ring.simulator",
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=180, kernel_name="python3").execute()
    last = [cell for cell in notebook.cells if cell.cell_type == "code"][-1]
    assert last.execution_count


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    assert notebook.cells
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert not cell.outputs and cell.execution_count is None


def imported(code: str) -> set[str]:
    """Return the modules that a cell imports."""
    nodes = list(ast.walk(ast.parse(code)))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return names | {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_uses_public_names_except_where_it_takes_an_algorithm_apart(path: Path) -> None:
    cells = nbformat.read(path, as_version=4).cells
    code = [cell.source for cell in cells if cell.cell_type == "code"]
    ours = {name for text in code for name in imported(text) if name.startswith("schedgap")}
    assert "schedgap" in ours
    assert ours - PUBLIC == LESSONS.get(path.stem, set())
