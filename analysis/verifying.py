"""Verify solutions: the schedule by the family's rules, and every claim made about it."""

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from schedgap.analysis.bounds import contradict, meet, on_grid
from schedgap.analysis.solution import Solution, certificate_file, load_solution
from schedgap.errors import ContradictionError, InputError
from schedgap.instances.instance import Instance
from schedgap.instances.records import plain, read_json
from schedgap.instances.solution import Sense, SolutionFile
from schedgap.instances.verdict import ClaimStatus, Verdict, Violation
from schedgap.models.family import Family, family
from schedgap.models.proofs import check_proof, excluded_value
from schedgap.solvers.engines.results import ENGINES


def verify(
    instance: Instance,
    solution: Solution | Mapping[str, object],
    certificate: Mapping[str, object] | None = None,
) -> Verdict:
    """Verify that a solution obeys the rules of its family and makes no wrong claim.

    In addition to the family's rules for the schedule, these rules concern the claims: `objective`
    (it equals the recomputed value), `bound` (the schedule does not refute it), `status` (it
    follows from the numbers) and `certificate` (evaluated again from the instance, it gives the
    bound). A claim that cannot be evaluated again is not a violation; see `bound_status`,
    `optimality_status` and `claims` of the verdict.

    Parameters
    ----------
    instance : Instance
        The instance.
    solution : Solution or mapping
        A solution, the JSON data of a solution file, or those of a schedule only.
    certificate : mapping, optional
        The certificate of the bound; by default that of the solution.

    Raises
    ------
    InputError
        If the data are not a solution of this instance, have nothing to check, or have an invalid
        certificate.
    ContradictionError
        If a certificate proves that the verified schedule cannot exist, which is a bug.
    """
    owner = family(instance.family)
    if not isinstance(solution, Solution):
        data = plain(solution)
        if isinstance(data, Mapping) and is_schedule(data):
            return _schedule_alone(instance, owner, data)
        solution = Solution.bind(instance, data)
    if certificate is None:
        certificate = solution.certificate
    found: list[Violation] = []
    objective: float | None = None
    relaxed: tuple[str, ...] = ()
    sense, grid = owner.sense(instance), owner.grid(instance)
    if solution.sense != sense:
        raise InputError(f"must be '{sense}'", path="sense")
    if solution.schedule is not None:
        found += owner.check(instance, solution.schedule, solution.options)
        if not found:
            objective = owner.objective(instance, solution.schedule)
            relaxed = owner.omitted_rules(solution.schedule)
    elif solution.proof_data is None and (certificate is None or owner.check_certificate is None):
        raise InputError(
            f"nothing to verify: status '{solution.status}' without a schedule"
            + (" and without a certificate of its bound" if solution.bound is not None else ""),
            path="schedule",
        )
    if not found:
        found += _claims(solution, objective, relaxed, grid)
    evidence = None
    if certificate is not None and owner.check_certificate is not None:
        evidence = _evaluated(instance, owner, solution, plain(certificate))
        if objective is not None and not relaxed:
            _possible(objective, evidence, sense, grid)
        found += evidence.violations
    proof = None
    if not found and not relaxed:
        proof = _proof(instance, solution, objective, grid)
        found += proof.violations
    claims = _judge_claims(solution, objective, evidence, proof, found, grid)
    return Verdict(not found, objective, tuple(found), relaxed, *claims)


def verify_file(instance: Instance, file: str | os.PathLike[str]) -> Verdict:
    """Verify a solution file, or a file with a schedule only.

    Parameters
    ----------
    instance : Instance
        The instance.
    file : path
        The file.

    Raises
    ------
    InputError
        If the file is invalid; names the file, the JSON path and the fault.
    """
    try:
        data = read_json(file)
        if isinstance(data, Mapping) and is_schedule(data):
            return verify(instance, data)
        return verify(instance, load_solution(file, instance))
    except InputError as error:
        of_bound = error.path.startswith("certificate")
        named = certificate_file(file) if of_bound else file
        raise error.inside(str(named)) from None


