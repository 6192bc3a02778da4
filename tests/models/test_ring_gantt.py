"""Chart and metrics of a schedule of family `ring`."""

from dataclasses import replace

import pytest

from schedgap.models.gantt import Span, stack
from schedgap.models.ring.algorithms.sjf_bco import sjf_bco
from schedgap.models.ring.gantt import chart
from schedgap.models.ring.simulator import gpu_times, metrics, schedule_metrics, schedule_of
from strategies.ring_examples import W1, instance_of, job


def best():
    return schedule_of(W1, [1, 4], [{0: 3, 1: 1}, {1: 2, 2: 2}])


def test_jobs_on_a_server_at_once_are_as_high_as_their_shares_of_its_gpus():
    """s2 has three GPUs: one for a and two for b."""
    drawn = chart(W1, best().to_data(W1))
    assert drawn.lanes == ("s1", "s2", "s3") and drawn.unit == "slot"
    on_s2 = {bar.group: (bar.start, bar.end, bar.share, bar.offset) for bar in drawn.bars
             if bar.lane == "s2"}  # fmt: skip
    assert on_s2 == {
        "a": (0, 4, pytest.approx(1 / 3), 0),
        "b": (3, 7, pytest.approx(2 / 3), pytest.approx(1 / 3)),
    }
    assert drawn.bars[0].text == "a on s1: 3 of 4 workers, ring over 2 servers"


def test_a_job_inside_one_server_says_so():
    one = instance_of([job("a", 1, 24), job("b", 2, 24)], [3, 3])
    drawn = chart(one, schedule_of(one, [1, 1], [{0: 1}, {1: 2}]).to_data(one))
    assert [bar.text for bar in drawn.bars] == ["a on s1: 1 worker", "b on s2: 2 workers"]


def test_measures():
    # ends 4 and 7, each 4 slots where one server would take ceil(24 / 10) = 3
    assert schedule_metrics(W1, best()) == {
        "makespan_eq9": 8,
        "mean_end": 5.5,
        "extra_share": {"max": 0.25, "mean": 0.25},
    }
    told = metrics(W1, best().to_data(W1))
    assert told == {
        "makespan by (9)": 8,
        "mean completion": 5.5,
        "largest extra share": 0.25,
        "share of contention": 0,
        "share of spreading": 0.25,
        "servers per ring": 2,
        "idle slots before a GPU's last job": pytest.approx(4 * 3 / 9, abs=1e-6),
        "largest estimated load": pytest.approx(24 * 0.14),
        "unevenness of the GPUs' loads": pytest.approx(8**-0.5, abs=1e-6),
    }


def test_where_the_time_goes():
    # both at once: 8 slots each, of which 3 inside one server, 4 on two servers without the other
    together = sjf_bco(W1).schedule
    told = metrics(W1, together.to_data(W1))
    assert (told["share of contention"], told["share of spreading"]) == (4 / 8, 1 / 8)
    # the search ends at theta = 15, far above the loads of its GPUs
    assert (together.facts["theta"], round(told["largest estimated load"], 9)) == (15, 3.36)
    assert "contention of jobs up to kappa" not in told  # both jobs are larger
    larger = replace(together, facts={**together.facts, "kappa": 4})
    assert metrics(W1, larger.to_data(W1))["contention of jobs up to kappa"] == 4 / 8


def test_idle_time_is_what_lies_before_the_last_job_of_a_gpu():
    """A GPU that has a job of 3 slots and then none is not idle; one that waits for a job is."""
    one = instance_of([job("a", 1, 36), job("b", 1, 72), job("c", 2, 36)], [2])
    tail = schedule_of(one, [1, 1, 7], [{0: 1}, {0: 1}, {0: 2}])
    assert [run.slots for run in tail.runs.values()] == [3, 6, 3]
    assert gpu_times(one, tail)["idle"] == (6 - 3) / 2
    assert gpu_times(one, tail)["limit"] == pytest.approx((72 + 36) * 0.07)  # tau_j = 0.07
    assert gpu_times(one, tail)["unevenness"] == pytest.approx(1.5 / 7.5)
    short = instance_of([job("a", 1, 36), job("b", 1, 72)], [2])
    apart = schedule_of(short, [1, 1], [{0: 1}, {0: 1}])
    assert gpu_times(short, apart)["idle"] == 0


def test_bars_that_touch_share_a_lane():
    spans = [Span(0, 2, "a", ""), Span(2, 3, "b", ""), Span(2.5, 4, "c", "")]
    names, bars = stack("m", spans)
    assert names == ["m", "m (2)"] and [bar.lane for bar in bars] == ["m", "m", "m (2)"]
