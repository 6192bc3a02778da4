"""How far schedules may be from optimal: a row for each class of instances, over five seeds.

Table `gaps`: `exact` at the papers' scale, and near the limit of what it closes. Table `growth`: a
bound, a search and the paper's algorithm with twice the jobs and twice the machines. Table `moves`:
how fast the local searches are. Tables `start` and `compiling`: how long a task waits for modules
to be loaded, and the first one on a computer for kernels. Run by `make bench`, or alone:

    python tests/benchmarks/bench_gaps.py gaps hare edge --limit 300
    python tests/benchmarks/bench_gaps.py --quick

The run folder keeps every solution, and the same command continues after an interrupt.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pkgutil import resolve_name
from typing import Any
from unittest import mock

import pandas as pd
from bench_peer import instance_of
from rich.console import Console
from rich.table import Table

import schedgap as sg
from schedgap.instances.families import OWN
from schedgap.models.family import family
from schedgap.models.method import Budget, NullProgress, RunContext
from schedgap.solvers import Clock
from schedgap.solvers.children.processes import close_children
from schedgap.solvers.search.compiled import Kernel

SEEDS = (9101, 9102, 9103, 9104, 9105)  # no constant was chosen on these
SEARCHED = 10.0  # seconds of a local search whose moves are counted
PS, RING = {"architecture": "parameter_server"}, {"architecture": "ring_allreduce"}


@dataclass(frozen=True)
class Class:
    """Instances that differ in their seeds; `most` is the gap in percent that is aimed at."""

    family: str
    name: str
    preset: str
    settings: dict[str, object] = field(default_factory=dict)
    most: float = 0.0

    @property
    def title(self) -> str:
        return f"{self.family}, {self.name}"

    def instance(self, seed: int) -> sg.Instance:
        if self.preset == "drawn":
            made: sg.Instance = instance_of(seed, **self.settings)  # type: ignore[arg-type]
        else:
            made = sg.generate(self.family, preset=self.preset, seed=seed, settings=self.settings)
        return made.replace(name=f"{self.title}: {seed}")


DMLRS: dict[str, object] = {"jobs": 100, "horizon": 80}
HEAVY: dict[str, object] = {"worker_types": 3, "epochs": (2, 4), "horizon": 40}
THOUSAND: dict[str, object] = {"jobs": 1000, "servers": 60, "horizon": 20_000}
FULL = (
    Class("hare", "200 jobs, 160 GPUs", "paper", {}, 2),
    Class("elastic", "250 jobs, PS, 100 servers", "paper", PS | {"jobs": 250, "servers": 100}, 5),
    Class("elastic", "250 jobs, PS, 150 servers", "paper", PS | {"jobs": 250}, 5),
    Class("elastic", "250 jobs, ring, 100 servers", "paper",
          RING | {"jobs": 250, "servers": 100}, 7),
    Class("edge", "200 jobs, 201 servers", "paper", {}, 4),
    Class("ring", "160 jobs, 20 servers", "paper", {}, 1),
    Class("ring", "1,000 jobs, 60 servers", "paper", THOUSAND, 1),
    Class("dmlrs", "50 jobs, 100 machines", "paper", {}, 1),
    Class("dmlrs", "100 jobs, 30 machines", "paper", DMLRS | {"machines": 30}, 3),
    Class("dmlrs", "100 jobs, 50 machines", "paper", DMLRS | {"machines": 50}, 3),
)  # fmt: skip
EXACT = (
    Class("hare", "60 tasks, 4 GPUs", "drawn", {"jobs": 14, "tasks": 60}),
    Class("elastic", "15 jobs, ring, 4 servers", "small",
          HEAVY | RING | {"jobs": 15, "servers": 4, "arrival_span": 15}),
    Class("elastic", "12 jobs, PS, 3 servers", "small",
          HEAVY | PS | {"jobs": 12, "servers": 3, "ps_types": 2, "arrival_span": 12}),
    Class("edge", "20 jobs, 6 servers", "loaded"),
    Class("edge", "10 of the paper's jobs", "paper", {"jobs": 10, "edge_servers": 10}, 3),
    Class("ring", "14 jobs, 4 servers", "small-forced", {"jobs": 14, "servers": 4}),
    Class("ring", "20 jobs, 6 servers", "small-forced", {"jobs": 20, "servers": 6}, 8),
    Class("dmlrs", "12 jobs, 4 machines", "medium", {"jobs": 12, "horizon": 12, "machines": 4}),
    Class("dmlrs", "14 jobs, 4 machines", "medium", {"jobs": 14, "horizon": 14, "machines": 4}),
)  # fmt: skip
PARTS = {  # by family: a bound, a search, the paper's algorithm
    "hare": ("lagrangian", "local-search", "hare-fluid"),
    "elastic": ("configuration-lp", "lp-guided", "a-online"),
    "edge": ("type-bound", "list", "a-online"),
    "ring": ("pattern-lp", "local-search", "sjf-bco"),
    "dmlrs": ("colgen", "colgen-heuristic", "pd-ors"),
}
SIZES = {  # settings of preset `paper` for jobs and for machines, and half of their defaults
    "hare": {"jobs": 100, "gpus": 80},
    "elastic": {"jobs": 50, "servers": 75},
    "edge": {"jobs": 100, "edge_servers": 100},
    "ring": {"jobs": 80, "servers": 10},
    "dmlrs": {"jobs": 25, "machines": 50},
}


@dataclass(frozen=True)
class Work:
    """What is run: seeds, a run folder, limits in seconds at full scale and elsewhere."""

    families: tuple[str, ...]
    seeds: tuple[int, ...]
    folder: str
    full: float
    exact: float
    workers: int

    def results(
        self, classes: Sequence[Class], methods: Sequence[str], seconds: float
    ) -> Iterator[tuple[Class, pd.DataFrame]]:
        """Run methods on the instances of the classes, and yield the rows of each class."""
        chosen = [c for c in classes if c.family in self.families]
        instances = [c.instance(seed) for seed in self.seeds for c in chosen]
        if instances:
            table = sg.compare(
                instances,
                methods=methods,
                time_limit=seconds,
                workers=self.workers,
                run=f"{self.folder}/{seconds:g}-seconds",
            ).table()
            table = table[table.method.isin(methods)]
            for c in chosen:
                yield c, table[table.instance.str.startswith(f"{c.title}: ")]


def spread(values: pd.Series, form: str = ".1f") -> str:
    """Return median, least and largest of the values; a missing one counts as infinite."""
    known = values.astype(float).fillna(float("inf")).sort_values()
    middle, least, most = (f"{each:{form}}" for each in known.quantile([0.5, 0, 1], "higher"))
    return middle if least == most else f"{middle} ({least} to {most})"


def gaps(work: Work) -> Table:
    """Return the gaps of `exact`."""
    table = Table("class", "closed", "by a tree", "gap in %", "aim", "seconds", "MB", title="gaps")
    for classes, seconds in ((FULL, work.full), (EXACT, work.exact)):
        for c, rows in work.results(classes, ["exact"], seconds):
            closed = rows.status == "optimal"
            gap = 100 * (rows.objective - rows.bound).abs() / rows.objective.abs()
            table.add_row(
                c.title, f"{sum(closed)} of {len(rows)}", str(sum(closed & (rows.proof == "tree"))),
                spread(gap, ".2f"), f"{c.most:g}" if c.most else "closed",
                spread(rows.seconds), spread(rows.peak_memory_mb, ".0f"),
            )  # fmt: skip
    return table


def growth(work: Work) -> Table:
    """Return how the costs of bound, search and algorithm grow with jobs and machines."""
    table = Table("class", "method", "CPU seconds", "MB", "status", title="growth")
    for name, parts in PARTS.items():
        (jobs, few), (machines, half) = SIZES[name].items()
        sizes = [(few, half), (2 * few, half), (few, 2 * half), (2 * few, 2 * half)]
        classes = [
            Class(name, f"{j} jobs, {m} {machines}", "paper", {jobs: j, machines: m})
            for j, m in sizes
        ]
        for c, rows in replace(work, seeds=work.seeds[:1]).results(classes, parts, work.exact):
            for method in parts:
                part = rows[rows.method == method]
                statuses = ", ".join(sorted(set(part.status)))
                table.add_row(c.title, method, spread(part.cpu_seconds),
                              spread(part.peak_memory_mb, ".0f"), statuses)  # fmt: skip
    return table


def speed(name: str, seed: int, seconds: float) -> float:
    """Return how many moves the local search of a family makes in a CPU second."""
    method = family(name).method(PARTS[name][1])
    kernels: list[Kernel] = [resolve_name(place) for place in method.kernels]
    for kernel in kernels:
        kernel.compile()
    engine = next(iter(method.engines), None)
    call = RunContext(method.parse({}), engine, Budget(Clock(seconds), seed), NullProgress())
    made, spent = 0, 0.0

    def counted(kernel: Kernel, instance: object) -> Callable[..., Any]:
        def count(*arguments: Any) -> Any:
            nonlocal made, spent
            begin = time.process_time()
            result = kernel.fast(*arguments)
            made, spent = made + arguments[6], spent + time.process_time() - begin
            return result

        return count if kernel is kernels[0] else kernel.fast

    with mock.patch.object(Kernel, "entry", counted):
        family(name).run(method, sg.generate(name, preset="paper", seed=seed), call)
    return made / spent if made else 0.0


def moves(work: Work) -> Table:
    """Return the speed of the local searches on the papers' workloads."""
    table = Table("family", "search", "moves a CPU second", title="moves")
    for name in work.families:
        speeds = pd.Series([speed(name, seed, SEARCHED) for seed in work.seeds])
        table.add_row(name, PARTS[name][1], spread(speeds, ",.0f"))
    return table


