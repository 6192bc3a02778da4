"""Families from outside: what `register` and the entry points accept, and what they say."""

import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import toy_family

import schedgap as sg
from schedgap import cli
from schedgap.errors import SchedgapError, UsageError
from schedgap.instances.families import FAMILIES, GROUP, OWN, Families, from_data
from schedgap.instances.generate import Generator
from schedgap.instances.mutations import Space
from schedgap.models import families, family

OUTSIDE = replace(toy_family.FAMILY, instances=toy_family.ToyInstance)


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    module = ModuleType("toy_home")
    monkeypatch.setitem(sys.modules, "toy_home", module)
    yield module
    FAMILIES.remove("toy")


def test_a_registered_family_is_known(home: ModuleType) -> None:
    home.FAMILY = OUTSIDE  # type: ignore[attr-defined]
    sg.register(OUTSIDE)
    sg.register(OUTSIDE)  # as when a cell is run again
    assert family("toy") is OUTSIDE and [*FAMILIES] == [*OWN, "toy"]
    data = toy_family.toy(3, 1).to_data()
    assert from_data(data) == toy_family.toy(3, 1)
    with pytest.raises(UsageError, match="family toy generates no instances: it has files only"):
        sg.generate("toy")


def test_what_no_child_process_can_import_is_not_registered() -> None:
    with pytest.raises(UsageError, match="family toy: child processes cannot import it; write it"):
        sg.register(OUTSIDE)


def test_a_name_is_taken_once(home: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    home.FAMILY = OUTSIDE  # type: ignore[attr-defined]
    sg.register(OUTSIDE)
    other, module = replace(OUTSIDE), ModuleType("other_home")
    module.FAMILY = other  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "other_home", module)
    with pytest.raises(UsageError, match="family toy: the name is taken by toy_home"):
        sg.register(other)


METHODS = OUTSIDE.methods


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"name": "My Family"}, "name 'My Family': need a lower-case identifier"),
        ({"name": "game"}, 'instances: ToyInstance needs the field `family: Literal["game"]`'),
        ({"instances": None}, "instances: need a subclass of Instance"),
        ({"instances": dict}, "instances: need a subclass of Instance"),
        ({"generator": object()}, "generator: need a Generator"),
        ({"methods": ()}, "methods: need at least one Method"),
        ({"methods": (print,)}, "methods: need at least one Method"),
        ({"methods": (*METHODS, METHODS[0])}, f"methods: '{METHODS[0].name}' occurs twice"),
        ({"aliases": {"x": "nothing"}}, "aliases: no method 'nothing'"),
        ({"methods": (replace(METHODS[0], kind="rule"),)}, "method scan: kind 'rule': need one of"),
        ({"methods": (replace(METHODS[0], run=None),)}, "method scan: run cannot be called"),
        ({"objective": None}, "objective: cannot be called"),
        ({"title": None}, "title: NoneType, need str"),
        ({"paper": None}, "paper: NoneType, need Paper"),
        ({"programs": []}, "programs: list, need Mapping"),
        ({"programs": {"paper": print}}, "programs: 'paper' is no Program"),
        ({"generator": Generator((), "small")}, "generator: no preset 'small', its default"),
        ({"mutations": Space({"jobs": 3})}, "mutations: instances have no list 'jobs'"),
        ({"mutations": Space(5)}, "mutations: need a Space"),  # type: ignore[arg-type]
        ({"methods": (replace(METHODS[0], name="a,b:c"),)}, "method 'a,b:c': need a name of"),
        ({"methods": (replace(METHODS[0], name=""),)}, "method '': need a name of letters"),
        ({"methods": (replace(METHODS[0], summary=None),)}, "method scan: summary and source"),
    ],
)
def test_a_family_that_breaks_the_contract_is_refused(changes: Any, said: str) -> None:
    plain = changes if "aliases" in changes else {"aliases": {}} | changes
    with pytest.raises(UsageError) as caught:
        sg.register(replace(OUTSIDE, **plain))
    assert str(caught.value).startswith(f"the family cannot be registered: {said}")


def test_what_is_no_family_is_refused() -> None:
    with pytest.raises(UsageError, match="FAMILY is of type dict, not Family"):
        sg.register({})  # type: ignore[arg-type]


# --- entry points ----------------------------------------------------------------------------


