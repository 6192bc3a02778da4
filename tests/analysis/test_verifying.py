"""`verify` believes nothing: neither the schedule nor any number beside it."""

from typing import Any

import pytest
from toy_family import toy

import schedgap as sg
from schedgap.errors import InputError


def solved(method: str = "exact", **changed: Any) -> dict[str, Any]:
    return sg.solve(toy(3, 1, 2), method).to_data() | changed


def rules(data: dict[str, Any]) -> list[str]:
    verdict = sg.verify(toy(3, 1, 2), data)
    assert bool(verdict) is not bool(verdict.violations)
    return [violation.rule for violation in verdict.violations]


def test_an_honest_solution_passes() -> None:
    verdict = sg.verify(toy(3, 1, 2), sg.solve(toy(3, 1, 2), "exact"))
    assert verdict and verdict.objective == 1 and str(verdict) == "feasible, objective 1"


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
