"""The Lagrangian bound: any prices prove a bound, and good ones a better one than the fluid's."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from schedgap.errors import InputError
from schedgap.instances.generate import generate
from schedgap.instances.hare import HareArrays, HareInstance, arrays
from schedgap.models.hare.bounds import fluid, solve_lagrangian
from schedgap.models.hare.bounds.certificates import check_certificate, lagrangian_certificate
from schedgap.models.hare.bounds.kernel import PLANS
from schedgap.models.hare.bounds.lagrangian import (
    GpuPrices,
    JobPlan,
    PlanMaster,
    _time_steps,
    bound,
    job_plan,
    kernel_jobs,
    run_kernel,
)
from schedgap.models.hare.bounds.solve_fluid import INTERIOR_POINT
from schedgap.models.method import Budget, NullProgress, RunContext
from schedgap.solvers import Clock, solve
from strategies.hare import brute_force, hare_instances, instance_of
from strategies.kernels import compiled_entry, compiled_types


def random_prices(instance: HareInstance, seed: int) -> GpuPrices:
    draw = default_rng(seed)
    grid = np.append(0.0, np.cumsum(draw.choice([0.5, 1.0, 2.7, 6.0], draw.integers(1, 9))))
    shape = len(arrays(instance).class_gpus), len(grid) - 1
    return GpuPrices(grid, draw.exponential(2, shape) * draw.integers(2, size=shape))


def fluid_prices(instance: HareInstance, grid: np.ndarray) -> tuple[float, GpuPrices]:
    model = fluid.build(instance, grid)
    result = solve(model.program, "highs", clock=Clock(), options=INTERIOR_POINT)
    assert result.objective is not None
    return result.objective, GpuPrices(grid, fluid.capacity_prices(model, result.duals))


@settings(max_examples=45, deadline=None)
@given(hare_instances(max_total=6), st.integers(0, 2**32), st.sampled_from([1, 2, 5]))
def test_any_prices_prove_a_bound(instance: HareInstance, seed: int, steps: int) -> None:
    prices = random_prices(instance, seed)
    longest = float(default_rng(seed).choice([np.inf, 0.3, 2.0]))
    value, certificate = lagrangian_certificate(instance, prices, steps=steps, longest=longest)
    assert value <= brute_force(instance) * (1 + 1e-9) + 1e-12
    assert check_certificate(instance, certificate) == value


@settings(max_examples=18, deadline=None)
@given(hare_instances(max_total=6))
def test_good_prices_prove_a_bound_too(instance: HareInstance) -> None:
    _, prices = fluid_prices(instance, np.arange(0.0, 31.0, 2.0))
    optimum = brute_force(instance)
    plans = PlanMaster(instance, prices, steps=4)
    heard: list[float] = []

    def hear(value: float, duals: np.ndarray) -> None:
        assert bound(instance, plans.prices(duals), steps=4) == pytest.approx(value)
        heard.append(value)

    found = plans.master.solve(
        plans.pricing, clock=Clock(), rounds=8, duals=plans.duals(prices), on_bound=hear
    )
    assert found.bound is not None and found.duals is not None
    assert bound(instance, prices.rounded(), steps=4) <= found.bound
    assert found.bound <= optimum * (1 + 1e-9) + 1e-12
    assert bound(instance, plans.prices(found.duals), steps=4) == pytest.approx(found.bound)
    assert heard == sorted(heard)


def test_two_unit_tasks_on_one_gpu() -> None:
    """At price 1 in [0, 1) each job costs 2, at once (1 + 1) or at 1; 2 + 2 - 1 = 3 is optimal."""
    job = {"rounds": 1, "tasks_per_round": 1, "training_time": {"g": 1}}
    instance = instance_of({"gpu": "g"}, [job, job])
    prices = GpuPrices(np.array([0.0, 1.0]), np.array([[1.0]]))
    assert bound(instance, prices, steps=1) == pytest.approx(3)
    assert bound(instance, GpuPrices(prices.grid, np.array([[0.0]])), steps=1) == pytest.approx(2)


@settings(max_examples=40, deadline=None)
@given(hare_instances(max_jobs=1, max_total=8))
def test_free_gpus_leave_the_critical_path(instance: HareInstance) -> None:
    view = arrays(instance)
    free = GpuPrices(np.array([0.0, 5.0]), np.zeros((len(view.class_gpus), 1)))
    path = float(view.weight @ (view.arrival + view.critical))
    assert bound(instance, free, steps=3) <= path * (1 + 1e-12)
    alike = all(job.task_rounds is None for job in instance.jobs)
    if alike:  # one length: steps fit it, and nothing is lost
        assert bound(instance, free, steps=3) == pytest.approx(path)


def test_a_round_pays_for_its_slowest_task() -> None:
    """Two tasks a round, fast (1) and slow (10); fast GPU time costs 3 a unit, slow none.

    Both fast: 2 x 3 + 1 = 7; one slow or both slow: C = 10, at least 10. The fluid rows average.
    """
    job = {"rounds": 1, "tasks_per_round": 2, "training_time": {"f": 1, "s": 10}}
    instance = instance_of({"g1": "f", "g2": "s"}, [job])
    prices = GpuPrices(np.array([0.0, 20.0]), np.array([[3.0], [0.0]]))
    view = arrays(instance)
    own = job_plan(view, fluid.task_blocks(view), 0, prices, steps=1)
    assert own.value == pytest.approx(7)
    assert own.completion == pytest.approx(1)
    assert own.use == pytest.approx(np.array([[2.0], [0.0]]))


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 2**32),
    st.lists(st.integers(1, 2), min_size=1, max_size=3),
    st.booleans(),
)
def test_a_plan_is_the_cheapest_of_all_whole_starts(
    seed: int, sizes: list[int], unlike: bool
) -> None:
    """One job, whole times and prices by unit cells: enumerate classes and whole starts.

    With whole kinks some cheapest schedule has whole starts. A step loses at most its length times
    the highest price, 4, for each of at most 6 tasks.
    """
    draw = default_rng(seed)

    def task() -> dict:
        times = draw.integers(1, 3, size=2, endpoint=True)
        return {"training_time": {"f": int(times[0]), "s": int(times[1])}}

    rounds = []
    for size in sizes:
        first = task()
        rounds.append([task() if unlike else first for _ in range(size)])
    instance = instance_of({"g1": "f", "g2": "s"}, [{"task_rounds": rounds, "weight": 2}])
    view = arrays(instance)
    cells = 6
    prices = GpuPrices(np.arange(cells + 1.0), draw.integers(0, 5, size=(2, cells)).astype(float))
    paid = np.hstack([prices.cumulative(), np.repeat(prices.cumulative()[:, -1:], 40, axis=1)])
    kinds = {key: k for k, key in enumerate(("f", "s"))}
    kinds = {key: int(view.gpu_class[m]) for m, key in enumerate(kinds)}

    def cheapest(r: int, ready: int) -> float:
        best = np.inf
        for end in range(ready + 1, cells + 14):
            total = 0.0
            for item in rounds[r]:
                times = item["training_time"]
                total += min(
                    (
                        paid[kinds[key], u + times[key]] - paid[kinds[key], u]
                        for key, u in product(times, range(ready, end))
                        if u + times[key] <= end
                    ),
                    default=np.inf,
                )
            if np.isfinite(total):
                rest = 2 * end if r + 1 == len(rounds) else cheapest(r + 1, end)
                best = min(best, total + rest)
        return best

    own = job_plan(view, fluid.task_blocks(view), 0, prices, steps=20 if unlike else 200)
    exact = cheapest(0, 0)
    assert own.value <= exact + 1e-9
    if not unlike:  # the shortest task has at most 3 units of time
        assert own.value >= exact - 6 * 4 * 3 / 200 - 1e-9


def test_prices_beat_the_fluid_program_where_rounds_must_wait() -> None:
    """Four jobs of 3 rounds of 2 tasks, one fast and three slow GPUs: averaging is cheap."""
    job = {"rounds": 3, "tasks_per_round": 2, "training_time": {"f": 2, "s": 7}}
    instance = instance_of({"g1": "f", "g2": "s", "g3": "s", "g4": "s"}, [job] * 4)
    value, prices = fluid_prices(instance, np.linspace(0, 60, 31))
    assert bound(instance, prices, steps=8) > value


@pytest.mark.parametrize(
    "change",
    [
        {"prices": [[-1.0]]},
        {"prices": [[float("nan")]]},
        {"prices": [[1.0, 1.0]]},
        {"prices": "1"},
        {"steps": 0},
        {"steps": 1.5},
        {"longest": 0.0},
        {"longest": 1e-320},
        {"grid": [0.0]},
        {"grid": [0.0, float("inf")]},
    ],
)
def test_a_certificate_that_does_not_fit_is_refused(change: dict) -> None:
    job = {"rounds": 1, "tasks_per_round": 1, "training_time": {"g": 1}}
    instance = instance_of({"gpu": "g"}, [job, job])
    certificate = {"kind": "lagrangian", "grid": [0.0, 1.0], "prices": [[1.0]], "steps": 1}
    assert check_certificate(instance, certificate) == pytest.approx(3)
    with pytest.raises(InputError, match="certificate"):
        check_certificate(instance, certificate | change)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("longest", [np.inf, 0.7])
def test_the_kernel_and_job_plan_have_equal_numbers(seed: int, longest: float) -> None:
    """Uncompiled; the compiled kernel is compared with `job_plan` in the test below."""
    jobs = [
        {"rounds": 3, "tasks_per_round": 2, "training_time": {"f": 2, "s": 7.3}, "weight": 3},
        {"rounds": 1, "tasks_per_round": 4, "training_time": {"f": 1.1, "s": 1}, "arrival": 2},
        {"task_rounds": [[{"training_time": {"f": 1, "s": 4}}] * r for r in (1, 2, 1)]},
    ]
    instance = instance_of({"g1": "f", "g2": "s"}, jobs)
    view, prices = arrays(instance), random_prices(instance, seed)
    flat = kernel_jobs(view, float(prices.grid[-1]), 2, longest)
    assert flat is not None
    same_plans(run_kernel(PLANS.plain, flat, prices), view, prices, 2, longest)


def same_plans(
    plans: list[JobPlan], view: HareArrays, prices: GpuPrices, steps: int, longest: float
) -> None:
    block = fluid.task_blocks(view)
    for n, plan in enumerate(plans):
        own = job_plan(view, block, n, prices, steps=steps, longest=longest)
        assert (plan.value, plan.completion) == (own.value, own.completion)
        assert np.array_equal(plan.use, own.use)


def test_compiled_or_not_plans_are_the_same_and_compiled_once() -> None:
    instance = generate("hare", preset="medium", seed=6)
    view, prices = arrays(instance), random_prices(instance, 1)
    flat = kernel_jobs(view, float(prices.grid[-1]), 1, 0.5)
    assert flat is not None
    fast = compiled_entry(PLANS)
    same_plans(run_kernel(fast, flat, prices), view, prices, 1, 0.5)
    assert compiled_types(fast) == 1
    assert PLANS.is_ready  # nothing was compiled for other types, and stored


def test_a_longest_step_makes_the_steps_shorter_and_the_bound_no_worse() -> None:
    """Lengths 3 and 10: steps of 1 fit both, and 3 is the least number of them in the shortest."""
    job = {"rounds": 2, "tasks_per_round": 1, "training_time": {"f": 3, "s": 10}}
    instance = instance_of({"g1": "f", "g2": "s"}, [job])
    view = arrays(instance)
    delta, _, _ = _time_steps(view, fluid.task_blocks(view), 0, 20.0, 1, 3.0)
    assert delta == pytest.approx(1)


def test_the_first_prices_are_linear_between_the_cells_of_the_fluid_program() -> None:
    prices = GpuPrices(np.array([0.0, 2.0, 4.0]), np.array([[3.0, 1.0]]))
    assert prices.on(np.array([0.0, 1.0, 3.0, 4.0])).price.tolist() == [[3.0, 2.0, 1.0]]


@pytest.mark.parametrize("end", [0, 3])
def test_an_older_certificate_without_a_longest_step_is_evaluated(end: int) -> None:
    job = {"rounds": 1, "tasks_per_round": 1, "training_time": {"g": 1}}
    instance = instance_of({"gpu": "g"}, [job] * (end + 2))
    value, certificate = lagrangian_certificate(
        instance, GpuPrices(np.array([0.0, 1.0]), np.array([[1.0]])), steps=2
    )
    assert "longest" not in certificate and check_certificate(instance, certificate) == value


def test_prices_that_reach_the_end_of_their_box_go_on() -> None:
    """In the first box, column generation ends after 4 rounds, at 332.0."""
    instance = generate("hare", preset="small", seed=4)
    call = RunContext({}, "highs", Budget(), NullProgress())
    found = solve_lagrangian.lagrangian_bound(instance, call)
    assert found.bound is not None and 337 < found.bound <= 357  # the best known schedule
    assert found.trace["rounds"] > 4
