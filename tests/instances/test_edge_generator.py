"""Generated instances of family `edge`: reproducible, in their ranges, from traces."""

import numpy as np
import pytest

from schedgap.errors import UsageError
from schedgap.instances.edge import arrays, batch_seconds
from schedgap.instances.traces import read_jobs, read_machines
from schedgap.models.edge.algorithms.a_online import a_online
from schedgap.models.edge.baselines.batch_sche import batch_sche
from schedgap.models.edge.heuristics.lists import orders, place_all
from strategies.edge import brute_force
from strategies.edge_methods import can_complete
from strategies.generated import TRACES, maker

made = maker("edge")


def test_the_worked_examples_have_their_optima():
    optima = {"toy": 5, "toy-b": 9, "toy-c": 6, "toy-batch": 3}
    assert {name: brute_force(made(name)) for name in optima} == optima


@pytest.mark.parametrize("preset", ["toy", "small", "medium", "loaded", "paper"])
def test_a_seed_gives_the_same_bytes_and_another_seed_others(preset):
    assert made(preset, 3).to_data() == made(preset, 3).to_data()
    if preset != "toy":
        assert made(preset, 3) != made(preset, 4)


@pytest.mark.parametrize(
    ("preset", "jobs", "edges", "types", "horizon"),
    [
        ("small", 5, 2, 1, 24),
        ("medium", 12, 3, 2, 48),
        ("loaded", 20, 5, 2, 64),
        ("paper", 200, 200, 9, 4096),
    ],
)
def test_sizes_of_the_presets(preset, jobs, edges, types, horizon):
    instance = made(preset)
    assert (len(instance.jobs), len(instance.worker_types)) == (jobs, types)
    assert [server.kind for server in instance.servers] == ["edge"] * edges + ["cloud"]
    assert instance.horizon in [horizon * 2**k for k in range(5)] and instance.slot_seconds == 3600
    assert instance.meta["time_unit"] == "slot of 1 h"
    assert all(can_complete(instance, j) for j in range(jobs))


