"""Figures 3-14 of the paper as experiments, with its statements about them as predicates.

The text of the paper quotes no values from the figures. Series of ours, marked so, stand beside
those of the paper: A_online with any start in a round, A_online without prices, and a list schedule
in order of arrival, which decides on each job at its arrival, with neither rounds nor prices.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import pairwise
from typing import Any, Literal

from schedgap.instances.edge import EdgeInstance
from schedgap.instances.generate import generate
from schedgap.models.figure import (
    ENDS,
    STEPWISE,
    Claim,
    Draw,
    Experiment,
    MissingValueError,
    NotApplicableError,
    Position,
    apart,
    best,
    curves,
    parts,
)

A_ONLINE, PREEMPTIVE, PAID = "A_online", "Preemptive", "Preemptive with overhead"
OWN = {A_ONLINE: "a-online"}
RIVALS = {"FIFO": "fifo", "DRF": "drf", "BatchSche": "batch-sche"}
ANY_START = {"A_online with any start (ours)": "a-online-any"}
NO_PRICES = {"A_online without prices (ours)": "a-online-no-price"}
BY_ARRIVAL = {"list by arrival (ours)": "list:order=arrival"}
POLICIES = {**OWN, **RIVALS, **ANY_START, **BY_ARRIVAL}
OBJECTIVE = "total completion time (slots)"
USE, RATE, TOGETHER = "worker utilization", "jobs per slot", "colocated jobs"
BEST, BOUND = "best known", "bound"  # series of the methods in `brackets`

SIZES = (100, 150, 200, 250, 300)  # the paper: 100 to 300, of jobs and of edge servers
USUAL = 200
CAPS = tuple(10.0**power for power in range(-12, 1))  # near 1 one busy worker closes a server (E12)
GRADIENTS = (30, 139, 248, 357, 466, 575)  # MB; the paper: 30 to 575
SMALL_JOBS, SMALL_SERVERS = (4, 8, 12, 16, 20), (2, 4, 8)  # so few that optima can be proved
SPANS = (96, 1536)  # T of the paper, beside 384: jobs arrive up to T / 1.5
OVERHEADS = (16, 64)  # slots, beside 1

Settings = Mapping[str, float | str]
# Name of an axis, its values, and the instance for a seed and a value.
Axis = tuple[str, Sequence[float], Callable[[int, Any], EdgeInstance]]


def experiments(
    *,
    quick: bool = False,
    seeds: Sequence[int] = range(10),
    sizes: Sequence[int] | None = None,
    usual: int | None = None,
    small_jobs: Sequence[int] | None = None,
) -> list[Experiment]:
    """Return the experiments for Figures 3-14, at our defaults and at other settings.

    `quick`: a tenth of the paper's jobs and servers with one worker type instead of nine, so that
    as many jobs and servers share a type; three positions on an axis, and bounds without an engine.
    `seeds`: one draw for each seed: the same servers and jobs along an axis, up to their number.
    `sizes`: numbers of jobs or of edge servers along the axes. `usual`: number of jobs and of edge
    servers where the figure does not vary them. `small_jobs`: numbers of jobs in Figure 14, which
    compares with proved optima.

    Notes
    -----
    Source: Section VI. Objective (2): the sum of c_j - a_j. The paper does not state T, the types
    on a server, and the overhead of preemption. Settings: `T`, so that jobs arrive up to T / 1.5,
    while the horizon of the instance lets every method end; `servers` = mixed, a type for each
    single worker and PS; `overhead` in slots; `F`, the range of the caps of the prices. Figure 14
    has ranges of ours, small enough to prove optima; Figure 14-scale has the instances of Figure 3.
    The copies at other settings have no bound and no best known schedule beside them.
    """
    sizes = sizes or ((10, 20, 30) if quick else SIZES)
    usual = usual or (20 if quick else USUAL)
    scaled = {"worker_types": 1, "ps_types": 1} if quick else {}
    gradients = (30, 302, 575) if quick else GRADIENTS
    caps = CAPS[::3] if quick else CAPS

    @cache
    def draw(seed: int, **changed: object) -> EdgeInstance:
        fixed = {"jobs": usual, "edge_servers": usual, **scaled}
        return _generated(seed, {**fixed, **changed})

    def jobs(over: Mapping[str, object]) -> Axis:
        return "jobs", sizes, lambda seed, x: draw(seed, **{**over, "jobs": x})

    def servers(over: Mapping[str, object]) -> Axis:
        return "edge servers", sizes, lambda seed, x: draw(seed, **{**over, "edge_servers": x})

    def gradient(over: Mapping[str, object]) -> Axis:
        return "MB", gradients, lambda seed, x: draw(seed, **{**over, "gradient": str(x)})

    def cap(values: Sequence[float], over: Mapping[str, object]) -> Axis:
        def make(seed: int, x: float) -> EdgeInstance:
            return draw(seed, **over, worker_price_cap=x, ps_price_cap=x)

        return "F_1 = F_2", values, make

    brackets = ("job-alone", "list:moves=0") if quick else ("type-bound", "list:moves=30")

    def figure(
        number: str, title: str, axis: Axis, methods: Mapping[str, str], claims: Sequence[Claim],
        metrics: tuple[str, ...] = (), setting: Settings | None = None,
        bounds: tuple[str, ...] = brackets, ratio: bool = False,
    ) -> Experiment:  # fmt: skip
        x, values, make = axis
        bounds = () if setting else bounds
        return curves(
            values, seeds, make, methods, family="edge", figure=number, title=title, x=x,
            claims=tuple(claims), objective=OBJECTIVE, brackets=bounds, metrics=metrics,
            setting=setting or {}, time_limit=60.0 if quick else 300.0, ratio=ratio,
        )  # fmt: skip

    def with_overhead(slots: int) -> dict[str, str]:
        option = "" if slots == 1 else f":overhead={slots}"
        return {**OWN, PREEMPTIVE: f"preemptive-overhead{option}"}

    found = []
    for setting, over in _scan(quick):
        policies = POLICIES if not setting else {**OWN, **RIVALS, **BY_ARRIVAL}
        found += [
            figure("3", "Four policies by the number of jobs", jobs(over), policies,
                   policy_claims("3", "jobs", "rises"), (USE,), setting),
            figure("4", "Four policies by the number of edge servers", servers(over), policies,
                   policy_claims("4", "edge servers", "falls"), (USE,), setting),
        ]  # fmt: skip
    early = {"arrival_horizon": SPANS[0]}
    price_title = "A_online by the caps of its prices"
    found += [
        figure("5", price_title, cap(caps, {}), {**OWN, **NO_PRICES}, PRICE_CLAIMS, (RATE,)),
        figure("5", price_title, cap(caps, early), OWN, PRICE_CLAIMS, (RATE,), {"T": SPANS[0]}),
        figure("5", price_title, cap([10.0**power for power in range(0, 7, 3)], {}), OWN,
               PRICE_CLAIMS, (RATE,), {"F": "1 to 10^6"}),
        figure("6", "A_online by the number of edge servers", servers({}), {**OWN, **ANY_START},
               SERVER_CLAIMS, (RATE,)),
    ]  # fmt: skip
    free = {**OWN, PREEMPTIVE: "preemptive"}
    for number, axis in (("7", jobs({})), ("8", servers({}))):
        title = f"Preemption without overhead, by {axis[0]}"
        found.append(figure(number, title, axis, free, free_claims(number)))
    for slots in (1, *OVERHEADS):
        setting = {} if slots == 1 else {"overhead": slots}
        for number, axis in (("9", jobs({})), ("10", servers({}))):
            title = f"Preemption with overhead, by {axis[0]}"
            found.append(
                figure(number, title, axis, with_overhead(slots), paid_claims(number),
                       setting=setting)
            )  # fmt: skip
    found.append(
        figure("11", "Preemption by the size of the gradients", gradient({}),
               {**free, PAID: "preemptive-overhead"}, GRADIENT_CLAIMS, (TOGETHER,))
    )  # fmt: skip
    for setting, over in _scan(quick):
        found += [
            figure("12", "Utilization of workers by the number of jobs", jobs(over), free,
                   use_claims("12", "jobs"), (USE,), setting),
            figure("13", "Utilization of workers by the number of servers", servers(over), free,
                   use_claims("13", "edge servers"), (USE,), setting),
        ]  # fmt: skip
    exact = ("cp-sat",) if quick else ("exact",)
    few = small_jobs or ((4, 6, 8) if quick else SMALL_JOBS)
    middle = few[len(few) // 2]
    repaired = {**OWN, **ANY_START, **BY_ARRIVAL}
    by_jobs: Axis = "jobs", few, lambda seed, x: small(seed, SMALL_SERVERS[1], x)
    by_servers: Axis = "edge servers", SMALL_SERVERS, partial(small, jobs=middle)
    found += [
        figure("14", "A_online and the optimum by the number of jobs", by_jobs, repaired,
               [ratio_rises("14", "jobs"), CLOSE_CLAIM], bounds=exact, ratio=True),
        figure("14-servers", "A_online and the optimum by the number of edge servers", by_servers,
               repaired, [ratio_rises("14", "edge servers"), CLOSE_CLAIM], bounds=exact,
               ratio=True),
        figure("14-scale", "A_online and the best known schedule at the size of Figure 3",
               jobs({}), repaired, [CLOSE_CLAIM], ratio=True),
    ]  # fmt: skip
    return found


def _scan(quick: bool) -> list[tuple[Settings, Mapping[str, object]]]:
    """Return settings that the paper does not state, with those of the generator."""
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


# --- claims ------------------------------------------------------------------------------------


def moves(
    series: Iterable[str],
    direction: Literal["rises", "falls"],
    *,
    text: str,
    source: str,
    measure: str | None = None,
    if_any: bool = False,
) -> Claim:
    """Return the claim that each series rises or falls along the axis, without a step back.

    A series that does not change does neither. The number is the least change from the first
    position to the last, in percent; of series that should fall, the greatest.

    `series`: names of the series. `text`, `source`: see `Claim`. `measure`: by default the figure's
    objective. `if_any`: whether the claim explains a change, and so does not apply where no series
    changes.
    """
    names, sign = tuple(series), 1 if direction == "rises" else -1
    worst = min if direction == "rises" else max

    def holds(draw: Draw) -> bool:
        listed = [draw.curve(name, measure) for name in names]
        if if_any and all(min(curve) == max(curve) for curve in listed):
            raise NotApplicableError("nothing changes along the axis")
        return all(_rises([sign * value for value in curve]) for curve in listed)

    def change(draw: Draw) -> float:
        listed = [draw.curve(name, measure) for name in names]
        return worst(100 * (curve[-1] / curve[0] - 1) for curve in listed)

    return Claim(f"{text} {STEPWISE}", source, holds, change, "%")


def _rises(curve: Sequence[float]) -> bool:
    steps = [after - before for before, after in pairwise(curve)]
    return min(steps) >= 0 and curve[-1] > curve[0]


def policy_claims(number: str, axis: str, direction: Literal["rises", "falls"]) -> list[Claim]:
    """Return the claims of Figures 3 and 4.

    `axis`: what varies. `direction`: how the total completion time follows it.
    """
    source = f"Section VI, Fig. {number}"
    word = "grows" if direction == "rises" else "falls"
    change = f"The total completion time {word} with the number of {axis}"
    better = "A_online is obviously better than DRF, FIFO and BatchSche, and so superior"
    use = "A_online has good resource utilization compared with the other algorithms"
    return [
        *parts(change, *(
            moves([name], direction, source=source,
                  text=f"The total completion time of {name} {word} with the number of {axis}")
            for name in (A_ONLINE, *RIVALS)
        )),
        *parts(better, *(
            best(A_ONLINE, [name], source=f"{source}; Abstract",
                 text=f"A_online is obviously better than {name} (judged: better)")
            for name in RIVALS
        )),
        *parts(use, *(
            best(A_ONLINE, [name], better="higher", measure=USE, source="Section VII",
                 text=f"A_online uses more of the workers than {name} (judged: more)")
            for name in RIVALS
        )),
    ]  # fmt: skip


PRICE_CLAIMS = [
    moves([A_ONLINE], "rises", source="Section VI, Fig. 5",
          text="The larger F, the larger the total (weighted) completion time"),
    Claim("Accepting a job raises the unit prices of the resources that it uses",
          "Section VI, explanation of Fig. 5",
          given="the prices (7) and (8) rise with the workers and parameter servers in use"),
    *parts("The larger F, the more jobs are served in the same time, so that the total (weighted) "
           "completion time is smaller",
           moves([A_ONLINE], "rises", source="Section VI, explanation of Fig. 5", measure=RATE,
                 if_any=True, text="With larger F, more jobs are served in the same time"),
           moves([A_ONLINE], "falls", source="Section VI, explanation of Fig. 5", if_any=True,
                 text="With larger F, the total (weighted) completion time is smaller")),
]  # fmt: skip
SERVER_CLAIMS = [
    moves([A_ONLINE], "falls", source="Section VI, Fig. 6",
          text="The total (weighted) completion time of A_online falls with the number of edge "
          "servers"),
    moves([A_ONLINE], "rises", source="Section VI, Fig. 6", measure=RATE,
          text="With more edge servers, more jobs are served in the same time"),
]  # fmt: skip


def free_claims(number: str) -> list[Claim]:
    """Return the claim of Figures 7 and 8."""
    text = "Without upload delay and overhead of preemption, Preemptive is better than A_online"
    claim = best(PREEMPTIVE, [A_ONLINE], text=f"{text} in Fig. {number}",
                 source=f"Section VI, Fig. {number}")  # fmt: skip
    return [*parts(text, claim)]


def paid_claims(number: str) -> list[Claim]:
    """Return the claim of Figures 9 and 10."""
    text = "With the overhead of preemption, A_online is slightly better than Preemptive"
    claim = best(A_ONLINE, [PREEMPTIVE], text=f"{text} in Fig. {number} (judged: better)",
                 source=f"Section VI, Fig. {number}")  # fmt: skip
    return [*parts(text, claim)]


def _lead(draw: Draw, x: Position) -> float:
    """Return by how much A_online's value exceeds Preemptive's, as a factor."""
    return draw.value(A_ONLINE, x) / draw.value(PREEMPTIVE, x)


def _gathered(name: str) -> tuple[Claim, Claim]:
    """Return the share of jobs on one server at the largest gradients, and how much it grew."""
    source = "Section VI, Fig. 11"
    largest = Claim(
        f"{name}: share of the jobs on one server, with the largest gradients", source,
        threshold="ours",
        measure=lambda draw: 100 * draw.curve(name, TOGETHER)[-1], unit="% of the jobs",
    )  # fmt: skip
    growth = Claim(
        f"{name}: growth of this share from the smallest gradients to the largest",
        source, threshold="ours",
        measure=lambda draw: 100 * (draw.curve(name, TOGETHER)[-1] - draw.curve(name, TOGETHER)[0]),
        unit="points",
    )  # fmt: skip
    return largest, growth


UNDEFINED = "the paper does not define the fragments of resources"
GRADIENT_CLAIMS = [
    best(PREEMPTIVE, [A_ONLINE], source="Section VI, Fig. 11",
         text="Preemptive is significantly better than A_online as gradients grow (judged: "
         "better)"),
    *apart("not stated", Claim(
        f"The lead of Preemptive grows with the gradients {ENDS}", "Section VI, Fig. 11",
        lambda draw: _lead(draw, draw.xs[-1]) > _lead(draw, draw.xs[0]),
        lambda draw: _lead(draw, draw.xs[-1]) / _lead(draw, draw.xs[0]), "x")),
    *parts("As gradients grow, jobs tend to be placed on one server",
           *_gathered(A_ONLINE), *_gathered(PREEMPTIVE)),
    Claim("Preemption eliminates the fragments that schedules without it generate, and so reduces "
          "the total completion time", "Section VI, Figs. 11-13", untestable=UNDEFINED),
]  # fmt: skip


def use_claims(number: str, axis: str) -> list[Claim]:
    """Return the claims of Figures 12 and 13.

    `axis`: what varies.
    """
    source = f"Section VI, Fig. {number}"
    fragments = Claim(f"Fragments increase in A_online with the number of {axis}", source,
                      untestable=UNDEFINED)  # fmt: skip
    harm = "With the number of edge servers fragments increase further, which harms the utilization"
    worse = moves(
        [A_ONLINE],
        "falls",
        source=source,
        measure=USE,
        text="A_online uses a smaller share of the workers with more edge servers",
    )
    more = best(
        PREEMPTIVE,
        [A_ONLINE],
        better="higher",
        source=source,
        measure=USE,
        text=f"Preemptive uses more of the workers than A_online in Fig. {number}",
    )
    return [
        *([fragments] if number == "12" else parts(harm, fragments, worse)),
        *parts("Preemptive has the better utilization", more),
    ]  # fmt: skip


def _ratio(draw: Draw, x: Position) -> tuple[float, float]:
    """Return bounds on A_online's ratio to the optimum."""
    value = draw.value(A_ONLINE, x)
    return value / draw.value(BEST, x), value / draw.value(BOUND, x)


def ratio_rises(number: str, axis: str) -> Claim:
    """Return the claim that the performance ratio rises along the axis, from its first position.

    On a draw it is judged only if the ratios at both ends are known well enough.

    `axis`: what varies.
    """

    def holds(draw: Draw) -> bool:
        first, last = _ratio(draw, draw.xs[0]), _ratio(draw, draw.xs[-1])
        if first[1] < last[0]:
            return True
        if last[1] <= first[0]:
            return False
        raise MissingValueError("the optimum is not known well enough")

    def change(draw: Draw) -> float:
        return 100 * (_ratio(draw, draw.xs[-1])[0] / _ratio(draw, draw.xs[0])[0] - 1)

    text = f"The performance ratio of A_online shows an increasing trend in the number of {axis} "
    text += ENDS
    return Claim(text, f"Section VI, Fig. {number}", holds, change, "%")


(CLOSE_CLAIM,) = parts(
    "The overall performance ratio of A_online is close to 1",
    Claim(
        "The largest performance ratio of A_online on the axis, to the best known schedule",
        "Section VI, Fig. 14",
        measure=lambda draw: max(_ratio(draw, x)[0] for x in draw.xs),
        unit="x",
        threshold="ours",
    ),
)
