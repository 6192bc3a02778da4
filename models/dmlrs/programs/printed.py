"""DMLRS (3)-(7) as printed, by machine: z_ith, e_it, and integer numbers of workers and PSs.

The least bandwidth of (3) becomes two modes: on machine h alone (z) or across machines (e). The
last slot with a worker of (6) becomes y_if with no work after f; y may name a later slot, which
never increases the utility. Workers of the mode across machines may all be on one machine: the
program then counts less work for them than (3) does, so both have the same optimum.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from schedgap.instances.dmlrs import DmlrsInstance, DmlrsSchedule, arrays
from schedgap.models.dmlrs.programs.integral_rows import ps_slope, work_rows
from schedgap.models.dmlrs.throughput import (
    bundles,
    first_completions,
    machine_limits,
    max_external_workers,
    ps_needed,
)

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel


Work = Mapping[int, tuple[Any, Any]]  # by slot: worker-slots on a single machine, and across


@dataclass(frozen=True, slots=True, eq=False)
class _CandidateJob:
    """A job that some schedule may complete, with limits on its workers and PSs in a slot."""

    index: int
    arrival: int
    first: int  # f0, its earliest possible completion
    internal: Sequence[int]  # [h] most workers with their PSs on the machine
    external: int  # most workers across machines; 0 if impossible
    workers: Sequence[int]  # [h] most workers on the machine
    ps: Sequence[int]  # [h] most PSs on the machine


def _candidate_jobs(instance: DmlrsInstance) -> list[_CandidateJob]:
    """Return the jobs that may be admitted."""
    limits = machine_limits(instance)
    return [
        _CandidateJob(
            i,
            instance.jobs[i].arrival,
            first,
            limits.internal[i].tolist(),
            max_external_workers(instance, i),
            limits.workers[i].tolist(),
            limits.ps[i].tolist(),
        )
        for i, first in enumerate(first_completions(instance))
        if first <= instance.horizon
    ]


def size(instance: DmlrsInstance) -> int:
    """Return an upper limit on the number of columns."""
    T, H = instance.horizon, len(instance.machines)
    each = 5 * H + 1 + (0 if instance.ps_rule == "at_least" else H + 1)
    return sum((T - p.arrival + 1) * each + T - p.first + 1 for p in _candidate_jobs(instance))


def build(instance: DmlrsInstance, *, cuts: bool = True) -> "ConcreteModel":
    """Return the program as a Pyomo `ConcreteModel`; it is not solved.

    `cuts`: whether to add rows that only tighten the relaxation.
    """
    import pyomo.core as pyo

    view, jobs = arrays(instance), _candidate_jobs(instance)
    T, H = instance.horizon, len(instance.machines)
    by_job = {p.index: p for p in jobs}
    model = pyo.ConcreteModel(name=instance.name)
    _add_completions(model, instance, jobs)
    slots = [(p.index, t) for p in jobs for t in range(p.arrival, T + 1)]
    one = [(i, t, h) for i, t in slots for h in range(H) if by_job[i].internal[h]]
    split = [(i, t) for i, t in slots if by_job[i].external]
    on = [(i, t, h) for i, t in split for h in range(H)]
    model.z = pyo.Var(one, domain=pyo.Binary, doc="job i is on machine h alone in slot t")
    model.e = pyo.Var(split, domain=pyo.Binary, doc="job i is on several machines in slot t")

    def add_units(
        name: str, row: str, doc: str, keys: list[Any], most: Callable[[int, int], int]
    ) -> None:
        """Add workers or PSs [i, t, h], up to most(i, h), and the row (4) that allows a mode."""
        bounds = {(i, t, h): (0, most(i, h)) for i, t, h in keys}
        units = pyo.Var(keys, domain=pyo.NonNegativeIntegers, bounds=bounds, doc=doc)
        model.add_component(name, units)
        rows = pyo.Constraint(
            keys,
            rule=lambda model, i, t, h: (
                units[i, t, h] <= most(i, h) * (model.z[i, t, h] if keys is one else model.e[i, t])
            ),
        )
        model.add_component(row, rows)

    add_units("wI", "eq_4_workers", "its workers there", one, lambda i, h: by_job[i].internal[h])
    add_units(
        "sI", "eq_4_ps", "its PSs there", one,
        lambda i, h: ps_needed(float(view.ratio[i]), by_job[i].internal[h]),
    )  # fmt: skip
    add_units(
        "wE", "eq_4_each_worker", "its workers on machine h then", on,
        lambda i, h: by_job[i].workers[h],
    )  # fmt: skip
    add_units("sE", "eq_4_each_ps", "its PSs on machine h then", on, lambda i, h: by_job[i].ps[h])
    model.eq_4 = pyo.Constraint(
        split,
        doc="at most the batch of workers",
        rule=lambda model, i, t: (
            sum(model.wE[i, t, h] for h in range(H)) <= by_job[i].external * model.e[i, t]
        ),
    )
    inside = {key: (model.wI[key], model.sI[key]) for key in one}
    across = {
        (i, t): tuple(sum(var[i, t, h] for h in range(H)) for var in (model.wE, model.sE))
        for i, t in split
    }
    if instance.ps_rule == "at_least":
        slope = {p.index: ps_slope(instance, p.index) for p in jobs}
        for name, units in (("eq_2_inside", inside), ("eq_2", across)):
            row = pyo.Constraint(
                list(units),
                doc="PSs enough for the workers",
                rule=lambda model, *key, units=units: (
                    units[key][0] <= slope[key[0]] * units[key][1]
                ),
            )
            model.add_component(name, row)
    else:
        _add_exact_ratio(model, instance, inside, across)
    model.eq_6 = pyo.Constraint(
        [(i, t) for i, t in slots if by_job[i].external or any(by_job[i].internal)],
        doc="one mode in a slot, and none after completion",
        rule=lambda model, i, t: (
            sum(model.z[i, t, h] for h in range(H) if by_job[i].internal[h])
            + (model.e[i, t] if by_job[i].external else 0)
            <= _running(model, instance, i, t)
        ),
    )
    work = {
        p.index: {
            t: (
                sum(model.wI[p.index, t, h] for h in range(H) if p.internal[h]),
                across[p.index, t][0] if p.external else 0,
            )
            for t in range(p.arrival, T + 1)
        }
        for p in jobs
    }
    _add_work(model, instance, jobs, work, cuts=cuts)

    def demand(i: int, t: int, h: int, r: int) -> Any:
        alpha, beta = float(view.worker_demand[i, r]), float(view.ps_demand[i, r])
        if not alpha and not beta:
            return 0
        pairs = ((model.wI, model.sI), (model.wE, model.sE))
        held = [(w[i, t, h], s[i, t, h]) for w, s in pairs if (i, t, h) in w]
        return sum(alpha * w + beta * s for w, s in held)

    _add_capacity(model, instance, jobs, demand)
    return model


def _add_completions(
    model: "ConcreteModel", instance: DmlrsInstance, jobs: list[_CandidateJob]
) -> None:
    """Add y_if, the objective, and the rows of at most one completion for each job.

    `model`: gets `y`, `objective` and `lin_once`.
    """
    import pyomo.core as pyo

    T, view = instance.horizon, arrays(instance)
    model.y = pyo.Var(
        [(job.index, f) for job in jobs for f in range(job.first, T + 1)],
        domain=pyo.Binary,
        doc="job i is complete by slot f",
    )
    model.objective = pyo.Objective(
        expr=pyo.quicksum(
            float(view.utility[i, f - view.arrival[i]]) * y for (i, f), y in model.y.items()
        ),
        sense=pyo.maximize,
        doc="sum of utilities of the admitted jobs",
    )
    model.lin_once = pyo.Constraint(
        [job.index for job in jobs],
        doc="a job is admitted at most once",
        rule=lambda model, i: _running(model, instance, i, 1) <= 1,
    )


def _running(model: "ConcreteModel", instance: DmlrsInstance, i: int, t: int) -> Any:
    """Return sum_{f >= t} y_if, which is 1 if job i may run in slot t.

    `model`: with `y`.
    """
    return sum(model.y[i, f] for f in range(t, instance.horizon + 1) if (i, f) in model.y)


def _add_work(
    model: "ConcreteModel",
    instance: DmlrsInstance,
    jobs: list[_CandidateJob],
    work: Mapping[int, Work],
    *,
    cuts: bool,
) -> None:
    """Add (3) for each slot in which a job may be complete; the rows of slot T are the printed one.

    `model`: with `y`; gets `eq_3`. `work`: by job and slot, the worker-slots on a single machine
    and across machines, as expressions. `cuts`: whether to add the rows of slots before T.
    """
    import pyomo.core as pyo

    T = instance.horizon
    by_job = {job.index: job for job in jobs}
    rows = {job.index: work_rows(instance, job.index) for job in jobs}

    def enough(model: "ConcreteModel", i: int, t: int, k: int) -> Any:
        job, (internal, external, least) = by_job[i], rows[i][k]
        done = pyo.quicksum(
            internal * work[i][s][0] + external * work[i][s][1] for s in range(job.arrival, t + 1)
        )
        complete = sum(model.y[i, f] for f in range(job.first, t + 1))
        return done >= least * complete

    slots = [
        (job.index, t, k)
        for job in jobs
        for t in range(job.first if cuts else T, T + 1)
        for k in range(len(rows[job.index]))
    ]
    model.eq_3 = pyo.Constraint(slots, rule=enough, doc="a complete job has done its work")


def _add_capacity(
    model: "ConcreteModel",
    instance: DmlrsInstance,
    jobs: list[_CandidateJob],
    demand: Callable[[int, int, int, int], Any],
) -> None:
    """Add (5).

    `model`: gets `eq_5`. `demand`: from job i, slot t, machine h and resource r to the demand
    there: an expression, or 0.
    """
    import pyomo.core as pyo

    T, H, R = instance.horizon, len(instance.machines), len(instance.resources)
    capacity = arrays(instance).capacity
    uses: dict[tuple[int, int, int], Any] = {}
    for t in range(1, T + 1):
        for h in range(H):
            for r in range(R):
                terms = [demand(job.index, t, h, r) for job in jobs if t >= job.arrival]
                uses[h, t, r] = sum(term for term in terms if not isinstance(term, int))
    rows = [key for key, used in uses.items() if not isinstance(used, int)]
    model.eq_5 = pyo.Constraint(
        rows,
        doc="capacity of each machine, slot and resource",
        rule=lambda model, h, t, r: uses[h, t, r] <= float(capacity[h, r]),
    )


def _add_exact_ratio(
    model: "ConcreteModel",
    instance: DmlrsInstance,
    inside: Mapping[tuple[int, int, int], tuple[Any, Any]],
    across: Mapping[tuple[int, int], tuple[Any, Any]],
) -> None:
    """Add (2) with equality: v times the smallest allowed numbers of workers and PSs.

    All allowed pairs (n, m) with n <= 100,000 have the same ratio: |n / gamma - m| < 1e-9 leaves no
    room for two ratios, and the error grows with n. They are the first multiples of the smallest
    pair.
    """
    import pyomo.core as pyo

    pair = {}
    for i in {key[0] for key in (*inside, *across)}:
        job_bundles = bundles(instance, i)
        pair[i] = int(job_bundles.workers[0]), int(job_bundles.ps[0]), len(job_bundles.workers)
    for name, held in (("inside", inside), ("across", across)):
        keys = list(held)
        times = pyo.Var(
            keys,
            domain=pyo.NonNegativeIntegers,
            bounds=lambda model, *key: (0, pair[key[0]][2]),
            doc="multiple of the smallest pair of workers and PSs",
        )
        setattr(model, f"v_{name}", times)
        for k, kind in enumerate(("workers", "ps")):
            row = pyo.Constraint(
                keys,
                doc=f"gamma workers for each PS, exactly: {kind}",
                rule=lambda model, *key, held=held, times=times, k=k: (
                    held[key][k] == pair[key[0]][k] * times[key]
                ),
            )
            setattr(model, f"eq_2_{name}_{kind}", row)


def read(model: "ConcreteModel", instance: DmlrsInstance) -> DmlrsSchedule:
    """Return the schedule of a solved model.

    `model`: as `build` returns it, with values.
    """
    admitted = sorted({i for (i, _), y in model.y.items() if (y.value or 0.0) > 0.5})
    plans: dict[int, dict[int, dict[int, tuple[int, int]]]] = {i: {} for i in admitted}
    for workers, ps in ((model.wI, model.sI), (model.wE, model.sE)):
        for (i, t, h), var in workers.items():
            counts = round(var.value or 0.0), round(ps[i, t, h].value or 0.0)
            if any(counts) and i in plans:
                slot = plans[i].setdefault(t, {})
                before = slot.get(h, (0, 0))
                slot[h] = before[0] + counts[0], before[1] + counts[1]
    return DmlrsSchedule.of_plans(instance, plans)
