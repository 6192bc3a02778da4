"""Jobs as interval variables of CP-SAT: starts, servers and lengths of RAR-DDLS (ours).

Each job is one interval. Inside one server its length is fixed; spread over several servers it is
at least the execution time without contention. Module `intervals` adds the effect of contention.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from schedgap.instances.ring import RingInstance, RingSchedule
from schedgap.models.ring.programs.printed import durations_by_servers
from schedgap.models.ring.rates import RateTable, rate_table
from schedgap.models.ring.simulator import Placement

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, IntervalVar, IntVar, LinearExpr

Plan = tuple[list[int], list[Placement]]  # starts [j] and placements [j]


@dataclass(slots=True)
class IntervalProgram:
    """A CP-SAT model and its variables, by job j, server s and number n of servers."""

    instance: RingInstance
    model: "CpModel"
    horizon: int  # H, the last slot in which a job may end
    start: list["IntVar"] = field(default_factory=list)  # [j] first slot
    end: list["IntVar"] = field(default_factory=list)  # [j] slot after the last
    duration: list["IntVar | int"] = field(default_factory=list)  # [j] slots; an int where fixed
    inside: dict[tuple[int, int], "IntVar"] = field(default_factory=dict)  # [j, s] all of j is on s
    spread: dict[int, "IntVar"] = field(default_factory=dict)  # [j] j is on several servers
    number: dict[tuple[int, int], "IntVar"] = field(default_factory=dict)  # [j, n] on n >= 2
    workers: dict[tuple[int, int], "IntVar"] = field(default_factory=dict)  # [j, s] if spread
    use: dict[tuple[int, int], "IntVar"] = field(default_factory=dict)  # [j, s] workers[j, s] >= 1
    makespan: "IntVar | None" = None

    def plan(self, values: Sequence[int]) -> Plan:
        """Return the starts and placements of a solution.

        `values`: value of each variable, by its index in the model.
        """
        placements: list[dict[int, int]] = [{} for _ in self.start]
        for (j, s), chosen in self.inside.items():
            if values[chosen.index]:
                placements[j][s] = self.instance.jobs[j].gpus
        for (j, s), count in self.workers.items():
            if values[count.index]:
                placements[j][s] = int(values[count.index])
        return [int(values[start.index]) for start in self.start], list(placements)

    def start_from(self, schedule: RingSchedule) -> list[float | None]:
        """Return hints, by index of the variable, that describe a schedule.

        `schedule`: feasible schedule of the instance.
        """
        hints: list[float | None] = [None] * len(self.model.proto.variables)
        names = [server.id for server in self.instance.servers]
        for j, job in enumerate(self.instance.jobs):
            run = schedule.runs[job.id]
            hints[self.start[j].index], hints[self.end[j].index] = run.start, run.end + 1
            is_spread = len(run.placement) > 1
            for s, name in enumerate(names):
                count = run.placement.get(name, 0)
                if (j, s) in self.inside:
                    hints[self.inside[j, s].index] = int(count > 0 and not is_spread)
                if (j, s) in self.use:
                    hints[self.use[j, s].index] = int(count > 0 and is_spread)
                    hints[self.workers[j, s].index] = count if is_spread else 0
            if j in self.spread:
                hints[self.spread[j].index] = int(is_spread)
        if self.makespan is not None:
            hints[self.makespan.index] = schedule.makespan
        return hints

    def server_counts(self, job: int) -> list[tuple[int, "IntVar"]]:
        """Return the numbers n >= 2 of servers that a job may use, with their variables."""
        return [(n, chosen) for (j, n), chosen in self.number.items() if j == job]

    def overlap(self, jobs: Sequence[int]) -> "LinearExpr":
        """Return the end of the first of several jobs less the start of the last, in slots.

        `jobs`: jobs; their intervals have so many slots in common if this is positive.
        """
        end = self.model.new_int_var(2, self.horizon + 1, f"last{jobs}")
        start = self.model.new_int_var(1, self.horizon, f"first{jobs}")
        self.model.add_min_equality(end, [self.end[j] for j in jobs])
        self.model.add_max_equality(start, [self.start[j] for j in jobs])
        return end - start

    def sharing(self, jobs: Sequence[int]) -> "IntVar":
        """Return a literal that is true if all of several spread jobs use some common server.

        `jobs`: jobs that may be spread.
        """
        share = self.model.new_bool_var(f"share{jobs}")
        for s in range(len(self.instance.servers)):
            self.model.add_bool_or([*(self.use[j, s].negated() for j in jobs), share])
        return share

    def must_spread(self, job: int) -> bool:
        """Return whether a job cannot be inside one server."""
        return job in self.spread and not any(j == job for j, _ in self.inside)


def interval_program(instance: RingInstance, horizon: int) -> IntervalProgram | None:
    """Return a model in which servers have enough GPUs in all slots, and there is no contention.

    `horizon`: H, the last slot in which a job may end.

    The result is None if some job cannot end by the horizon.

    Notes
    -----
    Source: (1)-(5). About J S Boolean variables.
    """
    from ortools.sat.python import cp_model

    table = rate_table(instance)
    J, S = range(len(table.size)), range(len(table.server_gpus))
    model = cp_model.CpModel()
    program = IntervalProgram(instance, model, horizon)
    shortest = [durations_by_servers(table, j, horizon) for j in J]  # [j][n] slots
    demands: list[list[tuple[IntervalVar, IntVar | int]]] = [[] for _ in S]  # [s] with workers
    runs: list[IntervalVar] = []  # [j] interval of the whole job
    for j in J:
        G = table.size[j]
        hosts = [s for s in S if table.server_gpus[s] >= G] if 1 in shortest[j] else []
        if_spread = {n: d for n, d in shortest[j].items() if n >= 2}
        if not hosts and not if_spread:
            return None
        start = model.new_int_var(1, horizon, f"start[{j}]")
        end = model.new_int_var(2, horizon + 1, f"end[{j}]")
        program.start.append(start)
        program.end.append(end)
        least = min([*if_spread.values(), *([shortest[j][1]] if hosts else [])])
        if if_spread:
            program.duration.append(model.new_int_var(least, horizon, f"duration[{j}]"))
        else:
            program.duration.append(least)
        runs.append(model.new_interval_var(start, program.duration[j], end, f"run[{j}]"))
        alternatives = []
        for s in hosts:
            here = program.inside[j, s] = model.new_bool_var(f"inside[{j},{s}]")
            alternatives.append(here)
            interval = model.new_optional_fixed_size_interval_var(
                start, shortest[j][1], here, f"inside[{j},{s}]"
            )
            demands[s].append((interval, G))
            if if_spread:
                model.add(program.duration[j] == shortest[j][1]).only_enforce_if(here)
        if if_spread:
            spread = program.spread[j] = model.new_bool_var(f"spread[{j}]")
            alternatives.append(spread)
            _add_spread_job(program, table, j, if_spread, demands)
        model.add_exactly_one(alternatives)
    for s in S:
        if demands[s]:
            model.add_cumulative(*zip(*demands[s], strict=True), table.server_gpus[s])  # (2)
    model.add_cumulative(runs, table.size, table.gpus)  # implied: GPUs of the whole cluster
    return program


def _add_spread_job(
    program: IntervalProgram,
    table: RateTable,
    j: int,
    shortest: dict[int, int],
    demands: list[list[tuple["IntervalVar", "IntVar | int"]]],
) -> None:
    """Add the workers of job j on several servers; `shortest` [n] is its time without contention.

    The workers on each server go into `demands` [s].
    """
    model, G, spread = program.model, table.size[j], program.spread[j]
    S = range(len(table.server_gpus))
    for s in S:
        use = program.use[j, s] = model.new_bool_var(f"use[{j},{s}]")
        most = min(G - 1, table.server_gpus[s])
        count = program.workers[j, s] = model.new_int_var(0, most, f"workers[{j},{s}]")
        model.add(count >= 1).only_enforce_if(use)
        model.add(count == 0).only_enforce_if(use.negated())
        interval = model.new_optional_interval_var(
            program.start[j], program.duration[j], program.end[j], use, f"piece[{j},{s}]"
        )
        demands[s].append((interval, count))
    for n, slots in shortest.items():
        chosen = program.number[j, n] = model.new_bool_var(f"number[{j},{n}]")
        model.add(program.duration[j] >= slots).only_enforce_if(chosen)
    model.add(sum(program.workers[j, s] for s in S) == G * spread)  # (1)
    model.add(sum(program.number[j, n] for n in shortest) == spread)
    model.add(sum(program.use[j, s] for s in S) == sum(n * program.number[j, n] for n in shortest))
