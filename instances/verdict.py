"""What a verifier says of a schedule."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

ClaimStatus = Literal["checked", "unchecked", "refuted"]

TOLERANCE = 1e-6  # absolute, on times and resources


def outside(relaxed: Sequence[str]) -> str:
    """Return in words which rules of the program a schedule leaves out; '' when none."""
    return f"outside the program: without {', '.join(relaxed)}" if relaxed else ""


@dataclass(frozen=True, slots=True)
class Violation:
    """One rule that a schedule breaks: where, by how much, in words."""

    rule: str
    where: tuple[str, ...]
    amount: float
    message: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Feasible or not, the recomputed objective, and every broken rule; falsy when one is broken.

    `relaxed` names the rules of the program that the schedule says it leaves out. `bound_status`
    and `optimality_status` say of the claims of a solution whether they were evaluated again
    (`checked`), could not be (`unchecked`), or are wrong (`refuted`); None where nothing is
    claimed. A claim that there is no schedule counts as one of optimality. `claims` says the same
    in words, a line each.
    """

    feasible: bool
    objective: float | None
    violations: tuple[Violation, ...] = ()
    relaxed: tuple[str, ...] = ()
    bound_status: ClaimStatus | None = None
    optimality_status: ClaimStatus | None = None
    claims: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.feasible

    @property
    def complete(self) -> bool:
        """Whether every claim was evaluated again, and holds."""
        statuses = (self.bound_status, self.optimality_status)
        return self.feasible and all(status in (None, "checked") for status in statuses)

    def __str__(self) -> str:
        if not self.feasible:
            broken = [f"{item.rule}: {item.message}" for item in self.violations]
            return "\n".join([f"{len(broken)} violation(s)", *broken, *self.claims])
        if self.objective is None:
            return "\n".join(["no schedule", *self.claims])
        left_out = f" ({outside(self.relaxed)})" if self.relaxed else ""
        return "\n".join([f"feasible, objective {self.objective:.10g}{left_out}", *self.claims])
