"""Claims are judged by the draws on which they were measured, and by nothing else."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from schedgap.analysis.evaluations import experiments
from schedgap.analysis.evaluations.judging import Row, draws, judge
from schedgap.analysis.plots.charts import comma_separated
from schedgap.analysis.report.pictures import paper_figures
from schedgap.analysis.report.results import ReportData
from schedgap.errors import InputError
from schedgap.models.figure import (
    Claim,
    Draw,
    Experiment,
    MissingValueError,
    best,
    lower_by,
    monotone,
)

WORDS = {"text": "it is best", "source": "Section 7"}


def figure(*claims: Claim, **more: object) -> Experiment:
    return Experiment(
        family="ring", figure="4", title="toy", x="jobs", objective="makespan", claims=claims,
        series=("A", "B"), draw=tuple, brackets=(), **more,
    )  # fmt: skip


def rows(curves: Mapping[str, list[float | None]], seed: int = 0) -> list[Row]:
    return [
        Row("makespan", 10 * (place + 1), series, seed, "i", value)
        for series, values in curves.items()
        for place, value in enumerate(values)
    ]


def one(curves: Mapping[str, list[float | None]]) -> Draw:
    return draws(figure(), rows(curves))[0]


def test_a_draw_gives_the_values_of_its_series_and_refuses_those_not_measured() -> None:
    draw = one({"A": [1.0, 2.0], "B": [3.0, None]})
    assert draw.xs == [10, 20]
    assert draw.value("A", 20) == 2.0 and draw.curve("A") == [1.0, 2.0]
    for series, x in (("B", 20), ("C", 10), ("A", 30), ("A", None)):
        with pytest.raises(MissingValueError):
            draw.value(series, x)
    with pytest.raises(MissingValueError):
        draw.curve("B")


def test_a_bar_is_found_by_its_name() -> None:
    draw = Draw("makespan", {("makespan", "policy", "FF"): 7.0, ("delay", "policy", "FF"): 2.0})
    assert draw.value("FF") == 7.0 and draw.value("FF", measure="delay") == 2.0
    brackets = {("makespan", series, "FF"): 5.0 for series in ("best known", "bound")}
    draw = Draw("makespan", {**draw.values, **brackets})
    assert draw.value("FF") == 7.0 and draw.value("best known", "FF") == 5.0


@pytest.mark.parametrize(
    ("claim", "curves", "holds", "number"),
    [
        (best("A", ["B"], **WORDS), {"A": [1.0, 2.0], "B": [2.0, 2.0]}, True, 0.0),
        (best("A", ["B"], **WORDS), {"A": [1.0, 3.0], "B": [2.0, 2.0]}, False, 50.0),
        (best("A", ["B"], better="higher", **WORDS), {"A": [4.0], "B": [2.0]}, True, 100.0),
        (best("A", ["B"], better="higher", **WORDS), {"A": [1.0], "B": [2.0]}, False, -50.0),
        (best("A", ["B"], **WORDS), {"A": [1.0, 2.0], "B": [1.0, 2.0]}, False, 0.0),
        (best("A", ["B"], equal=True, **WORDS), {"A": [1.0, 2.0], "B": [1.0, 2.0]}, True, 0.0),
        (best("A", ["B"], equal=True, **WORDS), {"A": [1.1, 2.0], "B": [1.0, 2.0]}, False, 10.0),
        (best("A", ["B"], better="higher", **WORDS), {"A": [4.0, 0.0], "B": [2.0, 0]}, True, 0.0),
        (lower_by("A", ["B"], 40, 60, **WORDS), {"A": [5.0, 5.0], "B": [10.0, 10.0]}, True, 50.0),
        (lower_by("A", ["B"], 40, 60, **WORDS), {"A": [5.0, 7.0], "B": [10.0, 10.0]}, False, 30.0),
        (lower_by("A", ["B"], 40, 60, **WORDS), {"A": [1.0], "B": [10.0]}, False, 90.0),
        (lower_by("A", ["B"], 40, x=10, **WORDS), {"A": [5.0, 9.0], "B": [10.0, 9.0]}, True, 50.0),
        (monotone("A", "falls", **WORDS), {"A": [4.0, 4.0, 2.0]}, True, -50.0),
        (monotone("A", "falls", **WORDS), {"A": [4.0, 4.4, 2.0]}, False, -50.0),
        (monotone("A", "falls", slack=10, **WORDS), {"A": [4.0, 4.4, 2.0]}, True, -50.0),
        (monotone("A", "rises", **WORDS), {"A": [4.0, 5.0, 3.0]}, False, -25.0),
        (monotone("A", "rises", **WORDS), {"A": [2.0, 3.0]}, True, 50.0),
        (monotone("A", "rises", **WORDS), {"A": [2.0, 2.0]}, False, 0.0),
        (monotone("A", "falls", **WORDS), {"A": [2.0, 2.0]}, False, 0.0),
    ],
)  # fmt: skip
def test_common_claims(
    claim: Claim, curves: dict[str, list[float | None]], holds: bool, number: float
) -> None:
    draw = one(curves)
    assert claim.holds is not None and claim.measure is not None
    assert claim.holds(draw) is holds
    assert claim.measure(draw) == pytest.approx(number)


@pytest.mark.parametrize(
    ("held", "verdict"),
    [(10, "reproduced"), (9, "reproduced"), (8, "mixed"), (2, "mixed"), (1, "refuted")],
)
def test_the_verdict_follows_from_the_share_of_the_draws(held: int, verdict: str) -> None:
    values = [
        row
        for seed in range(10)
        for row in rows({"A": [1.0 if seed < held else 3.0], "B": [2.0]}, seed)
    ]
    (judgement,) = judge(figure(best("A", ["B"], **WORDS)), values)
    assert (judgement.verdict, judgement.held, judgement.draws) == (verdict, held, 10)
    mean = ", and on their mean" if verdict == "mixed" and held == 8 else ""
    mean = ", and not on their mean" if verdict == "mixed" and held == 2 else mean
    assert judgement.measured.startswith(f"holds on {held} of 10 draws{mean}; ")


def test_the_mean_of_the_draws_is_said_where_it_disagrees_with_the_verdict() -> None:
    """A paper plots means: one draw far ahead can carry nine that are slightly behind."""
    values = [
        row
        for seed in range(10)
        for row in rows({"A": [5.0 if seed == 0 else 100.0], "B": [99.0]}, seed)
    ]
    (judgement,) = judge(figure(best("A", ["B"], **WORDS)), values)
    assert (judgement.verdict, judgement.mean) == ("refuted", True)
    assert judgement.measured.startswith("holds on 1 of 10 draws, and on their mean; ")
    (other,) = judge(figure(best("B", ["A"], **WORDS)), values)
    assert (other.verdict, other.mean) == ("reproduced", False)
    assert other.measured.startswith("holds on 9 of 10 draws, and not on their mean; ")


def test_no_mean_is_said_where_a_value_of_it_is_missing() -> None:
    """The claim takes the first value that is known: the mean would mix two positions."""

    def first(draw: Draw) -> float:
        return next(value for value in draw.values.values() if value is not None)

    claim = Claim("small", "Section 7", lambda draw: first(draw) < 4)
    values = [*rows({"A": [1.0, 9.0]}, 0), *rows({"A": [None, 3.0]}, 1)]
    (judgement,) = judge(figure(claim), values)
    assert (judgement.held, judgement.draws, judgement.mean) == (2, 2, False)


def test_draws_and_numbers_are_in_order_and_a_zero_is_a_value() -> None:
    claim = Claim(
        holds=lambda draw: draw.value("A", 10) == 0.0, measure=lambda draw: draw.value("B", 10),
        unit="x", **WORDS,
    )  # fmt: skip
    taken = [
        row
        for seed, number in ((3, 5.0), (1, 9.0), (2, 7.0))
        for row in rows({"A": [0.0], "B": [number]}, seed)
    ]
    assert [draw.value("B", 10) for draw in draws(figure(claim), taken)] == [9.0, 7.0, 5.0]
    (found,) = judge(figure(claim), taken)
    assert found.numbers == (5.0, 7.0, 9.0) and found.measured.endswith("7 x [5, 9]")
    assert found.mean is True


def test_a_draw_that_compares_nothing_is_not_measured() -> None:
    """All policies earn nothing, or a percentage of zero is asked for."""
    zero, some = rows({"A": [0.0, 0.0], "B": [0.0, 0.0]}, 0), rows({"A": [2.0], "B": [1.0]}, 1)
    claim = best("A", ["B"], better="higher", equal=True, **WORDS)
    (judgement,) = judge(figure(claim), [*zero, *some])
    assert (judgement.held, judgement.draws, judgement.of) == (1, 1, 2)
    ratio = Claim("twice", "Section 7", lambda draw: draw.value("A", 10) / draw.value("B", 10) == 2)
    (judgement,) = judge(figure(ratio), [*zero, *some])
    assert (judgement.held, judgement.draws, judgement.of) == (1, 1, 2)


def test_a_draw_without_a_value_is_not_counted_but_said() -> None:
    values = [*rows({"A": [1.0], "B": [2.0]}, 0), *rows({"A": [None], "B": [2.0]}, 1)]
    (judgement,) = judge(figure(best("A", ["B"], **WORDS)), values)
    assert (judgement.held, judgement.draws, judgement.of) == (1, 1, 2)
    assert "1 not measured" in judgement.measured and judgement.numbers == (-50.0,)
    assert judgement.verdict == "reproduced"  # half of the draws suffice
    few = [*values, *rows({"A": [None], "B": [2.0]}, 2)]
    (judgement,) = judge(figure(best("A", ["B"], **WORDS)), few)
    assert (judgement.verdict, judgement.held, judgement.of) == ("not measured", 1, 3)
    assert judgement.measured.startswith("holds on 1 of 1 draws, 2 not measured")
    (nothing,) = judge(figure(best("A", ["C"], **WORDS)), values)
    assert (nothing.verdict, nothing.draws) == ("not measured", 0)


def test_a_claim_that_cannot_be_tested_says_why() -> None:
    claim = Claim("it is close", "Section 7", untestable="the text gives no number")
    (judgement,) = judge(figure(claim), rows({"A": [1.0]}))
    assert judgement.verdict == "not testable"
    assert judgement.measured == "the text gives no number"
    with pytest.raises(ValueError, match="need either"):
        Claim("it is close", "Section 7")


def test_values_are_the_same_after_a_csv_file(tmp_path: Path) -> None:
    values = [
        Row("makespan", 0.5, "A", 0, "i", 1.0 / 3.0),
        Row("makespan", 10, "A", 0, "i", None),
        Row("makespan", "low", "A", 1, "i", 2.0),
    ]
    file = tmp_path / "figure.csv"
    file.write_text(comma_separated(Row._fields, values), encoding="utf-8")
    assert experiments.read(file) == values
    file.write_text("a,b\n", encoding="utf-8")
    with pytest.raises(InputError, match="not the values of a figure"):
        experiments.read(file)


def test_settings_and_scale_are_part_of_the_file_name() -> None:
    setting = {"alpha": 1, "arrivals": "together"}
    names = [
        experiments.file_name(each)
        for each in (figure(), figure(quick=True), figure(setting=setting, quick=True))
    ]
    assert names == [
        "ring-figure-4.csv",
        "ring-figure-4@quick.csv",
        "ring-figure-4@quick,alpha=1,arrivals=together.csv",
    ]


def test_the_report_lists_the_verdicts_once_for_a_figure_of_several_charts() -> None:
    claim = best("A", ["B"], text="A <is> best", source="Section 7")
    shown = figure(claim, metrics=("delay",))
    numbers = rows({"A": [1.0, 2.0], "B": [3.0, 4.0]})
    numbers += [row._replace(measure="delay") for row in numbers]
    report = ReportData(None, ())  # type: ignore[arg-type]
    vars(report)["figures"] = {"ring-4.csv": (shown, numbers)}  # computed of a run otherwise
    first, second = (caption for _, _, caption, _ in paper_figures(report, "ring"))
    assert first.startswith("Makespan, means of 1 draw; ")
    assert first.count("<li>") == 1 and "<strong>Reproduced</strong>: A &lt;is&gt; best (" in first
    assert second.startswith("Delay, means of 1 draw; ") and "<li>" not in second
