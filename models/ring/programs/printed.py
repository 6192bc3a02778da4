"""RAR-DDLS, (1)-(9), as a mixed-integer linear program with variables for every slot.

The paper's program has products, a maximum, indicators, and rates that depend on all of them. Two
facts make it linear. First, rates depend on two small numbers, n and p, so (7) and (8) are data.
Second, time is monotone: a job that claims less progress or stays longer than necessary never lets
another job end earlier. So (6) and (9) may be inequalities in one direction, and the simulated
schedule of a solution is no worse than the solution.

Indices: job j, server s, slot t from 1, number n of servers of a job, contention level p.
"""

import math
from collections.abc import Callable, Iterable
from itertools import chain
from typing import TYPE_CHECKING, Any

from schedgap.errors import UsageError
from schedgap.instances.ring import RingInstance, RingSchedule, Run
from schedgap.models.ring.rates import NEVER, RateTable, rate_table
from schedgap.models.ring.simulator import schedule_of

if TYPE_CHECKING:
    import pyomo.core as pyo

MOST_COLUMNS = 200_000
LARGEST = 100_000  # right-hand side of (9) over its gcd: the tolerance 1e-6 then forgives nothing


def equal_jobs(instance: RingInstance) -> list[tuple[int, int]]:
    """Return pairs (i, k), i < k, of consecutive jobs with the same data, for symmetry breaking."""
    seen: dict[tuple[float, ...], int] = {}
    pairs = []
    for j, job in enumerate(instance.jobs):
        key = (
            job.gpus, job.iterations, job.gradient_size, job.batch_size,
            job.forward_time_per_sample, job.backward_time,
        )  # fmt: skip
        if key in seen:
            pairs.append((seen[key], j))
        seen[key] = j
    return pairs


def durations_by_servers(table: RateTable, job: int, horizon: int) -> dict[int, int]:
    """Return the shortest execution time of a job for each possible number of servers.

    `horizon`: longer execution times are left out, slots.

    The times [n] are in slots, without contention.
    """
    shortest = {
        n: table.slots(job, n, min(n - 1, 1))
        for n in range(table.fewest_servers[job], table.most_servers[job] + 1)
    }
    return {n: int(slots) for n, slots in shortest.items() if slots != NEVER and slots <= horizon}


def progress_divisor(table: RateTable, job: int) -> int:
    """Return the greatest common divisor of the required progress and all rates of a job."""
    rates = [table.rates(job, n) for n in range(1, table.most_servers[job] + 1)]
    return math.gcd(table.required_progress[job], *chain.from_iterable(rates))


def unsupported_reason(instance: RingInstance) -> str | None:
    """Return why an engine's tolerance could forgive a job some of its work, or None."""
    table = rate_table(instance)
    for j, job in enumerate(instance.jobs):
        if table.required_progress[j] // progress_divisor(table, j) > LARGEST:
            return (
                f"job {job.id} needs {table.required_progress[j]} units of progress, more than a "
                "MIP engine's tolerance holds: use rar-ddls-cp or a smaller rate_scale"
            )
    return None


def size(instance: RingInstance, horizon: int) -> int:
    """Return the approximate number of columns of the program.

    `horizon`: H, as for `build`.
    """
    jobs, servers = len(instance.jobs), len(instance.servers)
    rings = sum(job.gpus >= 2 for job in instance.jobs)
    levels = min(instance.max_contention, rings)
    return horizon * (jobs * (3 + servers) + rings * (servers + levels) + servers * levels)


