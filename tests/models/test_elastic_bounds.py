"""The bounds of family `elastic`: values by hand, below enumerated optima, and certified."""

import copy
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedgap.errors import InputError
from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic import FAMILY
from schedgap.models.elastic.algorithms.a_maxweight import batch_of, constants, serve_batch
from schedgap.models.elastic.bounds import container_prices
from schedgap.models.elastic.bounds.block_pricing import block_edges
from schedgap.models.elastic.bounds.certificates import check_certificate
from schedgap.models.elastic.bounds.compiled_pricing import CompiledPricer
from schedgap.models.elastic.bounds.configuration_lp import fallback_costs
from schedgap.models.elastic.bounds.container_prices import (
    ContainerPricer,
    ContainerPrices,
    block_certificate,
    configurations,
    containers,
)
from schedgap.models.elastic.bounds.dual_prices import least_dual
from schedgap.models.elastic.bounds.kernel import PRICING
from schedgap.models.elastic.bounds.schedule_lp import SlotPrices, lagrangian_bound
from schedgap.models.elastic.methods import METHODS as ALL
from schedgap.models.elastic.modes import cluster, mode_table
from schedgap.models.elastic.placement import Floats, Ints
from schedgap.models.elastic.time_windows import no_schedule
from schedgap.models.method import Budget, MethodResult, RunContext
from schedgap.solvers.children.clock import Clock
from strategies.elastic import brute_force, elastic_instances, instance_of
from strategies.elastic_examples import BATCH, J1, RING, TOY

METHODS = {method.name: method for method in ALL if method.kind == "bound"}


class Silence:
    """Progress that nobody watches."""

    def incumbent(self, schedule: Any, objective: float) -> None: ...

    def bound(self, value: float, certificate: object = None, **more: object) -> None: ...

    def phase(self, text: str) -> None: ...


def run(name: str, instance: ElasticInstance, **options: object) -> MethodResult:
    method = METHODS[name]
    call = RunContext(
        method.parse(options), method.choose_engine(None), Budget(Clock(60)), Silence()
    )
    return FAMILY.run(method, instance, call)


