"""What may not become a find: stopped methods, relaxed references, false bounds, other problems."""

import dataclasses
import json
import math

import numpy as np
import pytest

import schedgap as sg
from schedgap.analysis.studies import scores, targets
from schedgap.analysis.studies.annealing import Chain, advance
from schedgap.analysis.studies.certifying import _ratio, certify
from schedgap.analysis.studies.chains import State
from schedgap.analysis.studies.scores import Evaluator
from schedgap.analysis.studies.targets import Target
from schedgap.errors import ContradictionError, UsageError


def target(family: str, method: str, **changes: object) -> Target:
    """Return a target against the optimum, with at most three jobs."""
    given = {
        "options": {}, "against": "exact", "guarantee": None, "preset": None, "settings": {},
        "jobs": 3, "fixed": (), "seed": 0,
    }  # fmt: skip
    return Target(family, method, **{**given, **changes})


def silent(message: object) -> None:
    """Receive nothing."""


def test_a_stopped_method_has_no_score(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = sg.generate("ring", preset="toy-pcmax")
    evaluator = Evaluator(target("ring", "list-scheduling"))
    assert evaluator.score(instance) is not None
    monkeypatch.setattr(scores, "_METHOD_SECONDS", 1e-9)
    assert evaluator.score(instance) is None
    assert evaluator.faults == ["method list-scheduling needs more than 1e-09 s"]


def test_a_stopped_method_is_not_certified() -> None:
    data = sg.generate("ring", preset="toy-pcmax").to_data()
    with pytest.raises(UsageError, match=r"list-scheduling needs more than 1e-06 s"):
        certify(target("ring", "list-scheduling"), data, time_limit=1e-6)


def test_a_schedule_that_omits_rules_is_no_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """The preemptive baseline of edge is better than the optimum of program (2)."""
    monkeypatch.setitem(targets._REFERENCES, "edge", (("preemptive", {}), ("list", {})))
    instance = sg.generate("edge", preset="small", seed=1)
    values = {name: sg.solve(instance, name).objective for name in ("preemptive", "list")}
    assert values["preemptive"] < values["list"]
    found = Evaluator(target("edge", "fifo")).score(instance)
    assert found is not None
    assert found.reference == values["list"]
    relaxed = Evaluator(target("edge", "preemptive")).score(instance)
    assert relaxed is not None
    assert relaxed.score == values["preemptive"] / values["list"] < 1


def test_the_rules_that_a_relaxed_method_leaves_out_are_named() -> None:
    data = sg.generate("edge", preset="toy").to_data()
    found = certify(target("edge", "preemptive", against="fifo"), data)
    assert found.facts()["rules of preemptive"] == found.solution.outside
    assert "2i" in found.solution.outside
    assert "2i" in repr(found) and "2i" in found._repr_html_()
    other = certify(target("edge", "fifo", against="preemptive"), data)
    assert other.facts()["rules of preemptive"] == found.solution.outside
    assert "rules of fifo" not in other.facts()


def test_a_claim_that_says_nothing_on_an_instance_is_not_refuted() -> None:
    """In fig7 a synchronization is longer than the training, which Theorem 4 excludes."""
    data = sg.generate("hare", preset="fig7").to_data()
    found = certify(target("hare", "hare", against="bound", guarantee="theorem_4"), data)
    assert not found.guarantee["holds"]
    assert found.guarantee["factor"] == 3
    assert (found.score, found.refuted) == (0, False)


def test_a_refuted_bound_is_told_and_not_used() -> None:
    instance = sg.generate("ring", preset="toy-pcmax")
    chosen = target("ring", "list-scheduling")
    solution, exact = sg.solve(instance, "list-scheduling"), sg.solve(instance, "exact")
    assert _ratio(chosen, solution, [exact]) == sg.RatioInterval(7 / 6, 7 / 6)
    data = {**exact.to_data(), "bound": 6.5, "objective": 6.5, "proof": None}
    false = sg.Solution.bind(instance, data).as_verified()
    with pytest.raises(ContradictionError, match=r"has the bound 6\.5 .* a schedule of 6"):
        _ratio(chosen, solution, [exact, false])


def test_an_open_optimum_gives_the_certain_end_only() -> None:
    instance = sg.generate("ring", preset="toy-pcmax")
    solution, exact = sg.solve(instance, "list-scheduling"), sg.solve(instance, "exact")
    data = {**exact.to_data(), "bound": 5.0, "status": "feasible", "proof": None}
    open_ = sg.Solution.bind(instance, data).as_verified()
    ratio = _ratio(target("ring", "list-scheduling"), solution, [open_])
    assert (ratio.low, ratio.high) == (7 / 6, 7 / 5)


def test_a_killed_chain_keeps_what_it_has_sent_and_starts_again() -> None:
    chosen, chain = target("ring", "list-scheduling"), Chain.start(1, 0)
    best = sg.generate("ring", preset="toy-pcmax").to_data()
    chain.current, chain.score, chain.step = best, 1e6, 17
    twin = Chain.start(1, 1)
    twin.interrupted("killed", [])
    chain.interrupted("killed", [(1.1, best, 4)])
    assert (chain.best, chain.best_score, chain.evaluations) == (best, 1.1, 5)
    assert chain.curve == [(4, 1.1)]
    assert chain.faults == ["killed"]
    assert chain.random.integers(2**31) != twin.random.integers(2**31)
    after = advance(silent, chosen, chain, 20, math.inf, math.inf)
    assert after.current is not None  # not held to the score of the instance that it has lost
    assert 0 < after.score < 1e6
    assert after.step > 0


def test_a_search_ends_at_the_same_instance_however_far_the_other_chains_are() -> None:
    state = State(target("ring", "list-scheduling"), 2, None)
    first, second = state.chains
    first.evaluations, first.best, first.best_score = 60, {"a": 1}, 9.0
    first.curve = [(10, 1.01), (60, 9.0)]
    assert state.left(1, None, 1.05) == 50
    second.evaluations = 40
    assert state.left(1, None, 1.05) == 20
    assert state.left(1, 45, 1.05) == 5
    assert state.first(1.05) == ({"a": 1}, 9.0)
    second.evaluations, second.best, second.best_score = 55, {"b": 1}, 1.1
    second.curve = [(55, 1.1)]
    assert state.first(1.05) == ({"b": 1}, 1.1)
    assert state.first(math.inf) == ({"a": 1}, 9.0)
    assert state.left(0, None, 1.05) == state.left(1, None, 1.05) == 0
    assert state.repeats(1.05) == 55
    assert state.repeats(math.inf) is None  # with 60 evaluations the second may find more
    second.evaluations = 70
    assert state.repeats(math.inf) == 60
    first.faults = ["a method was killed (timeout)"]
    assert state.repeats(math.inf) is None


def test_the_seed_decides_the_find_of_two_workers() -> None:
    given = {
        "jobs": 3, "evaluations": 40, "time_limit": None, "enough": 1.1, "workers": 2,
        "seed": 3, "against": "lpt-pack",
    }  # fmt: skip
    one, two = (sg.worst_case("ring", "list-scheduling", **given) for _ in range(2))
    assert one.instance.replace(meta={}) == two.instance.replace(meta={})
    assert (one.score, one.found_score) == (two.score, two.found_score)
    assert one.found_score >= 1.1
    assert one.score >= one.found_score * (1 - 1e-9)  # shrinking has kept it, and it is certified


def test_another_problem_has_no_ratio() -> None:
    with pytest.raises(UsageError, match="solves another problem with these options"):
        sg.worst_case("hare", "big-m", synchronization="fixed")
    with pytest.raises(UsageError, match="solve different problems"):
        sg.worst_case("hare", "srtf", against="big-m:synchronization=fixed")


def test_a_target_is_plain_data_whatever_it_was_given_as() -> None:
    keys = ("iterations", "arrival", "iterations")
    given = targets.target_of(
        "ring", "sjf-bco", "exact", None, None, {"servers": np.int64(2)}, np.int32(3),
        (key for key in keys if key != "arrival"), np.int64(1), {"kappa": np.int64(2)},
    )  # fmt: skip
    assert given.fixed == ("iterations",) and given.settings["servers"] == 2
    assert json.loads(json.dumps(given.to_data())) == given.to_data()
    first, second = ("gpus", "iterations"), {"iterations", "gpus"}
    ends = [
        targets.target_of("ring", "lpt-pack", "exact", None, None, None, 3, fixed, 0, {})
        for fixed in (first, second)
    ]
    assert ends[0] == ends[1]


def test_workers_are_limited_and_an_engine_is_not_chosen() -> None:
    with pytest.raises(UsageError, match="workers 100000: need at most 256"):
        sg.worst_case("ring", "sjf-bco", workers=100000)
    with pytest.raises(UsageError, match="leave out '@gurobi'"):
        sg.worst_case("hare", "big-m@gurobi")


def test_options_of_the_other_method_belong_to_the_search() -> None:
    plain = targets.target_of(
        "hare", "srtf", "hare", None, None, None, 2, (), 0, {}
    )  # fmt: skip
    finish = targets.target_of(
        "hare", "srtf", "hare:gpu_rule=finish", None, None, None, 2, (), 0, {}
    )
    assert plain.to_data() != finish.to_data()
    assert finish.against == "hare"
    assert targets.references(finish)[0][1] == {"gpu_rule": "finish"}
    assert np.isfinite(sg.worst_case(
        "hare", "srtf", against="hare:gpu_rule=finish", jobs=2, evaluations=3, time_limit=None,
        shrink=False,
    ).ratio.low)  # fmt: skip


def test_how_nearly_a_claim_is_missed_is_not_shown_as_its_measure() -> None:
    claimed = target("elastic", "a-maxweight", guarantee="theorem_1")
    evaluator, toy = Evaluator(claimed), sg.generate("elastic", preset="toy")
    assert evaluator.claim is not None
    for measured, score in ((1.0, 0.625), (1 + 1e-12, 0.625), (1.25, 1.25)):  # 1e-12: round-off
        evaluator.claim = dataclasses.replace(
            evaluator.claim, measure=lambda _, found=measured: found, near=lambda _: 0.25
        )
        found = evaluator.score(toy)
        assert found is not None and found.score == score and found.value == measured
    find = sg.worst_case(
        "elastic", "a-maxweight", guarantee="theorem_1", jobs=1, evaluations=1, time_limit=None,
        shrink=False,
    )  # fmt: skip
    data = find.to_data()
    assert data["found_score"] < 1 == data["score"] and not find.refuted
    assert data["note"].startswith("found_score and curve: a value below 1")
    assert "below 1: how nearly it is missed" in find.plot().layout.yaxis.title.text
