"""A paper as a TOML file: what is read, when, and what a fault in it says."""

import pickle
import re
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import pytest

from schedgap.errors import InputError
from schedgap.models import families
from schedgap.models.method import Lazy
from schedgap.models.paper import Algorithm, Equation, Erratum, Guarantee, Paper, Symbol, load_paper

SMALL = """
citation = "A. Author. Title."
doi = "10.1/2"
problem = '''
  Jobs wait;
  they run "later".'''
schedule = "starts"
symbols = [["T", "horizon", "integer", "slots"]]
[rules]
V1 = "one start"
[equations]
2b = {status = "modelled", by = ["eq_2b"]}
1 = {status = "background", note = "a name"}
[algorithms]
1 = {title = "Greedy", lines = 3, function = "greedy"}
[guarantees.theorem_1]
claim = "twice the optimum"
source = "Theorem 1"
methods = ["greedy"]
assumptions = ["none"]
evaluate = "math:floor"
verdict = "open"
ratio = false
[errata.E1]
where = "(1)"
printed = "n"
problem = "undefined"
decision = "jobs"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "paper.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path


def test_every_part_is_read_in_its_order(file: Path) -> None:
    paper = load_paper(file)
    assert isinstance(paper, Paper)
    assert paper.problem == 'Jobs wait; they run "later".'
    assert paper.symbols == (Symbol("T", "horizon", "integer", "slots"),)
    assert list(paper.equations.items()) == [
        ("2b", Equation("modelled", ("eq_2b",))),
        ("1", Equation("background", (), "a name")),
    ]
    assert paper.rules == {"V1": "one start"}
    assert paper.algorithms == {"1": Algorithm("Greedy", 3, "greedy")}
    assert paper.errata == {"E1": Erratum("(1)", "n", "undefined", "jobs")}
    claim = paper.guarantees["theorem_1"]
    assert claim == Guarantee(
        "twice the optimum", "Theorem 1", ("greedy",), ("none",), Lazy("math:floor"), "open",
        ratio=False,
    )  # fmt: skip
    assert claim.evaluate(2.5) == 2 and not claim.searchable


def test_a_claim_that_is_not_evaluated_gives_its_reason(file: Path) -> None:
    text = SMALL.replace('evaluate = "math:floor"', 'not_evaluated = "it is about growth"')
    file.write_text(text, encoding="utf-8")
    found = load_paper(file).guarantees["theorem_1"].evaluate(2.5, F=1)
    assert found["claim"] == "twice the optimum" and found["failed"] == [
        "not evaluated: it is about growth"
    ]
    assert found["factor"] is None and not found["holds"]


def test_it_can_be_changed_copied_and_sent_to_a_child(file: Path) -> None:
    changed = replace(load_paper(file), guarantees={})
    assert changed.guarantees == {} and changed.doi == "10.1/2"
    sent = pickle.loads(pickle.dumps(load_paper(file)))
    file.unlink()
    assert all(getattr(sent, each.name) is not None for each in fields(Paper))
    assert sent.errata["E1"].decision == "jobs"
    with pytest.raises(AttributeError, match="erata"):
        _ = sent.erata


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("doi =", "dio =", "dio: unknown key"),
        ("printed =", "prints =", "errata.E1.prints: unknown key"),
        ('where = "(1)"', "", "errata.E1.where: missing key"),
        ('doi = "10.1/2"', "", "doi: missing key"),
        ('"modelled"', '"modeled"', 'equations.2b.status: Input should be .*, got "modeled"'),
        ('["eq_2b"]', '"eq_2b"', 'equations.2b.by: need a list, got "eq_2b"'),
        ('"math:floor"', '"math.floor"', "guarantees.theorem_1.evaluate: need .*:function"),
        ('"math:floor"', "3", "guarantees.theorem_1.evaluate: need .*, got 3"),
        ('evaluate = "math:floor"', "", "guarantees.theorem_1.evaluate: missing key"),
        (', "slots"', "", r"symbols\[0\]: need a list of letter, key, domain, meaning"),
        ('"slots"', "1", r"symbols\[0\]\.meaning: need a text, got 1"),
        ("[rules]", "rules = 3\n[more]", "more: unknown key"),
        ('[rules]\nV1 = "one start"', "rules = 3", "rules: need a table, got 3"),
        ("[guarantees.theorem_1]", "[guarantees]", r"guarantees\.\w+: need a table"),
        ("[algorithms]", "[algorithms]\n[[rules.V2]]", r"rules\.V2: need a text"),
        ('doi = "10.1/2"', "doi =", "Invalid value .at line 3"),
        ("lines = 3", 'lines = "many"', "algorithms.1.lines: Input should be a valid integer"),
    ],
)
def test_a_fault_names_file_and_path(file: Path, old: str, new: str, message: str) -> None:
    assert old in SMALL
    file.write_text(SMALL.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        _ = load_paper(file).errata
    said = str(caught.value)
    assert re.match(re.escape(f"{file}: ") + message, said), said


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml: cannot be read"):
        _ = load_paper(tmp_path / "none.toml").doi
    (tmp_path / "latin.toml").write_bytes(b'doi = "\xe9"')
    with pytest.raises(InputError, match=r"latin\.toml: .*codec"):
        _ = load_paper(tmp_path / "latin.toml").doi


def test_a_relative_path_is_that_of_the_call(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(file.parent)
    paper = load_paper(file.name)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert paper.doi == "10.1/2"


def test_families_are_loaded_without_reading_a_paper() -> None:
    script = (
        "import tomllib\n"
        "def read(text): raise SystemExit('read')\n"
        "tomllib.loads = read\n"
        "from schedgap.models import families\n"
        "assert len(families()) >= 5\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", [each.name for each in families()])
def test_the_papers_stay_readable(name: str) -> None:
    text = (Path(__file__).parents[2] / "models" / name / "paper.toml").read_text(encoding="utf-8")
    assert max(map(len, text.splitlines())) <= 120
