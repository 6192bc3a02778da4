"""SJF-BCO of family `ring`: by hand, and against Algorithms 1-3 written out slot by slot."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.instances.ring import RingInstance
from schedgap.models.ring.algorithms.sjf_bco import search_runs, sjf_bco, smallest_first
from schedgap.models.ring.dispatch import trial_schedule
from schedgap.models.ring.rates import guarantee_constants, no_schedule, rate_table
from strategies.ring import plain_rate, ring_instances, slot_by_slot
from strategies.ring_examples import W1, W2, W3, instance_of, job


def makespan(instance: RingInstance, **options: Any) -> float:
    found = sjf_bco(instance, **options).schedule
    assert found is not None
    return float(found.makespan)


def test_the_rings_of_w1_meet() -> None:
    """Limit 15 first; a takes s1 and one GPU of s2, b the next least loaded: both at rate 3."""
    best = search_runs(rate_table(W1)).best
    assert best is not None and (best.limit, best.kappa) == (15, 1)
    data = trial_schedule(W1, best.trial, theta=best.limit, kappa=best.kappa).to_data(W1)
    assert data == {
        "jobs": [
            {
                "job": "a", "start": 1, "end": 8,
                "placement": {"s1": 3, "s2": 1}, "gpus": {"s1": [0, 1, 2], "s2": [0]},
            },
            {
                "job": "b", "start": 1, "end": 8,
                "placement": {"s2": 1, "s3": 3}, "gpus": {"s2": [1], "s3": [0, 1, 2]},
            },
        ],
        "order": ["a", "b"], "theta": 15, "kappa": 1,
    }  # fmt: skip


def test_w2_is_list_scheduling() -> None:
    """3 | 3, then 2 | 2, then 2: 7, where 3 + 3 | 2 + 2 + 2 is 6."""
    best = search_runs(rate_table(W2)).best
    assert best is not None and (best.limit, best.kappa) == (30, 1)
    assert best.trial.makespan == 7 and best.trial.load == 7


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 8),
        ({"kappa": 1}, 8),
        ({"kappa": 2}, 10),
        ({"kappa": 4}, 10),
        ({"ffp_rule": "pack"}, 10),
    ],
)
def test_w3_by_threshold(options: dict[str, Any], expected: int) -> None:
    """Smallest first a, e, b, c, d, which take 5, 2, 6, 3, 3 slots at best.

    kappa = 1: a and e on s1, b on s2 by LBSGF, then c on s1; d starts on s1 in slot 6, and ends in
    8. kappa = 2: FA-FFP gives b, too, the two GPUs that s1 has left, for 6 slots.
    """
    assert makespan(W3, **options) == expected


@given(ring_instances(max_jobs=6, placeable=True), st.booleans(), st.booleans())
@settings(max_examples=45, deadline=None)
def test_it_is_algorithm_1(instance: RingInstance, packed: bool, by_server: bool) -> None:
    """Best makespan, limit and threshold are as without the cache of runs."""
    agree(instance, packed, by_server)


@pytest.mark.nightly
@given(ring_instances(max_jobs=8, max_servers=5, placeable=True), st.booleans(), st.booleans())
@settings(max_examples=3000, deadline=None)
def test_it_is_algorithm_1_on_thousands(
    instance: RingInstance, packed: bool, by_server: bool
) -> None:
    agree(instance, packed, by_server)


def rules(packed: bool, by_server: bool) -> Any:
    """Return the rules of Algorithms 2 and 3 as options."""
    return {
        "ffp_rule": "pack" if packed else "literal",
        "lbsgf_rule": "list" if by_server else "literal",
    }


def agree(instance: RingInstance, packed: bool, by_server: bool) -> None:
    if no_schedule(instance):
        return
    found = search_runs(rate_table(instance), **rules(packed, by_server)).best
    expected = written_out(instance, packed, by_server)
    if found is None:
        assert expected is None
        return
    assert expected == (found.trial.makespan, found.limit, found.kappa, found.trial.starts)
    runs = trial_schedule(instance, found.trial).runs
    names = [server.id for server in instance.servers]
    placed = [
        {names.index(server): count for server, count in runs[job.id].placement.items()}
        for job in instance.jobs
    ]
    ends, within = slot_by_slot(instance, found.trial.starts, placed, instance.horizon)
    assert within and tuple(ends) == found.trial.ends


def written_out(instance: RingInstance, packed: bool, by_server: bool) -> Any:
    """Algorithm 1 with its two loops as printed, and no run left out."""
    best, left, right = None, 1, instance.horizon
    while left <= right:
        theta, here = (left + right) // 2, None
        for kappa in range(1, max(each.gpus for each in instance.jobs) + 1):
            run = plain_run(instance, theta, kappa, packed, by_server)
            if run is not None and (here is None or run[0] < here[0]):
                here = (run[0], theta, kappa, run[1])
        if here is not None and (best is None or here[0] < best[0]):
            best, right = here, theta - 1
        else:
            left = theta + 1
    return best


def plain_run(
    instance: RingInstance, theta: int, kappa: int, packed: bool, by_server: bool
) -> tuple[int, tuple[int, ...]] | None:
    """Slot by slot: complete jobs leave, then jobs start in order until one cannot."""
    table = rate_table(instance)
    u = guarantee_constants(table).overestimate
    rooms = [server.gpus for server in instance.servers]
    gpus = [(s, g) for s, room in enumerate(rooms) for g in range(room)]
    load = dict.fromkeys(gpus, 0.0)
    of_server = [0.0] * len(rooms)
    waiting = sorted(range(len(instance.jobs)), key=lambda j: instance.jobs[j].gpus)
    left = list(table.required_progress)
    held: dict[int, list[tuple[int, int]]] = {}
    starts: dict[int, int] = {}
    for t in range(1, instance.horizon + 1):
        while waiting:
            j = waiting[0]
            size, more = instance.jobs[j].gpus, table.estimate[j] / u
            busy = {gpu for own in held.values() for gpu in own}
            allowed = [g for g in gpus if g not in busy and load[g] + more <= theta + 1e-9]
            opened = {s for s, g in gpus if load[s, g] > 0}
            if size > kappa:
                ranked = sorted(range(len(rooms)), key=lambda s: (of_server[s] / rooms[s], s))
                prefix: list[int] = []
                while ranked and sum(rooms[s] for s in prefix) < (
                    instance.jobs[j].spread_factor * size
                ):
                    prefix.append(ranked.pop(0))
                allowed = [gpu for gpu in allowed if gpu[0] in prefix]
                if by_server:
                    allowed.sort(key=lambda gpu: (prefix.index(gpu[0]), load[gpu], gpu))
                else:
                    allowed.sort(key=lambda gpu: (load[gpu], prefix.index(gpu[0]), gpu))
            elif packed:
                free = {s: [gpu for gpu in allowed if gpu[0] == s] for s in range(len(rooms))}
                fits = [s for s in free if len(free[s]) >= size]
                if fits:
                    chosen = [min(fits, key=lambda s: (s not in opened, len(free[s]), s))]
                else:
                    chosen = sorted(free, key=lambda s: (-len(free[s]), s))
                allowed = [
                    gpu for s in chosen for gpu in sorted(free[s], key=lambda gpu: (load[gpu], gpu))
                ]
            else:
                allowed.sort(key=lambda gpu: (load[gpu], gpu[0] not in opened, gpu))
            if len(allowed) < size:
                break
            held[j] = allowed[:size]
            starts[j] = t
            for gpu in held[j]:
                load[gpu] += more
            for s in sorted({s for s, _ in held[j]}):
                of_server[s] += sum(s == on for on, _ in held[j]) * more
            waiting.pop(0)
        on = {j: {s for s, _ in own} for j, own in held.items()}
        rings = {j: own for j, own in on.items() if len(own) > 1}
        for j, own in on.items():
            p = max((sum(s in other for other in rings.values()) for s in own), default=0)
            left[j] -= plain_rate(instance, j, len(own), p if len(own) > 1 else 0)
        held = {j: own for j, own in held.items() if left[j] > 0}
        if not waiting and not held:
            return t, tuple(starts[j] for j in range(len(instance.jobs)))
    return None


def test_a_makespan_of_exactly_the_horizon_is_accepted() -> None:
    """E14: one job of 4 slots, T = 4."""
    instance = instance_of([job("a", 1, 40)], [1], horizon=4)  # tau = 0.07, rate 14: 3 slots
    assert makespan(instance) == 3
    assert makespan(instance_of([job("a", 1, 40)], [1], horizon=3)) == 3


def test_a_run_that_found_no_place_counts_for_nothing() -> None:
    """E13: limit 5 of T = 10 has room for 3 | 3, then 2 | 2, not for 2; m = -1 would look best."""
    found = search_runs(rate_table(RingInstance.from_data(W2.to_data() | {"horizon": 10})))
    first, best = found.attempts[0], found.best
    assert first.limit == 5 and first.trial.filtered and not first.trial.feasible
    assert best is not None and (best.limit, best.trial.makespan) == (8, 7)


def test_bisection_by_improvement_can_miss_the_least_feasible_limit() -> None:
    """E17: limits that only keep the makespan turn the printed search upwards, for good."""
    table = rate_table(W2)
    printed = {attempt.limit for attempt in search_runs(table).attempts}
    feasibility = search_runs(table, bisection="feasibility")
    scan = search_runs(table, bisection="scan")
    least = min(attempt.limit for attempt in scan.attempts if attempt.trial.feasible)
    assert least == 7  # list scheduling loads a GPU with 7
    assert least in {attempt.limit for attempt in feasibility.attempts}
    assert least not in printed
    assert [attempt.limit for attempt in scan.attempts] == list(range(1, 61))


def test_the_first_threshold_wins_ties_and_equal_runs_are_made_once() -> None:
    """Only kappa = 1 and the sizes of jobs make a difference."""
    found = search_runs(rate_table(W3))
    assert {attempt.kappa for attempt in found.attempts} == {1, 2, 4}
    assert found.best is not None and found.best.kappa == 1
    assert len({id(attempt.trial) for attempt in found.attempts}) < len(found.attempts)


def test_a_larger_lambda_looks_at_more_servers() -> None:
    """Servers of 3, three jobs of 2: a on s1 for 3 slots, b on s2 for 1, which is less loaded.

    lambda = 1: s2 alone is looked at, and c waits for b. lambda = 2: 4 GPUs take both servers, and
    c takes the idle GPU of each at once.
    """
    jobs = [job("a", 2, 42), job("b", 2, 14), job("c", 2, 10)]
    waits = search_runs(rate_table(instance_of(jobs, [3, 3])), kappa=1).best
    jobs[2] |= {"spread_factor": 2.0}
    takes = search_runs(rate_table(instance_of(jobs, [3, 3])), kappa=1).best
    for_all = search_runs(rate_table(instance_of(jobs, [3, 3])), kappa=1, spread_factor=1).best
    assert waits is not None and takes is not None and for_all is not None
    assert (waits.trial.starts[2], waits.trial.gpus[2].tolist()) == (2, [3, 5])
    assert (takes.trial.starts[2], takes.trial.gpus[2].tolist()) == (1, [2, 5])
    assert for_all.trial.starts == waits.trial.starts  # the option replaces the jobs' own lambda


def test_smallest_first_is_stable() -> None:
    assert smallest_first(rate_table(W3)) == [0, 4, 1, 2, 3]


def test_a_search_that_is_stopped_keeps_what_it_has() -> None:
    """W3, limit 20: kappa = 1 gives 8, kappa = 2 gives 10, and then time is up."""
    asked = iter([False, False, True])
    found = search_runs(rate_table(W3), stop=lambda: next(asked))
    assert [attempt.trial.makespan for attempt in found.attempts] == [8, 10]
    assert found.best is found.attempts[0]
