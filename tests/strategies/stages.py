"""Stages that end in all the ways in which a stage can end."""

import time

from schedgap.errors import ScaleError
from schedgap.models.search_state import Finder, StageResult
from schedgap.solvers import Clock


def both(found: Finder, by: float, *, clock: Clock, seed: int, threads: int) -> StageResult:
    """Find 9 and `by`, with the arguments of every stage."""
    found.offer(9.0)
    found.bound(by)
    assert clock.limit == 30
    return StageResult(complete=True, trace={"seed": seed, "threads": threads}, value="kept")


def endless(found: Finder, *, clock: Clock, seed: int, threads: int) -> StageResult:
    """Find something, then hang."""
    found.offer(9.0)
    time.sleep(60)
    return StageResult()


def failing(found: Finder, *, clock: Clock, seed: int, threads: int) -> StageResult:
    """Fail as a method does."""
    raise ScaleError("too fine")
