"""Figures 2-12 of the paper's Section 7 and what the rest of the paper says of its simulations.

`claims.toml` has the claims, which are judged on every replication.

The values on the paper's axes are lost; those here are our own, within the ranges of Section 7. All
figures are drawn on one cluster. Its capacity is 0.2 of what the largest number of jobs asks for.
That is about 0.5 of what the smallest number asks for. Along an axis nothing else changes; in
Figure 9 alone the capacity follows from each framework's jobs. What the paper does not state is
drawn at several settings:

- `alpha`: windows of a round of A_online; 4 by default.
- `arrivals`: `together` in slot 1; by default uniform over the first half of the horizon.
- `capacity`: of the numbers of servers, where the jobs are the same; 0.3 by default.
- `fifo_workers`: workers of each job in FIFO, of which the paper says 1 to 30; 8 by default.
- `restart`: slots that a job of AntMan and Tiresias loses when it resumes; 1 by default.
- `deadline`: of a batch problem; 128 slots by default.

The axis of F in Figures 4 and 11 is lost too. Ours goes from the least valid F to a thousand times
it. Copies at the setting `F` go from a billionth of the least valid F to it, though the paper
excludes these values. Both figures have the largest number of jobs.

Series that the paper does not print carry "(ours)" in their names. The copies at other settings
show no bound and no best known schedule.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise, product
from pathlib import Path
from statistics import median
from typing import Any

from schedgap.errors import UsageError
from schedgap.instances.elastic import ElasticInstance
from schedgap.instances.generate import generate
from schedgap.instances.instance import Instance
from schedgap.models.claims import load_claims, with_claims
from schedgap.models.figure import (
    TIE,
    Draw,
    Experiment,
    Make,
    Named,
    NotApplicableError,
    bars,
    curves,
    excess,
    reduction,
)

Setting = Mapping[str, float | str]

RING = {"architecture": "ring_allreduce"}
FRAMEWORKS: Mapping[str, Mapping[str, object]] = {"PS": {}, "RA": RING}
OTHERS = {"FIFO": "fifo", "DRF": "drf", "AntMan": "antman", "Tiresias": "tiresias"}
PREEMPTIVE = ("AntMan", "Tiresias")
NO_LEMMA_1 = "lemma_1=false"  # Lemma 1 gives a certificate of the run, which no figure shows
A_ONLINE = f"a-online:{NO_LEMMA_1}"
POLICIES = {"A_online": A_ONLINE, **OTHERS}
REPAIRED = {"A_online without idle windows (ours)": f"a-online-compact:{NO_LEMMA_1}"}
TYPES = {  # position in the list of worker types
    f"{size} only": f"a-online-fixed-type:worker_type={k}"
    for k, size in enumerate(("p2.xlarge", "p2.2xlarge", "p3.2xlarge", "p3.4xlarge"), 1)
}
FACTORS = (1, 10, 100, 1000)  # multiples of the least valid F
BELOW = (1e-9, 1e-6, 1e-3, 1)  # the paper excludes all but the last one
AXES_OF_F: tuple[tuple[Setting, Sequence[float]], ...] = (
    ({}, FACTORS), ({"F": "1e-9 to 1 of the least valid"}, BELOW),
)  # fmt: skip
WORKERS = (1, 2, 4, 8, 16, 30)
LEAST, MOST = 0.2, 0.5  # capacity as a fraction of the jobs' total demand
# settings of the figure, and of its batches
BATCHES: tuple[tuple[Setting, Mapping[str, object]], ...] = (
    ({}, {"objective": "scheduled_weight", "deadline": 128}),
    ({"deadline": 32}, {"objective": "scheduled_weight", "deadline": 32}),
)
SETTINGS: tuple[Setting, ...] = (  # the settings of Figures 2 and 5
    {}, {"alpha": 1}, {"arrivals": "together"}, {"alpha": 1, "arrivals": "together"},
    {"alpha": 1, "restart": 64}, {"fifo_workers": 1}, {"fifo_workers": 30},
)  # fmt: skip
TWO_EACH, BEST_STRATEGY = "two GPUs each, in turn", "best"

VALUE, WEIGHT = "weighted completion time", "weight of the jobs in time"
MEAN, COUNT = "mean completion", "scheduled jobs"
ALPHA = "alpha by (6)"


FULL: dict[str, Any] = {
    "jobs": (60, 80, 100, 120, 150),
    "servers": (100, 125, 150, 175, 200),
    "types": {"worker_types": 8, "ps_types": 10},
    "brackets": {VALUE: ("configuration-lp", "wspt-list"), WEIGHT: ("configuration-lp",)},
    "time_limit": 600,  # seconds of a task
}
QUICK: dict[str, Any] = {
    "jobs": (6, 10, 15),
    "servers": (8, 12, 16),
    "types": {"worker_types": 4, "ps_types": 4},
    "brackets": {VALUE: ("job-alone",), WEIGHT: ("job-alone",)},
    "time_limit": 60,
}


def experiments(
    *,
    quick: bool = False,
    seeds: Sequence[int] = range(10),
    jobs: Sequence[int] = (),
    servers: Sequence[int] = (),
) -> list[Experiment]:
    """Return the figures on the paper's workload.

    `quick`: whether to scale them down: a tenth of the jobs and servers, half of the types.
    `seeds`: seeds of the instances, one draw each. `jobs`, `servers`: other numbers of jobs and of
    servers on the axes; elsewhere the one in the middle is used.

    Notes
    -----
    Source: Section 7. T is 300 in Figure 2, else the default of 150. A batch problem has all jobs
    from slot 1 on.
    """
    scale = QUICK if quick else FULL
    axes = tuple(jobs) or scale["jobs"], tuple(servers) or scale["servers"]
    return with_claims(_figures(scale, seeds, *axes), CLAIMS(job_counts=[*_job_counts(axes[0])]))


def _job_counts(jobs: Sequence[int]) -> dict[str, int]:
    """Return numbers of jobs by their name as a series."""
    return {f"{number} jobs": number for number in jobs}


def _figures(
    scale: Mapping[str, Any], seeds: Sequence[int], jobs: Sequence[int], servers: Sequence[int]
) -> Iterator[Experiment]:
    """Yield all figures in the order of the paper."""
    most, middle = jobs[-1], jobs[len(jobs) // 2]
    usual = {"jobs": middle, "servers": servers[len(servers) // 2]}  # sizes off the axis

    def draw(seed: int, **settings: object) -> Instance:
        """Return one instance of preset `paper` with the capacity of all figures."""
        types = dict(scale["types"])
        if "architecture" in settings:
            del types["ps_types"]
        if "workers" in settings:
            del types["worker_types"]
        capacity = {"capacity_fraction": LEAST, "capacity_jobs": most}
        given = usual | types | capacity | settings
        return generate("elastic", preset="paper", seed=seed, settings=given)

    def by(axis: str, **fixed: object) -> Make:
        """Return the function that draws an instance for a seed and a value of a setting.

        It returns None if the servers are so small that none can hold a worker.
        """

        def make(seed: int, x: object) -> Instance | None:
            try:
                return draw(seed, **{**fixed, axis: x})
            except UsageError:
                if axis == "jobs":
                    raise
                return None

        return make

    def same(**settings: object) -> Make:
        """Return the function that draws the same instance at all positions of an axis."""
        return lambda seed, x: draw(seed, **settings)

    def figure(number: str, title: str, objective: str = VALUE, **more: Any) -> Experiment:
        """Return a figure; those at other settings have no bound and no best known schedule."""
        return curves(
            figure=number, title=title, family="elastic", objective=objective, seeds=seeds,
            brackets=() if more.get("setting") else scale["brackets"][objective],
            time_limit=scale["time_limit"], **more,
        )  # fmt: skip

    def by_jobs(number: str, framework: str, **given: object) -> Iterator[Experiment]:
        """Yield Figure 2 or 5: the policies by the number of jobs, at all settings."""
        for setting in SETTINGS:
            span = {"arrival_span": 1} if "arrivals" in setting else {}
            yield figure(
                number, f"Five policies by the number of jobs, {framework}", x="jobs",
                values=jobs, setting=setting, methods=methods_at(setting),
                make=by("jobs", **FRAMEWORKS[framework], **given, **span),
            )  # fmt: skip

    def by_servers(number: str, framework: str) -> Iterator[Experiment]:
        """Yield Figure 3 or 6: the policies by the number of servers of one total capacity."""
        for capacity in (None, LEAST, MOST):
            whole = {"capacity_fraction": capacity, "capacity_jobs": middle} if capacity else {}
            yield figure(
                number, f"Five policies by the number of servers, {framework}", x="servers",
                values=servers, methods=POLICIES, metrics=(MEAN,),
                make=by("servers", **FRAMEWORKS[framework], **whole),
                setting={"capacity": capacity} if capacity else {},
            )  # fmt: skip

    yield bars(
        figure="intro", title="Two jobs on three GPUs", x="strategy", objective=VALUE,
        metrics=(MEAN,), seeds=(0,), family="elastic", time_limit=scale["time_limit"],
        make=lambda seed: generate("elastic", preset="introduction", seed=seed),
        methods={TWO_EACH: "fifo", BEST_STRATEGY: "exact"},
    )  # fmt: skip
    yield figure(  # the middle of Figure 3 at both ends of the range
        "shortage", "Five policies by capacity, PS", x="capacity over demand",
        values=(LEAST, MOST), methods=POLICIES,
        make=by("capacity_fraction", capacity_jobs=middle),
    )  # fmt: skip
    yield figure(  # the runs of Figure 2
        "alpha", "Windows of a round that (6) requires", x="jobs", values=jobs,
        make=by("jobs", horizon=300), methods={"A_online": A_ONLINE},
        measures={ALPHA: alpha_of_rounds},
    )  # fmt: skip
    yield from by_jobs("2", "PS", horizon=300)
    yield from by_servers("3", "PS")
    for setting, factors in AXES_OF_F:
        yield figure(
            "4", "A_online by F", x="F, in its least valid value", values=factors,
            make=same(jobs=most), methods={"A_online": by_factor(A_ONLINE)},
            metrics=(MEAN,), setting=setting,
        )  # fmt: skip
    yield from by_jobs("5", "RA")
    yield from by_servers("6", "RA")
    yield figure(
        "7", "A_online, whose running time the paper shows", x="jobs", values=jobs,
        make={name: by("jobs", **given) for name, given in FRAMEWORKS.items()},
        methods=dict.fromkeys(FRAMEWORKS, A_ONLINE),
    )  # fmt: skip
    greedy = {
        "A_maxweight": "a-maxweight",
        "A_maxweight by density (ours)": "a-maxweight:order=density",
        "Jain et al.": "deadline-greedy",
    }
    for setting, batch in BATCHES:
        yield figure(
            "8", "Weight in one batch by the number of jobs", WEIGHT, x="jobs", values=jobs,
            make=by("jobs", **batch), methods=greedy, metrics=(COUNT,), setting=setting,
        )  # fmt: skip
    yield figure(
        "9", "A_online and four fixed worker types", x="framework", values=tuple(FRAMEWORKS),
        make=lambda seed, x: draw(seed, workers="ec2", **FRAMEWORKS[x]),
        methods={"A_online": A_ONLINE, **TYPES},
    )  # fmt: skip
    numbers: dict[str, Named] = {
        "fixed number": lambda instance, x: f"a-online-fixed-number:workers={x}",
        "A_online": A_ONLINE,
    }
    yield figure(
        "10", "A fixed number of workers for all jobs", x="workers", values=WORKERS,
        make=same(), methods=numbers,
    )  # fmt: skip
    for (deadline, batch), (setting, factors) in product(BATCHES, AXES_OF_F):
        yield figure(
            "11", "Weight in one batch by F", WEIGHT, x="F, in its least valid value",
            values=factors, make=same(jobs=most, **batch), metrics=(COUNT,),
            methods={"A_maxweight": by_factor("a-maxweight")}, setting={**deadline, **setting},
        )  # fmt: skip
    counts = _job_counts(jobs)
    for setting, batch in BATCHES:
        yield figure(
            "12", "Weight in one batch by the number of servers", WEIGHT, x="servers",
            values=servers, metrics=(COUNT,), setting=setting,
            make={name: by("servers", jobs=n, **batch) for name, n in counts.items()},
            methods=dict.fromkeys(counts, "a-maxweight"),
        )  # fmt: skip


def methods_at(setting: Mapping[str, object]) -> dict[str, str]:
    """Return the policies of Figures 2 and 5 and our repaired one, by series.

    `setting`: values of undisclosed parameters: `alpha`, `fifo_workers` and `restart` are options
    of the policies.
    """
    methods = POLICIES | REPAIRED
    if "alpha" in setting:
        methods["A_online"] += f":alpha={setting['alpha']}"
    if "fifo_workers" in setting:
        methods["FIFO"] += f":workers={setting['fifo_workers']}"
    for name in PREEMPTIVE if "restart" in setting else ():
        methods[name] += f":restart={setting['restart']}"
    return methods


def by_factor(method: str) -> Named:
    """Return the method with F set to the multiple of its least valid value at each position."""
    return lambda instance, factor: f"{method}:F_factor={factor}"


# --- measures of claims ----------------------------------------------------------------------


def alpha_of_rounds(
    instance: ElasticInstance, schedule: Mapping[str, Any], trace: Mapping[str, Any]
) -> float | None:
    """Return the median of what (6) requires for alpha in the rounds of a run of A_online.

    `schedule`: JSON data of the schedule, which this does not need.
    """
    needed = [served_round["alpha_needed"] for served_round in trace.get("rounds", ())]
    return float(median(needed)) if needed else None


def farthest_alpha(draw: Draw) -> float:
    """Return the alpha on the axis that is farthest from 4."""
    return max(draw.curve("A_online", ALPHA), key=lambda alpha: abs(alpha - 4))


def lead_gain(draw: Draw) -> float:
    """Return by how much A_online's lead in percent is larger at the least capacity."""
    scarce, ample = (reduction(draw, "A_online", OTHERS, x) for x in (LEAST, MOST))
    if max(scarce, ample) <= TIE:
        raise NotApplicableError("A_online has no lead at either capacity")
    return scarce - ample


