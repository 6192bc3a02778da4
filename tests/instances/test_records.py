"""Broken files: whatever is wrong, one InputError in one line that names file and path."""

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.errors import InputError, UsageError
from schedgap.instances import load
from schedgap.instances.generate import generate
from schedgap.instances.hare import HareInstance
from schedgap.instances.records import canonical_json, json_path, parse_json, write_json
from strategies.edits import drop, put, within

VALID: dict[str, Any] = {
    "family": "hare",
    "version": 1,
    "name": "two",
    "meta": {"time_unit": "s", "note": {"free": [1, None, True]}},
    "gpu_kinds": [{"id": "V100", "memory_gb": 16}, {"id": "T4", "memory_gb": 16}],
    "gpus": [{"id": "g1", "kind": "V100"}, {"id": "g2", "kind": "T4"}, {"id": "g3", "kind": "T4"}],
    "jobs": [
        {
            "id": "compact", "arrival": 0, "weight": 1.5, "model": "net", "rounds": 2,
            "tasks_per_round": 2, "training_time": {"V100": 1, "T4": 2.5},
            "synchronization_time": {"V100": 0, "T4": 0.5, "g3": 0.25},
        },
        {
            "id": "explicit", "arrival": 3.5, "weight": 0, "model": "net",
            "task_rounds": [
                [{"training_time": {"g1": 1, "T4": 2}}],
                [
                    {
                        "training_time": {"V100": 1, "T4": 2},
                        "synchronization_time": {"V100": 1, "T4": 0},
                    }
                ],
            ],
        },
    ],
    "switching": {"models": {"net": {"default": 3, "pipeswitch": 1, "hare": 0.1, "memory_gb": 4}}},
}  # fmt: skip


def _edited(edit) -> dict[str, Any]:
    data = copy.deepcopy(VALID)
    edit(data)
    return data


def test_the_valid_file_is_valid():
    instance = HareInstance.from_data(VALID)
    assert instance.number_of_tasks == 6 and instance.to_data() == VALID


