"""The methods of family `dmlrs`, its programs to export, and its small instances: one table."""

from collections.abc import Callable, Mapping
from typing import Any

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.instances.instance import Instance
from schedgap.models.dmlrs.utility_units import in_units
from schedgap.models.method import Algorithm, Lazy, Method, Option


def _at(name: str) -> Lazy:
    """Return a function of this family, by `module:function`."""
    return Lazy(f"schedgap.models.dmlrs.{name}")


_MAX_COLUMNS = Option(
    "max_columns", "int", 100_000, "give up when the program has more columns", least=1
)
_MAX_FLUID_COLUMNS = Option(
    "max_columns", "int", 500_000, "give up when the program has more columns", least=1
)
_SYMMETRY = Option("symmetry", "bool", True, "put equal machines, and equal jobs, in order")
_CUTS = Option("cuts", "bool", True, "add rows that only tighten the relaxation")
_PD_ORS = (
    Option(
        "prices", "choice", None,
        "U and L as the file declares them, of the jobs seen, or of all jobs, which is not online; "
        "else declared if they are, or running",
        choices=("declared", "running", "oracle"),
    ),
    Option("price_floor", "float", 0.0, "L is at least this", least=0, most=1e12),
    Option(
        "dp", "choice", "grid", "Algorithm 3: exact, on a grid, or in quanta of samples",
        choices=("exact", "grid", "literal"),
    ),
    Option("quantum", "int", None, "samples, with dp=literal; else V / 2000", least=1),
    Option("grid", "int", 2000, "parts of the work, with dp=grid", least=1, most=100_000),
    Option("literal_13", "bool", False, "(13) as printed: the duration less the arrival"),
)  # fmt: skip
_ROUNDING = (
    Option(
        "gain", "float", "one", "G_delta before the rounding: a number, or one that favors rows",
        choices=("one", "packing", "cover"), least=0.01, most=100,
    ),
    Option("delta", "float", 1.0, "how often the rounding may fail", least=1e-9, most=1),
    Option("rounds", "int", 20, "S, draws for each number of workers", least=1, most=10_000),
    Option("ps_row", "bool", True, "a row for PSs in (23)-(26); as printed there is none"),
)  # fmt: skip
_MIP = ("highs", "gurobi")
_EVALUATION = "Numerical results; completed by us"

