"""Figures 4-7 of the paper as experiments, with the claims of Section 7 about them.

The paper prints its figures without numbers, so that its claims are about orders and directions. It
leaves open what decides them: how much of a job's time contention and overhead cost, apart from "at
most 15%", in which order the baselines take the jobs, and whether FA-FFP packs, as the text says
(E19, E27, E28). Each figure is drawn at several values of these parameters (`SETTINGS`); the first
one is our reading. Figures 1-3 are illustrations, and Table 1 is `symbols` in `paper.toml`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from typing import Any

from schedgap.instances.generate import generate
from schedgap.instances.ring import RingInstance, RingSchedule
from schedgap.models.figure import (
    ENDS,
    Claim,
    Draw,
    Experiment,
    NotApplicableError,
    Point,
    Position,
    bars,
    curves,
    monotone,
    parts,
)

Setting = Mapping[str, float | str]

POLICIES = {
    "SJF-BCO": "sjf-bco",
    "FF": "first-fit",
    "LS": "list-scheduling",
    "RAND": "random",
}
BASELINES = ("FF", "LS", "RAND")
BY_SIZE = {name: f"{name}, smallest first (ours)" for name in BASELINES}
ORDERED = {name: f"{POLICIES[policy]}:order=sjf" for policy, name in BY_SIZE.items()}
PACKED = {"SJF-BCO, packing (ours)": "sjf-bco:ffp_rule=pack"}
SERVERS = (10, 12, 14, 16, 18, 20)  # the paper: 10 to 20
MANY = (1, 2, 4, 8, 16)  # times the last number of servers
FACTORS = (1, 2, 4, 8)
SETTINGS: tuple[Setting, ...] = (
    {},
    {"order": "sjf"},
    {"ffp_rule": "pack"},
    {"xi": 1.0, "alpha": 1.0},
    {"extra_share": 0.15, "reference_crowd": 2},
    {"extra_share": 0.3, "reference_crowd": 4},
    {"extra_share": 0.5, "reference_crowd": 4},
    {"extra_share": 0.5, "reference_crowd": 4, "order": "sjf"},
    {"extra_share": 0.5, "reference_crowd": 4, "ffp_rule": "pack"},
)
OPTIONS = {"order": BASELINES, "ffp_rule": ("SJF-BCO",)}  # settings of methods: whose they are

MAKESPAN, MEAN = "makespan (slots)", "mean completion"
CONTENTION, SPREADING = "share of contention", "share of spreading"
RING_SERVERS, SMALL = "servers per ring", "contention of jobs up to kappa"
IDLE, LIMIT = "idle slots before a GPU's last job", "largest estimated load"
UNEVEN = "unevenness of the GPUs' loads"
TOGETHER = "jobs that share a server"


def experiments(
    *,
    quick: bool = False,
    seeds: Sequence[int] = range(10),
    servers: Sequence[int] = SERVERS,
    jobs: int = 160,
    settings: Sequence[Setting] = SETTINGS,
) -> list[Experiment]:
    """Return Figures 4-7 on random instances of the paper's workload, at several settings.

    `quick`: with bounds and schedules that are found at once beside the figures, instead of better
    ones. The figures themselves are the same, of the paper's size. `seeds`: seeds of the instances,
    one draw each. `servers`: numbers of servers in Figure 6; the other figures use the last one.
    `jobs`: number of jobs, >= 1; their sizes keep the paper's proportions. `settings`: values of
    what the paper does not state: options of the preset `paper`, `order` of the baselines, and
    `ffp_rule` of SJF-BCO. The first one, if empty, also has the series and claims that are shown
    once.

    Notes
    -----
    Source: Section 7. The horizon T is 1200, in Figure 6 1500. Figure 5 uses only the values of
    kappa at which some job passes from LBSGF to FA-FFP: the sizes that occur. The jobs of a seed
    are the same with any number of servers, and fewer servers are the first ones of more servers.
    """
    figures: list[Experiment] = []
    for setting in settings:
        figures += _Figures(tuple(seeds), tuple(servers), jobs, setting, quick).all()
    return figures


@dataclass(frozen=True)
class _Figures:
    """The figures at one setting; the parameters are those of `experiments`."""

    seeds: tuple[int, ...]
    servers: tuple[int, ...]
    jobs: int
    setting: Setting
    quick: bool

    def all(self) -> list[Experiment]:
        """Return all figures that the setting changes: the order of the baselines, only 4 and 6."""
        drawn = cache(self._drawn)
        figures = [self._fourth(drawn), self._sixth(drawn)]
        if "order" in self.setting:
            return figures
        figures += [self._fifth(drawn), self._seventh(drawn)]
        if not self.setting:
            figures.append(self._sixth_large(drawn))
        return sorted(figures, key=lambda each: each.figure)

    def _drawn(self, seed: int, number: int = 0, horizon: int = 1200) -> RingInstance:
        settings: dict[str, object] = {
            "jobs": self.jobs, "servers": number or self.servers[-1], "horizon": horizon
        }  # fmt: skip
        settings |= {key: value for key, value in self.setting.items() if key not in OPTIONS}
        instance = generate("ring", preset="paper", seed=seed, settings=settings)
        assert isinstance(instance, RingInstance)
        return instance

    def _policy(self, name: str) -> str:
        """Return the method of a policy of the paper."""
        options = [
            f":{key}={self.setting[key]}"
            for key, policies in OPTIONS.items()
            if key in self.setting and name in policies
        ]
        return POLICIES[name] + "".join(options)

    def _common(self) -> dict[str, Any]:
        beside = ("bounds", "lpt-pack") if self.quick else ("pattern-lp", "local-search")
        return {
            "family": "ring",
            "objective": MAKESPAN,
            "brackets": () if self.setting else beside,
            "setting": self.setting,
            "time_limit": 20.0,
        }

    def _fourth(self, drawn: Callable[..., RingInstance]) -> Experiment:
        return bars(
            self.seeds,
            drawn,
            {name: self._policy(name) for name in POLICIES}
            | ({} if self.setting else ORDERED | PACKED),
            figure="4",
            title="Makespan and average completion time of the policies",
            x="policy",
            claims=CLAIMS_4 if self.setting else (*CLAIMS_4, HARDWARE),
            metrics=(MEAN, CONTENTION, SPREADING, RING_SERVERS, UNEVEN, "largest extra share"),
            **self._common(),
        )

    def _fifth(self, drawn: Callable[..., RingInstance]) -> Experiment:
        def draw() -> Iterator[Point]:
            for seed in self.seeds:
                instance = drawn(seed)
                for kappa in sorted({1, *(job.gpus for job in instance.jobs)}):
                    method = f"{self._policy('SJF-BCO')}:kappa={kappa}"
                    yield Point(kappa, seed, "SJF-BCO", instance, method)

        return Experiment(
            figure="5",
            title="SJF-BCO with a single kappa",
            x="kappa",
            claims=CLAIMS_5,
            series=("SJF-BCO",),
            draw=draw,
            metrics=(CONTENTION, SPREADING, RING_SERVERS, SMALL),
            **self._common(),
        )

    def _sixth(self, drawn: Callable[..., RingInstance]) -> Experiment:
        by_size = {name: method for name, method in ORDERED.items() if "RAND" not in name}
        return curves(
            self.servers,
            self.seeds,
            make=partial(drawn, horizon=1500),
            methods={name: self._policy(name) for name in ("SJF-BCO", "FF", "LS")}
            | ({} if self.setting else by_size),
            figure="6",
            title="Makespan by the number of servers",
            x="servers",
            claims=CLAIMS_6,
            metrics=(CONTENTION, IDLE, LIMIT),
            **self._common(),
        )

    def _sixth_large(self, drawn: Callable[..., RingInstance]) -> Experiment:
        return curves(
            tuple(self.servers[-1] * times for times in MANY),
            self.seeds,
            make=partial(drawn, horizon=1500),
            methods={"SJF-BCO": self._policy("SJF-BCO")},
            figure="6-large",
            title="SJF-BCO with more and more servers",
            x="servers",
            claims=CLAIMS_6_LARGE,
            metrics=(CONTENTION,),
            measures={TOGETHER: sharing_jobs},
            **self._common(),
        )

    def _seventh(self, drawn: Callable[..., RingInstance]) -> Experiment:
        def method(instance: RingInstance, factor: int) -> str:
            # an option of the method, so that all points of a seed are one instance
            option = f":spread_factor={factor}" if factor > 1 else ""
            return f"{self._policy('SJF-BCO')}:kappa=1{option}"

        return curves(
            FACTORS,
            self.seeds,
            make=lambda seed, factor: drawn(seed),
            methods={"SJF-BCO": method},
            figure="7",
            title="SJF-BCO by its server budget, kappa = 1",
            x="lambda",
            claims=CLAIMS_7 if self.setting else (*CLAIMS_7, ROLE),
            metrics=(CONTENTION, SPREADING, RING_SERVERS),
            **self._common(),
        )


def sharing_jobs(
    instance: RingInstance, schedule: Mapping[str, Any], trace: Mapping[str, Any]
) -> float:
    """Return how many jobs share a server with another job at some time.

    `schedule`: JSON data of the schedule. `trace`: of the run, which this does not need.
    """
    runs = RingSchedule.from_data(instance, schedule).runs
    return sum(
        any(
            one.start <= two.end and two.start <= one.end and one.placement.keys() & two.placement
            for other, two in runs.items()
            if other != job
        )
        for job, one in runs.items()
    )


# --- claims ------------------------------------------------------------------------------------


def _bar(draw: Draw, policy: str, measure: str = MAKESPAN) -> float:
    return draw.value("policy", policy, measure)


def _lowest(text: str, measure: str, others: Sequence[str]) -> Claim:
    """Return the claim of Figure 4 that SJF-BCO is lower than others, by the measured percentage.

    The number is the difference to the best of the others; it is negative where SJF-BCO is better.
    """

    def against(draw: Draw) -> tuple[float, float]:
        return _bar(draw, "SJF-BCO", measure), min(_bar(draw, each, measure) for each in others)

    def holds(draw: Draw) -> bool:
        own, best = against(draw)
        return own < best

    def difference(draw: Draw) -> float:
        own, best = against(draw)
        return 100 * (own - best) / best

    return Claim(text, "Section 7, Fig. 4", holds, difference, "%")


def _lost(draw: Draw, policy: str) -> float:
    """Return the share of the execution time of all jobs that spreading and contention cost."""
    return _bar(draw, policy, CONTENTION) + _bar(draw, policy, SPREADING)


def _difference(
    text: str,
    source: str,
    high: Callable[[Draw], float],
    low: Callable[[Draw], float],
    unit: str,
    scale: float = 1.0,
) -> Claim:
    """Return the claim that one number is above another; `measure` is how far, times `scale`."""
    return Claim(
        text,
        source,
        lambda draw: high(draw) > low(draw),
        lambda draw: scale * (high(draw) - low(draw)),
        unit,
    )


def _behind(draw: Draw) -> float:
    """Return by how many percent SJF-BCO is above the better one of FF and RAND, at the worse."""
    rivals = ("FF", "RAND")
    return max(
        100 * (_bar(draw, "SJF-BCO", measure) / min(_bar(draw, each, measure) for each in rivals))
        - 100
        for measure in (MAKESPAN, MEAN)
    )


def _more_spreading(draw: Draw) -> float:
    """Return the share of time that SJF-BCO's further servers cost beyond that of FF or RAND."""
    rivals = min(_bar(draw, each, SPREADING) for each in ("FF", "RAND"))
    return _bar(draw, "SJF-BCO", SPREADING) - rivals


