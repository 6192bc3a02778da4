"""The stage `refute`: optima and bounds with proofs that the checker accepts, whatever is known."""

import operator
from fractions import Fraction
from typing import Any

import pytest

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.instances.edge import EdgeInstance
from schedgap.instances.elastic import ElasticInstance
from schedgap.instances.generate import generate
from schedgap.instances.instance import Instance
from schedgap.instances.ring import RingInstance
from schedgap.models.dmlrs.exact import prove as dmlrs
from schedgap.models.edge.exact import prove as edge
from schedgap.models.elastic import proof as elastic_proof
from schedgap.models.elastic.exact import prove as elastic
from schedgap.models.family import family
from schedgap.models.method import Budget
from schedgap.models.proofs import check_here, excluded_objective, excluded_value, proof_data
from schedgap.models.refute import refute_stage
from schedgap.models.ring.exact import prove as ring
from schedgap.models.search_state import StageResult
from schedgap.solvers import Clock
from schedgap.solvers.proofs.tree import Proof
from strategies.elastic import brute_force
from strategies.elastic import instance_of as elastic_of
from strategies.ring import optimum
from strategies.ring_examples import W1, instance_of, job


def budget() -> Budget:
    return Budget(Clock(120))


class Heard:
    """Progress of the stage: values of its schedules, after the rules, and its bounds."""

    lower = 0.0

    def __init__(self, instance: Instance) -> None:
        self.instance, self.values, self.bounds = instance, list[float](), list[float]()

    def incumbent(self, schedule: Any, objective: float | None = None) -> None:
        """Judge a schedule."""
        owner, data = family(self.instance.family), schedule.to_data(self.instance)
        assert list(owner.check(self.instance, data, {})) == []
        self.values.append(owner.objective(self.instance, data))

    def bound(self, value: float, *more: object, confirmed: bool = True) -> None:
        """Record a bound."""
        self.bounds.append(value)

    def proved_bound(self, value: float, proof: Proof) -> None:
        """Record a bound with a proof."""
        self.bounds.append(value)

    def phase(self, text: str) -> None:
        """Ignore the phase."""


def shown(instance: Instance, found: StageResult, claimed: float | None) -> bool:
    """Return whether the checker accepts the proof of a claim."""
    goal, proof = excluded_value(instance, claimed), found.proof
    assert goal is not None and proof is not None
    data = proof_data(instance, goal, vectors=proof.vectors, cuts=proof.cuts, tree=proof.tree)
    return check_here(instance, data).status == "proved"


@pytest.mark.parametrize("known", [7, 8, 30, None])
def test_an_optimum_is_found_and_proved(known: int | None) -> None:
    """The optimum of W1 is 7."""
    heard = Heard(W1)
    found = refute_stage(heard, W1, ring.prove_goal, 1, known, budget=budget())
    assert found.complete and not found.infeasible
    assert heard.bounds == [7] and heard.values[-1:] == ([] if known == 7 else [7])
    assert heard.values == sorted(heard.values, reverse=True)
    assert shown(W1, found, 7) and not shown(W1, found, 8)


def test_the_bound_is_raised_step_by_step() -> None:
    heard = Heard(W1)
    found = refute_stage(heard, W1, ring.prove_goal, 4, 7, step=0.2, budget=budget())
    assert heard.bounds == [5, 6, 7] and found.complete
    assert found.trace["rounds"] == 3


def test_a_stopped_stage_keeps_the_proof_of_its_bound() -> None:
    calls: list[int] = []

    def stopped(instance: RingInstance, goal: int, schedule: object = None, **more: Any) -> Any:
        calls.append(goal)
        more = {"budget": Budget(Clock(0))} if goal > 4 else more
        return ring.prove_goal(instance, goal, **more)

    found = refute_stage(Heard(W1), W1, stopped, 4, 7, step=0.2, budget=budget())
    assert calls == [4, 5]
    assert not found.complete and found.proved == 5
    assert shown(W1, found, 5) and not shown(W1, found, 8)
    assert found.trace["note"] == "time is up"


def test_that_there_is_no_schedule_is_proved() -> None:
    late = instance_of([job(name, 4, 24, 4 / 3) for name in "ab"], [3, 3, 3], horizon=6)
    assert optimum(late) is None
    found = refute_stage(Heard(late), late, ring.prove_goal, 1, None, budget=budget())
    assert found.complete and found.infeasible and shown(late, found, None)


