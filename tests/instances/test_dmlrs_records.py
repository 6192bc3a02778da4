"""What an instance file of family `dmlrs` may say, and the line that refuses everything else."""

import copy
import math
import pickle

import pytest

from schedgap.errors import InputError
from schedgap.instances.dmlrs import DmlrsInstance, Sigmoid, arrays
from strategies.dmlrs_examples import TOY, instance_of, job
from strategies.edits import drop, put, twice

SIGMOID = {"type": "sigmoid", "priority": 10.0, "sensitivity": 0.5, "target": 2.0}


JOB = ("jobs", 0)
UTILITY = (*JOB, "utility")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        # keys
        (put("slots", value=3), "slots: unknown key"),
        (put(*JOB, "epoch", value=3), "jobs[0].epoch: unknown key: did you mean 'epochs'?"),
        (drop("horizon"), "horizon: missing key"),
        (drop("jobs"), "jobs: missing key"),
        (drop(*JOB, "gradient_size"), "jobs[0].gradient_size: missing key"),
        (drop(*UTILITY, "values"), "jobs[0].utility.values: missing key"),
        (drop(*UTILITY, "type"), "jobs[0].utility.type: missing key"),
        (put(*UTILITY, value={**SIGMOID, "weight": 1}), "jobs[0].utility.weight: unknown key"),
        (put(*UTILITY, "priority", value=1), "jobs[0].utility.priority: unknown key"),
        (
            drop("price_parameters", "min_unit_utility"),
            "price_parameters.min_unit_utility: missing key",
        ),
        # horizon and rule
        (put("horizon", value=0), "horizon: must be >= 1, got 0"),
        (put("horizon", value=4.0), "horizon: not an integer, got 4.0"),
        (put("horizon", value=True), "horizon: not an integer, got true"),
        (put("horizon", value=10_001), "horizon: too large: must be <= 10000, got 10001"),
        (put("ps_rule", value="most"), "ps_rule: must be 'at_least' or 'exact', got \"most\""),
        # ids
        (put("resources", value=[]), "resources: empty list"),
        (put("resources", value=["gpu", "gpu"]), "resources[1]: duplicate id 'gpu'"),
        (put("resources", value=["gpu", ""]), "resources[1]: must not be empty"),
        (twice("machines"), "machines[2].id: duplicate id 'm1'"),
        (twice("jobs"), "jobs[3].id: duplicate id 'j1'"),
        (put("machines", value=[]), "machines: empty list"),
        # amounts
        (drop(*JOB, "worker_demand", "gpu"), "jobs[0].worker_demand: missing resource 'gpu'"),
        (put(*JOB, "ps_demand", "disk", value=1), "jobs[0].ps_demand.disk: unknown resource"),
        (drop("machines", 1, "capacity", "cpu"), "machines[1].capacity: missing resource 'cpu'"),
        (
            put("machines", 0, "capacity", "tpu", value=1),
            "machines[0].capacity.tpu: unknown resource",
        ),
        (
            put(*JOB, "worker_demand", "gpu", value=-1),
            "jobs[0].worker_demand.gpu: must be >= 0, got -1",
        ),
        (
            put(*JOB, "ps_demand", "cpu", value=0.1234),
            "jobs[0].ps_demand.cpu: more than 3 decimals, got 0.1234",
        ),
        (
            put(*JOB, "ps_demand", "cpu", value=1e-9),
            "jobs[0].ps_demand.cpu: more than 3 decimals, got 1e-09",
        ),
        (
            put("machines", 0, "capacity", "gpu", value=2e9),
            "machines[0].capacity.gpu: too large: must be <= 1e+09, got 2000000000.0",
        ),
        (
            put("machines", 0, "capacity", "gpu", value=float("inf")),
            "machines[0].capacity.gpu: not a finite number",
        ),
        (
            put(*JOB, "worker_demand", value={"gpu": 0, "cpu": 0}),
            "jobs[0].worker_demand: a worker of job 'j1' demands nothing",
        ),
        (
            put(*JOB, "ps_demand", value={"gpu": 0, "cpu": 0.0}),
            "jobs[0].ps_demand: a PS of job 'j1' demands nothing",
        ),
        # jobs
        (put(*JOB, "arrival", value=0), "jobs[0].arrival: must be >= 1, got 0"),
        (
            put(*JOB, "arrival", value=5),
            "jobs[0].arrival: arrival after horizon: must be <= 4, got 5",
        ),
        (put(*JOB, "epochs", value=0), "jobs[0].epochs: must be >= 1, got 0"),
        (put(*JOB, "samples", value=1.5), "jobs[0].samples: not an integer, got 1.5"),
        (
            put(*JOB, "samples", value=10**10),
            "jobs[0].samples: too large: must be <= 1000000000, got 10000000000",
        ),
        (
            put(*JOB, "batch_size", value=100_001),
            "jobs[0].batch_size: too large: must be <= 100000, got 100001",
        ),
        (put(*JOB, "worker_ps_ratio", value=0.5), "jobs[0].worker_ps_ratio: must be >= 1, got 0.5"),
        (put(*JOB, "gradient_size", value=0), "jobs[0].gradient_size: must be > 0, got 0"),
        (put(*JOB, "time_per_sample", value=-1), "jobs[0].time_per_sample: must be >= 0, got -1"),
        (
            put(*JOB, "time_per_sample", value=1e13),
            "jobs[0].time_per_sample: too large: must be <= 1e+12, got 10000000000000.0",
        ),
        (
            put(*JOB, "external_bandwidth", value=0),
            "jobs[0].external_bandwidth: must be > 0, got 0",
        ),
        (
            put(*JOB, "internal_bandwidth", value=99.0),
            "jobs[0].internal_bandwidth: below external_bandwidth: (3) would reward splitting",
        ),
        # utilities
        (put(*UTILITY, value=3), "jobs[0].utility: need an object, got 3"),
        (
            put(*UTILITY, "type", value="linear"),
            'jobs[0].utility.type: must be sigmoid or table, got "linear"',
        ),
        (
            put(*UTILITY, "values", value=[3, 2]),
            "jobs[0].utility.values: must hold 4 numbers, one for each slot, got 2",
        ),
        (
            put(*UTILITY, "values", value=[3, 2, 2, 3]),
            "jobs[0].utility.values[3]: must not increase: 3 after 2",
        ),
        (
            put(*UTILITY, "values", value=[3, 2, 1, -1]),
            "jobs[0].utility.values[3]: must be >= 0, got -1",
        ),
        (
            put(*UTILITY, value={**SIGMOID, "target": 0}),
            "jobs[0].utility.target: must be > 0, got 0",
        ),
        (
            put(*UTILITY, value={**SIGMOID, "sensitivity": "1"}),
            'jobs[0].utility.sensitivity: need a number, got "1"',
        ),
        # prices
        (
            put("price_parameters", value=None),
            "price_parameters: must not be null: leave the key out",
        ),
        (
            drop("price_parameters", "max_unit_utility", "cpu"),
            "price_parameters.max_unit_utility: missing resource 'cpu'",
        ),
        (
            put("price_parameters", "max_unit_utility", "disk", value=1.0),
            "price_parameters.max_unit_utility.disk: unknown resource",
        ),
        (
            put("price_parameters", "max_unit_utility", "cpu", value=0),
            "price_parameters.max_unit_utility.cpu: must be > 0, got 0",
        ),
        (
            put("price_parameters", "min_unit_utility", value=5.0),
            "price_parameters.min_unit_utility: above max_unit_utility.cpu",
        ),
        (
            put("price_parameters", "min_unit_utility", value=0),
            "price_parameters.min_unit_utility: must be > 0, got 0",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_path(change, message):
    data = copy.deepcopy(TOY.to_data())
    change(data)
    with pytest.raises(InputError) as error:
        DmlrsInstance.from_data(data)
    assert str(error.value) == message


def test_there_may_be_no_jobs_and_no_prices():
    empty = instance_of([])
    assert empty.jobs == () and empty.price_parameters is None and empty.ps_rule == "at_least"
    view = arrays(empty)
    assert view.needed.shape == (0, 2) and view.worker_demand.shape == (0, 2)
    assert view.utility.shape == (0, 4)
    tiny = {**TOY.to_data()["price_parameters"], "min_unit_utility": 1e-30}
    assert DmlrsInstance.from_data(TOY.to_data() | {"price_parameters": tiny}) != TOY


def test_a_job_may_arrive_last_and_all_prices_may_be_one():
    last = instance_of([job("j", 4, [1.0] * 4)])
    assert last.jobs[0].arrival == last.horizon
    one = {"max_unit_utility": {"gpu": 2.0, "cpu": 1.0}, "min_unit_utility": 1.0}
    given = DmlrsInstance.from_data(TOY.to_data() | {"price_parameters": one}).price_parameters
    assert given.min_unit_utility == given.max_unit_utility["cpu"]


def test_utilities_fall_with_the_delay():
    """10 / (1 + e^(0.5 (d - 2))): 10 / (1 + 1) at d = 2."""
    sigmoid = Sigmoid(**SIGMOID)
    assert sigmoid.at(2) == 5 and sigmoid.at(0) == pytest.approx(10 / (1 + math.exp(-1)))
    assert Sigmoid(**(SIGMOID | {"sensitivity": 1000.0})).at(3) == 0
    assert Sigmoid(**(SIGMOID | {"sensitivity": 300.0})).at(4) == 10 / (1 + math.exp(600))
    assert arrays(TOY).utility.tolist() == [[10, 8, 2, 0], [3, 3, 3, 1], [9, 9, 1, 0]]
    late = instance_of([job("j", 3, [4.0, 3.0, 2.0, 1.0])])
    assert arrays(late).utility.tolist() == [[4, 3, 0, 0]]


def test_the_arrays_hold_what_the_file_says():
    fine = instance_of(
        [job("j", 1, [1.0] * 4, worker_demand={"gpu": 0.1, "cpu": 2.675}, worker_ps_ratio=1.5)],
        [{"gpu": 0.3, "cpu": 1e9}],
    )
    view = arrays(fine)
    assert view.worker_milli.tolist() == [[100, 2675]] and view.ps_milli.tolist() == [[0, 1000]]
    assert view.worker_demand.tolist() == [[0.1, 2.675]]
    assert view.capacity.tolist() == [[0.3, 1e9]]
    assert view.capacity_milli.tolist() == [[300, 10**12]]
    assert view.ratio.tolist() == [1.5] and view.batch.tolist() == [4]


def test_an_instance_survives_pickling():
    copied = pickle.loads(pickle.dumps(TOY))
    assert copied == TOY and copied.to_data() == TOY.to_data()
    assert TOY.summary()["machines"] == "2"


def test_the_schema_holds_the_domains():
    schema = DmlrsInstance.schema_of_file()
    assert schema["properties"]["horizon"]["maximum"] == 10_000
    assert "price_parameters" not in schema["required"] and "jobs" in schema["required"]
    utility = schema["$defs"]["Job"]["properties"]["utility"]
    assert {"$ref": "#/$defs/Table"} in utility.get("oneOf", utility.get("anyOf"))
