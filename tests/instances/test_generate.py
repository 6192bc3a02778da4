"""Presets, seeds and settings."""

import json

import pytest

from schedgap.errors import UsageError
from schedgap.instances.generate import apportion, generate, presets
from schedgap.instances.hare.compiled import arrays

ALL = tuple(presets("hare"))


def _bytes(**request):
    return json.dumps(generate("hare", **request).to_data()).encode()


@pytest.mark.parametrize("preset", ALL)
def test_same_seed_gives_the_same_bytes_and_another_seed_gives_others(preset):
    assert _bytes(preset=preset, seed=3) == _bytes(preset=preset, seed=3)
    seeded = presets("hare")[preset].seeded
    assert (_bytes(preset=preset, seed=3) != _bytes(preset=preset, seed=4)) == seeded


@pytest.mark.parametrize(("preset", "low", "high"), [("small", 12, 20), ("medium", 60, 80)])
def test_small_presets_keep_their_number_of_tasks_and_whole_times(preset, low, high):
    for seed in range(60):
        instance = generate("hare", preset=preset, seed=seed)
        view = arrays(instance)
        assert low <= instance.number_of_tasks <= high
        assert view.train.min() >= 1 and view.train.max() <= 10
        assert all((part % 1 == 0).all() for part in (view.train, view.sync, view.arrival))
        assert (view.sync <= view.train.min(axis=1, keepdims=True)).all()


def test_paper_has_the_numbers_of_the_paper():
    sizes = [generate("hare", preset="paper", seed=seed) for seed in range(5)]
    for instance in sizes:
        assert len(instance.jobs) == 200 and len(instance.gpus) == 160
        assert 18_000 < instance.number_of_tasks < 27_000  # 200 jobs x 3.75 tasks x 30 rounds
        classes = [job.model for job in instance.jobs]
        assert sum(model in ("FastGCN", "GraphSAGE") for model in classes) == 50


def test_paper_times_follow_tables_2_and_3():
    instance = generate("hare", preset="paper", seed=0)
    job = next(job for job in instance.jobs if job.model == "VGG19")
    # 20 batches of 149.4 ms on V100, 6.5 times quicker than K80; 16 bit x 548 MB at 25 Gbit/s
    assert job.training_time["V100"] == 2.988
    assert job.training_time["K80"] == 19.422
    # 20 exchanges of 0.351 s are longer than that, which Section 5.1 excludes
    assert job.synchronization_time["T4"] == 2.988
    once = generate("hare", preset="paper", seed=0, settings={"exchanges": 1})
    assert once.jobs[instance.jobs.index(job)].synchronization_time["T4"] == 0.351
    free = generate("hare", preset="paper", seed=0, settings={"sync_cap": False})
    assert free.jobs[instance.jobs.index(job)].synchronization_time["T4"] == 7.014
    small = next(job for job in instance.jobs if job.model == "FastGCN")
    assert small.synchronization_time["T4"] == 0.026  # 20 exchanges of 1.28 ms


def _without(instance, *keys):
    """Return the jobs of an instance without some keys."""
    return [
        {key: value for key, value in job.items() if key not in keys}
        for job in instance.to_data()["jobs"]
    ]


def _paper(**settings):
    return generate("hare", preset="paper", seed=2, settings=settings)


def test_bandwidth_changes_the_synchronization_times_only():
    fast, slow = _paper(), _paper(bandwidth=10)
    assert fast.gpus == slow.gpus
    assert _without(fast, "synchronization_time") == _without(slow, "synchronization_time")
    pairs = [
        (one.synchronization_time["K80"], two.synchronization_time["K80"])
        for one, two in zip(_paper(sync_cap=False).jobs,
                            _paper(sync_cap=False, bandwidth=10).jobs, strict=True)
    ]  # fmt: skip
    assert all(two == pytest.approx(2.5 * one, abs=2e-3) for one, two in pairs)


@pytest.mark.parametrize("factor", [0.5, 2, 4])
def test_larger_batches_mean_fewer_rounds_of_the_same_data(factor):
    base, other = _paper(), _paper(batch_factor=factor)
    changed = ("rounds", "training_time", "synchronization_time")
    assert _without(base, *changed) == _without(other, *changed)
    for one, two in zip(base.jobs, other.jobs, strict=True):
        assert two.rounds == max(1, int(one.rounds / factor + 0.5))
        work = [job.rounds * job.training_time["K80"] for job in (one, two)]
        assert work[1] == pytest.approx(work[0], abs=1e-3 * (one.rounds + two.rounds))


def test_gpus_and_their_mix_leave_the_jobs_as_they_are():
    base = _paper()
    assert _paper(gpus=80).jobs == base.jobs
    assert [len(_paper(gpus=n).gpus) for n in (80, 240)] == [80, 240]
    low = _paper(mix="low")
    assert {gpu.kind for gpu in low.gpus} == {"V100"} and len(low.gpus) == 160
    times = ("training_time", "synchronization_time")
    assert _without(low, *times) == _without(base, *times)
    assert [job.training_time["V100"] for job in low.jobs] == [
        job.training_time["V100"] for job in base.jobs
    ]


def test_fewer_jobs_are_the_first_of_more():
    few, more = (_without(_paper(jobs=jobs), "id") for jobs in (100, 152))
    assert len(few) == 100 and all(job in more for job in few)


