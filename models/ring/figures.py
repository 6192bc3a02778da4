"""Figures 4-7 of the paper as experiments, with the measures that the claims about them need.

`claims.toml` has the claims. The paper prints its figures without numbers, so its claims are
about orders and directions. The paper leaves open three things that decide the claims (E19, E27,
E28). One is how much of a job's time contention and overhead cost, apart from "at most 15%".
Another is the order in which the baselines take the jobs. The third is whether FA-FFP packs, as the
text says. Each figure is drawn at several values of these parameters (`SETTINGS`); the first one is
our reading. Figures 1-3 are illustrations, and Table 1 is `symbols` in `paper.toml`.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from schedgap.instances.generate import generate
from schedgap.instances.ring import RingInstance, RingSchedule
from schedgap.models.claims import load_claims, with_claims
from schedgap.models.figure import (
    Claim,
    Draw,
    Experiment,
    NotApplicableError,
    bars,
    curves,
    drop,
    reduction,
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
KAPPAS = (1, 2, 4, 8, 16, 32)
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

    `quick`: with bounds and schedules that are found at once next to the figures, instead of better
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
    figures = (
        figure
        for setting in settings
        for figure in _figures(tuple(seeds), tuple(servers), jobs, setting, quick)
    )
    return with_claims(figures, CLAIMS)


def _figures(
    seeds: tuple[int, ...], servers: tuple[int, ...], jobs: int, setting: Setting, quick: bool
) -> Iterator[Experiment]:
    """Yield all figures that a setting changes: the order of the baselines, only 4 and 6."""
    given = {key: value for key, value in setting.items() if key not in OPTIONS}

    @cache
    def drawn(seed: int, number: int = servers[-1], horizon: int = 1200) -> RingInstance:
        settings = {"jobs": jobs, "servers": number, "horizon": horizon, **given}
        instance = generate("ring", preset="paper", seed=seed, settings=settings)
        assert isinstance(instance, RingInstance)
        return instance

    def policy(name: str) -> str:
        """Return the method of a policy of the paper, with the options of the setting."""
        options = [
            f":{key}={setting[key]}"
            for key, policies in OPTIONS.items()
            if key in setting and name in policies
        ]
        return POLICIES[name] + "".join(options)

    def with_kappa(instance: RingInstance, kappa: int) -> str:
        return f"{policy('SJF-BCO')}:kappa={kappa}"

    def with_factor(instance: RingInstance, factor: int) -> str:
        # an option of the method: all points of a seed are one instance
        return with_kappa(instance, 1) + (f":spread_factor={factor}" if factor > 1 else "")

    def occurring(seed: int, kappa: int) -> RingInstance | None:
        instance = drawn(seed)
        return instance if kappa in {1, *(job.gpus for job in instance.jobs)} else None

    brackets = ("bounds", "lpt-pack") if quick else ("pattern-lp", "local-search")
    same: dict[str, Any] = {
        "seeds": seeds, "family": "ring", "objective": MAKESPAN, "setting": setting,
        "brackets": () if setting else brackets, "time_limit": 20.0,
    }  # fmt: skip
    ours = {} if setting else ORDERED | PACKED
    yield bars(
        figure="4", title="Makespan and average completion time of the policies", x="policy",
        make=drawn, methods={name: policy(name) for name in POLICIES} | ours,
        metrics=(MEAN, CONTENTION, SPREADING, RING_SERVERS, UNEVEN, "largest extra share"), **same,
    )  # fmt: skip
    if "order" not in setting:
        yield curves(
            figure="5", title="SJF-BCO with a single kappa", x="kappa", values=KAPPAS,
            make=occurring, methods={"SJF-BCO": with_kappa},
            metrics=(CONTENTION, SPREADING, RING_SERVERS, SMALL), **same,
        )  # fmt: skip
    yield curves(
        figure="6", title="Makespan by the number of servers", x="servers", values=servers,
        make=partial(drawn, horizon=1500),
        methods={name: policy(name) for name in ("SJF-BCO", "FF", "LS")}
        | {name: method for name, method in ours.items() if name.startswith(("FF", "LS"))},
        metrics=(CONTENTION, IDLE, LIMIT), **same,
    )  # fmt: skip
    if not setting:
        yield curves(
            figure="6-large", title="SJF-BCO with more and more servers", x="servers",
            values=tuple(servers[-1] * times for times in MANY),
            make=partial(drawn, horizon=1500), methods={"SJF-BCO": policy("SJF-BCO")},
            metrics=(CONTENTION,), measures={TOGETHER: sharing_jobs}, **same,
        )  # fmt: skip
    if "order" not in setting:
        yield curves(
            figure="7", title="SJF-BCO by its server budget, kappa = 1", x="lambda",
            values=FACTORS, make=lambda seed, factor: drawn(seed),
            methods={"SJF-BCO": with_factor},
            metrics=(CONTENTION, SPREADING, RING_SERVERS), **same,
        )  # fmt: skip


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


# --- measures of claims ------------------------------------------------------------------------


def behind_ff_and_rand(draw: Draw) -> float:
    """Return the percentage of SJF-BCO above the better of FF and RAND, at the worse measure."""
    return max(
        -reduction(draw, "SJF-BCO", ("FF", "RAND"), measure=measure) for measure in (MAKESPAN, MEAN)
    )


def more_spreading(draw: Draw) -> float:
    """Return the share of time that SJF-BCO's further servers cost beyond FF's or RAND's."""
    own, *rivals = (draw.value(policy, measure=SPREADING) for policy in ("SJF-BCO", "FF", "RAND"))
    return own - min(rivals)


