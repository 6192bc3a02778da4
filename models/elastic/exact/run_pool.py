"""A pool of runs as arrays, with the pairs of runs that exclude each other.

References
----------
A. Atamtürk, G. L. Nemhauser, M. W. P. Savelsbergh, "Conflict graphs in solving integer programming
problems", European Journal of Operational Research 121 (2000).
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.modes import cluster
from schedgap.models.elastic.placement import Floats, Ints
from schedgap.models.elastic.programs.columns import ElasticRun
from schedgap.solvers.programs.sparse import sparse

Mask = NDArray[np.bool_]
EXACT = 1 + 1e-15  # factor of capacities, as in `columns.fits_together`


class RunPool:
    """Runs as the columns of a program; the usage of a run on a server is one of few *kinds*.

    Attributes
    ----------
    job, start, end : array [i]
        Of each run; `end` is start + duration.
    cost : array [i]
        Coefficient in the minimisation.
    kind : array [i, h]
        Kind of usage on a server; kind 0 uses nothing.
    amounts : list of array [k, r]
        By server: the usage of each kind, in units of the cluster.
    """

    def __init__(self, instance: ElasticInstance, runs: Sequence[ElasticRun]) -> None:
        self.instance, self.runs = instance, list(runs)
        view = cluster(instance)
        servers, resources = view.capacity.shape
        self.capacity = view.capacity
        self.job = np.array([run.job for run in runs], dtype=np.int64)
        self.start = np.array([run.start for run in runs], dtype=np.int64)
        self.end = np.array([run.end for run in runs], dtype=np.int64)
        weight = np.array([job.weight for job in instance.jobs], dtype=np.float64)[self.job]
        self.cost: Floats = -weight if instance.is_batch else weight * self.end
        kinds_on = [{(0.0,) * resources: 0} for _ in range(servers)]
        # Computed once for each placement: many runs differ in their start only.
        rows: dict[tuple[object, ...], list[int]] = {}
        for run in runs:
            key = run.mode.worker_type, run.mode.ps_type, run.workers, run.ps
            if key not in rows:
                rows[key] = [0] * servers
                for h, usage in run.usage(view).items():
                    rows[key][h] = kinds_on[h].setdefault(tuple(usage.tolist()), len(kinds_on[h]))
        self.kind: Ints = np.array(
            [rows[run.mode.worker_type, run.mode.ps_type, run.workers, run.ps] for run in runs],
            dtype=np.int64,
        ).reshape(len(runs), servers)
        self.amounts: list[Floats] = [np.array(list(kinds)) for kinds in kinds_on]

    def __len__(self) -> int:
        return len(self.runs)

    def keep(self, chosen: Mask) -> "RunPool":
        """Return the pool of some of the runs.

        `chosen` [i]: the runs to keep.
        """
        return RunPool(self.instance, [self.runs[i] for i in np.flatnonzero(chosen)])

    @cached_property
    def _conflicts(self) -> list[Mask]:
        """By server [k, k']: whether two kinds of usage do not fit together."""
        return [
            (usage[:, None] + usage[None, :] > capacity * EXACT).any(axis=2)
            for usage, capacity in zip(self.amounts, self.capacity, strict=True)
        ]

    def excluded(self, i: int, among: Ints | None = None) -> Mask:
        """Return the runs that cannot be combined with run i, as a mask without run i itself.

        `among` [k]: only these runs are tested, and the mask is over them; None: all runs.
        """
        chosen = slice(None) if among is None else among
        overlaps = (self.start[chosen] < self.end[i]) & (self.start[i] < self.end[chosen])
        clash = np.zeros(len(overlaps), dtype=bool)
        for h in np.flatnonzero(self.kind[i]):
            clash |= self._conflicts[h][self.kind[i, h]][self.kind[chosen, h]]
        clash &= overlaps
        clash |= self.job[chosen] == self.job[i]
        clash[i if among is None else among == i] = False
        return clash

    @cached_property
    def index(self) -> dict[ElasticRun, int]:
        """The index of each run."""
        return {run: i for i, run in enumerate(self.runs)}

    def running(self, slot: int) -> Mask:
        """Return [i] the runs that are active in a slot.

        `slot`: from 1.
        """
        return (self.start <= slot) & (slot < self.end)

    def job_rows(self) -> "sparse.csr_array":
        """Return sparse [j, i] the runs of each job."""
        shape = len(self.instance.jobs), len(self)
        columns = np.arange(len(self))
        return sparse.csr_array((np.ones(len(self)), (self.job, columns)), shape=shape)

    def capacity_rows(self) -> tuple["sparse.csr_array", Floats]:
        """Return the capacity rows, sparse [row, i], and their right-hand sides.

        A row is a server, a resource and a slot in which several jobs together can exceed the
        capacity.
        """
        jobs, slots = len(self.instance.jobs), int(self.end.max(initial=1))
        matrices, sides = [sparse.csr_array((0, len(self)))], [np.zeros(0)]
        for h, usage in enumerate(self.amounts):
            for r in range(usage.shape[1]):
                amount = usage[self.kind[:, h], r]
                users = np.flatnonzero(amount)
                length = self.end[users] - self.start[users]
                column = np.repeat(users, length)
                offset = np.arange(len(column)) - np.repeat(np.cumsum(length) - length, length)
                slot = self.start[column] + offset
                largest = np.zeros((jobs, slots + 1))
                np.maximum.at(largest, (self.job[column], slot), amount[column])
                needed = largest.sum(axis=0) > self.capacity[h, r]
                number = np.cumsum(needed) - 1
                used = needed[slot]
                entries = amount[column[used]], (number[slot[used]], column[used])
                shape = int(needed.sum()), len(self)
                matrices.append(sparse.csr_array(entries, shape=shape))
                sides.append(np.full(shape[0], self.capacity[h, r]))
        return sparse.vstack(matrices, format="csr"), np.concatenate(sides)
