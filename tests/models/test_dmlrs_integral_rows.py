"""Rows for (2) and (3) separate just the integers that the rules separate, with room."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.errors import ScaleError
from schedgap.models.dmlrs.programs.integral_rows import min_external, ps_slope, work_rows
from schedgap.models.dmlrs.proof import Edge, work_edges
from schedgap.models.dmlrs.throughput import (
    first_completions,
    machine_limits,
    max_external_workers,
    progress,
)
from strategies.dmlrs import dmlrs_instances, is_done, plain_ps
from strategies.dmlrs_examples import TOY, TOY_2, instance_of, job


def holds(rows, A, B):
    return all(internal * A + external * B >= least for internal, external, least in rows)


def test_toy():
    """N_int = 4, N_ext = 7.2: A inside needs ceil(7.2 - 1.8 A) across: 8, 6, 4, 2, 0."""
    assert min_external(TOY, 0).tolist() == [8, 6, 4, 2, 0]
    assert work_rows(TOY, 0) == [(2, 1, 8)]
    assert work_edges(TOY.jobs[0], 4, (2, 4)) == [Edge(2, 1, 8)]
    assert work_edges(TOY.jobs[0], 1, (2, 4)) is None


def test_one_machine_has_worker_slots_inside_only():
    assert work_rows(TOY_2, 0) == [(1, 0, 4)]
    assert work_edges(TOY_2.jobs[0], 4, (2, 0)) == [Edge(1, 0, 4)]


@settings(deadline=None, max_examples=115)
@given(st.integers(0, 2**32))
def test_edges_hold_for_the_pairs_that_do_the_work(seed):
    """Needs near integers and stretches near 1, which floats tell apart by little."""
    random = np.random.default_rng(seed)
    inside = random.choice(
        [
            random.uniform(1, 40),
            random.integers(1, 40) * (1 + random.choice([0, 1e-8, -1e-8, 3e-7])),
        ]
    )
    stretch = random.choice([1 + 10.0 ** -random.integers(0, 13), 4 / 3, random.uniform(1, 9)])
    across, most = inside * stretch, int(random.choice([3, 30]))
    own = TOY.jobs[0].model_copy(
        update={
            "epochs": 1, "samples": 1, "batch_size": 1, "worker_ps_ratio": 1.0,
            "time_per_sample": 0.0, "gradient_size": 1.0,
            "internal_bandwidth": 2 / inside, "external_bandwidth": 2 / across,
        }
    )  # fmt: skip
    edges = work_edges(own, 400, (most, most))
    assert edges is not None and (edges or inside < 1e-9)
    A, B = np.arange(math.ceil(inside) + 1)[:, None], np.arange(math.ceil(across) + 2)
    done = A / inside + B / across >= 1 - 1e-9
    assert (np.vectorize(lambda a, b: holds(edges, a, b))(A, B) == done).all()


@settings(max_examples=45, deadline=None)
@given(dmlrs_instances())
def test_edges_say_what_the_rules_say(instance):
    for i, first in enumerate(first_completions(instance)):
        if first > instance.horizon:
            continue
        slots = instance.horizon - instance.jobs[i].arrival + 1
        most = int(machine_limits(instance).internal[i].max()), max_external_workers(instance, i)
        rows, edges = work_rows(instance, i), work_edges(instance.jobs[i], slots, most)
        for used in range(slots + 1):  # slots on a single machine
            for A in range(used * most[0] + 1):
                for B in range((slots - used) * most[1] + 1):
                    done = is_done(instance, i, (A, B))
                    assert holds(rows, A, B) == done
                    assert (edges is not None and holds(edges, A, B)) == done


def test_slope_of_two_workers_for_each_ps():
    """n / m(n) is at most 2; n / (m(n) - 1) at least 3: (2) holds for any slope between."""
    assert ps_slope(TOY, 0) == 2.5


@settings(max_examples=45, deadline=None)
@given(dmlrs_instances(max_workers=9, exact=False))
def test_slope_allows_just_enough_ps(instance):
    for i, own in enumerate(instance.jobs):
        slope = ps_slope(instance, i)
        for n in range(1, own.batch_size + 1):
            for s in range(1, own.batch_size + 1):
                assert (n <= slope * s) == (s >= plain_ps(instance, i, n))
                assert abs(n - slope * s) > 1e-3


@settings(max_examples=45, deadline=None)
@given(dmlrs_instances())
def test_least_external_is_the_first_that_does_the_work(instance):
    for i in range(len(instance.jobs)):
        slots = instance.horizon - instance.jobs[i].arrival + 1
        beyond = slots * max_external_workers(instance, i) + 1
        for A, B in enumerate(min_external(instance, i).tolist()):
            assert beyond >= B and (beyond == B or progress(instance, i, A, B) >= 1 - 1e-9)
            assert B == 0 or progress(instance, i, A, B - 1) < 1 - 1e-9


def test_a_job_of_too_many_worker_slots_is_named():
    """6e8 samples at 1/15 of a slot: N_int = 4e7; 1,000 slots of 10,000 workers hold 1e7."""
    many = job(
        "j1", 1, [1.0] * 1000, samples=3 * 10**8, batch_size=10_000, worker_ps_ratio=5000.0,
    )  # fmt: skip
    room = {"gpu": 20_000, "cpu": 20_000}
    instance = instance_of([many], [room, room], horizon=1000)
    with pytest.raises(ScaleError, match="job j1 may have"):
        min_external(instance, 0)
