"""What users call has its parameters described, and sources are cited in one form."""

import ast
import functools
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import schedgap
from schedgap import extend, solvers, teach

ROOT = Path(__file__).resolve().parents[1]
STEPS = ("dmlrs", "edge", "elastic", "hare", "ring")
SECTION = "Parameters\n----------"
SECTIONS = re.compile(r"^(Parameters|Attributes|Returns|Yields)\n-+$", re.MULTILINE)
PLAIN = {"self", "cls", "instance", "call", "budget", "clock", "seed", "threads"}  # said once
SOURCE = re.compile(  # authors, "title", where (year)
    r'((?:(?:[A-Z]\. )+[^,.:"]+, )+)"([^"]+)", ([^"]*?\((?:19|20)\d\d\))'
)


def public() -> dict[tuple[str, str], Any]:
    """Return what users call, and the methods of what they call, by module and qualified name."""
    modules = [schedgap, extend, solvers, teach]
    modules += [importlib.import_module(f"schedgap.steps.{family}") for family in STEPS]
    found: dict[tuple[str, str], Any] = {}
    for module in modules:
        for name in module.__all__:
            for each in _with_methods(getattr(module, name)):
                found[each.__module__, each.__qualname__] = each
    return found


def _with_methods(thing: Any) -> Iterator[Any]:
    """Yield a function, or a class with its bases of ours and their methods."""
    thing = inspect.unwrap(thing.func if isinstance(thing, functools.partial) else thing)
    ours = str(getattr(thing, "__module__", "")).startswith("schedgap")
    if ours and hasattr(thing, "__qualname__"):
        yield thing
    for base in getattr(thing, "__mro__", ()) if inspect.isclass(thing) else ():
        if base.__module__.startswith("schedgap"):
            yield base
            for each in vars(base).values():
                function = getattr(each, "__func__", getattr(each, "fget", each))
                if callable(function) and hasattr(function, "__qualname__"):
                    yield inspect.unwrap(function)


def test_what_users_call_describes_its_parameters() -> None:
    silent = []
    for (module, name), each in public().items():
        if not inspect.isfunction(each) or "." in name or not module.startswith("schedgap"):
            continue
        given = set(inspect.signature(each).parameters) - PLAIN
        if given and SECTION not in (inspect.getdoc(each) or ""):
            silent.append(f"{module}:{name}")
    assert not silent


def _described(node: ast.AST, prefix: str) -> Iterator[str]:
    """Yield the functions and classes with a section on parameters, attributes or results."""
    for item in ast.iter_child_nodes(node):
        if isinstance(item, ast.FunctionDef | ast.ClassDef):
            if SECTIONS.search(ast.get_docstring(item) or ""):
                yield f"{prefix}{item.name}"
            inside = "" if isinstance(item, ast.ClassDef) else "<locals>."
            yield from _described(item, f"{prefix}{item.name}.{inside}")
        else:
            yield from _described(item, prefix)


def test_a_section_on_results_is_found() -> None:
    lines = ("One.", "", "Returns", "-------", "int")
    text = "\n        ".join(('class A:\n    def f(self):\n        """', *lines, '"""'))
    assert [*_described(ast.parse(text), "")] == ["A.f"]
    assert not [*_described(ast.parse(text.replace("Returns", "Raises")), "")]


def test_nothing_else_has_a_section_on_parameters_attributes_or_results() -> None:
    """Elsewhere a sentence says what is not plain from a name and its type."""
    known = {f"{module}:{name}" for module, name in public()}
    found = set()
    for folder in ("analysis", "instances", "models", "solvers", "src/schedgap"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            parts = [*file.relative_to(ROOT).with_suffix("").parts]
            parts = parts[2:] if parts[0] == "src" else parts
            module = ".".join(["schedgap", *(part for part in parts if part != "__init__")])
            tree = ast.parse(file.read_text(encoding="utf-8"))
            found |= {f"{module}:{name}" for name in _described(tree, "")}
    assert len(found) > 100
    assert not found - known


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
    assert len(lists) > 80
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
