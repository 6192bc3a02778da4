"""What is installed, by which file: environment.yml and pyproject.toml name the same packages."""

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]


def _pyproject() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [item for items in project["optional-dependencies"].values() for item in items]
    return {
        item.replace(" ", "")
        for item in [*project["dependencies"], *extras]
        if not item.startswith("schedgap[")
    }


def _environment() -> tuple[set[str], set[str]]:
    listed = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    conda = {item for item in listed if isinstance(item, str)}
    pip = {item for part in listed if isinstance(part, dict) for item in part["pip"]}
    return conda, pip


def test_environment_lists_every_dependency_with_the_same_versions() -> None:
    conda, pip = _environment()
    spelt = {item.replace(" ", "") for item in conda | pip}
    assert _pyproject() <= spelt, sorted(_pyproject() - spelt)


def test_environment_lists_nothing_else() -> None:
    conda, pip = _environment()
    names = {re.split(r"[<>=]", item)[0] for item in _pyproject()}
    extra = {re.split(r"[<>=]", item)[0].strip() for item in conda | pip} - names
    assert extra == {"python", "pip", "--editable ."}


def test_environment_asks_for_the_same_python() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f"python{project['requires-python']}" in _environment()[0]


def test_the_packages_of_the_wheel_are_the_rooms() -> None:
    import schedgap

    top = Path(schedgap.__file__).parent
    assert (top / "py.typed").exists()
    for room in ("instances", "solvers", "models", "analysis"):
        assert __import__(f"schedgap.{room}").__name__ == "schedgap"
