"""Charts of schedules that break rules: marks stand where the violations are."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

import schedgap as sg
from schedgap.analysis.plots.charts import gantt
from schedgap.analysis.plots.marks import broken_chart
from schedgap.errors import InputError
from schedgap.instances.verdict import Violation

PAPERS = {"hare": "hare", "elastic": "a-online", "edge": "a-online", "ring": "sjf-bco",
          "dmlrs": "pd-ors"}  # fmt: skip


def broken(family: str) -> Any:
    """A schedule whose jobs start at once, or are all on one machine, as it is judged."""
    instance = sg.generate(family, preset="small", seed=1)
    data = deepcopy(sg.solve(instance, PAPERS[family]).schedule)
    if family == "dmlrs":
        for row in data["allocations"]:
            row["machine"] = instance.machines[0].id
    else:
        rows = data.get("assignments") or data["jobs"]
        for row in rows.values() if isinstance(rows, dict) else rows:
            row["start"] = 1
    return sg.judge(instance, data)


@pytest.mark.parametrize("family", PAPERS)
def test_every_broken_rule_is_marked(family: str) -> None:
    judged = broken(family)
    assert not judged
    chart = broken_chart(judged.instance, judged.schedule, judged.violations)
    assert {mark.group for mark in chart.marks} == {each.rule for each in judged.violations}
    for mark in chart.marks:  # each within a bar of its lane
        assert mark.start < mark.end and mark.lane in chart.lanes
        assert any(bar.lane == mark.lane and bar.start < mark.end and mark.start < bar.end
                   for bar in chart.bars)  # fmt: skip
    drawn = judged.gantt(compare_with=sg.solve(judged.instance, PAPERS[family]))
    names = [trace.name for trace in drawn.data]
    assert all(f"breaks {each.rule}" in names for each in judged.violations)
    assert drawn.layout.annotations[0].text.startswith("by-hand breaks V")
    assert gantt(chart).layout.showlegend


def marks(where: tuple[str, ...]) -> list[tuple[str, float, float]]:
    """The marks for one violation of a schedule of two jobs on GPU1 and one on GPU2."""
    toy = sg.instance(
        "hare",
        gpus=["g", "g"],
        jobs=[
            {"id": job, "arrival": 0, "weight": 1, "rounds": 1, "tasks_per_round": 1,
             "training_time": {"g": 4}}
            for job in "ABC"
        ],
    )  # fmt: skip
    rows = [
        {"job": job, "round": 1, "task": 1, "gpu": gpu, "start": start}
        for job, gpu, start in (("A", "gpu1", 0), ("B", "gpu1", 3), ("C", "gpu2", 1))
    ]
    rule = Violation("V9", where, 1, "why")
    chart = broken_chart(toy, {"assignments": rows}, [rule])
    assert all((mark.group, mark.text) == ("V9", "why") for mark in chart.marks)
    return [(mark.lane, mark.start, mark.end) for mark in chart.marks]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (("A",), [("gpu1", 0, 4)]),
        (("A round 1 task 1",), [("gpu1", 0, 4)]),
        (("A round 1 task 1", "gpu1", "B round 1 task 1"), [("gpu1", 3, 4)]),  # they overlap
        (("A", "C"), [("gpu1", 0, 4)]),
        (("gpu2",), [("gpu2", 1, 5)]),
        (("gpu1", "4"), [("gpu1", 3, 4)]),
        (("gpu1", "kind", "2", "5"), [("gpu1", 1, 5)]),
        (("C", "3"), [("gpu2", 2, 3)]),
        (("C", "99"), [("gpu2", 1, 5)]),
        (("nobody",), []),
    ],
)
def test_a_mark_covers_what_is_named(
    where: tuple[str, ...], expected: list[tuple[str, float, float]]
) -> None:
    assert marks(where) == expected


def test_what_is_no_schedule_is_not_drawn() -> None:
    toy = sg.generate("ring", preset="small", seed=1)
    rule = Violation("V0", ("schedule",), 1, "no list")
    with pytest.raises(InputError, match=r"cannot be drawn: it breaks V0: no list"):
        broken_chart(toy, {"jobs": 3}, [rule])


@pytest.mark.parametrize("end", [float("inf"), float("nan"), 10**30, 10**400])
def test_a_plan_without_finite_times_is_drawn_on_paper_or_refused(
    end: float, tmp_path: Path
) -> None:
    toy = sg.generate("ring", preset="small", seed=1)
    data = deepcopy(sg.solve(toy, "sjf-bco").schedule)
    data["jobs"][0]["end"] = end
    try:
        sg.judge(toy, data).gantt().save(tmp_path / "plan.svg")
    except InputError as error:
        assert "cannot be drawn" in str(error)  # noqa: PT017
    else:
        assert (tmp_path / "plan.svg").stat().st_size > 1000


def test_an_empty_plan_is_drawn_on_paper(tmp_path: Path) -> None:
    toy = sg.generate("hare", preset="small", seed=1)
    sg.judge(toy, {"assignments": []}).gantt().save(tmp_path / "plan.svg")
    assert (tmp_path / "plan.svg").stat().st_size > 1000
