"""Evidence for an optimum: certificate, checked proof, complete search, or reports of engines."""

import importlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from schedgap.analysis.results.bounds import Scale
from schedgap.analysis.results.solution import Solution
from schedgap.errors import InputError
from schedgap.instances.arguments import a_number
from schedgap.instances.families import FAMILIES
from schedgap.instances.instance import Instance
from schedgap.instances.solution import ProofKind
from schedgap.models.family import family
from schedgap.models.method import Budget
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.proofs.tree import Proof

Effort = Literal["auto", "off"] | float
"""`auto`: as long as the search took, but at least 30 s. If a certificate meets the objective, at
least 1 s and at most 10 s. A number: this number of seconds. `off`: look for no proof, but keep a
proof that the search itself has written."""

AUTO_SECONDS = 30.0  # trees of dmlrs's preset medium need up to 17 s, searches 10
LEAST_SECONDS = 1.0  # least time for a check, and if a certificate meets the objective
MOST_SECONDS = 10.0  # most time for a tree if a certificate meets the objective
CHECK_SECONDS = 60.0  # limit for checking a written proof, also after the time limit
FEW_NODES = 100  # larger proofs are checked in a child process
TREE_SHARE = 0.7  # share of the time if a complete search or two engines can follow


@dataclass(frozen=True, slots=True)
class Evidence:
    """What an optimum rests on.

    `kind`: None if nothing was found. `data`: content of the proof file, for the kind `tree`.
    `note`: why there is no proof file, for people who read the trace.
    """

    kind: ProofKind | None = None
    data: Mapping[str, Any] | None = None
    note: str = ""


def an_effort(value: object) -> str | None:
    """Need how long a proof is looked for."""
    words = isinstance(value, str) and value in ("auto", "off")
    number = a_number(value) is None and float(value) >= 0  # type: ignore[arg-type]
    return None if words or number else "'auto', 'off' or a number of seconds"


def with_evidence(
    instance: Instance,
    solution: Solution,
    *,
    engines: tuple[str, ...],
    written: Proof | None = None,
    effort: Effort = "auto",
    time_limit: float | None = None,
    interrupt: threading.Event | None = None,
) -> Solution:
    """Return the solution with the strongest evidence that can be had for its optimality.

    A stopped search may have written a proof of its bound. It is checked; if it is refused, the
    bound of the certificate takes its place.

    `solution`: unchanged if its status claims no optimality and `written` is None. `engines`: the
    engines that the method used. `written`: proof that the search has written; it is checked first.
    `effort`: time for a proof; see `Effort`. `time_limit`: limit of the whole run in seconds;
    `auto` keeps to what the method has left of it. `interrupt`: ends the search for a proof when
    set.
    """
    if solution.status == "feasible" and written is not None:
        return _with_checked_bound(instance, solution, written, interrupt)
    if solution.status not in ("optimal", "infeasible"):
        return solution
    meets = certificate_meets(instance, solution)
    word: ProofKind = "certificate" if meets else "engine" if engines else "none"
    if effort == "off" and written is None:
        return solution.with_proof(word)
    seconds = 0.0 if effort == "off" else solution.seconds if effort == "auto" else float(effort)
    if effort == "auto":
        seconds = max(seconds, LEAST_SECONDS if meets else AUTO_SECONDS)
        seconds = min(seconds, MOST_SECONDS) if meets else seconds
        if time_limit is not None:
            seconds = min(seconds, max(0.0, time_limit - solution.seconds))
    if family(instance.family).problem(solution.options) != "":
        return solution.with_proof(word)
    begin = time.monotonic()
    found = _evidence(instance, solution, written, seconds, interrupt, tree_only=meets)
    notes: dict[str, object] = {"proof_seconds": round(time.monotonic() - begin, 3)}
    if found.note:
        notes["no_proof_file"] = found.note
    return solution.with_proof(found.kind or word, found.data, notes)


def certificate_meets(instance: Instance, solution: Solution) -> bool:
    """Return whether the certificate of the bound alone proves the objective optimal."""
    if solution.objective is None:
        return False
    value = _certified(instance, solution)
    return value is not None and Scale.of(instance).meets(solution.objective, value)


def _certified(instance: Instance, solution: Solution) -> float | None:
    """Return the bound that the certificate of a solution proves, on the objective's grid."""
    owner = family(instance.family)
    if solution.certificate is None or owner.check_certificate is None:
        return None
    try:
        value = owner.check_certificate(instance, solution.certificate)
    except InputError:
        return None
    return Scale.of(instance).on_grid(value)


