"""The choices that the paper leaves open in PD-ORS, or that we add to it."""

from dataclasses import dataclass
from typing import Literal

from schedgap.models.dmlrs.algorithms.rounding import Gain


@dataclass(frozen=True, slots=True)
class Variant:
    """How PD-ORS prices and prepares schedules.

    `across`: offers on several machines by randomized rounding, also of a program with the hull of
    each machine, greedily, or the cheapest ones.
    `prices`: U and L as the instance declares them, of the jobs seen so far (`running`), or of all
    jobs (`oracle`, which no online algorithm knows); None is declared if they are, else running.
    `dp`: the dynamic program, with `grid` parts of the work, or quanta of so many samples.
    """

    across: Literal["round", "round-hull", "greedy", "exact"] = "round"
    prices: Literal["declared", "running", "oracle"] | None = None
    price_floor: float = 0.0
    dp: Literal["exact", "grid", "literal"] = "grid"
    grid: int = 2000
    quantum: int | None = None
    gain: Gain = "one"
    delta: float = 1.0
    rounds: int = 20
    ps_row: bool = True
    literal_13: bool = False


DEFAULT = Variant()
