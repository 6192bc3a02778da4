"""Check what a claim of optimality or infeasibility rests on, apart from the certificate."""

import time
from dataclasses import dataclass

from schedgap.analysis.results.solution import Solution
from schedgap.errors import ContradictionError
from schedgap.instances.instance import Instance
from schedgap.instances.verdict import Violation
from schedgap.models.family import family
from schedgap.models.proofs import check_proof, excluded_value, proof_width, search_again
from schedgap.solvers.engines.results import ENGINES


@dataclass(frozen=True, slots=True)
class ProofCheck:
    """Result of the check of a claim.

    Attributes
    ----------
    proved : bool
        Whether the claim follows from what was checked.
    text : str
        One line for the user.
    violations : tuple of Violation
        Evidence that is broken or refuted.
    """

    proved: bool
    text: str
    violations: tuple[Violation, ...] = ()


def check_claim(
    instance: Instance,
    solution: Solution,
    objective: float | None,
    *,
    search: float | None = None,
) -> ProofCheck:
    """Check the evidence that a solution names, or say why there is nothing to check.

    Parameters
    ----------
    instance : Instance
        The instance.
    solution : Solution
        The solution.
    objective : float or None
        Recomputed from the schedule; None without a schedule.
    search : float, optional
        Seconds for a complete search, where optimality rests on one.
    """
    claim = solution.proof
    if claim is not None and solution.status == "feasible" and claim.kind == "tree":
        return _check_tree(instance, solution, solution.bound)
    if claim is None or solution.status not in ("optimal", "infeasible"):
        return ProofCheck(False, "claimed, not checked")
    match claim.kind:
        case "engine":
            return ProofCheck(False, f"{_word(solution)}, not checked")
        case "engines":
            return ProofCheck(False, "two engines agree (highs, cp-sat), not checked")
        case "search":
            return _check_search(instance, solution, objective, search)
        case "tree":
            return _check_tree(instance, solution, objective)
    return ProofCheck(False, "claimed, not checked")


def _check_tree(instance: Instance, solution: Solution, objective: float | None) -> ProofCheck:
    """Check a proof file."""
    if solution.proof_data is None:
        fault = solution.proof_fault or "no proof file"
        changed = (Violation("proof", ("proof", "sha256"), 0.0, fault),)
        return ProofCheck(False, f"not checked: {fault}", changed if "hash" in fault else ())
    begin = time.monotonic()
    verdict = check_proof(instance, solution.proof_data)
    needed = excluded_value(instance, objective)
    reason = verdict.reason
    if verdict.status == "proved" and (needed is None or verdict.goal < needed):
        reason = f"/goal: it excludes values up to {verdict.goal}, needs {needed}"
    if reason:
        return _broken(reason)
    assert verdict.checked is not None
    seconds = time.monotonic() - begin
    size = _count(verdict.checked.leaves, "leaf", "leaves")
    said = _excluded(instance, solution, objective)
    return ProofCheck(True, f"PROVED (tree, {size}, checked in {seconds:.1f} s; {said})")


def _check_search(
    instance: Instance, solution: Solution, objective: float | None, seconds: float | None
) -> ProofCheck:
    """Run the complete search of the family's checker again."""
    if seconds is None:
        return ProofCheck(False, "a complete search, not run again (--search SECONDS), not checked")
    begin, goal = time.monotonic(), excluded_value(instance, objective)
    searched = None if goal is None else search_again(instance, goal, seconds=seconds)
    if searched is None:
        return _broken("this instance has no complete search")
    if searched.better is not None:
        owner = family(instance.family)
        if list(owner.check(instance, searched.better, {})):
            raise ContradictionError("the complete search found a schedule that breaks a rule")
        value = owner.objective(instance, searched.better)
        return _broken(f"the complete search found a schedule of value {number(value)}")
    if not searched.complete:
        return ProofCheck(False, f"the search is not complete in {seconds:g} s, not checked")
    took, size = time.monotonic() - begin, _count(searched.states, "state", "states")
    said = _excluded(instance, solution, objective)
    return ProofCheck(True, f"PROVED (search, {size}, run again in {took:.1f} s; {said})")


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _broken(reason: str) -> ProofCheck:
    violation = Violation("proof", ("proof",), 0.0, reason)
    return ProofCheck(False, f"NOT PROVED: {reason}", (violation,))


def _excluded(instance: Instance, solution: Solution, objective: float | None) -> str:
    """Return in words what has been proved."""
    if objective is None:
        return "there is no schedule"
    grid, low = family(instance.family).grid(instance), solution.sense == "min"
    step = (grid or 0.0) + proof_width(instance, objective) * abs(objective)
    value = number(objective - step if low else objective + step)
    return f"no schedule has value {'<' if low else '>'}{'=' if step else ''} {value}"


def _word(solution: Solution) -> str:
    """Return the engines whose word an optimum is, with their versions."""
    engines = (solution.engine or "").split("+")
    named = ", ".join(
        f"{engine} {solution.versions.get(ENGINES[engine][0], '')}".strip()
        for engine in engines
        if engine in ENGINES
    )
    said = "one engine's word" if len(engines) == 1 else "its engines' word"
    return f"{said} ({named})" if named else said


def number(value: float | None) -> str:
    """Return a value as text, with ten digits.

    Parameters
    ----------
    value : float or None
        None gives "none".
    """
    return "none" if value is None else f"{value:.10g}"
