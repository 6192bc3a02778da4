"""`schedgap bench` and `schedgap table --of engines`."""

import re
from pathlib import Path

import pytest

MODEL = ("--model", "paper", "--engines", "highs,cp-sat", "--time-limit", "30")


@pytest.fixture(scope="module", name="folder")
def made_folder(tmp_path_factory):
    from schedgap.cli import run

    folder = tmp_path_factory.mktemp("bench") / "run"
    arguments = ["bench", "hare", "--preset", "toy", *MODEL, "--run", str(folder)]
    assert run([*arguments, "--engine-set", "highs:presolve=off"]) == 0
    return folder


def test_the_table_names_each_configuration(schedgap, folder):
    done = schedgap("bench", "hare", "--preset", "toy", *MODEL, "--run", folder,
                    "--engine-set", "highs:presolve=off")  # fmt: skip
    assert done.code == 0 and "paper@highs" in done.out and "[presolve=off]" in done.out
    assert "1 task at a time" in done.out and "3 of 3 tasks are done" in done.err


def test_json_is_one_document(schedgap, folder):
    done = schedgap("bench", "hare", "--preset", "toy", *MODEL, "--run", folder, "--json",
                    "--engine-set", "highs:presolve=off")  # fmt: skip
    rows = {row["engine"]: row for row in done.json["engines"]}
    assert (rows["highs"]["solved"], rows["cp-sat"]["refused"]) == (1, 1)
    assert done.json["wrong"] == [] and rows["cp-sat"]["seconds"] is None


def test_table_writes_the_engines(schedgap, folder, tmp_path):
    done = schedgap("table", folder, "--of", "engines", "--by", "model")
    assert done.code == 0 and done.out.startswith("family,preset,within,formulation,engine,version")
    assert schedgap("table", folder, "--of", "engine-tasks").out.count("\n") == 3
    assert schedgap("table", folder, "--of", "engine-pairs").code == 0
    assert "|" in schedgap("table", folder, "--of", "engines", "--format", "markdown").out
    written = schedgap("table", folder, "--of", "engines", "--format", "paver",
                       "--out", tmp_path / "trc")  # fmt: skip
    files = sorted((tmp_path / "trc").glob("*.trc"))
    assert written.code == 0 and len(files) == 2 and all(str(each) in written.out for each in files)
    told = schedgap("table", folder, "--of", "engines", "--format", "benchopt")
    assert told.out.startswith("objective_name,data_name,solver_name,idx_rep")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("bench", "hare", "--threads", "x"), "--threads x: need numbers"),
        (("bench", "hare", "--threads", "9999"), "this process may use"),
        (("bench", "hare", "--methods", "exact"), "compare ... --methods exact compares methods"),
        (("bench", "hare", "--engines", "hihgs"), "did you mean 'highs'"),
        (("bench", "hare", "--engine-set", "highs"), "need ENGINE:OPTION=VALUE"),
        (("bench", "hare", "--engine-set", "highs:presolve"), "need NAME=VALUE"),
        (("bench", "hare", "--engines", "highs", "--engine-set", "highs:presolv=off"),
         "HiGHS has no option presolv: did you mean presolve?"),
        (("bench", "hare", "--confirm", "maybe"), "--confirm maybe: need off or on"),
        (("bench", "hare", "--reference", "nothing"), "no method 'nothing'"),
        (("bench", "hare", "--set", "nothing=1"), "nothing"),
        (("bench", "nothing.json"), "no such file"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(schedgap, arguments, text):
    done = schedgap(*arguments)
    assert done.code == 2 and text in done.line


def test_bad_tables_are_one_line(schedgap, folder, tmp_path):
    for arguments, text in (
        (("--of", "engines", "--by", "colour"), "--by colour: need --of engines"),
        (("--of", "pairs", "--by", "size"), "--by size: need --of engines"),
        (("--of", "pairs", "--format", "paver"), "--format paver: need --of engines"),
        (("--of", "engines", "--format", "paver"), "need --out DIR"),
    ):
        done = schedgap("table", folder, *arguments)
        assert done.code == 2 and text in done.line
    (tmp_path / "tasks").mkdir()
    done = schedgap("table", tmp_path, "--of", "engines", "--format", "paver",
                    "--out", tmp_path / "trc")  # fmt: skip
    assert done.code == 2 and "no benchmark of engines" in done.line
    assert schedgap("table", tmp_path, "--of", "engines").out.startswith("family,")


def test_the_help_is_grouped(schedgap):
    text = schedgap("bench", "--help").out
    for panel in ("What is solved", "How it is solved", "Limits", "Results"):
        assert panel in text
    assert not re.search(r"<bool>", text)


def test_the_page_names_no_option_that_does_not_exist(schedgap):
    page = (Path(__file__).parents[2] / "docs" / "benchmarking.md").read_text()
    known = schedgap("bench", "--help").out + schedgap("table", "--help").out
    for line in re.findall(r"schedgap (?:bench|table) [^\n`]*", page):
        for name in re.findall(r"(?<=\s)--[a-z-]+", line):
            assert name in known, name
