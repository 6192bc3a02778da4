"""A_online and A_dual: by hand, by the rules, and that nobody peeks."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.errors import ContradictionError
from schedgap.instances.elastic import ElasticInstance, Job
from schedgap.instances.generate import generate
from schedgap.models.elastic import rules
from schedgap.models.elastic.algorithms.a_maxweight import batch_of, constants
from schedgap.models.elastic.algorithms.a_online import (
    ElasticArrivals,
    OnlineSettings,
    a_dual,
    a_online,
    serve_rounds,
)
from schedgap.models.elastic.algorithms.guarantees import lemma_1
from schedgap.models.elastic.algorithms.pricing import PricedServers
from schedgap.models.elastic.bounds.dual_prices import batch_problem, weight_bound
from schedgap.models.elastic.modes import ElasticCluster, Mode, cluster, job_modes, modes
from strategies.elastic import brute_force, elastic_instances
from strategies.elastic_examples import RING, TOY, theorem_1
from strategies.elastic_online import run_online


def value(instance: ElasticInstance, **options: Any) -> float:
    found: float = a_online(instance, **options).schedule.value(instance)
    return found


def test_the_toy_by_hand() -> None:
    """tau = 2: j2 fits, j1 does not; j2 starts in slot 4 x 2 + 1 = 9, c = 10. tau = 4: j1, d = 3,
    from slot 17 on, c = 20. 5 x 10 + 3 x 20 = 110; the optimum is 27."""
    found = run_online(TOY)
    assert found.schedule.value(TOY) == 110
    assert [(each.tau, each.base) for each in found.rounds] == [(2, 8), (4, 16)]
    first = {"tau": 2, "base": 8, "batch": ["j1", "j2"], "windows": [["j2"]]}
    assert a_online(TOY).trace["rounds"][0].items() >= first.items()


def test_alpha_one_and_the_compact_variant_by_hand() -> None:
    """Starts 3 and 5: 5 x 4 + 3 x 8 = 44. Compact: base 2, end 4; base max(4, 4) = 4: the same."""
    assert value(TOY, alpha=1) == 44
    assert value(TOY, compact=True) == 44


def test_alpha_of_the_theorem() -> None:
    """alpha = 20: starts 41 and 81, 5 x 42 + 3 x 84 = 462; repaired 21: 43, 85: 220 + 264."""
    assert value(TOY, alpha="theory") == 462
    assert value(TOY, alpha="theory-repaired") == 484


def test_the_ring_by_hand() -> None:
    """tau = 8 is the first above d = 4; zero prices: N = 1 comes first in Algorithm 6, d = 6, and
    fits: slots 33-38, c = 39."""
    found = run_online(RING)
    run = found.schedule.placements["j1"]
    assert (run.start, run.duration, run.workers) == (33, 6, {"s1": 1})
    assert found.schedule.value(RING) == 39


def test_the_mended_algorithm_4_ends_where_it_misses_a_placement() -> None:
    """Example C with a small server B: two workers only with one on each server, the PS on B.

    Exact: tau = 2, d = 1, start 4 x 2 + 1 = 9, c = 10. Greedy placements miss it; one worker with
    the PS on B takes 2 slots: tau = 4, start 17, c = 19.
    """
    small = theorem_1(gpu=1, cpu=1, bandwidth=2)
    assert value(small) == 10
    found = run_online(small, placement="repaired")
    assert found.schedule.value(small) == 19
    assert [(each.tau, len(each.windows)) for each in found.rounds] == [(2, 0), (4, 1)]
    assert lemma_1(found.rounds, 4)["short"] == [2]


def test_modes_can_be_restricted() -> None:
    """One worker: j2 needs 2 slots, j1 6. tau = 4: j2 in slot 17, c = 19; tau = 8: 33, c = 39."""

    def single(view: ElasticCluster, job: Job) -> tuple[Mode, ...]:
        return tuple(mode for mode in job_modes(view, job) if mode.workers == 1)

    run = a_online(TOY, modes_of=single)
    assert run.schedule.value(TOY) == 5 * 19 + 3 * 39
    assert run.trace["kappa"] == pytest.approx(10 / 3)  # j1 central, 6 (11/12 + 3/4), by 3


def test_windows_of_a_batch_follow_each_other() -> None:
    """Jobs that need the whole of both servers for 3 slots: one window of 4 slots for each two."""
    data = TOY.to_data()
    job = data["jobs"][0] | {"arrival": 1}
    jobs = [job | {"id": f"j{n}"} for n in range(5)]
    instance = ElasticInstance.from_data(data | {"jobs": jobs})
    found = run_online(instance)
    assert [[len(w.served) for w in each.windows] for each in found.rounds] == [[2, 2, 1]]
    starts = sorted(found.schedule.placements[job["id"]].start for job in jobs)
    assert starts == [17, 17, 21, 21, 25]
    # With alpha = 1 the rest waits for the next rounds, of 8 and 16 slots.
    found = run_online(instance, alpha=1)
    assert [each.tau for each in found.rounds] == [4, 8]


def test_compact_rounds_wait_for_the_windows_of_the_round_before() -> None:
    """Five jobs as above and one of arrival 5: windows end with slots 8, 12, 16; it starts in 17,
    not in slot 9, where its time tau = 8 has come but the servers are full."""
    data = TOY.to_data()
    job = data["jobs"][0] | {"arrival": 1}
    jobs = [job | {"id": f"j{n}"} for n in range(5)] + [job | {"id": "late", "arrival": 5}]
    found = run_online(ElasticInstance.from_data(data | {"jobs": jobs}), compact=True)
    starts = {name: run.start for name, run in found.schedule.placements.items()}
    assert sorted(starts[job["id"]] for job in jobs[:5]) == [5, 5, 9, 9, 13]
    assert starts["late"] == 17


def test_a_dual_stops_when_nothing_more_fits() -> None:
    """In windows of two slots only j2 can ever be served, whatever alpha."""
    view, jobs = batch_of(TOY)
    windows = a_dual(jobs, 2, OnlineSettings(view, constants(TOY), alpha=50))
    assert [[each.job.id for each, _ in window.served] for window in windows] == [["j2"]]


def test_jobs_are_handed_out_at_their_arrival() -> None:
    arrivals = ElasticArrivals(TOY)
    assert [each.job.id for each in arrivals.until(1)] == ["j1"]
    assert not arrivals.all_here()
    assert [each.job.id for each in arrivals.until(2)] == ["j2"]
    assert arrivals.all_here()


def test_the_strict_reading_of_a_batch_changes_most_values() -> None:
    """j2 arrives in slot 2, not before tau = 2: both jobs start in slot 17, c = 20 and 18."""
    assert value(TOY, batch="before") == 3 * 20 + 5 * 18
    differ = 0
    for seed in range(10):
        instance = generate("elastic", preset="small", seed=seed)
        strict = a_online(instance, batch="before")
        arrival = {job.id: job.arrival for job in instance.jobs}
        for each in strict.trace["rounds"]:
            assert all(arrival[name] < each["tau"] for name in each["batch"])
        differ += strict.schedule.value(instance) != value(instance)
    assert differ > 5


def test_who_looks_ahead_can_no_longer_start_before() -> None:
    arrivals = ElasticArrivals(TOY)
    arrivals.until(5)
    with pytest.raises(ContradictionError, match="clock stands at 5"):
        arrivals.until(4)
    offer = PricedServers.empty(cluster(TOY), 9).cheapest_at(modes(TOY, 0)[0], 1)
    assert offer is not None
    assert arrivals.start(offer, 5).start == 6
    with pytest.raises(ContradictionError, match="slot 5, decided at time 5"):
        arrivals.start(offer, 4)


COMPLETION = {"objective": "weighted_completion", "placeable": True}


@given(elastic_instances(max_jobs=4, **COMPLETION), st.data())
@settings(max_examples=15, deadline=None)
def test_decisions_do_not_depend_on_later_jobs(
    instance: ElasticInstance, data: st.DataObject
) -> None:
    """Jobs that arrive after some time are changed; rounds up to then stay as they are."""
    time = data.draw(st.integers(1, 4))
    other = data.draw(elastic_instances(max_jobs=4, objective="weighted_completion"))
    plain = instance.to_data()
    later = [
        {**job, "weight": 7.0, "epochs": 5, "chunks": 1, "gradient_size": 3.0}
        for job in plain["jobs"]
        if job["arrival"] > time
    ]
    jobs = [job for job in plain["jobs"] if job["arrival"] <= time] + later[: len(other.jobs)]
    changed = ElasticInstance.from_data(plain | {"jobs": jobs})
    const = constants(instance)
    for compact in (False, True):
        runs = [
            serve_rounds(
                ElasticArrivals(each), OnlineSettings(cluster(each), const, compact=compact)
            )
            for each in (instance, changed)
        ]
        early = [
            {
                name: schedule.placements[name]
                for each in rounds
                if each.tau <= time
                for window in each.windows
                for name in (arrived_job.job.id for arrived_job, _ in window.served)
            }
            for schedule, rounds in runs
        ]
        assert early[0] == early[1]


@given(
    elastic_instances(max_jobs=3, objective="weighted_completion", policy="open", placeable=True)
)
@settings(max_examples=9, deadline=None)
def test_schedules_are_valid_and_keep_what_lemma_1_certifies(instance: ElasticInstance) -> None:
    optimum = brute_force(instance)
    for options in ({}, {"compact": True}, {"alpha": 2, "placement": "repaired", "tie": "volume"}):
        found = run_online(instance, **options)
        plain = found.schedule.to_data(instance)
        assert list(rules.check(instance, plain, {})) == []
        objective = rules.objective(instance, plain)
        assert objective >= optimum - 1e-9
        alpha = options.get("alpha", 4)
        bounds = {id(each): weight_bound(instance, each) for each in found.rounds}
        certificate = lemma_1(
            found.rounds, alpha, upper=lambda each, bounds=bounds: bounds[id(each)]
        )
        if certificate["certified"]:
            assert objective <= 4 * alpha * optimum + 1e-9
        for each in found.rounds:
            problem = batch_problem(instance, each.batch, each.tau)
            assert bounds[id(each)] >= brute_force(problem) - 1e-9
        # No completion is later than alpha tau_{i+1} = 2 alpha tau_i, compact or not.
        for each in found.rounds:
            assert each.windows or options.get("placement") == "repaired"
            for window in each.windows:
                for arrived_job, _ in window.served:
                    run = found.schedule.placements[arrived_job.job.id]
                    assert each.base < run.start and run.end <= 2 * alpha * each.tau
        assert objective >= value(instance, **options | {"compact": True}) - 1e-9
