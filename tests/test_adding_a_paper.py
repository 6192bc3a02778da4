"""The package in examples/allox, used as by an outsider, and the page that builds it."""

import ast
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from outsider import Outsider, run

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "allox"
SOURCE = sorted((EXAMPLE / "src").rglob("*.py"))
PAGE = (ROOT / "docs" / "adding-a-paper.md").read_text(encoding="utf-8")
MOST_LINES = 400  # counts code: not blank, no docstring

COMMANDS = [line.partition("#")[0].split()
            for line in re.findall(r"^schedgap (?!:)(.*)$", PAGE, re.MULTILINE)]  # fmt: skip


@pytest.fixture(scope="module")
def outsider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outsider]:
    """An environment in which the commands of the page have been run, in their order."""
    made = Outsider(tmp_path_factory.mktemp("outsider"), EXAMPLE)
    for words in COMMANDS:
        made.said[" ".join(words)] = made(*words).out
    yield made
    made.close()


def test_its_own_tests_pass(outsider: Outsider) -> None:
    tests = EXAMPLE / "tests"
    words = ("-q", "-p", "no:cacheprovider", "--rootdir", tests, "-o", "addopts=", tests)
    assert re.search(r"\b9 passed", outsider(*words, program="pytest").out)


def test_lists_know_the_family(outsider: Outsider) -> None:
    """In a separate process, as a user would start it, and after other commands."""
    command = [outsider.python, "-m", "schedgap", "methods", "allox", "--all"]
    listed = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout
    assert listed == outsider.said["methods allox --all"]
    assert re.findall(r"^allox +(\S+) +(\S+)", listed, re.MULTILINE) == [
        ("exact", "exact"), ("allox", "algorithm"), ("best-fit", "baseline"),  # to start with
        ("lp", "bound"), ("shortest-queue", "baseline"), ("shortest-first", "baseline"),
    ]  # fmt: skip
    schema = json.loads(outsider("schema", "allox").out)
    assert schema["properties"]["family"]["const"] == "allox"


def test_the_optimum_of_queued_jobs_is_proved_and_verified(outsider: Outsider) -> None:
    found = json.loads((outsider.folder / "solution.json").read_text())
    assert (found["status"], found["objective"], found["bound"]) == ("optimal", 71, 71)
    checked = outsider.said["verify queued.json solution.json --strict"]
    assert "optimal: certified (positions;" in checked
    first = outsider.said["solve queued.json --method allox --out solution.json"]
    assert re.search(r"objective +71\n", first)


def test_the_optimum_of_arriving_jobs_is_proved(outsider: Outsider) -> None:
    outsider("generate", "allox", "--preset", "arrivals", "--seed", 1, "--out", "arrivals.json")
    said = outsider("solve", "arrivals.json").out
    assert re.search(r"objective +46\n.*\n.*certified: slots", said), said


def test_a_wrong_file_is_one_line(outsider: Outsider) -> None:
    data = json.loads((outsider.folder / "queued.json").read_text())
    data["jobs"][1]["cpu"] = 0
    (outsider.folder / "wrong.json").write_text(json.dumps(data))
    done = outsider("solve", "wrong.json", code=2)
    assert done.err.startswith("schedgap: wrong.json: jobs[1].cpu: ") and done.err.count("\n") == 1


def test_a_comparison_its_tables_and_its_report(outsider: Outsider) -> None:
    table = outsider("table", "runs/allox", "--of", "ratios", "--format", "markdown").out
    rows = ("allox", 71, "1 to 1"), ("best-fit", 112, "1.577 to 1.578")  # rounded outwards
    for method, objective, ratio in rows:
        row = rf"\| {method} \| \w+ \| {objective} \|.*\| {ratio} \| True \|"
        assert re.search(row, table), table
    assert outsider("verify", "runs/allox").out.strip().endswith("no violations found")
    page = (outsider.folder / "runs/allox/report.html").read_text(encoding="utf-8")
    assert "jobs that run on a CPU or on a GPU" in page
    record = json.loads(next((outsider.folder / "runs/allox/tasks").glob("*.json")).read_text())
    assert "+" not in record["code"]  # the hash of the family covers its methods


