"""What an instance file of family `edge` may say, and the line that refuses everything else."""

import copy
import pickle

import pytest

from schedgap.errors import InputError
from schedgap.instances.edge import EdgeInstance, arrays
from strategies.edge_examples import TOY_A, TOY_B, TOY_BATCH
from strategies.edits import drop, put, twice

JOB = ("jobs", 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        # keys
        (put("slots", value=3), "slots: unknown key"),
        (put(*JOB, "chunk", value=3), "jobs[0].chunk: unknown key: did you mean 'chunks'?"),
        (put("servers", 0, "gpu", value=3), "servers[0].gpu: unknown key"),
        (put("price_caps", value={"ps": 1.0}), "price_caps.ps: unknown key"),
        (drop("horizon"), "horizon: missing key"),
        (drop("slot_seconds"), "slot_seconds: missing key"),
        (drop(*JOB, "update_seconds"), "jobs[0].update_seconds: missing key"),
        (drop("servers", 1, "workers"), "servers[1].workers: missing key"),
        # integers
        (put("horizon", value=True), "horizon: not an integer, got true"),
        (put("horizon", value=16.0), "horizon: not an integer, got 16.0"),
        (put(*JOB, "chunks", value=True), "jobs[0].chunks: not an integer, got true"),
        (put(*JOB, "epochs", value=1.5), "jobs[0].epochs: not an integer, got 1.5"),
        (
            put("servers", 0, "workers", "gpu", value=2.0),
            "servers[0].workers.gpu: not an integer, got 2.0",
        ),
        # ids
        (put("servers", 0, "id", value=""), "servers[0].id: must not be empty"),
        (put("worker_types", value=[""]), "worker_types[0]: must not be empty"),
        (twice("servers"), "servers[3].id: duplicate id 'edge-1'"),
        (twice("jobs"), "jobs[3].id: duplicate id 'j1'"),
        (twice("worker_types"), "worker_types[1]: duplicate id 'gpu'"),
        (twice("ps_types"), "ps_types[1]: duplicate id 'cpu'"),
        # types and servers that are not declared
        (
            put("servers", 0, "workers", "tpu", value=1),
            "servers[0].workers.tpu: unknown worker type",
        ),
        (
            put("servers", 2, "parameter_servers", "x", value=1),
            "servers[2].parameter_servers.x: unknown PS type",
        ),
        (put(*JOB, "worker_type", value="tpu"), "jobs[0].worker_type: unknown worker type 'tpu'"),
        (put(*JOB, "ps_type", value="gpu"), "jobs[0].ps_type: unknown PS type 'gpu'"),
        (
            drop(*JOB, "transfer_delay", "cloud"),
            "jobs[0].transfer_delay: missing delay for server 'cloud'",
        ),
        (
            put(*JOB, "transfer_delay", "moon", value=1),
            "jobs[0].transfer_delay: unknown server 'moon'",
        ),
        # domains
        (
            put(*JOB, "arrival", value=17),
            "jobs[0].arrival: arrival after horizon: must be <= 16, got 17",
        ),
        (put(*JOB, "arrival", value=0), "jobs[0].arrival: must be >= 1, got 0"),
        (put("horizon", value=0), "horizon: must be >= 1, got 0"),
        (put("slot_seconds", value=0), "slot_seconds: must be > 0, got 0"),
        (put(*JOB, "compute_seconds", value=0), "jobs[0].compute_seconds: must be > 0, got 0"),
        (put(*JOB, "bandwidth_mbps", value=-1), "jobs[0].bandwidth_mbps: must be > 0, got -1"),
        (put(*JOB, "update_seconds", value=-1), "jobs[0].update_seconds: must be >= 0, got -1"),
        (
            put(*JOB, "gradient_megabytes", value=float("nan")),
            "jobs[0].gradient_megabytes: not a finite number",
        ),
        (
            put(*JOB, "compute_seconds", value=float("inf")),
            "jobs[0].compute_seconds: not a finite number",
        ),
        (
            put(*JOB, "compute_seconds", value="1"),
            'jobs[0].compute_seconds: need a number, got "1"',
        ),
        (
            put(*JOB, "transfer_delay", "cloud", value=-1),
            "jobs[0].transfer_delay.cloud: must be >= 0, got -1",
        ),
        (
            put("servers", 0, "workers", "gpu", value=-1),
            "servers[0].workers.gpu: must be >= 0, got -1",
        ),
        (
            put("servers", 0, "kind", value="fog"),
            "servers[0].kind: must be 'edge' or 'cloud', got \"fog\"",
        ),
        (put("price_caps", value={"worker": 0}), "price_caps.worker: must be > 0, got 0"),
        # lists
        (put("servers", value=[]), "servers: empty list"),
        (put("jobs", value=[]), "jobs: empty list"),
        (put("worker_types", value=[]), "worker_types: empty list"),
        (put("ps_types", value=[]), "ps_types: empty list"),
        # rounds
        (put("batch_round", value=5), "batch_round: round starts after the horizon: 2^4 >= 16"),
        (
            put("batch_round", value=10**9),
            "batch_round: round starts after the horizon: 2^999999999 >= 16",
        ),
        (put("batch_round", value=0), "batch_round: must be >= 1, got 0"),
        (put("batch_round", value=None), "batch_round: must not be null: leave the key out"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_path(change, message):
    data = copy.deepcopy(TOY_A.to_data())
    change(data)
    with pytest.raises(InputError) as error:
        EdgeInstance.from_data(data)
    assert str(error.value) == message


def test_defaults_and_meta():
    caps = TOY_A.price_caps
    assert (caps.worker, caps.parameter_server, TOY_A.batch_round) == (1.0, 1.0, None)
    tiny = {"price_caps": {"worker": 1e-12}, "meta": {"anything": [None, {}]}}
    assert EdgeInstance.from_data(TOY_A.to_data() | tiny).price_caps.worker == 1e-12


@pytest.mark.parametrize(
    ("horizon", "batch_round", "window"),
    [(16, None, (1, 16)), (16, 1, (2, 2)), (16, 4, (9, 16)), (12, 4, (9, 12)), (17, 5, (17, 17))],
)
def test_the_window_is_the_horizon_or_the_round(horizon, batch_round, window):
    more = {} if batch_round is None else {"batch_round": batch_round}
    found = EdgeInstance.from_data(TOY_A.to_data() | {"horizon": horizon} | more)
    assert found.window == window and found.is_batch == (batch_round is not None)


def test_a_round_has_the_jobs_that_arrived_before_it():
    """Round 2 begins at slot 2: the jobs of arrival 1 take part, the job of arrival 2 does not."""
    second = EdgeInstance.from_data(TOY_A.to_data() | {"batch_round": 2})
    assert [second.may_run(job) for job in second.jobs] == [True, True, False]
    assert all(TOY_A.may_run(job) for job in TOY_A.jobs)


def test_an_instance_survives_pickling():
    copied = pickle.loads(pickle.dumps(TOY_BATCH))
    assert copied == TOY_BATCH and copied.to_data() == TOY_BATCH.to_data()
    assert TOY_BATCH.summary()["problem"] == "batch, slots 5-8"
    assert TOY_A.summary()["servers"] == "2 edge, 1 cloud"


def test_the_arrays_hold_what_the_file_says():
    view = arrays(TOY_A)
    assert view.workers.tolist() == [[2], [2], [4]] and view.ps.tolist() == [[1], [1], [2]]
    assert view.is_cloud.tolist() == [False, False, True]
    assert view.arrival.tolist() == [1, 1, 2] and view.chunks.tolist() == [3, 4, 2]
    assert view.ready.tolist() == [[2, 2, 4], [2, 2, 4], [3, 3, 5]]
    assert arrays(TOY_B).work[0].tolist() == pytest.approx([4.4, 4])
    data = TOY_A.to_data()
    data["worker_types"].append("tpu")
    assert arrays(EdgeInstance.from_data(data)).workers.tolist() == [[2, 0], [2, 0], [4, 0]]


def test_the_schema_holds_the_domains():
    schema = EdgeInstance.schema_of_file()
    assert schema["$defs"]["PriceCaps"]["properties"]["worker"]["exclusiveMinimum"] == 0
    assert "batch_round" not in schema["required"] and "horizon" in schema["required"]
