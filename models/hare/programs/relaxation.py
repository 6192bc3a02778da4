"""The paper's relaxation Hare_Sched_RL as printed, in Pyomo: (4)-(7), and (9) instead of (8).

(9) requires the tasks of each GPU to start late enough on average that they could run one after
another. For binary y, z = x y is exact, and y^2 = y. So (9) bounds the square of a linear form by a
linear form (E3), and the program is a convex mixed-integer program. `relaxation_arrays` has its
linear rows as arrays, for the cutting-plane loop.
"""

from typing import TYPE_CHECKING, Any

from schedgap.instances.hare import HareInstance, arrays

if TYPE_CHECKING:
    import pyomo.core as pyo


def start_limit(instance: HareInstance, *, horizon_cap: bool) -> float:
    """Return the upper bound U on all starts.

    `horizon_cap`: return the horizon, by which some optimal schedule ends: valid and stronger, but
    not in the paper. Otherwise a bound that never binds in the printed program, whose optimal
    starts may lie far beyond every schedule (E31).

    The bound is in the instance's time unit.

    Notes
    -----
    Why it never binds: take an optimum with the least sum of starts. A start cannot decrease
    because of the arrival, the previous round, or row (9) of its GPU. That row is slack as soon as
    one of its tasks has c x >= (sum of all c)^2 / 2. So on a GPU whose row is tight, starts are at
    most (sum of all c)^2 / (2 min c). Later rounds follow within the duration of all tasks.
    """
    view = arrays(instance)
    serial = float(view.arrival.max() + view.duration.max(axis=1).sum())
    if horizon_cap:
        return serial
    return float(serial + view.train.max(axis=1).sum() ** 2 / (2 * view.train.min()))


def build(
    instance: HareInstance, *, horizon_cap: bool = False, literal: bool = False
) -> "pyo.ConcreteModel":
    """Build Hare_Sched_RL in the instance's units.

    `horizon_cap`: bound the starts by the horizon, see `start_limit`. `literal`: write (9) with the
    product of y and x, as printed: a nonconvex program, for Gurobi only. The optimum is the same.

    The variables are starts `x[i]`, assignment `y[i, m]`, barriers `b[q]`, and `z[i, m]` = x y
    unless `literal`. There are more than 2 |D| |M| columns.

    Notes
    -----
    Source: Hare_Sched_RL, Section 5.2. (6) is needed only for tasks of the last round. (7) is
    written with one barrier b_r per round; the barrier of the last round is C_n.
    """
    import pyomo.core as pyo

    view = arrays(instance)
    train = view.train[:, view.gpu_class].tolist()  # c [i][m]
    duration = view.duration[:, view.gpu_class].tolist()  # c + s [i][m]
    head, rounds = view.head.tolist(), view.task_round.tolist()
    last = (view.job_rounds[1:] - 1).tolist()  # q of each job's last round
    first = set(view.job_rounds[:-1].tolist())
    limit = start_limit(instance, horizon_cap=horizon_cap)

    model = pyo.ConcreteModel("Hare_Sched_RL")
    model.D = pyo.RangeSet(0, view.tasks - 1)
    model.M = pyo.RangeSet(0, view.gpus - 1)
    model.R = pyo.RangeSet(0, view.rounds - 1)
    model.x = pyo.Var(model.D, bounds=lambda model, i: (head[i], limit))  # (4), with (7)
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
        # (9) as printed: sum c y (x + c) >= (sum c y)^2 / 2 + sum (c y)^2 / 2 on each GPU.
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
    model.z = pyo.Var(model.D, model.M, bounds=(0, limit))  # z = x y
    model.lin_start = pyo.Constraint(
        model.D, rule=lambda model, i: sum(model.z[i, m] for m in model.M) == model.x[i]
    )
    model.lin_lower = pyo.Constraint(
        model.D, model.M, rule=lambda model, i, m: model.z[i, m] >= head[i] * model.y[i, m]
    )
    model.lin_upper = pyo.Constraint(
        model.D, model.M, rule=lambda model, i, m: model.z[i, m] <= limit * model.y[i, m]
    )
    # (9) with z = x y and y^2 = y, multiplied by 2: (sum c y)^2 <= sum (2 c z + c^2 y).
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
