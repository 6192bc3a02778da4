"""The board: the same answers as the market's, and nothing left behind."""

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from schedgap.errors import ScaleError
from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.algorithms.pricing import PricedServers
from schedgap.models.elastic.heuristics import kernel, partial_schedule
from schedgap.models.elastic.heuristics.partial_schedule import (
    PartialSchedule,
    opportunity_costs,
)
from schedgap.models.elastic.modes import Mode, cluster, modes
from schedgap.models.elastic.placement import cheapest
from schedgap.models.elastic.programs.columns import fits_together, run_at
from strategies.elastic import elastic_instances, instance_of
from strategies.elastic_examples import TOY

SLOTS = 40
BUSY = elastic_instances(max_jobs=5, objective="weighted_completion", placeable=True, policy="open")


def insert(
    made: PartialSchedule, j: int, factor: float = 0.0, latest: int | None = None, fit: float = 0.0
) -> bool:
    """Insert a job such that its start + duration is at most `latest`."""
    problem, spare = made.problem, np.inf
    if latest is not None:
        spare = float(problem.weight[j]) * latest - problem.alone[j]
    return kernel.insert(problem, made.state, j, np.array([factor, fit]), spare, None)


def remove(made: PartialSchedule, j: int) -> None:
    kernel.apply(made.problem, made.state, j, -1)
    made.state.plan.mode[j] = -1


def tables(made: PartialSchedule) -> tuple[NDArray[Any], ...]:
    state = made.state
    return state.free, state.fit, state.every


def ends(made: PartialSchedule) -> dict[int, int]:
    return {run.job: run.end for run in made.runs()}


@settings(max_examples=18, deadline=None)
@given(BUSY, st.randoms(use_true_random=False))
def test_an_inserted_job_ends_as_early_as_on_the_market(
    instance: ElasticInstance, random: Random
) -> None:
    """The market looks at prices and servers one by one: without prices both find the least end."""
    order = list(range(len(instance.jobs)))
    random.shuffle(order)
    made = PartialSchedule(instance, SLOTS)
    for j in order:
        free = np.repeat(cluster(instance).capacity[None], SLOTS, axis=0)
        for run in made.runs():
            for h, amounts in run.usage(cluster(instance)).items():
                free[run.start - 1 : run.end - 1, h] -= amounts
        market = PricedServers(cluster(instance), np.zeros(free.shape), free, longest=SLOTS)
        job = instance.jobs[j]
        offer = market.cheapest(modes(instance, j), job.arrival, SLOTS + 1, weight=job.weight)
        assert insert(made, j) and offer is not None
        assert ends(made)[j] == offer.start + offer.mode.duration
        assert fits_together(instance, made.runs())


