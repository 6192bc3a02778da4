"""Parts by worker type: what they prove holds for the whole, what they find makes one schedule."""

import json
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedgap.errors import InputError
from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.models.edge import rules
from schedgap.models.edge.bounds.certificates import check_certificate
from schedgap.models.edge.bounds.decomposition import jobs_by_type, restricted_to
from schedgap.models.edge.bounds.reduced_cost_fixing import ComponentPrices, ReducedCostFixing
from schedgap.models.edge.decisions import compiled, infeasibility_reason
from schedgap.models.edge.exact.components import WorkerTypeComponents, merge_schedules
from schedgap.models.edge.heuristics.initial import initial_state
from schedgap.models.edge.placements import runs_from_schedule
from schedgap.models.edge.programs.dual import CapacityPrices, LagrangianDual, rounded, to_data
from schedgap.models.method import Budget, RunContext
from schedgap.solvers import Clock
from strategies.edge import best_schedule, brute_force, edge_instances, instance_of, some_shapes
from strategies.edge_methods import Silence

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}


def no_prices(instance: EdgeInstance) -> CapacityPrices:
    view = compiled(instance)
    return CapacityPrices(
        np.zeros((*view.workers.shape, view.slots)), np.zeros((*view.ps.shape, view.slots))
    )


def two_kinds(**server: int) -> EdgeInstance:
    """One job of each of two worker types, one slot each, on one server with so many PSs."""
    only = {"id": "s", "kind": "edge", "workers": {"a": 1, "b": 1}}
    jobs = [{"worker_type": kind, "transfer_delay": {"s": 0}} for kind in ("a", "b")]
    servers = [only | {"parameter_servers": server}]
    return instance_of(jobs, servers=servers, worker_types=["a", "b"], horizon=4)


def test_jobs_are_told_apart_by_their_workers() -> None:
    instance = two_kinds(cpu=2)
    assert jobs_by_type(instance) == {0: (0,), 1: (1,)}
    assert [job.id for job in restricted_to(instance, [1]).jobs] == ["j2"]


@pytest.mark.parametrize(("ps", "value"), [(2, 0), (1, None)])
def test_schedules_are_joined_where_there_are_enough_pss(ps: int, value: int | None) -> None:
    """Both jobs run in slot 1: c_j - a_j = 0 each, with two PSs; with one there is no way."""
    instance = two_kinds(cpu=ps)
    parts = [restricted_to(instance, jobs) for jobs in jobs_by_type(instance).values()]
    found = merge_schedules(instance, [best_schedule(part)[1] for part in parts])
    assert (None if found is None else found.value(instance)) == value


def test_a_ps_moves_where_it_has_to() -> None:
    """The job that is split finds its PS on the other server; nothing else changes."""
    servers = [
        {"id": "s", "kind": "edge", "workers": {"a": 2}, "parameter_servers": {"cpu": 1}},
        {"id": "r", "kind": "edge", "workers": {"b": 1}, "parameter_servers": {"cpu": 1}},
    ]
    jobs = [{"worker_type": kind, "transfer_delay": {"s": 0, "r": 0}} for kind in ("a", "b")]
    instance = instance_of(jobs, servers=servers, worker_types=["a", "b"], horizon=4)
    near = {"start": 1, "completion": 1, "ps_server": "s"}
    each = [
        EdgeSchedule.from_data(instance, {"jobs": {name: near | {"workers": workers}}})
        for name, workers in (("j1", {"s": 1}), ("j2", {"r": 1}))
    ]
    found = merge_schedules(instance, each)
    assert found is not None and found.placements["j2"].ps_server == "r"
    assert list(rules.check(instance, found.to_data(instance), {})) == []


def fixed_by_sides(instance: EdgeInstance) -> None:
    """With components at their optima the starts of an optimal schedule remain, none below it."""
    optimum, schedule = best_schedule(instance)
    if schedule is None:
        return
    components = []
    for jobs in jobs_by_type(instance).values():
        part = restricted_to(instance, jobs)
        components.append(ComponentPrices(part, jobs, (no_prices(part),), int(brute_force(part))))
    total = sum(component.lower for component in components)
    assert total <= optimum
    fixing, view = ReducedCostFixing((no_prices(instance),), tuple(components)), compiled(instance)
    kept = fixing.remaining_starts(view, int(optimum) + 1)
    assert {run.mode_start for run in runs_from_schedule(instance, schedule)} <= set(
        kept.mode_starts
    )
    assert total <= kept.bound <= optimum
    assert fixing.remaining_starts(view, total).is_empty