METHODS: tuple[Method, ...] = (
    # exact
    Method(
        "exact",
        "exact",
        in_units(_at("exact.exact:exact"), again=True),
        "rents by patterns of machines; a program over the little that they leave",
        "(2)-(7)",
        ours=True,
        engines=("highs",),
        options=(_MAX_COLUMNS,),
        seeded=True,
    ),
    Method(
        "milp-machine",
        "exact",
        in_units(_at("exact.solve_programs:milp_machine"), again=True),
        "the paper's program made linear, by machine",
        "(2)-(7)",
        engines=_MIP,
        options=(_SYMMETRY, _CUTS, _MAX_COLUMNS),
        seeded=True,
    ),
    Method(
        "milp-onehot",
        "exact",
        in_units(_at("exact.solve_programs:milp_onehot"), again=True),
        "the number of workers as one choice: no big M",
        "(2)-(7)",
        ours=True,
        engines=_MIP,
        options=(_SYMMETRY, _CUTS, _MAX_COLUMNS),
        seeded=True,
    ),
    Method(
        "cp-sat",
        "exact",
        in_units(_at("exact.solve_programs:cp_sat"), again=True),
        "whole numbers throughout: (2), (3) and (5) without tolerance",
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
        in_units(_at("exact.solve_programs:lbbd"), again=True),
        "all machines as one, slots packed in turn; what fits in none is cut off",
        "(2)-(7)",
        ours=True,
        engines=_MIP,
        options=(_MAX_COLUMNS,),
        seeded=True,
    ),
    # bounds
    Method(
        "fluid-lp",
        "bound",
        in_units(_at("bounds.solve_relaxations:fluid_lp")),
        "all machines as one, workers divisible; prices judged by whole bundles",
        "(3)-(7), (10), (11)",
        ours=True,
        engines=("highs",),
        options=(_MAX_FLUID_COLUMNS,),
    ),
    Method(
        "fluid-lp-disaggregated",
        "bound",
        in_units(_at("bounds.solve_relaxations:fluid_lp_disaggregated")),
        "the same with parts of its own for each slot of completion; short horizons",
        "(3)-(7), (10), (11)",
        ours=True,
        engines=("highs",),
        options=(_MAX_FLUID_COLUMNS,),
    ),
    Method(
        "colgen",
        "bound",
        in_units(_at("bounds.solve_relaxations:colgen")),
        "(8), (9) by columns of whole bundles, all machines as one",
        "(8)-(11), (15)",
        ours=True,
        engines=("highs",),
        options=(
            Option(
                "grid", "int", 3000, "parts of the work, progress rounded up", least=1, most=100_000
            ),
        ),
    ),
    Method(
        "job-alone",
        "bound",
        in_units(_at("bounds.job_alone:job_alone")),
        "every job alone at its soonest",
        "(3)-(7)",
        ours=True,
    ),
    Method(
        "dual-online",
        "bound",
        _at("bounds.solve_duals:dual_online"),
        "the bound that the last prices of pd-ors prove, at full capacity",
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
                "the run whose prices are taken",
                choices=("pd-ors", "pd-ors-hull", "pd-ors-greedy", "oasis"),
            ),
        ),
        seeded=True,
    ),
    Method(
        "dual-10",
        "bound",
        _at("bounds.solve_duals:dual_10"),
        "(10), (11) with a row for every schedule; tiny instances, for teaching",
        "(10), (11)",
        ours=True,
        engines=_MIP,
    ),
    # the paper's algorithm, and ours
    Method(
        "pd-ors",
        "algorithm",
        _at("algorithms.solve_pd_ors:as_printed"),
        "admit a job if its utility exceeds its cheapest schedule's price; rounded at random",
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
        "pd-ors with each machine's whole numbers in (23)-(26): few draws fail",
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
        "pd-ors with workers put on the cheapest machines one by one; no engine",
        "Algorithms 1-4",
        ours=True,
        options=_PD_ORS,
        online=True,
    ),
    Method(
        "density",
        "algorithm",
        in_units(_at("heuristics.density:density")),
        "all jobs known: the most utility for its part of the cluster first, each at its soonest",
        "(2)-(7)",
        ours=True,
    ),
    Method(
        "colgen-heuristic",
        "algorithm",
        in_units(_at("heuristics.colgen_heuristic:colgen_heuristic")),
        "all jobs known: columns, an integer program over them, and large neighborhoods",
        "(2)-(9)",
        ours=True,
        engines=("highs",),
        options=(
            Option("grid", "int", 400, "parts of the work, for columns", least=1, most=100_000),
            Option(
                "moves",
                "int",
                None,
                "of the last search, at most (default: 2000, then twice as many each time, until "
                "time is up or two such rounds find nothing better)",
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
        "jobs by arrival, each with as many workers as it can use",
        _EVALUATION,
        options=(
            Option("fifo_workers", "int", None, "most workers of a job; else its batch", least=1),
            Option("strict", "bool", False, "a job that gets nothing keeps later ones waiting"),
        ),
        online=True,
    ),
    Method(
        "drf",
        "baseline",
        Algorithm(_at("baselines.drf:drf")),
        "workers one by one to the job of the least dominant share",
        _EVALUATION,
        online=True,
    ),
    Method(
        "dorm",
        "baseline",
        _at("baselines.dorm:run_dorm"),
        "at each arrival and completion the placement of the highest utilization",
        _EVALUATION,
        engines=("highs",),
        options=(
            Option("theta_f", "float", 0.1, "unfairness for each resource", least=0, most=1e6),
            Option("theta_a", "float", 0.2, "part of the jobs that may change", least=0, most=1),
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
            Option("worker_share", "float", 0.5, "part of machines for workers", least=0, most=1),
            Option(
                "prices",
                "choice",
                None,
                "U and L: declared in the file, else running; oracle knows all jobs",
                choices=("declared", "running", "oracle"),
            ),
            Option("price_floor", "float", 0.0, "least L of the prices (12)", least=0, most=1e12),
        ),
        online=True,
    ),
)
ALIASES = {
    "pattern-fix": "exact",
    "paper": "milp-machine",
    "lp": "colgen",
    "trivial": "job-alone",
}

PROGRAMS: Mapping[str, Callable[[DmlrsInstance], Any]] = {
    name: _at(f"exact.export:{name.replace('-', '_')}")
    for name in (
        "milp-machine",
        "milp-onehot",
        "fluid-lp",
        "fluid-lp-disaggregated",
        "lbbd",
        "dual-10",
        "sub-15",
        "sub-16",
        "sub-19",
        "sub-22",
        "sub-23",
        "sub-23-relaxed",
    )
}


def suite() -> list[Instance]:
    """Return worked examples and three random instances."""
    from schedgap.instances.generate import generate  # with all readers of traces

    return [
        generate("dmlrs", preset="toy"),
        generate("dmlrs", preset="toy2"),
        generate("dmlrs", preset="small", seed=1),
        generate("dmlrs", preset="small", seed=2),
        generate("dmlrs", preset="small", seed=3),
    ]