@settings(max_examples=40, deadline=None)
@given(BUSY, st.randoms(use_true_random=False))
def test_every_mode_is_placed_on_the_cheapest_servers(
    instance: ElasticInstance, random: Random
) -> None:
    """As `cheapest` finds them, with half of the jobs placed; a split mode is on two or more."""
    view, (worker_cost, ps_cost) = cluster(instance), opportunity_costs(instance)
    made, gene = PartialSchedule(instance, SLOTS), np.zeros(2)
    problem, state = made.problem, made.state
    for j in range(len(instance.jobs) // 2):
        assert insert(made, j)
    j, row = len(instance.jobs) - 1, random.randrange(6)
    for k in range(problem.off[j], problem.off[j + 1]):
        m, end = problem.worker_type[k], row + problem.duration[k]
        low = state.free[:, :, row:end].min(axis=2)
        found = {}
        for p in problem.kinds[problem.kinds_from[k] : problem.kinds_from[k + 1]].tolist():
            mode = Mode(
                int(m), None if p < 0 else p, int(problem.workers[k]), bool(problem.central[k]), 1
            )
            zeta = np.zeros(len(low)) if p < 0 else ps_cost[p]
            found[p] = cheapest(view.demand(mode), worker_cost[m], zeta, low, central=mode.central)
        fits = [p for p, each in found.items() if each is not None]
        room = state.fit[m, :, row:end].min(axis=1).astype(np.int64)
        if room.sum() < problem.workers[k]:  # `insert` asks for no placement
            assert not fits
            continue
        assert kernel.place(problem, state, j, k, row, room, gene) == bool(fits)
        if not fits:
            continue
        best, plan = found[fits[0]], state.plan
        assert best is not None
        assert plan.kind[j] == fits[0]  # the first type that fits
        used = slice(0, plan.servers[j])
        paid = plan.beside[j, used] @ worker_cost[m][plan.server[j, used]]
        paid += plan.ps[j] * ps_cost[fits[0], plan.host[j]] if fits[0] >= 0 else 0.0
        assert paid == pytest.approx(best[0])
        assert (plan.servers[j] == 1) == problem.central[k]
        assert plan.beside[j, used].sum() == problem.workers[k]


def test_a_list_skips_no_start() -> None:
    """Next to j1 there are CPUs for the worker of j2, and none for its PS; then one start is left.

    A move skips that start.
    """
    times = {"train_time": {"w1": 1.0}, "update_time": {"p1": 0.0}}
    servers = [{"id": "s1", "capacity": {"gpu": 2, "cpu": 6, "bandwidth": 6}}]
    instance = instance_of([times, {**times, "epochs": 4}], servers=servers)
    made = PartialSchedule(instance, 5)
    assert insert(made, 0) and not insert(made, 1, latest=6)
    assert insert(made, 1) and ends(made) == {0: 2, 1: 6}


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 9), st.booleans())
def test_a_conflict_is_as_short_as_possible(seed: int, N: int, central: bool) -> None:
    """The workers do not fit throughout its slots, but without its first or its last one."""
    fit = np.random.default_rng(seed).integers(0, 5, (3, 12))

    def fits_in(first: int, last: int) -> bool:
        room = fit[:, first : last + 1].min(axis=1, initial=kernel.MANY)
        return int(room.max() if central else room.sum()) >= N

    for end in range(len(fit[0])):
        if not fits_in(0, end):
            room = np.empty(len(fit), dtype=np.int64)
            first, last = kernel.conflict(fit, end, N, central, room)
            assert 0 <= first <= last <= end
            assert not fits_in(first, last)
            assert fits_in(first + 1, last)
            assert fits_in(first, last - 1)


@settings(max_examples=20, deadline=None)
@given(BUSY, st.randoms(use_true_random=False))
def test_only_runs_with_the_conflict_are_dropped(instance: ElasticInstance, random: Random) -> None:
    made = PartialSchedule(instance, SLOTS)
    problem, state, j = made.problem, made.state, random.randrange(len(instance.jobs))
    rows = range(problem.off[j], problem.off[j + 1])
    k, first = random.choice(rows), random.randrange(SLOTS)
    last = random.randrange(first, SLOTS)
    state.cost[:], state.least[:] = 0.0, 0.0
    kernel.drop(problem, state, j, k, first, last, SLOTS)
    for o in rows:
        as_hard = problem.worker_type[o] == problem.worker_type[k]
        as_hard &= problem.workers[o] >= problem.workers[k]
        as_hard &= problem.central[o] >= problem.central[k]
        for s in range(SLOTS - problem.duration[o] + 1):
            contained = s <= first and last < s + problem.duration[o]
            assert (state.cost[o - problem.off[j], s] == np.inf) == (as_hard and contained)


@settings(max_examples=20, deadline=None)
@given(BUSY, st.randoms(use_true_random=False))
def test_what_goes_leaves_nothing_behind(instance: ElasticInstance, random: Random) -> None:
    """After some jobs have come and gone, the tables are as on a new board with the rest."""
    made = PartialSchedule(instance, SLOTS)
    for j in range(len(instance.jobs)):
        assert insert(made, j)
    gone = [run for run in made.runs() if random.random() < 0.5]
    for run in gone:
        remove(made, run.job)
    for mine, new in zip(
        tables(made), tables(PartialSchedule(instance, SLOTS, runs=made.runs())), strict=True
    ):
        np.testing.assert_array_equal(mine, new)
    for run in gone:
        made.put([run])
        remove(made, run.job)
    for j in ends(made):
        remove(made, j)
    for mine, new in zip(tables(made), tables(PartialSchedule(instance, SLOTS)), strict=True):
        np.testing.assert_array_equal(mine, new)


