"""Solutions on disk and in a notebook."""

import json
from pathlib import Path

import pytest
from toy_family import toy

import schedgap as sg
from schedgap.errors import InputError


def test_a_saved_solution_comes_back_whole(tmp_path: Path) -> None:
    instance = toy(3, 1, 2)
    found = sg.solve(instance, "exact", time_limit=9)
    found.save(tmp_path / "a.json")
    again = sg.load_solution(tmp_path / "a.json", instance)
    assert again.to_data() == found.to_data()
    assert list(json.loads((tmp_path / "a.json").read_text())) == [
        "family", "version", "instance", "instance_sha256", "method", "engine", "kind", "options",
        "seed", "status", "sense", "objective", "bound", "seconds", "schedule", "trace", "versions",
        "proof",
    ]  # fmt: skip


def test_a_certificate_lies_beside_its_solution_and_goes_with_it(tmp_path: Path) -> None:
    instance = toy(3, 1, 2)
    file, beside = tmp_path / "a.json", tmp_path / "a.certificate.json"
    sg.solve(instance, "weak").save(file)
    certificate = sg.load_solution(file, instance).certificate
    assert certificate is not None and certificate["value"] == 0.75
    sg.solve(instance, "exact").save(file)
    assert not beside.exists()


def test_a_certificate_of_another_instance_is_refused(tmp_path: Path) -> None:
    sg.solve(toy(3, 1, 2), "weak").save(tmp_path / "a.json")
    sg.solve(toy(3, 1), "weak").save(tmp_path / "b.json")
    (tmp_path / "a.certificate.json").replace(tmp_path / "b.certificate.json")
    with pytest.raises(InputError, match=r"b\.certificate\.json: instance_sha256"):
        sg.load_solution(tmp_path / "b.json", toy(3, 1))


def test_a_solution_of_another_instance_is_refused(tmp_path: Path) -> None:
    sg.solve(toy(3, 1, 2), "exact").save(tmp_path / "a.json")
    with pytest.raises(InputError, match=r"a\.json: instance_sha256: not a solution of this"):
        sg.load_solution(tmp_path / "a.json", toy(3, 1))
    renamed = toy(3, 1, 2, name="another name")  # name and meta do not count
    assert sg.load_solution(tmp_path / "a.json", renamed).objective == 1


def test_names_are_escaped_in_a_notebook() -> None:
    found = sg.solve(toy(3, 1, name="<script>"), "exact")
    assert "<script>" not in found._repr_html_() and "&lt;script&gt;" in found._repr_html_()
    assert "status optimal, objective 1, bound 1" in repr(found)
