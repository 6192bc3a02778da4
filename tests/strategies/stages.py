"""Stages that end in all the ways in which a stage can end."""

import time

from schedgap.errors import ScaleError
from schedgap.models.bracket import Finder, Report
from schedgap.solvers import Clock


def both(found: Finder, by: float, *, clock: Clock, seed: int, threads: int) -> Report:
    """Find 9 and `by`, with the arguments of every stage."""
    found.offer(9.0)
    found.bound(by)
    assert clock.limit == 30
    return Report(complete=True, trace={"seed": seed, "threads": threads}, value="kept")


def endless(found: Finder, *, clock: Clock, seed: int, threads: int) -> Report:
    """Find something, then hang."""
    found.offer(9.0)
    time.sleep(60)
    return Report()


def failing(found: Finder, *, clock: Clock, seed: int, threads: int) -> Report:
    """Fail as a method does."""
    raise ScaleError("too fine")
