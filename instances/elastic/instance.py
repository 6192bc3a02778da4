"""The instance file of family `elastic`."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from schedgap.instances.instance import Instance
from schedgap.instances.records import (
    HIDDEN,
    LARGEST,
    SMALLEST,
    Absent,
    Count,
    Id,
    Keyed,
    Many,
    NonEmpty,
    NonNegative,
    Positive,
    Record,
    field_error,
    require_unique,
)


def _zero_or_not_tiny(value: float) -> float:
    if 0 < value < SMALLEST:
        raise field_error(f"too small: must be 0 or >= {SMALLEST:g}, got {value:g}")
    return value


Demand = Annotated[float, Field(ge=0, le=LARGEST), AfterValidator(_zero_or_not_tiny)]
Demands = Keyed[Demand]  # key: resource; 0 if absent
Times = Keyed[NonNegative]  # key: type; value: slots
UpdateTime = Annotated[
    Annotated[Times, Tag(f"{HIDDEN}object")] | Annotated[NonNegative, Tag(f"{HIDDEN}number")],
    Discriminator(lambda given: HIDDEN + ("object" if isinstance(given, Mapping) else "number")),
]


class Server(Record):
    """One physical server; its position in the list breaks ties."""

    id: Id
    capacity: Keyed[NonNegative]
    """C_h^r by resource, in the unit of the resource; 0 if absent."""


class WorkerType(Record):
    """A type of worker containers."""

    id: Id
    demand: Demands
    """e_m^r of one worker by resource; for the bandwidth resource it is b_m > 0."""


class PsType(Record):
    """A type of parameter-server (PS) containers."""

    id: Id
    demand: Demands
    """z_p^r of one PS by resource; for the bandwidth resource it is B_p > 0."""


class Job(Record):
    """One training job: E epochs over D chunks of K mini-batches."""

    id: Id
    arrival: Count
    """a_j, the first slot in which the job may run."""
    weight: Positive
    """w_j."""
    epochs: Count
    """E_j."""
    chunks: Count
    """D_j; also the largest number of workers of the job."""
    batches_per_chunk: Count
    """K_j."""
    gradient_size: NonNegative
    """pi_j, in units of the bandwidth resource times slots."""
    train_time: Times
    """v_jm per mini-batch by worker type, in slots; absent types are not allowed."""
    update_time: UpdateTime
    """U_j^p by PS type, in slots; absent types are not allowed. For rings U_j, one number."""

    @property
    def work(self) -> int:
        """E_j D_j K_j, in mini-batches."""
        return self.epochs * self.chunks * self.batches_per_chunk


class ElasticInstance(Instance):
    """Elastic training jobs on servers; minimize the total weighted completion time.

    With `objective` = `scheduled_weight`, all jobs are available at once, and the total weight of
    the jobs that complete by `deadline` is to be maximized.

    Source: Zhou et al., "Online Scheduling Algorithm for Heterogeneous Distributed Machine Learning
    Jobs", Sections 3, 5.1 and 6, Table 1.
    """

    title: ClassVar[str] = "elastic parameter-server and Ring-AllReduce jobs on servers"

    family: Literal["elastic"]
    architecture: Literal["parameter_server", "ring_allreduce"]
    objective: Literal["weighted_completion", "scheduled_weight"] = "weighted_completion"
    """Program (2)/(15), or the batch problem (7)/(16)."""
    horizon: Count
    """T, in slots."""
    horizon_policy: Literal["open", "closed"] = "open"
    """`closed`: no job may run after slot T; no effect with `scheduled_weight`."""
    deadline: Absent[Annotated[int, Field(ge=2, le=10**9)]] = None
    """tau of (7), an upper limit on start + duration; only with `scheduled_weight`."""
    resources: NonEmpty[Id]
    """R."""
    bandwidth_resource: Id
    """The resource of which b_m and B_p are the demands."""
    servers: NonEmpty[Server]
    """H."""
    worker_types: NonEmpty[WorkerType]
    """M."""
    ps_types: Many[PsType] = ()
    """P; empty or absent for rings."""
    jobs: NonEmpty[Job]
    """J."""

    @property
    def is_ring(self) -> bool:
        """Whether the jobs exchange gradients by Ring-AllReduce, without PSs."""
        return self.architecture == "ring_allreduce"

    @property
    def is_batch(self) -> bool:
        """Whether the problem is (7)/(16): largest total weight completed by the deadline."""
        return self.objective == "scheduled_weight"

    @property
    def last_end(self) -> int | None:
        """Largest start + duration that the deadline or a closed horizon allows, or None."""
        if self.is_batch:
            return self.deadline
        return self.horizon + 1 if self.horizon_policy == "closed" else None

    def demands(self) -> tuple[str, list[float]]:
        """Return the number of mini-batches of each job."""
        return "mini-batches", [float(job.work) for job in self.jobs]

    def summary(self) -> dict[str, str]:
        """Return sizes, architecture and objective."""
        types = f"{len(self.worker_types)} of workers"
        if not self.is_ring:
            types += f", {len(self.ps_types)} of parameter servers"
        end = f", deadline {self.deadline}" if self.is_batch else ""
        return {
            "jobs": str(len(self.jobs)),
            "servers": str(len(self.servers)),
            "types": types,
            "architecture": self.architecture,
            "objective": self.objective + end,
            "horizon": f"{self.horizon} slots, {self.horizon_policy}",
        }

    @model_validator(mode="after")
    def _cross_field_rules(self) -> Self:
        self._check_objective()
        self._check_resources()
        for name in ("servers", "worker_types", "ps_types", "jobs"):
            require_unique((item.id for item in getattr(self, name)), name)
        if self.is_ring and self.ps_types:
            raise field_error("must be empty: Ring-AllReduce has no parameter servers", "ps_types")
        if not self.is_ring and not self.ps_types:
            raise field_error("empty list: parameter_server needs at least one PS type", "ps_types")
        workers = {kind.id for kind in self.worker_types}
        servers = {kind.id for kind in self.ps_types}
        for j, job in enumerate(self.jobs):
            _check_times(job.train_time, workers, "worker type", "jobs", j, "train_time")
            where = ("jobs", j, "update_time")
            if self.is_ring:
                if isinstance(job.update_time, dict):
                    raise field_error("need a number: Ring-AllReduce has one time for all", *where)
            elif isinstance(job.update_time, dict):
                _check_times(job.update_time, servers, "PS type", *where)
            else:
                raise field_error("need an object: a time for each PS type", *where)
        return self

    def _check_objective(self) -> None:
        if self.is_batch and self.deadline is None:
            raise field_error("missing key: objective scheduled_weight needs it", "deadline")
        if not self.is_batch and self.deadline is not None:
            raise field_error("deadline only with objective scheduled_weight", "deadline")
        for j, job in enumerate(self.jobs):
            if self.is_batch and job.arrival != 1:
                raise field_error(
                    f"must be 1, got {job.arrival}: a batch problem starts at slot 1",
                    "jobs", j, "arrival",
                )  # fmt: skip
            if not self.is_batch and self.last_end is not None and job.arrival > self.horizon:
                raise field_error(
                    f"arrives after the horizon {self.horizon}, which is closed",
                    "jobs", j, "arrival",
                )  # fmt: skip

    def _check_resources(self) -> None:
        known = set(self.resources)
        for r, name in enumerate(self.resources):
            if name in self.resources[:r]:
                raise field_error(f"duplicate resource '{name}'", "resources", r)
        if self.bandwidth_resource not in known:
            raise field_error(f"unknown resource '{self.bandwidth_resource}'", "bandwidth_resource")
        for name, key in (
            ("servers", "capacity"), ("worker_types", "demand"), ("ps_types", "demand"),
        ):  # fmt: skip
            for k, item in enumerate(getattr(self, name)):
                amounts = getattr(item, key)
                for resource in amounts:
                    if resource not in known:
                        raise field_error("unknown resource", name, k, key, resource)
                if key == "demand" and not amounts.get(self.bandwidth_resource, 0) > 0:
                    raise field_error(
                        "bandwidth demand must be positive: 2 pi / b is divided by it",
                        name, k, key, self.bandwidth_resource,
                    )  # fmt: skip


def _check_times(times: Mapping[str, object], known: set[str], what: str, *path: str | int) -> None:
    """Raise an error for an unknown type, or if there is none, as the job could never run."""
    for name in times:
        if name not in known:
            raise field_error(f"unknown {what}", *path, name)
    if not times:
        raise field_error(f"empty object: need the time on at least one {what}", *path)
