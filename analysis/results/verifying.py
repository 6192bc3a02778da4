"""Verify solutions: the schedule by the family's rules, and every claim made about it."""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from schedgap.analysis.results.bounds import ROUND_OFF, Scale
from schedgap.analysis.results.optimality import ProofCheck, check_claim, no_better
from schedgap.analysis.results.solution import Solution, certificate_file, load_solution
from schedgap.errors import ContradictionError, InputError
from schedgap.instances.arguments import an_instance, checked
from schedgap.instances.families import FAMILIES
from schedgap.instances.instance import Instance
from schedgap.instances.records import plain, read_json
from schedgap.instances.solution import SolutionFile
from schedgap.instances.verdict import ClaimStatus, Verdict, Violation, exactly
from schedgap.models.family import Family, family, family_of
from schedgap.solvers.proofs.limits import MEMORY_MB, SECONDS, limited


@checked(instance=an_instance)
def verify(
    instance: Instance,
    solution: Solution | Mapping[str, object],
    certificate: Mapping[str, object] | None = None,
    *,
    search: float | None = None,
) -> Verdict:
    """Verify that a solution obeys the rules of its family and makes no wrong claim.

    In addition to the family's rules for the schedule, these rules concern the claims:

    - `objective`: it equals the recomputed value.
    - `bound`: the schedule does not refute it.
    - `status`: it follows from the numbers.
    - `certificate`: evaluated again from the instance, it gives a bound at least as strong.
    - `proof`: its tree excludes every better value.

    A claim that cannot be evaluated again is not a violation; see `bound_status`,
    `optimality_status` and `claims` of the verdict.

    Parameters
    ----------
    instance : Instance
        What the schedule is for.
    solution : Solution or mapping
        A solution, the JSON data of a solution file, or the JSON data of a schedule only.
    certificate : mapping, optional
        The certificate of the bound; by default, the solution's.
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
    scale = Scale.of(instance)
    if solution.sense != scale.sense:
        raise InputError(f"must be '{scale.sense}'", path="sense")
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
        found += _claims(solution, objective, relaxed, scale)
    evidence = None
    if certificate is not None and owner.check_certificate is not None:
        data = plain(certificate)
        evidence = _evaluated(instance, owner, solution, objective, data, scale)
        if objective is not None and not relaxed:
            _possible(objective, evidence, scale)
        found += evidence.violations
    proof = None
    if not found and not relaxed:
        proof = check_claim(instance, solution, objective, search=search)
        found += proof.violations
    claims = _judge_claims(solution, objective, evidence, proof, found, scale)
    return Verdict(
        not found, objective, tuple(found), relaxed, *claims, instance.family, instance.sha256
    )


def verify_file(
    instance: Instance, file: str | os.PathLike[str], *, search: float | None = None
) -> Verdict:
    """Verify a solution file, or a file with a schedule only.

    `search`: as in `verify`.

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

    `data`: JSON data.
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
    solution: Solution, objective: float | None, relaxed: tuple[str, ...], scale: Scale
) -> Iterator[Violation]:
    """Yield a violation for each claim that the recomputed objective refutes."""
    claimed, bound, status = solution.objective, solution.bound, solution.status
    if (claimed is None) != (objective is None) or (
        claimed is not None and objective is not None and not scale.same(claimed, objective)
    ):
        amount = 0.0 if claimed is None or objective is None else abs(claimed - objective)
        message = f"the file claims {exactly(claimed)}, the schedule gives {exactly(objective)}"
        yield Violation("objective", ("objective",), amount, message)
    if bound is not None and relaxed:
        yield Violation("bound", ("bound",), 0.0, "a relaxed schedule has no bound")
    elif bound is not None and objective is not None and scale.exceeds(objective, bound):
        message = f"{exactly(bound)} is past the schedule's {exactly(objective)}"
        yield Violation("bound", ("bound",), abs(objective - bound), message)
    met = bound is not None and objective is not None and scale.meets(objective, bound)
    if status == "optimal" and not met:
        amount = 0.0 if bound is None or objective is None else abs(objective - bound)
        message = f"'optimal' with objective {exactly(objective)} and bound {exactly(bound)}"
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
    instance: Instance,
    owner: Family,
    solution: Solution,
    objective: float | None,
    certificate: Mapping[str, object],
    scale: Scale,
) -> _Evidence:
    """Evaluate a certificate; a violation unless its bound is at least as strong as the claim."""
    module = FAMILIES[owner.name].models
    value = limited(f"{__name__}:evaluate", module, instance, certificate,
                    seconds=SECONDS, memory_mb=MEMORY_MB)  # fmt: skip
    if isinstance(value, str):  # why there is none
        raise InputError(value, path="certificate")
    reached = scale.on_grid(value)
    bound, proof = solution.bound, solution.proof
    found: list[Violation] = []
    if bound is not None and not scale.implies(reached, bound):
        message = f"it gives the bound {exactly(reached)}, the file claims {exactly(bound)}"
        found.append(Violation("certificate", ("bound",), abs(bound - reached), message))
    if objective is not None and proof is not None and proof.kind == "certificate":
        width = scale.width(objective, reached)
        if width > proof.within + ROUND_OFF:
            message = f"the certificate leaves {width:.1e} open, the file claims {proof.within:.1e}"
            found.append(Violation("proof", ("proof", "within"), width - proof.within, message))
    return _Evidence(str(certificate.get("kind")), reached, tuple(found))


