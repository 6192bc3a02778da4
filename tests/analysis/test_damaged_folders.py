"""Run folders that were edited, moved or copied badly: one line that says so, and nothing wrong."""

import json
from pathlib import Path

import pytest
import toy_family
from toy_family import toy

from schedgap.analysis.comparing.compare import compare
from schedgap.analysis.comparing.run import Run
from schedgap.errors import InputError

TARGET = toy(6, 4, 2, name="down")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    toy_family.register()
    compare(TARGET, run=tmp_path, methods=["exact", "first"], workers=1, time_limit=5)
    return tmp_path


def test_an_instance_that_was_changed_is_not_believed(folder: Path) -> None:
    """A guarantee or a schedule of the changed instance would be that of another experiment."""
    (file,) = (folder / "instances").glob("*.json")
    data = json.loads(file.read_text())
    data["values"][1] = 3
    file.write_text(json.dumps(data))
    with pytest.raises(InputError, match="changed: not the instance on which the methods ran") as e:
        Run(folder).instance(TARGET.sha256)
    assert e.value.file == str(file)
    with pytest.raises(InputError, match="changed"):
        Run(folder).summary()


def test_a_missing_instance_is_named_and_stored_again(folder: Path) -> None:
    (file,) = (folder / "instances").glob("*.json")
    file.unlink()
    with pytest.raises(InputError, match="'compare' stores it again") as error:
        Run(folder).table()
    assert error.value.file == str(file)
    compare(TARGET, run=folder, methods=["exact", "first"], workers=1, time_limit=5)
    assert Run(folder).table()["objective"].tolist() == [2.0, 6.0]


def test_links_to_a_folder_and_copies_of_it_count_once(folder: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(folder)
    assert len(Run(folder, link)) == len(Run(folder, folder)) == 2
