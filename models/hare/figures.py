"""The paper's figures and tables as experiments, with its claims as predicates on their values."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import pairwise, product
from typing import Any, Literal

import numpy as np

from schedgap.instances.generate import generate
from schedgap.instances.hare import HareInstance, HareSchedule, arrays
from schedgap.models.figure import (
    ENDS,
    STEPWISE,
    Claim,
    Draw,
    Experiment,
    Measure,
    Position,
    apart,
    bars,
    best,
    curves,
    lower_by,
    monotone,
    only_measured,
    parts,
)

HARE, FINISH = "Hare", "Hare with finish (ours)"
FIFO, SRTF, HOMO, ALLOX = "Gavel_FIFO", "SRTF", "Sched_Homo", "Sched_Allox"
BASELINES = (FIFO, SRTF, HOMO, ALLOX)  # the paper's schemes for comparison
PRINTED = (HARE, *BASELINES)
CLASSES = ("CV", "NLP", "Speech", "Rec")
MIXES = ("low", "middle", "high")
NOT_PREEMPTIVE = "srtf:preempt=false"
MINUTES = (10, 15, 20, 25, 30, 40, 50, 60)  # of Figure 13
COMBINATIONS = {  # Figure 5: GPUs of each kind; ours, the text does not name the paper's five
    "4 K80": "K80:4", "2 K80, 2 T4": "K80:2,T4:2", "2 K80, 2 V100": "K80:2,V100:2",
    "4 T4": "T4:4", "4 V100": "V100:4",
}  # fmt: skip
# Quick: a fifth of the GPUs and jobs, and four rounds in one, so that the load stays the same.
QUICK: dict[str, object] = {
    "rounds_cv": "5-10",
    "rounds_nlp": "8-15",
    "rounds_speech": "5-10",
    "rounds_rec": "3-5",
    "batches_per_task": 80,
}
DEFAULTS: dict[str, object] = {
    "mix": "high",
    "bandwidth": 25,
    "batch_factor": 1,
    "arrival_span": 600,
    "sync_cap": True,
    "tasks_per_round": "1,2,4,8",
}
HARDWARE = "a measurement on GPUs, which no schedule shows"
TOY = "the times of the toy are ours, chosen so"
BARRIER = "in the model a round waits for its slowest task, and the speeds are the paper's"
FINISHES = " [ours: it takes the GPU that finishes first]"

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
    Source: Sections 1, 2, 4 and 7. Hare is represented by `hare-fluid`, because the paper's
    relaxation cannot be solved at this scale: once with the GPU that is free first, as printed,
    and once (ours) with the GPU that finishes the task first. `List with finish (ours)` has the
    same rule for GPUs and no relaxation; `Sched_Allox weighted (ours)` starts jobs by weight over
    length. Along each axis the same jobs are drawn.
    """
    workload = _Workload(
        quick,
        tuple(gpus) or ((16, 32, 48) if quick else (80, 120, 160, 200, 240)),
        tuple(jobs) or ((20, 40, 60) if quick else (100, 150, 200, 250, 300)),
        testbed_jobs,
    )
    same: Fields = {"family": "hare", "objective": "weighted completion time"}
    same |= {"time_limit": 60.0 if quick else 900.0}
    drawn = same | {"seeds": tuple(seeds)} | {"brackets": workload.brackets}
    return [
        *_examples(same | {"seeds": (0,), "brackets": ("exact",)}),
        *_testbed(workload, drawn),
        *_simulations(workload, drawn),
    ]


