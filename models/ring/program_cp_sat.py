"""RAR-DDLS (1)-(9) as intervals for CP-SAT, and two relaxations without contention (ours).

Each job is one interval of time. On one server its length is a number; spread over several it is
at least what the job takes where no other ring meets it. How much longer the others make it is
said in one of three ways, `Detail`:

- `free`: not at all (`contention-free`);
- `pairs`: two rings that share a server slow each other in every slot of their overlap
  (`pair-contention`); exact unless a job meets two others;
- `slots`: the levels of (6) in every slot, the whole program (`rar-ddls-cp`).

Time is monotone (see `program`), so the simulated schedule of a solution of the whole program is no
worse than the solution. Whole numbers throughout: no tolerance can forgive a job any work.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from schedgap.instances.ring import RingInstance, RingSchedule
from schedgap.models.ring.program import equal_jobs, modes
from schedgap.models.ring.rates import RateTable, rate_table
from schedgap.models.ring.simulator import Placement

Detail = Literal["free", "pairs", "slots"]


@dataclass(slots=True)
class Program:
    """A CP-SAT model and its variables by job j and server s."""

    instance: RingInstance
    model: Any
    start: list[Any] = field(default_factory=list)  # [j] first slot
    end: list[Any] = field(default_factory=list)  # [j] slot after the last
    inside: dict[tuple[int, int], Any] = field(default_factory=dict)  # j is all on s
    spread: dict[int, Any] = field(default_factory=dict)  # j is on several servers
    number: dict[tuple[int, int], Any] = field(default_factory=dict)  # j is on n >= 2 servers
    workers: dict[tuple[int, int], Any] = field(default_factory=dict)  # of a spread job on s
    use: dict[tuple[int, int], Any] = field(default_factory=dict)  # a spread job has workers on s
    makespan: Any = None

    def plan(self, values: Sequence[int]) -> tuple[list[int], list[Placement]]:
        """Return starts [j] and placements [j] of a solution, values by variable index."""
        placements: list[dict[int, int]] = [{} for _ in self.start]
        for (j, s), chosen in self.inside.items():
            if values[chosen.index]:
                placements[j][s] = self.instance.jobs[j].gpus
        for (j, s), count in self.workers.items():
            if values[count.index]:
                placements[j][s] = int(values[count.index])
        return [int(values[start.index]) for start in self.start], list(placements)

    def start_from(self, schedule: RingSchedule) -> list[float | None]:
        """Return hints by variable index that put every job where a schedule has it."""
        hints: list[float | None] = [None] * len(self.model.proto.variables)
        names = [server.id for server in self.instance.servers]
        for j, job in enumerate(self.instance.jobs):
            run = schedule.runs[job.id]
            hints[self.start[j].index], hints[self.end[j].index] = run.start, run.end + 1
            wide = len(run.placement) > 1
            for s, name in enumerate(names):
                count = run.placement.get(name, 0)
                if (j, s) in self.inside:
                    hints[self.inside[j, s].index] = int(count > 0 and not wide)
                if (j, s) in self.use:
                    hints[self.use[j, s].index] = int(count > 0 and wide)
                    hints[self.workers[j, s].index] = count if wide else 0
            if j in self.spread:
                hints[self.spread[j].index] = int(wide)
        if self.makespan is not None:
            hints[self.makespan.index] = schedule.makespan
        return hints


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
        H: no job ends later. The size of the whole program is linear in it.
    least : int or None
        A lower bound on the makespan, which is then minimised; None asks for any schedule.
    pair_cuts : bool
        With `slots`: the rows of `pairs` as well. They hold in the whole program, and shorten the
        search by far.
    one_server : bool
        Jobs that fit into one server are not spread: a restriction, which bounds nothing.

    Notes
    -----
    Source: RAR-DDLS, (1)-(9). Booleans: J S, and with `slots` H (J + S p + J p) more, where J
    counts only the jobs that can be spread and still end by H.
    """
    from ortools.sat.python import cp_model

    table = rate_table(instance)
    J, S = range(len(table.size)), range(len(table.room))
    model = cp_model.CpModel()
    made = Program(instance, model)
    length = [modes(table, j, horizon) for j in J]  # [j][n] least slots
    held: list[list[tuple[Any, Any]]] = [[] for _ in S]  # [s] (interval, workers)
    whole: list[Any] = []  # [j] interval
    duration: list[Any] = []
    for j in J:
        G = table.size[j]
        hosts = [s for s in S if table.room[s] >= G] if 1 in length[j] else []
        wide = {n: d for n, d in length[j].items() if n >= 2 and not (one_server and hosts)}
        if not hosts and not wide:
            return None
        start = model.new_int_var(1, horizon, f"start[{j}]")
        end = model.new_int_var(2, horizon + 1, f"end[{j}]")
        made.start.append(start)
        made.end.append(end)
        shortest = min([*wide.values(), *([length[j][1]] if hosts else [])])
        if wide:
            duration.append(model.new_int_var(shortest, horizon, f"duration[{j}]"))
        else:
            duration.append(shortest)
        whole.append(model.new_interval_var(start, duration[j], end, f"run[{j}]"))
        ways = []
        for s in hosts:
            here = made.inside[j, s] = model.new_bool_var(f"inside[{j},{s}]")
            ways.append(here)
            held[s].append(
                (
                    model.new_optional_fixed_size_interval_var(
                        start, length[j][1], here, f"inside[{j},{s}]"
                    ),
                    G,
                )
            )
            if wide:
                model.add(duration[j] == length[j][1]).only_enforce_if(here)
        if wide:
            spread = made.spread[j] = model.new_bool_var(f"spread[{j}]")
            ways.append(spread)
            _spread(made, table, j, wide, held, duration[j])
        model.add_exactly_one(ways)
    for s in S:
        if held[s]:
            model.add_cumulative(*zip(*held[s], strict=True), table.room[s])  # (2)
    model.add_cumulative(whole, table.size, table.gpus)
    if detail == "pairs" or (detail == "slots" and pair_cuts):
        _pairs(made, table, duration, horizon)
    if detail == "slots":
        _levels(made, table, duration, horizon)
    for i, k in equal_jobs(instance):
        model.add(made.start[i] <= made.start[k])
    if least is not None:
        made.makespan = model.new_int_var(min(least, horizon), horizon, "makespan")
        for end in made.end:
            model.add(made.makespan + 1 >= end)
        model.minimize(made.makespan)
    return made


