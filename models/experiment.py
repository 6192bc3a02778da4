"""A figure of a paper's evaluation, as data: what is varied, who is compared, what is claimed."""

from dataclasses import dataclass

from schedgap.instances.instance import Instance


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


@dataclass(frozen=True, slots=True)
class Experiment:
    """One figure.

    `x` and `objective` label the axes; `beside` names further numbers of the schedules
    (`Family.beside`), each drawn on its own. The methods in `brackets` run on every instance as
    well: with them come the best known schedule and a bound as further series, ours.
    """

    figure: str  # its number in the paper
    title: str
    x: str
    objective: str
    claim: str  # what the paper sees in it
    points: tuple[Point, ...]
    brackets: tuple[str, ...]
    beside: tuple[str, ...] = ()