class _Workload:
    """The instances of Section 7 and the methods that run on them, in full or scaled down."""

    def __init__(
        self, quick: bool, gpus: tuple[int, ...], jobs: tuple[int, ...], testbed_jobs: int
    ) -> None:
        self.quick, self.gpus, self.jobs = quick, gpus, jobs
        self.base = QUICK if quick else {}
        self.usual = {"gpus": gpus[len(gpus) // 2], "jobs": jobs[len(jobs) // 2]}
        self.testbed_jobs = testbed_jobs
        cells = "cells=30" if quick else "cells=100"
        self.brackets = (
            ("fluid-lp:cells=30",) if quick else ("lagrangian", "local-search:moves=200")
        )
        self.schemes = {
            HARE: f"hare-fluid:{cells}",
            FINISH: f"hare-fluid:{cells}:gpu_rule=finish",
            "List with finish (ours)": "list",
            FIFO: "gavel-fifo",
            SRTF: "srtf",
            HOMO: "sched-homo",
            ALLOX: "sched-allox",
            "Sched_Allox weighted (ours)": "sched-allox:weighted=true",
        }
        self.scanned = {name: self.schemes[name] for name in (HARE, FINISH, *BASELINES)}
        self._drawn = cache(self._generated)

    def simulated(self, seed: int, **more: object) -> HareInstance:
        """Return the instance of a simulation; settings with their usual values change nothing."""
        return self._instance("paper", seed, self.usual | more)

    def testbed(self, seed: int, **more: object) -> HareInstance:
        """Return an instance on the 15 GPUs of the testbed."""
        times = ",".join(str(60 * minutes) for minutes in MINUTES)
        return self._instance(
            "testbed", seed, {"jobs": self.testbed_jobs, "completed_by": times} | more
        )

    def single_batches(self, seed: int) -> HareInstance:
        """Return the testbed with one mini-batch per task, 20 times as short, and switching."""
        settings = self.base | {"jobs": self.testbed_jobs, "switching": True}
        span = 600 / 20 / (4 if self.quick else 1)
        settings |= {"batches_per_task": 1, "arrival_span": span}
        return self._drawn("testbed", seed, tuple(settings.items()))

    def _instance(self, preset: str, seed: int, settings: dict[str, object]) -> HareInstance:
        changed = {key: x for key, x in settings.items() if DEFAULTS.get(key) != x}
        return self._drawn(preset, seed, tuple((self.base | changed).items()))

    @staticmethod
    def _generated(
        preset: str, seed: int, settings: tuple[tuple[str, object], ...]
    ) -> HareInstance:
        made = generate("hare", preset=preset, seed=seed, settings=dict(settings))
        assert isinstance(made, HareInstance)
        return made


# --- the figures -----------------------------------------------------------------------------


def _examples(same: Fields) -> Iterator[Experiment]:
    """Yield the figures that are worked examples; their instances are not random."""
    here = "Section 1, Fig. 1"

    def example(preset: str, **settings: object) -> Callable[[int], HareInstance]:
        def make(seed: int) -> HareInstance:
            made = generate("hare", preset=preset, settings=settings)
            assert isinstance(made, HareInstance)
            return made

        return make

    yield bars(
        figure="1", title="The toy example, with times of ours", x="scheme",
        claims=(
            *parts(
                "ignoring the speeds of the GPUs takes a total of 10.5 and a makespan of 4.5, "
                "scheduling whole jobs by the speeds a total of 9, and with parallel tasks there "
                "is a schedule with 8.5 and a makespan of 3",
                Claim("the total by the speeds is 9", here, measure=_value_of(ALLOX), given=TOY),
                Claim("the total without the speeds is 10.5, the makespan 4.5", here,
                      given=TOY + "; it has such a schedule, Sched_Homo finds another"),
                Claim("a schedule has a total of 8.5 and a makespan of 3", here,
                      given=TOY + "; it has such a schedule, and the optimum is 8"),
            ),
            *apart("ours", *(
                _at_most(hare, 8.5, f"Algorithm 1 finds a total of 8.5 or less on our toy{note}",
                         here)
                for hare, note in ((HARE, ""), (FINISH, FINISHES))
            )),
        ),
        make=example("toy"),
        methods={HARE: "hare", FINISH: "hare:gpu_rule=finish", HOMO: "sched-homo",
                 ALLOX: "sched-allox"},
        **same,
    )  # fmt: skip
    yield bars(
        figure="4", title="Rounds that start together, or not", x="synchronization",
        claims=(Claim("tasks of a round need not start together; the job then ends earlier",
                      "Section 2.2.3, Fig. 4", unit="% earlier",
                      measure=lambda draw: 100 * (1 - draw.value("relaxed") / draw.value("fixed")),
                      given="the times of the example are ours, such that waiting costs time"),),
        make=example("fig4"),
        methods={"fixed": "exact:synchronization=fixed", "relaxed": "exact"},
        **same,
    )  # fmt: skip
    yield curves(
        figure="5", title="One job on four GPUs", x="GPUs", claims=_mixed_gpus(),
        values=COMBINATIONS, make=lambda seed, x: example("fig5", mix=COMBINATIONS[x])(seed),
        methods={"equal shares": "sched-homo", FINISH: "hare-fluid:gpu_rule=finish"},
        **same | {"brackets": ("job-alone",)},
    )  # fmt: skip
    for row in ("default", "hare"):
        yield bars(
            figure="7", title="GraphSAGE and ResNet50 in turn", x="model",
            claims=_at(row != "default", _alternating()),
            make=example("fig7", row=row), methods={"alternating": "srtf"},
            metrics=("default switching share (%)",),
            setting={} if row == "default" else {"row": row},
            **same | {"brackets": ()},
        )  # fmt: skip
    yield bars(
        figure="10", title="A model that stays in memory", x="schedule", claims=(_memory(),),
        make=example("fig10"), methods={"i1, i2, i3": "exact"},
        metrics=("pipeswitch switching share (%)", "hare-memory switching share (%)"), **same,
    )  # fmt: skip


def _testbed(work: _Workload, same: Fields) -> Iterator[Experiment]:
    """Yield Table 3 and Figures 12 and 13."""
    metrics = [
        name
        for mode in ("default", "pipeswitch", "hare", "hare-memory")
        for name in (f"objective, {mode} switching", f"{mode} switching share (%)")
    ]
    yield bars(
        figure="table-3", title="Switching on the testbed, one mini-batch per task", x="scheme",
        claims=_switching(), make=work.single_batches, methods=work.schemes,
        metrics=tuple(metrics), **same | {"brackets": ()},
    )  # fmt: skip
    settings: list[dict[str, Any]] = [
        {}, {"tasks_per_round": 8}, {"tasks_per_round": 1}, {"arrival_span": 0},
    ]  # fmt: skip
    for setting, holding in [*product(settings, (False,)), *product(settings[:2], (True,))]:
        methods = work.scanned if setting or holding else work.schemes
        yield bars(
            figure="12", title="Schemes on the testbed", x="scheme",
            claims=_at(setting or holding, _on_testbed()),
            make=partial(_with, work.testbed, setting),
            setting=setting | ({"srtf": "not-preemptive"} if holding else {}),
            methods=methods | ({SRTF: NOT_PREEMPTIVE} if holding else {}),
            **same | {"brackets": work.brackets[: 1 if setting or holding else None]},
        )  # fmt: skip
    yield bars(
        figure="13", title="Jobs complete by a time", x="scheme", claims=_distribution(),
        make=work.testbed, methods=work.schemes,
        metrics=tuple(_complete(minutes) for minutes in MINUTES), measures=GPU_USE, **same,
    )  # fmt: skip


def _with(
    make: Callable[..., HareInstance], setting: Mapping[str, object], seed: int
) -> HareInstance:
    """Return an instance at a setting."""
    return make(seed, **setting)


def _simulations(work: _Workload, same: Fields) -> Iterator[Experiment]:
    """Yield Figures 14 to 19."""
    full = partial(curves, methods=work.schemes, **same)
    curve = partial(curves, methods=work.scanned, **same)
    scanned = partial(curve, brackets=())
    other = scanned if work.quick else curve
    quick = work.quick
    yield full(figure="14", title="Schemes by the number of GPUs", x="GPUs", claims=_by_gpus(),
               values=work.gpus, make=lambda seed, x: work.simulated(seed, gpus=x))  # fmt: skip
    yield curves(
        figure="14",
        title="Schemes by the number of GPUs",
        x="GPUs",
        claims=_by_gpus(),
        values=work.gpus,
        setting={"srtf": "not-preemptive"},
        make=lambda seed, x: work.simulated(seed, gpus=x),
        methods=work.scanned | {SRTF: NOT_PREEMPTIVE},
        **same | {"brackets": ()},
    )
    yield curve(figure="15", title="Schemes by the number of jobs", x="jobs", claims=_by_jobs(),
                values=work.jobs, make=lambda seed, x: work.simulated(seed, jobs=x))  # fmt: skip
    yield curve(figure="16", title="Schemes by how unlike the GPUs are", x="heterogeneity",
                claims=_by_mix(), values=MIXES, measures=GPU_USE,
                make=lambda seed, x: work.simulated(seed, mix=x))  # fmt: skip
    for of in CLASSES:
        yield other(figure=f"17-{of}", title=f"Schemes by the share of jobs of class {of}",
                    x="share", claims=_by_share(of),
                    values=(0.25, 0.55) if quick else (0.25, 0.35, 0.45, 0.55),
                    make=partial(_share_of, work, of))  # fmt: skip
    readings: list[dict[str, object]] = [{}, {"sync_cap": False}, {"exchanges": 1}]
    for setting in readings[: 2 if quick else None]:
        yield (scanned if setting else curve)(
            figure="18", title="Schemes by the bandwidth", x="Gbit/s",
            claims=_at(setting, _by_bandwidth()),
            values=(10, 15, 25) if quick else (10, 15, 20, 25),
            make=partial(_at_bandwidth, work, setting),
            setting={key: str(x).lower() for key, x in setting.items()},
        )  # fmt: skip
    yield other(figure="19", title="Schemes by the batch size", x="batch size / default",
                claims=_by_batch(), values=(0.5, 1, 4) if quick else (0.5, 1, 2, 4),
                measures=GPU_USE,
                make=lambda seed, x: work.simulated(seed, batch_factor=x))  # fmt: skip


def _share_of(work: _Workload, name: str, seed: int, x: float) -> HareInstance:
    """Return a simulation in which a class of jobs has a share; 25 % is the usual instance."""
    return work.simulated(seed, **({} if x == 0.25 else {"shares": f"{name}:{x}"}))


def _at_bandwidth(
    work: _Workload, setting: Mapping[str, object], seed: int, x: int
) -> HareInstance:
    """Return a simulation at a bandwidth."""
    return work.simulated(seed, bandwidth=x, **setting)


# --- use of the GPUs ---------------------------------------------------------------------------


def gpu_use(instance: HareInstance, schedule: Mapping[str, Any]) -> tuple[float, float, float]:
    """Return how much of the GPUs a schedule uses, and how long they are idle.

    `schedule`: JSON data of a feasible schedule.

    Returns
    -------
    tuple of float
        Training time over the time of all GPUs until the last task has trained, in percent; the
        idle time before the last task of each GPU, as Lemma 3 counts it, in percent of the time
        until this task has trained; the same idle time for each GPU.
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


# --- the claims ------------------------------------------------------------------------------


def _both(claim: Callable[[str, str], Claim]) -> tuple[Claim, ...]:
    """Return a claim about Hare as printed, and the same with the other rule for GPUs."""
    return claim(HARE, ""), *apart("ours", claim(FINISH, FINISHES))


def _at(setting: object, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Return the claims of a figure that depend on a setting; all of them without one."""
    return tuple(claim for claim in claims if claim.holds or not setting)


def _mixed_gpus() -> tuple[Claim, ...]:
    mixed, slow = ("2 K80, 2 T4", "2 K80, 2 V100"), "4 K80"

    def speedup(draw: Draw) -> float:
        values = [draw.value("equal shares", x) for x in mixed]
        return draw.value("equal shares", slow) / min(values)

    def busy(draw: Draw) -> float:
        values = [draw.value("equal shares", x) for x in ("4 V100", "2 K80, 2 V100")]
        return 100 * values[0] / values[1]

    return (
        Claim("ResNet50 is 2 times as fast on T4 as on K80 and 7 times on V100, GraphSAGE about 2 "
              "times on V100", "Section 2.2.1, Fig. 2",
              untestable=HARDWARE + "; the generator takes these speedups"),
        Claim("T4 or V100 beside K80 bring no acceleration over K80 alone",
              "Section 2.2.2, Fig. 5", measure=speedup, unit="x as fast", given=BARRIER),
        *parts(
            "K80 is always busy, while V100's utilization is rarely over 50 %",
            Claim("the K80 is busy all the time", "Section 2.2.2, Fig. 6", given=BARRIER),
            Claim("the V100 is busy for at most 50 % of a round with K80", "Section 2.2.2, Fig. 6",
                  measure=busy, unit="%", given=BARRIER),
        ),
    )  # fmt: skip


def _alternating() -> tuple[Claim, ...]:
    def share(draw: Draw) -> float:
        return draw.value("alternating", measure="default switching share (%)") / 100

    def omega(draw: Draw) -> float:  # t_sw / (t_c + t_c'), two switches for each pair of batches
        return share(draw) / (1 - share(draw)) / 2

    return (
        Claim("GraphSAGE uses less than 30 % of a V100", "Section 2.2.1, Fig. 3",
              untestable=HARDWARE),
        Claim("a switch takes about 9 times as long as a mini-batch of both (measured: with the "
              "times of Table 3)", "Section 2.2.4, Fig. 7", measure=omega, unit="x",
              threshold="ours"),
        *parts(
            "a V100 that trains a single ResNet50 is almost fully utilized; in turn with GraphSAGE "
            "it is at no more than 50 %",
            Claim("with one model it is almost fully utilized", "Section 2.2.4, Fig. 8",
                  given="in the model a GPU with one job never switches"),
            Claim("with two models in turn it is used for no more than 50 % of its time",
                  "Section 2.2.4, Fig. 8", given="the times of switches and tasks are Table 3's",
                  measure=lambda draw: 100 * (1 - share(draw)), unit="%"),
        ),
    )  # fmt: skip


def _memory() -> Claim:
    def part(draw: Draw, mode: str) -> float:
        share = draw.value("i1, i2, i3", measure=f"{mode} switching share (%)") / 100
        return share / (1 - share)

    def kept(draw: Draw) -> float:
        return part(draw, "hare-memory") / part(draw, "pipeswitch")

    return Claim(
        "the data of i1 stay in memory for i3, whose switch costs nothing: two switches "
        "instead of three",
        "Section 4, Fig. 10",
        measure=kept,
        unit="of the switching time",
        given="the model of the memory is the paper's, the example has the figure's order",
    )


def _switching() -> tuple[Claim, ...]:
    here = "Section 7.2, Table 3"

    def cost(draw: Draw, mode: str) -> float:
        value = draw.value(HARE, measure=f"objective, {mode} switching")
        return 100 * (value / draw.value(HARE) - 1)

    def share(mode: str) -> Callable[[Draw], float]:
        return lambda draw: draw.value(HARE, measure=f"{mode} switching share (%)")

    return (
        Claim("training and synchronization times are stable over the rounds of two models on 8 "
              "V100", "Section 5.1, Fig. 11", untestable=HARDWARE + "; instances assume it"),
        Claim("a switch takes more than 3000 ms without optimization, at most 12.57 ms with "
              "PipeSwitch and at most 6 ms with Hare", here,
              given="the instances take the times of Table 3"),
        *parts(
            "Hare's switches take less than 2 % of the time of tasks for most models, and no more "
            "than 5 %",
            Claim("less than 2 % for most models", here,
                  given="Table 3's times are inputs; in it, 5 of 8 models are below 2 %"),
            Claim("no more than 5 %, here of the mean over all tasks", here,
                  measure=share("hare"), unit="%", given="Table 3's times are inputs"),
        ),
        Claim("without optimization switches take 93.95 % to 98.47 % of the time of a task", here,
              measure=share("default"), unit="% of all tasks", given="Table 3's times are inputs; "
              "it counts tasks with a switch, and many here have none"),
        Claim("switching time is negligible in scheduling (measured: what it adds to the weighted "
              "completion time)", here, measure=partial(cost, mode="hare"), unit="%",
              threshold="ours"),
        *apart("ours", Claim(
            "so it is with PipeSwitch's times and Hare's memory", here, unit="%",
            measure=partial(cost, mode="hare-memory"), threshold="ours")),
    )  # fmt: skip


def _on_testbed() -> tuple[Claim, ...]:
    here = "Section 7.2, Fig. 12"
    return (
        *_both(lambda hare, note: best(
            hare, BASELINES, text=f"Hare is the best of the schemes{note}", source=here)),
        *_both(lambda hare, note: lower_by(
            hare, BASELINES, 47.6, source=here,
            text=f"Hare is lower than each other scheme by 47.6 % to 75.3 % (at least){note}")),
        *_both(lambda hare, note: only_measured(replace(
            _about_twice(hare, BASELINES, "Abstract", ""),
            text="Hare outperforms the best other scheme by about 2x (measured: that scheme over "
            f"Hare){note}"))),
        *apart("ours", _possible(47.6, None, here)),
        Claim("simulator and testbed differ by no more than 5 %", here, untestable=HARDWARE),
    )  # fmt: skip


def _complete(minutes: int) -> str:
    return f"complete by {60 * minutes} s (%)"


def _distribution() -> tuple[Claim, ...]:
    here = "Section 7.2, Fig. 13"

    def lead(draw: Draw, series: str, other: str) -> float:
        minutes = next(
            (m for m in MINUTES if draw.value(series, measure=_complete(m)) >= 90.5), MINUTES[-1]
        )
        measure = _complete(minutes)
        return draw.value(series, measure=measure) - draw.value(other, measure=measure)

    def by_25(draw: Draw, series: str) -> float:
        return draw.value(series, measure=_complete(25))

    def least_lead(draw: Draw, hare: str) -> float:
        first, second, third = (by_25(draw, each) for each in (hare, ALLOX, HOMO))
        return min(first - second, second - third)

    def claim(hare: str, other: str, printed: float, note: str) -> Claim:
        return Claim(
            f"when 90.5 % of the jobs are complete with Hare, {printed} % are with {other} "
            f"(judged: fewer){note}", here, lambda draw: lead(draw, hare, other) > 1e-9,
            lambda draw: lead(draw, hare, other), "points")  # fmt: skip

    within, within_ours = _both(
        lambda hare, note: Claim(
            f"within 25 minutes Hare completes more jobs than Sched_Allox, and that more than "
            f"Sched_Homo{note}",
            here,
            lambda draw: least_lead(draw, hare) > 0,
            lambda draw: least_lead(draw, hare),
            "points, the smaller lead",
        )
    )
    later = (
        _both(lambda hare, note: claim(hare, ALLOX, 66.7, note)),
        _both(lambda hare, note: claim(hare, HOMO, 56.5, note)),
    )  # fmt: skip
    return (
        *parts(
            "90.5 % of the jobs are complete within 25 minutes with Hare, 66.7 % with Sched_Allox, "
            "56.5 % with Sched_Homo",
            Claim("at 25 minutes", here,
                  untestable="the text states no durations of the jobs; ours decide this"),
            within,
        ),
        Claim("Sched_Allox completes fewer, as it misses the chances of intra-job parallelism",
              here, untestable="the paper has no values of Sched_Allox with parallel tasks"),
        *_both(partial(_less_used, text="Sched_Homo, oblivious of heterogeneity, leads to low "
                       "GPU utilization (judged: lower than that of Hare)", source=here)),
        *apart("not stated", *(printed for printed, _ in later)),
        within_ours,
        *(ours for _, ours in later),
    )  # fmt: skip


def _by_gpus() -> tuple[Claim, ...]:
    here = "Section 7.3, Fig. 14"
    return (
        _all_move("falls", "the weighted JCT of all schemes falls with more GPUs", here),
        *_both(lambda hare, note: best(
            hare, BASELINES, source=here, text=f"Hare is always the best{note}")),
        *_both(lambda hare, note: _about_twice(
            hare, (ALLOX,), here, f"Sched_Allox takes about 2x what Hare does{note}")),
        best(ALLOX, (FIFO, SRTF, HOMO), source=here,
             text="Sched_Allox is significantly faster than the three others (judged: faster)"),
        best(FIFO, (SRTF, HOMO, ALLOX), better="higher", source=here,
             text="Gavel_FIFO is the slowest of the schemes that Hare is compared with"),
    )  # fmt: skip


def _by_jobs() -> tuple[Claim, ...]:
    here = "Section 7.3, Fig. 15"

    def last(draw: Draw, hare: str) -> list[float]:
        x = draw.xs[-1]
        return [100 * (1 - draw.value(hare, x) / draw.value(other, x)) for other in BASELINES]

    def claim(hare: str, note: str) -> Claim:
        return Claim(
            f"at the largest number of jobs, 300, Hare is lower by 54.6 % to 80.5 % (at least)"
            f"{note}", here, lambda draw: min(last(draw, hare)) >= 54.6,
            lambda draw: min(last(draw, hare)), "%")  # fmt: skip

    return (
        _all_move("rises", "the weighted JCT of all schemes grows with the jobs", here),
        *_gaps("the gaps to Hare become bigger with the jobs", here),
        *_both(claim),
        *apart("ours", _possible(54.6, -1, here)),
    )  # fmt: skip


def _by_mix() -> tuple[Claim, ...]:
    here = "Section 7.3, Fig. 16"

    def change(draw: Draw) -> float:
        return 100 * (draw.value(ALLOX, "high") / draw.value(ALLOX, "low") - 1)

    return (
        *_gaps("the gaps to Hare become bigger with the heterogeneity", here),
        _moves(HOMO, USED, "falls", source=here, text="they do, because heterogeneity lowers the "
               "utilization in schemes that are oblivious of it, such as Sched_Homo"),
        Claim("heterogeneity has a slight influence on Sched_Allox (measured: the change from low "
              "to high)", here, measure=change, unit="%", threshold="ours"),
        *_both(lambda hare, note: _about_twice(
            hare, (ALLOX,), here, f"Sched_Allox takes 2x what Hare does{note}")),
        *_both(lambda hare, note: only_measured(_ratio(
            HOMO, hare, 0.8, 1.25, here, x="low",
            text=f"with low heterogeneity Hare and Sched_Homo are close (measured: Sched_Homo "
            f"over Hare){note}"))),
    )  # fmt: skip


def _by_share(of: str) -> tuple[Claim, ...]:
    here = "Section 7.3, Fig. 17"
    moves: dict[str, tuple[Any, str]] = {
        "NLP": ("rises", "with more NLP jobs the weighted JCT of all schemes grows"),
        "Rec": ("falls", "with more recommendation jobs all schemes have smaller weighted JCT"),
    }
    return (
        *([_all_move(*moves[of], here)] if of in moves else []),
        *parts(
            "Hare is always the best, whatever the shares of the classes of jobs",
            *_both(lambda hare, note: best(
                hare, BASELINES, source=here, text=f"whatever the share of {of}{note}")),
        ),
    )  # fmt: skip


def _by_bandwidth() -> tuple[Claim, ...]:
    here = "Section 7.3, Fig. 18"

    def fall(draw: Draw, hare: str) -> float:
        curve = draw.curve(hare)
        return 100 * (1 - curve[-1] / curve[0])

    def rates(draw: Draw, hare: str) -> list[float]:
        curve, xs = draw.curve(hare), [float(x) for x in draw.xs]
        return [(one - two) / (b - a)
                for (one, two), (a, b) in zip(pairwise(curve), pairwise(xs), strict=True)
                ]  # fmt: skip

    return (
        _all_move("falls", "faster networks accelerate the training, in all schemes", here),
        *_both(lambda hare, note: Claim(
            f"the acceleration is not linear: a faster network gains Hare less for each Gbit/s "
            f"{ENDS}{note}", here, lambda draw: rates(draw, hare)[-1] < rates(draw, hare)[0],
            lambda draw: rates(draw, hare)[-1] / rates(draw, hare)[0], "of the first gain")),
        Claim("that is so, because training becomes the bottleneck as synchronization gets faster",
              here, given="in the instances synchronization gets faster with the network, and "
              "training does not"),
        *_both(lambda hare, note: Claim(
            f"Hare falls by only 31.2 % from 10 to 25 Gbit/s (measured: its fall){note}", here,
            measure=partial(fall, hare=hare), unit="%", threshold="ours")),
    )  # fmt: skip


def _by_batch() -> tuple[Claim, ...]:
    here = "Section 7.3, Fig. 19"

    def spread(draw: Draw, series: str) -> float:
        curve = draw.curve(series)
        return 100 * (max(curve) / min(curve) - 1)

    def steady(draw: Draw, hare: str) -> float:
        return max(spread(draw, series) for series in (hare, FIFO, SRTF, ALLOX))

    return (
        *parts(
            "the batch size has no big influence on all schemes except Sched_Homo",
            *_both(lambda hare, note: Claim(
                "none on Hare, Gavel_FIFO, SRTF and Sched_Allox (measured: the largest value over "
                f"the smallest, of the scheme with the most){note}", here,
                measure=partial(steady, hare=hare), unit="% more", threshold="ours")),
            *_both(lambda hare, note: Claim(
                f"on Sched_Homo more than on each other scheme{note}", here,
                lambda draw: spread(draw, HOMO) > steady(draw, hare),
                lambda draw: spread(draw, HOMO) - steady(draw, hare), "points more than they")),
        ),
        *parts(
            "it has one on Sched_Homo, because with larger batches there is more GPU idle time",
            monotone(HOMO, "rises", source=here, measure=IDLE_TIME, text="the idle time of a GPU"),
            _moves(HOMO, IDLE, "rises", source=here, text="its share of the time"),
        ),
    )  # fmt: skip


# --- forms of claims -------------------------------------------------------------------------


def _at_most(bar: str, number: float, text: str, source: str) -> Claim:
    value = _value_of(bar)
    return Claim(text, source, lambda draw: value(draw) <= number + 1e-6, value)


def _value_of(bar: str) -> Callable[[Draw], float]:
    return lambda draw: draw.value(bar)


def _less_used(hare: str, note: str, *, text: str, source: str) -> Claim:
    """Return the claim that Sched_Homo uses less of the GPUs than Hare; the number: by how much."""

    def lead(draw: Draw) -> float:
        return draw.value(hare, measure=USED) - draw.value(HOMO, measure=USED)

    return Claim(f"{text}{note}", source, lambda draw: lead(draw) > 1e-9, lead, "points")


def _moves(
    series: str, measure: str, direction: Literal["falls", "rises"], *, text: str, source: str
) -> Claim:
    """Return the claim that a percentage falls or rises at each step; the number is in points."""
    claim = monotone(series, direction, text=text, source=source, measure=measure)

    def change(draw: Draw) -> float:
        curve = draw.curve(series, measure)
        return curve[-1] - curve[0]

    return replace(claim, measure=change, unit="points")


def _ratio(
    series: str, other: str, least: float, most: float, source: str, *, text: str,
    x: Position | None = None,
) -> Claim:  # fmt: skip
    """Return the claim that a series is between `least` and `most` times another."""

    def ratio(draw: Draw) -> float:
        return draw.value(series, x) / draw.value(other, x)

    return Claim(text, source, lambda draw: least <= ratio(draw) <= most, ratio, "x")


def _about_twice(hare: str, others: Sequence[str], source: str, text: str) -> Claim:
    """Return the claim that the best of some schemes takes about twice what Hare does.

    Judged is only whether it takes longer, at every position; the number is the least ratio.
    """

    def ratio(draw: Draw) -> float:
        places: list[Position | None] = [None] if hare in draw.xs else [*draw.xs]
        return min(min(draw.value(other, x) for other in others) / draw.value(hare, x)
                   for x in places)  # fmt: skip

    text = text.replace("2x", "2x (judged: Hare is better)")
    return Claim(text, source, lambda draw: ratio(draw) > 1 + 1e-9, ratio, "x")


def _possible(least: float, place: int | None, source: str) -> Claim:
    """Return the claim that some schedule may be lower than each other scheme by a percentage.

    It fails where the proved bound is not low enough. `place` is the position on the axis; the
    bound of a figure with bars is the same for all.
    """

    def reduction(draw: Draw) -> float:
        x = draw.xs[0 if place is None else place]
        rivals = [draw.value(other, None if place is None else x) for other in BASELINES]
        return 100 * (1 - draw.value("bound", x) / min(rivals))

    return Claim(
        f"such a schedule may exist: the proved bound is lower than each other scheme by {least} %",
        source, lambda draw: reduction(draw) >= least, reduction, "%")  # fmt: skip


def _all_move(direction: Literal["falls", "rises"], text: str, source: str) -> Claim:
    """Return the claim that all the paper's series fall or rise, with the least change."""
    claims = [monotone(series, direction, text=text, source=source) for series in PRINTED]

    def holds(draw: Draw) -> bool:
        return all(claim.holds is not None and claim.holds(draw) for claim in claims)

    def change(draw: Draw) -> float:
        changes = [claim.measure(draw) for claim in claims if claim.measure is not None]
        return min(changes) if direction == "rises" else max(changes)

    return Claim(f"{text} {STEPWISE}", source, holds, change, "%")


def _gaps(sentence: str, source: str) -> tuple[Claim, ...]:
    """Return the claim that the gaps to Hare grow, in both readings of a gap, and ours."""
    pairs = [
        _both(partial(_gaps_grow, percent=percent, source=source)) for percent in (True, False)
    ]
    printed, ours = zip(*pairs, strict=True)
    return *parts(sentence, *printed), *parts(f"{sentence}{FINISHES}", *ours)


def _gaps_grow(hare: str, note: str, *, percent: bool, source: str) -> Claim:
    """Return the claim that the gaps to Hare grow at each step, for each other scheme.

    A gap is the difference, or the reduction by Hare in percent. The number is the least growth
    from the first to the last position.
    """

    def gaps(draw: Draw) -> list[list[float]]:
        own = draw.curve(hare)
        return [
            [100 * (1 - mine / its) if percent else its - mine
             for mine, its in zip(own, draw.curve(other), strict=True)]
            for other in BASELINES
        ]  # fmt: skip

    def holds(draw: Draw) -> bool:
        return all(
            curve[-1] > curve[0] and all(b >= a for a, b in pairwise(curve)) for curve in gaps(draw)
        )

    return Claim(
        f"the gaps {'in percent' if percent else 'in weighted seconds'}{note} {STEPWISE}", source,
        holds, lambda draw: min(curve[-1] - curve[0] for curve in gaps(draw)),
        "points" if percent else "")  # fmt: skip
