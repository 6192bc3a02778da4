"""The parts of a search for worst cases: scores over claims, shrinking, what a find says."""

import importlib
import json
import math
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_worst_case_certainty import silent, target

import schedgap as sg
from schedgap.analysis.solving.solve import solved
from schedgap.analysis.studies import certifying, chains
from schedgap.analysis.studies.annealing import Chain, advance
from schedgap.analysis.studies.certifying import certify
from schedgap.analysis.studies.chains import State, search
from schedgap.analysis.studies.finds import WorstCase, annotated
from schedgap.analysis.studies.scores import Evaluator, Score
from schedgap.analysis.studies.shrinking import _fewer, _simpler_numbers, shrink
from schedgap.errors import InputError, Interrupted
from schedgap.instances.mutations import space
from schedgap.models.paper import Guarantee
from schedgap.solvers.children.clock import Clock

TOY = sg.generate("ring", preset="toy-pcmax")  # LS makes 7 slots, the optimum is 6


def claim(factor: float | None, *, holds: bool = True, ours: bool = False) -> Guarantee:
    """Return a claim that has the same factor on every instance."""

    def evaluate(instance: Any) -> Mapping[str, Any]:
        return {"claim": "C", "factor": factor, "holds": holds, "failed": []}

    return Guarantee("C", "Theorem 0", ("list-scheduling",), (), evaluate, "true", ours=ours)


# --- scores ----------------------------------------------------------------------------------


def scored(which: Guarantee, need: float = 0.0) -> Score | None:
    evaluator = Evaluator(target("ring", "list-scheduling"))
    evaluator.claim = which
    found = evaluator.score(TOY, need)
    assert evaluator.faults == []
    return found


def test_a_score_over_a_claim_is_the_ratio_over_its_factor() -> None:
    assert scored(claim(2.0)) == Score(7 / 6 / 2, 7.0, 6.0)
    assert scored(claim(2.0, holds=False)) is None  # the claim says nothing on the instance
    assert scored(claim(2.0, holds=False, ours=True)) == scored(claim(2.0))
    assert scored(claim(None)) is None


def test_only_what_is_surely_below_is_left_out() -> None:
    """The longest job alone needs 3 slots: no ratio is above 7 / 3."""
    assert sg.solve(TOY, "job-alone").bound == 3.0
    assert scored(claim(2.0), need=7 / 3 / 2) is not None
    assert scored(claim(2.0), need=7 / 3 / 2 + 1e-9) is None


def test_a_measured_claim_has_its_measure_as_score() -> None:
    measured = replace(claim(None, holds=False), measure=lambda instance: 1.5)
    assert scored(measured) == Score(1.5, 1.5, 1.0)
    assert scored(replace(measured, measure=lambda instance: 0.0)) is None


def test_a_measured_claim_that_is_kept_is_scored_by_how_nearly_it_is_missed() -> None:
    kept = replace(claim(None), measure=lambda instance: 1.0, near=lambda instance: 0.4)
    assert scored(kept) == Score(0.7, 1.0, 1.0)
    assert scored(replace(kept, near=lambda instance: 9.0)) == Score(1.0, 1.0, 1.0)
    assert scored(replace(kept, near=lambda instance: -9.0)) == Score(0.5, 1.0, 1.0)
    missed = replace(kept, measure=lambda instance: 1.5)
    assert scored(missed) == Score(1.5, 1.5, 1.0)
    assert scored(replace(kept, measure=lambda instance: 0.0)) is None


def test_a_find_says_how_to_repeat_its_search(find: WorstCase) -> None:
    chosen = replace(
        find.target, jobs=3, against="bound", seed=5, fixed=("bandwidth_between",),
        options={"order": "given"},
    )  # fmt: skip
    facts = annotated(replace(find, target=chosen), 2, {"evaluations": 9}).meta["worst_case"]
    assert facts["found"]["call"] == {
        "family": "ring", "method": "list-scheduling", "against": "bound", "jobs": 3,
        "fixed": ["bandwidth_between"], "seed": 5, "workers": 2, "order": "given",
        "evaluations": 9,
    }  # fmt: skip


