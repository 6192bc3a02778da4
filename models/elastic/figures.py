"""Figures 2-12 of the paper's Section 7 and what the rest of the paper says of its simulations.

Claims are judged on every replication.

The values on the paper's axes are lost; those here are our own, within the ranges of Section 7. All
figures are drawn on one cluster, whose capacity is 0.2 of what the largest number of jobs asks for,
and so about 0.5 of what the smallest one asks for. Along an axis nothing else changes; only in
Figure 9 is the capacity that of each framework's jobs. What the paper does not state is drawn at
several settings:

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
have no bound and no best known schedule beside them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from statistics import median
from typing import Any, Literal

from schedgap.errors import UsageError
from schedgap.instances.elastic import ElasticInstance
from schedgap.instances.generate import generate
from schedgap.models.figure import (
    ENDS,
    Claim,
    Draw,
    Experiment,
    Named,
    NotApplicableError,
    Point,
    Position,
    bars,
    best,
    curves,
    lower_by,
    monotone,
    only_measured,
    parts,
)

RING = {"architecture": "ring_allreduce"}
FRAMEWORKS: Mapping[str, Mapping[str, object]] = {"PS": {}, "RA": RING}
OTHERS = {"FIFO": "fifo", "DRF": "drf", "AntMan": "antman", "Tiresias": "tiresias"}
PREEMPTIVE = ("AntMan", "Tiresias")
QUIET = "lemma_1=false"  # a certificate of the run, which no figure shows
A_ONLINE = f"a-online:{QUIET}"
POLICIES = {"A_online": A_ONLINE, **OTHERS}
REPAIRED = {"A_online without idle windows (ours)": f"a-online-compact:{QUIET}"}
TYPES = {  # position in the list of worker types
    f"{size} only": f"a-online-fixed-type:worker_type={k}"
    for k, size in enumerate(("p2.xlarge", "p2.2xlarge", "p3.2xlarge", "p3.4xlarge"), 1)
}
FACTORS = (1, 10, 100, 1000)  # multiples of the least valid F
BELOW = (1e-9, 1e-6, 1e-3, 1)  # the paper excludes all but the last one
TOO_SMALL: Mapping[str, float | str] = {"F": "1e-9 to 1 of the least valid"}
WORKERS = (1, 2, 4, 8, 16, 30)
LEAST, MOST = 0.2, 0.5  # capacity as a fraction of the jobs' total demand
DEADLINES = (128, 32)  # the first one by default
TIE = 1e-9  # percent

VALUE, WEIGHT = "weighted completion time", "weight of the jobs in time"
MEAN, COUNT = "mean completion", "scheduled jobs"
ALPHA = "alpha by (6)"


@dataclass(frozen=True)
class Scale:
    """Size of the figures: numbers of jobs and servers on the axes, numbers of types, brackets."""

    jobs: tuple[int, ...]
    servers: tuple[int, ...]
    types: Mapping[str, int]
    value_brackets: tuple[str, ...]
    weight_brackets: tuple[str, ...]
    time_limit: float  # seconds of a task

    @property
    def usual_jobs(self) -> int:
        """Number of jobs where they are not the axis."""
        return self.jobs[len(self.jobs) // 2]

    @property
    def usual_servers(self) -> int:
        """Number of servers where they are not the axis."""
        return self.servers[len(self.servers) // 2]


FULL = Scale(
    (60, 80, 100, 120, 150),
    (100, 125, 150, 175, 200),
    {"worker_types": 8, "ps_types": 10},
    ("configuration-lp", "wspt-list"),
    ("configuration-lp",),
    600,
)
QUICK = Scale(
    (6, 10, 15), (8, 12, 16), {"worker_types": 4, "ps_types": 4}, ("job-alone",), ("job-alone",), 60
)


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
    usual = QUICK if quick else FULL
    scale = replace(usual, jobs=tuple(jobs) or usual.jobs, servers=tuple(servers) or usual.servers)
    figures = _Figures(scale, seeds)
    drawn = [
        figures.introduction(),
        figures.shortage(),
        figures.windows(),
        *figures.by_jobs("2", "PS", horizon=300),
        *figures.by_servers("3", "PS"),
        *figures.by_f(),
        *figures.by_jobs("5", "RA"),
        *figures.by_servers("6", "RA"),
        figures.running_times(),
        *figures.batches_by_jobs(),
        figures.worker_types(),
        figures.numbers_of_workers(),
        *figures.batches_by_f(),
        *figures.batches_by_servers(),
    ]
    return [_copy(each) if each.setting else each for each in drawn]


def _copy(figure: Experiment) -> Experiment:
    """Return a figure at other settings without what is said at our defaults: bounds, reasons."""
    testable = tuple(claim for claim in figure.claims if claim.holds is not None)
    return replace(figure, brackets=(), claims=testable)


@dataclass(frozen=True)
class _Figures:
    """The figures at one scale."""

    scale: Scale
    seeds: Sequence[int]

    def draw(self, seed: int, **settings: object) -> ElasticInstance:
        """Return one instance of preset `paper` with the capacity of all figures."""
        scale = self.scale
        types = dict(scale.types)
        if "architecture" in settings:
            del types["ps_types"]
        if "workers" in settings:
            del types["worker_types"]
        given = {
            "jobs": scale.usual_jobs,
            "servers": scale.usual_servers,
            **types,
            "capacity_fraction": LEAST,
            "capacity_jobs": scale.jobs[-1],
        } | settings
        instance = generate("elastic", preset="paper", seed=seed, settings=given)
        assert isinstance(instance, ElasticInstance)
        return instance

    def if_any(self, seed: int, **settings: object) -> ElasticInstance | None:
        """Return one instance; None if the servers are so small that none can hold a worker."""
        try:
            return self.draw(seed, **settings)
        except UsageError:
            return None

    def value(self, **figure: Any) -> Experiment:
        """Return a figure of weighted completion times."""
        return curves(
            family="elastic", objective=VALUE, seeds=self.seeds,
            brackets=self.scale.value_brackets, time_limit=self.scale.time_limit, **figure,
        )  # fmt: skip

    def weight(self, **figure: Any) -> Experiment:
        """Return a figure of weights in a batch problem."""
        return curves(
            family="elastic", objective=WEIGHT, seeds=self.seeds, metrics=(COUNT,),
            brackets=self.scale.weight_brackets, time_limit=self.scale.time_limit, **figure,
        )  # fmt: skip

    def batch(self, seed: int, deadline: int = DEADLINES[0], **settings: object) -> ElasticInstance:
        """Return one instance of the batch problem."""
        return self.draw(seed, objective="scheduled_weight", deadline=deadline, **settings)

    # --- the introduction, Section 5.3 -------------------------------------------------------

    def introduction(self) -> Experiment:
        """Return the example of the introduction; it is not random."""
        return bars(
            family="elastic", figure="intro", title="Two jobs on three GPUs", x="strategy",
            objective=VALUE, metrics=(MEAN,), seeds=(0,), time_limit=self.scale.time_limit,
            make=lambda seed: _introduction(),
            methods={TWO_EACH: "fifo", BEST_STRATEGY: "exact"}, claims=claims_of_introduction(),
        )  # fmt: skip

    def shortage(self) -> Experiment:
        """Return the policies by capacity; the middle of Figure 3 at both ends of the range."""

        def make(seed: int, x: float) -> ElasticInstance | None:
            jobs = self.scale.usual_jobs
            return self.if_any(seed, capacity_fraction=x, capacity_jobs=jobs)

        return self.value(
            figure="shortage", title="Five policies by capacity, PS", x="capacity over demand",
            values=(LEAST, MOST), make=make, methods=POLICIES, claims=claims_of_shortage(),
        )  # fmt: skip

    def windows(self) -> Experiment:
        """Return the alpha that (6) requires in the rounds of the runs of Figure 2."""
        return self.value(
            figure="alpha", title="Windows of a round that (6) requires", x="jobs",
            values=self.scale.jobs, make=lambda seed, x: self.draw(seed, jobs=x, horizon=300),
            methods={"A_online": A_ONLINE}, measures={ALPHA: alpha_of_rounds},
            claims=claims_of_alpha(),
        )  # fmt: skip

    # --- Figures 2, 3, 5, 6 ------------------------------------------------------------------

    def by_jobs(self, figure: str, framework: str, **given: object) -> list[Experiment]:
        """Return Figure 2 or 5: the policies by the number of jobs."""

        def at(setting: Mapping[str, float | str], **arrivals: object) -> Experiment:
            fixed = {**FRAMEWORKS[framework], **given, **arrivals}
            return self.value(
                figure=figure, title=f"Five policies by the number of jobs, {framework}", x="jobs",
                values=self.scale.jobs, make=lambda seed, x: self.draw(seed, jobs=x, **fixed),
                methods=methods_at(setting), setting=setting,
                claims=(*claims_of_policies(figure, framework), *claims_of_jobs(figure)),
            )  # fmt: skip

        return [
            at({}),
            at({"alpha": 1}),
            at({"arrivals": "together"}, arrival_span=1),
            at({"alpha": 1, "arrivals": "together"}, arrival_span=1),
            at({"alpha": 1, "restart": 64}),
            at({"fifo_workers": 1}),
            at({"fifo_workers": 30}),
        ]

    def by_servers(self, figure: str, framework: str) -> list[Experiment]:
        """Return Figure 3 or 6: the policies by the number of servers of one total capacity."""

        def at(setting: Mapping[str, float | str], **capacity: object) -> Experiment:
            fixed = {**FRAMEWORKS[framework], **capacity}
            return self.value(
                figure=figure, title=f"Five policies by the number of servers, {framework}",
                x="servers", values=self.scale.servers,
                make=lambda seed, x: self.if_any(seed, servers=x, **fixed),
                methods=POLICIES, setting=setting, metrics=(MEAN,),
                claims=(*claims_of_policies(figure, framework), *claims_of_servers(figure)),
            )  # fmt: skip

        whole = {"capacity_jobs": self.scale.usual_jobs}
        return [
            at({}),
            at({"capacity": LEAST}, capacity_fraction=LEAST, **whole),
            at({"capacity": MOST}, capacity_fraction=MOST, **whole),
        ]

    # --- Figures 4 and 11 --------------------------------------------------------------------

    def by_f(self) -> list[Experiment]:
        """Return Figure 4: A_online by F."""
        source = "Section 7.1, Fig. 4"
        claims = of_unknown_axis(
            trend("A_online", "rises", source=source, text="the larger F, the larger the value"),
            favours_weight("A_online", source=source, text="the larger F, the later are jobs of "
                           "small weight executed, in comparison with the others"),
        )  # fmt: skip

        def at(setting: Mapping[str, float | str], factors: Sequence[float]) -> Experiment:
            return self.value(
                figure="4", title="A_online by F", x="F, in its least valid value",
                values=factors, metrics=(MEAN,), claims=claims, setting=setting,
                make=lambda seed, x: self.draw(seed, jobs=self.scale.jobs[-1]),
                methods={"A_online": by_factor(A_ONLINE)},
            )  # fmt: skip

        return [at({}, FACTORS), at(TOO_SMALL, BELOW)]

    def batches_by_f(self) -> list[Experiment]:
        """Return Figure 11: A_maxweight by F."""
        source = "Section 7.2, Fig. 11"
        claims = of_unknown_axis(
            trend("A_maxweight", "falls", source=source,
                  text="the smaller F, the larger the total weight"),
            trend("A_maxweight", "falls", source=source, measure=COUNT,
                  text="the smaller F, the more of the same jobs are served"),
            lighter("A_maxweight", source=source,
                    text="with smaller F, jobs of smaller weight in particular are served"),
        )  # fmt: skip

        def at(
            deadline: int, setting: Mapping[str, float | str], factors: Sequence[float]
        ) -> Experiment:
            return self.weight(
                figure="11", title="Weight in one batch by F", x="F, in its least valid value",
                values=factors, setting={**until(deadline), **setting}, claims=claims,
                make=lambda seed, x: self.batch(seed, deadline, jobs=self.scale.jobs[-1]),
                methods={"A_maxweight": by_factor("a-maxweight")},
            )  # fmt: skip

        ranges: tuple[tuple[Mapping[str, float | str], Sequence[float]], ...]
        ranges = ({}, FACTORS), (TOO_SMALL, BELOW)
        return [
            at(deadline, setting, factors) for deadline in DEADLINES for setting, factors in ranges
        ]

    # --- Figure 7 ----------------------------------------------------------------------------

    def running_times(self) -> Experiment:
        """Return Figure 7, the running time of A_online; the values are those of its schedules."""
        source = "Section 7.1, Fig. 7"
        reason = (
            "a running time is that of a computer and no part of a schedule; the records of a run "
            "have the seconds of each task"
        )

        def points() -> Iterator[Point]:
            for seed in self.seeds:
                for x in self.scale.jobs:
                    for series, settings in FRAMEWORKS.items():
                        yield Point(x, seed, series, self.draw(seed, jobs=x, **settings), A_ONLINE)

        return Experiment(
            family="elastic", figure="7", title="A_online, whose running time the paper shows",
            x="jobs", objective=VALUE, series=tuple(FRAMEWORKS), draw=points,
            brackets=self.scale.value_brackets, time_limit=self.scale.time_limit,
            claims=parts(
                "the running time of A_online grows with the number of jobs, and stays below 2 "
                "minutes",
                Claim("it grows with the number of jobs", source, untestable=reason),
                Claim("it stays below 2 minutes, in MATLAB on a Core i3-6100", source,
                      untestable=reason),
            ),
        )  # fmt: skip

    # --- Figures 8 and 12 --------------------------------------------------------------------

    def batches_by_jobs(self) -> list[Experiment]:
        """Return Figure 8: A_maxweight and the greedy algorithm by the number of jobs."""
        greedy = "Jain et al."
        methods = {
            "A_maxweight": "a-maxweight",
            "A_maxweight by density (ours)": "a-maxweight:order=density",
            greedy: "deadline-greedy",
        }
        claims = (
            best("A_maxweight", (greedy,), better="higher", source="Section 7.2, Fig. 8",
                 text="A_maxweight performs much better than the greedy algorithm (judged: better "
                 "somewhere, nowhere worse)"),
        )  # fmt: skip

        def at(deadline: int) -> Experiment:
            return self.weight(
                figure="8", title="Weight in one batch by the number of jobs", x="jobs",
                values=self.scale.jobs, methods=methods, claims=claims,
                make=lambda seed, x: self.batch(seed, deadline, jobs=x), setting=until(deadline),
            )  # fmt: skip

        return [at(deadline) for deadline in DEADLINES]

    def batches_by_servers(self) -> list[Experiment]:
        """Return Figure 12: A_maxweight by the number of servers, for several numbers of jobs."""
        source = "Section 7.2, Fig. 12"
        numbers = {f"{number} jobs": number for number in self.scale.jobs}
        claims = (
            *parts(
                "the more servers of one total capacity, the smaller the weight",
                *(monotone(name, "falls", source=source, text=f"with {name}") for name in numbers),
            ),
            Claim("it is smaller because fragments of resources grow with the number of servers",
                  source, untestable=FRAGMENTS),
            ordered(tuple(numbers), source=source, text="the more jobs, the larger the weight"),
        )  # fmt: skip

        def points(deadline: int) -> Iterator[Point]:
            for seed in self.seeds:
                for x in self.scale.servers:
                    for series, jobs in numbers.items():
                        instance = self.batch(seed, deadline, jobs=jobs, servers=x)
                        yield Point(x, seed, series, instance, "a-maxweight")

        return [
            Experiment(
                family="elastic", figure="12", x="servers", objective=WEIGHT, metrics=(COUNT,),
                title="Weight in one batch by the number of servers", series=tuple(numbers),
                claims=claims, brackets=self.scale.weight_brackets,
                draw=partial(points, deadline), setting=until(deadline),
                time_limit=self.scale.time_limit,
            )
            for deadline in DEADLINES
        ]  # fmt: skip

    # --- Figures 9 and 10 --------------------------------------------------------------------

    def worker_types(self) -> Experiment:
        """Return Figure 9: A_online, and the same with one worker type for all jobs."""
        source = "Section 7.1, Fig. 9"
        return self.value(
            figure="9", title="A_online and four fixed worker types", x="framework",
            values=tuple(FRAMEWORKS), methods={"A_online": A_ONLINE, **TYPES},
            make=lambda seed, x: self.draw(seed, workers="ec2", **FRAMEWORKS[x]),
            claims=claims_of_types(source),
        )  # fmt: skip

    def numbers_of_workers(self) -> Experiment:
        """Return Figure 10: A_online with one number of workers for all jobs."""
        source, fixed = "Section 7.1, Fig. 10", "fixed number"
        methods: dict[str, Named] = {
            fixed: lambda instance, x: f"a-online-fixed-number:workers={x}",
            "A_online": A_ONLINE,
        }
        return self.value(
            figure="10", title="A fixed number of workers for all jobs", x="workers",
            values=WORKERS, make=lambda seed, x: self.draw(seed), methods=methods,
            claims=(
                monotone(fixed, "falls", source=source,
                         text="the more workers the jobs have, the smaller the value"),
                best("A_online", (fixed,), equal=True, source=source,
                     text="A_online selects the numbers of workers with the smallest value"),
            ),
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


def until(deadline: int) -> dict[str, float | str]:
    """Return the setting of a deadline.

    `deadline`: in slots.
    """
    return {} if deadline == DEADLINES[0] else {"deadline": deadline}


# --- claims ----------------------------------------------------------------------------------


FRAGMENTS = "the paper does not define the fragments or the effective capacity"
TWO_EACH, BEST_STRATEGY = "two GPUs each, in turn", "best"


def _introduction() -> ElasticInstance:
    instance = generate("elastic", preset="introduction")
    assert isinstance(instance, ElasticInstance)
    return instance


def claims_of_introduction() -> tuple[Claim, ...]:
    """Return what the introduction computes for its example."""
    source = "Section 1"

    def claim(bar: str, number: float, words: str) -> Claim:
        return Claim(
            f"{words} is {number} ms", source, unit="ms",
            measure=lambda draw: draw.value(bar, measure=MEAN),
            given="the paper prints that a job takes 15 ms on one GPU and 10 ms on two",
        )  # fmt: skip

    return parts(
        "with three GPUs for two equal jobs, one GPU for one and two for the other is best: 12.5 "
        "ms on average instead of 15 ms",
        claim(BEST_STRATEGY, 12.5, "the least average completion time"),
        claim(TWO_EACH, 15, "the average completion time with two GPUs for each job, in turn,"),
    )


def claims_of_shortage() -> tuple[Claim, ...]:
    """Return the claims of the introduction on all simulations, by capacity."""

    def lead(draw: Draw, x: Position) -> float:
        """Return by how many percent A_online is below the best of the others."""
        own = draw.value("A_online", x)
        return 100 * (1 - own / min(draw.value(name, x) for name in OTHERS))

    def gain(draw: Draw) -> float:
        if max(lead(draw, LEAST), lead(draw, MOST)) <= TIE:
            raise NotApplicableError("it has no lead at either capacity")
        return lead(draw, LEAST) - lead(draw, MOST)

    return parts(
        "A_online outperforms existing methods, especially in systems with resource shortage",
        Claim(f"at capacity {LEAST} it is better than the best of them", "Section 1",
              lambda draw: lead(draw, LEAST) > TIE, lambda draw: lead(draw, LEAST), "%"),
        Claim(f"its lead is larger at capacity {LEAST} than at {MOST}", "Section 1",
              lambda draw: gain(draw) > TIE, gain, "points"),
    )  # fmt: skip


def alpha_of_rounds(
    instance: ElasticInstance, schedule: Mapping[str, Any], trace: Mapping[str, Any]
) -> float | None:
    """Return the median of what (6) requires for alpha in the rounds of a run of A_online.

    `schedule`: JSON data of the schedule, which this does not need.
    """
    needed = [each["alpha_needed"] for each in trace.get("rounds", ())]
    return float(median(needed)) if needed else None


def claims_of_alpha() -> tuple[Claim, ...]:
    """Return what Section 5.3 says of alpha in the simulations."""

    def farthest(draw: Draw) -> float:
        return max(draw.curve("A_online", ALPHA), key=lambda alpha: abs(alpha - 4))

    return (
        Claim("the typical value of alpha is close to 4 in simulations (measured: the median over "
              "the rounds of what (6) requires, where it is farthest from 4)",
              "Section 5.3, after Theorem 5", measure=farthest, threshold="ours"),
    )  # fmt: skip


AT_LEAST_30 = "A_online performs at least 30 % better than the other algorithms in both cases"
MUCH_LARGER = "AntMan and Tiresias are both much larger than other algorithms (judged: larger)"
BEST_IN_BOTH = "with RA, A_online performs the best in both cases"
SIMILAR = (
    "with RA, the results are similar to those of Figures 2 and 3 (judged: what the text says of "
    "those)"
)


def claims_of_policies(figure: str, framework: str) -> tuple[Claim, ...]:
    """Return the claims of Figures 2, 3, 5 and 6 on the order of the policies.

    `framework`: PS or RA.
    """
    source = f"Section 7.1, Fig. {figure}"
    better = tuple(
        lower_by("A_online", (name,), 30, source=source, text=f"at least 30 % better than {name}")
        for name in OTHERS
    )  # fmt: skip
    larger = tuple(
        worst(PREEMPTIVE, others, source=source, text=f"AntMan and Tiresias are larger than {than}")
        for than, others in (("FIFO and DRF", ("FIFO", "DRF")), ("A_online", ("A_online",)))
    )
    if framework == "RA":
        own = (best("A_online", (name,), source=source, text=f"better than {name}")
               for name in OTHERS)  # fmt: skip
        return *parts(BEST_IN_BOTH, *own), *parts(SIMILAR, *better, *larger)
    return (
        *parts(AT_LEAST_30, *better),
        *parts(MUCH_LARGER, *larger),
        *parts(
            "AntMan and Tiresias are so, because frequent preemption lengthens jobs",
            Claim(f"in Figure {figure}", source,
                  untestable="it explains larger values, and theirs are not larger here"),
        ),
    )  # fmt: skip


def claims_of_jobs(figure: str) -> tuple[Claim, ...]:
    """Return the claim of the conclusion on the offline optimum, on the values of Figure 2.

    `figure`: number of the figure; other figures have no such claim.
    """

    def ratio(draw: Draw) -> float:
        """Return the largest ratio to the best known schedule, at most that to the optimum."""
        return max(draw.value("A_online", x) / draw.value("best known", x) for x in draw.xs)

    if figure != "2":
        return ()
    return (
        Claim("A_online performs well as compared to the offline optimum (measured: its ratio to "
              "the best known schedule, where it is largest)", "Section 8",
              measure=ratio, unit="x", threshold="ours"),
    )  # fmt: skip


def claims_of_servers(figure: str) -> tuple[Claim, ...]:
    """Return the claims of Figures 3 and 6 on the number of servers."""
    source = f"Section 7.1, Fig. {figure}"
    framework = "PS" if figure == "3" else "RA"
    grows = monotone(
        "A_online", "rises", source=source,
        text=f"the value grows with the number of servers of one total capacity, {framework}",
    )  # fmt: skip
    if figure == "6":
        return (grows,)
    return (
        grows,
        favours_weight("A_online", source=source, text="with more servers, and so a larger lambda, "
                       "A_online prefers jobs of larger weight"),
        Claim("fragments of resources grow with the number of servers, and the effective capacity "
              "falls", source, untestable=FRAGMENTS),
    )  # fmt: skip


def claims_of_types(source: str) -> tuple[Claim, ...]:
    """Return the claims of Figure 9, one part for each framework.

    `source`: see `Claim`.
    """

    def smallest(framework: str) -> Claim:
        def excess(draw: Draw) -> float:
            least = min(draw.value(name, framework) for name in TYPES)
            return 100 * (draw.value("A_online", framework) / least - 1)

        return Claim(f"smallest with {framework}", source, lambda draw: excess(draw) <= TIE,
                     excess, "%")  # fmt: skip

    def differ(framework: str) -> Claim:
        def difference(draw: Draw) -> float:
            values = [draw.value(name, framework) for name in TYPES]
            return 100 * (max(values) / min(values) - 1)

        return Claim(f"worst against best type with {framework}", source, measure=difference,
                     unit="%", threshold="ours")  # fmt: skip

    return (
        *parts(
            "A_online chooses the best type for each job, and its value is smallest",
            *map(smallest, FRAMEWORKS),
        ),
        *parts(
            "the type of the workers affects the value greatly",
            *map(differ, FRAMEWORKS),
        ),
    )


def trend(
    series: str,
    direction: Literal["falls", "rises"],
    *,
    text: str,
    source: str,
    measure: str | None = None,
) -> Claim:
    """Return the claim that a series is lower, or higher, at the end of the axis than at its start.

    Its number is the change in percent. Equal values do not count, nor what lies between.

    `text`, `source`: see `Claim`. `measure`: by default the figure's objective.
    """

    def change(draw: Draw) -> float:
        curve = draw.curve(series, measure)
        return 100 * (curve[-1] / curve[0] - 1) if curve[0] else 100.0 * bool(curve[-1])

    sign = 1 if direction == "rises" else -1
    return Claim(f"{text} {ENDS}", source, lambda draw: sign * change(draw) > TIE, change, "%")


def of_unknown_axis(*claims: Claim) -> tuple[Claim, ...]:
    """Return claims about an axis whose values the paper does not state; they are only measured."""
    unknown = "(the paper does not state its values of F)"
    return tuple(
        replace(only_measured(claim), text=f"{claim.text.removesuffix(ENDS).rstrip()} {unknown}")
        for claim in claims
    )


def favours_weight(series: str, *, text: str, source: str) -> Claim:
    """Return the claim that heavy jobs end earlier, relative to all jobs, at the end of the axis.

    Its number is the change of the weighted over the unweighted mean completion time, in percent.

    `series`: name of the series; the figure has the mean completion time as a measure. `text`,
    `source`: see `Claim`.
    """

    def change(draw: Draw) -> float:
        weighted, plain = draw.curve(series), draw.curve(series, MEAN)
        return round(100 * (weighted[-1] / plain[-1] * plain[0] / weighted[0] - 1), 9)

    return Claim(f"{text} {ENDS}", source, lambda draw: change(draw) < -TIE, change, "%")


def lighter(series: str, *, text: str, source: str) -> Claim:
    """Return the claim that the served jobs are lighter on average at the start of the axis.

    Its number is the difference of the mean weight from that at the end, in percent.

    `series`: name of the series; the figure has the number of scheduled jobs as a measure. `text`,
    `source`: see `Claim`.
    """

    def difference(draw: Draw) -> float:
        weight, count = draw.curve(series), draw.curve(series, COUNT)
        first, last = (weight[k] / count[k] if count[k] else 0.0 for k in (0, -1))
        return 100 * (first / last - 1) if last else 0.0

    return Claim(f"{text} {ENDS}", source, lambda draw: difference(draw) < -TIE, difference, "%")


def worst(series: Sequence[str], others: Sequence[str], *, text: str, source: str) -> Claim:
    """Return the claim that each of some series is above all others everywhere.

    Its number is the least difference in percent.

    `series`, `others`: names of series. `text`, `source`: see `Claim`.
    """

    def difference(draw: Draw) -> float:
        return min(
            100 * (draw.value(high, x) / draw.value(low, x) - 1)
            for x in draw.xs
            for high in series
            for low in others
        )

    return Claim(text, source, lambda draw: difference(draw) > TIE, difference, "%")


def ordered(series: Sequence[str], *, text: str, source: str) -> Claim:
    """Return the claim that each series is above the one before it, everywhere.

    Its number is the least difference in percent.

    `series`: names of series, from the lowest to the highest. `text`, `source`: see `Claim`.
    """

    def difference(draw: Draw) -> float:
        return min(
            100 * (draw.value(high, x) / draw.value(low, x) - 1)
            for x in draw.xs
            for low, high in pairwise(series)
        )

    return Claim(text, source, lambda draw: difference(draw) > TIE, difference, "%")
