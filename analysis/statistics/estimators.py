"""Statistics of comparisons, on arrays and DataFrames: nothing here knows a run folder.

References
----------
T. Berthold, "Measuring the impact of primal heuristics", Operations Research Letters 41 (2013):
`gap`, `gap_integral`.
E. D. Dolan, J. J. Moré, "Benchmarking optimization software with performance profiles",
Mathematical Programming 91 (2002): `profile`.
B. Efron, "Better bootstrap confidence intervals", Journal of the American Statistical Association
82 (1987): the intervals of `bootstrap`.
T. J. DiCiccio, B. Efron, "More accurate confidence intervals in exponential families", Biometrika
79 (1992): the intervals of `bootstrap` for large samples.
S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
Statistics 6 (1979): `holm`.
F. Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1 (1945): `wilcoxon`.
L. Xu, F. Hutter, H. H. Hoos, K. Leyton-Brown, "Evaluating component solver contributions to
portfolio-based algorithm selectors", SAT (2012): the marginal contributions of `virtual_best`.
"""

import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
IntervalMethod = Literal["BCa", "ABC", "percentile", "constant", ""]

LEVEL = 0.95  # confidence level of intervals
RESAMPLES = 2000  # bootstrap samples
MANY = 1000  # values above which the interval is computed without resampling
FEWEST = 4  # values for an interval: with three, resamples of one value alone exceed 2.5 %
DIGITS = 12  # logarithms are rounded to these: round-off breaks no tie
TIE = 1e-9  # relative difference up to which two objectives are a tie
SHARE = 0.5  # smallest share of the instances in a common set
ANSWERED, UNANSWERED, WRONG = 0, 1, 2  # levels of an answer, best first


# --- means -----------------------------------------------------------------------------------


def shifted_geometric_mean(values: ArrayLike, shift: float) -> float:
    """Return exp(mean(log(values + shift))) - shift; infinite if a value is, NaN without values.

    Compared with the arithmetic mean, large values weigh less; compared with the geometric mean,
    tiny values weigh less.

    `values` [k]: each > -shift, or infinite. `shift`: in the unit of the values, >= 0.
    """
    array = np.asarray(values, float)
    if not len(array):
        return math.nan
    if np.isinf(array).any():
        return math.inf
    return float(np.exp(np.log(array + shift).mean()) - shift)


class Confidence(NamedTuple):
    """A 95 % confidence interval, and how it was computed.

    `method` is `BCa`, or `ABC`, its approximation without resampling, for more than `MANY` values.
    It is `percentile` if the bias correction or the acceleration of BCa is not defined, and
    `constant` if all values are equal. With fewer than `FEWEST` values it is empty, and the ends
    are NaN.
    """

    low: float
    high: float
    method: IntervalMethod


def bootstrap(values: ArrayLike) -> Confidence:
    """Return the 95 % bootstrap interval of a mean, with a fixed seed.

    For the differences of pairs, this is the paired bootstrap: a resample draws pairs. The interval
    depends neither on the order nor, except for the sign, on the sign of the values.

    `values` [k]: a sample of finite numbers.
    """
    return _bootstrap(tuple(np.sort(np.asarray(values, float)).tolist()))


@lru_cache(maxsize=4096)  # the same sample is a row of several tables
def _bootstrap(values: tuple[float, ...]) -> Confidence:
    sample = np.array(values)
    if len(sample) < FEWEST:
        return Confidence(math.nan, math.nan, "")
    if np.ptp(sample) <= 1e-12 * max(1.0, float(np.abs(sample).max())):
        return Confidence(float(sample.mean()), float(sample.mean()), "constant")
    if len(sample) > MANY:
        return _analytic(sample)
    from scipy import stats

    mirrored = -sample[::-1]
    flip = tuple(mirrored) > tuple(sample)
    methods: tuple[IntervalMethod, ...] = ("BCa", "percentile")
    for method in methods:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a degenerate sample gives NaN
            found = stats.bootstrap(
                (mirrored if flip else sample,),
                np.mean,
                vectorized=True,
                n_resamples=RESAMPLES,
                confidence_level=LEVEL,
                method=method,
                rng=np.random.default_rng(0),
            ).confidence_interval
        low, high = float(found.low), float(found.high)
        if math.isfinite(low) and math.isfinite(high):
            return Confidence(-high, -low, method) if flip else Confidence(low, high, method)
    return Confidence(math.nan, math.nan, "")


