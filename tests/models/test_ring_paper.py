"""Errata of the ring paper that a schedule or two show, and the table of errata."""

import pytest

from schedgap.instances.ring import RingInstance
from schedgap.models.ring import FAMILY
from schedgap.models.ring.programs import load_limit
from schedgap.models.ring.rates import load_increments, rate_table
from schedgap.models.ring.rules import check, objective
from schedgap.models.ring.simulator import schedule_of, simulate
from schedgap.solvers import Clock, solve
from strategies.ring_examples import W1, W2, instance_of, job


def test_a_job_need_not_be_on_every_server() -> None:
    """E7, E8: W1's optimum leaves s3 out for a and s1 for b."""
    found = schedule_of(W1, [1, 4], [{0: 3, 1: 1}, {1: 2, 2: 2}])
    assert found is not None
    assert list(check(W1, found.to_data(W1), {})) == []
    assert objective(W1, found.to_data(W1)) == 7


def test_a_finer_scale_loses_less() -> None:
    """E4: tau = 0.07: 14 iterations a slot, or 142 tenths; 100 of them take 8 slots or 7.04."""
    literal = instance_of([job("a", 1, 100)], [1])
    finer = RingInstance.from_data(literal.to_data() | {"rate_scale": 10})
    assert rate_table(literal).rates(0, 1) == (14,) and rate_table(finer).rates(0, 1) == (142,)
    assert simulate(rate_table(literal), [1], [(0,)]) == [8]
    many = {"iterations": 99, "id": "a"}
    quick = RingInstance.from_data(
        literal.to_data() | {"jobs": [literal.to_data()["jobs"][0] | many], "rate_scale": 10}
    )
    assert simulate(rate_table(quick), [1], [(0,)]) == [7]  # 990 / 142


def test_to_charge_every_gpu_with_every_job_bounds_nothing() -> None:
    """E10: W2's estimates add up to 12 on each GPU, where 3 + 3 | 2 + 2 + 2 needs 6."""
    assert sum(load_increments(rate_table(W2))) == 12
    starts, gpu = [1, 4, 1, 3, 5], [0, 0, 0, 0, 0]
    best = schedule_of(W2, starts, [{s: 1} for s in gpu])
    assert best is not None and best.makespan == 6
    table = rate_table(W2)
    program = load_limit.build(table, load_limit.estimated_loads(table))
    assert solve(program, "highs", clock=Clock(30)).objective == pytest.approx(6)


def test_a_ring_that_starts_later_delays_those_that_run() -> None:
    """E16: a alone would end in slot 4; b, from slot 3 on, leaves it 3 a slot: 14 + 3 x 4."""
    table = rate_table(W1)
    assert simulate(table, [1, 9], [(0, 1), (1, 2)])[0] == 4
    assert simulate(table, [1, 3], [(0, 1), (1, 2)])[0] == 6


def test_the_paper_is_told_whole() -> None:
    assert list(FAMILY.paper.equations) == [str(n) for n in range(1, 17)]
    assert list(FAMILY.paper.errata) == [f"E{n}" for n in range(1, 31)]
    assert list(FAMILY.paper.rules) == [f"V{n}" for n in range(1, 9)]
    assert {a.lines for a in FAMILY.paper.algorithms.values()} == {24, 10, 13}
