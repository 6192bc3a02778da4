"""The matrix trace x load: which files are used, and which instances are made of them."""

import shutil
from pathlib import Path

import pytest

from schedgap.errors import InputError, UsageError
from schedgap.instances.families import FAMILIES
from schedgap.instances.loads import TOLERANCE, offered_load
from schedgap.instances.traces.matrix import JOBS, trace_instances, traces_in

DATA = Path(__file__).parents[1] / "data" / "traces"


def folder(tmp_path: Path, *names: str) -> Path:
    for name in names:
        shutil.copy(DATA / name, tmp_path / name)
    return tmp_path


def test_files_are_recognised_by_content_and_grouped_by_source(tmp_path: Path) -> None:
    notes: list[str] = []
    place = folder(
        tmp_path, "philly.csv", "openb_pods.csv", "openb_nodes.csv", "pai_machines.csv",
        "gavel10.trace", "gavel7.trace", "throughputs.json",
    )  # fmt: skip
    (place / "philly.csv").rename(place / "anything.txt")
    (place / "README.md").write_text("Read me, please.\n")
    (place / "picture.csv").write_bytes(b"\xff\xfe\x00")
    (place / ".hidden").write_text("x")
    (place / "inside").mkdir()
    found = {trace.name: trace for trace in traces_in(place, notes.append)}
    assert list(found) == ["gavel-gavel10", "gavel-gavel7", "openb", "pai", "philly"]
    assert found["philly"].jobs == place / "anything.txt" and found["philly"].machines is None
    assert found["openb"].machines == place / "openb_nodes.csv"
    assert found["pai"].jobs is None and found["pai"].machines is not None
    assert found["gavel-gavel7"].rates == place / "throughputs.json"
    assert notes == [
        f"{place / name}: not recognised as a trace, left out"
        for name in ("README.md", "picture.csv")
    ]


def test_files_without_use_are_named(tmp_path: Path) -> None:
    notes: list[str] = []
    place = folder(tmp_path, "pai_machines.csv", "throughputs.json")
    shutil.copy(place / "pai_machines.csv", place / "pai_more.csv")
    assert [trace.name for trace in traces_in(place, notes.append)] == ["pai"]
    assert notes == [
        f"{place / 'throughputs.json'}: rates without a file of jobs, left out",
        f"{place / 'pai_more.csv'}: a second file of this kind, left out",
    ]


def test_a_folder_without_traces_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing\n")
    with pytest.raises(InputError, match="no trace in it: need files of philly, gavel, tiresias"):
        trace_instances(tmp_path)
    with pytest.raises(InputError, match="not a folder"):
        trace_instances(tmp_path / "notes.txt")


def test_every_family_gets_the_jobs_of_a_trace_under_each_load(tmp_path: Path) -> None:
    notes: list[str] = []
    place = folder(tmp_path, "philly.csv")
    made = trace_instances(place, loads=(1, 2), jobs=4, on_note=notes.append)
    names = [instance.name for instance in made]
    dropped = {line.partition(":")[0] for line in notes if "left out" in line}
    wanted = {f"{name}-philly-load{load}" for name in FAMILIES for load in (1, 2)}
    assert set(names) == wanted - dropped and len(names) == len(set(names))
    assert not dropped - {"ring-philly-load2"}  # its cluster must hold the largest job
    said = "\n".join(notes)
    for instance in made:
        facts = instance.meta["load"]
        assert instance.meta["trace"] == "philly" and len(instance.to_data()["jobs"]) == 4
        assert facts["reached"] == pytest.approx(offered_load(instance), rel=1e-3)
        reached = abs(facts["reached"] / facts["asked"] - 1) <= TOLERANCE
        assert reached or f"{instance.name}: load {facts['reached']:g} instead of" in said
    assert [each == other for each, other in zip(made, trace_instances(
        place, loads=("1", "2"), jobs=4), strict=True)] == [True] * len(made)  # fmt: skip


def test_seeds_take_other_jobs_of_the_trace(tmp_path: Path) -> None:
    notes: list[str] = []
    made = trace_instances(
        folder(tmp_path, "philly.csv"), families=["hare"], loads=[1], jobs=2, seeds=(0, 1, 4),
        on_note=notes.append,
    )  # fmt: skip
    first, second = made
    assert [each.name for each in made] == ["hare-philly-seed0-load1", "hare-philly-seed1-load1"]
    ids = [{job["id"] for job in each.to_data()["jobs"]} for each in (first, second)]
    assert len(ids[0] | ids[1]) == 4
    assert len(notes) == 1 and notes[0].startswith("hare-philly-seed4: left out: philly.csv: ")


def test_a_cluster_of_few_machines_is_taken_whole(tmp_path: Path) -> None:
    place = folder(tmp_path, "tiresias.csv", "tiresias_cluster.csv")
    made = trace_instances(place, families=["elastic", "ring"], loads=[0.1], jobs=3)
    assert {each.name for each in made} == {"elastic-tiresias-load0.1", "ring-tiresias-load0.1"}
    assert all(len(each.to_data()["servers"]) <= 6 for each in made)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"loads": [0]}, "option load=0: need a number >= 0.01"),
        ({"loads": ["x"]}, "option load=x: need a number"),
        ({"loads": []}, "at least one load"),
        ({"seeds": []}, "at least one load"),
        ({"jobs": 0}, "jobs 0: need an integer >= 1"),
        ({"families": ["hair"]}, "no family 'hair'"),
        ({"families": ["ring"], "jobs": JOBS * 100}, "no instance can be made"),
    ],
)
def test_bad_arguments_are_refused(
    tmp_path: Path, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        trace_instances(folder(tmp_path, "philly.csv"), **arguments)


def test_a_broken_trace_is_an_error(tmp_path: Path) -> None:
    place = folder(tmp_path, "philly.csv")
    text = (place / "philly.csv").read_text()
    (place / "philly.csv").write_text(text + "2017-10-09 07:01:55,x,1,66.0,11cb48\n")
    with pytest.raises(InputError, match="column duration"):
        trace_instances(place, families=["hare"], jobs=2)