def test_an_error_of_one_chain_ends_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    state = State(target("ring", "list-scheduling"), 2, None)
    first = state.chains[0]
    stopped: list[bool] = []

    def piece(chosen: Any, chain: Chain, *rest: Any) -> Chain:
        if chain is not first:
            raise InputError("no such thing")
        stopped.append(rest[-1].wait(60.0))
        return chain

    monkeypatch.setattr(chains, "_piece", piece)
    with pytest.raises(InputError, match="no such thing"):
        search(state, math.inf, None, math.inf, None)
    assert stopped == [True]


# --- shrinking -------------------------------------------------------------------------------


def test_one_entry_of_each_list_is_left_out_the_last_ones_first() -> None:
    data = sg.generate("ring", preset="toy").to_data()
    tries = list(_fewer(data, space("ring")))
    names = [job["id"] for job in data["jobs"]]
    lists = [[job["id"] for job in each["jobs"]] for each in tries]
    fewer = [each for each in lists if each != names]
    assert fewer == [names[:place] + names[place + 1 :] for place in range(len(names))][::-1]
    assert len(tries) == sum(len(data[name]) for name in space("ring").lists)
    single = {**data, "jobs": data["jobs"][:1], "servers": data["servers"][:1]}
    assert list(_fewer(single, space("ring"))) == []


def test_simpler_numbers_are_short_of_the_same_type_and_no_larger() -> None:
    assert list(_simpler_numbers(37)) == [1, 2, 3, 4, 5, 10, 0, 18]
    assert list(_simpler_numbers(1)) == []
    assert list(_simpler_numbers(0.3))[:2] == [1.0, 0.0]
    found = list(_simpler_numbers(2.718))
    assert found == [1.0, 2.0, 0.0, 1.0, 2.7]  # 2.72 is larger
    assert all(type(each) is float for each in found)


def test_shrinking_leaves_no_entry_that_can_be_left_out() -> None:
    sent: list[Any] = []
    chosen, data = target("ring", "list-scheduling"), TOY.to_data()
    small, used = shrink(sent.append, chosen, data, 1.0, 30, 60.0)  # any instance will do
    assert sent[-1] == small and used <= 30
    assert (len(small["jobs"]), len(small["servers"])) == (1, 1)
    assert small["jobs"][0]["iterations"] == 1
    same, used = shrink(silent, chosen, data, 7 / 6, 12, 60.0)
    assert [job["id"] for job in same["jobs"]] == list("abcde") and used == 12
    assert shrink(silent, chosen, data, 1.0, 30, 0.0) == (data, 0)


# --- finds -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def find() -> WorstCase:
    return certify(target("ring", "list-scheduling"), TOY.to_data())


def test_a_find_is_confirmed_by_two_optima_that_agree(find: WorstCase) -> None:
    first, second = find.references
    assert find.confirmed and find.score == find.ratio.low == 7 / 6
    assert not replace(find, references=(first,)).confirmed
    data = second.to_data() | {"proof": None}
    open_ = sg.Solution.bind(find.instance, data | {"bound": 5.0, "status": "feasible"})
    other = sg.Solution.bind(find.instance, data | {"bound": 7.0, "objective": 7.0})
    assert not replace(find, references=(first, open_.as_verified())).confirmed
    assert not replace(find, references=(first, other.as_verified())).confirmed


def test_without_time_no_exact_method_runs() -> None:
    instance = sg.generate("hare", preset="small", seed=2)
    found = certify(target("hare", "srtf"), instance.to_data(), clock=Clock(0.0))
    assert [each.method for each in found.references] == ["list", "local-search"]
    assert found.uncertified == "the optimum was not proved within the time limit"
    assert found.facts()["not certified"].startswith(found.uncertified)
    assert found.to_data()["uncertified"] == found.uncertified
    assert found.ratio.low > 1 and math.isinf(found.ratio.high)


