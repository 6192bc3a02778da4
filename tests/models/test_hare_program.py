"""The exact programs: their rows, their twins, and what they refuse."""

from typing import Any

import numpy as np
import pytest

from schedgap.errors import InputError, ScaleError
from schedgap.instances.hare import HareInstance
from schedgap.models.hare.bounds.certificates import check_certificate
from schedgap.models.hare.integer_time import steps
from schedgap.models.hare.programs import printed, time_indexed
from strategies.hare import brute_force, instance_of
from strategies.hare_batch import answers_of, tiny_instances
from strategies.hare_examples import FIGURE_4, THREE_UNIT_TASKS, TOY, TWO_GPUS, UNLIKE_ROUNDS

EXAMPLES = [TOY, FIGURE_4, TWO_GPUS, UNLIKE_ROUNDS, THREE_UNIT_TASKS]
OPTIMA = [8, 11, 807, 2, 6.4]
FIXED = [10, 12.5, None, 2, 6.4]  # a round of 7 tasks cannot start together on 2 GPUs


@pytest.mark.parametrize(
    ("name", "engine"),
    [
        ("big-m", "highs"),
        ("cp-sat", "cp-sat"),
        ("cp-sat-gpu", "cp-sat"),
        ("time-indexed", "highs"),
        ("time-indexed", "cp-sat"),
        ("exact", None),
    ],
)
def test_the_worked_examples(name: str, engine: str | None) -> None:
    answers = answers_of(name, engine, EXAMPLES)
    assert [answer["violations"] for answer in answers] == [[]] * 5
    assert [answer["objective"] for answer in answers] == pytest.approx(OPTIMA)
    assert [answer["bound"] for answer in answers] == pytest.approx(OPTIMA)


@pytest.mark.parametrize(
    ("name", "engine"),
    [("big-m", "highs"), ("cp-sat", "cp-sat"), ("cp-sat-gpu", "cp-sat"), ("exact", None)],
)
def test_tasks_of_a_round_start_together_when_synchronization_is_fixed(
    name: str, engine: str | None
) -> None:
    answers = answers_of(name, engine, EXAMPLES, {"synchronization": "fixed"})
    assert [answer["violations"] for answer in answers] == [[]] * 5
    assert [answer["infeasible"] for answer in answers] == [value is None for value in FIXED]
    for answer, value in zip(answers, FIXED, strict=True):
        if value is not None:
            assert answer["objective"] == answer["bound"] == pytest.approx(value)


def test_the_rows_carry_the_papers_labels() -> None:
    import pyomo.environ as pyo

    def rows(**options: Any) -> set[str]:
        model = printed.build(TOY, **options)
        return {row.local_name for row in model.component_objects(pyo.Constraint)}

    common = {"eq_4", "eq_5", "eq_6", "eq_8_first", "eq_8_second"}
    assert rows() == common | {"eq_7_end", "eq_7_start", "cut_alike"}
    assert rows(pairwise=True) == common | {"eq_7", "cut_alike"}
    assert rows(synchronization="fixed") == common | {"eq_7_end", "eq_7_start", "lin_together"}


def test_literal_pairs_give_the_same_optimum() -> None:
    answers = answers_of("big-m", "highs", EXAMPLES, {"pairwise": "true"})
    assert [answer["objective"] for answer in answers] == pytest.approx(OPTIMA)


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("instance", [TOY, FIGURE_4, *tiny_instances(3, seed=5)])
def test_arrays_and_pyomo_hold_the_same_program(instance: HareInstance, narrow: bool) -> None:
    from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

    upper = steps(instance).least + 10 if narrow else None
    model = time_indexed.build(instance, upper=upper)
    ours = time_indexed.program(instance, upper)
    theirs = LinearStandardFormCompiler().write(model, mixed_form=True)
    place = {var.name: j for j, var in enumerate(theirs.columns)}
    variables = [*model.u.values(), *model.z.values()]
    used = [j for j, var in enumerate(variables) if var.name in place]
    taken = [place[variables[j].name] for j in used]
    assert len(taken) == len(theirs.columns)

    def rows(matrix: Any, lower: Any, upper: Any) -> list[Any]:
        """All rows that say something, as "at least" or "equal"."""
        found = []
        for entries, low, high in zip(matrix, lower, upper, strict=True):
            sign = -1.0 if np.isinf(low) else 1.0
            if entries.any():
                sides = sorted((sign * float(low), sign * float(high)))
                found.append([*(sign * entries + 0.0).tolist(), *sides])
        return sorted(found)

    kind = np.array([row.bound_type for row in theirs.rows])  # -1 at least, 0 equal, 1 at most
    low, high = np.where(kind <= 0, theirs.rhs, -np.inf), np.where(kind >= 0, theirs.rhs, np.inf)
    assert rows(theirs.A.toarray()[:, taken], low, high) == rows(
        ours.matrix.toarray()[:, used], ours.row_lower, ours.row_upper
    )
    assert np.ravel(theirs.c.toarray())[taken].tolist() == ours.cost[used].tolist()
    assert float(np.ravel(theirs.c_offset)[0]) == ours.offset
    assert [variables[j].ub for j in range(len(variables))] == ours.upper.tolist()


def test_the_relaxation_bounds_the_optimum_and_its_certificate_repeats_it() -> None:
    instances = [TOY, *tiny_instances(40, seed=11)]
    for instance, answer in zip(
        instances, answers_of("time-indexed-lp", "highs", instances), strict=True
    ):
        optimum = brute_force(instance)
        assert answer["bound"] is not None
        assert answer["bound"] <= optimum + 1e-9
        certificate = answer["certificate"]
        assert check_certificate(instance, certificate) == answer["bound"]
        # Any prices prove some bound, and windows that are too narrow prove only that.
        for factor in (0.0, 0.5, -1.0, 3.0):
            prices = [[row, price * factor] for row, price in certificate["duals"]]
            assert check_certificate(instance, certificate | {"duals": prices}) <= optimum + 1e-9
        for upper in (0, certificate["upper"] // 2, 10 * certificate["upper"]):
            try:
                proved = check_certificate(instance, certificate | {"upper": upper})
            except InputError:  # other windows, other rows
                continue
            assert proved <= optimum + 1e-9


def test_too_many_columns_are_refused_in_words() -> None:
    [answer] = answers_of("time-indexed", "highs", [TOY], {"max_columns": 10})
    assert answer["objective"] is None and answer["bound"] is None
    assert "max_columns=10" in answer["note"]


def test_a_bound_of_a_stopped_search_is_valid() -> None:
    instances = tiny_instances(12, seed=3, most_tasks=7)
    for name, engine in (("cp-sat", "cp-sat"), ("time-indexed", "highs"), ("exact", None)):
        for answer, instance in zip(
            answers_of(name, engine, instances, seconds=0.02), instances, strict=True
        ):
            optimum = brute_force(instance)
            assert not answer["violations"]
            for bound in [*answer["heard"], answer["bound"]]:
                assert bound is None or bound <= optimum + 1e-6
            if answer["objective"] is not None:
                assert answer["objective"] >= optimum - 1e-6


def test_times_that_need_more_than_a_million_steps_are_refused() -> None:
    job = {"rounds": 1, "tasks_per_round": 1, "training_time": {"k": 1.0000001}}
    with pytest.raises(ScaleError):
        printed.build(instance_of({"g": "k"}, [job]))
