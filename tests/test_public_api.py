"""The public names of `schedgap` and their signatures are as in tests/data/public_api.txt.

What others call changes on purpose or not at all. After a change on purpose, write the file anew:

    python tests/test_public_api.py
"""

import ast
import difflib
import importlib
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path

import pydantic
import pytest

import schedgap
from schedgap import extend, proof, teach

SNAPSHOT = Path(__file__).parent / "data" / "public_api.txt"
WIDTH = 100
STEPS = ("dmlrs", "edge", "elastic", "hare", "ring")


def spelt(hint: object) -> str:
    """An annotation in words that do not depend on the version of Python: no modules, no aliases.

    `pathlib.Path` has changed its module, `Optional[X]` its representation. What an `Annotated`
    has in addition to the type is how a value is checked: not part of what one writes.
    """
    if hint is None or hint is type(None):
        return "None"
    if hint is ...:
        return "..."
    if isinstance(hint, str):
        return re.sub(r"\b(\w+\.)+(?=\w)", "", hint)
    if isinstance(hint, list):
        return f"[{', '.join(map(spelt, hint))}]"
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return spelt(arguments[0])
    if origin is typing.Literal:
        return f"Literal[{', '.join(map(repr, arguments))}]"
    if origin in (typing.Union, types.UnionType):
        words = {spelt(argument) for argument in arguments}
        return " | ".join(sorted(words, key=lambda word: (word == "None", word)))
    if origin is not None:
        return f"{spelt(origin)}[{', '.join(map(spelt, arguments))}]"
    name = getattr(hint, "__qualname__", None) or getattr(hint, "__name__", None)
    return name or repr(hint).removeprefix("typing.")


def default(value: object) -> str:
    """A default in words, without the address that Python puts into some."""
    if callable(value):
        return getattr(value, "__qualname__", type(value).__qualname__)
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))


def call(name: str, signature: inspect.Signature) -> str:
    """A signature as source: on one line if it is short, else a line for each parameter."""
    words: list[str] = []
    before = None
    for parameter in signature.parameters.values():
        if before is parameter.POSITIONAL_ONLY and parameter.kind is not before:
            words.append("/")
        if parameter.kind is parameter.KEYWORD_ONLY and before not in (
            parameter.KEYWORD_ONLY,
            parameter.VAR_POSITIONAL,
        ):
            words.append("*")
        before = parameter.kind
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}
        word = stars.get(parameter.kind, "") + parameter.name
        if parameter.annotation is not parameter.empty:
            word += f": {spelt(parameter.annotation)}"
        if parameter.default is not parameter.empty:
            word += f" = {default(parameter.default)}"
        words.append(word)
    if before is inspect.Parameter.POSITIONAL_ONLY:
        words.append("/")
    returns = signature.return_annotation
    tail = "" if returns is signature.empty else f" -> {spelt(returns)}"
    line = f"{name}({', '.join(words)}){tail}"
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"{name}(", *(f"    {word}," for word in words), f"){tail}"])


def attributes(cls: type) -> Iterator[str]:
    """What an object of ours has, apart from what every pydantic model has and from private names.

    Fields and properties read alike: which of them it is does not matter to a reader.
    """
    hints: dict[str, object] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.partition(".")[0] == "schedgap":
            hints |= inspect.get_annotations(base)
            hints |= dict.fromkeys(set(vars(base)) - set(hints))
    for name in sorted(hints):
        if name.startswith("_") or hasattr(pydantic.BaseModel, name):
            continue
        found = inspect.getattr_static(cls, name, None)
        own = f"{cls.__name__}.{name}"
        if isinstance(found, property | cached_property):
            getter = found.fget if isinstance(found, property) else found.func
            assert getter is not None
            yield f"{own}: {spelt(inspect.signature(getter).return_annotation)}"
        elif isinstance(found, classmethod | staticmethod):
            kind = type(found).__name__
            yield call(f"{kind} {own}", inspect.signature(getattr(cls, name)))
        elif inspect.isfunction(found):
            yield call(own, inspect.signature(found))
        else:
            yield f"{own}: {spelt(hints[name])}"


def described(name: str, found: object) -> str:
    """A public name with its signature; a class with its attributes."""
    if typing.get_origin(found) is not None:  # the type of a field
        return f"{name}: {spelt(found)}"
    if inspect.isclass(found):
        return "\n".join([call(f"class {name}", inspect.signature(found)), *attributes(found)])
    if callable(found):
        return call(name, inspect.signature(found))
    return f"{name}: {spelt(type(found))}"


def plain(name: str, found: Callable) -> str:
    """A step with its parameters, without types: array types change with NumPy."""
    parameters = inspect.signature(found).parameters.values()
    bare = [each.replace(annotation=each.empty) for each in parameters]
    return call(name, inspect.Signature(bare))


