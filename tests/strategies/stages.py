"""Stages that end in all possible ways."""

import time

from schedgap.errors import ScaleError
from schedgap.models.method import Budget
from schedgap.models.search_state import StageProgress, StageResult
from schedgap.solvers.proofs.tree import Proof


def both(found: StageProgress, by: float, *, budget: Budget) -> StageResult:
    """Report the incumbent 9 and the bound `by`."""
    found.incumbent(9.0)
    found.bound(by)
    assert budget.clock.limit == 30
    return StageResult(
        complete=True, trace={"seed": budget.seed, "threads": budget.threads}, value="kept"
    )


def endless(found: StageProgress, *, budget: Budget) -> StageResult:
    """Report an incumbent and a bound with a proof, then hang."""
    found.incumbent(9.0)
    found.proved_bound(4.0, Proof([], [], [{"v": 0}]))
    time.sleep(60)
    return StageResult()


def failing(found: StageProgress, *, budget: Budget) -> StageResult:
    """Raise an error of a method."""
    raise ScaleError("too fine")
