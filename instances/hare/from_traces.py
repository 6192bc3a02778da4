"""Instances of family `hare` whose jobs, GPUs or speeds come from public files.

A job of a trace becomes a chain of rounds with one task for each requested GPU. Its work follows
from the first of these that is known:

1. measured rates: R_g steps per second of the job on g GPUs of a kind, and R_1 on one GPU. In a job
   of S steps in R rounds, a task trains for S / (g R_1 R). Its synchronization is the rest of
   S / (R_g R), at least 0: what g GPUs cost beyond an equal share of the work;
2. its duration, or steps times the time per step, on the fastest kind of the instance. On slower
   kinds, training takes longer by the speedups of a similar model of Table 2;
3. its steps, with the time per mini-batch of that model on V100;
4. otherwise the preset's `batches_per_task` per task, and drawn rounds.

In cases 2 to 4, the synchronization of a job on several GPUs is the time to exchange its model over
`bandwidth`, at most half of a round. A job on one GPU has none. Every job needs a time on every
kind: a job without a rate on some kind is left out, and `meta.source` counts such jobs.

Models and rounds have separate streams (`workload.STREAMS`). Order of the other draws: speeds
of kinds that Table 2 does not have; job types of jobs without a measured one; weights. If no jobs
are given, see `draw_jobs`.
"""

import math
import re
from collections import Counter
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
_EXCHANGES = ("batch_factor", "exchanges", "sync_cap")
REPLACED = {  # settings that have no effect with a file
    "jobs": ("arrival_span", "tasks_per_round", "batches_per_task", *_EXCHANGES),
    "machines": ("mix",),
    "rates": ("bandwidth", *_EXCHANGES),
}
# Settings that have no effect with a file of which only the arrivals are used.
ONLY_ARRIVALS = REPLACED | {"jobs": ("arrival_span",)}


def _check_files(request: Request) -> None:
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
    _check_files(request)
    kinds, gpus = _kinds(request, mix)
    measured, speed = _measured(request, kinds), _speeds(request, kinds)
    jobs_of = _drawn if request.jobs is None or _only_arrivals(request) else _traced
    drafts, sentence = jobs_of(request, measured, speed)
    sources = [sentence, gpus]
    if request.rates is not None:
        sources.append(
            f"times: steps per second of {request.rates.file} ({request.rates.format}),"
            f" workers {request.values['placement']}"
        )
    elif not (request.jobs or request.machines):
        sources = [f"drawn with seed {request.seed}: {DRAWN}"]
    return Generated(*instance_of(request, kinds, drafts, "; ".join(sources)))


# --- kinds of GPUs -------------------------------------------------------------------------------


def _kinds(request: Request, mix: Mapping[str, float]) -> tuple[dict[str, int], str]:
    """Return the number of GPUs by kind, and a text for `meta.source`."""
    number, rates = request.values["gpus"], request.rates
    rated = tuple(kind.upper() for kind in rates.kinds) if rates else ()
    shares, source = mix, "GPUs in the shares of mix"
    if request.machines is not None:
        file = request.machines.file
        found: Counter[str] = Counter()
        for machine in request.machines.machines:
            if machine.gpus:
                found[machine.kind] += machine.gpus
        if not found:
            raise UsageError(f"{file}: no machine has a GPU")
        shares = {k: n for k, n in found.items() if not rates or base_kind(k) in rated}
        if not shares:
            raise UsageError(f"{file}: no rates for any of its kinds ({', '.join(found)})")
        total = sum(shares.values())
        if "gpus" in request.given and number > total:
            raise UsageError(f"{file}: {total} usable GPUs, not enough for gpus={number}")
        number = min(number, total)
        source = f"{number} of {total} GPUs in the shares of {file} ({request.machines.format})"
        if gone := [kind for kind in found if kind not in shares]:
            source += f", without {', '.join(gone)}: no rates"
    elif rated and "mix" not in request.given:
        shares, source = dict.fromkeys(rated, 1), "GPUs in equal numbers of the measured kinds"
    elif unknown := [kind for kind in mix if base_kind(kind) not in (known := rated or KINDS)]:
        raise UsageError(
            f"option mix: no speeds for kind '{unknown[0]}': choose among {', '.join(known)}"
        )
    counts = apportion(number, list(shares.values()))
    return {kind: n for kind, n in zip(shares, counts, strict=True) if n}, source