def compiling(work: Work) -> Table:
    """Return the seconds in which a new process compiles all kernels of a family."""
    table = Table("family", "seconds", title="compiling")
    code = "import sys, pkgutil; [pkgutil.resolve_name(k).compile() for k in sys.argv[1:]]"
    for name in work.families:
        places = sorted({place for method in family(name).methods for place in method.kernels})
        with tempfile.TemporaryDirectory() as folder:
            begin = time.perf_counter()
            subprocess.run(
                [sys.executable, "-c", code, *places],
                env=os.environ | {"XDG_CACHE_HOME": folder},
                check=True,
            )
            table.add_row(name, f"{time.perf_counter() - begin:.1f}")
    return table


def start(work: Work) -> Table:
    """Return what the first task of a process waits before its clock starts, and later ones."""
    table = Table("family", "seconds of the first task", "of two more", title="start")
    for name, parts in PARTS.items():
        if name in work.families:
            instances = [sg.generate(name, preset="small", seed=seed) for seed in range(3)]
            close_children()  # processes of earlier tables have loaded the modules
            rows = sg.compare(instances, methods=parts[-1:], workers=1, time_limit=10).table()
            loads = rows.load_seconds.astype(float)
            table.add_row(name, f"{loads.iloc[0]:.2f}", spread(loads.iloc[1:], ".2f"))
    return table


TABLES = {"gaps": gaps, "growth": growth, "moves": moves, "start": start, "compiling": compiling}


def main(words: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("chosen", nargs="*", help="tables and families; by default all")
    parser.add_argument("--quick", action="store_true", help="one seed, short limits")
    parser.add_argument("--limit", type=float, help="seconds at full scale")
    parser.add_argument("--seeds", nargs="+", type=int)
    parser.add_argument("--run", default="runs/gaps", help="run folder")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args(words)
    work = Work(
        tuple(name for name in OWN if name in given.chosen) or tuple(OWN),
        tuple(given.seeds or (SEEDS[:1] if given.quick else SEEDS)),
        given.run,
        given.limit or (20.0 if given.quick else 60.0),
        10.0 if given.quick else 30.0,
        given.workers,
    )
    for name, table in TABLES.items():
        if name in given.chosen or not any(each in given.chosen for each in TABLES):
            Console(width=140).print(table(work))


if __name__ == "__main__":
    main()
