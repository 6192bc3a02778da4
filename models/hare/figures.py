"""The paper's figures and tables as experiments, with its claims as predicates on their values."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import pairwise, product
from typing import Any, Literal

from schedgap.instances.generate import generate
from schedgap.instances.hare import HareInstance
from schedgap.models.figure import (
    STEPWISE,
    Claim,
    Draw,
    Experiment,
    Position,
    apart,
    bars,
    best,
    curves,
    lower_by,
    monotone,
)

HARE, FINISH = "Hare", "Hare with finish (ours)"
FIFO, SRTF, HOMO, ALLOX = "Gavel_FIFO", "SRTF", "Sched_Homo", "Sched_Allox"
RIVALS = (FIFO, SRTF, HOMO, ALLOX)  # the paper's schemes for comparison
PRINTED = (HARE, *RIVALS)
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

    Parameters
    ----------
    quick : bool
        Whether to scale the simulations to a fifth of the GPUs and jobs, with a quarter of the
        rounds, each four times as long.
    seeds : sequence of int
        Seeds of the instances, one draw each.
    gpus, jobs : sequence of int
        Numbers of GPUs and of jobs along the axes; a figure that varies another quantity uses the
        middle entry. By default the paper's.
    testbed_jobs : int
        Number of jobs on the 15 GPUs of the testbed.

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
        self.scanned = {name: self.schemes[name] for name in (HARE, FINISH, *RIVALS)}
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
            _equals(ALLOX, 9, "scheduling whole jobs by the GPUs' speeds takes a total of 9", here),
            _ratio(HOMO, ALLOX, 1 + 1e-9, 100, here,
                   text="ignoring the speeds takes longer than that (10.5 against 9)"),
            *_both(lambda hare, note: _at_most(
                hare, 8.5, f"with the tasks of a job in parallel too it is 8.5{note}", here)),
        ),
        make=example("toy"),
        methods={HARE: "hare", FINISH: "hare:gpu_rule=finish", HOMO: "sched-homo",
                 ALLOX: "sched-allox"},
        **same,
    )  # fmt: skip
    yield bars(
        figure="4", title="Rounds that start together, or not", x="synchronization",
        claims=(best("relaxed", ["fixed"], source="Section 2.2.3, Fig. 4",
                     text="tasks of a round need not start together; the job then ends earlier"),),
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
        metrics=tuple(_complete(minutes) for minutes in MINUTES), **same,
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
                claims=_by_mix(), values=MIXES,
                make=lambda seed, x: work.simulated(seed, mix=x))  # fmt: skip
    for of in CLASSES:
        yield other(figure=f"17-{of}", title=f"Schemes by the share of jobs of class {of}",
                    x="share", claims=_by_share(of),
                    values=(0.25, 0.55) if quick else (0.25, 0.35, 0.45, 0.55),
                    make=partial(_share_of, work, of))  # fmt: skip
    readings: list[dict[str, object]] = [{}, {"sync_cap": False}, {"exchanges": 1}]
    for setting in readings[: 2 if quick else None]:
        yield (scanned if setting else curve)(
            figure="18", title="Schemes by the bandwidth", x="Gbit/s", claims=_by_bandwidth(),
            values=(10, 15, 25) if quick else (10, 15, 20, 25),
            make=partial(_at_bandwidth, work, setting),
            setting={key: str(x).lower() for key, x in setting.items()},
        )  # fmt: skip
    yield other(figure="19", title="Schemes by the batch size", x="batch size / default",
                claims=_by_batch(), values=(0.5, 1, 4) if quick else (0.5, 1, 2, 4),
                make=lambda seed, x: work.simulated(seed, batch_factor=x))  # fmt: skip


def _share_of(work: _Workload, name: str, seed: int, x: float) -> HareInstance:
    """Return a simulation in which a class of jobs has a share; 25 % is the usual instance."""
    return work.simulated(seed, **({} if x == 0.25 else {"shares": f"{name}:{x}"}))


def _at_bandwidth(
    work: _Workload, setting: Mapping[str, object], seed: int, x: int
) -> HareInstance:
    """Return a simulation at a bandwidth."""
    return work.simulated(seed, bandwidth=x, **setting)


# --- the claims ------------------------------------------------------------------------------


def _both(claim: Callable[[str, str], Claim]) -> tuple[Claim, ...]:
    """Return a claim about Hare as printed, and the same with the other rule for GPUs."""
    finish = claim(FINISH, " [ours: it takes the GPU that finishes first]")
    return claim(HARE, ""), *apart("ours", finish)


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
        Claim("T4 or V100 beside K80 bring no acceleration over K80 alone (we read: 5 %)",
              "Section 2.2.2, Fig. 5", lambda draw: speedup(draw) <= 1.05, speedup, "x"),
        Claim("the V100 is rarely busy for more than 50 % of a round with K80",
              "Section 2.2.2, Fig. 6", lambda draw: busy(draw) <= 50, busy, "%"),
    )  # fmt: skip


def _alternating() -> tuple[Claim, ...]:
    def share(draw: Draw) -> float:
        return draw.value("alternating", measure="default switching share (%)") / 100

    def omega(draw: Draw) -> float:  # t_sw / (t_c + t_c'), two switches for each pair of batches
        return share(draw) / (1 - share(draw)) / 2

    return (
        Claim("GraphSAGE uses less than 30 % of a V100", "Section 2.2.1, Fig. 3",
              untestable=HARDWARE),
        Claim("a switch takes about 9 times as long as a mini-batch of both (we read: 7 to 11)",
              "Section 2.2.4, Fig. 7", lambda draw: 7 <= omega(draw) <= 11, omega, "x"),
        Claim("the GPU is used at no more than 50 % of its time",
              "Section 2.2.4, Fig. 8", lambda draw: share(draw) >= 0.5,
              lambda draw: 100 * (1 - share(draw)), "%"),
    )  # fmt: skip


def _memory() -> Claim:
    def part(draw: Draw, mode: str) -> float:
        share = draw.value("i1, i2, i3", measure=f"{mode} switching share (%)") / 100
        return share / (1 - share)

    def kept(draw: Draw) -> float:
        return part(draw, "hare-memory") / part(draw, "pipeswitch")

    return Claim("the data of i1 stay in memory for i3, whose switch costs nothing: two switches "
                 "instead of three", "Section 4, Fig. 10", lambda draw: kept(draw) < 0.67, kept,
                 "of the switching time")  # fmt: skip


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
              untestable=HARDWARE + "; the instances take these times"),
        Claim("Hare's switches take less than 5 % of the time of tasks", here,
              lambda draw: share("hare")(draw) < 5, share("hare"), "%"),
        Claim("without optimization switches take 93.95 % to 98.47 % of it (we read: at least "
              "90 %)", here, lambda draw: share("default")(draw) >= 90, share("default"), "%"),
        Claim("switching time is negligible in scheduling (we read: it adds at most 5 % to the "
              "weighted completion time)", here, lambda draw: cost(draw, "hare") <= 5,
              lambda draw: cost(draw, "hare"), "%"),
        Claim("so it is with PipeSwitch's times and Hare's memory (ours: Table 3 gives one number)",
              here, lambda draw: cost(draw, "hare-memory") <= 5,
              lambda draw: cost(draw, "hare-memory"), "%"),
    )  # fmt: skip


def _on_testbed() -> tuple[Claim, ...]:
    here = "Section 7.2, Fig. 12"
    return (
        *_both(lambda hare, note: best(
            hare, RIVALS, text=f"Hare is the best of the schemes{note}", source=here)),
        *_both(lambda hare, note: lower_by(
            hare, RIVALS, 47.6, source=here,
            text=f"Hare is lower than each other scheme by 47.6 % to 75.3 % (at least){note}")),
        *_both(lambda hare, note: _about_twice(
            hare, RIVALS, "Abstract", f"Hare outperforms the best other scheme by about 2x{note}")),
        _possible(47.6, None, here),
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
            f"when 90.5 % of the jobs are complete with Hare, {printed} % are with {other} (we "
            f"read: at least half of that difference){note}", here,
            lambda draw: lead(draw, hare, other) >= (90.5 - printed) / 2,
            lambda draw: lead(draw, hare, other), "points")  # fmt: skip

    return (
        Claim("90.5 % of the jobs are complete within 25 minutes with Hare, 66.7 % with "
              "Sched_Allox, 56.5 % with Sched_Homo", here,
              untestable="the text states no durations of the jobs; ours decide this"),
        *_both(lambda hare, note: Claim(
            f"within 25 minutes Hare completes more jobs than Sched_Allox, and that more than "
            f"Sched_Homo{note}", here, lambda draw: least_lead(draw, hare) > 0,
            lambda draw: least_lead(draw, hare), "points, the smaller lead")),
        *_both(lambda hare, note: claim(hare, ALLOX, 66.7, note)),
        *_both(lambda hare, note: claim(hare, HOMO, 56.5, note)),
    )  # fmt: skip


def _by_gpus() -> tuple[Claim, ...]:
    here = "Section 7.3, Fig. 14"
    return (
        _all_move("falls", "the weighted JCT of all schemes falls with more GPUs", here),
        *_both(lambda hare, note: best(
            hare, RIVALS, source=here, text=f"Hare is always the best{note}")),
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
        return [100 * (1 - draw.value(hare, x) / draw.value(other, x)) for other in RIVALS]

    def claim(hare: str, note: str) -> Claim:
        return Claim(
            f"at the largest number of jobs, 300, Hare is lower by 54.6 % to 80.5 % (at least)"
            f"{note}", here, lambda draw: min(last(draw, hare)) >= 54.6,
            lambda draw: min(last(draw, hare)), "%")  # fmt: skip

    return (
        _all_move("rises", "the weighted JCT of all schemes grows with the jobs", here),
        *_both(lambda hare, note: _gaps_grow(
            hare, f"the gaps to Hare become bigger with the jobs{note}", here)),
        *_both(claim),
        _possible(54.6, -1, here),
    )  # fmt: skip


def _by_mix() -> tuple[Claim, ...]:
    here = "Section 7.3, Fig. 16"

    def change(draw: Draw) -> float:
        return 100 * (draw.value(ALLOX, "high") / draw.value(ALLOX, "low") - 1)

    return (
        *_both(lambda hare, note: _gaps_grow(
            hare, f"the gaps to Hare become bigger with the heterogeneity{note}", here)),
        Claim("heterogeneity has a slight influence on Sched_Allox (we read: at most 25 % from low "
              "to high)", here, lambda draw: abs(change(draw)) <= 25, change, "%"),
        *_both(lambda hare, note: _about_twice(
            hare, (ALLOX,), here, f"Sched_Allox takes 2x what Hare does{note}")),
        *_both(lambda hare, note: _ratio(
            HOMO, hare, 0.8, 1.25, here, x="low",
            text=f"with low heterogeneity Hare and Sched_Homo are close (we read: 25 %){note}")),
    )  # fmt: skip


def _by_share(of: str) -> tuple[Claim, ...]:
    here = "Section 7.3, Fig. 17"
    moves: dict[str, tuple[Any, str]] = {
        "NLP": ("rises", "with more NLP jobs the weighted JCT of all schemes grows"),
        "Rec": ("falls", "with more recommendation jobs all schemes have smaller weighted JCT"),
    }
    return (
        *([_all_move(*moves[of], here)] if of in moves else []),
        *_both(lambda hare, note: best(
            hare, RIVALS, source=here, text=f"Hare is always the best, whatever the share of "
            f"{of}{note}")),
    )  # fmt: skip


def _by_bandwidth() -> tuple[Claim, ...]:
    here = "Section 7.3, Fig. 18"

    def fall(draw: Draw, hare: str) -> float:
        curve = draw.curve(hare)
        return 100 * (1 - curve[-1] / curve[0])

    def rates(draw: Draw) -> list[float]:
        curve, xs = draw.curve(FINISH), [float(x) for x in draw.xs]
        return [(one - two) / (b - a)
                for (one, two), (a, b) in zip(pairwise(curve), pairwise(xs), strict=True)
                ]  # fmt: skip

    return (
        _all_move("falls", "faster networks accelerate the training, in all schemes", here),
        *_both(lambda hare, note: Claim(
            f"Hare falls by 31.2 % from 10 to 25 Gbit/s (we read: 26.2 % to 36.2 %){note}", here,
            lambda draw: abs(fall(draw, hare) - 31.2) <= 5, partial(fall, hare=hare), "%")),
        Claim("the acceleration is not linear: a faster network gains less for each Gbit/s (here "
              "Hare takes the GPU that finishes first, ours)", here,
              lambda draw: rates(draw)[-1] < rates(draw)[0],
              lambda draw: rates(draw)[-1] / rates(draw)[0], "of the first gain"),
    )  # fmt: skip


def _by_batch() -> tuple[Claim, ...]:
    here = "Section 7.3, Fig. 19"

    def spread(draw: Draw, series: str) -> float:
        curve = draw.curve(series)
        return 100 * (max(curve) / min(curve) - 1)

    def steady(draw: Draw, hare: str) -> float:
        return max(spread(draw, series) for series in (hare, FIFO, SRTF, ALLOX))

    return (
        *_both(lambda hare, note: Claim(
            "the batch size has no big influence on all schemes but Sched_Homo (we read: at most "
            f"20 %){note}", here, lambda draw: steady(draw, hare) <= 20,
            partial(steady, hare=hare), "%")),
        *_both(lambda hare, note: Claim(
            f"it has one on Sched_Homo (we read: more than on each other scheme){note}", here,
            lambda draw: spread(draw, HOMO) > steady(draw, hare),
            lambda draw: spread(draw, HOMO) - steady(draw, hare), "points more than they")),
    )  # fmt: skip


# --- forms of claims -------------------------------------------------------------------------


def _equals(bar: str, number: float, text: str, source: str) -> Claim:
    return Claim(text, source, lambda draw: abs(draw.value(bar) - number) <= 1e-6,
                 lambda draw: draw.value(bar))  # fmt: skip


def _at_most(bar: str, number: float, text: str, source: str) -> Claim:
    return Claim(text, source, lambda draw: draw.value(bar) <= number + 1e-6,
                 lambda draw: draw.value(bar))  # fmt: skip


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

    It is 1.5 to 2.5 times at every position; the number is the ratio that is farthest from 2.
    """

    def ratio(draw: Draw) -> float:
        places: list[Position | None] = [None] if hare in draw.xs else [*draw.xs]
        ratios = [min(draw.value(other, x) for other in others) / draw.value(hare, x)
                  for x in places]  # fmt: skip
        return max(ratios, key=lambda each: abs(each - 2))

    text = text.replace("2x", "2x (we read: 1.5 to 2.5)")
    return Claim(text, source, lambda draw: 1.5 <= ratio(draw) <= 2.5, ratio, "x")


