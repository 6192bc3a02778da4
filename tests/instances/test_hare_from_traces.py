"""`hare` instances out of traces: times by hand, what is left out, what is refused."""

import hashlib
import math
from pathlib import Path

import pytest

from schedgap.errors import UsageError
from schedgap.instances.generate import generate
from schedgap.instances.hare.from_traces import base_kind

DATA = Path(__file__).parents[1] / "data" / "traces"
RATES = DATA / "throughputs.json"


def _make(trace=None, machines=None, rates=None, preset=None, seed=1, **settings):
    return generate(
        "hare",
        preset=preset,
        seed=seed,
        settings=settings,
        jobs_from=trace and DATA / trace,
        machines_from=machines and DATA / machines,
        rates_from=rates,
    )


def test_measured_rates_split_a_round_into_training_and_synchronization():
    instance = _make("gavel10.trace", rates=RATES, gpus=4)
    assert {gpu.kind for gpu in instance.gpus} == {"K80", "V100"} and len(instance.gpus) == 4
    b, a, _ = instance.jobs
    # TypeB, one GPU: 90 steps in 20 rounds of 4.5; 0.5 and 4.5 steps per second; no exchange
    assert (b.rounds, b.tasks_per_round, b.weight) == (20, 1, 1)
    assert b.training_time == {"K80": 9, "V100": 1} and b.synchronization_time is None
    # TypeA, two GPUs: 400 steps in 20 rounds of 20. K80 alone 2 per second: 20 / (2 x 2) = 5 s of
    # training; spread 2.5 per second: 8 s in all, 3 s of exchange. V100: 20 / (2 x 8) = 1.25 s, but
    # a round lasts 20 / 20 = 1 s only: no exchange and 1 s of training.
    assert (a.rounds, a.tasks_per_round, a.weight, a.arrival) == (20, 2, 3, 60)
    assert a.training_time == {"K80": 5, "V100": 1}
    assert a.synchronization_time == {"K80": 3, "V100": 0}
    assert "left out: 1 without a rate on 4 GPUs, 1 without a rate on V100" not in str(
        instance.meta
    )
    # TypeC on 2 GPUs runs when spread: 90 steps, but TypeA on 4 GPUs was never measured
    assert "1 without a rate on 4 GPUs" in instance.meta["source"]


def test_packed_workers_take_the_rates_of_one_server_and_lose_what_does_not_run_there():
    instance = _make("gavel10.trace", rates=RATES, placement="packed")
    assert [job.model for job in instance.jobs] == ["TypeB", "TypeA (batch size 8)"]
    # 20 steps at 3.2 per second: 6.25 s, 5 s of them training
    assert instance.jobs[1].synchronization_time == {"K80": 1.25, "V100": 0}
    assert "1 not running on K80" in instance.meta["source"]
    spread = _make("gavel10.trace", rates=RATES)
    assert [job.model for job in spread.jobs] == ["TypeB", "TypeA (batch size 8)", "TypeC"]
    only = _make("gavel10.trace", rates=RATES, placement="packed", mix="V100:1")
    assert len(only.jobs) == 3 and len(only.gpu_kinds) == 1


def test_rounds_follow_steps_and_keep_the_work():
    for settings, rounds in [
        ({"max_rounds": 5}, 5),
        ({"steps_per_round": 100}, 4),
        ({"steps_per_round": 300}, 2),
        ({"steps_per_round": 10**6}, 1),
        ({"slot_seconds": 40}, 1),  # 400 steps take 20 s on V100: no round shorter than a slot
    ]:
        job = next(
            job for job in _make("gavel10.trace", rates=RATES, **settings).jobs if job.weight == 3
        )
        assert job.rounds == rounds
        if "slot_seconds" not in settings:
            assert job.rounds * job.training_time["K80"] == pytest.approx(100)


