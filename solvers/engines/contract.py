"""What every engine of linear or mixed-integer programs must do, as clauses that can be run.

`check_engine` runs all clauses, each in a child process, and is meant for authors of engines. The
programs are small, except those that must be stopped.
"""

import math
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from schedgap.errors import UsageError
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.children.processes import run_child
from schedgap.solvers.engines.availability import require
from schedgap.solvers.engines.engine import Engine
from schedgap.solvers.engines.registry import ENGINES, find_engine
from schedgap.solvers.engines.results import STATISTICS, EngineResult
from schedgap.solvers.engines.solve import solve
from schedgap.solvers.programs.arrays import Floats, LinearProgram, safe_bound

INF = math.inf
_SECONDS = 60.0  # limit of a clause
_STOPPED = 0.6  # limit of a search that must be stopped
_LATE = 5.0  # seconds after which a stopped search must have ended
_NEAR = 1e-6


def _program(*parts: Any, offset: float = 0.0) -> LinearProgram:
    """Return a program given by lists or arrays of any numbers."""
    return replace(LinearProgram(*parts), offset=offset)


def _linear() -> LinearProgram:
    """Return min 1 - 3 x - 2 y, x + y <= 4, x + 3 y <= 6, x <= 3, y <= 9: -10 at (3, 1)."""
    return _program([-3, -2], [0, 0], [3, 9], [[1, 1], [1, 3]], [-INF, -INF], [4, 6], offset=1)


def _knapsack() -> LinearProgram:
    """Return a knapsack of size 7: items 1 and 2 are worth 23, all other choices less."""
    return _program(
        [-10, -13, -7, -8], [0] * 4, [1] * 4, [[3, 4, 2, 3]], [-INF], [7], [True] * 4, offset=1
    )


def _packing() -> LinearProgram:
    """Return a packing of 14 items under 6 limits, which most engines solve by branching."""
    random = np.random.default_rng(7)
    matrix = random.integers(1, 60, (6, 14))
    cost, sides = -random.integers(20, 60, 14), matrix.sum(1) // 2
    whole = np.ones(14, dtype=bool)
    return _program(cost, np.zeros(14), np.ones(14), matrix, np.full(6, -INF), sides, whole)


def long_program() -> LinearProgram:
    """Return a program with many solutions, whose optimum is hard to prove."""
    random = np.random.default_rng(0)
    matrix = random.integers(1, 100, (40, 90))
    cost, sides = -random.integers(50, 100, 90), matrix.sum(1) // 2
    whole = np.ones(90, dtype=bool)
    return _program(cost, np.zeros(90), np.ones(90), matrix, np.full(40, -INF), sides, whole)


def random_program(seed: int) -> LinearProgram:
    """Return up to five integers in small boxes and up to four rows; often infeasible.

    `seed`: random seed.
    """
    random = np.random.default_rng(seed)
    columns, rows = int(random.integers(2, 6)), int(random.integers(1, 5))
    matrix = random.integers(-4, 7, (rows, columns)) * (random.random((rows, columns)) < 0.8)
    low = random.integers(-2, 3, columns)
    middle = matrix @ (low + random.integers(0, 4, columns)) + random.integers(-1, 2, rows)
    return _program(
        random.integers(-9, 10, columns),
        low,
        low + random.integers(0, 4, columns),
        matrix,
        np.where(random.random(rows) < 0.5, -INF, middle - random.integers(0, 4, rows)),
        np.where(random.random(rows) < 0.3, INF, middle + random.integers(0, 4, rows)),
        np.ones(columns, dtype=bool),
        offset=float(random.integers(-3, 4)),
    )


def enumerated(program: LinearProgram) -> float | None:
    """Return the optimum over all integer points of a box, None if no point is feasible.

    `program`: a program of few integer columns with finite bounds.
    """
    sides = [range(int(a), int(b) + 1) for a, b in zip(program.lower, program.upper, strict=True)]
    points = np.array(list(product(*sides)))
    bodies = points @ program.matrix.toarray().T
    inside = ((bodies >= program.row_lower) & (bodies <= program.row_upper)).all(1)
    return float((points[inside] @ program.cost).min()) + program.offset if inside.any() else None


def _check(holds: object, fault: str) -> None:
    if not holds:
        raise AssertionError(fault)


def _near(a: float | None, b: float) -> bool:
    return a is not None and abs(a - b) <= _NEAR * max(1.0, abs(b))


