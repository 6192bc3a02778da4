"""Every public function of the models says what its parameters are."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PLAIN = {
    "self",
    "cls",
    "instance",
    "call",
    "budget",
    "clock",
    "seed",
    "threads",
}  # said once, in models/method.py
FOLDERS = ["dmlrs", "edge", "elastic", "hare", "ring", "mechanisms"]


def _silent(node: ast.Module | ast.ClassDef, place: str) -> list[str]:
    """Return the public functions that have other parameters and no section for them."""
    found = []
    for item in node.body:
        if isinstance(item, ast.ClassDef) and not item.name.startswith("_"):
            found += _silent(item, f"{place}:{item.name}")
        if isinstance(item, ast.FunctionDef) and not item.name.startswith("_"):
            arguments = item.args.posonlyargs + item.args.args + item.args.kwonlyargs
            setter = any(isinstance(made, ast.Attribute) for made in item.decorator_list)
            said = "Parameters\n----------" in (ast.get_docstring(item) or "")
            if {each.arg for each in arguments} - PLAIN and not setter and not said:
                found.append(f"{place}:{item.name}")
    return found


@pytest.mark.parametrize("folder", FOLDERS)
def test_parameters_are_documented(folder: str) -> None:
    files = sorted((ROOT / "models" / folder).rglob("*.py"))
    assert files
    silent = [
        name
        for file in files
        for name in _silent(ast.parse(file.read_text(encoding="utf-8")), file.name)
    ]
    assert not silent


def test_a_function_without_its_parameters_is_found() -> None:
    source = 'def f(x, clock):\n    """Return x."""\n    return x\n'
    assert _silent(ast.parse(source), "a.py") == ["a.py:f"]
