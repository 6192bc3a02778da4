"""Verify solutions: the schedule by the family's rules, and every claim made about it."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from schedgap.analysis.results.bounds import contradict, meet, on_grid
from schedgap.analysis.results.optimality import ProofCheck, check_claim, number
from schedgap.analysis.results.solution import Solution, certificate_file, load_solution
from schedgap.errors import ContradictionError, InputError
from schedgap.instances.arguments import an_instance, checked
from schedgap.instances.instance import Instance
from schedgap.instances.records import plain, read_json
from schedgap.instances.solution import Sense, SolutionFile
from schedgap.instances.verdict import ClaimStatus, Verdict, Violation
from schedgap.models.family import Family, family


@checked(instance=an_instance)
def verify(
    instance: Instance,
    solution: Solution | Mapping[str, object],
    certificate: Mapping[str, object] | None = None,
    *,
    search: float | None = None,
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
    search : float, optional
        Seconds for a complete search, run again where optimality rests on one.

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
        proof = check_claim(instance, solution, objective, search=search)
        found += proof.violations
    claims = _judge_claims(solution, objective, evidence, proof, found, grid)
    return Verdict(
        not found, objective, tuple(found), relaxed, *claims, instance.family, instance.sha256
    )


def verify_file(
    instance: Instance, file: str | os.PathLike[str], *, search: float | None = None
) -> Verdict:
    """Verify a solution file, or a file with a schedule only.

    Parameters
    ----------
    instance : Instance
        The instance.
    file : path
        The file.
    search : float, optional
        As in `verify`.

    Raises
    ------
    InputError
        If the file is invalid; names the file, the JSON path and the fault.
    """
    try:
        data = read_json(file)
        if isinstance(data, Mapping) and is_schedule(data):
            return verify(instance, data)
        return verify(instance, load_solution(file, instance), search=search)
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
    objective = None if found else owner.objective(instance, schedule)
    relaxed = () if found else owner.omitted_rules(schedule)
    return Verdict(
        not found,
        objective,
        found,
        relaxed,
        family=instance.family,
        instance_sha256=instance.sha256,
    )


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
        message = f"the file claims {number(claimed)}, the schedule gives {number(objective)}"
        yield Violation("objective", ("objective",), amount, message)
    if bound is not None and relaxed:
        yield Violation("bound", ("bound",), 0.0, "a relaxed schedule has no bound")
    elif bound is not None and objective is not None and contradict(objective, bound, sense, grid):
        message = f"{number(bound)} lies past the schedule's {number(objective)}"
        yield Violation("bound", ("bound",), abs(objective - bound), message)
    met = bound is not None and objective is not None and meet(objective, bound, grid)
    if status == "optimal" and not met:
        amount = 0.0 if bound is None or objective is None else abs(objective - bound)
        message = f"'optimal' with objective {number(objective)} and bound {number(bound)}"
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
            claimed = f"the file claims {number(solution.bound)}"
            message = f"it gives the bound {number(reached)}, {claimed}"
            found = (Violation("certificate", ("bound",), short, message),)
    return _Evidence(str(certificate.get("kind")), reached, found)


def _possible(objective: float, evidence: _Evidence, sense: Sense, grid: float | None) -> None:
    """Raise ContradictionError if the certificate rules out the verified schedule."""
    if contradict(objective, evidence.bound, sense, grid):
        raise ContradictionError(
            f"the certificate ({evidence.kind}) proves a bound of {number(evidence.bound)}, which "
            f"a verified schedule of {number(objective)} refutes"
        )


def _judge_claims(
    solution: Solution,
    objective: float | None,
    evidence: _Evidence | None,
    proof: ProofCheck | None,
    found: list[Violation],
    grid: float | None,
) -> tuple[ClaimStatus | None, ClaimStatus | None, tuple[str, ...]]:
    """Return the statuses of the claims on bound and optimality, and the same as text."""
    broken = {item.rule for item in found}
    bound: ClaimStatus | None = None
    lines = []
    if solution.bound is not None:
        name = f"bound {number(solution.bound)}"
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
        elif proof is not None and proof.proved:
            optimality, text = "checked", proof.text
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