@settings(max_examples=27, **QUIET)
@given(edge_instances(placeable=True, horizon=(5, 9)))
def test_sides_leave_an_optimal_schedule(instance: EdgeInstance) -> None:
    fixed_by_sides(instance)


@settings(max_examples=40, **QUIET)
@given(edge_instances(placeable=True, horizon=(5, 9)), st.integers(0, 10**6))
def test_certificates_of_parts_prove_a_bound(instance: EdgeInstance, seed: int) -> None:
    """At any prices; and the bound is the sum of the parts, each rounded up."""
    if infeasibility_reason(instance) is not None:
        return
    random, parts, total = np.random.default_rng(seed), {}, 0
    for jobs in jobs_by_type(instance).values():
        part = restricted_to(instance, jobs)
        view = compiled(part)
        cut_prices = some_shapes(int(view.workers.max()), random)

        def draw(array: np.ndarray, slots: int = view.slots) -> np.ndarray:
            return rounded(random.exponential(0.1, (*array.shape, slots)))

        prices = CapacityPrices(
            draw(view.workers), draw(view.ps), {shape: draw(view.workers) for shape in cut_prices}
        )
        best = max(
            (no_prices(part), prices), key=lambda each: LagrangianDual(view, view.slots).bound(each)
        )
        parts[part.jobs[0].worker_type] = {"kind": "cg-bound", **to_data(best)}
        total += math.ceil(LagrangianDual(view, view.slots).bound(best))
    written = {"kind": "parts", "parts": parts}
    assert check_certificate(instance, json.loads(json.dumps(written))) == total
    assert total <= brute_force(instance)


def test_a_shape_that_is_none_is_refused() -> None:
    """f(1) + f(1) = 2 > f(2) = 1: two jobs of one worker each would be charged for too much."""
    instance = two_kinds(cpu=2)
    plain = {"kind": "cg-bound", **to_data(no_prices(instance))}
    wrong = plain | {"shapes": [{"shape": [1, 1], "prices": [[0, 0, 1, 1.0]]}]}
    with pytest.raises(InputError, match="shapes"):
        check_certificate(instance, wrong)


def parts_alone(instance: EdgeInstance) -> None:
    """Parts bound the whole from below, and find nothing that the rules refuse."""
    if infeasibility_reason(instance) is not None or len(jobs_by_type(instance)) < 2:
        return
    optimum = brute_force(instance)
    found = initial_state(instance, RunContext({}, None, Budget(Clock(60)), Silence()))
    found.schedule, found.upper = None, None
    parts = WorkerTypeComponents(instance, found)
    assert parts.prepare(Budget(Clock(30)))
    if not found.closed:
        parts.close_gaps(Budget(Clock(30)))
    own = [brute_force(restricted_to(instance, jobs)) for jobs in jobs_by_type(instance).values()]
    if math.inf in own:
        assert found.infeasible and optimum == math.inf
        return
    assert found.lower == sum(own) <= optimum
    if found.schedule is not None:
        data = found.schedule.to_data(instance)
        assert list(rules.check(instance, data, {})) == []
        assert rules.objective(instance, data) == found.upper == optimum


@settings(max_examples=12, **QUIET)
@given(edge_instances(placeable=True, max_jobs=4, horizon=(5, 9)))
def test_parts_bound_the_whole(instance: EdgeInstance) -> None:
    parts_alone(instance)


@pytest.mark.nightly
@settings(max_examples=200, **QUIET)
@given(edge_instances(placeable=True, max_jobs=4, horizon=(5, 9)))
def test_parts_bound_the_whole_at_length(instance: EdgeInstance) -> None:
    parts_alone(instance)
    fixed_by_sides(instance)
