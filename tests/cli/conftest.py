"""Register the toy family, and run command lines."""

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "analysis"))

import toy_family

from schedgap.cli import run


@pytest.fixture(autouse=True)
def _toy() -> Iterator[None]:
    toy_family.register()
    yield
    toy_family.unregister()


@dataclass
class Done:
    """Result of a command line: exit code, standard output, standard error."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def line(self) -> str:
        """The only line on standard error, without the prefix."""
        assert self.err.startswith("schedgap: ") and self.err.count("\n") == 1, self.err
        return self.err.removeprefix("schedgap: ").rstrip("\n")


@pytest.fixture
def schedgap(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    def call(*arguments: object) -> Done:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Done(code, captured.out, captured.err)

    return call


@pytest.fixture
def toy_file(tmp_path: Path) -> Callable[..., Path]:
    def write(*values: float, **more: Any) -> Path:
        instance = toy_family.toy(*values, **more)
        file = tmp_path / f"{instance.name}.json"
        file.write_text(json.dumps(instance.to_data()))
        return file

    return write
