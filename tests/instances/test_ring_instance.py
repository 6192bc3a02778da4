"""What an instance file of family `ring` may hold, and what is said of what it may not."""

import copy

import pytest
from hypothesis import given, settings

from schedgap.errors import InputError
from schedgap.instances.ring import RingInstance
from strategies.ring import ring_instances
from strategies.ring_examples import W1, instance_of, job

MISSING = object()


def changed(path, value):
    """W1's data with one value replaced, or left out."""
    data = copy.deepcopy(W1.to_data())
    target = data
    for key in path[:-1]:
        target = target[key]
    if value is MISSING:
        del target[path[-1]]
    else:
        target[path[-1]] = value
    return data


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["jobs", 1, "gpus"], 0, "jobs[1].gpus: must be >= 1, got 0"),
        (["jobs", 1, "gpus"], True, "jobs[1].gpus: not an integer, got true"),
        (["jobs", 0, "gpus"], 2.0, "jobs[0].gpus: not an integer, got 2.0"),
        (["jobs", 0, "iterations"], 0, "jobs[0].iterations: must be >= 1, got 0"),
        (["jobs", 0, "gradient_size"], -1, "jobs[0].gradient_size: must be >= 0, got -1"),
        (["jobs", 0, "batch_size"], 0, "jobs[0].batch_size: must be >= 1, got 0"),
        (
            ["jobs", 0, "forward_time_per_sample"],
            float("nan"),
            "jobs[0].forward_time_per_sample: not a finite number",
        ),
        (["jobs", 0, "backward_time"], "1", 'jobs[0].backward_time: need a number, got "1"'),
        (["jobs", 0, "estimated_slots"], 0, "jobs[0].estimated_slots: must be > 0, got 0"),
        (
            ["jobs", 0, "estimated_slots"],
            None,
            "jobs[0].estimated_slots: must not be null: leave the key out",
        ),
        (["jobs", 0, "spread_factor"], 0.5, "jobs[0].spread_factor: must be >= 1, got 0.5"),
        (
            ["jobs", 0, "gpu"],
            1,
            "jobs[0].gpu: unknown key: did you mean 'gpus'?",
        ),
        (["jobs"], [], "jobs: empty list"),
        (["jobs", 1, "id"], "a", "jobs[1].id: duplicate id 'a'"),
        (["servers"], [], "servers: empty list"),
        (["servers", 2, "id"], "s1", "servers[2].id: duplicate id 's1'"),
        (["servers", 2, "id"], "", "servers[2].id: must not be empty"),
        (
            ["servers", 0, "gpus"],
            100_001,
            "servers[0].gpus: too large: must be <= 100000, got 100001",
        ),
        (
            ["servers"],
            [{"id": f"s{n}", "gpus": 100_000} for n in range(11)],
            "servers: too many GPUs: at most 1000000, got 1100000",
        ),
        (["horizon"], 100_001, "horizon: too large: must be <= 100000, got 100001"),
        (["horizon"], MISSING, "horizon: missing key"),
        (["bandwidth_between"], 0, "bandwidth_between: must be > 0, got 0"),
        (
            ["bandwidth_within"],
            39.9,
            "bandwidth_within: must be at least the between-server bandwidth",
        ),
        (["compute_speed"], 0, "compute_speed: must be > 0, got 0"),
        (["contention_factor"], 0, "contention_factor: must be > 0, got 0"),
        (["contention_factor"], 1.5, "contention_factor: too large: must be <= 1, got 1.5"),
        (["overhead_per_server"], 1.5, "overhead_per_server: too large: must be <= 1, got 1.5"),
        (["degradation"], {"kind": "cubic", "alpha": 0}, None),
        (["degradation", "alpha"], 11, "degradation.alpha: too large: must be <= 10, got 11"),
        (["degradation", "alpha"], MISSING, "degradation.alpha: missing key"),
        (["clamp_contention"], 1, "clamp_contention: need true or false, got 1"),
        (["rate_scale"], 10_001, "rate_scale: too large: must be <= 10000, got 10001"),
    ],
)  # fmt: skip
def test_what_is_refused(path, value, message):
    with pytest.raises(InputError) as refused:
        RingInstance.from_data(changed(path, value))
    if message is None:
        message = "degradation.kind: must be 'linear' or 'power', got \"cubic\""
    assert str(refused.value) == message


