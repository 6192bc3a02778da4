"""Problem (10)-(13): one of the schedules of a pool, and (14)-(16): one within a limit on loads.

The paper's pool holds all schedules there are. Any smaller one gives a schedule, and no bound.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, product
from typing import Any

from schedgap.instances.ring import RingInstance, RingSchedule, Run
from schedgap.models.ring.baselines import first_fit, list_scheduling, random_placement
from schedgap.models.ring.dispatch import Trial, schedule
from schedgap.models.ring.numbering import Numbering, StoppedError, least_load, overlaps
from schedgap.models.ring.packing import lpt_pack
from schedgap.models.ring.rates import NEVER, RateTable, rate_table
from schedgap.models.ring.simulator import Placement, fits, schedule_of, simulate
from schedgap.models.ring.sjf_bco import sjf_bco
from schedgap.models.ring.theta import estimated_loads

RANDOM_RUNS = 50
MOST_PLANS = 200_000  # starts and placements of a complete pool

Pool = Sequence[RingSchedule]


def default_pool(
    instance: RingInstance, seed: int = 0, stop: Callable[[], bool] = lambda: False
) -> list[RingSchedule]:
    """Return the feasible runs of SJF-BCO, of `lpt-pack` and of the baselines, each end once."""
    table = rate_table(instance)
    trials = [lpt_pack(table)]
    for search in (
        partial(sjf_bco, table, stop=stop),
        partial(first_fit, table, "list", stop=stop),
        partial(list_scheduling, table, "list", stop=stop),
    ):
        trials += [attempt.trial for attempt in search().attempts]
    for number in range(RANDOM_RUNS):
        if stop():
            break
        trials.append(random_placement(table, seed + number))
    distinct: dict[tuple[int, ...], Trial] = {}
    for trial in trials:
        if trial.feasible:
            distinct.setdefault(trial.ends, trial)
    return [schedule(instance, trial) for trial in distinct.values()]


def count_plans(instance: RingInstance, latest: int) -> int:
    """Return how many starts, up to `latest`, and placements there are for all jobs together.

    Counting ends at `MOST_PLANS` + 1.
    """
    table, number = rate_table(instance), 1
    for size in table.size:
        ways = sum(1 for _ in islice(_placements(table.room, size), MOST_PLANS))
        number *= latest * ways
        if number > MOST_PLANS:
            return MOST_PLANS + 1
    return number


def refuses(instance: RingInstance) -> str | None:
    """Say why there are too many schedules to have them all, or None."""
    table = rate_table(instance)
    if table.longest == NEVER or count_plans(instance, int(table.longest)) <= MOST_PLANS:
        return None
    return f"more than {MOST_PLANS} starts and placements: for tiny instances only"


def complete_pool(
    instance: RingInstance, latest: int, stop: Callable[[], bool] = lambda: False
) -> list[RingSchedule] | None:
    """Return schedules with the ends of every schedule that ends by slot `latest`, each once.

    None when it was stopped. It holds an optimum when some schedule ends by `latest`.
    """
    found: dict[tuple[int, ...], RingSchedule] = {}
    for starts, placements in _plans(instance, latest):
        if stop():
            return None
        made = schedule_of(instance, starts, placements)
        if made is not None and made.makespan <= latest:
            found.setdefault(tuple(run.end for run in made.runs.values()), made)
    return list(found.values())


def limit_pool(
    instance: RingInstance, latest: int, stop: Callable[[], bool] = lambda: False
) -> tuple[list[RingSchedule], float] | None:
    """Return a schedule that keeps the least limit of (16), after those that keep ever lower ones.

    Looked at are all schedules that end by slot `latest`, with all GPU numbers. The second is the
    limit, infinite where there is no schedule. None when it was stopped.
    """
    table = rate_table(instance)
    work = estimated_loads(table)
    known: dict[object, Numbering] = {}
    pool: list[RingSchedule] = []
    least = math.inf

    def numbering(room: int, here: list[tuple[int, int, int, int]]) -> Numbering:
        held = tuple((j, count) for _, j, count, _ in here)
        meets = overlaps([(first, last) for first, _, _, last in here])
        key = room, held, meets
        if key not in known:
            known[key] = least_load(room, held, meets, work, stop)
        return known[key]

    try:
        for starts, placements in _plans(instance, latest):
            if stop():
                return None
            ends = _ends(table, starts, placements, latest)
            if ends is None:
                continue
            on = [
                sorted(
                    (starts[j], j, placed[s], ends[j])
                    for j, placed in enumerate(placements)
                    if s in placed
                )
                for s in range(len(table.room))
            ]
            numbered = [numbering(room, here) for room, here in zip(table.room, on, strict=True)]
            limit = max(each.load for each in numbered)
            if limit < least:
                least = limit
                pool.append(_with_gpus(instance, starts, ends, on, numbered))
    except StoppedError:
        return None
    return pool, least


def _ends(
    table: RateTable, starts: Sequence[int], placements: Sequence[Placement], latest: int
) -> list[int] | None:
    """Return the last slots [j]; None where a job ends after `latest`, or GPUs do not suffice."""
    ends = simulate(table, starts, [tuple(placed) for placed in placements])
    known = [end for end in ends if end is not None and end <= latest]
    return known if len(known) == len(ends) and fits(table, starts, known, placements) else None


def _with_gpus(
    instance: RingInstance,
    starts: Sequence[int],
    ends: Sequence[int],
    on: Sequence[Sequence[tuple[int, int, int, int]]],
    numbered: Sequence[Numbering],
) -> RingSchedule:
    held: list[dict[str, tuple[int, ...]]] = [{} for _ in starts]
    for server, here, numbering in zip(instance.servers, on, numbered, strict=True):
        for (_, j, _, _), gpus in zip(here, numbering.gpus, strict=True):
            held[j][server.id] = gpus
    runs = {
        job.id: Run(starts[j], ends[j], {s: len(gpus) for s, gpus in held[j].items()}, held[j])
        for j, job in enumerate(instance.jobs)
    }
    return RingSchedule(runs)


def _plans(
    instance: RingInstance, latest: int
) -> Iterator[tuple[tuple[int, ...], tuple[Placement, ...]]]:
    """Yield all starts and placements of which no job alone would end after `latest`."""
    table = rate_table(instance)
    ways = [list(_placements(table.room, size)) for size in table.size]
    for placements in product(*ways):
        fastest = [
            table.slots(j, len(placed), min(len(placed) - 1, 1))
            for j, placed in enumerate(placements)
        ]
        last = [latest + 1 - int(slots) if slots <= latest else 0 for slots in fastest]
        for starts in product(*(range(1, each + 1) for each in last)):
            yield starts, placements


def _placements(room: Sequence[int], size: int) -> Iterable[Placement]:
    """Yield every way to put so many workers on servers."""

    def extend(s: int, left: int, placed: dict[int, int]) -> Iterable[dict[int, int]]:
        if left == 0:
            yield placed
        elif s < len(room) and left <= sum(room[s:]):
            for count in range(min(left, room[s]), -1, -1):
                yield from extend(s + 1, left - count, placed | {s: count} if count else placed)

    return extend(0, size, {})


def build(instance: RingInstance, pool: Pool, *, relaxed: bool = False) -> Any:
    """Return (10)-(13) as a Pyomo `ConcreteModel`; it solves nothing.

    `relaxed`: without (13), the convex combinations of the pool's schedules.

    Notes
    -----
    T_j is the last slot of a job, a_j + rho_j - 1 (E6). Rows (12) of consecutive jobs suffice.
    """
    import pyomo.environ as pyo

    model = _choice(instance, pool, relaxed)
    ends = [[kept.runs[job.id].end for kept in pool] for job in instance.jobs]
    model.mk = pyo.Var(domain=pyo.NonNegativeReals, doc="makespan")
    model.objective = pyo.Objective(expr=model.mk, doc="(10)")
    model.eq_10 = pyo.Constraint(
        model.J,
        doc="no job ends later, in the schedule that is chosen (E9)",
        rule=lambda model, j: model.mk >= sum(ends[j][k] * model.x[j, k] for k in model.K),
    )
    return model


def build_limit(instance: RingInstance, pool: Pool) -> Any:
    """Return (14)-(16) with (11)-(13) as a Pyomo model that minimises theta_u; solves nothing.

    The schedules of the pool must have GPU numbers.
    """
    import pyomo.environ as pyo

    model = _choice(instance, pool, False)
    table = rate_table(instance)
    work = estimated_loads(table)
    users = [_users(instance, kept) for kept in pool]  # [k] (server, GPU) -> jobs
    gpus = [(s, g) for s, room in enumerate(table.room) for g in range(room)]
    model.theta = pyo.Var(domain=pyo.NonNegativeReals, doc="limit on the load of every GPU")
    model.objective = pyo.Objective(expr=model.theta, doc="the least limit of (14)")
    model.eq_16 = pyo.Constraint(
        gpus,
        doc="load of each GPU: (15) counts a job where it runs only (E10)",
        rule=lambda model, s, g: (
            sum(work[j] * model.x[j, k] for k in model.K for j in users[k].get((s, g), ()))
            <= model.theta
        ),
    )
    return model


def _choice(instance: RingInstance, pool: Pool, relaxed: bool) -> Any:
    """Return a model with (11)-(13) alone."""
    import pyomo.environ as pyo

    model = pyo.ConcreteModel(name=instance.name)
    jobs = len(instance.jobs)
    model.J = pyo.RangeSet(0, jobs - 1)
    model.K = pyo.RangeSet(0, len(pool) - 1)
    model.x = pyo.Var(
        model.J, model.K, doc="job j follows schedule k",
        domain=pyo.UnitInterval if relaxed else pyo.Binary,
    )  # fmt: skip
    model.eq_11 = pyo.Constraint(
        model.J,
        doc="one schedule",
        rule=lambda model, j: sum(model.x[j, k] for k in model.K) == 1,
    )
    model.eq_12 = pyo.Constraint(
        pyo.RangeSet(1, jobs - 1),
        model.K,
        doc="the same for all jobs",
        rule=lambda model, j, k: model.x[j, k] == model.x[j - 1, k],
    )
    return model


def build_cp_sat(instance: RingInstance, pool: Pool) -> Any:
    """Return (10)-(13) as a CP-SAT model; it solves nothing."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    J, K = range(len(instance.jobs)), range(len(pool))
    x = {(j, k): model.new_bool_var(f"x[{j},{k}]") for j in J for k in K}
    makespan = model.new_int_var(0, max(kept.makespan for kept in pool), "mk")
    for j, job in enumerate(instance.jobs):
        model.add_exactly_one(x[j, k] for k in K)  # eq_11
        if j:
            for k in K:
                model.add(x[j, k] == x[j - 1, k])  # eq_12
        model.add(makespan >= sum(kept.runs[job.id].end * x[j, k] for k, kept in enumerate(pool)))
    model.minimize(makespan)
    return model


def read(model: Any, pool: Pool) -> RingSchedule:
    """Return the schedule that a solved Pyomo model chooses."""
    chosen: int = max(model.K, key=lambda k: model.x[0, k].value or 0.0)
    return pool[chosen]


def read_cp_sat(values: Sequence[int], pool: Pool) -> RingSchedule:
    """Return the schedule that the values of a CP-SAT model's variables choose."""
    return pool[max(range(len(pool)), key=values.__getitem__)]


def _users(instance: RingInstance, kept: RingSchedule) -> Mapping[tuple[int, int], list[int]]:
    """Return the jobs on each GPU (server, number)."""
    place = {server.id: s for s, server in enumerate(instance.servers)}
    found: dict[tuple[int, int], list[int]] = {}
    for j, job in enumerate(instance.jobs):
        for server, numbers in (kept.runs[job.id].gpus or {}).items():
            for number in numbers:
                found.setdefault((place[server], number), []).append(j)
    return found
