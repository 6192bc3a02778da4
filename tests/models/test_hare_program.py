"""The exact programs: their rows, their solutions, and what they refuse."""

from typing import Any

import pytest

from schedgap.errors import InputError, ScaleError
from schedgap.instances.hare import HareInstance, arrays
from schedgap.models.hare.algorithms.list_wspt import list_wspt
from schedgap.models.hare.bounds.certificates import check_certificate
from schedgap.models.hare.decode import to_steps, value_of
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
    [("big-m", "highs"), ("cp-sat", "cp-sat"), ("exact", None)],
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
        model = printed.build(TOY, **options).model
        return {row.local_name for row in model.component_objects(pyo.Constraint)}

    common = {"eq_4", "eq_5", "eq_6", "eq_8_first", "eq_8_second"}
    assert rows() == common | {"eq_7_end", "eq_7_start", "cut_alike"}
    assert rows(pairwise=True) == common | {"eq_7", "cut_alike"}
    assert rows(synchronization="fixed") == common | {"eq_7_end", "eq_7_start", "lin_together"}


def test_literal_pairs_give_the_same_optimum() -> None:
    answers = answers_of("big-m", "highs", EXAMPLES, {"pairwise": "true"})
    assert [answer["objective"] for answer in answers] == pytest.approx(OPTIMA)


@pytest.mark.parametrize("instance", [TOY, FIGURE_4, *tiny_instances(3, seed=5)])
def test_a_schedule_is_a_point_of_the_time_indexed_program_and_is_read_back(
    instance: HareInstance,
) -> None:
    view, schedule = arrays(instance), list_wspt(instance)
    start = to_steps(instance, schedule)
    kind = view.gpu_class[schedule.gpu]
    upper = value_of(instance, start, schedule.gpu)
    program = time_indexed.build(instance, upper=upper)
    point = time_indexed.start(instance, start, kind, upper=upper)
    activity = program.matrix @ point
    assert (activity >= program.row_lower).all() and (activity <= program.row_upper).all()
    assert (point >= program.lower).all() and (point <= program.upper).all()
    assert program.objective(point) == upper
    again = time_indexed.read(point, instance, upper=upper)
    assert value_of(instance, to_steps(instance, again), again.gpu) == upper


def test_the_relaxation_bounds_the_optimum_and_its_certificate_repeats_it() -> None:
    instances = [TOY, *tiny_instances(15, seed=11)]
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
    assert "> max_columns=10" in answer["note"]
    assert answer["bound"] <= brute_force(TOY) <= answer["objective"]  # a list, and jobs alone


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
