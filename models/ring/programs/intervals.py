"""RAR-DDLS (1)-(9) as intervals for CP-SAT, and two relaxations without contention (ours).

Each job is one interval of time, see `jobs_as_intervals`. How much longer rings make each other is
said in one of four ways, `Detail`:

- `free`: not at all (`contention-free`);
- `pairs`: two rings that share a server slow each other in every slot of their overlap
  (`pair-contention`); exact unless a job meets two others;
- `meetings`: by the sets of rings that run at the same time, the whole program; where these are
  too many, as `slots`;
- `slots`: the levels of (6) in every slot, the whole program (`rar-ddls-cp`).

Time is monotone (see `printed`), so the simulated schedule of a solution of the whole program is no
worse than the solution. Whole numbers throughout: no tolerance can forgive a job any work.
"""

from collections.abc import Sequence
from typing import Any, Literal

from schedgap.errors import ScaleError
from schedgap.instances.ring import RingInstance
from schedgap.models.ring.programs.concurrent_sets import add_contention_by_sets, concurrent_sets
from schedgap.models.ring.programs.jobs_as_intervals import Program, intervals
from schedgap.models.ring.programs.printed import equal_jobs
from schedgap.models.ring.rates import RateTable, rate_table

Detail = Literal["free", "pairs", "meetings", "slots"]

MOST_PROGRESS = 2**61
MOST_SETS = 3000  # of rings that run at the same time; slots where there are more


def build(
    instance: RingInstance,
    *,
    horizon: int,
    detail: Detail,
    least: int | None = None,
    pair_cuts: bool = True,
    one_server: bool = False,
) -> Program | None:
    """Return the program; None where some job has no way to end by the horizon.

    Parameters
    ----------
    horizon : int
        H: no job ends later. The size of `slots` is linear in it.
    least : int or None
        A lower bound on the makespan, which is then minimised; None asks for any schedule.
    pair_cuts : bool
        With `slots`: the rows of `pairs` as well. They hold in the whole program, and shorten the
        search by far.
    one_server : bool
        Jobs that fit into one server are not spread: a restriction, which bounds nothing.

    Raises
    ------
    ScaleError
        When progress over all slots is beyond the whole numbers of CP-SAT.

    Notes
    -----
    Source: RAR-DDLS, (1)-(9). Booleans: J S, and with `slots` H (J + S p + J p) more, where J
    counts only the jobs that can be spread and still end by H.
    """
    made = intervals(instance, horizon, one_server=one_server)
    if made is None:
        return None
    table, model = rate_table(instance), made.model
    if least is not None:
        made.makespan = model.new_int_var(min(least, horizon), horizon, "makespan")
        for end in made.end:
            model.add(made.makespan + 1 >= end)
        model.minimize(made.makespan)
    if detail == "meetings":
        sets = concurrent_sets(table, sorted(made.spread), MOST_SETS)
        if sets is None:
            detail = "slots"
        else:
            _hold(made, table, 2 * len(sets) + 1, horizon)
            add_contention_by_sets(made, table, horizon, sets)
    if detail in ("pairs", "slots"):
        _hold(made, table, len(made.spread) + 1, horizon)
    if detail == "pairs" or (detail == "slots" and pair_cuts):
        _pairs(made, table, horizon)
    if detail == "slots":
        _levels(made, table, horizon)
    for i, k in equal_jobs(instance):
        model.add(made.start[i] <= made.start[k])
    return made


def _hold(made: Program, table: RateTable, terms: int, horizon: int) -> None:
    """Raise ScaleError where so many terms of a job's progress exceed whole numbers of 64 bits."""
    fastest = max((table.rate(j, n, 1) for j, n in made.number), default=0)
    if fastest * horizon * terms >= MOST_PROGRESS:
        raise ScaleError(
            f"progress of {fastest} units a slot over {horizon} slots is beyond CP-SAT's whole "
            "numbers: use a smaller rate_scale"
        )


