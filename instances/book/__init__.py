"""The record book: instances by recipe, with the best schedule and the best bound known of each.

A book is a folder with a folder `<family>` for each family, which has

- `recipes.toml`: a table for each instance, see `Recipe`;
- `records.json`: what is known of the instances, see `Records`;
- `<sha256>.json.gz`: a solution with the certificate or the proof of its bound, named by the hash
  of the file (`analysis/book`).

A book elsewhere without recipes uses this package's recipes.
"""

import os
import re
import stat
import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from schedgap.errors import InputError, UsageError, choices
from schedgap.instances import families
from schedgap.instances.families import OWN
from schedgap.instances.instance import Instance
from schedgap.instances.json_files import read_bytes, read_json, short
from schedgap.instances.records import Many, Record, validate

HERE = Path(__file__).parent
MOST_BYTES = 64 * 2**20  # limit for a file of a book, packed or not
TIERS = {
    "a": "closed in seconds",
    "b": "closed within minutes",
    "c": "open at moderate size",
    "p": "full scale",
}
Hash = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Date = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d$")]
SideName = Literal["schedule", "bound"]
LOCK = ".lock"  # file in the folder of a family
FILES = ("recipes.toml", "records.json", LOCK)  # one of them makes a folder a book


class Recipe(Record):
    """How an instance is made: by a preset, or from a file next to the recipes."""

    about: str
    """What the instance stands for, in one phrase."""
    sha256: Hash
    version: str
    """Version of schedgap that made the instance."""
    preset: str = ""
    seed: int = 0
    settings: dict[str, Any] = Field(default_factory=dict)
    file: Annotated[str, Field(pattern=r"^[\w-]+\.json$")] | None = None
    """Name of a file next to the recipes, in the place of a preset."""
    source: str = ""
    """How the file was made."""


Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f<>|]+$")]


class Finder(Record):
    """Who found a schedule or a bound, and with what effort."""

    method: Name
    options: dict[str, Any]
    engine: str | None
    seed: int | None
    versions: dict[Name, Name]
    seconds: Annotated[float, Field(ge=0)]
    """Wall-clock seconds of the method."""
    cpu_seconds: float | None
    """Seconds of processor time of the method; null if not known."""
    time_limit: float | None
    machine: str
    """Cores and system, in words."""
    load: float | None
    """Running processes of the machine when the run started; null if not known."""
    date: Date


class Side(Record):
    """One side of a record: the best schedule known, or the best bound."""

    value: float
    evidence: str
    """`rules` for a schedule; for a bound the kind of its certificate, or `tree`, a proof."""
    file: Hash
    """Hash and name of the file, without `.json.gz`."""
    by: Finder


class Entry(Record):
    """What is known of one problem variant of an instance."""

    status: Literal["closed", "open"] = "open"
    """`closed`: schedule and bound meet."""
    schedule: Side | None = None
    bound: Side | None = None

    def side(self, name: SideName) -> Side | None:
        """Return one of the sides."""
        return self.schedule if name == "schedule" else self.bound


class Change(Record):
    """A schedule or a bound that replaced a worse one."""

    date: Date
    instance: str
    problem: str
    side: SideName
    before: float | None
    value: float
    method: str


class Records(Record):
    """The content of `records.json`."""

    family: str
    version: Literal[1] = 1
    records: dict[str, dict[str, Entry]] = Field(default_factory=dict)
    """Entry by instance and problem variant; the variant "" is the instance as it stands."""
    changes: Many[Change] = ()
    """Newest first."""


class _Recipes(Record):
    instances: dict[str, Recipe]


