"""Sessions, the speed of the computer, and the line on its change."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from toy_family import toy

from schedgap.analysis.comparing.compare import compare
from schedgap.analysis.comparing.run import Run
from schedgap.analysis.records.sessions import Session, drift, new_session, reference_seconds
from schedgap.errors import InputError

TARGETS = [toy(6, 4, 2 - n, name=f"i{n}") for n in range(3)]


def session(identity: str, *seconds: float, **changes: Any) -> Session:
    points = tuple((float(k), each) for k, each in enumerate(seconds))
    return new_session(identity, {}).replace(references=points, **changes)


def test_drift_is_the_largest_movement_on_one_host() -> None:
    a, b = session("aaaa", 1.0, 1.25, host="x"), session("bbbb", 1.1, host="x")
    c, d = session("cccc", 3.0, 3.3, host="y"), session("dddd", 9.0, host="z")
    assert drift([a, b, c, d]) == pytest.approx({"x": 0.25, "y": 0.1})
    assert drift([b, d]) == {}
    other = session("eeee", 2.0, host="x", cpu="another")
    assert drift([b, other]) == {}


def test_the_reference_task_takes_time() -> None:
    seconds = reference_seconds(lambda _: None)
    assert 0.001 < seconds < 5


def test_a_computer_that_changed_its_speed_is_announced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from schedgap import show

    run = compare(TARGETS, run=tmp_path, methods=["exact"], workers=1)
    (file,) = (tmp_path / "sessions").glob("*.json")
    for slow, words in ((0.109, 0), (0.148, 1)):
        data = json.loads(file.read_text()) | {"references": [[0.0, 0.1], [1.0, slow]]}
        file.write_text(json.dumps(data))
        run = Run(tmp_path)
        assert run.drift() == pytest.approx(slow / 0.1 - 1)
        assert len(run.warnings) == words
    assert run.warnings[0].startswith("a reference task took up to 48% longer")
    show.run(run, as_json=False)
    assert "48% longer" in capsys.readouterr().err
    show.run(run, as_json=True)
    shown = capsys.readouterr()
    assert json.loads(shown.out)["drift"] == pytest.approx(0.48)
    assert "48% longer" in shown.out and shown.err == ""


@pytest.mark.parametrize(
    ("command", "count"),
    [
        ("table --of times", 1), ("table --of summary", 1), ("table --of ratios", 0),
        ("table --of pairs", 0), ("show", 1), ("diff RUN", 0),
    ],
)  # fmt: skip
def test_a_change_of_the_speed_is_said_once_and_only_beside_times(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, count: int
) -> None:
    from schedgap.cli import run as command_line

    compare(TARGETS, run=tmp_path, methods=["exact"], workers=1)
    (file,) = (tmp_path / "sessions").glob("*.json")
    data = json.loads(file.read_text()) | {"references": [[0.0, 0.1], [1.0, 0.148]]}
    file.write_text(json.dumps(data))
    name, *more = command.split()
    others = [str(tmp_path) if word == "RUN" else word for word in more]
    assert command_line([name, str(tmp_path), *others]) == 0
    assert capsys.readouterr().err.count("48% longer") == count


def test_a_change_of_the_speed_is_said_once_for_two_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from schedgap import show

    compare(TARGETS, run=tmp_path, methods=["exact"], workers=1)
    (file,) = (tmp_path / "sessions").glob("*.json")
    data = json.loads(file.read_text()) | {"references": [[0.0, 0.1], [1.0, 0.148]]}
    file.write_text(json.dumps(data))
    show.warnings(Run(tmp_path), Run(tmp_path), times=True)
    assert capsys.readouterr().err.count("48% longer") == 1


def test_a_rerun_that_has_nothing_to_do_leaves_no_session(tmp_path: Path) -> None:
    for _ in range(2):
        compare(TARGETS, run=tmp_path, methods=["exact"], workers=1)
    assert len(list((tmp_path / "sessions").iterdir())) == 1


def test_the_speed_is_not_measured_again_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for name, brief in (("a", math.inf), ("b", math.inf), ("c", -1.0)):
        monkeypatch.setattr("schedgap.analysis.comparing.compare.BRIEF", brief)
        run = compare(TARGETS[0], run=tmp_path / name, methods=["exact"], workers=1)
        (session,) = run.sessions.values()
        found.append(session.references)
    assert found[0] == found[1] != found[2] and all(found)


def test_methods_and_instances_take_turns(tmp_path: Path) -> None:
    log = tmp_path / "log"
    names = [f"first:log={log}", "exact", f"first:log={log}:pause=0.01"]
    order: list[tuple[str, str]] = []
    compare(
        TARGETS,
        run=tmp_path / "r",
        methods=names,
        workers=1,
        on_record=lambda record, *_: (
            order.append((record.instance.name, record.label)) if record else None
        ),
    )
    rounds = [order[k : k + 3] for k in (0, 3, 6)]
    for each in rounds:  # each instance once, and all methods
        assert len({instance for instance, _ in each}) == 3
        assert len({label for _, label in each}) == 3


def test_a_broken_session_is_named(tmp_path: Path) -> None:
    run = compare(TARGETS[0], run=tmp_path, methods=["exact"], workers=1)
    (file,) = (tmp_path / "sessions").glob("*.json")
    file.write_text('{"id": "x"}')
    with pytest.raises(InputError, match=r"sessions/\w+\.json: "):
        run.table()
