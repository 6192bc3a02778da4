"""Groups left by prices: every better schedule survives; the arrays are the Pyomo program."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge.bounds.reduced_cost_fixing import Kept, keep, last_slot
from schedgap.models.edge.decisions import problem
from schedgap.models.edge.exact.tightening import tighten
from schedgap.models.edge.placements import runs_from, schedule_of
from schedgap.models.edge.programs import time_indexed, time_indexed_arrays
from schedgap.models.edge.programs.dual import Prices, rounded
from schedgap.models.edge.rules import check, objective
from schedgap.solvers import Clock, solve
from schedgap.solvers.engines.highs import Relaxation
from schedgap.solvers.programs.arrays import LinearProgram
from schedgap.solvers.programs.pyomo import compile_model
from strategies.edge import best_schedule, brute_force, edge_instances, instance_of, some_shapes
from strategies.edge_examples import TOY_A, TOY_BATCH

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}


def random_prices(instance: EdgeInstance, slots: int, data: st.DataObject) -> Prices:
    view = problem(instance)
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6), label="prices"))
    scale = data.draw(st.sampled_from([0.02, 0.2, 1.0]), label="scale")

    def draw(shape: tuple[int, ...]) -> np.ndarray:
        cells = rng.exponential(scale, (*shape, slots))
        return rounded(cells * (rng.random(cells.shape) < 0.4))

    shapes = {
        shape: draw(view.workers.shape) for shape in some_shapes(int(view.workers.max()), rng)
    }
    return Prices(draw(view.workers.shape), draw(view.ps.shape), shapes)


@settings(max_examples=100, **QUIET)
@given(edge_instances(), st.integers(1, 3), st.data())
def test_at_any_prices_better_schedules_survive(
    instance: EdgeInstance, more: int, data: st.DataObject
) -> None:
    optimum, schedule = best_schedule(instance)
    if schedule is None:
        return
    view, upper = problem(instance), int(optimum) + more
    last = last_slot(view, upper)
    kept = keep(view, [random_prices(instance, last - view.first + 1, data)], upper)
    groups = {run.group for run in runs_from(instance, schedule)}
    assert groups <= set(kept.groups) and max(g.end for g in groups) <= last
    assert kept.bound <= optimum and not kept.hopeless


@settings(max_examples=40, **QUIET)
@given(edge_instances(horizon=(5, 9)), st.data())
def test_no_group_is_left_below_the_bound(instance: EdgeInstance, data: st.DataObject) -> None:
    view = problem(instance)
    prices = random_prices(instance, view.slots, data)
    bound = keep(view, [prices], 10**6).bound
    assert keep(view, [prices], math.ceil(min(bound, 1e6))).hopeless
    if math.isfinite(bound):
        kept = keep(view, [prices], math.ceil(bound) + 1)
        assert kept.bound >= bound and kept.slack == math.ceil(bound) - kept.bound >= 0


def same(program: LinearProgram, other: LinearProgram) -> None:
    """Two programs are equal but for the order of rows and columns; a >= b may be b <= a."""

    def rows(each: LinearProgram, order: list[int]) -> list[tuple[object, ...]]:
        matrix = each.matrix[:, order].tocsr()
        found = []
        for i in range(matrix.shape[0]):
            part = slice(matrix.indptr[i], matrix.indptr[i + 1])
            entries = sorted(
                zip(matrix.indices[part].tolist(), matrix.data[part].tolist(), strict=True)
            )
            entries = [entry for entry in entries if entry[1]]
            lower, upper = float(each.row_lower[i]), float(each.row_upper[i])
            if upper == math.inf:
                lower, upper, entries = -upper, -lower, [(k, -entry) for k, entry in entries]
            if entries:
                found.append((lower, upper, entries))
        return sorted(found)

    assert program.matrix.shape[1] == other.matrix.shape[1]
    order = list(range(len(program.cost)))
    assert program.cost.tolist() == other.cost.tolist()
    assert program.upper.tolist() == other.upper.tolist()
    assert rows(program, order) == rows(other, order)


@settings(max_examples=25, **QUIET)
@given(edge_instances(horizon=(4, 7), batch=None))
def test_the_arrays_are_the_pyomo_program(instance: EdgeInstance) -> None:
    view = problem(instance)
    groups = list(view.groups())
    if not groups or {group.job for group in groups} != {task.job for task in view.tasks}:
        return  # what has no columns is decided without a program
    arrays = time_indexed_arrays.build(view, groups)
    model = time_indexed.build(instance, groups=groups)
    names = ["X1", "X", "w", "q"]
    columns = []
    for g, s, kind in zip(arrays.group, arrays.server, arrays.kind, strict=True):
        group = groups[g]
        key = (group.job, group.start, group.mode.workers, *([int(s)] if s >= 0 else []))
        columns.append(getattr(model, names[kind])[key])
    compiled = compile_model(model)
    place = {id(var): k for k, var in enumerate(compiled.variables)}
    order = [place[id(var)] for var in columns if id(var) in place]
    assert len(order) == len(columns)
    theirs = compiled.program
    same(
        arrays.program,
        LinearProgram(
            cost=theirs.cost[order],
            lower=theirs.lower[order],
            upper=theirs.upper[order],
            matrix=theirs.matrix[:, order],
            row_lower=theirs.row_lower,
            row_upper=theirs.row_upper,
        ),
    )


@pytest.mark.parametrize(("instance", "optimum"), [(TOY_A, 5), (TOY_BATCH, 3)])
def test_the_arrays_solve_the_examples(instance: EdgeInstance, optimum: int) -> None:
    view = problem(instance)
    found = time_indexed_arrays.build(view, list(view.groups()))
    result = solve(found.program, "highs", clock=Clock(60), grid=1)
    data = schedule_of(instance, found.runs(result.values)).to_data(instance)
    assert list(check(instance, data, {})) == []
    assert objective(instance, data) == optimum


def test_shapes_cut_the_relaxation() -> None:
    """A server of four, jobs of three workers for one slot each: one at a time, not four thirds."""
    servers = [{"id": "s", "kind": "edge", "workers": {"gpu": 4}, "parameter_servers": {"cpu": 3}}]
    job = {"chunks": 3, "transfer_delay": {"s": 0}}
    instance = instance_of([job] * 3, servers=servers, horizon=3)
    view = problem(instance)
    groups = [g for g in view.groups() if g.mode.together and g.mode.workers == 3]
    kept = Kept(tuple(groups), 0.0, 9.0)
    plain = time_indexed_arrays.build(view, groups, orders=False).program
    found = tighten(None, instance, kept, 3, clock=Clock(60), seed=0, threads=1)
    assert found.trace["relaxation"] == pytest.approx(4 / 3 * 0 + 4 / 3 * 1 + 1 / 3 * 2)
    assert found.trace["cut"] == pytest.approx(0 + 1 + 2)
    assert sum(price.sum() for price in found.value.shapes.values()) > 0
    cut = time_indexed_arrays.build(view, groups, orders=False, shapes=found.value.shapes).program
    assert Relaxation(plain).solve(Clock(9)).objective == pytest.approx(2)
    assert Relaxation(cut).solve(Clock(9)).objective == pytest.approx(3)


@settings(max_examples=25, **QUIET)
@given(edge_instances(placeable=True, horizon=(5, 9)))
def test_prices_with_shapes_are_no_weaker(instance: EdgeInstance) -> None:
    optimum, schedule = best_schedule(instance)
    if schedule is None:
        return
    view = problem(instance)
    kept = keep(view, [zero_prices(instance)], int(optimum) + 3)
    report = tighten(None, instance, kept, view.slots, clock=Clock(60), seed=0, threads=1)
    cut = keep(view, [zero_prices(instance), report.value], int(optimum) + 1)
    assert cut.bound <= optimum and not cut.hopeless
    assert {run.group for run in runs_from(instance, schedule)} <= set(cut.groups)


@settings(max_examples=25, **QUIET)
@given(edge_instances(horizon=(4, 7), batch=None))
def test_counted_or_not_it_is_one_program(instance: EdgeInstance) -> None:
    """One column for each number of workers: the same relaxation, and the same optimum."""
    view = problem(instance)
    groups = list(view.groups())
    if not groups or {group.job for group in groups} != {task.job for task in view.tasks}:
        return
    plain, counted = (
        time_indexed_arrays.build(view, groups, shapes=shapes) for shapes in (None, {})
    )
    first, second = (Relaxation(each.program).solve(Clock(60)) for each in (plain, counted))
    assert (first.objective is None) == (second.objective is None)
    if first.objective is not None:
        assert first.objective == pytest.approx(second.objective, abs=1e-6)
    result = solve(counted.program, "highs", clock=Clock(60), grid=1)
    optimum = brute_force(instance)
    if optimum == math.inf:
        assert result.status == "infeasible"
        return
    data = schedule_of(instance, counted.runs(result.values)).to_data(instance)
    assert list(check(instance, data, {})) == [] and objective(instance, data) == optimum


def zero_prices(instance: EdgeInstance) -> Prices:
    view = problem(instance)
    shapes = [(*array.shape, view.slots) for array in (view.workers, view.ps)]
    return Prices(np.zeros(shapes[0]), np.zeros(shapes[1]))


def test_a_target_below_the_optimum_cannot_be_met() -> None:
    view = problem(TOY_A)
    found = time_indexed_arrays.build(view, list(view.groups()), most=4)
    assert solve(found.program, "highs", clock=Clock(60), grid=1).status == "infeasible"
