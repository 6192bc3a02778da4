"""G1-G4: the dual value of a round, sums of completions, why no ratio, and what prices close."""

import pytest
from hypothesis import given, settings

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge import rules
from schedgap.models.edge.algorithms.a_maxsche import (
    VARIANTS,
    Network,
    RoundPlacements,
    reveal,
    serve_round,
)
from schedgap.models.edge.algorithms.a_online import JobStream, OnlineSchedule, a_online, run_rounds
from schedgap.models.edge.algorithms.guarantees import (
    dual_value,
    exact_batches,
    least_volume,
    no_guarantee,
)
from strategies.edge import best_schedule, brute_force, edge_instances, instance_of
from strategies.edge_examples import TOY_A, TOY_B, TOY_BATCH, TOY_C


def by_enumeration(instance: EdgeInstance) -> OnlineSchedule:
    """A_online with the most jobs in every batch, found by enumeration."""

    def serve(batch, tau: int) -> RoundPlacements:
        jobs = [each.data.model_dump(exclude_unset=True) for each in batch]
        data = instance.to_data() | {"jobs": jobs, "batch_round": tau.bit_length()}
        return RoundPlacements(best_schedule(EdgeInstance.from_data(data))[1].placements)

    return run_rounds(JobStream(instance), instance.horizon, serve)


def completions(instance: EdgeInstance, schedule) -> int:
    return sum(schedule.completion(job.id) for job in instance.jobs)


def _check_g2(instance: EdgeInstance) -> None:
    """Hold G2 to an instance with a slot more of delay, and the least horizon that G2 needs."""
    data = instance.to_data()
    for job in data["jobs"]:
        job["transfer_delay"] = {s: delay + 1 for s, delay in job["transfer_delay"].items()}
    _, reference = best_schedule(EdgeInstance.from_data(data))
    if reference is None:
        return
    last = max(reference.completion(job.id) for job in instance.jobs)
    longer = EdgeInstance.from_data(data | {"horizon": 4 * last})
    said = exact_batches(longer, reference)
    assert said["holds"]
    run = by_enumeration(longer)
    assert not run.left, "a round is left for every job"
    assert rules.objective(longer, run.schedule.to_data(longer)) <= said["limit"]
    assert completions(longer, run.schedule) <= 4 * completions(longer, reference)


@given(edge_instances(max_jobs=3, horizon=(12, 20), placeable=True))
@settings(max_examples=40, deadline=None)
def test_exact_batches_keep_the_sum_of_completions_within_4(instance: EdgeInstance) -> None:
    _check_g2(instance)


@pytest.mark.nightly
@given(edge_instances(max_jobs=4, horizon=(12, 30), placeable=True))
@settings(max_examples=1000, deadline=None)
def test_exact_batches_keep_the_sum_of_completions_within_4_at_length(
    instance: EdgeInstance,
) -> None:
    _check_g2(instance)


def test_what_g2_asks_for() -> None:
    """toy-a in T = 16: its optimum ends in slot 4, 16 >= 4 x 4; least delay 1 and one slot: 2."""
    _, reference = best_schedule(TOY_A)
    said = exact_batches(TOY_A, reference)
    assert said["holds"] and said["factor"] is None
    assert said["limit"] == 4 * 5 + 3 * (1 + 1 + 2)
    assert not exact_batches(TOY_A)["holds"]  # nothing is known of when the optimum ends
    short = EdgeInstance.from_data(TOY_A.to_data() | {"horizon": 15})
    assert exact_batches(short, reference)["failed"] == ["horizon 15 >= 4 times the last slot 4"]
    quick = instance_of([{"transfer_delay": {"edge-1": 0, "edge-2": 1, "cloud": 3}}])
    assert exact_batches(quick, best_schedule(quick)[1])["failed"] == [
        "least delay + duration of job j1 >= 2; it is 1"
    ]


@pytest.mark.parametrize("length", [8, 16, 32])
def test_no_constant_holds_for_the_flow(length: int) -> None:
    """G3, against every variant: one long job, then a job of one slot in every slot.

    One worker, no delay. The optimum runs the long job at once (length - 1) and each short one in
    its slot of arrival (0). Online the long one starts after its first tau >= length, so all the
    short ones wait for it: at least a slot each, and most of them about `length`.
    """
    server = {"id": "s", "kind": "edge", "workers": {"gpu": 1}, "parameter_servers": {"cpu": 1}}
    short = [{"arrival": length + 1 + k, "transfer_delay": {"s": 0}} for k in range(length)]
    long = {"minibatches_per_chunk": length, "transfer_delay": {"s": 0}}
    instance = instance_of([long, *short], servers=[server], horizon=64 * length)
    run = a_online(instance, variant="a-online-any")
    assert not run.trace["left"]
    value = rules.objective(instance, run.schedule.to_data(instance))
    # The long job runs in length + 1..2 length, short ones after it: k arrives at length + 1 + k.
    # It ends no earlier than 2 length + 1 + k.
    assert run.schedule.completion("j1") == 2 * length
    assert value >= 2 * length - 1 + length * length
    optimum = length - 1
    assert value / optimum > length


