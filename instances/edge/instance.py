"""The instance file of family `edge`."""

from functools import cached_property
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from schedgap.instances.instance import Instance
from schedgap.instances.records import (
    LARGEST,
    Absent,
    Count,
    Id,
    Keyed,
    NonEmpty,
    NonNegative,
    Positive,
    Record,
    field_error,
    require_unique,
)

Amount = Annotated[int, Field(ge=0, le=10**9)]
PriceCap = Annotated[float, Field(gt=0, le=LARGEST)]  # small values such as 1e-12 matter


class Server(Record):
    """One edge server or cloud; its position in the list breaks ties."""

    id: Id
    kind: Literal["edge", "cloud"]
    """No effect on feasibility; used by generators, aggregated bounds and reports."""
    workers: Keyed[Amount]
    """W_su by worker type; 0 if absent."""
    parameter_servers: Keyed[Amount]
    """P_sv by type of parameter server (PS); 0 if absent."""


class Job(Record):
    """One training job: E epochs over D chunks of M mini-batches."""

    id: Id
    arrival: Count
    """a_j, the first slot in which the job may run if there is no transfer delay."""
    worker_type: Id
    """u_j."""
    ps_type: Id
    """v_j."""
    epochs: Count
    """E_j."""
    chunks: Count
    """D_j; also the largest number of workers of the job."""
    minibatches_per_chunk: Count
    """M_j."""
    compute_seconds: Positive
    """n_j, time of a worker per mini-batch."""
    update_seconds: NonNegative
    """H_j, time of the PS to update the parameters after a mini-batch."""
    gradient_megabytes: NonNegative
    """k_j, size of the gradients and of the parameters, in 10^6 bytes."""
    bandwidth_mbps: Positive
    """B_j, in 10^6 bit/s."""
    transfer_delay: Keyed[Amount]
    """Delta_js by server, in slots: time to transfer a data chunk."""

    @property
    def minibatches(self) -> int:
        """E_j D_j M_j."""
        return self.epochs * self.chunks * self.minibatches_per_chunk


class PriceCaps(Record):
    """Parameters of the paper's price functions (7) and (8)."""

    worker: PriceCap = 1.0
    """F_1."""
    parameter_server: PriceCap = 1.0
    """F_2."""


class EdgeInstance(Instance):
    """Parameter-server jobs on edge servers and clouds; minimize the sum of completion - arrival.

    With `batch_round` = i, the objective is to maximize the number of jobs that run within the
    slots 2^(i-1) + 1..2^i. Only jobs that arrived before slot 2^(i-1) count.

    Source: She et al., "Online Scheduling of Machine Learning Jobs in Edge-Cloud Networks",
    Sections III and V-A, Table I.
    """

    title: ClassVar[str] = "parameter-server jobs in an edge-cloud network"

    family: Literal["edge"]
    horizon: Count
    """T, the last slot in which a job may run."""
    slot_seconds: Positive
    """Length of a slot in seconds."""
    worker_types: NonEmpty[Id]
    """U."""
    ps_types: NonEmpty[Id]
    """V."""
    servers: NonEmpty[Server]
    """S."""
    jobs: NonEmpty[Job]
    """J."""
    price_caps: PriceCaps = PriceCaps()
    """For the paper's algorithm; no effect on the problem."""
    batch_round: Absent[Count] = None
    """i, if the problem is the batch problem (3) of this round instead of (2)."""

    @property
    def is_batch(self) -> bool:
        """Whether the problem is (3): as many jobs as possible within one round."""
        return self.batch_round is not None

    @cached_property
    def window(self) -> tuple[int, int]:
        """First and last slot in which a job may run: 1..T, or (tau_i, tau_{i+1}] up to T."""
        if self.batch_round is None:
            return 1, self.horizon
        tau: int = 2 ** (self.batch_round - 1)
        return tau + 1, min(2 * tau, self.horizon)

    def may_run(self, job: Job) -> bool:
        """Return whether a job may run: always in (2), if it arrived before tau_i in (3).

        Parameters
        ----------
        job : Job
            One of the jobs.
        """
        return not self.is_batch or job.arrival < self.window[0] - 1

    def demands(self) -> tuple[str, list[float]]:
        """Return the number of mini-batches of each job."""
        return "mini-batches", [
            float(job.epochs * job.chunks * job.minibatches_per_chunk) for job in self.jobs
        ]

    def summary(self) -> dict[str, str]:
        """Return sizes, horizon and problem."""
        clouds = sum(server.kind == "cloud" for server in self.servers)
        first, last = self.window
        return {
            "jobs": str(len(self.jobs)),
            "servers": f"{len(self.servers) - clouds} edge, {clouds} cloud",
            "types": f"{len(self.worker_types)} of workers, {len(self.ps_types)} of PSs",
            "problem": f"batch, slots {first}-{last}" if self.is_batch else "total completion",
            "horizon": f"{self.horizon} slots of {self.slot_seconds:g} s",
        }

    @model_validator(mode="after")
    def _cross_field_rules(self) -> Self:
        require_unique(self.worker_types, "worker_types", key=None)
        require_unique(self.ps_types, "ps_types", key=None)
        require_unique((server.id for server in self.servers), "servers")
        require_unique((job.id for job in self.jobs), "jobs")
        for s, server in enumerate(self.servers):
            for name in server.workers:
                if name not in self.worker_types:
                    raise field_error("unknown worker type", "servers", s, "workers", name)
            for name in server.parameter_servers:
                if name not in self.ps_types:
                    raise field_error("unknown PS type", "servers", s, "parameter_servers", name)
        known = {server.id for server in self.servers}
        for j, job in enumerate(self.jobs):
            self._check_job(job, known, "jobs", j)
        if self.batch_round is not None and self.batch_round > (self.horizon - 1).bit_length():
            raise field_error(  # 2^(i-1) >= T, without computing the power
                f"round starts after the horizon: 2^{self.batch_round - 1} >= {self.horizon}",
                "batch_round",
            )
        return self

    def _check_job(self, job: Job, servers: set[str], *path: str | int) -> None:
        if job.arrival > self.horizon:
            raise field_error(
                f"arrival after horizon: must be <= {self.horizon}, got {job.arrival}",
                *path, "arrival",
            )  # fmt: skip
        if job.worker_type not in self.worker_types:
            raise field_error(f"unknown worker type '{job.worker_type}'", *path, "worker_type")
        if job.ps_type not in self.ps_types:
            raise field_error(f"unknown PS type '{job.ps_type}'", *path, "ps_type")
        for name in job.transfer_delay:
            if name not in servers:
                raise field_error(f"unknown server '{name}'", *path, "transfer_delay")
        for server in self.servers:
            if server.id not in job.transfer_delay:
                raise field_error(
                    f"missing delay for server '{server.id}'", *path, "transfer_delay"
                )
