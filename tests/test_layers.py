"""What import contracts cannot say: the rules of a family see instances and errors only."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
RULES = sorted((ROOT / "models").glob("*/rules.py"))
PROOFS = sorted((ROOT / "models").glob("*/proof.py"))


def _imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
    return found


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.parent.name)
def test_rules_import_instances_and_errors_only(path: Path) -> None:
    ours = {name for name in _imported(path) if name.split(".")[0] == "schedgap"}
    assert ours
    for name in ours:
        assert name.startswith(("schedgap.instances", "schedgap.errors")), name


@pytest.mark.parametrize("path", PROOFS, ids=lambda path: path.parent.name)
def test_proofs_import_instances_errors_and_the_checker_only(path: Path) -> None:
    ours = {name for name in _imported(path) if name.split(".")[0] == "schedgap"}
    assert ours
    for name in ours - {
        f"schedgap.solvers.proofs.{own}" for own in ("checker", "cuts", "runs", "bins")
    }:
        assert name.startswith(("schedgap.instances", "schedgap.errors")), name


@pytest.mark.parametrize("path", RULES + PROOFS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_rules_take_no_compiled_view(path: Path) -> None:
    """The view that the models compute with may be wrong; the rules read the file's own numbers."""
    assert not any(name.endswith((".compiled", ".schedule")) for name in _imported(path))


def test_instances_are_read_and_generated_without_the_models() -> None:
    """The contracts do not see names of modules in texts; so this looks at what is loaded."""
    import subprocess
    import sys

    code = (
        "import sys; from schedgap.instances.generate import generate; "
        "from schedgap.instances.families import OWN, load; "
        "from schedgap.instances.mutations import space; "
        "[(load(generate(name, preset='small').to_data()), space(name)) for name in OWN]; "
        "print([m for m in sys.modules if m.startswith('schedgap.models')])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
    for path in sorted((ROOT / "instances").rglob("*.py")):
        assert "schedgap.models.family" not in path.read_text(), path


def test_importing_the_package_loads_no_engine_and_no_compiler() -> None:
    import subprocess
    import sys

    code = (
        "import sys, schedgap, schedgap.models, schedgap.models.hare; "
        "import schedgap.models.elastic.heuristics.lp_guided; "
        "names = 'highspy', 'ortools', 'gurobipy', 'cvxpy', 'numba'; "
        "print([m for m in names if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
    rooms = (ROOT / name for name in ("instances", "solvers", "models", "analysis", "src"))
    compilers = [path.name for room in rooms for path in room.rglob("*.py")
                 if "import numba" in path.read_text()]  # fmt: skip
    assert compilers == ["compiled.py"]
