"""The picture of an `edge` schedule shows what runs where."""

from schedgap.models.edge.gantt import chart
from strategies.edge_examples import TOY_A, TOY_A_SCHEDULE


def test_servers_are_lanes_and_slots_begin_one_earlier():
    made = chart(TOY_A, TOY_A_SCHEDULE)
    assert made.lanes == ("edge-1", "edge-2", "cloud") and made.unit == "slot"
    bars = {(bar.lane, bar.group): bar for bar in made.bars}
    assert len(bars) == len(made.bars) == 4
    j1, j2 = bars["edge-1", "j1"], bars["edge-2", "j2"]
    assert (j1.start, j1.end, j1.text) == (2, 4, "j1 on edge-1: 2 workers gpu, PS cpu")
    assert (j2.start, j2.end, j2.text) == (1, 2, "j2 on edge-2: 2 workers gpu")


def test_segments_share_a_lane_and_a_ps_alone_has_a_bar():
    part = {"start": 2, "end": 3, "workers": {"edge-1": 1}, "ps_server": "edge-2", "overhead": 0}
    segments = [part, part | {"start": 5, "end": 8, "overhead": 1}]
    jobs = {"j1": {"segments": segments}, "j3": TOY_A_SCHEDULE["jobs"]["j3"]}
    made = chart(TOY_A, {"relaxed": ["2c-2d"], "jobs": jobs})
    assert made.lanes == ("edge-1", "edge-2", "edge-2 (2)", "cloud")
    first = [(bar.lane, bar.start, bar.end) for bar in made.bars if bar.group == "j1"]
    assert first == [("edge-1", 1, 3), ("edge-1", 4, 8), ("edge-2", 1, 3), ("edge-2", 4, 8)]
    assert made.bars[-2].text == "j3 on edge-2: 1 worker gpu, PS cpu"
    assert made.bars[-1].text == "j1 on edge-2: PS cpu, overhead 1"
