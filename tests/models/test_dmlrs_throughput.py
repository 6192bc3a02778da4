"""Numbers of family `dmlrs` that all methods share: PSs, bundles, widths, first completions."""

import pytest
from hypothesis import given, settings

from schedgap.instances.dmlrs import DmlrsInstance, arrays, worker_slots
from schedgap.models.dmlrs.throughput import (
    bundles,
    first_completions,
    machine_limits,
    max_external_workers,
    progress,
    ps_needed,
)
from strategies.dmlrs import dmlrs_instances, is_done, placements, plain_ps, plain_work
from strategies.dmlrs_examples import TOY, TOY_2, instance_of, job


def test_the_toy_needs_4_worker_slots_inside_a_machine_and_7_2_across():
    assert worker_slots(TOY.jobs[0], True) == pytest.approx(4)
    assert worker_slots(TOY.jobs[0], False) == pytest.approx(7.2)
    assert arrays(TOY).needed[0].tolist() == pytest.approx([4, 7.2])
    assert progress(TOY, 0, 2, 3) == pytest.approx(2 / 4 + 3 / 7.2)


def test_toy_bundles_and_widths():
    """Two workers and a PS fill the GPUs of a machine; alone it holds 2 workers or 4 PSs, of 2."""
    some = bundles(TOY, 0)
    assert some.workers.tolist() == [1, 2, 3, 4] and some.ps.tolist() == [1, 1, 2, 2]
    assert some.demand.tolist() == [[1, 2], [2, 3], [3, 5], [4, 6]]
    assert machine_limits(TOY).internal.tolist() == [[2, 2]] * 3
    assert machine_limits(TOY).workers.tolist() == [[2, 2]] * 3
    assert machine_limits(TOY).ps.tolist() == [[2, 2]] * 3
    assert max_external_workers(TOY, 0) == 4 and max_external_workers(TOY_2, 0) == 0


def test_toy_first_completions():
    """Across 4 / 7.2 of the work in a slot, inside 2 / 4: two slots either way."""
    assert first_completions(TOY) == (2, 2, 3)
    late = instance_of([job("j", 4, [1.0] * 4)])
    assert first_completions(late) == (5,)


@pytest.mark.parametrize(
    ("ratio", "workers", "ps"),
    [(2.0, 0, 0), (2.0, 1, 1), (2.0, 2, 1), (2.0, 3, 2), (1.5, 3, 2), (2.5, 5, 2), (2.5, 6, 3),
     (10 / 3, 10, 3), (1.4, 21, 15), (1e12, 1, 1)],
)  # fmt: skip
def test_parameter_servers_are_rounded_up(ratio, workers, ps):
    assert ps_needed(ratio, workers) == ps


def test_the_exact_rule_allows_only_multiples():
    exact = DmlrsInstance.from_data({**TOY.to_data(), "ps_rule": "exact"})
    assert bundles(exact, 0).workers.tolist() == [2, 4] and bundles(exact, 0).ps.tolist() == [1, 2]
    for ratio, allowed in ((2.5, [5, 10]), (1e12, [])):
        one = job("j", 1, [1.0] * 4, batch_size=10, worker_ps_ratio=ratio)
        assert bundles(instance_of([one], ps_rule="exact"), 0).workers.tolist() == allowed
    none = instance_of([job("j", 1, [1.0] * 4, batch_size=1)], ps_rule="exact")
    assert bundles(none, 0).workers.tolist() == [] and machine_limits(none).internal.tolist() == [
        [0, 0]
    ]
    assert first_completions(none) == (5,)


@settings(max_examples=50, deadline=None)
@given(dmlrs_instances(max_machines=3))
def test_widths_hold_what_can_be_placed_and_internal_ones_are_reached(instance):
    last = first_completions(instance)
    for j, each in enumerate(instance.jobs):
        assert arrays(instance).needed[j].tolist() == list(plain_work(instance, j))
        some = bundles(instance, j)
        assert dict(zip(some.workers.tolist(), some.ps.tolist(), strict=True)) == {
            n: plain_ps(instance, j, n)
            for n in range(1, each.batch_size + 1)
            if plain_ps(instance, j, n) is not None
        }
        ways = placements(instance, j)
        inside = [n for n, across in ways if not across]
        across = [n for _, n in ways if n]
        assert machine_limits(instance).internal[j].max() == max(inside, default=0)
        assert max(across, default=0) <= max_external_workers(instance, j)
        slots = 0
        totals = {(0, 0)}
        while slots < instance.horizon - each.arrival + 1:
            if any(is_done(instance, j, total) for total in totals):
                break
            slots += 1
            totals |= {(a + x, b + y) for a, b in totals for x, y in ways}
        if any(is_done(instance, j, total) for total in totals):
            assert last[j] <= each.arrival + slots - 1
