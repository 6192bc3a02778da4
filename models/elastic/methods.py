"""Methods of family `elastic`, its programs for export and its test suite of small instances."""

from collections.abc import Callable
from functools import partial
from typing import Any

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.instances.instance import Instance
from schedgap.models.elastic.programs.table import PROGRAMS as PROGRAMS
from schedgap.models.method import LINEAR_ENGINES, Algorithm, Keywords, Lazy, Method, Within
from schedgap.models.program import SolveProgram


def _at(name: str) -> Lazy:
    """Return a reference to a function of this family, given as `module:function`."""
    return Lazy(f"schedgap.models.elastic.{name}")


def _in_time(name: str) -> Within[ElasticInstance, ElasticSchedule]:
    """Return how an algorithm runs that ignores a closed horizon."""
    return Within(_at("algorithms.closed_horizon:run_within_horizon"), _at(name))


def _scaled(function: Callable[..., Any]) -> Within[ElasticInstance, ElasticSchedule]:
    """Return how a function runs on weights of a larger magnitude."""
    return Within(_at("programs.weights:on_scaled_weights"), function)


def _solved(name: str) -> Within[ElasticInstance, ElasticSchedule]:
    """Return how a program is solved, on weights of a larger magnitude."""
    return _scaled(SolveProgram(
        _at(f"exact.build_programs:{name}"),
        initial=_at("heuristics.initial:initial_state"),
        engine_options=_at("exact.build_programs:engine_options"),
    ))  # fmt: skip


def _needs_completion(instance: ElasticInstance) -> str | None:
    """Return why a batch problem is refused."""
    return "needs objective weighted_completion" if instance.is_batch else None


def _needs_batch(instance: ElasticInstance) -> str | None:
    """Return why a problem that is not a batch problem is refused."""
    return None if instance.is_batch else "needs objective scheduled_weight"


# Passed as arguments: the paper's algorithms import no bounds, and bounds no heuristics.
_WEIGHT_BOUND = _at("bounds.dual_prices:weight_bound")
_STARTING_SCHEDULE = _at("heuristics.initial:starting_schedule")

_KERNEL = "schedgap.models.elastic.heuristics.kernel:KERNEL"
_PRICING = "schedgap.models.elastic.bounds.kernel:PRICING"
_A_ONLINE = _at("algorithms.a_online:a_online")  # declares the options
_solve_a_online = partial(_at("algorithms.a_online:solve_a_online"), weight_bound=_WEIGHT_BOUND)
_method = partial(Method, unsupported_reason=_needs_completion)
_batch_method = partial(Method, unsupported_reason=_needs_batch)