@pytest.mark.parametrize(("preset", "load"), [("small", 0.5), ("medium", 0.5), ("loaded", 0.8)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_work_of_each_type_is_the_load(preset, load, seed):
    instance = made(preset, seed)
    view = arrays(instance)
    T = {"small": 24, "medium": 48, "loaded": 64}[preset]
    for u in set(view.worker_type.tolist()):
        work = view.work[view.worker_type == u, 1].sum()
        assert work == pytest.approx(load * 0.55 * T * view.workers[:, u].sum(), rel=1e-3)
    for job in instance.jobs:
        assert 3 <= job.chunks <= 8 and 1 <= job.arrival <= T // 2
        assert 1 <= batch_seconds(job, False) / batch_seconds(job, True) <= 1.801
        delays = [job.transfer_delay[server.id] for server in instance.servers]
        assert 1 <= min(delays[:-1]) <= max(delays[:-1]) <= 3 and 4 <= delays[-1] <= max(4, T // 6)


@pytest.mark.parametrize("preset", ["small", "medium", "loaded"])
def test_the_horizon_leaves_room_for_the_rounds_of_online_algorithms(preset):
    """T is at least four times the last slot of a list schedule, and all online methods end."""
    for seed in range(3):
        instance = made(preset, seed)
        listed = place_all(instance, orders(instance)["arrival"])
        ends = [run.end for run in listed.runs.values()]
        assert len(ends) == len(instance.jobs) and instance.horizon >= 4 * max(ends)
        assert not a_online(instance).trace["left"]
        assert len(batch_sche(instance).placements) == len(instance.jobs)
        assert instance.horizon >= 8 * max(job.arrival for job in instance.jobs)


def test_jobs_that_arrive_late_have_rounds_left():
    """With few jobs the schedule is short, but the last batch of BatchSche waits long."""
    late = {"arrival_horizon": 1536, "worker_types": 1, "ps_types": 1}
    instance = made("paper", 4, jobs=10, edge_servers=20, **late)
    assert instance.horizon == 8192
    assert len(batch_sche(instance).placements) == 10


def test_a_horizon_that_is_asked_for_is_kept():
    asked = made("small", load=20, horizon=24)
    assert asked.horizon == 24
    grown = made("small", load=20)
    assert grown.horizon in (24 * 2**k for k in range(1, 12))
    assert all(can_complete(grown, j) for j in range(5))


def without_ids(jobs, servers):
    """Data of jobs, with the delays to some servers only, in the order of all their values."""
    delays = [{name: job["transfer_delay"][name] for name in servers} for job in jobs]
    kept = zip(jobs, delays, strict=True)
    return sorted(str(job | {"id": "", "transfer_delay": delay}) for job, delay in kept)


@pytest.mark.parametrize("server_types", ["one", "mixed"])
def test_more_jobs_are_the_same_jobs_and_further_ones(server_types):
    few, many = (
        made("paper", 3, jobs=jobs, edge_servers=12, server_types=server_types).to_data()
        for jobs in (15, 40)
    )
    assert few["servers"] == many["servers"] and few["horizon"] == many["horizon"]
    names = [server["id"] for server in few["servers"]]
    assert set(without_ids(few["jobs"], names)) < set(without_ids(many["jobs"], names))
    arrivals = [job["arrival"] for job in many["jobs"]]
    assert arrivals == sorted(arrivals)


@pytest.mark.parametrize("server_types", ["one", "mixed"])
def test_more_servers_are_the_same_servers_and_further_ones(server_types):
    few, many = (
        made("paper", 3, jobs=15, edge_servers=number, server_types=server_types).to_data()
        for number in (5, 12)
    )
    assert few["servers"][:-1] == many["servers"][:5] and few["servers"][-1] == many["servers"][-1]
    names = [server["id"] for server in few["servers"]]
    assert without_ids(few["jobs"], names) == without_ids(many["jobs"], names)


def test_a_gradient_or_a_price_cap_changes_nothing_else():
    one, other = (made("paper", 3, jobs=9, edge_servers=9, gradient=k).to_data() for k in (30, 575))
    for before, after in zip(one["jobs"], other["jobs"], strict=True):
        assert (before["gradient_megabytes"], after["gradient_megabytes"]) == (30, 575)
        assert before | {"gradient_megabytes": 575} == after
    assert one["servers"] == other["servers"]


def test_mixed_servers_have_workers_and_ps_of_drawn_types():
    one, mixed = (made("paper", 3, server_types=kind) for kind in ("one", "mixed"))
    for before, after in zip(one.servers[:-1], mixed.servers[:-1], strict=True):
        assert sum(before.workers.values()) == sum(after.workers.values())
        assert sum(before.parameter_servers.values()) == sum(after.parameter_servers.values())
    kinds = [len(server.workers) for server in mixed.servers[:-1]]
    assert max(kinds) >= 5 and sum(kinds) / len(kinds) > 3
    assert mixed.jobs == one.jobs


def test_the_paper_preset_keeps_to_the_ranges_of_section_6():
    instance = made("paper", 1)
    for server in instance.servers[:-1]:
        (count,) = server.workers.values()
        assert count in (2, 4, 8) and len(server.parameter_servers) == 9
        assert all(2 <= ps <= 8 for ps in server.parameter_servers.values())
    cloud = instance.servers[-1]
    assert set(cloud.workers.values()) == set(cloud.parameter_servers.values()) == {64}
    for job in instance.jobs:
        assert 50 <= job.epochs <= 100 and 20 <= job.chunks <= 50
        assert 10 <= job.minibatches_per_chunk <= 50 and 1 <= job.arrival <= 256
        assert 3.6 <= job.compute_seconds <= 180 and 0.01 <= job.update_seconds <= 0.1
        assert 30 <= job.gradient_megabytes <= 575 and 100 <= job.bandwidth_mbps <= 5120
        *near, far = (job.transfer_delay[server.id] for server in instance.servers)
        assert 1 <= min(near) <= max(near) <= 4 and 10 <= far <= 40
    bands = {(job.worker_type, job.ps_type): set() for job in instance.jobs}
    for job in instance.jobs:
        bands[job.worker_type, job.ps_type].add(job.bandwidth_mbps)
    assert all(len(values) == 1 for values in bands.values())
    assert {count for s in instance.servers[:-1] for count in s.workers.values()} == {2, 4, 8}


def test_price_caps_and_rounds_can_be_set():
    swept = made("small", worker_price_cap=1e-12)
    assert swept.price_caps.worker == 1e-12 and swept.price_caps.parameter_server == 1.0
    assert made("small", batch_round=4).window == (9, 16)
    assert "price_caps" not in made("small").to_data()


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
    """GPUs of the trace as workers together with their parameter server: within rounding."""
    instance = made(trace=file, slot_seconds=60)
    trace = {job.id: job for job in read_jobs(TRACES / file).jobs}
    assert f"({format})" in instance.meta["source"]
    work = arrays(instance).work[:, 1]
    first = min(trace[job.id].arrival for job in instance.jobs)
    for j, job in enumerate(instance.jobs):
        origin = trace[job.id]
        assert work[j] / origin.gpus == pytest.approx(origin.running_time / 60, rel=1e-6)
        assert job.chunks >= origin.gpus
        assert job.arrival == 1 + int((origin.arrival - first) / 60)
    assert instance.horizon >= max(job.arrival for job in instance.jobs)


def test_a_trace_without_running_times_brings_arrivals_and_gpus():
    instance = made(trace="gavel7.trace")
    assert "no running times" in instance.meta["source"]
    assert all(50 <= job.epochs <= 100 for job in instance.jobs)


def test_only_the_arrivals_of_a_trace():
    instance = made(trace="philly.csv", take="arrivals", slot_seconds=600)
    assert [job.id for job in instance.jobs][:2] == ["J1", "J2"]
    assert instance.meta["time_unit"] == "slot of 600 s"
    assert all(3.6 <= job.compute_seconds <= 180 for job in instance.jobs)


@pytest.mark.parametrize("file", ["openb_nodes.csv", "pai_machines.csv", "tiresias_cluster.csv"])
def test_edge_servers_come_from_a_file_in_its_order(file):
    machines = {machine.id: machine for machine in read_machines(TRACES / file).machines}
    instance = made(nodes=file)
    *edges, cloud = instance.servers
    assert [s.id for s in edges] == [name for name in machines if name in {s.id for s in edges}]
    assert cloud.kind == "cloud"
    for server in edges:
        assert list(server.workers.values()) == [machines[server.id].gpus]
        shares = list(server.parameter_servers.values())
        assert sum(shares) == int(machines[server.id].cpus) and max(shares) - min(shares) <= 1


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"preset": "paper", "first": 2}, "option first: only with jobs from a file"),
        (
            {"trace": "philly.csv", "arrival_horizon": 9},
            "option arrival_horizon: the jobs file de",
        ),
        ({"nodes": "openb_nodes.csv", "ps_per_server": 9}, "option ps_per_server: the machines"),
        ({"nodes": "openb_nodes.csv", "edge_servers": 9999}, "not enough for edge_servers=9999"),
        ({"preset": "small", "trace": "philly.csv"}, "preset small takes no jobs from a file"),
        ({"preset": "paper", "horizon": 9}, "option horizon=9: job "),
        (
            {"preset": "small", "horizon": 24, "batch_round": 6},
            "the round starts after the horizon 24",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(request_, message):
    with pytest.raises(UsageError) as error:
        made(**request_)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_draws_fill_their_ranges():
    """Over 200 jobs each of the paper's ranges is nearly used up; no two draws are coupled."""
    instance = made("paper", 5)
    jobs = instance.jobs
    assert len({tuple(job.transfer_delay.values()) for job in jobs}) == len(jobs)
    ps = [tuple(server.parameter_servers.values()) for server in instance.servers[:-1]]
    assert all(len(set(counts)) > 1 for counts in ps) and len(set(ps)) > 190
    pairs = zip((job.epochs for job in jobs), (job.chunks for job in jobs), strict=True)
    assert abs(np.corrcoef(np.array(list(pairs)).T)[0, 1]) < 0.2
    for values, low, high in (
        ([job.epochs for job in jobs], 50, 100),
        ([job.chunks for job in jobs], 20, 50),
        ([job.compute_seconds for job in jobs], 3.6, 180),
        ([job.gradient_megabytes for job in jobs], 30, 575),
        ([job.arrival for job in jobs], 1, 256),
    ):
        span = (high - low) / 20
        assert min(values) < low + span and max(values) > high - span
        assert abs(np.mean(values) - (low + high) / 2) < 0.15 * (high - low)
