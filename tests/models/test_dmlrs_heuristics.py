"""Boards, placements and the heuristics on them: what fits, what it takes, and what it is worth."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import schedgap as sg
from schedgap.instances.dmlrs import EXTERNAL, INTERNAL, arrays
from schedgap.models.dmlrs import rules
from schedgap.models.dmlrs.bounds.column_generation import JobColumn, generate
from schedgap.models.dmlrs.heuristics import colgen_heuristic
from schedgap.models.dmlrs.heuristics.column_choice import schedule_from_columns, with_full_work
from schedgap.models.dmlrs.heuristics.density import densities, insert_by_density
from schedgap.models.dmlrs.heuristics.large_neighborhoods import improve
from schedgap.models.dmlrs.heuristics.partial_schedule import PartialSchedule
from schedgap.models.dmlrs.heuristics.placing import place, slot_limits
from schedgap.models.dmlrs.slot_options import SlotOption
from schedgap.models.dmlrs.throughput import FULL, bundles, progress, ps_needed
from schedgap.models.method import Budget, NullProgress, RunContext
from schedgap.solvers import Clock
from strategies.dmlrs import dmlrs_instances, optimum
from strategies.dmlrs_examples import TOY, TOY_2, instance_of, job
from strategies.dmlrs_methods import run

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}


def free(instance):
    """No prices [t, r]."""
    return np.zeros((instance.horizon, len(instance.resources)))


def judged(instance, schedule):
    data = schedule.to_data(instance)
    assert list(rules.check(instance, data, {})) == []
    return rules.objective(instance, data)


@settings(max_examples=27, **QUIET)
@given(dmlrs_instances(max_machines=3), st.data())
def test_what_is_said_to_fit_fits_and_no_more_inside(instance, data):
    view = arrays(instance)
    left = [data.draw(st.integers(0, int(c))) for c in view.capacity_milli.ravel()]
    room = np.array(left).reshape(view.capacity_milli.shape)
    value = np.array([data.draw(st.sampled_from([0.0, 1.0])) for _ in instance.resources]) + 1e-6
    for i in range(len(instance.jobs)):
        width = slot_limits(instance, i, room[None]).max_workers[0]
        for mode in (INTERNAL, EXTERNAL):
            for n in bundles(instance, i).workers.tolist():
                counts = place(instance, i, room, n, mode, value)
                assert (counts is not None) == (n <= width[mode])
                if counts is None:
                    continue
                ps = ps_needed(float(view.ratio[i]), n)
                assert tuple(map(sum, zip(*counts.values(), strict=True))) == (n, ps)
                assert mode == EXTERNAL or len(counts) == 1
                for h, (w, s) in counts.items():
                    assert (w * view.worker_milli[i] + s * view.ps_milli[i] <= room[h]).all()
        whole = [
            n for n, d in zip(
                bundles(instance, i).workers, bundles(instance, i).demand_milli, strict=True
            ) if (d <= room).all(axis=1).any()
        ]  # fmt: skip
        assert width[INTERNAL] == max(whole, default=0)


@settings(max_examples=35, **QUIET)
@given(dmlrs_instances(max_jobs=4, max_machines=3), st.data())
def test_a_board_counts_what_is_on_it(instance, data):
    board, total = PartialSchedule(instance), arrays(instance).capacity_milli
    drawn = st.lists(st.sampled_from([0, 0.1, 1, 5]), min_size=free(instance).size)
    prices = np.resize(data.draw(drawn), free(instance).shape)
    for i in data.draw(st.lists(st.integers(0, len(instance.jobs) - 1), max_size=8)):
        if i in board.plans:
            board.remove(i)
        else:
            board.insert(i, prices)
    view = arrays(instance)
    room = np.tile(total, (instance.horizon, 1, 1))
    for i, plan in board.plans.items():
        for slot, counts in plan.items():
            for h, (w, s) in counts.items():
                room[slot - 1, h] -= w * view.worker_milli[i] + s * view.ps_milli[i]
    assert (board.free == room).all() and (room >= 0).all()
    assert board.value() == pytest.approx(judged(instance, board.schedule()))


def test_density_by_hand():
    """TOY: 4 GPUs and 8 CPUs; u(f0 - a) with 4 workers across: 2 slots, so delay 1.

    7.2 worker-slots of a GPU and 1 + 1/2 CPUs: 7.2 (1/4 + 1.5/8) = 3.15.
    """
    assert densities(TOY) == pytest.approx([8 / 3.15, 3 / 3.15, 9 / 3.15])
    assert densities(instance_of([job("j", 1, [9.0] * 4)], [{"gpu": 0, "cpu": 9}])) == [0]


def test_density_on_the_toys():
    """j3, the densest, has 2 and 2 workers on both machines in 2-3: 9. j1 in 1 and 4: 0 after 3.

    On TOY_2 the one machine: j3 in 2-3 for 9, j1 in 1 and 4 for 1.
    """
    assert judged(TOY_2, run("density", TOY_2).schedule) == 10
    found = run("density", TOY).schedule
    assert judged(TOY, found) >= 9 and "j3" in found.admitted


def test_dear_slots_are_left_to_others():
    """j1 needs 2 slots of one machine; at 9 for a GPU in slot 1 it is later, and not in vain."""
    board, prices = PartialSchedule(TOY_2), free(TOY_2)
    prices[0, 0] = 9.0
    assert board.insert(0, prices) and sorted(board.plans[0]) == [2, 3]  # worth 1, for nothing
    prices[:, 0] = 9.0
    assert not board.insert(1, prices)  # worth 9, for 2 x 2 x 9


def test_a_column_gets_the_workers_that_it_lacks():
    """TOY's j1 needs 4 worker-slots inside, 2 on a machine at most: 2 + 1 lacks one, in slot 2."""
    two, one = (SlotOption(0.0, n, True, {}) for n in (2, 1))
    whole = with_full_work(TOY, JobColumn(0, 2, {1: two, 2: one}))
    assert whole is not None and [o.workers for o in whole.options.values()] == [2, 2]
    assert with_full_work(TOY, JobColumn(0, 2, {1: two})) is None


