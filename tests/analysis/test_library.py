"""The stored worst cases: every number is computed again, the optimum by a second exact method."""

import pytest

import schedgap as sg
from schedgap.analysis.studies.certifying import SECOND_EXACT_METHOD
from schedgap.analysis.studies.finds import WorstCase
from schedgap.analysis.studies.library import main, searched
from schedgap.errors import UsageError
from schedgap.instances.families import OWN
from schedgap.instances.instance import Instance
from schedgap.models import family

ENTRIES = sg.library()


def test_every_family_has_finds_and_their_names_say_the_method() -> None:
    for name in OWN:
        finds = sg.library(name)
        assert len(finds) >= 4
        assert all(each.family == name for each in finds)
        assert all(each.name.startswith(each.meta["worst_case"]["method"]) for each in finds)
        assert all(each.meta["worst_case"]["found"]["call"]["family"] == name for each in finds)
    names = {(each.family, each.name) for each in ENTRIES}
    assert len(names) == len(ENTRIES) == sum(len(sg.library(name)) for name in OWN)
    with pytest.raises(UsageError, match="no family 'none'"):
        sg.library("none")


@pytest.mark.parametrize("instance", ENTRIES, ids=lambda each: f"{each.family}-{each.name}")
def test_a_stored_find_is_what_it_says(instance: Instance) -> None:
    facts = instance.meta["worst_case"]
    solution = sg.solve(instance, facts["method"], **facts["options"])
    assert solution.objective == pytest.approx(facts["objective"], rel=1e-9)
    (second,) = SECOND_EXACT_METHOD[instance.family]
    optimum = sg.solve(instance, second, proof="off")
    assert optimum.status == "optimal"
    assert optimum.objective == pytest.approx(facts["reference"], rel=1e-9)
    low, high = facts["ratio"]
    ratio = sg.ratio(solution, optimum)
    assert (ratio.low, ratio.high) == pytest.approx((low, high))
    if "refutes" in facts:
        claim = family(instance.family).paper.guarantees[facts["refutes"]]
        if claim.measure is not None:
            assert claim.measure(instance) == pytest.approx(facts["score"])
        else:
            said = claim.evaluate(instance)
            assert said["holds"] or claim.ours
            assert ratio.low / said["factor"] == pytest.approx(facts["score"])
        assert facts["score"] > 1 + 1e-6
    else:
        assert low > 1.05


def test_a_find_shows_itself() -> None:
    found = sg.worst_case(
        "ring", "lpt-pack", jobs=3, evaluations=6, time_limit=None, shrink=False
    )  # fmt: skip
    assert isinstance(found, WorstCase)
    assert "ratio to optimum" in repr(found)
    assert "<table>" in found._repr_html_()
    assert len(found.gantt().data) > 0
    curve = found.plot()
    assert curve.data[0].y[-1] == found.score and isinstance(curve, sg.Figure)


def test_a_find_says_how_to_search_for_it_again() -> None:
    found = sg.worst_case("ring", "lpt-pack", jobs=2, evaluations=4, seed=3, time_limit=None)
    again = searched(found.instance)
    assert again.meta["worst_case"]["found"]["call"] == {
        "family": "ring", "method": "lpt-pack", "jobs": 2, "seed": 3, "workers": 1,
        "evaluations": 3, "time_limit": None,  # the third of the four is the find
    }  # fmt: skip
    assert again.sha256 == found.instance.sha256


def test_finds_that_do_not_say_how_are_left_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known = sg.library("hare")[0]
    facts = known.meta["worst_case"]
    found = {key: value for key, value in facts["found"].items() if key != "call"}
    silent = known.replace(meta={**known.meta, "worst_case": {**facts, "found": found}})
    monkeypatch.setattr("schedgap.analysis.studies.library.library", lambda name: [silent])
    main(["hare"])
    said = f"hare {known.name}: does not say how it was searched for\n"
    assert capsys.readouterr().out == said
