"""Instances from keywords and tables, their files, and how they show themselves."""

import html.parser
import json
import math
import random
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import schedgap as sg
from schedgap.errors import InputError, UsageError
from schedgap.instances.families import from_data

FAMILIES = ("hare", "elastic", "edge", "ring", "dmlrs")
SMALL = {name: sg.generate(name, preset="small", seed=2) for name in FAMILIES}
CLASSES = {
    "hare": sg.HareInstance,
    "elastic": sg.ElasticInstance,
    "edge": sg.EdgeInstance,
    "ring": sg.RingInstance,
    "dmlrs": sg.DmlrsInstance,
}
JOBS = [
    {"arrival": 0, "weight": 2.5, "rounds": 2, "tasks_per_round": 1,
     "training_time": {"fast": 1, "slow": 3}},
    {"arrival": 1, "weight": 1, "rounds": 1, "tasks_per_round": 2,
     "training_time": {"fast": 2, "slow": 4}},
]  # fmt: skip


def test_an_instance_from_lists_and_from_a_table_is_the_same() -> None:
    toy: Any = sg.instance("hare", gpus=["fast", {"kind": "slow"}], jobs=JOBS)
    assert isinstance(toy, sg.HareInstance) and toy.version == 1 and toy.name == "hare"
    assert [job.id for job in toy.jobs] == ["j1", "j2"]
    assert [(gpu.id, gpu.kind) for gpu in toy.gpus] == [("gpu1", "fast"), ("gpu2", "slow")]
    assert [kind.id for kind in toy.gpu_kinds] == ["fast", "slow"]
    flat = [
        {key: value for key, value in job.items() if key != "training_time"}
        | {f"training_time.{kind}": time for kind, time in job["training_time"].items()}
        for job in JOBS
    ]
    table = pd.DataFrame(flat)
    table["synchronization_time.fast"] = [np.nan, 0.5]
    table["synchronization_time.slow"] = [np.nan, 0.25]
    table["model"] = [None, pd.NA]
    other: Any = sg.instance("hare", gpus=np.array(["fast", "slow"]), jobs=table)
    assert other.jobs[0] == toy.jobs[0] and other.jobs[1].model is None
    assert dict(other.jobs[1].synchronization_time) == {"fast": 0.5, "slow": 0.25}
    named = pd.DataFrame(flat).set_index(pd.Index(["a", "b"], name="id"))
    changed: Any = toy.replace(jobs=named)
    assert [job.id for job in changed.jobs] == ["a", "b"] and changed.jobs[0].rounds == 2
    assert sg.verify(toy, sg.solve(toy, "srtf", time_limit=20))


@pytest.mark.parametrize("name", FAMILIES)
def test_what_a_file_says_can_be_said_by_keywords(name: str) -> None:
    data = SMALL[name].to_data()
    keys = {key: value for key, value in data.items() if key not in ("family", "version")}
    again = sg.instance(name, **keys)
    assert again == SMALL[name] and type(again) is CLASSES[name]
    for key in ("gpu_kinds", "resources", "ps_types" if name == "edge" else ""):
        keys.pop(key, None)
    shorter = sg.instance(name, **keys)
    for attribute in ("resources", "ps_types"):
        assert getattr(shorter, attribute, None) == getattr(again, attribute, None)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"jobs": JOBS}, r"^(gpu_kinds|gpus): missing key"),
        ({"gpus": 3, "jobs": JOBS}, r"^gpus: need a list"),
        ({"gpus": [3], "jobs": JOBS}, r"^gpus\[0\]: need"),
        ({"gpus": ["fast"], "jobs": [3]}, r"^jobs\[0\]: need"),
        ({"gpus": ["fast"], "jobs": [{"arrival": 0}]}, r"^jobs\[0\]"),
        ({"gpus": ["fast"], "jobs": JOBS, "wieght": 2}, r"^wieght: unknown key"),
        ({"gpus": ["fast"], "jobs": pd.DataFrame({"x": [1], "x.y": [2]})}, "both 'x' and 'x.y'"),
        ({"gpus": ["fast"], "jobs": JOBS, "meta": 3}, r"^meta: need"),
    ],
)
def test_one_line_on_what_is_wrong(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        sg.instance("hare", **keys)
    with pytest.raises(UsageError, match="did you mean 'hare'"):
        sg.instance("hair", **keys)


@pytest.mark.parametrize("kind", [["a"], {"a": []}, 3, None])
def test_names_of_the_wrong_type_are_one_line(kind: object) -> None:
    with pytest.raises(InputError):
        sg.instance("hare", gpus=[{"kind": kind}], jobs=[{}])
    with pytest.raises(InputError):
        sg.instance("edge", servers=[{}], jobs=[{"worker_type": [kind]}])


@pytest.mark.parametrize("given", [3, None, ["a"]])
def test_only_files_and_data_are_loaded(given: Any) -> None:
    with pytest.raises(InputError, match="need a file or its data, not"):
        sg.load(given)


TABLE = pd.DataFrame(
    {"id": ["a"], "arrival": [0], "weight": [1], "rounds": [1], "tasks_per_round": [1],
     "training_time.fast": [1]}
)  # fmt: skip


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pd.concat([TABLE, TABLE[["weight"]] + 6], axis=1), "a table has 2 columns 'weight'"),
        (TABLE.rename_axis("id"), "a table has 2 columns 'id'"),
        (TABLE.assign(training_time=[{"fast": 9}]), "a table has 'training_time' in two columns"),
    ],
)
def test_what_a_table_says_twice_is_refused(table: pd.DataFrame, message: str) -> None:
    with pytest.raises(InputError) as caught:
        sg.instance("hare", gpus=["fast"], jobs=table)
    assert str(caught.value) == message