def _spread(
    made: Program,
    table: RateTable,
    j: int,
    wide: dict[int, int],
    held: list[list[tuple[Any, Any]]],
    duration: Any,
) -> None:
    """Add job j's workers on several servers; `wide` has its least slots by number of servers."""
    model, G, spread = made.model, table.size[j], made.spread[j]
    S = range(len(table.room))
    for s in S:
        use = made.use[j, s] = model.new_bool_var(f"use[{j},{s}]")
        most = min(G - 1, table.room[s])
        count = made.workers[j, s] = model.new_int_var(0, most, f"workers[{j},{s}]")
        model.add(count >= 1).only_enforce_if(use)
        model.add(count == 0).only_enforce_if(use.negated())
        piece = model.new_optional_interval_var(
            made.start[j], duration, made.end[j], use, f"piece[{j},{s}]"
        )
        held[s].append((piece, count))
    for n, least in wide.items():
        chosen = made.number[j, n] = model.new_bool_var(f"number[{j},{n}]")
        model.add(duration >= least).only_enforce_if(chosen)
    model.add(sum(made.workers[j, s] for s in S) == G * spread)  # (1)
    model.add(sum(made.number[j, n] for n in wide) == spread)
    model.add(sum(made.use[j, s] for s in S) == sum(n * made.number[j, n] for n in wide))


def _pairs(made: Program, table: RateTable, duration: Sequence[Any], horizon: int) -> None:
    """Let rings that share a server slow each other while they overlap (valid in the program).

    In a common slot p_j >= 2, so of the slots in which job j is active, those of the overlap pass
    at rate(n, 2) or less: rate(n, 1) duration - (rate(n, 1) - rate(n, 2)) overlap >= need. Jobs no
    two of which fit beside j have overlaps with it one after another: these add up.
    """
    model, S = made.model, range(len(table.room))
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
        for group in one_by_one(table, j, [k for k in rings if (j, k) in overlap]):
            crowded = sum(overlap[j, k] for k in group)
            for n, chosen in _numbers(made, j):
                alone, met = table.rate(j, n, 1), table.rate(j, n, 2)
                model.add(
                    alone * duration[j] - (alone - met) * crowded >= table.need[j]
                ).only_enforce_if(chosen)


def one_by_one(table: RateTable, job: int, others: Sequence[int]) -> list[tuple[int, ...]]:
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


def _levels(made: Program, table: RateTable, duration: Sequence[Any], horizon: int) -> None:
    """Add the rates of every slot, (6)-(9)."""
    model, S, T = made.model, range(len(table.room)), range(1, horizon + 1)
    rings = sorted(made.spread)
    most = [min(table.room[s], len(rings)) for s in S]  # so many rings at most meet on s
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
        model.add(sum(act[j, t] for t in T) == duration[j]).only_enforce_if(made.spread[j])
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
        for n, chosen in _numbers(made, j):
            steps = [table.rate(j, n, p) - table.rate(j, n, p + 1) for p in range(1, P)]
            steps.append(table.rate(j, n, P))
            model.add(
                sum(steps[p - 1] * low for (t, p), low in level.items()) >= table.need[j]
            ).only_enforce_if(chosen)  # (9)


def _numbers(made: Program, job: int) -> list[tuple[int, Any]]:
    return [(n, chosen) for (j, n), chosen in made.number.items() if j == job]
