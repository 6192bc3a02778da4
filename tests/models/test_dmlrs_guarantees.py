"""What is claimed of PD-ORS on family `dmlrs`: where it is proved, and where it is not."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.instances.dmlrs import DmlrsInstance, arrays
from schedgap.models.dmlrs import FAMILY
from schedgap.models.dmlrs.algorithms.guarantees import (
    competitive,
    complexity,
    conditions,
    constants,
    recursion_calls,
    rounding,
    rounding_odds,
)
from schedgap.models.dmlrs.algorithms.pd_ors import pd_ors
from schedgap.models.dmlrs.algorithms.prices import declared, final_prices
from schedgap.models.dmlrs.algorithms.rounding import draws
from schedgap.models.dmlrs.algorithms.rounding_gain import gain_parameters
from schedgap.models.dmlrs.slot_options import job_at_arrival
from strategies.dmlrs import dmlrs_instances, optimum
from strategies.dmlrs_examples import TOY, instance_of, job

EXACT: dict[str, Any] = {"across": "exact", "dp": "exact"}
SMALL = {"batch_size": 1, "worker_ps_ratio": 1.0, "ps_demand": {"gpu": 0, "cpu": 1}}


def priced(instance: DmlrsInstance, largest: float, least: float) -> DmlrsInstance:
    """Return an instance that declares one U for all resources, and L."""
    given = {"max_unit_utility": dict.fromkeys(instance.resources, largest)}
    return DmlrsInstance.from_data(
        instance.to_data() | {"price_parameters": {**given, "min_unit_utility": least}}
    )


def roomy(values: list[list[float]], capacity: int = 8) -> DmlrsInstance:
    """Return one machine on which a job of one worker takes 1 of 8 GPUs and 2 of 16 CPUs.

    c_int = 0.04 + 16/300, 30 samples in all: N_int = 2.8, three slots.
    """
    jobs = [job(f"j{n}", 1, own, epochs=1, **SMALL) for n, own in enumerate(values, 1)]
    return instance_of(jobs, [{"gpu": capacity, "cpu": 2 * capacity}])


@settings(max_examples=25)
@given(
    dmlrs_instances(max_machines=3),
    st.sampled_from(["round", "greedy", "exact"]),
    st.sampled_from([(50.0, 0.01), (9.0, 0.5), (1e4, 1e-3)]),
)
def test_the_dual_rises_by_at_most_alpha_kappa_times_what_is_earned(instance, across, ends):
    """sum p C + sum lambda - D_0 <= alpha kappa PD-ORS, whatever the range of the prices."""
    instance = priced(instance, *ends)
    run = pd_ors(instance, across=across)
    capacity = arrays(instance).capacity
    rise = (final_prices(instance, run) * capacity - ends[1] * capacity).sum()
    rise += sum(run.trace["payoffs"].values())
    found = constants(instance, declared(instance))
    assert rise <= found.alpha * found.kappa * run.schedule.value(instance) + 1e-6


@settings(max_examples=40)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=5), st.integers(3, 4), st.data())
def test_where_its_assumptions_hold_the_ratio_does(worth, capacity, data):
    """The best job is worth U (U / L)^(-1/C) at most, and two times T L sum C."""
    instance = roomy(
        [[u, u, u, float(data.draw(st.integers(0, u)))] for u in map(float, worth)], capacity
    )
    least = max(worth) / (2 * 4 * 3 * capacity)
    largest = (max(worth) * least ** (-1 / capacity)) ** (capacity / (capacity - 1)) * 1.001
    instance = priced(instance, largest, least)
    said = competitive(instance, dp="exact")
    assert said["holds"], said["failed"]
    earned = pd_ors(instance, **EXACT).schedule.value(instance)
    assert optimum(instance) <= said["factor"] * earned * (1 + 1e-9)


def test_the_constants_by_hand():
    """C = 8, U = 80, L = 0.1: a job takes an eighth, and no more."""
    found = constants(one := priced(roomy([[9.0] * 4]), 80.0, 0.1), declared(one))
    x = math.log(800) / 8
    assert found.alpha == pytest.approx(math.log(800)) and found.share == 0.125
    assert found.kappa == pytest.approx(math.expm1(x) / x)
    assert found.first_dual == pytest.approx(4 * 0.1 * 24)
    assert found.one_job == 9
    assert found.overflow == pytest.approx(80 * 800**-0.125 / 9)


def test_what_one_job_earns_is_earned_inside_a_machine():
    """N_int = 2, N_ext = 3.6. m1 holds a worker and a PS of 3 CPUs: two slots, delay 1, worth 5.

    Four workers on m1 and two PSs on m2 would do it in one slot.
    """
    heavy = job("j1", 1, [9.0, 5.0, 0.0, 0.0], epochs=1, ps_demand={"gpu": 0, "cpu": 3})
    one = priced(instance_of([heavy], [{"gpu": 4, "cpu": 4}, {"gpu": 0, "cpu": 6}]), 80.0, 0.1)
    assert constants(one, declared(one)).one_job == 5 and optimum(one) == 9


def test_one_job_that_fills_the_machine_breaks_the_ratio():
    """The first is worth 1 and takes all; the second is worth 100: 2 alpha = 2 ln 1e4 = 18.4."""
    jobs = [
        job(name, 1, [worth, 0, 0, 0], epochs=1, batch_size=2, samples=1)
        for name, worth in (("j1", 1.0), ("j2", 100.0))
    ]
    one = priced(instance_of(jobs, [{"gpu": 1, "cpu": 2}]), 100.0, 0.01)
    run = pd_ors(one, **EXACT)
    assert run.schedule.value(one) == 1 and optimum(one) == 100
    assert conditions(one, run)["two_alpha"] == pytest.approx(2 * math.log(1e4))
    said = competitive(one, dp="exact")
    assert said["factor"] is None and [words[:2] for words in said["failed"]] == ["A2"]


def test_each_assumption_can_fail_alone():
    one = priced(roomy([[9.0] * 4]), 80.0, 0.04)

    def failed(instance: DmlrsInstance, **options: object) -> list[str]:
        said = competitive(instance, **{"dp": "exact", **options})
        return [words[:2] for words in said["failed"]]

    assert failed(one) == []
    x = math.log(2000) / 8
    factor = competitive(one, dp="exact")["factor"]
    assert factor == pytest.approx(2 * math.log(2000) * math.expm1(x) / x)
    assert failed(one, prices="running", literal_13=True) == ["A1", "A2"]
    assert failed(priced(roomy([[90.0] * 4]), 80.0, 0.04)) == ["A2"]
    assert failed(one, dp="grid") == ["A3"]
    assert failed(priced(roomy([[9.0] * 4]), 80.0, 0.05)) == ["A4"]  # 4 x 0.05 x 24 = 4.8
    assert failed(TOY) == ["A2", "A3"]


def test_the_table_tells_of_the_options_that_matter():
    said = FAMILY.paper.guarantee(TOY, "pd-ors", {})
    assert not said["holds"] and said["factor"] is None and "alpha" in said["claim"]
    assert "a draw satisfies" in FAMILY.paper.guarantee(TOY, "pd-ors", {"gain": "cover"})["claim"]
    assert FAMILY.paper.guarantee(TOY, "pd-ors", {"ps_row": False}) == {}
    assert FAMILY.paper.guarantee(TOY, "oasis", {}) == {}


def test_what_the_gains_ask_for():
    """Two machines, two resources: W_a = 2 GPUs, where ln(3 x 5 / 0.5) = 3.4 is needed."""
    said = rounding(TOY, gain="packing", delta=0.5)
    assert not said["holds"] and said["factor"] is None
    (words,) = said["failed"]
    assert "= 3.4;" in words and "3 of 3 jobs" in words and "2 to 2" in words
    assert "vacuous" in rounding(TOY, gain="cover")["failed"][0]
    assert rounding(TOY, gain="cover", delta=0.5)["holds"]
    assert "R1" in rounding(TOY, delta=0.5)["failed"][0]
    assert rounding(roomy([[9.0] * 4])) == {}
    found = rounding_odds(TOY, 0.5)
    assert found["W_a"] == [2, 2] and found["without_gain"] == found["jobs"] == 3
    assert found["W_b"] == [2, 2]  # 4 workers, 2 PSs
    assert found["c"] == pytest.approx([1.5 * math.log(30)] * 2, abs=1e-5)
    assert found["d"] == pytest.approx([math.log(12)] * 2, abs=1e-5)


@pytest.mark.parametrize("favored", ["packing", "cover"])
def test_draws_keep_their_rows_as_often_as_the_gains_say(favored):
    """180 workers on four machines of 60.5, two of them full: at most delta / 3 of draws fail.

    The same holds of a cost above 3 G / delta times the point's cost. 4,000 draws with the gain,
    four standard deviations allowed; without it a third of them, or three quarters, fail.
    """
    delta, n, m, rng = 0.3, 180, 60, np.random.default_rng(5)
    wide = job("j1", 1, [9.0] * 4, batch_size=200, worker_ps_ratio=3.0, samples=3000)
    instance = instance_of([wide], [{"gpu": 60.5, "cpu": 200.5}] * 4)
    own = job_at_arrival(instance, 0)
    chance = gain_parameters(instance, own, delta)
    point = np.array([60.5, 60.5, 29.5, 29.5, 15.0, 15.0, 15.0, 15.0])  # w, s: (23)-(26) hold
    price = np.array([1.0, 1, 2, 2, 1, 1, 2, 2])

    def kept(gain: float) -> tuple[float, float]:
        drawn, _ = draws(gain * point[None], 4000, rng)
        workers, ps = drawn[:, :4], drawn[:, 4:]
        if favored == "packing":
            load = workers[..., None] * own.worker + ps[..., None] * own.ps
            within = (load <= arrays(instance).capacity_milli).all(axis=(1, 2))
            within &= workers.sum(axis=1) <= own.batch
        else:
            within = (workers.sum(axis=1) >= n) & (ps.sum(axis=1) >= m)
        dear = drawn @ price > 3 * gain / delta * (point @ price)
        return 1 - float(within.mean()), float(dear.mean())

    gain = chance.packing if favored == "packing" else chance.cover
    assert gain is not None
    noise = 4 * math.sqrt(delta / 3 / 4000)
    assert max(kept(gain)) <= delta / 3 + noise
    assert kept(1.0)[0] > delta / 3 + noise


def test_conditions_of_the_toy():
    found = conditions(TOY, pd_ors(TOY))
    assert found["two_alpha"] == pytest.approx(2 * np.log(800))
    assert found["largest_step"] == 1  # 2 of 2 GPUs: prices jump from L to U with one job
    assert found["first_dual"] == pytest.approx(4 * 0.01 * 12)
    heavy = job("j1", 1, [9.0] * 4, batch_size=2, ps_demand={"gpu": 0, "cpu": 2})
    one = instance_of([heavy], [{"gpu": 9, "cpu": 4}])
    assert conditions(one, pd_ors(one))["largest_step"] == 1  # 2 CPUs of workers, 2 of their PS


def test_algorithm_3_as_printed_is_not_within_the_stated_time() -> None:
    """Five samples in eight slots: 3002 calls of Algorithm 4, where T V^2 = 200 are stated."""

    def printed(slots: int, volume: int) -> int:
        """Count the calls of Algorithm 4 in Algorithm 3, lines 2 and 3."""
        if slots == 0:
            return 0
        return sum(1 + printed(slots - 1, volume - v) for v in range(volume + 1))

    for slots, volume in ((1, 3), (2, 5), (4, 4), (8, 5)):
        assert recursion_calls(slots, volume) == printed(slots, volume)
    assert recursion_calls(8, 5) == 3002 > 8 * 5**2
    assert 8 * (5 + 1) <= 8 * 5**2  # with a table: one call for each slot and v
    found = complexity(TOY)
    stated = sum(TOY.horizon * (each.epochs * each.samples) ** 2 for each in TOY.jobs)
    assert f"= {stated:.3g} problems (19)" in found["claim"]
    assert found["holds"] and found["factor"] is None