def test_a_bad_instance_is_found(outsider: Outsider) -> None:
    words = "worst-case allox --method best-fit --against allox --jobs 3 --evaluations 20"
    ratio = re.search(r"ratio to allox +(\d\.\d+)", outsider.said[words])
    assert ratio and float(ratio[1]) > 1.2, outsider.said[words]


def test_a_program_is_exported(outsider: Outsider) -> None:
    program = (outsider.folder / "queued.lp").read_text()
    assert "position(gpu_1,1)" in program.replace("-", "_") and "job(j8)" in program


def test_a_figure_is_measured_and_judged(outsider: Outsider) -> None:
    said = outsider.said["figure allox --quick --run runs/figures"]
    verdicts = re.findall(r"(REPRODUCED|MIXED|REFUTED): .*? on (\d+) of (\d+) replications", said)
    assert len(verdicts) == 1 and all(draws == "10" for _, _, draws in verdicts)
    assert "MEASURED: on 10 replications; " in said
    page = (outsider.folder / "runs/figures/reproduction.md").read_text(encoding="utf-8")
    assert "## allox" in page and "T. N. Le" in page


def test_its_page_is_generated(outsider: Outsider) -> None:
    run(outsider.python, "-m", "schedgap.analysis.pages", outsider.folder, "allox")
    page = (outsider.folder / "allox.md").read_text(encoding="utf-8")
    assert page.startswith("# Family `allox`: jobs that run on a CPU or on a GPU")
    assert "`position` in `programs.py`" in page and "../models/allox" not in page


# --- the source and the page -----------------------------------------------------------------


def _code_lines(file: Path) -> int:
    text = file.read_text(encoding="utf-8")
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            docstrings |= set(range(node.lineno, (node.end_lineno or 0) + 1))
    lines = enumerate(text.splitlines(), 1)
    return sum(bool(line.strip()) and number not in docstrings for number, line in lines)


def test_it_is_short() -> None:
    assert len(SOURCE) == 7 and sum(map(_code_lines, SOURCE)) < MOST_LINES


@pytest.mark.parametrize("file", SOURCE, ids=lambda file: file.stem)
def test_it_uses_public_names_only(file: Path) -> None:
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
        elif isinstance(node, ast.Import):
            names |= {each.name for each in node.names}
    assert {name for name in names if name.split(".")[0] == "schedgap"} <= {"schedgap.extend"}


BLOCKS = re.findall(
    r"```(?:python|toml)\n# (src/allox_family/\w+\.(?:py|toml))\n(.*?)```", PAGE, re.DOTALL
)


def test_the_page_shows_every_file_but_the_figures() -> None:
    assert len(BLOCKS) >= 10
    assert {Path(name).name for name, _ in BLOCKS} >= {
        "__init__.py", "algorithms.py", "exact.py", "instance.py", "paper.toml", "presets.toml",
        "programs.py", "rules.py",
    }  # fmt: skip


@pytest.mark.parametrize(("name", "block"), BLOCKS, ids=lambda text: text[-20:])
def test_the_page_shows_what_the_file_says(name: str, block: str) -> None:
    assert block in (EXAMPLE / name).read_text(encoding="utf-8")


def test_the_page_names_all_public_names_and_no_others() -> None:
    from schedgap import extend

    table = PAGE.partition("| for | names |")[2].partition("\n\n")[0]
    assert set(re.findall(r"`(\w+)`", table)) == set(extend.__all__)


def test_the_page_has_all_commands() -> None:
    named = {words[0] for words in COMMANDS}
    assert named == {
        "methods", "generate", "solve", "verify", "export", "compare", "report", "figure",
        "worst-case",
    }  # fmt: skip