def _analytic(sample: Array) -> Confidence:
    """Return the ABC interval of a mean, which differs from BCa by an error of order 1 / k.

    Of a mean, the curvature and the bias are zero, so the bias correction is the acceleration. For
    large samples this error is far below the error of 2000 resamples.

    `sample` [k]: finite numbers that are not all equal.
    """
    mean = math.fsum(sample) / len(sample)
    centred = sample - mean
    deviation = math.sqrt(math.fsum(centred**2)) / len(sample)
    acceleration = math.fsum(centred**3) / (6 * (deviation * len(sample)) ** 3)
    quantile = NormalDist().inv_cdf((1 + LEVEL) / 2)
    low, high = (
        mean + deviation * shifted / (1 - acceleration * shifted) ** 2
        for shifted in (acceleration - quantile, acceleration + quantile)
    )
    return Confidence(low, high, "ABC")


# --- pairs -----------------------------------------------------------------------------------


def paired_ratios(a: ArrayLike, b: ArrayLike, sense: str | Sequence[str] = "min") -> Array:
    """Return how many times worse a is than b, pair by pair; less than 1 where a is better.

    The ratio is a / b for minimization and b / a for maximization. 0/0 is 1 and x/0 is infinite. A
    ratio with a negative objective is NaN.

    `a`, `b` [k]: objectives of two methods on the same instances; NaN without a schedule. `sense`
    [k]: sense of the objective.
    """
    first, second = np.asarray(a, float), np.asarray(b, float)
    flipped = np.broadcast_to(np.asarray(sense) == "max", first.shape)
    above, below = np.where(flipped, second, first), np.where(flipped, first, second)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(above == below, 1.0, above / below)
    unknown = np.isnan(above) | np.isnan(below) | (above < 0) | (below < 0)
    return np.where(unknown, math.nan, ratios)


@dataclass(frozen=True, slots=True)
class Paired:
    """Comparison of two methods a and b on the same instances.

    `wins`, `ties`, `losses` and `neither` (no answer of either) count the instances, from the view
    of a. If only one method answered an instance, it wins there. `unanswered` counts the instances
    that only b answered, `unanswered_other` the instances that only a answered. `ratio` is the
    geometric mean of how many times worse a is than b, over the `n` instances with two schedules.
    `low` and `high` are the ends of its 95 % interval, computed by `interval` (`Confidence`).
    `undefined` counts the pairs of schedules without a finite, positive ratio (such as x/0), which
    are wins or losses and not in the mean. `p` is the p-value of the Wilcoxon signed-rank test on
    the same n ratios.
    """

    wins: int
    ties: int
    losses: int
    neither: int
    unanswered: int
    unanswered_other: int
    undefined: int
    n: int
    ratio: float
    low: float
    high: float
    interval: IntervalMethod
    p: float


