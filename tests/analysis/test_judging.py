"""Claims are judged by the draws on which they were measured, and by nothing else."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from schedgap.analysis.evaluations import experiments
from schedgap.analysis.evaluations.judging import (
    Judgement,
    Part,
    Row,
    Sentence,
    judge_claims,
    replications,
    sentences,
)
from schedgap.analysis.plots.csv_text import comma_separated
from schedgap.analysis.report.pictures import paper_figures
from schedgap.analysis.report.results import ReportData
from schedgap.analysis.report.tables import _verdicts
from schedgap.errors import InputError
from schedgap.models.figure import (
    Claim,
    Draw,
    Experiment,
    MissingValueError,
    NotApplicableError,
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
    return replications(figure(), rows(curves))[0]


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
    (judgement,) = judge_claims(figure(best("A", ["B"], **WORDS)), values)
    assert (judgement.verdict, judgement.held, judgement.n_measured) == (verdict, held, 10)
    mean = ", and on their mean" if verdict == "mixed" and held == 8 else ""
    mean = ", and not on their mean" if verdict == "mixed" and held == 2 else mean
    assert judgement.measured.startswith(f"holds on {held} of 10 replications{mean}; ")


def test_the_mean_of_the_draws_is_said_where_it_disagrees_with_the_verdict() -> None:
    """A paper plots means: one draw far ahead can carry nine that are slightly behind."""
    values = [
        row
        for seed in range(10)
        for row in rows({"A": [5.0 if seed == 0 else 100.0], "B": [99.0]}, seed)
    ]
    (judgement,) = judge_claims(figure(best("A", ["B"], **WORDS)), values)
    assert (judgement.verdict, judgement.mean) == ("refuted", True)
    assert judgement.measured.startswith("holds on 1 of 10 replications, and on their mean; ")
    (other,) = judge_claims(figure(best("B", ["A"], **WORDS)), values)
    assert (other.verdict, other.mean) == ("reproduced", False)
    assert other.measured.startswith("holds on 9 of 10 replications, and not on their mean; ")


def test_no_mean_is_said_where_a_value_of_it_is_missing() -> None:
    """The claim takes the first value that is known: the mean would mix two positions."""

    def first(draw: Draw) -> float:
        return next(value for value in draw.values.values() if value is not None)

    claim = Claim("small", "Section 7", lambda draw: first(draw) < 4)
    values = [*rows({"A": [1.0, 9.0]}, 0), *rows({"A": [None, 3.0]}, 1)]
    (judgement,) = judge_claims(figure(claim), values)
    assert (judgement.held, judgement.n_measured, judgement.mean) == (2, 2, False)


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
    assert [draw.value("B", 10) for draw in replications(figure(claim), taken)] == [9.0, 7.0, 5.0]
    (found,) = judge_claims(figure(claim), taken)
    assert found.numbers == (5.0, 7.0, 9.0) and found.measured.endswith("7 x [5, 9]")
    assert found.mean is True


def test_a_draw_that_compares_nothing_is_not_measured() -> None:
    """All policies earn nothing, or a percentage of zero is asked for."""
    zero, some = rows({"A": [0.0, 0.0], "B": [0.0, 0.0]}, 0), rows({"A": [2.0], "B": [1.0]}, 1)
    claim = best("A", ["B"], better="higher", equal=True, **WORDS)
    (judgement,) = judge_claims(figure(claim), [*zero, *some])
    assert (judgement.held, judgement.n_measured, judgement.n_replications) == (1, 1, 2)
    ratio = Claim("twice", "Section 7", lambda draw: draw.value("A", 10) / draw.value("B", 10) == 2)
    (judgement,) = judge_claims(figure(ratio), [*zero, *some])
    assert (judgement.held, judgement.n_measured, judgement.n_replications) == (1, 1, 2)


def test_a_draw_without_a_value_is_not_counted_but_said() -> None:
    values = [*rows({"A": [1.0], "B": [2.0]}, 0), *rows({"A": [None], "B": [2.0]}, 1)]
    (judgement,) = judge_claims(figure(best("A", ["B"], **WORDS)), values)
    assert (judgement.held, judgement.n_measured, judgement.n_replications) == (1, 1, 2)
    assert "1 not measured" in judgement.measured and judgement.numbers == (-50.0,)
    assert judgement.verdict == "reproduced"  # half of the draws suffice
    few = [*values, *rows({"A": [None], "B": [2.0]}, 2)]
    (judgement,) = judge_claims(figure(best("A", ["B"], **WORDS)), few)
    assert (judgement.verdict, judgement.held, judgement.n_replications) == ("not measured", 1, 3)
    assert judgement.measured.startswith("holds on 1 of 1 replications, 2 not measured")
    (nothing,) = judge_claims(figure(best("A", ["C"], **WORDS)), values)
    assert (nothing.verdict, nothing.n_measured) == ("not measured", 0)


def test_a_claim_that_cannot_be_tested_says_why() -> None:
    claim = Claim("it is close", "Section 7", untestable="the text gives no number")
    (judgement,) = judge_claims(figure(claim), rows({"A": [1.0]}))
    assert judgement.verdict == "not testable"
    assert judgement.measured == "the text gives no number"


def test_a_claim_is_decided_in_exactly_one_way() -> None:
    ways: list[dict[str, object]] = [
        {"holds": bool}, {"untestable": "no number"}, {"given": "an input"}, {"threshold": "ours"},
    ]  # fmt: skip
    for place, way in enumerate(ways):
        Claim("it is close", "Section 7", measure=lambda draw: 1.0, **way)  # type: ignore[arg-type]
        for other in ways[:place]:
            with pytest.raises(ValueError, match="need exactly one of"):
                Claim("it is close", "Section 7", **way, **other)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="need exactly one of"):
        Claim("it is close", "Section 7")
    with pytest.raises(ValueError, match="needs `measure`"):
        Claim("it is close", "Section 7", threshold="ours")


def test_a_threshold_of_ours_and_an_input_get_no_stamp() -> None:
    values = [row for seed in range(4) for row in rows({"A": [1.0 + seed], "B": [2.0]}, seed)]
    judged = best("A", ["B"], **WORDS)
    given = Claim(
        "A is 1", "Section 7", given="a setting", measure=lambda draw: draw.value("A", 10)
    )
    open_claim = replace(judged, holds=None, threshold="ours")
    spread, source = judge_claims(figure(open_claim, given), values)
    assert (spread.verdict, spread.measured) == ("measured", "on 4 replications; 25 % [-50, 100]")
    assert (source.verdict, source.measured) == ("input", "a setting; 2.5 [1, 4]")
    missing = rows({"A": [None], "B": [2.0]}, 0)
    (nothing,) = judge_claims(figure(open_claim), missing)
    assert nothing.verdict == "not measured"


def test_a_draw_to_which_the_claim_does_not_apply_does_not_count() -> None:
    """Of ten draws the claim speaks of three; it holds on all of these."""

    def falls(draw: Draw) -> bool:
        first, last = draw.curve("A")
        if first == last:
            raise NotApplicableError("it does not bend")
        return last < first

    claim = Claim("it falls because", "Section 7", falls)
    values = [
        row for seed in range(10) for row in rows({"A": [2.0, 1.0 if seed < 3 else 2.0]}, seed)
    ]
    (found,) = judge_claims(figure(claim), values)
    assert (found.verdict, found.held, found.n_measured) == ("reproduced", 3, 3)
    assert found.n_not_applicable == 7
    assert found.measured == "holds on 3 of 3 replications, does not apply to 7"
    (none,) = judge_claims(figure(claim), values[-4:])
    assert (none.verdict, none.n_not_applicable) == ("not measured", 2)
    assert none.measured == "does not apply to any of the 2 replications"


def part(own: str, *others: str) -> Part:
    """Return a part with verdicts at our defaults and at other settings."""

    def judged(verdict: str, **setting: float) -> Judgement:
        claim = best("A", ["B"], **WORDS)
        return Judgement(figure(claim, setting=setting), claim, verdict, 0, 1, 1, ())  # type: ignore[arg-type]

    return Part(judged(own), tuple(judged(each, load=k) for k, each in enumerate(others)))


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (("reproduced",), "reproduced"),
        (("reproduced", "reproduced", "mixed"), "reproduced"),
        (("reproduced", "reproduced", "refuted"), "mixed"),
        (("refuted", "mixed"), "refuted"),
        (("refuted", "reproduced"), "mixed"),
        (("mixed", "refuted"), "mixed"),
        (("not measured", "mixed"), "mixed"),
        (("not measured", "refuted", "refuted"), "refuted"),
        (("not measured", "not measured"), "not measured"),
        (("measured", "measured"), "measured"),
    ],
)
def test_settings_change_a_verdict_only_into_mixed(
    verdicts: tuple[str, ...], expected: str
) -> None:
    found = part(*verdicts)
    assert found.verdict == expected
    assert found.depends == (expected != verdicts[0])


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (("reproduced", "reproduced"), "reproduced"),
        (("refuted", "refuted", "not testable"), "refuted"),
        (("reproduced", "refuted"), "mixed"),
        (("reproduced", "mixed"), "mixed"),
        (("reproduced", "measured", "not measured"), "reproduced"),
        (("not testable", "measured"), "measured"),
        (("not testable", "input"), "input"),
        (("not testable", "not measured"), "not measured"),
        (("not testable",), "not testable"),
    ],
)
def test_the_verdict_on_a_sentence_follows_from_its_parts(
    verdicts: tuple[str, ...], expected: str
) -> None:
    assert Sentence("it is best", tuple(map(part, verdicts))).verdict == expected


def test_sentences_collect_their_parts_over_figures_and_settings() -> None:
    def claims(figure_of: str) -> tuple[Claim, ...]:
        here = f"Section 7, Fig. {figure_of}"
        return (
            *(
                replace(
                    best("A", [name], text=f"better than {name}", source=here),
                    sentence="it is best",
                )
                for name in ("B", "C")
            ),
            replace(best("A", ["B"], text="it is best", source=here), standing="ours"),
        )

    values = rows({"A": [1.0], "B": [2.0], "C": [0.5]})
    made = [
        replace(figure(*claims(number), setting=setting), figure=number)
        for number in ("4", "5")
        for setting in ({}, {"load": 2})
    ]
    found = sentences(item for each in reversed(made) for item in judge_claims(each, values))
    assert [(each.text, len(each.parts), each.verdict) for each in found] == [
        ("it is best", 4, "mixed"), ("it is best", 2, "ours")
    ]  # fmt: skip
    assert (
        found[0].figures == ("5", "4") and found[0].source == "Section 7, Fig. 5; Section 7, Fig. 4"
    )
    for each in found[0].parts:
        assert not each.judgement.experiment.setting
        assert [item.experiment.setting for item in each.scanned] == [{"load": 2}]


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


def test_the_report_counts_sentences_over_all_settings_and_not_parts() -> None:
    """A sentence of two parts, of which a setting refutes one, is one mixed sentence."""
    parts = [
        replace(best("A", [rival], text=f"A beats {rival}", source="7"), sentence="A is best")
        for rival in ("B", "C")
    ]
    usual, other = figure(*parts), figure(*parts, setting={"alpha": 2})
    report = ReportData(None, ())  # type: ignore[arg-type]
    vars(report)["figures"] = {
        "ring-4.csv": (usual, rows({"A": [1.0], "B": [2.0], "C": [3.0]})),
        "ring-4@alpha=2.csv": (other, rows({"A": [2.5], "B": [2.0], "C": [3.0]})),
    }
    assert _verdicts(report, "ring") == "1 mixed"
    del report.figures["ring-4@alpha=2.csv"]
    assert _verdicts(report, "ring") == "1 reproduced"