def _feasible(program: LinearProgram, values: Any) -> bool:
    """Return whether a point obeys rows and bounds, up to tolerances."""
    point = np.asarray(values, dtype=float)
    body = program.matrix @ point
    near = _NEAR * np.maximum(1.0, abs(program.matrix) @ np.abs(point))
    rows = (body >= program.row_lower - near) & (body <= program.row_upper + near)
    box = (point >= program.lower - _NEAR) & (point <= program.upper + _NEAR)
    whole = program.integer is None or not (point != np.round(point))[program.integer].any()
    return bool(rows.all() and box.all() and whole)


def _optimal(program: LinearProgram, engine: Engine, optimum: float, **settings: Any) -> None:
    """Check that an engine finds the optimum of a program."""
    result = solve(program, engine.name, clock=Clock(20), **settings)
    _check(result.status == "optimal", f"status {result.status}, not optimal ({result.log})")
    _check(_near(result.objective, optimum), f"objective {result.objective}, not {optimum}")
    _check(_near(result.bound, optimum), f"bound {result.bound}, not {optimum}")
    _check(_feasible(program, result.values), f"the values {result.values} break a row or bound")
    _check(_near(program.objective(result.values), optimum), "the values have another objective")
    if not program.is_mixed:
        _check(result.duals is not None, "no duals of a linear program")
        _check(_near(safe_bound(program, result.duals), optimum), "the duals prove another bound")


def _programs(engine: Engine) -> Iterator[tuple[LinearProgram, float]]:
    """Yield the small programs that an engine takes, with their optima."""
    if "linear" in engine.takes:
        yield _linear(), -10.0
    if "mixed-integer" in engine.takes:
        yield _knapsack(), -22.0
        optimum = enumerated(_packing())
        assert optimum is not None
        yield _packing(), optimum


def _relaxed(program: LinearProgram) -> LinearProgram:
    return replace(program, integer=None)


def finds_the_optimum(engine: Engine) -> None:
    """The optimum of a linear and of a mixed-integer program, with values, bound and duals."""
    for program, optimum in _programs(engine):
        _optimal(program, engine, optimum)


def agrees_on_random_programs(engine: Engine) -> None:
    """Optima of 30 random programs, known by enumeration or proved by the engine's duals."""
    for seed in range(30):
        program = random_program(seed)
        if "mixed-integer" in engine.takes:
            optimum = enumerated(program)
            if optimum is not None:
                _optimal(program, engine, optimum)
            else:
                status = solve(program, engine.name, clock=Clock(20)).status
                _check(status == "infeasible", f"seed {seed}: {status}, not infeasible")
        if "linear" in engine.takes:
            result = solve(_relaxed(program), engine.name, clock=Clock(20))
            _check(result.status in ("optimal", "infeasible"), f"seed {seed}: {result.status}")
            if result.objective is not None:
                _optimal(_relaxed(program), engine, result.objective)
            else:
                optimum = enumerated(program)
                _check(optimum is None, f"seed {seed}: infeasible, but a point is feasible")


def reports_infeasible_programs(engine: Engine) -> None:
    """Status `infeasible`, without objective and bound."""
    parity = _program([1, 1], [0, 0], [3, 3], [[2, 2]], [3], [3], [True, True])
    small = _program([1, 1], [0, 0], [0.7, 0.7], [[2, 2]], [3], [3])
    for program, kind in ((parity, "mixed-integer"), (small, "linear")):
        if kind in engine.takes:
            result = solve(program, engine.name, clock=Clock(20))
            found = (result.status, result.objective, result.bound)
            _check(found == ("infeasible", None, None), f"{kind}: {found}")


def reports_unbounded_programs(engine: Engine) -> None:
    """Status `unbounded`, without objective and bound, or a refusal if columns must be bounded."""
    program = _program([-1, 0], [0, 0], [INF, INF], [[1, -1]], [-INF], [1])
    mixed = replace(program, integer=np.array([True, True]))
    for chosen, kind in ((mixed, "mixed-integer"), (program, "linear")):
        if kind in engine.takes:
            try:
                result = solve(chosen, engine.name, clock=Clock(20))
            except UsageError:
                continue
            found = (result.status, result.objective, result.bound)
            _check(found == ("unbounded", None, None), f"{kind}: {found}")


