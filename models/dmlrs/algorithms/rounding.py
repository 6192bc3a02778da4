"""Algorithm 4, lines 8-11: the linear relaxation of (23)-(26), multiplied by a gain and rounded."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.dmlrs import EXTERNAL
from schedgap.instances.dmlrs.compiled import Floats, Ints
from schedgap.models.dmlrs.algorithms.relaxed_placements import relaxed_placements
from schedgap.models.dmlrs.algorithms.rounding_gain import cover_gain, packing_gain, packing_width
from schedgap.models.dmlrs.slot_options import SlotOption, SlotState

Gain = Literal["one", "packing", "cover"] | float

Observe = Callable[["RoundedProblem"], None]

_AT_ONCE = 1_000_000  # values that are drawn at once
_WHOLE = 1e-7  # an engine's value this close to an integer counts as that integer


@dataclass(frozen=True, slots=True, eq=False)
class RoundedProblem:
    """One problem (23), its relaxation, and what the draws make of it.

    A relaxation with an integer solution is drawn once, any other S times; `packing_failed` and
    `cover_failed` count the draws that break (24) or (25), and (26) or the row of PSs; `failed`
    those that Algorithm 4 rejects; `above_bound` those that cost more than 3 G / delta times `lp`.
    """

    slot: SlotState
    workers: int  # n
    ps: int  # m(n)
    gain: float  # G
    bound: float  # 3 G / delta
    lp: float  # optimum of the relaxation
    cost: float | None  # the first draw that satisfies all rows; None if none does
    draws: int
    packing_failed: int
    cover_failed: int
    failed: int
    above_bound: int


@dataclass
class Rounding:
    """Randomised rounding with one generator for a whole run, and counts of its outcomes.

    `rng`: source of the draws. `gain`: g_delta: 1, `packing` (31), `cover` (32), or a number.
    `delta`: failure probability in (0, 1], for the gains. `rounds`: S, most draws for each number
    of workers. `ps_row`: whether the relaxation has the row sum s >= m(n), which (23)-(26) lacks
    (E3). `hull`: whether (24) is replaced by the integer hull of each machine. `observe`: called
    with each problem whose relaxation has a solution.
    """

    rng: np.random.Generator  # A4 L1: w = s = 0, G, S
    gain: Gain = "one"
    delta: float = 1.0
    rounds: int = 20  # S
    ps_row: bool = True  # (E3)
    hull: bool = False
    observe: Observe | None = None
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(
            ("programs", "without_solution", "draws", "draws_failed", "gain_undefined"), 0
        )
    )

    def __call__(self, slot: SlotState) -> list[SlotOption]:
        """Return for each n the first draw that satisfies all rows, by n; none if S draws fail.

        `slot`: state of the slot for the job.

        Notes
        -----
        Source: Algorithm 4, lines 8-11, (23)-(28). Guarantee: depends on `gain`. A draw is credited
        with all its workers, n or more. An integer solution of the program needs no draw.
        """
        job, H = slot.job, len(slot.free)
        workers, ps = slot.max_units
        machines = np.flatnonzero((workers > 0) | (ps > 0))
        job_bundles = job.bundles
        last = min(len(job_bundles.workers), job.useful_bundles(EXTERNAL))
        if H < 2 or not len(machines) or not last:
            return []
        n, m = job_bundles.workers[:last], job_bundles.ps[:last]
        needed = np.column_stack([n, m if self.ps_row else np.zeros_like(m)])
        optima = relaxed_placements(slot, machines, needed, hull=self.hull)  # A4 L8
        missing = len(optima) < last
        self.counts["programs"] += len(optima) + missing
        self.counts["without_solution"] += missing
        size = max(1, _AT_ONCE // (2 * self.rounds * len(machines)))
        options = []
        for begin in range(0, len(optima), size):
            part = slice(begin, min(begin + size, len(optima)))
            options += self._rounded(slot, machines, n[part], m[part], optima[part])
        return options

    def _rounded(
        self, slot: SlotState, machines: Ints, n: Ints, m: Ints, optima: Floats
    ) -> list[SlotOption]:
        """Return for each optimum [i, worker or PS, k] its first draw that satisfies all rows."""
        gains = np.array(
            [self._gain(slot, *pair) for pair in zip(n.tolist(), m.tolist(), strict=True)]
        )
        trials, of = draws(gains[:, None, None] * optima, self.rounds, self.rng)  # A4 L9-L10
        packed, totals = _packed(slot, machines, trials), trials.sum(axis=2)
        fits = packed & _enough(slot, n[of], totals)
        held = np.flatnonzero(fits)
        found, first = np.unique(of[held], return_index=True)
        chosen = trials[held[first]]
        self.counts["draws"] += len(n)
        self.counts["draws_failed"] += len(n) - len(found)  # A4 L11 (E13)
        prices = np.array([slot.worker_price[machines], slot.ps_price[machines]])
        cost = (chosen * prices).sum(axis=(1, 2))
        if self.observe is not None:
            least = np.column_stack([n, m if self.ps_row else np.zeros_like(m)])
            covered, total = (totals >= least[of]).all(axis=1), (trials * prices).sum(axis=(1, 2))
            costs = dict(zip(found.tolist(), cost.tolist(), strict=True))
            for i, lp in enumerate((optima * prices).sum(axis=(1, 2)).tolist()):
                own, bound = of == i, 3 * float(gains[i]) / self.delta
                self.observe(
                    RoundedProblem(
                        slot, int(n[i]), int(m[i]), float(gains[i]), bound, lp, costs.get(i),
                        int(own.sum()), int((own & ~packed).sum()), int((own & ~covered).sum()),
                        int((own & ~fits).sum()), int((total[own] > bound * lp * (1 + 1e-9)).sum()),
                    )
                )  # fmt: skip
        workers = chosen[:, 0].sum(axis=1).tolist()
        placed: list[dict[int, tuple[int, int]]] = [{} for _ in workers]
        rows, k = np.nonzero(chosen.any(axis=1))
        units = chosen[rows, :, k].tolist()
        for row, h, (w, s) in zip(rows.tolist(), machines[k].tolist(), units, strict=True):
            placed[row][h] = w, s
        return [
            SlotOption(price, total, len(counts) == 1, counts)
            for price, total, counts in zip(cost.tolist(), workers, placed, strict=True)
        ]

    def _gain(self, slot: SlotState, n: int, m: int) -> float:
        """Return G_delta for n workers and m PSs."""
        if self.gain == "one":
            return 1.0
        if self.gain == "packing":
            packing = packing_gain(packing_width(slot), slot.free.size, self.delta)
            self.counts["gain_undefined"] += packing is None
            return 1.0 if packing is None else packing
        if self.gain == "cover":
            return cover_gain(min(n, m), self.delta, 2)
        return float(self.gain)


def _packed(slot: SlotState, machines: Ints, trials: Ints) -> NDArray[np.bool_]:
    """Return which draws [d, worker or PS, k] satisfy (24) and (25)."""
    job = slot.job
    held: NDArray[np.bool_] = trials[:, 0].sum(axis=1) <= job.batch
    for r in np.flatnonzero((job.worker > 0) | (job.ps > 0)):
        load = trials[:, 0] * job.worker[r] + trials[:, 1] * job.ps[r]
        held &= (load <= slot.free[machines, r]).all(axis=1)
    return held


def _enough(slot: SlotState, n: Ints, totals: Ints) -> NDArray[np.bool_]:
    """Return which sums [d, worker or PS] satisfy (26) for n [d], and (2) for their workers."""
    job = slot.job
    needed = np.full(job.batch + 2, -1)  # m(n), -1 if n is not allowed
    needed[job.bundles.workers] = job.bundles.ps
    workers, ps = totals.T
    least = needed[np.minimum(workers, job.batch + 1)]
    enough = ps == least if job.exact_ps else ps >= least
    fits: NDArray[np.bool_] = (workers >= n) & (least >= 0) & enough
    return fits


def draws(values: Floats, rounds: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Return random roundings [d, ...] of values [i, ...], with these as means, (27), (28).

    `values`: >= 0. `rounds`: number of draws for each i; a single one if all its values are whole.
    `rng`: source of the draws.

    The second array [d] has the i of each draw.
    """
    whole = np.round(values)
    fractional = np.abs(values - whole) >= _WHOLE
    base = np.where(fractional, np.floor(values), whole)
    number = np.where(fractional.reshape(len(values), -1).any(axis=1), rounds, 1)
    of = np.repeat(np.arange(len(values)), number)
    chance = np.where(fractional, values - base, 0.0)[of]
    rounded: Ints = base.astype(np.int64)[of] + (rng.random(chance.shape) < chance)
    return rounded, of