class Book:
    """A record book.

    `folder`: its folder; by default, the book of this package. An empty folder is a new book.

    Raises
    ------
    InputError
        If the folder does not exist, or has other content.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.path = HERE if folder is None else Path(folder)
        if not self.path.is_dir():
            raise InputError("not a record book: there is no such folder", file=str(self.path))
        files = (self.path / family / name for family in OWN for name in FILES)
        if not any(file.exists() for file in files) and any(self.path.iterdir()):
            text = "not a record book: the folder has files, but no recipes and no records"
            raise InputError(text, file=str(self.path))

    def folder(self, family: str) -> Path:
        """Return the folder of a family."""
        if family not in OWN:
            raise UsageError(f"no family '{family}': {choices(family, OWN)}")
        return self.path / family

    @cached_property
    def recipes(self) -> Mapping[str, Recipe]:
        """The recipes of all families by name, in the order of the book.

        Raises
        ------
        InputError
            If a file of recipes is invalid.
        """
        found: dict[str, Recipe] = {}
        for family in OWN:
            own, bundled = (folder / family / "recipes.toml" for folder in (self.path, HERE))
            file = own if own.exists() or not bundled.exists() else bundled
            if not file.exists():
                continue
            try:
                text = read_bytes(file, most=MOST_BYTES).decode()
                listed = validate(_Recipes, {"instances": tomllib.loads(text)}).instances
                for name in listed:
                    if not re.fullmatch(rf"{family}-[{''.join(TIERS)}]\d+", name):
                        raise InputError("need a name such as hare-a1", path=short(name))
            except InputError as error:
                raise error.inside(str(file)) from None
            except ValueError as error:  # neither UTF-8 nor TOML
                raise InputError(str(error), file=str(file)) from None
            found |= listed
        return found

    @cached_property
    def names(self) -> Mapping[str, str]:
        """The name of each instance by its hash."""
        return {recipe.sha256: name for name, recipe in self.recipes.items()}

    def named(self, text: str) -> list[str]:
        """Return the instances that a text names.

        `text`: an instance, such as `hare-p3`, a tier, such as `hare-p`, or a family, perhaps after
        `records/` or `records/hare/`; `records` names all.
        """
        words = text.split("/")
        head = words[0] == "records" and bool(words.pop(0))
        if head and len(words) == 2 and words[1].startswith(f"{words[0]}-"):
            words.pop(0)
        if len(words) > 1:
            return []
        what = words[0] if words else ""
        if what in self.recipes:
            return [what]
        tier = re.fullmatch(r"([a-z]+)-([a-z])", what)
        if not head and not tier:
            return []
        return [
            name
            for name in self.recipes
            if what in ("", name.partition("-")[0]) or (tier and name.startswith(what))
        ]

    def instance(self, name: str) -> Instance:
        """Return an instance by its name.

        Raises
        ------
        UsageError
            If there is none of this name.
        InputError
            If its recipe no longer gives the instance of its hash.
        """
        if name not in self.recipes:
            raise UsageError(f"no instance '{name}': {choices(name, self.recipes)}")
        recipe, family = self.recipes[name], name.partition("-")[0]
        if recipe.file is None:
            from schedgap.instances.generate import generate  # it loads NumPy

            made = generate(
                family, preset=recipe.preset, seed=recipe.seed, settings=recipe.settings
            )
        else:
            own = self.path / family / recipe.file
            made = families.load(own if own.exists() else HERE / family / recipe.file)
        if made.sha256 != recipe.sha256:
            raise InputError(
                f"the recipe of {name} gives the hash {made.sha256[:12]}..., "
                f"not {recipe.sha256[:12]}...",
                file=str(self.path / family / "recipes.toml"),
            )
        return made.replace(name=name)

    def records(self, family: str) -> Records:
        """Return the records of a family, as they are on file at this moment.

        Raises
        ------
        InputError
            If the file is invalid.
        """
        file = self.folder(family) / "records.json"
        if not file.exists():
            return Records(family=family)
        check_plain(file)
        try:
            found = validate(Records, read_json(file))
            if found.family != family:
                raise InputError(f"must be {family!r}", path="family")
        except InputError as error:
            raise error if error.file else error.inside(str(file)) from None
        return found

    def entries(self, sha256: str) -> Mapping[str, Entry]:
        """Return what is known of an instance by problem variant; empty if it is not in the book.

        `sha256`: hash of the instance.
        """
        name = self.names.get(sha256)
        return {} if name is None else self.known[name.partition("-")[0]].records.get(name, {})

    @cached_property
    def known(self) -> Mapping[str, Records]:
        """The records of each family, read once."""
        return {family: self.records(family) for family in OWN}


def load(file: str | os.PathLike[str] | Mapping[str, object]) -> Instance:
    """Return the instance of a file, of the content of one, or of the record book.

    Parameters
    ----------
    file : path or mapping
        The file, its JSON data, or the name of an instance of the record book, such as 'hare-p3'.

    Raises
    ------
    InputError
        If the file is not a valid instance; names the file, the JSON path and the fault.
    """
    if isinstance(file, str | Path) and not os.path.lexists(file):
        book = Book()
        names = book.named(Path(file).as_posix())
        if len(names) == 1:
            return book.instance(names[0])
        if names:
            text = f"names {len(names)} instances of the record book: give one of them"
            raise InputError(f"{text}, such as {names[0]}", file=str(file))
        if near := near_names(str(file)):
            text = f"neither a file nor an instance of the record book: {near}"
            raise InputError(text, file=str(file))
    return families.load(file)


def near_names(text: str) -> str:
    """Return which names of this package's book a text may mean; empty if it is like none."""
    book = Book()
    found = re.fullmatch(r"(?:records/)?(?:\w+/)?((\w+)-\w+)", text)
    if found and found[2] in OWN:
        return choices(found[1], book.named(f"records/{found[2]}"))
    close = get_close_matches(text, book.recipes, n=1, cutoff=0.8)
    return f"did you mean '{close[0]}'?" if close else ""


def book_instances(text: str) -> Iterator[Instance]:
    """Yield the instances of this package's book that a text names; see `Book.named`."""
    book = Book()
    yield from map(book.instance, book.named(text))


def check_plain(file: Path) -> None:
    """Raise `InputError` unless a path leads to a file of moderate size, and not to a link."""
    try:
        facts = file.lstat()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot be read: {reason.lower()}", file=str(file)) from None
    if not stat.S_ISREG(facts.st_mode):
        raise InputError("not a regular file", file=str(file))
    if facts.st_size > MOST_BYTES:
        raise InputError(f"larger than {MOST_BYTES >> 20} MB", file=str(file))
