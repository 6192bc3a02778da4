"""Judge the papers' claims about their figures by the values that were measured."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from numbers import Real
from typing import Literal, NamedTuple

from schedgap.errors import FamilyError
from schedgap.models.figure import (
    Claim,
    Draw,
    Experiment,
    MissingValueError,
    NotApplicableError,
    Position,
)

VerdictWord = Literal[
    "reproduced", "mixed", "refuted", "measured", "input", "not testable", "not measured",
    "not stated", "ours",
]  # fmt: skip
JUDGED: tuple[VerdictWord, ...] = ("reproduced", "mixed", "refuted")
OPPOSITE: dict[VerdictWord, VerdictWord] = {"reproduced": "refuted", "refuted": "reproduced"}
EACH_PART = "Each verdict is on one part of a sentence, at the settings of this figure alone."
REPRODUCED_SHARE, REFUTED_SHARE = 0.9, 0.1  # shares of replications on which a claim holds
MEASURED_SHARE = 0.5  # share of replications that a verdict needs


class Row(NamedTuple):
    """One value in a figure; None if it could not be measured."""

    measure: str
    x: Position
    series: str
    seed: int
    instance: str
    value: float | None


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the measured values say of a claim.

    The claim was evaluated on `n_measured` of `n_replications` and holds on `held` of them. It does
    not apply to `n_not_applicable` of the others; on the rest a value is missing. `numbers` are the
    values of `Claim.measure`, in increasing order. `mean`: whether the claim holds for the means
    over these replications, as a paper would plot them; None if it cannot be evaluated.
    """

    experiment: Experiment
    claim: Claim
    verdict: VerdictWord
    held: int
    n_measured: int
    n_replications: int
    numbers: tuple[float, ...]
    mean: bool | None = None
    n_not_applicable: int = 0

    @property
    def measured(self) -> str:
        """The replications on which it holds, and the median of the numbers with their range.

        Whether it holds for the means of the replications is said where the verdict does not say
        so.
        """
        reason = self.claim.untestable or self.claim.given
        if self.claim.holds is None and not self.numbers:
            return reason or "no replication was measured completely"
        if 0 < self.n_not_applicable == self.n_replications:
            return f"does not apply to any of the {self.n_replications} replications"
        if not self.n_measured:
            return f"no replication was measured completely{self._left_out}"
        head = (
            f"holds on {self.held} of {self.n_measured} replications{self._left_out}{self._of_mean}"
        )
        if self.claim.holds is None:
            head = reason or f"on {self.n_measured} replications{self._left_out}"
        return f"{head}; {self.spread}" if self.numbers else head

    @property
    def spread(self) -> str:
        """The median of the numbers with their range; empty without numbers."""
        if not self.numbers:
            return ""
        middle, least, most = statistics.median(self.numbers), self.numbers[0], self.numbers[-1]
        unit = f" {self.claim.unit}" if self.claim.unit else ""
        return f"{middle:.3g}{unit} [{least:.3g}, {most:.3g}]"

    @property
    def _left_out(self) -> str:
        missing = self.n_replications - self.n_measured - self.n_not_applicable
        text = f", {missing} not measured" if missing else ""
        return text + (
            f", does not apply to {self.n_not_applicable}" if self.n_not_applicable else ""
        )

    @property
    def _of_mean(self) -> str:
        expected = {"reproduced": True, "refuted": False, "not measured": self.mean}
        if self.mean is None or self.mean == expected.get(self.verdict):
            return ""
        return f", and {'' if self.mean else 'not '}on their mean"


