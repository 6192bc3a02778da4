"""Generated instances of family `ring`: reproducible, in their ranges, from traces."""

from collections import Counter

import pytest

from schedgap.errors import UsageError
from schedgap.instances.generate import presets
from schedgap.models.ring.rates import NEVER, no_schedule, rate_table
from strategies.generated import maker
from strategies.ring_examples import W1, W2, W3

made = maker("ring")

NAMES = (
    "toy", "toy-pcmax", "toy-mixed", "small", "small-forced", "medium", "paper", "paper-10",
    "contended",
)  # fmt: skip


def test_the_presets():
    assert tuple(presets("ring")) == NAMES


@pytest.mark.parametrize("preset", NAMES)
def test_a_seed_gives_the_same_bytes_and_another_seed_others(preset):
    assert made(preset, 3).to_data() == made(preset, 3).to_data()
    assert (made(preset, 3) != made(preset, 4)) == presets("ring")[preset].seeded


@pytest.mark.parametrize(("preset", "example"), [("toy", W1), ("toy-pcmax", W2), ("toy-mixed", W3)])
def test_the_toys_are_the_worked_examples(preset, example):
    instance = made(preset)
    view, expected = rate_table(instance), rate_table(example)
    assert [job.model_dump() for job in instance.jobs] == [job.model_dump() for job in example.jobs]
    assert view.server_gpus == expected.server_gpus and instance.horizon == example.horizon
    for j, most in enumerate(expected.most_servers):
        for n in range(1, most + 1):
            assert view.rates(j, n) == expected.rates(j, n)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("preset", "jobs", "servers", "gpus", "slots"),
    [
        ("small", 6, 3, (1, 6), (2, 8)),
        ("small-forced", 6, 3, (4, 5), (2, 4)),
        ("medium", 20, 5, (1, 6), (2, 8)),
    ],
)
def test_small_presets_keep_to_their_ranges(preset, seed, jobs, servers, gpus, slots):
    instance = made(preset, seed)
    assert (len(instance.jobs), len(instance.servers)) == (jobs, servers)
    assert no_schedule(instance) is None
    table = rate_table(instance)
    for j, job in enumerate(instance.jobs):
        assert gpus[0] <= job.gpus <= gpus[1]
        rate = table.rate(j, 1, 0)
        assert 10 <= rate <= 20 and job.iterations % rate == 0
        assert slots[0] <= table.slots(j, 1, 0) <= slots[1]
        assert table.worst_slots[j] < NEVER


def test_in_small_forced_any_two_jobs_meet():
    # two rings of 4 or 5 on three servers of 3 are each on two servers or more
    instance = made("small-forced", 1)
    assert [server.gpus for server in instance.servers] == [3, 3, 3]
    assert min(rate_table(instance).fewest_servers) == 2


@pytest.mark.parametrize(("preset", "servers"), [("paper", 20), ("paper-10", 10)])
def test_the_paper_presets_keep_to_section_7(preset, servers):
    instance = made(preset, 1)
    assert len(instance.servers) == servers
    assert {server.gpus for server in instance.servers} <= {4, 8, 16, 32}
    sizes = Counter(job.gpus for job in instance.jobs)
    assert sizes == {1: 80, 2: 14, 4: 26, 8: 30, 16: 8, 32: 2}
    assert [job.gpus for job in instance.jobs] != sorted(job.gpus for job in instance.jobs)
    table = rate_table(instance)
    for j, job in enumerate(instance.jobs):
        (tau,) = table.iteration_slots(j, 1)
        assert 0.01 - 1e-12 <= tau <= 0.05 * 0.85 + 1e-12
        assert 1000 <= job.iterations <= 6000
        assert 50 - 1e-9 <= job.iterations * tau <= 300 + 1e-9
        assert job.forward_time_per_sample * 32 / job.backward_time == pytest.approx(2 / 3)


@pytest.mark.parametrize("preset", ["paper", "contended"])
def test_servers_and_jobs_are_drawn_apart(preset):
    few, many = (made(preset, 3, servers=number) for number in (10, 20))
    assert few.jobs == many.jobs and few.overhead_per_server == many.overhead_per_server
    assert few.servers == many.servers[:10]
    other = made(preset, 3, jobs=16)
    assert other.servers == many.servers and other.jobs != many.jobs[:16]
    times = [[round(rate_table(each).estimate[j] / each.jobs[j].iterations, 9) for j in range(16)]
             for each in (many, other)]  # fmt: skip
    assert times[0] == times[1]  # times per iteration; only sizes depend on the number of jobs


