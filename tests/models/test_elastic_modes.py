"""Modes: against hand computation, and against all placements of tiny clusters."""

import pytest
from hypothesis import given, settings

from schedgap.errors import ScaleError
from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.modes import Mode, cluster, modes
from strategies.elastic import elastic_instances, instance_of, placements
from strategies.elastic_capacity import capacity, fit, ps_needed
from strategies.elastic_examples import RING, RING_DURATIONS, TOY


def test_the_cluster_holds_what_the_file_says() -> None:
    """In the units of the file, as all amounts are integers; 0 for what a type does not name."""
    data = TOY.to_data()
    data["worker_types"].append({"id": "w2", "demand": {"bandwidth": 1}})
    view = cluster(ElasticInstance.from_data(data))
    assert (view.resources, view.servers) == (("gpu", "cpu", "bandwidth"), ("s1", "s2"))
    assert view.capacity.tolist() == [[2, 8, 6]] * 2 and view.scale.tolist() == [1, 1, 1]
    assert view.worker_demand.tolist() == view.worker_units.tolist() == [[1, 2, 1], [0, 0, 1]]
    assert view.ps_demand.tolist() == view.ps_units.tolist() == [[0, 2, 3]]
    assert (view.worker_bandwidth.tolist(), view.ps_bandwidth.tolist()) == ([1, 1], [3])
    assert cluster(RING).ps_demand.shape == (0, 3)


def test_the_toy_s_modes() -> None:
    """Durations worked out at `TOY`; central first, then the shorter, as Algorithm 4 goes."""
    assert modes(TOY, 0) == (
        Mode(0, 0, 2, True, 3),
        Mode(0, 0, 1, True, 6),
        Mode(0, 0, 3, False, 4),
        Mode(0, 0, 2, False, 6),
        Mode(0, 0, 1, False, 12),
    )


def test_in_the_ring_more_workers_can_be_slower() -> None:
    found = {(mode.workers, mode.central): mode.duration for mode in modes(RING, 0)}
    assert found == RING_DURATIONS


def test_a_mode_without_place_for_the_parameter_server_is_none() -> None:
    """A worker takes all of the one server's CPU, so no PS fits with it."""
    server = {"id": "s", "capacity": {"cpu": 2, "bandwidth": 9}}
    job = {"train_time": {"w1": 1}, "update_time": {"p1": 0}}
    kinds = {
        "worker_types": [{"id": "w1", "demand": {"cpu": 2, "bandwidth": 1}}],
        "ps_types": [{"id": "p1", "demand": {"cpu": 1, "bandwidth": 1}}],
    }
    assert modes(instance_of([job], servers=[server], **kinds), 0) == ()
    two = instance_of([job], servers=[server, {**server, "id": "t"}], **kinds)
    assert modes(two, 0) == (Mode(0, 0, 1, False, 1),)


def test_what_fits_within_the_tolerance_counts() -> None:
    """Three workers of 0.3333334 make 1.0000002 <= 1 + 1e-6; four tenths of 0.1 fit into 0.4."""
    base = {"ps_types": [{"id": "p1", "demand": {"bandwidth": 0.3}}]}
    server = {"id": "s", "capacity": {"gpu": 1, "cpu": 0.4, "bandwidth": 6.05}}
    kinds = [
        {"id": "w1", "demand": {"gpu": 0.3333334, "bandwidth": 0.1}},
        {"id": "w2", "demand": {"cpu": 0.1, "bandwidth": 0.1}},
    ]
    job = {"train_time": {"w1": 1}, "update_time": {"p1": 0}}
    instance = instance_of([job], servers=[server], worker_types=kinds, **base)
    assert fit(instance).tolist() == [[3, 4]]
    # All demands of cpu and bandwidth are tenths: of 6.05 only 6.0 can ever be used.
    assert capacity(instance).tolist() == [[1 + 1e-6, 0.4, 6.0]]
    # 3 x 0.1 exceeds 0.3 in doubles, by less than the tolerance: one PS is enough.
    assert [ps_needed(instance, 0, 0, away) for away in (0, 1, 3, 4, 6, 7)] == [1, 1, 1, 2, 2, 3]


def test_large_numbers_of_workers_are_refused() -> None:
    vast = {"gpu": 1e9, "cpu": 1e9, "bandwidth": 1e9}
    job = {"chunks": 10**9, "train_time": {"w1": 1}, "update_time": 0}
    servers = [{"id": "s1", "capacity": vast}]
    instance = instance_of([job], architecture="ring_allreduce", servers=servers)
    with pytest.raises(ScaleError, match="j1 could use 500000000 workers"):
        modes(instance, 0)


@given(elastic_instances(max_jobs=2, max_servers=3, integer=False))
@settings(max_examples=30, deadline=None)
def test_modes_are_those_of_all_placements(instance: ElasticInstance) -> None:
    workers = [kind.id for kind in instance.worker_types]
    servers = [kind.id for kind in instance.ps_types]
    for j, job in enumerate(instance.jobs):
        shortest: dict[tuple[int, int | None, bool], dict[int, int]] = {}
        for run in placements(instance, job):
            m = workers.index(run.worker_type)
            p = None if run.ps_type is None else servers.index(run.ps_type)
            by_number = shortest.setdefault((m, p, run.is_central), {})
            by_number[sum(run.workers.values())] = run.duration
        kept = {
            Mode(m, p, N, central, d)
            for (m, p, central), by_number in shortest.items()
            for N, d in by_number.items()
            if all(d < other for n, other in by_number.items() if n < N)
        }
        found = modes(instance, j)
        assert len(found) == len(set(found))
        assert set(found) == kept


def test_runs_of_more_slots_than_doubles_count_are_refused() -> None:
    job = {"epochs": 10**9, "batches_per_chunk": 10**9, "train_time": {"w1": 1}}
    with pytest.raises(ScaleError, match="slots"):
        modes(instance_of([job | {"update_time": {"p1": 0}}]), 0)
