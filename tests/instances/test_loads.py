"""Offered load: its definition by family, and instances that reach a given one."""

from pathlib import Path

import pytest

from schedgap.analysis.results.verifying import verify
from schedgap.analysis.solving.solve import solve
from schedgap.errors import UsageError
from schedgap.instances.families import FAMILIES
from schedgap.instances.generate import generate, presets
from schedgap.instances.loads import LOAD, TOLERANCE, offered_load

TRACE = {  # settings with which 12 jobs of the trace below have a fine grid of slots
    "hare": {"gpus": 4},
    "elastic": {"servers": 3, "worker_types": 2, "ps_types": 2, "slot_seconds": 60},
    "edge": {"edge_servers": 3, "worker_types": 1, "ps_types": 1, "slot_seconds": 60},
    "dmlrs": {"machines": 2, "slot_seconds": 60},
}
FIFO = {
    "hare": "gavel-fifo", "elastic": "fifo", "edge": "fifo", "ring": "first-fit", "dmlrs": "fifo",
}  # fmt: skip


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with 12 jobs of 1 to 4 GPUs that arrive within two hours."""
    lines = ["timestamp,duration,num_gpus,gpu_time,cluster"]
    for n in range(12):
        minute, seconds, gpus = 11 * n, 600 + 337 * (n % 5), (1, 2, 1, 4)[n % 4]
        time = f"2017-10-09 {minute // 60:02}:{minute % 60:02}:00"
        lines.append(f"{time},{seconds}.0,{gpus},{seconds * gpus}.0,b1")
    file = tmp_path_factory.mktemp("traces") / "philly.csv"
    file.write_text("\n".join(lines) + "\n")
    return file


def _relative(one: float, other: float) -> float:
    return abs(one / other - 1)


@pytest.mark.parametrize("name", TRACE)
def test_a_trace_reaches_each_load_by_other_times_between_arrivals(name: str, trace: Path) -> None:
    plain = generate(name, jobs_from=trace, settings=TRACE[name])
    spans = []
    for load in (0.25, 0.5, 1, 2):
        made = generate(name, jobs_from=trace, settings=TRACE[name] | {"load": load})
        assert _relative(offered_load(made), load) <= TOLERANCE
        facts = made.meta["load"]
        assert facts["asked"] == load and _relative(facts["reached"], offered_load(made)) < 1e-3
        assert _relative(facts["before"], offered_load(plain)) < 1e-3
        assert "times between arrivals x" in facts["how"]
        assert made.sha256 != plain.sha256
        arrivals = [job["arrival"] for job in made.to_data()["jobs"]]
        assert arrivals == sorted(arrivals)
        spans.append(arrivals[-1] - arrivals[0])
        others = [job | {"arrival": 0} for job in made.to_data()["jobs"]]
        assert others == [job | {"arrival": 0} for job in plain.to_data()["jobs"]]
    assert spans == sorted(spans, reverse=True) and len(set(spans)) == 4


@pytest.mark.parametrize("name", FAMILIES)
def test_a_baseline_schedules_a_trace_under_load(name: str, trace: Path) -> None:
    settings = TRACE.get(name, {"servers": 6, "server_gpus": "1,2,4"})
    instance = generate(name, jobs_from=trace, settings=settings | {"load": 2})
    result = solve(instance, FIFO[name], time_limit=30)
    assert result.status == "feasible", result.trace
    assert verify(instance, result)


def test_ring_has_no_arrivals_and_gets_fewer_servers(trace: Path) -> None:
    settings = {"servers": 30, "server_gpus": "2"}
    plain = generate("ring", jobs_from=trace, settings=settings)
    loads = []
    for load in (0.5, 1, 2):
        made = generate("ring", jobs_from=trace, settings=settings | {"load": load})
        assert made.jobs == plain.jobs and len(made.servers) < 30
        assert "servers" in made.meta["load"]["how"]
        assert f"{len(made.servers)} instead of 30" in made.meta["load"]["how"]
        loads.append(offered_load(made))
    assert loads == sorted(loads) and len(set(loads)) == 3
    least = generate("ring", jobs_from=trace, settings=settings | {"load": 0.01})
    assert least == plain and least.meta["load"]["how"] == "nothing changed"


def test_the_horizon_of_ring_grows_with_fewer_servers() -> None:
    few = generate("ring", preset="paper", settings={"load": 6, "jobs": 60})
    assert len(few.servers) < 20 and few.horizon > 1200
    fixed = generate("ring", preset="paper", settings={"load": 6, "jobs": 60, "horizon": 1200})
    assert fixed.horizon == 1200


@pytest.mark.parametrize(
    ("name", "preset", "settings"),
    [
        ("hare", "small", {"arrival_span": 200, "jobs": 12}),
        ("hare", "paper", {"jobs": 12, "gpus": 8}),
        ("elastic", "small", {"arrival_span": 60, "horizon": 90, "jobs": 20}),
        ("elastic", "paper", {"jobs": 20, "servers": 6, "worker_types": 2, "ps_types": 2}),
        ("edge", "paper", {"jobs": 20, "edge_servers": 4, "worker_types": 2}),
        ("dmlrs", "small", {"jobs": 60}),
    ],
)
@pytest.mark.parametrize("load", [0.5, 1, 2])
def test_drawn_jobs_reach_a_load_too(
    name: str, preset: str, settings: dict[str, object], load: float
) -> None:
    made = generate(name, preset=preset, seed=3, settings=settings | {"load": load})
    assert _relative(offered_load(made), load) <= TOLERANCE
    assert made == generate(name, preset=preset, seed=3, settings=settings | {"load": load})


def test_fewer_machines_where_slots_are_too_coarse(trace: Path) -> None:
    settings = {"machines": 6, "slot_seconds": 600, "load": 0.4}
    made = generate("dmlrs", jobs_from=trace, settings=settings)
    assert len(made.machines) < 6 and _relative(offered_load(made), 0.4) <= TOLERANCE
    assert f"machines {len(made.machines)} instead of 6" in made.meta["load"]["how"]


def test_the_load_that_cannot_be_reached_is_said(trace: Path) -> None:
    settings = {"machines": 1, "slot_seconds": 3600, "load": 90}
    facts = generate("dmlrs", jobs_from=trace, settings=settings).meta["load"]
    assert facts["asked"] == 90 and facts["reached"] < 45


@pytest.mark.parametrize("load", [0, -1, "x", float("nan"), 101, True])
def test_a_bad_load_is_refused(load: object) -> None:
    with pytest.raises(UsageError, match=r"option load=.*: need a number >= 0.01 and <= 100"):
        generate("hare", settings={"load": load})


def test_jobs_that_never_run_have_no_load() -> None:
    with pytest.raises(UsageError, match="never run on machines=1"):
        generate("dmlrs", preset="small", settings={"capacity_cpu": 0, "machines": 1, "load": 1})


def test_a_stretched_arrival_may_exceed_a_given_horizon(trace: Path) -> None:
    settings = TRACE["dmlrs"] | {"horizon": 140, "load": 0.01}
    with pytest.raises(UsageError, match=r"option horizon=140: job .* arrives in slot"):
        generate("dmlrs", jobs_from=trace, settings=settings)


def test_presets_have_the_option_where_it_has_a_meaning() -> None:
    missing = {
        (name, preset.name)
        for name in FAMILIES
        for preset in presets(name).values()
        if LOAD not in preset.options and preset.seeded
    }
    assert missing == {
        ("edge", "small"), ("edge", "medium"), ("edge", "loaded"),  # their `load` is another one
        ("ring", "small"), ("ring", "small-forced"), ("ring", "medium"),
    }  # fmt: skip


# --- definitions, on instances small enough to compute by hand ---------------------------------


def test_hare_counts_each_task_by_the_joint_speed_of_all_gpus() -> None:
    instance = generate("hare", preset="small").replace(
        gpu_kinds=[{"id": "fast"}, {"id": "slow"}],
        gpus=[{"id": "a", "kind": "fast"}, {"id": "b", "kind": "slow"}],
        jobs=[
            {"id": "x", "arrival": 0, "weight": 1, "rounds": 2, "tasks_per_round": 3,
             "training_time": {"fast": 2, "slow": 6}},
            {"id": "y", "arrival": 10, "weight": 1, "task_rounds": [
                [{"training_time": {"fast": 4, "slow": 4},
                  "synchronization_time": {"fast": 5, "slow": 5}}]]},
        ],
    )  # fmt: skip
    # six tasks at 1/2 + 1/6 tasks per unit, and one at 1/4 + 1/4
    assert offered_load(instance) == pytest.approx((6 / (2 / 3) + 2) / 10)
    at_once = instance.replace(jobs=[job.replace(arrival=3) for job in instance.jobs])
    assert offered_load(at_once) == pytest.approx(11 / 9)  # y alone: 4 and 5 to synchronize


def test_dmlrs_counts_the_busiest_resource() -> None:
    job = {
        "id": "x", "arrival": 1, "epochs": 2, "samples": 10, "batch_size": 4, "gradient_size": 1.0,
        "time_per_sample": 0.1, "worker_ps_ratio": 2.0, "internal_bandwidth": 10.0,
        "external_bandwidth": 5.0, "worker_demand": {"gpu": 1.0, "cpu": 2.0},
        "ps_demand": {"gpu": 0.0, "cpu": 6.0},
        "utility": {"type": "sigmoid", "priority": 1, "sensitivity": 1, "target": 1},
    }  # fmt: skip
    instance = generate("dmlrs", preset="small").replace(
        resources=["gpu", "cpu"],
        machines=[{"id": "m", "capacity": {"gpu": 4.0, "cpu": 8.0}}],
        jobs=[job, job | {"id": "y", "arrival": 5}],
        horizon=9,
    )
    each = 2 * 10 * (0.1 + 2 / 4 * 2 * 1 / 10)  # worker-slots: 4
    assert each == pytest.approx(4)
    assert offered_load(instance) == pytest.approx(2 * each * (2 + 6 / 2) / 8 / 5)  # CPUs


def test_edge_counts_workers_of_the_types_in_use() -> None:
    plain = generate("edge", preset="toy").to_data()
    plain["worker_types"].append("idle")
    plain["servers"][0]["workers"]["idle"] = 50
    instance = generate("edge", preset="toy").replace(
        worker_types=plain["worker_types"], servers=plain["servers"]
    )
    used = {job.worker_type for job in instance.jobs}
    workers = sum(n for s in instance.servers for u, n in s.workers.items() if u in used)
    work = sum(
        job.epochs * job.chunks * job.minibatches_per_chunk
        * (job.compute_seconds + job.update_seconds) / instance.slot_seconds
        for job in instance.jobs
    )  # fmt: skip
    arrivals = [job.arrival for job in instance.jobs]
    span = max(arrivals) - min(arrivals) + 1
    assert span > 1
    assert offered_load(instance) == pytest.approx(work / workers / span)


def test_elastic_counts_the_cheapest_configuration() -> None:
    job = {
        "id": "x", "arrival": 1, "weight": 1, "epochs": 1, "chunks": 2, "batches_per_chunk": 4,
        "gradient_size": 1.0, "train_time": {"w": 0.5, "v": 0.5}, "update_time": {"p": 0.0},
    }  # fmt: skip
    instance = generate("elastic", preset="small").replace(
        resources=["gpu", "bandwidth"],
        servers=[{"id": "s", "capacity": {"gpu": 4, "bandwidth": 8}}],
        worker_types=[
            {"id": "w", "demand": {"gpu": 1, "bandwidth": 1}},
            {"id": "v", "demand": {"gpu": 2, "bandwidth": 1}},
        ],
        ps_types=[{"id": "p", "demand": {"bandwidth": 2}}],
        jobs=[job, job | {"id": "y", "arrival": 4}],
        horizon=9,
    )
    # 8 mini-batches of 0.5 slots on 2 workers of type w: 2 slots of 2/4 GPUs and 4/8 bandwidth
    assert offered_load(instance) == pytest.approx(2 * 2 * 0.5 / 4)
    batch = {"objective": "scheduled_weight", "deadline": 6}
    both = [each.replace(arrival=1) for each in instance.jobs]
    assert offered_load(instance.replace(jobs=both, **batch)) == pytest.approx(2 / 5)
    assert offered_load(instance.replace(jobs=both)) == pytest.approx(2 / 2)


def test_ring_counts_gpus_while_the_longest_job_runs() -> None:
    instance = generate("ring", preset="toy")
    times = [
        job.iterations
        * (
            2 * job.chunk / instance.bandwidth_within
            + job.chunk / instance.compute_speed
            + instance.overhead_per_server
            + job.forward_time_per_sample * job.batch_size
            + job.backward_time
        )
        for job in instance.jobs
    ]
    work = sum(job.gpus * time for job, time in zip(instance.jobs, times, strict=True))
    assert offered_load(instance) == pytest.approx(work / instance.gpus / max(times))


def test_a_family_of_another_package_has_no_load() -> None:
    from schedgap.errors import UsageError
    from schedgap.instances.loads import machines_setting

    with pytest.raises(UsageError, match="family allox has no offered load: only hare, elastic"):
        machines_setting("allox")