def _unevener(draw: Draw, policy: str) -> float:
    """Return how much more uneven the loads of the GPUs are with a policy than with LS."""
    return _bar(draw, policy, UNEVEN) - _bar(draw, "LS", UNEVEN)


def _evener(policy: str) -> Claim:
    """Return the claim that LS balances the GPUs better than a policy that ignores their loads."""
    return Claim(
        f"The estimated execution times of the GPUs differ less with LS than with {policy}",
        "Section 7, 2)",
        lambda draw: _unevener(draw, policy) > 0,
        lambda draw: 100 * _unevener(draw, policy),
        "% of their average more",
    )


LARGE_JOBS = (
    "SJF-BCO opens new servers for large jobs, to avoid their overhead, and so has a smaller "
    "makespan and average completion time than FF and RAND"
)
WITHIN = (
    "in Section 7 the 15 % are a setting, and the generator scales communication by it (E27): "
    "a job with 8 rings on a server loses at most that"
)
CLAIMS_4 = (
    *parts(
        "SJF-BCO has the smallest makespan and average completion time, hence total completion "
        "time",
        _lowest("SJF-BCO has the smallest makespan of the four policies", MAKESPAN, BASELINES),
        _lowest(
            "SJF-BCO has the smallest average, hence total, job completion time", MEAN, BASELINES
        ),
    ),
    *parts(
        LARGE_JOBS,
        Claim(
            "SJF-BCO has a smaller makespan and average completion time than FF and RAND",
            "Section 7, Fig. 4",
            lambda draw: _behind(draw) < 0,
            _behind,
            "%, in the worse of the two",
        ),
        Claim(
            "The jobs of SJF-BCO lose less time to their further servers than those of FF and RAND",
            "Section 7, Fig. 4",
            lambda draw: _more_spreading(draw) < 0,
            lambda draw: 100 * _more_spreading(draw),
            "% of the time more than the better of the two",
        ),
    ),
    *parts(
        "Contention and overhead cost at most 15 % of the total execution time",
        Claim(
            "Contention and overhead cost SJF-BCO at most 15 % of the execution time",
            "Section 7, 1)",
            measure=lambda draw: 100 * _lost(draw, "SJF-BCO"),
            unit="% of the time",
            given=WITHIN,
        ),
        Claim(
            "Contention and overhead cost each of the policies at most 15 % of the execution time",
            "Section 7, 1)",
            measure=lambda draw: 100 * max(_lost(draw, each) for each in POLICIES),
            unit="% of the time where it is most",
            given=WITHIN,
        ),
    ),
    _difference(
        "FF packs jobs into the fewest servers: its rings span fewer than those of LS",
        "Section 7, 2)",
        lambda draw: _bar(draw, "LS", RING_SERVERS),
        lambda draw: _bar(draw, "FF", RING_SERVERS),
        "servers per ring",
    ),
    _difference(
        "LS may cost much overhead, as it takes GPUs of many servers: its jobs lose more time to "
        "their further servers than those of SJF-BCO",
        "Section 7, 2)",
        lambda draw: _bar(draw, "LS", SPREADING),
        lambda draw: _bar(draw, "SJF-BCO", SPREADING),
        "% of the time",
        100,
    ),
    *parts(
        "LS balances the execution time between the GPUs, as it takes those with the least",
        _evener("FF"),
        _evener("RAND"),
    ),
)
HARDWARE = Claim(
    "A ring of four workers takes 295 s alone, and 675 s beside three others that are spread "
    "over the same servers with 10 Gbit/s",
    "Section 1, from its reference [19]",
    untestable=(
        "measured on a cluster; the model gives this ratio for some share of communication in "
        "an iteration, which is not stated. It means that contention costs 56 % of the time, "
        "against at most 15 % in Section 7"
    ),
)


