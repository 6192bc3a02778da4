"""The parts of `exact` that only large instances need, on small ones."""

import pytest

from schedgap.instances.generate import generate
from schedgap.instances.hare import HareInstance
from schedgap.models.hare import FAMILY
from schedgap.models.hare.exact import exact, stages
from schedgap.models.hare.heuristics.initial import starting_schedules
from schedgap.models.hare.methods import METHODS
from schedgap.models.method import Budget, NullProgress, RunContext
from schedgap.models.search_state import SearchState
from schedgap.solvers import Clock
from strategies.hare import brute_force, instance_of


def sent(instance: HareInstance) -> list[float]:
    """Return the bounds, in grid steps, that the stage for large instances sends."""
    heard: list[float] = []

    class Ear(NullProgress):
        def bound(self, value: float, certificate: object = None, **more: object) -> None:
            heard.append(value)

    found = SearchState(RunContext({}, None, Budget(Clock(20)), Ear()), lambda schedule: 0)
    report = found.child("lagrangian", stages.lagrangian_stage, instance, engine="highs")
    assert report is not None and not report.complete and found.schedule is None
    return heard


@pytest.mark.parametrize(("length", "weight"), [(3, 1), (0.7, 2), (41, 5)])
def test_the_bound_of_a_job_alone_is_its_optimum_and_no_step_more(
    length: float, weight: int
) -> None:
    """One task on one GPU: all values are multiples of length x weight, so one grid step."""
    job = {"rounds": 1, "tasks_per_round": 1, "training_time": {"GPU": length}, "weight": weight}
    assert max(sent(instance_of({"g1": "GPU"}, [job]))) == 1


def test_bounds_that_are_passed_on_are_below_the_optimum() -> None:
    """The toy: optimum 8, grid 0.5. CE4: optimum 807, grid 1, two jobs on two equal GPUs."""
    assert max(sent(generate("hare", preset="toy"))) <= 16
    assert max(sent(generate("hare", preset="ce4"))) <= 807
    few = instance_of(
        ["g1", "g2"],
        [
            {"rounds": 2, "tasks_per_round": 1, "training_time": {"kind-g1": 2, "kind-g2": 5}},
            {"rounds": 1, "tasks_per_round": 2, "training_time": {"kind-g1": 3, "kind-g2": 4}},
        ],
    )
    assert max(sent(few)) <= brute_force(few)


def test_an_instance_too_large_for_exact_searches_is_searched_and_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first schedules of this one cost 398 and more; the search finds 357."""
    monkeypatch.setattr(exact, "MAX_TASKS", 3)
    instance = generate("hare", preset="small", seed=4)
    first = min(schedule.value(instance) for schedule in starting_schedules(instance))
    [method] = [method for method in METHODS if method.name == "exact"]
    outcome = FAMILY.run(
        method, instance, RunContext(method.parse({}), None, Budget(Clock(12)), NullProgress())
    )
    assert "too large" in outcome.note and outcome.bound is not None
    assert outcome.schedule is not None and outcome.schedule.value(instance) < first
    assert outcome.certificate is not None
    assert outcome.certificate["kind"] in ("lagrangian", "critical-path")


def test_without_time_no_bound_is_begun_that_nothing_can_stop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(exact, "MAX_TASKS", 3)
    monkeypatch.setattr(exact, "lagrangian_stage", lambda *args, **more: pytest.fail("no time"))
    instance = generate("hare", preset="small", seed=4)
    [method] = [method for method in METHODS if method.name == "exact"]
    call = RunContext(method.parse({}), None, Budget(Clock(0.0)), NullProgress())
    outcome = FAMILY.run(method, instance, call)
    assert outcome.schedule is not None and outcome.bound is not None
