"""The page of claims follows from its data, and the data from the source."""

import re
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

import schedgap as sg
from schedgap.analysis.evaluations import experiments
from schedgap.analysis.evaluations.judging import judge_claims
from schedgap.analysis.evaluations.setup import sizes
from schedgap.analysis.pages import reproduction
from schedgap.analysis.solving.choices import Choice
from schedgap.instances.families import FAMILIES
from schedgap.models import family
from schedgap.models.figure import Claim, Draw, MissingValueError, NotApplicableError

DOCS = Path(__file__).resolve().parents[1] / "docs"
DATA = DOCS / reproduction.DATA
REMEASURED = 3  # points of each family, of methods that end at once


def test_the_page_is_what_the_data_say() -> None:
    page = (DOCS / reproduction.PAGE).read_text(encoding="utf-8")
    assert page == reproduction.page(DATA), "run: schedgap figure all --quick --out docs"


def stamp(claim: Claim, draws: list[Draw]) -> str:
    """Return the verdict on one claim of one figure, computed from the values alone."""
    if claim.untestable or claim.given or claim.standing != "paper":
        return "not testable" if claim.untestable else "input" if claim.given else claim.standing
    decide = claim.holds or claim.measure
    assert decide is not None
    held: list[bool] = []
    applies = len(draws)
    for draw in draws:
        try:
            held.append(bool(decide(draw)))
        except NotApplicableError:
            applies -= 1
        except (MissingValueError, ZeroDivisionError):
            continue
    if not held or 2 * len(held) < applies:
        return "not measured"
    if claim.holds is None:
        return "measured"
    share = sum(held) / len(held)
    return "reproduced" if share >= 0.9 else "refuted" if share <= 0.1 else "mixed"


def over_settings(words: dict[bool, list[str]]) -> str:
    """Return the verdict on a part, from those at our defaults (True) and at other settings."""
    (own,) = words[True]
    others = {*words[False]} & {"reproduced", "mixed", "refuted"}
    if {own, *others} >= {"reproduced", "refuted"} and own in ("reproduced", "refuted"):
        return "mixed"
    if own == "not measured" and others:
        return others.pop() if len(others) == 1 else "mixed"
    return own


@pytest.mark.parametrize("name", FAMILIES)
def test_the_counts_of_the_page_follow_from_the_data(name: str) -> None:
    sentences: dict[str, dict[tuple[str, str], dict[bool, list[str]]]] = {}
    beside = Counter[str]()
    for file, figure in experiments.suite(f"{name}-figures", quick=True).items():
        values: dict[int, dict[tuple[str, str, float | str], float | None]] = {}
        for row in experiments.read(DATA / file):
            values.setdefault(row.seed, {})[row.measure, row.series, row.x] = row.value
        draws = [Draw(figure.objective, each) for each in values.values()]
        for claim in figure.claims:
            if claim.standing != "paper":
                beside[claim.standing] += not figure.setting
                continue
            parts = sentences.setdefault(claim.sentence or claim.text, {})
            words = parts.setdefault((figure.figure, claim.text), {True: [], False: []})
            words[not figure.setting].append(stamp(claim, draws))
    count = Counter[str]()
    for parts in sentences.values():
        found = {over_settings(words) for words in parts.values()}
        judged = found & {"reproduced", "mixed", "refuted"}
        order = ("measured", "input", "not measured", "not testable")
        count[
            next(iter(judged)) if len(judged) == 1 else "mixed" if judged
            else next(word for word in order if word in found)
        ] += 1  # fmt: skip
    page = (DOCS / reproduction.PAGE).read_text(encoding="utf-8").splitlines()
    head = next(line for line in page if line.startswith("| paper |")).strip("| ").split(" | ")
    line = next(line for line in page if f"](#{name})" in line).strip("| ").split(" | ")
    shown = dict(zip(head[1:], map(int, line[1:]), strict=True))
    assert shown.pop("sentences") == len(sentences)
    assert shown == {word: (count | beside)[word] for word in shown}


