"""Stages that end in all possible ways."""

import time

from schedgap.errors import ScaleError
from schedgap.models.search_state import StageProgress, StageResult
from schedgap.solvers import Clock


def both(found: StageProgress, by: float, *, clock: Clock, seed: int, threads: int) -> StageResult:
    """Report the incumbent 9 and the bound `by`."""
    found.incumbent(9.0)
    found.bound(by)
    assert clock.limit == 30
    return StageResult(complete=True, trace={"seed": seed, "threads": threads}, value="kept")


def endless(found: StageProgress, *, clock: Clock, seed: int, threads: int) -> StageResult:
    """Report an incumbent, then hang."""
    found.incumbent(9.0)
    time.sleep(60)
    return StageResult()


def failing(found: StageProgress, *, clock: Clock, seed: int, threads: int) -> StageResult:
    """Raise an error of a method."""
    raise ScaleError("too fine")