def type_spread(draw: Draw, framework: str) -> float:
    """Return by how many percent the worst worker type is above the best one."""
    values = [draw.value(name, framework) for name in TYPES]
    return 100 * (max(values) / min(values) - 1)


def relative_delay(draw: Draw, series: str) -> float:
    """Return the change of the weighted over the unweighted mean completion time in percent.

    It is negative if heavy jobs end earlier, relative to all jobs, at the end of the axis.
    """
    weighted, plain = draw.curve(series), draw.curve(series, MEAN)
    return round(100 * (weighted[-1] / plain[-1] * plain[0] / weighted[0] - 1), 9)


def lighter_at_start(draw: Draw, series: str) -> float:
    """Return the mean weight of served jobs at the start of the axis, in percent above the end."""
    weight, count = draw.curve(series), draw.curve(series, COUNT)
    first, last = (weight[k] / count[k] if count[k] else 0.0 for k in (0, -1))
    return 100 * (first / last - 1) if last else 0.0


def least_step(draw: Draw, series: Sequence[str]) -> float:
    """Return the least percentage by which a series is above the one before it."""
    return min(excess(draw, [high], [low]) for low, high in pairwise(series))


CLAIMS = partial(
    load_claims, Path(__file__).with_name("claims.toml"), farthest_alpha, lead_gain, type_spread,
    relative_delay, lighter_at_start, least_step,
)  # fmt: skip