RULES = [
    # kinds and GPUs
    (put("gpu_kinds", 1, "id", value="V100"), "gpu_kinds[1].id: duplicate id 'V100'"),
    (put("gpus", 2, "id", value="g1"), "gpus[2].id: duplicate id 'g1'"),
    (put("gpus", 2, "id", value="V100"), "gpus[2].id: 'V100' is both a GPU and a kind"),
    (put("gpus", 0, "kind", value="A100"), "gpus[0].kind: unknown kind 'A100'"),
    (put("gpus", 0, "kind", value="T4"), "gpu_kinds[0]: no GPU of kind 'V100'"),
    (put("gpus", value=[]), "gpus: empty list"),
    (put("jobs", value=[]), "jobs: empty list"),
    (put("gpu_kinds", value=[]), "gpu_kinds: empty list"),
    (put("jobs", 1, "id", value="compact"), "jobs[1].id: duplicate id 'compact'"),
    # times
    (
        drop("jobs", 0, "training_time", "T4"),
        "jobs[0].training_time: no value for GPU 'g2' (kind 'T4')",
    ),
    (
        drop("jobs", 0, "synchronization_time", "V100"),
        "jobs[0].synchronization_time: no value for GPU 'g1' (kind 'V100')",
    ),
    (
        drop("jobs", 1, "task_rounds", 1, 0, "training_time", "V100"),
        "jobs[1].task_rounds[1][0].training_time: no value for GPU 'g1' (kind 'V100')",
    ),
    (
        put("jobs", 0, "training_time", "V10O", value=1),
        "jobs[0].training_time.V10O: unknown GPU or kind",
    ),
    (
        put("jobs", 0, "training_time", "T4", value=0),
        "jobs[0].training_time.T4: must be > 0, got 0",
    ),
    (put("jobs", 0, "training_time", "T4", value=-1), "jobs[0].training_time.T4: must be > 0"),
    (
        put("jobs", 0, "training_time", "T4", value=5e-324),
        "jobs[0].training_time.T4: must be >= 1e-09, got 5e-324",
    ),
    (
        put("jobs", 0, "training_time", "T4", value=1e308),
        "jobs[0].training_time.T4: too large: must be <= 1e+12, got 1e+308",
    ),
    (
        put("jobs", 0, "synchronization_time", "T4", value=-0.5),
        "jobs[0].synchronization_time.T4: must be >= 0, got -0.5",
    ),
    (put("jobs", 0, "arrival", value=-1), "jobs[0].arrival: must be >= 0, got -1"),
    (put("jobs", 0, "weight", value=-1), "jobs[0].weight: must be >= 0, got -1"),
    (put("jobs", 0, "arrival", value=True), "jobs[0].arrival: need a number, got true"),
    (put("jobs", 0, "weight", value="1"), 'jobs[0].weight: need a number, got "1"'),
    (put("jobs", 0, "weight", value=None), "jobs[0].weight: need a number, got null"),
    (put("jobs", 0, "arrival", value=10**300), "jobs[0].arrival: too large: must be <= 1e+12"),
    (put("jobs", 0, "training_time", value={}), "jobs[0].training_time: no value for GPU 'g1'"),
    (put("jobs", 0, "training_time", value=3), "jobs[0].training_time: need an object, got 3"),
    # shapes
    (put("jobs", 0, "task_rounds", value=[[]]), "jobs[0].task_rounds[0]: empty list"),
    (put("jobs", 1, "rounds", value=1), "jobs[1]: both 'rounds' and 'task_rounds'"),
    (
        put("jobs", 1, "synchronization_time", value={"V100": 0, "T4": 0}),
        "jobs[1]: both 'synchronization_time' and 'task_rounds'",
    ),
    (drop("jobs", 0, "tasks_per_round"), "jobs[0].tasks_per_round: missing key"),
    (drop("jobs", 1, "task_rounds"), "jobs[1]: need 'rounds', 'tasks_per_round' and 'training_ti"),
    (put("jobs", 0, "rounds", value=0), "jobs[0].rounds: must be >= 1, got 0"),
    (put("jobs", 0, "rounds", value=2.0), "jobs[0].rounds: not an integer, got 2.0"),
    (put("jobs", 0, "rounds", value=True), "jobs[0].rounds: not an integer, got true"),
    (put("jobs", 0, "rounds", value=10**9), "jobs[0].rounds: too large: more than 2000000 tasks"),
    (put("jobs", 0, "rounds", value=10**300), "jobs[0].rounds: too large: must be <= 1000000000"),
    (put("jobs", 0, "rounds", value=None), "jobs[0].rounds: must not be null: leave the key out"),
    (put("jobs", 1, "task_rounds", value=[]), "jobs[1].task_rounds: empty list"),
    (put("jobs", 1, "task_rounds", 1, value=[]), "jobs[1].task_rounds[1]: empty list"),
    # keys
    (put("jobs", 0, "wieght", value=1), "jobs[0].wieght: unknown key: did you mean 'weight'?"),
    (put("jobs", 0, "\0x", value=1), 'jobs[0]["\\u0000x"]: unknown key'),
    (put("gpu", value=[]), "gpu: unknown key: did you mean 'gpus'?"),
    (put("jobs", 0, "a.b\nc", value=1), 'jobs[0]["a.b\\nc"]: unknown key'),
    (drop("jobs", 0, "arrival"), "jobs[0].arrival: missing key"),
    (drop("gpus"), "gpus: missing key"),
    (put("jobs", 0, value=3), "jobs[0]: need an object, got 3"),
    (put("jobs", value={"id": 1}), "jobs: need a list, got {"),
    # head
    (drop("family"), "family: missing key"),
    (put("family", value="har"), "family: unknown family: choose one of hare"),
    (put("family", value=["hare"]), "family: unknown family"),
    (put("version", value=2), "version: must be 1, got 2"),
    (put("version", value=True), "version: not an integer, got true"),
    (put("version", value=1.0), "version: not an integer, got 1.0"),
    (put("name", value=""), "name: must not be empty"),
    (put("name", value="x" * 201), "name: longer than 200 characters"),
    (put("meta", value=[]), "meta: need an object"),
    (drop("meta"), "meta.time_unit: missing key: name the unit of all times, such as 's'"),
    (drop("meta", "time_unit"), "meta.time_unit: missing key"),
    (put("meta", "time_unit", value=3), "meta.time_unit: need a string that is not empty"),
    # switching
    (drop("jobs", 0, "model"), "jobs[0].model: missing key: 'switching' needs it"),
    (put("jobs", 0, "model", value="x"), "jobs[0].model: no entry in switching.models"),
    (put("switching", value=None), "switching: must not be null: leave the key out"),
    (put("gpu_kinds", 0, "memory_gb", value=0), "gpu_kinds[0].memory_gb: must be > 0, got 0"),
    (
        put("switching", "models", "net", "hare", value=-1),
        "switching.models.net.hare: must be >= 0, got -1",
    ),
]


@pytest.mark.parametrize(("edit", "message"), RULES, ids=[message for _, message in RULES])
def test_each_rule_names_path_and_fault(tmp_path, edit, message):
    file = tmp_path / "bad.json"
    file.write_text(json.dumps(_edited(edit)))
    _refused(file, message)