def evaluate(
    send: Callable[[object], None],
    module: str,
    instance: Instance,
    certificate: Mapping[str, object],
) -> float:
    """Return, in this (child) process, the bound that a certificate of a family proves.

    `send`: not used.
    """
    owner = family_of(module)
    assert owner.check_certificate is not None
    return owner.check_certificate(instance, certificate)


def _possible(objective: float, evidence: _Evidence, scale: Scale) -> None:
    """Raise ContradictionError if the certificate rules out the verified schedule."""
    if scale.refutes(objective, evidence.bound):
        raise ContradictionError(
            f"the certificate ({evidence.kind}) proves a bound of {exactly(evidence.bound)}, which "
            f"a verified schedule of {exactly(objective)} refutes"
        )


def _judge_claims(
    solution: Solution,
    objective: float | None,
    evidence: _Evidence | None,
    proof: ProofCheck | None,
    found: list[Violation],
    scale: Scale,
) -> tuple[ClaimStatus | None, ClaimStatus | None, tuple[str, ...]]:
    """Return the statuses of the claims on bound and optimality, and the same as text."""
    bound = optimality = None
    lines = []
    if solution.bound is not None:
        bound, text = _judge_bound(solution, evidence, proof, found, scale)
        lines.append(f"bound {exactly(solution.bound)}: {text}")
    if solution.status in ("optimal", "infeasible"):
        optimality, text = _judge_optimality(solution, objective, evidence, proof, found, scale)
        lines.append(f"{solution.status}: {text}")
    return bound, optimality, tuple(lines)


def _judge_bound(
    solution: Solution,
    evidence: _Evidence | None,
    proof: ProofCheck | None,
    found: list[Violation],
    scale: Scale,
) -> tuple[ClaimStatus, str]:
    """Return what the claim of a bound rests on, with the number that is proved."""
    claimed, is_open = solution.bound, solution.status == "feasible"
    assert claimed is not None
    rules = {"bound", "certificate", *(["proof"] if is_open else [])}
    if any(item.rule in rules for item in found):
        return "refuted", "refuted"
    if evidence is not None:
        gives = "" if scale.same(claimed, evidence.bound) else f" gives {exactly(evidence.bound)}"
        return "checked", f"certified ({evidence.kind}{gives})"
    if proof is not None and proof.evidence != "reported":
        return "checked", proof.text if is_open else f"{proof.evidence}, with the optimum"
    return "unchecked", "reported, no certificate"


def _judge_optimality(
    solution: Solution,
    objective: float | None,
    evidence: _Evidence | None,
    proof: ProofCheck | None,
    found: list[Violation],
    scale: Scale,
) -> tuple[ClaimStatus, str]:
    """Return what the claim of optimality or infeasibility rests on."""
    if found:
        named = proof is not None and bool(proof.violations)
        return "refuted", proof.text if proof is not None and named else "refuted"
    certified = (
        evidence is not None and objective is not None and scale.meets(objective, evidence.bound)
    )
    if proof is not None and (proof.evidence == "proved" or not certified):
        return "unchecked" if proof.evidence == "reported" else "checked", proof.text
    if certified:
        assert evidence is not None and objective is not None
        width = scale.width(objective, evidence.bound)
        return "checked", f"certified ({evidence.kind}; {no_better(scale, objective, width)})"
    return "unchecked", f"reported by {solution.method}"
