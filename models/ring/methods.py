"""The methods of family `ring`, its programs to export, and its small instances: one table."""

from collections.abc import Callable, Mapping
from typing import Any

from schedgap.instances.instance import Instance
from schedgap.instances.ring import RingInstance, RingSchedule
from schedgap.models.method import Lazy, Method, Option


def _at(name: str) -> Lazy:
    """Return a function of this family, by `module:function`."""
    return Lazy(f"schedgap.models.ring.{name}")


_MIP = ("highs", "gurobi")
_ORDER = Option(
    "order", "choice", "list", "jobs in list order, or smallest first as in Algorithm 1 (E28)",
    choices=("list", "sjf"),
)  # fmt: skip

METHODS: tuple[Method[RingInstance, RingSchedule], ...] = (
    # exact
    Method(
        "exact",
        "exact",
        _at("exact.exact:exact"),
        "bounds and list schedules, relaxations, then a destructive bound: makespans are refuted "
        "one by one",
        "(1)-(9)",
        ours=True,
        engines=("cp-sat", "highs"),
        runs_children=True,
        seeded=True,
    ),
    Method(
        "rar-ddls",
        "exact",
        _at("exact.solve_programs:rar_ddls"),
        "the paper's program, linearised slot by slot",
        "RAR-DDLS, (1)-(9)",
        engines=_MIP,
        seeded=True,
        unsupported_reason=_at("programs.printed:unsupported_reason"),
    ),
    Method(
        "rar-ddls-cp",
        "exact",
        _at("exact.solve_programs:rar_ddls_cp"),
        "the paper's program for CP-SAT: jobs as intervals, rates slot by slot",
        "(1)-(9)",
        ours=True,
        engines=("cp-sat",),
        options=(
            Option(
                "pair_cuts", "bool", True, "add rows for pairs of rings that overlap on a server"
            ),
        ),
        seeded=True,
    ),
    Method(
        "branch-simulate",
        "exact",
        _at("exact.branch_and_simulate:branch_simulate"),
        "branch and bound on a simulation: which jobs start in each slot, and where; no engine, "
        "few jobs",
        "RAR-DDLS",
        ours=True,
        seeded=True,
    ),
    Method(
        "complete-pool",
        "exact",
        _at("exact.solve_pools:complete_pool"),
        "the paper's choice (10)-(13) among all schedules; tiny instances, for teaching",
        "(10)-(13)",
        engines=(*_MIP, "cp-sat"),
        seeded=True,
        unsupported_reason=_at("exact.all_schedules:unsupported_reason"),
    ),
    # bounds
    Method(
        "bounds",
        "bound",
        _at("bounds.solve_bounds:run_bounds"),
        "the best of job-alone, area, width-dff and class-lp",
        "ours",
        ours=True,
        engines=("highs",),
    ),
    Method(
        "job-alone",
        "bound",
        _at("bounds.solve_bounds:run_job_alone"),
        "the longest job by itself at its best rate",
        "ours",
        ours=True,
    ),
    Method(
        "area",
        "bound",
        _at("bounds.solve_bounds:run_area"),
        "total GPU time of all jobs at their best rates, over the number of GPUs",
        "ours",
        ours=True,
    ),
    Method(
        "width-dff",
        "bound",
        _at("bounds.solve_bounds:run_width_dff"),
        "area with job sizes changed by dual-feasible functions",
        "dual feasible functions",
        ours=True,
    ),
    Method(
        "class-lp",
        "bound",
        _at("bounds.solve_bounds:run_class_lp"),
        "linear relaxation over classes of equal servers: jobs inside one server, or spread",
        "linear relaxation",
        ours=True,
        engines=("highs",),
    ),
    Method(
        "pattern-lp",
        "bound",
        _at("bounds.solve_bounds:run_pattern_lp"),
        "GPU patterns: whole jobs one after the other, by knapsacks for each class of servers",
        "column generation (cutting stock)",
        ours=True,
        engines=("highs",),
    ),
    Method(
        "theta-feasible",
        "bound",
        _at("exact.solve_pools:theta_feasible"),
        "least limit theta on the estimated load of a GPU, over kinds of jobs",
        "(14)-(16)",
        engines=("highs",),
        options=(
            Option(
                "form",
                "choice",
                "compact",
                "any choice of GPUs (ours), or as printed the choice among all schedules and GPU "
                "numbers up to the end of a first schedule; tiny instances, for teaching",
                choices=("compact", "pool"),
            ),
        ),
        seeded=True,
    ),
    Method(
        "load-ilp",
        "bound",
        _at("bounds.solve_load_limit:load_ilp"),
        "least limit on the load of a GPU with least execution times, over kinds of jobs",
        "(14)-(16)",
        ours=True,
        engines=("highs",),
        seeded=True,
    ),
    Method(
        "contention-free",
        "bound",
        _at("exact.solve_programs:contention_free"),
        "relaxation without contention",
        "(1)-(9) relaxed",
        ours=True,
        engines=("cp-sat",),
        seeded=True,
    ),
    Method(
        "pair-contention",
        "bound",
        _at("exact.solve_programs:pair_contention"),
        "relaxation with contention between pairs of rings only",
        "(1)-(9) relaxed",
        ours=True,
        engines=("cp-sat",),
        seeded=True,
    ),
    # the paper's algorithm, its choice among schedules, and ours
    Method(
        "sjf-bco",
        "algorithm",
        _at("algorithms.sjf_bco:run_sjf_bco"),
        "Algorithm 1: smallest job first on the least loaded GPUs, searching the load limit and "
        "the threshold",
        "Algorithms 1-3",
        options=(
            Option(
                "bisection",
                "choice",
                "improvement",
                "lower the limit when the makespan improves (as printed, E17), while some run is "
                "feasible, or scan all limits",
                choices=("improvement", "feasibility", "scan"),
            ),
            Option(
                "kappa",
                "int",
                "all",
                "jobs up to this size are placed by FA-FFP, others by LBSGF (E23)",
                choices=("all",),
                least=1,
            ),
            Option(
                "ffp_rule",
                "choice",
                "literal",
                "FA-FFP takes the least loaded GPUs (Algorithm 2), or packs (E19)",
                choices=("literal", "pack"),
            ),
            Option(
                "lbsgf_rule",
                "choice",
                "literal",
                "LBSGF takes the least loaded GPUs of its servers, or server by server (E22)",
                choices=("literal", "list"),
            ),
            Option(
                "clock",
                "choice",
                "actual",
                "jobs release their GPUs when they complete, or after their estimated time (ours)",
                choices=("actual", "estimated"),
            ),
        ),
    ),
    Method(
        "schedule-pool",
        "algorithm",
        _at("exact.solve_pools:schedule_pool"),
        "the paper's choice (10)-(13) among a pool of schedules; the pool is ours",
        "(10)-(13)",
        ours=True,
        engines=(*_MIP, "cp-sat"),
        options=(
            Option(
                "pool",
                "choice",
                "default",
                "runs of the algorithms, or every start and placement, as complete-pool",
                choices=("default", "complete"),
            ),
        ),
        seeded=True,
    ),
    Method(
        "lpt-pack",
        "algorithm",
        _at("algorithms.packing:run_lpt_pack"),
        "longest or largest job first, packed tightly; the best of three orders",
        "list scheduling",
        ours=True,
    ),
    Method(
        "random-orders",
        "algorithm",
        _at("algorithms.packing:run_random_orders"),
        "jobs in random orders, packed tightly on one, two or any number of servers",
        "list scheduling",
        ours=True,
        options=(Option("tries", "int", 60, "number of orders", least=1, most=10**6),),
        seeded=True,
    ),
    Method(
        "local-search",
        "algorithm",
        _at("heuristics.local_search:run_local_search"),
        "simulated annealing over the assignment of jobs to lanes of servers",
        "simulated annealing",
        ours=True,
        options=(
            Option("orders", "int", 30, "of a small timetable, for each job", least=0, most=10**6),
            Option(
                "moves",
                "int",
                2000,
                "of each job for each target, at first",
                least=1,
                most=10**6,
            ),
        ),
        seeded=True,
    ),
    # the paper's baselines
    Method(
        "first-fit",
        "baseline",
        _at("baselines.first_fit:run_first_fit"),
        "first idle GPUs, server by server, searching the load limit",
        "Section 7, FF; completed by us",
        options=(_ORDER,),
    ),
    Method(
        "list-scheduling",
        "baseline",
        _at("baselines.list_scheduling:run_list_scheduling"),
        "least loaded idle GPUs of the cluster, searching the load limit",
        "Section 7, LS; completed by us",
        options=(_ORDER,),
    ),
    Method(
        "random",
        "baseline",
        _at("baselines.random_placement:run_random"),
        "servers and GPUs at random",
        "Section 7, RAND; completed by us",
        options=(_ORDER,),
        seeded=True,
    ),
)
ALIASES = {
    "staged-cp": "exact",
    "paper": "rar-ddls",
    "cp-sat": "rar-ddls-cp",
    "lp": "pattern-lp",
    "longest": "job-alone",
}

PROGRAMS: Mapping[str, Callable[[RingInstance], Any]] = {
    "rar-ddls": _at("exact.export:rar_ddls"),
    "schedule-pool": _at("exact.export:schedule_pool"),
}


def suite() -> list[Instance]:
    """Return the toys, and random instances in which jobs may spread, or must."""
    from schedgap.instances.generate import generate  # with all readers of traces

    return [
        generate("ring", preset="toy"),
        generate("ring", preset="toy-pcmax"),
        generate("ring", preset="toy-mixed"),
        generate("ring", preset="small", seed=1),
        generate("ring", preset="small-forced", seed=1, settings={"jobs": 4}),
    ]
