"""Algorithm 4, lines 8-11: the linear relaxation of (23)-(26), multiplied and rounded at random."""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from scipy import sparse

from schedgap.instances.dmlrs import EXTERNAL, STEP
from schedgap.instances.dmlrs.compiled import Floats, Ints
from schedgap.models.dmlrs.algorithms.rounding_gain import cover_gain, packing_gain, packing_width
from schedgap.models.dmlrs.offers import Offer, Slot
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.engines.highs import Relaxation
from schedgap.solvers.programs.arrays import LinearProgram

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
    hull: bool = False  # (24) by the hull of each machine's whole numbers
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
        program = relaxation(slot, machines, hull=self.hull)
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
        needed = np.full(job.batch + 2, -1)  # m(n) where n is allowed
        needed[job.bundles.workers] = job.bundles.ps
        total = workers.sum(axis=1)
        wanted, found = needed[np.minimum(total, job.batch + 1)], ps.sum(axis=1)
        fits = (load <= slot.room[machines]).all(axis=(1, 2)) & (total >= n) & (wanted >= 0)
        fits &= found == wanted if job.exact_ps else found >= wanted
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


def relaxation(slot: Slot, machines: Ints, *, hull: bool = False) -> LinearProgram:
    """Return (23)-(26) for some machines; columns w, then s; the last two rows are (26) and (2).

    Their right sides, n and m(n), are open.

    Parameters
    ----------
    hull : bool
        Whether (24) is written by the hull of each machine's whole numbers.
    """
    K = len(machines)
    workers, ps = (most[machines] for most in slot.most)
    matrix, room = (_hulls if hull else _rooms)(slot, machines)
    ones, none = np.ones((1, K)), np.zeros((1, K))
    coupling = [np.hstack([ones, none]), np.hstack([none, ones])]
    return LinearProgram(
        cost=np.concatenate([slot.worker_price[machines], slot.ps_price[machines]]),
        lower=np.zeros(2 * K),
        upper=np.concatenate([workers, ps]),
        matrix=sparse.csr_array(sparse.vstack([matrix, *coupling])),
        row_lower=np.full(len(room) + 2, -np.inf),
        row_upper=np.concatenate([room, [slot.job.batch, np.inf]]),
    )


def _rooms(slot: Slot, machines: Ints) -> tuple[Any, Floats]:
    """Return (24), by resource: matrix [row, w and s] and right sides."""
    job, one = slot.job, sparse.identity(len(machines))
    used = np.flatnonzero((job.worker > 0) | (job.ps > 0))
    rows = [sparse.hstack([one * (job.worker[r] / STEP), one * (job.ps[r] / STEP)]) for r in used]
    return sparse.vstack(rows), np.concatenate([slot.room[machines][:, r] / STEP for r in used])


def _hulls(slot: Slot, machines: Ints) -> tuple[Any, Floats]:
    """Return the edges of each machine's hull, a w + b s <= c; equal rooms share them."""
    known: dict[bytes, list[tuple[int, int, int]]] = {}
    entries: list[tuple[int, int, int]] = []  # row, column, value
    right: list[int] = []
    K = len(machines)
    for k, h in enumerate(machines.tolist()):
        key = slot.room[h].tobytes()
        if key not in known:
            known[key] = _edges(slot, h)
        for a, b, c in known[key]:
            entries += [(len(right), k, a), (len(right), K + k, b)]
            right.append(c)
    row, column, value = np.array(entries, dtype=np.int64).reshape(-1, 3).T
    matrix = sparse.coo_array((value.astype(float), (row, column)), shape=(len(right), 2 * K))
    return matrix, np.array(right, dtype=float)


def _edges(slot: Slot, h: int) -> list[tuple[int, int, int]]:
    """Return the edges (a, b, c) of the hull of what w workers and s PSs machine h holds."""
    job, (workers, ps) = slot.job, slot.most
    used = job.ps > 0
    w = np.arange(int(workers[h]) + 1)
    left = slot.room[h] - w[:, None] * job.worker
    s = np.minimum(int(ps[h]), (left[:, used] // job.ps[used]).min(axis=1))
    corners: list[tuple[int, int]] = []
    for point in zip(w.tolist(), s.tolist(), strict=True):
        while len(corners) > 1 and _turns_left(corners[-2], corners[-1], point):
            corners.pop()
        corners.append(point)
    return [
        (before[1] - after[1], after[0] - before[0], after[0] * before[1] - before[0] * after[1])
        for before, after in pairwise(corners)
    ]


def _turns_left(a: tuple[int, int], b: tuple[int, int], c: tuple[int, int]) -> bool:
    """Whether b lies on or below the line from a to c."""
    return (b[0] - a[0]) * (c[1] - a[1]) >= (b[1] - a[1]) * (c[0] - a[0])