def _bends(curve: Sequence[float]) -> tuple[list[int], list[int]]:
    """Return the directions of a curve, 1 or -1, each once, and the indices where they change.

    Equal neighbours have no direction; a bend lies at the first of equal values.
    """
    directions: list[int] = []
    bends: list[int] = []
    place = 0  # of the last change of the value
    for k, (before, after) in enumerate(pairwise(curve)):
        if before == after:
            continue
        direction = 1 if after > before else -1
        if directions and directions[-1] != direction:
            bends.append(place)
        if not directions or directions[-1] != direction:
            directions.append(direction)
        place = k + 1
    return directions, bends


def _by_kappa(draw: Draw, *measures: str) -> list[float]:
    """Return the sum of measures of SJF-BCO along the axis."""
    columns = [draw.curve("SJF-BCO", measure) for measure in measures]
    return [sum(values) for values in zip(*columns, strict=True)]


def _between_bends(
    text: str, places: Callable[[list[int], int], tuple[int, int]], *measures: str, sign: int
) -> Claim:
    """Return a claim on why the curve of Figure 5 bends.

    `places(bends, last)` says between which two indices the measures change in the direction
    `sign`. The claim does not apply where the makespan does not fall, rise and fall again.
    """

    def change(draw: Draw) -> float:
        directions, bends = _bends(draw.curve("SJF-BCO"))
        values = _by_kappa(draw, *measures)
        if directions != [-1, 1, -1]:
            raise NotApplicableError("the makespan does not fall, rise and fall again")
        start, end = places(bends, len(values) - 1)
        return sign * (values[end] - values[start])

    return Claim(f"{text} {ENDS}", "Section 7, Fig. 5", lambda draw: change(draw) > 0)


