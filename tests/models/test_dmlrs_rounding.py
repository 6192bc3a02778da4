"""The relaxation of (23)-(26) on family `dmlrs`, and its rounding."""

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
from strategies.dmlrs_examples import TOY

wide = dmlrs_instances(max_jobs=1, max_machines=3, max_workers=5)


@settings(max_examples=27, deadline=None)
@given(wide, st.integers(0, 10**6))
def test_the_relaxation_is_below_the_cheapest_placement(instance, seed):
    if len(instance.machines) < 2 or instance.ps_rule == "exact":
        return
    room = arrays(instance).capacity_milli
    price = np.random.default_rng(seed).integers(0, 8, room.shape) / 2
    slot = SlotState(job_at_arrival(instance, 0), room, price)
    every = np.arange(len(room))
    built = across_machines.build(slot, every)
    engine = Relaxation(built.program)
    costs = {offer.workers: offer.cost for offer in slot_placements.external_exact(slot)}
    some = slot.job.bundles
    for n, m in zip(some.workers.tolist(), some.ps.tolist(), strict=True):
        engine.change_row_bounds(built.cover_rows, [n, m], [slot.job.batch, np.inf])
        result = engine.solve(Clock())
        assert n not in costs or result.objective <= costs[n] + 1e-6


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


def test_offers_of_the_toy():
    """Each n up to 4 across two machines; the same as the cheapest ones."""
    room = arrays(TOY).capacity_milli
    slot = SlotState(job_at_arrival(TOY, 0), room, np.ones(room.shape))
    found = Rounding(np.random.default_rng(0))(slot)
    assert [(each.workers, each.cost) for each in found] == [
        (each.workers, each.cost) for each in slot_placements.external_exact(slot)
    ]
    nothing = across_machines.build(slot, np.arange(2)).program
    assert solve(nothing, "highs", clock=Clock()).objective == 0
    assert room.max() == 4 * STEP
