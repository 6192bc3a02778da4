"""A family is type-checked against its contract: mypy refuses one that mixes up its classes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# The expected errors are marked where they are: `# error: words of mypy`.
FAMILY = '''
"""Pick a number."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from schedgap.instances.instance import Instance
from schedgap.instances.verdict import Violation
from schedgap.models.family import Chart, Family
from schedgap.models.method import Method, MethodResult, RunContext
from schedgap.models.paper import Paper


class PickInstance(Instance):
    """Numbers."""

    values: tuple[float, ...]


class OtherInstance(Instance):
    """Of another family."""


@dataclass(frozen=True)
class Pick:
    """The place that was picked."""

    place: int

    def to_data(self, instance: PickInstance) -> dict[str, Any]:
        return {"place": self.place}


@dataclass(frozen=True)
class Other:
    """A schedule of another family."""

    def to_data(self, instance: OtherInstance) -> dict[str, Any]:
        return {}


def check(
    instance: PickInstance, schedule: object, options: Mapping[str, Any]
) -> Iterator[Violation]:
    yield from ()


def objective(instance: PickInstance, schedule: Any) -> float:
    return float(instance.values[schedule["place"]])


def chart(instance: PickInstance, schedule: Any) -> Chart:
    return Chart((), (), "s")


def first(instance: PickInstance, call: RunContext[Pick]) -> MethodResult[Pick]:
    call.progress.incumbent(Pick(0), instance.values[0])
    return MethodResult(Pick(0), bound=min(instance.values))


def other_objective(instance: OtherInstance, schedule: Any) -> float:
    return 0.0


def other_method(instance: OtherInstance, call: RunContext[Pick]) -> MethodResult[Pick]:
    return MethodResult(Pick(0))


def other_schedule(instance: PickInstance, call: RunContext[Pick]) -> MethodResult[Pick]:
    call.progress.incumbent(Other(), 1.0)  # error: Argument 1 to "incumbent"
    return MethodResult(Other())  # error: Argument 1 to "MethodResult"


def family(
    paper: Paper,
    methods: tuple[Method[PickInstance, Pick], ...],
    value: Callable[[PickInstance, Any], float],
) -> Family[PickInstance, Pick]:
    return Family(
        name="pick", title="", paper=paper, methods=methods, aliases={},
        sense=lambda instance: "min", check=check, objective=value, chart=chart,
    )


RIGHT: Method[PickInstance, Pick] = Method("first", "algorithm", first, "", "ours")
WRONG: Method[PickInstance, Pick] = Method(
    "other", "algorithm",
    other_method,  # error: Argument 3 to "Method"
    "", "ours",
)
OTHER: Method[OtherInstance, Pick] = Method("other", "algorithm", other_method, "", "ours")


def both(paper: Paper) -> None:
    family(paper, (RIGHT,), objective)
    family(
        paper,
        (RIGHT, OTHER),  # error: Argument 2 to "family"
        other_objective,  # error: Argument 3 to "family"
    )
'''


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="the package is put together by symbolic links")
def test_a_family_that_mixes_up_its_classes_is_refused(tmp_path: Path) -> None:
    """And the package in examples/ is accepted."""
    package = tmp_path / "schedgap"  # as it is installed, from the rooms of the repository
    package.mkdir()
    for source in [*(ROOT / "src/schedgap").iterdir(), ROOT / "models", ROOT / "instances"]:
        (package / source.name).symlink_to(source)
    for room in ("solvers", "analysis"):
        (package / room).symlink_to(ROOT / room)
    (tmp_path / "pick.py").write_text(FAMILY)
    (tmp_path / "allox_family").symlink_to(ROOT / "examples/allox/src/allox_family")
    done = subprocess.run(
        [
            sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml",
            "--cache-dir", ROOT / ".mypy_cache/tests", "--follow-imports", "silent", "pick.py",
            "allox_family",
        ],
        cwd=tmp_path, env=os.environ | {"MYPYPATH": str(tmp_path)}, capture_output=True, text=True,
    )  # fmt: skip
    told = re.findall(r"^pick\.py:(\d+): error: (.*)$", done.stdout, re.MULTILINE)
    expected = [
        (str(number), line.partition("# error: ")[2])
        for number, line in enumerate(FAMILY.splitlines(), 1)
        if "# error: " in line
    ]
    assert "allox_family" not in done.stdout
    assert [number for number, _ in told] == [number for number, _ in expected], done.stdout
    assert all(words in text for (_, words), (_, text) in zip(expected, told, strict=True)), told