def _refused(file: Path, message: str = "") -> str:
    with pytest.raises(InputError) as caught:
        load(file)
    text = str(caught.value)
    assert text.startswith(f"{file}: {message}")
    assert text.isprintable() and len(text) < 500
    assert caught.value.file == str(file) and caught.value.exit_code == 2
    return text


TEXT = json.dumps(VALID)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "line 1 column 1: not JSON: expecting value"),
        (b"[]", "need one JSON object"),
        (b"null", "need one JSON object"),
        (b"3", "need one JSON object"),
        (TEXT.encode() + b"{}", "line 1 column"),
        (b"\xef\xbb\xbf" + TEXT.encode(), "not JSON: starts with a byte order mark; save as UTF-8"),
        (TEXT.encode("utf-16"), "not UTF-8 text (byte 0)"),
        (TEXT.replace("two", "tw\xff").encode("latin-1"), "not UTF-8 text (byte"),
        (TEXT.replace("two", "tw\\ud800").encode(), "name: not valid Unicode text"),
        (TEXT.replace('"two"', "NaN").encode(), "name: not a finite number"),
        (TEXT.replace("2.5", "Infinity").encode(), "jobs[0].training_time.T4: not a finite number"),
        (TEXT.replace("2.5", "-1e999").encode(), "jobs[0].training_time.T4: not a finite number"),
        (TEXT.replace("2.5", "9" * 4000).encode(), "jobs[0].training_time.T4: number too large"),
        (TEXT.replace("2.5", "9" * 5000).encode(), "jobs[0].training_time.T4: number too large"),
        (TEXT.replace("2.5", "2.5e").encode(), "line 1 column"),
        (TEXT.replace('"weight": 0', '"weight": 0, "weight": 1').encode(), "jobs[1].weight: dupli"),
        (TEXT.replace('"free"', '"note": 1, "note"').encode(), "meta.note.note: duplicate key"),
        (TEXT.replace("[1, null", "[" * 60 + "]" * 59 + ", null").encode(), "nested too deep"),
        (b"[" * 100_000, "not JSON: nested too deeply"),
        (b'{"a":' * 100_000, "not JSON: nested too deeply"),
        (TEXT.replace("two", "t\nwo").encode(), "line 1 column 44: not JSON: invalid control char"),
    ],
)
def test_what_is_not_strict_json_is_refused(tmp_path, content, message):
    file = tmp_path / "bad.json"
    file.write_bytes(content)
    _refused(file, message)


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    _refused(tmp_path / "none.json", "cannot be read: no such file or directory")
    _refused(tmp_path, "cannot be read: ")
    with pytest.raises(InputError, match=r"a\\x00b: cannot be read: embedded null"):
        load("a\x00b")
    with pytest.raises(InputError, match=r"two\\nlines: cannot be read"):
        load("two\nlines")
    with pytest.raises(InputError, match="cannot be written: no such file"):
        write_json(tmp_path / "none" / "x.json", {})


# --- one break anywhere ------------------------------------------------------------------------


