"""Figures of the papers' evaluations as data: axis, methods, instances, and claim."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from schedgap.instances.instance import Instance

# a method, or a function that takes the instance and x and returns one
Named = str | Callable[[Any, Any], str]


@dataclass(frozen=True, slots=True)
class Point:
    """One measurement: a method, named as for `compare`, on an instance.

    `x` is the position on the axis, a number or a name. Points that differ only in `seed` are
    averaged.
    """

    x: float | str
    seed: int
    series: str
    instance: Instance
    method: str


@dataclass(frozen=True)
class Experiment:
    """One figure of a paper.

    `x` and `objective` label the axes; `metrics` names further figures of the schedules
    (`Family.metrics`), each shown in a separate chart. `draw` generates the points when they are
    needed. The methods in `brackets` run on every instance too; they give the best known schedule
    and a bound as additional series.
    """

    family: str
    figure: str  # number in the paper
    title: str
    x: str
    objective: str
    claim: str  # what the paper concludes from it
    series: tuple[str, ...]
    draw: Callable[[], Iterable[Point]]
    brackets: tuple[str, ...]
    metrics: tuple[str, ...] = ()

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """All measurements, in the order of the series."""
        return tuple(self.draw())


def curves(
    values: Iterable[float | str],
    seeds: Iterable[int],
    make: Callable[[int, Any], Instance],
    methods: Mapping[str, Named],
    **figure: Any,
) -> Experiment:
    """Return a figure with a curve for each method along an axis.

    Parameters
    ----------
    values : iterable of float or str
        Positions on the axis.
    seeds : iterable of int
        Seeds of the instances; values are averaged over them.
    make : callable
        Takes a seed and a position on the axis and returns the instance.
    methods : mapping
        Method by name of the series.
    **figure
        The other fields of `Experiment`.
    """
    axis, draws = tuple(values), tuple(seeds)

    def draw() -> Iterator[Point]:
        for seed in draws:
            for x in axis:
                instance = make(seed, x)
                for series, method in methods.items():
                    name = method if isinstance(method, str) else method(instance, x)
                    yield Point(x, seed, series, instance, name)

    return Experiment(series=tuple(methods), draw=draw, **figure)


def bars(
    seeds: Iterable[int],
    make: Callable[[int], Instance],
    methods: Mapping[str, str],
    **figure: Any,
) -> Experiment:
    """Return a figure with a bar for each method.

    Parameters
    ----------
    seeds : iterable of int
        Seeds of the instances; values are averaged over them.
    make : callable
        Takes a seed and returns the instance.
    methods : mapping
        Method by name of the bar.
    **figure
        The other fields of `Experiment`.
    """
    draws, series = tuple(seeds), str(figure["x"])

    def draw() -> Iterator[Point]:
        for seed in draws:
            instance = make(seed)
            for name, method in methods.items():
                yield Point(name, seed, series, instance, method)

    return Experiment(series=(series,), draw=draw, **figure)
