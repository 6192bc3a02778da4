"""The fluid bound: its rows hold in every schedule, and it never passes the optimum."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from schedgap.errors import InputError
from schedgap.instances.hare import HareInstance, HareSchedule, arrays
from schedgap.models.hare.bounds import fluid
from schedgap.models.hare.bounds.certificates import certified, check_certificate
from schedgap.models.hare.bounds.solve_fluid import INTERIOR_POINT
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.engines.solve import solve
from strategies.hare import brute_force, hare_instances, instance_of

TINY = hare_instances(max_total=6)


@st.composite
def grids(draw: st.DrawFn) -> np.ndarray:
    """Irregular grids; many end before any schedule does."""
    steps = draw(st.lists(st.sampled_from([0.5, 1.0, 1.7, 4.0, 13.0]), min_size=1, max_size=8))
    return np.append(0.0, np.cumsum(steps))


def bound_of(instance: HareInstance, grid: np.ndarray) -> tuple[float, dict]:
    """Solve the program; return HiGHS's value and the certificate with its own."""
    program = fluid.build(instance, grid).program
    result = solve(program, "highs", clock=Clock(), options=INTERIOR_POINT)
    assert result.objective is not None
    _, certificate = certified("fluid-lp", program, result.duals, grid=grid.tolist())
    return result.objective, certificate


def random_schedule(instance: HareInstance, seed: int) -> HareSchedule:
    """Put tasks in any order that the rounds allow on any GPUs, with idle times."""
    view, draw = arrays(instance), default_rng(seed)
    gpu, start = np.zeros(view.tasks, dtype=int), np.zeros(view.tasks)
    free, ready, barrier = np.zeros(view.gpus), view.arrival.copy(), view.arrival.copy()
    rounds = [list(range(*view.job_rounds[n : n + 2])) for n in range(view.jobs)]
    todo = [list(range(*view.round_tasks[own[0] : own[0] + 2])) for own in rounds]
    while any(todo):
        n = draw.choice([n for n in range(view.jobs) if todo[n]])
        i, m = todo[n].pop(draw.integers(len(todo[n]))), draw.integers(view.gpus)
        k = view.gpu_class[m]
        gpu[i] = m
        start[i] = max(ready[n], free[m]) + draw.choice([0.0, 0.0, 1.5])
        free[m] = start[i] + view.train[i, k]
        barrier[n] = max(barrier[n], free[m] + view.sync[i, k])
        if not todo[n]:
            rounds[n].pop(0)
            ready[n] = barrier[n]
            todo[n] = list(range(*view.round_tasks[rounds[n][0] :][:2])) if rounds[n] else []
    return HareSchedule(gpu, start)


def point_of(
    instance: HareInstance, model: fluid.FluidProgram, schedule: HareSchedule
) -> np.ndarray:
    """Return the columns that a schedule means."""
    view = arrays(instance)
    columns = {
        key: j for j, key in enumerate(zip(model.block, model.kind, model.cell, strict=True))
    }
    values = np.zeros(len(model.program.cost))
    ends = np.append(model.grid[1:], np.inf)
    for i in range(view.tasks):
        k = view.gpu_class[schedule.gpu[i]]
        begin, end = schedule.start[i], schedule.start[i] + view.train[i, k]
        for q in range(len(ends)):
            inside = min(end, ends[q]) - max(begin, model.grid[q])
            if inside > 0:
                j = columns[model.task_blocks.task_block[i], k, q]
                values[j] += inside / view.train[i, k]
    values[len(columns) :] = schedule.completion(instance)
    return values


@settings(max_examples=80)
@given(hare_instances(max_total=14), grids(), st.integers(0, 2**32))
def test_every_row_holds_in_every_schedule(
    instance: HareInstance, grid: np.ndarray, seed: int
) -> None:
    model = fluid.build(instance, grid)
    program = model.program
    point = point_of(instance, model, random_schedule(instance, seed))
    rows = program.matrix @ point
    assert (rows >= program.row_lower - 1e-7).all()
    assert (rows <= program.row_upper + 1e-7).all()
    assert (point >= program.lower - 1e-7).all()


