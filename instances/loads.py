"""Instances under a given offered load: work demanded over capacity in the arrival span.

The module `load` of each family defines both. `work` is the time that the whole cluster needs for
all jobs if nothing is lost. `span` is the time in which the jobs arrive. The load is the ratio of
the two. It is reached by multiplying the times between arrivals by one number. Where all jobs are
there at the start, or whole slots are too coarse, the instance gets fewer machines. The jobs
themselves never change.
"""

import importlib
import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from schedgap.errors import UsageError
from schedgap.instances.arguments import an_instance, checked
from schedgap.instances.families import OWN
from schedgap.instances.instance import Instance
from schedgap.instances.settings import Option

LOAD = Option(
    "load",
    "float",
    None,
    "offered load, reached by other times between arrivals, or else fewer machines",
    least=0.01,
    most=100,
)
TOLERANCE = 0.05  # relative difference between the load asked for and the one reached
FINE = 0.005  # relative difference at which other arrivals are no longer tried
TRIES = 8  # trials of other times between arrivals, for each number of machines
EACH = 40  # up to this number of machines, every smaller number is tried

Build = Callable[
    [float, int], Instance
]  # arguments: factor on the times between arrivals, number of machines


@checked(instance=an_instance)
def offered_load(instance: Instance) -> float:
    """Return the offered load of an instance: work demanded over capacity in the arrival span.

    Parameters
    ----------
    instance : Instance
        An instance of any family; docs/traces.md says what its work, capacity and span are.

    Returns
    -------
    float
        1 means that the jobs arrive as fast as the whole cluster could complete them without any
        loss. Infinite if a job cannot run.
    """
    return cluster_time(instance) / float(_module(instance.family).span(instance))


@lru_cache(maxsize=4)  # `at_load` compares an instance with the first and the best
def cluster_time(instance: Instance) -> float:
    """Return the time that the whole cluster needs for all jobs if nothing is lost.

    The time is in the unit of the instance's times, or in slots; it is infinite if a job cannot
    run.
    """
    return float(_module(instance.family).work(instance))


def missed_load(instance: Instance) -> str:
    """Return a line that says so if the load asked for was not reached, or else an empty text.

    `instance`: an instance that `at_load` may have made.
    """
    facts = instance.meta.get("load")
    if not facts or abs(facts["reached"] / facts["asked"] - 1) <= TOLERANCE:
        return ""
    return (
        f"load {facts['reached']:g} instead of {facts['asked']:g}: no times between arrivals and "
        "no fewer machines come nearer; try shorter slots or other jobs"
    )


def machines_setting(family: str) -> str:
    """Return the setting of a family's presets with the number of machines."""
    name: str = _module(family).MACHINES
    return name


def at_load(build: Build, asked: float, machines: int, setting: str) -> Instance:
    """Return the instance whose load is within `TOLERANCE` of the one asked for, or else nearest.

    Of several, it is one with as many machines as possible. `meta.load` of the result says what was
    asked, what was reached and how.

    `build`: returns the instance with all times between arrivals multiplied by a number, on a
    number of machines. `asked`: the offered load, > 0. `machines`: largest number of machines.
    `setting`: name of the setting with this number.
    """
    first = build(1.0, machines)
    if not 0 < offered_load(first) < math.inf:
        raise UsageError(f"option load: these jobs never run on {setting}={machines}")
    best = first, 1.0, machines
    for count in _counts(machines):
        start = first if count == machines else _same_jobs(build, count, first)
        if start is None:
            break
        for instance, pace in _paced(build, asked, count, start):
            if _distance(instance, asked) < _distance(best[0], asked):
                best = instance, pace, count
        if _distance(best[0], asked) <= TOLERANCE:
            break
        if not _arrives(start) and offered_load(start) >= asked:
            break  # even fewer machines only increase the load
    return _described(first, best, asked, machines, setting)


def _module(family: str) -> Any:
    if family not in OWN:
        raise UsageError(f"family {family} has no offered load: only {', '.join(OWN)} have one")
    return importlib.import_module(f"schedgap.instances.{family}.load")


def _counts(machines: int) -> Iterator[int]:
    """Yield numbers of machines, from all to one, in steps of at most a tenth."""
    count = machines
    while count >= 1:
        yield count
        count -= 1 if count <= EACH else count // 10


def _same_jobs(build: Build, count: int, first: Instance) -> Instance | None:
    """Return the instance on fewer machines, or None if these cannot run the same jobs."""
    try:
        instance = build(1.0, count)
    except UsageError:
        return None
    same = _same(_jobs(instance), _jobs(first)) and math.isfinite(offered_load(instance))
    return instance if same else None


def _same(one: Any, other: Any) -> bool:
    """Return whether two jobs have equal data, apart from arrivals and machines that are gone."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return all(_same(one[key], other[key]) for key in one.keys() & other.keys() - {"arrival"})
    return bool(one == other)


def _paced(
    build: Build, asked: float, count: int, start: Instance
) -> Iterator[tuple[Instance, float]]:
    """Yield instances with other times between arrivals, and the factor on these.

    The load is inversely proportional to the factor, up to the rounding of arrivals.
    """
    yield start, 1.0
    distinct, pace, instance = _arrives(start), 1.0, start
    for _ in range(TRIES):
        more = offered_load(instance) / asked
        if abs(more - 1) <= FINE or (more < 1 and not distinct):
            return
        pace *= more
        instance = build(pace, count)
        if distinct and not _arrives(instance):  # all at once: another problem
            return
        distinct = _arrives(instance)
        yield instance, pace


def _distance(instance: Instance, asked: float) -> float:
    return abs(offered_load(instance) / asked - 1)


def _arrives(instance: Instance) -> bool:
    """Return whether jobs arrive at different times."""
    return len({job.get("arrival") for job in _jobs(instance)}) > 1


def _jobs(instance: Instance) -> list[dict[str, Any]]:
    jobs: list[dict[str, Any]] = instance.to_data()["jobs"]
    return jobs


def _described(
    first: Instance, best: tuple[Instance, float, int], asked: float, machines: int, setting: str
) -> Instance:
    """Return the best instance, with `meta.load`."""
    instance, pace, count = best
    how = [] if pace == 1 else [f"times between arrivals x {pace:.4g}"]
    how += [] if count == machines else [f"{setting} {count} instead of {machines}"]
    facts = {
        "asked": asked,
        "reached": float(f"{offered_load(instance):.4g}"),
        "before": float(f"{offered_load(first):.4g}"),
        "how": ", ".join(how) or "nothing changed",
    }
    return instance.replace(meta={**instance.to_data()["meta"], "load": facts})
