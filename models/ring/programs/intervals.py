"""RAR-DDLS, (1)-(9), for CP-SAT with one interval per job, and two relaxations of it (ours).

`jobs_as_intervals` has the model without contention. `Detail` says how contention is added:

- `free`: not at all;
- `pairs`: two rings that share a server slow each other in every slot of their overlap;
  exact unless a ring meets two others at once;
- `sets`: by the sets of rings that run concurrently (`concurrent_sets`), the whole program;
  falls back to `slots` if there are too many sets;
- `slots`: by the levels of (6) in every slot, the whole program (`rar-ddls-cp`).

Time is monotone (see `printed`), so the simulated schedule of a solution of the whole program is no
worse than the solution. All numbers are integers, so no tolerance can forgive a job any work.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from schedgap.errors import ScaleError
from schedgap.instances.ring import RingInstance
from schedgap.models.ring.programs.concurrent_sets import add_contention_by_sets, concurrent_sets
from schedgap.models.ring.programs.jobs_as_intervals import IntervalProgram, interval_program
from schedgap.models.ring.programs.printed import equal_jobs
from schedgap.models.ring.rates import RateTable, rate_table

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import IntVar

Detail = Literal["free", "pairs", "sets", "slots"]

MOST_PROGRESS = 2**61
MOST_SETS = 3000  # concurrent sets; with more of them, contention is modelled by slots


def build(
    instance: RingInstance,
    *,
    horizon: int,
    detail: Detail,
    lower: int | None = None,
    pair_cuts: bool = True,
) -> IntervalProgram | None:
    """Return the program, without solving it.

    `horizon`: H, the last slot in which a job may end. The size of `slots` is linear in it.
    `detail`: how contention is modelled. `lower`: lower bound on the makespan, which is then
    minimised; with None any solution will do. `pair_cuts`: with `slots`, add the constraints of
    `pairs`. They are implied, and speed up the search.

    The result is None if some job cannot end by the horizon.

    Raises
    ------
    ScaleError
        If total progress could exceed the integers of CP-SAT.

    Notes
    -----
    Source: RAR-DDLS, (1)-(9). There are about J S Boolean variables, and with `slots` H (J + S p +
    J p) more. Here J counts only the jobs that can be spread and still end by H.
    """
    program = interval_program(instance, horizon)
    if program is None:
        return None
    table, model = rate_table(instance), program.model
    if lower is not None:
        program.makespan = model.new_int_var(min(lower, horizon), horizon, "makespan")
        for end in program.end:
            model.add(program.makespan + 1 >= end)
        model.minimize(program.makespan)
    if detail == "sets":
        sets = concurrent_sets(table, sorted(program.spread), MOST_SETS)
        if sets is None:
            detail = "slots"
        else:
            _check_integer_range(program, table, 2 * len(sets) + 1)
            add_contention_by_sets(program, table, sets)
    if detail in ("pairs", "slots"):
        _check_integer_range(program, table, len(program.spread) + 1)
    if detail == "pairs" or (detail == "slots" and pair_cuts):
        _add_contention_by_pairs(program, table)
    if detail == "slots":
        _add_contention_by_slots(program, table)
    for i, k in equal_jobs(instance):  # symmetry
        model.add(program.start[i] <= program.start[k])
    return program


def _check_integer_range(program: IntervalProgram, table: RateTable, terms: int) -> None:
    """Raise ScaleError if a sum of so many progress terms may exceed integers of 64 bits."""
    horizon = program.horizon
    fastest = max((table.rate(j, n, 1) for j, n in program.number), default=0)
    if fastest * horizon * terms >= MOST_PROGRESS:
        raise ScaleError(
            f"progress of {fastest} units a slot over {horizon} slots is beyond CP-SAT's whole "
            "numbers: use a smaller rate_scale"
        )


def _add_contention_by_pairs(program: IntervalProgram, table: RateTable) -> None:
    """Let two rings that share a server slow each other while they overlap.

    In a common slot p_j >= 2. So job j makes progress rate(n, 2) or less in the slots of the
    overlap, and rate(n, 1) or less in the others. The row is
    rate(n, 1) duration - (rate(n, 1) - rate(n, 2)) overlap >= required progress.
    The overlaps of j with jobs no two of which fit into the cluster with j are disjoint, so they
    add up. The constraints are implied by the whole program.
    """
    model, rings = program.model, sorted(program.spread)
    overlap: dict[tuple[int, int], IntVar] = {}
    for position, j in enumerate(rings):
        for k in rings[position + 1 :]:
            if table.size[j] + table.size[k] > table.gpus:
                continue
            share = program.sharing((j, k))
            length = program.overlap((j, k))
            common = model.new_int_var(0, program.horizon, f"overlap[{j},{k}]")
            model.add(common >= length).only_enforce_if(share)
            overlap[j, k] = overlap[k, j] = common
    for j in rings:
        for group in exclusive_groups(table, j, [k for k in rings if (j, k) in overlap]):
            contended = sum(overlap[j, k] for k in group)
            for n, chosen in program.server_counts(j):
                rate_1, rate_2 = table.rate(j, n, 1), table.rate(j, n, 2)
                progress = rate_1 * program.duration[j] - (rate_1 - rate_2) * contended
                model.add(progress >= table.required_progress[j]).only_enforce_if(chosen)


def exclusive_groups(table: RateTable, job: int, others: Sequence[int]) -> list[tuple[int, ...]]:
    """Return groups of jobs no two of which fit into the cluster with a given job.

    `others`: jobs to be grouped; each of them is in at least one group.
    """
    groups: dict[tuple[int, ...], None] = {}
    by_size = sorted(others, key=lambda k: (-table.size[k], k))
    for first in by_size:
        group = [first]
        for k in by_size:
            if k not in group and all(
                table.size[job] + table.size[k] + table.size[other] > table.gpus for other in group
            ):
                group.append(k)
        groups[tuple(sorted(group))] = None
    return list(groups)


def _add_contention_by_slots(program: IntervalProgram, table: RateTable) -> None:
    """Add the contention levels and rates of every slot, (6)-(9).

    Literals: act[j, t], job j is active in slot t as a ring over several servers; at_most[s, t, p],
    at most p rings use server s in slot t; level[t, p] of job j, it is active in slot t and
    p_j[t] <= p. As in `printed`, the rate steps of all levels add up to the rate at p_j[t].
    """
    model, S, T = program.model, range(len(table.server_gpus)), range(1, program.horizon + 1)
    rings = sorted(program.spread)
    most = [min(table.server_gpus[s], len(rings)) for s in S]  # [s] largest number of rings
    P = max(most, default=0)
    on: dict[tuple[int, int], list[IntVar]] = {(s, t): [] for s in S for t in T}
    act: dict[tuple[int, int], IntVar] = {}
    for j in rings:
        for t in T:
            active = act[j, t] = model.new_bool_var(f"act[{j},{t}]")
            model.add(program.start[j] <= t).only_enforce_if(active)
            model.add(program.end[j] > t).only_enforce_if(active)
            model.add_implication(active, program.spread[j])
            for s in S:
                here = model.new_bool_var(f"on[{j},{s},{t}]")
                model.add_bool_or([active.negated(), program.use[j, s].negated(), here])
                on[s, t].append(here)
        active_slots = sum(act[j, t] for t in T)
        model.add(active_slots == program.duration[j]).only_enforce_if(program.spread[j])
    at_most = {}
    for (s, t), here in on.items():
        for p in range(1, most[s]):
            at_most[s, t, p] = model.new_bool_var(f"calm[{s},{t},{p}]")
            model.add(sum(here) <= p).only_enforce_if(at_most[s, t, p])
    for j in rings:
        level = {
            (t, p): model.new_bool_var(f"level[{j},{t},{p}]") for t in T for p in range(1, P + 1)
        }
        for (t, p), low in level.items():
            model.add_implication(low, act[j, t])
            for s in S:
                if p < most[s]:
                    unused = program.use[j, s].negated()
                    model.add_bool_or([low.negated(), unused, at_most[s, t, p]])
        for n, chosen in program.server_counts(j):
            steps = [table.rate(j, n, p) - table.rate(j, n, p + 1) for p in range(1, P)]
            steps.append(table.rate(j, n, P))
            progress = sum(steps[p - 1] * low for (t, p), low in level.items())
            model.add(progress >= table.required_progress[j]).only_enforce_if(chosen)  # (9)