def solves_degenerate_programs(engine: Engine) -> None:
    """No columns, no rows, crossing bounds, fixed columns, free rows, fractional bounds."""
    whole = "mixed-integer" in engine.takes
    kind = [True, True] if whole else None
    one = [True] if whole else None
    empty = _program([], [], [], np.zeros((1, 0)), [0], [2], offset=3)
    _optimal(empty, engine, 3.0)
    broken = _program([], [], [], np.zeros((1, 0)), [1], [2])
    crossed = _program([1], [2], [1], [[1]], [0], [9], one)
    sides = _program([1], [0], [1], [[1]], [9], [0], one)
    for program in (broken, crossed, sides):
        result = solve(program, engine.name, clock=Clock(20))
        _check(result.status == "infeasible", f"{result.status}, not infeasible")
    _optimal(_program([1, -1], [0, 0], [1, 1], np.zeros((0, 2)), [], [], kind), engine, -1.0)
    _optimal(_program([1, 1], [2, 0], [2, 5], [[1, 1]], [4], [9], kind), engine, 4.0)
    _optimal(_program([1, 1], [2, 0], [2, 5], [[1, 1]], [-INF], [INF], kind), engine, 2.0)
    _optimal(_program([0, 0], [0, 0], [1, 1], [[0, 0]], [0], [0], kind), engine, 0.0)
    if whole:
        side = math.sqrt(0.5) if "linear" in engine.takes else 0.5
        half = _program([-1, -2], [-2.5] * 2, [2.5] * 2, [[side] * 2], [-INF], [3.54 * side], kind)
        _optimal(half, engine, -5.0)


def reports_improvements(engine: Engine) -> None:
    """Feasible incumbents down to the optimum, and bounds that never pass it."""
    if "mixed-integer" not in engine.takes:
        return
    found: list[tuple[float, Floats]] = []
    bounds: list[float] = []
    program = _knapsack()
    _optimal(
        program,
        engine,
        -22.0,
        on_incumbent=lambda value, values: found.append((value, values)),
        on_bound=bounds.append,
    )
    _check(found, "no incumbent was reported")
    for value, values in found:
        _check(_feasible(program, values), f"the incumbent {values} is infeasible")
        _check(_near(program.objective(values), value), f"{values} does not have value {value}")
    _check(_near(min(value for value, _ in found), -22.0), "the optimum was not reported")
    _check(all(bound <= -22.0 + 1e-4 for bound in bounds), f"a bound passes the optimum: {bounds}")


def obeys_the_time_limit(engine: Engine) -> None:
    """A long search ends in time with a feasible point, and with no bound past it."""
    if "mixed-integer" not in engine.takes:
        return
    program, begin = long_program(), time.monotonic()
    found: list[float] = []
    bounds: list[float] = []
    result = solve(
        program,
        engine.name,
        clock=Clock(_STOPPED),
        on_incumbent=lambda value, values: found.append(value),
        on_bound=bounds.append,
    )
    _check(time.monotonic() - begin < _STOPPED + _LATE, "it went on after the limit")
    if result.status == "unknown":
        _check(not found, "the result lacks the incumbent that was reported")
        return
    told = f"status {result.status}: nobody proves that in {_STOPPED:g} s"
    _check(result.status == "feasible", told)
    _check(_feasible(program, result.values), "the point is infeasible")
    _check(_near(program.objective(result.values), result.objective or 0.0), "another objective")
    _check(not found or min(found) >= (result.objective or 0.0) - 1e-6, "a better one was lost")
    best = max(bounds, default=-INF)
    _check(result.bound is None or result.bound < (result.objective or 0.0), "the bound is past it")
    _check(best <= (result.objective or 0.0), "a reported bound passes the solution")
    _check(not bounds or (result.bound is not None and best <= result.bound + 1e-4),
           f"a bound {best} was reported, but the result has {result.bound}")  # fmt: skip
    again = solve(program, engine.name, clock=Clock(_STOPPED / 3), start=result.values)
    worse = again.objective is not None and again.objective > (result.objective or 0.0) + 1e-6
    _check(not worse, f"it ends with {again.objective} from a start of value {result.objective}")


def starts_from_a_point(engine: Engine) -> None:
    """Complete, partial and infeasible starts lead to the optimum."""
    if "mixed-integer" not in engine.takes:
        return
    for start in ([1, 1, 0, 0], [1, math.nan, math.nan, 0], [math.nan] * 4, [1, 1, 1, 1]):
        _optimal(_knapsack(), engine, -22.0, start=start)
    try:
        solve(_knapsack(), engine.name, clock=Clock(9), start=[1.0])
    except ValueError:
        return
    raise AssertionError("it accepts a start of the wrong length")


def uses_the_grid(engine: Engine) -> None:
    """If all objectives are multiples of a number, a bound within one step is enough."""
    if "mixed-integer" not in engine.takes:
        return
    even = _program([-10, -12, -6, -8], [0] * 4, [1] * 4, [[3, 4, 2, 3]], [-INF], [7], [True] * 4)
    _optimal(even, engine, -22.0, grid=2.0)