@pytest.mark.parametrize(("preset", "share", "crowd"), [("paper", 0.15, 8), ("contended", 0.5, 4)])
def test_the_extra_share_is_met_in_the_reference_state(preset, share, crowd):
    instance = made(preset, 2)
    table = rate_table(instance)
    overheads = []
    for j, job in enumerate(instance.jobs):
        if job.gpus > 1:
            (alone,) = table.iteration_slots(j, 1)
            servers = min(job.gpus, crowd)
            slower = table.iteration_slots(j, servers)[crowd - 1] - alone
            overhead = instance.overhead_per_server * (servers - 1)
            half = alone * share / (1 - share) / 2
            assert slower - overhead == pytest.approx(half)
            overheads.append(overhead / half)
    assert max(overheads) == pytest.approx(1)  # so at most `share` of the time is extra


def test_fewer_jobs_keep_the_proportions():
    # a tenth of 80, 14, 26, 30, 8, 2 is 8, 1.4, 2.6, 3, 0.8, 0.2: remainders .8 and .6 win
    instance = made("paper", jobs=16)
    assert Counter(job.gpus for job in instance.jobs) == {1: 8, 2: 1, 4: 3, 8: 3, 16: 1}


@pytest.mark.parametrize(
    ("preset", "settings", "message"),
    [
        ("paper", {"extra_share": 0.8}, "option extra_share=0.8: need a number < 0.8"),
        (
            "paper",
            {"bandwidth_within": 10},
            "option bandwidth_within: must be larger than bandwidth_between",
        ),
        (
            "paper",
            {"servers": 1, "server_gpus": "4"},
            "option servers: a job requests 32 GPUs, but the cluster has 4: "
            "take more servers or another seed",
        ),
        (
            "paper",
            {"job_gpus": "one:3"},
            "option job_gpus: need numbers of GPUs with their shares, as 1:80,2:14",
        ),
        (
            "paper",
            {"extra_share": 0.75, "job_gpus": "2:1", "reference_crowd": 2},
            None,
        ),
        ("small", {"job_gpus": "13-14"}, None),
        ("paper", {"slot_seconds": 30}, "option slot_seconds: only with jobs from a file"),
    ],
)  # fmt: skip
def test_what_is_refused(preset, settings, message):
    with pytest.raises(UsageError) as refused:
        made(preset, **settings)
    assert str(refused.value).startswith(message or "option ")


def test_a_cluster_of_lone_gpus_has_no_latency():
    assert made("paper", job_gpus="1:1").overhead_per_server == 0


@pytest.mark.parametrize("trace", ["philly.csv", "tiresias.csv", "muri.csv"])
def test_jobs_of_a_trace_bring_gpus_and_running_time(trace):
    instance = made(trace=trace)
    table = rate_table(instance)
    assert no_schedule(instance) is None
    assert "GPUs, running time" in instance.meta["source"]
    assert min(table.best_slots) >= 1 and instance.horizon >= 4 * table.longest


def test_tiresias_jobs_keep_their_iterations():
    # 1 GPU, 600 iterations in 180 s, 3 slots of a minute
    instance = made(trace="tiresias.csv")
    first = instance.jobs[0]
    table = rate_table(instance)
    assert (first.gpus, first.iterations) == (1, 600)
    assert table.rates(0, 1) == (200,) and table.best_slots[0] == 3


def test_a_job_of_a_trace_takes_a_slot_at_least_and_may_fill_the_cluster():
    # 180 s in slots of ten minutes; one GPU in all
    instance = made(trace="tiresias.csv", servers=1, server_gpus="1", slot_seconds=600)
    assert {job.gpus for job in instance.jobs} == {1}
    assert rate_table(instance).estimate[0] == pytest.approx(1)


def test_jobs_for_a_part_of_a_gpu_are_left_out():
    with pytest.raises(UsageError, match="for a part of a GPU"):
        made(trace="openb_pods.csv", jobs=1000)


def test_small_jobs_fit_into_the_cluster():
    instance = made("small", gpus_per_server="1-1", jobs=30)
    assert {job.gpus for job in instance.jobs} == {1, 2, 3}


def test_servers_of_a_file_bring_their_gpus():
    instance = made(trace="tiresias.csv", nodes="tiresias_cluster.csv", servers=2)
    assert len(instance.servers) == 2
    assert "2 of" in instance.meta["source"]
    with pytest.raises(UsageError, match="usable machines, not enough for servers=10000"):
        made(nodes="tiresias_cluster.csv", servers=10_000)


def test_a_longer_slot_makes_shorter_jobs_at_the_same_speed_of_links():
    minute, two = (made(trace="muri.csv", slot_seconds=s) for s in (60, 120))
    assert two.bandwidth_between == 2 * minute.bandwidth_between
    assert two.meta["time_unit"] == "slot of 2 min"
    for short, long in zip(rate_table(two).best_slots, rate_table(minute).best_slots, strict=True):
        assert short <= long
    with pytest.raises(UsageError, match=r"option slot_seconds=0\.01: the jobs take"):
        made(trace="muri.csv", slot_seconds=0.01)
