"""Seconds that a task spends in engines, and on confirming what they answer.

There is one count in a process. A child process adds its count to its parent's.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from schedgap.solvers.children import clock


@dataclass(slots=True)
class Spent:
    """Wall-clock and CPU seconds of engines; `confirm` is in neither of them."""

    runs: int = 0
    engine: float = 0.0
    engine_cpu: float = 0.0
    confirm: float = 0.0


_spent = Spent()
_engines_running = 0


def reset() -> None:
    """Begin a new task."""
    global _spent
    _spent = Spent()


def total() -> Spent:
    """Return what the task has spent."""
    return replace(_spent)


def add(other: Spent) -> None:
    """Add what a child process has spent.

    `other`: as returned by `total` in the child.
    """
    _spent.runs += other.runs
    _spent.engine += other.engine
    _spent.engine_cpu += other.engine_cpu
    _spent.confirm += other.confirm


@contextmanager
def engine() -> Iterator[Spent]:
    """Measure the run of an engine; the result has the times once the run has ended."""
    global _engines_running
    begun, cpu = clock.now(), time.process_time()
    run = Spent(runs=1)
    _engines_running += 1
    try:
        yield run
    finally:
        _engines_running -= 1
        run.engine, run.engine_cpu = clock.now() - begun, time.process_time() - cpu
        if not _engines_running:
            add(run)


@contextmanager
def confirmation() -> Iterator[None]:
    """Measure the confirmation of an answer; the engines that it runs do not count as such."""
    global _spent
    before, begun = _spent, clock.now()
    _spent = Spent()
    try:
        yield
    finally:
        _spent = before
        _spent.confirm += clock.now() - begun