@dataclass(frozen=True, slots=True)
class Part:
    """One claim of a figure at our defaults, with the same claim at other settings."""

    judgement: Judgement
    scanned: tuple[Judgement, ...] = ()

    @property
    def verdict(self) -> VerdictWord:
        """The verdict at our defaults, or mixed if another setting gives the opposite one.

        If nothing was judged at our defaults, the verdict of the other settings counts.
        """
        own = self.judgement.verdict
        others = {item.verdict for item in self.scanned} & {*JUDGED}
        if own == "not measured" and others:
            return others.pop() if len(others) == 1 else "mixed"
        return "mixed" if OPPOSITE.get(own) in others else own

    @property
    def depends(self) -> bool:
        """Whether other settings change the verdict."""
        return self.verdict != self.judgement.verdict


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the paper with its parts: one for each rival or figure that it names."""

    text: str
    parts: tuple[Part, ...]

    @property
    def figures(self) -> tuple[str, ...]:
        """The figures that it is about, each once."""
        return tuple(dict.fromkeys(part.judgement.experiment.figure for part in self.parts))

    @property
    def source(self) -> str:
        """Where the paper states it."""
        places = (part.judgement.claim.source.split("; ") for part in self.parts)
        return "; ".join(dict.fromkeys(chain.from_iterable(places)))

    @property
    def verdict(self) -> VerdictWord:
        """Reproduced or refuted if all of its judged parts are, and else mixed.

        Without judged parts it is measured, an input, not measured, or not testable: the first of
        these that one of its parts is.
        """
        words = [part.verdict for part in self.parts]
        judged = {*words} & {*JUDGED}
        if judged:
            return judged.pop() if len(judged) == 1 else "mixed"
        order: tuple[VerdictWord, ...] = ("measured", "input", "not measured")
        return next((word for word in order if word in words), words[0])


def sentences(judged: Iterable[Judgement]) -> list[Sentence]:
    """Return the sentences of one family's paper, from the judgements on their parts.

    `judged`: on all figures of the family, at all settings. Claims that are ours or that the paper
    does not state have each a `Sentence` too, whose verdict says so.
    """
    copies: dict[tuple[str, str, str], list[Judgement]] = {}
    for item in judged:
        same = item.experiment.figure, item.claim.text, item.claim.standing
        copies.setdefault(same, []).append(item)
    grouped: dict[tuple[str, str], list[Part]] = {}
    for items in copies.values():
        usual, *others = sorted(items, key=lambda item: bool(item.experiment.setting))
        key = usual.claim.standing, usual.claim.sentence or usual.claim.text
        grouped.setdefault(key, []).append(Part(usual, tuple(others)))
    return [Sentence(text, tuple(parts)) for (_, text), parts in grouped.items()]


def replications(experiment: Experiment, rows: Iterable[Row]) -> list[Draw]:
    """Return the measured values of a figure by replication, in the order of the seeds."""
    values: dict[int, dict[tuple[str, str, Position], float | None]] = {}
    for row in rows:
        values.setdefault(row.seed, {})[row.measure, row.series, row.x] = row.value
    return [Draw(experiment.objective, values[seed]) for seed in sorted(values)]


def judge_claims(experiment: Experiment, rows: Sequence[Row]) -> list[Judgement]:
    """Return a judgement for each claim of a figure.

    A claim is reproduced if it holds on at least nine tenths of the replications to which it
    applies. It is refuted if it holds on at most one tenth, and mixed otherwise. If fewer than half
    of them could be measured, there is no verdict.
    """
    measured = replications(experiment, rows)
    return [_judgement(experiment, claim, measured) for claim in experiment.claims]


def _judgement(experiment: Experiment, claim: Claim, measured: Sequence[Draw]) -> Judgement:
    if claim.untestable:
        return Judgement(experiment, claim, "not testable", 0, 0, len(measured), ())
    held, outside = 0, 0
    used: list[Draw] = []
    numbers: list[float] = []
    for draw in measured:
        try:
            true = None if claim.holds is None else claim.holds(draw)
            number = None if claim.measure is None else claim.measure(draw)
        except NotApplicableError:
            outside += 1
            continue
        except (MissingValueError, ZeroDivisionError):
            continue
        bad = claim.holds is not None and true not in (True, False)
        if bad or not (number is None or isinstance(number, Real)):
            need = "need True or False, and a number of `measure`"
            text = f"family {experiment.family}: claim '{claim.text}': returned {true!r}"
            raise FamilyError(f"{text} and {number!r}, {need}")
        used.append(draw)
        held += bool(true)
        numbers += [] if number is None else [number]
    count, applies = len(used), len(measured) - outside
    try:
        mean = claim.holds(_mean(used)) if used and claim.holds is not None else None
    except (MissingValueError, ZeroDivisionError):
        mean = None
    verdict = _verdict(claim, held, count, applies)
    found = tuple(sorted(numbers))
    return Judgement(experiment, claim, verdict, held, count, len(measured), found, mean, outside)


def _verdict(claim: Claim, held: int, count: int, applies: int) -> VerdictWord:
    """Return the verdict on a claim that holds on `held` of `count` measured replications."""
    if claim.given:
        return "input"
    if claim.standing != "paper":
        return claim.standing
    if not count or count < MEASURED_SHARE * applies:
        return "not measured"
    if claim.threshold == "ours":
        return "measured"
    share = held / count
    return (
        "reproduced"
        if share >= REPRODUCED_SHARE
        else "refuted"
        if share <= REFUTED_SHARE
        else "mixed"
    )


def _mean(measured: Sequence[Draw]) -> Draw:
    """Return the means of the values over replications; None where one is missing."""
    values: dict[tuple[str, str, Position], float | None] = {}
    for key in measured[0].values:
        known = [each for draw in measured if (each := draw.values.get(key)) is not None]
        values[key] = statistics.fmean(known) if len(known) == len(measured) else None
    return Draw(measured[0].objective, values)
