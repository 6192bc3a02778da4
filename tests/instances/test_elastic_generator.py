"""Generated instances of family `elastic`: reproducible, in their ranges, from traces."""

import itertools
import math

import pytest

from schedgap.errors import UsageError
from strategies.elastic import brute_force, placements
from strategies.generated import TRACES, maker

made = maker("elastic")


def test_the_worked_examples_have_their_optima():
    assert brute_force(made("toy")) == 27
    assert brute_force(made("toy-batch")) == 5
    assert brute_force(made("toy-ring")) == 5
    # The paper: (10 + 15) / 2 = 12.5 ms with three GPUs at once; one slot more, as c = t + d (E1).
    assert brute_force(made("introduction")) == 12.5 + 1


@pytest.mark.parametrize("preset", ["toy", "small", "medium", "paper"])
def test_a_seed_gives_the_same_bytes_and_another_seed_others(preset):
    assert made(preset, 3).to_data() == made(preset, 3).to_data()
    if preset != "toy":
        assert made(preset, 3) != made(preset, 4)


@pytest.mark.parametrize(
    ("preset", "jobs", "servers", "workers", "ps"),
    [("small", 6, 3, 2, 2), ("medium", 15, 4, 3, 2), ("paper", 100, 150, 8, 10)],
)
@pytest.mark.parametrize("architecture", ["parameter_server", "ring_allreduce"])
def test_sizes_of_the_presets(preset, jobs, servers, workers, ps, architecture):
    instance = made(preset, architecture=architecture)
    assert (len(instance.jobs), len(instance.servers)) == (jobs, servers)
    assert len(instance.worker_types) == workers
    assert len(instance.ps_types) == (0 if architecture == "ring_allreduce" else ps)
    assert instance.architecture == architecture


@pytest.mark.parametrize(
    ("seed", "architecture"),
    [*itertools.product(range(4), ["parameter_server", "ring_allreduce"])],
)
def test_every_job_of_the_small_preset_can_run(seed, architecture):
    instance = made("small", seed, architecture=architecture)
    assert all(placements(instance, job) for job in instance.jobs)


def test_the_paper_preset_keeps_to_the_ranges_of_section_7():
    instance = made("paper", 1)
    assert instance.horizon == 150 and instance.meta["time_unit"] == "slot of 1 h"
    for kind in instance.worker_types:
        d = kind.demand
        assert 1 <= d["gpu"] <= 4 and 1 <= d["cpu"] <= 16 and 100 <= d["bandwidth"] <= 5000
        assert 4 * d["gpu"] <= d["memory"] <= 4 * d["gpu"] + 12
    for kind in instance.ps_types:
        d = kind.demand
        assert "gpu" not in d and 1 <= d["cpu"] <= 16 and 5000 <= d["bandwidth"] <= 20_000
    for job in instance.jobs:
        assert 200 <= job.weight <= 5000 and 50 <= job.epochs <= 100
        assert 5 <= job.chunks <= 50 and 10 <= job.batches_per_chunk <= 50
        assert all(0.001 <= time <= 0.05 for time in job.train_time.values())
        assert all(10 <= 3.6e6 * time + 1e-5 <= 101 for time in job.update_time.values())
        assert 30 * 8 / 3600 - 1e-9 <= job.gradient_size <= 575 * 8 / 3600 + 1e-9
    arrivals = [job.arrival for job in instance.jobs]
    assert arrivals == sorted(arrivals) and arrivals[0] >= 1 and arrivals[-1] <= 75


def test_types_with_more_gpus_train_no_slower():
    instance = made("paper", 2)
    power = {kind.id: (kind.demand["gpu"], kind.demand["cpu"]) for kind in instance.worker_types}
    for job in instance.jobs:
        for a, b in itertools.combinations(power, 2):
            if power[a] < power[b]:
                assert job.train_time[a] >= job.train_time[b]


def test_a_batch_arrives_at_once_and_has_a_deadline():
    instance = made("paper", objective="scheduled_weight", deadline=128)
    assert instance.deadline == 128 and {job.arrival for job in instance.jobs} == {1}
    assert made("small", objective="scheduled_weight").deadline == 16