def _pairs(made: Program, table: RateTable, horizon: int) -> None:
    """Let rings that share a server slow each other while they overlap (valid in the program).

    In a common slot p_j >= 2, so of the slots in which job j is active, those of the overlap pass
    at rate(n, 2) or less: rate(n, 1) duration - (rate(n, 1) - rate(n, 2)) overlap >= need. Jobs no
    two of which fit beside j have overlaps with it one after another: these add up.
    """
    model, S = made.model, range(len(table.server_gpus))
    rings = sorted(made.spread)
    overlap: dict[tuple[int, int], Any] = {}
    for place, j in enumerate(rings):
        for k in rings[place + 1 :]:
            if table.size[j] + table.size[k] > table.gpus:
                continue
            share = model.new_bool_var(f"share[{j},{k}]")
            for s in S:
                model.add_bool_or([made.use[j, s].negated(), made.use[k, s].negated(), share])
            last = model.new_int_var(2, horizon + 1, f"last[{j},{k}]")
            first = model.new_int_var(1, horizon, f"first[{j},{k}]")
            model.add_min_equality(last, [made.end[j], made.end[k]])
            model.add_max_equality(first, [made.start[j], made.start[k]])
            met = model.new_int_var(0, horizon, f"overlap[{j},{k}]")
            model.add(met >= last - first).only_enforce_if(share)
            overlap[j, k] = overlap[k, j] = met
    for j in rings:
        for group in exclusive_groups(table, j, [k for k in rings if (j, k) in overlap]):
            crowded = sum(overlap[j, k] for k in group)
            for n, chosen in made.numbers(j):
                alone, met = table.rate(j, n, 1), table.rate(j, n, 2)
                model.add(
                    alone * made.duration[j] - (alone - met) * crowded >= table.required_progress[j]
                ).only_enforce_if(chosen)


def exclusive_groups(table: RateTable, job: int, others: Sequence[int]) -> list[tuple[int, ...]]:
    """Return groups of jobs no two of which fit into the cluster beside the job; all are in one."""
    groups: dict[tuple[int, ...], None] = {}
    large = sorted(others, key=lambda k: (-table.size[k], k))
    for first in large:
        group = [first]
        for k in large:
            if k not in group and all(
                table.size[job] + table.size[k] + table.size[other] > table.gpus for other in group
            ):
                group.append(k)
        groups[tuple(sorted(group))] = None
    return list(groups)


def _levels(made: Program, table: RateTable, horizon: int) -> None:
    """Add the rates of every slot, (6)-(9)."""
    model, S, T = made.model, range(len(table.server_gpus)), range(1, horizon + 1)
    rings = sorted(made.spread)
    most = [min(table.server_gpus[s], len(rings)) for s in S]  # so many rings at most meet on s
    P = max(most, default=0)
    on: dict[tuple[int, int], list[Any]] = {(s, t): [] for s in S for t in T}
    act: dict[tuple[int, int], Any] = {}
    for j in rings:
        for t in T:
            active = act[j, t] = model.new_bool_var(f"act[{j},{t}]")
            model.add(made.start[j] <= t).only_enforce_if(active)
            model.add(made.end[j] > t).only_enforce_if(active)
            model.add_implication(active, made.spread[j])
            for s in S:
                here = model.new_bool_var(f"on[{j},{s},{t}]")
                model.add_bool_or([active.negated(), made.use[j, s].negated(), here])
                on[s, t].append(here)
        model.add(sum(act[j, t] for t in T) == made.duration[j]).only_enforce_if(made.spread[j])
    calm = {}  # at most p rings cross s in slot t
    for (s, t), here in on.items():
        for p in range(1, most[s]):
            calm[s, t, p] = model.new_bool_var(f"calm[{s},{t},{p}]")
            model.add(sum(here) <= p).only_enforce_if(calm[s, t, p])
    for j in rings:
        level = {
            (t, p): model.new_bool_var(f"level[{j},{t},{p}]") for t in T for p in range(1, P + 1)
        }  # j is active in t, and at most p rings cross the worst of its servers
        for (t, p), low in level.items():
            model.add_implication(low, act[j, t])
            for s in S:
                if p < most[s]:
                    model.add_bool_or([low.negated(), made.use[j, s].negated(), calm[s, t, p]])
        for n, chosen in made.numbers(j):
            steps = [table.rate(j, n, p) - table.rate(j, n, p + 1) for p in range(1, P)]
            steps.append(table.rate(j, n, P))
            model.add(
                sum(steps[p - 1] * low for (t, p), low in level.items())
                >= table.required_progress[j]
            ).only_enforce_if(chosen)  # (9)
