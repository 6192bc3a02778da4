"""The baselines of family `elastic` on small cases by hand, and on random ones by the rules."""

from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.errors import UsageError
from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic import FAMILY, rules
from schedgap.models.elastic.methods import METHODS
from schedgap.models.elastic.modes import modes
from schedgap.models.method import Budget, MethodResult, RunContext, check_instance
from strategies.elastic import elastic_instances, instance_of
from strategies.elastic_examples import BATCH, RING, TOY

BY_NAME = {method.name: method for method in METHODS if method.kind == "baseline"}
OVER_TIME = [name for name in BY_NAME if name != "deadline-greedy"]
PREEMPTIVE = ["antman", "tiresias"]
ONE_GPU = [{"id": "s1", "capacity": {"gpu": 1, "cpu": 8, "bandwidth": 6}}]


class Silence:
    """Progress that nobody watches."""

    def incumbent(self, schedule: Any, objective: float) -> None: ...

    def bound(self, value: float, certificate: object = None, **more: object) -> None: ...

    def phase(self, text: str) -> None: ...


def run(name: str, instance: ElasticInstance, seed: int = 0, **options: object) -> MethodResult:
    method = BY_NAME[name]
    check_instance(instance, method)
    return FAMILY.run(
        method, instance, RunContext(method.parse(options), None, Budget(seed=seed), Silence())
    )


def value(instance: ElasticInstance, outcome: MethodResult) -> float:
    data = outcome.schedule.to_data(instance)
    assert list(rules.check(instance, data, {})) == []
    return rules.objective(instance, data)


def segments(instance: ElasticInstance, outcome: MethodResult) -> dict[str, list[tuple[int, int]]]:
    value(instance, outcome)
    return {
        job.id: [(run.start, run.duration) for run in outcome.schedule.segments(job.id)]
        for job in instance.jobs
    }


def slots(count: int, **fields: Any) -> dict[str, Any]:
    """Return a job that takes one worker so many slots."""
    times = {"train_time": {"w1": 1}, "update_time": {"p1": 0}}
    return {"batches_per_chunk": count, **times, **fields}


def test_the_toy() -> None:
    """j1 is quickest (3 slots) with 2 workers on one server, j2 (1 slot) with 2 as well.

    fifo with 8 workers is cut to what fits: 3 workers of j1 on two servers, 4 slots, slots 1-4;
    then 1 GPU is left, j2 wants 2, so it starts in slot 5 and c = 6: 3 x 5 + 5 x 6 = 45. With 2
    workers all is as in the optimum, 27. drf: j1 grows to 3 workers in slot 1, j2 starts in slot 2
    on the GPU left, with one worker on one server: 2 slots, c = 4: 15 + 20 = 35.
    """
    assert value(TOY, run("fifo", TOY)) == 45
    assert value(TOY, run("fifo", TOY, workers=2)) == 27
    assert value(TOY, run("drf", TOY)) == 35
    assert value(TOY, run("tiresias", TOY)) == 27


def test_fifo_lets_nobody_overtake() -> None:
    """j2 needs both GPUs of a server that j1 holds one of; j3 could start at once."""
    server = [{"id": "s1", "capacity": {"gpu": 2, "cpu": 8, "bandwidth": 6}}]
    wide = slots(1, chunks=2)
    instance = instance_of([slots(3), wide, slots(1)], servers=server)
    found = segments(instance, run("fifo", instance))
    assert found == {"j1": [(1, 3)], "j2": [(4, 1)], "j3": [(5, 1)]}


def test_drf_shares_equally() -> None:
    """Two equal jobs on 4 GPUs: each gets 2, though each could use 4 (4 slots of one worker)."""
    server = [{"id": "s1", "capacity": {"gpu": 4, "cpu": 20, "bandwidth": 20}}]
    job = slots(1, chunks=4)
    instance = instance_of([job, job], servers=server)
    outcome = run("drf", instance)
    assert segments(instance, outcome) == {"j1": [(1, 2)], "j2": [(1, 2)]}


