"""The paper's relaxation, its repair, and what they prove and refute."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

from schedgap.instances.hare import HareInstance, arrays
from schedgap.models.hare.algorithms.algorithm_1 import algorithm_1
from schedgap.models.hare.programs import relaxation
from schedgap.models.hare.programs.relaxation_arrays import (
    LoadCut,
    Separate,
    build,
    separate_full_set,
    separate_prefixes,
    with_cuts,
)
from schedgap.models.hare.programs.solve_relaxation import (
    RelaxationSolution,
    canonical_point,
    solve_relaxation,
    solve_with_cuts,
)
from schedgap.models.method import Budget, NullProgress, RunContext
from schedgap.solvers import Clock, EngineResult, solve
from schedgap.solvers.programs.arrays import LinearProgram
from strategies.engines import needs
from strategies.hare import brute_force, hare_instances
from strategies.hare_examples import (
    FIGURE_4,
    THREE_UNIT_TASKS,
    TOY,
    TWO_GPUS,
    lights_and_sponge,
)

TINY = hare_instances(max_total=5)
CE2 = lights_and_sponge()


def highs(program: LinearProgram) -> EngineResult:
    options = {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9}
    if program.is_mixed:
        options["mip_feasibility_tolerance"] = 1e-9
    return solve(program, "highs", clock=Clock(), options=options)


def loop(
    instance: HareInstance, separate: Separate, *, integer: bool, horizon_cap: bool = True
) -> RelaxationSolution:
    most = relaxation.start_limit(instance, horizon_cap=horizon_cap)
    relaxed = build(instance, limit=most, integer=integer)
    found = solve_with_cuts(relaxed, separate, highs, Clock())
    assert found.closed
    return found


def value(
    instance: HareInstance, separate: Separate, *, integer: bool = True, horizon_cap: bool = True
) -> float:
    bound = loop(instance, separate, integer=integer, horizon_cap=horizon_cap).bound
    assert bound is not None
    return bound


@pytest.mark.parametrize(
    ("instance", "printed", "repaired"),
    [
        (TOY, 7.0, 7.0),
        # One GPU, H = x_hat + 1/2: sum x >= 3, all of it put on the weight 1: 1.2 + 1.1 + 4 = 6.3.
        (THREE_UNIT_TASKS, 6.3, 6.4),
        # All the delay on the sponge: 11000 + 10 x 20 + (671 + 10) = 11881; Smith's order 12441.
        (CE2, 11881.0, 12441.0),
        # A alone on a GPU 800; B on the other: sum x >= 21, mean 3, one barrier 3 + 1 = 4.
        (TWO_GPUS, 804.0, 804.0),
        # 1 + 2 + 4 and n: 10 + 7/16.
        (FIGURE_4, 10.4375, 10.4375),
    ],
)
def test_values_of_the_worked_examples(
    instance: HareInstance, printed: float, repaired: float
) -> None:
    assert value(instance, separate_full_set, horizon_cap=False) == pytest.approx(printed, rel=1e-6)
    assert value(instance, separate_prefixes) == pytest.approx(repaired, rel=1e-6)


def test_the_horizon_cap_changes_ce2() -> None:
    """With starts up to 121 only, the sponge takes 121 and a light one 66 of the delay: 12431."""
    assert value(CE2, separate_full_set, horizon_cap=True) == pytest.approx(12431)
    assert relaxation.start_limit(CE2, horizon_cap=True) == 11 + 10 * 11


def canonical(found: RelaxationSolution, separate: Separate) -> RelaxationSolution:
    return replace(found, values=canonical_point(found, separate, highs, Clock()))


def test_ce1_breaks_lemma_2_for_the_printed_relaxation() -> None:
    """x_hat = (3, 0, 0): after two tasks the load is 2, and 2 H = 2 x 0.5 = 1."""
    found = loop(THREE_UNIT_TASKS, separate_full_set, integer=True, horizon_cap=False)
    middle = found.start + 0.5
    assert sorted(middle) == pytest.approx([0.5, 0.5, 3.5])
    assert 2 * sorted(middle)[1] + 0.5 < 2


def test_ce2_refutes_theorem_4_for_the_printed_relaxation() -> None:
    """One GPU, alpha = 1, factor 3: 112221 / 12441 = 9.02. The repaired relaxation is optimal."""
    for separate, horizon_cap, result in (
        (separate_full_set, False, 112221),
        (separate_prefixes, True, 12441),
    ):
        found = canonical(loop(CE2, separate, integer=True, horizon_cap=horizon_cap), separate)
        middle = (found.start + arrays(CE2).train.max(axis=1) / 2).round(5)
        assert algorithm_1(CE2, middle).schedule.value(CE2) == result


def test_ce4_breaks_lemma_2_even_with_every_prefix() -> None:
    """H of B is 3.5 < 4 = H of A, so B fills both GPUs and A ends at 11: load 11 > 2 H_A = 8."""
    found = canonical(loop(TWO_GPUS, separate_prefixes, integer=True), separate_prefixes)
    middle = found.start + arrays(TWO_GPUS).train.max(axis=1) / 2
    assert middle[0] == pytest.approx(4)
    assert middle[1:].max() < 4
    for gpu_rule in ("available", "finish"):
        schedule = algorithm_1(TWO_GPUS, middle.round(5), gpu_rule=gpu_rule).schedule
        assert schedule.value(TWO_GPUS) == 1104


def test_the_canonical_point_has_the_least_sum_of_starts() -> None:
    """CE2 repaired: Smith's order starts at 0, 11, 21, ..., 111: sum 0 + 11 x 61 = 671."""
    found = canonical(loop(CE2, separate_prefixes, integer=True), separate_prefixes)
    assert found.values is not None
    assert found.relaxed.program.objective(found.values) == pytest.approx(12441, rel=1e-6)
    assert found.start.sum() == pytest.approx(671, rel=1e-5)
    # The toy's printed optimum leaves slack: no other optimum has smaller starts in sum.
    found = loop(TOY, separate_full_set, integer=True, horizon_cap=False)
    assert canonical(found, separate_full_set).start.sum() <= found.start.sum() + 1e-6


