"""The methods, exportable programs and small instances of family `dmlrs`, as one table."""

from collections.abc import Callable
from functools import partial

from schedgap.instances.dmlrs import DmlrsInstance, DmlrsSchedule
from schedgap.instances.instance import Instance
from schedgap.models.dmlrs.programs.table import PROGRAMS as PROGRAMS
from schedgap.models.method import (
    LINEAR_ENGINES,
    MIXED_ENGINES,
    Algorithm,
    Keywords,
    Lazy,
    Method,
    MethodResult,
    Within,
)
from schedgap.models.program import SolveProgram


def _at(name: str) -> Lazy:
    """Return a function of this family, imported on first use."""
    return Lazy(f"schedgap.models.dmlrs.{name}")


def _scaled(
    function: str | Callable[..., MethodResult[DmlrsSchedule]], *, repeat: bool = False
) -> Within[DmlrsInstance, DmlrsSchedule]:
    """Return how a function of this family runs on scaled utilities."""
    outer = partial(_at("utility_scaling:with_scaled_utilities"), repeat=repeat)
    return Within(outer, _at(function) if isinstance(function, str) else function)


_exact = partial(_scaled, repeat=True)
_solved = partial(SolveProgram, initial=_at("bounds.solve_relaxations:initial_state"))
_run_pd_ors = _at("algorithms.solve_pd_ors:run_pd_ors")
_PD_ORS = _at("algorithms.pd_ors:pd_ors")  # this entry declares the options of `pd-ors`
_PD_ORS_GREEDY = partial(_PD_ORS, gain=None, delta=None, rounds=None, ps_row=None)  # not these
_KERNEL = "schedgap.models.dmlrs.heuristics.kernel:KERNEL"
_PRICING = "schedgap.models.dmlrs.bounds.kernel:PRICING"
_EVALUATION = "Numerical results; completed by us"

METHODS: tuple[Method[DmlrsInstance, DmlrsSchedule], ...] = (
    # exact
    Method("exact", "exact", _exact("exact.exact:exact"),
           "schedules by columns and neighbourhoods, better ones by CP-SAT (HiGHS if it is not "
           "installed) with slots packed in turn, then refutation",
           "(2)-(7)", ours=True, engines=("highs",), child_engines=("cp-sat",), seeded=True,
           kernels=(_KERNEL, _PRICING)),
    Method("milp-machine", "exact", _exact(_solved(_at("exact.build_programs:milp_machine"))),
           "the paper's program, linearised, machine by machine",
           "(2)-(7)", engines=MIXED_ENGINES, seeded=True),
    Method("lbbd", "exact", _exact("exact.build_programs:lbbd"),
           "logic-based Benders decomposition: better and better schedules with all machines "
           "merged, slots packed in turn",
           "(2)-(7)", ours=True, engines=("cp-sat", *LINEAR_ENGINES), seeded=True,
           kernels=(_KERNEL,)),
    # bounds
    Method("fluid-lp", "bound", _scaled("bounds.solve_relaxations:fluid_lp"),
           "all machines merged, divisible workers; the bound is evaluated from the prices with "
           "fractional bundles",
           "(3)-(7), (10), (11)", ours=True, engines=("highs",)),
    Method("colgen", "bound", _scaled("bounds.solve_relaxations:colgen"),
           "(8), (9) by column generation over whole bundles, all machines merged",
           "(8)-(11), (15)", ours=True, engines=("highs",)),
    Method("job-alone", "bound", _scaled("bounds.job_alone:job_alone"),
           "each job alone on the cluster, completed as early as possible",
           "(3)-(7)", ours=True),
    Method("dual-online", "bound", _at("bounds.solve_duals:dual_online"),
           "dual bound from the final prices of pd-ors, evaluated at full capacity",
           "(10), (11)", ours=True, engines=("highs",), seeded=True,
           options=Keywords(_PD_ORS, _at("bounds.solve_duals:dual_online"))),
    Method("dual-10", "bound", _at("bounds.solve_duals:dual_10"),
           "the dual (10), (11) with one row for each schedule; tiny instances only, for teaching",
           "(10), (11)", ours=True, engines=LINEAR_ENGINES),
    # the paper's algorithm, and ours
    Method("pd-ors", "algorithm", _run_pd_ors,
           "admit a job if its utility exceeds the price of its cheapest schedule; randomised "
           "rounding",
           "Algorithms 1-4", engines=("highs",), options=Keywords(_PD_ORS), online=True,
           seeded=True),
    Method("pd-ors-hull", "algorithm", partial(_run_pd_ors, across="round-hull"),
           "pd-ors with (24) replaced by the integer hull of each machine; fewer draws fail",
           "Algorithms 1-4", ours=True, engines=("highs",), options=Keywords(_PD_ORS),
           online=True, seeded=True),
    Method("pd-ors-greedy", "algorithm", partial(_run_pd_ors, across="greedy"),
           "pd-ors with workers placed greedily on the cheapest machines; needs no engine",
           "Algorithms 1-4", ours=True, options=Keywords(_PD_ORS_GREEDY), online=True),
    Method("lp-rounding", "algorithm", _at("algorithms.solve_pd_ors:lp_rounding"),
           "pd-ors with its rounding measured: relaxation, rounded cost, integer optimum and "
           "failed draws of the problems (23), in the trace",
           "Algorithm 4, lines 8-11", ours=True, engines=("highs",),
           options=Keywords(_PD_ORS, _at("algorithms.lp_rounding:lp_rounding")), online=True,
           seeded=True),
    Method("density", "algorithm", _scaled("heuristics.search_stages:density"),
           "offline greedy: jobs by utility per share of the cluster, each completed as early as "
           "possible",
           "(2)-(7)", ours=True, kernels=(_KERNEL,)),
    Method("colgen-heuristic", "algorithm",
           _scaled("heuristics.colgen_heuristic:colgen_heuristic"),
           "offline: column generation for prices, large-neighbourhood search at these prices",
           "(2)-(9)", ours=True, engines=("highs",), seeded=True, kernels=(_KERNEL,)),
    # the paper's baselines
    Method("fifo", "baseline", Algorithm(_at("baselines.fifo:fifo")),
           "first come, first served, each job with as many workers as it can use",
           _EVALUATION, online=True),
    Method("drf", "baseline", Algorithm(_at("baselines.drf:drf")),
           "dominant resource fairness: the next worker goes to the job with the least dominant "
           "share",
           _EVALUATION, online=True),
    Method("dorm", "baseline", _at("baselines.dorm:run_dorm"),
           "a MIP at each arrival and completion: the placement of highest utilisation",
           _EVALUATION, engines=("highs",), online=True),
    Method("oasis", "baseline", _at("baselines.oasis:run_oasis"),
           "PD-ORS with workers and parameter servers on different machines",
           _EVALUATION, options=Keywords(_at("baselines.oasis:oasis")), online=True),
)  # fmt: skip
ALIASES = {
    "pattern-fix": "exact",
    "cp-sat": "lbbd",
    "milp-onehot": "lbbd",
    "paper": "milp-machine",
    "lp": "colgen",
    "fluid-lp-disaggregated": "fluid-lp",
    "trivial": "job-alone",
}


def suite() -> list[Instance]:
    """Return the two worked examples and three random instances."""
    from schedgap.instances.generate import generate  # late import: loads all readers of traces

    return [
        generate("dmlrs", preset="toy"),
        generate("dmlrs", preset="toy2"),
        generate("dmlrs", preset="small", seed=1),
        generate("dmlrs", preset="small", seed=2),
        generate("dmlrs", preset="small", seed=3),
    ]