def test_tiresias_preempts_for_less_work_and_a_restart_costs_a_slot() -> None:
    """j2 (1 slot) arrives in slot 3, j1 has 3 of 5 left: slots 1-2, then 4 = 1 lost + 3."""
    instance = instance_of([slots(5), slots(1, arrival=3)], servers=ONE_GPU)
    outcome = run("tiresias", instance)
    assert segments(instance, outcome) == {"j1": [(1, 2), (4, 4)], "j2": [(3, 1)]}
    # With 1 of 5 left j1 goes on: the tie goes to the earlier arrival.
    instance = instance_of([slots(5), slots(1, arrival=5)], servers=ONE_GPU)
    assert segments(instance, run("tiresias", instance)) == {"j1": [(1, 5)], "j2": [(6, 1)]}


def classes(seed: int) -> tuple[bool, bool]:
    drawn = [sha256(f"{seed}:{name}".encode()).digest()[0] for name in ("j1", "j2")]
    return drawn[0] % 2 == 0, drawn[1] % 2 == 0


def test_antman_displaces_the_opportunistic_and_patience_ends() -> None:
    """One GPU. j1 runs from slot 1 (5 slots), j2 (2 slots) arrives in slot 3.

    Only j2 guaranteed: it displaces j1, which comes back for 1 + 3 slots. Otherwise j1 keeps the
    GPU: as the one with the guarantee, or as the first of equals.
    """
    instance = instance_of([slots(5), slots(2, arrival=3)], servers=ONE_GPU)
    for kind, expected in {
        (False, True): {"j1": [(1, 2), (5, 4)], "j2": [(3, 2)]},
        (True, False): {"j1": [(1, 5)], "j2": [(6, 2)]},
        (True, True): {"j1": [(1, 5)], "j2": [(6, 2)]},
        (False, False): {"j1": [(1, 5)], "j2": [(6, 2)]},
    }.items():
        seed = next(seed for seed in range(100) if classes(seed) == kind)
        assert segments(instance, run("antman", instance, seed)) == expected


def test_antman_a_guarantee_falls_after_patience() -> None:
    """Two GPUs, both needed by each. j1 guaranteed in slots 1-4; j2 waits 2 slots, falls, and then
    takes what is left, if anything is: on 3 GPUs one worker in slot 4 (arrival 2, patience 2)."""
    server = [{"id": "s1", "capacity": {"gpu": 3, "cpu": 20, "bandwidth": 20}}]
    first, second = slots(4, chunks=2), slots(1, chunks=2, arrival=2)
    instance = instance_of([first, second], servers=server)
    seed = next(seed for seed in range(100) if classes(seed) == (True, True))
    # One worker does the 2 mini-batches in 2 slots; in slot 5 both GPUs are free, and two workers
    # with a lost slot would end no earlier than the first one, but opportunistic jobs take what
    # fits: slot 4 with one worker does 1, then slot 5 is lost, slot 6 does the rest.
    assert segments(instance, run("antman", instance, seed, patience=2)) == {
        "j1": [(1, 4)],
        "j2": [(4, 1), (5, 2)],
    }


def test_deadline_greedy_is_late_and_by_density() -> None:
    """BATCH: 4 slots, of which 1-3 count; j1 takes all three, j2 one and weighs more per volume."""
    outcome = run("deadline-greedy", BATCH)
    assert value(BATCH, outcome) == 5
    assert outcome.schedule.placements["j2"].end == 4


def test_fixed_type_and_number() -> None:
    assert value(TOY, run("a-online-fixed-type", TOY)) == 110
    with pytest.raises(UsageError, match="there are 1 worker types"):
        run("a-online-fixed-type", TOY, worker_type=2)
    # One worker each: j1 takes 6 slots, is served at tau = 8, starts in slot 33, c = 39; j2 takes 2
    # slots, tau = 4, start 17, c = 19: 3 x 39 + 5 x 19 = 212.
    assert value(TOY, run("a-online-fixed-number", TOY, workers=1)) == 212
    for placed in run("a-online-fixed-number", TOY, workers=3).schedule.placements.values():
        assert sum(placed.workers.values()) in (2, 3)
    value(RING, run("a-online-fixed-number", RING))


