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


ProofKind = Literal["certificate", "tree", "search", "engines", "engine", "none"]
Evidence = Literal["reported", "certified", "proved"]
EVIDENCE: tuple[Evidence, ...] = get_args(Evidence)  # sorted from weak to strong


class ProofClaim(Record):
    """The evidence that a schedule is optimal, that there is none, or that a bound holds."""

    kind: ProofKind
    """`certificate`: the certificate of the bound meets the objective. `tree`: a proof file.
    `search`: a complete search by the family's checker, without an engine. `engines`, `engine`:
    reported by two engines, or by one. `none`: a search without evidence."""
    file: str | None = None
    """Name of the proof file, in the folder of the solution file."""
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None
    """Of the proof file."""
    within: Annotated[float, Field(ge=0)] = 0.0
    """The optimum may be better by this much, relative to the objective."""

    @property
    def evidence(self) -> Evidence:
        """`proved`: a tree; `certified`: evaluated again without an engine; else `reported`."""
        if self.kind == "tree":
            return "proved"
        return "certified" if self.kind in ("certificate", "search") else "reported"


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
    proof: ProofClaim | None = None
    """What `optimal` or `infeasible` rests on; of a `feasible` solution, a proof file of its bound.
    Null for other statuses."""
