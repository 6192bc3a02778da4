"""Packing slots of family `dmlrs`, and the exact method that cuts off what does not fit."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.models.dmlrs import proof
from schedgap.models.dmlrs.exact.logic_based_benders import _cuts
from schedgap.models.dmlrs.exact.packing import minimal_infeasible_subset, pack, read
from schedgap.models.dmlrs.proof import Bundle
from schedgap.models.dmlrs.throughput import bundles
from schedgap.solvers import Clock
from schedgap.solvers.proofs.bins import OutOfTimeError
from strategies.dmlrs import dmlrs_instances, fits, optimum, slot_choices
from strategies.dmlrs_examples import TOY, instance_of, job
from strategies.dmlrs_methods import run


def plainly_fits(instance: DmlrsInstance, items: list[Bundle]) -> bool:
    """Try every placement: what may lie across machines may lie on one of them."""
    ways = [
        ((each.workers, 0),) if each.internal else ((each.workers, 0), (0, each.workers))
        for each in items
    ]
    known = slot_choices(instance)
    for chosen in product(*ways):
        own = {each.job: brings for each, brings in zip(items, chosen, strict=True)}
        if tuple(own.get(j, (0, 0)) for j in range(len(instance.jobs))) in known:
            return True
    return False


@st.composite
def slots(draw):
    """Draw an instance and a bundle for some of its jobs, one each."""
    instance = draw(dmlrs_instances(max_machines=3))
    items = []
    for j in range(len(instance.jobs)):
        workers = bundles(instance, j).workers.tolist()
        if workers and draw(st.integers(0, 3)):
            internal = len(instance.machines) == 1 or draw(st.booleans())
            items.append(Bundle(j, internal, draw(st.sampled_from(workers))))
    return instance, items


@settings(max_examples=55, deadline=None)
@given(slots())
def test_a_slot_is_packed_just_where_it_can_be(slot):
    instance, items = slot
    found = pack(proof.Model(instance, -1), items, Clock())
    assert (found is not None) == plainly_fits(instance, items)
    if found is not None:
        running = {each.job: own for each, own in zip(items, found, strict=True)}
        assert fits(instance, running)
        for each, own in zip(items, found, strict=True):
            assert sum(w for w, _ in own.values()) == each.workers
            assert not each.internal or len(own) == 1


@settings(max_examples=45, deadline=None)
@given(slots())
def test_the_few_that_do_not_fit_are_as_few_and_as_easy_as_can_be(slot):
    instance, items = slot
    if pack(proof.Model(instance, -1), items, Clock()) is not None:
        return
    few = minimal_infeasible_subset(proof.Model(instance, -1), items, Clock())
    assert not plainly_fits(instance, list(few))
    assert all(any(item.becomes(each) for item in items) for each in few)
    for k, each in enumerate(few):
        assert plainly_fits(instance, [*few[:k], *few[k + 1 :]])
        fewer = [n for n in bundles(instance, each.job).workers.tolist() if n < each.workers]
        for n in fewer[-1:]:
            assert plainly_fits(instance, [*few[:k], each._replace(workers=n), *few[k + 1 :]])


def hold_cuts_to_the_truth(instance, items):
    """The cuts of bundles that do not fit exclude them, and no bundles that fit."""
    model = proof.Model(instance, -1)
    few = minimal_infeasible_subset(proof.Model(instance, -1), items, Clock())
    violated = False
    for entries, _, most in _cuts(model, few):
        own = next(own for own in model.bundles if entries.keys() <= own.keys())
        counted = {own[j] for j in entries}
        violated |= sum(item in counted for item in items) > most
        choices = [[None, *(b for b in counted if b.job == i)] for i in range(len(instance.jobs))]
        for choice in product(*choices):
            held = [bundle for bundle in choice if bundle is not None]
            assert len(held) <= most or not plainly_fits(instance, held)
    assert violated


@settings(max_examples=40, deadline=None)
@given(dmlrs_instances(max_machines=3))
def test_cuts_exclude_what_does_not_fit_and_nothing_else(instance):
    """The largest bundles of each slot, inside a machine if there are such."""
    for own in proof.Model(instance, -1).bundles:
        items = [
            max(own_of_job, key=lambda b: (b.internal, b.workers))
            for i in range(len(instance.jobs))
            if (own_of_job := [b for b in own.values() if b.job == i])
        ]
        if items and pack(proof.Model(instance, -1), items, Clock()) is None:
            hold_cuts_to_the_truth(instance, items)


def test_cuts_of_the_toy():
    hold_cuts_to_the_truth(TOY, [Bundle(j, True, 2) for j in range(3)])


def test_a_stopped_packing_proves_nothing():
    """Three jobs of two workers inside a machine, and two machines: no packing."""
    items = [Bundle(j, True, 2) for j in range(3)]
    assert pack(proof.Model(TOY, -1), items, Clock()) is None
    for stopped in (pack, minimal_infeasible_subset):
        with pytest.raises(OutOfTimeError):
            stopped(proof.Model(TOY, -1), items, Clock(0.0))


def test_three_pairs_on_two_machines_need_not_be_inside():
    """Any two of the workers' GPUs are taken: 3 x 2 + ... of 4, so one worker each for two jobs."""
    items = [Bundle(j, True, 2) for j in range(3)]
    few = minimal_infeasible_subset(proof.Model(TOY, -1), items, Clock())
    assert sum(each.workers for each in few) == 5 and not any(each.internal for each in few)


def test_a_cut_ends_what_the_aggregate_promises():
    """2 workers each, inside a machine: 6 of 6 GPUs, but a machine of 3 holds one job.

    c_int = 0.04 + 16/300, 21 samples: N_int = 1.96; across machines an exchange takes 16 slots.
    """
    jobs = [
        job(f"j{n}", 1, [u], samples=21, epochs=1, batch_size=2, external_bandwidth=1.0)
        for n, u in enumerate((9.0, 8.0, 7.0), 1)
    ]
    instance = instance_of(jobs, [{"gpu": 3, "cpu": 9}] * 2, horizon=1)
    model = proof.Model(instance, proof.goal(instance, 23.0))
    point = np.zeros(len(model.program.cost))
    point[[j for own in model.completions for j in own.values()]] = 1
    point[[j for j, b in model.bundles[1].items() if b.internal and b.workers == 2]] = 1
    all_fit = all(
        (low is None or low <= total) and (high is None or total <= high)
        for entries, low, high in model.program.rows
        for total in [sum(a * point[j] for j, a in entries.items())]
    )
    assert all_fit and len(read(model, point, Clock())[1]) == 1
    found = run("lbbd", instance)
    assert found.schedule.value(instance) == pytest.approx(17) == found.bound
    assert found.trace["benders"]["cuts"] >= 1


@pytest.mark.nightly
@settings(max_examples=1000, deadline=None)
@given(dmlrs_instances(max_machines=3))
def test_cuts_never_remove_the_optimum(instance):
    found = run("lbbd", instance)
    best = optimum(instance)
    assert found.schedule.value(instance) == pytest.approx(best, rel=1e-6, abs=1e-6)
    assert found.bound == pytest.approx(best, rel=1e-6, abs=1e-5)
