"""Algorithm 4, lines 8-11: the linear relaxation of (23)-(26), multiplied and rounded at random."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from scipy import sparse

from schedgap.instances.dmlrs import EXTERNAL, STEP
from schedgap.instances.dmlrs.arrays import Floats, Ints
from schedgap.models.dmlrs.gain import cover_gain, packing_gain, packing_width
from schedgap.models.dmlrs.physics import ps_needed
from schedgap.models.dmlrs.theta import Offer, Slot
from schedgap.solvers.clock import Clock
from schedgap.solvers.highs import Relaxation
from schedgap.solvers.linear import LinearProgram

Gain = Literal["one", "packing", "cover"] | float

_WHOLE = 1e-7  # nearer to an integer than this, an engine's value is one


@dataclass
class Rounding:
    """Randomized rounding with one generator for a whole run, and what became of it."""

    rng: np.random.Generator  # A4 L1: w = s = 0, G, S
    gain: Gain = "one"
    delta: float = 1.0
    rounds: int = 20  # S
    ps_row: bool = True  # sum s >= m(n), which (23)-(26) lacks (E3)
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(
            ("programs", "without_solution", "draws", "draws_failed", "gain_undefined"), 0
        )
    )

    def __call__(self, slot: Slot) -> list[Offer]:
        """Return for each n the first draw that keeps all rows, by n; none where S draws fail.

        Notes
        -----
        Source: Algorithm 4, lines 8-11, (23)-(28). Guarantee: as `gain` says. A draw is credited
        with all its workers, n or more. A program whose solution is whole needs no draw.
        """
        job, H = slot.job, len(slot.room)
        workers, ps = slot.most
        machines = np.flatnonzero((workers > 0) | (ps > 0))
        some = job.bundles
        last = min(len(some.workers), job.useful(EXTERNAL))
        if H < 2 or not len(machines) or not last:
            return []
        program = relaxation(slot, machines)
        n_row, m_row = program.matrix.shape[0] - 2, program.matrix.shape[0] - 1
        engine = Relaxation(program)
        found = []
        for n, m in zip(some.workers[:last].tolist(), some.ps[:last].tolist(), strict=True):
            needed = [float(n), float(m) if self.ps_row else 0.0]
            engine.change_row_bounds([n_row, m_row], needed, [float(job.batch), np.inf])
            result = engine.solve(Clock())  # A4 L8
            self.counts["programs"] += 1
            if result.values is None:
                self.counts["without_solution"] += 1
                break  # more workers have no solution either
            scaled = self._gain(slot, n, m) * np.maximum(result.values, 0.0)
            drawn = self._drawn(slot, machines, n, scaled)  # A4 L9-L11
            if drawn is not None:
                pairs = zip(machines.tolist(), drawn[0].tolist(), drawn[1].tolist(), strict=True)
                found.append(slot.offer({h: (w, s) for h, w, s in pairs}))
        return found

    def _gain(self, slot: Slot, n: int, m: int) -> float:
        """Return G_delta."""
        if self.gain == "one":
            return 1.0
        if self.gain == "packing":
            found = packing_gain(packing_width(slot), slot.room.size, self.delta)
            self.counts["gain_undefined"] += found is None
            return 1.0 if found is None else found
        if self.gain == "cover":
            return cover_gain(min(n, m), self.delta, 2)
        return float(self.gain)

    def _drawn(self, slot: Slot, machines: Ints, n: int, scaled: Floats) -> Ints | None:
        """Return the first draw [worker or PS, k] that keeps (24)-(26) and (2), or None."""
        drawn = draws(scaled, self.rounds, self.rng).reshape(-1, 2, len(machines))
        workers, ps = drawn[:, 0], drawn[:, 1]
        job = slot.job
        load = workers[..., None] * job.worker + ps[..., None] * job.ps
        total = workers.sum(axis=1)
        fits = (load <= slot.room[machines]).all(axis=(1, 2)) & (total >= n) & (total <= job.batch)
        fits &= np.isin(total, job.bundles.workers)
        needed = np.array([ps_needed(job.ratio, int(each)) for each in total])
        fits &= ps.sum(axis=1) >= needed
        if job.exact_ps:
            fits &= ps.sum(axis=1) == needed
        self.counts["draws"] += 1
        if not fits.any():  # A4 L11 (E13)
            self.counts["draws_failed"] += 1
            return None
        chosen: Ints = drawn[int(fits.argmax())]
        return chosen


def draws(values: Floats, rounds: int, rng: np.random.Generator) -> Ints:
    """Return values [k] rounded up or down so that each is met on average, (27), (28) [draw, k].

    A single draw where all are whole.
    """
    whole = np.round(values)
    near = np.abs(values - whole) < _WHOLE
    low = np.where(near, whole, np.floor(values))
    part = np.where(near, 0.0, values - low)
    up = rng.random((rounds if part.any() else 1, len(part))) < part
    found: Ints = (low + up).astype(np.int64)
    return found


def relaxation(slot: Slot, machines: Ints) -> LinearProgram:
    """Return (23)-(26) for some machines; columns w, then s; the last two rows are (26) and (2).

    Their right sides, n and m(n), are open.
    """
    job, K = slot.job, len(machines)
    workers, ps = (most[machines] for most in slot.most)
    used = np.flatnonzero((job.worker > 0) | (job.ps > 0))
    one = sparse.identity(K)
    rows = [  # (24), by resource
        sparse.hstack([one * (job.worker[r] / STEP), one * (job.ps[r] / STEP)]) for r in used
    ]
    ones, none = np.ones((1, K)), np.zeros((1, K))
    matrix = sparse.vstack([*rows, np.hstack([ones, none]), np.hstack([none, ones])])
    return LinearProgram(
        cost=np.concatenate([slot.worker_price[machines], slot.ps_price[machines]]),
        lower=np.zeros(2 * K),
        upper=np.concatenate([workers, ps]),
        matrix=sparse.csr_array(matrix),
        row_lower=np.full(len(used) * K + 2, -np.inf),
        row_upper=np.concatenate(
            [*(slot.room[machines][:, r] / STEP for r in used), [job.batch, np.inf]]
        ),
    )
