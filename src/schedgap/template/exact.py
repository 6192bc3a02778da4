"""The bound, its certificate, and the exact method."""

import math
from collections.abc import Mapping
from typing import Any, Literal

import schedgap.extend as sg
from schedgap.template.algorithms import longest_first
from schedgap.template.instance import TemplateInstance, TemplateSchedule
from schedgap.template.program import assignment, read
from schedgap.template.rules import objective

Call = sg.RunContext[TemplateSchedule]
Result = sg.MethodResult[TemplateSchedule]


class Pigeonhole(sg.Certificate):
    """Jobs of which some machine runs many."""

    kind: Literal["pigeonhole"]
    jobs: sg.Many[sg.Id]

    def bound(self, instance: TemplateInstance) -> int:
        """Return a bound that is valid for every set of jobs.

        The machines share the total time. Some machine runs at least k/m of the k jobs, so it takes
        at least as long as that many of the shortest.
        """
        times = sorted(instance.time[job] for job in set(self.jobs))
        m = instance.machines
        return max(math.ceil(sum(times) / m), sum(times[: math.ceil(len(times) / m)]))


def check_certificate(instance: TemplateInstance, certificate: Mapping[str, Any]) -> float:
    """Return the bound that a certificate proves; InputError for anything else."""
    found = sg.read_certificate(certificate, {"pigeonhole": Pigeonhole})
    return sg.proved(lambda: found.bound(instance))


def pigeonhole(instance: TemplateInstance, call: Call) -> Result:
    """Return the best bound over the k longest jobs, for all k."""
    jobs = sorted(instance.time, key=instance.time.__getitem__, reverse=True)
    subsets = (Pigeonhole(kind="pigeonhole", jobs=tuple(jobs[:k])) for k in range(1, len(jobs) + 1))
    best = max(subsets, key=lambda subset: subset.bound(instance))
    certificate = {"kind": "pigeonhole", "jobs": [*best.jobs]}
    return sg.MethodResult(bound=float(best.bound(instance)), certificate=certificate)


def exact(instance: TemplateInstance, call: Call) -> Result:
    """Start from `longest_first` and the bound, and solve the program if they differ."""

    def value(schedule: TemplateSchedule) -> float:
        return objective(instance, schedule.to_data(instance))

    state = sg.SearchState(call, value, round_bound=lambda bound: math.ceil(bound - 1e-6))
    state.incumbent(longest_first(instance))
    found = pigeonhole(instance, call)
    if found.bound is not None:
        state.bound(found.bound, found.certificate)
    if not state.closed:
        model = assignment(instance)
        state.solve(model, lambda _: read(model, instance), grid=1.0)
    return state.outcome()
