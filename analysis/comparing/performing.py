"""Run one task of a comparison and return its record."""

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from schedgap.analysis.records.folder import TIMES, TaskOutcome, record_data, task_key
from schedgap.analysis.records.sources import method_hash
from schedgap.analysis.runners.request import Limits
from schedgap.analysis.runners.run import MethodRun
from schedgap.analysis.runners.runner import Runner, verified_in_child
from schedgap.analysis.solving.choices import Choice
from schedgap.analysis.solving.proving import with_evidence
from schedgap.errors import (
    ContradictionError,
    EngineLicenceError,
    FamilyError,
    InvalidScheduleError,
    OwnMethodError,
    SchedgapError,
)
from schedgap.instances.instance import Instance


@dataclass(frozen=True, slots=True)
class Task:
    """One method on one instance; `key` is the part of a record's key that is the same anywhere.

    `code` is a hash of the source; `versions` has this package and the engines.
    `runner`: what is run; None if the task was sent to another computer, which prepares its own.
    """

    key: str
    sha256: str
    choice: Choice
    limits: Limits
    seed: int | None
    code: str
    versions: Mapping[str, str]
    runner: Runner | None = field(default=None, compare=False)


def new_task(instance: Instance, choice: Choice, limits: Limits, seed: int | None) -> Task:
    """Return a task of this installation of the package.

    `choice`: the method with its engine and options. `limits`: limits of the task. `seed`: random
    seed.
    """
    runner = choice.runner(instance, limits, seed)
    code, versions = method_hash(runner.family, runner.method), runner.versions()
    identity = {
        "instance": instance.sha256,
        "method": runner.method.name,
        "engine": runner.recorded_engine,
        "options": runner.plain_options(),
        "seed": runner.seed,
        "versions": versions,
        "code": code,
    }
    key = task_key(identity)
    return Task(key, instance.sha256, choice, limits, seed, code, versions, runner)


def execute_task(
    instance: Instance, task: Task, session: str, interrupt: threading.Event | None = None
) -> dict[str, object]:
    """Run one task and return its record as JSON data; all errors are recorded, none is raised.

    `task`: what to run. `session`: id of the session. `interrupt`: ends the task when set; used in
    threads, which do not receive Ctrl-C (see `run_child`).
    """
    runner = task.runner
    assert runner is not None  # only a task that was sent has none
    options = runner.recorded_options()
    head = record_data(
        instance,
        task.key,
        task.limits,
        session,
        code=task.code,
        method=runner.method.name,
        label=runner.label,
        kind=runner.method.kind,
        own=runner.is_own,
        engine=runner.recorded_engine,
        options=options,
        seed=runner.seed,
        problem=runner.family.problem(options),
        versions=task.versions,
    )
    record = partial(_record, head, runner)
    run: MethodRun | None = None
    try:
        reason = runner.method.unsupported_reason(instance)
        if reason:
            return record(None, "skipped", str(reason))
        run = runner.run(interrupt=interrupt, timed=True)
        begun = time.monotonic()
        solution = with_evidence(
            instance,
            runner.solution(run, partial(verified_in_child, interrupt=interrupt)),
            engines=runner.engines,
            written=run.proof,
            effort="auto" if runner.seeks_proofs else "off",
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
        else list(runner.family.omitted_rules(solution.schedule)),
        "progress": [list(point) for point in solution.progress],
        "certificate": None if solution.certificate is None else dict(solution.certificate),
        "proof": solution.proof_data,
        "verify_seconds": time.monotonic() - begun,
    }


def _record(
    head: Mapping[str, object],
    runner: Runner,
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
        **runner.recorded(run),
    }
