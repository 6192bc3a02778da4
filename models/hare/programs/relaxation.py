"""The paper's relaxation, Hare_Sched_RL, as printed: (4)-(7) with (9) in the place of (8).

By (9), the tasks of a GPU start late enough on average that they could follow each other. With
z = x y, which is exact for binary y, and y^2 = y, its square is that of a linear form and all else
is linear (E3): a convex mixed-integer program. `relaxation_linear` has the same rows as arrays.
"""

from typing import Any

from schedgap.instances.hare import HareInstance, arrays


def limit(instance: HareInstance, *, horizon_cap: bool) -> float:
    """Return the upper limit U of all starts.

    Parameters
    ----------
    instance : HareInstance
        Any instance of the family.
    horizon_cap : bool
        A time by which some optimal schedule is over: a valid, stronger bound that is not the
        paper's. Otherwise a limit that never binds in the program as printed, which may want
        starts far beyond every schedule (E31).

    Returns
    -------
    float
        In the instance's time unit.

    Notes
    -----
    Never binds: take an optimum of least sum of starts. A start is held up by the arrival, by the
    round before, or by the row (9) of its GPU; that row is slack as soon as one of its tasks has
    c x >= (sum of all c)^2 / 2. So starts on the GPU of a row that holds one up are at most that
    over the least c, and later rounds follow within the time of all tasks.
    """
    view = arrays(instance)
    serial = float(view.arrival.max() + view.duration.max(axis=1).sum())
    if horizon_cap:
        return serial
    return float(serial + view.train.max(axis=1).sum() ** 2 / (2 * view.train.min()))


def build(instance: HareInstance, *, horizon_cap: bool = False, literal: bool = False) -> Any:
    """Return Hare_Sched_RL as a Pyomo model; solves nothing.

    Parameters
    ----------
    instance : HareInstance
        Any instance of the family; the model has 2 |D| |M| columns and more.
    horizon_cap : bool
        See `limit`.
    literal : bool
        Write (9) with the product of y and x, as printed: a nonconvex program for Gurobi. The
        optimum is the same.

    Notes
    -----
    Source: Hare_Sched_RL, Section 5.2. (6) is needed for the tasks of the last round only, and (7)
    is written with one barrier b_r for each round, which is C_n for the last.
    """
    import pyomo.environ as pyo

    view = arrays(instance)
    train = view.train[:, view.gpu_class].tolist()  # c [i][m]
    duration = view.duration[:, view.gpu_class].tolist()  # c + s [i][m]
    head, rounds = view.head.tolist(), view.task_round.tolist()
    last = (view.job_rounds[1:] - 1).tolist()  # q of each job's last round
    first = set(view.job_rounds[:-1].tolist())
    most = limit(instance, horizon_cap=horizon_cap)

    model = pyo.ConcreteModel("Hare_Sched_RL")
    model.D = pyo.RangeSet(0, view.tasks - 1)
    model.M = pyo.RangeSet(0, view.gpus - 1)
    model.R = pyo.RangeSet(0, view.rounds - 1)
    model.x = pyo.Var(model.D, bounds=lambda model, i: (head[i], most))  # (4), with (7)
    model.y = pyo.Var(model.D, model.M, domain=pyo.Binary)
    model.b = pyo.Var(model.R, domain=pyo.NonNegativeReals)
    model.value = pyo.Objective(
        expr=sum(weight * model.b[q] for weight, q in zip(view.weight.tolist(), last, strict=True)),
        sense=pyo.minimize,
    )
    model.eq_5 = pyo.Constraint(
        model.D,
        doc="each task runs on exactly one GPU",
        rule=lambda model, i: sum(model.y[i, m] for m in model.M) == 1,
    )

    def end(i: int) -> Any:
        return model.x[i] + sum(duration[i][m] * model.y[i, m] for m in model.M)

    is_last = set(last)
    model.eq_6 = pyo.Constraint(
        [i for i in model.D if rounds[i] in is_last],
        doc="a job completes when its last round is synchronized",
        rule=lambda model, i: model.b[rounds[i]] >= end(i),
    )
    model.eq_7_end = pyo.Constraint(
        [i for i in model.D if rounds[i] not in is_last],
        doc="a barrier waits for the whole round",
        rule=lambda model, i: model.b[rounds[i]] >= end(i),
    )
    model.eq_7_start = pyo.Constraint(
        [i for i in model.D if rounds[i] not in first],
        doc="a round waits for the barrier before it",
        rule=lambda model, i: model.x[i] >= model.b[rounds[i] - 1],
    )
    if literal:
        # (9) as printed; both sides are sums over the tasks of one GPU.
        model.eq_9 = pyo.Constraint(
            model.M,
            doc="tasks of a GPU start late enough on average",
            rule=lambda model, m: (
                sum(train[i][m] * model.y[i, m] * (model.x[i] + train[i][m]) for i in model.D)
                >= 0.5 * sum(train[i][m] * model.y[i, m] for i in model.D) ** 2
                + 0.5 * sum((train[i][m] * model.y[i, m]) ** 2 for i in model.D)
            ),
        )
        return model
    model.z = pyo.Var(model.D, model.M, bounds=(0, most))  # z = x y
    model.lin_start = pyo.Constraint(
        model.D, rule=lambda model, i: sum(model.z[i, m] for m in model.M) == model.x[i]
    )
    model.lin_lower = pyo.Constraint(
        model.D, model.M, rule=lambda model, i, m: model.z[i, m] >= head[i] * model.y[i, m]
    )
    model.lin_upper = pyo.Constraint(
        model.D, model.M, rule=lambda model, i, m: model.z[i, m] <= most * model.y[i, m]
    )
    model.eq_9 = pyo.Constraint(
        model.M,
        doc="tasks of a GPU start late enough on average (E3: the convex form)",
        rule=lambda model, m: (
            sum(train[i][m] * model.y[i, m] for i in model.D) ** 2
            <= sum(2 * train[i][m] * model.z[i, m] for i in model.D)
            + sum(train[i][m] ** 2 * model.y[i, m] for i in model.D)
        ),
    )
    return model
