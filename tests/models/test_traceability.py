"""Every equation, line, guarantee and slip of a paper has its place in the source, and a test."""

import ast
import re
from functools import partial
from pathlib import Path

import pytest

from schedgap.models import families, family
from schedgap.models.method import Lazy

ROOT = Path(__file__).resolve().parents[2]
NAMES = [each.name for each in families()]
PREFIXES = ("eq_", "lin_", "cut_", "fix_")


def _source(name: str) -> dict[str, str]:
    folder = ROOT / "models" / name
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*.py")}


def _rows(source: dict[str, str]) -> set[str]:
    """Names of rows: attributes `model.eq_...` and strings that start like one."""
    found: set[str] = set()
    for text in source.values():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Attribute) and node.attr.startswith(PREFIXES):
                found.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                word = re.match(r"(eq|lin|cut|fix)_\w+", node.value)
                if word and " " not in node.value:
                    found.add(word.group())
    return found


def _tests() -> set[str]:
    return {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)
    }


@pytest.mark.parametrize("name", NAMES)
def test_every_modelled_equation_has_its_rows(name: str) -> None:
    rows = _rows(_source(name))
    for label, equation in family(name).paper.equations.items():
        if equation.status in ("modelled", "implied", "replaced"):
            missing = [row for row in equation.by if row not in rows]
            assert not missing, f"({label}): no row {missing}"


@pytest.mark.parametrize("name", NAMES)
def test_a_modelled_equation_stands_in_programs(name: str) -> None:
    source = {file: text for file, text in _source(name).items() if file.startswith("programs/")}
    rows = _rows(source)
    for label, equation in family(name).paper.equations.items():
        if equation.status == "modelled":
            assert not equation.by or rows & set(equation.by), f"({label}): no row in programs/"


TREE = ["algorithms", "baselines", "bounds", "exact", "heuristics", "programs"]
ROOT_FILES = {"__init__", "figures", "gantt", "methods", "rules"}


@pytest.mark.parametrize("name", NAMES)
def test_every_family_has_the_same_tree(name: str) -> None:
    folder = ROOT / "models" / name
    rooms = sorted(path.name for path in folder.iterdir() if (path / "__init__.py").exists())
    files = {path.stem for path in folder.glob("*.py")} - {"proof"}  # it goes with the rules
    assert rooms == TREE and files >= ROOT_FILES and len(files) <= 9
    for file in ("programs/printed", "algorithms/guarantees", "bounds/certificates", "exact/exact"):
        assert (folder / f"{file}.py").exists(), file
    assert (folder / "paper.toml").exists()


@pytest.mark.parametrize("name", NAMES)
def test_no_row_speaks_for_an_unknown_equation(name: str) -> None:
    paper = family(name).paper
    for row in _rows(_source(name)):
        if row.startswith("eq_"):
            label = row.removeprefix("eq_").split("_")[0]
            label = label if label in paper.equations else label.rstrip("abcdefgh")
            assert label in paper.equations, f"{row}: the paper has no ({label})"
        if row.startswith("fix_"):
            assert row.removeprefix("fix_").split("_")[0].upper() in paper.errata, row


@pytest.mark.parametrize("name", NAMES)
def test_every_line_of_every_algorithm_is_cited(name: str) -> None:
    source = "\n".join(_source(name).values())
    for label, algorithm in family(name).paper.algorithms.items():
        prefix = f"A{label} " if len(family(name).paper.algorithms) > 1 else ""
        cited: set[int] = set()
        for first, last in re.findall(rf"# {prefix}L(\d+)(?:-L(\d+))?", source):
            cited |= set(range(int(first), int(last or first) + 1))
        missing = set(range(1, algorithm.lines + 1)) - cited
        assert not missing, f"algorithm {label}: lines {sorted(missing)}"
        assert f"def {algorithm.function}(" in source


@pytest.mark.parametrize("name", NAMES)
def test_every_erratum_and_guarantee_names_tests_that_exist(name: str) -> None:
    paper, known = family(name).paper, _tests()
    for label, erratum in paper.errata.items():
        assert erratum.decision, label
        editorial = "A slip of the text only" in erratum.problem
        assert erratum.tests or editorial or "strongly np-hard" in erratum.decision.lower(), label
        assert set(erratum.tests) <= known, f"{label}: {set(erratum.tests) - known}"
    for label, guarantee in paper.guarantees.items():
        assert guarantee.tests and set(guarantee.tests) <= known, label


@pytest.mark.parametrize("name", NAMES)
def test_the_functions_and_methods_of_every_guarantee_exist(name: str) -> None:
    for label, claim in family(name).paper.guarantees.items():
        for function in (claim.evaluate, claim.measure, claim.near):
            named = isinstance(function, Lazy) and function.load()
            assert function is None or named or isinstance(function, partial), label
        for method in claim.methods:
            assert family(name).method(method), label


@pytest.mark.parametrize("name", NAMES)
def test_citations_of_errata_exist(name: str) -> None:
    errata = family(name).paper.errata
    table = (ROOT / "models" / name / "paper.toml").read_text(encoding="utf-8")
    for file, text in {**_source(name), "paper.toml": table}.items():
        for label in re.findall(r"\bE(\d+)\b", text):
            assert f"E{label}" in errata, f"{file}: E{label}"