def is_schedule(data: Mapping[str, object]) -> bool:
    """Return whether JSON data are a schedule only, with none of the keys of a solution file.

    Parameters
    ----------
    data : mapping
        JSON data.
    """
    return not data.keys() & SolutionFile.model_fields.keys()


def _schedule_alone(instance: Instance, owner: Family, schedule: Mapping[str, object]) -> Verdict:
    """Return the verdict on a schedule without claims, such as one written by hand."""
    found = tuple(owner.check(instance, schedule, {}))
    if found:
        return Verdict(False, None, found)
    return Verdict(True, owner.objective(instance, schedule), (), owner.omitted_rules(schedule))


def _claims(
    solution: Solution, objective: float | None, relaxed: tuple[str, ...], grid: float | None
) -> Iterator[Violation]:
    """Yield a violation for each claim that the recomputed objective refutes."""
    claimed, bound = solution.objective, solution.bound
    status, sense = solution.status, solution.sense
    if (claimed is None) != (objective is None) or (
        claimed is not None and objective is not None and not meet(claimed, objective)
    ):
        amount = 0.0 if claimed is None or objective is None else abs(claimed - objective)
        message = f"the file claims {_number(claimed)}, the schedule gives {_number(objective)}"
        yield Violation("objective", ("objective",), amount, message)
    if bound is not None and relaxed:
        yield Violation("bound", ("bound",), 0.0, "a relaxed schedule has no bound")
    elif bound is not None and objective is not None and contradict(objective, bound, sense, grid):
        message = f"{_number(bound)} lies past the schedule's {_number(objective)}"
        yield Violation("bound", ("bound",), abs(objective - bound), message)
    met = bound is not None and objective is not None and meet(objective, bound, grid)
    if status == "optimal" and not met:
        amount = 0.0 if bound is None or objective is None else abs(objective - bound)
        message = f"'optimal' with objective {_number(objective)} and bound {_number(bound)}"
        yield Violation("status", ("status",), amount, message)
    if status == "bound" and bound is None:
        yield Violation("status", ("status",), 0.0, "'bound' without a bound")
    if (status in ("optimal", "feasible")) != (solution.schedule is not None):
        holds = "a" if solution.schedule is not None else "no"
        yield Violation("status", ("status",), 0.0, f"'{status}' with {holds} schedule")


@dataclass(frozen=True, slots=True)
class _Evidence:
    """The bound that a certificate proves, on the objective's grid, and violations."""

    kind: str
    bound: float
    violations: tuple[Violation, ...]


def _evaluated(
    instance: Instance, owner: Family, solution: Solution, certificate: Mapping[str, object]
) -> _Evidence:
    """Evaluate a certificate and compare it with the claimed bound."""
    assert owner.check_certificate is not None
    value = owner.check_certificate(instance, certificate)
    reached = on_grid(value, owner.grid(instance), solution.sense)
    found: tuple[Violation, ...] = ()
    if solution.bound is not None:
        short = solution.bound - reached if solution.sense == "min" else reached - solution.bound
        if short > 0 and not meet(solution.bound, reached):
            claimed = f"the file claims {_number(solution.bound)}"
            message = f"it gives the bound {_number(reached)}, {claimed}"
            found = (Violation("certificate", ("bound",), short, message),)
    return _Evidence(str(certificate.get("kind")), reached, found)


def _possible(objective: float, evidence: _Evidence, sense: Sense, grid: float | None) -> None:
    """Raise ContradictionError if the certificate rules out the verified schedule."""
    if contradict(objective, evidence.bound, sense, grid):
        raise ContradictionError(
            f"the certificate ({evidence.kind}) proves a bound of {_number(evidence.bound)}, which "
            f"a verified schedule of {_number(objective)} refutes"
        )


@dataclass(frozen=True, slots=True)
class _Proof:
    """What a claim of optimality or infeasibility rests on, beside the certificate, in words."""

    proved: bool
    text: str
    violations: tuple[Violation, ...] = ()


