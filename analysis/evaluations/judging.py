"""Judge the papers' claims about their figures by the values that were measured."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Literal, NamedTuple

from schedgap.errors import FamilyError
from schedgap.models.figure import Claim, Draw, Experiment, MissingValueError, Position

VerdictWord = Literal["reproduced", "refuted", "mixed", "not testable", "not measured"]
REPRODUCED, REFUTED = 0.9, 0.1  # shares of the draws on which a claim holds
MEASURED = 0.5  # share of the draws that must be measured for a verdict


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

    The claim was evaluated on `draws` of `of` draws and holds on `held` of them; on the others a
    value is missing. `numbers` are the values of `Claim.measure` on the draws, in increasing order.
    `mean` says whether it holds for the means of the values over these draws, as a paper would plot
    them; None if that cannot be evaluated.
    """

    experiment: Experiment
    claim: Claim
    verdict: VerdictWord
    held: int
    draws: int
    of: int
    numbers: tuple[float, ...]
    mean: bool | None = None

    @property
    def measured(self) -> str:
        """The draws on which it holds, and the median of the numbers with their range.

        Whether it holds for the means of the draws is said where the verdict does not say so.
        """
        if self.verdict == "not testable":
            return self.claim.untestable
        if not self.draws:
            return "no draw was measured completely"
        missing = f", {self.of - self.draws} not measured" if self.draws < self.of else ""
        head = f"holds on {self.held} of {self.draws} draws{missing}{self._of_mean}"
        if not self.numbers:
            return head
        middle, least, most = statistics.median(self.numbers), self.numbers[0], self.numbers[-1]
        unit = f" {self.claim.unit}" if self.claim.unit else ""
        return f"{head}; {middle:.3g}{unit} [{least:.3g}, {most:.3g}]"

    @property
    def _of_mean(self) -> str:
        expected = {"reproduced": True, "refuted": False, "not measured": self.mean}
        if self.mean is None or self.mean == expected.get(self.verdict):
            return ""
        return f", and {'' if self.mean else 'not '}on their mean"


def draws(experiment: Experiment, rows: Iterable[Row]) -> list[Draw]:
    """Return the measured values of a figure by draw, in the order of the seeds.

    Parameters
    ----------
    experiment : Experiment
        The figure.
    rows : iterable of Row
        Its values.
    """
    values: dict[int, dict[tuple[str, str, Position], float | None]] = {}
    for row in rows:
        values.setdefault(row.seed, {})[row.measure, row.series, row.x] = row.value
    return [Draw(experiment.objective, values[seed]) for seed in sorted(values)]


def judge(experiment: Experiment, rows: Sequence[Row]) -> list[Judgement]:
    """Return a judgement for each claim of a figure.

    A claim is reproduced if it holds on at least nine tenths of the draws, refuted if it holds on
    at most one tenth, and mixed otherwise. If fewer than half of the draws could be measured, there
    is no verdict.

    Parameters
    ----------
    experiment : Experiment
        The figure.
    rows : sequence of Row
        Its values, of all draws.
    """
    measured = draws(experiment, rows)
    return [_judgement(experiment, claim, measured) for claim in experiment.claims]


def _judgement(experiment: Experiment, claim: Claim, measured: Sequence[Draw]) -> Judgement:
    if claim.holds is None:
        return Judgement(experiment, claim, "not testable", 0, 0, len(measured), ())
    held = 0
    used: list[Draw] = []
    numbers: list[float] = []
    for draw in measured:
        try:
            true = claim.holds(draw)
            number = None if claim.measure is None else claim.measure(draw)
        except (MissingValueError, ZeroDivisionError):
            continue
        if true not in (True, False) or not (number is None or isinstance(number, Real)):
            need = "need True or False, and a number of `measure`"
            text = f"family {experiment.family}: claim '{claim.text}': returned {true!r}"
            raise FamilyError(f"{text} and {number!r}, {need}")
        used.append(draw)
        held += true
        numbers += [] if number is None else [number]
    count = len(used)
    share = held / count if count else 0.0
    verdict: VerdictWord = (
        "not measured"
        if not count or count < MEASURED * len(measured)
        else "reproduced"
        if share >= REPRODUCED
        else "refuted"
        if share <= REFUTED
        else "mixed"
    )
    try:
        mean = claim.holds(_mean(used)) if used else None
    except (MissingValueError, ZeroDivisionError):
        mean = None
    found = tuple(sorted(numbers))
    return Judgement(experiment, claim, verdict, held, count, len(measured), found, mean)


def _mean(measured: Sequence[Draw]) -> Draw:
    """Return the means of the values over draws; None where one is missing."""
    values: dict[tuple[str, str, Position], float | None] = {}
    for key in measured[0].values:
        known = [each for draw in measured if (each := draw.values.get(key)) is not None]
        values[key] = statistics.fmean(known) if len(known) == len(measured) else None
    return Draw(measured[0].objective, values)
