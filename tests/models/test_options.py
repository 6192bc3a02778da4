"""Options are read from the keyword arguments of a method's function, imported or not."""

import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Ge, Le
from pydantic import Field
from typing_extensions import TypeAliasType

from schedgap.errors import UsageError
from schedgap.models.family import families
from schedgap.models.method import (
    Algorithm,
    Budget,
    Keywords,
    Lazy,
    Method,
    MethodResult,
    NullProgress,
    Option,
    RunContext,
    Within,
)
from schedgap.models.options import option

METHODS = [(owner.name, method) for owner in families() for method in owner.methods]
Share = Annotated[float | Literal["all"], "of the jobs", Ge(0), Le(1)]


def rule(
    instance: Any,
    call: Any = None,
    first: Annotated[bool, "start at once"] = True,
    *,
    share: Share = "all",
    count: Annotated[int | None, Ge(1), "jobs at most"] = None,
    order: Annotated[Literal["list", "size"], "of the jobs"] = "list",
    width: Annotated[int, Field(ge=2), "GPUs"] = 4,
    stop: bool = False,
    late: "Annotated[str, 'what is late']" = "x",
    unknown: "Nowhere | None" = None,  # type: ignore[name-defined]  # noqa: F821
    **others: Any,
) -> dict[str, Any]:
    """Return what it was called with."""
    return {"first": first, "share": share, "count": count, "order": order}


EXPECTED = (
    Option("first", "bool", True, "start at once"),
    Option("share", "float", "all", "of the jobs", ("all",), 0, 1),
    Option("count", "int", None, "jobs at most", least=1),
    Option("order", "choice", "list", "of the jobs", ("list", "size")),
    Option("width", "int", 4, "GPUs", least=2),
    Option("late", "text", "x", "what is late"),
)


def test_a_parameter_with_a_default_and_a_meaning_is_an_option() -> None:
    assert tuple(Keywords(rule)) == EXPECTED
    assert len(Keywords(rule)) == 6 and Keywords(rule)[-1].name == "late"
    assert repr(Keywords(rule)) == repr(EXPECTED)


@pytest.mark.parametrize("wrap", [Algorithm, partial(Within, print)])
def test_a_wrapper_has_the_options_of_its_function(wrap: Any) -> None:
    assert tuple(Keywords(wrap(rule))) == EXPECTED


def test_a_type_with_a_name_is_what_it_stands_for() -> None:
    count = TypeAliasType("count", Annotated[int, "jobs", Ge(1)])
    assert option("count", count | None, 2) == Option("count", "int", 2, "jobs", least=1)
    assert option("count", TypeAliasType("plain", int), 2) is None


def test_a_keyword_that_is_set_is_no_option() -> None:
    named = [option.name for option in Keywords(partial(rule, share=0.5, late="y"))]
    assert named == ["first", "count", "order", "width"]


def test_what_python_does_not_know_has_no_options() -> None:
    assert tuple(Keywords(print)) == () == tuple(Keywords(map))