@settings(max_examples=18, deadline=None)
@given(TINY)
def test_relaxations_are_ordered_and_below_the_optimum(instance: HareInstance) -> None:
    optimum = brute_force(instance)
    slack = 1e-6 * max(1, optimum)
    rows = (separate_full_set, separate_prefixes)
    continuous = [value(instance, separate, integer=False) for separate in rows]
    binary = [value(instance, separate) for separate in rows]
    literal = value(instance, separate_full_set, horizon_cap=False)
    for chain in (continuous, [literal, *binary, optimum]):
        assert all(low <= high + slack for low, high in pairwise(chain))
    assert all(low <= high + slack for low, high in zip(continuous, binary, strict=True))


@settings(max_examples=30, deadline=None)
@given(hare_instances(max_total=7))
def test_continuous_bounds_are_below_the_optimum(instance: HareInstance) -> None:
    optimum = brute_force(instance)
    for separate in (separate_full_set, separate_prefixes):
        found = loop(instance, separate, integer=False)
        assert found.bound is not None
        assert found.bound <= optimum * (1 + 1e-9) + 1e-12


@settings(max_examples=35)
@given(hare_instances(max_total=8), st.integers(0, 2**32))
def test_prefixes_find_the_most_violated_of_all_sets(instance: HareInstance, seed: int) -> None:
    """At random points, also fractional ones, no set is more violated than some prefix."""
    draw = default_rng(seed)
    relaxed = build(instance, limit=100.0, integer=False)
    item = relaxed.items
    items, machines = item.train.shape
    y = draw.dirichlet(np.ones(machines), items)
    x = item.head + draw.exponential(3, items)
    z = y * x[:, None] * draw.uniform(0.5, 1.5, (items, 1))
    values = np.concatenate([x, y.ravel(), z.ravel(), np.zeros(arrays(instance).rounds)])

    def excess(machine: int, chosen: np.ndarray) -> float:
        weight = item.unit[chosen, machine] * item.train[chosen, machine]
        load = float(weight @ y[chosen, machine])
        right = weight @ (2 * z[chosen, machine] + item.train[chosen, machine] * y[chosen, machine])
        return load**2 - float(right)

    cuts = separate_prefixes(relaxed, values)
    for machine in range(machines):
        sets = [
            np.array([g for g in range(items) if number >> g & 1]) for number in range(1, 2**items)
        ]
        worst = max(excess(machine, chosen) for chosen in sets)
        found = max(
            (excess(machine, cut.items) for cut in cuts if cut.machine == machine), default=0
        )
        assert found == pytest.approx(max(worst, 0), abs=1e-3)


@settings(max_examples=21)
@given(hare_instances(max_total=12), st.integers(0, 2**32))
def test_every_cut_holds_in_every_schedule(instance: HareInstance, seed: int) -> None:
    """In schedules of Algorithm 1 with random orders, for random sets and tangent points."""
    draw = default_rng(seed)
    view = arrays(instance)
    relaxed = build(
        instance, limit=relaxation.start_limit(instance, horizon_cap=True), integer=True
    )
    schedule = algorithm_1(instance, draw.random(view.tasks)).schedule
    y = np.zeros((view.tasks, view.gpus))
    y[np.arange(view.tasks), schedule.gpu] = 1
    z = y * schedule.start[:, None]
    point = np.concatenate([schedule.start, y.ravel(), z.ravel(), np.zeros(view.rounds)])
    cuts = [
        LoadCut(
            int(draw.integers(view.gpus)),
            np.flatnonzero(draw.integers(2, size=view.tasks) | (np.arange(view.tasks) == 0)),
            float(draw.exponential(10)),
        )
        for _ in range(10)
    ]
    rows = with_cuts(relaxed, cuts)
    own = slice(-len(cuts), None)
    assert (rows.matrix[own] @ point <= rows.row_upper[own] + 1e-9).all()
    assert separate_prefixes(relaxed, point) == []


