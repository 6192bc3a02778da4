"""The programs that `schedgap export` writes, by the name of the method that solves them."""

from collections.abc import Callable, Mapping
from typing import Any

from schedgap.errors import UsageError
from schedgap.instances.elastic import ElasticInstance

MOST_RUNS = 50_000  # columns of the compact-exponential program that a file may have


def paper_milp(instance: ElasticInstance) -> Any:
    """Return (2), (15), or (7), (16) for a batch."""
    from schedgap.models.elastic import program

    return program.build(instance)


def paper_miqcp(instance: ElasticInstance) -> Any:
    """Return (2), (15), or (7), (16), with the products of duration, workers and rate."""
    from schedgap.models.elastic import program_miqcp

    return program_miqcp.build(instance)


def time_indexed(instance: ElasticInstance) -> Any:
    """Return the program with a copy of the placement for each job, mode and start."""
    from schedgap.models.elastic import program_time_indexed

    return program_time_indexed.build(instance)


def compact_exponential(instance: ElasticInstance) -> Any:
    """Return (8), (17): a column for every run of every job."""
    from schedgap.models.elastic import program, program_compact

    runs = program_compact.few_runs(instance, program.known_windows(instance), MOST_RUNS)
    if runs is None:
        raise UsageError(f"compact-exponential: more than {MOST_RUNS} runs")
    return program_compact.build(instance, runs=runs)


def dual_lp(instance: ElasticInstance) -> Any:
    """Return (9), (18): a row for every run of every job."""
    from schedgap.models.elastic import program, program_compact

    runs = program_compact.few_runs(instance, program.known_windows(instance), MOST_RUNS)
    if runs is None:
        raise UsageError(f"dual-lp: more than {MOST_RUNS} runs")
    return program_compact.build_dual(instance, runs=runs)


PROGRAMS: Mapping[str, Callable[[ElasticInstance], Any]] = {
    "paper-milp": paper_milp,
    "paper-miqcp": paper_miqcp,
    "time-indexed": time_indexed,
    "compact-exponential": compact_exponential,
    "dual-lp": dual_lp,
}