def paired(
    a: ArrayLike,
    b: ArrayLike,
    sense: str | Sequence[str] = "min",
    *,
    levels: tuple[ArrayLike, ArrayLike] | None = None,
    tie: float = TIE,
) -> Paired:
    """Compare two methods pair by pair, by objectives alone: no bound is needed.

    `a`, `b` [k]: objectives of two methods on the same instances; NaN without a schedule. `sense`
    [k]: sense of the objective. `levels` [k], for each method: 0 for an answer (a schedule, or
    infeasibility), 1 for no answer, 2 for a wrong answer. A lower level wins, whatever the
    objectives. By default, every schedule is an answer. `tie`: relative difference up to which two
    objectives count as a tie.
    """
    first, second = np.asarray(a, float), np.asarray(b, float)
    level_a, level_b = (
        (np.where(np.isnan(values), UNANSWERED, ANSWERED) for values in (first, second))
        if levels is None
        else (np.asarray(level) for level in levels)
    )
    both = (level_a == ANSWERED) & (level_b == ANSWERED)
    ratios = paired_ratios(first, second, sense)
    scale = np.maximum(np.abs(first), np.abs(second))
    apart = np.abs(first - second)  # NaN, hence tied, where neither has an objective
    tied, equal = both & ~(apart > tie * scale), both & ~(apart > TIE * scale)
    ahead = np.where(np.asarray(sense) == "max", first > second, first < second)
    wins = (level_a < level_b) | (both & ~tied & ahead)
    losses = (level_a > level_b) | (both & ~tied & ~ahead)
    schedules = both & ~np.isnan(first) & ~np.isnan(second)
    defined = schedules & np.isfinite(ratios) & (ratios > 0)
    exact = np.sort(np.log(np.where(equal, 1.0, ratios)[defined]))
    logs = np.round(exact, DIGITS)
    interval = bootstrap(logs)
    return Paired(
        wins=int(wins.sum()),
        ties=int(tied.sum()),
        losses=int(losses.sum()),
        neither=int(((level_a == level_b) & (level_a != ANSWERED)).sum()),
        unanswered=int(((level_a != ANSWERED) & (level_b == ANSWERED)).sum()),
        unanswered_other=int(((level_a == ANSWERED) & (level_b != ANSWERED)).sum()),
        undefined=int((schedules & ~defined).sum()),
        n=len(logs),
        ratio=float(np.exp(exact.mean())) if len(logs) else math.nan,
        low=math.exp(interval.low),
        high=math.exp(interval.high),
        interval=interval.method,
        p=wilcoxon(logs),
    )


def wilcoxon(differences: ArrayLike) -> float:
    """Return the two-sided p of the Wilcoxon signed-rank test; 1 if all are zero, NaN if none.

    Zeros are left out. Differences are rounded to 12 digits.

    `differences` [k]: such as the logarithms of paired ratios.
    """
    from scipy import stats

    values = np.sort(np.round(np.asarray(differences, float), DIGITS))
    if not len(values):
        return math.nan
    values = values[values != 0]
    if not len(values):
        return 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a small sample with ties warns
        return float(stats.wilcoxon(values).pvalue)


def holm(p: ArrayLike) -> Array:
    """Return p adjusted for a family of comparisons by Holm's step-down procedure.

    `p` [k]: the p of each comparison; NaN counts for none.
    """
    values = np.asarray(p, float)
    adjusted = np.full(len(values), math.nan)
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.argsort(values[known], kind="stable")]
    factors = len(order) - np.arange(len(order))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(values[order] * factors))
    return adjusted


# --- sets of instances -------------------------------------------------------------------------


def common_set(finite: pd.DataFrame, share: float = SHARE) -> tuple[list[str], list[str]]:
    """Return the instances on which all compared methods have a value, and these methods.

    Methods are added in the order of the number of their instances, then of the columns. A method
    is not compared if it would leave less than `share` of all instances. A method that fails nearly
    everywhere must not decide about the others.

    `finite`: whether a method has a value on an instance. Of equally many, the first columns come
    first. `share`: in [0, 1], of the instances on which some method has a value.
    """
    values = finite.to_numpy(bool)
    total = int(values.any(axis=1).sum())
    chosen = np.full(len(values), True)
    compared: list[int] = []
    for place in np.argsort(-values.sum(axis=0), kind="stable").tolist():
        rest = chosen & values[:, place]
        if rest.any() and rest.sum() >= share * total:
            chosen, compared = rest, [*compared, place]
    instances = list(map(str, finite.index[chosen].tolist())) if compared else []
    return instances, [str(finite.columns[place]) for place in compared]


