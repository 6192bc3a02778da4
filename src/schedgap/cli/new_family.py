"""The command that starts a family of your own."""

import keyword
import re
import shutil
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from schedgap import show
from schedgap.cli.parser import app
from schedgap.errors import InputError, UsageError

_NEXT = """\
{folder}: family {name}, jobs on identical machines; replace its files part by part
  pip install --editable "{folder}[test]"
  python -m pytest {folder}
  schedgap methods {name}
  schedgap generate {name} --out {name}.json
  schedgap compare {name}.json
docs/adding-a-paper.md explains each part."""


@app.command("new-family", epilog="Example:  schedgap new-family mypaper --out mypaper")
def new_family(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the family.")],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="New folder. [default: the family's name]")
    ] = None,
) -> None:
    """Write a package with a family of your own: a small problem that works, and its tests."""
    from schedgap.instances.families import FAMILIES

    if not re.fullmatch("[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise UsageError(f"name '{name}': need a Python name in lower case, such as my_paper")
    if name in FAMILIES:
        raise UsageError(f"name '{name}': there is a family of this name")
    folder = out or Path(name)
    if folder.exists():
        raise InputError("exists already: give a new folder by --out", file=str(folder))
    unfinished = folder.with_name(f".{folder.name}.unfinished")  # renamed when it is complete
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        for file, text in _files(name).items():
            (unfinished / file).parent.mkdir(parents=True, exist_ok=True)
            (unfinished / file).write_text(text, encoding="utf-8")
        unfinished.rename(folder)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"cannot be written: {reason}", file=str(folder)) from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    show.lines(_NEXT.format(name=name, folder=folder))


def _files(name: str) -> dict[str, str]:
    """Return the files of the package `schedgap.template` under another name."""
    package = f"{name}_family"
    names = {
        "schedgap.template": package,
        "Template": "".join(part.capitalize() for part in name.split("_")),
        "template": name,
    }
    places = {"pyproject.toml": "pyproject.toml", "its_tests.py": f"tests/test_{name}.py"}
    files = {f"src/{package}/py.typed": ""}
    for file in (resources.files("schedgap") / "template").iterdir():
        if file.name.endswith((".py", ".toml")):
            text = file.read_text(encoding="utf-8")
            renamed = re.sub("|".join(names), lambda found: names[found[0]], text)
            files[places.get(file.name, f"src/{package}/{file.name}")] = renamed
    return files
