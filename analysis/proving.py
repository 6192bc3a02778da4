"""Evidence for an optimum: the certificate of its bound, or a proof that nothing is better."""

import importlib
import threading
from collections.abc import Callable, Mapping
from typing import Any, Literal

from schedgap.analysis.bounds import meet, on_grid
from schedgap.analysis.solution import Solution
from schedgap.errors import InputError
from schedgap.instances.instance import Instance
from schedgap.instances.solution import ProofKind
from schedgap.models.family import family
from schedgap.solvers.children.clock import Clock

Effort = Literal["auto", "off"] | float
"""`auto`: as long as the search took. A number: so many seconds. `off`: only say what is known."""

LEAST_SECONDS = 1.0  # that `auto` allows


def with_evidence(
    instance: Instance,
    solution: Solution,
    *,
    engines: tuple[str, ...],
    effort: Effort = "auto",
    time_limit: float | None = None,
    interrupt: threading.Event | None = None,
) -> Solution:
    """Return the solution with the strongest evidence that can be had for its optimality.

    Parameters
    ----------
    instance : Instance
        The instance of the solution.
    solution : Solution
        Unchanged if its status claims no optimality.
    engines : tuple of str
        The engines that the method used.
    effort : "auto", "off" or float
        Time for a proof; see `Effort`.
    time_limit : float, optional
        Limit of the whole run in seconds; `auto` keeps to what the method has left of it.
    interrupt : threading.Event, optional
        Ends the search for a proof when set.
    """
    if solution.status not in ("optimal", "infeasible"):
        return solution
    word: ProofKind = "engine" if engines else "none"
    if effort == "off":
        return solution.with_proof(word)
    seconds = max(LEAST_SECONDS, solution.seconds) if effort == "auto" else float(effort)
    if effort == "auto" and time_limit is not None:
        seconds = min(seconds, max(0.0, time_limit - solution.seconds))
    if certificate_meets(instance, solution):
        return solution.with_proof("certificate")
    data = None
    if family(instance.family).problem(solution.options) == "":
        data = _proof_in_child(instance, solution, seconds, interrupt)
    return solution.with_proof(word) if data is None else solution.with_proof("tree", data)


def certificate_meets(instance: Instance, solution: Solution) -> bool:
    """Return whether the certificate of the bound alone proves the objective optimal.

    Parameters
    ----------
    instance : Instance
        The instance of the solution.
    solution : Solution
        The solution.
    """
    owner = family(instance.family)
    if solution.certificate is None or owner.check_certificate is None:
        return False
    if solution.objective is None:
        return False
    try:
        value = owner.check_certificate(instance, solution.certificate)
    except InputError:
        return False
    grid = owner.grid(instance)
    return meet(solution.objective, on_grid(value, grid, solution.sense), grid)


def _proof_in_child(
    instance: Instance,
    solution: Solution,
    seconds: float,
    interrupt: threading.Event | None,
) -> Mapping[str, Any] | None:
    """Return a proof that has been checked, or None when there is none within the time."""
    from schedgap.models.proofs import excluded_value
    from schedgap.solvers.children.processes import run_child

    goal = excluded_value(instance, solution.objective)
    if goal is None or seconds <= 0:
        return None
    reply = run_child(
        "schedgap.analysis.proving:search_proof",
        instance,
        goal,
        solution.schedule,
        seconds,
        solution.seed or 0,
        limit=seconds + 1.0,
        engine="highs",
        interrupt=interrupt,
    )
    found: Mapping[str, Any] | None = reply.value if reply.outcome == "done" else None
    return found


def search_proof(
    send: Callable[[object], None],
    instance: Instance,
    goal: int,
    schedule: Any,
    seconds: float,
    seed: int,
) -> Mapping[str, Any] | None:
    """Search for a proof in this (child) process; return its data once they have been checked.

    Parameters
    ----------
    send : callable
        Sends a message to the parent process; not used.
    instance : Instance
        The instance.
    goal : int
        Value to exclude, in the family's units.
    schedule : JSON data
        The schedule that is claimed to be optimal, or None.
    seconds : float
        Time for the search.
    seed : int
        Of the engine.
    """
    from schedgap.models.proofs import check_proof, proof_data
    from schedgap.solvers.proofs.checker import RefusedError

    prover = importlib.import_module(f"schedgap.models.{instance.family}.exact.prove")
    try:
        proved = prover.prove_goal(instance, goal, schedule, clock=Clock(seconds), seed=seed)
    except RefusedError:  # too large
        return None
    if proved.proof is None:
        return None
    found = proved.proof
    data = proof_data(instance, goal, vectors=found.vectors, cuts=found.cuts, tree=found.tree)
    return data if check_proof(instance, data).status == "proved" else None