@contextmanager
def few_configurations(most: int = 0) -> Iterator[None]:
    """Servers with more configurations than these have too many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(container_prices, "MAX_VISITED", most)
        configurations.cache_clear()
        yield
    configurations.cache_clear()


def bounds_of(instance: ElasticInstance) -> dict[str, MethodResult]:
    """Return the outcome of every bound that serves the instance."""
    found = {
        name: run(name, instance)
        for name, method in METHODS.items()
        if method.unsupported_reason(instance) is None
    }
    with few_configurations():
        found["configuration-lp of containers alone"] = run("configuration-lp", instance, block=2)
    return found


def test_the_toy_has_no_gap() -> None:
    """j1 alone ends at 1 + 3 and j2 at 2 + 1: 3 x 4 + 5 x 3 = 27, which a schedule attains."""
    assert run("job-alone", TOY).bound == 27
    for name in ("schedule-lp", "configuration-lp", "dual-lp"):
        assert run(name, TOY).bound == pytest.approx(27, rel=1e-3), name


def test_the_ring_example_has_no_gap() -> None:
    assert run("schedule-lp", RING).bound == pytest.approx(5, rel=1e-6)


def test_a_run_that_takes_next_to_nothing_is_bounded() -> None:
    """HiGHS refuses the 10^-15 of a server that a worker takes. Two jobs of two slots: 2 + 2."""
    server = {"id": "s1", "capacity": {"gpu": 0, "cpu": 0, "bandwidth": 1e12}}
    job = {"chunks": 2, "train_time": {"w1": 1.0}, "update_time": 0.5}
    instance = instance_of(
        [job, job],
        architecture="ring_allreduce",
        servers=[server],
        worker_types=[{"id": "w1", "demand": {"bandwidth": 1e-3}}],
    )
    assert run("schedule-lp", instance).bound == pytest.approx(brute_force(instance), rel=1e-6)


def test_two_jobs_that_exclude_each_other_share_their_slots() -> None:
    """On one server j1 takes both GPUs for 3 of 3 slots, or one for 6: too long. j2 needs both for
    one slot or one for two. So j1 to the share x leaves 2 (3 - 3 x) GPU slots for 2 of j2: x = 2/3
    and all of j2 would be 3 x 2/3 + 5 = 7."""
    assert run("schedule-lp", BATCH).bound == pytest.approx(7, rel=1e-6)
    assert run("job-alone", BATCH).bound == 8


def test_an_unbounded_dual_shows_a_horizon_that_is_too_short() -> None:
    """Four jobs of 3 slots with both GPUs of one of two servers, in 3 slots: two can run."""
    instance = instance_of([J1] * 4, horizon=3, horizon_policy="closed")
    assert brute_force(instance) == math.inf
    assert run("dual-lp", instance).infeasible


def test_the_cost_of_a_run_after_the_last_priced_slot() -> None:
    """J1 takes 3 slots and has weight 3, J2 one slot and weight 5 and arrives in slot 2."""
    assert fallback_costs(TOY, 4).tolist() == [3 * (5 + 3), 5 * (5 + 1)]
    assert fallback_costs(TOY, 0).tolist() == [3 * (1 + 3), 5 * (2 + 1)]
    assert fallback_costs(BATCH, 3).tolist() == [
        2 * sum(job.weight for job in BATCH.jobs) * (BATCH.horizon + 1)
    ] * len(BATCH.jobs)  # fmt: skip
    closed = TOY.replace(horizon_policy="closed")
    latest = sum(job.weight * (closed.horizon + 1) for job in closed.jobs)
    assert (fallback_costs(closed, 4) > latest).all()


def test_no_other_factor_of_the_prices_of_a_run_proves_more() -> None:
    view, jobs = batch_of(BATCH)
    batch = serve_batch(view, jobs, BATCH.deadline or 0, constants(BATCH))
    least = least_dual(BATCH, batch)
    assert least < 7.5  # all jobs together need 8
    price = batch.prices / view.scale[:, None]
    for factor in np.linspace(0, 2, 50):
        prices = SlotPrices(np.arange(len(price)), factor * price)
        assert lagrangian_bound(BATCH, prices) >= least * (1 - 1e-9)


def check(instance: ElasticInstance) -> None:
    """Every bound is on its side of the optimum, and its certificate proves it."""
    optimum = brute_force(instance)
    sign = -1 if instance.is_batch else 1
    found = bounds_of(instance)
    for name, outcome in found.items():
        if outcome.infeasible:
            assert optimum == math.inf
            continue
        assert outcome.bound is not None, name
        assert sign * outcome.bound <= sign * optimum + 1e-9 * (1 + abs(optimum)), name
        assert outcome.certificate is not None
        proved = check_certificate(instance, outcome.certificate)
        if name.endswith("containers alone"):  # all configurations may prove more from its prices
            assert (
                sign * outcome.bound <= sign * proved <= sign * optimum + 1e-9 * (1 + abs(optimum))
            )
        else:
            assert proved == outcome.bound, name
    if optimum < math.inf:
        best = found["schedule-lp"].bound
        assert best is not None
        # One pool of equal servers, or a price for each server: the relaxation is worth as much.
        # With an open horizon, the dual has only the runs within the priced slots. So its value is
        # at least the relaxation's, but its prices may prove less.
        dual = found["dual-lp"].trace["dual_value"]
        if instance.is_batch:
            assert found["dual-lp"].bound == pytest.approx(best, rel=1e-5, abs=1e-5)
        assert sign * dual >= sign * best - 1e-5 * (1 + abs(best))
        for name, outcome in found.items():
            assert outcome.bound is not None
            assert name.startswith("configuration-lp") or (
                sign * outcome.bound <= sign * best + 1e-5 * (1 + abs(best))
            ), name


def test_the_dual_has_only_the_runs_within_the_priced_slots() -> None:
    """Six slots have prices. The relaxation lets a run across the last one pay for those alone."""
    common = {"epochs": 2, "batches_per_chunk": 1, "train_time": {"w1": 0.5}}
    first = {"arrival": 3, "weight": 5, "chunks": 1, "gradient_size": 1, "update_time": {"p1": 1}}
    second = {"arrival": 4, "weight": 3, "chunks": 3, "gradient_size": 0, "update_time": {"p2": 0}}
    instance = instance_of(
        [common | first, common | second],
        servers=[{"id": "s1", "capacity": {"gpu": 3, "cpu": 5, "bandwidth": 5}}],
        worker_types=[{"id": "w1", "demand": {"gpu": 1, "cpu": 2, "bandwidth": 1}}],
        ps_types=[{"id": f"p{n}", "demand": {"bandwidth": 3 - n}} for n in (1, 2)],
        horizon=10,
    )
    dual, relaxation = run("dual-lp", instance), run("schedule-lp", instance)
    assert relaxation.bound == pytest.approx(50) and dual.trace["dual_value"] == pytest.approx(51)
    assert dual.bound is not None and dual.bound <= 50


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(elastic_instances(max_jobs=3))
def test_bounds_are_valid_and_certified(instance: ElasticInstance) -> None:
    check(instance)


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(elastic_instances(max_jobs=2, integer=False))
def test_bounds_are_valid_on_fractions(instance: ElasticInstance) -> None:
    check(instance)


@pytest.mark.nightly
@settings(max_examples=1200, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.booleans().flatmap(lambda integer: elastic_instances(integer=integer)))
def test_bounds_are_valid_at_length(instance: ElasticInstance) -> None:
    check(instance)


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(elastic_instances(max_jobs=2), st.data())
def test_any_prices_prove_a_bound(instance: ElasticInstance, data: st.DataObject) -> None:
    """Prices and numbers of slots out of the blue are certificates, too; only weaker ones."""
    if no_schedule(instance):
        return
    optimum = brute_force(instance)
    slots = data.draw(st.integers(1, 8))
    price = st.floats(0, 3, allow_nan=False)
    cells = st.tuples(
        st.integers(0, len(instance.servers) - 1), st.integers(0, 2), st.integers(1, slots), price
    )
    fine = {"kind": "schedule-lp", "slots": slots, "prices": data.draw(st.lists(cells))}
    kinds = len(instance.worker_types) + len(instance.ps_types)
    cells = st.tuples(st.integers(0, kinds - 1), st.integers(0, (slots - 1) // 2), price)
    whole = {
        "kind": "configuration-lp",
        "block": 2,
        "slots": slots,
        "prices": data.draw(st.lists(cells)),
    }
    for certificate in (fine, whole):
        bound = check_certificate(instance, certificate)
        assert bound >= optimum - 1e-9 if instance.is_batch else bound <= optimum + 1e-9


@settings(max_examples=27, deadline=None, suppress_health_check=list(HealthCheck))
@given(elastic_instances(max_jobs=2), st.data())
def test_no_start_is_cheaper_than_those_that_pricing_tries(
    instance: ElasticInstance, data: st.DataObject
) -> None:
    """Against every row and every start; resources of one pool against all modes."""
    if no_schedule(instance):
        return
    view, slots = cluster(instance), data.draw(st.integers(1, 9))
    block = data.draw(st.integers(1, slots))
    shape = len(view.scale), -(-slots // block)
    drawn = st.lists(st.sampled_from([9, 1, 0]), min_size=shape[1], max_size=shape[1])

    def least(job: int, duration: Ints, by_slot: Floats) -> float:
        """Return the least cost of a job, 0 at most in a batch; by_slot [k, t] of its rows."""
        given, end = instance.jobs[job], instance.last_end
        late = max(slots, given.arrival) + 2  # all later starts are free of charge, too
        found = [
            (-given.weight if instance.is_batch else given.weight * (start + d))
            + by_slot[k, start - 1 : start - 1 + d].sum()
            for k, d in enumerate(duration.tolist())
            for start in range(given.arrival, late if end is None else end - d + 1)
        ]
        return float(min([*found, 0.0] if instance.is_batch else found))

    kinds = len(containers(view))
    whole = ContainerPrices(
        block_edges(block, slots), np.array([data.draw(drawn) for _ in range(kinds)], float)
    )
    by_slot = np.repeat(whole.price, np.diff(whole.edges), axis=1)
    unit = np.array([data.draw(drawn) for _ in range(shape[0])], float)
    pool = ContainerPrices(whole.edges, containers(view) @ unit)
    for pricer in ContainerPricer(instance), CompiledPricer(instance, PRICING.plain):
        priced, pooled = pricer.price_jobs(whole), pricer.price_jobs(pool)
        assert priced is not None and pooled is not None
        for j in pricer.jobs:
            rows = mode_table(instance, j)
            ps = by_slot[len(view.worker_units) + rows.ps_type]  # in the ring any: 0 are used
            paid = rows.workers[:, None] * by_slot[rows.worker_type] + rows.ps[:, None] * ps
            assert priced[0][j] == pytest.approx(least(j, rows.duration, paid))
            for run in priced[1][j]:
                cost = least(j, rows.duration[[run.row]], paid[[run.row]])
                shown = min(run.cost, 0.0) if instance.is_batch else run.cost
                assert shown == pytest.approx(cost)
            paid = rows.demand @ np.repeat(unit, block, axis=1)[:, :slots]
            assert pooled[0][j] == pytest.approx(least(j, rows.duration, paid))


def test_the_last_start_before_the_deadline_can_be_the_cheapest() -> None:
    """A worker costs 1 in each of slots 1-4: j1 in slots 3-5 pays for two of its three.

    Two workers pay 4 and earn 10; all four GPUs in four slots are worth 16: 16 + 10 - 4 = 22.
    """
    instance = instance_of([{**J1, "weight": 10}], objective="scheduled_weight", deadline=6)
    certificate = {"kind": "configuration-lp", "block": 4, "slots": 8, "prices": [[0, 0, 1.0]]}
    assert check_certificate(instance, certificate) == pytest.approx(22)


def test_the_kernel_tries_the_last_start_before_the_deadline() -> None:
    """As above: two workers pay 4 for two slots, and the weight is 10."""
    instance = instance_of([{**J1, "weight": 10}], objective="scheduled_weight", deadline=6)
    price = np.zeros((len(containers(cluster(instance))), 2))
    price[0, 0] = 1.0
    prices = ContainerPrices(block_edges(4, 8), price)
    priced = CompiledPricer(instance, PRICING.plain).price_jobs(prices)
    assert priced is not None and priced[0].tolist() == [-6.0]


def test_servers_that_hold_whole_workers_bound_better() -> None:
    """Two workers of two GPUs for a slot each, on servers of 3 GPUs and of 1: in fractions of a
    worker there is room for both at once, 2 + 2, and on the larger server alone for one and a half,
    but it holds one: 2 + 3. At price 1 for a worker in slot 1 a job costs 3, then or later, and the
    larger server is worth 1: 3 + 3 - 1."""
    servers = [
        {"id": f"s{h}", "capacity": {"gpu": gpu, "cpu": 8, "bandwidth": 6}}
        for h, gpu in enumerate((3, 1))
    ]
    kinds = [{"id": "w2", "demand": {"gpu": 2, "cpu": 1, "bandwidth": 1}}]
    large = {"train_time": {"w2": 1}, "update_time": {"p1": 0}}
    instance = instance_of([large, large], servers=servers, worker_types=kinds)
    assert run("configuration-lp", instance, block=1).bound == pytest.approx(5, rel=1e-3)
    pools = {"kind": "pooled-lp", "slots": 1, "prices": [[0, 0, 1, 0.5], [1, 0, 1, 0.5]]}
    assert check_certificate(instance, pools) == pytest.approx(4)
    priced = {"kind": "configuration-lp", "block": 1, "slots": 1, "prices": [[0, 0, 1.0]]}
    assert check_certificate(instance, priced) == pytest.approx(5)
    assert run("schedule-lp", instance).bound == pytest.approx(4.5, rel=1e-3)
    assert brute_force(instance) == 5


def test_configurations_are_all_that_fit_and_have_no_room() -> None:
    """Of 4 GPUs, 3 and 2 apiece; a PS takes 3 of the 6 of bandwidth, a worker 1: with one PS three
    workers of bandwidth are left, with two PSs none."""
    servers = [{"id": "s1", "capacity": {"gpu": 4, "cpu": 8, "bandwidth": 6}}]
    kinds = [{"id": f"w{n}", "demand": {"gpu": n, "cpu": 1, "bandwidth": 1}} for n in (3, 2)]
    job = {"train_time": {"w2": 1}, "update_time": {"p1": 0}}
    instance = instance_of([job], servers=servers, worker_types=kinds)
    [(number, found)] = configurations(instance)
    assert number == 1
    assert sorted(map(tuple, found.tolist())) == [(0, 0, 2), (0, 2, 1), (1, 0, 1)]

    for most, expected in (3, [(0, 2, 2), (1, 0, 2)]), (0, [(1, 2, 2)]):  # PSs, then all alone
        with few_configurations(most):
            [(_, found)] = configurations(instance)
        assert sorted(map(tuple, found.tolist())) == expected


def test_prices_of_long_blocks_are_prices_of_shorter_ones() -> None:
    """Blocks of four slots: 1-4, 5-8, 9; of three: 1-3, 4-6, 7-9."""
    prices = ContainerPrices(block_edges(4, 9), np.array([[1.0, 2.0, 3.0]]))
    assert prices.by_blocks(block_edges(3, 9)).price.tolist() == [[1.0, 1.0, 2.0]]
    assert prices.by_blocks(block_edges(1, 9)).price.tolist() == [[1.0] * 4 + [2.0] * 4 + [3]]


def test_a_certificate_of_blocks_of_several_lengths_proves_the_same() -> None:
    """Blocks of 2, 4 and 3 slots: the certificate has five blocks of two, the last one cut off."""
    prices = ContainerPrices(np.array([0, 2, 6, 9]), np.array([[1.0, 0.5, 0.25], [0, 1, 0]]))
    data = block_certificate(prices)
    assert data["block"] == 2
    cells = [
        [0, 0, 1.0],
        [0, 1, 0.5],
        [0, 2, 0.5],
        [0, 3, 0.25],
        [0, 4, 0.25],
        [1, 1, 1],
        [1, 2, 1],
    ]
    assert data["prices"] == cells
    pricer = ContainerPricer(TOY)
    priced = pricer.price_jobs(prices)
    assert priced is not None
    paid = pricer.supply(prices, pricer.best_configurations(prices)[0])
    assert check_certificate(TOY, data) == pytest.approx(pricer.bound(priced[0], paid), rel=1e-12)


def test_a_certificate_of_raised_prices_proves_less() -> None:
    """Doubling all prices of an optimal dual loses value where the relaxation has contention."""
    instance = instance_of([J1, J1, J1])
    outcome = run("schedule-lp", instance)
    assert outcome.certificate is not None
    assert outcome.certificate["prices"]
    raised = copy.deepcopy(dict(outcome.certificate))
    raised["prices"] = [[k, r, t, 2 * value] for k, r, t, value in raised["prices"]]
    assert check_certificate(instance, raised) < check_certificate(instance, outcome.certificate)


@pytest.mark.parametrize(
    "broken",
    [
        {"kind": "fluid-lp"},
        {"kind": "schedule-lp"},
        {"kind": "schedule-lp", "slots": 3, "prices": [[9, 0, 1, 1.0]]},
        {"kind": "schedule-lp", "slots": 3, "prices": [[0, 0, 1, -1.0]]},
        {"kind": "schedule-lp", "slots": 10**9, "prices": [[0, 0, 10**9, 1.0]]},
        {"kind": "configuration-lp", "block": 0, "slots": 3, "prices": []},
        {"kind": "configuration-lp", "block": 1, "slots": 0, "prices": []},
        {"kind": "configuration-lp", "block": 1, "slots": 3, "prices": [[2, 0, 1.0]]},
        {"kind": "configuration-lp", "block": 1, "slots": 3, "prices": [[0, 0, -1.0]]},
    ],
)  # fmt: skip
def test_a_certificate_that_does_not_fit_is_refused(broken: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="certificate"):
        check_certificate(TOY, broken)