def _paths(data: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return the path of every value, apart from what is free under `meta`."""
    items = data.items() if isinstance(data, dict) else enumerate(data)
    found = []
    for key, value in items:
        here = (*path, key)
        if here != ("meta", "note"):
            found.append(here)
            if isinstance(value, (dict, list)):
                found += _paths(value, here)
    return found


PATHS = _paths(VALID)
ODD = [
    None, True, False, "", "x", "\n", -1, 0, -0.0, 0.5, 1e-300, 5e-324, 1e13, 1e308, 10**9, 10**17,
    10**400, [], {}, [[]], [None], {"": 0}, {"a": {}}, "V100", "g1", "é\u2028",
]  # fmt: skip


@settings(max_examples=180, deadline=None)
@given(path=st.sampled_from(PATHS), value=st.sampled_from(ODD))
def test_an_odd_value_anywhere_is_accepted_whole_or_refused_in_one_line(path, value):
    data = _edited(put(*path, value=value))
    refusal = None
    try:
        instance = HareInstance.from_data(parse_json(json.dumps(data)))
    except InputError as error:
        refusal = error
    if refusal is not None:
        assert str(refusal).isprintable() and refusal.path
    else:
        assert instance.to_data() == data
        assert repr(instance) and instance.summary() and len(instance.warnings()) <= 1


@settings(max_examples=45, deadline=None)
@given(path=st.sampled_from([p for p in PATHS if isinstance(p[-1], str)]), data=st.data())
def test_a_misspelt_key_never_passes(path, data):
    key = path[-1]
    at = data.draw(st.integers(0, len(key)))
    misspelt = key[:at] + data.draw(st.sampled_from("xX_ .\n\x00é")) + key[at:]
    broken = _edited(drop(*path))
    within(broken, path[:-1])[misspelt] = within(VALID, path)
    with pytest.raises(InputError) as caught:
        HareInstance.from_data(broken)
    assert str(caught.value).isprintable() and caught.value.path


@settings(max_examples=105, deadline=None)
@given(data=st.data())
def test_a_damaged_file_never_raises_anything_else(data, tmp_path_factory):
    raw = bytearray(TEXT.encode())
    at = data.draw(st.integers(0, len(raw) - 1))
    match data.draw(st.sampled_from(["cut", "flip", "insert", "delete", "repeat"])):
        case "cut":
            del raw[at:]
        case "flip":
            raw[at] = data.draw(st.integers(0, 255))
        case "insert":
            raw[at:at] = data.draw(
                st.sampled_from([b"\xff", b'"', b"}", b",", b"NaN", b"\xef\xbb\xbf", b"\\ud800"])
            )
        case "delete":
            del raw[at]
        case _:
            raw += raw[at:]
    file = tmp_path_factory.getbasetemp() / "damaged.json"
    file.write_bytes(raw)
    refusal = ""
    try:
        load(file)  # a flipped digit may well be another valid file
    except InputError as error:
        refusal = str(error)
    assert not refusal or (refusal.startswith(f"{file}: ") and refusal.isprintable())


# --- schema, canonical form ----------------------------------------------------------------------


SCHEMA = jsonschema.Draft202012Validator(HareInstance.schema_of_file())


def test_generated_instances_meet_the_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA.schema)
    assert SCHEMA.is_valid(VALID)
    for preset in ("toy", "small", "testbed", "ce3"):
        SCHEMA.validate(generate("hare", preset=preset, seed=1).to_data())
    SCHEMA.validate(generate("hare", preset="testbed", settings={"switching": True}).to_data())


@pytest.mark.parametrize(
    "edit",
    [
        put("jobs", 0, "wieght", value=1),
        put("jobs", 0, "rounds", value=None),
        put("jobs", 0, "rounds", value=0),
        put("jobs", 0, "task_rounds", value=[[{"training_time": {"V100": 1, "T4": 1}}]]),
        put("jobs", 1, "rounds", value=1),
        drop("jobs", 0, "rounds"),
        drop("jobs", 1, "task_rounds"),
        put("jobs", 1, "task_rounds", value=[]),
        put("jobs", 0, "arrival", value="0"),
        put("jobs", 0, "training_time", "T4", value=0),
        put("version", value=2),
        put("family", value="ring"),
        drop("meta"),
        drop("meta", "time_unit"),
        put("switching", value=None),
    ],
)
def test_the_schema_refuses_what_the_reader_refuses(edit):
    data = _edited(edit)
    assert not SCHEMA.is_valid(data)
    with pytest.raises(InputError):
        HareInstance.from_data(data)


def test_the_schema_explains_every_key():
    for name, definition in SCHEMA.schema["$defs"].items():
        assert definition["description"], name
    job = SCHEMA.schema["$defs"]["Job"]["properties"]
    assert all("description" in job[key] for key in job if key != "id")


def test_the_hash_does_not_see_name_meta_or_the_order_of_keys():
    other = {key: VALID[key] for key in reversed(VALID)} | {"name": "x", "meta": {"time_unit": "h"}}
    assert HareInstance.from_data(other).sha256 == HareInstance.from_data(VALID).sha256
    heavier = _edited(put("jobs", 0, "weight", value=1.6))
    assert HareInstance.from_data(heavier).sha256 != HareInstance.from_data(VALID).sha256
    assert canonical_json({"b": 1.0, "a": [0.1, "é"]}) == '{"a":[0.1,"é"],"b":1.0}'


def test_long_synchronization_is_warned_of_and_allowed():
    assert HareInstance.from_data(VALID).warnings() == ()
    edited = _edited(put("jobs", 0, "synchronization_time", "T4", value=4))
    (line,) = HareInstance.from_data(edited).warnings()
    assert line.startswith("jobs[0]: synchronization takes longer than training on 'g2'")


def test_paths_read_like_code():
    assert json_path(("jobs", 1, "training_time", "T4")) == "jobs[1].training_time.T4"
    assert json_path(("models", 'a"b', 0)) == 'models["a\\"b"][0]'


def test_what_users_name_cannot_break_the_line():
    assert str(UsageError("no preset 'a\nb\x1b[31m'")) == "no preset 'a\\nb\\x1b[31m'"
