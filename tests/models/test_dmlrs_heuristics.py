"""The kernel and the heuristics on it: what fits, what it takes, and what it is worth."""

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import schedgap as sg
from schedgap.instances.dmlrs import EXTERNAL, INTERNAL, arrays
from schedgap.models.dmlrs import rules
from schedgap.models.dmlrs.heuristics import colgen_heuristic, kernel, partial_schedule
from schedgap.models.dmlrs.heuristics.kernel import KERNEL
from schedgap.models.dmlrs.heuristics.partial_schedule import PartialSchedule, densities
from schedgap.models.dmlrs.heuristics.search_stages import GENES
from schedgap.models.dmlrs.throughput import bundles, ps_needed
from schedgap.models.method import Budget, NullProgress, RunContext
from schedgap.solvers import Clock
from schedgap.solvers.search.annealing import anneal
from schedgap.solvers.search.moves import Terms
from strategies.dmlrs import dmlrs_instances, optimum
from strategies.dmlrs_examples import TOY, TOY_2, instance_of, job
from strategies.dmlrs_methods import run
from strategies.kernels import compiled_entry, compiled_types

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}


def free(instance):
    """No prices [t, r]."""
    return np.zeros((instance.horizon, len(instance.resources)))


def judged(instance, schedule):
    data = schedule.to_data(instance)
    assert list(rules.check(instance, data, {})) == []
    return rules.objective(instance, data)


def all_jobs(instance):
    """The jobs that can be completed, as the kernel has them."""
    return PartialSchedule(instance, free(instance))


@settings(max_examples=27, **QUIET)
@given(dmlrs_instances(max_machines=3), st.data())
def test_what_is_said_to_fit_fits_and_no_more_inside(instance, data):
    made, view = all_jobs(instance), arrays(instance)
    problem, state = made.problem, made.state
    left = [data.draw(st.integers(0, int(c))) for c in view.capacity_milli.ravel()]
    room = np.array(left).reshape(view.capacity_milli.shape)
    state.free[0] = room.T
    for j, i in enumerate(problem.job.tolist()):
        own = bundles(instance, i)
        kernel.measure(problem, state, j, 0, int(problem.most[j]))
        width = state.width[0].tolist()
        for mode in (INTERNAL, EXTERNAL):
            for n in own.workers[own.workers <= width[mode]].tolist():
                state.plan.used[j] = 0
                kernel.place(problem, state, j, 0, n, mode, 0.0)
                entries = [each[j, : state.plan.used[j]].tolist() for each in state.plan[4:]]
                _, machines, workers, ps = entries
                assert (sum(workers), sum(ps)) == (n, ps_needed(float(view.ratio[i]), n))
                assert len(set(machines)) == len(machines)
                assert mode == EXTERNAL or len(machines) == 1
                for h, w, s in zip(machines, workers, ps, strict=True):
                    assert (w * view.worker_milli[i] + s * view.ps_milli[i] <= room[h]).all()
        whole = [
            n for n, d in zip(own.workers, own.demand_milli, strict=True)
            if (d <= room).all(axis=1).any()
        ]  # fmt: skip
        assert width[INTERNAL] == max(whole, default=0)


def searched(run, instance, prices, seed):
    """Entries, free capacity and loss after some moves."""
    made = PartialSchedule(instance, prices)
    made.insert_by_density(0.3, Clock())
    jobs = len(made.problem.job)
    best, _ = anneal(
        run, made.problem, made.state, Terms(np.arange(jobs), np.zeros(jobs, np.int64), GENES, 3),
        hot=0.3, cold=0.03, moves=15 if jobs else 0, seed=seed,
    )  # fmt: skip
    return made, best


@settings(max_examples=25, **QUIET)
@given(dmlrs_instances(max_jobs=4, max_machines=3), st.data())
def test_what_is_free_is_what_the_jobs_leave(instance, data):
    drawn = st.lists(st.sampled_from([0, 0.1, 1, 5]), min_size=free(instance).size)
    prices = np.resize(data.draw(drawn), free(instance).shape)
    made, best = searched(KERNEL.plain, instance, prices, data.draw(st.integers(0, 99)))
    view = arrays(instance)
    room = np.tile(view.capacity_milli, (instance.horizon, 1, 1))
    for i, plan in made.schedule().plans(instance).items():
        for slot, counts in plan.items():
            for h, (w, s) in counts.items():
                room[slot - 1, h] -= w * view.worker_milli[i] + s * view.ps_milli[i]
    assert (made.state.free == room.transpose(0, 2, 1)).all() and (room >= 0).all()
    assert made.value == pytest.approx(judged(instance, made.schedule()))
    again = PartialSchedule(instance, prices, made.schedule().plans(instance))
    assert (again.state.free == made.state.free).all()
    assert again.value == pytest.approx(made.value)
    found = made.best - best.cost.sum()
    assert found == pytest.approx(judged(instance, made.schedule(best)))


