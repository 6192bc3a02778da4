"""The picture of a `dmlrs` schedule shows what stays where."""

from schedgap.models.dmlrs.gantt import chart
from strategies.dmlrs_examples import TOY, TOY_SCHEDULE, row


def test_machines_are_lanes_and_slots_begin_one_earlier():
    made = chart(TOY, TOY_SCHEDULE)
    assert made.lanes == ("m1", "m2") and made.unit == "slot"
    bars = [(bar.lane, bar.group, bar.start, bar.end) for bar in made.bars]
    assert bars == [
        ("m1", "j1", 0, 2), ("m1", "j2", 2, 3), ("m2", "j2", 0, 1), ("m2", "j3", 1, 3),
    ]  # fmt: skip
    assert {bar.text for bar in made.bars} == {f"{j}: 2 workers, 1 PS" for j in ("j1", "j2", "j3")}


def test_a_change_begins_a_bar_and_jobs_together_have_lanes():
    rows = [
        row("j1", 1, "m1", 1, 1),
        row("j1", 2, "m1", 1, 0),
        row("j1", 2, "m2", 0, 2),
        row("j2", 2, "m1", 1, 1),
    ]
    made = chart(TOY, {"admitted": ["j1", "j2"], "allocations": rows})
    assert made.lanes == ("m1", "m1 (2)", "m2")
    texts = [(bar.lane, bar.start, bar.end, bar.text) for bar in made.bars]
    assert texts == [
        ("m1", 0, 1, "j1: 1 worker, 1 PS"), ("m1", 1, 2, "j1: 1 worker"),
        ("m1 (2)", 1, 2, "j2: 1 worker, 1 PS"), ("m2", 1, 2, "j1: 2 PSs"),
    ]  # fmt: skip