@pytest.mark.parametrize("batch", [False, True])
def test_schedules_are_read_from_the_edge_program(batch: bool) -> None:
    more = {"batch_round": 5} if batch else {}
    instance = generate("edge", preset="small", seed=2, jobs=2, **more)
    assert isinstance(instance, EdgeInstance) and instance.is_batch == batch
    sense = -1 if batch else 1
    heard, known = Heard(instance), 0.0 if batch else 200.0
    found = refute_stage(heard, instance, edge.prove_goal, -9, known, sense=sense, budget=budget())
    assert found.complete and heard.values
    assert heard.bounds == [sense * heard.values[-1]]
    assert shown(instance, found, heard.values[-1])


def test_a_width_stays_open_where_values_have_no_grid() -> None:
    """Jobs that merged machines hold one by one; the utility of their schedule is known."""
    import schedgap as sg

    instance = generate("dmlrs", preset="small", seed=1)
    assert isinstance(instance, DmlrsInstance)
    best = sg.solve(instance, "exact", time_limit=60).objective
    assert best is not None
    heard = Heard(instance)
    kind = {"sense": -1, "grid": 0.0, "budget": budget()}
    found = refute_stage(heard, instance, dmlrs.prove_goal, -2 * best, -best, **kind)
    assert found.complete and shown(instance, found, best)
    assert heard.bounds == [pytest.approx(-best * (1 + 5e-7), rel=1e-12)]
    # From a worse value, the stage reaches the optimum by better schedules.
    found = refute_stage(heard, instance, dmlrs.prove_goal, -2 * best, -0.9 * best, **kind)
    assert found.complete and shown(instance, found, best)
    assert heard.values[-1] == pytest.approx(best, rel=1e-12) and len(heard.bounds) == 2


def elastic_jobs(heavy: float) -> ElasticInstance:
    """Five jobs on two servers of two GPUs; one weighs more than the others."""
    job = {"train_time": {"w1": 1.5}, "update_time": {"p1": 0.0}}
    servers = [{"id": f"s{n}", "capacity": {"gpu": 2, "cpu": 8, "bandwidth": 6}} for n in (1, 2)]
    return elastic_of([job | {"weight": w} for w in (heavy, 2.0, 2.0, 1.0, 1.0)], servers=servers)


@pytest.mark.parametrize("batch", [False, True])
def test_an_excluded_objective_is_rounded_to_the_weaker_side(batch: bool) -> None:
    instance = elastic_jobs(3e9 + 1 / 3)
    if batch:
        instance = instance.replace(objective="scheduled_weight", deadline=99)
    for goal in range(-7000, 7000, 7):
        side, exact = elastic_proof.excluded(instance, goal)
        value = Fraction(excluded_objective(instance, goal))
        assert value <= exact if side == "<=" else value >= exact
        assert abs(value - exact) <= abs(exact) / 2**52


@pytest.mark.parametrize("heavy", [3.5, 3e9 + 1 / 3])
def test_a_bound_on_rounded_weights_is_no_more_than_its_proof_shows(
    heavy: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only where the weights are multiples of a unit, the next one after the goal is a bound."""
    monkeypatch.setattr(elastic, "FEW_RUNS", 0)
    monkeypatch.setattr(elastic, "MANY_RUNS", 0)  # the first goals are far below the incumbent
    instance = elastic_jobs(heavy)
    unit, optimum = elastic_proof.weight_unit(instance), brute_force(instance)
    whole = elastic_proof.within(instance, optimum) == 0
    assert whole == (heavy == 3.5)
    heard, goals = Heard(instance), list[int]()

    def listened(*given: Any, **more: Any) -> Any:
        found = elastic.prove_goal(*given, **more)
        if found.proof is not None:
            goals.append(found.proof.goal)
        return found

    kind = {"grid": float(unit), "step": 0.2, "lowers": True, "budget": budget()}
    found = refute_stage(heard, instance, listened, 0, 2 * optimum, **kind)
    assert found.complete and shown(instance, found, heard.values[-1])
    assert len(goals) > 1
    exact = [(goal + whole) * unit for goal in goals]
    assert heard.bounds == pytest.approx([float(each) for each in exact], rel=1e-15)
    assert whole or all(map(operator.le, map(Fraction, heard.bounds), exact))
    assert found.proved == heard.bounds[-1] <= optimum


def test_what_is_too_large_is_said() -> None:
    jobs = [job(f"j{n}", 2, 4, 0.5) for n in range(101)]
    large = instance_of(jobs, [3, 3])
    found = refute_stage(Heard(large), large, ring.prove_goal, 1, 400, budget=budget())
    assert not found.complete and "more than 100 jobs" in found.trace["note"]