def test_an_exact_method_is_stopped_when_no_time_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if its process has not started by then; what it has found counts."""
    instance, stopped = sg.generate("hare", preset="small", seed=2), []

    def slow(given: Any, runner: Any, interrupt: threading.Event | None = None) -> sg.Solution:
        if runner.method.kind != "exact":
            assert interrupt is None  # without a schedule to compare with there is no ratio
            return solved(given, runner)
        assert interrupt is not None and interrupt.wait(60)
        stopped.append(runner.method.name)
        raise Interrupted(solution=sg.solve(given, "srtf"))

    monkeypatch.setattr(certifying, "solved", slow)
    found = certify(target("hare", "srtf"), instance.to_data(), clock=Clock(2.0))
    assert stopped == ["exact"]  # the other one finds no time left
    assert [each.method for each in found.references] == ["srtf", "list", "local-search"]
    assert found.uncertified == "the optimum was not proved within the time limit"


def test_search_shrinking_and_certificate_share_the_time_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A small limit leaves half of it to the certificate, which a loaded computer needs."""
    module = importlib.import_module("schedgap.analysis.studies.worst_case")
    given: dict[str, float] = {}

    def searched(state: State, seconds: float, *_: Any) -> None:
        given["search"] = seconds
        state.chains[0].best, state.chains[0].best_score = TOY.to_data(), 7 / 6
        state.chains[0].curve.append((1, 7 / 6))

    def smaller(_: Any, data: Any, floor: float, seconds: float) -> tuple[Any, int]:
        given["shrink"] = seconds
        return data, 0

    def certified(chosen: Any, data: Any, clock: Clock) -> WorstCase:
        given["certify"] = clock.remaining()
        return certify(chosen, data)

    for name, function in (("search", searched), ("shrunk", smaller), ("certify", certified)):
        monkeypatch.setattr(module, name, function)
    for limit, searching, before in ((8.0, 3.2, 4.0), (60.0, 33.6, 42.0)):
        sg.worst_case("ring", "list-scheduling", jobs=3, time_limit=limit)
        assert given["search"] == pytest.approx(searching, abs=0.1)
        assert given["shrink"] == pytest.approx(before, abs=0.1)  # nothing was searched
        assert given["certify"] == pytest.approx(limit, abs=0.2)


def test_the_start_of_a_process_counts_in_a_search() -> None:
    """But one instance is evaluated."""
    chosen = target("ring", "list-scheduling")
    late = advance(silent, chosen, Chain.start(0, 0), 30, 100.0, math.inf, time.time() - 101.0)
    assert late.evaluations == 1
    punctual = advance(silent, chosen, Chain.start(0, 0), 5, 100.0, math.inf, time.time())
    assert punctual.evaluations == 5


def test_a_claim_is_refuted_above_the_tolerance_only(find: WorstCase) -> None:
    claimed = replace(find, target=replace(find.target, guarantee="theorem_5"))
    for score, word in ((1.5, "refuted (1.5 times"), (1.0, "not refuted"), (0.5, "not refuted")):
        found = replace(claimed, score=score)
        assert found.refuted == found.to_data()["refuted"] == (score > 1)
        assert found.facts()["theorem_5"].startswith(word)
        facts = annotated(found, 3, {}).meta["worst_case"]
        assert facts.get("score") == (1.5 if score > 1 else None)
        assert facts["found"]["workers"] == 3
    assert not replace(find, score=9.0).refuted  # no claim speaks of this ratio


def test_a_find_says_what_it_is(find: WorstCase, tmp_path: Path) -> None:
    found = replace(
        find, found_score=1.5, evaluations=40, curve=((3, 1.1), (9, 1.2)), faults=tuple("abcde"),
        ratio=sg.RatioInterval(7 / 6, float("inf")),
    )  # fmt: skip
    assert found.facts()["faults"] == "a; b; c; and 2 more"
    assert replace(found, faults=("a", "b", "c")).facts()["faults"] == "a; b; c"
    data = json.loads(json.dumps(found.to_data(), allow_nan=False))
    assert (data["ratio"], data["found_score"], data["score"]) == ([7 / 6, None], 1.5, 7 / 6)
    (line,) = found.plot().data
    assert list(zip(line.x, line.y, strict=True)) == [(3, 1.1), (9, 1.2), (40, 1.2)]
    worse = replace(found, references=(found.solution, *found.references))
    assert annotated(worse, 1, {}).meta["worst_case"]["reference"] == 6.0


def test_the_chart_of_a_find_is_that_of_the_first_reference_with_a_schedule(
    find: WorstCase,
) -> None:
    bound = sg.solve(find.instance, "job-alone")
    assert bound.schedule is None
    mixed = replace(find, references=(bound, *find.references))
    assert mixed.gantt().to_dict() == find.gantt().to_dict()
