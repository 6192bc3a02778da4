"""The picture of an `elastic` schedule shows what runs where."""

import schedgap as sg
from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.gantt import chart
from strategies.elastic_examples import RING, TOY, TOY_SCHEDULE


def test_servers_are_lanes_and_slots_begin_one_earlier():
    made = chart(TOY, TOY_SCHEDULE)
    assert made.lanes == ("s1", "s2") and made.unit == "slot"
    first, second = made.bars
    assert (first.lane, first.start, first.end, first.group) == ("s1", 0, 3, "j1")
    assert first.text == "j1 on s1: 2 workers w1, 1 PS p1"
    assert (second.lane, second.start, second.end) == ("s2", 1, 2)


def test_a_bar_is_as_high_as_its_share_of_the_gpus():
    """Both jobs of the introduction use half of the bandwidth."""
    instance = sg.generate("elastic", preset="introduction")
    run = {"start": 1, "ps_type": "ps", "ps": {"server": 1}, "workers": {"server": 1}}
    jobs = {
        "A": run | {"duration": 10, "worker_type": "two"},
        "B": run | {"duration": 15, "worker_type": "one"},
    }
    assert [bar.share for bar in chart(instance, {"jobs": jobs}).bars] == [2 / 3, 1 / 3]


def test_a_parameter_server_alone_is_as_high_as_its_share_of_the_bandwidth():
    data = TOY.to_data()
    data["ps_types"] = [{"id": "p1", "demand": {"bandwidth": 3}}]
    alone = TOY_SCHEDULE["jobs"]["j1"] | {"workers": {"s1": 1}, "ps": {"s2": 1}}
    made = chart(ElasticInstance.from_data(data), {"jobs": {"j1": alone}})
    assert [bar.share for bar in made.bars] == [0.5, 0.5]  # a GPU of two; 3 of 6


def test_jobs_that_share_a_server_have_lanes_of_their_own():
    alone = TOY_SCHEDULE["jobs"]["j1"] | {"duration": 6, "workers": {"s1": 1}}
    jobs = {"j1": alone, "j2": alone | {"start": 2, "duration": 2, "ps": {"s2": 2}}}
    made = chart(TOY, {"jobs": jobs})
    assert made.lanes == ("s1", "s1 (2)", "s2")
    assert [(bar.lane, bar.group, bar.text.partition(": ")[2]) for bar in made.bars] == [
        ("s1", "j1", "1 worker w1, 1 PS p1"),
        ("s1 (2)", "j2", "1 worker w1"),
        ("s2", "j2", "2 PSs p1"),
    ]


def test_segments_of_a_ring_job_share_a_lane():
    run = {"start": 1, "duration": 2, "worker_type": "w1", "workers": {"s2": 2}}
    segments = [run, run | {"start": 5, "duration": 3}]
    schedule = {"mode": "preemptive", "restart_slots": 1, "jobs": {"j1": {"segments": segments}}}
    made = chart(RING, schedule)
    assert made.lanes == ("s1", "s2")
    assert [(bar.lane, bar.start, bar.end) for bar in made.bars] == [("s2", 0, 2), ("s2", 4, 7)]


def test_an_interrupted_job_is_visibly_one():
    """Its segments say which of how many they are, and a line leads from each to the next."""
    run = {"start": 1, "duration": 2, "worker_type": "w1", "workers": {"s1": 1, "s2": 1}}
    alone = {"worker_type": "w1", "workers": {"s1": 1}}
    segments = [run, alone | {"start": 5, "duration": 1}, alone | {"start": 6, "duration": 2}]
    segments[2] = segments[2] | {"workers": {"s2": 1}}
    schedule = {"mode": "preemptive", "restart_slots": 1, "jobs": {"j1": {"segments": segments}}}
    made = chart(RING, schedule)
    assert [(link.lane, link.start, link.to_lane, link.end) for link in made.links] == [
        ("s1", 2, "s1", 4),  # the server that both have
        ("s1", 5, "s2", 5),
    ]
    texts = {bar.text for bar in made.bars}
    assert "j1, segment 1 of 3 on s2: 1 worker w1" in texts
    assert "j1, segment 2 of 3 (from slot 6 on, after the restart) on s1: 1 worker w1" in texts
    assert chart(TOY, TOY_SCHEDULE).links == ()