def lost_share(draw: Draw, policies: Sequence[str]) -> float:
    """Return the largest share of the time of all jobs that spreading and contention cost."""
    return max(
        sum(draw.value(policy, measure=measure) for measure in (CONTENTION, SPREADING))
        for policy in policies
    )


def _bends(curve: Sequence[float]) -> tuple[list[int], list[int]]:
    """Return the directions of a curve, 1 or -1, each once, and the indices where they change.

    Equal neighbours have no direction; a bend lies at the first of equal values.
    """
    directions: list[int] = []
    bends: list[int] = []
    place = 0  # index of the last change of the value
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


WAVE = [-1, 1, -1]  # the directions of the curve that the paper describes


def wave(*, text: str, source: str) -> Claim:
    """Return the claim that the makespan falls, rises and falls; its number are the bends."""

    def bends(draw: Draw) -> tuple[list[int], list[int]]:
        return _bends(draw.curve("SJF-BCO"))

    return Claim(
        text, source, lambda draw: bends(draw)[0] == WAVE, lambda draw: len(bends(draw)[1])
    )


def change_in_phase(draw: Draw, phase: int, measures: Sequence[str]) -> float:
    """Return by how much a sum of measures changes in one phase of the curve of Figure 5.

    `phase`: 0 where the makespan first falls, 1 where it rises, 2 where it falls again.
    """
    directions, bends = _bends(draw.curve("SJF-BCO"))
    columns = [draw.curve("SJF-BCO", measure) for measure in measures]
    if directions != WAVE:
        raise NotApplicableError("the makespan does not fall, rise and fall again")
    start, end = list(pairwise([0, *bends, -1]))[phase]
    return sum(column[end] - column[start] for column in columns)


def small_contention(draw: Draw) -> float:
    """Return the largest share of contention of the jobs up to kappa; not all jobs are small."""
    return max(draw.curve("SJF-BCO", SMALL)[:-1])


def further_drop(draw: Draw) -> float:
    """Return by how much FF falls more than LS and SJF-BCO."""
    return drop(draw, "FF") - max(drop(draw, "LS"), drop(draw, "SJF-BCO"))


def lead_drop(draw: Draw) -> float:
    """Return by how much the lead over the better of FF and LS is larger with few servers."""

    def lead(place: int) -> float:
        x = draw.xs[place]
        rival = min(draw.value(name, x) for name in ("FF", "LS"))
        return 100 * (rival / draw.value("SJF-BCO", x) - 1)

    return lead(0) - lead(-1)


CLAIMS = load_claims(
    Path(__file__).with_name("claims.toml"), behind_ff_and_rand, more_spreading, lost_share, wave,
    change_in_phase, small_contention, further_drop, lead_drop,
)  # fmt: skip
