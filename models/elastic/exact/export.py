"""The programs that `schedgap export` writes, by the name of the method that solves them."""

from typing import Any

from schedgap.errors import UsageError
from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.heuristics.initial import known_windows
from schedgap.models.elastic.programs import compact, linearised, printed
from schedgap.models.elastic.programs import time_indexed as by_start
from schedgap.models.elastic.programs.columns import ElasticRun

MAX_RUNS = 50_000  # columns of the compact-exponential program that a file may have


def paper_miqcp(instance: ElasticInstance) -> Any:
    """Return (2), (15), or (7), (16), with the products of duration, workers and rate."""
    return printed.build(instance, span=known_windows(instance))


def paper_milp(instance: ElasticInstance) -> Any:
    """Return (2), (15), or (7), (16) for a batch, without products."""
    return linearised.build(instance, span=known_windows(instance))


def time_indexed(instance: ElasticInstance) -> Any:
    """Return the program with a copy of the placement for each job, mode and start."""
    return by_start.build(instance, span=known_windows(instance))


def compact_exponential(instance: ElasticInstance) -> Any:
    """Return (8), (17): a column for every run of every job."""
    return compact.build(instance, _runs(instance, "compact-exponential"))


def dual_lp(instance: ElasticInstance) -> Any:
    """Return (9), (18): a row for every run of every job."""
    return compact.build_dual(instance, _runs(instance, "dual-lp"))


def _runs(instance: ElasticInstance, name: str) -> list[ElasticRun]:
    runs = compact.enumerate_runs(instance, known_windows(instance), MAX_RUNS)
    if runs is None:
        raise UsageError(f"{name}: more than {MAX_RUNS} runs")
    return runs
