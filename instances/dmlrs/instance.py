"""The instance file of family `dmlrs`."""

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from schedgap.instances.instance import Instance
from schedgap.instances.records import (
    HIDDEN,
    LARGEST,
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
    short,
)
from schedgap.instances.scaling import as_fraction

STEP = 1000  # capacities and demands are multiples of 1 / STEP
MOST_SLOTS = 10_000
MOST_WORKERS = 100_000

Amount = Annotated[float, Field(ge=0, le=1e9)]
Amounts = Keyed[Amount]  # key: resource, none is absent


class Machine(Record):
    """One machine; its position in the list breaks ties."""

    id: Id
    capacity: Amounts
    """C_h^r by resource, in the unit of the resource, with at most 3 decimals."""


class Sigmoid(Record):
    """u(d) = theta_1 / (1 + exp(theta_2 (d - theta_3)))."""

    type: Literal["sigmoid"]
    priority: Positive
    """theta_1."""
    sensitivity: Positive
    """theta_2, per slot."""
    target: Positive
    """theta_3, in slots."""

    def at(self, delay: int) -> float:
        """Return u at a delay; 0 where exp would overflow.

        `delay`: slots from arrival to completion, >= 0.
        """
        exponent = self.sensitivity * (delay - self.target)
        return 0.0 if exponent > 700 else self.priority / (1 + math.exp(exponent))


class Table(Record):
    """u(d) for each delay d = 0, 1, ..., T - 1."""

    type: Literal["table"]
    values: Many[NonNegative]
    """Nonincreasing, one for each slot."""

    def at(self, delay: int) -> float:
        """Return u at a delay.

        `delay`: slots from arrival to completion, >= 0.
        """
        return self.values[delay]


def _known_type(given: object) -> object:
    if isinstance(given, Mapping) and given.get("type", "table") not in ("sigmoid", "table"):
        raise field_error(f"must be sigmoid or table, got {short(given['type'])}", "type")
    return given


def _tag(given: object) -> str:
    kind = given.get("type") if isinstance(given, Mapping) else getattr(given, "type", None)
    return HIDDEN + ("sigmoid" if kind == "sigmoid" else "table")


Utility = Annotated[
    Annotated[Sigmoid, Tag(f"{HIDDEN}sigmoid")] | Annotated[Table, Tag(f"{HIDDEN}table")],
    Discriminator(_tag),
    BeforeValidator(_known_type),
]


class Job(Record):
    """One training job: E epochs over K samples, with workers and parameter servers (PSs)."""

    id: Id
    arrival: Count
    """a_i, the first slot that the job may use."""
    epochs: Count
    """E_i."""
    samples: Count
    """K_i, per epoch."""
    batch_size: Annotated[int, Field(ge=1, le=MOST_WORKERS)]
    """F_i, in samples; also the largest number of workers in a slot."""
    gradient_size: Positive
    """g_i, size of the gradients and of the parameters, in MB."""
    time_per_sample: NonNegative
    """tau_i, computing time of a worker per sample, in slots."""
    worker_ps_ratio: Annotated[float, Field(ge=1, le=LARGEST)]
    """gamma_i, workers per PS."""
    internal_bandwidth: Positive
    """b_i^(i), bandwidth inside a machine, in MB per slot."""
    external_bandwidth: Positive
    """b_i^(e), bandwidth of the slowest link, in MB per slot."""
    worker_demand: Amounts
    """alpha_i^r of one worker by resource, with at most 3 decimals."""
    ps_demand: Amounts
    """beta_i^r of one PS by resource, with at most 3 decimals."""
    utility: Utility
    """u_i, a function of the slots from arrival to completion."""

    @property
    def volume(self) -> int:
        """V_i = E_i K_i, in samples."""
        return self.epochs * self.samples


class PriceParameters(Record):
    """Parameters of the price function (12), if they are given in advance."""

    max_unit_utility: Keyed[Positive]
    """U^r by resource."""
    min_unit_utility: Annotated[float, Field(gt=0, le=LARGEST)]
    """L."""


