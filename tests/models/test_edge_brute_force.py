"""The enumeration that other tests rely on: hand-computed optima, and all runs at all starts."""

import math
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings

from schedgap.instances.edge import EdgeSchedule
from strategies.edge import best_schedule, brute_force, edge_instances, placements
from strategies.edge_examples import TOY_A, TOY_A_SCHEDULE, TOY_B, TOY_BATCH, TOY_C


@pytest.mark.parametrize(
    ("instance", "optimum"), [(TOY_A, 5), (TOY_B, 9), (TOY_C, 6), (TOY_BATCH, 3)]
)
def test_the_toys_have_their_optima(instance, optimum):
    value, schedule = best_schedule(instance)
    assert value == optimum == schedule.value(instance)


def test_the_toy_s_optimal_schedule_is_one_of_those_enumerated():
    given_runs = EdgeSchedule.from_data(TOY_A, TOY_A_SCHEDULE)
    for job in TOY_A.jobs:
        run = given_runs.placements[job.id]
        same = [
            r
            for r in placements(TOY_A, job)
            if (r.workers, r.ps_server) == (run.workers, run.ps_server)
        ]
        assert [r.slots for r in same] == [run.slots]


def test_a_job_that_is_too_long_leaves_no_schedule():
    short = type(TOY_C).from_data(TOY_C.to_data() | {"horizon": 4})
    assert best_schedule(short) == (math.inf, None)


@settings(max_examples=40, deadline=None)
@given(
    edge_instances(
        max_jobs=2, max_servers=2, max_workers=2, max_chunks=2, horizon=(4, 7), batch=None
    )
)
def test_no_combination_of_runs_and_starts_is_better(instance):
    """Every run of every job at every start, judged slot by slot."""
    first, last = 1, instance.horizon
    if instance.is_batch:
        tau = 2 ** (instance.batch_round - 1)
        first, last = tau + 1, min(2 * tau, last)
    options = []
    for job in instance.jobs:
        runs = [
            replace(run, start=start, completion=start + run.slots - 1)
            for run in placements(instance, job)
            for start in range(max(first, run.start), last - run.slots + 2)
            if not instance.is_batch or job.arrival < tau
        ]
        options.append([*runs, None] if instance.is_batch else runs)
    best = 0 if instance.is_batch else math.inf
    for runs in product(*options):
        chosen = [(j, run) for j, run in zip(instance.jobs, runs, strict=True) if run]
        if instance.is_batch:
            value = len(chosen)
            better = value > best
        else:
            value = sum(run.completion - j.arrival for j, run in chosen)
            better = value < best
        if better and _within_capacity(instance, chosen, last):
            best = value
    assert brute_force(instance) == best


def _within_capacity(instance, chosen, last):
    for slot, server in product(range(1, last + 1), instance.servers):
        running = [(j, run) for j, run in chosen if run.start <= slot <= run.completion]
        for kind in instance.worker_types:
            used = sum(run.workers.get(server.id, 0) for j, run in running if j.worker_type == kind)
            if used > server.workers.get(kind, 0):
                return False
        for kind in instance.ps_types:
            used = sum(run.ps_server == server.id for j, run in running if j.ps_type == kind)
            if used > server.parameter_servers.get(kind, 0):
                return False
    return True
