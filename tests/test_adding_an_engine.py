"""The engine that docs/adding-an-engine.md builds: found by its entry point, checked and used."""

import ast
import io
import json
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from outsider import Shell

PAGE = (Path(__file__).parents[1] / "docs" / "adding-an-engine.md").read_text(encoding="utf-8")
MOST_LINES = 100  # counts code: neither blank nor docstring


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n# \S+\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def _lines_of_code(source: str) -> int:
    strings = [node for node in ast.parse(source).body if isinstance(node, ast.Expr)]
    texts = {line for node in strings for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    skipped = {"COMMENT", "NL", "NEWLINE", "INDENT", "DEDENT", "ENDMARKER"}
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if tokenize.tok_name[token.type] not in skipped:
            lines |= set(range(token.start[0], token.end[0] + 1))
    return len(lines - texts)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that looks like one with the installed package of the page."""
    place = tmp_path_factory.mktemp("site")
    (place / "tree_engine.py").write_text("\n\n".join(_blocks("python")), encoding="utf-8")
    project = tomllib.loads(_blocks("toml")[0])["project"]
    points = project["entry-points"]["schedgap.engines"]
    metadata = place / f"tree_engine-{project['version']}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    rows = [f"{name} = {value}\n" for name, value in points.items()]
    (metadata / "entry_points.txt").write_text("[schedgap.engines]\n" + "".join(rows))
    return place


@pytest.fixture(scope="module")
def schedgap(folder: Path) -> Iterator[Shell]:
    made = Shell(sys.executable, folder, PYTHONPATH=str(folder), COLUMNS="200")
    yield made
    made.close()


def test_the_page_keeps_its_promise_of_lines(folder: Path) -> None:
    count = _lines_of_code((folder / "tree_engine.py").read_text(encoding="utf-8"))
    assert count < MOST_LINES and f"in {count} lines of code" in PAGE


def test_the_engine_keeps_the_contract(schedgap: Shell) -> None:
    said = schedgap("engines", "--check", "tree").out
    assert "finds the optimum" in said and "obeys the memory limit" in said


def test_a_method_runs_with_the_engine(schedgap: Shell) -> None:
    schedgap("generate", "hare", "--preset", "toy", "--out", "toy.json")
    solve = ["solve", "toy.json", "--method", "time-indexed", "--engine", "tree"]
    found = json.loads(schedgap(*solve, "--json").out)
    assert (found["status"], found["objective"]) == ("optimal", 8)
    assert found["versions"]["tree-engine"] == "1.0"
    rows = json.loads(schedgap("methods", "hare", "--json").out)
    assert not any("tree" in row["engines"] for row in rows)  # as in generated pages
    refused = schedgap("solve", "toy.json", "--method", "big-m", "--engine", "three", code=2)
    assert "highs, gurobi, scip, tree, not 'three'" in refused.err


def test_a_broken_engine_is_one_line_and_breaks_nothing_else(folder: Path, tmp_path: Path) -> None:
    for name, source in (
        ("absent", "import no_such_module"),
        ("wrong", "ENGINE = 3"),
        ("highs", "from tree_engine import ENGINE"),
        (
            "scip",
            "from dataclasses import replace\nfrom tree_engine import ENGINE as tree\n"
            "ENGINE = replace(tree, name='scip')",
        ),
    ):
        (tmp_path / f"{name}_engine.py").write_text(source)
        metadata = tmp_path / f"{name}-1.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}-package\nVersion: 1\n"
        )
        point = f"[schedgap.engines]\n{name} = {name}_engine:ENGINE\n"
        (metadata / "entry_points.txt").write_text(point)
    (tmp_path / "tree_engine.py").write_text((folder / "tree_engine.py").read_text())
    shell = Shell(sys.executable, tmp_path, PYTHONPATH=str(tmp_path))
    done = shell("engines")
    shell.close()
    assert "scip" in done.out
    said = done.err.splitlines()
    assert len(said) == 4, done.err
    assert "engine absent of package absent-package is left out: ModuleNotFoundError" in said[0]
    assert "highs of package highs-package is left out: its name is 'tree'" in said[1]
    assert "scip of package scip-package is left out: there is another engine of this" in said[2]
    assert "is of type int, not Engine" in said[3]
