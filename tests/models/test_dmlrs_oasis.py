"""OASiS of family `dmlrs`: a slot with workers and PSs apart, and the whole run."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.instances.dmlrs import arrays
from schedgap.models.dmlrs.oasis import separated, worker_machines
from schedgap.models.dmlrs.theta import Slot, arrived
from strategies.dmlrs import dmlrs_instances, placements


def test_half_of_the_machines_hold_workers():
    assert [worker_machines(H, 0.5) for H in (1, 2, 3, 4, 5)] == [1, 1, 2, 2, 3]
    assert worker_machines(10, 0.3) == 3 and worker_machines(4, 1.0) == 4


@settings(max_examples=100, deadline=None)
@given(dmlrs_instances(max_jobs=1, max_machines=4), st.data())
def test_a_separated_slot_is_the_cheapest_of_its_kind(instance, data):
    """Against all placements of an empty slot whose machines hold one kind each."""
    view = arrays(instance)
    H, R = view.capacity.shape
    first = data.draw(st.integers(1, H))
    price = np.array(data.draw(st.lists(st.integers(0, 9), min_size=H * R, max_size=H * R)))
    slot = Slot(arrived(instance, 0), view.capacity_milli, price.reshape(H, R).astype(float))
    found = {offer.workers: offer for offer in separated(slot, first)}
    least: dict[int, float] = {}
    for (_, n), ways in placements(instance, 0).items():
        for placed in ways if n else ():
            apart = all(s == 0 if h < first else w == 0 for h, (w, s) in placed.items())
            if apart:
                least[n] = min(least.get(n, np.inf), slot.offer(placed).cost)
    useful = slot.job.bundles.workers[: slot.job.useful(1)]
    kept = {n: cost for n, cost in least.items() if n in useful}
    assert {n: offer.cost for n, offer in found.items()} == pytest.approx(kept)
    assert not any(offer.internal for offer in found.values())