def passes_exceptions_of_callbacks_on(engine: Engine) -> None:
    """An exception in a callback ends the search and reaches the caller."""
    if "mixed-integer" not in engine.takes:
        return

    def fails(*_: object) -> None:
        raise KeyError("of the callback")

    program, begin = long_program(), time.monotonic()
    try:
        solve(program, engine.name, clock=Clock(20), on_incumbent=fails)
    except KeyError:
        _check(time.monotonic() - begin < _LATE, "the search went on")
        return
    raise AssertionError("the exception was lost")


def changes_threads(engine: Engine) -> None:
    """One process may solve again and again with other numbers of threads."""
    for threads in (1, 2, 1):
        if engine.max_threads is not None and threads > engine.max_threads:
            try:
                solve(_knapsack(), engine.name, clock=Clock(9), threads=threads)
            except UsageError:
                continue
            raise AssertionError(f"it accepts {threads} threads")
        for program, optimum in _programs(engine):
            _optimal(program, engine, optimum, threads=threads)


def repeats_itself(engine: Engine) -> None:
    """With one thread and one seed, a search gives the same values twice; seeds are accepted."""
    for program, optimum in _programs(engine):
        pair = [solve(program, engine.name, clock=Clock(20), seed=3).values for _ in range(2)]
        _check((pair[0] == pair[1]).all(), f"two values: {pair}")
        _optimal(program, engine, optimum, seed=2**31 - 1)


def accepts_its_options(engine: Engine) -> None:
    """The options for tolerances and for repeated solves work; an unknown option is an error."""
    ways = [engine.usual, engine.least, *(options for _, options in engine.repeats)]
    for program, optimum in _programs(engine):
        for options in ways:
            _optimal(program, engine, optimum, options=options)
        try:
            solve(program, engine.name, clock=Clock(9), options={"no_such_option": 1})
        except UsageError as error:
            _check("no_such_option" in str(error), f"the message does not name it: {error}")
        else:
            raise AssertionError("it accepts the option no_such_option")


def fills_the_result(engine: Engine) -> None:
    """Times, all statistics and a line on the end of the search."""
    for program, _ in _programs(engine):
        result = solve(program, engine.name, clock=Clock(20))
        _check(tuple(result.statistics) == STATISTICS, f"statistics: {[*result.statistics]}")
        for name, value in result.statistics.items():
            negative = value is not None and value < 0 and name != "root_bound"
            _check(not negative, f"{name} = {value}")
        root = result.statistics["root_bound"]
        _check(root is None or root <= (result.objective or 0.0) + 1e-4, f"root bound {root}")
        times = (result.seconds, result.engine_cpu_seconds, result.build_seconds)
        _check(min(times) >= 0 and max(times) < 20, f"times {times}")
        _check(result.seconds > 0, "the engine's run was not measured")
        _check(result.log and "\n" not in result.log, f"words on the end: {result.log!r}")


def solves_pyomo_models(engine: Engine) -> None:
    """A Pyomo model that is maximised, with its values and the duals of its rows."""
    import pyomo.core as pyo

    for program, optimum in _programs(engine):
        model = pyo.ConcreteModel()
        domain = pyo.Integers if program.is_mixed else pyo.Reals
        columns = range(len(program.cost))
        sides = [(low, None if high == INF else high) for low, high in zip(
            program.lower.tolist(), program.upper.tolist(), strict=True)]  # fmt: skip
        model.x = pyo.Var(columns, domain=domain, bounds=lambda _, j, s=sides: s[j])
        matrix, upper = program.matrix.toarray().tolist(), program.row_upper.tolist()
        model.row = pyo.Constraint(
            range(len(upper)),
            rule=lambda m, i, a=matrix, b=upper: (
                sum(c * x for c, x in zip(a[i], m.x.values(), strict=True)) <= b[i]
            ),
        )
        value = pyo.quicksum(c * model.x[j] for j, c in enumerate(program.cost.tolist()))
        model.objective = pyo.Objective(expr=-value - program.offset, sense=pyo.maximize)
        result = solve(model, engine.name, clock=Clock(20))
        _check(result.status == "optimal", f"status {result.status}")
        _check(_near(result.objective, -optimum), f"objective {result.objective}")
        _check(_near(result.bound, -optimum), f"bound {result.bound}")
        values = [model.x[j].value for j in columns]
        _check(_feasible(program, values), f"the values {values} break a row")
        if not program.is_mixed:
            prices = [-result.duals[f"row[{i}]"] for i in range(len(upper))]
            _check(_near(safe_bound(program, prices), optimum), f"duals {result.duals}")


