"""The blocks of docs/own-algorithms.md run as they stand."""

import json
import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from schedgap.cli import run as command_line

PAGE = Path(__file__).resolve().parents[1] / "docs" / "own-algorithms.md"


def _blocks(language: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    return [text for kind, text in found if kind == language]


@pytest.mark.skipif(os.name == "nt", reason="a program is a script with a first line")
def test_the_blocks_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    known: dict[str, Any] = {"__name__": "__main__"}
    for block in _blocks("python"):
        exec(block, known)
    toy, plan = known["toy"], known["plan"]
    assert known["run"].contradictions == [] and len(known["run"]) == 3
    assert known["mine"].objective >= known["best"].objective
    assert known["judged"].ratio.exact and known["online"].status == "feasible"

    Path("toy.json").write_text(json.dumps(toy.to_data()))
    Path("plan.json").write_text(json.dumps(plan))
    function = re.search(
        r"^def one_by_one.*?^    return[^\n]*\n", _blocks("python")[0], re.M | re.S
    )
    assert function is not None
    Path("mine.py").write_text(function[0])
    program = f"import sys\nopen(sys.argv[-1], 'w').write({json.dumps(plan)!r})\n"
    Path("scheduler").write_text(f"#!/usr/bin/env python3\n{program}")
    Path("scheduler").chmod(0o755)
    Path("sched.py").write_text(f"print({json.dumps(plan)!r})\n")
    commands = [line for block in _blocks("") for line in block.splitlines()]
    assert len(commands) == 7
    for command in commands:
        program, *arguments = shlex.split(command)
        assert program == "schedgap" and command_line(arguments) == 0, command
