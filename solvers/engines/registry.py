"""The engines by name: of this package, registered at run time, and of other packages."""

import warnings
from collections.abc import Iterator, Mapping
from functools import cached_property

from schedgap.errors import EngineWarning, UsageError, choices
from schedgap.solvers.children.worker import PRELOAD
from schedgap.solvers.engines.engine import Engine

GROUP = "schedgap.engines"  # entry points of other packages, such as `brute = "brute_force:ENGINE"`

_LEAST_HIGHS = {"mip_feasibility_tolerance": 1e-9, "primal_feasibility_tolerance": 1e-9}
_LEAST_GUROBI = {"FeasibilityTol": 1e-9, "IntFeasTol": 1e-9}
_LEAST_SCIP = {"numerics/feastol": 1e-9, "numerics/dualfeastol": 1e-9}
_PLAIN_SCIP = {"presolving/maxrounds": 0, "presolving/maxrestarts": 0}
_AGAIN, _AGAIN_LEAST = "without presolve", "without presolve at the least tolerance"

# The usual tolerances are far from 1e-6 and 1e-9, at which the presolve of HiGHS 1.15.1 has missed
# optima. HiGHS and CP-SAT contain two versions of one shared library: the one that is loaded second
# fails, or silently uses the other version.
BUILT_IN = (
    Engine(
        "highs",
        "HiGHS",
        package="highspy",
        module="highspy",
        takes=("linear", "mixed-integer"),
        solve="schedgap.solvers.engines.highs:solve_request",
        controlled=("threads", "parallel", "random_seed", "time_limit", "log_file", "output_flag"),
        library="highspy._core",
        conflicts="ortools.sat",
        usual={"mip_feasibility_tolerance": 1e-7},
        least=_LEAST_HIGHS,
        repeats=((_AGAIN, {"presolve": "off"}), (_AGAIN_LEAST, {"presolve": "off"} | _LEAST_HIGHS)),
    ),
    Engine(
        "gurobi",
        "Gurobi",
        package="gurobipy",
        module="gurobipy",
        takes=("linear", "mixed-integer", "quadratic"),
        solve="schedgap.solvers.engines.gurobi:solve_request",
        controlled=("Threads", "Seed", "TimeLimit", "LogFile", "OutputFlag", "ResultFile"),
        extra="gurobi",
        usual={"FeasibilityTol": 1e-7, "IntFeasTol": 1e-7},
        least=_LEAST_GUROBI,
        repeats=((_AGAIN, {"Presolve": 0}), (_AGAIN_LEAST, {"Presolve": 0} | _LEAST_GUROBI)),
    ),
    Engine(
        "scip",
        "SCIP",
        package="pyscipopt",
        module="pyscipopt",
        takes=("linear", "mixed-integer"),
        solve="schedgap.solvers.engines.scip:solve_request",
        controlled=("limits/time", "randomization/randomseedshift", "display/verblevel"),
        extra="scip",
        max_threads=1,
        usual={"numerics/feastol": 1e-7},
        least=_LEAST_SCIP,
        repeats=((_AGAIN, _PLAIN_SCIP), (_AGAIN_LEAST, _PLAIN_SCIP | _LEAST_SCIP)),
    ),
    Engine(
        "cp-sat",
        "CP-SAT",
        package="ortools",
        module="ortools.sat.python.cp_model",
        takes=("mixed-integer", "constraint"),
        solve="schedgap.solvers.engines.cp_sat:solve_request",
        controlled=("num_workers", "num_search_workers", "random_seed", "max_time_in_seconds"),
        extra="cp-sat",
        library="ortools.sat.python.cp_model_helper",
        conflicts="highspy._core",
        own_models="ortools",
        solve_own="schedgap.solvers.engines.cp_sat:solve_model",
        repeats=(
            (_AGAIN, {"cp_model_presolve": False}),
            (f"{_AGAIN}, with another seed", {"cp_model_presolve": False}),
        ),
    ),
    Engine(
        "clarabel",
        "Clarabel",
        package="cvxpy",
        module="cvxpy",
        takes=("conic",),
        extra="convex",
        own_models="cvxpy",
        solve_own="schedgap.solvers.engines.convex:solve_problem",
    ),
)


class Engines(Mapping[str, Engine]):
    """The known engines by name; an engine of another package never replaces one of this one."""

    def __init__(self, built_in: tuple[Engine, ...]) -> None:
        self._known: dict[str, Engine] = {}
        for engine in built_in:
            self.add(engine)

    @cached_property
    def _installed(self) -> dict[str, Engine]:
        """The engines of other packages; a broken one is left out with a warning."""
        from importlib.metadata import entry_points

        found: dict[str, Engine] = {}
        for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
            package = point.value if point.dist is None else point.dist.name
            try:
                engine = point.load()
                if not isinstance(engine, Engine):
                    fault = f"{point.value} is of type {type(engine).__name__}, not Engine"
                elif not (fault := engine.fault() or "") and engine.name != point.name:
                    fault = f"its name is '{engine.name}'"
                elif not fault and engine.name in {**self._known, **found}:
                    fault = "there is another engine of this name"
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001 - code of another package
                fault = f"{type(error).__name__}: {error}"
            if fault:
                text = f"engine {point.name} of package {package} is left out: {fault}"
                warnings.warn(text, EngineWarning, stacklevel=2)
            else:
                found[point.name] = engine
                PRELOAD[point.name] = engine.module
        return found

    def __getitem__(self, name: str) -> Engine:
        return self._known[name] if name in self._known else self._installed[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self._known or name in self._installed)

    def __iter__(self) -> Iterator[str]:
        return iter({**self._known, **self._installed})

    def __len__(self) -> int:
        return len({**self._known, **self._installed})

    def is_outside(self, name: str) -> bool:
        """Return whether another package provides an engine."""
        return name not in self._known and name in self._installed

    def add(self, engine: Engine) -> None:
        """Add an engine in this process; child processes do not know it."""
        self._known[engine.name] = engine
        PRELOAD[engine.name] = engine.module

    def remove(self, name: str) -> None:
        """Remove an engine that was added."""
        self._known.pop(name, None)


ENGINES = Engines(BUILT_IN)


def find_engine(name: str) -> Engine:
    """Return an engine.

    Raises
    ------
    UsageError
        If there is no such engine.
    """
    if name not in ENGINES:
        raise UsageError(f"no engine '{name}': {choices(name, ENGINES)}")
    return ENGINES[name]
