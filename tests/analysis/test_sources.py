"""The hash of the source that can change a result."""

import ast
from pathlib import Path

import pytest

from schedgap.analysis.records import sources
from schedgap.instances.families import FAMILIES
from schedgap.models.family import family
from schedgap.models.method import Method, MethodResult

OURS = [name for name in FAMILIES if name != "toy"]


@pytest.mark.parametrize("name", OURS)
def test_the_hash_covers_what_a_method_imports(name: str) -> None:
    """No file that counts imports one that does not, except for tables."""
    files = dict(sources._files(name))
    assert f"schedgap.models.{name}/rules.py" in files and "analysis/runners/runner.py" in files
    left_out = {f"schedgap.models.{name}.{each}" for each in ("figures", "gantt", "paper")}
    left_out |= {f"schedgap.instances.{name}.{each}" for each in ("generator", "from_traces")}
    left_out |= {f"schedgap.instances.{name}.{each}" for each in ("drafts", "workload", "examples")}
    for label, file in files.items():
        if label.endswith(("__init__.py", "/methods.py")):
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom):
                names = {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
                assert not names & left_out, f"{label} imports {names & left_out}"


def test_a_change_of_the_source_changes_the_hash_and_a_line_end_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "rules.py"
    monkeypatch.setattr(sources, "_files", lambda name: [("rules.py", file)])
    monkeypatch.setattr(sources, "_codes", {})
    found = []
    for content in (b"a = 1\n", b"a = 1\r\n", b"a = 2\n"):
        file.write_bytes(content)
        sources._codes.clear()
        found.append(sources.family_hash("hare"))
    assert found[0] == found[1] != found[2]
    file.write_bytes(b"a = 3\n")
    assert sources.family_hash("hare") == found[2] and sources.refresh()
    assert sources.family_hash("hare") != found[2] and not sources.refresh()


def mine(instance: object, call: object) -> MethodResult:
    return MethodResult()


def test_a_method_from_elsewhere_has_a_hash_of_its_own_source() -> None:
    owner = family("hare")
    plain = sources.method_hash(owner, owner.methods[0])
    assert plain == sources.family_hash("hare") and "+" not in plain
    method = Method("mine", "algorithm", mine, summary="Mine.", source="test")
    code = sources.method_hash(owner, method)
    assert code.startswith(f"{plain}+") and code == sources.method_hash(owner, method)
    found = set()
    for number in (1, 2):
        space: dict[str, object] = {"__name__": "users_module"}
        exec(f"def run(instance, call):\n    return {number}", space)  # as in a notebook
        own = Method("mine", "algorithm", space["run"], summary="Mine.", source="test")
        found.add(sources.method_hash(owner, own))
    assert len(found) == 2
