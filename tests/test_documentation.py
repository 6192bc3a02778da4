"""Functions of the models say what their parameters are, and sources are cited in one form."""

import ast
import re
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
SOURCE = re.compile(  # authors, "title", where (year)
    r'((?:(?:[A-Z]\. )+[^,.:"]+, )+)"([^"]+)", ([^"]*?\((?:19|20)\d\d\))'
)


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


def _sources(text: str) -> tuple[dict[str, str], str]:
    """Return the works that a list of sources cites, by title, and what else it says."""
    line = " ".join(text.split())
    return {found[2]: found[0] for found in SOURCE.finditer(line)}, SOURCE.sub("", line)


def _lists_of_sources() -> dict[str, str]:
    """Return the lists of sources in docstrings and on pages, by file."""
    lists: dict[str, str] = {}
    for folder in ("models", "solvers", "analysis"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            for found in re.finditer(
                r'^ *References\n *-{10}\n(.*?)"""', file.read_text(encoding="utf-8"), re.M | re.S
            ):
                lists[f"{file.relative_to(ROOT)}:{found.start()}"] = found[1]
    for page in [*(ROOT / "docs/mechanisms").glob("*.md"), ROOT / "docs/proofs.md"]:
        for found in re.finditer(r"^Sources:\n(.*)", page.read_text(encoding="utf-8"), re.M | re.S):
            lists[page.name] = found[1]
    return lists


def test_sources_are_cited_in_one_form() -> None:
    lists = _lists_of_sources()
    assert len(lists) > 100
    forms: dict[str, set[str]] = {}
    for place, text in lists.items():
        works, rest = _sources(text)
        assert not re.search(r"\b(?:19|20)\d\d\b", rest), f"{place}: a source in another form"
        for title, form in works.items():
            forms.setdefault(title, set()).add(form)
    assert {title: form for title, form in forms.items() if len(form) > 1} == {}


def test_a_source_in_another_form_is_found() -> None:
    assert _sources('A. B. One, C. de Two, "A title", A Journal 3 (1961): what of it.') == (
        {"A title": 'A. B. One, C. de Two, "A title", A Journal 3 (1961)'},
        ": what of it.",
    )
    assert _sources("A. B. One. A title. A Journal 3, 1961.")[1].endswith("1961.")