def test_the_example_of_the_introduction_is_what_the_data_say() -> None:
    page = (DOCS / reproduction.PAGE).read_text(encoding="utf-8")
    text = page.partition("The rule:")[0]
    assert "The sentence holds on all ten" in text and "holds on none of the ten" in text
    claims = {
        "ring-figure-4@quick.csv": (10, "reproduced"),
        "ring-figure-4@quick,order=sjf.csv": (0, "refuted"),
    }
    figures = experiments.suite("ring-figure-4", quick=True)
    for file, expected in claims.items():
        (found,) = (
            item
            for item in judge_claims(figures[file], experiments.read(DATA / file))
            if "smallest average, and so total, job completion time" in item.claim.text
        )
        assert (found.held, found.verdict) == expected


def test_only_ring_has_the_papers_sizes_with_quick() -> None:
    for name in ("ring", "dmlrs"):
        small, large = (
            {
                figures: size
                for figures, _, size, _ in sizes(
                    [
                        (each, ())
                        for each in experiments.suite(f"{name}-figures", quick=quick).values()
                        if not each.setting
                    ]
                )
            }
            for quick in (True, False)
        )
        assert (small == large) is (name == "ring")


@pytest.mark.parametrize("name", FAMILIES)
def test_a_claim_with_a_threshold_of_ours_is_not_stamped(name: str) -> None:
    ours = re.compile(r"\bwe (read|take|judge)\b")
    figures = experiments.suite(f"{name}-figures", quick=True).values()
    claims = [claim for each in figures for claim in each.claims]
    assert [claim.text for claim in claims if ours.search(claim.text) and claim.holds] == []


@pytest.mark.parametrize("name", FAMILIES)
def test_a_sentence_of_several_parts_is_told_apart_from_them(name: str) -> None:
    """No part is a separate sentence elsewhere, and no row of ours counts as the paper's."""
    figures = experiments.suite(f"{name}-figures", quick=True).values()
    claims = [claim for each in figures for claim in each.claims]
    alone = {claim.text for claim in claims if not claim.sentence and claim.standing == "paper"}
    assert not alone & {claim.sentence for claim in claims}
    assert all("(ours)" not in text and "[ours" not in text for text in alone)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_claim_with_a_word_of_degree_says_what_is_judged(name: str) -> None:
    vague = re.compile(
        r"obviously|significantly|slightly|dramatically|greatly|much (larger|better)"
    )
    figures = experiments.suite(f"{name}-figures", quick=True).values()
    claims = {claim.text for each in figures for claim in each.claims if claim.holds}
    assert claims
    unclear = {text for text in claims if vague.search(text) and "(judged: " not in text}
    assert unclear - {text for text in unclear if "(we " in text} == set()


@pytest.mark.parametrize("name", FAMILIES)
def test_every_quick_figure_has_its_data_with_ten_draws(name: str) -> None:
    for file, figure in experiments.suite(f"{name}-figures", quick=True).items():
        rows = experiments.read(DATA / file)
        assert {row.series for row in rows} >= set(figure.series), file
        random = any(f"seed{row.seed}" in row.instance for row in rows)
        assert not random or len({row.seed for row in rows}) >= 10, file


@pytest.mark.parametrize("name", FAMILIES)
def test_values_are_measured_again(name: str) -> None:
    baselines = {method.name for method in family(name).methods if method.kind == "baseline"}
    measured = 0
    for file, figure in experiments.suite(f"{name}-figures", quick=True).items():
        rows = {
            (row.measure, row.x, row.series, row.seed): row for row in experiments.read(DATA / file)
        }
        for point in islice(figure.draw(), 20):
            choice = Choice.read(point.method)
            if choice.method not in baselines or measured == REMEASURED:
                continue
            row = rows[figure.objective, point.x, point.series, point.seed]
            assert row.instance == point.instance.name
            solution = sg.solve(
                point.instance, choice.method, engine=choice.engine, **dict(choice.settings)
            )
            assert solution.objective == pytest.approx(row.value, rel=1e-9)
            measured += 1
    assert measured == REMEASURED
