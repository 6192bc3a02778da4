"""Tables of family `hare`: its methods, the programs that can be exported, its small instances."""

from functools import partial
from typing import TYPE_CHECKING

from schedgap.instances.hare import HareInstance
from schedgap.instances.instance import Instance
from schedgap.models.hare.programs.table import PROGRAMS as PROGRAMS
from schedgap.models.method import LINEAR_ENGINES, Algorithm, Lazy, Method, Option
from schedgap.models.program import SolveProgram

if TYPE_CHECKING:  # it loads NumPy
    from schedgap.instances.hare import HareSchedule


def _at(name: str) -> Lazy:
    """Return a reference to a function of this family, `module:function`, imported on first use."""
    return Lazy(f"schedgap.models.hare.{name}")


_solved = partial(SolveProgram, initial=_at("exact.build_programs:initial"))
MAX_ROWS = 2_000_000  # with big-M, or intervals; building more takes minutes

SYNCHRONIZATION = Option(
    "synchronization",
    "choice",
    "relaxed",
    "relaxed: tasks of a round may start apart; fixed: they start together on different GPUs",
    choices=("relaxed", "fixed"),
)
MAX_COLUMNS = Option("max_columns", "int", 300_000, "build no program with more columns", least=1)
CELLS = Option(
    "cells", "int", 100, "number of time cells up to the makespan of a list schedule", least=1
)
_ALGORITHM_1 = (
    Option(
        "gpu_rule",
        "choice",
        "available",
        "GPU that is free first (as printed), or that synchronizes the task first (ours)",
        choices=("available", "finish"),
    ),
    Option(
        "order_guard",
        "bool",
        True,
        "raise H so that the rounds of a job keep their order (ours, E4)",
    ),
    Option(
        "midpoint",
        "choice",
        "max",
        "H with the slowest GPU (as printed), or with the GPU that the relaxation chose (E14)",
        choices=("max", "assigned"),
    ),
)
_RELAXATION_OPTIONS = (
    Option(
        "canonical",
        "bool",
        True,
        "take the optimum of the relaxation with the least sum of starts (E28)",
    ),
    Option("max_relaxation", "int", 400, "solve no relaxation with more tasks x GPUs", least=1),
)