def test_prices_delay_a_job_that_would_pay_more_than_it_loses() -> None:
    """j2 of the toy alone (weight 5, arrival 2): central, N = 2, one slot, at c = 3; a price of 2 a
    worker and of 2 a PS in slot 2 makes it 15 + 6, later N = 2 costs 20, and N = 1 20 + 4."""
    upto = np.array([[0.0, 0.0, 2.0], [0.0, 0.0, 2.0]])
    made = PartialSchedule(TOY, 10, upto)
    assert insert(made, 1, factor=1.0) and made.runs()[0].start == 3
    remove(made, 1)
    assert insert(made, 1, factor=0.5) and made.runs()[0].start == 2
    remove(made, 1)
    assert insert(made, 1) and made.runs()[0].start == 2
    only_ps = PartialSchedule(TOY, 10, np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 6.0]]))
    assert insert(only_ps, 1, factor=1.0) and only_ps.runs()[0].start == 3


def test_a_job_fills_the_server_on_which_it_leaves_no_room_beside_it() -> None:
    """Two servers of one GPU: one is taken in slots 1 and 3, so slot 2 is of little use."""
    job = {"chunks": 1, "gradient_size": 9, "train_time": {"w1": 1}, "update_time": {"p1": 0}}
    servers = [{"id": f"s{n}", "capacity": {"gpu": 1, "cpu": 8, "bandwidth": 6}} for n in (1, 2)]
    instance = instance_of([job, job, job | {"arrival": 2}], servers=servers)
    (mode,) = (m for m in modes(instance, 0) if m.central)
    for fit, server in ((0.0, 0), (1.0, 1)):
        made = PartialSchedule(instance, 10)
        for j, start in ((0, 1), (1, 3)):
            made.put([run_at(j, mode, start, {1: 1}, {1: 1})])
        assert insert(made, 2, fit=fit, latest=3)
        assert dict(made.runs()[2].workers) == {server: 1}


def test_nothing_is_placed_after_the_latest_end_of_interest() -> None:
    """j1 of the toy is alone at its quickest at c = 4."""
    made = PartialSchedule(TOY, 10)
    assert not insert(made, 0, latest=3) and not made.runs()
    assert insert(made, 0, latest=4) and ends(made) == {0: 4}


def test_a_row_stands_for_all_its_ps_types() -> None:
    """p2 is like p1 with more CPUs: each mode of j1 has both, p1 first."""
    kinds = [
        {"id": name, "demand": {"cpu": cpu, "bandwidth": 3}} for name, cpu in (("p2", 3), ("p1", 2))
    ]
    job = {"chunks": 2, "train_time": {"w1": 1}, "update_time": {"p1": 0, "p2": 0}}
    instance = instance_of([job], ps_types=kinds)
    problem = PartialSchedule(instance, SLOTS).problem
    rows = len(problem.duration)
    assert rows * 2 == len(modes(instance, 0)) == len(problem.kinds)
    assert problem.kinds.reshape(rows, 2).tolist() == [[1, 0]] * rows


def test_a_server_that_no_worker_fits_on_loses_nothing_by_a_ps() -> None:
    servers = [
        {"id": "s1", "capacity": {"gpu": 2, "cpu": 8, "bandwidth": 6}},
        {"id": "s2", "capacity": {"gpu": 0, "cpu": 8, "bandwidth": 6}},
    ]
    job = {"train_time": {"w1": 1}, "update_time": {"p1": 0}}
    _, ps = opportunity_costs(instance_of([job], servers=servers))
    assert ps[0, 1] < 1e-5 < ps[0, 0]


def test_tables_that_are_too_large_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partial_schedule, "MAX_CELLS", 100)
    with pytest.raises(ScaleError, match="too many"):
        PartialSchedule(TOY, 100)