def build(instance: RingInstance, *, horizon: int, lower: int | None = None) -> "pyo.ConcreteModel":
    """Return the program as a Pyomo model, without solving it.

    `instance`: not refuted by `no_schedule`. `horizon`: H, the last slot in which a job may end,
    such as the makespan of a known schedule; at least max_j d_j. `lower`: lower bound on the
    makespan, slots; by default the better of `longest` and `area`.

    Raises
    ------
    UsageError
        If the program would have more than `MOST_COLUMNS` columns.

    Notes
    -----
    Source: RAR-DDLS, (1)-(9). Number of columns: see `size`. Levels linearise (6): lev[j, t, p] may
    be positive only if j is active in slot t with p_j[t] <= p. The progress in a slot is then
    sum_p (rate(p) - rate(p + 1)) lev[j, t, p], which telescopes to the rate at p_j[t]. Row (9) sums
    the progress over the slots. The rows `cut_*` are implied by the others or break symmetries.
    """
    import pyomo.core as pyo

    table = rate_table(instance)
    columns = size(instance, horizon)
    if columns > MOST_COLUMNS:
        raise UsageError(f"rar-ddls: about {columns} columns, at most {MOST_COLUMNS}")
    if lower is None:
        lower = int(max(table.longest, table.area))

    J, S, T = range(len(instance.jobs)), range(len(instance.servers)), range(1, horizon + 1)
    G, server_gpus = table.size, table.server_gpus
    rings = [j for j in J if G[j] >= 2]  # jobs that can be spread
    P = table.max_contention
    P_s = [max(1, min(server_gpus[s], len(rings))) for s in S]  # largest number of rings on s
    length = [durations_by_servers(table, j, horizon) for j in J]  # [j][n] shortest time
    inside = {
        (j, s) for j in J if 1 in length[j] for s in S if server_gpus[s] >= G[j]
    }  # pairs of a job and a server that can hold all of it
    spread = [(j, n) for j in J for n in length[j] if n >= 2]
    most_workers = {(j, s): min(G[j], server_gpus[s]) for j in J for s in S}  # c(j, s)

    model = pyo.ConcreteModel(name=instance.name)
    model.z = pyo.Var(J, T, domain=pyo.Binary, doc="job j starts in slot t")
    model.f = pyo.Var(J, T, domain=pyo.Binary, doc="slot t is the last of job j")
    model.act = pyo.Var(J, T, bounds=(0, 1), doc="job j is active in slot t")
    model.y = pyo.Var(
        J, S, domain=pyo.NonNegativeIntegers, doc="workers of job j on server s",
        bounds=lambda model, j, s: (0, most_workers[j, s]),
    )  # fmt: skip
    model.use = pyo.Var(J, S, domain=pyo.Binary, doc="job j has workers on server s")
    model.full = pyo.Var(sorted(inside), domain=pyo.Binary, doc="all of job j is on server s")
    model.num = pyo.Var(
        [(j, n) for j in J for n in length[j]], domain=pyo.Binary, doc="job j is on n servers"
    )
    model.w = pyo.Var(
        J, S, T, doc="workers of job j on server s in slot t: y if active, else 0",
        bounds=lambda model, j, s, t: (0, most_workers[j, s]),
    )  # fmt: skip
    model.cs = pyo.Var(
        rings, S, T, bounds=(0, 1), doc="ring over several servers of job j uses server s in slot t"
    )
    model.L = pyo.Var(
        [(s, t, p) for s in S for t in T for p in range(1, P_s[s])], domain=pyo.Binary,
        doc="at most p rings use server s in slot t",
    )  # fmt: skip
    model.lev = pyo.Var(
        rings, T, range(1, P + 1), bounds=(0, 1), doc="job j is active in slot t, p_j[t] <= p"
    )
    model.mk = pyo.Var(bounds=(lower, horizon), doc="makespan")

    def rows(index: Iterable[Any], rule: Callable[..., Any], doc: str) -> "pyo.Constraint":
        return pyo.Constraint(list(index), doc=doc, rule=lambda model, *at: rule(*at))

    model.objective = pyo.Objective(expr=model.mk, doc="max_j T_j")
    model.lin_makespan = rows(
        J,
        lambda j: model.mk >= sum(t * model.f[j, t] for t in T),
        "no job ends after the makespan",
    )
    model.lin_start = rows(J, lambda j: sum(model.z[j, t] for t in T) == 1, "one start")
    model.lin_last = rows(J, lambda j: sum(model.f[j, t] for t in T) == 1, "one last slot")
    model.eq_3_act = rows(
        ((j, t) for j in J for t in T),
        lambda j, t: (
            model.act[j, t]
            == (model.act[j, t - 1] - model.f[j, t - 1] if t > 1 else 0) + model.z[j, t]
        ),
        "active from the start to the last slot without interruption",
    )
    model.eq_1 = rows(J, lambda j: sum(model.y[j, s] for s in S) == G[j], "all workers of the ring")
    model.eq_1_t = rows(
        ((j, t) for j in J for t in T),
        lambda j, t: sum(model.w[j, s, t] for s in S) >= G[j] * model.act[j, t],
        "in every active slot",
    )
    placed = [(j, s, t) for j in J for s in S for t in T]
    model.eq_3_w = rows(
        placed,
        lambda j, s, t: (
            model.w[j, s, t] >= model.y[j, s] - most_workers[j, s] * (1 - model.act[j, t])
        ),
        "the same placement in all active slots",
    )
    model.eq_4 = rows(
        placed,
        lambda j, s, t: model.w[j, s, t] <= most_workers[j, s] * model.act[j, t],
        "no workers of a job that is not active",
    )
    model.eq_2 = rows(
        ((s, t) for s in S for t in T),
        lambda s, t: sum(model.w[j, s, t] for j in J) <= server_gpus[s],
        "no more workers than GPUs",
    )
    pairs = [(j, s) for j in J for s in S]
    model.eq_5_use = rows(
        pairs,
        lambda j, s: model.use[j, s] <= model.y[j, s],
        "at least one worker on a server in use",
    )
    model.eq_5_most = rows(
        pairs,
        lambda j, s: model.y[j, s] <= most_workers[j, s] * model.use[j, s],
        "no workers on other servers",
    )
    model.eq_5_full = rows(
        sorted(inside),
        lambda j, s: G[j] * model.full[j, s] <= model.y[j, s],
        "all workers on one server",
    )
    model.eq_5_one = rows(
        (j for j in J if 1 in length[j]),
        lambda j: sum(model.full[j, s] for s in S if (j, s) in inside) == model.num[j, 1],
        "all workers on one server if and only if n = 1",
    )
    model.eq_5_num = rows(
        J, lambda j: sum(model.num[j, n] for n in length[j]) == 1, "one number of servers"
    )
    model.eq_5_count = rows(
        J,
        lambda j: sum(model.use[j, s] for s in S) == sum(n * model.num[j, n] for n in length[j]),
        "the number of servers in use",
    )
    model.eq_6_c = rows(
        ((j, s, t) for j in rings for s in S for t in T),
        lambda j, s, t: (
            model.cs[j, s, t]
            >= model.use[j, s] + model.act[j, t] - 1 - (model.full[j, s] if (j, s) in inside else 0)
        ),
        "an active ring over several servers counts on each of them",
    )
    model.eq_6_L = rows(
        model.L,
        lambda s, t, p: (
            sum(model.cs[j, s, t] for j in rings) <= p + (P_s[s] - p) * (1 - model.L[s, t, p])
        ),
        "number of rings on a server",
    )
    model.eq_6_lev = rows(
        ((j, s, t, p) for j in rings for s in S for t in T for p in range(1, P_s[s])),
        lambda j, s, t, p: model.lev[j, t, p] <= model.L[s, t, p] + 1 - model.use[j, s],
        "p_j[t] is that of the most contended server",
    )
    model.eq_6_lev_act = rows(
        ((j, t) for j in rings for t in T),
        lambda j, t: model.lev[j, t, P] <= model.act[j, t],
        "levels of active jobs only",
    )
    model.eq_6_lev_up = rows(
        ((j, t, p) for j in rings for t in T for p in range(2, P + 1)),
        lambda j, t, p: model.lev[j, t, p - 1] <= model.lev[j, t, p],
        "levels are nested: p_j[t] <= p - 1 implies p_j[t] <= p",
    )
    unit = [progress_divisor(table, j) for j in J]
    model.eq_9_one = rows(
        (j for j in J if 1 in length[j]),
        lambda j: (
            table.rate(j, 1, 0) // unit[j] * sum(model.act[j, t] for t in T)
            >= table.required_progress[j] // unit[j] * model.num[j, 1]
        ),
        "all iterations inside one server",
    )
    model.eq_9 = rows(
        spread,
        lambda j, n: (
            sum(
                step // unit[j] * model.lev[j, t, p]
                for p in range(1, P + 1)
                if (step := table.rate(j, n, p) - table.rate(j, n, p + 1))
                for t in T
            )
            >= table.required_progress[j] // unit[j] * model.num[j, n]
        ),
        "all iterations at the rates of (7), (8); rate steps p + 1 to p add up to the rate at p",
    )
    # An integer tolerance of 1e-6 on num forgives a fraction of (9); the next rows forgive nothing.
    model.cut_length = rows(
        J,
        lambda j: (
            sum(model.act[j, t] for t in T)
            >= sum(slots * model.num[j, n] for n, slots in length[j].items())
        ),
        "at least the shortest time on the number of servers",
    )
    model.cut_area = pyo.Constraint(
        expr=sum(G[j] * model.act[j, t] for j in J for t in T) <= table.gpus * model.mk,
        doc="total GPU time up to the makespan",
    )
    model.cut_first = rows(
        ((j, t) for j in J for t in T if t > horizon - table.best_slots[j] + 1),
        lambda j, t: model.z[j, t] == 0,
        "too late to end in time",
    )
    model.cut_last = rows(
        ((j, t) for j in J for t in T if t < table.best_slots[j]),
        lambda j, t: model.f[j, t] == 0,
        "too early to be complete",
    )
    model.cut_equal_jobs = rows(
        equal_jobs(instance),
        lambda i, k: sum(t * (model.z[k, t] - model.z[i, t]) for t in T) >= 0,
        "the first of two equal jobs starts no later",
    )
    model.cut_equal_servers = rows(
        _equal_servers(table),
        lambda s, r: model.y[0, s] >= model.y[0, r],
        "the first of two equal servers has no fewer workers of the first job",
    )
    return model


