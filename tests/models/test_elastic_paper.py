"""The elastic paper's slips that need no engine to be shown, and the table that tells them."""

import re
from itertools import pairwise

import numpy as np
from hypothesis import given, settings

from schedgap.models.elastic import FAMILY
from schedgap.models.elastic.algorithms.a_maxweight import batch_of, constants, serve_batch
from schedgap.models.elastic.placement import ModeDemand, cheapest
from schedgap.models.elastic.rules import check, objective
from strategies.elastic import brute_force, elastic_instances, instance_of, placements

ONE = {"train_time": {"w1": 1.0}, "update_time": {"p1": 0.0}}
CENTRAL = {"worker_type": "w1", "ps_type": "p1", "workers": {"s1": 1}, "ps": {"s1": 1}}


def broken(instance, **run):
    schedule = {"jobs": {"j1": CENTRAL | {"start": 1} | run}}
    return [violation.rule for violation in check(instance, schedule, {})]


def test_a_completion_time_is_one_slot_late():
    """E1, E10: a job that occupies slot 1 alone ends at time 1 and counts 2; nothing counts 1."""
    instance = instance_of([ONE])
    assert brute_force(instance) == 2
    assert objective(instance, {"jobs": {"j1": CENTRAL | {"start": 1, "duration": 1}}}) == 2
    nothing = instance_of([{"train_time": {"w1": 0.0}, "update_time": {"p1": 0.0}}])
    assert brute_force(nothing) == 2
    batch = {"objective": "scheduled_weight", "deadline": 2}
    assert brute_force(instance_of([ONE], **batch)) == 1
    two = {**ONE, "epochs": 2}
    assert brute_force(instance_of([two], **batch)) == 0


def test_the_printed_columns_contain_what_the_program_forbids():
    """E5: without (2g) a second worker, without (2e) no PS; either one beats the optimum."""
    job = {**ONE, "epochs": 2}
    small = [{"id": "s1", "capacity": {"gpu": 2, "cpu": 6, "bandwidth": 5}}]
    instance = instance_of([job], servers=small)
    assert brute_force(instance) == 3  # one chunk, one worker: two slots
    assert broken(instance, duration=1, workers={"s1": 2}) == ["V9"]  # value 2
    # two jobs, whose PSs do not fit together; without PSs they would: 2 x 2 = 4
    tight = [{"id": "s1", "capacity": {"gpu": 2, "cpu": 6, "bandwidth": 5}}]
    pair = instance_of([ONE, ONE], servers=tight)
    assert brute_force(pair) == 2 + 3
    runs = {name: CENTRAL | {"start": 1, "duration": 1, "ps": {}} for name in ("j1", "j2")}
    assert {item.rule for item in check(pair, {"jobs": runs}, {})} == {"V8"}
    assert objective(pair, {"jobs": runs}) == 4


def test_whether_a_run_is_central_is_read_off_its_servers():
    """E7: (1) with 2 pi / b = 2 counts unless worker and PS share their one server."""
    instance = instance_of([{**ONE, "gradient_size": 1.0, "chunks": 2}])  # two mini-batches
    assert broken(instance, duration=2) == []
    assert broken(instance, duration=2, ps={"s2": 1}) == ["V10"]
    assert broken(instance, duration=6, ps={"s2": 1}) == []
    # a central run as long as a split one is wasteful, not forbidden
    assert broken(instance, duration=6) == []


def test_a_split_schedule_is_taken_where_none_is_central():
    """E14: the GPU is on one server, the CPU for the PS on the other; literally l_j stays empty."""
    servers = [
        {"id": "s1", "capacity": {"gpu": 1, "cpu": 2, "bandwidth": 1}},
        {"id": "s2", "capacity": {"cpu": 2, "bandwidth": 3}},
    ]
    fields = {"objective": "scheduled_weight", "deadline": 2, "servers": servers}
    view, jobs = batch_of(instance := instance_of([ONE], **fields))
    ((_, offer),) = serve_batch(view, jobs, 2, constants(instance)).served
    assert (offer.workers, offer.ps) == ({0: 1}, {1: 1})


def split(worker_prices, ps_prices, free):
    """Algorithm 4 as mended: two workers of 1 GPU, PSs of 1 CPU, all of bandwidth 1."""
    demand = ModeDemand(2, np.array([1.0, 0, 1]), np.array([0.0, 1, 1]))
    arrays = (np.array(each, dtype=float) for each in (worker_prices, ps_prices, free))
    return cheapest(demand, *arrays, rule="repaired")


def test_workers_are_counted_afresh_for_every_server_of_the_pss():
    """E16: s1 has no CPU for a PS; then s2 is tried with 0 workers left: literally 2 PSs for 20."""
    found = split([1, 2], [10, 10], [[2, 0, 2], [0, 2, 2]])
    assert found == (22, {0: 2}, {1: 2})


def test_one_worker_at_least_is_away_from_the_pss():
    """E17: both workers fit on the PS server; literally g = 2, s = 0, and no schedule is found."""
    found = split([1, 2], [10, 10], [[2, 1, 3], [1, 0, 1]])
    assert found == (13, {0: 1, 1: 1}, {0: 1})


@settings(max_examples=30, deadline=None)
@given(
    elastic_instances(
        max_jobs=1, architecture="parameter_server", objective="weighted_completion", policy="open"
    )
)
def test_parameter_servers_on_one_server_suffice(instance):
    """Ours: any number of PS servers buys no shorter run than one of them."""
    (job,) = instance.jobs
    least = {}
    for run in placements(instance, job):
        key = len(run.ps) > 1
        least[key] = min(run.duration, least.get(key, run.duration))
    if True in least:
        assert least[False] <= least[True]


def test_every_rule_of_the_verifier_is_told():
    assert list(FAMILY.paper.rules) == [f"V{number}" for number in range(14)]


def test_equations_and_errata_are_complete():
    labels = set(FAMILY.paper.equations)
    assert {str(number) for number in range(1, 22)} <= labels
    letters = {"2": "o", "7": "b", "8": "c", "9": "b", "12": "a", "13": "g", "15": "b"}
    letters |= {"17": "c", "18": "b", "20": "a", "21": "e"}
    for number, last in letters.items():
        for code in range(ord("a"), ord(last) + 1):
            assert f"{number}{chr(code)}" in labels
    assert len(labels) == 21 + sum(ord(last) - ord("a") + 1 for last in letters.values())
    numbers = [int(re.fullmatch(r"E(\d+)", label)[1]) for label in FAMILY.paper.errata]
    assert numbers[0] == 1 and numbers[-1] == 35
    assert all(after == before + 1 for before, after in pairwise(numbers))
