"""The dmlrs paper's table is whole, and the tests that it names exist."""

import re
from pathlib import Path

from schedgap.instances.dmlrs import arrays
from schedgap.models.dmlrs import FAMILY
from schedgap.models.dmlrs.algorithms.pd_ors import pd_ors
from schedgap.models.dmlrs.algorithms.prices import final_load, final_prices, of_jobs
from schedgap.models.dmlrs.slot_options import job_at_arrival
from strategies.dmlrs_examples import TOY, instance_of, job

TESTS = Path(__file__).resolve().parents[1]


def test_the_paper_is_told_whole() -> None:
    """The notes hold (1)-(28) and refer to (31) and (32); V1 to V7 are the rules."""
    assert list(FAMILY.paper.equations) == [str(n) for n in range(1, 33)]
    lost = {n for n, equation in FAMILY.paper.equations.items() if equation.status == "background"}
    assert lost == {"29", "30"}
    assert list(FAMILY.paper.errata) == [f"E{n}" for n in range(1, 34)]
    assert list(FAMILY.paper.rules) == [f"V{n}" for n in range(1, 8)]
    assert [a.lines for a in FAMILY.paper.algorithms.values()] == [4, 3, 5, 12]


def test_the_tests_that_the_table_names_exist() -> None:
    known = {
        name
        for path in TESTS.rglob("test_dmlrs_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)
    }
    named = {name for erratum in FAMILY.paper.errata.values() for name in erratum.tests}
    assert named and named <= known, named - known


def test_a_resource_that_no_job_uses_takes_the_largest_u() -> None:
    """E7: 6 over 1 + 1 CPUs is 3; no job has a GPU."""
    one = instance_of([job("j1", 1, [6.0, 5.0, 4.0, 2.0], worker_demand={"gpu": 0, "cpu": 1})])
    found = of_jobs([job_at_arrival(one, 0)], 4, arrays(one).capacity_milli)
    assert found.largest.tolist() == [3.0, 3.0]


def test_rounding_ends_where_no_draw_serves() -> None:
    """E13: a hundredth of the workers is next to none, whatever is drawn; inside still works."""
    run = pd_ors(TOY, gain=0.01, rounds=3, seed=1)
    assert run.schedule.value(TOY) == 12


def test_prices_change_only_where_something_runs() -> None:
    """E26: on the toy all that is not loaded still costs L."""
    run = pd_ors(TOY, across="exact", dp="exact")
    price, load = final_prices(TOY, run), final_load(TOY, run)
    assert (price[load == 0] == 0.01).all() and (price[load > 0] > 0.01).all()
