"""The relaxation of (23)-(26) on family `dmlrs`, with and without the integer hull."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.instances.dmlrs import STEP, DmlrsInstance, arrays
from schedgap.models.dmlrs.algorithms import rounding, slot_placements
from schedgap.models.dmlrs.algorithms.rounding import Rounding, draws
from schedgap.models.dmlrs.algorithms.rounding_gain import cover_gain
from schedgap.models.dmlrs.programs import across_machines
from schedgap.models.dmlrs.slot_options import SlotState, job_at_arrival
from schedgap.solvers import Clock, solve
from schedgap.solvers.engines.highs import Relaxation
from schedgap.solvers.programs.pyomo import compile_model
from strategies.dmlrs import dmlrs_instances, fits, plain_ps
from strategies.dmlrs_examples import TOY, instance_of, job

wide = dmlrs_instances(max_jobs=1, max_machines=3, max_workers=5)


@settings(max_examples=35, deadline=None)
@given(wide)
def test_the_hull_holds_just_the_whole_numbers_that_the_machine_holds(instance):
    own = job_at_arrival(instance, 0)
    room = arrays(instance).capacity_milli
    slot = SlotState(own, room, np.ones(room.shape))
    program = across_machines.build(slot, np.arange(len(room)), hull=True).program
    matrix, right = program.matrix.toarray()[:-2], program.row_upper[:-2]
    K = len(room)
    for h in range(K):
        mine = (matrix[:, [h, K + h]] != 0).any(axis=1)
        for w in range(int(slot.max_units[0][h]) + 2):
            for s in range(int(slot.max_units[1][h]) + 2):
                held = ((w * own.worker + s * own.ps) <= room[h]).all()
                held &= w <= slot.max_units[0][h] and s <= slot.max_units[1][h]
                inside = (matrix[mine][:, [h, K + h]] @ [w, s] <= right[mine] + 1e-9).all()
                inside &= w <= program.upper[h] and s <= program.upper[K + h]
                assert held == inside


@settings(max_examples=27, deadline=None)
@given(wide, st.integers(0, 10**6))
def test_the_hull_is_tighter_and_both_are_floors(instance, seed):
    if len(instance.machines) < 2 or instance.ps_rule == "exact":
        return
    room = arrays(instance).capacity_milli
    price = np.random.default_rng(seed).integers(0, 8, room.shape) / 2
    slot = SlotState(job_at_arrival(instance, 0), room, price)
    every = np.arange(len(room))
    built = {hull: across_machines.build(slot, every, hull=hull) for hull in (False, True)}
    engines = {hull: Relaxation(each.program) for hull, each in built.items()}
    costs = {offer.workers: offer.cost for offer in slot_placements.external_exact(slot)}
    some = slot.job.bundles
    for n, m in zip(some.workers.tolist(), some.ps.tolist(), strict=True):
        found = []
        for hull, engine in engines.items():
            engine.change_row_bounds(built[hull].cover_rows, [n, m], [slot.job.batch, np.inf])
            result = engine.solve(Clock())
            found.append(np.inf if result.values is None else result.objective)
        assert found[0] <= found[1] + 1e-6
        assert n not in costs or found[1] <= costs[n] + 1e-6


@settings(max_examples=15, deadline=None)
@given(wide, st.integers(0, 10**6))
def test_the_model_to_read_is_the_program_that_algorithm_4_solves(instance, seed):
    """Same columns, rows and entries, in the same order; only w and s are integer in one."""
    room = arrays(instance).capacity_milli
    price = np.random.default_rng(seed).integers(0, 8, room.shape) / 2
    slot = SlotState(job_at_arrival(instance, 0), room, price)
    if not len(slot.job.bundles.workers):
        return
    n, m = int(slot.job.bundles.workers[-1]), int(slot.job.bundles.ps[-1])
    arrays_form = across_machines.build(slot, np.arange(len(room)), workers=n, ps=m).program
    for relax in (False, True):
        found = compile_model(across_machines.model(slot, n, relax=relax)).program
        assert found.is_mixed is not relax
        for name in ("cost", "lower", "upper", "row_lower", "row_upper"):
            assert getattr(found, name).tolist() == getattr(arrays_form, name).tolist(), name
        assert abs(found.matrix - arrays_form.matrix).max() == 0


def test_a_hull_by_hand():
    """2 w + 3 s <= 7 CPUs: (0, 2), (1, 1), (2, 1), (3, 0); corners (0, 2), (2, 1), (3, 0)."""
    one = job("j1", 1, [9.0] * 4, worker_ps_ratio=1.0, worker_demand={"gpu": 1, "cpu": 2})
    one["ps_demand"] = {"gpu": 0, "cpu": 3}
    instance = instance_of([one], [{"gpu": 9, "cpu": 7}] * 2)
    slot = SlotState(job_at_arrival(instance, 0), arrays(instance).capacity_milli, np.ones((2, 2)))
    hull = across_machines.build(slot, np.arange(1), hull=True).program
    assert hull.upper.tolist() == [3, 2]
    assert hull.matrix.toarray()[:-2].tolist() == [[1, 2], [1, 1]]
    assert hull.row_upper[:-2].tolist() == [4, 3]


def test_draws_are_met_on_average_and_whole_values_stay():
    rng = np.random.default_rng(1)
    found = draws(np.array([0.25, 2.0, 1.5, 3 - 1e-9]), 20_000, rng)
    assert found.mean(axis=0) == pytest.approx([0.25, 2, 1.5, 3], abs=0.015)
    assert set(found[:, 0].tolist()) == {0, 1} and set(found[:, 3].tolist()) == {3}
    assert draws(np.array([1.0, 2.0]), 20_000, rng).tolist() == [[1, 2]]


@pytest.mark.parametrize(
    ("gain", "scales"),
    [
        ("one", [1, 1, 1, 1]),
        ("packing", [1, 1, 1, 1]),  # W_a = 2 is too little
        ("cover", [cover_gain(m, 0.5, 2) for m in (1, 1, 2, 2)]),
        (1.5, [1.5, 1.5, 1.5, 1.5]),
    ],
)
def test_the_gain_multiplies_the_solution(gain, scales, monkeypatch):
    """n workers and m(n) = 1, 1, 2, 2 PSs are all that the program asks for."""
    asked = []

    def heard(values, rounds, rng):
        asked.append(values)
        return draws(values, rounds, rng)

    monkeypatch.setattr(rounding, "draws", heard)
    room = arrays(TOY).capacity_milli
    Rounding(np.random.default_rng(0), gain, 0.5)(
        SlotState(job_at_arrival(TOY, 0), room, np.ones((2, 2)))
    )
    totals = [(values[:2].sum(), values[2:].sum()) for values in asked]
    wanted = [(G * n, G * m) for G, n, m in zip(scales, range(1, 5), (1, 1, 2, 2), strict=True)]
    assert totals == [pytest.approx(pair) for pair in wanted]


def test_a_draw_has_the_workers_that_were_asked_for():
    """A quarter of n workers is at most 1, 1, 2 and 2 when rounded up."""
    price = np.array([[1.0, 1.0], [2.0, 2.0]])
    slot = SlotState(job_at_arrival(TOY, 0), arrays(TOY).capacity_milli, price)
    found = Rounding(np.random.default_rng(0), 0.25, rounds=1000)(slot)
    assert [offer.workers for offer in found] == [1]


def test_a_draw_has_just_its_parameter_servers_where_the_rule_is_exact():
    """Of 2.8 workers and 1.4 PSs become 2 or 3 and 1 or 2."""
    exact = DmlrsInstance.from_data({**TOY.to_data(), "ps_rule": "exact"})
    room = arrays(exact).capacity_milli
    slot = SlotState(job_at_arrival(exact, 0), room, np.array([[1.0, 1.0], [2.0, 2.0]]))
    found = [
        offer.counts
        for seed in range(20)
        for offer in Rounding(np.random.default_rng(seed), 1.4)(slot)
        if offer.workers == 2
    ]
    assert {0: (2, 1)} in found
    assert all(sum(s for _, s in counts.values()) == 1 for counts in found)


@settings(max_examples=60, deadline=None)
@given(dmlrs_instances(max_jobs=1, max_machines=3, max_workers=4), st.integers(0, 99))
def test_draws_are_placements_with_their_parameter_servers(instance, seed):
    """With a gain of 1.4 there are often more workers, and more PSs, than were asked for."""
    room = arrays(instance).capacity_milli
    slot = SlotState(job_at_arrival(instance, 0), room, np.ones(room.shape))
    for offer in Rounding(np.random.default_rng(seed), 1.4)(slot):
        needed = plain_ps(instance, 0, offer.workers)
        ps = sum(s for _, s in offer.counts.values())
        assert offer.workers <= instance.jobs[0].batch_size and needed is not None
        assert ps == needed if instance.ps_rule == "exact" else ps >= needed
        assert fits(instance, {0: offer.counts})


@pytest.mark.parametrize("hull", [False, True])
def test_offers_of_the_toy(hull):
    """Each n up to 4 across two machines; the same as the cheapest ones."""
    room = arrays(TOY).capacity_milli
    slot = SlotState(job_at_arrival(TOY, 0), room, np.ones(room.shape))
    found = Rounding(np.random.default_rng(0), hull=hull)(slot)
    assert [(each.workers, each.cost) for each in found] == [
        (each.workers, each.cost) for each in slot_placements.external_exact(slot)
    ]
    nothing = across_machines.build(slot, np.arange(2), hull=hull).program
    assert solve(nothing, "highs", clock=Clock()).objective == 0
    assert room.max() == 4 * STEP
