"""The relaxation of (23)-(26) on family `dmlrs`, with and without the integer hull."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.instances.dmlrs import STEP, DmlrsInstance, arrays
from schedgap.models.dmlrs.algorithms import relaxed_placements, rounding, slot_placements
from schedgap.models.dmlrs.algorithms.rounding import Rounding, draws
from schedgap.models.dmlrs.algorithms.rounding_gain import cover_gain
from schedgap.models.dmlrs.programs import across_machines
from schedgap.models.dmlrs.slot_options import SlotState, job_at_arrival
from schedgap.solvers import Clock, solve
from schedgap.solvers.programs.pyomo import compile_model
from strategies.dmlrs import dmlrs_instances, fits, plain_ps
from strategies.dmlrs_examples import TOY, instance_of, job

wide = dmlrs_instances(max_jobs=1, max_machines=3, max_workers=5)


@settings(max_examples=35, deadline=None)
@given(wide, st.integers(0, 10**6))
def test_the_hull_is_that_of_the_pairs_that_a_machine_holds(instance, seed):
    """For any prices of a worker and a PS, a corner is as good as the best pair."""
    own = job_at_arrival(instance, 0)
    room = arrays(instance).capacity_milli
    slot = SlotState(own, room, np.ones(room.shape))
    owner, units = relaxed_placements._whole_corners(slot, np.arange(len(room)))
    for h in range(len(room)):
        pairs = [
            (w, s)
            for w in range(int(slot.max_units[0][h]) + 1)
            for s in range(int(slot.max_units[1][h]) + 1)
            if ((w * own.worker + s * own.ps) <= room[h]).all()
        ]
        corners = [tuple(corner) for corner in units[:, owner == h].T.astype(int).tolist()]
        assert set(corners) <= set(pairs)
        for price in np.random.default_rng(seed).integers(-3, 9, (20, 2)):
            best = max(0, *(np.array(corners) @ price))
            assert best == max(np.array(pairs) @ price)


@settings(max_examples=60, deadline=None)
@given(wide, st.integers(0, 10**6), st.booleans())
def test_the_optima_are_those_of_the_printed_program(instance, seed, alike):
    """They satisfy its rows; those with the hull cost no less, and no more than whole units."""
    if len(instance.machines) < 2 or instance.ps_rule == "exact":
        return
    room = arrays(instance).capacity_milli
    price = np.random.default_rng(seed).integers(0, 8, room.shape) / 2
    if alike:
        room, price = (
            np.repeat(room[:1], len(room), axis=0),
            np.repeat(price[:1], len(room), axis=0),
        )
    slot = SlotState(job_at_arrival(instance, 0), room, price)
    machines = np.flatnonzero((np.array(slot.max_units) > 0).any(axis=0))
    if not len(machines):
        return
    prices = np.array([slot.worker_price, slot.ps_price])[:, machines]
    costs = {offer.workers: offer.cost for offer in slot_placements.external_exact(slot)}
    some = slot.job.bundles
    needed = np.column_stack([some.workers, some.ps])
    optima = relaxed_placements.relaxed_placements(slot, machines, needed)
    whole = relaxed_placements.relaxed_placements(slot, machines, needed, hull=True)
    assert len(costs) <= len(whole) <= len(optima)
    for i, (n, m) in enumerate(needed.tolist()):
        program = across_machines.build(slot, machines, workers=n, ps=m)
        printed = solve(replace(program, integer=None), "highs", clock=Clock())
        assert (printed.status == "optimal") == (i < len(optima))
        if i < len(optima):
            values = optima[i].ravel()
            assert (optima[i] * prices).sum() == pytest.approx(printed.objective, abs=1e-6)
            assert (values >= 0).all() and (values <= program.upper + 1e-9).all()
            assert (program.matrix @ values <= program.row_upper + 1e-6).all()
            assert (program.matrix @ values >= program.row_lower - 1e-6).all()
        if i < len(whole):
            cost = (whole[i] * prices).sum()
            assert cost >= (optima[i] * prices).sum() - 1e-6
            assert n not in costs or cost <= costs[n] + 1e-6


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
    arrays_form = across_machines.build(slot, np.arange(len(room)), workers=n, ps=m)
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
    corners = relaxed_placements._whole_corners(slot, np.arange(1))[1].T
    assert {tuple(corner) for corner in corners.tolist()} == {(0, 2), (2, 1), (3, 0)}


def test_equal_machines_share_the_units_and_few_are_fractional():
    """Ten workers on three machines of four: four, four and two, with the PSs from the last on."""
    one = job("j1", 1, [9.0] * 4, batch_size=10, worker_ps_ratio=5.0, samples=30)
    instance = instance_of([one], [{"gpu": 4, "cpu": 40}] * 5)
    room = arrays(instance).capacity_milli
    slot = SlotState(job_at_arrival(instance, 0), room, np.ones(room.shape))
    [found] = relaxed_placements.relaxed_placements(slot, np.arange(5), np.array([[10, 2]]))
    assert found.tolist() == [[4, 4, 2, 0, 0], [0, 0, 0, 0, 2]]


def test_draws_are_met_on_average_and_whole_values_stay():
    rng = np.random.default_rng(1)
    found, _ = draws(np.array([[0.25, 2.0, 1.5, 3 - 1e-9]]), 20_000, rng)
    assert found.mean(axis=0) == pytest.approx([0.25, 2, 1.5, 3], abs=0.015)
    assert set(found[:, 0].tolist()) == {0, 1} and set(found[:, 3].tolist()) == {3}
    both, rows = draws(np.array([[1.0, 2.0], [1.0, 0.5]]), 3, rng)
    assert both[0].tolist() == [1, 2] and rows.tolist() == [0, 1, 1, 1]


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
    totals = [tuple(values.sum(axis=1)) for values in np.concatenate(asked)]
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
    assert room.max() == 4 * STEP
