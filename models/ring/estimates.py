"""How good the estimates of execution times are, and how much a schedule can change the times."""

import math
from dataclasses import dataclass

from schedgap.models.ring.rates import RateTable

_CLOSE = 1e-9  # relative; an estimate so near to an execution time counts as exact


@dataclass(frozen=True, slots=True)
class Factors:
    """The constants of Section 6, such that they hold for every schedule y.

    d_j <= rho_j(y) <= D_j, the job's execution time at its best and at its worst.
    """

    largest: int  # n_g = max_j G_j
    over: float  # u >= 1: rho-hat_j <= u rho_j(y)
    under: float  # l <= 1: rho-hat_j >= l rho_j(y); 0 where some D_j is infinite
    stretch: float  # phi = max_j D_j / d_j; infinite where some D_j is

    @property
    def theorem_5(self) -> float:
        """n_g phi u / l; infinite where some job may come to a standstill."""
        if not self.under:
            return math.inf
        return self.largest * self.stretch * self.over / self.under


def factors(table: RateTable) -> Factors:
    """Return n_g, u, l and phi of an instance in which every job can make progress.

    Notes
    -----
    Source: Section 5, 3) (u, l), Theorem 1 (n_g), Lemma 4 (phi).
    """
    best, worst = table.best_slots, table.worst_slots
    over = max(each / d for each, d in zip(table.estimate, best, strict=True))
    under = min(each / d for each, d in zip(table.estimate, worst, strict=True))
    return Factors(
        largest=max(table.size),
        over=1.0 if over <= 1 + _CLOSE else over,
        under=1.0 if under >= 1 - _CLOSE else under,
        stretch=max(slow / fast for slow, fast in zip(worst, best, strict=True)),
    )


def increments(table: RateTable) -> tuple[float, ...]:
    """Return rho-hat_j / u of each job [j]: what (15) adds to the load of its GPUs, in slots."""
    u = factors(table).over
    return tuple(each / u for each in table.estimate)