def profile(costs: pd.DataFrame, total: int) -> Iterator[tuple[object, float, float]]:
    """Yield the steps (method, cost, share of instances with at most this cost) of each method.

    `costs`: such as ratios or seconds; infinite or NaN where a method has no answer. `total`:
    number of all instances, the denominator of all shares.
    """
    for method in costs.columns:
        values = np.sort(costs[method].to_numpy(float))
        values = values[np.isfinite(values)]
        for cost in np.unique(values):
            yield method, float(cost), float(np.searchsorted(values, cost, "right") / total)


def virtual_best(costs: pd.DataFrame, shift: float = 0.0) -> pd.DataFrame:
    """Return what each method contributes to the virtual best: the best method on each instance.

    `costs`: such as ratios or seconds; NaN where a method has no answer. An infinite cost, such as
    a ratio x/0, belongs to an answer, but enters no mean. `shift`: of the geometric means, in the
    unit of the costs, >= 0.

    Columns: best (instances on which the method is the best, ties included), alone (on which it is
    so alone), only (on which no other has an answer), n (instances on which the method has a finite
    cost), mean (its shifted geometric mean on these), best_mean (the virtual best's mean on these),
    others_n (instances on which another method has a finite cost), without (shifted geometric mean
    of the virtual best without this method on these), with (with it), contribution ((without +
    shift) / (with + shift): 1 if the method contributes nothing).
    """
    values = costs.to_numpy(float)
    answered = ~np.isnan(values)
    values = np.where(answered, values, math.inf)
    rows = []
    for place in range(values.shape[1]):
        own, others = values[:, place], np.delete(values, place, axis=1)
        rest = others.min(axis=1, initial=math.inf)
        best = np.minimum(own, rest)
        mine, theirs = np.isfinite(own), np.isfinite(rest)
        near = TIE * np.abs(np.where(theirs, rest, 0.0))
        without = shifted_geometric_mean(rest[theirs], shift)
        along = shifted_geometric_mean(best[theirs], shift)
        rows.append(
            {
                "best": int((mine & (own <= rest + near)).sum()),
                "alone": int((mine & (own < rest - near)).sum()),
                "only": int((answered[:, place] & (answered.sum(axis=1) == 1)).sum()),
                "n": int(mine.sum()),
                "mean": shifted_geometric_mean(own[mine], shift),
                "best_mean": shifted_geometric_mean(best[mine], shift),
                "others_n": int(theirs.sum()),
                "without": without,
                "with": along,
                "contribution": (without + shift) / (along + shift),
            }
        )
    return pd.DataFrame(rows, index=costs.columns)


# --- progress ----------------------------------------------------------------------------------


def gap(value: float | None, reference: float | None) -> float:
    """Return |value - reference| / max(|value|, |reference|), in [0, 1].

    It is 0 for 0 and 0, and 1 if the signs differ or one of the two is unknown.

    `value`, `reference`: objectives or bounds; None or infinite if unknown.
    """
    if value is None or reference is None or not math.isfinite(value):
        return 1.0
    if not math.isfinite(reference) or value * reference < 0:
        return 1.0
    if value == reference:
        return 0.0
    return abs(value - reference) / max(abs(value), abs(reference))


def gap_at(times: ArrayLike, steps: Iterable[tuple[float, float]]) -> Array:
    """Return the values of a step function that is 1 before its first step.

    `times` [k]: in the unit of the steps. `steps`: by increasing time; a value holds until the next
    step.
    """
    moments, values = zip(*steps, strict=True) if (steps := list(steps)) else ((), ())
    places = np.searchsorted(np.asarray(moments, float), np.asarray(times, float), side="right")
    return np.concatenate(([1.0], np.asarray(values, float)))[places]


def gap_integral(steps: Iterable[tuple[float, float]], horizon: float) -> float:
    """Return the integral from 0 to the horizon of a step function that is 1 before its first step.

    Of the gap of the incumbent to the optimum, this is the primal integral.

    `steps`: by increasing time; a value holds until the next step. `horizon`: in the unit of the
    times, >= 0.
    """
    total, since, height = 0.0, 0.0, 1.0
    for moment, value in steps:
        until = min(max(moment, since), horizon)
        total, since, height = total + (until - since) * height, until, value
    return total + (horizon - since) * height
