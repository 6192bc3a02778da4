"""Horizons of 10^9 slots: what would go through all of them is refused at once, or jumps."""

import time

import pytest

from schedgap.errors import ScaleError
from schedgap.models.edge.algorithms.a_online import a_online
from schedgap.models.edge.baselines.batch_sche import batch_sche
from schedgap.models.edge.baselines.drf import drf
from schedgap.models.edge.baselines.fifo import fifo
from schedgap.models.edge.baselines.preemptive import preemptive
from schedgap.models.edge.exact.build_programs import set_packing
from schedgap.models.edge.heuristics.lists import best_list
from schedgap.models.program import NotBuiltError
from strategies.edge import instance_of

SLOTS = 10**8
# One worker; a job of 10^8 slots, and one of a slot that arrives in slot 5.
LONG = instance_of(
    [
        {"epochs": SLOTS, "transfer_delay": {"s": 1}},
        {"arrival": 5, "transfer_delay": {"s": 1}},
    ],
    servers=[{"id": "s", "kind": "edge", "workers": {"gpu": 1}, "parameter_servers": {"cpu": 1}}],
    horizon=10**9,
)


@pytest.mark.parametrize(
    "run",
    [
        lambda: a_online(LONG),
        lambda: a_online(LONG, variant="a-online-any"),
        lambda: batch_sche(LONG),
        lambda: preemptive(LONG),
        lambda: preemptive(LONG, 1),
    ],
)
def test_what_goes_slot_by_slot_refuses_a_job_of_too_many(run: object) -> None:
    began = time.process_time()
    with pytest.raises(ScaleError, match="a job needs 100000000 slots"):
        run()  # type: ignore[operator]
    assert time.process_time() - began < 1


def test_what_goes_by_events_ends_at_once() -> None:
    """The short job first: slots 6, and 7 to 10^8 + 6; in order of arrival it waits for the end."""
    began = time.process_time()
    _, best = best_list(LONG)
    assert best.complete and best.value == 1 + SLOTS + 5
    for run in (fifo, drf):
        assert run(LONG).value(LONG) == (SLOTS + 1 - 1) + (SLOTS + 2 - 5)
    assert time.process_time() - began < 2


def test_a_program_with_too_many_runs_is_refused_at_once() -> None:
    began = time.process_time()
    with pytest.raises(NotBuiltError, match="runs of the jobs > max_columns=1000"):
        set_packing(LONG, max_columns=1000)
    assert time.process_time() - began < 1
