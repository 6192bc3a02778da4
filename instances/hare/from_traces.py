"""Instances of family `hare` whose jobs, GPUs or speeds come from public files.

A job of a trace becomes a chain of rounds with one task for each requested GPU. Its work follows
from the first of these that is known:

1. measured rates: R_g steps per second of the job on g GPUs of a kind, and R_1 on one GPU. In a job
   of S steps in R rounds, a task trains for S / (g R_1 R), and its synchronization is the rest of
   S / (R_g R), that is, what g GPUs cost beyond an equal share of the work (at least 0);
2. its duration, or steps times the time per step, on the fastest kind of the instance; on slower
   kinds, training takes longer by the speedups of a similar model of Table 2;
3. its steps, with the time per mini-batch of that model on V100;
4. otherwise the preset's `batches_per_task` per task, and drawn rounds.

In cases 2 to 4, the synchronization of a job on several GPUs is the time to exchange its model over
`bandwidth`, at most half of a round; a job on one GPU has none. Every job needs a time on every
kind: a job without a rate on some kind is left out, and `meta.source` counts such jobs.

Models and rounds have separate streams (`workload.STREAMS`). Order of the other draws: speeds
of kinds that Table 2 does not have; job types of jobs without a measured one; weights. If no jobs
are given, see `draw_jobs`.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from schedgap.errors import UsageError
from schedgap.instances.generate import Generated, Request, apportion, check_settings, uniform
from schedgap.instances.hare.workload import (
    KINDS,
    Draft,
    Model,
    Speed,
    draw_jobs,
    draw_models,
    draw_rounds,
    exchange_time,
    exchange_times,
    instance_of,
    stand_in,
    training_times,
)
from schedgap.instances.traces import TraceJob
from schedgap.instances.traces.choice import choose

DRAWN = (
    "models and batch sizes of Table 2, times on V100 from Table 3; other speeds, model sizes,"
    " rounds and arrivals of our choice"
)
REPLACED = {  # settings that have no effect with a file
    "jobs": (
        "arrival_span",
        "tasks_per_round",
        "batches_per_task",
        "batch_factor",
        "exchanges",
        "sync_cap",
    ),
    "machines": ("mix",),
    "rates": ("bandwidth", "batch_factor", "exchanges", "sync_cap"),
}
ONLY_ARRIVALS = REPLACED | {
    "jobs": ("arrival_span",)
}  # replaced settings if only the arrivals are used


def check_files(request: Request) -> None:
    """Raise `UsageError` for settings that have no effect with the given files."""
    check_settings(
        request,
        ONLY_ARRIVALS if _only_arrivals(request) else REPLACED,
        max_rounds="jobs",
        steps_per_round="jobs",
        placement="rates",
    )
    for key in ("max_rounds", "steps_per_round"):
        if key in request.given and _only_arrivals(request):
            raise UsageError(f"option {key}: take=arrivals draws the rounds")


def _only_arrivals(request: Request) -> bool:
    return request.jobs is not None and request.values["take"] == "arrivals"


def from_traces(request: Request, mix: Mapping[str, float]) -> Generated:
    """Return an instance from the files of the preset, if any; what they do not give is drawn.

    `mix`: share of each GPU kind if no file gives them.
    """
    kinds, sources = _kinds(request, mix)
    steps = measured_steps(request, kinds)
    speed = _speeds(request, kinds)
    jobs_of = _drawn if request.jobs is None or _only_arrivals(request) else _traced
    drafts, sentence = jobs_of(request, kinds, steps, speed)
    if not (request.jobs or request.machines or request.rates):
        source = f"drawn with seed {request.seed}: {DRAWN}"
        return Generated(*instance_of(request, kinds, drafts, source))
    sources.insert(0, sentence)
    if request.rates is not None:
        sources.append(
            f"times: steps per second of {request.rates.file} ({request.rates.format}),"
            f" workers {request.values['placement']}"
        )
    return Generated(*instance_of(request, kinds, drafts, "; ".join(sources)))


# --- kinds of GPUs -------------------------------------------------------------------------------


def _kinds(request: Request, mix: Mapping[str, float]) -> tuple[dict[str, int], list[str]]:
    """Return the number of GPUs by kind, and texts for `meta.source`."""
    number, rates = request.values["gpus"], request.rates
    measured = {kind.upper(): kind for kind in rates.kinds} if rates else {}
    if request.machines is not None:
        file = request.machines.file
        count: dict[str, int] = {}
        for machine in request.machines.machines:
            if machine.gpus:
                count[machine.kind] = count.get(machine.kind, 0) + machine.gpus
        if not count:
            raise UsageError(f"{file}: no machine has a GPU")
        kept = {k: n for k, n in count.items() if not rates or base_kind(k) in measured}
        if not kept:
            raise UsageError(f"{file}: no rates for any of its kinds ({', '.join(count)})")
        total = sum(kept.values())
        if "gpus" in request.given and number > total:
            raise UsageError(f"{file}: {total} usable GPUs, not enough for gpus={number}")
        number = min(number, total)
        gone = [kind for kind in count if kind not in kept]
        sources = [
            f"{number} of {total} GPUs in the shares of {file} ({request.machines.format})"
            + (f", without {', '.join(gone)}: no rates" if gone else "")
        ]
        shares: Mapping[str, float] = kept
    elif measured and "mix" not in request.given:
        shares = dict.fromkeys(measured, 1.0)
        sources = ["GPUs in equal numbers of the measured kinds"]
    else:
        shares, sources = mix, ["GPUs in the shares of mix"]
        known = tuple(measured) or KINDS
        unknown = [kind for kind in shares if base_kind(kind) not in known]
        if unknown:
            raise UsageError(
                f"option mix: no speeds for kind '{unknown[0]}': choose among {', '.join(known)}"
            )
    counts = apportion(number, list(shares.values()))
    return {kind: n for kind, n in zip(shares, counts, strict=True) if n}, sources


def _speeds(request: Request, kinds: Mapping[str, int]) -> Speed:
    """Return speedups over K80: from Table 2, or drawn between the values of K80 and V100."""
    unknown = [kind for kind in kinds if base_kind(kind) not in KINDS]
    part = dict(zip(unknown, uniform(request.random, (0, 1000), len(unknown)), strict=True))

    def speed(model: Model, kind: str) -> float:
        if kind in part:
            return 1 + part[kind] / 1000 * (model.speedups["V100"] - 1)
        return model.speedups[base_kind(kind)]

    return speed


# --- measured rates -----------------------------------------------------------------------------

JobType = tuple[str, int]  # measured job type: name, GPUs


class Step(NamedTuple):
    """Seconds of one step of a whole job on GPUs of one kind; their sum is its duration."""

    train: float
    sync: float


Steps = Mapping[JobType, dict[str, Step] | str]  # steps by kind, or why there are none


def base_kind(kind: str) -> str:
    """Return the name of a kind without its memory: `V100` for `V100M32`."""
    return re.sub(r"(?<=\d)M\d+$", "", kind.upper())


def measured_steps(request: Request, kinds: Mapping[str, int]) -> Steps:
    """Return the step of each job type on each kind, or the reason why it does not run there.

    `request`: input of the preset, with rates. `kinds`: number of GPUs by kind.
    """
    if request.rates is None:
        return {}
    table = request.rates.steps_per_second
    spread = request.values["placement"] == "spread"
    types = dict.fromkeys(key for rates in table.values() for key in rates)
    steps_by_type: dict[JobType, dict[str, Step] | str] = {}
    for name, gpus in types:
        steps: dict[str, Step] = {}
        for kind in kinds:
            alone = table.get((base_kind(kind), True), {}).get((name, 1))
            packed = gpus == 1 or not spread
            rate = table.get((base_kind(kind), packed), {}).get((name, gpus))
            if rate is None or alone is None:
                steps_by_type[name, gpus] = f"without a rate on {kind}"
                break
            if not rate or not alone:
                steps_by_type[name, gpus] = f"not running on {kind}"
                break
            train = min(1 / (gpus * alone), 1 / rate)
            steps[kind] = Step(train, 1 / rate - train)
        else:
            steps_by_type[name, gpus] = steps
    return steps_by_type


def running_types(steps: Steps, gpus: int) -> list[JobType]:
    """Return the job types that run on a number of GPUs of every kind, in file order.

    `steps`: as returned by `measured_steps`. `gpus`: number of GPUs.
    """
    return [key for key, step in steps.items() if key[1] == gpus and not isinstance(step, str)]


def draw_type(request: Request, steps: Steps, gpus: int) -> JobType:
    """Draw one of the job types that run on a number of GPUs; at least one must exist.

    `steps`: as returned by `measured_steps`. `gpus`: number of GPUs.
    """
    types = running_types(steps, gpus)
    return types[uniform(request.random, (0, len(types) - 1), 1)[0]]


def _retimed(request: Request, drafts: Sequence[Draft], steps: Steps) -> list[Draft]:
    """Give drawn jobs measured types, with `batches_per_task` steps on each of their GPUs."""
    timed = []
    for draft in drafts:
        gpus = max((g for _, g in steps if g <= draft.tasks and running_types(steps, g)), default=0)
        if not gpus:
            raise UsageError("no measured job type runs on every kind of GPUs")
        job_type = draw_type(request, steps, gpus)
        step = steps[job_type]
        assert not isinstance(step, str)
        each = request.values["batches_per_task"] * gpus
        timed.append(
            replace(
                draft,
                tasks=gpus,
                training={kind: each * part.train for kind, part in step.items()},
                sync={kind: each * part.sync for kind, part in step.items()},
                model=job_type[0],
                like=stand_in(job_type[0]) or draft.like,
            )
        )
    return timed


# --- jobs ---------------------------------------------------------------------------------------


def _drawn(
    request: Request, kinds: Mapping[str, int], steps: Steps, speed: Speed
) -> tuple[list[Draft], str]:
    """Draw jobs, with the arrivals of a trace if there is one; also return their source."""
    if request.jobs is None:
        drafts, sentence = draw_jobs(request, kinds, speed), "jobs"
    else:
        jobs, sentence = choose(request, lambda job: None)
        sentence += ": arrival; all else"
        values = {**request.values, "jobs": len(jobs)}
        drafts = draw_jobs(replace(request, values=values), kinds, speed)
        drafts = [
            replace(draft, arrival=job.arrival - jobs[0].arrival)
            for draft, job in zip(drafts, jobs, strict=True)
        ]
    if steps:
        drafts = _retimed(request, drafts, steps)
    return drafts, f"{sentence} drawn with seed {request.seed}"


def _traced(
    request: Request, kinds: Mapping[str, int], steps: Steps, speed: Speed
) -> tuple[list[Draft], str]:
    """Return the jobs of the trace, and a text for `meta.source`."""
    trace, value = request.jobs, request.values
    assert trace is not None
    timed = any(_seconds(job) is not None or job.steps for job in trace.jobs)
    typed = {name for name, _ in steps}

    def refuse(job: TraceJob) -> str | None:
        if not job.gpus:
            return "without GPU"
        if timed and not job.steps and not _seconds(job):
            return "without running time"
        if steps and job.model in typed:
            step = steps.get((job.model or "", job.gpus), f"without a rate on {job.gpus} GPUs")
            return step if isinstance(step, str) else None
        if steps and not running_types(steps, job.gpus):
            return f"without a rate on {job.gpus} GPUs"
        return None

    jobs, sentence = choose(request, refuse)
    models = [
        stand_in(job.model) or drawn
        for job, drawn in zip(jobs, draw_models(request, len(jobs)), strict=True)
    ]
    rounds = draw_rounds(request, models)
    types: list[JobType | None] = [None] * len(jobs)
    if steps:  # the measured type of the job, or else a drawn one
        types = [
            (str(job.model), job.gpus) if job.model in typed
            else draw_type(request, steps, job.gpus)
            for job in jobs
        ]  # fmt: skip
    weights = uniform(request.random, value["weights"], len(jobs))
    drafts = []
    for n, job in enumerate(jobs):
        job_type, like = types[n], models[n]
        if job_type is None:
            name = job.model or like.name
            work = _sped(request, job, like, kinds, speed, rounds[n])
        else:
            name, step = job_type[0], steps[job_type]
            assert not isinstance(step, str)  # refused above
            work = _rated(request, job, name == job.model, step, rounds[n])
        drafts.append(
            Draft(
                id=job.id,
                arrival=job.arrival - jobs[0].arrival,
                weight=weights[n] if job.weight is None else job.weight,
                rounds=work[0],
                tasks=job.gpus,
                training=work[1],
                sync=work[2],
                model=name,
                like=like,
            )
        )
    return drafts, f"{sentence}: {_provenance(request, jobs, timed, typed)}"


def _seconds(job: TraceJob) -> float | None:
    """Return the duration of a job, or None."""
    if job.duration:
        return job.duration
    return (job.steps or 0) * (job.step_time or 0.0) or None


def _rounds(request: Request, steps: int | None, seconds: float, drawn: int) -> int:
    """Return the number of rounds: at most `max_rounds`, each at least as long as a slot."""
    value = request.values
    if steps is not None:
        drawn = math.ceil(steps / (value["steps_per_round"] or 1))
    shortest: float = value["slot_seconds"] or 0.001
    most: int = value["max_rounds"]
    return max(1, min(drawn, most, int(seconds / shortest)))


Work = tuple[int, dict[str, float], dict[str, float]]  # rounds; T^c and T^s by kind, seconds


def _rated(
    request: Request, job: TraceJob, own: bool, step: Mapping[str, Step], drawn: int
) -> Work:
    """Return the work of a job with measured rates.

    Its steps count if its own type was measured; otherwise it has as many as fill its duration on
    the fastest kind.
    """
    least = min(map(sum, step.values()))
    seconds = _seconds(job)
    if own and job.steps:
        steps = float(job.steps)
    elif seconds:
        steps = seconds / least
    else:
        steps = float(request.values["batches_per_task"] * job.gpus * drawn)
    rounds = _rounds(request, job.steps, steps * least, drawn)
    each = steps / rounds
    return (
        rounds,
        {kind: each * part.train for kind, part in step.items()},
        {kind: each * part.sync for kind, part in step.items()},
    )


def _sped(
    request: Request,
    job: TraceJob,
    like: Model,
    kinds: Mapping[str, int],
    speed: Speed,
    drawn: int,
) -> Work:
    """Return the work of a job without measured rates, by the speedups of a similar model."""
    exchange = exchange_time(request, like) if job.gpus > 1 else 0.0
    fastest = max(speed(like, kind) for kind in kinds)
    seconds = _seconds(job)
    if seconds is None and job.steps:
        seconds = job.steps * like.batch_ms / 1000 * like.speedups["V100"] / fastest
    if seconds is None:
        training = training_times(request, like, kinds, speed)
        rounds = min(drawn, request.values["max_rounds"])
        sync = exchange_times(request, like) if job.gpus > 1 else 0.0
        return rounds, training, dict.fromkeys(kinds, min(sync, *training.values()))
    rounds = _rounds(request, job.steps, seconds, drawn)
    sync = min(exchange, seconds / rounds / 2)
    train = seconds / rounds - sync
    return (
        rounds,
        {kind: train * fastest / speed(like, kind) for kind in kinds},
        dict.fromkeys(kinds, sync),
    )


def _provenance(request: Request, jobs: Sequence[TraceJob], timed: bool, typed: set[str]) -> str:
    """Return a text that says which fields come from the trace and which are drawn."""
    taken, drawn = ["arrival", "tasks_per_round (its GPUs)"], []
    most = request.values["max_rounds"]
    if any(job.steps for job in jobs):
        taken.append(f"rounds (its steps, in at most {most} rounds)")
    else:
        drawn.append(f"rounds (at most {most})")
    (taken if jobs[0].weight is not None else drawn).append("weight")
    if typed and not all(job.model in typed for job in jobs):
        drawn.append("measured job types")
    elif not typed and not all(stand_in(job.model) for job in jobs):
        drawn.append("the model of Table 2 that gives the speedups, if the name is not known")
    if any(_seconds(job) for job in jobs):
        taken.append("running time")
    elif not timed:
        taken.append("no running times: batches_per_task each")
    return f"{', '.join(taken)}; drawn with seed {request.seed}: {', '.join(drawn) or 'nothing'}"