def test_a_choice_of_columns_leaves_out_what_does_not_fit():
    """TOY_2: one machine for j1 in 1-2 or j3 in 2-3, worth 3 or 9; j1 then fits in 1 and 4: 1."""
    two = SlotOption(0.0, 2, True, {})
    columns = [JobColumn(0, 2, {1: two, 2: two}), JobColumn(1, 3, {2: two, 3: two})]
    budget = Budget(Clock(30))
    board = schedule_from_columns(TOY_2, columns, free(TOY_2), 1.0, budget=budget)
    assert sorted(board.plans) == [0, 1] and board.value() == 10
    nobody = schedule_from_columns(
        TOY_2, columns[:1], free(TOY_2) + 99, 0.4, budget=budget
    )  # no room; too dear
    assert nobody.plans == {}


@settings(max_examples=30, **QUIET)
@given(dmlrs_instances(max_jobs=4))
def test_columns_are_completed(instance):
    for column in generate(instance, grid=3, budget=Budget(Clock(30))).tags:
        whole = with_full_work(instance, column)
        if whole is None:
            continue
        assert (whole.job, whole.completion) == (column.job, column.completion)
        total = [0, 0]
        for slot, offer in whole.options.items():
            total[not offer.internal] += offer.workers
            assert offer.workers >= column.options[slot].workers
        assert progress(instance, whole.job, *total) >= FULL


def test_parameter_servers_stand_where_the_workers_leave_room():
    """Two workers of 2 CPUs fill m1; m2 has a CPU left, and m3, of more, takes the other PS."""
    one = job("j1", 1, [1.0] * 4, worker_ps_ratio=1.0, worker_demand={"gpu": 1, "cpu": 2})
    rooms = [{"gpu": 2, "cpu": 4}, {"gpu": 0, "cpu": 1}, {"gpu": 0, "cpu": 5}]
    instance = instance_of([one], rooms)
    room = arrays(instance).capacity_milli
    placed = place(instance, 0, room, 2, EXTERNAL, np.ones(2))
    assert placed == {0: (2, 0), 1: (0, 1), 2: (0, 1)}


@settings(max_examples=19, **QUIET)
@given(dmlrs_instances(max_jobs=4))
def test_heuristics_lie_below_the_optimum_and_the_bound_above(instance):
    best = optimum(instance)
    assert judged(instance, run("density", instance).schedule) <= best + 1e-9
    found = run("colgen-heuristic", instance, moves=20)
    assert judged(instance, found.schedule) <= best + 1e-9 <= found.bound + 1e-6


@pytest.mark.parametrize(("instance", "best"), [(TOY, 20), (TOY_2, 10), (instance_of([]), 0)])
def test_the_heuristic_solves_the_toys(instance, best):
    found = run("colgen-heuristic", instance, moves=200)
    assert judged(instance, found.schedule) == best
    assert found.trace["bound"] == found.bound == pytest.approx(best)


def test_a_heuristic_without_a_limit_goes_on_while_it_helps(monkeypatch):
    instance = sg.generate("dmlrs", preset="small", seed=1)  # the bound of columns is above
    monkeypatch.setattr(colgen_heuristic, "MOVES", 5)
    for moves, ended in ((None, "2 rounds in a row found nothing better"), (7, "after 7 moves")):
        call = RunContext({}, "highs", Budget(), NullProgress())
        found = colgen_heuristic.colgen_heuristic(instance, call, grid=20, moves=moves)
        assert found.trace["search_ended"] == ended


def test_a_seed_repeats_the_search():
    boards = []
    for seed in (1, 1, 2):
        board = PartialSchedule(TOY)
        insert_by_density(board, free(TOY), clock=Clock())
        steps = []
        last = improve(
            board, free(TOY), moves=40, budget=Budget(seed=seed),
            on_better=lambda better, steps=steps: steps.append(better.value()),
        )  # fmt: skip
        assert steps == sorted(set(steps)) and last.value() == steps[-1] > board.value()
        boards.append(steps)
    assert boards[0] == boards[1]


def test_a_stopped_heuristic_has_a_bound():
    found = run("colgen-heuristic", TOY, limit=0)
    assert found.schedule.admitted == () and found.bound == pytest.approx(20)