def _with_checked_bound(
    instance: Instance, solution: Solution, written: Proof, interrupt: threading.Event | None
) -> Solution:
    """Return the solution with the proof of its bound, or with the bound of its certificate."""
    found = _evidence(instance, solution, written, 0.0, interrupt)
    if found.kind == "tree":
        return solution.with_bound(solution.bound).with_proof("tree", found.data)
    notes = {"reported_bound": solution.bound, "no_proof_file": found.note}
    return solution.with_bound(_certified(instance, solution), solution.certificate, notes)


def _evidence(
    instance: Instance,
    solution: Solution,
    written: Proof | None,
    seconds: float,
    interrupt: threading.Event | None,
    *,
    tree_only: bool = False,
) -> Evidence:
    """Return the evidence that is found within the time, in a child process if it takes long.

    It is about the objective of an optimum, else about the bound.
    """
    from schedgap.models.proofs import excluded_value, shortfall
    from schedgap.solvers.children.processes import run_child

    claimed = solution.bound if solution.status == "feasible" else solution.objective
    goal = excluded_value(instance, claimed)
    if goal is None:
        return Evidence(note=shortfall(instance, 0, claimed))
    if seconds <= 0 and written is None:
        return Evidence()
    if written is not None and len(written.tree) <= FEW_NODES:
        found = _checked(instance, goal, written, Clock(CHECK_SECONDS))
        if found.kind is not None or seconds <= 0:
            return found
        written = None
    reply = run_child(
        "schedgap.analysis.solving.proving:find_evidence",
        instance,
        goal,
        solution.schedule,
        seconds,
        solution.seed or 0,
        written,
        tree_only,
        limit=seconds + 1.0 + (0.0 if written is None else CHECK_SECONDS),
        engine="highs",
        interrupt=interrupt,
    )
    if reply.outcome == "done":
        return cast(Evidence, reply.value)
    return Evidence(note=f"{reply.outcome}: {str(reply.error)[-200:]}")


def find_evidence(
    send: Callable[[object], None],
    instance: Instance,
    goal: int,
    schedule: Any,
    seconds: float,
    seed: int,
    written: Proof | None = None,
    tree_only: bool = False,
) -> Evidence:
    """Look for evidence in this (child) process; proofs are checked before they are returned.

    `send`: sends a message to the parent process; not used. `goal`: value to exclude, in the
    family's units. `schedule`: the schedule that is claimed to be optimal, or None. `seconds`: time
    for the search. `written`: proof that the search has written. `tree_only`: whether nothing but a
    proof file is of interest.
    """
    from schedgap.models.proofs import has_search, integer_program, search_again
    from schedgap.solvers.proofs.agreement import agree

    if written is not None:
        found = _checked(instance, goal, written, Clock(CHECK_SECONDS))
        if found.kind is not None or seconds <= 0:
            return found
    clock = Clock(seconds)
    program = None if tree_only else integer_program(instance, goal)
    others = not tree_only and (program is not None or has_search(instance))
    share = TREE_SHARE if others else 1.0
    proof, note = _search_tree(instance, goal, schedule, Budget(clock.share(share), seed))
    if proof is not None:
        found = _checked(instance, goal, proof, clock)
        if found.kind is not None:
            return found
        note = found.note
    if tree_only:
        return Evidence(note=note)
    searched = search_again(instance, goal, seconds=clock.remaining())
    if searched is not None and searched.proved:
        return Evidence("search", note=note)
    if program is not None and agree(program, clock=clock, seed=seed):
        return Evidence("engines", note=note)
    return Evidence(note=note)


def _search_tree(
    instance: Instance, goal: int, schedule: Any, budget: Budget
) -> tuple[Proof | None, str]:
    """Return a proof that the family's prover has found, or why there is none."""
    from schedgap.solvers.proofs.checker import RefusedError

    name = f"{FAMILIES[instance.family].models}.exact.prove"
    try:
        prover = importlib.import_module(name)
        proved = prover.prove_goal(instance, goal, schedule, budget=budget)
    except RefusedError as error:  # too large
        return None, str(error)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        return None, f"no proof files for family {instance.family}"
    return proved.proof, proved.reason


def _checked(instance: Instance, goal: int, proof: Proof, clock: Clock) -> Evidence:
    """Return a proof as evidence, or why the checker does not accept it within the time."""
    from schedgap.models.proofs import check_here, proof_data

    shown = goal if proof.goal is None else max(goal, proof.goal)
    data = proof_data(instance, shown, vectors=proof.vectors, cuts=proof.cuts, tree=proof.tree)
    verdict = check_here(instance, data, seconds=max(LEAST_SECONDS, clock.remaining()))
    if verdict.status == "proved":
        return Evidence("tree", data)
    return Evidence(note=f"the checker refuses the proof that was found: {verdict.reason}")