def install(folder: Path, name: str, module: str, source: str) -> None:
    """Write a package as an installer would, with its entry point."""
    (folder / f"{module}.py").write_text(source)
    facts = folder / f"{module}-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = {module}\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(FAMILIES, "_known", dict(FAMILIES._known))
    FAMILIES.__dict__.pop("_installed", None)
    return tmp_path


@pytest.fixture(autouse=True)
def forget(_toy: None) -> Iterator[None]:
    toy_family.unregister()
    yield
    FAMILIES.__dict__.pop("_installed", None)


def test_installed_families_are_found(site: Path) -> None:
    source = "import toy_family\nfrom dataclasses import replace\n"
    install(site, "toy", "toy_installed", source + "FAMILY = replace(toy_family.FAMILY, "
            "instances=toy_family.ToyInstance)\n")  # fmt: skip
    assert "toy" in FAMILIES and FAMILIES["toy"].package == "toy_installed"
    assert [each.name for each in families()] == [*OWN, "toy"]
    assert sg.methods("toy")[0]["family"] == "toy"


def test_a_solution_names_the_version_of_the_package(site: Path) -> None:
    install(site, "toy", "toy_dated", "import toy_family\nfrom dataclasses import replace\n"
            "FAMILY = replace(toy_family.FAMILY, instances=toy_family.ToyInstance)\n")  # fmt: skip
    solution = sg.solve(toy_family.toy(3, 1))
    assert solution.objective == 1 and solution.to_data()["versions"]["toy_dated"] == "1.0"


def test_of_a_package_that_is_not_installed_the_family_is_named() -> None:
    for use in (lambda: sg.generate("allox"), lambda: sg.load({"family": "allox"}),
                lambda: family("allox"), lambda: sg.methods("allox")):  # fmt: skip
        with pytest.raises(SchedgapError, match=r"dmlrs, or install the package that has 'allox'$"):
            use()


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import no_such_module_at_all", "ModuleNotFoundError: No module named 'no_such_module"),
        ("1 / 0", "ZeroDivisionError"),
        ("x = 1", "AttributeError"),
        ("FAMILY = 3", "FAMILY is of type int, not Family"),
        ("import sys; sys.exit(0)", "SystemExit: 0"),
        ("raise BaseException('x')", "BaseException: x"),
    ],
)
def test_an_installed_family_that_is_broken_is_named(site: Path, source: str, said: str) -> None:
    install(site, "toy", f"toy_broken{abs(hash(source))}", source)
    with pytest.raises(UsageError, match="family toy of package toy_broken") as one:
        family("toy")
    assert said in str(one.value) and "\n" not in str(one.value)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        assert [each.name for each in families()] == list(OWN)  # the others can be used
    assert [str(each.message) for each in heard] == [f"left out: {one.value}"]
    assert (one.value.__cause__ is None) == (source == "FAMILY = 3")
    for use in (lambda: sg.generate("toy"), lambda: sg.load({"family": "toy"})):
        with pytest.raises(UsageError, match=re.escape(str(one.value))):
            use()


def test_of_two_packages_with_one_name_the_second_is_named(site: Path) -> None:
    for package in ("toy_one", "toy_two"):
        install(site, "toy", package, "FAMILY = 3")
    with pytest.warns(UserWarning, match="toy of package toy_two is left out: toy_one has one"):
        assert FAMILIES["toy"].package == "toy_one"


def test_a_warning_is_one_line_of_the_command_line(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(site, "toy", "toy_unusable", "FAMILY = 3")
    said = "family toy of package toy_unusable cannot be used: FAMILY is of type int, not Family"
    for _ in range(2):
        assert cli.run(["methods"]) == 0
        assert capsys.readouterr().err == f"schedgap: left out: {said}\n"


def test_the_names_of_this_package_are_its_own(site: Path) -> None:
    install(site, "hare", "toy_thief", "FAMILY = None")
    assert FAMILIES["hare"].models == "schedgap.models.hare"
    assert isinstance(FAMILIES, Families) and len(FAMILIES) == len(OWN)


def test_registering_looks_into_no_module_that_loads_others() -> None:
    """A module in `sys.modules` may import, or fail, when it is asked for a name, as Pyomo's do."""

    class Lazy(ModuleType):
        def __getattr__(self, name: str) -> object:
            raise RuntimeError(f"asked for {name}")

    sys.modules["lazy_of_others"] = Lazy("lazy_of_others")
    try:
        with pytest.raises(UsageError):
            sg.register(OUTSIDE)  # in no module: only its own complaint, none of the lazy one
    finally:
        del sys.modules["lazy_of_others"]
