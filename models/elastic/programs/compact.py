"""The compact-exponential program (8)/(17) and its dual (9)/(18): a column for each run of a job.

The paper's columns omit (2d), (2e), (2g), (2o), and that a run by itself respects the capacities
(E5). Here the columns are the minimal placements that fit on the empty cluster, at every start.
"""

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic.modes import cluster, modes
from schedgap.models.elastic.programs.columns import ElasticRun, placements, schedule_of
from schedgap.models.elastic.time_windows import ElasticWindows

if TYPE_CHECKING:
    import pyomo.core as pyo

CapacityRow = tuple[int, int, int]  # server, resource, slot


def enumerate_runs(
    instance: ElasticInstance, span: ElasticWindows, most: int
) -> list[ElasticRun] | None:
    """Return every run of every job within its window, or None when there are more than `most`.

    `span`: when each job may run. `most`: largest number of runs.
    """
    view = cluster(instance)
    every = (
        ElasticRun(j, mode, start, workers, ps)
        for j in range(len(instance.jobs))
        for mode in modes(instance, j)
        for starts in [range(span.first[j], span.end[j] - mode.duration + 1)]
        if starts
        for workers, ps in placements(view, mode)
        for start in starts
    )
    runs = list(islice(every, most + 1))
    return runs if len(runs) <= most else None


def _usage(
    instance: ElasticInstance, runs: Sequence[ElasticRun]
) -> dict[CapacityRow, list[tuple[int, float]]]:
    """Return for each server, resource and slot the runs that use it, with the amount of each."""
    view = cluster(instance)
    rows: dict[CapacityRow, list[tuple[int, float]]] = {}
    for i, run in enumerate(runs):
        for h, amounts in run.usage(view).items():
            for r, amount in enumerate(amounts.tolist()):
                if amount:
                    for t in range(run.start, run.end):
                        rows.setdefault((h, r, t), []).append((i, amount))
    return rows


def _objective_coefficient(instance: ElasticInstance, run: ElasticRun) -> float:
    """Return the contribution of a run to the objective."""
    weight = instance.jobs[run.job].weight
    return weight if instance.is_batch else weight * run.end


def build(instance: ElasticInstance, runs: Sequence[ElasticRun]) -> "pyo.ConcreteModel":
    """Build the program (8)/(17) over given runs, which it has as `runs`; it solves nothing."""
    import pyomo.core as pyo

    view = cluster(instance)
    # max sum w_j x_l (or min sum w_j c_l x_l) with (8a) sum_l f_l x_l <= C for each server,
    # resource and slot, and (8b) sum_l x_l <= 1 (or = 1) for each job.
    rows, own = _usage(instance, runs), [list[int]() for _ in instance.jobs]
    for i, run in enumerate(runs):
        own[run.job].append(i)
    model = pyo.ConcreteModel(name=instance.name)
    model.runs = runs
    model.x = pyo.Var(range(len(runs)), domain=pyo.Binary, doc="run l is taken")  # (8c)
    model.objective = pyo.Objective(
        expr=sum(_objective_coefficient(instance, run) * model.x[i] for i, run in enumerate(runs)),
        sense=pyo.maximize if instance.is_batch else pyo.minimize,
        doc="(8): scheduled weight" if instance.is_batch else "(2) over the runs of (8)",
    )
    model.eq_8a = pyo.Constraint(
        sorted(rows),
        doc="capacity in each slot",
        rule=lambda model, h, r, t: (
            sum(amount * model.x[i] for i, amount in rows[h, r, t]) <= float(view.capacity[h, r])
        ),
    )
    if instance.is_batch:
        model.eq_8b = pyo.Constraint(
            [j for j, members in enumerate(own) if members],
            doc="at most one run of each job",
            rule=lambda model, j: sum(model.x[i] for i in own[j]) <= 1,
        )
    else:
        model.eq_2a = pyo.Constraint(
            range(len(own)),
            doc="one run of each job",
            rule=lambda model, j: (
                sum(model.x[i] for i in own[j]) == 1 if own[j] else pyo.Constraint.Infeasible
            ),
        )
    return model


def build_dual(instance: ElasticInstance, runs: Sequence[ElasticRun]) -> "pyo.ConcreteModel":
    """Build the dual (9)/(18) of the linear relaxation over given runs.

    `runs`: the columns of the primal, rows of the dual.

    Notes
    -----
    `delta` are prices of units. For the weighted completion time the primal is a minimisation with
    equality rows (2a). Its dual is a maximum of sum u_j - sum C delta, with u free in sign.
    """
    import pyomo.core as pyo

    view, batch = cluster(instance), instance.is_batch
    rows = _usage(instance, runs)
    usage: list[list[tuple[CapacityRow, float]]] = [[] for _ in runs]
    for row, entries in rows.items():
        for i, amount in entries:
            usage[i].append((row, amount))
    model = pyo.ConcreteModel(name=instance.name)
    model.runs = runs
    model.u = pyo.Var(
        range(len(instance.jobs)),
        domain=pyo.NonNegativeReals if batch else pyo.Reals,
        doc="value of job j",
    )
    model.delta = pyo.Var(sorted(rows), domain=pyo.NonNegativeReals, doc="price")  # (9b)
    paid = sum(float(view.capacity[h, r]) * model.delta[h, r, t] for h, r, t in sorted(rows))
    values = sum(model.u[j] for j in model.u)
    model.objective = pyo.Objective(
        expr=values + paid if batch else values - paid,
        sense=pyo.minimize if batch else pyo.maximize,
        doc="(9)",
    )

    def dual_row(model: pyo.ConcreteModel, i: int) -> object:
        run, cost = runs[i], sum(amount * model.delta[row] for row, amount in usage[i])
        if batch:
            return model.u[run.job] + cost >= _objective_coefficient(instance, run)
        return model.u[run.job] - cost <= _objective_coefficient(instance, run)

    model.eq_9a = pyo.Constraint(range(len(runs)), doc="reduced cost of a run", rule=dual_row)
    return model


def read(model: "pyo.ConcreteModel", instance: ElasticInstance) -> ElasticSchedule:
    """Return the schedule of a solved model.

    `model`: from `build`, with values.
    """
    return schedule_of(
        instance, [run for i, run in enumerate(model.runs) if (model.x[i].value or 0.0) > 0.5]
    )
