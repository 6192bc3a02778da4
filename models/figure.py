"""Figures of the papers' evaluations as data: axis, methods, instances, and claims to judge."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

from schedgap.instances.instance import Instance

# a method, or a function that takes the instance and x and returns one
Named = str | Callable[[Any, Any], str]
Position = float | str  # place on the axis
# the instance, the schedule as JSON data and the method's trace -> a number, None if not known
Measure = Callable[[Any, Mapping[str, Any], Mapping[str, Any]], float | None]
# a seed and a position on the axis -> the instance, None if there is none
Make = Callable[[int, Any], Instance | None]
Better = Literal["lower", "higher"]
Standing = Literal["paper", "not stated", "ours"]
# what a claim that a series falls or rises along an axis is judged by
STEPWISE = "(judged: no step back, and the ends differ)"
TIE = 1e-9  # numbers of claims that differ by less are equal
BRACKETS = ("best known", "bound")  # series next to the paper's, at every position


class MissingValueError(LookupError):
    """A value of a figure was not measured."""


class NotApplicableError(MissingValueError):
    """A claim says nothing of a replication, which then does not count."""


@dataclass(frozen=True)
class Draw:
    """The measured values of one draw of a figure.

    `values` maps (measure, series, position) to a value, in the order of the axis, or to None if it
    could not be measured. `objective` is the default measure.
    """

    objective: str
    values: Mapping[tuple[str, str, Position], float | None]

    @cached_property
    def xs(self) -> list[Position]:
        """Positions on the axis, in order."""
        return list(dict.fromkeys(x for _, _, x in self.values))

    def value(self, series: str, x: Position | None = None, measure: str | None = None) -> float:
        """Return the value of a series at a position, or of a bar.

        Parameters
        ----------
        series : str
            Name of the series, or of a bar.
        x : float or str, optional
            The position; not needed for bars.
        measure : str, optional
            By default the objective.

        Raises
        ------
        MissingValueError
            If it was not measured.
        """
        measure = measure or self.objective
        if x is None:
            keys = [
                key
                for key in self.values
                if key[0] == measure
                and (key[1] == series or (key[2] == series and key[1] not in BRACKETS))
            ]
        else:
            keys = [(measure, series, x)]
        value = self.values.get(keys[0]) if len(keys) == 1 else None
        if value is None:
            raise MissingValueError(f"{measure} of {series}" + ("" if x is None else f" at {x}"))
        return value

    def curve(self, series: str, measure: str | None = None) -> list[float]:
        """Return the values of a series along the axis.

        Parameters
        ----------
        series : str
            Name of the series.
        measure : str, optional
            By default the objective.

        Raises
        ------
        MissingValueError
            If a value was not measured.
        """
        return [self.value(series, x, measure) for x in self.xs]


@dataclass(frozen=True)
class Claim:
    """A statement of the paper about a figure, as a predicate on the measured values.

    `text` states it in our words, with the paper's numbers; `source` says where it stands. `holds`
    decides it on one replication; `measure` is the number that it is about, in `unit`.

    `sentence` is the sentence of the paper, in our words, of which the claim is a part: one rival,
    or one figure. Claims with the same sentence are counted as one. By default it is `text`.

    A claim has no `holds` in three cases. It cannot be tested, for the reason `untestable`. It is
    true by construction, for the reason `given`: the paper's numbers are our inputs or settings. Or
    the paper gives no threshold that decides: with `threshold="ours"` only `measure` is shown.

    `standing` says whose statement it is: the paper's, one that our copy of the paper does not
    state, or ours. Only the paper's are counted and get a verdict.
    """

    text: str
    source: str
    holds: Callable[[Draw], bool] | None = None
    measure: Callable[[Draw], float] | None = None
    unit: str = ""
    untestable: str = ""
    sentence: str = ""
    given: str = ""
    threshold: Literal["paper", "ours"] = "paper"
    standing: Standing = "paper"

    def __post_init__(self) -> None:
        ways = [self.holds is not None, bool(self.untestable), bool(self.given)]
        if sum([*ways, self.threshold == "ours"]) != 1:
            need = "`holds`, the reason `untestable`, the reason `given`, or `threshold='ours'`"
            raise ValueError(f"{self.text}: need exactly one of {need}")
        if self.threshold == "ours" and self.measure is None:
            raise ValueError(f"{self.text}: a threshold of ours needs `measure`")


@dataclass(frozen=True, slots=True)
class Point:
    """One measurement: a method, named as for `compare`, on an instance.

    `x` is the position on the axis, a number or a name. Points that differ only in `seed` are
    draws of the same value.
    """

    x: Position
    seed: int
    series: str
    instance: Instance
    method: str


@dataclass(frozen=True)
class Experiment:
    """One figure of a paper.

    `x` and `objective` label the axes. `metrics` names further numbers on the schedules
    (`Family.metrics`), each shown in a separate chart. `measures` names more such numbers, with a
    function for each. This function takes the instance, the schedule as JSON data and the method's
    trace. It returns a number, or None if the number is not known. `draw` generates the points when
    they are needed. The methods in `brackets` run on every instance too; they give the best known
    schedule and a bound as additional series.

    With `ratio`, the chart of the objective shows ratios to the optimum, as the paper does. It
    shows the range between the ratio to the best known schedule and the ratio to the bound.

    `setting` names parameters that the paper does not state, and their values in this copy of the
    figure. It is empty at our defaults. Several experiments with one figure and different settings
    show where a claim holds.
    """

    family: str
    figure: str  # number in the paper
    title: str
    x: str
    objective: str
    claims: tuple[Claim, ...]
    series: tuple[str, ...]
    draw: Callable[[], Iterable[Point]]
    brackets: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    setting: Mapping[str, float | str] = field(default_factory=dict)
    time_limit: float = 60.0  # seconds for each task
    ratio: bool = False
    quick: bool = False  # whether this is the figure scaled down
    measures: Mapping[str, Measure] = field(default_factory=dict)

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """All measurements, in the order of the series."""
        return tuple(self.draw())


def curves(
    values: Iterable[Position],
    seeds: Iterable[int],
    make: Make | Mapping[str, Make],
    methods: Mapping[str, Named],
    **figure: Any,
) -> Experiment:
    """Return a figure with a curve for each method along an axis.

    Parameters
    ----------
    values : iterable of float or str
        Positions on the axis.
    seeds : iterable of int
        Seeds of the instances, one draw each.
    make : callable, or mapping of callables
        Takes a seed and a position on the axis and returns the instance. If the workload has none
        there, it returns None, and nothing is measured on this draw. A mapping has one for each
        series.
    methods : mapping
        Method by name of the series.
    **figure
        The other fields of `Experiment`; by default there are no claims.
    """
    axis, draws = tuple(values), tuple(seeds)
    makes = make if isinstance(make, Mapping) else dict.fromkeys(methods, make)

    def draw() -> Iterator[Point]:
        for seed in draws:
            for x in axis:
                drawn = {make: make(seed, x) for make in dict.fromkeys(makes.values())}
                for series, method in methods.items():
                    instance = drawn[makes[series]]
                    if instance is not None:
                        name = method if isinstance(method, str) else method(instance, x)
                        yield Point(x, seed, series, instance, name)

    return Experiment(series=tuple(methods), draw=draw, **{"claims": (), **figure})


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
        Seeds of the instances, one draw each.
    make : callable
        Takes a seed and returns the instance.
    methods : mapping
        Method by name of the bar.
    **figure
        The other fields of `Experiment`; by default there are no claims.
    """
    draws, series = tuple(seeds), str(figure["x"])

    def draw() -> Iterator[Point]:
        for seed in draws:
            instance = make(seed)
            for name, method in methods.items():
                yield Point(name, seed, series, instance, method)

    return Experiment(series=(series,), draw=draw, **{"claims": (), **figure})


