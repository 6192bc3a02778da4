"""What runs outside the suite names what exists: targets of make, versions, hooks, commands."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from schedgap.cli import app

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def _load(file: Path) -> dict[str, Any]:
    loaded = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert isinstance(loaded, dict)
    return {"on" if key is True else key: value for key, value in loaded.items()}  # YAML 1.1


def _steps(file: Path) -> list[dict[str, Any]]:
    return [step for job in _load(file)["jobs"].values() for step in job["steps"]]


def test_there_are_runs_for_changes_for_the_site_and_for_the_night() -> None:
    begun = {file.stem: set(_load(file)["on"]) for file in WORKFLOWS}
    assert begun == {
        "tests": {"push", "pull_request"},
        "site": {"push", "pull_request", "workflow_dispatch"},
        "nightly": {"schedule", "workflow_dispatch"},
    }


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_a_workflow_calls_targets_that_the_makefile_has(file: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", MAKEFILE, re.MULTILINE))
    called = set(
        re.findall(r"\bmake ([a-z]+)", "\n".join(step.get("run", "") for step in _steps(file)))
    )
    assert called
    assert called <= targets


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_a_workflow_may_only_read_and_ends_in_time(file: Path) -> None:
    workflow = _load(file)
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["concurrency"]["cancel-in-progress"] is True
    assert all(job["timeout-minutes"] < 360 for job in workflow["jobs"].values())
    used = [step["uses"] for step in _steps(file) if "uses" in step]
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", action) for action in used), used


def test_the_suite_runs_everywhere_with_the_oldest_and_the_newest_python() -> None:
    strategy = _load(ROOT / ".github/workflows/tests.yml")["jobs"]["suite"]["strategy"]
    assert strategy["fail-fast"] is False
    systems = {name.partition("-")[0] for name in strategy["matrix"]["os"]}
    assert systems == {"ubuntu", "macos", "windows"}
    classifiers = "\n".join(PYPROJECT["project"]["classifiers"])
    versions = re.findall(r"Python :: (3\.\d+)$", classifiers, re.MULTILINE)
    versions.sort(key=lambda version: int(version.partition(".")[2]))
    assert strategy["matrix"]["python"] == [versions[0], versions[-1]]
    assert PYPROJECT["project"]["requires-python"] == f">={versions[0]}"


def test_the_record_book_is_verified_without_a_solver() -> None:
    (job,) = [
        job
        for job in _load(ROOT / ".github/workflows/tests.yml")["jobs"].values()
        if any("schedgap records verify" in step.get("run", "") for step in job["steps"])
    ]
    told = "\n".join(step.get("run", "") for step in job["steps"])
    assert "pip install --editable .\n" in told  # no further engine
    assert told.index("pip uninstall --yes highspy") < told.index("schedgap records verify")
    assert job["steps"][0]["with"]["fetch-depth"] == 2  # HEAD^1 is there
    pull = told[told.index('"$GITHUB_EVENT_NAME" = pull_request') : told.index("else")]
    assert "git worktree add ../base HEAD^1\n" in pull
    assert "schedgap records verify --since ../base/instances/book\n" in pull


def test_windows_runs_the_same_tests_without_make() -> None:
    made = re.search(r"^test:.*\n\t.*-m '(.*)'", MAKEFILE, re.MULTILINE)
    assert made is not None
    steps = _steps(ROOT / ".github/workflows/tests.yml")
    (line,) = [
        line for step in steps for line in step.get("run", "").splitlines() if "pytest" in line
    ]
    assert f'-m "{made[1]}"' in line


def test_the_coverage_target_measures_the_same_tests_as_the_test_target() -> None:
    test, coverage = (
        re.search(rf"^{target}:.*\n(?:\t.*\n)*?\t.*pytest (.*)", MAKEFILE, re.MULTILINE)
        for target in ("test", "coverage")
    )
    assert test is not None
    assert coverage is not None
    assert test[1] == coverage[1]
    measured = {ROOT / folder for folder in PYPROJECT["tool"]["coverage"]["run"]["source_dirs"]}
    rooms = {file.parent for file in ROOT.glob("*/__init__.py")} | {ROOT / "src" / "schedgap"}
    assert measured == rooms - {ROOT / "tests"}
    assert PYPROJECT["tool"]["coverage"]["report"]["fail_under"] > 50


def test_the_hooks_are_those_of_make_check() -> None:
    repositories = _load(ROOT / ".pre-commit-config.yaml")["repos"]
    hooks = {hook["id"]: hook for repository in repositories for hook in repository["hooks"]}
    assert {"ruff-check", "ruff-format", "types", "end-of-file-fixer"} <= set(hooks)
    assert hooks["types"]["entry"] == "make check"
    (pinned,) = [item["rev"] for item in repositories if "ruff" in item["repo"]]
    extra = PYPROJECT["project"]["optional-dependencies"]["dev"]
    (least,) = [item.partition(">=")[2] for item in extra if item.startswith("ruff")]
    assert _numbers(pinned) >= _numbers(least)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))


def test_only_the_job_that_publishes_the_site_may_write() -> None:
    jobs = [(file.stem, job) for file in WORKFLOWS for job in _load(file)["jobs"].items()]
    may = {(stem, name): job["permissions"] for stem, (name, job) in jobs if "permissions" in job}
    assert may == {("site", "publish"): {"pages": "write", "id-token": "write"}}
    assert "refs/heads/main" in _load(ROOT / ".github/workflows/site.yml")["jobs"]["publish"]["if"]


def test_the_version_is_the_same_everywhere_and_has_a_dated_section() -> None:
    citation = _load(ROOT / "CITATION.cff")
    assert citation["version"] == PYPROJECT["project"]["version"]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## {citation['version']} ({citation['date-released']})\n" in changes


@pytest.mark.parametrize("file", FORMS, ids=lambda file: file.stem)
def test_a_form_for_issues_asks_for_something(file: Path) -> None:
    form = _load(file)
    if file.stem == "config":
        assert form["blank_issues_enabled"] is True
        return
    assert {"name", "description", "body"} <= set(form)
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert any(field.get("validations", {}).get("required") for field in fields)
    names = [field["id"] for field in fields]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    "file",
    [*FORMS, *(ROOT / name for name in ("CONTRIBUTING.md", "SECURITY.md"))],
    ids=lambda file: file.stem,
)
def test_the_commands_that_people_are_asked_for_exist(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    known = CliRunner().invoke(app, ["--help"]).output
    for command in re.findall(r"`schedgap (--version|[a-z]+)", text):
        assert command in known, command
    for target in re.findall(r"`make ([a-z]+)", text):
        assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE), target
