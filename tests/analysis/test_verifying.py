"""`verify` believes nothing: neither the schedule nor any number of its file."""

from typing import Any

import pytest
from toy_family import toy

import schedgap as sg
from schedgap.errors import ContradictionError, InputError


def solved(method: str = "exact", **changed: Any) -> dict[str, Any]:
    return sg.solve(toy(3, 1, 2), method).to_data() | changed


def rules(data: dict[str, Any]) -> list[str]:
    verdict = sg.verify(toy(3, 1, 2), data)
    assert bool(verdict) is not bool(verdict.violations)
    return [violation.rule for violation in verdict.violations]


def test_an_honest_solution_passes() -> None:
    verdict = sg.verify(toy(3, 1, 2), sg.solve(toy(3, 1, 2), "exact"))
    assert verdict and verdict.objective == 1
    assert str(verdict).splitlines() == [
        "feasible, objective 1",
        "bound 1: reported, no certificate",
        "optimal: reported by scan",
    ]


@pytest.mark.parametrize(
    ("changed", "broken"),
    [
        ({"schedule": {"place": 5}}, ["V1"]),
        ({"objective": 0.5, "bound": 0.5}, ["objective", "status"]),
        ({"objective": None}, ["objective"]),
        ({"objective": 1 + 1e-4}, ["objective"]),
        ({"bound": 1.5}, ["bound", "status"]),
        ({"bound": 0.5}, ["status"]),
        ({"bound": None}, ["status"]),
        ({"bound": 0.5, "status": "feasible"}, []),
        ({"bound": 1.5, "status": "feasible"}, ["bound"]),
        ({"status": "unknown"}, ["status"]),
        ({"schedule": {"place": 0}, "objective": 3.0}, ["status"]),
    ],
)
def test_each_wrong_claim_breaks_its_rule(changed: dict[str, Any], broken: list[str]) -> None:
    assert rules(solved(**changed)) == broken


def test_a_bound_beside_a_relaxed_schedule_is_refused() -> None:
    assert rules(solved("outside")) == []
    assert rules(solved("outside", bound=0.5)) == ["bound"]


def test_a_certificate_is_evaluated_again() -> None:
    instance, found = toy(3, 1, 2), sg.solve(toy(3, 1, 2), "weak")
    assert sg.verify(instance, found)
    stronger = found.to_data() | {"bound": 0.9}
    verdict = sg.verify(instance, stronger, found.certificate)
    assert [violation.rule for violation in verdict.violations] == ["certificate"]
    assert verdict.violations[0].message == "it gives the bound 0.75, the file claims 0.9"