def _speeds(request: Request, kinds: Mapping[str, int]) -> Speed:
    """Return speedups over K80: from Table 2, or drawn between the values of K80 and V100."""
    unknown = [kind for kind in kinds if base_kind(kind) not in KINDS]
    part = dict(zip(unknown, uniform(request.random, (0, 1000), len(unknown)), strict=True))

    def speeds(model: Model) -> dict[str, float]:
        known, most = model.speedups, model.speedups["V100"] - 1
        return {
            kind: 1 + part[kind] / 1000 * most if kind in part else known[base_kind(kind)]
            for kind in kinds
        }

    return speeds


# --- measured rates -----------------------------------------------------------------------------

JobType = tuple[str, int]  # measured job type: name, GPUs
Step = dict[str, tuple[float, float]]  # GPU kind -> seconds of training, of synchronization


class MeasuredTypes(NamedTuple):
    """Steps of a whole job by measured type, or why the type does not run on every kind."""

    steps: Mapping[JobType, Step]
    refused: Mapping[JobType, str]

    @property
    def names(self) -> set[str]:
        """Names of all measured types."""
        return {name for name, _ in (*self.steps, *self.refused)}

    def on(self, gpus: int) -> list[JobType]:
        """Return the types that run on a number of GPUs of every kind, in file order."""
        return [key for key in self.steps if key[1] == gpus]

    def drawn(self, request: Request, gpus: int) -> JobType:
        """Draw one of these types; there must be one."""
        types = self.on(gpus)
        return types[uniform(request.random, (0, len(types) - 1), 1)[0]]


def base_kind(kind: str) -> str:
    """Return the name of a kind without its memory: `V100` for `V100M32`."""
    return re.sub(r"(?<=\d)M\d+$", "", kind.upper())


def _measured(request: Request, kinds: Mapping[str, int]) -> MeasuredTypes:
    """Return the measured types of the rates, if there are any."""
    steps: dict[JobType, Step] = {}
    refused: dict[JobType, str] = {}
    table = request.rates.steps_per_second if request.rates else {}
    spread = request.values["placement"] == "spread"
    for name, gpus in dict.fromkeys(key for rates in table.values() for key in rates):
        own: Step = {}
        for kind in kinds:
            alone = table.get((base_kind(kind), True), {}).get((name, 1))
            rate = table.get((base_kind(kind), gpus == 1 or not spread), {}).get((name, gpus))
            if not rate or not alone:
                unknown = rate is None or alone is None
                refused[name, gpus] = f"{'without a rate' if unknown else 'not running'} on {kind}"
                break
            train = min(1 / (gpus * alone), 1 / rate)
            own[kind] = train, 1 / rate - train
        else:
            steps[name, gpus] = own
    return MeasuredTypes(steps, refused)


def _retimed(request: Request, draft: Draft, measured: MeasuredTypes) -> Draft:
    """Give a drawn job a measured type, with `batches_per_task` steps on each of its GPUs."""
    gpus = max((gpus for _, gpus in measured.steps if gpus <= draft["tasks_per_round"]), default=0)
    if not gpus:
        raise UsageError("no measured job type runs on every kind of GPUs")
    job_type = name, _ = measured.drawn(request, gpus)
    work = _steps(request.values["batches_per_task"] * gpus, measured.steps[job_type])
    like = stand_in(name) or draft["like"]
    return draft | work | {"tasks_per_round": gpus, "model": name, "like": like}


def _steps(number: float, step: Step) -> Draft:
    """Return the times of a task with a number of steps of its job."""
    return {
        "training_time": {kind: number * train for kind, (train, _) in step.items()},
        "synchronization_time": {kind: number * sync for kind, (_, sync) in step.items()},
    }


# --- jobs ---------------------------------------------------------------------------------------


def _drawn(request: Request, measured: MeasuredTypes, speed: Speed) -> tuple[list[Draft], str]:
    """Draw jobs, with the arrivals of a trace if there is one; also return their source."""
    if request.jobs is None:
        drafts, sentence = draw_jobs(request, speed), "jobs"
    else:
        jobs, sentence = choose(request, lambda job: None)
        sentence += ": arrival; all else"
        sized = replace(request, values={**request.values, "jobs": len(jobs)})
        drafts = [
            draft | {"arrival": job.arrival - jobs[0].arrival}
            for draft, job in zip(draw_jobs(sized, speed), jobs, strict=True)
        ]
    if request.rates is not None:
        drafts = [_retimed(request, draft, measured) for draft in drafts]
    return drafts, f"{sentence} drawn with seed {request.seed}"


