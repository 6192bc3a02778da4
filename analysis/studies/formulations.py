"""Sizes and linear relaxations of all programs of an instance, side by side."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from schedgap.analysis.programs.models import model, program_sizes
from schedgap.analysis.solving.solve import solve
from schedgap.instances.arguments import a_flag, a_number, an_instance, checked, positive
from schedgap.instances.families import FAMILIES
from schedgap.instances.instance import Instance
from schedgap.models.family import family, family_of

if TYPE_CHECKING:
    import pandas as pd


@checked(instance=an_instance, best=a_number, time_limit=positive(), relaxations=a_flag)
def formulations(
    instance: Instance,
    *,
    best: float | None = None,
    time_limit: float = 60.0,
    relaxations: bool = True,
) -> "pd.DataFrame":
    """Return the size and the linear relaxation of every program of an instance.

    Each program is built and its relaxation solved by HiGHS, in a separate child process.

    Parameters
    ----------
    instance : Instance
        Source of the data of the programs.
    best : float, optional
        Value of the best known schedule, from which the gap is measured; by default, what the
        method `exact` finds within the time limit.
    time_limit : float
        Limit for each program, in wall-clock seconds.
    relaxations : bool
        Whether to include relaxations and duals in addition to the exact programs.

    Returns
    -------
    DataFrame
        A row for each program: model, kind, rows, columns, integers, nonzeros, lp_bound (optimum of
        the linear relaxation), root_gap (its distance from the best value, relative to that),
        seconds (of building and solving) and note. It bounds the optimum of the instance from the
        other side than a schedule, up to the engine's tolerance.
    """
    import pandas as pd

    owner = family(instance.family)
    if best is None:
        best = solve(instance, "exact", time_limit=time_limit).objective
    wanted = ("exact", "relaxation", "dual") if relaxations else ("exact",)
    rows = []
    for key, program in owner.programs.items():
        if program.kind in wanted:
            row = {"model": key, "kind": program.kind} | _measured(instance, key, time_limit)
            value = row["lp_bound"]
            gap = None if value is None or not best else abs(best - value) / abs(best)
            rows.append({**row, "root_gap": gap})
    columns = ["model", "kind", "rows", "columns", "integers", "nonzeros", "lp_bound", "root_gap"]
    frame = pd.DataFrame(rows, columns=[*columns, "seconds", "note"])
    counts = ["rows", "columns", "integers", "nonzeros"]
    return frame.astype(dict.fromkeys(counts, "Int64") | {"lp_bound": float, "root_gap": float})


def _measured(instance: Instance, key: str, time_limit: float) -> dict[str, Any]:
    """Return the sizes of a program and the optimum of its linear relaxation, from a child."""
    from schedgap.solvers.children.processes import run_child

    reply = run_child(
        "schedgap.analysis.studies.formulations:measure_relaxation",
        FAMILIES[instance.family].models,
        instance,
        key,
        time_limit,
        limit=time_limit,
        engine="highs",
    )
    empty = dict.fromkeys(("rows", "columns", "integers", "nonzeros", "lp_bound"))
    if reply.outcome in ("timeout", "memory", "crash"):
        note = f"{reply.outcome} after {reply.seconds:.0f} s"
        return {**empty, "seconds": reply.seconds, "note": note}
    measured: dict[str, Any] = reply.result()
    return empty | measured


def measure_relaxation(
    send: Callable[[object], None], module: str, instance: Instance, key: str, limit: float
) -> dict[str, Any]:
    """Build a program in this (child) process and solve its linear relaxation.

    `send`: sends a message to the parent process; not used. `limit`: time limit in seconds.
    """
    from schedgap.solvers.children.clock import Clock
    from schedgap.solvers.engines.solve import solve
    from schedgap.solvers.programs.pyomo import InfeasibleModelError, compile_model

    family_of(module)
    clock, begun = Clock(limit), time.monotonic()
    sizes = program_sizes(instance, key)
    if sizes["note"]:
        return sizes | {"lp_bound": None, "seconds": time.monotonic() - begun}
    try:
        arrays = compile_model(model(instance, key, relax=True))
    except InfeasibleModelError:
        return sizes | {"lp_bound": None, "seconds": time.monotonic() - begun}
    result = solve(arrays.program, "highs", clock=clock)
    value = result.objective if result.status == "optimal" else None
    return sizes | {
        "lp_bound": None if value is None else arrays.in_model_sense(value),
        "seconds": time.monotonic() - begun,
        "note": "" if value is not None else result.status,
    }
