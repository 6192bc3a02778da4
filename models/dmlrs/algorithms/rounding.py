"""Algorithm 4, lines 8-11: the linear relaxation of (23)-(26), multiplied by a gain and rounded."""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from schedgap.instances.dmlrs import EXTERNAL, STEP
from schedgap.instances.dmlrs.compiled import Floats, Ints
from schedgap.models.dmlrs.algorithms.rounding_gain import cover_gain, packing_gain, packing_width
from schedgap.models.dmlrs.slot_options import SlotOption, SlotState
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.engines.highs import Relaxation
from schedgap.solvers.programs.arrays import LinearProgram
from schedgap.solvers.programs.sparse import sparse

Gain = Literal["one", "packing", "cover"] | float

_WHOLE = 1e-7  # an engine's value this close to an integer counts as that integer


@dataclass
class Rounding:
    """Randomised rounding with one generator for a whole run, and counts of its outcomes.

    Parameters
    ----------
    rng : Generator
        Source of the draws.
    gain : str or float
        G_delta: 1, `packing` (31), `cover` (32), or a number.
    delta : float
        Failure probability in (0, 1], for the gains.
    rounds : int
        S, most draws for each number of workers.
    ps_row : bool
        Whether the relaxation has the row sum s >= m(n), which (23)-(26) lacks (E3).
    hull : bool
        Whether (24) is replaced by the integer hull of each machine.
    """

    rng: np.random.Generator  # A4 L1: w = s = 0, G, S
    gain: Gain = "one"
    delta: float = 1.0
    rounds: int = 20  # S
    ps_row: bool = True  # (E3)
    hull: bool = False
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(
            ("programs", "without_solution", "draws", "draws_failed", "gain_undefined"), 0
        )
    )

    def __call__(self, slot: SlotState) -> list[SlotOption]:
        """Return for each n the first draw that satisfies all rows, by n; none if S draws fail.

        Parameters
        ----------
        slot : SlotState
            State of the slot for the job.

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
        program = relaxation(slot, machines, hull=self.hull)
        n_row, m_row = program.matrix.shape[0] - 2, program.matrix.shape[0] - 1
        engine = Relaxation(program)
        options = []
        for n, m in zip(
            job_bundles.workers[:last].tolist(), job_bundles.ps[:last].tolist(), strict=True
        ):
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

    def _drawn(self, slot: SlotState, machines: Ints, n: int, scaled: Floats) -> Ints | None:
        """Return the first draw [worker or PS, k] that satisfies (24)-(26) and (2), or None."""
        drawn = draws(scaled, self.rounds, self.rng).reshape(-1, 2, len(machines))
        workers, ps = drawn[:, 0], drawn[:, 1]
        job = slot.job
        load = workers[..., None] * job.worker + ps[..., None] * job.ps
        needed = np.full(job.batch + 2, -1)  # m(n), -1 if n is not allowed
        needed[job.bundles.workers] = job.bundles.ps
        total = workers.sum(axis=1)
        servers_needed, servers = needed[np.minimum(total, job.batch + 1)], ps.sum(axis=1)
        fits = (load <= slot.free[machines]).all(axis=(1, 2)) & (total >= n) & (servers_needed >= 0)
        fits &= servers == servers_needed if job.exact_ps else servers >= servers_needed
        self.counts["draws"] += 1
        if not fits.any():  # A4 L11 (E13)
            self.counts["draws_failed"] += 1
            return None
        accepted: Ints = drawn[int(fits.argmax())]
        return accepted


def draws(values: Floats, rounds: int, rng: np.random.Generator) -> Ints:
    """Return random roundings [draw, k] of values [k], each with the value as its mean, (27), (28).

    Parameters
    ----------
    values : array [k]
        Values >= 0.
    rounds : int
        Number of draws; a single one if all values are whole.
    rng : Generator
        Source of the draws.
    """
    whole = np.round(values)
    is_whole = np.abs(values - whole) < _WHOLE
    base = np.where(is_whole, whole, np.floor(values))
    fraction = np.where(is_whole, 0.0, values - base)
    up = rng.random((rounds if fraction.any() else 1, len(fraction))) < fraction
    rounded: Ints = (base + up).astype(np.int64)
    return rounded


def relaxation(slot: SlotState, machines: Ints, *, hull: bool = False) -> LinearProgram:
    """Return the linear relaxation of (23)-(26) on some machines.

    Columns: w, then s. The last two rows are (26) and (2); their right sides, n and m(n), are left
    open.

    Parameters
    ----------
    slot : SlotState
        State of the slot for the job.
    machines : array of int [k]
        Indices of the machines.
    hull : bool
        Whether (24) is replaced by the integer hull of each machine.
    """
    K = len(machines)
    workers, ps = (max_units[machines] for max_units in slot.max_units)
    matrix, free = (_hull_rows if hull else _capacity_rows)(slot, machines)
    ones, none = np.ones((1, K)), np.zeros((1, K))
    coupling = [np.hstack([ones, none]), np.hstack([none, ones])]
    return LinearProgram(
        cost=np.concatenate([slot.worker_price[machines], slot.ps_price[machines]]),
        lower=np.zeros(2 * K),
        upper=np.concatenate([workers, ps]),
        matrix=sparse.csr_array(sparse.vstack([matrix, *coupling])),
        row_lower=np.full(len(free) + 2, -np.inf),
        row_upper=np.concatenate([free, [slot.job.batch, np.inf]]),
    )


def _capacity_rows(slot: SlotState, machines: Ints) -> tuple[Any, Floats]:
    """Return (24), by resource: matrix [row, w and s] and right sides."""
    job, identity = slot.job, sparse.identity(len(machines))
    used = np.flatnonzero((job.worker > 0) | (job.ps > 0))
    rows = [
        sparse.hstack([identity * (job.worker[r] / STEP), identity * (job.ps[r] / STEP)])
        for r in used
    ]
    return sparse.vstack(rows), np.concatenate([slot.free[machines][:, r] / STEP for r in used])


def _hull_rows(slot: SlotState, machines: Ints) -> tuple[Any, Floats]:
    """Return the edges of each machine's integer hull, a w + b s <= c: matrix and right sides."""
    by_capacity: dict[bytes, list[tuple[int, int, int]]] = {}
    entries: list[tuple[int, int, int]] = []  # row, column, value
    right: list[int] = []
    K = len(machines)
    for k, h in enumerate(machines.tolist()):
        key = slot.free[h].tobytes()
        if key not in by_capacity:
            by_capacity[key] = _hull_edges(slot, h)
        for a, b, c in by_capacity[key]:
            entries += [(len(right), k, a), (len(right), K + k, b)]
            right.append(c)
    row, column, value = np.array(entries, dtype=np.int64).reshape(-1, 3).T
    matrix = sparse.coo_array((value.astype(float), (row, column)), shape=(len(right), 2 * K))
    return matrix, np.array(right, dtype=float)


def _hull_edges(slot: SlotState, h: int) -> list[tuple[int, int, int]]:
    """Return the edges (a, b, c) of the hull of the pairs (w, s) that machine h holds."""
    job, (workers, ps) = slot.job, slot.max_units
    used = job.ps > 0
    w = np.arange(int(workers[h]) + 1)
    remaining = slot.free[h] - w[:, None] * job.worker
    s = np.minimum(int(ps[h]), (remaining[:, used] // job.ps[used]).min(axis=1))
    # upper hull of the points (w, largest s beside w), from left to right
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
    """Return whether b lies on or below the line from a to c."""
    return (b[0] - a[0]) * (c[1] - a[1]) >= (b[1] - a[1]) * (c[0] - a[0])
