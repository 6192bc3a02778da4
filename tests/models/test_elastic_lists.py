"""List schedules of family `elastic`: by hand, against enumeration, and their improvement."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.errors import UsageError
from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic import FAMILY, rules
from schedgap.models.elastic.bounds.certificates import check_certificate
from schedgap.models.elastic.bounds.configuration_lp import solve_configurations
from schedgap.models.elastic.bounds.container_prices import ContainerPrices
from schedgap.models.elastic.heuristics import initial, kernel, list_schedules
from schedgap.models.elastic.heuristics.initial import initial_state
from schedgap.models.elastic.heuristics.lp_guided import LpGuide, guide, search, surcharge
from schedgap.models.elastic.heuristics.partial_schedule import PartialSchedule
from schedgap.models.elastic.methods import METHODS
from schedgap.models.elastic.modes import modes
from schedgap.models.elastic.programs.columns import schedule_of
from schedgap.models.method import Budget, MethodResult, RunContext, check_instance
from schedgap.solvers.children.clock import Clock
from strategies.clocks import StopAt
from strategies.elastic import brute_force, elastic_instances, instance_of
from strategies.elastic_examples import BATCH, RING, TOY
from strategies.elastic_stops import STOPPED

BY_NAME = {method.name: method for method in METHODS if method.name in ("wspt-list", "lp-guided")}
ONE_GPU = [{"id": "s1", "capacity": {"gpu": 1, "cpu": 8, "bandwidth": 6}}]


class Record:
    """Progress that keeps the values of what it is shown."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def incumbent(self, schedule: Any, objective: float) -> None:
        self.values.append(objective)

    def bound(self, value: float, certificate: object = None, **more: object) -> None: ...

    def phase(self, text: str) -> None: ...


def run(
    name: str, instance: ElasticInstance, clock: Clock | None = None, **given: Any
) -> MethodResult:
    method = BY_NAME[name]
    check_instance(instance, method)
    call = RunContext(
        method.parse(given), method.choose_engine(None), Budget(clock or Clock()), Record()
    )
    return FAMILY.run(method, instance, call)


def value(instance: ElasticInstance, outcome: MethodResult) -> float:
    data = outcome.schedule.to_data(instance)
    assert list(rules.check(instance, data, {})) == []
    return rules.objective(instance, data)


def slots(count: int, **fields: Any) -> dict[str, Any]:
    """Return a job that takes one worker so many slots."""
    times = {"train_time": {"w1": 1}, "update_time": {"p1": 0}}
    return {"batches_per_chunk": count, **times, **fields}


@pytest.mark.parametrize("name", BY_NAME)
def test_the_worked_examples(name: str) -> None:
    """Optimal: 27 for the toy, c = 5 for the ring."""
    assert value(TOY, run(name, TOY)) == 27
    assert value(RING, run(name, RING)) == 5


def test_the_worked_example_of_a_batch() -> None:
    """One of the two jobs, of weight 5."""
    assert value(BATCH, run("lp-guided", BATCH)) == 5


def test_the_list_is_by_volume_over_weight() -> None:
    """One GPU: 4 slots of weight 8 (0.5 each) go before 1 slot of weight 1: 8 x 5 + 6 = 46."""
    instance = instance_of([slots(1), slots(4, weight=8)], servers=ONE_GPU)
    assert list_schedules.wspt_order(instance) == [1, 0]
    assert value(instance, run("wspt-list", instance)) == 46


def test_of_equal_ends_the_least_volume_wins() -> None:
    """w1 asks for two GPUs, w2 for one; both take a slot."""
    kinds = [
        {"id": name, "demand": {"gpu": size, "bandwidth": size}}
        for name, size in (("w1", 2), ("w2", 1))
    ]
    job = {"train_time": {"w1": 1, "w2": 1}, "update_time": {"p1": 0}}
    instance = instance_of([job], worker_types=kinds)
    outcome = run("wspt-list", instance)
    assert outcome.schedule.placements["j1"].worker_type == "w2"


