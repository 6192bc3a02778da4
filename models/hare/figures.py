"""The paper's figures and tables as experiments, with the measures that its claims need.

`claims.toml` has the claims.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np

from schedgap.instances.generate import generate
from schedgap.instances.hare import HareInstance, HareSchedule, arrays
from schedgap.models.claims import load_claims, with_claims
from schedgap.models.figure import STEPWISE, Claim, Draw, Experiment, Measure, bars, curves

HARE, FINISH = "Hare", "Hare with finish (ours)"
FIFO, SRTF, HOMO, ALLOX = "Gavel_FIFO", "SRTF", "Sched_Homo", "Sched_Allox"
BASELINES = (FIFO, SRTF, HOMO, ALLOX)  # the paper's schemes for comparison
CLASSES = ("CV", "NLP", "Speech", "Rec")
MIXES = ("low", "middle", "high")
NOT_PREEMPTIVE = {SRTF: "srtf:preempt=false"}
MINUTES = (10, 15, 20, 25, 30, 40, 50, 60)  # times in Figure 13
COMBINATIONS = {  # Figure 5: GPUs of each kind; ours, the text does not name the paper's five
    "4 K80": "K80:4", "2 K80, 2 T4": "K80:2,T4:2", "2 K80, 2 V100": "K80:2,V100:2",
    "4 T4": "T4:4", "4 V100": "V100:4",
}  # fmt: skip
# Quick: a fifth of the GPUs and jobs, and four rounds in one: the load stays the same.
QUICK: dict[str, object] = {
    "rounds_cv": "5-10",
    "rounds_nlp": "8-15",
    "rounds_speech": "5-10",
    "rounds_rec": "3-5",
    "batches_per_task": 80,
}
DEFAULTS: dict[str, object] = {"mix": "high", "bandwidth": 25, "batch_factor": 1}

Fields = dict[str, Any]  # fields of `Experiment` that several figures have in common


def experiments(
    *,
    quick: bool = False,
    seeds: Sequence[int] = range(10),
    gpus: Sequence[int] = (),
    jobs: Sequence[int] = (),
    testbed_jobs: int = 40,
) -> list[Experiment]:
    """Return the experiments behind the figures, on instances drawn from the paper's workload.

    `quick`: whether to scale the simulations to a fifth of the GPUs and jobs, with a quarter of the
    rounds, each four times as long. `seeds`: seeds of the instances, one draw each. `gpus`, `jobs`:
    numbers of GPUs and of jobs along the axes; a figure that varies another quantity uses the
    middle entry. By default the paper's. `testbed_jobs`: number of jobs on the 15 GPUs of the
    testbed.

    Notes
    -----
    Source: Sections 1, 2, 4 and 7. The paper's relaxation cannot be solved at this scale, so
    `hare-fluid` represents Hare. One series takes the GPU that is free first, as printed. Another
    one (ours) takes the GPU that finishes the task first. `List with finish (ours)` has the
    same rule for GPUs and no relaxation; `Sched_Allox weighted (ours)` starts jobs by weight over
    length. Along each axis the same jobs are drawn.
    """
    gpus = tuple(gpus) or ((16, 32, 48) if quick else (80, 120, 160, 200, 240))
    jobs = tuple(jobs) or ((20, 40, 60) if quick else (100, 150, 200, 250, 300))
    return with_claims(_figures(quick, tuple(seeds), gpus, jobs, testbed_jobs), CLAIMS)


def _figures(
    quick: bool, seeds: Sequence[int], gpus: Sequence[int], jobs: Sequence[int], testbed_jobs: int
) -> Iterator[Experiment]:
    """Yield all figures; `experiments` explains the parameters."""
    cells = "cells=30" if quick else "cells=100"
    brackets = ("fluid-lp:cells=30",) if quick else ("lagrangian", "local-search:moves=200")
    schemes = {
        HARE: f"hare-fluid:{cells}",
        FINISH: f"hare-fluid:{cells}:gpu_rule=finish",
        "List with finish (ours)": "list",
        FIFO: "gavel-fifo",
        SRTF: "srtf",
        HOMO: "sched-homo",
        ALLOX: "sched-allox",
        "Sched_Allox weighted (ours)": "sched-allox:weighted=true",
    }
    scanned = {name: schemes[name] for name in (HARE, FINISH, *BASELINES)}

    @cache
    def draw(preset: str, seed: int, **settings: object) -> HareInstance:
        made = generate("hare", preset=preset, seed=seed, settings=settings)
        assert isinstance(made, HareInstance)
        return made

    def drawn(preset: str, seed: int, **settings: object) -> HareInstance:
        """Return an instance of Section 7; settings with their usual values change nothing."""
        changed = {key: x for key, x in settings.items() if DEFAULTS.get(key) != x}
        return draw(preset, seed, **(QUICK if quick else {}) | changed)

    def simulated(seed: int, **more: object) -> HareInstance:
        usual = {"gpus": gpus[len(gpus) // 2], "jobs": jobs[len(jobs) // 2]}
        return drawn("paper", seed, **usual | more)

    def by(key: str, **more: object) -> Callable[[int, Any], HareInstance]:
        """Return the function that draws a simulation for a seed and a value of a setting."""
        return lambda seed, x: simulated(seed, **more, **{key: x})

    def share_of(name: str, seed: int, x: float) -> HareInstance:
        """Return a simulation in which a class of jobs has a share; 25 % is usual."""
        return simulated(seed, **({} if x == 0.25 else {"shares": f"{name}:{x}"}))

    same: Fields = {"family": "hare", "objective": "weighted completion time"}
    same |= {"time_limit": 60.0 if quick else 900.0}
    unbounded: Fields = {"brackets": ()}
    yield from _examples(draw, same | {"seeds": (0,), "brackets": ("exact",)})

    same |= {"seeds": seeds, "brackets": brackets}
    testbed = partial(drawn, "testbed", jobs=testbed_jobs)
    modes = ("default", "pipeswitch", "hare", "hare-memory")
    names = ("objective, {} switching", "{} switching share (%)")
    yield bars(
        figure="table-3", title="Switching on the testbed, one mini-batch per task", x="scheme",
        make=partial(testbed, switching=True, batches_per_task=1,  # 20 times as short
                     arrival_span=600 / 20 / (4 if quick else 1)),
        methods=schemes, metrics=tuple(name.format(mode) for mode in modes for name in names),
        **same | unbounded,
    )  # fmt: skip
    testbed = partial(testbed, completed_by=",".join(str(60 * minutes) for minutes in MINUTES))
    settings: list[dict[str, Any]] = [
        {}, {"tasks_per_round": 8}, {"tasks_per_round": 1}, {"arrival_span": 0},
    ]  # fmt: skip
    for setting, holding in [*product(settings, (False,)), *product(settings[:2], (True,))]:
        scan = bool(setting or holding)
        yield bars(
            figure="12", title="Schemes on the testbed", x="scheme",
            make=partial(testbed, **setting),
            setting=setting | ({"srtf": "not-preemptive"} if holding else {}),
            methods=(scanned if scan else schemes) | (NOT_PREEMPTIVE if holding else {}),
            **same | {"brackets": brackets[: 1 if scan else None]},
        )  # fmt: skip
    yield bars(
        figure="13", title="Jobs complete by a time", x="scheme", make=testbed,
        methods=schemes, metrics=tuple(map(_complete, MINUTES)), measures=GPU_USE, **same,
    )  # fmt: skip

    def figure(number: str, words: str, x: str, values: Sequence[Any], **more: Any) -> Experiment:
        common = same | {"methods": scanned} | more
        return curves(figure=number, title=f"Schemes by {words}", x=x, values=values, **common)

    bounded_if_full = unbounded if quick else {}
    by_gpus = partial(figure, "14", "the number of GPUs", "GPUs", gpus, make=by("gpus"))
    yield by_gpus(methods=schemes)
    yield by_gpus(setting={"srtf": "not-preemptive"}, methods=scanned | NOT_PREEMPTIVE, **unbounded)
    yield figure("15", "the number of jobs", "jobs", jobs, make=by("jobs"))
    yield figure("16", "how unlike the GPUs are", "heterogeneity", MIXES, make=by("mix"),
                 measures=GPU_USE)  # fmt: skip
    shares = (0.25, 0.55) if quick else (0.25, 0.35, 0.45, 0.55)
    for name in CLASSES:
        yield figure(f"17-{name}", f"the share of jobs of class {name}", "share", shares,
                     make=partial(share_of, name), **bounded_if_full)  # fmt: skip
    readings: list[dict[str, object]] = [{}, {"sync_cap": False}, {"exchanges": 1}]
    for setting in readings[: 2 if quick else None]:
        yield figure("18", "the bandwidth", "Gbit/s", (10, 15, 25) if quick else (10, 15, 20, 25),
                     make=by("bandwidth", **setting), **unbounded if setting else {},
                     setting={key: str(x).lower() for key, x in setting.items()})  # fmt: skip
    yield figure("19", "the batch size", "batch size / default",
                 (0.5, 1, 4) if quick else (0.5, 1, 2, 4), make=by("batch_factor"),
                 measures=GPU_USE, **bounded_if_full)  # fmt: skip


def _examples(draw: Callable[..., HareInstance], same: Fields) -> Iterator[Experiment]:
    """Yield the figures that are worked examples; their instances are not random."""
    yield bars(
        figure="1", title="The toy example, with times of ours", x="scheme",
        make=partial(draw, "toy"),
        methods={HARE: "hare", FINISH: "hare:gpu_rule=finish", HOMO: "sched-homo",
                 ALLOX: "sched-allox"},
        **same,
    )  # fmt: skip
    yield bars(
        figure="4", title="Rounds that start together, or not", x="synchronization",
        make=partial(draw, "fig4"),
        methods={"fixed": "exact:synchronization=fixed", "relaxed": "exact"},
        **same,
    )  # fmt: skip
    yield curves(
        figure="5", title="One job on four GPUs", x="GPUs", values=COMBINATIONS,
        make=lambda seed, x: draw("fig5", seed, mix=COMBINATIONS[x]),
        methods={"equal shares": "sched-homo", FINISH: "hare-fluid:gpu_rule=finish"},
        **same | {"brackets": ("job-alone",)},
    )  # fmt: skip
    for row in ("default", "hare"):
        yield bars(
            figure="7", title="GraphSAGE and ResNet50 in turn", x="model",
            make=partial(draw, "fig7", row=row), methods={"alternating": "srtf"},
            metrics=("default switching share (%)",),
            setting={} if row == "default" else {"row": row},
            **same | {"brackets": ()},
        )  # fmt: skip
    yield bars(
        figure="10", title="A model that stays in memory", x="schedule",
        make=partial(draw, "fig10"), methods={"i1, i2, i3": "exact"},
        metrics=("pipeswitch switching share (%)", "hare-memory switching share (%)"), **same,
    )  # fmt: skip


def _complete(minutes: int) -> str:
    return f"complete by {60 * minutes} s (%)"


# --- use of the GPUs ---------------------------------------------------------------------------


def gpu_use(instance: HareInstance, schedule: Mapping[str, Any]) -> tuple[float, float, float]:
    """Return how much of the GPUs a schedule uses, and how long they are idle.

    `schedule`: JSON data of a feasible schedule.

    The first number is the training time, in percent of the time of all GPUs until the last task
    has trained. The second is the idle time before the last task of each GPU, as Lemma 3 counts it,
    in percent of the time until this task has trained. The third is the mean of this idle time over
    the GPUs.
    """
    view, plan = arrays(instance), HareSchedule.from_data(instance, schedule)
    train = view.train[np.arange(view.tasks), view.gpu_class[plan.gpu]]
    last = np.zeros(len(instance.gpus))
    np.maximum.at(last, plan.gpu, plan.start + train)
    work, ends = float(train.sum()), float(last.sum())
    used = 100 * work / (len(last) * float(last.max()))
    return used, 100 * (1 - work / ends), (ends - work) / len(last)


USED, IDLE, IDLE_TIME = "GPU utilization (%)", "GPU idle time (%)", "idle time of a GPU"
GPU_USE: dict[str, Measure] = {
    USED: lambda instance, schedule, trace: gpu_use(instance, schedule)[0],
    IDLE: lambda instance, schedule, trace: gpu_use(instance, schedule)[1],
    IDLE_TIME: lambda instance, schedule, trace: gpu_use(instance, schedule)[2],
}


# --- measures of claims ----------------------------------------------------------------------


def mixing_speedup(draw: Draw) -> float:
    """Return how much faster than four K80 the better mix with K80 is, in equal shares."""
    mixed = (draw.value("equal shares", x) for x in ("2 K80, 2 T4", "2 K80, 2 V100"))
    return draw.value("equal shares", "4 K80") / min(mixed)


def busy_share(draw: Draw) -> float:
    """Return the percentage of a round with K80 for which the V100 is busy, in equal shares."""
    alone, mixed = (draw.value("equal shares", x) for x in ("4 V100", "2 K80, 2 V100"))
    return 100 * alone / mixed


def training_share(draw: Draw) -> float:
    """Return the percentage of time in which two models that alternate are trained."""
    return 100 - draw.value("alternating", measure="default switching share (%)")


def switching_cost(draw: Draw) -> float:
    """Return Omega = t_sw / (t_c + t_c'); each pair of mini-batches has two switches."""
    training = training_share(draw)
    return (100 - training) / training / 2


def kept_switching(draw: Draw) -> float:
    """Return the switching time with Hare's memory over PipeSwitch's."""

    def ratio(mode: str) -> float:
        share = draw.value("i1, i2, i3", measure=f"{mode} switching share (%)")
        return share / (100 - share)

    return ratio("hare-memory") / ratio("pipeswitch")


def switching_delay(draw: Draw, mode: str) -> float:
    """Return the percentage that switching adds to the weighted completion time of Hare."""
    value = draw.value(HARE, measure=f"objective, {mode} switching")
    return 100 * (value / draw.value(HARE) - 1)


def bound_reduction(draw: Draw) -> float:
    """Return the percentage by which the bound, the same for all bars, is below the best scheme."""
    return 100 * (1 - draw.value("bound", draw.xs[0]) / min(map(draw.value, BASELINES)))


def lead_at_25_minutes(draw: Draw, hare: str) -> float:
    """Return the smaller lead in the order Hare, Sched_Allox, Sched_Homo of jobs complete."""
    first, second, third = (draw.value(each, measure=_complete(25)) for each in (hare, ALLOX, HOMO))
    return min(first - second, second - third)


def lead_at_90_percent(draw: Draw, hare: str, other: str) -> float:
    """Return the lead of Hare when 90.5 % of its jobs are complete."""
    reached = (m for m in MINUTES if draw.value(hare, measure=_complete(m)) >= 90.5)
    measure = _complete(next(reached, MINUTES[-1]))
    return draw.value(hare, measure=measure) - draw.value(other, measure=measure)


def gaps_grow(hare: str, in_percent: bool, *, text: str, source: str) -> Claim:
    """Return the claim that the gap to Hare grows at each step, for each other scheme.

    A gap is the difference, or the reduction by Hare in percent. The number is the least growth
    from the first to the last position.
    """

    def gaps(draw: Draw) -> list[list[float]]:
        own = draw.curve(hare)
        return [
            [100 * (1 - mine / its) if in_percent else its - mine
             for mine, its in zip(own, draw.curve(other), strict=True)]
            for other in BASELINES
        ]  # fmt: skip

    def holds(draw: Draw) -> bool:
        return all(
            curve[-1] > curve[0] and all(b >= a for a, b in pairwise(curve)) for curve in gaps(draw)
        )

    return Claim(
        f"{text} {STEPWISE}", source, holds,
        lambda draw: min(curve[-1] - curve[0] for curve in gaps(draw)),
        "points" if in_percent else "",
    )  # fmt: skip


def gain_falls(hare: str, *, text: str, source: str) -> Claim:
    """Return the claim that the last step gains less for each unit of the axis than the first."""

    def gains(draw: Draw) -> tuple[float, float]:
        curve, xs = draw.curve(hare), [float(x) for x in draw.xs]
        first, last = ((curve[k] - curve[k + 1]) / (xs[k + 1] - xs[k]) for k in (0, len(xs) - 2))
        return first, last

    def ratio(draw: Draw) -> float:
        first, last = gains(draw)
        return last / first

    return Claim(text, source, lambda draw: gains(draw)[1] < gains(draw)[0], ratio)


def spread(draw: Draw, series: Sequence[str]) -> float:
    """Return by how many percent the largest value is above the smallest, at most of a scheme."""
    return max(100 * (max(curve) / min(curve) - 1) for curve in map(draw.curve, series))


def further_spread(draw: Draw, others: Sequence[str]) -> float:
    """Return by how much this spread of Sched_Homo is larger than the spread of others."""
    return spread(draw, [HOMO]) - spread(draw, others)


CLAIMS = load_claims(
    Path(__file__).with_name("claims.toml"), mixing_speedup, busy_share, training_share,
    switching_cost, kept_switching, switching_delay, bound_reduction, lead_at_25_minutes,
    lead_at_90_percent, gaps_grow, gain_falls, spread, further_spread,
)  # fmt: skip
