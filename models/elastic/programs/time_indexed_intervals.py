"""The time-indexed program (ours) in whole numbers, for CP-SAT: a placement for each start.

It differs from `time_indexed` in the PSs of a split copy: a binary variable for each pair of their
server and the number of workers on it fixes their number, so that (2i) is rounded as in the rules.

References
----------
J. P. Sousa, L. A. Wolsey, "A time indexed formulation of non-preemptive single machine scheduling
problems", Mathematical Programming 54 (1992).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic.modes import ElasticCluster, Mode, cluster, modes
from schedgap.models.elastic.placement import fits, ps_needed
from schedgap.models.elastic.programs.columns import run_at, schedule_of
from schedgap.models.elastic.programs.whole_numbers import check_whole, whole_weights
from schedgap.models.elastic.time_windows import ElasticWindows

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

Terms = list[tuple["cp_model.IntVar", int]]  # variables and amounts
ServerUsage = dict[tuple[int, int], Terms]  # by server and resource


def build(instance: ElasticInstance, *, span: ElasticWindows) -> "cp_model.CpModel":
    """Build the program, in slots and whole units.

    `span`: when each job may run; the windows of a feasible schedule contain an optimal one.

    Returns
    -------
    CpModel
        Variables of each copy (j, k, t) in turn: x, then c [h] of a central mode, or Y [h] and
        G [h, g] of a split one: the PSs are on server h, together with g workers. Minimises the
        weighted completion time or minus the scheduled weight, in steps of the weights.

    Raises
    ------
    ScaleError
        When weights or amounts are not multiples of a step that is not too small.
    """
    check_whole(instance)
    weight = whole_weights(instance)  # may raise, before CP-SAT is loaded
    from ortools.sat.python import cp_model

    view = cluster(instance)
    model = cp_model.CpModel()
    usage: dict[tuple[int, int, int], Terms] = {}
    value = []
    for j in range(len(instance.jobs)):
        starts = []
        for k, mode in enumerate(modes(instance, j)):
            for t in range(span.first[j], span.end[j] - mode.duration + 1):  # (2j), (7b)
                at = f"{j},{k},{t}"
                x = model.new_bool_var(f"x[{at}]")
                starts.append(x)
                value.append(x * weight[j] * (-1 if instance.is_batch else t + mode.duration))
                place = _central if mode.central else _split
                for (h, r), terms in place(model, view, mode, x, at).items():
                    for slot in range(t, t + mode.duration):
                        usage.setdefault((h, r, slot), []).extend(terms)
        if instance.is_batch:
            model.add_at_most_one(starts)  # (7a)
        else:
            model.add_exactly_one(starts)  # (2a)
    for (h, r, _), terms in sorted(usage.items(), key=lambda item: item[0]):  # (2h)
        capacity = int(min(view.capacity[h, r], 2**60))
        model.add(sum(variable * amount for variable, amount in terms) <= capacity)
    model.minimize(sum(value))
    return model


def _central(
    model: "cp_model.CpModel", view: ElasticCluster, mode: Mode, x: "cp_model.IntVar", at: str
) -> ServerUsage:
    """Place a central copy on one server, (2d); return its usage."""
    demand = view.demand(mode)
    needed = demand.workers * demand.worker + (0.0 if demand.ps is None else demand.ps)
    usage: ServerUsage = {}
    chosen = []
    for h in range(len(view.servers)):
        if (view.capacity[h] >= needed).all():
            c = model.new_bool_var(f"c[{at},{h}]")
            chosen.append(c)
            usage |= {(h, r): [(c, int(a))] for r, a in enumerate(needed.tolist()) if a}
    model.add(sum(chosen) == x)
    return usage


def _split(
    model: "cp_model.CpModel", view: ElasticCluster, mode: Mode, x: "cp_model.IntVar", at: str
) -> ServerUsage:
    """Place the workers of a split copy on two or more servers, and its PSs on one, (2e)."""
    demand, N = view.demand(mode), mode.workers
    max_workers = [min(int(n), N) for n in fits(view.capacity, demand.worker)]
    usage: ServerUsage = {}
    everywhere, ps_choices = [], []
    for h, fit in enumerate(max_workers):
        Y = model.new_int_var(0, fit, f"Y[{at},{h}]")
        everywhere.append(Y)
        here: Terms = []
        if demand.ps is None:
            model.add(min(fit, N - 1) * x >= Y)
        else:
            workers_with_ps, chosen = [], []
            for g in range(min(fit, N - 1) + 1):
                s = ps_needed(demand.bandwidth, demand.ps_bandwidth, N - g)  # (2i)
                if (g * demand.worker + s * demand.ps <= view.capacity[h]).all():
                    G = model.new_bool_var(f"G[{at},{h},{g}]")
                    chosen.append(G)
                    workers_with_ps.append(g * G)
                    here.append((G, s))
            ps_choices += chosen
            model.add(sum(workers_with_ps) <= Y)
            model.add(sum(workers_with_ps) + fit * (x - sum(chosen)) >= Y)
        for r, amount in enumerate(demand.worker.tolist()):
            terms = [(Y, int(amount))] if amount else []
            if demand.ps is not None and demand.ps[r]:
                terms += [(G, s * int(demand.ps[r])) for G, s in here]
            if terms:
                usage[h, r] = terms
    model.add(sum(everywhere) == N * x)  # (2b)
    if demand.ps is not None:
        model.add(sum(ps_choices) == x)
    return usage


def read(
    model: "cp_model.CpModel", instance: ElasticInstance, values: Sequence[float]
) -> ElasticSchedule:
    """Return the schedule of a solution.

    `model`: from `build`. `values`: values of all variables of the model, by index.
    """
    taken: dict[tuple[int, ...], tuple[dict[int, int], dict[int, int]]] = {}
    view = cluster(instance)
    for variable, value in zip(model.proto.variables, values, strict=True):
        if not value:
            continue
        kind, index = variable.name[0], [int(i) for i in variable.name[2:-1].split(",")]
        j, k, t, *rest = index
        workers, ps = taken.setdefault((j, k, t), ({}, {}))
        mode = modes(instance, j)[k]
        if kind == "c":
            workers[rest[0]] = mode.workers
            if mode.ps_type is not None:
                ps[rest[0]] = 1
        elif kind == "Y":
            workers[rest[0]] = int(value)
        elif kind == "G":
            h, g = rest
            demand = view.demand(mode)
            ps[h] = ps_needed(demand.bandwidth, demand.ps_bandwidth, mode.workers - g)
    return schedule_of(
        instance,
        [run_at(j, modes(instance, j)[k], t, *counts) for (j, k, t), counts in taken.items()],
    )