HOME = '''
"""A module with its own types.

from nowhere import Share
def rule(broken
"""
import math
from collections.abc import Callable
import helper_that_is_absent as absent
from .types import (
    Share,
    Order as JobOrder,
)
LEAST = 2
Count = Annotated[int, "jobs at most", Ge(LEAST)]
from typing import Annotated
from annotated_types import Ge

def decorated(function):
    return function

@decorated
def rule(
    instance: absent.Instance,
    first: Annotated[bool, "start at once"] = True,
    *, share: Share = "all", count: Count = LEAST + 1, order: JobOrder = "size",
    hear: Callable[[Clock], None] = -absent.inf, clock: Clock | None = None,
    quoted: "Annotated[int, 'as text']" = 1,
) -> absent.Schedule:
    raise ValueError

def foreign(instance, *, count: absent.Count = 2): ...
def limit(instance, *, count: Annotated[int, "jobs", Ge(absent.LEAST)] = 2): ...
def preset(instance, *, count: Count = absent.LEAST + 1): ...

class Clock:
    pass

bound = rule
'''
TYPES = """
from typing import Annotated, Literal
from annotated_types import Ge, Le
Share = Annotated[float | Literal["all"], "of the jobs", Ge(0), Le(1)]
Order: object = Annotated[Literal["list", "size"], "of the jobs"]
raise ImportError("is not run")
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package that cannot be imported, with a function in its module `rules`."""
    name = f"home_{tmp_path.name}".replace("-", "_")
    folder = tmp_path / name
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "rules.py").write_text(HOME, encoding="utf-8")
    (folder / "types.py").write_text(TYPES, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    return f"{name}.rules"


def test_the_options_of_a_lazy_function_are_read_without_running_its_module(home: str) -> None:
    assert tuple(Keywords(Lazy(f"{home}:rule"))) == (
        Option("first", "bool", True, "start at once"),
        Option("share", "float", "all", "of the jobs", ("all",), 0, 1),
        Option("count", "int", 3, "jobs at most", least=2),
        Option("order", "choice", "size", "of the jobs", ("list", "size")),
        Option("quoted", "int", 1, "as text"),
    )
    assert home not in sys.modules


NAMES = ("foreign", "limit", "preset", "bound", "missing")


@pytest.mark.parametrize("name", NAMES)
def test_what_the_source_does_not_tell_is_imported(
    name: str, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The module has names of another one, or binds the name in another way."""
    least = SimpleNamespace(LEAST=1, Count=Annotated[int, "jobs", Ge(1)], Instance=None, X=None)
    least.inf, least.Schedule = 1, None
    assert tuple(Keywords(Lazy(f"{home}:{name}"))) == ()  # it cannot be imported: no options
    monkeypatch.setitem(sys.modules, "helper_that_is_absent", least)
    monkeypatch.setitem(sys.modules, f"{home.partition('.')[0]}.types", SimpleNamespace(
        Share=Share, Order=Annotated[Literal["list", "size"], "of the jobs"]))  # fmt: skip
    source = (Path(sys.path[0]) / home.replace(".", "/")).with_suffix(".py")
    text = source.read_text(encoding="utf-8").partition("import math")[2]
    head = "from __future__ import annotations" + TYPES.partition("Share")[0]
    source.write_text(head + text, encoding="utf-8")
    named = [option.name for option in Keywords(Lazy(f"{home}:{name}"))]
    whole = ["first", "share", "count", "order"]
    assert named == {"bound": whole, "missing": []}.get(name, ["count"])


def test_a_module_that_is_absent_has_no_options() -> None:
    assert tuple(Keywords(Lazy("home_that_is_absent.rules:rule"))) == ()


def run(method: Method, options: dict[str, Any]) -> MethodResult:
    call: RunContext = RunContext(method.parse(options), None, Budget(), NullProgress())
    return method(None, call)


def echo(instance: Any, call: RunContext, *, count: Annotated[int, "jobs", Ge(1)] = 3) -> Any:
    return MethodResult(trace={"count": count})


def test_a_method_passes_its_options_as_keywords() -> None:
    method = Method("echo", "algorithm", echo, "", "")
    assert run(method, {}).trace == {"count": 3}
    assert run(method, {"count": "5"}).trace == {"count": 5}
    with pytest.raises(UsageError, match="option count=0: need an integer >= 1"):
        run(method, {"count": 0})
    with pytest.raises(UsageError, match=r"method echo has no option 'cout': choose one of count"):
        run(method, {"cout": 1})


def test_a_table_of_options_is_in_the_context_only() -> None:
    """As packages declared options before they were read from the function."""

    def old(instance: Any, call: RunContext) -> MethodResult:
        return MethodResult(trace=call.options)

    method = Method("old", "algorithm", old, "", "", options=EXPECTED[:1])
    assert run(method, {"first": "false"}).trace == {"first": False}
    given = Method("given", "algorithm", Algorithm(rule), "", "", options=EXPECTED[3:4])
    assert run(given, {"order": "size"}).schedule["order"] == "size"


def test_a_function_within_another_gets_the_options() -> None:
    def outer(function: Any, instance: Any, call: Any, **options: Any) -> Any:
        return function(instance, call, **options)

    method = Method("within", "bound", Within(outer, echo), "", "")
    assert run(method, {"count": 7}).trace == {"count": 7}


@pytest.mark.parametrize(("name", "method"), METHODS, ids=lambda each: getattr(each, "name", each))
def test_the_functions_of_the_families_are_read_as_python_reads_them(
    name: str, method: Method
) -> None:
    """What is read from the source is what the imported function declares."""

    def loaded(function: Any) -> Any:
        if isinstance(function, partial):
            return partial(loaded(function.func), *function.args, **function.keywords)
        if isinstance(function, (Algorithm, Within)):
            return loaded(function.function)
        return function.load() if isinstance(function, Lazy) else function

    assert isinstance(method.options, Keywords)
    functions = method.options._functions
    assert tuple(method.options) == tuple(Keywords(*map(loaded, functions)))


def test_reading_the_options_of_the_families_runs_no_module_of_theirs() -> None:
    """Python imports the folders of a module, to find it."""
    code = (
        "import sys; from schedgap.models.family import families; all = families();"
        "before = {*sys.modules};"
        "count = sum(len(method.options) for owner in all for method in owner.methods);"
        "new = {*sys.modules} - before;"
        "print(count, [name for name in new if not hasattr(sys.modules[name], '__path__')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    count, new = done.stdout.split(maxsplit=1)
    assert int(count) > 100 and new == "[]\n"
