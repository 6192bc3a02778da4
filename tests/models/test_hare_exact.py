"""Exact methods on many random instances: they agree with each other and with enumeration."""

import pytest

from schedgap.instances.generate import generate
from schedgap.models.hare.integer_time import steps
from strategies.hare import brute_force
from strategies.hare_batch import answers_of, tiny_instances, trees_of

MEETS = 1e-6


def _agree(count: int, seed: int) -> None:
    instances = tiny_instances(count, seed)
    optima = [brute_force(instance) for instance in instances]
    for instance, optimum, (upper, lower, heard) in zip(
        instances, optima, trees_of(instances), strict=True
    ):
        real = steps(instance).to_objective
        assert real(upper) == pytest.approx(optimum, rel=MEETS), instance.to_data()
        assert lower == upper
        assert all(real(bound) <= optimum + MEETS for bound in heard)
    for instance, optimum, answer in zip(
        instances, optima, answers_of("cp-sat", "cp-sat", instances), strict=True
    ):
        assert not answer["violations"]
        assert answer["objective"] == pytest.approx(optimum, rel=MEETS), instance.to_data()
        assert answer["bound"] == pytest.approx(optimum, rel=MEETS)
        assert all(bound <= optimum + MEETS for bound in answer["heard"])


def test_branch_and_price_and_cp_sat_find_the_optima_of_tiny_instances() -> None:
    _agree(40, seed=1)


@pytest.mark.nightly
def test_branch_and_price_and_cp_sat_agree_on_thousands() -> None:
    for seed in range(1, 22):
        _agree(120, seed)


@pytest.mark.parametrize(("name", "engine"), [("big-m", "highs"), ("time-indexed", "highs")])
def test_the_mixed_integer_programs_find_the_optima_of_tiny_instances(
    name: str, engine: str
) -> None:
    instances = [
        instance
        for instance in tiny_instances(30, seed=7, most_tasks=5)
        if steps(instance).horizon <= 60
    ][:12]
    for instance, answer in zip(instances, answers_of(name, engine, instances), strict=True):
        optimum = brute_force(instance)
        assert not answer["violations"]
        assert answer["objective"] == pytest.approx(optimum, rel=MEETS), instance.to_data()
        assert answer["bound"] == pytest.approx(optimum, rel=MEETS)


def test_fixed_synchronization_is_solved_by_its_own_windows() -> None:
    """Windows from a relaxed schedule would cut the fixed optimum off."""
    instances = tiny_instances(30, seed=23)
    for name, engine in (("cp-sat", "cp-sat"), ("big-m", "highs")):
        chosen = instances if engine == "cp-sat" else instances[:8]
        for instance, answer in zip(
            chosen, answers_of(name, engine, chosen, {"synchronization": "fixed"}), strict=True
        ):
            optimum = brute_force(instance, "fixed")
            assert not answer["violations"]
            assert answer["infeasible"] == (optimum == float("inf"))
            if not answer["infeasible"]:
                assert answer["objective"] == pytest.approx(optimum, rel=MEETS)
                assert answer["bound"] == pytest.approx(optimum, rel=MEETS)


def test_exact_proves_small_instances() -> None:
    """By branch and price, and by CP-SAT too where its process starts in time."""
    instances = [generate("hare", preset="small", seed=seed) for seed in range(2)]
    for answer in answers_of("exact", None, instances, seconds=60.0):  # type: ignore[arg-type]  # hare
        assert not answer["violations"]
        assert answer["objective"] == pytest.approx(answer["bound"], rel=MEETS)
        assert answer["trace"]["proof"][-1] == "branch-and-price"
        assert {*answer["trace"]["proof"]} <= {"cp-sat", "branch-and-price"}