def test_a_list_goes_on_after_the_first_guess_of_its_slots() -> None:
    """Twelve equal jobs of 3 slots on one GPU end after 36 slots, not after 1 + 2 x 3."""
    instance = instance_of([slots(3)] * 12, servers=ONE_GPU)
    assert value(instance, run("wspt-list", instance)) == sum(3 * k + 1 for k in range(1, 13))


def searched(
    instance: ElasticInstance, order: Sequence[int], guide: LpGuide, moves: int, seed: int = 0
) -> tuple[ElasticSchedule, list[float]]:
    """Search from the list of an order; return the best schedule, and all values in turn."""
    runs = list_schedules.list_schedule(instance, order)
    assert runs is not None
    met = Record()
    with pytest.MonkeyPatch.context() as patch:
        first = schedule_of(instance, runs)
        patch.setattr(initial, "starting_schedules", lambda instance, stop: iter([first]))
        state = initial_state(instance, RunContext({}, "highs", Budget(seed=seed), met))
    search(instance, state, guide, Clock(), moves)
    assert state.schedule is not None
    return state.schedule, met.values


LIGHT_FIRST = instance_of([slots(1), slots(3, weight=9)], servers=ONE_GPU)
NEUTRAL = LpGuide(np.zeros((2, 1)), np.arange(2.0), np.arange(2.0) + 1)  # in the order of the list


def test_the_search_swaps_two_jobs_and_says_so() -> None:
    """One GPU, the light job first: 2 + 9 x 5 = 47. Both have to move: 9 x 4 + 5 = 41."""
    found, met = searched(LIGHT_FIRST, [0, 1], NEUTRAL, moves=20)
    assert found.value(LIGHT_FIRST) == 41
    assert (met[0], met[-1]) == (47, 41)


def test_the_search_of_a_batch_leaves_out_what_weighs_least() -> None:
    """One GPU for four slots: the job of 3 slots and weight 4, or the others with 3 + 2."""
    jobs = [slots(3, weight=4), slots(2, weight=3), slots(2, weight=2), slots(9, weight=9)]
    instance = instance_of(jobs, servers=ONE_GPU, objective="scheduled_weight", deadline=5)
    given = LpGuide(np.zeros((2, 1)), np.arange(4.0), np.arange(4.0) + 1)
    found, met = searched(instance, [0, 1, 2], given, moves=20)
    assert met == [4, 5]
    assert set(found.placements) == {"j2", "j3"}


@pytest.mark.parametrize("weights", [(1, 1), (0.5, 0.1)])
def test_the_search_of_a_batch_ends_when_no_job_is_left_out(weights: tuple[float, float]) -> None:
    """0.5 + 0.1 is 0.6, but the bound is 6 x 0.1, which is more in doubles."""
    jobs = [slots(2, weight=weight) for weight in weights]
    instance = instance_of(jobs, servers=ONE_GPU, objective="scheduled_weight", deadline=5)
    state = initial_state(instance, RunContext({}, "highs", Budget(), Record()))
    given = LpGuide(np.zeros((2, 1)), np.arange(2.0), np.arange(2.0) + 1)
    assert search(instance, state, given, Clock(), 1000) == {"moves": 0, "end": "the bound is met"}


def test_a_job_is_left_out_only_if_that_costs_no_more_than_is_allowed() -> None:
    instance = instance_of(
        [slots(3, weight=4)], servers=ONE_GPU, objective="scheduled_weight", deadline=3
    )
    made, rng = PartialSchedule(instance, 2), np.random.default_rng(0)
    problem = made.problem._replace(left_out=np.array([4.0]))
    assert not kernel.insert(problem, made.state, 0, (0.0, 0.0), 3.9, rng)
    assert kernel.insert(problem, made.state, 0, (0.0, 0.0), 4.0, rng)
    assert made.state.plan.cost[0] == 4 and made.runs() == []