def _small_jobs(draw: Draw) -> float:
    """Return the largest share of contention in the time of the jobs up to kappa, in percent.

    With the largest kappa all jobs are small.
    """
    return 100 * max(draw.curve("SJF-BCO", SMALL)[:-1])


CLAIMS_5 = (
    Claim(
        "As kappa grows, the makespan first drops, then increases, then drops again",
        "Section 7, Fig. 5",
        lambda draw: _bends(draw.curve("SJF-BCO"))[0] == [-1, 1, -1],
        lambda draw: float(len(_bends(draw.curve("SJF-BCO"))[1])),
        "turning points",
    ),
    _between_bends(
        "The makespan first drops because the larger jobs have less contention and overhead (here "
        "of all jobs)",
        lambda bends, last: (0, bends[0]),
        CONTENTION,
        SPREADING,
        sign=-1,
    ),
    _between_bends(
        "The makespan then increases because contention does",
        lambda bends, last: (bends[0], bends[1]),
        CONTENTION,
        sign=1,
    ),
    *parts(
        "The makespan drops again because overhead falls slightly, as rings span fewer servers",
        _between_bends(
            "Where the makespan drops again, the rings span fewer servers",
            lambda bends, last: (bends[1], last),
            RING_SERVERS,
            sign=-1,
        ),
        _between_bends(
            "Where the makespan drops again, overhead falls slightly",
            lambda bends, last: (bends[1], last),
            SPREADING,
            sign=-1,
        ),
    ),
    Claim(
        "The contention of small jobs, those up to kappa, is mild on shared servers: its share of "
        "their time with the kappa where it is largest",
        "Section 5, 4)",
        measure=_small_jobs,
        unit="% of their time",
        threshold="ours",
    ),
)


