"""A_online and A_maxsche: toys worked out by hand, readiness, ties, leftovers, and no peeking."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.errors import ContradictionError, ScaleError
from schedgap.instances.edge import EdgeInstance, Placement
from schedgap.instances.generate import generate
from schedgap.models.edge.algorithms.a_maxsche import (
    VARIANTS,
    Network,
    RevealedJob,
    RoundPlacements,
    Variant,
    reveal,
    serve_round,
    variant_of,
)
from schedgap.models.edge.algorithms.a_online import (
    JobStream,
    PlannedRound,
    a_online,
    run_rounds,
)
from schedgap.models.edge.algorithms.prices import price_scale
from strategies.edge import edge_instances, instance_of
from strategies.edge_examples import TOY_A, TOY_B, TOY_BATCH, TOY_C


def runs(instance: EdgeInstance, name: str) -> dict[str, tuple[int, int, dict[str, int]]]:
    """First and last slot, and workers by server."""
    found = a_online(instance, variant=name).schedule.placements
    return {job: (run.start, run.completion, dict(run.workers)) for job, run in found.items()}


ONE, TWO, FOUR = {"edge-1": 1}, {"edge-1": 2}, {"cloud": 4}


def test_toy_a_takes_the_fewest_workers_and_waits() -> None:
    """theta1 = 2 x 16 x 3 x 1 x 1 + 1 = 97; the edge servers are ready in slot 2.

    Round tau = 2 (slots 3-4): ready 2 < 2 fails, nobody can run. Round tau = 4 (5-8), all prices 0:
    j1, 4 worker-slots colocated, takes one worker on edge-1 for 4 slots; there a worker now costs
    97^(1/2) - 1 = 8.8 a slot and the PS 96: closed. j2 the same on edge-2. j3 finds edge servers
    closed, and the cloud is ready in slot 5. Round 8: j3 in slot 9 on edge-1.
    (8 - 1) + (8 - 1) + (9 - 2) = 21.
    """
    assert runs(TOY_A, "a-online") == {
        "j1": (5, 8, ONE), "j2": (5, 8, {"edge-2": 1}), "j3": (9, 9, ONE),
    }  # fmt: skip
    assert price_scale(TOY_A) == (96.0, 96.0)


def test_toy_a_other_variants() -> None:
    """Earliest end first: two workers for two slots. From tau = 2 on where a start in 3 counts."""
    assert runs(TOY_A, "a-online-earliest") == {
        "j1": (5, 6, TWO), "j2": (5, 6, {"edge-2": 2}), "j3": (9, 9, ONE),
    }  # fmt: skip
    # j3 arrives in slot 2: not before tau = 2. In round 4 all servers are free.
    early = {"j1": (3, 4, TWO), "j2": (3, 4, {"edge-2": 2}), "j3": (5, 5, ONE)}
    assert runs(TOY_A, "a-online-any") == early
    assert runs(TOY_A, "a-online-model") == early  # one worker does not end in a round of 2 slots


def test_toy_b() -> None:
    """Work 4 colocated, 4.4 split; edge-1 is ready in slot 2, the cloud in 4.

    Round 4: j1 alone on edge-1, (5, 8); its one PS is gone, and the cloud is not ready *before* 4.
    Round 8 (9-16), all free: fewest workers are one for 4 slots; j2 on edge-1 (9, 12), j3 on the
    cloud. 7 + 11 + 11 = 29.
    """
    assert runs(TOY_B, "a-online") == {
        "j1": (5, 8, ONE), "j2": (9, 12, ONE), "j3": (9, 12, {"cloud": 1}),
    }  # fmt: skip
    assert runs(TOY_B, "a-online-earliest") == {
        "j1": (5, 6, TWO), "j2": (9, 9, FOUR), "j3": (9, 10, TWO),
    }  # fmt: skip
    # Slot 4 is in the round of tau = 2 and the cloud is ready in it, though not when it starts.
    assert runs(TOY_B, "a-online-any") == {
        "j1": (3, 4, TWO), "j2": (4, 4, FOUR), "j3": (5, 5, FOUR),
    }  # fmt: skip
    # At tau = 2 j1 on edge-1 in 3-4; at 4 one worker each: edge-1 and cloud to 8.
    assert runs(TOY_B, "a-online-model") == {
        "j1": (3, 4, TWO), "j2": (5, 8, ONE), "j3": (5, 8, {"cloud": 1}),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["a-online", "a-online-earliest", "a-online-no-price"])
def test_toy_c_has_no_round_left_for_the_second_job(name: str) -> None:
    """j1 fills round 4 (5-8); tau = 8 is T, so j2 is left over."""
    found = a_online(TOY_C, variant=name)
    assert runs(TOY_C, name) == {"j1": (5, 8, ONE)}
    assert found.trace["left"] == ["j2"]
    for variant in ("a-online-model", "a-online-any"):
        assert runs(TOY_C, variant) == {"j2": (3, 3, ONE), "j1": (5, 8, ONE)}


def test_prices_off_admit_by_capacity_alone() -> None:
    """j1 takes edge-1 whole in 5-6 and j2 edge-2; in slot 7 on there is room, but a round starts
    all its jobs at its beginning: j3 waits for round 8. (6-1) + (6-1) + (9-2) = 17."""
    assert runs(TOY_A, "a-online-no-price") == runs(TOY_A, "a-online-earliest")
    roomy = [
        {"id": "edge-1", "kind": "edge", "workers": {"gpu": 4}, "parameter_servers": {"cpu": 3}}
    ]
    instance = instance_of([{}, {}, {}], servers=roomy)
    assert runs(instance, "a-online-no-price") == {f"j{n}": (5, 5, ONE) for n in (1, 2, 3)}
    # With prices the second worker costs 33^(1/4) - 1 = 1.4 > 1: one job a round.
    assert [run[0] for run in runs(instance, "a-online").values()] == [5, 9]
    assert a_online(instance).trace["left"] == ["j3"]


def test_a_lower_price_cap_lets_more_jobs_in() -> None:
    """theta1 = 2 x 16 x 1 x F + 1 with F = 1e-3: 1.032; a worker costs 1.032^(1/4) - 1 = 0.008."""
    roomy = [
        {"id": "edge-1", "kind": "edge", "workers": {"gpu": 4}, "parameter_servers": {"cpu": 3}}
    ]
    caps = {"worker": 1e-3, "parameter_server": 1e-3}
    instance = instance_of([{}, {}, {}], servers=roomy, price_caps=caps)
    assert runs(instance, "a-online") == {f"j{n}": (5, 5, ONE) for n in (1, 2, 3)}


def test_a_batch_file() -> None:
    """toy-b's jobs in slots 5-8: j1 closes edge-1, and the cloud is ready in 4, not before."""
    for name, served in (("a-online", ["j1"]), ("a-online-model", ["j1", "j2"])):
        variant = VARIANTS[name]
        jobs = [reveal(TOY_BATCH, j) for j in range(3)]
        found, _ = serve_round(Network.of(TOY_BATCH, variant), jobs, 4, variant)
        assert list(found.placements) == served
    # At any start as quick as can be: edge-1 in 5-6, the cloud in 5, and again in 6.
    variant = VARIANTS["a-online-any"]
    found, _ = serve_round(Network.of(TOY_BATCH, variant), jobs, 4, variant)
    spans = [(run.start, run.completion) for run in found.placements.values()]
    assert spans == [(5, 5), (5, 6), (6, 6)]