def test_capacity_is_scaled_to_the_part_of_what_the_jobs_ask_for():
    settings = {"architecture": "ring_allreduce", "worker_types": 1}
    plain = made("small", 5, **settings)
    cut = made("small", 5, **settings, capacity_fraction=0.5)
    (worker,) = plain.worker_types
    asked = 0
    for job in plain.jobs:  # least slots, then fewest workers
        runs = placements(plain, job)
        asked += min((run.duration, sum(run.workers.values())) for run in runs)[1]
    for r in plain.resources:
        total = sum(server.capacity[r] for server in plain.servers)
        wanted = math.ceil(0.5 * asked * worker.demand[r] - 1e-9)
        assert sum(server.capacity[r] for server in cut.servers) == wanted
        for server, before in zip(cut.servers, plain.servers, strict=True):
            assert abs(server.capacity[r] - before.capacity[r] * wanted / total) < 1


SMALLER = {"jobs": 6, "servers": 5, "worker_types": 3, "ps_types": 2}


@pytest.mark.parametrize("architecture", ["parameter_server", "ring_allreduce"])
def test_one_setting_of_the_paper_preset_changes_one_thing(architecture):
    """Common random numbers: servers, types and jobs have separate streams."""
    settings = SMALLER | {"architecture": architecture}
    if architecture == "ring_allreduce":
        del settings["ps_types"]
    plain = made("paper", 3, **settings)
    more_jobs = made("paper", 3, **settings | {"jobs": 9})
    assert {job.id: job for job in more_jobs.jobs}.items() >= {
        job.id: job for job in plain.jobs
    }.items()
    arrivals = [job.arrival for job in more_jobs.jobs]
    assert arrivals == sorted(arrivals) and len(arrivals) == 9
    assert more_jobs.servers == plain.servers and more_jobs.worker_types == plain.worker_types
    more_servers = made("paper", 3, **settings | {"servers": 8})
    assert more_servers.servers[:5] == plain.servers
    assert more_servers.jobs == plain.jobs
    together = made("paper", 3, **settings, arrival_span=1)
    assert {job.arrival for job in together.jobs} == {1}
    assert {replaced(job) for job in together.jobs} == {replaced(job) for job in plain.jobs}


def replaced(job):
    """All of a job but its arrival."""
    return str(job.model_copy(update={"arrival": 1}))


def test_both_architectures_of_the_paper_preset_have_the_same_jobs_and_servers():
    parameter_server = made("paper", 3, **SMALLER)
    ring = made("paper", 3, architecture="ring_allreduce", jobs=6, servers=5, worker_types=3)
    assert ring.servers == parameter_server.servers
    assert ring.worker_types == parameter_server.worker_types
    fields = ("id", "arrival", "weight", "work", "chunks", "gradient_size", "train_time")
    for one, other in zip(ring.jobs, parameter_server.jobs, strict=True):
        assert [getattr(one, name) for name in fields] == [getattr(other, name) for name in fields]


def test_the_total_capacity_depends_on_the_jobs_that_it_is_for_alone():
    """The axes of Figs. 2 and 3: more jobs on the same servers, more servers of the same total."""

    def total(**settings):
        instance = made("paper", 4, **SMALLER | settings, capacity_fraction=0.5)
        return {
            r: sum(server.capacity[r] for server in instance.servers) for r in instance.resources
        }

    assert total(servers=4) == total(servers=5) == total(servers=9)
    assert total(capacity_jobs=6, jobs=3) == total() == total(capacity_jobs=6, jobs=9)
    assert total(jobs=9)["gpu"] > total()["gpu"]
    one = made("paper", 4, **SMALLER | {"jobs": 9}, capacity_fraction=0.5, capacity_jobs=6)
    assert one.servers == made("paper", 4, **SMALLER, capacity_fraction=0.5).servers


