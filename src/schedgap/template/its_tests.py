"""Methods, rules and certificates against brute force, on random instances."""

from itertools import chain, combinations, product

import pytest

import schedgap as sg
from schedgap.extend import InputError
from schedgap.template import FAMILY, exact, rules
from schedgap.template.instance import TemplateInstance

SEEDS = range(10)


def generated(seed: int) -> TemplateInstance:
    """Return six jobs on two machines."""
    found = sg.generate("template", seed=seed, jobs=6, machines=2)
    assert isinstance(found, TemplateInstance)
    return found


def brute_force(instance: TemplateInstance) -> int:
    """Return the least makespan over all assignments of jobs to machines."""
    M, times = range(instance.machines), [job.time for job in instance.jobs]
    return min(
        max(sum(time for time, on in zip(times, chosen, strict=True) if on == m) for m in M)
        for chosen in product(M, repeat=len(times))
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_no_schedule_beats_brute_force_and_exact_attains_it(seed: int) -> None:
    instance = generated(seed)
    best = brute_force(instance)
    for method in ("longest-first", "listed"):
        found = sg.solve(instance, method)
        assert sg.verify(instance, found)
        assert found.objective is not None and found.objective >= best
    optimum = sg.solve(instance, "exact")
    assert optimum.status == "optimal" and optimum.objective == optimum.bound == best


@pytest.mark.parametrize("seed", SEEDS)
def test_the_guarantee_holds(seed: int) -> None:
    instance = generated(seed)
    promise = FAMILY.paper.guarantee(instance, "longest-first", {})
    found = sg.solve(instance, "longest-first").objective
    assert (
        promise["holds"]
        and found is not None
        and found <= promise["factor"] * brute_force(instance)
    )


def test_no_certificate_proves_more_than_the_optimum() -> None:
    instance = generated(0)
    best, jobs = brute_force(instance), [*instance.time]
    sets = chain.from_iterable(combinations(jobs, k) for k in range(len(jobs) + 1))
    for chosen in sets:
        assert (
            exact.check_certificate(instance, {"kind": "pigeonhole", "jobs": [*chosen, *chosen]})
            <= best
        )
    for wrong in (
        {"kind": "pigeonhole", "jobs": ["j99"]},
        {"kind": "pigeonhole"},
        {"kind": "other"},
    ):
        with pytest.raises(InputError):
            exact.check_certificate(instance, wrong)


def test_each_rule_is_checked() -> None:
    data = {"family": "template", "version": 1, "name": "t", "machines": 1}
    jobs = [{"id": "a", "time": 2}, {"id": "b", "time": 3}]
    instance = TemplateInstance.from_data({**data, "jobs": jobs})
    first = {"job": "a", "machine": 1, "start": 0}
    last = {"job": "b", "machine": 1, "start": 2}
    for placed, broken in (
        ([first, last], set()),
        ([first], {"V1"}),
        ([first, last, last | {"job": "c"}], {"V1"}),
        ([first, last | {"machine": 2}], {"V2"}),
        ([first, last | {"start": 1}], {"V3"}),
    ):
        found = rules.check(instance, {"jobs": placed}, {})
        assert {violation.rule for violation in found} == broken, placed
