"""Many runs at once: arrays over all of them, and which two of them exclude each other."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.modes import cluster
from schedgap.models.elastic.placement import Floats, Ints
from schedgap.models.elastic.programs.columns import ElasticRun

Mask = NDArray[np.bool_]
EXACT = 1 + 1e-15  # as `columns.fits_together`: sums of whole units are exact


class RunPool:
    """Runs as the columns of a program; what a run holds on a server is one of few *kinds*.

    Attributes
    ----------
    job, start, end : array [i]
        Of each run; `end` is start + duration.
    cost : array [i]
        What it adds to the objective of the minimisation.
    kind : array [i, h]
        What it holds on a server; kind 0 holds nothing.
    amounts : list of array [k, r]
        By server: what a kind holds, in units of the cluster.
    """

    def __init__(self, instance: ElasticInstance, runs: Sequence[ElasticRun]) -> None:
        self.instance, self.runs = instance, list(runs)
        view = cluster(instance)
        servers, resources = view.capacity.shape
        self.capacity = view.capacity
        self.job = np.array([run.job for run in runs], dtype=np.int64)
        self.start = np.array([run.start for run in runs], dtype=np.int64)
        self.end = np.array([run.end for run in runs], dtype=np.int64)
        rate = np.array([job.weight for job in instance.jobs], dtype=np.float64)[self.job]
        self.cost: Floats = -rate if instance.is_batch else rate * self.end
        known = [{(0.0,) * resources: 0} for _ in range(servers)]
        rows: dict[Any, list[int]] = {}  # by placement: many runs differ in their start only
        for run in runs:
            key = run.mode.worker_type, run.mode.ps_type, run.workers, run.ps
            if key not in rows:
                rows[key] = [0] * servers
                for h, held in run.held(view).items():
                    rows[key][h] = known[h].setdefault(tuple(held.tolist()), len(known[h]))
        self.kind: Ints = np.array(
            [rows[run.mode.worker_type, run.mode.ps_type, run.workers, run.ps] for run in runs],
            dtype=np.int64,
        ).reshape(len(runs), servers)
        self.amounts: list[Floats] = [np.array(list(kinds)) for kinds in known]

    def __len__(self) -> int:
        return len(self.runs)

    def keep(self, chosen: Mask) -> "RunPool":
        """Return the pool of some of the runs."""
        return RunPool(self.instance, [self.runs[i] for i in np.flatnonzero(chosen)])

    @cached_property
    def _rivals(self) -> list[Mask]:
        """By server [k, k'] whether two kinds do not fit beside each other."""
        return [
            (held[:, None] + held[None, :] > capacity * EXACT).any(axis=2)
            for held, capacity in zip(self.amounts, self.capacity, strict=True)
        ]

    def excluded(self, i: int, among: Ints | None = None) -> Mask:
        """Return [i'] the runs that cannot be taken together with run i; itself is not one.

        `among`: only these are looked at, and the result is [k] by place among them.
        """
        chosen: Any = slice(None) if among is None else among
        beside = (self.start[chosen] < self.end[i]) & (self.start[i] < self.end[chosen])
        clash = np.zeros(len(beside), dtype=bool)
        for h in np.flatnonzero(self.kind[i]):
            clash |= self._rivals[h][self.kind[i, h]][self.kind[chosen, h]]
        clash &= beside
        clash |= self.job[chosen] == self.job[i]
        clash[i if among is None else among == i] = False
        return clash

    @cached_property
    def index(self) -> dict[ElasticRun, int]:
        """The place of each run."""
        return {run: i for i, run in enumerate(self.runs)}

    def running(self, slot: int) -> Mask:
        """Return [i] the runs that hold their servers in a slot."""
        return (self.start <= slot) & (slot < self.end)

    def job_rows(self) -> Any:
        """Return sparse [j, i]: the runs of each job."""
        shape = len(self.instance.jobs), len(self)
        columns = np.arange(len(self))
        return sparse.csr_array((np.ones(len(self)), (self.job, columns)), shape=shape)

    def capacity_rows(self) -> tuple[Any, Floats]:
        """Return sparse [row, i] and [row] what is there, of cells that several jobs can overfill.

        A cell is a server, a resource and a slot.
        """
        jobs, slots = len(self.instance.jobs), int(self.end.max(initial=1))
        matrices, sides = [sparse.csr_array((0, len(self)))], [np.zeros(0)]
        for h, held in enumerate(self.amounts):
            for r in range(held.shape[1]):
                amount = held[self.kind[:, h], r]
                own = np.flatnonzero(amount)
                length = self.end[own] - self.start[own]
                column = np.repeat(own, length)
                offset = np.arange(len(column)) - np.repeat(np.cumsum(length) - length, length)
                slot = self.start[column] + offset
                most = np.zeros((jobs, slots + 1))
                np.maximum.at(most, (self.job[column], slot), amount[column])
                tight = most.sum(axis=0) > self.capacity[h, r]
                number = np.cumsum(tight) - 1
                used = tight[slot]
                entries = amount[column[used]], (number[slot[used]], column[used])
                shape = int(tight.sum()), len(self)
                matrices.append(sparse.csr_array(entries, shape=shape))
                sides.append(np.full(shape[0], self.capacity[h, r]))
        return sparse.vstack(matrices, format="csr"), np.concatenate(sides)