def test_jobs_carried_over_keep_their_place() -> None:
    """One worker; j1 and j2 arrive in 1, j3 in 2. Each round takes one: j1, j2, then j3."""
    server = [
        {"id": "edge-1", "kind": "edge", "workers": {"gpu": 1}, "parameter_servers": {"cpu": 1}}
    ]
    jobs = [{"arrival": 2}, {"arrival": 1}, {"arrival": 1}]
    found = runs(instance_of(jobs, servers=server, horizon=64), "a-online")
    assert {name: run[0] for name, run in found.items()} == {"j2": 5, "j3": 9, "j1": 17}


class ByTau(JobStream):
    """The jobs of a round are those that have arrived by tau_i, as in the text on elastic jobs."""

    def until(self, time: int) -> list[RevealedJob]:
        return super().until(time + 1)


@pytest.mark.parametrize("variant", ["a-online", "a-online-printed"])
def test_a_job_that_arrives_at_tau_waits_for_the_next_round_in_both_readings(variant: str) -> None:
    at_tau = 0
    for seed in range(5):
        instance = generate("edge", preset="small", seed=seed, settings={"jobs": 12})
        chosen = variant_of(variant)
        network = Network.of(instance, chosen)
        found = run_rounds(
            ByTau(instance),
            instance.horizon,
            lambda batch, tau: serve_round(network, batch, tau, chosen)[0],  # noqa: B023
        )
        arrivals = {job.id: job.arrival for job in instance.jobs}
        at_tau += sum(arrivals[name] == each.tau for each in found.rounds for name in names(each))
        assert found.schedule == a_online(instance, variant=variant).schedule
    assert at_tau  # there are such jobs


def names(planned: PlannedRound) -> list[str]:
    return [job.data.id for job in planned.batch]


def test_a_job_longer_than_every_round_never_runs() -> None:
    """16 slots with one worker; rounds of 2, 4, 8 slots in T = 16, in T = 64 one of 16."""
    job = {"minibatches_per_chunk": 16}
    assert a_online(instance_of([job], horizon=31)).trace["left"] == ["j1"]
    assert runs(instance_of([job], horizon=32), "a-online") == {"j1": (17, 32, ONE)}


def test_a_late_arrival_is_left_over() -> None:
    """tau = 8 < 16 = T is the last round: arrival 7 is before it, arrival 8 is not."""
    found = a_online(
        instance_of([{"arrival": 7}, {"arrival": 8}], horizon=16), variant="a-online-any"
    )
    assert list(found.schedule.placements) == ["j1"] and found.trace["left"] == ["j2"]


