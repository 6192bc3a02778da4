"""Solve one instance with one method and verify the result."""

import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from schedgap.analysis.own.methods import Own
from schedgap.analysis.results.solution import Solution
from schedgap.analysis.runners.request import Limits
from schedgap.analysis.runners.run import MethodRun, OnMessage
from schedgap.analysis.runners.runner import Runner
from schedgap.analysis.solving import live
from schedgap.analysis.solving.choices import Choice
from schedgap.analysis.solving.proving import Effort, an_effort, with_evidence
from schedgap.errors import Interrupted, UsageError
from schedgap.instances.arguments import (
    A_LIMIT,
    MEMORY,
    a_function,
    a_text,
    an_instance_or_path,
    checked,
)
from schedgap.instances.book import load
from schedgap.instances.instance import Instance
from schedgap.models.method import check_instance

if TYPE_CHECKING:
    import pyomo.core as pyo


@checked(
    instance=an_instance_or_path,
    engine=a_text,
    time_limit=A_LIMIT,
    memory_limit=MEMORY,
    proof=an_effort,
    on_message=a_function,
)
def solve(
    instance: Instance | str | os.PathLike[str],
    method: "str | Callable[..., Any] | Own | pyo.ConcreteModel" = "exact",
    *,
    engine: str | None = None,
    time_limit: float | None = None,
    memory_limit: float | None = None,
    seed: int | None = None,
    proof: Effort = "auto",
    on_message: OnMessage | None = None,
    **options: object,
) -> Solution:
    """Run a method on an instance, in a child process, and return its verified solution.

    In a notebook, a bar with phase, incumbent and bound is shown meanwhile.

    Parameters
    ----------
    instance : Instance or path
        The instance to solve, its file, or its name in the record book, such as 'hare-a1'.
    method : str, callable, Own or ConcreteModel
        Name or alias, as listed by `schedgap.methods(family)`, with options as in
        `hare:gpu_rule=finish`. It may be a method of your own: a function from an instance to a
        schedule or its data, `FILE.py:FUNCTION`, or `cmd:PROGRAM ARGUMENTS`
        (docs/own-algorithms.md). It may also be a model from `schedgap.model`, changed or not
        (docs/programs.md). The bound of a changed model is not a bound for the instance.
    engine : str, optional
        One of the method's engines; by default its first.
    time_limit, memory_limit : float, optional
        Limits in wall-clock seconds, model building included, and in MB. A method that is killed
        at a limit still gives the best schedule and bound that it has reported.
    seed : int, optional
        Random seed, >= 0.
    proof : "auto", "off" or float
        Time to look for a proof of an optimum after the search. The value "auto" is as long as the
        search took, but at least 30 s, within the time limit. A number is in seconds.
    on_message : callable, optional
        Called with ("incumbent", seconds, objective, schedule), ("bound", seconds, value) or
        ("phase", seconds, text) while the method runs; then no bar is shown.
    **options
        Options of the method, such as `gpu_rule="finish"`.

    Raises
    ------
    UsageError, EngineUnavailableError
        If the method cannot be run with these arguments.
    OwnMethodError, InvalidScheduleError
        If a method of your own fails, or returns a schedule that breaks a rule.
    ContradictionError
        If another method's schedule breaks a rule or refutes its bound, which is a bug.
    Interrupted
        If Ctrl-C ends a method that has reported a schedule or a bound: a KeyboardInterrupt with
        the `solution`.
    """
    if not isinstance(instance, Instance):
        instance = load(instance)
    choice = Choice.to_solve(method)
    if engine is not None and choice.engine not in (None, engine):
        named = f"{choice.method}@{choice.engine}"
        raise UsageError(f"engine '{engine}', but the method is {named}")
    choice = replace(choice, engine=engine or choice.engine).with_settings(options)
    runner = choice.runner(instance, Limits(time_limit, memory_limit), seed)
    check_instance(instance, runner.method)
    with live.solving(f"{runner.method.name} on {instance.name}", on_message) as receive:
        return solved(instance, runner, proof, receive)


def solved(
    instance: Instance,
    runner: Runner,
    proof: Effort = "auto",
    receive: OnMessage | None = None,
    interrupt: threading.Event | None = None,
) -> Solution:
    """Run a method and return its verified solution with the evidence for its optimality.

    `proof`: as in `solve`. `receive`: called with each message. `interrupt`: ends the method when
    set, as Ctrl-C does in `solve`.
    """
    run, begun = MethodRun(), time.monotonic()
    try:
        runner.run(receive, run=run, interrupt=interrupt)
    except KeyboardInterrupt:
        run.end, run.message, run.seconds = "timeout", "interrupted", time.monotonic() - begun
        raise _interrupted(instance, runner.solution(run)) from None
    found = runner.solution(run)
    try:
        return with_evidence(
            instance,
            found,
            engines=runner.engines,
            written=run.proof,
            effort=proof if runner.seeks_proofs else "off",
            time_limit=runner.limits.time,
            interrupt=interrupt,
        )
    except KeyboardInterrupt:
        raise _interrupted(instance, found, runner.engines) from None


def _interrupted(
    instance: Instance, found: Solution, engines: tuple[str, ...] = ()
) -> KeyboardInterrupt:
    """Return the interrupt to raise: with the solution, if it has a schedule or a bound."""
    if found.objective is None and found.bound is None:
        return KeyboardInterrupt()
    kept = with_evidence(instance, found, engines=engines, effort="off")
    return Interrupted(solution=kept)