def test_in_a_batch_least_volume_comes_before_an_early_end() -> None:
    """Three chunks take 3 slots on one GPU, 2 on two: side by side both jobs end in 3 slots.

    The relaxation leaves no job out, so its prices are 0.
    """
    servers = [{"id": "s1", "capacity": {"gpu": 2, "cpu": 16, "bandwidth": 12}}]
    jobs = [slots(1, chunks=3)] * 2
    instance = instance_of(jobs, servers=servers, objective="scheduled_weight", deadline=4)
    assert value(instance, run("lp-guided", instance, moves=0)) == 2


def test_without_moves_a_schedule_stays_as_it_is() -> None:
    found, met = searched(LIGHT_FIRST, [0, 1], NEUTRAL, moves=0)
    assert found.value(LIGHT_FIRST) == 47 and met == [47]


@pytest.mark.parametrize("name", BY_NAME)
def test_a_job_that_fits_nowhere_proves_that_there_is_no_schedule(name: str) -> None:
    servers = [{"id": "s1", "capacity": {"gpu": 2, "cpu": 3, "bandwidth": 6}}]
    assert run(name, instance_of([slots(1)], servers=servers)).infeasible


def test_a_list_by_earliest_ends_refuses_a_batch() -> None:
    with pytest.raises(UsageError, match="needs objective weighted_completion"):
        run("wspt-list", BATCH)


@pytest.mark.parametrize("name", BY_NAME)
def test_a_closed_horizon_that_is_too_short_is_no_proof(name: str) -> None:
    instance = instance_of(
        [slots(2), slots(2)], servers=ONE_GPU, horizon=3, horizon_policy="closed"
    )
    outcome = run(name, instance)
    assert outcome.schedule is None and not outcome.infeasible and "closed" in outcome.note


def test_without_time_there_is_still_a_schedule() -> None:
    """The jobs one after another: j1 of weight 3 ends at 1 + 3, and j2 of weight 5 a slot later."""
    assert value(TOY, run("lp-guided", TOY, Clock(0.0))) <= 3 * 4 + 5 * 5


@settings(max_examples=12, deadline=None)
@given(elastic_instances(max_jobs=3, objective="weighted_completion", placeable=True))
def test_lists_keep_the_rules_and_the_bound_is_below_the_optimum(instance: ElasticInstance) -> None:
    plain, guided = run("wspt-list", instance), run("lp-guided", instance)
    best = brute_force(instance)
    if guided.schedule is not None:
        assert best is not None
        found = value(instance, guided)
        assert guided.bound is not None
        assert guided.bound - 1e-6 <= best <= found + 1e-9
        if plain.schedule is not None:
            assert found <= value(instance, plain)


@settings(max_examples=12, deadline=None)
@given(elastic_instances(max_jobs=3, objective="scheduled_weight"))
def test_a_batch_keeps_the_rules_and_the_bound_is_above_the_optimum(
    instance: ElasticInstance,
) -> None:
    outcome = run("lp-guided", instance, moves=20)
    assert outcome.bound is not None
    assert value(instance, outcome) - 1e-9 <= brute_force(instance) <= outcome.bound + 1e-6


@settings(max_examples=16, deadline=None)
@given(
    st.one_of(
        elastic_instances(
            max_jobs=4, objective="weighted_completion", placeable=True, policy="open",
            integer=False,
        ),
        elastic_instances(max_jobs=6, objective="scheduled_weight", integer=False),
    ),
    st.integers(0, 2**31),
)  # fmt: skip
def test_the_search_keeps_rules_and_seed_and_never_makes_worse(
    instance: ElasticInstance, seed: int
) -> None:
    solved = solve_configurations(instance, block=2, budget=Budget())
    assert solved is not None
    given = guide(instance, solved.prices)
    order = [j for j in range(len(instance.jobs)) if modes(instance, j)]
    schedule, met = searched(instance, order, given, moves=30, seed=seed)
    assert list(rules.check(instance, schedule.to_data(instance), {})) == []
    assert met == sorted(met, reverse=not instance.is_batch)
    assert schedule.value(instance) == pytest.approx(met[-1], rel=1e-12)
    assert searched(instance, order, given, moves=30, seed=seed) == (schedule, met)


