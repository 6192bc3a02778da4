"""Jobs as intervals of time for CP-SAT: starts, servers, lengths of RAR-DDLS (ours).

Each job is one interval. On one server its length is a number; spread over several it is at least
what the job takes where no other ring meets it. How much longer the others make it is said in
`intervals`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from schedgap.instances.ring import RingInstance, RingSchedule
from schedgap.models.ring.programs.printed import modes
from schedgap.models.ring.rates import RateTable, rate_table
from schedgap.models.ring.simulator import Placement


@dataclass(slots=True)
class Program:
    """A CP-SAT model and its variables by job j and server s."""

    instance: RingInstance
    model: Any
    start: list[Any] = field(default_factory=list)  # [j] first slot
    end: list[Any] = field(default_factory=list)  # [j] slot after the last
    duration: list[Any] = field(default_factory=list)  # [j] slots; a number where only one is
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

    def numbers(self, job: int) -> list[tuple[int, Any]]:
        """Return the numbers of servers that a ring may use, with their variables."""
        return [(n, chosen) for (j, n), chosen in self.number.items() if j == job]

    def always(self, job: int) -> bool:
        """Whether a job can only be spread."""
        return job in self.spread and not any(j == job for j, _ in self.inside)


def intervals(instance: RingInstance, horizon: int, *, one_server: bool = False) -> Program | None:
    """Return a model of jobs that fit on their servers at all times, rings free of each other.

    None where some job has no way to end by the horizon.

    Parameters
    ----------
    horizon : int
        H: no job ends later.
    one_server : bool
        Jobs that fit into one server are not spread: a restriction, which bounds nothing.

    Notes
    -----
    Source: (1)-(5). Booleans: J S.
    """
    from ortools.sat.python import cp_model

    table = rate_table(instance)
    J, S = range(len(table.size)), range(len(table.server_gpus))
    model = cp_model.CpModel()
    made = Program(instance, model)
    length = [modes(table, j, horizon) for j in J]  # [j][n] least slots
    held: list[list[tuple[Any, Any]]] = [[] for _ in S]  # [s] (interval, workers)
    whole: list[Any] = []  # [j] interval
    for j in J:
        G = table.size[j]
        hosts = [s for s in S if table.server_gpus[s] >= G] if 1 in length[j] else []
        wide = {n: d for n, d in length[j].items() if n >= 2 and not (one_server and hosts)}
        if not hosts and not wide:
            return None
        start = model.new_int_var(1, horizon, f"start[{j}]")
        end = model.new_int_var(2, horizon + 1, f"end[{j}]")
        made.start.append(start)
        made.end.append(end)
        shortest = min([*wide.values(), *([length[j][1]] if hosts else [])])
        if wide:
            made.duration.append(model.new_int_var(shortest, horizon, f"duration[{j}]"))
        else:
            made.duration.append(shortest)
        whole.append(model.new_interval_var(start, made.duration[j], end, f"run[{j}]"))
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
                model.add(made.duration[j] == length[j][1]).only_enforce_if(here)
        if wide:
            spread = made.spread[j] = model.new_bool_var(f"spread[{j}]")
            ways.append(spread)
            _spread(made, table, j, wide, held)
        model.add_exactly_one(ways)
    for s in S:
        if held[s]:
            model.add_cumulative(*zip(*held[s], strict=True), table.server_gpus[s])  # (2)
    model.add_cumulative(whole, table.size, table.gpus)
    return made


def _spread(
    made: Program,
    table: RateTable,
    j: int,
    wide: dict[int, int],
    held: list[list[tuple[Any, Any]]],
) -> None:
    """Add job j's workers on several servers; `wide` has its least slots by number of servers."""
    model, G, spread = made.model, table.size[j], made.spread[j]
    S = range(len(table.server_gpus))
    for s in S:
        use = made.use[j, s] = model.new_bool_var(f"use[{j},{s}]")
        most = min(G - 1, table.server_gpus[s])
        count = made.workers[j, s] = model.new_int_var(0, most, f"workers[{j},{s}]")
        model.add(count >= 1).only_enforce_if(use)
        model.add(count == 0).only_enforce_if(use.negated())
        piece = model.new_optional_interval_var(
            made.start[j], made.duration[j], made.end[j], use, f"piece[{j},{s}]"
        )
        held[s].append((piece, count))
    for n, least in wide.items():
        chosen = made.number[j, n] = model.new_bool_var(f"number[{j},{n}]")
        model.add(made.duration[j] >= least).only_enforce_if(chosen)
    model.add(sum(made.workers[j, s] for s in S) == G * spread)  # (1)
    model.add(sum(made.number[j, n] for n in wide) == spread)
    model.add(sum(made.use[j, s] for s in S) == sum(n * made.number[j, n] for n in wide))
