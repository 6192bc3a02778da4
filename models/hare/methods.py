"""Tables of family `hare`: its methods, the programs that can be exported, its small instances."""

from functools import partial
from typing import TYPE_CHECKING

from schedgap.instances.hare import HareInstance
from schedgap.instances.instance import Instance
from schedgap.models.hare.programs.table import PROGRAMS as PROGRAMS
from schedgap.models.method import LINEAR_ENGINES, Algorithm, Keywords, Lazy, Method
from schedgap.models.program import SolveProgram

if TYPE_CHECKING:  # it loads NumPy
    from schedgap.instances.hare import HareSchedule


def _at(name: str) -> Lazy:
    """Return a reference to a function of this family, `module:function`, imported on first use."""
    return Lazy(f"schedgap.models.hare.{name}")


_solved = partial(SolveProgram, initial=_at("exact.build_programs:initial"))
MAX_ROWS = 2_000_000  # rows of big-M, or intervals: building more takes minutes
_BIG_M = partial(_at("programs.printed:build"), max_rows=MAX_ROWS)
_INTERVALS = partial(_at("programs.intervals:build"), max_intervals=MAX_ROWS)
_RULE = _at("algorithms.hare:place")  # options of Algorithm 1
_KERNEL = "schedgap.models.hare.heuristics.kernel:KERNEL"
_PRICING = "schedgap.models.hare.bounds.kernel:PLANS"
_SCHEDULES = "schedgap.models.hare.exact.kernel:SCHEDULES"
_NEGOTIATION = "schedgap.models.hare.heuristics.negotiation:NEGOTIATION"
_ON_RELAXATION = Keywords(_RULE, _at("algorithms.hare:cut_loop"))

METHODS: "tuple[Method[HareInstance, HareSchedule], ...]" = (
    # exact
    Method("exact", "exact", _at("exact.exact:exact"),
           "local search, CP-SAT, and branch and price over schedules of single jobs",
           "ours", ours=True, engines=("cp-sat", "highs"), runs_children=True, seeded=True,
           kernels=(_KERNEL, _PRICING, _SCHEDULES, _NEGOTIATION)),
    Method("big-m", "exact", _solved(_BIG_M),
           "the paper's program, with a big-M row for each order of two tasks on a GPU",
           "(4)-(8)", engines=LINEAR_ENGINES, seeded=True),
    Method("cp-sat", "exact", _solved(_INTERVALS),
           "one interval per task and kind of GPU, one cumulative constraint per kind",
           "(4)-(8)", ours=True, engines=("cp-sat",), seeded=True),
    Method("time-indexed", "exact", _solved(_at("exact.build_programs:time_indexed")),
           "time-indexed program: how many tasks start on each kind of GPU in each time step",
           "ours", ours=True, engines=("highs", "cp-sat", "gurobi", "scip"), seeded=True),
    Method("time-indexed-lp", "bound", _at("exact.build_programs:time_indexed_lp"),
           "linear relaxation of time-indexed", "ours", ours=True, engines=("highs",)),
    # bounds
    Method("lagrangian", "bound", _at("bounds.solve_lagrangian:lagrangian_bound"),
           "Lagrangian relaxation of GPU capacity, each job scheduled alone at the prices; the "
           "strongest bound at full scale",
           "Lagrangian relaxation of (8)", ours=True, engines=("highs",),
           kernels=(_PRICING,)),
    Method("job-alone", "bound", _at("bounds.job_alone:job_alone"),
           "each job alone on the fastest GPUs", "(4), (6), (7)", ours=True),
    Method("relaxed-miqcp", "bound", _at("bounds.relaxed_miqcp:relaxed_miqcp"),
           "the paper's relaxation: row (9) for the set of all tasks of a GPU",
           "Hare_Sched_RL, Section 5.2", engines=LINEAR_ENGINES),
    Method("fluid-lp", "bound", _at("bounds.solve_fluid:fluid_lp"),
           "linear program over jobs, classes of GPUs and time cells; works at full scale",
           "mean busy times", ours=True, engines=("highs",)),
    # the paper's algorithm and ours
    Method("hare", "algorithm", _at("algorithms.hare:hare"),
           "Algorithm 1 on the paper's relaxation",
           "Algorithm 1, Section 5.2", engines=LINEAR_ENGINES, options=_ON_RELAXATION),
    Method("hare-prefix", "algorithm", _at("algorithms.hare:hare_prefix"),
           "Algorithm 1 on the relaxation that Lemma 2 uses",
           "Algorithm 1, Lemma 2", ours=True, engines=LINEAR_ENGINES, options=_ON_RELAXATION),
    Method("hare-fluid", "algorithm", _at("heuristics.hare_fluid:hare_fluid"),
           "Algorithm 1 on the solution of the fluid program; works at full scale",
           "Algorithm 1", ours=True, engines=("highs",),
           options=Keywords(_RULE, _at("heuristics.hare_fluid:hare_fluid"))),
    Method("list", "algorithm", Algorithm(_at("algorithms.list_wspt:list_schedule")),
           "Algorithm 1 in an order that needs no relaxation; shows what the relaxation adds",
           "ours", ours=True),
    Method("local-search", "algorithm", _at("heuristics.local_search:local_search"),
           "list schedules with gaps filled, then annealing over the order and prices of jobs",
           "ours", ours=True, seeded=True, kernels=(_KERNEL,)),
    # the paper's baselines
    Method("gavel-fifo", "baseline", Algorithm(_at("baselines.gavel_fifo:gavel_fifo")),
           "first come, first served, on the fastest idle GPUs; no backfilling",
           "Section 7.1, Gavel_FIFO; completed by us", online=True),
    Method("srtf", "baseline", Algorithm(_at("baselines.srtf:srtf")),
           "shortest remaining time first, preemptive between rounds",
           "Section 7.1, SRTF; completed by us", online=True),
    Method("sched-homo", "baseline", Algorithm(_at("baselines.sched_homo:sched_homo")),
           "largest weight over work first, in equal shares, ignoring the speeds of the GPUs",
           "Section 7.1, Sched_Homo; completed by us", online=True),
    Method("sched-allox", "baseline", Algorithm(_at("baselines.sched_allox:sched_allox")),
           "one GPU per job, by matchings of minimum total completion time",
           "Section 7.1, Sched_Allox; completed by us", online=True),
)  # fmt: skip
ALIASES = {
    "hybrid": "exact",
    "paper": "big-m",
    "lp": "time-indexed-lp",
    "critical-path": "job-alone",
    "list-wspt": "local-search",
    "cp-sat-gpu": "cp-sat",
    "relaxed-conic": "lagrangian",
    "relaxed-prefix": "lagrangian",
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
