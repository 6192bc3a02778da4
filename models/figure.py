"""A figure of a paper's evaluation, as data: what is varied, who is compared, what is claimed."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from schedgap.instances.instance import Instance

Named = str | Callable[[Any, Any], str]  # a method; or from the instance and x to one


@dataclass(frozen=True, slots=True)
class Point:
    """One measurement: a method, as `compare` names it, on an instance.

    `x` is where it stands on the axis, a number or a name; points that differ in nothing but `seed`
    are averaged.
    """

    x: float | str
    seed: int
    series: str
    instance: Instance
    method: str


@dataclass(frozen=True)
class Experiment:
    """One figure.

    `x` and `objective` label the axes; `metrics` names further numbers of the schedules
    (`Family.metrics`), each drawn on its own. `draw` makes the points, when they are asked for. The
    methods in `brackets` run on every instance as well: with them come the best known schedule and
    a bound as further series, ours.
    """

    family: str
    figure: str  # its number in the paper
    title: str
    x: str
    objective: str
    claim: str  # what the paper sees in it
    series: tuple[str, ...]
    draw: Callable[[], Iterable[Point]]
    brackets: tuple[str, ...]
    metrics: tuple[str, ...] = ()

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """All measurements, in the order of the series' first ones."""
        return tuple(self.draw())


def curves(
    values: Iterable[float | str],
    seeds: Iterable[int],
    make: Callable[[int, Any], Instance],
    methods: Mapping[str, Named],
    **figure: Any,
) -> Experiment:
    """Return a figure of methods along an axis.

    Parameters
    ----------
    make : callable
        From a seed and a place on the axis to the instance.
    methods : mapping
        By the names of the series.
    **figure
        The other fields of an `Experiment`.
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
    """Return a figure with a bar for each method; the rest as in `curves`."""
    draws, series = tuple(seeds), str(figure["x"])

    def draw() -> Iterator[Point]:
        for seed in draws:
            instance = make(seed)
            for name, method in methods.items():
                yield Point(name, seed, series, instance, method)

    return Experiment(series=(series,), draw=draw, **figure)