def _possible(least: float, place: int | None, source: str) -> Claim:
    """Return the claim that some schedule may be lower than each other scheme by a percentage.

    It fails where the proved bound is not low enough. `place` is the position on the axis; the
    bound of a figure with bars is the same for all.
    """

    def reduction(draw: Draw) -> float:
        x = draw.xs[0 if place is None else place]
        rivals = [draw.value(other, None if place is None else x) for other in RIVALS]
        return 100 * (1 - draw.value("bound", x) / min(rivals))

    return Claim(
        f"such a schedule may exist (ours: the proved bound is lower than each other scheme by "
        f"{least} %)", source, lambda draw: reduction(draw) >= least, reduction, "%")  # fmt: skip


def _all_move(direction: Literal["falls", "rises"], text: str, source: str) -> Claim:
    """Return the claim that all the paper's series fall or rise, with the least change."""
    claims = [monotone(series, direction, text=text, source=source) for series in PRINTED]

    def holds(draw: Draw) -> bool:
        return all(claim.holds is not None and claim.holds(draw) for claim in claims)

    def change(draw: Draw) -> float:
        changes = [claim.measure(draw) for claim in claims if claim.measure is not None]
        return min(changes) if direction == "rises" else max(changes)

    return Claim(f"{text} {STEPWISE}", source, holds, change, "%")


def _gaps_grow(hare: str, text: str, source: str) -> Claim:
    """Return the claim that the reductions by Hare grow at each step, for each other scheme.

    The number is the least growth from the first to the last position, in points.
    """

    def reductions(draw: Draw) -> list[list[float]]:
        own = draw.curve(hare)
        return [
            [100 * (1 - mine / its) for mine, its in zip(own, draw.curve(other), strict=True)]
            for other in RIVALS
        ]

    def holds(draw: Draw) -> bool:
        return all(
            curve[-1] > curve[0] and all(b >= a for a, b in pairwise(curve))
            for curve in reductions(draw)
        )

    return Claim(f"{text} {STEPWISE}", source, holds,
                 lambda draw: min(curve[-1] - curve[0] for curve in reductions(draw)),
                 "points")  # fmt: skip
