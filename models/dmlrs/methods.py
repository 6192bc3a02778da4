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
    Lazy,
    Method,
    MethodResult,
    Option,
    RunContext,
)
from schedgap.models.program import SolveProgram


def _at(name: str) -> Lazy:
    """Return a function of this family, imported on first use."""
    return Lazy(f"schedgap.models.dmlrs.{name}")


_solved = partial(SolveProgram, initial=_at("heuristics.initial:initial_state"))


def _scaled(
    run: Callable[[DmlrsInstance, RunContext], MethodResult], *, repeat: bool = False
) -> Callable[[DmlrsInstance, RunContext], MethodResult]:
    """Return a method with `utility_scaling.with_scaled_utilities`, imported when it is called."""

    def method(instance: DmlrsInstance, call: RunContext) -> MethodResult:
        wrap = _at("utility_scaling:with_scaled_utilities")
        result: MethodResult = wrap(run, repeat=repeat)(instance, call)
        return result

    return method


_MAX_COLUMNS = Option(
    "max_columns", "int", 100_000, "largest number of columns that is built", least=1
)
_MAX_FLUID_COLUMNS = Option(
    "max_columns", "int", 500_000, "largest number of columns that is built", least=1
)
_SYMMETRY = Option(
    "symmetry", "bool", True, "break the symmetry of equal machines and of equal jobs"
)
_CUTS = Option("cuts", "bool", True, "add valid inequalities that tighten the relaxation")
_PRICES = (
    Option(
        "prices", "choice", None,
        "U and L declared in the file, from the jobs seen so far, or from all jobs (not online); "
        "default: declared if the file has them, otherwise running",
        choices=("declared", "running", "oracle"),
    ),
    Option("price_floor", "float", 0.0, "lower limit on L", least=0, most=1e12),
)  # fmt: skip
_PD_ORS = (
    *_PRICES,
    Option(
        "dp", "choice", "grid", "Algorithm 3: exact, on a grid, or in quanta of samples",
        choices=("exact", "grid", "literal"),
    ),
    Option("quantum", "int", None, "samples per quantum, with dp=literal; else V / 2000", least=1),
    Option(
        "grid", "int", 2000, "number of grid steps of a job's work, with dp=grid",
        least=1, most=100_000,
    ),
    Option("literal_13", "bool", False, "(13) as printed: the duration minus the arrival"),
)  # fmt: skip
_ROUNDING = (
    Option(
        "gain", "float", "one",
        "G_delta before the rounding: a number, or the gain that protects packing or cover rows",
        choices=("one", "packing", "cover"), least=0.01, most=100,
    ),
    Option(
        "delta", "float", 1.0, "probability with which the rounding may fail", least=1e-9, most=1
    ),
    Option("rounds", "int", 20, "S, most draws for each number of workers", least=1, most=10_000),
    Option("ps_row", "bool", True, "a row for PSs in (23)-(26); as printed there is none"),
)  # fmt: skip
_EVALUATION = "Numerical results; completed by us"

