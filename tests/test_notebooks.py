"""Every notebook runs from top to bottom, is stored without outputs, and uses public names."""

import ast
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "notebooks").glob("*.ipynb"))
PUBLIC = {"schedgap", "schedgap.extend", "schedgap.proof", "schedgap.errors", "schedgap.steps"}
PUBLIC |= {"schedgap.teach"}
PUBLIC |= {f"schedgap.steps.{family}" for family in ("dmlrs", "edge", "elastic", "hare", "ring")}


@pytest.fixture(scope="module")
def kernel() -> Iterator[KernelManager]:
    """One kernel for all notebooks of a worker: it loads libraries and starts engines once."""
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel()
    yield manager
    manager.shutdown_kernel(now=True)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(path: Path, kernel: KernelManager) -> None:
    """Without a name of the notebook before it."""
    notebook = nbformat.read(path, as_version=4)
    forget = nbformat.v4.new_code_cell("%reset -f")
    NotebookClient(nbformat.v4.new_notebook(cells=[forget]), km=kernel).execute()
    NotebookClient(notebook, km=kernel, timeout=180).execute()
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
def test_a_notebook_uses_public_names(path: Path) -> None:
    cells = nbformat.read(path, as_version=4).cells
    code = [cell.source for cell in cells if cell.cell_type == "code"]
    ours = {name for text in code for name in imported(text) if name.startswith("schedgap")}
    assert "schedgap" in ours
    assert ours <= PUBLIC