def test_the_share_of_a_class_changes_the_class_of_as_few_jobs_as_possible():
    own = ("model", "rounds", "training_time", "synchronization_time")
    base = _paper()
    before: set[str] = set()
    for share, count in ((0.35, 70), (0.45, 90), (0.55, 110)):
        more = _paper(shares=f"Speech:{share}")
        assert _without(more, *own) == _without(base, *own)
        speech = {job.id for job in more.jobs if job.model == "DeepSpeech"}
        assert len(speech) == count and before <= speech
        kept = [(a, b) for a, b in zip(base.jobs, more.jobs, strict=True) if a.model == b.model]
        assert len(kept) == 200 - (count - 50) and all(a == b for a, b in kept)
        before = speech


def test_a_longer_span_stretches_the_arrivals():
    long = _paper(arrival_span=6000)
    assert [job.arrival for job in long.jobs] == pytest.approx(
        [10 * job.arrival for job in _paper().jobs], abs=0.01
    )


def test_the_testbed_has_15_gpus():
    testbed = generate("hare", preset="testbed")
    kinds = [gpu.kind for gpu in testbed.gpus]
    assert [kinds.count(kind) for kind in ("K80", "M60", "T4", "V100")] == [1, 2, 4, 8]


def test_switching_times_are_converted_to_seconds():
    instance = generate("hare", preset="testbed", settings={"switching": "true"})
    times = instance.switching.models["Bert_base"]
    assert (times.default, times.pipeswitch, times.hare) == (9.01699, 0.01257, 0.00503)
    assert times.memory_gb == 2.68  # 4 x 0.42 GB + 1


def test_settings_of_the_shape_lift_the_range_of_tasks():
    assert len(generate("hare", preset="small", settings={"jobs": 40}).jobs) == 40
    with pytest.raises(UsageError, match=r"no instance of 500-600 tasks in 10000 draws"):
        generate("hare", preset="small", settings={"tasks": (500, 600)})


def test_meta_says_where_an_instance_comes_from_and_makes_it_again():
    instance = generate(
        "hare", preset="paper", seed=7, settings={"mix": "V100:3,K80:1", "rounds_cv": (1, 2)}
    )
    meta = instance.meta
    assert meta["preset"] == "paper" and meta["seed"] == 7 and meta["time_unit"] == "s"
    assert meta["settings"] == {"mix": "V100:3,K80:1", "rounds_cv": "1-2"}
    assert instance.name == "hare-paper-seed7-mix=V100_3_K80_1-rounds_cv=1-2"
    again = generate("hare", preset=meta["preset"], seed=7, settings=meta["settings"])
    assert again.to_data() == instance.to_data()


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"preset": "smal"}, "family hare has no preset 'smal': choose one of toy, small,"),
        (
            {"settings": {"job": 3}},
            r"no setting 'job': choose one of jobs, gpus, .* \(did you mean 'jobs'\?\)",
        ),
        ({"preset": "toy", "settings": {"jobs": 3}}, r"no setting 'jobs': choose one of none$"),
        ({"settings": {"jobs": "x"}}, "option jobs=x: need an integer >= 1"),
        ({"settings": {"jobs": 0}}, "option jobs=0: need an integer >= 1"),
        ({"settings": {"jobs": True}}, "option jobs=True: need an integer"),
        ({"settings": {"jobs": "9" * 5000}}, r"option jobs=9+\.\.\.: need an integer"),
        ({"settings": {"rounds": "3-1"}}, "option rounds=3-1: need whole numbers >= 1"),
        ({"settings": {"rounds": "3\n4"}}, r"option rounds='3\\n4': need whole numbers"),
        ({"preset": "paper", "settings": {"bandwidth": "nan"}}, "bandwidth=nan: need a number"),
        ({"preset": "paper", "settings": {"switching": "yes"}}, "need true or false"),
        ({"preset": "paper", "settings": {"mix": "A100:1"}}, "no speeds for kind 'A100'"),
        ({"preset": "paper", "settings": {"mix": "V100"}}, "need one of low, middle"),
        ({"preset": "paper", "settings": {"mix": "V100:0"}}, "not all 0"),
        ({"preset": "paper", "settings": {"shares": "XX:1"}}, "no class 'XX': choose among CV"),
        ({"preset": "paper", "settings": {"shares": "CV:0.6,NLP:0.6"}}, "must sum to 1"),
        ({"preset": "paper", "settings": {"tasks_per_round": "1,,2"}}, "whole numbers >= 1"),
        ({"seed": -1}, "seed -1: need an integer >= 0"),
        ({"seed": 1.5}, "seed 1.5: need an integer >= 0"),
    ],
)
def test_a_wrong_request_is_one_line_that_names_what_exists(request_, message):
    with pytest.raises(UsageError, match=message) as caught:
        generate("hare", **request_)
    assert "\n" not in str(caught.value)
    with pytest.raises(UsageError, match="no family 'har': choose one of hare"):
        generate("har")


def test_parts_sum_to_the_whole_and_follow_the_shares():
    assert apportion(15, (1, 2, 4, 8)) == [1, 2, 4, 8]
    assert apportion(10, (1, 1, 1)) == [4, 3, 3]  # ties to the earlier
    assert apportion(7, (0, 1)) == [0, 7]


def test_every_option_says_what_it_is():
    for preset in presets("hare").values():
        assert preset.summary
        for option in preset.options:
            assert option.help and option.domain
            assert option.parse(option.plain(option.default)) == option.default