METHODS: tuple[Method[DmlrsInstance, DmlrsSchedule], ...] = (
    # exact
    Method(
        "exact",
        "exact",
        _scaled(_at("exact.exact:exact"), repeat=True),
        "column generation over machine configurations, reduced-cost fixing, then programs over "
        "the remaining choices",
        "(2)-(7)",
        ours=True,
        engines=("highs",),
        options=(_MAX_COLUMNS,),
        seeded=True,
    ),
    Method(
        "milp-machine",
        "exact",
        _scaled(_solved(_at("exact.build_programs:milp_machine")), repeat=True),
        "the paper's program, linearised, machine by machine",
        "(2)-(7)",
        engines=MIXED_ENGINES,
        options=(_SYMMETRY, _CUTS, _MAX_COLUMNS),
        seeded=True,
    ),
    Method(
        "cp-sat",
        "exact",
        _scaled(_solved(_at("exact.build_programs:cp_sat")), repeat=True),
        "CP-SAT in whole numbers: (2), (3) and (5) without tolerance",
        "(2)-(7)",
        ours=True,
        engines=("cp-sat",),
        options=(_SYMMETRY, _MAX_COLUMNS),
        seeded=True,
        unsupported_reason=_at("programs.cp_sat:too_large"),
    ),
    Method(
        "lbbd",
        "exact",
        _scaled(_at("exact.build_programs:lbbd"), repeat=True),
        "logic-based Benders decomposition: all machines merged in the master, packing slot by "
        "slot",
        "(2)-(7)",
        ours=True,
        engines=MIXED_ENGINES,
        options=(_MAX_COLUMNS,),
        seeded=True,
    ),
    # bounds
    Method(
        "fluid-lp",
        "bound",
        _scaled(_at("bounds.solve_relaxations:fluid_lp")),
        "all machines merged, divisible workers; the bound is evaluated from the prices with "
        "fractional bundles",
        "(3)-(7), (10), (11)",
        ours=True,
        engines=("highs",),
        options=(_MAX_FLUID_COLUMNS,),
    ),
    Method(
        "fluid-lp-disaggregated",
        "bound",
        _scaled(_at("bounds.solve_relaxations:fluid_lp_disaggregated")),
        "as fluid-lp, disaggregated by slot of completion; short horizons",
        "(3)-(7), (10), (11)",
        ours=True,
        engines=("highs",),
        options=(_MAX_FLUID_COLUMNS,),
    ),
    Method(
        "colgen",
        "bound",
        _scaled(_at("bounds.solve_relaxations:colgen")),
        "(8), (9) by column generation over whole bundles, all machines merged",
        "(8)-(11), (15)",
        ours=True,
        engines=("highs",),
        options=(
            Option(
                "grid",
                "int",
                3000,
                "number of grid steps of a job's work; progress is rounded up",
                least=1,
                most=100_000,
            ),
        ),
    ),
    Method(
        "job-alone",
        "bound",
        _scaled(_at("bounds.job_alone:job_alone")),
        "each job alone on the cluster, completed as early as possible",
        "(3)-(7)",
        ours=True,
    ),
    Method(
        "dual-online",
        "bound",
        _at("bounds.solve_duals:dual_online"),
        "dual bound from the final prices of pd-ors, evaluated at full capacity",
        "(10), (11)",
        ours=True,
        engines=("highs",),
        options=(
            *_PD_ORS,
            *_ROUNDING,
            Option(
                "of",
                "choice",
                "pd-ors",
                "the online run that supplies the prices",
                choices=("pd-ors", "pd-ors-hull", "pd-ors-greedy", "oasis"),
            ),
        ),
        seeded=True,
    ),
    Method(
        "dual-10",
        "bound",
        _at("bounds.solve_duals:dual_10"),
        "the dual (10), (11) with one row for each schedule; tiny instances only, for teaching",
        "(10), (11)",
        ours=True,
        engines=LINEAR_ENGINES,
    ),
    # the paper's algorithm, and ours
    Method(
        "pd-ors",
        "algorithm",
        _at("algorithms.solve_pd_ors:as_printed"),
        "admit a job if its utility exceeds the price of its cheapest schedule; randomised "
        "rounding",
        "Algorithms 1-4",
        engines=("highs",),
        options=_PD_ORS + _ROUNDING,
        online=True,
        seeded=True,
    ),
    Method(
        "pd-ors-hull",
        "algorithm",
        _at("algorithms.solve_pd_ors:with_hulls"),
        "pd-ors with (24) replaced by the integer hull of each machine; fewer draws fail",
        "Algorithms 1-4",
        ours=True,
        engines=("highs",),
        options=_PD_ORS + _ROUNDING,
        online=True,
        seeded=True,
    ),
    Method(
        "pd-ors-greedy",
        "algorithm",
        _at("algorithms.solve_pd_ors:greedily"),
        "pd-ors with workers placed greedily on the cheapest machines; needs no engine",
        "Algorithms 1-4",
        ours=True,
        options=_PD_ORS,
        online=True,
    ),
    Method(
        "lp-rounding",
        "algorithm",
        _at("algorithms.solve_pd_ors:lp_rounding"),
        "pd-ors with its rounding measured: relaxation, rounded cost, integer optimum and failed "
        "draws of the problems (23), in the trace",
        "Algorithm 4, lines 8-11",
        ours=True,
        engines=("highs",),
        options=(
            *_PD_ORS,
            *_ROUNDING,
            Option(
                "one_machine",
                "bool",
                True,
                "options on one machine too, Algorithm 4, lines 2-7; without, every slot is a "
                "rounded solution",
            ),
            Option(
                "problems",
                "int",
                200,
                "most problems (23) that are also solved in integers",
                least=0,
                most=100_000,
            ),
        ),
        online=True,
        seeded=True,
    ),
    Method(
        "density",
        "algorithm",
        _scaled(_at("heuristics.density:density")),
        "offline greedy: jobs by utility per share of the cluster, each completed as early as "
        "possible",
        "(2)-(7)",
        ours=True,
    ),
    Method(
        "colgen-heuristic",
        "algorithm",
        _scaled(_at("heuristics.colgen_heuristic:colgen_heuristic")),
        "offline: column generation, an integer program over the columns, large-neighbourhood "
        "search",
        "(2)-(9)",
        ours=True,
        engines=("highs",),
        options=(
            Option(
                "grid",
                "int",
                400,
                "number of grid steps of a job's work, for columns",
                least=1,
                most=100_000,
            ),
            Option(
                "moves",
                "int",
                None,
                "moves of the last search (default: rounds of 2000 moves, then twice as many each "
                "time, until time is up or two rounds in a row find nothing better)",
                least=1,
            ),
        ),
        seeded=True,
    ),
    # the paper's baselines
    Method(
        "fifo",
        "baseline",
        Algorithm(_at("baselines.fifo:fifo")),
        "first come, first served, each job with as many workers as it can use",
        _EVALUATION,
        options=(
            Option(
                "fifo_workers",
                "int",
                None,
                "largest number of workers of a job; default: its batch",
                least=1,
            ),
            Option(
                "strict",
                "bool",
                False,
                "no backfilling: a job without workers blocks all later jobs",
            ),
        ),
        online=True,
    ),
    Method(
        "drf",
        "baseline",
        Algorithm(_at("baselines.drf:drf")),
        "dominant resource fairness: the next worker goes to the job with the least dominant share",
        _EVALUATION,
        online=True,
    ),
    Method(
        "dorm",
        "baseline",
        _at("baselines.dorm:run_dorm"),
        "a MIP at each arrival and completion: the placement of highest utilisation",
        _EVALUATION,
        engines=("highs",),
        options=(
            Option(
                "theta_f", "float", 0.1, "limit on the unfairness, per resource", least=0, most=1e6
            ),
            Option(
                "theta_a",
                "float",
                0.2,
                "largest share of running jobs whose placement may change",
                least=0,
                most=1,
            ),
            Option(
                "merge",
                "bool",
                True,
                "merge all machines in the program, then place its numbers first-fit; otherwise "
                "the program places them, which takes long on many machines",
            ),
        ),
        online=True,
    ),
    Method(
        "oasis",
        "baseline",
        _at("baselines.oasis:run_oasis"),
        "PD-ORS with workers and parameter servers on different machines",
        _EVALUATION,
        options=(
            Option(
                "worker_share",
                "float",
                0.5,
                "share of the machines that hold workers",
                least=0,
                most=1,
            ),
            *_PRICES,
        ),
        online=True,
    ),
)
ALIASES = {
    "pattern-fix": "exact",
    "milp-onehot": "cp-sat",
    "paper": "milp-machine",
    "lp": "colgen",
    "trivial": "job-alone",
}


def suite() -> list[Instance]:
    """Return the two worked examples and three random instances."""
    from schedgap.instances.generate import generate  # with all readers of traces

    return [
        generate("dmlrs", preset="toy"),
        generate("dmlrs", preset="toy2"),
        generate("dmlrs", preset="small", seed=1),
        generate("dmlrs", preset="small", seed=2),
        generate("dmlrs", preset="small", seed=3),
    ]