@pytest.mark.parametrize("number", [Decimal("2.5"), Fraction(5, 2), np.longdouble(2.5)])
def test_numbers_of_other_classes_become_floats(number: Any) -> None:
    table = TABLE.astype(object).assign(weight=[number])
    built: Any = sg.instance("hare", gpus=["fast"], jobs=table)
    assert type(built.jobs[0].weight) is float and sg.load(built.to_data()).sha256 == built.sha256
    assert built.replace(meta={**built.meta, "x": number}).meta["x"] == 2.5


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({1, 2}, "meta.x: a value of type set is no JSON data"),
        (math.nan, "meta.x: not a finite number"),
        ([{1: 2}], "meta.x[0]: a key that is not a text"),
        ({(1, 2): 3}, "meta.x: a key that is not a text"),
        (10**400, "meta.x: number too large"),
        (Decimal("1e999"), "meta.x: not a finite number"),
    ],
    ids=["set", "nan", "number-as-key", "pair-as-key", "long", "large-decimal"],
)
def test_meta_is_what_a_file_can_hold(value: object, message: str) -> None:
    with pytest.raises(InputError) as caught:
        SMALL["ring"].replace(meta={**SMALL["ring"].meta, "x": value})
    assert str(caught.value) == message


def test_ids_are_never_given_twice() -> None:
    jobs = [{**JOBS[0]}, {**JOBS[1], "id": "j1"}]
    toy: Any = sg.instance("hare", gpus=["fast", "slow"], jobs=jobs)
    assert [job.id for job in toy.jobs] == ["j1_", "j1"]


@pytest.mark.parametrize("name", FAMILIES)
def test_files_and_mappings(name: str, tmp_path: Path) -> None:
    instance = SMALL[name]
    instance.save(tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text()) == instance.to_data()
    assert sg.load(tmp_path / "a.json") == sg.load(str(tmp_path / "a.json")) == instance
    assert sg.load(instance.to_data()) == sg.Instance.from_data(instance.to_data()) == instance
    assert type(sg.Instance.from_data(instance.to_data())) is CLASSES[name]
    with pytest.raises(InputError, match="unknown family"):
        sg.load({"family": "hair"})
    with pytest.raises(InputError, match="cannot be written"):
        instance.save(tmp_path / "no" / "a.json")


@pytest.mark.parametrize("name", FAMILIES)
def test_after_any_edits_everything_is_that_of_a_fresh_instance(name: str) -> None:
    """Cached arrays, hash and schedules of an edited instance are as if its data were read anew."""
    rng, instance = random.Random(name), SMALL[name]
    method = next(row["method"] for row in sg.methods(name) if row["kind"] == "baseline")
    for _ in range(6):
        jobs = list(instance.jobs)  # type: ignore[attr-defined]
        match rng.randrange(3):
            case 0 if len(jobs) > 2:
                jobs.pop(rng.randrange(len(jobs)))
            case 1:
                rng.shuffle(jobs)
            case _:
                k = rng.randrange(len(jobs))
                key = "iterations" if name == "ring" else "epochs" if name != "hare" else "weight"
                jobs[k] = jobs[k].replace(**{key: getattr(jobs[k], key) + 1})
        if rng.random() < 0.5:
            instance = instance.replace(jobs=jobs)
        else:
            instance = instance.model_copy(update={"jobs": tuple(jobs)})
        _ = instance.sha256, repr(instance)
        fresh = from_data(json.loads(json.dumps(instance.to_data())))
        assert instance == fresh and instance.sha256 == fresh.sha256
        assert instance.jobs == fresh.jobs and repr(instance) == repr(fresh)
    mine, theirs = (sg.solve(each, method, time_limit=30) for each in (instance, fresh))
    assert mine.objective == theirs.objective and mine.schedule == theirs.schedule


class Tags(html.parser.HTMLParser):
    """Collects the tags of a page and checks that they are closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.seen.add(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", FAMILIES)
def test_an_instance_shows_its_jobs_and_a_picture(name: str) -> None:
    for preset in ("toy", "paper"):
        instance = sg.generate(name, preset=preset)
        page, tags = instance._repr_html_(), Tags()
        tags.feed(page)
        assert (
            not tags.open and {"table", "svg", "circle"} <= tags.seen and "script" not in tags.seen
        )
        assert len(page) < 60_000
        assert all(f">{job.id}<" in page for job in instance.jobs[:12])  # type: ignore[attr-defined]


def test_names_are_escaped() -> None:
    jobs = [{**job, "id": f"<script>{k}"} for k, job in enumerate(JOBS)]
    toy = sg.instance("hare", name="<b>", gpus=["fast", "slow"], jobs=jobs)
    assert "<script" not in toy._repr_html_() and "&lt;script&gt;0" in toy._repr_html_()


def test_numpy_numbers_and_tables_in_schedules() -> None:
    toy = SMALL["hare"]
    data = sg.solve(toy, "srtf", time_limit=20).schedule
    rows = pd.DataFrame(data["assignments"])
    rows["start"] = rows["start"].astype(np.float64)
    assert sg.verify(toy, {"assignments": rows})
    rows["start"] = np.int64(0)
    assert not sg.verify(toy, {"assignments": rows})