def needs_no_time_without_time(engine: Engine) -> None:
    """With an expired clock, the result is `unknown`."""
    for program, _ in _programs(engine):
        result = solve(program, engine.name, clock=Clock(0.0))
        _check(result == EngineResult("unknown", None, None), f"status {result.status}")


def _writes_its_log(engine: Engine, folder: Path) -> None:
    for number, (program, _) in enumerate(_programs(engine)):
        log = folder / f"{number}.log"
        solve(program, engine.name, clock=Clock(20), log=log)
        _check(log.exists() and log.stat().st_size > 0, "the log is empty")


def _dies(engine: Engine, folder: Path) -> None:
    """End this process during a search."""
    begin = time.monotonic()

    def ends(*_: object) -> None:
        if time.monotonic() - begin > 0.1:
            os._exit(3)

    program = long_program() if "mixed-integer" in engine.takes else _linear()
    log = folder / "killed.log"
    solve(program, engine.name, clock=Clock(5), log=log, on_incumbent=ends, on_bound=ends)
    os._exit(3)


def _hoards(engine: Engine, folder: Path) -> None:
    """Use more and more memory, in a callback if there is one."""

    def more(*_: object) -> None:
        hoard = []
        while True:
            hoard.append(bytearray(os.urandom(1)) * (60 << 20))
            time.sleep(0.05)

    if "mixed-integer" in engine.takes:
        solve(_knapsack(), engine.name, clock=Clock(20), on_incumbent=more)
    more()


# name -> function of the engine
CLAUSES: dict[str, Callable[[Engine], None]] = {
    function.__name__.replace("_", " "): function
    for function in (
        finds_the_optimum,
        agrees_on_random_programs,
        reports_infeasible_programs,
        reports_unbounded_programs,
        solves_degenerate_programs,
        reports_improvements,
        obeys_the_time_limit,
        needs_no_time_without_time,
        starts_from_a_point,
        uses_the_grid,
        passes_exceptions_of_callbacks_on,
        changes_threads,
        repeats_itself,
        accepts_its_options,
        fills_the_result,
        solves_pyomo_models,
    )
}
# clauses with a file or a limit: name -> (function, memory in MB, outcome of the child process)
_OUTCOMES: dict[str, tuple[Callable[[Engine, Path], None], float | None, str]] = {
    "writes its log": (_writes_its_log, None, "done"),
    "leaves a log if it is killed": (_dies, None, "crash"),
    "obeys the memory limit": (_hoards, 700.0, "memory"),
}
CLAUSE_NAMES = (*CLAUSES, *_OUTCOMES)


def check_engine(engine: str | Engine) -> dict[str, str]:
    """Run all clauses of the contract on an engine of linear or mixed-integer programs.

    Parameters
    ----------
    engine : str or Engine
        Name of an installed engine, or an engine that need not be installed yet.

    Returns
    -------
    dict
        For each clause one line: empty if it holds, otherwise what is wrong.
    """
    return {clause: check_clause(engine, clause) for clause in CLAUSE_NAMES}


def check_clause(engine: str | Engine, clause: str) -> str:
    """Run one clause in a child process.

    `engine`: as for `check_engine`. `clause`: one of `CLAUSE_NAMES`.

    The text is empty if the clause holds, otherwise one line on what is wrong.
    """
    described = engine if isinstance(engine, Engine) else find_engine(engine)
    if isinstance(engine, str):
        require(engine)
    if not {"linear", "mixed-integer"} & set(described.takes):
        raise UsageError(f"engine {described.name} takes no linear programs: it has no contract")
    _, memory, expected = _OUTCOMES.get(clause, (None, None, "done"))
    with tempfile.TemporaryDirectory() as folder:
        reply = run_child(
            f"{__name__}:run_clause",
            described,
            clause,
            folder,
            limit=_SECONDS,
            memory_mb=memory,
            engine=described.name,
        )
        if reply.outcome != expected:
            last = str(reply.error).strip().splitlines()[-1:] or [""]
            return f"{reply.outcome}: {last[0].removeprefix('AssertionError: ')}"
        if clause == "leaves a log if it is killed":
            log = Path(folder) / "killed.log"
            return "" if log.exists() and log.stat().st_size else "the log is empty"
    return ""


def run_clause(send: Callable[[object], None], engine: Engine, clause: str, folder: str) -> None:
    """Run one clause in this (child) process.

    `send`: sends a message to the parent process; not used. `clause`: one of `CLAUSE_NAMES`.
    `folder`: for files.
    """
    if engine.name not in ENGINES:
        ENGINES.add(engine)
    if clause in CLAUSES:
        CLAUSES[clause](engine)
    else:
        _OUTCOMES[clause][0](engine, Path(folder))
