"""`--set KEY=VALUE` sets an option of the method or the preset, whatever its name is."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

import schedgap as sg
from schedgap.cli import app

Call = Callable[..., Any]
OWN = """
def rule(instance, jobs: int = 3):
    if jobs != 5:
        raise ValueError(f"jobs {jobs}")
    return {"place": 0}
"""
CALLED = {  # command -> the functions that it passes settings on to
    "bench": (sg.generate, sg.bench),
    "generate": (sg.generate,),
    "solve": (sg.solve,),
    "worst-case": (sg.worst_case,),
}
NAMES = [
    (command, name)
    for command, functions in CALLED.items()
    for name in sorted(
        {name for each in functions for name in inspect.signature(each).parameters}
        | {"self", "cls", "method", "jobs", "send"}
    )
]


def test_these_are_all_commands_with_settings() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    having = {name for name, each in commands.items()
              if any("--set" in option.opts for option in each.params)}  # fmt: skip
    assert having == set(CALLED)


@pytest.mark.parametrize(("command", "name"), NAMES)
def test_a_setting_with_the_name_of_an_argument_is_one_line(
    schedgap: Call, toy_file: Call, tmp_path: Path, command: str, name: str
) -> None:
    setting = ("--set", f"{name}=5")
    match command:
        case "generate":
            done = schedgap(
                "generate", "hare", "--preset", "toy", "--out", tmp_path / "i", *setting
            )
            known = "preset toy has no setting"
        case "bench":
            done = schedgap("bench", "hare", "--preset", "toy", *setting)
            known = "preset toy has no setting"
        case "solve":
            done = schedgap("solve", toy_file(3, 1), "--method", "first", *setting)
            known = "method first has no option"
        case _:
            done = schedgap("worst-case", "hare", "--method", "srtf", *setting)
            known = "method srtf has no option"
    assert done.code == 2 and done.line.startswith(f"{known} '{name}'")


def test_an_option_with_the_name_of_an_argument_works(
    schedgap: Call, toy_file: Call, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(OWN)
    method = ("--method", f"{tmp_path / 'mine.py'}:rule")
    assert schedgap("solve", toy_file(3, 1), *method, "--set", "jobs=5").code == 0
    assert "jobs 4" in schedgap("solve", toy_file(3, 1), *method, "--set", "jobs=4").line


def test_a_setting_behind_the_method_yields_to_one_after_set(
    schedgap: Call, toy_file: Call, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(OWN)
    method = ("--method", f"{tmp_path / 'mine.py'}:rule:jobs=4")
    assert schedgap("solve", toy_file(3, 1), *method, "--set", "jobs=5").code == 0