def test_a_negative_degradation_factor_is_refused():
    # literal (7): k = 0.1 p, and k + 0.2 (k - 1) = -0.08 for p = 1
    with pytest.raises(InputError) as refused:
        instance_of(
            [job("a", 4, 24), job("b", 4, 24)],
            [3, 3],
            contention_factor=0.1,
            degradation={"kind": "linear", "alpha": 0.2},
            clamp_contention=False,
        )
    assert str(refused.value) == (
        "contention_factor: contention_factor 0.1 with alpha 0.2 makes the degradation factor "
        "negative at p=1; set clamp_contention true"
    )
    half = {"contention_factor": 0.5, "degradation": {"kind": "linear", "alpha": 1.0}}
    with pytest.raises(InputError, match="makes the degradation factor 0 at p=1"):
        instance_of([job("a", 4, 24)], [3, 3], **half, clamp_contention=False)


def test_literal_contention_asks_for_more_bandwidth_within():
    # f(1) = 0.5: one spread job alone would get 40 / 0.5 = 80
    data = {"contention_factor": 0.5, "degradation": {"kind": "linear", "alpha": 0.0}}
    literal = data | {"clamp_contention": False}
    assert instance_of([job("a", 2, 1)], [1, 1], **literal, bandwidth_within=80.0).warnings()
    with pytest.raises(InputError, match="over the degradation factor at p=1"):
        instance_of([job("a", 2, 1)], [1, 1], **literal, bandwidth_within=79.0)
    assert not instance_of([job("a", 2, 1)], [1, 1], **data, bandwidth_within=40.0).warnings()


def test_a_job_that_takes_no_time_is_refused():
    nothing = {"batch_size": 1, "forward_time_per_sample": 0, "backward_time": 0}
    with pytest.raises(InputError) as refused:
        instance_of([job("a", 1, 1), job("b", 1, 1, **nothing)], [1], overhead_per_server=0)
    assert str(refused.value) == "jobs[1]: per-iteration time is 0"
    # a ring of one exchanges nothing, of two half of its data
    instance_of([job("b", 2, 1, 1.0, **nothing)], [2], overhead_per_server=0)


def test_a_job_larger_than_the_cluster_is_not_malformed():
    assert instance_of([job("a", 100, 1)], [3]).gpus == 3


def test_degradation_factors():
    # k = 0.5 p, at least 1: p = 1, 2 give 1; p = 3 gives k = 1.5: 1.5 + 0.2 * 0.5, or 1.5^1.5
    jobs = [job("a", 2, 1)]
    linear = instance_of(
        jobs, [3], contention_factor=0.5, degradation={"kind": "linear", "alpha": 0.2}
    )
    assert [linear.degradation_factor(p) for p in (1, 2)] == [1, 1]
    assert linear.degradation_factor(3) == pytest.approx(1.6)
    power = instance_of(
        jobs, [3], contention_factor=0.5, degradation={"kind": "power", "alpha": 0.5}
    )
    assert power.degradation_factor(3) == pytest.approx(1.5**1.5)


def test_rings_that_can_meet():
    # as many as the largest server has GPUs, and as there are jobs of more than one GPU
    jobs = [job("a", 1, 1), job("b", 2, 1), job("c", 3, 1), job("d", 2, 1)]
    assert instance_of(jobs, [2, 1]).max_contention == 2
    assert instance_of(jobs, [9, 1]).max_contention == 3
    assert instance_of(jobs[:1], [9, 1]).max_contention == 1


@given(ring_instances())
@settings(max_examples=50, deadline=None)
def test_a_file_holds_the_whole_instance(instance):
    again = RingInstance.from_data(instance.to_data())
    assert again == instance and again.to_data() == instance.to_data()


def test_the_schema_names_every_key():
    schema = RingInstance.schema_of_file()
    assert set(W1.to_data()) <= set(schema["properties"])
    assert set(schema["required"]) == {
        "family", "version", "name", "horizon", "servers", "jobs", "bandwidth_between",
        "bandwidth_within", "compute_speed", "contention_factor", "overhead_per_server",
        "degradation",
    }  # fmt: skip