def test_nothing_to_check_is_bad_input() -> None:
    with pytest.raises(InputError, match="schedule: nothing to verify: status 'bound'"):
        sg.verify(toy(3, 1, 2), solved("weak"))
    with pytest.raises(InputError, match="nothing to verify: status 'infeasible'"):
        sg.verify(toy(3, 1, 2), solved("none"))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"family": "hare"}, "family: a solution of family hare"),
        ({"instance_sha256": "0" * 64}, "instance_sha256: not a solution of this instance"),
        ({"sense": "max"}, "sense: must be 'min'"),
        ({"objectiv": 1}, "objectiv: unknown key: did you mean 'objective'"),
        ({"schedule": {"plce": 1}}, "schedule.place: missing key"),
    ],
)
def test_what_is_no_solution_file_is_bad_input(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        sg.verify(toy(3, 1, 2), solved(**changed))


def test_a_schedule_alone_is_judged_by_the_rules() -> None:
    verdict = sg.verify(toy(3, 1, 2), {"place": 1})
    assert verdict and verdict.objective == 1
    assert [found.rule for found in sg.verify(toy(3, 1, 2), {"place": 5}).violations] == ["V1"]


def test_what_could_not_be_checked_is_said() -> None:
    instance = toy(3, 1, 2)
    alone = sg.verify(instance, {"place": 1})
    assert (alone.bound_status, alone.optimality_status, alone.claims) == (None, None, ())
    assert alone.complete
    claimed = sg.verify(instance, solved())
    assert (claimed.bound_status, claimed.optimality_status) == ("unchecked", "unchecked")
    assert claimed and not claimed.complete
    no_bound = sg.verify(instance, solved(bound=None, status="feasible"))
    assert (no_bound.bound_status, no_bound.optimality_status) == (None, None)


def test_a_forged_optimum_is_not_called_checked() -> None:
    """Objective and bound of a poor schedule that agree with each other prove nothing."""
    forged = solved(schedule={"place": 0}, objective=3.0, bound=3.0)
    verdict = sg.verify(toy(3, 1, 2), forged)
    assert verdict and verdict.optimality_status == "unchecked" and not verdict.complete
    refuted = sg.verify(toy(3, 1, 2), forged, {"kind": "toy", "value": 1.0})
    assert not refuted and refuted.bound_status == refuted.optimality_status == "refuted"
    assert str(refuted).endswith("bound 3: refuted\noptimal: refuted")


def test_a_certified_optimum_is_checked() -> None:
    verdict = sg.verify(toy(3, 1, 2), solved(), {"kind": "toy", "value": 1.0})
    assert verdict.complete
    assert (verdict.bound_status, verdict.optimality_status) == ("checked", "checked")
    assert verdict.claims == (
        "bound 1: certified (toy)",
        "optimal: certified (toy; no schedule has value < 1)",
    )


def test_a_bound_counts_only_as_far_as_its_certificate_goes() -> None:
    """Neither a bound beyond what was evaluated nor a width that it leaves open is believed."""
    instance, far = toy(3, 1, 2), solved(bound=1 - 9e-7)
    short = sg.verify(instance, far, {"kind": "toy", "value": 1 - 1.7e-6})
    assert (short.bound_status, short.optimality_status) == ("refuted", "refuted")
    assert short.violations[0].message == (
        "it gives the bound 0.9999983, the file claims 0.9999991"
    )
    reaches = {"kind": "toy", "value": 1 - 9e-7}
    assert sg.verify(instance, far, reaches).claims[-1] == (
        "optimal: certified (toy; no schedule is better by more than 9e-07 of its value)"
    )
    claim = {"kind": "certificate", "file": None, "sha256": None, "within": 0.0}
    (wrong,) = sg.verify(instance, far | {"proof": claim}, reaches).violations
    assert wrong.message == "the certificate leaves 9.0e-07 open, the file claims 0.0e+00"
    assert sg.verify(instance, far | {"proof": claim | {"within": 1e-6}}, reaches).complete
    stronger = sg.verify(instance, solved(bound=0.9, status="feasible"), reaches)
    assert stronger.claims == ("bound 0.9: certified (toy gives 0.9999991)",)


def test_evidence_against_a_verified_schedule_is_a_contradiction() -> None:
    with pytest.raises(ContradictionError, match=r"proves a bound of 1\.5, which a verified"):
        sg.verify(toy(3, 1, 2), solved(), {"kind": "wrong", "value": 1.5})


@pytest.mark.parametrize("unit", [1e-12, 1e-9, 1.0, 1e9])
def test_claims_do_not_depend_on_the_unit(unit: float) -> None:
    """A bound that is 10 % off proves nothing, however small the numbers are."""
    instance = toy(3 * unit, unit, 2 * unit)
    data = sg.solve(instance, "exact").to_data()
    assert sg.verify(instance, data)
    for bound, broken in ((0.9 * unit, ["status"]), (1.1 * unit, ["bound", "status"])):
        verdict = sg.verify(instance, data | {"bound": bound})
        assert [violation.rule for violation in verdict.violations] == broken


def test_a_claim_that_there_is_no_schedule_is_not_checked() -> None:
    """A certificate of a bound says nothing of it."""
    claim = sg.solve(toy(3, 1, 2), "weak").to_data() | {"status": "infeasible"}
    verdict = sg.verify(toy(3, 1, 2), claim, {"kind": "toy", "value": 0.75})
    assert verdict and verdict.optimality_status == "unchecked" and not verdict.complete
    assert verdict.claims[-1] == "infeasible: reported by weak"


def test_the_status_bound_needs_a_bound() -> None:
    claim = sg.solve(toy(3, 1, 2), "weak").to_data() | {"bound": None}
    verdict = sg.verify(toy(3, 1, 2), claim, {"kind": "toy", "value": 0.75})
    assert [violation.rule for violation in verdict.violations] == ["status"]
