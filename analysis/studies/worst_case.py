"""Find instances on which a method is as far as possible from the optimum or from another method.

A search (`chains`) runs annealing over instances (`annealing`, `scores`) in child processes. What
it finds is shrunk (`shrinking`) and certified (`certifying`).
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from schedgap.analysis.studies.certifying import certify
from schedgap.analysis.studies.chains import State, search, shrunk
from schedgap.analysis.studies.finds import PathLike, WorstCase, annotated, made_folder
from schedgap.analysis.studies.targets import (
    MOST_WORKERS,
    REFUTING_SCORE,
    Chosen,
    positive,
    target_of,
)
from schedgap.errors import Interrupted, UsageError
from schedgap.instances.arguments import (
    A_LIMIT,
    a_flag,
    a_function,
    a_mapping,
    a_number,
    a_path,
    a_text,
    an_integer,
    checked,
    several,
)
from schedgap.instances.records import write_json
from schedgap.solvers.children.clock import Clock

_ENOUGH = 1.05  # a score at which the search for a refutation ends
_CERTIFY, _CERTIFY_SECONDS = 0.3, 4.0  # share of the time limit for the certificate, and the least
_SEARCH = 0.8  # share of the time before the certificate; the rest is for shrinking
_NONE = "no instance found on which"


@checked(
    family=a_text,
    guarantee=a_text,
    preset=a_text,
    settings=a_mapping,
    fixed=several,
    time_limit=A_LIMIT,
    enough=a_number,
    shrink=a_flag,
    out=a_path,
    on_progress=a_function,
)
def worst_case(
    family: str,
    method: Chosen,
    *,
    against: Chosen = "exact",
    guarantee: str | None = None,
    preset: str | None = None,
    settings: Mapping[str, object] | None = None,
    jobs: int | None = None,
    fixed: Sequence[str] = (),
    time_limit: float | None = 60.0,
    evaluations: int | None = None,
    enough: float | None = None,
    seed: int = 0,
    workers: int = 1,
    shrink: bool = True,
    out: PathLike | None = None,
    on_progress: Callable[[int, float], None] | None = None,
    **options: object,
) -> WorstCase:
    """Search for an instance on which a method is far from the optimum or from another method.

    Parameters
    ----------
    family : str
        Name of the family.
    method : str, callable or Own
        The method, whose schedules should be bad: its name, or a method of your own in any of the
        forms that `solve` accepts. Instances on which it fails, breaks a rule or needs more than 5
        s do not count; `WorstCase.faults` lists them.
    against : str, callable or Own
        "exact": the optimum, certified by two exact methods at the end. "bound": the optimum as an
        interval, between the best known schedule and a bound. A method: the ratio of the two
        methods.
    guarantee : str, optional
        A claim of the paper, such as "theorem_5". The search maximises the ratio over the claimed
        factor, and ends when this is 5 % above 1.
    preset, settings : str, mapping, optional
        Of `generate`, for the instances from which the search starts.
    jobs : int, optional
        Largest number of jobs.
    fixed : sequence of str
        Keys of the instance file whose values stay as in the preset, such as
        "bandwidth_between" or "arrival".
    time_limit : float, optional
        Seconds of search, shrinking and certificate; None only with `evaluations`. An instance
        whose evaluation has begun is finished. If the time is not enough to prove the optimum,
        `WorstCase.uncertified` says so.
    evaluations : int, optional
        Instances that each worker evaluates. The result depends on the number and the seed only,
        unless a time limit has an influence.
    enough : float, optional
        The search ends at this score.
    seed : int
        Of all randomness.
    workers : int
        Number of chains, each in a child process.
    shrink : bool
        Look for a smaller instance of the same score; with `guarantee`, one that refutes it.
    out : path, optional
        Folder of the state of the search, which is continued if it is there, and of the find.
    on_progress : callable, optional
        Called with (evaluations, best score) during the search.
    **options
        Options of the method.

    Returns
    -------
    WorstCase
        The instance and its evidence.

    Raises
    ------
    UsageError
        For arguments that do not fit together, or if no instance with a ratio was found.
    InputError
        If `out` holds another search, or cannot be written.
    """
    target = target_of(
        family, method, against, guarantee, preset, settings, jobs, fixed, seed, options
    )
    if time_limit is None and evaluations is None:
        raise UsageError("no time limit: give a number of evaluations")
    workers = positive(workers, "workers", MOST_WORKERS)
    if evaluations is not None:
        evaluations = positive(evaluations, "evaluations")
    given = {} if enough is None else {"enough": enough}
    if enough is None:
        enough = _ENOUGH if guarantee is not None else math.inf
    state = State(target, workers, None if out is None else made_folder(out))
    begun, before = time.monotonic(), state.seconds

    limit = math.inf if time_limit is None else time_limit
    kept = min(max(_CERTIFY * limit, _CERTIFY_SECONDS), limit / 2) if math.isfinite(limit) else 0.0

    def left(end: float) -> float:
        """Return the seconds until a time after the start of the first search."""
        return end - before - (time.monotonic() - begun)

    data: dict[str, Any] | None = None
    try:
        search(state, before + left(_SEARCH * (limit - kept)), evaluations, enough, on_progress)
        data, score = state.first(enough)
        if data is None:
            raise UsageError(
                f"{_NONE} {target.method} has a ratio, in {state.evaluations} evaluations"
                + (f": {state.faults[0]}" if state.faults else "")
            )
        used, whole_shrink = 0, True
        if shrink:
            floor = score * (1 - 1e-9)
            if guarantee is not None and score > REFUTING_SCORE:
                floor = min(floor, _ENOUGH)
            seconds, started = max(left(limit - kept), 0.0), time.monotonic()
            data, used = shrunk(target, data, floor, seconds)
            took = time.monotonic() - started
            whole_shrink = took < seconds
            state.seconds += took
        clock = None if time_limit is None else Clock(max(left(limit), 0.0))
        found = certify(target, data, clock=clock)
    except KeyboardInterrupt:
        raise _kept(state, data, out) from None
    found = replace(
        found,
        found_score=score,
        evaluations=state.evaluations,
        shrink_evaluations=used,
        seconds=state.seconds,
        curve=state.curve(),
        faults=tuple(state.faults),
    )
    count = state.repeats(enough) if whole_shrink else None
    limits = {"time_limit": None, "evaluations": count} | given
    limits |= {} if shrink else {"shrink": False}
    found = replace(found, instance=annotated(found, workers, None if count is None else limits))
    if out is not None:
        found.save(out)
    return found


@checked(
    family=a_text,
    methods=several,
    time_limit=A_LIMIT,
    evaluations=an_integer(1),
    workers=an_integer(1, MOST_WORKERS),
    out=a_path,
)
def worst_grid(
    family: str,
    methods: Sequence[Chosen],
    *,
    time_limit: float | None = 20.0,
    evaluations: int | None = None,
    jobs: int | None = None,
    seed: int = 0,
    workers: int = 1,
    out: PathLike | None = None,
) -> Any:
    """Search for each pair of methods an instance on which one is far worse than the other.

    Parameters
    ----------
    family : str
        Name of the family.
    methods : sequence of str, callable or Own
        Methods, as in `worst_case`.
    time_limit, evaluations, jobs, seed, workers
        Of each pair, as in `worst_case`.
    out : path, optional
        Folder for the finds, `METHOD-vs-METHOD` each; a search that is there is continued.

    Returns
    -------
    pandas.DataFrame
        The ratios: one row for each method, one column for each method it is compared with. An
        entry is a factor by which the row's method can be worse than the column's method. NaN: the
        search found no instance with a ratio.

    References
    ----------
    J. Coleman, B. Krishnamachari, "PISA: An adversarial approach to comparing task graph scheduling
    algorithms", arXiv:2403.07120 (2024).
    """
    import pandas as pd

    methods = list(methods)
    if not methods:
        raise UsageError("methods: need at least one")
    names = [_name(family, method, jobs, seed) for method in methods]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"method {name} is given twice")
    table = pd.DataFrame(math.nan, index=names, columns=names)
    table.index.name, table.columns.name = "method", "compared with"
    for name, method in zip(names, methods, strict=True):
        for column, other in zip(names, methods, strict=True):
            if name == column:
                table.loc[name, name] = 1.0
                continue
            place = None if out is None else Path(out) / f"{name}-vs-{column}"
            try:
                found = worst_case(
                    family, method, against=other, time_limit=time_limit, jobs=jobs,
                    evaluations=evaluations, seed=seed, workers=workers, out=place,
                )  # fmt: skip
            except UsageError as error:
                if not str(error).startswith(_NONE):
                    raise
                continue
            table.loc[name, column] = found.ratio.low
    return table


def _kept(state: State, data: dict[str, Any] | None, out: PathLike | None) -> KeyboardInterrupt:
    """Keep the best instance of a search that was interrupted; return what to raise."""
    best, score = state.best()
    data = data or best
    if data is None:
        return Interrupted(f"interrupted: {_NONE} {state.target.method} has a ratio, so far")
    what = "score" if state.target.guarantee is not None else "ratio"
    head = f"interrupted: {what} {score:.4g} after {state.evaluations} evaluations, not certified"
    if out is None:
        return Interrupted(f"{head}; not kept: give --out DIR")
    file = made_folder(out) / "instance.json"
    state.save()
    write_json(file, data)
    return Interrupted(f"{head}; the instance is kept in {file}; the same command continues")


def _name(family: str, method: Chosen, jobs: int | None, seed: int) -> str:
    """Return the name of a method in a grid, or its error."""
    return target_of(family, method, method, None, None, None, jobs, (), seed, {}).method
