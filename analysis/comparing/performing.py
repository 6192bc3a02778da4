"""Run one task of a comparison and return its record."""

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from schedgap.analysis.records.folder import (
    TIMES,
    Limits,
    TaskOutcome,
    record_data,
    task_key,
)
from schedgap.analysis.records.sources import method_code
from schedgap.analysis.solving.choices import Choice, label
from schedgap.analysis.solving.proving import with_evidence
from schedgap.analysis.solving.solve import verified_in_child, verified_solution
from schedgap.analysis.solving.tasks import MethodRun, TaskSpec, run_task, task_spec
from schedgap.errors import (
    ContradictionError,
    EngineLicenceError,
    FamilyError,
    InvalidScheduleError,
    OwnMethodError,
    SchedgapError,
)
from schedgap.instances.instance import Instance
from schedgap.solvers.engines.availability import require


@dataclass(frozen=True, slots=True)
class Task:
    """One method on one instance; `key` is the part of a record's key that is the same anywhere.

    `code` is a hash of the source; `versions` are those of this package and the engines.
    `spec`: what is run; None if the task was sent to another computer, which has a spec of its own.
    """

    key: str
    sha256: str
    choice: Choice
    limits: Limits
    seed: int | None
    code: str
    versions: Mapping[str, str]
    spec: TaskSpec | None = field(default=None, compare=False)


def new_task(instance: Instance, choice: Choice, limits: Limits, seed: int | None) -> Task:
    """Return a task of this installation of the package.

    `choice`: the method with its engine and options. `limits`: limits of the task. `seed`: random
    seed.
    """
    spec = task_spec(
        instance,
        choice.given,
        engine=choice.engine,
        time_limit=limits.time,
        memory_limit=limits.memory,
        seed=seed,
        settings=dict(choice.settings),
    )
    code = method_code(spec.family, spec.method)
    identity = {
        "instance": instance.sha256,
        "method": spec.method.name,
        "engine": spec.engine,
        "options": spec.plain_options(),
        "seed": spec.seed,
        "versions": spec.versions(),
        "code": code,
    }
    key = task_key(identity)
    return Task(key, instance.sha256, choice, limits, seed, code, spec.versions(), spec)


def perform(
    instance: Instance, task: Task, session: str, interrupt: threading.Event | None = None
) -> dict[str, object]:
    """Run one task and return its record as JSON data; all errors are recorded, none is raised.

    `task`: what to run. `session`: id of the session. `interrupt`: ends the task when set; used in
    threads, which do not receive Ctrl-C (see `run_child`).
    """
    spec = task.spec
    assert spec is not None  # only a task that was sent has none
    options = spec.recorded_options()
    head = record_data(
        instance,
        task.key,
        task.limits,
        session,
        code=task.code,
        method=spec.method.name,
        label=label(spec),
        kind=spec.method.kind,
        own=spec.own is not None,
        engine=spec.engine,
        options=options,
        seed=spec.seed,
        problem=spec.family.problem(options),
        versions=spec.versions(),
    )
    record = partial(_record, head, spec)
    run: MethodRun | None = None
    one = spec.formulation
    try:
        if one is not None:
            require(one.engine)
        reason = spec.method.unsupported_reason(instance)
        if reason:
            return record(None, "skipped", str(reason))
        run = run_task(instance, spec, interrupt=interrupt, timed=True)
        begun = time.monotonic()
        verified = partial(verified_in_child, interrupt=interrupt)
        solution = with_evidence(
            instance,
            verified_solution(instance, spec, run, verified),
            engines=spec.engines,
            written=run.proof,
            effort="auto" if one is None else "off",
            time_limit=task.limits.time,
            interrupt=interrupt,
        )
    except (FamilyError, OwnMethodError) as error:
        return record(run, "error", str(error))
    except InvalidScheduleError as error:
        return record(run, "invalid", str(error))
    except EngineLicenceError as error:
        return record(run, "skipped", f"refused: licence: {error}")
    except SchedgapError as error:  # the method itself refused this instance
        return record(run, "skipped", str(error))
    except ContradictionError as error:
        return record(run, "invalid", str(error))
    except Exception as error:  # noqa: BLE001 - one task must not end the whole run
        return record(run, "error", str(error))
    return record(run, run.end, run.message) | {
        "solution": solution.to_data(),
        "relaxed": []
        if solution.schedule is None
        else list(spec.family.omitted_rules(solution.schedule)),
        "progress": [list(point) for point in solution.progress],
        "certificate": None if solution.certificate is None else dict(solution.certificate),
        "proof": solution.proof_data,
        "verify_seconds": time.monotonic() - begun,
    }


def _record(
    head: Mapping[str, object],
    spec: TaskSpec,
    run: MethodRun | None,
    outcome: TaskOutcome,
    message: str,
) -> dict[str, object]:
    """Return the data of a record that has no solution yet.

    `head`: its data when the task began.
    """
    measured = (*TIMES, "peak_memory_mb", "cpu_seconds", "limited")
    return {
        **head,
        "outcome": outcome,
        "message": " ".join(message.split()),
        **{name: None if run is None else getattr(run, name) for name in measured},
        **_of_formulation(spec, run),
    }


def _of_formulation(spec: TaskSpec, run: MethodRun | None) -> dict[str, object]:
    """Return what the record of a formulation has beside that of any method."""
    one = spec.formulation
    if one is None:
        return {}
    facts = {} if run is None else run.facts
    times = {} if run is None else {
        name: facts[name] for name in TIMES if getattr(run, name) is None and name in facts
    }  # fmt: skip
    return times | {
        "formulation": one.key(spec.family),
        "threads": one.threads,
        "workers": one.workers,
        "permutation": one.permutation,
        "pinned": [] if run is None else list(run.pinned),
        "log": "" if run is None else run.log,
        "statistics": facts.get("statistics", {}),
    }
