"""Iterations per slot, (6)-(8), as a finite table; everything a model needs to know about rates.

The time per iteration of a job depends on two numbers only: n, the number of servers it uses, and
p, its contention level. The level is the number of rings on the most contended of these servers. It
is 0 for a job inside one server. All models read integers from this table, the iterations per slot.
The end of the module has the constants of Section 6. They say how far the estimated execution times
are off, and by how much a schedule can change an execution time.
"""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.ring import RingInstance

NEVER = math.inf
ROUND_UP = 1e-9  # a quotient this close below an integer counts as it: 1 / 0.05 is 20
_CLOSE = 1e-9  # relative; an estimate this close to an execution time counts as exact


class RateTable:
    """Rates of all jobs and the numbers derived from them; obtained from `rate_table`, read only.

    Indices in list order: job j, server s.
    """

    def __init__(self, instance: RingInstance) -> None:
        self.instance = instance
        self.horizon = instance.horizon  # T, slots
        self.server_gpus = tuple(server.gpus for server in instance.servers)  # [s] O_s
        self.gpus = instance.gpus  # N
        self.size = tuple(job.gpus for job in instance.jobs)  # [j] G_j
        self.max_contention = instance.max_contention  # largest possible p, at least 1
        self.required_progress = tuple(  # [j] F_j in units of 1 / rate_scale iterations
            job.iterations * instance.rate_scale for job in instance.jobs
        )
        # [j] smallest and largest number of servers; the smallest is 0 for a job that fits nowhere
        self.fewest_servers = tuple(map(self._fewest, self.size))
        self.most_servers = tuple(min(size, len(self.server_gpus)) for size in self.size)
        self._factor = np.array(
            [instance.degradation_factor(p) for p in range(1, self.max_contention + 1)]
        )  # [p - 1] f(p); in plain Python because NumPy's power may differ in the last bit
        self._rates: dict[tuple[int, int], tuple[int, ...]] = {}  # rates by (job, servers)

    def rates(self, job: int, servers: int) -> tuple[int, ...]:
        """Return a job's rates at all contention levels.

        `servers`: n, the number of servers it uses, from 1 to `most_servers`.

        The rates [p] are in units of 1 / rate_scale iterations per slot. On one server only p = 0;
        on several p = 0..max_contention, where p = 0 does not occur and reads 0. The rates do not
        increase in p >= 1 or in n. They are cut off at `required_progress`: a faster job is
        complete within the slot in any case.

        Notes
        -----
        Source: (7), (8), and phi_j[t] below (8).
        """
        rates = self._rates.get((job, servers))
        if rates is None:
            rates = self._rates[job, servers] = self._computed_rates(job, servers)
        return rates

    def _computed_rates(self, job: int, servers: int) -> tuple[int, ...]:
        with np.errstate(divide="ignore", over="ignore"):
            per_slot = self.instance.rate_scale / self.iteration_slots(job, servers)
        capped = np.minimum(per_slot + ROUND_UP, self.required_progress[job])
        rates = tuple(np.floor(capped).astype(np.int64).tolist())
        return rates if servers == 1 else (0, *rates)

    def rate(self, job: int, servers: int, contention: int) -> int:
        """Return the rate of a job for one number of servers and one contention level.

        `servers`: n, from 1 to `most_servers`. `contention`: p, 0 if and only if n = 1. Beyond
        `max_contention` the rate is 0.

        The unit is 1 / rate_scale iterations per slot.
        """
        rates = self.rates(job, servers)
        return rates[contention] if contention < len(rates) else 0

    def slots(self, job: int, servers: int, contention: int) -> float:
        """Return the execution time of a job at a constant rate: an integer, or NEVER.

        `job`, `servers`, `contention`: as for `rate`.

        The time is in slots, and NEVER if the rate is 0.
        """
        rate = self.rate(job, servers, contention)
        return -(-self.required_progress[job] // rate) if rate else NEVER

    def iteration_slots(self, job: int, servers: int) -> NDArray[np.float64]:
        """Return tau_j of (8), the time per iteration, at all contention levels.

        `job`, `servers`: as for `rates`.

        The times are in slots: one entry on one server, else [p - 1] for p = 1..max_contention.
        """
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
        """d_j [j]: execution time on the fewest servers without other rings; whole, or NEVER."""
        return tuple(
            self.slots(j, n, min(n - 1, 1)) if n else NEVER
            for j, n in enumerate(self.fewest_servers)
        )

    @cached_property
    def worst_slots(self) -> tuple[float, ...]:
        """D_j [j]: execution time on the most servers at the highest contention; or NEVER."""
        return tuple(
            self.slots(j, n, self.max_contention if n > 1 else 0)
            for j, n in enumerate(self.most_servers)
        )

    @cached_property
    def estimate(self) -> tuple[float, ...]:
        """rho-hat_j [j]: as given, else F_j tau_j at the best placement; in slots, > 0."""
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
        """Lower bound on the makespan: max_j d_j."""
        return max(self.best_slots)

    @cached_property
    def area(self) -> float:
        """Lower bound on the makespan: ceil(sum_j G_j d_j / N), all GPUs busy."""
        if NEVER in self.best_slots:
            return NEVER
        work = sum(size * int(d) for size, d in zip(self.size, self.best_slots, strict=True))
        return -(-work // self.gpus)

    def _fewest(self, size: int) -> int:
        """Return the smallest number of servers with `size` GPUs in total; 0 if all have fewer."""
        covered = 0
        for number, gpus in enumerate(sorted(self.server_gpus, reverse=True), 1):
            covered += gpus
            if covered >= size:
                return number
        return 0


@lru_cache(maxsize=64)
def rate_table(instance: RingInstance) -> RateTable:
    """Return the rates of an instance, built once and cached."""
    return RateTable(instance)


def no_schedule(instance: RingInstance) -> str | None:
    """Return the reason why no schedule can exist, in one line, or None if none is evident.

    Asked before every method. There are three reasons. A job asks for more GPUs than there are, a
    job makes no progress at all, or the bounds `job-alone` and `area` exceed the horizon.
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
    """Return a line that says that a bound exceeds the horizon.

    `bound`: lower bound on the makespan, in slots.
    """
    return f"every schedule takes {bound:.0f} slots or more, the horizon is {instance.horizon}"


@dataclass(frozen=True, slots=True)
class GuaranteeConstants:
    """Constants of Section 6 that hold for every schedule y, where d_j <= rho_j(y) <= D_j."""

    max_gpus: int  # n_g = max_j G_j
    overestimate: float  # u >= 1: rho-hat_j <= u rho_j(y)
    underestimate: float  # l <= 1: rho-hat_j >= l rho_j(y); 0 where some D_j is infinite
    slowdown: float  # phi = max_j D_j / d_j; infinite where some D_j is

    @property
    def theorem_5(self) -> float:
        """n_g phi u / l; infinite where some job may make no progress."""
        if not self.underestimate:
            return math.inf
        return self.max_gpus * self.slowdown * self.overestimate / self.underestimate


def guarantee_constants(table: RateTable) -> GuaranteeConstants:
    """Return n_g, u, l and phi.

    `table`: of an instance that `no_schedule` does not refute.

    Notes
    -----
    Source: Section 5, 3) (u, l), Theorem 1 (n_g), Lemma 4 (phi).
    """
    best, worst = table.best_slots, table.worst_slots
    over = max(estimate / d for estimate, d in zip(table.estimate, best, strict=True))
    under = min(estimate / d for estimate, d in zip(table.estimate, worst, strict=True))
    return GuaranteeConstants(
        max_gpus=max(table.size),
        overestimate=1.0 if over <= 1 + _CLOSE else over,
        underestimate=1.0 if under >= 1 - _CLOSE else under,
        slowdown=max(slow / fast for slow, fast in zip(worst, best, strict=True)),
    )


def load_increments(table: RateTable) -> tuple[float, ...]:
    """Return rho-hat_j / u [j], in slots: what (15) adds to the load of each GPU of a job.

    `table`: of an instance that `no_schedule` does not refute.
    """
    u = guarantee_constants(table).overestimate
    return tuple(estimate / u for estimate in table.estimate)
