"""Claims are read from a file; a fault in it is one line, and no family's file has one."""

import re
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from inspect import isfunction, signature
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from prose import ADVICE

from schedgap.errors import InputError
from schedgap.instances.families import OWN
from schedgap.models.claims import load_claims, with_claims
from schedgap.models.figure import BRACKETS, Claim, Draw, Experiment
from schedgap.models.paper import read_toml

HEAD = '[[claims]]\nfigures = ["2", "3"]\nsource = "Fig. {figure}"\n'


def experiments(name: str) -> list[Experiment]:
    return import_module(f"schedgap.models.{name}.figures").experiments(quick=True)


def entries(name: str) -> list[dict]:
    """The entries of a family's file, sentences and parts."""
    file = Path(import_module(f"schedgap.models.{name}.figures").__file__)
    sentences = read_toml(file.with_name("claims.toml"))["claims"]
    return [part for each in sentences for part in (each, *each.get("parts", ()))]


def lead(draw: Draw, series: str) -> float:
    """The value of A minus the value of another series."""
    return draw.value("A", 1) - draw.value(series, 1)


@pytest.fixture
def load(tmp_path: Path) -> Callable[[str], dict]:
    def read(text: str) -> dict:
        file = tmp_path / "claims.toml"
        file.write_text(text, encoding="utf-8")
        return dict(load_claims(file, lead))

    return read


def test_an_entry_is_a_claim_for_each_figure_and_name(load) -> None:
    found = load(
        '[lists]\nrivals = ["B", "C (ours)"]\n' + HEAD + 'text = "A is ahead"\n'
        '[[claims.parts]]\neach = "rivals"\ntext = "ahead of {each} in {figure}"\n'
        'judged = "by 20"\nunit = "x"\n'
        'test = {by = "lead", series = "{each}", times = 10, at_least = 20, below = 40}\n'
        '[[claims.parts]]\ntext = "because of luck"\nsource = "Section 1"\nuntestable = "luck"\n'
    )
    assert [*found] == ["2", "3"]
    first, ours, last = found["3"]
    assert first.text == "ahead of B in 3 (judged: by 20)" and first.sentence == "A is ahead"
    assert (first.source, first.unit, first.standing) == ("Fig. 3", "x", "paper")
    assert ours.text == "ahead of C (ours) in 3 (judged: by 20)" and ours.standing == "ours"
    assert last.untestable == "luck" and last.source == "Section 1" and last.holds is None
    for high, expected in ((3, True), (2, False), (5, False)):
        draw = Draw("v", {("v", "A", 1): high, ("v", "B", 1): 1, ("v", "C (ours)", 1): high})
        assert first.holds(draw) is expected and first.measure(draw) == 10 * (high - 1)
        assert not ours.holds(draw)


def test_the_unit_of_a_comparison_is_that_of_the_file_if_it_has_one(load) -> None:
    best = 'text = "A is best"\ntest = {by = "best", series = "A", others = ["B"]}\n'
    (usual,), (other,) = (load(HEAD + best + unit)["2"] for unit in ("", 'unit = "points"\n'))
    assert (usual.unit, other.unit) == ("%", "points") and usual.holds and usual.measure


def test_at_other_settings_only_numbers_are_shown(load) -> None:
    found = load(
        HEAD + 'text = "A leads"\ntest = {by = "lead", series = "B"}\nthreshold = "ours"\n'
        + HEAD + 'text = "A is lucky"\nuntestable = "luck"\n'
    )  # fmt: skip
    figure = Experiment("ring", "2", "title", "x", "v", (), ("A", "B"), tuple)
    other = replace(figure, setting={"load": 1})
    shown = with_claims([figure, other], found)
    assert [[claim.text for claim in each.claims] for each in shown] == [
        ["A leads", "A is lucky"], ["A leads"]
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ('text = "A"\nuntestabel = "luck"', 'claim "A": untestabel: unknown key'),
        ('untestable = "luck"', 'claim "without text": text: missing key'),
        ('text = "A"\nunit = 3', 'claim "A": unit: need a text, got 3'),
        ('text = "A"\neach = "B"', 'claim "A": each: need a list, got "B"'),
        ('text = "A"', 'claim "A": A: need exactly one of `holds`, the reason'),
        ('text = "A"\ntest = {by = "lead", series = "B"}', "need exactly one of `holds`"),
        ('text = "A"\ntest = {by = "laed", series = "B"}', "no comparison \"laed\": choose one of"),
        ('text = "A"\ntest = {by = "lead", above = 0}', "missing a required argument: 'series'"),
        ('text = "A"\ntest = {by = "lead", series = "B", abvoe = 0}', "argument 'abvoe'"),
        ('text = "A"\ntest = {by = "best", series = "B"}', "argument: 'others'"),
        ('text = "A"\nstanding = "hers"\nuntestable = "luck"', "claim \"A\": standing: "),
        ('text = "A"\nparts = ["B"]', 'claim "A": parts: need a list of tables, got ["B"]'),
        ('text = "A"\nparts = 3', 'claim "A": parts: need a list of tables, got 3'),
        ('text = "A"\neach = []\nuntestable = "luck"', "need at least one"),
        ('text = "A"\ntest = {by = "lead", series = "B", above = "0"}', "above: need a number"),
        ('text = "A"\ntest = {by = "lead", series = "B", times = nan}', "times: need a number"),
        ('text = "A"\n[list]\nb = "B"', "claims.toml: list: unknown key"),
        ('text = "A', "Illegal character"),
    ],
)  # fmt: skip
def test_a_fault_in_the_file_is_one_line(load, keys: str, message: str) -> None:
    with pytest.raises(InputError, match=r"claims\.toml: ") as caught:
        load(HEAD + keys + "\n")
    assert message in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("name", OWN)