class DmlrsInstance(Instance):
    """Training jobs to be admitted or rejected, and placed in each slot, for maximum utility.

    Source: Yu et al., "Toward Efficient Online Scheduling for Distributed Machine Learning
    Systems", problem DMLRS, (3)-(7).
    """

    title: ClassVar[str] = "admission and placement of parameter-server jobs for utility"

    family: Literal["dmlrs"]
    horizon: Annotated[int, Field(ge=1, le=MOST_SLOTS)]
    """T, the last slot."""
    ps_rule: Literal["at_least", "exact"] = "at_least"
    """(2): for n workers at least n / gamma PSs, rounded up, or exactly n / gamma."""
    resources: NonEmpty[Id]
    """R."""
    machines: NonEmpty[Machine]
    """H."""
    jobs: Many[Job]
    """I; online, they arrive in order of arrival, ties in the order of the list."""
    price_parameters: Absent[PriceParameters] = None
    """For the paper's algorithm; no effect on the problem."""

    def demands(self) -> tuple[str, list[float]]:
        """Return the number of samples of each job."""
        return "samples", [float(job.epochs * job.samples) for job in self.jobs]

    def summary(self) -> dict[str, str]:
        """Return sizes, horizon and the rule on parameter servers."""
        return {
            "jobs": str(len(self.jobs)),
            "machines": str(len(self.machines)),
            "resources": ", ".join(self.resources),
            "PS rule": self.ps_rule,
            "horizon": f"{self.horizon} slots",
        }

    @model_validator(mode="after")
    def _cross_field_rules(self) -> Self:
        require_unique(self.resources, "resources", key=None)
        require_unique((machine.id for machine in self.machines), "machines")
        require_unique((job.id for job in self.jobs), "jobs")
        for h, machine in enumerate(self.machines):
            self._check_amounts(machine.capacity, "machines", h, "capacity")
        for i, job in enumerate(self.jobs):
            self._check_job(job, "jobs", i)
        if self.price_parameters is not None:
            self._check_prices(self.price_parameters, "price_parameters")
        return self

    def _check_job(self, job: Job, *path: str | int) -> None:
        if job.arrival > self.horizon:
            raise field_error(
                f"arrival after horizon: must be <= {self.horizon}, got {job.arrival}",
                *path, "arrival",
            )  # fmt: skip
        if job.internal_bandwidth < job.external_bandwidth:
            raise field_error(
                "below external_bandwidth: (3) would reward splitting", *path, "internal_bandwidth"
            )
        for key, demand in (("worker_demand", job.worker_demand), ("ps_demand", job.ps_demand)):
            self._check_amounts(demand, *path, key)
            if not any(demand.values()):
                kind = "worker" if key == "worker_demand" else "PS"
                raise field_error(f"a {kind} of job '{job.id}' demands nothing", *path, key)
        if isinstance(job.utility, Table):
            values = job.utility.values
            if len(values) != self.horizon:
                raise field_error(
                    f"must hold {self.horizon} numbers, one for each slot, got {len(values)}",
                    *path, "utility", "values",
                )  # fmt: skip
            for k, (before, value) in enumerate(pairwise(values), 1):
                if value > before:
                    raise field_error(
                        f"must not increase: {value:g} after {before:g}",
                        *path, "utility", "values", k,
                    )  # fmt: skip

    def _check_keys(self, given: Mapping[str, float], *path: str | int) -> None:
        for name in given:
            if name not in self.resources:
                raise field_error("unknown resource", *path, name)
        for name in self.resources:
            if name not in given:
                raise field_error(f"missing resource '{name}'", *path)

    def _check_amounts(self, given: Mapping[str, float], *path: str | int) -> None:
        self._check_keys(given, *path)
        for name, amount in given.items():
            if (as_fraction(amount) * STEP).denominator != 1:
                raise field_error(f"more than 3 decimals, got {short(amount)}", *path, name)

    def _check_prices(self, given: PriceParameters, *path: str | int) -> None:
        self._check_keys(given.max_unit_utility, *path, "max_unit_utility")
        for name, largest in given.max_unit_utility.items():
            if given.min_unit_utility > largest:
                raise field_error(f"above max_unit_utility.{name}", *path, "min_unit_utility")
