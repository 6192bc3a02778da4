"""Guarantees are evaluated once, and again if the source has changed."""

import json
from dataclasses import replace

import pytest
from toy_family import toy

from schedgap.analysis.records import guarantees
from schedgap.analysis.records.guarantees import Guarantees
from schedgap.models.family import family


@pytest.fixture
def asked(monkeypatch):
    """Return the instances for which a guarantee is evaluated, each of which counts as slow."""
    monkeypatch.setattr(guarantees, "SLOW", 0.0)
    found = []
    return found


def ask(folder, owner, instance, asked):
    def load(sha256):
        assert sha256 == instance.sha256
        asked.append(instance.name)
        return instance

    known = Guarantees(folder)
    answer = known.of(owner, "first", {}, load)(instance.sha256)
    known.save()
    return answer


def test_a_stored_guarantee_is_not_evaluated_again(tmp_path, asked):
    owner, instance = family("toy"), toy(1, 2, name="a")
    first = ask(tmp_path, owner, instance, asked)
    assert first["factor"] == 2 and asked == ["a"]
    assert ask(tmp_path, owner, instance, asked) == first and asked == ["a"]
    ask(tmp_path, owner, toy(1, 3, name="b"), asked)
    assert asked == ["a", "b"]


def test_a_guarantee_of_other_source_is_evaluated_again(tmp_path, asked, monkeypatch):
    owner, instance = family("toy"), toy(1, 2, name="a")
    ask(tmp_path, owner, instance, asked)
    monkeypatch.setattr(guarantees, "family_hash", lambda name: "other")
    ask(tmp_path, owner, instance, asked)
    assert asked == ["a", "a"]
    claims = {key: replace(each, options=("x",)) for key, each in owner.paper.guarantees.items()}
    ask(tmp_path, replace(owner, paper=replace(owner.paper, guarantees=claims)), instance, asked)
    assert asked == ["a", "a", "a"]


def test_results_of_other_source_go_when_the_file_is_written_again(tmp_path, asked, monkeypatch):
    owner, instance = family("toy"), toy(1, 2, name="a")
    ask(tmp_path, owner, instance, asked)
    first = (tmp_path / guarantees.NAME).read_text()
    monkeypatch.setattr(guarantees, "family_hash", lambda name: "other")
    ask(tmp_path, owner, instance, asked)
    second = json.loads((tmp_path / guarantees.NAME).read_text())["guarantees"]
    assert [code.partition("-")[0] for code in second] == ["other"]
    assert not set(second) & set(json.loads(first)["guarantees"])


def test_an_edited_file_is_not_believed(tmp_path, asked):
    owner, instance = family("toy"), toy(1, 2, name="a")
    file = tmp_path / guarantees.NAME
    honest = ask(tmp_path, owner, instance, asked)
    file.write_text(file.read_text().replace('"factor": 2.0', '"factor": 9.0'))
    assert '"factor": 9.0' in file.read_text()
    assert ask(tmp_path, owner, instance, asked) == honest and asked == ["a", "a"]
    assert '"factor": 9.0' not in file.read_text()  # written again


def test_another_function_of_a_family_elsewhere_is_another_guarantee(tmp_path, asked, monkeypatch):
    owner, instance = family("toy"), toy(1, 2, name="a")
    ask(tmp_path, owner, instance, asked)
    monkeypatch.setattr(guarantees, "module_hash", lambda function: "changed paper.py")
    ask(tmp_path, owner, instance, asked)
    assert asked == ["a", "a"]


@pytest.mark.parametrize("text", ["", "[1]", json.dumps({"a": 1}), "{"])
def test_a_damaged_file_is_ignored(tmp_path, asked, text):
    (tmp_path / guarantees.NAME).write_text(text)
    assert ask(tmp_path, family("toy"), toy(1, 2), asked)["factor"] == 2


def test_fast_guarantees_leave_no_file(tmp_path):
    asked = []
    ask(tmp_path, family("toy"), toy(1, 2, name="a"), asked)
    assert asked == ["a"] and not (tmp_path / guarantees.NAME).exists()


def test_each_method_and_option_has_a_guarantee_of_its_own(tmp_path):
    owner, instance, loaded = family("toy"), toy(1, 2), []
    known = Guarantees(tmp_path)
    for method, changed in (("first", {}), ("luck", {}), ("first", {"pause": 1.0})):
        promise = known.of(owner, method, changed, lambda sha256: loaded.append(1) or instance)
        promise(instance.sha256)
    assert len(loaded) == 3
