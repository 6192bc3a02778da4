"""Table of the methods of family `ring`, of its programs to export, and of its test instances."""

from functools import partial

from schedgap.instances.instance import Instance
from schedgap.instances.ring import RingInstance, RingSchedule
from schedgap.models.method import LINEAR_ENGINES, Keywords, Lazy, Method
from schedgap.models.program import SolveProgram
from schedgap.models.ring.programs.table import PROGRAMS as PROGRAMS


def _at(name: str) -> Lazy:
    """Return a reference to a function of this family, given as `module:function`."""
    return Lazy(f"schedgap.models.ring.{name}")


_KERNEL = "schedgap.models.ring.heuristics.kernel:KERNEL"
_solved = partial(SolveProgram, initial=_at("exact.build_programs:initial"))

METHODS: tuple[Method[RingInstance, RingSchedule], ...] = (
    # exact
    Method("exact", "exact", _at("exact.exact:exact"),
           "list schedules and local search, bounds by patterns, then a destructive bound: one "
           "makespan after another is refuted",
           "(1)-(9)", ours=True, engines=("cp-sat", "highs"), runs_children=True, seeded=True,
           kernels=(_KERNEL,)),
    Method("rar-ddls", "exact", _solved(_at("exact.build_programs:rar_ddls")),
           "the paper's program, linearised slot by slot",
           "RAR-DDLS, (1)-(9)", engines=LINEAR_ENGINES, seeded=True,
           unsupported_reason=_at("programs.printed:unsupported_reason")),
    Method("rar-ddls-cp", "exact", _solved(_at("exact.build_programs:rar_ddls_cp")),
           "the paper's program for CP-SAT: one interval for each job, rates slot by slot",
           "(1)-(9)", ours=True, engines=("cp-sat",), seeded=True),
    Method("branch-simulate", "exact", _at("exact.branch_and_simulate:branch_simulate"),
           "branch and bound on the simulation: each node decides which jobs start in a slot, and "
           "where; no engine, few jobs",
           "RAR-DDLS", ours=True, seeded=True),
    Method("complete-pool", "exact", _solved(_at("exact.build_programs:complete_pool")),
           "the paper's choice (10)-(13) among all schedules; tiny instances, for teaching",
           "(10)-(13)", engines=LINEAR_ENGINES, seeded=True,
           unsupported_reason=_at("exact.all_schedules:unsupported_reason")),
    # bounds
    Method("bounds", "bound", _at("bounds.solve_bounds:run_bounds"),
           "the best of job-alone, area, area with dual-feasible functions, and configuration-lp "
           "if a job fits into no server",
           "ours", ours=True, engines=("highs",)),
    Method("job-alone", "bound", _at("bounds.solve_bounds:run_job_alone"),
           "the longest job by itself at its best rate", "ours", ours=True),
    Method("area", "bound", _at("bounds.solve_bounds:run_area"),
           "total GPU time of all jobs at their best rates, over the number of GPUs",
           "ours", ours=True),
    Method("pattern-lp", "bound", _at("bounds.solve_bounds:run_pattern_lp"),
           "column generation over GPU patterns (sequences of whole jobs), which refutes "
           "makespans; one knapsack for each class of servers",
           "column generation (cutting stock)", ours=True, engines=("highs",)),
    Method("configuration-lp", "bound", _at("bounds.solve_bounds:run_configuration_lp"),
           "column generation over sets of jobs that run in the same slot; sees that rings slow "
           "each other",
           "column generation", ours=True, engines=("highs",)),
    Method("theta-feasible", "bound", _at("bounds.solve_load_limit:theta_feasible"),
           "least limit theta on the estimated load of a GPU; integer program over kinds of jobs",
           "(14)-(16)", engines=("highs",), seeded=True),
    # the paper's algorithm, and ours
    Method("sjf-bco", "algorithm", _at("algorithms.sjf_bco:run_sjf_bco"),
           "Algorithm 1: smallest job first on the least loaded GPUs; searches the load limit and "
           "the threshold kappa",
           "Algorithms 1-3", options=Keywords(_at("algorithms.sjf_bco:sjf_bco"))),
    Method("lpt-pack", "algorithm", _at("algorithms.packing:run_lpt_pack"),
           "jobs by decreasing length, GPU time or size, packed tightly; the best of the three "
           "orders",
           "list scheduling", ours=True),
    Method("random-orders", "algorithm", _at("algorithms.packing:run_random_orders"),
           "jobs in random orders, packed tightly on at most one, two or any number of servers",
           "list scheduling", ours=True, seeded=True,
           options=Keywords(_at("algorithms.packing:random_orders"))),
    Method("local-search", "algorithm", _at("heuristics.local_search:run_local_search"),
           "simulated annealing over the order of the jobs and their blocks of GPUs",
           "simulated annealing", ours=True, seeded=True, kernels=(_KERNEL,),
           options=Keywords(_at("heuristics.local_search:local_search"))),
    # the paper's baselines
    Method("first-fit", "baseline", _at("baselines.first_fit:run_first_fit"),
           "first idle GPUs, server by server; searches the load limit",
           "Section 7, FF; completed by us"),
    Method("list-scheduling", "baseline", _at("baselines.list_scheduling:run_list_scheduling"),
           "least loaded idle GPUs of the cluster; searches the load limit",
           "Section 7, LS; completed by us"),
    Method("random", "baseline", _at("baselines.random_placement:run_random"),
           "servers and GPUs at random", "Section 7, RAND; completed by us", seeded=True),
)  # fmt: skip
ALIASES = {
    "staged-cp": "exact",
    "paper": "rar-ddls",
    "cp-sat": "rar-ddls-cp",
    "lp": "pattern-lp",
    "longest": "job-alone",
    "width-dff": "bounds",
    "class-lp": "bounds",
    "load-ilp": "pattern-lp",
    "contention-free": "bounds",
    "pair-contention": "bounds",
    "schedule-pool": "local-search",
}


def suite() -> list[Instance]:
    """Return toy instances, and random ones in which jobs may or must be spread."""
    from schedgap.instances.generate import generate  # imports the trace readers

    return [
        generate("ring", preset="toy"),
        generate("ring", preset="toy-pcmax"),
        generate("ring", preset="toy-mixed"),
        generate("ring", preset="small", seed=1),
        generate("ring", preset="small-forced", seed=1, settings={"jobs": 4}),
    ]