@pytest.fixture(scope="module")
def compiled():
    return compiled_entry(KERNEL)


ONE_SLOT = instance_of([job("j", 1, [9.0])], [{"gpu": 2, "cpu": 2}] * 2, horizon=1)


def test_arrays_of_one_slot_have_the_layout_of_others():
    """Another layout is another type, for which the kernel would be compiled again."""
    made = all_jobs(ONE_SLOT)
    assert ONE_SLOT.horizon == 1
    for array in (*made.problem, *made.state.plan, *made.state[1:]):
        assert array.flags.c_contiguous


@pytest.mark.slow
@settings(max_examples=40, **QUIET)
@given(dmlrs_instances(max_jobs=4, max_machines=3), st.integers(0, 99))
@example(ONE_SLOT, 0)
def test_compiled_or_not_the_moves_are_the_same(compiled, instance, seed):
    found = [searched(run, instance, free(instance), seed) for run in (KERNEL.plain, compiled)]
    schedules = [(made.schedule(), made.schedule(best)) for made, best in found]
    assert schedules[0] == schedules[1]
    assert compiled_types(compiled) == 1


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
    prices = free(TOY_2)
    prices[0, 0] = 9.0
    made = PartialSchedule(TOY_2, prices)
    made.insert([0])
    assert sorted(made.schedule().plans(TOY_2)[0]) == [2, 3]  # worth 1, for nothing
    prices[:, 0] = 9.0
    made = PartialSchedule(TOY_2, prices)
    made.insert([1])
    assert made.schedule().admitted == ()  # worth 9, for 2 x 2 x 9


def test_parameter_servers_stand_where_the_workers_leave_room():
    """Two workers of 2 CPUs fill m1; m2 has a CPU left, and m3, of 9, takes the other PS."""
    one = job("j1", 1, [1.0] * 4, worker_ps_ratio=1.0, worker_demand={"gpu": 1, "cpu": 2})
    rooms = [{"gpu": 2, "cpu": 4}, {"gpu": 0, "cpu": 1}, {"gpu": 0, "cpu": 9}]
    made = all_jobs(instance_of([one], rooms))
    kernel.measure(made.problem, made.state, 0, 0, 2)
    kernel.place(made.problem, made.state, 0, 0, 2, EXTERNAL, 0.0)
    entries = [each[0, :3].tolist() for each in made.state.plan[4:]]
    assert sorted(zip(*entries, strict=True)) == [(0, 0, 2, 0), (0, 1, 0, 1), (0, 2, 0, 1)]


def test_a_worker_needs_room_for_a_whole_parameter_server():
    """TOY's j1 has a PS for two workers: on 1.5 CPUs one worker would have room for half a PS."""
    made = all_jobs(TOY)
    made.state.free[0, 1] = 1500.0
    kernel.measure(made.problem, made.state, 0, 0, 4)
    assert made.state.inside[0].tolist() == [0, 0] and made.state.width[0, INTERNAL] == 0


def test_a_plan_without_room_for_its_entries_is_not_there(monkeypatch):
    """One allocation has room; j1 takes two machines in two slots."""
    monkeypatch.setattr(partial_schedule, "MAX_ENTRIES", 1)
    made = all_jobs(TOY)
    made.insert([0, 1, 2])
    assert made.schedule().admitted == () and made.value == 0


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
    for moves, ended in ((None, "3 rounds in a row found nothing better"), (7, "after 7 moves")):
        call = RunContext({}, "highs", Budget(), NullProgress())
        found = colgen_heuristic.colgen_heuristic(instance, call, grid=20, moves=moves)
        assert found.trace["search_ended"] == ended


def test_a_seed_repeats_the_search():
    found = [searched(KERNEL.plain, TOY, free(TOY), seed)[0].schedule() for seed in (1, 1)]
    assert found[0] == found[1]


def test_a_stopped_heuristic_has_a_bound():
    found = run("colgen-heuristic", TOY, limit=0)
    assert found.schedule.admitted == () and found.bound == pytest.approx(20)
