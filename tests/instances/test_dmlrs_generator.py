"""Generated instances of family `dmlrs`: reproducible, in their ranges, from traces."""

import math

import pytest

from schedgap.errors import UsageError
from schedgap.instances.dmlrs import arrays
from schedgap.instances.traces import read_jobs, read_machines
from schedgap.models.dmlrs.methods import suite
from schedgap.models.dmlrs.throughput import first_completions
from strategies.dmlrs import optimum
from strategies.dmlrs_examples import TOY, TOY_2
from strategies.generated import TRACES, maker

made = maker("dmlrs")


def test_the_worked_examples_have_their_optima():
    assert optimum(made("toy")) == 20 and optimum(made("toy2")) == 10
    for name, known in (("toy", TOY), ("toy2", TOY_2)):
        assert made(name).jobs == known.jobs and made(name).machines == known.machines
        assert made(name).price_parameters == known.price_parameters


@pytest.mark.parametrize("preset", ["small", "medium", "paper", "paper-long"])
def test_a_seed_gives_the_same_bytes_and_another_seed_others(preset):
    assert made(preset, 3).to_data() == made(preset, 3).to_data()
    assert made(preset, 3) != made(preset, 4)


@pytest.mark.parametrize(
    ("preset", "jobs", "machines", "horizon"),
    [
        ("small", 4, 2, 5),
        ("medium", 8, 4, 10),
        ("paper", 50, 100, 20),
        ("paper-half", 50, 50, 20),
        ("paper-long", 100, 30, 80),
    ],
)
def test_sizes_of_the_presets(preset, jobs, machines, horizon):
    instance = made(preset)
    assert (len(instance.jobs), len(instance.machines)) == (jobs, machines)
    assert instance.horizon == horizon
    assert len(instance.resources) == (3 if preset in ("small", "medium") else 4)