def _proof(
    instance: Instance, solution: Solution, objective: float | None, grid: float | None
) -> _Proof:
    """Check the proof that a solution names, or say why there is nothing to check."""
    claim = solution.proof
    if claim is None or solution.status not in ("optimal", "infeasible"):
        return _Proof(False, "claimed, not checked")
    if claim.kind in ("engine", "engines"):
        return _Proof(False, f"{_word(solution)}, not checked")
    if claim.kind != "tree":
        return _Proof(False, "claimed, not checked")
    if solution.proof_data is None:
        fault = solution.proof_fault or "no proof file"
        changed = (Violation("proof", ("proof", "sha256"), 0.0, fault),)
        return _Proof(False, f"not checked: {fault}", changed if "hash" in fault else ())
    begin = time.monotonic()
    verdict, needed = (
        check_proof(instance, solution.proof_data),
        excluded_value(instance, objective),
    )
    reason = verdict.reason
    if verdict.status == "proved" and (needed is None or verdict.goal < needed):
        reason = f"/goal: it excludes values up to {verdict.goal}, needs {needed}"
    if reason:
        broken = Violation("proof", ("proof",), 0.0, reason)
        return _Proof(False, f"NOT PROVED: {reason}", (broken,))
    assert verdict.checked is not None
    seconds = time.monotonic() - begin
    size = f"{verdict.checked.leaves} {'leaf' if verdict.checked.leaves == 1 else 'leaves'}"
    excluded = "there is no schedule"
    if objective is not None:
        low = solution.sense == "min"
        step = 0.0 if grid is None else grid if low else -grid
        value = f"{'<' if low else '>'}{'=' if grid else ''} {_number(objective - step)}"
        excluded = f"no schedule has value {value}"
    return _Proof(True, f"PROVED (tree, {size}, checked in {seconds:.1f} s; {excluded})")


def _word(solution: Solution) -> str:
    """Return the engines whose word an optimum is, with their versions."""
    engines = (solution.engine or "").split("+")
    named = ", ".join(
        f"{engine} {solution.versions.get(ENGINES[engine][0], '')}".strip()
        for engine in engines
        if engine in ENGINES
    )
    number = "one engine's word" if len(engines) == 1 else "its engines' word"
    return f"{number} ({named})" if named else number


def _judge_claims(
    solution: Solution,
    objective: float | None,
    evidence: _Evidence | None,
    proof: _Proof | None,
    found: list[Violation],
    grid: float | None,
) -> tuple[ClaimStatus | None, ClaimStatus | None, tuple[str, ...]]:
    """Return the statuses of the claims on bound and optimality, and the same as text."""
    broken = {item.rule for item in found}
    bound: ClaimStatus | None = None
    lines = []
    if solution.bound is not None:
        name = f"bound {_number(solution.bound)}"
        if broken & {"bound", "certificate"}:
            bound = "refuted"
            lines.append(f"{name}: refuted")
        elif evidence is None and proof is not None and proof.proved:
            bound = "checked"
            lines.append(f"{name}: checked, by the proof")
        elif evidence is None:
            bound = "unchecked"
            lines.append(f"{name}: not checked: no certificate")
        else:
            bound = "checked"
            lines.append(f"{name}: checked, by its certificate ({evidence.kind})")
    optimality: ClaimStatus | None = None
    if solution.status == "optimal":
        if found:
            named = proof is not None and bool(proof.violations)
            optimality, text = "refuted", proof.text if proof and named else "refuted"
        elif (
            evidence is not None and objective is not None and meet(objective, evidence.bound, grid)
        ):
            optimality, text = "checked", f"PROVED (certificate {evidence.kind})"
        else:
            assert proof is not None or solution.outside
            optimality = "checked" if proof and proof.proved else "unchecked"
            text = proof.text if proof else "claimed, not checked"
        lines.append(f"optimal: {text}")
    elif solution.status == "infeasible":
        optimality = "checked" if proof and proof.proved else "unchecked"
        if found:
            optimality = "refuted"
        lines.append(f"infeasible: {proof.text if proof else 'refuted'}")
    return bound, optimality, tuple(lines)


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.10g}"