def _traced(request: Request, measured: MeasuredTypes, speed: Speed) -> tuple[list[Draft], str]:
    """Return the jobs of the trace, and a text for `meta.source`."""
    trace, value, typed = request.jobs, request.values, measured.names
    assert trace is not None
    timed = any(_seconds(job) or job.steps for job in trace.jobs)

    def refuse(job: TraceJob) -> str | None:
        if not job.gpus:
            return "without GPU"
        if timed and not job.steps and not _seconds(job):
            return "without running time"
        own, without = (str(job.model), job.gpus), f"without a rate on {job.gpus} GPUs"
        if job.model in typed:
            return None if own in measured.steps else measured.refused.get(own, without)
        return without if typed and not measured.on(job.gpus) else None

    jobs, sentence = choose(request, refuse)
    models = [
        stand_in(job.model) or drawn
        for job, drawn in zip(jobs, draw_models(request, len(jobs)), strict=True)
    ]
    rounds = draw_rounds(request, models)
    types = [  # the measured type of the job, or else a drawn one
        (str(job.model), job.gpus) if job.model in typed else measured.drawn(request, job.gpus)
        for job in jobs
        if typed
    ]
    weights = uniform(request.random, value["weights"], len(jobs))
    drafts = []
    for n, (job, like) in enumerate(zip(jobs, models, strict=True)):
        work = (
            _rated(request, job, types[n], measured, rounds[n])
            if typed
            else _sped(request, job, like, speed(like), rounds[n])
        )
        drafts.append(
            {
                "id": job.id,
                "arrival": job.arrival - jobs[0].arrival,
                "weight": weights[n] if job.weight is None else job.weight,
                "tasks_per_round": job.gpus,
                "model": types[n][0] if typed else job.model or like.name,
                "like": like,
                **work,
            }
        )
    return drafts, f"{sentence}: {_provenance(request, jobs, timed, typed)}"


def _seconds(job: TraceJob) -> float | None:
    """Return the duration of a job, or None."""
    return job.duration or (job.steps or 0) * (job.step_time or 0.0) or None


def _rounds(request: Request, steps: int | None, seconds: float, drawn: int) -> int:
    """Return the number of rounds: at most `max_rounds`, each at least as long as a slot."""
    value = request.values
    if steps is not None:
        drawn = math.ceil(steps / (value["steps_per_round"] or 1))
    most: int = min(value["max_rounds"], int(seconds / (value["slot_seconds"] or 0.001)))
    return max(1, min(drawn, most))


def _rated(
    request: Request, job: TraceJob, job_type: JobType, measured: MeasuredTypes, drawn: int
) -> Draft:
    """Return the work of a job with measured rates.

    Its steps count if its own type was measured; otherwise it has as many as fill its duration on
    the fastest kind.
    """
    step = measured.steps[job_type]
    least = min(map(sum, step.values()))
    if job_type[0] == job.model and job.steps:
        steps = float(job.steps)
    elif seconds := _seconds(job):
        steps = seconds / least
    else:
        steps = float(request.values["batches_per_task"] * job.gpus * drawn)
    rounds = _rounds(request, job.steps, steps * least, drawn)
    return {"rounds": rounds, **_steps(steps / rounds, step)}


def _sped(
    request: Request, job: TraceJob, like: Model, speeds: Mapping[str, float], drawn: int
) -> Draft:
    """Return the work of a job without measured rates, by the speedups of a similar model."""
    fastest, seconds, exchange = max(speeds.values()), _seconds(job), 0.0
    if seconds is None and job.steps:
        seconds = job.steps * like.batch_ms / 1000 * like.speedups["V100"] / fastest
    if seconds is None:
        training = training_times(request, like, speeds)
        rounds = min(drawn, request.values["max_rounds"])
        if job.gpus > 1:
            exchange = min(exchange_times(request, like), *training.values())
    else:
        rounds = _rounds(request, job.steps, seconds, drawn)
        if job.gpus > 1:
            exchange = min(exchange_time(request, like), seconds / rounds / 2)
        train = seconds / rounds - exchange
        training = {kind: train * fastest / speed for kind, speed in speeds.items()}
    sync = dict.fromkeys(speeds, exchange)
    return {"rounds": rounds, "training_time": training, "synchronization_time": sync}


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