def test_the_ec2_sizes_of_figure_9_are_worker_types_from_slow_to_fast():
    instance = made("paper", 2, workers="ec2", jobs=8, servers=5)
    sizes = [kind.id for kind in instance.worker_types]
    assert sizes == ["p2.xlarge", "p2.2xlarge", "p3.2xlarge", "p3.4xlarge"]
    assert [kind.demand["gpu"] for kind in instance.worker_types] == [1, 2, 1, 2]
    for job in instance.jobs:
        times = [job.train_time[size] for size in sizes]
        assert times == sorted(times, reverse=True)


@pytest.mark.parametrize(
    ("file", "format"),
    [
        ("philly.csv", "philly"),
        ("tiresias.csv", "tiresias"),
        ("muri.csv", "tiresias"),
        ("gavel12.trace", "gavel"),
        ("openb_pods.csv", "openb-pods"),
    ],
)
def test_a_traced_job_takes_its_running_time_on_its_gpus(file, format):
    """GPUs of the trace as workers of the slowest type, on one server: within rounding."""
    from schedgap.instances.traces import read_jobs

    for architecture in ("parameter_server", "ring_allreduce"):
        instance = made(trace=file, slot_seconds=60, architecture=architecture)
        trace = {job.id: job for job in read_jobs(TRACES / file).jobs}
        slowest = min(
            instance.worker_types, key=lambda kind: (kind.demand["gpu"], kind.demand["cpu"])
        )
        assert f"({format})" in instance.meta["source"]
        first = min(trace[job.id].arrival for job in instance.jobs)
        for job in instance.jobs:
            origin = trace[job.id]
            update = job.update_time
            least = min(update.values()) if isinstance(update, dict) else update
            slots = job.work * (job.train_time[slowest.id] + least) / origin.gpus
            assert slots == pytest.approx(origin.running_time / 60, rel=1e-6)
            assert job.chunks >= origin.gpus
            assert job.arrival == 1 + int((origin.arrival - first) / 60)


def test_a_trace_without_running_times_brings_arrivals_and_gpus():
    instance = made(trace="gavel7.trace")
    assert "no running times" in instance.meta["source"]
    assert all(50 <= job.epochs <= 100 for job in instance.jobs)


def test_only_the_arrivals_of_a_trace():
    instance = made(trace="philly.csv", take="arrivals", slot_seconds=600)
    assert [job.id for job in instance.jobs][:2] == ["J1", "J2"]
    assert instance.meta["time_unit"] == "slot of 600 s"
    assert instance.horizon >= max(job.arrival for job in instance.jobs)


@pytest.mark.parametrize("file", ["openb_nodes.csv", "pai_machines.csv", "tiresias_cluster.csv"])
def test_servers_come_from_a_file_in_its_order(file):
    from schedgap.instances.traces import read_machines

    machines = {machine.id: machine for machine in read_machines(TRACES / file).machines}
    instance = made(nodes=file)
    ids = [server.id for server in instance.servers]
    assert ids == [name for name in machines if name in ids]
    for server in instance.servers:
        assert server.capacity["gpu"] == machines[server.id].gpus
        assert server.capacity["bandwidth"] in (5000, 10_000, 25_000)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"preset": "paper", "deadline": 9}, "option deadline: only with objective=scheduled_weig"),
        ({"preset": "paper", "first": 2}, "option first: only with jobs from a file"),
        ({"trace": "philly.csv", "arrival_span": 9}, "option arrival_span: the jobs file decides"),
        (
            {"preset": "small", "architecture": "ring_allreduce", "ps_types": 2},
            "option ps_types: Ring-AllReduce has no parameter servers",
        ),
        ({"preset": "paper", "capacity_jobs": 9}, "option capacity_jobs: only with capacity_fract"),
        ({"preset": "paper", "workers": "ec2", "worker_types": 4}, "option worker_types: with wor"),
        ({"nodes": "openb_nodes.csv", "servers": 9999}, "not enough for servers=9999"),
        ({"preset": "small", "trace": "philly.csv"}, "preset small takes no jobs from a file"),
        ({"preset": "paper", "capacity_fraction": 0.001}, "no server has room for a worker"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(request_, message):
    with pytest.raises(UsageError) as error:
        made(**request_)
    assert message in str(error.value) and "\n" not in str(error.value)