@settings(max_examples=50)
@given(TINY, grids())
def test_the_bound_is_never_above_the_optimum(instance: HareInstance, grid: np.ndarray) -> None:
    optimum = brute_force(instance)
    value, certificate = bound_of(instance, grid)
    assert value <= optimum + 1e-6 * max(1, optimum)
    assert certificate["value"] <= optimum + 1e-9 * max(1, optimum)
    assert certificate["value"] == pytest.approx(value, rel=1e-4, abs=1e-4)
    assert check_certificate(instance, certificate) == certificate["value"]
    assert check_certificate(instance, certificate | {"sync_rows": False}) == certificate["value"]


@settings(max_examples=50)
@given(TINY, grids(), st.integers(0, 2**32))
def test_a_tampered_certificate_proves_nothing_false(
    instance: HareInstance, grid: np.ndarray, seed: int
) -> None:
    draw = default_rng(seed)
    _, certificate = bound_of(instance, grid)
    duals = [[row, price * draw.normal(1, 1)] for row, price in certificate["duals"]]
    rows = len(fluid.build(instance, grid).program.row_lower)
    duals.append([int(draw.integers(rows)), float(draw.normal(0, 100))])
    assert check_certificate(instance, {**certificate, "duals": duals}) <= brute_force(instance)


def test_one_job_alone_is_bounded_by_its_critical_path() -> None:
    """Three rounds of two tasks, d = 2 + 1 on the fast GPU: C = 4 + 3 x 3 = 13 at the least."""
    job = {
        "arrival": 4, "rounds": 3, "tasks_per_round": 2,
        "training_time": {"fast": 2, "slow": 5},
        "synchronization_time": {"fast": 1, "slow": 0},
    }  # fmt: skip
    instance = instance_of({"g1": "fast", "g2": "fast", "g3": "slow"}, [job])
    assert bound_of(instance, np.linspace(0, 20, 21))[0] == pytest.approx(13, rel=1e-6)


def test_slow_gpus_count_at_their_own_length() -> None:
    """Two jobs of 4 tasks in a row; one fast GPU (c = 1), one slow (c = 10); least value 4 + 8.

    With cells of 1 the mean busy times of the two jobs sum to at least 0 + 1 + ... + 7 over 4 =
    7, so the bound is at least 7 + 2 + 2 = 11, and the optimum 12 is not passed.
    """
    job = {"rounds": 4, "tasks_per_round": 1, "training_time": {"fast": 1, "slow": 10}}
    instance = instance_of({"g1": "fast", "g2": "slow"}, [job, job])
    value = bound_of(instance, np.arange(0.0, 13.0))[0]
    assert 10 <= value <= 12


@settings(max_examples=35)
@given(hare_instances(max_total=14), grids())
def test_starts_rise_along_the_rounds_from_the_arrival(
    instance: HareInstance, grid: np.ndarray
) -> None:
    view, model = arrays(instance), fluid.build(instance, grid)
    result = solve(model.program, "highs", clock=Clock())
    start = fluid.start_times(instance, model, result.values)
    assert (start >= view.arrival[view.task_job]).all()
    same_job = view.task_job[1:] == view.task_job[:-1]
    assert (np.diff(start)[same_job] >= -1e-9).all()


def test_starts_follow_the_progress_of_the_job() -> None:
    """Four rounds of one task: two in [0, 2), none in [2, 4), two in [4, 8): linear in a cell."""
    job = {"rounds": 4, "tasks_per_round": 1, "training_time": {"g": 1}}
    instance = instance_of({"gpu": "g"}, [job])
    model = fluid.build(instance, np.array([0.0, 2.0, 4.0, 8.0]))
    values = np.array([2.0, 0.0, 2.0, 0.0, 8.0])  # f by cell and in the tail, C
    assert fluid.start_times(instance, model, values) == pytest.approx([0, 1, 4, 6])


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "fluid"},
        {"kind": None},
        {"grid": [0, 2, 1]},
        {"grid": [0, float("inf")]},
        {"grid": [0]},
        {"grid": "0,1"},
        {"sync_rows": True},
        {"duals": [[-1, 1.0]]},
        {"duals": [[10**6, 1.0]]},
        {"duals": [1.0]},
        {"duals": None},
    ],
)
def test_a_certificate_that_does_not_fit_is_refused(change: dict) -> None:
    instance = instance_of({"gpu": "g"}, [{"task_rounds": [[{"training_time": {"g": 1}}]]}])
    _, certificate = bound_of(instance, np.array([0.0, 1.0, 2.0]))
    assert check_certificate(instance, certificate) == pytest.approx(1)
    with pytest.raises(InputError, match="certificate"):
        check_certificate(instance, {**certificate, **change})
