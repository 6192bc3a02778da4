"""Programs that `schedgap export` writes, built with the time windows of a first schedule."""

from typing import TYPE_CHECKING

from schedgap.errors import UsageError
from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.heuristics.initial import known_windows
from schedgap.models.elastic.programs import compact, linearised, printed
from schedgap.models.elastic.programs import time_indexed as by_start
from schedgap.models.elastic.programs.columns import ElasticRun
from schedgap.models.elastic.time_windows import ElasticWindows

if TYPE_CHECKING:
    import pyomo.environ as pyo

MAX_RUNS = 50_000  # largest number of columns of the compact-exponential program in a file


def full_windows(instance: ElasticInstance) -> ElasticWindows:
    """Return the deadline or closed horizon for all jobs.

    Where the horizon is open, all jobs end by slot `horizon` or as late as some schedule of no
    larger value than a first one allows.
    """
    span = known_windows(instance)
    last = max(instance.horizon + 1 if instance.last_end is None else 0, *span.end)
    return ElasticWindows(span.first, (last,) * len(span.first))


def full_paper_miqcp(instance: ElasticInstance) -> "pyo.ConcreteModel":
    """Return (2), (15), or for a batch (7), (16), with their products, in the full windows."""
    return printed.build(instance, span=full_windows(instance))


def full_paper_milp(instance: ElasticInstance) -> "pyo.ConcreteModel":
    """Return (2), (15), or for a batch (7), (16), linearised, in the full windows."""
    return linearised.build(instance, span=full_windows(instance))


def full_time_indexed(instance: ElasticInstance) -> "pyo.ConcreteModel":
    """Return the time-indexed program in the full windows."""
    return by_start.build(instance, span=full_windows(instance))


def full_compact_exponential(instance: ElasticInstance) -> "pyo.ConcreteModel":
    """Return (8), (17): a column for every run of every job in the full windows."""
    runs = _runs(instance, "compact-exponential", full_windows(instance))
    return compact.build(instance, runs)


def full_dual_lp(instance: ElasticInstance) -> "pyo.ConcreteModel":
    """Return (9), (18): a row for every run of every job in the full windows."""
    return compact.build_dual(instance, _runs(instance, "dual-lp", full_windows(instance)))


def paper_miqcp(instance: ElasticInstance) -> "pyo.ConcreteModel":
    """Return (2), (15), or for a batch (7), (16), with their products."""
    return printed.build(instance, span=known_windows(instance))


def paper_milp(instance: ElasticInstance) -> "pyo.ConcreteModel":
    """Return (2), (15), or for a batch (7), (16), linearised."""
    return linearised.build(instance, span=known_windows(instance))


def time_indexed(instance: ElasticInstance) -> "pyo.ConcreteModel":
    """Return the time-indexed program."""
    return by_start.build(instance, span=known_windows(instance))


def compact_exponential(instance: ElasticInstance) -> "pyo.ConcreteModel":
    """Return (8), (17): a column for every run of every job."""
    return compact.build(instance, _runs(instance, "compact-exponential"))


def dual_lp(instance: ElasticInstance) -> "pyo.ConcreteModel":
    """Return (9), (18): a row for every run of every job."""
    return compact.build_dual(instance, _runs(instance, "dual-lp"))


def _runs(
    instance: ElasticInstance, name: str, span: ElasticWindows | None = None
) -> list[ElasticRun]:
    runs = compact.enumerate_runs(instance, span or known_windows(instance), MAX_RUNS)
    if runs is None:
        raise UsageError(f"{name}: more than {MAX_RUNS} runs")
    return runs
