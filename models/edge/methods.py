"""The methods of family `edge`, its programs to export, and its small instances: one table."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.instances.instance import Instance
from schedgap.models.method import Algorithm, Lazy, Method, MethodResult, Option, RunContext


def _at(name: str) -> Lazy:
    """Return a function of this family, by `module:function`."""
    return Lazy(f"schedgap.models.edge.{name}")


NO_BATCHES, ONLY_BATCHES = _at("decisions:no_batches"), _at("decisions:only_batches")
MAX_COLUMNS = Option(
    "max_columns", "int", 100_000, "largest number of columns that is built", least=1
)
MAX_INTERVALS = Option(
    "max_intervals", "int", 50_000, "largest number of intervals of workers and PSs", least=1
)
MAX_RUNS = Option(
    "max_columns", "int", 200_000, "largest number of runs that is enumerated", least=1
)
_MIP = ("highs", "gurobi")


def _a_online(name: str, summary: str, *, ours: bool = True) -> Method:
    """Return A_online in one of its variants."""
    return Method(
        name,
        "algorithm",
        partial(_at("algorithms.a_online:run_variant"), name),
        summary + "; no guarantee",
        "Algorithms 1-4",
        ours=ours,
        online=True,
        unsupported_reason=NO_BATCHES,
    )


def _policy(
    name: str, *, proves: bool = True
) -> Callable[[EdgeInstance, RunContext], MethodResult]:
    """Return a function to a schedule as a method; `proves` as in `algorithms.unplaced`."""
    return partial(_at("algorithms.unplaced:run_policy"), _at(name), proves=proves)


METHODS: tuple[Method[EdgeInstance, EdgeSchedule], ...] = (
    # exact
    Method(
        "exact",
        "exact",
        _at("exact.exact:exact"),
        "column generation, reduced-cost fixing of starts, then programs that decide target values",
        "(2), (3), (5)",
        ours=True,
        engines=("highs", "cp-sat"),
        runs_children=True,
        seeded=True,
    ),
    Method(
        "cp-sat",
        "exact",
        _at("exact.solve_programs:cp_sat"),
        "one interval for each job, with a variable demand on each server",
        "(2)",
        ours=True,
        engines=("cp-sat",),
        options=(MAX_INTERVALS,),
        seeded=True,
        unsupported_reason=NO_BATCHES,
    ),
    Method(
        "milp-mode",
        "exact",
        _at("exact.solve_programs:milp_mode"),
        "time-indexed program over starts and modes; as strong as one column for each schedule",
        "(2)",
        ours=True,
        engines=_MIP,
        options=(MAX_COLUMNS,),
        seeded=True,
        unsupported_reason=NO_BATCHES,
    ),
    Method(
        "milp-literal",
        "exact",
        _at("exact.solve_programs:milp_literal"),
        "the paper's program, linearised constraint by constraint",
        "(2)",
        engines=_MIP,
        options=(MAX_COLUMNS,),
        seeded=True,
        unsupported_reason=NO_BATCHES,
    ),
    Method(
        "set-packing",
        "exact",
        _at("exact.solve_programs:set_packing"),
        "set packing: the paper's columns (4), one for each run of each job, with objective (2)",
        "(2), (4)",
        engines=_MIP,
        options=(MAX_RUNS,),
        seeded=True,
        unsupported_reason=NO_BATCHES,
    ),
    Method(
        "batch-cp-sat",
        "exact",
        _at("exact.solve_programs:cp_sat"),
        "optional intervals: as many jobs of the batch as possible",
        "(3)",
        ours=True,
        engines=("cp-sat",),
        options=(MAX_INTERVALS,),
        seeded=True,
        unsupported_reason=ONLY_BATCHES,
    ),
    Method(
        "batch-milp",
        "exact",
        _at("exact.solve_programs:milp_mode"),
        "the paper's batch problem over starts and modes",
        "(3)",
        engines=_MIP,
        options=(MAX_COLUMNS,),
        seeded=True,
        unsupported_reason=ONLY_BATCHES,
    ),
    Method(
        "batch-ilp4",
        "exact",
        _at("exact.solve_programs:set_packing"),
        "the paper's program (4) with one column for each schedule of each job",
        "(4)",
        engines=_MIP,
        options=(MAX_RUNS,),
        seeded=True,
        unsupported_reason=ONLY_BATCHES,
    ),
    # bounds
    Method(
        "cg-bound",
        "bound",
        _at("exact.solve_programs:cg_bound"),
        "linear relaxation over all runs of all jobs by column generation; prices by server and "
        "slot",
        "(4), (5), (9)",
        ours=True,
        engines=("highs",),
        unsupported_reason=NO_BATCHES,
    ),
    Method(
        "type-bound",
        "bound",
        _at("bounds.solve_relaxations:type_bound"),
        "as cg-bound, with all edge servers merged, all clouds merged and no PSs; for full scale",
        "(4), (5), (9)",
        ours=True,
        engines=("highs",),
        options=(Option("block", "int", 4, "slots that share a price", least=1),),
        unsupported_reason=NO_BATCHES,
    ),
    Method(
        "lp-mode",
        "bound",
        _at("bounds.solve_relaxations:lp_mode"),
        "linear relaxation of milp-mode, solved directly; small instances",
        "(2)",
        ours=True,
        engines=("highs",),
        options=(
            Option(
                "max_columns", "int", 100_000, "largest number of columns that is built", least=1
            ),
        ),
        unsupported_reason=NO_BATCHES,
    ),
    Method(
        "job-alone",
        "bound",
        _at("bounds.solve_relaxations:job_alone"),
        "each job by itself, completed as early as possible",
        "(2e), (2i)",
        ours=True,
        unsupported_reason=NO_BATCHES,
    ),
    Method(
        "srpt-bound",
        "bound",
        _at("bounds.solve_relaxations:srpt_bound"),
        "SRPT on one preemptive machine for each worker type",
        "mean busy times",
        ours=True,
        unsupported_reason=NO_BATCHES,
    ),
    Method(
        "batch-dual",
        "bound",
        _at("exact.solve_programs:cg_bound"),
        "the dual (5) of the batch problem by column generation",
        "(5), (6), (9)",
        engines=("highs",),
        unsupported_reason=ONLY_BATCHES,
    ),
    # the paper's algorithms, and ours
    _a_online(
        "a-online",
        "batches at doubling times, admitted by rising prices, with the fewest workers",
        ours=False,
    ),
    _a_online("a-online-printed", "a-online with Algorithm 4 as printed", ours=False),
    _a_online("a-online-model", "a-online with servers that are ready when a round starts"),
    _a_online("a-online-earliest", "a-online, ties broken by the earliest end"),
    _a_online(
        "a-online-any", "a-online with any start in a round, ties broken by the earliest end"
    ),
    _a_online(
        "a-online-no-price", "a-online without prices: by capacity alone, earliest end first"
    ),
    Method(
        "a-online-exact-batch",
        "algorithm",
        _at("algorithms.a_online_exact_batch:a_online_exact_batch"),
        "A_online with a maximum number of jobs in each batch; sum c_j is at most 4 times the "
        "optimum",
        "Algorithm 1, (3)",
        ours=True,
        engines=("cp-sat",),
        online=True,
        seeded=True,
        unsupported_reason=NO_BATCHES,
    ),
    Method(
        "a-maxsche",
        "algorithm",
        Algorithm(_at("algorithms.a_maxsche:a_maxsche")),
        "of one batch, run the jobs whose cheapest schedule costs less than 1; no guarantee",
        "Algorithms 2-4",
        unsupported_reason=ONLY_BATCHES,
    ),
    Method(
        "list",
        "baseline",
        _at("heuristics.list_search:list_search"),
        "list scheduling in the best of several orders, then simulated annealing over the order",
        "list scheduling",
        ours=True,
        options=(
            Option(
                "order",
                "choice",
                "best",
                "best: best of several orders, then improved; arrival: in order of arrival, not "
                "improved",
                ("arrival", "best"),
            ),
            Option(
                "moves",
                "int",
                None,
                "moves of the search for each job (default: 30, then twice as many each time, "
                "until "
                "time is up or three such rounds in a row find nothing better)",
                least=0,
            ),
        ),
        seeded=True,
        unsupported_reason=NO_BATCHES,
    ),
    # the paper's baselines
    Method(
        "fifo",
        "baseline",
        _policy("baselines.fifo:fifo"),
        "first come, first served, each job on the server that can start it earliest",
        "Section VI; completed by us",
        online=True,
        unsupported_reason=NO_BATCHES,
    ),
    Method(
        "drf",
        "baseline",
        _policy("baselines.drf:drf"),
        "dominant resource fairness: workers one by one to the job with the least dominant share",
        "Section VI; completed by us",
        online=True,
        unsupported_reason=NO_BATCHES,
    ),
    Method(
        "batch-sche",
        "baseline",
        _policy("baselines.batch_sche:batch_sche"),
        "batches at doubling times, each in windows that wait alpha times as long",
        "Section VI; completed by us",
        options=(
            Option("alpha", "int", 4, "length of a batch's windows, and of its wait", least=1),
        ),
        online=True,
        unsupported_reason=NO_BATCHES,
    ),
    Method(
        "preemptive",
        "baseline",
        _policy("baselines.preemptive:preemptive", proves=False),
        "shortest job first in every slot, without transfer delays: outside the program",
        "Section VI; completed by us",
        online=True,
        unsupported_reason=NO_BATCHES,
    ),
    Method(
        "preemptive-overhead",
        "baseline",
        _policy("baselines.preemptive:preemptive", proves=False),
        "shortest job first with transfer delays and lost slots: outside the program",
        "Section VI; completed by us",
        options=(Option("overhead", "int", 1, "slots lost after an interruption", least=0),),
        online=True,
        unsupported_reason=NO_BATCHES,
    ),
)
ALIASES = {
    "column-fix": "exact",
    "paper": "milp-literal",
    "lp": "cg-bound",
    "job-bound": "job-alone",
    "local-search": "list",
}

PROGRAMS: Mapping[str, Callable[[EdgeInstance], Any]] = {
    name: _at(f"exact.export:{function}")
    for name, function in (
        ("milp-literal", "milp_literal"),
        ("milp-mode", "milp_mode"),
        ("set-packing", "set_packing"),
        ("batch-milp", "milp_mode"),
        ("batch-ilp4", "set_packing"),
    )
}


def suite() -> list[Instance]:
    """Return worked examples, one of them a batch, and two random instances."""
    from schedgap.instances.generate import generate  # with all readers of traces

    return [
        generate("edge", preset="toy"),
        generate("edge", preset="toy-b"),
        generate("edge", preset="toy-batch"),
        generate("edge", preset="small", seed=1),
        generate("edge", preset="small", seed=2),
    ]
