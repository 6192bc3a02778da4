"""Every notebook runs from top to bottom, is stored without outputs, and uses public names."""

import ast
import re
from pathlib import Path

import nbformat
import pytest
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

from schedgap import teach

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "notebooks").glob("*.ipynb"))
PUBLIC = {"schedgap", "schedgap.extend", "schedgap.proof", "schedgap.errors", "schedgap.steps"}
PUBLIC |= {"schedgap.teach"}
PUBLIC |= {f"schedgap.steps.{family}" for family in ("dmlrs", "edge", "elastic", "hare", "ring")}


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(path: Path, kernel: KernelManager) -> None:
    """Without a name of the notebook before it."""
    notebook = nbformat.read(path, as_version=4)
    forget = nbformat.v4.new_code_cell("%reset -f")
    NotebookClient(nbformat.v4.new_notebook(cells=[forget]), km=kernel).execute()
    NotebookClient(notebook, km=kernel, timeout=180).execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code[-1].execution_count
    printed = "\n".join(each.get("text", "") for cell in code for each in cell.outputs)
    assert "Running HiGHS" not in printed and "Set parameter" not in printed
    pages = [each.get("data", {}).get("text/html", "") for cell in code for each in cell.outputs]
    assert sum(PICTURE in page for page in pages) == FIGURES.get(path.stem, 0)
    if path.stem == "solutions":
        assert printed.count(": right") == len(teach.exercises()) and "not yet" not in printed


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    assert notebook.cells
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert not cell.outputs and cell.execution_count is None


LESSONS = [path for path in NOTEBOOKS if path.stem != "solutions"]
LONGEST = 15  # lines of a cell
FIGURES = {  # pictures that a notebook shows, also without scripts
    "00-tour": 2,
    "benchmarking": 3,
    "dmlrs": 3,
    "edge": 3,
    "elastic": 3,
    "formulations": 1,
    "hare": 3,
    "ring": 3,
    "worst-cases": 3,
    "your-own": 1,
}
PICTURE = 'src="data:image/png;base64,'


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_has_goals_predictions_and_exercises(path: Path) -> None:
    cells = nbformat.read(path, as_version=4).cells
    code = [cell.source for cell in cells if cell.cell_type == "code"]
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    assert "**You will learn**" in cells[0].source and "**Predict, then run.**" in text
    assert any(cell.startswith("teach.exercises(") for cell in code)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_cell_fits_on_a_slide(path: Path) -> None:
    cells = nbformat.read(path, as_version=4).cells
    code = [cell.source for cell in cells if cell.cell_type == "code"]
    assert max(cell.count("\n") + 1 for cell in code) <= LONGEST


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_cell_fails_because_a_computer_is_slow(path: Path) -> None:
    """The status depends on time limits; only tests may insist on it."""
    for cell in nbformat.read(path, as_version=4).cells:
        for line in cell.source.split("\n") if cell.cell_type == "code" else ():
            late = line.lstrip().startswith("assert") and ".status" in line
            assert not late, line


def test_the_solutions_solve_every_exercise() -> None:
    """In the order of the list; that each is right is tested in the notebook's run."""
    cells = nbformat.read(NOTEBOOKS[0].parent / "solutions.ipynb", as_version=4).cells
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    solved = re.findall(r'teach\.check\("([\w-]+)"', code)
    assert solved == [row["exercise"] for row in teach.exercises()]


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
