"""Algorithm 4, lines 8-11: the linear relaxation of (23)-(26), multiplied by a gain and rounded."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.dmlrs import EXTERNAL
from schedgap.instances.dmlrs.compiled import Floats, Ints
from schedgap.models.dmlrs.algorithms.rounding_gain import cover_gain, packing_gain, packing_width
from schedgap.models.dmlrs.programs import across_machines
from schedgap.models.dmlrs.programs.across_machines import AcrossMachines
from schedgap.models.dmlrs.slot_options import SlotOption, SlotState
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.engines.highs import Relaxation

Gain = Literal["one", "packing", "cover"] | float

Observe = Callable[["RoundedProblem"], None]

_AIM, _LARGEST, _CUT_OFF = 1e3, 1e6, 1e9  # scaled optimum, and the largest scaled cost
_WHOLE = 1e-7  # an engine's value this close to an integer counts as that integer


class _ScaledRelaxation:
    """The relaxation of (23) for one number of workers after the other, with scaled costs.

    Prices range over many orders of magnitude, and most are far below the 1e-7 up to which an
    engine regards a reduced cost as 0. The costs are therefore multiplied such that the optimum is
    between `_AIM` and `_LARGEST`.
    """

    def __init__(self, problem: AcrossMachines) -> None:
        self._problem, cost = problem, problem.program.cost
        least = float(cost[cost > 0].min(initial=np.inf))
        self._scale = _AIM / least if np.isfinite(least) else 1.0
        self._engine = Relaxation(replace(problem.program, cost=self._cost()))

    def solve(self, workers: int, ps: int) -> Floats | None:
        """Return an optimal solution for n workers and a number of PSs, or None."""
        sides = self._problem.program.row_upper[self._problem.cover_rows]
        self._engine.change_row_bounds(self._problem.cover_rows, [workers, ps], sides)
        values: Floats | None = self._engine.solve(Clock()).values
        if values is None or self._value(values) * self._scale <= _LARGEST:
            return values
        self._scale = _AIM / self._value(values)
        self._engine.change_costs(np.arange(len(values)), self._cost())
        again: Floats | None = self._engine.solve(Clock()).values
        return again

    def _value(self, values: Floats) -> float:
        return self._problem.program.objective(values)

    def _cost(self) -> Floats:
        """Return the scaled costs; far above the optimum they are cut off."""
        cost: Floats = np.minimum(self._problem.program.cost * self._scale, _CUT_OFF)
        return cost


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
        problem = across_machines.build(slot, machines, hull=self.hull)
        relaxation = _ScaledRelaxation(problem)
        options = []
        for n, m in zip(
            job_bundles.workers[:last].tolist(), job_bundles.ps[:last].tolist(), strict=True
        ):
            values = relaxation.solve(n, m if self.ps_row else 0)  # A4 L8
            self.counts["programs"] += 1
            if values is None:
                self.counts["without_solution"] += 1
                break  # more workers have no solution either
            gain = self._gain(slot, n, m)
            scaled = gain * np.maximum(values, 0.0)  # A4 L9
            trials = draws(scaled, self.rounds, self.rng).reshape(-1, 2, len(machines))  # A4 L10
            fits = _satisfied(slot, machines, n, trials)
            self.counts["draws"] += 1
            self.counts["draws_failed"] += not fits.any()  # A4 L11 (E13)
            drawn = trials[int(fits.argmax())] if fits.any() else None
            if self.observe is not None:
                packed, bound = _packed(slot, machines, trials), 3 * gain / self.delta
                needed = n, m if self.ps_row else 0
                covered = (trials.sum(axis=2) >= needed).all(axis=1)
                cost = trials[:, 0] @ slot.worker_price[machines]
                cost += trials[:, 1] @ slot.ps_price[machines]
                lp = problem.program.objective(values)
                self.observe(
                    RoundedProblem(
                        slot, n, m, gain, bound, lp,
                        float(cost[int(fits.argmax())]) if fits.any() else None,
                        len(trials), int((~packed).sum()), int((~covered).sum()),
                        int((~fits).sum()), int((cost > bound * lp * (1 + 1e-9)).sum()),
                    )
                )  # fmt: skip
            if drawn is not None:
                pairs = zip(machines.tolist(), drawn[0].tolist(), drawn[1].tolist(), strict=True)
                options.append(slot.option({h: (w, s) for h, w, s in pairs}))
        return options

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
    load = trials[:, 0, :, None] * slot.job.worker + trials[:, 1, :, None] * slot.job.ps
    held = np.all(load <= slot.free[machines], axis=(1, 2))
    packed: NDArray[np.bool_] = np.logical_and(held, trials[:, 0].sum(axis=1) <= slot.job.batch)
    return packed


def _satisfied(slot: SlotState, machines: Ints, n: int, trials: Ints) -> NDArray[np.bool_]:
    """Return which draws [d, worker or PS, k] satisfy (24)-(26) and (2) for their workers."""
    job = slot.job
    needed = np.full(job.batch + 2, -1)  # m(n), -1 if n is not allowed
    needed[job.bundles.workers] = job.bundles.ps
    total, servers = trials[:, 0].sum(axis=1), trials[:, 1].sum(axis=1)
    least = needed[np.minimum(total, job.batch + 1)]
    enough = servers == least if job.exact_ps else servers >= least
    fits: NDArray[np.bool_] = (total >= n) & (least >= 0) & enough
    return fits & _packed(slot, machines, trials)


def draws(values: Floats, rounds: int, rng: np.random.Generator) -> Ints:
    """Return random roundings [draw, k] of values [k], each with the value as its mean, (27), (28).

    `values` [k]: values >= 0. `rounds`: number of draws; a single one if all values are whole.
    `rng`: source of the draws.
    """
    whole = np.round(values)
    is_whole = np.abs(values - whole) < _WHOLE
    base = np.where(is_whole, whole, np.floor(values))
    fraction = np.where(is_whole, 0.0, values - base)
    up = rng.random((rounds if fraction.any() else 1, len(fraction))) < fraction
    rounded: Ints = (base + up).astype(np.int64)
    return rounded