def test_a_long_horizon_costs_nothing() -> None:
    """T = 10^9 has thirty rounds; only as many slots are priced as the jobs can fill."""
    found = a_online(instance_of([{"arrival": 1}, {"arrival": 9 * 10**8}], horizon=10**9))
    assert [run.start for run in found.schedule.placements.values()] == [5]
    assert found.trace["left"] == ["j2"]
    found = a_online(
        instance_of([{"arrival": 1}, {"arrival": 3 * 10**8}], horizon=10**9), variant="a-online-any"
    )
    assert [run.start for run in found.schedule.placements.values()] == [3, 2**29 + 1]


def test_a_job_of_a_thousand_million_chunks_costs_nothing() -> None:
    """Modes are few; only the printed algorithm tries every number of workers, and says so."""
    servers = [
        {"id": "cloud", "kind": "cloud", "workers": {"gpu": 10**9}, "parameter_servers": {"cpu": 1}}
    ]
    job = {"chunks": 10**9, "compute_seconds": 3600 / 10**9}
    instance = instance_of([job], servers=servers)
    assert runs(instance, "a-online") == {"j1": (9, 9, {"cloud": 1})}  # ready in 4, not before
    with pytest.raises(ScaleError, match="job j1 may have 1 to 1000000000 workers"):
        a_online(instance, variant="a-online-printed")


def test_jobs_are_handed_out_at_their_arrival() -> None:
    arrivals = JobStream(TOY_A)
    assert [each.data.id for each in arrivals.until(1)] == ["j1", "j2"]
    assert not arrivals.all_here()
    assert [each.data.id for each in arrivals.until(2)] == ["j3"]
    assert arrivals.all_here()


def test_who_looks_ahead_can_no_longer_start_before() -> None:
    arrivals = JobStream(TOY_A)
    arrivals.until(5)
    with pytest.raises(ContradictionError, match="clock stands at 5"):
        arrivals.until(4)

    def in_the_past(batch, tau) -> RoundPlacements:
        return RoundPlacements(
            {each.data.id: Placement(1, 1, {"edge-1": 1}, "edge-1") for each in batch}
        )

    with pytest.raises(ContradictionError, match="slot 1, decided at time 1"):
        run_rounds(JobStream(TOY_A), 16, in_the_past)


@given(edge_instances(max_jobs=4, horizon=(6, 20)), st.data())
@settings(max_examples=18, deadline=None)
def test_decisions_do_not_depend_on_later_jobs(instance: EdgeInstance, data: st.DataObject) -> None:
    """Jobs that arrive after some time are changed or dropped; rounds up to then stay the same."""
    time = data.draw(st.integers(1, instance.horizon))
    plain = instance.to_data()
    later = [
        {**job, "epochs": 1, "chunks": 1, "gradient_megabytes": 1.0}
        for job in plain["jobs"]
        if job["arrival"] > time
    ]
    kept = [job for job in plain["jobs"] if job["arrival"] <= time]
    jobs = kept + later[data.draw(st.integers(0, len(later))) :]
    if not jobs:
        return
    changed = EdgeInstance.from_data(plain | {"jobs": jobs})
    for name in VARIANTS:
        early = [
            {
                job: found.schedule.placements[job]
                for each in found.trace["rounds"]
                if each["tau"] <= time + 1
                for job in each["served"]
            }
            for found in (a_online(one, variant=name) for one in (instance, changed))
        ]
        assert early[0] == early[1]


@pytest.mark.parametrize("name", VARIANTS)
@given(instance=edge_instances(max_jobs=4, horizon=(6, 40)))
@settings(max_examples=12, deadline=None)
def test_rounds_do_not_meet_and_nobody_is_lost(name: str, instance: EdgeInstance) -> None:
    found = a_online(instance, variant=name)
    placed = found.schedule.placements
    left = found.trace["left"]
    assert {*placed, *left} == {job.id for job in instance.jobs}
    assert len(placed) + len(left) == len(instance.jobs)
    for each in found.trace["rounds"]:
        tau = each["tau"]
        for job in each["served"]:
            assert tau < placed[job].start
            assert placed[job].completion <= min(2 * tau, instance.horizon)
            assert next(one.arrival for one in instance.jobs if one.id == job) < tau


def _first_of(network: Network, variant: Variant, batch: Any, tau: int) -> Any:
    return serve_round(network, batch, tau, variant)[0]


@given(edge_instances(max_jobs=4, horizon=(8, 24), placeable=True))
@settings(max_examples=27, deadline=None)
def test_dominated_numbers_of_workers_change_nothing(instance: EdgeInstance) -> None:
    """Algorithm 2 tries every number of workers; those that are no quicker never win."""
    for name in ("a-online", "a-online-earliest", "a-online-any"):
        every = _EveryNumber(instance)
        variant: Variant = VARIANTS[name]
        network = Network.of(instance, variant)
        round_of = partial(_first_of, network, variant)
        found = run_rounds(every, instance.horizon, round_of)
        assert found.schedule == a_online(instance, variant=name).schedule


class _EveryNumber(JobStream):
    """Jobs with all numbers of workers for modes."""

    def until(self, time: int) -> list[RevealedJob]:
        return [replace(each, modes=each.every_number) for each in super().until(time)]