def test_running_times_count_on_the_fastest_kind_and_shrink_with_nothing():
    instance = _make("tiresias.csv", mix="V100:1,K80:1", gpus=2)
    vgg, mystery, resnet = instance.jobs
    assert [job.id for job in instance.jobs] == ["0", "2", "1"]
    # 180 s in 20 rounds of one task: 9 s on V100, 6.5 times as long on K80 for VGG19
    assert vgg.training_time == {"V100": 9, "K80": 58.5} and vgg.synchronization_time is None
    # 240 s in 20 rounds of 12 s: 2 x 8 x 98 MB at 25 Gbit/s = 0.0627 s of exchange
    assert resnet.synchronization_time == {"V100": 0.063, "K80": 0.063}
    assert resnet.training_time["V100"] == pytest.approx(12 - 0.0627, abs=1e-3)
    assert resnet.training_time["K80"] == pytest.approx(7 * (12 - 0.0627), abs=1e-3)
    assert resnet.tasks_per_round == 4 and mystery.tasks_per_round == 2


def test_slots_are_whole_and_never_shorter_than_the_seconds():
    plain = _make(
        "philly.csv", mix="middle", rounds_cv=3, rounds_nlp=3, rounds_speech=3, rounds_rec=3
    )
    slots = _make(
        "philly.csv", mix="middle", slot_seconds=30,
        rounds_cv=3, rounds_nlp=3, rounds_speech=3, rounds_rec=3,
    )  # fmt: skip
    assert slots.time_unit == "slot of 30 s" and plain.time_unit == "s"
    for short, whole in zip(plain.jobs, slots.jobs, strict=True):
        assert whole.arrival == math.ceil(short.arrival / 30)
        for kind, seconds in short.training_time.items():
            assert whole.training_time[kind] == pytest.approx(math.ceil(seconds / 30), abs=1)
            assert whole.training_time[kind] % 1 == 0


def test_a_window_of_consecutive_usable_jobs_starts_at_time_0():
    instance = _make("philly.csv", first=2, jobs=2)
    assert [(job.id, job.arrival, job.tasks_per_round) for job in instance.jobs] == [
        ("line5", 0, 2), ("line2", 1860, 1),
    ]  # fmt: skip
    source = instance.meta["source"]
    assert source.startswith(
        "jobs 2-3 of 4 by arrival from philly.csv (philly);"
        " left out: 1 exact duplicates, 1 without GPU, 1 without running time"
    )
    assert "drawn with seed 1: rounds (at most 20), weight" in source


def test_arrivals_alone_leave_the_rest_to_the_preset():
    instance = _make("philly.csv", take="arrivals", tasks_per_round=(3,))
    assert [job.arrival for job in instance.jobs] == [0, 1800, 1800, 2700, 3660, 7200]
    assert {job.tasks_per_round for job in instance.jobs} == {3}
    assert instance.jobs[0].id == "J1" and instance.jobs[0].rounds >= 10
    assert "philly.csv (philly); left out: 1 exact duplicates: arrival" in instance.meta["source"]


def test_pods_that_never_ran_are_left_out():
    instance = _make("openb_pods.csv")
    assert [job.id for job in instance.jobs] == ["pod-1", "pod-2"]
    assert "1 without GPU, 1 without running time" in instance.meta["source"]


def test_machines_give_the_kinds_and_their_shares():
    instance = _make("tiresias.csv", machines="openb_nodes.csv", gpus=4)
    kinds = [gpu.kind for gpu in instance.gpus]
    assert kinds == ["P100", "V100M32", "V100M32", "V100M32"]
    assert [kind.memory_gb for kind in instance.gpu_kinds] == [16, 32]
    assert len(_make("tiresias.csv", machines="openb_nodes.csv").gpus) == 8
    # between K80 and V100 for the kind that the paper has no speeds for
    vgg = instance.jobs[0].training_time
    assert 1 <= vgg["P100"] / vgg["V100M32"] <= 6.5
    homogeneous = _make(machines="tiresias_cluster.csv", preset="testbed", gpus=5)
    assert [gpu.kind for gpu in homogeneous.gpus] == ["GPU"] * 5 and len(homogeneous.jobs) == 40


