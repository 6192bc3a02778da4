"""The methods of family `edge`, its programs for export, and its small test instances."""

from functools import partial

from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.instances.instance import Instance
from schedgap.models.edge.programs.table import PROGRAMS as PROGRAMS
from schedgap.models.method import MIXED_ENGINES, Algorithm, Lazy, Method, Within
from schedgap.models.program import SolveProgram


def _at(name: str) -> Lazy:
    """Return a function of this family by `module:function`, imported when first called."""
    return Lazy(f"schedgap.models.edge.{name}")


_solved = partial(SolveProgram, initial=_at("heuristics.initial:initial_state"))
_in_child = partial(_solved, in_child=True)  # which can be stopped while it builds
_KERNEL = "schedgap.models.edge.heuristics.kernel:KERNEL"
_PRICING = "schedgap.models.edge.bounds.kernel:PRICING"
_SECTION_6 = "Section VI; completed by us"

# Methods for problem (2) only, and for the batch problem (3) only; `Method` itself serves both.
_method = partial(Method, unsupported_reason=_at("decisions:no_batches"))
_batch_method = partial(Method, unsupported_reason=_at("decisions:only_batches"))


def _policy(name: str) -> Within[EdgeInstance, EdgeSchedule]:
    """Return how a policy runs that may leave jobs unplaced."""
    return Within(_at("algorithms.unplaced:run_policy"), _at(name))


def _a_online(
    name: str, summary: str, source: str = "Algorithms 1 and 2", *, ours: bool = True
) -> Method:
    """Return the method for one variant of A_online.

    All but `a-online-printed` compute the cheapest schedule exactly instead of Algorithms 3 and 4.
    """
    return _method(
        name,
        "algorithm",
        partial(_at("algorithms.a_online:run_variant"), name),
        summary + "; no guarantee",
        source,
        ours=ours,
        online=True,
    )


# `preemptive` relaxes the program: a job which cannot end in time in the program may still run.
METHODS: tuple[Method[EdgeInstance, EdgeSchedule], ...] = (
    # exact
    Method("exact", "exact", _at("exact.exact:exact"),
           "lists, refutation of better values by worker type, then the interval model",
           "(2), (3)", ours=True, engines=("highs", "cp-sat"), runs_children=True,
           seeded=True, kernels=(_KERNEL, _PRICING)),
    Method("cp-sat", "exact", _solved(_at("exact.build_programs:cp_sat")),
           "interval model: one interval for each job, with a variable demand on each server",
           "(2), (3)", ours=True, engines=("cp-sat",), seeded=True),
    Method("milp-mode", "exact", _in_child(_at("exact.build_programs:milp_mode")),
           "time-indexed program over starts and modes; its relaxation is as strong as that of "
           "(4)",
           "(2), (3)", ours=True, engines=MIXED_ENGINES, seeded=True),
    Method("milp-literal", "exact", _in_child(_at("exact.build_programs:milp_literal")),
           "the paper's program, linearised constraint by constraint",
           "(2), (3)", engines=MIXED_ENGINES, seeded=True),
    Method("set-packing", "exact", _in_child(_at("exact.build_programs:set_packing")),
           "set packing: program (4) with a column for each run of each job; objective (2) or "
           "(4)",
           "(2), (4)", engines=MIXED_ENGINES, seeded=True),
    # bounds
    Method("cg-bound", "bound", _at("exact.cg_bound:cg_bound"),
           "linear relaxation of (4), with objective (2) or (4), by column generation; prices by "
           "server and slot, which are solutions of the dual (5)",
           "(4), (5), (6), (9)", ours=True, engines=("highs",)),
    _method("type-bound", "bound", _at("bounds.solve_relaxations:type_bound"),
            "as cg-bound with all edge servers merged, all clouds merged and no PSs; for full "
            "scale",
            "(4), (5), (9)", ours=True, engines=("highs",), kernels=(_PRICING,)),
    _method("job-alone", "bound", _at("bounds.solve_relaxations:job_alone"),
            "each job alone on the network, completed as early as possible",
            "(2e), (2i)", ours=True),
    # the paper's algorithms, and ours
    _a_online("a-online",
              "batches at doubling times, jobs admitted at rising prices with the fewest workers "
              "on the cheapest servers",
              "Algorithms 1 and 2; an exact cheapest schedule for Algorithms 3 and 4, E26-E28",
              ours=False),
    _a_online("a-online-printed", "a-online with Algorithm 4 as printed", "Algorithms 1-4",
              ours=False),
    _a_online("a-online-model",
              "a-online, using also servers that become ready as the round starts"),
    _a_online("a-online-earliest", "a-online with ties broken by the earliest end"),
    _a_online("a-online-any",
              "a-online with any start within a round, ties broken by the earliest end"),
    _a_online("a-online-no-price",
              "a-online without prices: jobs are placed while they fit, earliest end first"),
    _method("a-online-exact-batch", "algorithm",
            _at("algorithms.a_online_exact_batch:a_online_exact_batch"),
            "A_online with the maximum number of jobs in each batch by CP-SAT; sum c_j at most 4 "
            "times the optimum",
            "Algorithm 1, (3)", ours=True, engines=("cp-sat",), online=True, seeded=True),
    _batch_method("a-maxsche", "algorithm", Algorithm(_at("algorithms.a_maxsche:a_maxsche")),
                  "runs the jobs of a batch whose cheapest schedule costs less than 1; no "
                  "guarantee",
                  "Algorithms 2-4"),
    _method("list", "baseline", _at("heuristics.list_search:list_search"),
            "list scheduling in the best of several orders, then simulated annealing",
            "list scheduling", ours=True, seeded=True, kernels=(_KERNEL,)),
    # the paper's baselines
    _method("fifo", "baseline", _policy("baselines.fifo:fifo"),
            "first come, first served; each job on the server that can start it earliest",
            _SECTION_6, online=True),
    _method("drf", "baseline", _policy("baselines.drf:drf"),
            "dominant resource fairness: each worker goes to the job with the least dominant "
            "share",
            _SECTION_6, online=True),
    _method("batch-sche", "baseline", _policy("baselines.batch_sche:batch_sche"),
            "batches at doubling times, each in alpha windows after a wait of alpha times as long",
            _SECTION_6, online=True),
    _method("preemptive", "baseline", _policy("baselines.preemptive:preemptive"),
            "shortest remaining job first in every slot, no transfer delays; relaxes the program",
            _SECTION_6, online=True, proves_infeasible=False),
    _method("preemptive-overhead", "baseline", _policy("baselines.preemptive:preemptive_overhead"),
            "shortest remaining job first with transfer delays and overhead; relaxes the program",
            _SECTION_6, online=True, proves_infeasible=False),
)  # fmt: skip
ALIASES = {
    "column-fix": "exact",
    "paper": "milp-literal",
    "lp": "cg-bound",
    "job-bound": "job-alone",
    "srpt-bound": "type-bound",
    "local-search": "list",
    "lp-mode": "cg-bound",
    "batch-cp-sat": "cp-sat",
    "batch-milp": "milp-mode",
    "batch-ilp4": "set-packing",
    "batch-dual": "cg-bound",
}


def suite() -> list[Instance]:
    """Return the worked examples, one of them a batch, and two random instances."""
    from schedgap.instances.generate import generate  # imports the readers of traces

    return [
        generate("edge", preset="toy"),
        generate("edge", preset="toy-b"),
        generate("edge", preset="toy-batch"),
        generate("edge", preset="small", seed=1),
        generate("edge", preset="small", seed=2),
    ]
