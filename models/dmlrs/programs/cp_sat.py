"""DMLRS (3)-(7) for CP-SAT (ours): whole numbers throughout, so that (2), (3) and (5) are exact.

Numbers of workers and PSs (2) are pairs of a table; (3) is B >= need[A] by an element constraint;
(5) counts thousandths. Utilities alone are rounded, up to whole multiples of 1 / scale, so that
what bounds their sum bounds the true one.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from schedgap.instances.dmlrs import DmlrsInstance, DmlrsSchedule, arrays
from schedgap.models.dmlrs.programs.common_rows import Part, equal_jobs, equal_machines, parts
from schedgap.models.dmlrs.programs.integral_rows import least_external
from schedgap.models.dmlrs.throughput import bundles

BITS = 44  # of the scaled sum of utilities
FARTHEST = 2**60  # that a sum of demands may have


@dataclass(frozen=True, slots=True, eq=False)
class CpProgram:
    """The model and what its variables are."""

    model: Any  # CpModel, maximising the scaled sum of utilities
    scale: float
    completed: dict[tuple[int, int], Any]  # y_if
    counts: dict[tuple[int, int, int], list[tuple[Any, Any]]]  # workers, PSs; by job, slot, machine

    def bound(self, value: float) -> float:
        """Return the bound on the sum of utilities that one on the scaled sum proves."""
        return value / self.scale


def scale_of(instance: DmlrsInstance) -> float:
    """Return how many steps a unit of utility has: a power of two, so that none is rounded here."""
    utility = arrays(instance).utility
    most = math.fsum(float(utility[p.job, p.first - p.arrival]) for p in parts(instance))
    return math.ldexp(1.0, BITS - math.frexp(most)[1]) if most else 1.0


def too_large(instance: DmlrsInstance) -> str | None:
    """Return why the whole numbers would be too large, or None."""
    view = arrays(instance)
    most = view.batch[:, None] * (view.worker_milli + view.ps_milli)
    if len(most) and float(most.astype(float).sum(axis=0).max()) > FARTHEST:
        return "demands are too large for whole thousandths"
    return None


def size(instance: DmlrsInstance) -> int:
    """Return about how many variables the model has."""
    T, H = instance.horizon, len(instance.machines)
    return sum((T - p.arrival + 1) * (5 * H + 3) + T - p.first + 1 for p in parts(instance))


def build(instance: DmlrsInstance, *, symmetry: bool = True) -> CpProgram:
    """Return the model; it solves nothing."""
    from ortools.sat.python import cp_model

    view, among = arrays(instance), parts(instance)
    T, H = instance.horizon, len(instance.machines)
    model = cp_model.CpModel()
    scale = scale_of(instance)
    y: dict[tuple[int, int], Any] = {}
    counts: dict[tuple[int, int, int], list[tuple[Any, Any]]] = {}
    gains = []
    for part in among:
        i = part.job
        own = {f: model.new_bool_var(f"y[{i},{f}]") for f in range(part.first, T + 1)}
        y |= {(i, f): var for f, var in own.items()}
        gains += [
            math.ceil(scale * float(view.utility[i, f - part.arrival])) * var
            for f, var in own.items()
        ]
        admitted = model.new_bool_var(f"x[{i}]")
        model.add(sum(own.values()) == admitted)
        inside, across = [], []
        for t in range(part.arrival, T + 1):
            running = sum(var for f, var in own.items() if f >= t)
            a, b = _slot(model, instance, part, t, running, counts)
            inside += a
            across += b
        _add_work(model, instance, part, admitted, sum(inside), sum(across))
    model.maximize(sum(gains))
    for t in range(1, T + 1):
        used = {}
        for h in range(H):
            for r, room in enumerate(view.capacity_milli[h].tolist()):
                used[h, r] = sum(
                    int(view.worker_milli[p.job, r]) * w + int(view.ps_milli[p.job, r]) * s
                    for p in among
                    for w, s in counts.get((p.job, t, h), ())
                )
                if not isinstance(used[h, r], int):
                    model.add(used[h, r] <= room)
        for h, k in equal_machines(instance) if symmetry else ():
            if not (isinstance(used[h, 0], int) or isinstance(used[k, 0], int)):
                model.add(used[h, 0] >= used[k, 0])
    for i, j in equal_jobs(instance, among) if symmetry else ():
        first = min(f for k, f in y if k == i)
        for t in range(first, T + 1):
            model.add(
                sum(y[i, f] for f in range(first, t + 1))
                >= sum(y[j, f] for f in range(first, t + 1))
            )
    return CpProgram(model, scale, y, counts)


def _slot(
    model: Any,
    instance: DmlrsInstance,
    part: Part,
    t: int,
    running: Any,
    counts: dict[tuple[int, int, int], list[tuple[Any, Any]]],
) -> tuple[list[Any], list[Any]]:
    """Add the modes of one job and slot; return its numbers of workers inside and across."""
    i, modes, inside, across = part.job, [], [], []
    some = bundles(instance, i)
    pairs = list(zip(some.workers.tolist(), some.ps.tolist(), strict=True))

    def pair(most: int, name: str) -> tuple[Any, Any, Any]:
        """Return workers, PSs and whether there are some."""
        allowed = [(0, 0, 0)] + [(n, m, 1) for n, m in pairs if n <= most]
        w = model.new_int_var(0, allowed[-1][0], f"w{name}")
        s = model.new_int_var(0, allowed[-1][1], f"s{name}")
        on = model.new_bool_var(f"on{name}")
        model.add_allowed_assignments([w, s, on], allowed)
        modes.append(on)
        return w, s, on

    for h, most in enumerate(part.inside):
        if most:
            w, s, _ = pair(most, f"[{i},{t},{h}]")
            inside.append(w)
            counts.setdefault((i, t, h), []).append((w, s))
    if part.across:
        w, s, _ = pair(part.across, f"[{i},{t}]")
        across.append(w)
        here = []
        for h in range(len(instance.machines)):
            ws = model.new_int_var(0, part.workers[h], f"wE[{i},{t},{h}]")
            ss = model.new_int_var(0, part.ps[h], f"sE[{i},{t},{h}]")
            here.append((ws, ss))
            counts.setdefault((i, t, h), []).append((ws, ss))
        model.add(sum(ws for ws, _ in here) == w)
        model.add(sum(ss for _, ss in here) == s)
    model.add(sum(modes) <= running)
    return inside, across


def _add_work(
    model: Any, instance: DmlrsInstance, part: Part, admitted: Any, inside: Any, across: Any
) -> None:
    """Add (3): an admitted job has B >= need[A]."""
    if part.across == 0:
        model.add(inside >= part.cover.least).only_enforce_if(admitted)
        return
    need = np.asarray(least_external(instance, part.job)).tolist()
    counted = model.new_int_var(0, len(need) - 1, f"A[{part.job}]")
    lack = model.new_int_var(min(need), max(need), f"need[{part.job}]")
    model.add(counted <= inside)
    model.add_element(counted, need, lack)
    model.add(across >= lack).only_enforce_if(admitted)


def read(program: CpProgram, instance: DmlrsInstance, values: Any) -> DmlrsSchedule:
    """Return the schedule of a solution, an array by variable index."""
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