def test_kinds_without_rates_are_dropped_and_named():
    instance = _make("gavel10.trace", machines="openb_nodes.csv", rates=RATES)
    assert {gpu.kind for gpu in instance.gpus} == {"V100M32"}
    assert "without P100: no rates" in instance.meta["source"]
    with pytest.raises(UsageError, match=r"tiresias_cluster.csv: no rates for any of its kinds"):
        _make(machines="tiresias_cluster.csv", rates=RATES)
    assert (base_kind("V100M32"), base_kind("M60"), base_kind("T4")) == ("V100", "M60", "T4")


def test_jobs_without_a_measured_type_get_one_with_their_number_of_gpus():
    instance = _make("philly.csv", rates=RATES)
    assert [job.tasks_per_round for job in instance.jobs] == [2, 1]
    assert "1 without a rate on 4 GPUs, 1 without a rate on 8 GPUs" in instance.meta["source"]
    two, one = instance.jobs
    # the running time, 90 s, is that on the fastest kind
    length = [
        two.training_time[k] + (two.synchronization_time or {}).get(k, 0) for k in ("K80", "V100")
    ]
    assert two.rounds * min(length) == pytest.approx(90, rel=1e-3)
    assert one.rounds * min(one.training_time.values()) == pytest.approx(600, rel=1e-3)


def test_rates_alone_draw_measured_job_types():
    instance = _make(rates=RATES, preset="testbed")
    assert len(instance.jobs) == 40
    assert {job.tasks_per_round for job in instance.jobs} == {1, 2}
    b = next(job for job in instance.jobs if job.model == "TypeB")
    assert b.training_time == {"K80": 40, "V100": pytest.approx(20 / 4.5, abs=1e-3)}


def test_switching_entries_carry_the_names_of_the_trace():
    instance = _make("tiresias.csv", switching=True, slot_seconds=10)
    assert set(instance.switching.models) == {"vgg19", "resnet50", "mystery"}
    assert instance.switching.models["vgg19"].default == pytest.approx(0.328894)


def test_the_same_files_and_seed_give_the_same_instance():
    again = [_make("philly.csv", "pai_machines.csv", RATES, seed=9).to_data() for _ in range(2)]
    assert again[0] == again[1]
    files = again[0]["meta"]["files"]
    assert files["machines"]["name"] == "pai_machines.csv"
    assert files["rates"]["sha256"] == hashlib.sha256(RATES.read_bytes()).hexdigest()
    assert again[0]["name"] == "hare-paper-philly-pai_machines-throughputs-seed9"


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (
            {"trace": "philly.csv", "preset": "small"},
            "preset small takes no jobs from a file: choo",
        ),
        ({"trace": "philly.csv", "preset": "toy"}, "preset toy takes no jobs from a file: choose"),
        ({"trace": "philly.csv", "arrival_span": 3}, "option arrival_span: the jobs file decides"),
        ({"machines": "pai_machines.csv", "mix": "low"}, "option mix: the machines file decides"),
        ({"rates": RATES, "bandwidth": 10}, "option bandwidth: the rates file decides this"),
        ({"rates": RATES, "mix": "testbed"}, "no speeds for kind 'M60': choose among K80, V100"),
        ({"preset": "paper", "first": 3}, "option first: only with jobs from a file"),
        (
            {"trace": "philly.csv", "first": 9},
            r"philly.csv: 4 usable jobs, not enough for jobs=200 f",
        ),
        ({"trace": "philly.csv", "take": "arrivals", "max_rounds": 2}, "take=arrivals draws the"),
        ({"rates": RATES, "first": 3}, "option first: only with jobs from a file"),
        ({"trace": "philly.csv", "placement": "packed"}, "option placement: only with rates from"),
        ({"trace": "gavel7.trace", "format": "philly"}, "no column 'timestamp'"),
        ({"trace": "gavel7.trace", "format": "pai-machines"}, "no file of that kind is given"),
        ({"machines": "pai_machines.csv", "gpus": 11}, "10 usable GPUs, not enough for gpus=11"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(request_, message):
    with pytest.raises(Exception, match=message) as caught:
        _make(**request_)
    assert "\n" not in str(caught.value) and caught.value.exit_code == 2
    with pytest.raises(UsageError, match="4 usable jobs, not enough for jobs=5; left out: 1 exact"):
        generate("hare", jobs_from=DATA / "philly.csv", settings={"jobs": 5})
