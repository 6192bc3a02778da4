"""Modes: against hand computation, and against all placements of tiny networks."""

from hypothesis import given, settings

from schedgap.instances.edge import arrays
from schedgap.models.edge.modes import (
    JobMode,
    all_modes,
    earliest_start,
    max_workers,
    modes,
)
from strategies.edge import edge_instances, instance_of, placements
from strategies.edge_examples import TOY_A, TOY_B, TOY_BATCH, TOY_C
from strategies.edge_methods import can_complete


def duration(instance, job, workers, colocated):
    """Slots that a job takes with so many workers; the 1e-6 that the rules forgive are in it."""
    return -(-int(arrays(instance).needed[job, int(colocated)]) // workers)


def test_the_toy_s_modes():
    """j1: 6 worker-slots split, 4 colocated; 4 colocated would need 4 workers, it has 3 chunks."""
    assert modes(TOY_A, 0, False) == (
        JobMode(1, 6, False),
        JobMode(2, 3, False),
        JobMode(3, 2, False),
    )
    assert modes(TOY_A, 0, True) == (JobMode(1, 4, True), JobMode(2, 2, True))
    assert modes(TOY_A, 2, True) == (JobMode(1, 1, True),)
    assert all_modes(TOY_A, 2) == (JobMode(1, 1, True), JobMode(1, 1, False))
    assert [duration(TOY_A, 0, n, True) for n in (1, 2, 3)] == [4, 2, 2]
    assert max_workers(TOY_A, 1, False) == 4


def test_work_of_the_toys():
    assert arrays(TOY_A).work.tolist() == [[6, 4], [4, 4], [1, 1]]
    assert arrays(TOY_B).needed.tolist() == [[5, 4]] * 3 and arrays(TOY_C).needed[0, 0] == 4


def test_starts_wait_for_the_servers():
    assert earliest_start(TOY_A, 0, JobMode(2, 2, True)) == 2
    assert earliest_start(TOY_A, 1, JobMode(4, 1, True)) == 4  # only the cloud has four workers
    assert earliest_start(TOY_A, 1, JobMode(4, 1, False)) == 2
    assert earliest_start(TOY_A, 1, JobMode(5, 1, True)) is None
    assert earliest_start(TOY_BATCH, 0, JobMode(2, 2, True)) == 5


def test_a_job_needs_a_parameter_server_somewhere():
    servers = [{"id": "s", "kind": "edge", "workers": {"gpu": 2}, "parameter_servers": {}}]
    instance = instance_of([{}], servers=servers)
    assert all_modes(instance, 0) == () and not can_complete(instance, 0)


def test_modes_beyond_the_horizon_are_left_out():
    # 100 worker-slots, T = 16: at least 7 workers
    instance = instance_of(
        [{"epochs": 10, "chunks": 10}],
        servers=[
            {"id": "s", "kind": "edge", "workers": {"gpu": 10**9}, "parameter_servers": {"cpu": 1}}
        ],
    )
    assert [mode[:2] for mode in modes(instance, 0, True)] == [(7, 15), (8, 13), (9, 12), (10, 10)]


def test_the_largest_numbers_are_counted():
    job = {
        "epochs": 10**9,
        "chunks": 10**9,
        "minibatches_per_chunk": 10**9,
        "compute_seconds": 1e12,
    }
    assert all_modes(instance_of([job]), 0) == ()


def test_a_millionth_of_a_worker_slot_may_be_missing():
    for more, slots in ((9e-7, 2), (2e-6, 3)):
        instance = instance_of([{"compute_seconds": 3600 * (2 + more)}])
        assert duration(instance, 0, 1, True) == slots


@settings(max_examples=55, deadline=None)
@given(edge_instances(batch=None))
def test_modes_are_the_undominated_runs_on_the_empty_network(instance):
    for j, job in enumerate(instance.jobs):
        runs = placements(instance, job)
        for colocated in (True, False):
            # where all runs so are on one server, split ones take as long as their rate says
            mine = {m.workers: m for m in modes(instance, j, colocated)}
            shortest = instance.horizon + 1
            for n in range(1, job.chunks + 1):
                d = duration(instance, j, n, colocated)
                real = [r for r in runs if r.number == n and r.colocated == colocated]
                assert all(run.slots == d for run in real)
                kept = d < shortest and n <= max_workers(instance, j, colocated)
                assert (n in mine) == kept
                if kept:
                    shortest = d
                    start = earliest_start(instance, j, mine[n])
                    able = [run.start for run in real]
                    if able:
                        first = max(min(able), instance.window[0])
                        assert start <= first and (not colocated or start == first)
                    else:
                        assert not colocated  # such workers are on one server with its PS


@settings(max_examples=55, deadline=None)
@given(edge_instances(max_jobs=1, batch=None))
def test_a_job_can_complete_when_some_run_fits(instance):
    (job,), (first, last) = instance.jobs, instance.window
    ends = [max(run.start, first) + run.slots - 1 for run in placements(instance, job)]
    fits = instance.may_run(job) and any(end <= last for end in ends)
    assert can_complete(instance, 0) == fits
