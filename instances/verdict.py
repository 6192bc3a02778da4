"""Results of verification: violations and verdicts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

ClaimStatus = Literal["checked", "unchecked", "refuted"]

TOLERANCE = 1e-6  # absolute, on times and resources


def exactly(value: float | None) -> str:
    """Return a value as the shortest text from which it can be read again; "none" for None."""
    if value is None:
        return "none"
    is_whole = float(value).is_integer() and abs(value) < 2.0**53
    return str(int(value)) if is_whole else repr(float(value))


def outside(relaxed: Sequence[str]) -> str:
    """Return a text that names the rules which a schedule need not obey; empty if none.

    `relaxed`: names of the rules.
    """
    return f"outside the program: without {', '.join(relaxed)}" if relaxed else ""


@dataclass(frozen=True, slots=True)
class Violation:
    """Violation of a rule: where, by how much, and a message.

    `where` names jobs, or a machine and the slot, or the first and the last slot; a chart of the
    schedule marks what it names.
    """

    rule: str
    where: tuple[str, ...]
    amount: float
    message: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Result of verifying a schedule or a solution; false if it is not feasible.

    `objective` is recomputed from the schedule. `relaxed` names rules of the program that the
    schedule declares not to obey. `bound_status` and `optimality_status` are `checked` if the claim
    was evaluated again, `unchecked` if it could not be, and `refuted` if it is wrong. They are None
    if nothing is claimed. A claim of infeasibility counts as a claim of optimality. `claims` says
    the same as text, one line for each claim. `family` and `instance_sha256` name the instance.
    """

    feasible: bool
    objective: float | None
    violations: tuple[Violation, ...] = ()
    relaxed: tuple[str, ...] = ()
    bound_status: ClaimStatus | None = None
    optimality_status: ClaimStatus | None = None
    claims: tuple[str, ...] = ()
    family: str = ""
    instance_sha256: str = ""

    def __bool__(self) -> bool:
        return self.feasible

    @property
    def complete(self) -> bool:
        """Whether the schedule is feasible and every claim was evaluated again and holds."""
        statuses = (self.bound_status, self.optimality_status)
        return self.feasible and all(status in (None, "checked") for status in statuses)

    def __str__(self) -> str:
        if not self.feasible:
            broken = [f"{item.rule}: {item.message}" for item in self.violations]
            return "\n".join([f"{len(broken)} violation(s)", *broken, *self.claims])
        if self.objective is None:
            return "\n".join(["no schedule", *self.claims])
        left_out = f" ({outside(self.relaxed)})" if self.relaxed else ""
        return "\n".join([f"feasible, objective {exactly(self.objective)}{left_out}", *self.claims])
