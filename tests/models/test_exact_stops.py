"""Every bound that `exact` returns can be evaluated again, wherever the search is stopped."""

import pytest

from strategies.exact_stops import readings, stops_of

# family, engine of the stages that run, seed, jobs, readings of the clock
SEARCHES = [
    ("dmlrs", "highs", 2, 7, 30, 3_000),
    ("edge", "highs", 1, 12, 10, 900),
    ("elastic", "highs", 1, 10, 50, 1_600),
    ("hare", "highs", 2, 8, 25, 10_000),
    ("ring", "cp-sat", 1, 9, 20, 300),
]


@pytest.mark.parametrize(("name", "engine", "seed", "jobs", "first", "most"), SEARCHES)
def test_a_search_that_is_stopped_returns_a_bound_with_evidence(
    name: str, engine: str, seed: int, jobs: int, first: int, most: int
) -> None:
    cases = [(name, seed, jobs, k) for k in readings(first, most)]
    counts = stops_of(engine, cases)
    assert counts["certificate"] > 1
    assert counts["certificate"] + counts["optimum"] + counts["tree"] == len(cases)
    assert name != "hare" or counts["tree"]


@pytest.mark.parametrize(
    ("name", "engine", "seed", "jobs", "k"),
    [
        ("dmlrs", "highs", 1, 5, 1_000),
        ("edge", "highs", 1, 12, 100),
        ("elastic", "highs", 1, 10, 800),
        ("hare", "highs", 2, 8, 300),
        ("ring", "cp-sat", 1, 9, 30),
    ],
)
def test_a_better_bound_without_evidence_is_in_the_trace_only(
    name: str, engine: str, seed: int, jobs: int, k: int
) -> None:
    assert stops_of(engine, [(name, seed, jobs, k)], claim=True)["left out"] == 1
