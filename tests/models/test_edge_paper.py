"""The edge paper's slips that need no engine to be shown, and the table that tells them."""

import re
from itertools import pairwise

import numpy as np
import pytest

from schedgap.instances.edge import EdgeInstance, EdgeSchedule, arrays
from schedgap.models.edge import FAMILY
from schedgap.models.edge.algorithms.a_maxsche import VARIANTS, Network, reveal, serve_round
from schedgap.models.edge.algorithms.a_online import a_online
from schedgap.models.edge.algorithms.prices import price_scale, unit_price
from schedgap.models.edge.rules import check, objective
from strategies.edge import brute_force, instance_of
from strategies.edge_examples import TOY_A, TOY_B, TOY_BATCH, TOY_C

RUN = {"start": 2, "completion": 2, "workers": {"edge-1": 1}, "ps_server": "edge-1"}


def broken(instance, **jobs):
    runs = {name: RUN | values for name, values in jobs.items()}
    return [violation.rule for violation in check(instance, {"jobs": runs}, {})]


def test_a_job_holds_nothing_after_its_last_slot():
    """E1, E3: on one worker and one PS j1 starts in the slot after j2's last one."""
    assert broken(TOY_C, j2={}, j1={"start": 3, "completion": 6}) == []
    assert brute_force(TOY_C) == 6  # read literally, j2 never gives the worker back


def test_whether_a_job_is_together_is_read_off_its_servers():
    """E2: j1 of toy-b has 4 worker-slots colocated, 4.4 split; xi = 1 would let 4 suffice."""
    alone = EdgeInstance.from_data(TOY_B.to_data() | {"jobs": TOY_B.to_data()["jobs"][:1]})
    split = {"start": 4, "workers": {"edge-1": 2, "cloud": 2}, "completion": 4}
    assert broken(alone, j1=split | {"colocated": True}) == ["V7", "V8"]
    assert broken(alone, j1=split) == ["V8"]
    assert broken(alone, j1=split | {"completion": 5}) == []
    assert broken(alone, j1={"workers": {"edge-1": 2}, "completion": 3}) == []


def test_the_delay_counts_once_for_all_chunks():
    """E4: three chunks for two workers of one server are there after one delay."""
    job = {
        "chunks": 3,
        "compute_seconds": 1800.0,
        "transfer_delay": {"edge-1": 1, "edge-2": 1, "cloud": 9},
    }
    assert broken(instance_of([job]), j1={"workers": {"edge-1": 2}}) == []


def test_the_value_leaves_a_slot_of_every_job_out():
    """E5: a job that runs in its slot of arrival has the value 0 and a flow time of one slot."""
    instance = instance_of([{"transfer_delay": {"edge-1": 0, "edge-2": 0, "cloud": 0}}])
    data = {"jobs": {"j1": RUN | {"start": 1, "completion": 1}}}
    assert list(check(instance, data, {})) == [] and objective(instance, data) == 0
    assert EdgeSchedule.from_data(instance, data).flow_time(instance) == 1
    assert brute_force(instance) == 0


def test_what_is_idle_costs_nothing():
    """E10: theta^0 - 1 = 0, and theta - 1 where all is used; linear, an idle server would pay."""
    theta = price_scale(TOY_A).worker + 1  # 2 x 16 slots x 3 servers x 1 type + 1
    assert theta == 97
    prices = unit_price(theta - 1, np.array([0, 1, 2]), 2)
    assert prices.tolist() == pytest.approx([0, 97**0.5 - 1, 96])
    assert theta * 0 / 2 - 1 == -1


@pytest.mark.parametrize("name", VARIANTS)
def test_slots_1_and_2_are_never_used(name):
    """E13: without any delay the first runs begin in slot 3, in the round of tau = 2."""
    nowhere = {"edge-1": 0, "edge-2": 0, "cloud": 0}
    instance = instance_of([{"transfer_delay": nowhere}] * 2, horizon=64)
    starts = [run.start for run in a_online(instance, variant=name).schedule.placements.values()]
    assert starts == [3, 3]
    assert brute_force(instance) == 0


def served(instance, name="a-online"):
    """The runs of A_maxsche on a batch, and the prices at its end."""
    network = Network.of(instance, VARIANTS[name])
    jobs = [reveal(instance, j) for j in range(len(instance.jobs))]
    found, round_prices = serve_round(network, jobs, instance.window[0] - 1, VARIANTS[name])
    return found.placements, round_prices


@pytest.mark.parametrize("name", ["a-online", "a-online-printed"])
def test_the_cheaper_one_of_both_subroutines_is_taken(name):
    """E18: where COST_C is as cheap as COST_D, or the only one, min_cost would be left unset."""
    placements, _ = served(TOY_BATCH, name)
    assert placements["j1"].colocated and placements["j1"].workers == {"edge-1": 1}


def test_a_job_takes_its_place_once():
    """E19: after one job only its own worker-slots and PS-slots are taken."""
    one = EdgeInstance.from_data(TOY_BATCH.to_data() | {"jobs": TOY_BATCH.to_data()["jobs"][:1]})
    placements, round_prices = served(one)
    (run,) = placements.values()
    offered = round_prices.pricing_problem(0, 0)
    slots = round_prices.slots
    given = arrays(one)
    taken = int(given.workers[:, 0].sum()) * slots - int(offered.workers.free.sum())
    assert taken == run.number * run.slots == 4
    assert int(given.ps[:, 0].sum()) * slots - int(offered.ps.free.sum()) == run.slots


def test_a_run_at_the_split_rate_may_be_on_one_server():
    """E29: 4.4 worker-slots make three slots of two workers; on one server two would do."""
    alone = EdgeInstance.from_data(TOY_B.to_data() | {"jobs": TOY_B.to_data()["jobs"][:1]})
    assert broken(alone, j1={"workers": {"edge-1": 2}, "completion": 4}) == []
    assert broken(alone, j1={"workers": {"edge-1": 2}, "completion": 3}) == []
    assert brute_force(alone) == 2


def test_equations_errata_and_rules_are_complete():
    labels = set(FAMILY.paper.equations)
    letters = {"2": "l", "3": "b", "4": "d", "5": "b", "9": "c"}
    expected = {str(number) for number in range(1, 10)}
    for number, last in letters.items():
        expected |= {f"{number}{chr(code)}" for code in range(ord("a"), ord(last) + 1)}
    assert labels == expected
    numbers = [int(re.fullmatch(r"E(\d+)", label)[1]) for label in FAMILY.paper.errata]
    assert numbers[0] == 1 and numbers[-1] == 36
    assert all(after == before + 1 for before, after in pairwise(numbers))
    assert set(FAMILY.paper.rules) == {"V1", "V1b", *(f"V{number}" for number in range(2, 11))}
