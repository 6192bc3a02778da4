"""Algorithms 3 and 4 as printed: slips by hand, and the study that counts them."""

import numpy as np
import pytest
from hypothesis import given, settings
from studies.edge_algorithm_4 import Case, Row, cases, least_cost, main, placement_cost, study

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge.algorithms.a_online import a_online
from schedgap.models.edge.algorithms.cost_c_cost_d import ReportedPlacement, cost_c, cost_d
from strategies.edge import edge_instances, instance_of


def case(worker_price, ps_price, free_workers, free_ps, workers: int) -> Case:
    """A window of one slot, or of several where the prices are rows."""
    prices = [np.array(each, dtype=float) for each in (worker_price, ps_price)]
    columns = [each if each.ndim == 2 else each[:, None] for each in prices]
    return Case(*columns, np.array(free_workers), np.array(free_ps), workers)


def test_a_server_is_shifted_onto_itself_and_its_placement_lost() -> None:
    """One worker on a server with two: i2 = i1 counts as a shift, 'else' is never reached (E27)."""
    lost = case([1], [1], [2], [1], 1)
    assert cost_d(lost.priced(), 1) is None
    assert least_cost(lost, colocated=False) == 2
    # With one worker there is no room for the shift onto itself.
    assert cost_d(case([1], [1], [1], [1], 1).priced(), 1) == ReportedPlacement(2, {0: 1}, 0)


def test_a_shift_is_credited_with_the_price_of_the_ps() -> None:
    """Workers for 1, 1, 2; the only PS, for 5, is on the third server, which has one worker.

    Two workers on the first two servers cost 1 + 1 + 5 = 7, the least. Algorithm 4 moves one next
    to the PS and credits 2 - 1 - 5 = -4: it reports 3 for a placement of 1 + 2 + 5 = 8 (E26).
    """
    shifted = case([1, 1, 2], [9, 9, 5], [1, 1, 1], [0, 0, 1], 2)
    found = cost_d(shifted.priced(), 2)
    assert found == ReportedPlacement(3, {0: 1, 2: 1}, 2)
    assert placement_cost(shifted.priced(), found) == 8
    assert least_cost(shifted, colocated=False) == 7


def test_the_price_of_one_slot_is_not_that_of_the_window() -> None:
    """Prices 3, 3 against 4, 0: by the first slot server 1, in the window 6 against 4 (E23)."""
    falling = case([[3, 3], [4, 0]], [[0, 0], [0, 0]], [1, 1], [1, 1], 1)
    assert cost_c(falling.priced(), 1) == ReportedPlacement(6, {0: 1}, 0)
    assert least_cost(falling, colocated=True) == 4


def test_the_ps_may_be_on_any_server() -> None:
    """Lines 13-17 look at the servers of cheap workers, 18-33 at the rest: all of them (E28)."""
    for free_ps in ([1, 0, 0], [0, 1, 0], [0, 0, 1]):
        away = case([1, 2, 3], [4, 4, 4], [1, 1, 0], free_ps, 2)
        found = cost_d(away.priced(), 2)
        assert found == ReportedPlacement(7, {0: 1, 1: 1}, free_ps.index(1))


def test_too_few_workers_or_no_ps_is_nothing() -> None:
    assert cost_d(case([1, 1], [1, 1], [1, 1], [1, 1], 3).priced(), 3) is None
    assert cost_d(case([1, 1], [1, 1], [1, 1], [0, 0], 2).priced(), 2) is None
    assert cost_c(case([1, 1], [1, 1], [1, 1], [1, 1], 2).priced(), 2) is None


def test_the_study_shows_which_subroutine_fails_how() -> None:
    rows = {(row.subroutine, row.prices): row for row in study(600, seed=1)}
    for (name, _), row in rows.items():
        if name.endswith("cheapest"):
            assert row == Row(name, row.prices, row.cases), "the exact one never fails"
    assert not rows["Algorithm 3, printed", "one slot"].ratios
    assert rows["Algorithm 3, printed", "falling"].ratios
    for prices in ("one slot", "falling"):
        row = rows["Algorithm 4, printed", prices]
        assert min(row.nothing, row.misreported, row.understated, len(row.ratios)) > 0
        assert row.cases > 400


def test_the_study_is_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--cases", "5", "--seed", "3"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == [
        "subroutine", "prices", "cases", "nothing", "misreported", "understated", "dearer",
        "median", "worst",
    ]  # fmt: skip
    assert len(lines) == 1 + 8 + 1


@pytest.mark.nightly
def test_the_cheapest_placement_is_that_of_enumeration_at_length() -> None:
    for row in study(30_000, seed=5):
        if row.subroutine.endswith("cheapest"):
            assert not (row.nothing or row.misreported or row.understated or row.ratios)


@pytest.mark.parametrize("falling", [False, True])
def test_what_algorithm_4_finds_is_a_placement(falling: bool) -> None:
    """Whatever it says it costs: all workers, within what is free, with the PS or away from it."""
    for each in cases(500, seed=2, falling=falling):
        found = cost_d(each.priced(), each.workers)
        if found is not None:
            assert sum(found.workers.values()) == each.workers and each.free_ps[found.ps] >= 1
            assert all(0 < count <= each.free_workers[s] for s, count in found.workers.items())


def test_the_printed_algorithm_loses_a_job() -> None:
    """Two workers are on edge-1, which has no PS; edge-2 has one worker and the PS.

    6 worker-slots in the 4 slots of round 4, the last of T = 8: two workers. As printed, one of
    them is shifted next to the PS at no cost, the inner loop ends, and nothing is stored (E27).
    """
    servers = [
        {"id": f"edge-{n}", "kind": "edge", "workers": {"gpu": w}, "parameter_servers": {"cpu": p}}
        for n, (w, p) in enumerate([(2, 0), (1, 1)], 1)
    ]
    job = {"chunks": 2, "minibatches_per_chunk": 3}
    instance = instance_of([job], servers=servers, horizon=8)
    run = a_online(instance).schedule.placements["j1"]
    assert (run.start, run.completion, run.workers) == (5, 7, {"edge-1": 2})
    assert run.ps_server == "edge-2"
    assert a_online(instance, variant="a-online-printed").trace["left"] == ["j1"]


@given(edge_instances(max_jobs=4, horizon=(8, 40)))
@settings(max_examples=50, deadline=None)
def test_a_single_server_is_the_same_printed_or_not(instance: EdgeInstance) -> None:
    """With one server every placement is on it: Algorithm 3 decides, prices are never compared."""
    plain = instance.to_data()
    server = plain["servers"][0]
    jobs = [
        {**job, "transfer_delay": {server["id"]: job["transfer_delay"][server["id"]]}}
        for job in plain["jobs"]
    ]
    single = EdgeInstance.from_data(plain | {"servers": [server], "jobs": jobs})
    first, second = (a_online(single, variant=name) for name in ("a-online", "a-online-printed"))
    assert first.schedule == second.schedule
