"""The page of claims follows from its data, and the data from the source."""

import re
from itertools import islice
from pathlib import Path

import pytest

import schedgap as sg
from schedgap.analysis.evaluations import experiments
from schedgap.analysis.pages import reproduction
from schedgap.analysis.solving.choices import Choice
from schedgap.instances.families import FAMILIES
from schedgap.models import family

DOCS = Path(__file__).resolve().parents[1] / "docs"
DATA = DOCS / reproduction.DATA
REMEASURED = 3  # points of each family, of methods that end at once


def test_the_page_is_what_the_data_say() -> None:
    page = (DOCS / reproduction.PAGE).read_text(encoding="utf-8")
    assert page == reproduction.page(DATA), "run: schedgap figure all --quick --out docs"


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