def test_a_type_that_a_job_cannot_use_leaves_no_schedule() -> None:
    kinds = [{"id": name, "demand": {"gpu": 1, "bandwidth": 1}} for name in ("w1", "w2")]
    instance = instance_of([slots(1)], worker_types=kinds)
    outcome = run("a-online-fixed-type", instance, worker_type=2)
    assert outcome.schedule is None and not outcome.infeasible
    assert outcome.note == "some job cannot run on worker type w2 alone"


@pytest.mark.parametrize("name", BY_NAME)
def test_the_other_objective_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="needs objective"):
        run(name, TOY if name == "deadline-greedy" else BATCH)


@pytest.mark.parametrize("name", OVER_TIME)
def test_a_job_that_fits_nowhere_proves_that_there_is_no_schedule(name: str) -> None:
    servers = [{"id": "s1", "capacity": {"gpu": 2, "cpu": 3, "bandwidth": 6}}]
    assert run(name, instance_of([slots(1)], servers=servers)).infeasible


def test_a_schedule_beyond_a_closed_horizon_is_not_returned() -> None:
    instance = instance_of(
        [slots(2), slots(2)], servers=ONE_GPU, horizon=3, horizon_policy="closed"
    )
    for name in ("fifo", "drf", *PREEMPTIVE):
        outcome = run(name, instance)
        assert outcome.schedule is None and not outcome.infeasible and "closed" in outcome.note


@settings(max_examples=14, deadline=None)
@given(
    elastic_instances(max_jobs=4, objective="weighted_completion", placeable=True, policy="open"),
    st.integers(0, 3),
)
def test_every_schedule_keeps_the_rules(instance: ElasticInstance, seed: int) -> None:
    for name in OVER_TIME:
        outcome = run(name, instance, seed)
        if name in PREEMPTIVE:
            assert outcome.schedule.mode == "preemptive"
        if outcome.schedule is not None:
            value(instance, outcome)
        else:
            assert name == "a-online-fixed-type"


@settings(max_examples=30, deadline=None)
@given(
    elastic_instances(
        max_jobs=4,
        objective="weighted_completion",
        placeable=True,
        policy="open",
        integer=False,
    )
)
def test_fractions_keep_the_rules(instance: ElasticInstance) -> None:
    for name in ("fifo", "drf", *PREEMPTIVE):
        value(instance, run(name, instance))


@settings(max_examples=30, deadline=None)
@given(elastic_instances(max_jobs=4, objective="scheduled_weight"))
def test_deadline_greedy_keeps_the_rules(instance: ElasticInstance) -> None:
    found = value(instance, run("deadline-greedy", instance))
    assert found <= sum(job.weight for j, job in enumerate(instance.jobs) if modes(instance, j))


@settings(max_examples=20, deadline=None)
@given(
    elastic_instances(max_jobs=4, objective="weighted_completion", placeable=True, policy="open"),
    st.sampled_from(["fifo", "drf", *PREEMPTIVE]),
)
def test_later_jobs_change_nothing_before_they_arrive(instance: ElasticInstance, name: str) -> None:
    """The last arrival gets ten times the work: nothing before its slot may change."""
    last = max(job.arrival for job in instance.jobs)
    data = instance.to_data()
    changed = ElasticInstance.from_data(
        data
        | {
            "jobs": [
                job | {"epochs": 10 * job["epochs"]} if job["arrival"] == last else job
                for job in data["jobs"]
            ]
        }
    )

    def early(of: ElasticInstance) -> set[tuple[str, int, str]]:
        schedule = run(name, of).schedule
        return {
            (job.id, each.start, str(sorted(each.workers.items())))
            for job in of.jobs
            for each in schedule.segments(job.id)
            if each.start < last
        }

    assert early(instance) == early(changed)
