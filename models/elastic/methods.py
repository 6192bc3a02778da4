"""Methods of family `elastic`, its programs for export and its test suite of small instances."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.instances.instance import Instance
from schedgap.models.elastic.programs.table import PROGRAMS as PROGRAMS
from schedgap.models.method import (
    LINEAR_ENGINES,
    Algorithm,
    Lazy,
    Method,
    MethodResult,
    Option,
    RunContext,
)


def _at(name: str) -> Lazy:
    """Return a reference to a function of this family, given as `module:function`."""
    return Lazy(f"schedgap.models.elastic.{name}")


def _in_time(name: str) -> Callable[[ElasticInstance, RunContext], MethodResult]:
    """Return the method that runs an algorithm which ignores a closed horizon."""
    return partial(_at("algorithms.closed_horizon:run_within_horizon"), _at(name))


def _needs_completion(instance: ElasticInstance) -> str | None:
    """Return why a batch problem is refused."""
    return "needs objective weighted_completion" if instance.is_batch else None


def _needs_batch(instance: ElasticInstance) -> str | None:
    """Return why a problem that is not a batch problem is refused."""
    return None if instance.is_batch else "needs objective scheduled_weight"


# Passed as arguments, so that the paper's algorithms import no bounds, and bounds no heuristics.
_WEIGHT_BOUND = _at("bounds.dual_prices:weight_bound")
_STARTING_SCHEDULE = _at("heuristics.initial:starting_schedule")

MAX_COLUMNS = Option(
    "max_columns", "int", 60_000, "largest number of columns of a program that is built", least=1
)
BLOCK = Option(
    "block",
    "int",
    None,
    "slots that share a price; default: such that there are about 100 blocks",
    least=1,
)
WORKERS = Option(
    "workers", "int", 8, "workers of each job, where job and cluster allow that many", least=1
)
ALPHA = Option(
    "alpha",
    "int",
    4,
    "windows of a round, or the number of Theorem 5, as printed or repaired (E12, E13)",
    choices=("theory", "theory-repaired"),
    least=1,
)
RESTART = Option("restart", "int", 1, "slots that a preempted job loses when it resumes", least=0)
LEMMA_1 = Option(
    "lemma_1",
    "bool",
    True,
    "bound by dual prices what each round could have served, to see whether Lemma 1 holds",
)
SUBROUTINES = (
    Option(
        "placement",
        "choice",
        "exact",
        "optimal split placements (ours, E19), or Algorithm 4 with its errors corrected",
        choices=("exact", "repaired"),
    ),
    Option(
        "F",
        "float",
        None,
        "bound F on weight over consumption; default: the smallest valid one",
        least=1e-9,
    ),
    Option("F_factor", "float", 1.0, "F is multiplied by this", least=1e-12),
    Option(
        "normalise", "bool", True, "divide demands by mean capacities, scale weights (ours, E8)"
    ),
    Option(
        "order",
        "choice",
        "arrival",
        "jobs of a batch by arrival, or by weight over least volume (ours, E15)",
        choices=("arrival", "density"),
    ),
    Option(
        "tie",
        "choice",
        "order",
        "ties in cost: first in the printed order, or least volume, then earliest end (ours, E21)",
        choices=("order", "volume"),
    ),
)

METHODS: tuple[Method[ElasticInstance, ElasticSchedule], ...] = (
    # exact
    Method(
        "exact",
        "exact",
        _at("exact.exact:exact"),
        "lists, CP-SAT, then branch and cut that refutes all better values; prices drop most runs",
        "(8), (9)",
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
        "(2), (7)",
        ours=True,
        engines=("cp-sat",),
        seeded=True,
    ),
    Method(
        "time-indexed",
        "exact",
        _at("exact.solve_programs:time_indexed"),
        "time-indexed program: one copy of the placement for each job, mode and start; no big-M",
        "(2), (7)",
        ours=True,
        engines=("highs", "gurobi", "cp-sat", "scip"),
        options=(MAX_COLUMNS,),
        seeded=True,
    ),
    Method(
        "compact-exponential",
        "exact",
        _at("exact.solve_programs:compact_exponential"),
        "the paper's compact-exponential program: one column for each run of each job",
        "(8), (17)",
        engines=("cp-sat", "highs", "gurobi", "scip"),
        options=(MAX_COLUMNS,),
        seeded=True,
    ),
    Method(
        "paper-milp",
        "exact",
        _at("exact.solve_programs:paper_milp"),
        "the paper's program, linearised: modes for the rates, big-M rows for running jobs",
        "(2), (15); (7), (16)",
        engines=LINEAR_ENGINES,
        options=(MAX_COLUMNS,),
        seeded=True,
    ),
    Method(
        "paper-miqcp",
        "exact",
        _at("exact.solve_programs:paper_miqcp"),
        "the paper's program with its products as printed; tiny instances, for teaching",
        "(2), (15); (7), (16)",
        engines=("gurobi",),
        options=(replace(MAX_COLUMNS, default=5000),),
        seeded=True,
    ),
    # bounds
    Method(
        "schedule-lp",
        "bound",
        partial(
            _at("bounds.solve_relaxations:schedule_lp_bound"), starting_schedule=_STARTING_SCHEDULE
        ),
        "linear relaxation over all runs of all jobs by column generation; prices by server and "
        "slot",
        "(8), (9)",
        ours=True,
        engines=("highs",),
    ),
    Method(
        "pooled-lp",
        "bound",
        partial(
            _at("bounds.solve_relaxations:pooled_lp_bound"), starting_schedule=_STARTING_SCHEDULE
        ),
        "as schedule-lp, with equal servers pooled: fewer prices",
        "(8), (9)",
        ours=True,
        engines=("highs",),
    ),
    Method(
        "pooled-lp-coarse",
        "bound",
        _at("bounds.solve_relaxations:pooled_lp_coarse_bound"),
        "as schedule-lp, with few pools of servers and prices by block of slots; for full scale",
        "(8), (9)",
        ours=True,
        engines=("highs",),
        options=(
            Option("block", "int", 5, "slots that share a price", least=1),
            Option("pools", "int", 1, "largest number of pools; equal servers share one", least=1),
        ),
    ),
    Method(
        "configuration-lp",
        "bound",
        _at("bounds.solve_relaxations:configuration_lp_bound"),
        "servers filled by whole configurations of workers and PSs; prices by block of slots; "
        "for full scale",
        "(8), (9)",
        ours=True,
        engines=("highs",),
        options=(BLOCK,),
    ),
    Method(
        "dual-lp",
        "bound",
        partial(
            _at("bounds.solve_relaxations:dual_lp_bound"), starting_schedule=_STARTING_SCHEDULE
        ),
        "the dual program with a row for every run; small instances",
        "(9), (18)",
        engines=LINEAR_ENGINES,
        options=(
            Option("max_columns", "int", 50_000, "largest number of runs to enumerate", least=1),
        ),
    ),
    Method(
        "job-alone",
        "bound",
        _at("bounds.job_alone:job_alone_bound"),
        "each job by itself in its fastest mode",
        "(2f), (2j)",
        ours=True,
    ),
    Method(
        "dual-prices",
        "bound",
        _at("bounds.dual_prices:dual_prices_bound"),
        "dual bound from the final prices of A_maxweight, scaled",
        "(9), Theorem 3",
        ours=True,
        unsupported_reason=_needs_batch,
    ),
    # the paper's algorithms, and ours
    Method(
        "a-online",
        "algorithm",
        partial(_at("algorithms.a_online:solve_a_online"), weight_bound=_WEIGHT_BOUND),
        "batches at doubling times, admitted by rising prices and served in a later window; the "
        "defaults normalise=true and placement=exact are ours (E8, E19)",
        "Algorithms 1-7",
        options=(
            ALPHA,
            Option("compact", "bool", False, "start a batch at once, as a-online-compact (ours)"),
            Option(
                "batch",
                "choice",
                "by",
                "a round has the jobs that arrive by tau_i (the text), or before (E9)",
                choices=("by", "before"),
            ),
            LEMMA_1,
            *SUBROUTINES,
        ),
        online=True,
        unsupported_reason=_needs_completion,
    ),
    Method(
        "a-online-compact",
        "algorithm",
        partial(
            _at("algorithms.a_online:solve_a_online"), weight_bound=_WEIGHT_BOUND, compact=True
        ),
        "a-online without idle windows: a batch starts when the one before has ended",
        "Algorithms 1-7, Section 4.2 (terminating a round)",
        ours=True,
        options=(ALPHA, LEMMA_1, *SUBROUTINES),
        online=True,
        unsupported_reason=_needs_completion,
    ),
    Method(
        "a-maxweight",
        "algorithm",
        Algorithm(_at("algorithms.a_maxweight:a_maxweight")),
        "serves the jobs of one batch whose weight exceeds the cost of their cheapest schedule "
        "under rising prices; normalise=true and placement=exact are ours (E8, E19)",
        "Algorithms 3-7",
        options=SUBROUTINES,
        unsupported_reason=_needs_batch,
    ),
    Method(
        "wspt-list",
        "algorithm",
        _at("heuristics.list_schedules:solve_wspt_list"),
        "list scheduling by weight over least volume, each job at its earliest end",
        "list scheduling",
        ours=True,
        unsupported_reason=_needs_completion,
    ),
    Method(
        "lp-guided",
        "algorithm",
        _at("heuristics.lp_guided:lp_guided"),
        "list scheduling in the order of a linear relaxation, then large neighbourhood search",
        "(8), (9); large neighborhoods",
        ours=True,
        engines=("highs",),
        options=(
            BLOCK,
            Option(
                "moves",
                "int",
                None,
                "moves of the search for each job; 0: no search; default: 150, or as time allows",
                least=0,
            ),
        ),
        unsupported_reason=_needs_completion,
    ),
    # the paper's baselines
    Method(
        "fifo",
        "baseline",
        _in_time("baselines.fifo:fifo"),
        "first come, first served, all jobs with the same number of workers; no backfilling",
        "Section 7, (i); completed by us",
        options=(WORKERS,),
        online=True,
        unsupported_reason=_needs_completion,
    ),
    Method(
        "drf",
        "baseline",
        _in_time("baselines.drf:drf"),
        "dominant resource fairness: workers by max-min fair dominant shares of the waiting jobs",
        "Section 7, (ii); completed by us",
        online=True,
        unsupported_reason=_needs_completion,
    ),
    Method(
        "antman",
        "baseline",
        _at("baselines.antman:solve_antman"),
        "guaranteed jobs displace opportunistic ones (preemptive)",
        "Section 7, (iii); completed by us",
        options=(
            Option(
                "patience",
                "int",
                8,
                "slots of waiting after which a job loses its guarantee",
                least=1,
            ),
            RESTART,
        ),
        online=True,
        seeded=True,
        unsupported_reason=_needs_completion,
    ),
    Method(
        "tiresias",
        "baseline",
        _in_time("baselines.tiresias:tiresias"),
        "least remaining slots x resources first (preemptive)",
        "Section 7, (iv); completed by us",
        options=(RESTART,),
        online=True,
        unsupported_reason=_needs_completion,
    ),
    Method(
        "deadline-greedy",
        "baseline",
        Algorithm(_at("baselines.deadline_greedy:deadline_greedy")),
        "jobs of a batch by weight over least volume, each as late as possible",
        "Section 7, Fig. 8; completed by us",
        unsupported_reason=_needs_batch,
    ),
    Method(
        "a-online-fixed-type",
        "baseline",
        _at("baselines.a_online_fixed_type:a_online_fixed_type"),
        "a-online with one worker type for all jobs",
        "Section 7, Fig. 9",
        options=(
            Option("worker_type", "int", 1, "its position in the list of worker types", least=1),
        ),
        online=True,
        unsupported_reason=_needs_completion,
    ),
    Method(
        "a-online-fixed-number",
        "baseline",
        _at("baselines.a_online_fixed_number:a_online_fixed_number"),
        "a-online with one number of workers for all jobs",
        "Section 7, Fig. 10",
        options=(WORKERS,),
        online=True,
        unsupported_reason=_needs_completion,
    ),
)
ALIASES = {
    "price-and-enumerate": "exact",
    "paper": "paper-milp",
    "lp": "schedule-lp",
    "no-contention": "job-alone",
    "volume": "job-alone",  # retired: nowhere better
}


def suite() -> list[Instance]:
    """Return the toy instance, random instances of both architectures, and a batch problem."""
    from schedgap.instances.generate import generate  # with all readers of traces

    ring = {"architecture": "ring_allreduce"}
    return [
        generate("elastic", preset="toy"),
        generate("elastic", preset="toy-batch"),
        generate("elastic", preset="small", seed=1),
        generate("elastic", preset="small", seed=2, settings=ring),
    ]
