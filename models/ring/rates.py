"""The finite table of rates behind (6)-(8): all that a `ring` model needs of time per iteration.

A job's time per iteration depends only on n, the number of servers that it uses, and p, the rings
that meet on the worst of them (0 inside one server). Everything else reads iterations per slot out
of this table, as whole numbers. At the end: the constants of Section 6, which say how good the
estimates of execution times are, and how much a schedule can change the times.
"""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.ring import RingInstance
from schedgap.models.method import MethodResult

NEVER = math.inf
ROUND_UP = 1e-9  # 1 / 0.05 is 20 iterations per slot: a quotient just under a whole number is it
_CLOSE = 1e-9  # relative; an estimate so near to an execution time counts as exact


class RateTable:
    """Rates and the numbers that follow from them; made by `rate_table`, read-only by custom.

    Indices: j job and s server, in list order.
    """

    def __init__(self, instance: RingInstance) -> None:
        self.instance = instance
        self.horizon = instance.horizon  # T, slots
        self.room = tuple(server.gpus for server in instance.servers)  # [s] O_s
        self.gpus = instance.gpus  # N
        self.size = tuple(job.gpus for job in instance.jobs)  # [j] G_j
        self.most_crowded = instance.most_crowded  # p_max, at least 1
        self.need = tuple(job.iterations * instance.rate_scale for job in instance.jobs)  # [j]
        self.fewest_servers = tuple(map(self._fewest, self.size))  # [j] n_min; 0: fits on no number
        self.most_servers = tuple(min(size, len(self.room)) for size in self.size)  # [j] n_max
        self._factor = np.array(
            [instance.degradation_factor(p) for p in range(1, self.most_crowded + 1)]
        )  # [p - 1] f(p), by plain Python: NumPy's power may differ in the last bit
        self._rows: dict[tuple[int, int], tuple[int, ...]] = {}  # (job, servers) -> rates

    def row(self, job: int, servers: int) -> tuple[int, ...]:
        """Return a job's rates on so many servers, in 1 / rate_scale iterations per slot.

        Returns
        -------
        tuple of int
            [p]: on one server only p = 0; otherwise p = 0..most_crowded, where p = 0 does not
            occur and reads 0. Non-increasing in p >= 1 and in the number of servers. No rate is
            more than `need`: a faster job is complete in that slot either way.

        Notes
        -----
        Source: (7), (8), and phi_j[t] below (8).
        """
        found = self._rows.get((job, servers))
        if found is None:
            found = self._rows[job, servers] = self._tabulated(job, servers)
        return found

    def _tabulated(self, job: int, servers: int) -> tuple[int, ...]:
        with np.errstate(divide="ignore", over="ignore"):
            per_slot = self.instance.rate_scale / self.iteration_slots(job, servers)
        whole = np.floor(np.minimum(per_slot + ROUND_UP, self.need[job])).astype(np.int64)
        found = tuple(whole.tolist())
        return found if servers == 1 else (0, *found)

    def rate(self, job: int, servers: int, crowd: int) -> int:
        """Return the rate at (n, p) = (servers, crowd); 0 for more rings than can meet."""
        row = self.row(job, servers)
        return row[crowd] if crowd < len(row) else 0

    def slots(self, job: int, servers: int, crowd: int) -> float:
        """Return how many slots the whole job takes at a constant rate: whole, or NEVER."""
        rate = self.rate(job, servers, crowd)
        return -(-self.need[job] // rate) if rate else NEVER

    def iteration_slots(self, job: int, servers: int) -> NDArray[np.float64]:
        """Return tau of (8) in slots: [1] on one server, else [p - 1] for p = 1..most_crowded."""
        instance, record = self.instance, self.instance.jobs[job]
        if servers == 1:
            bandwidth = np.array([instance.bandwidth_within])
        else:
            bandwidth = instance.bandwidth_between / self._factor
        return (
            2 * record.chunk / bandwidth
            + record.chunk / instance.compute_speed
            + instance.overhead_per_server * servers
            + record.forward_time_per_sample * record.batch_size
            + record.backward_time
        )

    @cached_property
    def best_slots(self) -> tuple[float, ...]:
        """d_j [j]: execution time on the fewest servers, alone there; whole, or NEVER."""
        return tuple(
            self.slots(j, n, min(n - 1, 1)) if n else NEVER
            for j, n in enumerate(self.fewest_servers)
        )

    @cached_property
    def worst_slots(self) -> tuple[float, ...]:
        """D_j [j]: execution time on the most servers, with the most neighbours; or NEVER."""
        return tuple(
            self.slots(j, n, self.most_crowded if n > 1 else 0)
            for j, n in enumerate(self.most_servers)
        )

    @cached_property
    def estimate(self) -> tuple[float, ...]:
        """rho-hat_j [j]: the file's, else F_j tau at the best placement; in slots, > 0."""
        return tuple(
            job.estimated_slots
            if job.estimated_slots is not None
            else job.iterations * float(self.iteration_slots(j, n)[0])
            if (n := self.fewest_servers[j])
            else NEVER
            for j, job in enumerate(self.instance.jobs)
        )

    @cached_property
    def longest(self) -> float:
        """Lower bound on the makespan: the longest job at its best."""
        return max(self.best_slots)

    @cached_property
    def area(self) -> float:
        """Lower bound on the makespan: all GPUs busy with all jobs at their best."""
        if NEVER in self.best_slots:
            return NEVER
        work = sum(size * int(d) for size, d in zip(self.size, self.best_slots, strict=True))
        return -(-work // self.gpus)

    def _fewest(self, size: int) -> int:
        """Return the number of servers, largest first, that together have so many GPUs, or 0."""
        covered = 0
        for number, room in enumerate(sorted(self.room, reverse=True), 1):
            covered += room
            if covered >= size:
                return number
        return 0


@lru_cache(maxsize=64)
def rate_table(instance: RingInstance) -> RateTable:
    """Return the rates of an instance, built once for each instance."""
    return RateTable(instance)


def no_schedule(instance: RingInstance) -> str | None:
    """Return in one line why no schedule can exist, or None where nothing is known against one.

    Every method asks this first: a job may ask for more GPUs than there are, make no progress at
    all, or the horizon may be shorter than the bounds `job-alone` and `area`.
    """
    table = rate_table(instance)
    for j, job in enumerate(instance.jobs):
        if not table.fewest_servers[j]:
            return f"job {job.id} asks for {job.gpus} GPUs, there are {table.gpus}"
        if table.best_slots[j] == NEVER:
            return f"job {job.id} makes no progress: less than one unit of it in a slot"
    bound = max(table.longest, table.area)
    return past_horizon(instance, bound) if bound > table.horizon else None


def past_horizon(instance: RingInstance, bound: float) -> str:
    """Say in one line that a bound leaves no schedule."""
    return f"every schedule takes {bound:.0f} slots or more, the horizon is {instance.horizon}"


def refuted(instance: RingInstance) -> MethodResult | None:
    """Return the proof that no schedule exists, if the bounds that cost nothing are one."""
    reason = no_schedule(instance)
    return MethodResult(infeasible=True, note=reason) if reason else None


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