def _equal_servers(table: RateTable) -> list[tuple[int, int]]:
    """Return pairs of consecutive servers with the same number of GPUs."""
    seen: dict[int, int] = {}
    pairs = []
    for s, server_gpus in enumerate(table.server_gpus):
        if server_gpus in seen:
            pairs.append((seen[server_gpus], s))
        seen[server_gpus] = s
    return pairs


def read(model: "pyo.ConcreteModel", instance: RingInstance) -> RingSchedule | None:
    """Return the simulated schedule of the starts and placements of a solved model.

    `model`: result of `build`, with values.

    The result is None if they break a rule, which an engine's tolerance may allow.
    """
    starts, _, placements = _choices(model, instance)
    complete = all(
        sum(row.values()) == job.gpus for row, job in zip(placements, instance.jobs, strict=True)
    )
    if not complete or 0 in starts:
        return None
    return schedule_of(instance, starts, placements)


def literal(model: "pyo.ConcreteModel", instance: RingInstance) -> RingSchedule:
    """Return the first and last slots and the placements of a solved model, valid or not.

    `model`: result of `build`, with values.
    """
    names = [server.id for server in instance.servers]
    choices = zip(instance.jobs, *_choices(model, instance), strict=True)
    return RingSchedule(
        {
            job.id: Run(start, end, {names[s]: count for s, count in placement.items()})
            for job, start, end, placement in choices
        }
    )


def _choices(
    model: "pyo.ConcreteModel", instance: RingInstance
) -> tuple[list[int], list[int], list[dict[int, int]]]:
    """Return [j] the first slot, the last slot, and the workers by server; 0 for no slot."""
    J, S = range(len(instance.jobs)), range(len(instance.servers))
    starts, ends = [0] * len(J), [0] * len(J)
    for slots, variable in ((starts, model.z), (ends, model.f)):
        for (j, t), var in variable.items():
            if (var.value or 0.0) > 0.5:
                slots[j] = t
    workers = [{s: round(model.y[j, s].value or 0.0) for s in S} for j in J]
    return starts, ends, [{s: count for s, count in row.items() if count} for row in workers]