METHODS: tuple[Method[ElasticInstance, ElasticSchedule], ...] = (
    # exact
    Method("exact", "exact", _scaled(_at("exact.exact:exact")),
           "lists, CP-SAT, then branch and cut that refutes all better values; prices drop most "
           "runs",
           "(8), (9)", ours=True, engines=("highs", "cp-sat"), runs_children=True, seeded=True,
           kernels=(_KERNEL, _PRICING)),
    Method("cp-sat", "exact", _solved("cp_sat"),
           "one interval for each job, with a variable demand on each server",
           "(2), (7)", ours=True, engines=("cp-sat",), seeded=True),
    Method("compact-exponential", "exact", _solved("compact_exponential"),
           "the paper's compact-exponential program: one column for each run of each job",
           "(8), (17)", engines=("cp-sat", "highs", "gurobi", "scip"), seeded=True),
    Method("paper-milp", "exact", _solved("paper_milp"),
           "the paper's program, linearised: modes for the rates, big-M rows for running jobs",
           "(2), (15); (7), (16)", engines=LINEAR_ENGINES, seeded=True),
    Method("paper-miqcp", "exact", _solved("paper_miqcp"),
           "the paper's program with its products as printed; tiny instances, for teaching",
           "(2), (15); (7), (16)", engines=("gurobi",), seeded=True),
    # bounds
    Method("schedule-lp", "bound",
           partial(_at("bounds.solve_relaxations:schedule_lp_bound"),
                   starting_schedule=_STARTING_SCHEDULE),
           "linear relaxation over all runs of all jobs by column generation; prices by slot, "
           "resource, and server or pool of equal ones",
           "(8), (9)", ours=True, engines=("highs",), kernels=(_KERNEL,)),
    Method("configuration-lp", "bound", _at("bounds.solve_relaxations:configuration_lp_bound"),
           "servers filled by whole configurations of workers and PSs; prices by block of slots; "
           "for full scale",
           "(8), (9)", ours=True, engines=("highs",), kernels=(_PRICING,)),
    Method("dual-lp", "bound",
           partial(_at("bounds.solve_relaxations:dual_lp_bound"),
                   starting_schedule=_STARTING_SCHEDULE),
           "the dual program with a row for every run; small instances",
           "(9), (18)", engines=LINEAR_ENGINES),
    Method("job-alone", "bound", _at("bounds.job_alone:job_alone_bound"),
           "each job by itself in its fastest mode", "(2f), (2j)", ours=True),
    # the paper's algorithms, and ours
    _method("a-online", "algorithm", _solve_a_online,
            "batches at doubling times, admitted by rising prices and served in a later window; "
            "the defaults normalise=true and placement=exact are ours (E8, E19)",
            "Algorithms 1-7", options=Keywords(_A_ONLINE), online=True),
    _method("a-online-compact", "algorithm", partial(_solve_a_online, compact=True),
            "a-online without idle windows: a batch starts when the one before has ended",
            "Algorithms 1-7, Section 4.2 (terminating a round)", ours=True,
            options=Keywords(partial(_A_ONLINE, compact=True, batch="by")), online=True),
    _batch_method("a-maxweight", "algorithm", Algorithm(_at("algorithms.a_maxweight:a_maxweight")),
                  "serves the jobs of one batch whose weight exceeds the cost of their cheapest "
                  "schedule under rising prices; normalise=true and placement=exact are ours "
                  "(E8, E19)",
                  "Algorithms 3-7"),
    _method("wspt-list", "algorithm", _at("heuristics.list_schedules:wspt_list"),
            "list scheduling by weight over least volume, each job at its earliest end",
            "list scheduling", ours=True, kernels=(_KERNEL,)),
    Method("lp-guided", "algorithm", _at("heuristics.lp_guided:lp_guided"),
           "list scheduling in the order of a linear relaxation, then large neighbourhood search",
           "(8), (9); large neighborhoods", ours=True, engines=("highs",),
           kernels=(_KERNEL, _PRICING)),
    # the paper's baselines
    _method("fifo", "baseline", _in_time("baselines.fifo:fifo"),
            "first come, first served, all jobs with the same number of workers; no backfilling",
            "Section 7, (i); completed by us", online=True),
    _method("drf", "baseline", _in_time("baselines.drf:drf"),
            "dominant resource fairness: workers by max-min fair dominant shares of the waiting "
            "jobs",
            "Section 7, (ii); completed by us", online=True),
    _method("antman", "baseline", _at("baselines.antman:solve_antman"),
            "guaranteed jobs displace opportunistic ones (preemptive)",
            "Section 7, (iii); completed by us",
            options=Keywords(_at("baselines.antman:antman")), online=True, seeded=True),
    _method("tiresias", "baseline", _in_time("baselines.tiresias:tiresias"),
            "least remaining slots x resources first (preemptive)",
            "Section 7, (iv); completed by us", online=True),
    _batch_method("deadline-greedy", "baseline",
                  Algorithm(_at("baselines.deadline_greedy:deadline_greedy")),
                  "jobs of a batch by weight over least volume, each as late as possible",
                  "Section 7, Fig. 8; completed by us"),
    _method("a-online-fixed-type", "baseline",
            _at("baselines.a_online_fixed:a_online_fixed_type"),
            "a-online with one worker type for all jobs", "Section 7, Fig. 9", online=True),
    _method("a-online-fixed-number", "baseline",
            _at("baselines.a_online_fixed:a_online_fixed_number"),
            "a-online with one number of workers for all jobs", "Section 7, Fig. 10", online=True),
)  # fmt: skip
ALIASES = {
    "price-and-enumerate": "exact",
    "paper": "paper-milp",
    "time-indexed": "compact-exponential",
    "lp": "schedule-lp",
    "dual-prices": "schedule-lp",
    "pooled-lp": "schedule-lp",
    "pooled-lp-coarse": "configuration-lp",
    "no-contention": "job-alone",
    "volume": "job-alone",
}


def suite() -> list[Instance]:
    """Return the toy instance, random instances of both architectures, and a batch problem."""
    from schedgap.instances.generate import generate  # late import: loads all readers of traces

    ring = {"architecture": "ring_allreduce"}
    return [
        generate("elastic", preset="toy"),
        generate("elastic", preset="toy-batch"),
        generate("elastic", preset="small", seed=1),
        generate("elastic", preset="small", seed=2, settings=ring),
    ]
