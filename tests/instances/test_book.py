"""The instances of the record book: recipes, names, hashes."""

from pathlib import Path

import pytest

from schedgap.analysis.comparing.compare import compare
from schedgap.errors import InputError, UsageError
from schedgap.instances.book import HERE, TIERS, Book, book_instances, load
from schedgap.instances.families import OWN


def test_each_family_has_five_instances_of_each_tier() -> None:
    names = {f"{family}-{tier}{k}" for family in OWN for tier in TIERS for k in range(1, 6)}
    assert {*Book().recipes} == names


def test_every_recipe_gives_the_instance_of_its_hash() -> None:
    book = Book()
    for name, recipe in book.recipes.items():
        instance = book.instance(name)
        assert (instance.name, instance.sha256) == (name, recipe.sha256)
    assert len(book.names) == len(book.recipes)  # no instance twice


def test_every_instance_says_in_one_phrase_what_it_stands_for() -> None:
    phrases = [recipe.about for recipe in Book().recipes.values()]
    assert all(10 < len(phrase) <= 90 and not phrase.endswith(".") for phrase in phrases)
    for family in OWN:
        own = [each.about for name, each in Book().recipes.items() if name.startswith(family)]
        assert len(set(own)) == len(own)


def test_a_recipe_that_no_longer_gives_its_hash_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "hare").mkdir()
    text = (HERE / "hare" / "recipes.toml").read_text()
    (tmp_path / "hare" / "recipes.toml").write_text(text.replace("seed = 1201", "seed = 1299"))
    with pytest.raises(InputError, match="the recipe of hare-a1 gives the hash"):
        Book(tmp_path).instance("hare-a1")
    assert Book(tmp_path).instance("hare-a2") == Book().instance("hare-a2")
    assert Book(tmp_path).instance("edge-a1") == Book().instance("edge-a1")  # bundled recipes


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[hare-a1", "Expected"),
        ("[hare-a1]\nabout = 'x'", "missing key"),
        ("[ring-a1]\nabout='x'\nversion='1'\nsha256='%s'" % ("0" * 64), "need a name such as"),
        ("[hare-a1]\nabout='x'\nversion='1'\nsha256='%s'\nfile='../x.json'" % ("0" * 64), "file"),
    ],
)
def test_a_broken_file_of_recipes_is_one_line(tmp_path: Path, text: str, fault: str) -> None:
    (tmp_path / "hare").mkdir()
    (tmp_path / "hare" / "recipes.toml").write_text(text)
    with pytest.raises(InputError, match=fault) as error:
        _ = Book(tmp_path).recipes
    assert str(error.value).startswith(str(tmp_path / "hare" / "recipes.toml"))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("hare-p3", ["hare-p3"]),
        ("records/hare-p3", ["hare-p3"]),
        ("records/hare/hare-p3", ["hare-p3"]),
        ("hare-p", [f"hare-p{k}" for k in range(1, 6)]),
        ("records/hare-p", [f"hare-p{k}" for k in range(1, 6)]),
        ("hare", []),
        ("hare-p9", []),
        ("records/edge/hare-p3", []),
        ("records/hare/a/b", []),
        ("records/nothing", []),
        ("hare-p3.json", []),
        ("", []),
    ],
)
def test_names_of_instances(text: str, names: list[str]) -> None:
    assert Book().named(text) == names


def test_a_family_or_all_are_named_after_records() -> None:
    assert len(Book().named("records/hare")) == 20
    assert len(Book().named("records")) == 100
    assert [each.name for each in book_instances("ring-a")] == [f"ring-a{k}" for k in range(1, 6)]


def test_an_instance_is_loaded_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load("ring-a1") == load("records/ring/ring-a1") == Book().instance("ring-a1")
    with pytest.raises(InputError, match="ring-a: names 5 instances of the record book"):
        load("ring-a")
    Book().instance("ring-a2").save("ring-a1")  # a file comes first
    assert load("ring-a1") == Book().instance("ring-a2")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("hare-z9", "choose one of hare-a1, .*, hare-p5"),
        ("hare-p33", "did you mean 'hare-p3'"),
        ("records/hare/hare-p33", "did you mean 'hare-p3'"),
        ("hre-p3", "did you mean 'hare-p3'"),
    ],
)
def test_a_name_that_is_not_in_the_book_has_near_ones(name: str, hint: str) -> None:
    with pytest.raises(InputError, match=f"^{name}: neither a file nor an instance.*{hint}"):
        load(name)
    with pytest.raises(InputError, match=f"no instance of the record book: .*{hint}"):
        compare(name)


@pytest.mark.parametrize("name", ["plan.json", "hare-p3.json", "hare"])
def test_a_missing_file_is_not_taken_for_an_instance_of_the_book(name: str) -> None:
    with pytest.raises(InputError, match=f"^{name}: cannot be read: no such file or directory$"):
        load(name)


def test_unknown_names_are_usage_errors() -> None:
    with pytest.raises(UsageError, match="hare-a1"):
        Book().instance("hare-a0")
    with pytest.raises(UsageError, match="no family"):
        Book().records("nothing")
