"""The solution file: result of a method on an instance."""

from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from schedgap.instances.records import Record, Version

Status = Literal["optimal", "feasible", "bound", "infeasible", "unknown"]
Kind = Literal["exact", "bound", "algorithm", "baseline"]
Sense = Literal["min", "max"]
STATUSES: tuple[Status, ...] = get_args(Status)
EXIT_CODES: dict[Status, int] = {
    "optimal": 0, "feasible": 0, "bound": 0, "infeasible": 3, "unknown": 4,
}  # fmt: skip


class SolutionFile(Record):
    """Result of one method; `objective` is recomputed from `schedule`, `bound` is valid or null."""

    family: str
    version: Version
    instance: str
    instance_sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    method: str
    engine: str | None
    kind: Kind
    options: dict[str, Any]
    seed: int | None
    status: Status
    sense: Sense
    objective: float | None
    bound: float | None
    seconds: Annotated[float, Field(ge=0)]
    schedule: Any = None  # checked by the family's rules
    trace: dict[str, Any] = Field(default_factory=dict)
    versions: dict[str, str] = Field(default_factory=dict)
