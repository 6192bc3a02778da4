"""Changed instances: data, hash, equality and everything that is cached agree, in all families."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import schedgap as sg
from schedgap.errors import InputError, UsageError
from schedgap.instances.families import FAMILIES, from_data

SMALL = {name: sg.generate(name, preset="small", seed=3) for name in FAMILIES}
CHANGES = {  # a number of the first job that matters to every schedule
    "dmlrs": ("arrival", lambda job: job.arrival + 1),
    "edge": ("arrival", lambda job: job.arrival + 1),
    "elastic": ("arrival", lambda job: job.arrival + 1),
    "hare": ("weight", lambda job: job.weight + 7.5),
    "ring": ("iterations", lambda job: job.iterations + 1),
}


def first_job_changed(instance: Any) -> tuple[Any, dict[str, Any]]:
    """Return the jobs with a changed first one, and the same as JSON data of the whole."""
    key, new = CHANGES[instance.family]
    job = instance.jobs[0]
    data = instance.to_data()
    data["jobs"][0][key] = new(job)
    return [job.replace(**{key: new(job)}), *instance.jobs[1:]], data


def agree(one: Any, other: Any) -> None:
    """Assert that two instances are one in every way in which they can be looked at."""
    assert one == other and hash(one) == hash(other) and one.sha256 == other.sha256
    assert one.to_data() == other.to_data()
    assert one.jobs == other.jobs and repr(one) == repr(other)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_changed_instance_is_what_its_data_say(family: str) -> None:
    instance = SMALL[family]
    _ = instance.sha256  # what is cached must not go over
    jobs, data = first_job_changed(instance)
    truth = from_data(data)
    ways = [
        instance.replace(jobs=jobs),
        instance.replace(jobs=data["jobs"]),
        instance.model_copy(update={"jobs": tuple(jobs)}),
        instance.model_copy(update={"jobs": tuple(jobs)}, deep=True),
        instance.copy(update={"jobs": tuple(jobs)}),
        instance.__replace__(jobs=jobs),
    ]
    if hasattr(copy, "replace"):  # from Python 3.13 on
        ways.append(copy.replace(instance, jobs=jobs))
    for changed in ways:
        assert changed != instance and changed.sha256 != instance.sha256
        agree(changed, truth)


@pytest.mark.parametrize("family", FAMILIES)
def test_copies_and_pickles_are_the_same_instance(family: str) -> None:
    instance = SMALL[family]
    for other in (
        instance.replace(),
        instance.model_copy(),
        copy.copy(instance),
        copy.deepcopy(instance),
        pickle.loads(pickle.dumps(instance)),
    ):
        agree(other, instance)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_changed_job_is_pickled_as_it_is(family: str) -> None:
    job = first_job_changed(SMALL[family])[0][0]
    assert pickle.loads(pickle.dumps(job)) == job != SMALL[family].jobs[0]


@pytest.mark.parametrize("family", FAMILIES)
def test_arrays_and_answers_follow_the_change(family: str) -> None:
    """The changed instance has the same answer as the same file read anew."""
    instance = SMALL[family]
    baseline = next(m for m in sg.methods(family) if m["kind"] == "baseline")["method"]
    before = sg.solve(instance, baseline, time_limit=20)
    jobs, data = first_job_changed(instance)
    changed, truth = instance.replace(jobs=jobs), from_data(data)
    mine, theirs = (sg.solve(each, baseline, time_limit=20) for each in (changed, truth))
    assert mine.objective == theirs.objective and sg.verify(truth, mine.to_data())
    assert mine.instance_sha256 == truth.sha256 != before.instance_sha256
    with pytest.raises(InputError, match="not a solution of this instance"):
        sg.verify(changed, before.to_data())


def test_more_gpus_are_more_gpus() -> None:
    instance = SMALL["ring"]
    servers = [server.replace(gpus=8 * server.gpus) for server in instance.servers]
    changed = instance.model_copy(update={"servers": tuple(servers)})
    _ = instance.gpus
    assert changed.gpus == 8 * instance.gpus
    assert f"GPUs {changed.gpus}" in repr(changed)


def test_a_cached_view_of_a_job_does_not_go_over() -> None:
    job = SMALL["hare"].jobs[0]
    assert job.alike is not None
    times = {key: 2 * value for key, value in job.training_time.items()}
    assert job.replace(training_time=times).alike.training_time == times


@pytest.mark.parametrize("family", FAMILIES)
def test_a_change_is_checked(family: str) -> None:
    instance = SMALL[family]
    with pytest.raises(InputError, match=r"^jobs: need a list"):
        instance.replace(jobs=3)
    with pytest.raises(InputError, match="wieght: unknown key"):
        instance.replace(wieght=1)
    with pytest.raises(InputError, match="jobs: missing key"):
        instance.model_copy(update={"jobs": None})
    with pytest.raises(InputError, match="arrival"):
        instance.jobs[0].replace(arrival=-1)
    assert instance == SMALL[family].replace()


def test_a_key_that_need_not_be_there_is_taken_out() -> None:
    data = SMALL["edge"].to_data()
    batch = from_data({**data, "batch_round": 3})
    assert batch.is_batch and batch != SMALL["edge"]
    assert batch.replace(batch_round=None) == from_data({**data})


def test_what_a_record_holds_cannot_be_changed() -> None:
    job = SMALL["hare"].jobs[0]
    kind = next(iter(job.training_time))
    for change in (
        lambda: job.training_time.__setitem__(kind, 1.0),
        lambda: job.training_time.update({kind: 1.0}),
        lambda: job.training_time.pop(kind),
        lambda: job.training_time.clear(),
        lambda: SMALL["hare"].meta.__setitem__("source", "me"),
        lambda: SMALL["edge"].servers[0].workers.setdefault("w", 3),
        lambda: SMALL["elastic"].servers[0].capacity.__delitem__("gpu"),
    ):
        with pytest.raises(TypeError, match="replace"):
            change()


def numpy_numbers(value: Any) -> Any:
    """Return JSON data with every number as one of NumPy's."""
    if isinstance(value, dict):
        return {key: numpy_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        if value and all(type(item) is int for item in value):
            return np.array(value, dtype=np.int32)
        return [numpy_numbers(item) for item in value]
    if isinstance(value, bool):
        return np.bool_(value)
    if isinstance(value, int):
        return np.int64(value)
    return np.float64(value) if isinstance(value, float) else value


@pytest.mark.parametrize("family", FAMILIES)
def test_numpy_numbers_are_numbers(family: str) -> None:
    instance = SMALL[family]
    agree(from_data({**numpy_numbers(instance.to_data()), "version": 1}), instance)
    key, new = CHANGES[family]
    changed = instance.jobs[0].replace(**{key: np.array(new(instance.jobs[0]))[()]})
    assert changed == first_job_changed(instance)[0][0]


def test_numpy_numbers_as_settings() -> None:
    instance = sg.generate("hare", preset="small", seed=np.int64(3))
    assert instance == SMALL["hare"]
    solution = sg.solve(
        instance, "local-search", seed=np.int32(2), time_limit=np.float32(5), moves=np.int64(3)
    )
    assert sg.Solution.bind(instance, solution.to_data()).seed == 2
    assert solution.options["moves"] == 3
    with pytest.raises(UsageError, match="seed -1"):
        sg.generate("hare", seed=np.int64(-1))
    with pytest.raises(UsageError, match=r"seed 1\.5"):
        sg.generate("hare", seed=1.5)  # type: ignore[arg-type]


def test_a_changed_solution_stays_with_its_instance() -> None:
    solution = sg.solve(SMALL["hare"], "job-alone")
    kept, other = solution.replace(seconds=1.0), solution.replace(bound=1.0)
    assert kept.certificate == solution.certificate
    assert other.bound == 1.0 and other.certificate is None
    with pytest.raises(InputError, match="instance_sha256"):
        solution.replace(instance_sha256="0" * 64)


def test_numbers_stay_as_written_where_a_list_is_shifted() -> None:
    """1000.0 of a file stays 1000.0, and with it the hash."""
    data = SMALL["hare"].to_data()
    data["jobs"][1]["weight"] = 1000.0
    instance = from_data(data)
    less = instance.replace(jobs=instance.jobs[1:])
    assert less == from_data({**data, "jobs": data["jobs"][1:]})
    other = instance.replace(jobs=[*reversed(instance.jobs)])
    assert other == from_data({**data, "jobs": [*reversed(data["jobs"])]})
