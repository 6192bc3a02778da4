"""What an instance file of family `elastic` may say, and the line that refuses everything else."""

import copy
import pickle

import pytest

from schedgap.errors import InputError
from schedgap.instances.elastic import ElasticInstance
from strategies.edits import drop, put, twice
from strategies.elastic_examples import BATCH, RING, TOY


def closed(data):
    data |= {"horizon": 1, "horizon_policy": "closed"}


CAPACITY = ("servers", 0, "capacity")
UPDATE = ("jobs", 0, "update_time")
EMPTY_PS = "ps_types: empty list: parameter_server needs at least one PS type"
BANDWIDTH = "bandwidth demand must be positive: 2 pi / b is divided by it"


@pytest.mark.parametrize(
    ("instance", "change", "message"),
    [
        # 1 and 2: objective, deadline, arrivals
        (BATCH, drop("deadline"), "deadline: missing key: objective scheduled_weight needs it"),
        (TOY, put("deadline", value=5), "deadline: deadline only with objective scheduled_weight"),
        (BATCH, put("deadline", value=1), "deadline: must be >= 2, got 1"),
        (BATCH, put("deadline", value=None), "deadline: must not be null: leave the key out"),
        (
            BATCH, put("jobs", 1, "arrival", value=2),
            "jobs[1].arrival: must be 1, got 2: a batch problem starts at slot 1",
        ),
        # 3: resources
        (TOY, put("bandwidth_resource", value="net"), "bandwidth_resource: unknown resource 'net'"),
        (TOY, put(*CAPACITY, "net", value=1), "servers[0].capacity.net: unknown resource"),
        (
            TOY, put("worker_types", 0, "demand", "net", value=1),
            "worker_types[0].demand.net: unknown resource",
        ),
        (TOY, put("ps_types", 0, "demand", "x", value=1), "ps_types[0].demand.x: unknown resource"),
        (TOY, put("resources", value=[]), "resources: empty list"),
        (TOY, twice("resources"), "resources[3]: duplicate resource 'gpu'"),
        # 4: bandwidth
        (
            TOY, drop("worker_types", 0, "demand", "bandwidth"),
            f"worker_types[0].demand.bandwidth: {BANDWIDTH}",
        ),
        (
            TOY, put("ps_types", 0, "demand", "bandwidth", value=0),
            f"ps_types[0].demand.bandwidth: {BANDWIDTH}",
        ),
        (
            TOY, put("ps_types", 0, "demand", "cpu", value=1e-12),
            "ps_types[0].demand.cpu: too small: must be 0 or >= 1e-09, got 1e-12",
        ),
        # 5: architecture
        (TOY, put("ps_types", value=[]), EMPTY_PS),
        (TOY, drop("ps_types"), EMPTY_PS),
        (
            RING, put("ps_types", value=[{"id": "p", "demand": {"bandwidth": 1}}]),
            "ps_types: must be empty: Ring-AllReduce has no parameter servers",
        ),
        (
            RING, put(*UPDATE, value={"p1": 0}),
            "jobs[0].update_time: need a number: Ring-AllReduce has one time for all",
        ),
        (
            TOY, put(*UPDATE, value=0.5),
            "jobs[0].update_time: need an object: a time for each PS type",
        ),
        # 6: types of a job
        (
            TOY, put("jobs", 0, "train_time", value={}),
            "jobs[0].train_time: empty object: need the time on at least one worker type",
        ),
        (
            TOY, put("jobs", 0, "train_time", "w9", value=1),
            "jobs[0].train_time.w9: unknown worker type",
        ),
        (
            TOY, put(*UPDATE, value={}),
            "jobs[0].update_time: empty object: need the time on at least one PS type",
        ),
        (TOY, put(*UPDATE, "p9", value=1), "jobs[0].update_time.p9: unknown PS type"),
        # 7: numbers and ids
        (TOY, put("jobs", 0, "epochs", value=2.0), "jobs[0].epochs: not an integer, got 2.0"),
        (TOY, put("jobs", 0, "chunks", value=True), "jobs[0].chunks: not an integer, got true"),
        (TOY, put("jobs", 0, "arrival", value=0), "jobs[0].arrival: must be >= 1, got 0"),
        (TOY, put("jobs", 0, "weight", value=0), "jobs[0].weight: must be > 0, got 0"),
        (
            TOY, put("jobs", 0, "gradient_size", value=-1),
            "jobs[0].gradient_size: must be >= 0, got -1",
        ),
        (
            TOY, put("jobs", 0, "gradient_size", value=float("inf")),
            "jobs[0].gradient_size: not a finite number",
        ),
        (TOY, put(*UPDATE, "p1", value="1"), 'jobs[0].update_time.p1: need a number, got "1"'),
        (TOY, put(*UPDATE, value=True), "jobs[0].update_time: need a number, got true"),
        (TOY, put(*UPDATE, value=[1]), "jobs[0].update_time: need a number, got [1]"),
        (TOY, twice("servers"), "servers[2].id: duplicate id 's1'"),
        (TOY, twice("worker_types"), "worker_types[1].id: duplicate id 'w1'"),
        (TOY, twice("ps_types"), "ps_types[1].id: duplicate id 'p1'"),
        (TOY, twice("jobs"), "jobs[2].id: duplicate id 'j1'"),
        (TOY, put("jobs", 0, "id", value=""), "jobs[0].id: must not be empty"),
        # 8: a closed horizon
        (TOY, closed, "jobs[1].arrival: arrives after the horizon 1, which is closed"),
        # 9: size
        (
            TOY, put("jobs", 0, "epochs", value=10**9 + 1),
            "jobs[0].epochs: too large: must be <= 1000000000, got 1000000001",
        ),
        (
            TOY, put(*CAPACITY, "gpu", value=2e12),
            "servers[0].capacity.gpu: too large: must be <= 1e+12, got 2000000000000.0",
        ),
        # keys
        (
            TOY, put("jobs", 0, "epoch", value=1),
            "jobs[0].epoch: unknown key: did you mean 'epochs'?",
        ),
        (TOY, drop("jobs", 0, "gradient_size"), "jobs[0].gradient_size: missing key"),
        (TOY, drop("architecture"), "architecture: missing key"),
        (
            TOY, put("architecture", value="ring"),
            "architecture: must be 'parameter_server' or 'ring_allreduce', got \"ring\"",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_path(instance, change, message):
    data = copy.deepcopy(instance.to_data())
    change(data)
    with pytest.raises(InputError) as error:
        ElasticInstance.from_data(data)
    assert str(error.value) == message


def test_defaults_and_optional_keys():
    assert (TOY.objective, TOY.horizon_policy, TOY.deadline) == (
        "weighted_completion",
        "open",
        None,
    )
    assert RING.ps_types == () and RING.is_ring and not TOY.is_ring
    with_empty = ElasticInstance.from_data(RING.to_data() | {"ps_types": []})
    assert with_empty.is_ring


def test_the_last_end_is_the_deadline_or_one_after_a_closed_horizon():
    assert TOY.last_end is None
    assert BATCH.last_end == 4
    closed_toy = ElasticInstance.from_data(TOY.to_data() | {"horizon_policy": "closed"})
    assert closed_toy.last_end == 11
    both = ElasticInstance.from_data(BATCH.to_data() | {"horizon_policy": "closed", "horizon": 1})
    assert both.last_end == 4


def test_an_instance_survives_pickling_and_counts_its_work():
    copied = pickle.loads(pickle.dumps(TOY))
    assert copied == TOY and copied.to_data() == TOY.to_data()
    assert [job.work for job in TOY.jobs] == [12, 4]
    assert TOY.summary()["types"] == "1 of workers, 1 of parameter servers"


def test_the_schema_shows_both_kinds_of_update_time():
    schema = ElasticInstance.schema_of_file()
    kinds = schema["$defs"]["Job"]["properties"]["update_time"]
    assert [kind["type"] for kind in kinds["oneOf"]] == ["object", "number"]
    assert "ps_types" not in schema["required"] and "deadline" not in schema["required"]