@given(edge_instances(max_jobs=4, batch=True))
@settings(max_examples=21, deadline=None)
def test_the_final_prices_bound_what_a_round_can_run(instance: EdgeInstance) -> None:
    """G1: optimum of (3) <= dual value <= all jobs, with and without prices."""
    tau = instance.window[0] - 1
    jobs = [reveal(instance, j) for j, job in enumerate(instance.jobs) if instance.may_run(job)]
    optimum = brute_force(instance)
    for name in ("a-online", "a-online-any", "a-online-no-price"):
        variant = VARIANTS[name]
        served, round_prices = serve_round(Network.of(instance, variant), jobs, tau, variant)
        assert len(served.placements) <= optimum
        bound = dual_value(instance, round_prices)
        assert bound is None or optimum - 1e-9 <= bound <= len(jobs)


def test_the_dual_value_of_a_full_server() -> None:
    """One worker, one PS, slots 5-8; F such that prices of a taken unit are 1/8: theta = 1.125.

    j1 takes all four slots at 1/8 for worker and PS each: sum lam W + sum mu P = 1. j2, 4 slots as
    well, costs 1: eta = 0; j1 the same. The dual value is 1, the optimum.
    """
    server = {"id": "s", "kind": "edge", "workers": {"gpu": 1}, "parameter_servers": {"cpu": 1}}
    cap = 0.125 / (2 * 16)
    instance = instance_of(
        [{"minibatches_per_chunk": 4}] * 2,
        servers=[server],
        price_caps={"worker": cap, "parameter_server": cap},
        batch_round=3,
    )
    variant = VARIANTS["a-online"]
    jobs = [reveal(instance, j) for j in range(2)]
    served, round_prices = serve_round(Network.of(instance, variant), jobs, 4, variant)
    assert list(served.placements) == ["j1"]
    assert dual_value(instance, round_prices) == pytest.approx(1.0)


def test_prices_that_are_too_large_prove_nothing() -> None:
    huge = EdgeInstance.from_data(
        TOY_BATCH.to_data() | {"price_caps": {"worker": 1e12, "parameter_server": 1e12}}
    )
    variant = VARIANTS["a-online"]
    jobs = [reveal(huge, j) for j in range(3)]
    _, round_prices = serve_round(Network.of(huge, variant), jobs, 4, variant)
    assert dual_value(huge, round_prices) is None


def test_a_job_weighs_less_than_it_takes() -> None:
    """toy-b: four workers and the PS for a slot, 5 units, one for four slots 8, two for two 6."""
    assert least_volume(TOY_B) == 5
    assert least_volume(TOY_C) == 2  # a worker and a PS for one slot: never below
    said = no_guarantee(TOY_B)
    assert said["factor"] is None and not said["holds"]
    assert said["failed"] == [
        "the weight of a job is at least its volume; they are 1 and 5 units",
        "every server has log2 theta = 6.02 workers; one has 2",
        "every server has log2 theta = 6.02 PSs; one has 1",
    ]


def test_one_worker_closes_a_server() -> None:
    """theta = 32 F + 1: on 2 workers the next job of one worker-slot costs theta^(1/2) - 1.

    With (1 + 1/1)^2 = theta that is 1, its weight: F = 3 / 32. A little less F lets it in.
    """
    servers = [{"id": "s", "kind": "edge", "workers": {"gpu": 2}, "parameter_servers": {"cpu": 2}}]
    for factor, both in ((0.999, True), (1.001, False)):
        cap = factor * 3 / 32  # 2 T S U = 32
        instance = instance_of(
            [{}, {}], servers=servers, price_caps={"worker": cap, "parameter_server": 1e-9}
        )
        starts = [run.start for run in a_online(instance).schedule.placements.values()]
        assert starts == ([5, 5] if both else [5, 9])


def test_a_roomy_server_stays_open() -> None:
    servers = [
        {"id": "s", "kind": "cloud", "workers": {"gpu": 128}, "parameter_servers": {"cpu": 128}}
    ]
    instance = instance_of([{}], servers=servers)
    assert no_guarantee(instance)["failed"] == [
        "the weight of a job is at least its volume; they are 1 and 2 units"
    ]