def test_a_ps_pays_for_the_worker_whose_place_it_takes() -> None:
    """Workers need bandwidth 2, PSs 3. A server of 6 holds 2 workers, or 1 and a PS; one of 20 both
    and a PS; one of 2 no PS. With prices 5 and 0.5 for three slots the PS takes 10 - 5.5 from the
    two of 6 and 0 from the one of 20; with prices 1 and 0 it takes 2 - 1.
    """
    servers = [
        {"id": f"s{n}", "capacity": {"gpu": 2, "cpu": 8, "bandwidth": size}}
        for n, size in enumerate((6, 6, 20, 2))
    ]
    wide = [{"id": "w1", "demand": {"gpu": 1, "cpu": 2, "bandwidth": 2}}]
    instance = instance_of([slots(1)], servers=servers, worker_types=wide)
    prices = ContainerPrices(np.array([0, 3, 4]), np.array([[5.0, 1.0], [0.5, 0.0]]))
    np.testing.assert_allclose(surcharge(instance, prices), [[0, 0], [3, 2 / 3]])
    np.testing.assert_allclose(
        guide(instance, prices).upto, [[0, 5, 10, 15, 16], [0, 3.5, 7, 10.5, 10.5 + 2 / 3]]
    )


def test_lp_guided_uses_its_time_or_says_why() -> None:
    """Its bound of 38 lies below the optimum, 39: only the time, or the moves, end the search."""
    instance = STOPPED["ring"]

    def ended(clock: Clock, **settings: int) -> dict[str, Any]:
        method = BY_NAME["lp-guided"]
        call = RunContext(method.parse(settings), "highs", Budget(clock), Record())
        outcome = FAMILY.run(method, instance, call)
        assert outcome.certificate is not None
        proved = check_certificate(instance, outcome.certificate)
        assert math.ceil(proved - 1e-6) == outcome.bound <= 39  # all values are integers
        found: dict[str, Any] = outcome.trace["search"]
        return found

    long = ended(StopAt(500))
    assert long["end"] == "out of time"
    assert ended(StopAt(10**9), moves=5)["end"] == "5 moves for each job"


@pytest.mark.parametrize("name", BY_NAME)
def test_a_long_closed_horizon_is_not_held_in_memory(name: str) -> None:
    instance = instance_of(
        [slots(2), slots(2)], servers=ONE_GPU, horizon=10**8, horizon_policy="closed"
    )
    assert run(name, instance).schedule is not None


@pytest.mark.parametrize(
    ("unit", "room", "workers"),
    [(0.16539539173060225, 0.4961851751918065, 3), (134963096154.25784, 944741673079.8043, 7)],
)
def test_a_worker_that_nearly_fits_is_not_counted(unit, room, workers):
    """Server s1 has room for all but 10^-6 of the last worker, and is updated once by j1."""
    instance = instance_of(
        [
            {"weight": 100, "epochs": 4, "train_time": {"w2": 1}, "update_time": 0},
            {"weight": 100, "epochs": 10, "train_time": {"w3": 1}, "update_time": 0},
            {"epochs": 3, "chunks": workers, "gradient_size": 1e6, "train_time": {"w1": 1},
             "update_time": 0},
        ],
        architecture="ring_allreduce",
        horizon=400,
        resources=["gpu", "tpu", "mem", "bandwidth"],
        servers=[
            {"id": "s1", "capacity": {"gpu": 1, "mem": room, "bandwidth": 1000}},
            {"id": "s2", "capacity": {"tpu": 1, "mem": (workers + 0.03) * unit, "bandwidth": 1000}},
        ],
        worker_types=[
            {"id": "w1", "demand": {"mem": unit, "bandwidth": 1}},
            {"id": "w2", "demand": {"gpu": 1, "bandwidth": 1}},
            {"id": "w3", "demand": {"tpu": 1, "mem": unit, "bandwidth": 1}},
        ],
    )  # fmt: skip
    found = BY_NAME["wspt-list"].run(instance, RunContext({}, None, Budget(), Record()))
    assert list(rules.check(instance, found.schedule.to_data(instance), {})) == []