def _ends(draw: Draw, series: str, measure: str = MAKESPAN) -> tuple[float, float]:
    """Return the values of a series at the first and the last position of the axis."""
    curve = draw.curve(series, measure)
    return curve[0], curve[-1]


def _drop(draw: Draw, series: str, measure: str = MAKESPAN) -> float:
    first, last = _ends(draw, series, measure)
    return first - last


def _lead(draw: Draw, number: Position) -> float:
    """Return by how many percent the better one of FF and LS is above SJF-BCO."""
    rival = min(draw.value(name, number) for name in ("FF", "LS"))
    return 100 * (rival / draw.value("SJF-BCO", number) - 1)


def _less_contention(name: str) -> Claim:
    return _difference(
        f"With more servers there is less contention with {name} {ENDS}",
        "Section 7, Fig. 6",
        lambda draw: _ends(draw, name, CONTENTION)[0],
        lambda draw: _ends(draw, name, CONTENTION)[1],
        "% of the time less",
        100,
    )


NAMES_6 = ("FF", "LS", "SJF-BCO")
CLAIMS_6 = (
    *parts(
        "From 10 to 20 servers the makespans of FF, LS and SJF-BCO fall, as contention does",
        *(
            monotone(
                name,
                "falls",
                text=f"The makespan of {name} falls",
                source="Section 7, Fig. 6",
            )
            for name in NAMES_6
        ),
        *map(_less_contention, NAMES_6),
    ),
    *parts(
        "FF gains most: with more servers it can set a smaller limit, and the idle time of workers "
        "drops dramatically",
        _difference(
            f"FF has the largest reduction of the makespan {ENDS}",
            "Section 7, Fig. 6",
            lambda draw: _drop(draw, "FF"),
            lambda draw: max(_drop(draw, "LS"), _drop(draw, "SJF-BCO")),
            "slots more than the others",
        ),
        _difference(
            "The idle time of the workers of FF before their last job drops dramatically (judged: "
            "it drops, from end to end)",
            "Section 7, Fig. 6; proof of Lemma 3",
            lambda draw: _ends(draw, "FF", IDLE)[0],
            lambda draw: _ends(draw, "FF", IDLE)[1],
            "slots per GPU less",
        ),
        _difference(
            f"FF returns a smaller limit, the largest estimated execution time of a GPU {ENDS}",
            "Section 7, 2) and Fig. 6; Lemma 2",
            lambda draw: _ends(draw, "FF", LIMIT)[0],
            lambda draw: _ends(draw, "FF", LIMIT)[1],
            "slots less",
        ),
    ),
    _difference(
        "SJF-BCO is further ahead of the baselines when GPUs are few, here of the better one of FF "
        f"and LS {ENDS}",
        "Section 7, Fig. 4",
        lambda draw: _lead(draw, draw.xs[0]),
        lambda draw: _lead(draw, draw.xs[-1]),
        "% of its makespan",
    ),
)
CLAIMS_6_LARGE = parts(
    "With enough servers SJF-BCO gives each job its own, without contention, and gets better with "
    "more GPUs",
    Claim(
        "With the most servers SJF-BCO has no contention",
        "Section 7, Fig. 6",
        lambda draw: _ends(draw, "SJF-BCO", CONTENTION)[1] == 0,
        lambda draw: 100 * _ends(draw, "SJF-BCO", CONTENTION)[1],
        "% of the time",
    ),
    Claim(
        "With the most servers no two jobs of SJF-BCO share a server at a time",
        "Section 7, Fig. 6",
        lambda draw: _ends(draw, "SJF-BCO", TOGETHER)[1] == 0,
        lambda draw: _ends(draw, "SJF-BCO", TOGETHER)[1],
        "jobs share one",
    ),
    monotone(
        "SJF-BCO",
        "falls",
        text="The makespan of SJF-BCO falls as the number of GPUs grows",
        source="Section 7, Fig. 6",
    ),
)
CLAIMS_7 = (
    monotone(
        "SJF-BCO",
        "falls",
        text="The makespan decreases monotonically as lambda grows from 1 to 8",
        source="Section 7, Fig. 7",
    ),
    *parts(
        "A larger lambda lets jobs open new servers, with less contention and less overhead",
        _difference(
            f"With a larger lambda the rings span more servers {ENDS}",
            "Section 7, Fig. 7",
            lambda draw: _ends(draw, "SJF-BCO", RING_SERVERS)[1],
            lambda draw: _ends(draw, "SJF-BCO", RING_SERVERS)[0],
            "servers per ring more",
        ),
        _difference(
            f"With a larger lambda there is less contention {ENDS}",
            "Section 7, Fig. 7",
            lambda draw: _ends(draw, "SJF-BCO", CONTENTION)[0],
            lambda draw: _ends(draw, "SJF-BCO", CONTENTION)[1],
            "% of the time less",
            100,
        ),
        _difference(
            f"With a larger lambda there is less overhead of communication {ENDS}",
            "Section 7, Fig. 7",
            lambda draw: _ends(draw, "SJF-BCO", SPREADING)[0],
            lambda draw: _ends(draw, "SJF-BCO", SPREADING)[1],
            "% of the time less",
            100,
        ),
    ),
)
ROLE = Claim(
    "lambda plays a role similar to that of kappa, for a single job instead of all jobs",
    "Section 7, Fig. 7",
    untestable="it names no quantity and no order",
)
