"""The search for worst cases: moves, determinism, certificates, resumption, refutations."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import schedgap as sg
from schedgap.analysis.records.ratios import RatioInterval
from schedgap.analysis.studies.annealing import Chain, advance
from schedgap.analysis.studies.certifying import over_claim
from schedgap.analysis.studies.scores import Evaluator
from schedgap.analysis.studies.shrinking import shrink
from schedgap.analysis.studies.targets import Target
from schedgap.errors import InputError, UsageError
from schedgap.instances.families import OWN
from schedgap.instances.hare.mutations import MOST_TASKS
from schedgap.instances.mutations import mutate, space, valid
from schedgap.models.family import family

SMALL = {"evaluations": 30, "time_limit": None, "jobs": 3, "seed": 3}


def _target(**changes: object) -> Target:
    given = {
        "family": "ring", "method": "list-scheduling", "options": {}, "against": "exact",
        "guarantee": None, "preset": None, "settings": {}, "jobs": 3, "fixed": (), "seed": 0,
    }  # fmt: skip
    return Target(**{**given, **changes})


def _silent(message: object) -> None:
    """Receive nothing."""


@pytest.mark.parametrize("family", OWN)
def test_mutations_stay_valid_and_reach_every_kind_of_change(family: str) -> None:
    random, allowed = np.random.default_rng(1), space(family)
    start = sg.generate(family, preset="small", seed=1).to_data()
    sizes, different = set(), 0
    data = start
    for _ in range(120):
        changed = mutate(data, allowed, random)
        assert changed is not None
        sizes.add(tuple(len(changed.to_data()[name]) for name in allowed.lists))
        different += changed.to_data() != data
        data = changed.to_data()
        for key in allowed.fixed & set(start):
            assert data[key] == start[key]
    assert different > 60
    assert len(sizes) > 3
    assert all(sizes_of <= most for each in sizes
               for sizes_of, most in zip(each, (max(most, len(start[name]))
               for name, most in allowed.lists.items()), strict=True))  # fmt: skip


def test_a_search_keeps_hare_small_enough_for_a_proof() -> None:
    data = sg.generate("hare", preset="small", seed=1).to_data()
    rounds = [(900, 3), (1, 700), (-900, -3), (2, 2), (1, 1), (1, 1)]
    for job, (count, tasks) in zip(data["jobs"], rounds, strict=True):
        job |= {"rounds": count, "tasks_per_round": tasks}
    space("hare").repair(data)
    sizes = [(job["rounds"], job["tasks_per_round"]) for job in data["jobs"]]
    assert 128 < sum(max(0, a) * max(0, b) for a, b in sizes) <= MOST_TASKS
    assert sizes[2:] == rounds[2:]
    many = {"jobs": [{"rounds": 1, "tasks_per_round": 1, "weight": 1} for _ in range(300)]}
    same = {**many, "gpus": [], "gpu_kinds": []}
    space("hare").repair(same)
    assert same["jobs"] == many["jobs"]


def test_fixed_keys_keep_the_values_of_the_preset() -> None:
    target, random = _target(fixed=("bandwidth_between", "iterations")), np.random.default_rng(0)
    evaluator = Evaluator(target)
    data = sg.generate("ring", preset="small", seed=2).to_data()
    lengths = {job["iterations"] for job in data["jobs"]}
    for _ in range(60):
        changed = mutate(data, evaluator.space, random)
        assert changed is not None
        data = changed.to_data()
    assert data["bandwidth_between"] == 40.0
    assert {job["iterations"] for job in data["jobs"]} <= lengths
    assert data["jobs"] != sg.generate("ring", preset="small", seed=2).to_data()["jobs"]


def test_a_score_is_the_ratio_to_the_best_schedule_known() -> None:
    """Of five jobs on two machines LS makes 7 slots; the optimum is 6."""
    instance = sg.generate("ring", preset="toy-pcmax")
    found = Evaluator(_target()).score(instance)
    assert found is not None
    assert (found.value, found.reference, found.score) == (7.0, 6.0, 7 / 6)
    assert Evaluator(_target()).score(instance, need=3.0) is None  # surely below
    other = Evaluator(_target(against="lpt-pack")).score(instance)
    assert other is not None
    assert other.score == 1.0


def test_a_chain_depends_on_its_seed_only_and_survives_json() -> None:
    target = _target()
    whole = advance(_silent, target, Chain.start(5, 0), 24, math.inf, math.inf)
    half = advance(_silent, target, Chain.start(5, 0), 11, math.inf, math.inf)
    half = Chain.from_data(json.loads(json.dumps(half.to_data())))
    rest = advance(_silent, target, half, 13, math.inf, math.inf)
    assert rest.to_data() == whole.to_data()
    assert whole.evaluations == 24
    assert whole.best_score >= 1
    assert advance(_silent, target, Chain.start(6, 0), 24, math.inf, math.inf).best != whole.best


def test_shrinking_keeps_the_score_with_fewer_and_simpler_entries() -> None:
    target = _target()
    data = sg.generate("ring", preset="toy-pcmax").to_data()
    small, used = shrink(_silent, target, data, 7 / 6, 200, math.inf)
    found = Evaluator(target).score(valid(dict(small), space("ring")))
    assert found is not None
    assert found.score >= 7 / 6
    assert 0 < used <= 200
    assert len(json.dumps(small)) < len(json.dumps(data))


def test_a_find_is_certified_by_two_exact_methods(tmp_path: Path) -> None:
    found = sg.worst_case("ring", "list-scheduling", out=tmp_path / "find", **SMALL)
    assert found.ratio.exact
    assert found.ratio.low > 1.1
    assert found.confirmed
    assert sg.verify(found.instance, found.solution)
    assert [each.method for each in found.references] == ["exact", "rar-ddls-cp"]
    assert len(found.instance.jobs) <= 3
    stored = sg.load(tmp_path / "find" / "instance.json")
    assert stored == found.instance
    data = json.loads((tmp_path / "find" / "find.json").read_text())
    assert data["ratio"] == [found.ratio.low, found.ratio.high]
    assert "Theorem 5" not in repr(found)
    for name in ("gantt.html", "curve.html", "search.json", "list-scheduling.json", "exact.json"):
        assert (tmp_path / "find" / name).stat().st_size > 0
    again = sg.worst_case("ring", "list-scheduling", **SMALL)
    assert again.instance == found.instance
    assert again.curve == found.curve


def test_a_search_is_continued_where_it_was_stopped(tmp_path: Path) -> None:
    given = {"time_limit": None, "jobs": 3, "seed": 4, "shrink": False}
    sg.worst_case("ring", "first-fit", evaluations=10, out=tmp_path, **given)
    longer = sg.worst_case("ring", "first-fit", evaluations=25, out=tmp_path, **given)
    assert longer.evaluations == 25
    at_once = sg.worst_case("ring", "first-fit", evaluations=25, **given)
    assert longer.instance == at_once.instance
    with pytest.raises(InputError, match=r"search\.json: target: belongs to another search"):
        sg.worst_case("ring", "list-scheduling", evaluations=25, out=tmp_path, **given)
    (tmp_path / "search.json").write_text('{"target": 1}')
    with pytest.raises(InputError, match="not the state of a search"):
        sg.worst_case("ring", "first-fit", evaluations=25, out=tmp_path, **given)


def test_a_grid_compares_each_pair() -> None:
    table = sg.worst_grid(
        "ring", ["sjf-bco", "list-scheduling"], time_limit=None, evaluations=12, jobs=3
    )
    assert list(table.columns) == ["sjf-bco", "list-scheduling"]
    assert table.loc["sjf-bco", "sjf-bco"] == 1
    assert table.loc["list-scheduling", "sjf-bco"] > 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ring", "nothing"), "no method 'nothing'"),
        (("ring", "pattern-lp"), "is a bound"),
        (("nothing", "sjf-bco"), "no family"),
    ],
)
def test_what_does_not_exist_is_named(arguments: tuple[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        sg.worst_case(*arguments)


@pytest.mark.parametrize("name", ["elastic", "edge", "ring", "dmlrs", "hare"])
def test_only_claims_on_a_ratio_or_with_a_measure_are_searched(name: str) -> None:
    claims = family(name).paper.guarantees
    said = {name for name, claim in claims.items() if claim.searchable}
    assert (
        said
        == {
            "elastic": {"theorem_1", "theorem_3", "theorem_5", "lemma_1"},
            "edge": {"exact_batches"},
            "ring": {"theorem_5"},
            "dmlrs": {"competitive"},
            "hare": {"theorem_4"},
        }[name]
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"guarantee": "theorem_9"}, "no guarantee 'theorem_9': choose one of theorem_5 "),
        ({"guarantee": "theorem_1"}, "theorem_1 of ring has no score .*: choose one of theorem_5$"),
        ({"guarantee": "lemma_4"}, "lemma_4 of ring has no score"),
        ({"guarantee": "theorem_5", "against": "lpt-pack"}, "a claim on the optimum"),
        ({"guarantee": "theorem_5", "bisection": "scan"}, "says nothing with option bisection"),
        ({"against": "pattern-lp"}, "against='bound'"),
        ({"time_limit": None}, "give a number of evaluations"),
        ({"time_limit": 0}, "need a number > 0"),
        ({"jobs": 0}, "need an integer >= 1"),
        ({"workers": 0}, "need an integer >= 1"),
        ({"preset": "huge"}, "no preset 'huge'"),
        ({"fixed": "arrival"}, "fixed 'arrival': need a list"),
        ({"gpu_rule": "finish"}, "no option 'gpu_rule'"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        sg.worst_case("ring", "sjf-bco", **changes)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("chains",), 3, "chains: need a list"),
        (("seconds",), "x", "seconds: need a number"),
        (("chains", 0, "best"), {"a": 1}, "family: missing key"),
        (("chains", 0, "current"), 5, "current: need"),
        (("chains", 0, "best_score"), "x", "best_score: need a number"),
        (("chains", 0, "evaluations"), "x", "evaluations: not an integer"),
        (("chains", 0, "curve"), [[1]], "no state of a search"),
        (("chains", 0, "best"), sg.generate("hare", preset="toy").to_data(), "another family"),
    ],
)
def test_a_damaged_state_is_one_line(
    place: tuple[Any, ...], value: object, message: str, tmp_path: Path
) -> None:
    given = {"time_limit": None, "jobs": 3, "shrink": False, "out": tmp_path}
    file = tmp_path / "search.json"
    if not file.exists():
        sg.worst_case("ring", "first-fit", evaluations=3, **given)
    data = json.loads(file.read_text())
    inner = data
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    file.write_text(json.dumps(data))
    with pytest.raises(InputError, match=message) as caught:
        sg.worst_case("ring", "first-fit", evaluations=5, **given)
    assert str(caught.value).startswith(str(file))


def test_names_of_keys_and_of_a_grid_are_checked() -> None:
    with pytest.raises(UsageError, match="no key 'bandwith_between': choose one of alpha, "):
        sg.worst_case("ring", "sjf-bco", fixed=("bandwith_between",))
    with pytest.raises(UsageError, match="no method 'nope'"):
        sg.worst_grid("ring", ["nope"])
    with pytest.raises(UsageError, match="sjf-bco is given twice"):
        sg.worst_grid("ring", ["sjf-bco", "sjf-bco"])


def test_a_claim_is_refuted_by_what_is_certain_only() -> None:
    assert over_claim(RatioInterval(2.0, 5.0), 4.0) == 0.5
    assert over_claim(RatioInterval(2.0, float("inf")), 1.0) == 2.0