def test_the_file_of_a_family_is_about_figures_that_it_has(name: str) -> None:
    figures = {each.figure for each in experiments(name)}
    assert {figure for each in entries(name) for figure in each.get("figures", ())} <= figures
    assert all(claim.text and claim.source for each in experiments(name) for claim in each.claims)


@pytest.mark.parametrize("name", OWN)
def test_a_claim_is_a_short_sentence_that_stands_alone(name: str) -> None:
    """At most 25 words, no pronoun that needs the sentence before, no phrase to read twice."""
    for claim in (claim for each in experiments(name) for claim in each.claims):
        for text in (claim.sentence, claim.text.partition(" (judged: ")[0]):
            words = text.partition(" (measured: ")[0].split()
            assert len(words) <= 25, text
            assert "{" not in text + claim.source + claim.given + claim.untestable, text
            assert not text or text[0].isupper() or text.startswith("lambda"), text
            assert not re.search(r"\b([Tt]hey|so it is|that is so|[Tt]heirs)\b", text), text
        for text in (claim.sentence, claim.text, claim.untestable, claim.given):
            assert not [phrase for phrase in ADVICE if re.search(phrase, text)], text


@pytest.mark.parametrize("name", OWN)
def test_every_comparison_of_a_family_is_used_in_its_file(name: str) -> None:
    module = import_module(f"schedgap.models.{name}.figures")
    used = {each["test"]["by"] for each in entries(name) if "test" in each}
    made = {
        label
        for label, each in vars(module).items()
        if isfunction(each) and each.__module__ == module.__name__ and label[0] != "_"
        and ("draw" in signature(each).parameters or signature(each).return_annotation is Claim)
    }  # fmt: skip
    assert made <= used


def drawn(experiment: Experiment, rng: np.random.Generator) -> Draw:
    """A replication with a random value of everything that the figure measures."""
    places = dict.fromkeys((point.series, point.x) for point in experiment.points)
    axis = dict.fromkeys(x for _, x in places)
    measures = experiment.objective, *experiment.metrics, *experiment.measures
    keys = [(measure, *place) for place in places for measure in measures]
    keys += [(experiment.objective, *each) for each in product(BRACKETS, axis)]
    return Draw(experiment.objective, dict(zip(keys, rng.uniform(0.1, 1, len(keys)), strict=True)))


@pytest.mark.parametrize(
    ("name", "quick"),
    [(name, True) for name in OWN]
    + [pytest.param(name, False, marks=pytest.mark.nightly) for name in OWN],
)
def test_every_claim_is_about_what_its_figure_measures(name: str, quick: bool) -> None:
    """A misspelt series, measure or position would otherwise show as 'not measured' only."""
    figures = import_module(f"schedgap.models.{name}.figures").experiments
    rng = np.random.default_rng(1)
    for experiment in figures(quick=quick, seeds=(1,)):
        draws = [drawn(experiment, rng)]
        for claim in experiment.claims:
            for function in filter(None, (claim.holds, claim.measure)):
                reasons = set[str]()
                for number in range(400):  # some claims apply to few draws
                    if number == len(draws):
                        draws.append(drawn(experiment, rng))
                    try:
                        function(draws[number])
                        break
                    except LookupError as error:
                        reasons.add(str(error))
                else:
                    pytest.fail(f"figure {experiment.figure}: {claim.text}: {reasons}")