@settings(max_examples=17)
@given(hare_instances(max_total=8))
def test_the_arrays_are_the_linear_rows_of_the_pyomo_model(instance: HareInstance) -> None:
    """Row by row, after taking (9) out of one and the symmetry cuts out of the other."""
    model = relaxation.build(instance, horizon_cap=True)
    model.eq_9.deactivate()
    form = LinearStandardFormCompiler().write(model, mixed_form=True)
    names = {id(variable): j for j, variable in enumerate(form.columns)}
    order = [model.x[i] for i in model.D]
    order += [model.y[i, m] for i in model.D for m in model.M]
    order += [model.z[i, m] for i in model.D for m in model.M]
    order += [model.b[q] for q in model.R]
    matrix = form.A.toarray()[:, [names[id(variable)] for variable in order]]

    def rows(entries: np.ndarray, low: np.ndarray, high: np.ndarray) -> set[tuple[float, ...]]:
        """Each row with its finite sides as `<=`."""
        found = set()
        for row, lower, upper in zip(entries, low, high, strict=True):
            if np.isfinite(upper):
                found.add((*(row + 0.0), float(upper) + 0.0))
            if np.isfinite(lower):
                found.add((*(-row + 0.0), -float(lower) + 0.0))
        return found

    sense = np.array([row.bound_type for row in form.rows])  # 1: <=, -1: >=, 0: ==
    high = np.where(sense >= 0, form.rhs, np.inf)
    low = np.where(sense <= 0, form.rhs, -np.inf)
    relaxed = build(
        instance, limit=relaxation.start_limit(instance, horizon_cap=True), integer=True
    )
    program = relaxed.program
    ours = rows(program.matrix.toarray(), program.row_lower, program.row_upper)
    printed = rows(matrix, low, high)
    assert printed <= ours
    assert np.array_equal(
        program.cost[-len(model.R) :], form.c.toarray()[0][[names[id(model.b[q])] for q in model.R]]
    )


@pytest.mark.parametrize("instance", [TOY, THREE_UNIT_TASKS, CE2, TWO_GPUS, FIGURE_4])
def test_the_literal_product_form_has_the_same_optimum(instance: HareInstance) -> None:
    needs("gurobi")
    tangents = value(instance, separate_full_set, horizon_cap=False)
    for literal in (False, True):
        model = relaxation.build(instance, literal=literal)
        result = solve(model, "gurobi", clock=Clock(), options={"IntFeasTol": 1e-9})
        assert result.bound == pytest.approx(tangents, rel=1e-6)


def test_an_early_stop_leaves_a_valid_bound_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    relaxed = build(CE2, limit=relaxation.start_limit(CE2, horizon_cap=True), integer=False)
    monkeypatch.setattr("schedgap.models.hare.programs.solve_relaxation.MAX_ROUNDS", 1)
    found = solve_with_cuts(relaxed, separate_prefixes, highs, Clock())
    assert not found.closed
    assert found.bound is not None
    assert found.bound <= 12441
    nothing = solve_with_cuts(
        relaxed,
        separate_prefixes,
        lambda program: solve(program, "highs", clock=Clock(0)),
        Clock(0),
    )
    assert nothing.bound is None
    assert not nothing.closed


@pytest.mark.parametrize("bound", [6.0, None])
def test_a_point_that_no_row_cuts_off_is_closed_only_if_its_bound_meets_it(
    bound: float | None,
) -> None:
    relaxed = build(TOY, limit=relaxation.start_limit(TOY, horizon_cap=True), integer=True)
    found = solve_with_cuts(
        relaxed, separate_prefixes, lambda program: replace(highs(program), bound=bound), Clock()
    )
    assert found.values is not None
    assert not found.closed


def test_where_weights_are_far_apart_only_the_linear_relaxation_bounds() -> None:
    """The weights are 1 and about 10^7 and 2 x 10^7."""
    jobs = THREE_UNIT_TASKS.to_data()["jobs"]
    far = THREE_UNIT_TASKS.replace(
        jobs=[job | {"weight": 1 + 1e7 * n} for n, job in enumerate(jobs)]
    )
    heard: list[float] = []
    call = RunContext({}, "highs", Budget(Clock(60)), NullProgress())
    found, linear = (
        solve_relaxation(far, call, separate_prefixes, integer=integer, on_bound=heard.append)
        for integer in (True, False)
    )
    assert found.bound == linear.bound
    assert max(heard) == linear.bound
