"""What a verifier says of a schedule."""

from collections.abc import Sequence
from dataclasses import dataclass

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

    `relaxed` names the rules of the program that the schedule says it leaves out.
    """

    feasible: bool
    objective: float | None
    violations: tuple[Violation, ...] = ()
    relaxed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.feasible

    def __str__(self) -> str:
        if self.feasible:
            value = "" if self.objective is None else f", objective {self.objective:.10g}"
            left_out = f" ({outside(self.relaxed)})" if self.relaxed else ""
            return f"feasible{value}{left_out}"
        lines = [f"{item.rule}: {item.message}" for item in self.violations]
        return "\n".join([f"{len(lines)} violation(s)", *lines])
