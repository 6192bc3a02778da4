"""Check the evidence for a claim of optimality or infeasibility, apart from the certificate."""

import time
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal

from schedgap.analysis.results.bounds import ROUND_OFF, Scale
from schedgap.analysis.results.solution import Solution
from schedgap.errors import ContradictionError
from schedgap.instances.instance import Instance
from schedgap.instances.solution import Evidence
from schedgap.instances.verdict import Violation, exactly
from schedgap.models.family import family
from schedgap.models.proofs import (
    check_proof,
    excluded_text,
    excluded_value,
    proof_width,
    search_again,
    shortfall,
)
from schedgap.solvers.engines.registry import ENGINES


@dataclass(frozen=True, slots=True)
class ProofCheck:
    """Result of the check of a claim.

    `evidence`: "proved" by a tree, "certified" by a complete search that was run again, or
    "reported". `text`: one line for the user. `violations`: evidence that is broken or refuted.
    """

    evidence: Evidence
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

    `objective`: recomputed from the schedule; None without a schedule. `search`: seconds for a
    complete search, where optimality rests on one.
    """
    proof = solution.proof
    if proof is not None and solution.status == "feasible" and proof.kind == "tree":
        bound = None if solution.bound is None else Scale.of(instance).demanded(solution.bound)
        return _check_tree(instance, solution, bound)
    if proof is None or solution.status not in ("optimal", "infeasible"):
        return ProofCheck("reported", f"reported by {solution.method}")
    match proof.kind:
        case "engine":
            return ProofCheck("reported", f"reported by {_engines(solution)}")
        case "engines":
            return ProofCheck("reported", "reported by two engines, highs and cp-sat")
        case "search":
            return _check_search(instance, solution, objective, search)
        case "tree":
            return _check_tree(instance, solution, objective)
    return ProofCheck("reported", f"reported by {solution.method}")


def _check_tree(instance: Instance, solution: Solution, objective: float | None) -> ProofCheck:
    """Check a proof file."""
    if solution.proof_data is None:
        fault = solution.proof_fault or "no proof file"
        changed = (Violation("proof", ("proof", "sha256"), 0.0, fault),)
        text = f"reported by {solution.method}; {fault}"
        return ProofCheck("reported", text, changed if "hash" in fault else ())
    begin = time.monotonic()
    verdict = check_proof(instance, solution.proof_data)
    if verdict.status == "unchecked":
        return ProofCheck("reported", f"reported by {solution.method}; {verdict.reason}")
    claim = "optimality" if solution.status == "optimal" else "the bound"
    if reason := verdict.reason or shortfall(instance, verdict.goal, objective, claim=claim):
        return _broken(reason)
    assert verdict.checked is not None
    seconds = time.monotonic() - begin
    size = _count(verdict.checked.leaves, "leaf", "leaves")
    assert solution.proof is not None
    width = proof_width(instance, objective)
    if width > solution.proof.within + ROUND_OFF:
        return _broken(f"/proof/within: the tree leaves {width:.1e} open, the file claims less")
    said = "there is no schedule"
    if objective is not None:
        said = excluded_text(instance, verdict.goal)
    word = f"PROVED within {_upwards(width)}" if width else "PROVED"
    return ProofCheck("proved", f"{word} (tree, {size}, checked in {seconds:.1f} s; {said})")


def _check_search(
    instance: Instance, solution: Solution, objective: float | None, seconds: float | None
) -> ProofCheck:
    """Run the complete search of the family's checker again."""
    if seconds is None:
        text = "reported by a complete search (--search SECONDS runs the search again)"
        return ProofCheck("reported", text)
    begin, goal = time.monotonic(), excluded_value(instance, objective)
    searched = None if goal is None else search_again(instance, goal, seconds=seconds)
    if goal is None or searched is None:
        return _broken("this instance has no complete search")
    if searched.better is not None:
        owner = family(instance.family)
        if list(owner.check(instance, searched.better, {})):
            raise ContradictionError("the complete search found a schedule that breaks a rule")
        value = owner.objective(instance, searched.better)
        return _broken(f"the complete search found a schedule of value {exactly(value)}")
    if not searched.complete:
        text = f"reported by a complete search, which did not end in {seconds:g} s"
        return ProofCheck("reported", text)
    took, size = time.monotonic() - begin, _count(searched.states, "state", "states")
    said = "there is no schedule" if objective is None else excluded_text(instance, goal)
    text = f"certified (complete search, {size}, run again in {took:.1f} s; {said})"
    return ProofCheck("certified", text)


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _broken(reason: str) -> ProofCheck:
    violation = Violation("proof", ("proof",), 0.0, reason)
    return ProofCheck("reported", f"NOT PROVED: {reason}", (violation,))


def no_better(scale: Scale, objective: float, width: float) -> str:
    """Return in words that no schedule is better than an objective by more than a width.

    `scale`: scale of the objective. `width`: relative to the objective; 0 on a grid.
    """
    least = scale.sense == "min"
    better = scale.next_better(objective)
    if better is not None and not width:
        return f"no schedule has value {'<' if least else '>'}= {exactly(better)}"
    if width:
        return f"no schedule is better by more than {_upwards(width)} of its value"
    return f"no schedule has value {'<' if least else '>'} {exactly(objective)}"


def _upwards(width: float) -> str:
    """Return a width with two digits, rounded up."""
    rounded = Decimal(width).normalize(Context(prec=2, rounding=ROUND_CEILING))
    return f"{float(rounded):.2g}"


def _engines(solution: Solution) -> str:
    """Return the engines that report an optimum, with their versions."""
    named = [
        f"{engine} {solution.versions.get(ENGINES[engine].package, '')}".strip()
        for engine in (solution.engine or "").split("+")
        if engine in ENGINES
    ]
    return " and ".join(named) or "an engine"
