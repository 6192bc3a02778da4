"""Verify a solution: the family's rules on its schedule, and every claim of the file beside it."""

from collections.abc import Iterator, Mapping
from typing import Any

from schedgap.analysis.bounds import contradict, meet, on_grid
from schedgap.analysis.solution import Solution
from schedgap.errors import InputError
from schedgap.instances.instance import Instance
from schedgap.instances.solution import SolutionFile
from schedgap.instances.verdict import Verdict, Violation
from schedgap.models.family import Family, family


def verify(
    instance: Instance,
    solution: Solution | Mapping[str, Any],
    certificate: Mapping[str, Any] | None = None,
) -> Verdict:
    """Return whether a solution keeps every rule of its family and claims nothing that is wrong.

    Beside the family's rules on the schedule: `objective` (the claim is the recomputed value),
    `bound` (it does not lie past the schedule), `status` (it is what the numbers earn) and
    `certificate` (evaluated again from the instance's data alone, it gives the bound).

    Parameters
    ----------
    solution : Solution or mapping
        A solution, the plain data of a solution file, or those of its `schedule` alone.
    certificate : mapping, optional
        The certificate of the bound; by default the one that lies with the solution.

    Raises
    ------
    InputError
        When it is not a solution of this instance, or holds nothing that can be checked.
    """
    owner = family(instance.family)
    if not isinstance(solution, Solution):
        if isinstance(solution, Mapping) and not solution.keys() & SolutionFile.model_fields.keys():
            return _schedule_alone(instance, owner, solution)
        solution = Solution.bind(instance, solution)
    if certificate is None:
        certificate = solution.certificate
    found: list[Violation] = []
    objective: float | None = None
    relaxed: tuple[str, ...] = ()
    sense = owner.sense(instance)
    if solution.sense != sense:
        raise InputError(f"must be '{sense}'", path="sense")
    if solution.schedule is not None:
        found += owner.check(instance, solution.schedule, solution.options)
        if not found:
            objective = owner.objective(instance, solution.schedule)
            relaxed = owner.relaxed(solution.schedule)
    elif certificate is None or owner.check_certificate is None:
        raise InputError(
            f"nothing to verify: status '{solution.status}' without a schedule"
            + (" and without a certificate of its bound" if solution.bound is not None else ""),
            path="schedule",
        )
    if not found:
        found += _claims(solution, objective, relaxed)
    if certificate is not None and owner.check_certificate is not None:
        found += _certified(instance, owner, solution, certificate)
    return Verdict(not found, objective, tuple(found), relaxed)


def _schedule_alone(instance: Instance, owner: Family, schedule: Mapping[str, Any]) -> Verdict:
    """Return the verdict on a schedule that claims nothing, such as one made by hand."""
    found = tuple(owner.check(instance, schedule, {}))
    if found:
        return Verdict(False, None, found)
    return Verdict(True, owner.objective(instance, schedule), (), owner.relaxed(schedule))


def _claims(
    solution: Solution, objective: float | None, relaxed: tuple[str, ...]
) -> Iterator[Violation]:
    """Yield each claim of the file that the recomputed objective contradicts."""
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
    elif bound is not None and objective is not None and contradict(objective, bound, sense):
        message = f"{_number(bound)} lies past the schedule's {_number(objective)}"
        yield Violation("bound", ("bound",), abs(objective - bound), message)
    if status == "optimal" and (bound is None or objective is None or not meet(objective, bound)):
        amount = 0.0 if bound is None or objective is None else abs(objective - bound)
        message = f"'optimal' with objective {_number(objective)} and bound {_number(bound)}"
        yield Violation("status", ("status",), amount, message)
    if (status in ("optimal", "feasible")) != (solution.schedule is not None):
        holds = "a" if solution.schedule is not None else "no"
        yield Violation("status", ("status",), 0.0, f"'{status}' with {holds} schedule")


def _certified(
    instance: Instance, owner: Family, solution: Solution, certificate: Mapping[str, Any]
) -> Iterator[Violation]:
    """Yield a violation when the certificate does not give the bound that the file claims."""
    assert owner.check_certificate is not None
    value = owner.check_certificate(instance, certificate)
    if solution.bound is None:
        return
    reached = on_grid(value, owner.grid(instance), solution.sense)
    short = solution.bound - reached if solution.sense == "min" else reached - solution.bound
    if short > 0 and not meet(solution.bound, reached):
        message = (
            f"it gives the bound {_number(reached)}, the file claims {_number(solution.bound)}"
        )
        yield Violation("certificate", ("bound",), short, message)


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.10g}"
