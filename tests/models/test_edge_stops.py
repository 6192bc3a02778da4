"""Exact methods stopped or killed anywhere: whatever they have said by then is true."""

from itertools import product

import pytest

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge.exact import exact
from schedgap.solvers.children.processes import run_child
from strategies.clocks import StopAt
from strategies.edge import edge_instances
from strategies.edge_examples import TOY_A, TOY_B, TOY_BATCH, TOY_C
from strategies.edge_methods import run
from strategies.edge_stops import EXACT, GAPS, MEET, drawn, hard, stopped, sweep

TOYS = {
    "toy-a": TOY_A, "toy-b": TOY_B, "toy-c": TOY_C, "toy-batch": TOY_BATCH, "gaps": GAPS,
    "meet": MEET,
}  # fmt: skip
KINDS = ("usual", "poor", "none", "blind")
PROGRAMS = [name for name, method in EXACT.items() if "highs" in method.engines]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *(("toy-a", kind) for kind in KINDS),
        *(("toy-batch", kind) for kind in KINDS),
        *((name, kind) for name in ("gaps", "meet") for kind in ("usual", "blind")),
    ],
)
def test_exact_claims_nothing_false_wherever_it_stops(name: str, kind: str) -> None:
    stops, last = sweep(TOYS[name], "exact", kind=kind, first=4, more=3)
    killed, _ = sweep(TOYS[name], "exact", kind=kind, first=1, more=3, killed=True)
    if name != "toy-batch" or kind in ("none", "blind"):  # else the first list meets the bound
        assert stops > 3 and killed > 1
    assert last.schedule is not None and last.bound is not None


@pytest.mark.parametrize("instance", [TOY_C, TOY_BATCH], ids=["c", "batch"])
@pytest.mark.parametrize("method", PROGRAMS)
def test_programs_claim_nothing_false_wherever_they_stop(
    method: str, instance: EdgeInstance
) -> None:
    stops, last = sweep(instance, method, kind="none", first=3, more=3)
    assert stops > 3 and last.bound == (3 if instance.is_batch else 6)


def test_searches_with_cp_sat_claim_nothing_false_wherever_they_stop() -> None:
    """In a separate process, with the other stages lost, or the program alone."""
    for method, kind, instances in (
        ("exact", "none", [TOY_A, GAPS, TOY_BATCH]),
        ("cp-sat", "none", [TOY_B, TOY_BATCH]),
    ):
        reply = run_child(
            "strategies.edge_stops:sweeps", instances, method, kind, 5, 3, engine="cp-sat"
        )
        assert reply.result() > 2 * len(instances)


def test_bounds_that_close_have_evidence() -> None:
    """A proof, or the bound of each job alone that a list meets."""
    by_types = 0
    for instance in (TOY_A, TOY_B, TOY_C, *hard(6, max_jobs=4)):
        outcome, witness = stopped(instance, "exact", StopAt(10**9), lost="refute")
        assert outcome.certificate is not None or outcome.proof is not None
        if outcome.proof is not None and outcome.bound == witness.optimum:
            by_types += "type" in outcome.proof.vectors[0]
    assert by_types > 0
    outcome, _ = stopped(TOY_BATCH, "exact", StopAt(10**9))
    assert outcome.certificate == {"kind": "job-bound"}


def at_length(instance: EdgeInstance, kind: str, killed: bool) -> int:
    method = "exact"
    return sweep(instance, method, kind=kind, first=60, more=30, killed=killed)[0]


@pytest.mark.nightly
def test_exact_claims_nothing_false_at_length() -> None:
    """Ten thousand stops, half of them kills."""
    stops = 0
    instances = [*TOYS.values(), *hard(40, max_jobs=4), *hard(20, max_types=1)]
    instances += drawn(edge_instances(batch=True, placeable=True), 20)
    for (n, instance), kind in product(enumerate(instances), KINDS):
        if stops < 10_000:
            stops += at_length(instance, kind, killed=n % 2 == 1)
    print(f"{stops} stops, no false claim")
    assert stops > 8_000


def test_a_search_over_lists_goes_on_to_the_end_of_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where the instance is too large for all else; four rounds take 370 readings of the clock."""
    monkeypatch.setattr(exact, "MAX_PLACES", 0)
    clock = StopAt(500)
    outcome, _ = stopped(GAPS, "exact", clock, lost="refute")
    assert outcome.schedule is not None and "to the end of the time" in outcome.note
    assert clock.readings_left == 0


def test_a_list_says_why_it_stopped() -> None:
    found = run("list", TOY_B, moves=30)
    assert found.trace["ended"] == "90 moves are made (option moves)"
    assert run("list", TOY_B).trace["ended"] == "4 rounds in a row found nothing better"
    alone = TOY_B.replace(jobs=TOY_B.to_data()["jobs"][:1])
    assert run("list", alone).trace["ended"] == "every job ends as soon as it can alone"
    assert run("list", TOY_B, limit=0).trace["ended"] == "time is up"