METHODS: "tuple[Method[HareInstance, HareSchedule], ...]" = (
    # exact
    Method(
        "exact",
        "exact",
        _at("exact.exact:exact"),
        "local search, CP-SAT, and branch and price over schedules of single jobs",
        "ours",
        ours=True,
        engines=("cp-sat", "highs"),
        runs_children=True,
        options=(SYNCHRONIZATION,),
        seeded=True,
    ),
    Method(
        "big-m",
        "exact",
        _solved(partial(_at("exact.build_programs:big_m"), max_rows=MAX_ROWS)),
        "the paper's program, with a big-M row for each order of two tasks on a GPU",
        "(4)-(8)",
        engines=LINEAR_ENGINES,
        options=(
            Option("pairwise", "bool", False, "write (7) for each pair of tasks, as printed"),
            SYNCHRONIZATION,
        ),
        seeded=True,
    ),
    Method(
        "cp-sat",
        "exact",
        _solved(partial(_at("exact.build_programs:cp_sat"), max_intervals=MAX_ROWS)),
        "one interval per task and kind of GPU, one cumulative constraint per kind",
        "(4)-(8)",
        ours=True,
        engines=("cp-sat",),
        options=(SYNCHRONIZATION,),
        seeded=True,
    ),
    Method(
        "cp-sat-gpu",
        "exact",
        _solved(partial(_at("exact.build_programs:cp_sat_gpu"), max_intervals=MAX_ROWS)),
        "one interval per task and GPU, no overlap on any GPU",
        "(4)-(8)",
        engines=("cp-sat",),
        options=(SYNCHRONIZATION,),
        seeded=True,
    ),
    Method(
        "time-indexed",
        "exact",
        _solved(_at("exact.build_programs:time_indexed")),
        "time-indexed program: how many tasks start on each kind of GPU in each time step",
        "ours",
        ours=True,
        engines=("highs", "cp-sat", "gurobi", "scip"),
        options=(MAX_COLUMNS,),
        seeded=True,
    ),
    Method(
        "time-indexed-lp",
        "bound",
        _at("exact.build_programs:time_indexed_lp"),
        "linear relaxation of time-indexed",
        "ours",
        ours=True,
        engines=("highs",),
        options=(MAX_COLUMNS,),
    ),
    # bounds
    Method(
        "lagrangian",
        "bound",
        _at("bounds.solve_lagrangian:lagrangian_bound"),
        "Lagrangian relaxation of GPU capacity, each job scheduled alone at the prices; the "
        "strongest bound at full scale",
        "Lagrangian relaxation of (8)",
        ours=True,
        engines=("highs",),
        options=(
            CELLS,
            Option(
                "rounds", "int", 40, "rounds of column generation that improve the prices", least=0
            ),
            Option("steps", "int", 16, "time steps within the shortest task of a job", least=1),
        ),
    ),
    Method(
        "job-alone",
        "bound",
        _at("bounds.job_alone:job_alone"),
        "each job alone on the fastest GPUs",
        "(4), (6), (7)",
        ours=True,
    ),
    Method(
        "relaxed-miqcp",
        "bound",
        _at("bounds.solve_relaxations:relaxed_miqcp"),
        "the paper's relaxation: row (9) for the set of all tasks of a GPU",
        "Hare_Sched_RL, Section 5.2",
        engines=LINEAR_ENGINES,
        options=(
            Option(
                "horizon_cap",
                "bool",
                False,
                "bound the starts by the horizon: a stronger relaxation (E31)",
            ),
            Option(
                "literal",
                "bool",
                False,
                "keep the products as printed: nonconvex, Gurobi only (E3)",
            ),
        ),
    ),
    Method(
        "relaxed-prefix",
        "bound",
        _at("bounds.solve_relaxations:relaxed_prefix"),
        "the relaxation that Lemma 2 uses: row (9) for every set of tasks",
        "Hare_Sched_RL, Lemma 2",
        ours=True,
        engines=LINEAR_ENGINES,
        options=(
            Option(
                "integer",
                "bool",
                None,
                "keep y binary; by default if tasks x GPUs <= 400",
            ),
            Option(
                "release_cuts",
                "bool",
                False,
                "measure starts from the earliest release in the set: stronger rows",
            ),
        ),
    ),
    Method(
        "relaxed-conic",
        "bound",
        _at("bounds.solve_relaxations:relaxed_conic"),
        "the paper's relaxation with continuous y, as a conic program",
        "Hare_Sched_RL, Section 5.2",
        engines=("clarabel",),
    ),
    Method(
        "fluid-lp",
        "bound",
        _at("bounds.solve_fluid:fluid_lp"),
        "linear program over jobs, classes of GPUs and time cells; works at full scale",
        "mean busy times",
        ours=True,
        engines=("highs",),
        options=(
            CELLS,
            Option("sync_rows", "bool", False, "add rows that account for long synchronization"),
        ),
    ),
    # the paper's algorithm and ours
    Method(
        "hare",
        "algorithm",
        _at("algorithms.hare:hare"),
        "Algorithm 1 on the paper's relaxation",
        "Algorithm 1, Section 5.2",
        engines=LINEAR_ENGINES,
        options=(*_ALGORITHM_1, *_RELAXATION_OPTIONS),
    ),
    Method(
        "hare-prefix",
        "algorithm",
        _at("algorithms.hare:hare_prefix"),
        "Algorithm 1 on the relaxation that Lemma 2 uses",
        "Algorithm 1, Lemma 2",
        ours=True,
        engines=LINEAR_ENGINES,
        options=(*_ALGORITHM_1, *_RELAXATION_OPTIONS),
    ),
    Method(
        "hare-fluid",
        "algorithm",
        _at("heuristics.hare_fluid:hare_fluid"),
        "Algorithm 1 on the solution of the fluid program; works at full scale",
        "Algorithm 1",
        ours=True,
        engines=("highs",),
        options=(*_ALGORITHM_1, CELLS),
    ),
    Method(
        name="list",
        kind="algorithm",
        run=Algorithm(_at("algorithms.list_wspt:list_schedule")),
        summary="Algorithm 1 in an order that needs no relaxation; shows what the relaxation adds",
        source="ours",
        ours=True,
        options=(
            Option(
                "order",
                "choice",
                "start",
                "tasks by their earliest start if their job ran alone, or jobs in Smith's order",
                choices=("start", "smith"),
            ),
            Option(
                "gpu_rule",
                "choice",
                "finish",
                "GPU that synchronizes the task first, or that is free first",
                choices=("finish", "available"),
            ),
        ),
    ),
    Method(
        name="local-search",
        kind="algorithm",
        run=_at("heuristics.local_search:run_local_search"),
        summary="iterated local search over the order in which rounds are placed",
        source="ours",
        ours=True,
        options=(
            Option(
                "gpu_rule",
                "choice",
                "finish",
                "prefer the GPU that synchronizes the task first, or that is free first",
                choices=("finish", "available"),
            ),
            Option(
                "moves",
                "int",
                None,
                "moves to try (default: 2000; with a time limit, until it expires or a hundred "
                "kicks in a row fail)",
                least=0,
            ),
        ),
        seeded=True,
    ),
    # the paper's baselines
    Method(
        name="gavel-fifo",
        kind="baseline",
        run=Algorithm(_at("baselines.gavel_fifo:gavel_fifo")),
        summary="first come, first served, on the fastest idle GPUs; no backfilling",
        source="Section 7.1, Gavel_FIFO; completed by us",
        online=True,
    ),
    Method(
        name="srtf",
        kind="baseline",
        run=Algorithm(_at("baselines.srtf:srtf")),
        summary="shortest remaining time first, preemptive between rounds",
        source="Section 7.1, SRTF; completed by us",
        options=(
            Option(
                "backfill",
                "bool",
                True,
                "let later jobs start while too few GPUs are idle for the first",
            ),
            Option(
                "preempt",
                "bool",
                True,
                "let a job lose its GPUs between rounds; false: it holds them until it completes",
            ),
        ),
        online=True,
    ),
    Method(
        name="sched-homo",
        kind="baseline",
        run=Algorithm(_at("baselines.sched_homo:sched_homo")),
        summary="largest weight over work first, in equal shares, ignoring the speeds of the GPUs",
        source="Section 7.1, Sched_Homo; completed by us",
        online=True,
    ),
    Method(
        name="sched-allox",
        kind="baseline",
        run=Algorithm(_at("baselines.sched_allox:sched_allox")),
        summary="one GPU per job, by matchings of minimum total completion time",
        source="Section 7.1, Sched_Allox; completed by us",
        options=(
            Option(
                "weighted",
                "bool",
                False,
                "start jobs by weight over length instead of in the order of the matching",
            ),
        ),
        online=True,
    ),
)
ALIASES = {
    "hybrid": "exact",
    "paper": "big-m",
    "lp": "time-indexed-lp",
    "critical-path": "job-alone",
    "list-wspt": "local-search",
}


def suite() -> list[Instance]:
    """Return the toy, a counterexample to the printed relaxation, and random instances."""
    from schedgap.instances.generate import generate  # late: imports all readers of traces

    return [
        generate("hare", preset="toy"),
        generate("hare", preset="ce2"),
        generate("hare", preset="small", seed=1),
        generate("hare", preset="small", seed=2),
        generate("hare", preset="medium", seed=1),
    ]
