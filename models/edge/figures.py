"""Figures 3-14 of the paper as experiments, with the measures that its claims need.

`claims.toml` has the claims; the text of the paper quotes no values from the figures. Series marked
as ours stand next to the paper's: A_online with any start in a round, A_online without prices, and
a list schedule in order of arrival. The list schedule decides on each job at its arrival, with
neither rounds nor prices.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from schedgap.instances.edge import EdgeInstance
from schedgap.instances.generate import generate
from schedgap.models.claims import load_claims, with_claims
from schedgap.models.figure import BRACKETS, Claim, Draw, Experiment, MissingValueError, curves

A_ONLINE, PREEMPTIVE, PAID = "A_online", "Preemptive", "Preemptive with overhead"
OWN = {A_ONLINE: "a-online"}
BASELINES = {"FIFO": "fifo", "DRF": "drf", "BatchSche": "batch-sche"}
ANY_START = {"A_online with any start (ours)": "a-online-any"}
NO_PRICES = {"A_online without prices (ours)": "a-online-no-price"}
BY_ARRIVAL = {"list by arrival (ours)": "list:order=arrival"}
POLICIES = {**OWN, **BASELINES, **ANY_START, **BY_ARRIVAL}
OBJECTIVE = "total completion time (slots)"
USE, RATE, TOGETHER = "worker utilization", "jobs per slot", "colocated jobs"
BEST, BOUND = BRACKETS

SIZES = (100, 150, 200, 250, 300)  # the paper: 100 to 300, of jobs and of edge servers
USUAL = 200
CAPS = tuple(10.0**power for power in range(-12, 1))  # near 1 one busy worker closes a server (E12)
GRADIENTS = (30, 139, 248, 357, 466, 575)  # MB; the paper: 30 to 575
SMALL_JOBS, SMALL_SERVERS = (4, 8, 12, 16, 20), (2, 4, 8)  # small enough that optima can be proved
SPANS = (96, 1536)  # T of the paper is 384, too: jobs arrive up to T / 1.5
OVERHEADS = (16, 64)  # slots; 1 in the other figures

Settings = Mapping[str, float | str]
Fields = dict[str, Any]  # fields of `Experiment`


def experiments(
    *,
    quick: bool = False,
    seeds: Sequence[int] = range(10),
    sizes: Sequence[int] | None = None,
    usual: int | None = None,
    small_jobs: Sequence[int] | None = None,
) -> list[Experiment]:
    """Return the experiments for Figures 3-14, at our defaults and at other settings.

    `quick`: a tenth of the paper's jobs and servers with one worker type instead of nine: as
    many jobs and servers share a type; three positions on an axis, and bounds without an engine.
    `seeds`: one draw for each seed: the same servers and jobs along an axis, up to their number.
    `sizes`: numbers of jobs or of edge servers along the axes. `usual`: number of jobs and of edge
    servers where the figure does not vary them. `small_jobs`: numbers of jobs in Figure 14, which
    compares with proved optima.

    Notes
    -----
    Source: Section VI. Objective (2): the sum of c_j - a_j. The paper does not state T, the types
    on a server, and the overhead of preemption. Settings: `T`; jobs arrive up to T / 1.5,
    while the horizon of the instance lets every method end; `servers` = mixed, a type for each
    single worker and PS; `overhead` in slots; `F`, the range of the caps of the prices. Figure 14
    has ranges of ours, small enough to prove optima; Figure 14-scale has the instances of Figure 3.
    The copies at other settings show no bound and no best known schedule.
    """
    sizes = sizes or ((10, 20, 30) if quick else SIZES)
    usual = usual or (20 if quick else USUAL)
    few = small_jobs or ((4, 6, 8) if quick else SMALL_JOBS)
    return with_claims(_figures(quick, seeds, sizes, usual, few), CLAIMS)


def _figures(
    quick: bool, seeds: Sequence[int], sizes: Sequence[int], usual: int, few: Sequence[int]
) -> Iterator[Experiment]:
    """Yield all figures; `experiments` explains the parameters."""
    scaled = {"worker_types": 1, "ps_types": 1} if quick else {}
    brackets = ("job-alone", "list:moves=0") if quick else ("type-bound", "list:moves=30")

    @cache
    def draw(seed: int, **changed: object) -> EdgeInstance:
        fixed = {"jobs": usual, "edge_servers": usual, **scaled}
        return _generated(seed, {**fixed, **changed})

    def by(x: str, key: str, **over: object) -> Fields:
        """Return the axis of a setting that is a number of jobs or servers."""
        return {"x": x, "values": sizes, "make": lambda seed, n: draw(seed, **{**over, key: n})}

    jobs, servers = partial(by, "jobs", "jobs"), partial(by, "edge servers", "edge_servers")

    def by_cap(values: Sequence[float], **over: object) -> Fields:
        def make(seed: int, x: float) -> EdgeInstance:
            return draw(seed, **over, worker_price_cap=x, ps_price_cap=x)

        return {"x": "F_1 = F_2", "values": values, "make": make}

    def figure(number: str, title: str, methods: Mapping[str, str], **more: Any) -> Experiment:
        """Return a figure; those at other settings have no bound and no best known schedule."""
        same = {"brackets": () if more.get("setting") else brackets, "objective": OBJECTIVE}
        return curves(
            seeds=seeds, methods=methods, family="edge", figure=number, title=title,
            time_limit=60.0 if quick else 300.0, **same | more,
        )  # fmt: skip

    for setting, over in _scan(quick):
        policies = POLICIES if not setting else {**OWN, **BASELINES, **BY_ARRIVAL}
        scan: Fields = {"metrics": (USE,), "setting": setting}
        yield figure("3", "Four policies by the number of jobs", policies, **jobs(**over), **scan)
        yield figure("4", "Four policies by the number of edge servers", policies,
                     **servers(**over), **scan)  # fmt: skip
    caps = CAPS[::3] if quick else CAPS
    by_price = partial(figure, "5", "A_online by the caps of its prices", metrics=(RATE,))
    yield by_price({**OWN, **NO_PRICES}, **by_cap(caps))
    yield by_price(OWN, **by_cap(caps, arrival_horizon=SPANS[0]), setting={"T": SPANS[0]})
    yield by_price(OWN, **by_cap([1.0, 1e3, 1e6]), setting={"F": "1 to 10^6"})
    yield figure("6", "A_online by the number of edge servers", {**OWN, **ANY_START},
                 metrics=(RATE,), **servers())  # fmt: skip
    free = {**OWN, PREEMPTIVE: "preemptive"}
    for number, axis in (("7", jobs()), ("8", servers())):
        yield figure(number, f"Preemption without overhead, by {axis['x']}", free, **axis)
    for slots in (1, *OVERHEADS):
        setting = {} if slots == 1 else {"overhead": slots}
        paid = "preemptive-overhead" + (f":overhead={slots}" if setting else "")
        for number, axis in (("9", jobs()), ("10", servers())):
            yield figure(number, f"Preemption with overhead, by {axis['x']}",
                         {**OWN, PREEMPTIVE: paid}, setting=setting, **axis)  # fmt: skip
    yield figure(
        "11", "Preemption by the size of the gradients", {**free, PAID: "preemptive-overhead"},
        x="MB", values=(30, 302, 575) if quick else GRADIENTS, metrics=(TOGETHER,),
        make=lambda seed, x: draw(seed, gradient=str(x)),
    )  # fmt: skip
    for setting, over in _scan(quick):
        for number, words, along in (("12", "jobs", jobs), ("13", "servers", servers)):
            yield figure(number, f"Utilization of workers by the number of {words}", free,
                         metrics=(USE,), setting=setting, **along(**over))  # fmt: skip
    repaired = {**OWN, **ANY_START, **BY_ARRIVAL}
    ratios = partial(figure, methods=repaired, ratio=True)
    proved: Fields = {"brackets": ("cp-sat",) if quick else ("exact",)}
    yield ratios("14", "A_online and the optimum by the number of jobs", x="jobs", values=few,
                 make=lambda seed, n: small(seed, SMALL_SERVERS[1], n), **proved)  # fmt: skip
    yield ratios("14-servers", "A_online and the optimum by the number of edge servers",
                 x="edge servers", values=SMALL_SERVERS,
                 make=partial(small, jobs=few[len(few) // 2]), **proved)  # fmt: skip
    yield ratios("14-scale", "A_online and the best known schedule at the size of Figure 3",
                 **jobs())  # fmt: skip


def _scan(quick: bool) -> list[tuple[Settings, Mapping[str, object]]]:
    """Return settings that the paper does not state, each with the generator's settings."""
    mixed: dict[str, object] = {"server_types": "mixed"}
    if quick:  # one type cannot be mixed: three, each with a third of the cloud
        mixed |= {"worker_types": 3, "ps_types": 3, "cloud_workers": 21, "cloud_ps": 21}
    return [
        ({}, {}),
        *(({"T": span}, {"arrival_horizon": span}) for span in SPANS),
        ({"servers": "mixed"}, mixed),
    ]