def public_api() -> str:
    """What the public modules give, one paragraph for each name; steps in one for each family."""
    names = [described(name, getattr(schedgap, name)) for name in sorted(schedgap.__all__)]
    further = sorted({*extend.__all__} - {*schedgap.__all__})
    names += ["# schedgap.extend", *(described(name, getattr(extend, name)) for name in further)]
    names += [
        "# schedgap.proof",
        *(described(name, getattr(proof, name)) for name in proof.__all__),
    ]
    names += [
        "# schedgap.teach",
        *(described(name, getattr(teach, name)) for name in sorted(teach.__all__)),
    ]
    for family in STEPS:
        steps = importlib.import_module(f"schedgap.steps.{family}")
        lines = [plain(name, getattr(steps, name)) for name in sorted(steps.__all__)]
        names += [f"# schedgap.steps.{family}", "\n".join(lines)]
    return "\n\n".join(names) + "\n"


def test_the_public_names_and_signatures_are_the_ones_on_file() -> None:
    before, now = SNAPSHOT.read_text(encoding="utf-8"), public_api()
    if now != before:
        lines = difflib.unified_diff(
            before.splitlines(), now.splitlines(), SNAPSHOT.name, "schedgap", lineterm=""
        )
        pytest.fail(
            "what others call has changed. If that is on purpose, write the file anew with\n"
            f"    python tests/{Path(__file__).name}\nand say so in CHANGELOG.md.\n\n"
            + "\n".join(lines),
            pytrace=False,
        )


@pytest.mark.parametrize(
    "name", ["", ".extend", ".proof", ".teach", *(f".steps.{each}" for each in STEPS)]
)
def test_names_are_at_run_time_what_type_checkers_take_them_for(name: str) -> None:
    """Two steps may have the same parameters, so the signatures do not tell them apart.

    Python runs the block for type checkers here, which imports everything at once.
    """
    module = importlib.import_module(f"schedgap{name}")
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    block = next(
        each
        for each in tree.body
        if isinstance(each, ast.If) and ast.unparse(each.test) == "TYPE_CHECKING"
    )
    typed: dict[str, object] = {}
    exec(compile(ast.Module(block.body, []), name or "schedgap", "exec"), typed)
    defined = {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}
    names = {*module.__all__} - defined
    assert len(names) > 3 and names <= typed.keys()
    for each in names - {"models"}:  # a package and a function
        assert getattr(module, each) is typed[each], each


@pytest.mark.parametrize("module", [schedgap, extend])
def test_all_public_names_can_be_listed_and_imported_at_once(module: types.ModuleType) -> None:
    names: dict[str, object] = {}
    exec(f"from {module.__name__} import *", names)
    assert names.keys() - {"__builtins__"} == {*module.__all__} <= {*dir(module)}
    assert not names.keys() & {"TYPE_CHECKING", "lazy", "read"}


def test_the_text_has_no_address_and_no_module() -> None:
    assert not re.search(
        r"0x[0-9a-f]{4}|<locals>|(?<!\w)(typing|collections|pathlib)\.", public_api()
    )


class Sample:
    """Something of every kind."""

    field: int | None = None

    def __init__(self, first: int, /, second: typing.Optional[Path], *rest: str) -> None: ...  # noqa: UP045

    @property
    def value(self) -> list[int]: ...  # type: ignore[empty-body]

    @cached_property
    def kept(self) -> typing.Literal["b", "a"]: ...  # type: ignore[empty-body]

    @staticmethod
    def still(*, key: Callable[[int], str] = str, other: int = 1) -> None: ...

    def _private(self) -> None: ...


Sample.__module__ = "schedgap.sample"


def test_each_kind_of_name_is_spelt() -> None:
    assert described("Sample", Sample).splitlines() == [
        "class Sample(first: int, /, second: Path | None, *rest: str) -> None",
        "Sample.field: int | None",
        "Sample.kept: Literal['b', 'a']",
        "staticmethod Sample.still(*, key: Callable[[int], str] = str, other: int = 1) -> None",
        "Sample.value: list[int]",
    ]


def test_a_long_signature_has_a_line_for_each_parameter() -> None:
    def many(first: int, second: str = "a" * WIDTH, **rest: float) -> bool: ...  # type: ignore[empty-body]

    assert call("many", inspect.signature(many)).splitlines() == [
        "many(",
        "    first: int,",
        f"    second: str = '{'a' * WIDTH}',",
        "    **rest: float,",
        ") -> bool",
    ]


def test_a_default_has_no_address() -> None:
    assert default(object()) == "<object object>"
    assert default(len) == "len"
    assert default("a at 0x") == "'a at 0x'"


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (typing.Optional[int], "int | None"),  # noqa: UP045
        (None | str, "str | None"),
        (typing.Annotated[float, "at least 0"], "float"),
        (tuple[int, ...], "tuple[int, ...]"),
        (Callable[..., int], "Callable[..., int]"),
        (typing.Any, "Any"),
        (typing.Self, "Self"),
        ("Later", "Later"),
        ("pd.DataFrame | None", "DataFrame | None"),
        (typing.ClassVar[str], "ClassVar[str]"),
    ],
)
def test_annotations_are_spelt_in_one_way(hint: object, words: str) -> None:
    assert spelt(hint) == words


if __name__ == "__main__":
    SNAPSHOT.write_text(public_api(), encoding="utf-8", newline="\n")
    print(f"written: {SNAPSHOT}")