@pytest.mark.parametrize("preset", ["small", "medium"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_small_instances_keep_to_their_ranges(preset, seed):
    instance = made(preset, seed)
    T = instance.horizon
    for job, (inside, across) in zip(instance.jobs, arrays(instance).needed, strict=True):
        most = job.batch_size * max(2, (T - job.arrival + 1) / 2)
        assert 2 - 1e-6 <= inside <= most + 1e-6
        assert 1.05 - 1e-6 <= across / inside <= 2 + 1e-6
        assert 1 <= job.arrival <= math.ceil(2 * T / 3) and job.worker_ps_ratio in (1, 2, 3, 4)
        assert 0.1 <= job.utility.sensitivity <= 1 and 1 <= job.utility.target <= max(1, T / 2)
        assert job.ps_demand["gpu"] == 0 and 1 <= job.utility.priority <= 100
    rooms = {"gpu": 8, "cpu": 24, "memory": 48}
    assert all(machine.capacity == rooms for machine in instance.machines)


def test_arrivals_of_small_instances_fill_two_thirds_of_the_horizon():
    assert {job.arrival for job in made("small", jobs=60).jobs} == {1, 2, 3, 4}


def test_a_job_may_finish_in_the_very_last_slot():
    assert len(made("paper", jobs=5, machines=1, horizon=1).jobs) == 5


def test_the_paper_preset_keeps_to_the_paper_s_ranges():
    instance = made("paper", 1)
    arrivals = [job.arrival for job in instance.jobs]
    assert arrivals == sorted(arrivals) and [job.id for job in instance.jobs[:2]] == ["j1", "j2"]
    for job in instance.jobs:
        assert 50 <= job.epochs <= 200 and 20_000 <= job.samples <= 500_000
        assert 1 <= job.batch_size <= 200 and 1 <= job.worker_ps_ratio <= 10
        assert 30 <= job.gradient_size <= 575 and 1e-5 <= job.time_per_sample <= 1e-4
        assert (
            450_000 <= job.external_bandwidth <= 4_500_000 <= job.internal_bandwidth <= 22_500_000
        )
        worker, ps = job.worker_demand, job.ps_demand
        assert 0 <= worker["gpu"] <= 4 and ps["gpu"] == 0
        for demand in (worker, ps):
            assert 1 <= demand["cpu"] <= 10 and 2 <= demand["memory"] <= 32
            assert 5 <= demand["storage"] <= 10
        utility = job.utility
        assert 1 <= utility.priority <= 100 and 1 <= utility.target <= 15
        assert 0.01 <= utility.sensitivity <= 1
    assert made("paper").meta["time_unit"] == "slot of 1 h"


def test_paper_jobs_can_finish_unless_they_need_not():
    """Of the paper's own jobs about 3 in 10 can finish within 20 slots, with F workers across."""
    for finishable, low, high in ((True, 1, 1), (False, 0.2, 0.4)):
        instance = made("paper", 2, jobs=300, machines=1, finishable=finishable)
        view = arrays(instance)
        ends = view.arrival - 1 + view.needed[:, 1] / view.batch
        assert low <= (ends <= instance.horizon + 1e-9).mean() <= high


def test_jobs_that_never_finish_are_refused_in_one_line():
    with pytest.raises(UsageError, match="option horizon=1: no job of these ranges"):
        made("paper", jobs=1, horizon=1, epochs="200", samples="500000", batch="1")
    with pytest.raises(UsageError, match="option internal: must be larger than external"):
        made("paper", internal="1-2")


def test_the_exact_rule_can_be_asked_for():
    assert made("small", ps_rule="exact").ps_rule == "exact"


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
    """GPUs of the trace as workers inside one machine: exact but for rounding."""
    instance = made(trace=file, slot_seconds=600)
    trace = {job.id: job for job in read_jobs(TRACES / file).jobs}
    assert f"({format})" in instance.meta["source"]
    first = min(trace[job.id].arrival for job in instance.jobs)
    for job, needed in zip(instance.jobs, arrays(instance).needed, strict=True):
        origin = trace[job.id]
        assert needed[0] == pytest.approx(origin.gpus * origin.running_time / 600, rel=1e-9)
        assert job.batch_size >= origin.gpus and job.worker_demand["gpu"] == 1
        assert job.arrival == 1 + int((origin.arrival - first) / 600)
        assert job.arrival - 1 + needed[1] / job.batch_size <= instance.horizon + 1e-6


def test_pods_bring_their_cpus_and_memory():
    instance = made(trace="openb_pods.csv", slot_seconds=60)
    trace = {job.id: job for job in read_jobs(TRACES / "openb_pods.csv").jobs}
    assert "CPUs and memory of workers" in instance.meta["source"]
    for job in instance.jobs:
        origin = trace[job.id]
        assert job.worker_demand["cpu"] == pytest.approx(origin.cpus / origin.gpus, abs=5e-4)
        assert job.worker_demand["memory"] == pytest.approx(
            origin.memory_gb / origin.gpus, abs=5e-4
        )


def test_workers_share_what_a_pod_has_and_a_second_is_work_enough(tmp_path):
    """12 CPUs, 16 GiB, 4 GPUs, for a second of a slot of 600 s."""
    file = tmp_path / "pods.csv"
    lines = (TRACES / "openb_pods.csv").read_text().splitlines()[:1]
    file.write_text("\n".join([*lines, "pod,12000,16384,4,1000,,LS,Succeeded,0,101,100"]))
    instance = made(trace=file, slot_seconds=600)
    (job,) = instance.jobs
    assert job.worker_demand["cpu"] == 3 and job.batch_size >= 4
    assert arrays(instance).needed[0, 0] == pytest.approx(4 / 600)
    assert 1 <= job.internal_bandwidth / job.external_bandwidth <= 50


def test_a_trace_without_running_times_brings_arrivals_and_gpus():
    instance = made(trace="gavel7.trace")
    assert "no running times" in instance.meta["source"]
    assert all(50 <= job.epochs <= 200 for job in instance.jobs)
    assert max(first_completions(instance)) <= instance.horizon


def test_only_the_arrivals_of_a_trace():
    instance = made(trace="philly.csv", take="arrivals", slot_seconds=600)
    assert [job.id for job in instance.jobs][:2] == ["j1", "j2"]
    assert instance.meta["time_unit"] == "slot of 600 s"
    assert all(20_000 <= job.samples <= 500_000 for job in instance.jobs)
    last = max(job.arrival for job in instance.jobs)
    assert instance.horizon == last + 19
    with pytest.raises(UsageError, match=f"horizon={last - 1}: job .* arrives in slot {last}"):
        made(trace="philly.csv", take="arrivals", slot_seconds=600, horizon=last - 1)


def test_slots_that_are_too_short_are_refused():
    with pytest.raises(UsageError, match=r"option slot_seconds=0\.1: the jobs take"):
        made(trace="philly.csv", slot_seconds=0.1)


@pytest.mark.parametrize("file", ["openb_nodes.csv", "pai_machines.csv", "tiresias_cluster.csv"])
def test_machines_come_from_a_file_in_its_order(file):
    known = {machine.id: machine for machine in read_machines(TRACES / file).machines}
    instance = made(nodes=file)
    names = [machine.id for machine in instance.machines]
    assert names == [name for name in known if name in set(names)]
    for machine in instance.machines:
        origin = known[machine.id]
        assert machine.capacity["gpu"] == origin.gpus and machine.capacity["storage"] == 200
        assert machine.capacity["cpu"] == pytest.approx(origin.cpus, abs=5e-4)
        assert machine.capacity["memory"] == pytest.approx(origin.memory_gb, abs=5e-4)


def test_a_setting_that_a_file_replaces_is_refused():
    with pytest.raises(UsageError, match="capacity_gpu: the machines file decides this"):
        made(nodes="openb_nodes.csv", capacity_gpu=3)
    with pytest.raises(UsageError, match="take: only with jobs from a file"):
        made("paper", take="all")


def test_the_suite_is_small():
    assert [instance.name for instance in suite()][:2] == ["dmlrs-toy", "dmlrs-toy2"]
    assert all(len(instance.jobs) <= 4 for instance in suite())