def small(seed: int, servers: int, jobs: int) -> EdgeInstance:
    """Return an instance of Figure 14: the paper's ranges, scaled until optima can be proved.

    `servers`: number of edge servers. `jobs`: number of jobs.
    """
    scaled = {
        "worker_types": 1, "ps_types": 1, "cloud_workers": 8, "cloud_ps": 8, "cloud_delay": "6-10",
        "epochs": "2-4", "chunks": "3-8", "arrival_horizon": 18, "horizon": 256,
    }  # fmt: skip
    return _generated(seed, {**scaled, "jobs": jobs, "edge_servers": servers})


def _generated(seed: int, settings: Mapping[str, object]) -> EdgeInstance:
    """Return an instance of preset `paper` with some settings changed."""
    instance = generate("edge", preset="paper", seed=seed, settings=settings)
    assert isinstance(instance, EdgeInstance)
    return instance


# --- measures of claims ----------------------------------------------------------------------


def lead_growth(draw: Draw) -> float:
    """Return the factor by which the ratio of A_online to Preemptive grows along the axis."""
    first, last = (
        draw.value(A_ONLINE, draw.xs[place]) / draw.value(PREEMPTIVE, draw.xs[place])
        for place in (0, -1)
    )
    return last / first


def ratio_rises(*, text: str, source: str) -> Claim:
    """Return the claim that A_online's ratio to the optimum is larger at the end of the axis.

    On a draw it is judged only if the ratios at both ends are known well enough.
    """

    def ratio(draw: Draw, place: int) -> tuple[float, float]:
        """Return bounds on the ratio."""
        x = draw.xs[place]
        value = draw.value(A_ONLINE, x)
        return value / draw.value(BEST, x), value / draw.value(BOUND, x)

    def holds(draw: Draw) -> bool:
        first, last = ratio(draw, 0), ratio(draw, -1)
        if first[1] < last[0]:
            return True
        if last[1] <= first[0]:
            return False
        raise MissingValueError("the optimum is not known well enough")

    def change(draw: Draw) -> float:
        return 100 * (ratio(draw, -1)[0] / ratio(draw, 0)[0] - 1)

    return Claim(text, source, holds, change, "%")


CLAIMS = load_claims(Path(__file__).with_name("claims.toml"), lead_growth, ratio_rises)
