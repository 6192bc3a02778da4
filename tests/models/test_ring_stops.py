"""Searches of family `ring` stopped at any time: bounds stay valid, and no gap closes falsely."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedgap.instances.ring import RingInstance
from strategies.clocks import LONG
from strategies.ring import optimum, ring_instances
from strategies.ring_examples import W1, W2, W3, instance_of, job
from strategies.ring_stops import METHODS, STARTS, Task, apart, every_stop

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}
# three rings of 3 on five servers of 2: each may meet two others
THREE = instance_of([job(name, 3, 12, 4 / 3) for name in "abc"], [2] * 5, horizon=40)
# as W1 with a slot too few; and jobs side by side nowhere, with a slot too few
LATE = instance_of([job(name, 4, 24, 4 / 3) for name in "ab"], [3, 3, 3], horizon=6)
WIDE = instance_of([job(name, 2, 28) for name in "abc"], [3], horizon=5)
EXAMPLES = [(W1, 7), (W2, 6), (W3, 8), (THREE, 3), (LATE, None), (WIDE, None)]
OWN = ["branch-simulate", "pattern-lp", "bounds", "theta-feasible"]


def test_the_optima_of_the_examples() -> None:
    assert optimum(THREE) == 3 and optimum(LATE) is None and optimum(WIDE) is None


@pytest.mark.parametrize("start", STARTS)
def test_the_search_from_slot_to_slot_stops_anywhere(start: str) -> None:
    first = 5 if start == "usual" else 40  # the lists make most of its readings
    stops = [every_stop("branch-simulate", *each, first=first, start=start) for each in EXAMPLES]
    assert sum(stops) > 4  # it reads the clock before each search


@pytest.mark.parametrize("name", OWN[1:])
def test_bounds_stop_anywhere(name: str) -> None:
    stops = [every_stop(name, *each, first=8, spread=2) for each in EXAMPLES]
    assert sum(stops) > 10


def test_the_papers_programs_stop_anywhere() -> None:
    assert every_stop("rar-ddls", LATE, None, first=3, spread=2, start="none") > 4
    assert every_stop("rar-ddls", W1, 7, first=1, spread=2, start="bad") > 2
    assert every_stop("complete-pool", W1, 7, first=3, spread=2) > 4


def test_programs_for_cp_sat_stop_anywhere() -> None:
    tasks: list[Task] = []
    for instance, best in EXAMPLES:
        for start in STARTS:
            most = {"start": start, "first": 2, "spread": 1}
            names = ["climb"] if start == "none" else ["rar-ddls-cp", "climb"]
            tasks += [(name, instance, best, most) for name in names]
            most = {"start": start, "first": 1, "spread": 0, "seconds": 0.004}
            tasks.append(("climb", instance, best, most))
    assert apart(tasks) > 60


@pytest.mark.parametrize(
    ("start", "instance", "best"), [("usual", W1, 7), ("bad", THREE, 3), ("none", LATE, None)]
)
def test_exact_stops_anywhere(start: str, instance: RingInstance, best: int | None) -> None:
    assert every_stop("exact", instance, best, first=3, spread=5, start=start) > 2


@settings(max_examples=2, **QUIET)
@given(ring_instances(max_jobs=3, max_servers=3, max_slots=3), st.sampled_from(STARTS))
def test_any_search_stops_anywhere(instance: RingInstance, start: str) -> None:
    _anywhere(instance, start, first=2, spread=1)


@pytest.mark.nightly
@settings(max_examples=180, **QUIET)
@given(
    ring_instances(max_jobs=4, max_servers=3, max_slots=4, placeable=True),
    st.sampled_from(STARTS),
)
def test_any_search_stops_anywhere_at_length(instance: RingInstance, start: str) -> None:
    print("stops:", _anywhere(instance, start, first=5, spread=3))


def _anywhere(instance: RingInstance, start: str, **most: int) -> int:
    best = optimum(instance)
    stops = sum(every_stop(name, instance, best, start=start, **most) for name in OWN)
    stops += every_stop("exact", instance, best, start=start, **most)
    tasks: list[Task] = []
    for name in ("rar-ddls-cp", "climb"):
        for seconds in (LONG, 0.003):
            tasks.append((name, instance, best, {"start": start, "seconds": seconds, **most}))
    return stops + apart(tasks)


def test_a_wrong_word_is_caught() -> None:
    """The optimum of W1 is 7, not 8 and not 6."""
    with pytest.raises(AssertionError):
        every_stop("branch-simulate", W1, 8)
    with pytest.raises(AssertionError):
        every_stop("branch-simulate", W1, 6)
    assert METHODS["climb"].kind == "exact"
