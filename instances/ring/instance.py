"""The instance file of family `ring`."""

from functools import cached_property
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from schedgap.instances.instance import Instance
from schedgap.instances.records import (
    LARGEST,
    SMALLEST,
    Absent,
    Count,
    Id,
    NonEmpty,
    NonNegative,
    Positive,
    Record,
    field_error,
    require_unique,
)

MOST_SLOTS = 100_000
MOST_GPUS = 100_000  # GPUs of one server
MOST_GPUS_IN_ALL = 1_000_000
FINEST_SCALE = 10_000


class Server(Record):
    """One server; its position in the list breaks ties."""

    id: Id
    gpus: Annotated[int, Field(ge=1, le=MOST_GPUS)]
    """O_s, number of identical GPUs."""


class Job(Record):
    """One training job: its workers, one on each GPU, form a ring from start to end."""

    id: Id
    gpus: Count
    """G_j = w_j, requested GPUs."""
    iterations: Count
    """F_j, number of training iterations."""
    gradient_size: NonNegative
    """m_j, in units of data."""
    batch_size: Count
    """M_j, samples per mini-batch."""
    forward_time_per_sample: NonNegative
    """Delta^f_j, in slots."""
    backward_time: NonNegative
    """Delta^b_j, in slots."""
    estimated_slots: Absent[Positive] = None
    """rho-hat_j, estimated execution time; by default, the time of the best placement."""
    spread_factor: Annotated[float, Field(ge=1, le=LARGEST)] = 1.0
    """lambda_j of Algorithm 3, which considers servers with lambda_j G_j GPUs in total."""

    @property
    def chunk(self) -> float:
        """m_j (w_j - 1) / w_j, the data that a worker sends and reduces per iteration."""
        return self.gradient_size / self.gpus * (self.gpus - 1)


class Degradation(Record):
    """f(alpha, k), the factor by which k contending jobs reduce the bandwidth between servers."""

    kind: Literal["linear", "power"]
    """linear: k + alpha (k - 1), the paper's example; power: k^(1 + alpha), ours."""
    alpha: Annotated[float, Field(ge=0, le=10)]


class RingInstance(Instance):
    """Ring-all-reduce jobs that are all available at the start; minimize the makespan.

    Source: Yu, Ji, Rajan and Liu, "On Scheduling Ring-All-Reduce Learning Jobs in Multi-Tenant GPU
    Clusters with Communication Contention", Section 4, Table 1.
    """

    title: ClassVar[str] = "ring-all-reduce jobs under communication contention"

    family: Literal["ring"]
    horizon: Annotated[int, Field(ge=1, le=MOST_SLOTS)]
    """T, the slot by whose end every job must be complete."""
    servers: NonEmpty[Server]
    jobs: NonEmpty[Job]
    bandwidth_between: Positive
    """b^e, bandwidth of a link between servers, in units of data per slot."""
    bandwidth_within: Positive
    """b^i, bandwidth of a link inside a server, in units of data per slot."""
    compute_speed: Positive
    """C, reduction speed of a GPU, in units of data per slot."""
    contention_factor: Annotated[float, Field(ge=SMALLEST, le=1)]
    """xi_1 in (7)."""
    overhead_per_server: Annotated[float, Field(ge=0, le=1)]
    """xi_2, latency per iteration for each server that the job uses, in slots."""
    degradation: Degradation
    clamp_contention: bool = True
    """Whether (7) has k = max(1, xi_1 p), where sharing never makes a link faster, or xi_1 p."""
    rate_scale: Annotated[int, Field(ge=1, le=FINEST_SCALE)] = 1
    """Progress is counted in 1 / rate_scale iterations; 1 gives the paper's rounding."""

    @cached_property
    def gpus(self) -> int:
        """N, number of GPUs of all servers."""
        return sum(server.gpus for server in self.servers)

    @cached_property
    def max_contention(self) -> int:
        """Largest possible p_j[t], at least 1: the number of rings that fit on a server."""
        rings = sum(job.gpus >= 2 for job in self.jobs)
        return max(1, min(max(server.gpus for server in self.servers), rings))

    def degradation_factor(self, contention: int) -> float:
        """Return f(alpha, k) of (7).

        Parameters
        ----------
        contention : int
            p >= 1, number of spread jobs on a server, including the job itself.
        """
        k = self.contention_factor * contention
        if self.clamp_contention:
            k = max(1.0, k)
        alpha = self.degradation.alpha
        if self.degradation.kind == "linear":
            return k + alpha * (k - 1)
        return float(k ** (1 + alpha))

    def warnings(self) -> tuple[str, ...]:
        """Return one line for each assumption of the paper that the instance violates."""
        alone = self.degradation_factor(1)
        if alone == 1:
            return ()
        return (
            f"a spread job alone has degradation factor {alone:g}, the paper assumes 1: "
            "set clamp_contention true",
        )

    def demands(self) -> tuple[str, list[float]]:
        """Return the number of GPUs of each job."""
        return "GPUs", [float(job.gpus) for job in self.jobs]

    def summary(self) -> dict[str, str]:
        """Return sizes and horizon."""
        sizes = [job.gpus for job in self.jobs]
        low, high = min(sizes), max(sizes)
        return {
            "jobs": f"{len(self.jobs)} of {f'{low}-' if low < high else ''}{high} GPUs",
            "servers": str(len(self.servers)),
            "GPUs": str(self.gpus),
            "horizon": f"{self.horizon} slots",
        }

    @model_validator(mode="after")
    def _cross_field_rules(self) -> Self:
        for name in ("servers", "jobs"):
            require_unique((item.id for item in getattr(self, name)), name)
        if self.gpus > MOST_GPUS_IN_ALL:
            raise field_error(
                f"too many GPUs: at most {MOST_GPUS_IN_ALL}, got {self.gpus}", "servers"
            )
        self._check_degradation()
        for j, job in enumerate(self.jobs):
            exchange = 2 * job.chunk / self.bandwidth_within + job.chunk / self.compute_speed
            compute = job.forward_time_per_sample * job.batch_size + job.backward_time
            if exchange + self.overhead_per_server + compute <= 0:
                raise field_error("per-iteration time is 0", "jobs", j)
        return self

    def _check_degradation(self) -> None:
        """Raise an error if the factor is not positive, or makes spread jobs faster than others."""
        alone = self.degradation_factor(1)  # the smallest one, as f increases with p
        if alone <= 0:
            raise field_error(
                f"contention_factor {self.contention_factor:g} with alpha "
                f"{self.degradation.alpha:g} makes the degradation factor "
                f"{'negative' if alone < 0 else '0'} at p=1; set clamp_contention true",
                "contention_factor",
            )
        if self.bandwidth_within < self.bandwidth_between / alone:
            raise field_error(
                "must be at least the between-server bandwidth"
                + ("" if self.clamp_contention else " over the degradation factor at p=1"),
                "bandwidth_within",
            )