# --- claims of common forms ----------------------------------------------------------------


def best(
    series: str,
    others: Iterable[str],
    *,
    text: str,
    source: str,
    better: Better = "lower",
    measure: str | None = None,
    equal: bool = False,
    x: Position | None = None,
) -> Claim:
    """Return the claim that a series is better than all others: somewhere, and nowhere worse.

    Its number is the difference to the best of the others in percent, at the least favourable
    position. If lower is better, a series that is better everywhere has a negative number. A draw
    on which all values are zero compares nothing and is not measured.

    Parameters
    ----------
    series, others : str, iterable of str
        Names of series, or of bars.
    text, source : str
        See `Claim`.
    better : {"lower", "higher"}
        Which values are better.
    measure : str, optional
        By default the figure's objective.
    equal : bool
        Whether the claim also holds where the series is nowhere better: "at least as good".
    x : float or str, optional
        Position on the axis, or `last`; by default all positions count.
    """
    rivals = tuple(others)
    pick, sign = (min, 1) if better == "lower" else (max, -1)

    def differences(draw: Draw) -> list[float]:
        places = _positions(draw, series, x)
        own = [draw.value(series, place, measure) for place in places]
        rest = [pick(draw.value(other, place, measure) for other in rivals) for place in places]
        if not any(own) and not any(rest):
            raise MissingValueError("zero everywhere")
        return [sign * percent_above(*pair) for pair in zip(own, rest, strict=True)]

    def holds(draw: Draw) -> bool:
        found = differences(draw)
        return max(found) <= TIE and (equal or min(found) < -TIE)

    return Claim(text, source, holds, lambda draw: sign * max(differences(draw)), "%")


def lower_by(
    series: str,
    others: Iterable[str],
    least: float,
    most: float = 100.0,
    *,
    text: str,
    source: str,
    x: Position | None = None,
    measure: str | None = None,
) -> Claim:
    """Return the claim that a series is lower than each other one by `least` to `most` percent.

    Its number is the smallest reduction, 100 (1 - series / other).

    Parameters
    ----------
    series, others : str, iterable of str
        Names of series, or of bars.
    least, most : float
        Percentages.
    text, source : str
        See `Claim`.
    x : float or str, optional
        Position on the axis; by default the reductions at all positions count.
    measure : str, optional
        By default the figure's objective.
    """
    rivals = tuple(others)

    def holds(draw: Draw) -> bool:
        found = _reductions(draw, series, rivals, x, measure)
        return least <= min(found) and max(found) <= most

    return Claim(text, source, holds, lambda draw: reduction(draw, series, rivals, x, measure), "%")


