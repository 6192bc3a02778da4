"""DMLRS (3)-(7) for CP-SAT (ours): integer data throughout, so that (2), (3) and (5) are exact.

Numbers of workers and PSs (2) are pairs of a table; (3) is B >= need[A] by an element constraint;
(5) counts thousandths. Only utilities are rounded, up to whole multiples of 1 / scale, so that a
bound on the rounded sum is a bound on the true sum.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from schedgap.instances.dmlrs import DmlrsInstance, DmlrsSchedule, arrays
from schedgap.instances.dmlrs.compiled import Ints
from schedgap.models.dmlrs.programs.common_rows import (
    CandidateJob,
    candidate_jobs,
    equal_jobs,
    equal_machines,
)
from schedgap.models.dmlrs.programs.integral_rows import min_external
from schedgap.models.dmlrs.throughput import bundles

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, IntVar, LinearExprT

OBJECTIVE_BITS = 44  # of the largest scaled sum of utilities
MAX_DEMAND = 2**60  # of all jobs on one machine


@dataclass(frozen=True, slots=True, eq=False)
class CpProgram:
    """A CP-SAT model and the meaning of its variables."""

    model: "CpModel"  # CpModel, maximising the scaled sum of utilities
    scale: float
    completed: dict[tuple[int, int], "IntVar"]  # y_if
    counts: dict[
        tuple[int, int, int], list[tuple["IntVar", "IntVar"]]
    ]  # workers, PSs; by job, slot, machine

    def bound(self, value: float) -> float:
        """Return the bound on the sum of utilities that a bound on the scaled sum gives.

        `value`: in steps of 1 / scale.
        """
        return value / self.scale


def scale_of(instance: DmlrsInstance) -> float:
    """Return the steps per unit of utility, a power of two, so that scaling is exact."""
    utility = arrays(instance).utility
    most = math.fsum(float(utility[p.index, p.first - p.arrival]) for p in candidate_jobs(instance))
    return math.ldexp(1.0, OBJECTIVE_BITS - math.frexp(most)[1]) if most else 1.0


def too_large(instance: DmlrsInstance) -> str | None:
    """Return why the integers would overflow, or None."""
    view = arrays(instance)
    most = view.batch[:, None] * (view.worker_milli + view.ps_milli)
    if len(most) and float(most.astype(float).sum(axis=0).max()) > MAX_DEMAND:
        return "demands are too large for whole thousandths"
    return None


def size(instance: DmlrsInstance) -> int:
    """Return the approximate number of variables."""
    T, H = instance.horizon, len(instance.machines)
    return sum(
        (T - p.arrival + 1) * (5 * H + 3) + T - p.first + 1 for p in candidate_jobs(instance)
    )


def build(instance: DmlrsInstance, *, symmetry: bool = True) -> CpProgram:
    """Return the CP-SAT model; it is not solved.

    `symmetry`: whether to order equal machines and equal jobs.
    """
    from ortools.sat.python import cp_model

    view, jobs = arrays(instance), candidate_jobs(instance)
    T, H = instance.horizon, len(instance.machines)
    model = cp_model.CpModel()
    scale = scale_of(instance)
    y: dict[tuple[int, int], IntVar] = {}
    counts: dict[tuple[int, int, int], list[tuple[IntVar, IntVar]]] = {}
    gains = []
    for job in jobs:
        i = job.index
        own = {f: model.new_bool_var(f"y[{i},{f}]") for f in range(job.first, T + 1)}
        y |= {(i, f): var for f, var in own.items()}
        gains += [
            math.ceil(scale * float(view.utility[i, f - job.arrival])) * var
            for f, var in own.items()
        ]
        admitted = model.new_bool_var(f"x[{i}]")
        model.add(sum(own.values()) == admitted)
        inside, across = [], []
        for t in range(job.arrival, T + 1):
            running = sum(var for f, var in own.items() if f >= t)
            a, b = _slot(model, instance, job, t, running, counts)
            inside += a
            across += b
        _add_work(model, instance, job, admitted, sum(inside), sum(across))
    model.maximize(sum(gains))
    for t in range(1, T + 1):
        used = {}
        for h in range(H):
            for r, limit in enumerate(view.capacity_milli[h].tolist()):
                used[h, r] = sum(
                    int(view.worker_milli[p.index, r]) * w + int(view.ps_milli[p.index, r]) * s
                    for p in jobs
                    for w, s in counts.get((p.index, t, h), ())
                )
                if not isinstance(used[h, r], int):
                    model.add(used[h, r] <= limit)
        for h, k in equal_machines(instance) if symmetry else ():
            if not (isinstance(used[h, 0], int) or isinstance(used[k, 0], int)):
                model.add(used[h, 0] >= used[k, 0])
    for i, j in equal_jobs(instance, jobs) if symmetry else ():
        first = min(f for k, f in y if k == i)
        for t in range(first, T + 1):
            model.add(
                sum(y[i, f] for f in range(first, t + 1))
                >= sum(y[j, f] for f in range(first, t + 1))
            )
    return CpProgram(model, scale, y, counts)


def _slot(
    model: "CpModel",
    instance: DmlrsInstance,
    job: CandidateJob,
    t: int,
    running: "LinearExprT",
    counts: dict[tuple[int, int, int], list[tuple["IntVar", "IntVar"]]],
) -> tuple[list["IntVar"], list["IntVar"]]:
    """Add the modes of one job in one slot; return its workers on one machine, and across."""
    i, modes, inside, across = job.index, [], [], []
    some = bundles(instance, i)
    pairs = list(zip(some.workers.tolist(), some.ps.tolist(), strict=True))

    def pair(most: int, name: str) -> tuple["IntVar", "IntVar", "IntVar"]:
        """Return variables for workers, PSs, and whether there are any."""
        allowed = [(0, 0, 0)] + [(n, m, 1) for n, m in pairs if n <= most]
        w = model.new_int_var(0, allowed[-1][0], f"w{name}")
        s = model.new_int_var(0, allowed[-1][1], f"s{name}")
        on = model.new_bool_var(f"on{name}")
        model.add_allowed_assignments([w, s, on], allowed)
        modes.append(on)
        return w, s, on

    for h, most in enumerate(job.internal):
        if most:
            w, s, _ = pair(most, f"[{i},{t},{h}]")
            inside.append(w)
            counts.setdefault((i, t, h), []).append((w, s))
    if job.external:
        w, s, _ = pair(job.external, f"[{i},{t}]")
        across.append(w)
        here = []
        for h in range(len(instance.machines)):
            ws = model.new_int_var(0, job.workers[h], f"wE[{i},{t},{h}]")
            ss = model.new_int_var(0, job.ps[h], f"sE[{i},{t},{h}]")
            here.append((ws, ss))
            counts.setdefault((i, t, h), []).append((ws, ss))
        model.add(sum(ws for ws, _ in here) == w)
        model.add(sum(ss for _, ss in here) == s)
    model.add(sum(modes) <= running)
    return inside, across


def _add_work(
    model: "CpModel",
    instance: DmlrsInstance,
    job: CandidateJob,
    admitted: "IntVar",
    inside: "LinearExprT",
    across: "LinearExprT",
) -> None:
    """Add (3): B >= need[A] for an admitted job."""
    if job.external == 0:
        model.add(inside >= job.cover_row.least).only_enforce_if(admitted)
        return
    need = np.asarray(min_external(instance, job.index)).tolist()
    counted = model.new_int_var(0, len(need) - 1, f"A[{job.index}]")
    lack = model.new_int_var(min(need), max(need), f"need[{job.index}]")
    model.add(counted <= inside)
    model.add_element(counted, need, lack)
    model.add(across >= lack).only_enforce_if(admitted)


def read(program: CpProgram, instance: DmlrsInstance, values: Ints) -> DmlrsSchedule:
    """Return the schedule of a solution.

    `program`: as `build` returns it. `values`: by index of the variable.
    """
    chosen = {i for (i, _), var in program.completed.items() if values[var.index]}
    plans: dict[int, dict[int, dict[int, tuple[int, int]]]] = {i: {} for i in sorted(chosen)}
    for (i, t, h), pairs in program.counts.items():
        held = (
            sum(int(values[w.index]) for w, _ in pairs),
            sum(int(values[s.index]) for _, s in pairs),
        )
        if i in plans and any(held):
            plans[i].setdefault(t, {})[h] = held
    return DmlrsSchedule.of_plans(instance, plans)