def monotone(
    series: str | Iterable[str],
    direction: Literal["falls", "rises"],
    *,
    text: str,
    source: str,
    slack: float = 0.0,
    measure: str | None = None,
    points: bool = False,
    if_any: bool = False,
) -> Claim:
    """Return the claim that series fall or rise along the axis, from each position to the next.

    Its number is the change from the first to the last position, of the series with the least.

    Parameters
    ----------
    series : str or iterable of str
        Name of the series, or names of several that all fall or rise.
    direction : {"falls", "rises"}
        The direction; neighbours may be equal, but not the first and the last value.
    text, source : str
        See `Claim`.
    slack : float
        Percentage by which a step may go the other way.
    measure : str, optional
        By default the figure's objective.
    points : bool
        Whether the number is a difference; by default it is in percent of the first value.
    if_any : bool
        Whether the claim explains a change, and does not apply where no series changes.
    """
    names = (series,) if isinstance(series, str) else tuple(series)
    sign, least = (1, min) if direction == "rises" else (-1, max)

    def moves(curve: list[float]) -> bool:
        return sign * (curve[-1] - curve[0]) > 0 and all(
            sign * (after - before) >= -slack / 100 * abs(before) - 1e-12
            for before, after in pairwise(curve)
        )

    def holds(draw: Draw) -> bool:
        curves = [draw.curve(name, measure) for name in names]
        if if_any and all(min(curve) == max(curve) for curve in curves):
            raise NotApplicableError("nothing changes along the axis")
        return all(map(moves, curves))

    change = growth if points else percent
    return Claim(
        f"{text} {STEPWISE}", source, holds,
        lambda draw: least(change(draw, name, measure) for name in names),
        "points" if points else "%",
    )  # fmt: skip


# --- numbers that claims compare with a threshold ----------------------------------------------


def value(draw: Draw, series: str, x: Position | None = None, measure: str | None = None) -> float:
    """Return the value of a series at a position, of a bar, or at the `last` position."""
    return draw.value(series, _place(draw, x), measure)


def difference(draw: Draw, high: str, low: str, measure: str | None = None) -> float:
    """Return by how much one bar is higher than another one."""
    return draw.value(high, measure=measure) - draw.value(low, measure=measure)


def growth(draw: Draw, series: str, measure: str | None = None) -> float:
    """Return by how much a series grows from the first to the last position."""
    curve = draw.curve(series, measure)
    return curve[-1] - curve[0]


def drop(draw: Draw, series: str, measure: str | None = None) -> float:
    """Return by how much a series falls from the first to the last position."""
    return -growth(draw, series, measure)


def percent(draw: Draw, series: str, measure: str | None = None) -> float:
    """Return the change of a series from the first to the last position in percent."""
    curve = draw.curve(series, measure)
    return percent_above(curve[-1], curve[0])


def reduction(
    draw: Draw, series: str, others: Iterable[str], x: Position | None = None,
    measure: str | None = None,
) -> float:  # fmt: skip
    """Return the least percentage by which a series is lower than another one at a position."""
    return min(_reductions(draw, series, others, x, measure))


def excess(draw: Draw, series: Iterable[str], others: Iterable[str]) -> float:
    """Return the least percentage by which one of some series is higher than one of the others."""
    others = tuple(others)
    return min(
        percent_above(draw.value(high, x), draw.value(low, x))
        for x in draw.xs for high in series for low in others
    )  # fmt: skip


def least_ratio(draw: Draw, series: Iterable[str], other: str, x: Position | None = None) -> float:
    """Return the least ratio between one of some series and another one at a position."""
    places = _positions(draw, other, x)
    return min(draw.value(curve, at) / draw.value(other, at) for curve in series for at in places)


def largest_ratio(draw: Draw, series: str, other: str) -> float:
    """Return the largest ratio between two series on the axis."""
    return max(draw.value(series, x) / draw.value(other, x) for x in draw.xs)


def _reductions(
    draw: Draw, series: str, others: Iterable[str], x: Position | None, measure: str | None
) -> list[float]:
    others = tuple(others)
    return [
        -percent_above(draw.value(series, place, measure), draw.value(other, place, measure))
        for place in _positions(draw, series, x)
        for other in others
    ]


def _positions(draw: Draw, series: str, x: Position | None) -> list[Position | None]:
    """Return the positions at which series are compared; None for bars, which have one each."""
    if x is not None:
        return [_place(draw, x)]
    return [None] if series in draw.xs else [*draw.xs]


def _place(draw: Draw, x: Position | None) -> Position | None:
    return draw.xs[-1] if x == "last" else x


def percent_above(value: float, reference: float) -> float:
    """Return 100 (value / reference - 1)."""
    if reference == 0:
        return 0.0 if value == 0 else float("inf") if value > 0 else float("-inf")
    return 100 * (value / reference - 1)
