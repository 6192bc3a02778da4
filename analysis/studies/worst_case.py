"""Find instances on which a method is as far as possible from the optimum or from another method.

The search itself is in `instance_search`; this module runs its chains in child processes, keeps
their state on disk, and certifies what they find.
"""

import math
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from schedgap.analysis.records.ratios import RatioInterval, divide, ratio_interval
from schedgap.analysis.results.bounds import meet, tighter
from schedgap.analysis.results.solution import Solution
from schedgap.analysis.solving.solve import solve
from schedgap.analysis.studies.instance_search import (
    Chain,
    Target,
    changed_options,
    engine_of,
    reference_names,
)
from schedgap.errors import EngineUnavailableError, InputError, UsageError, choices
from schedgap.instances.families import from_data, instance_class
from schedgap.instances.generate import generate, presets
from schedgap.instances.instance import Instance, html_table
from schedgap.instances.mutations import space
from schedgap.instances.records import Record, read_json, validate, write_json, write_text
from schedgap.instances.settings import whole_number
from schedgap.models.family import Family, family
from schedgap.models.method import Method
from schedgap.solvers.children.processes import run_child

PathLike = str | os.PathLike[str]

SECOND: Mapping[str, tuple[str, ...]] = {  # an exact method of another form than `exact`
    "dmlrs": ("milp-machine",),
    "edge": ("cp-sat",),
    "elastic": ("cp-sat",),
    "hare": ("time-indexed",),
    "ring": ("branch-simulate",),
}
_PIECE, _PIECE_SECONDS = 50, 4.0  # evaluations and seconds of a chain between two reports
_HANG_SECONDS = 40.0  # after which a piece of a chain is killed
_REFUTED = 1 + 1e-6  # a score above this refutes a claim
_ENOUGH = 1.05  # a score at which the search for a refutation ends
_SHRINK_EVALUATIONS = 3000
_SHARE = 0.75  # of the time limit, for the search; the rest is for shrinking
_STATE = "search.json"


@dataclass(frozen=True, slots=True)
class WorstCase:
    """An instance on which a method does badly, with the evidence.

    Attributes
    ----------
    instance : Instance
        The instance, shrunk.
    target : Target
        What was searched.
    solution : Solution
        Of the method.
    references : tuple of Solution
        What the ratio is to: the optimum by `exact` and by a second exact method, a bound, or the
        other method.
    ratio : RatioInterval
        Ratio of the method to the optimum, or to the other method.
    guarantee : mapping
        The paper's claim on the method on this instance: `claim`, `factor`, `holds`, `failed`.
    score : float
        What was maximised: the lower end of the ratio; with `guarantee`, that over the claimed
        factor, or how far the claim is missed.
    found_score : float
        Score before shrinking.
    evaluations : int
        Instances evaluated by all chains.
    shrink_evaluations : int
        Instances evaluated while shrinking.
    seconds : float
        Of search and shrinking.
    curve : tuple of (int, float)
        Number of evaluations of a chain, and the best score of all chains from then on.
    faults : tuple of str
        Errors of methods during the search; not expected.
    """

    instance: Instance
    target: Target
    solution: Solution
    references: tuple[Solution, ...]
    ratio: RatioInterval
    guarantee: Mapping[str, Any]
    score: float
    found_score: float
    evaluations: int
    shrink_evaluations: int
    seconds: float
    curve: tuple[tuple[int, float], ...]
    faults: tuple[str, ...] = ()

    @property
    def refuted(self) -> bool:
        """Whether the instance refutes the claim that was searched for."""
        return self.target.guarantee is not None and self.score > _REFUTED

    @property
    def confirmed(self) -> bool:
        """Whether two exact methods agree on the optimum."""
        bounds = [each for each in self.references if each.kind == "exact"]
        closed = [
            each.objective
            for each in bounds
            if each.objective is not None
            and each.bound is not None
            and meet(each.objective, each.bound)
        ]
        return len(closed) >= 2 and all(meet(closed[0], value) for value in closed)

    def gantt(self) -> Any:
        """Return the Gantt chart of the method's schedule above that of the first reference."""
        shown = (each for each in self.references if each.schedule is not None)
        return self.solution.gantt(next(shown, None))

    def plot(self) -> Any:
        """Return the best score over the evaluations, as a Plotly figure; the claim is a line."""
        from plotly import graph_objects

        figure = graph_objects.Figure()
        counts = [count for count, _ in self.curve] + [max(self.evaluations, 1)]
        scores = [score for _, score in self.curve]
        figure.add_scatter(
            x=counts, y=[*scores, scores[-1]], mode="lines", line_shape="hv", name="best score"
        )
        factor = self.guarantee.get("factor")
        if self.target.guarantee is not None:
            figure.add_hline(1.0, line_dash="dot", annotation_text="the claim")
        elif factor is not None:
            figure.add_hline(factor, line_dash="dot", annotation_text=self.guarantee["claim"])
        what = "over the claim" if self.target.guarantee else "ratio"
        figure.update_layout(
            xaxis_title="evaluations of a chain",
            yaxis_title=f"{self.target.method}: worst {what}",
            template="plotly_white",
        )
        return figure

    def to_data(self) -> dict[str, Any]:
        """Return what is known on the find as plain JSON data, without schedules."""
        return {
            "target": self.target.to_data(),
            "instance_sha256": self.instance.sha256,
            "objective": self.solution.objective,
            "references": [
                {"method": each.method, "objective": each.objective, "bound": each.bound}
                for each in self.references
            ],
            "ratio": _plain(self.ratio),
            "guarantee": dict(self.guarantee),
            "score": self.score,
            "found_score": self.found_score,
            "refuted": self.refuted,
            "confirmed": self.confirmed,
            "evaluations": self.evaluations,
            "shrink_evaluations": self.shrink_evaluations,
            "seconds": round(self.seconds, 1),
            "curve": [list(point) for point in self.curve],
            "faults": list(self.faults),
        }

    def save(self, folder: PathLike) -> None:
        """Write the instance, the solutions with their evidence, the find and its pictures.

        Parameters
        ----------
        folder : path
            Where; created if needed. `instance.json`, `find.json`, `METHOD.json` of each solution,
            `gantt.html` and `curve.html`.
        """
        place = _folder(folder)
        write_json(place / "instance.json", self.instance.to_data())
        for each in (self.solution, *self.references):
            each.save(place / f"{each.method}.json")
        write_json(place / "find.json", self.to_data())
        for name, figure in (("gantt", self.gantt()), ("curve", self.plot())):
            write_text(place / f"{name}.html", figure.to_html(include_plotlyjs="cdn"))

    def facts(self) -> dict[str, str]:
        """Return what is known on the find as texts by name, for tables."""
        against = self.target.against
        what = "optimum" if against in ("exact", "bound") else against
        facts = {f"ratio to {what}": str(self.ratio)}
        if self.guarantee:
            factor = self.guarantee.get("factor")
            facts["claim"] = self.guarantee["claim"]
            if factor is not None:
                facts["claimed factor"] = f"{factor:.6g}"
        if self.target.guarantee is not None:
            verdict = "refuted" if self.refuted else "not refuted"
            facts[self.target.guarantee] = f"{verdict} ({self.score:.4g} times the claim)"
        facts["instance"] = ", ".join(f"{k} {v}" for k, v in self.instance.summary().items())
        facts["objective"] = f"{self.solution.objective:.10g}"
        for each in self.references:
            facts[each.method] = " ".join(
                f"{name} {value:.10g}"
                for name, value in (("objective", each.objective), ("bound", each.bound))
                if value is not None
            )
        facts["search"] = (
            f"seed {self.target.seed}, {self.evaluations} evaluations, {self.seconds:.0f} s"
        )
        if self.faults:
            facts["faults"] = "; ".join(self.faults)
        return facts

    def __repr__(self) -> str:
        facts = "; ".join(f"{key}: {value}" for key, value in self.facts().items())
        return f"<worst case of {self.target.family} {self.target.method}: {facts}>"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        title = f"<b>{self.target.family} {self.target.method}</b>"
        return title + html_table(self.facts())


def worst_case(
    family: str,
    method: str,
    *,
    against: str = "exact",
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
    family, method : str
        The method, whose schedules should be bad.
    against : str
        "exact" (the optimum, certified by two exact methods at the end), "bound" (the optimum,
        between the best schedule known and a bound), or a method (the ratio of the two).
    guarantee : str, optional
        A claim of the paper, such as "theorem_5": the ratio over the claimed factor is maximised,
        and the search ends when it is 5 % above 1.
    preset, settings : str, mapping, optional
        Of `generate`, for the instances from which the search starts.
    jobs : int, optional
        Largest number of jobs.
    fixed : sequence of str
        Keys of the instance file whose values stay those of the preset, such as
        "bandwidth_between" or "arrival".
    time_limit : float, optional
        Seconds of search and shrinking; None only with `evaluations`. The certificate at the end
        comes on top.
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
    target = _target(
        family, method, against, guarantee, preset, settings, jobs, fixed, seed, options
    )
    if time_limit is None and evaluations is None:
        raise UsageError("no time limit: give a number of evaluations")
    if time_limit is not None and not 0 < time_limit < math.inf:
        raise UsageError(f"time limit {time_limit}: need a number > 0")
    _positive(workers, "workers")
    if evaluations is not None:
        _positive(evaluations, "evaluations")
    if enough is None:
        enough = _ENOUGH if guarantee is not None else math.inf
    state = _State(target, workers, None if out is None else _folder(out))
    search_seconds = math.inf if time_limit is None else _SHARE * time_limit
    _search(state, search_seconds, evaluations, enough, on_progress)
    data, score = state.best()
    if data is None:
        raise UsageError(
            f"no instance found on which {method} has a ratio, in {state.evaluations} evaluations"
            + (f": {state.faults[0]}" if state.faults else "")
        )
    used = 0
    if shrink:
        floor = score * (1 - 1e-9)
        if guarantee is not None and score > _REFUTED:
            floor = min(floor, _ENOUGH)
        begun = time.monotonic()
        left = math.inf if time_limit is None else time_limit - state.seconds
        data, used = _shrunk(target, data, floor, max(left, 5.0))
        state.seconds += time.monotonic() - begun
    found = certify(target, data)
    found = replace(
        found,
        found_score=score,
        evaluations=state.evaluations,
        shrink_evaluations=used,
        seconds=state.seconds,
        curve=state.curve(),
        faults=tuple(state.faults),
    )
    found = replace(found, instance=_annotated(found, workers))
    if out is not None:
        found.save(out)
    return found


def _target(
    name: str,
    method: str,
    against: str,
    guarantee: str | None,
    preset: str | None,
    settings: Mapping[str, object] | None,
    jobs: int | None,
    fixed: Sequence[str],
    seed: int,
    options: Mapping[str, object],
) -> Target:
    """Return what is searched; UsageError for what does not exist."""
    owner = family(name)
    chosen = owner.method(method)
    chosen.parse(options)
    space(name)  # or the error that there is none
    if chosen.kind == "bound":
        raise UsageError(f"method {method} is a bound and has no schedules")
    if against not in ("exact", "bound"):
        other = owner.method(against)
        if other.kind == "bound":
            raise UsageError(f"method {against} is a bound: use against='bound'")
    if guarantee is not None:
        _check_guarantee(owner, guarantee, chosen, options, against)
    known = presets(name)
    if preset is not None and preset not in known:
        raise UsageError(f"family {name} has no preset '{preset}': {choices(preset, known)}")
    if jobs is not None:
        _positive(jobs, "jobs")
    if isinstance(fixed, str):
        raise UsageError("fixed: need a list of keys")
    seed = whole_number(seed, "seed", most=2**31 - 1)
    usual = {} if preset not in (None, "small") else dict(space(name).start)
    if jobs is not None:
        usual = {key: value for key, value in usual.items() if key not in ("jobs", "tasks")}
    given = usual | _batch_settings(name, chosen.name) | dict(settings or {})
    known[preset or "small"].parse(given)
    if fixed:
        start = generate(name, preset=preset or "small", settings=given)
        _check_keys(name, fixed, {**start.to_data(), "meta": {}})
    return Target(
        name,
        chosen.name,
        dict(options),
        against,
        guarantee,
        preset,
        given,
        jobs,
        tuple(fixed),
        seed,
    )


def _check_keys(name: str, fixed: Sequence[str], start: Mapping[str, Any]) -> None:
    """Raise UsageError for keys that neither the file format nor an instance has."""
    keys = sorted(_properties(instance_class(name).schema_of_file()) | _keys(start))
    for key in fixed:
        if key not in keys:
            raise UsageError(
                f"fixed: instances of {name} have no key '{key}': {choices(key, keys)}"
            )


def _keys(data: Any) -> set[str]:
    """Return the keys of all objects in JSON data."""
    if isinstance(data, list):
        return set().union(*map(_keys, data))
    return set(data).union(*map(_keys, data.values())) if isinstance(data, dict) else set()


def _properties(schema: Any) -> set[str]:
    """Return the names of all properties in a JSON Schema."""
    if isinstance(schema, list):
        return set().union(*map(_properties, schema))
    if not isinstance(schema, dict):
        return set()
    own = schema.get("properties")
    return set(own if isinstance(own, dict) else ()).union(*map(_properties, schema.values()))


def _positive(value: object, name: str) -> int:
    """Return an integer >= 1; UsageError for anything else."""
    number = whole_number(value, name)
    if number < 1:
        raise UsageError(f"{name} {number}: need an integer >= 1")
    return number


def _batch_settings(name: str, method: str) -> dict[str, object]:
    """Return the settings by which the preset `small` draws instances for methods of batches."""
    if (name, method) == ("elastic", "a-maxweight"):
        return {"objective": "scheduled_weight"}
    return {"batch_round": 3} if (name, method) == ("edge", "a-maxsche") else {}


def _check_guarantee(
    owner: Family, key: str, method: Method, options: Mapping[str, object], against: str
) -> None:
    """Raise UsageError if a claim does not exist or says nothing on a method."""
    claims = owner.paper.guarantees
    if key not in claims:
        raise UsageError(f"family {owner.name} has no guarantee '{key}': {choices(key, claims)}")
    if method.name not in claims[key].methods:
        made = ", ".join(claims[key].methods)
        raise UsageError(f"guarantee {key} is a claim on {made}, not on {method.name}")
    others = set(changed_options(method, options)) - set(claims[key].options)
    if others:
        raise UsageError(f"guarantee {key} says nothing with option {min(others)}")
    if against not in ("exact", "bound"):
        raise UsageError(f"guarantee {key} is a claim on the optimum: use against='exact'")


class _StoredState(Record):
    """The state of a search in a file."""

    target: dict[str, Any]
    chains: list[dict[str, Any]]
    seconds: Annotated[float, Field(ge=0)]


class _State:
    """The chains of a search and the time they took; kept on disk if there is a folder."""

    def __init__(self, target: Target, workers: int, folder: Path | None) -> None:
        self.target = target
        self.file = None if folder is None else folder / _STATE
        self.chains = [Chain.start(target.seed, worker) for worker in range(workers)]
        self.seconds = 0.0
        self._lock = threading.Lock()
        self._saved = -math.inf
        if self.file is not None and self.file.exists():
            self._load(self.file)

    def _load(self, file: Path) -> None:
        try:
            data = read_json(file)
            if not isinstance(data, dict) or {"target", "chains", "seconds"} - set(data):
                raise InputError("not the state of a search", file=str(file))
            if data["target"] != self.target.to_data():
                raise InputError("belongs to another search: use another folder", path="target")
            stored = validate(_StoredState, data)
            if len(stored.chains) != len(self.chains):
                raise InputError(
                    f"has {len(stored.chains)} workers, not {len(self.chains)}", path="chains"
                )
            chains = [Chain.from_data(each) for each in stored.chains]
            for shown in (each for chain in chains for each in (chain.current, chain.best)):
                if shown is not None and from_data(shown).family != self.target.family:
                    raise InputError("has an instance of another family", path="chains")
            self.chains, self.seconds = chains, stored.seconds
        except InputError as error:
            raise error.inside(str(file)) from None

    def put(self, worker: int, chain: Chain, seconds: float) -> None:
        """Store a chain; write all of them to disk at most once a second."""
        with self._lock:
            self.chains[worker], self.seconds = chain, seconds
            if self.file is not None and time.monotonic() - self._saved > 1:
                self._saved = time.monotonic()
                self.save()

    def save(self) -> None:
        """Write the state to disk."""
        if self.file is not None:
            data = {
                "target": self.target.to_data(),
                "seconds": round(self.seconds, 3),
                "chains": [chain.to_data() for chain in self.chains],
            }
            write_json(self.file, data)

    @property
    def evaluations(self) -> int:
        """Instances evaluated by all chains."""
        return sum(chain.evaluations for chain in self.chains)

    @property
    def faults(self) -> list[str]:
        """Errors of methods, without repetitions."""
        return [*dict.fromkeys(text for chain in self.chains for text in chain.faults)]

    def best(self) -> tuple[dict[str, Any] | None, float]:
        """Return the data and the score of the best instance; the first worker's among equals."""
        chain = max(self.chains, key=lambda each: each.best_score)
        return chain.best, chain.best_score

    def curve(self) -> tuple[tuple[int, float], ...]:
        """Return the points at which the best score of all chains rose."""
        best, points = 0.0, []
        for count, score in sorted(point for chain in self.chains for point in chain.curve):
            if score > best:
                best = score
                points.append((count, score))
        return tuple(points)


def _search(
    state: _State,
    seconds: float,
    evaluations: int | None,
    enough: float,
    on_progress: Callable[[int, float], None] | None,
) -> None:
    """Advance all chains until the time or the evaluations are used up, or the score is enough."""
    begun, before = time.monotonic(), state.seconds
    interrupt = threading.Event()

    def spent() -> float:
        return before + time.monotonic() - begun

    def work(worker: int) -> None:
        while not interrupt.is_set():
            chain = state.chains[worker]
            count = _PIECE if evaluations is None else min(_PIECE, evaluations - chain.evaluations)
            left = seconds - spent()
            if count <= 0 or left <= 0 or state.best()[1] >= enough:
                return
            chain = _piece(state.target, chain, count, min(left, _PIECE_SECONDS), enough, interrupt)
            state.put(worker, chain, spent())
            if on_progress is not None:
                on_progress(state.evaluations, state.best()[1])

    try:
        with ThreadPoolExecutor(len(state.chains)) as pool:
            tasks = [pool.submit(work, worker) for worker in range(len(state.chains))]
            try:
                for task in tasks:
                    task.result()
            except BaseException:
                interrupt.set()
                raise
    finally:
        state.seconds = spent()
        state.save()


def _piece(
    target: Target,
    chain: Chain,
    evaluations: int,
    seconds: float,
    enough: float,
    interrupt: threading.Event,
) -> Chain:
    """Advance one chain in a child process; if it hangs, it goes on with other random numbers."""
    best: list[tuple[float, dict[str, Any], int]] = []
    reply = run_child(
        "schedgap.analysis.studies.instance_search:advance",
        target,
        chain,
        evaluations,
        seconds,
        enough,
        limit=_HANG_SECONDS,
        on_message=best.append,
        engine=engine_of(target),
        interrupt=interrupt,
    )
    if reply.outcome == "done":
        advanced: Chain = reply.value
        return advanced
    if reply.outcome == "error":
        reply.result()
    chain.evaluations += 1
    chain.random = np.random.default_rng([target.seed, chain.evaluations, len(chain.faults)])
    chain.faults.append(f"a method was killed ({reply.outcome})")
    chain.current = None
    for score, data, count in best:
        chain.best, chain.best_score = data, score
        chain.curve.append((count, score))
    return chain


def _shrunk(
    target: Target, data: dict[str, Any], floor: float, seconds: float
) -> tuple[dict[str, Any], int]:
    """Return a smaller instance of at least the same score, and the number of evaluations."""
    smaller: list[dict[str, Any]] = []
    reply = run_child(
        "schedgap.analysis.studies.instance_search:shrink",
        target,
        data,
        floor,
        _SHRINK_EVALUATIONS,
        seconds,
        limit=None if math.isinf(seconds) else seconds + _HANG_SECONDS,
        on_message=smaller.append,
        engine=engine_of(target),
    )
    if reply.outcome == "error":
        reply.result()
    if reply.outcome != "done":
        return (smaller[-1] if smaller else data), len(smaller)
    found: tuple[dict[str, Any], int] = reply.value
    return found


# --- certificates ----------------------------------------------------------------------------


def certify(target: Target, data: Mapping[str, Any], time_limit: float = 60.0) -> WorstCase:
    """Return an instance as a find: both sides are solved again, and the optimum is proved.

    Parameters
    ----------
    target : Target
        What the instance should show.
    data : mapping
        JSON data of the instance.
    time_limit : float
        Of each method, in seconds.
    """
    instance = _named(target, data)
    owner = family(target.family)
    sense = owner.sense(instance)
    solution = solve(instance, target.method, time_limit=time_limit, **target.options)
    references = _references(target, instance, time_limit)
    if solution.objective is None:
        raise UsageError(f"{target.method} has no schedule on {instance.name}: no ratio")
    values = [each.objective for each in references if each.objective is not None]
    pick = min if sense == "min" else max
    if target.against in ("exact", "bound"):
        bound = None
        for each in references:
            bound = tighter(bound, each.bound, sense)
        ratio = ratio_interval(
            solution.objective, pick([solution.objective, *values]), bound, sense
        )
    else:
        quotient = divide(solution.objective, values[0], sense) if values else math.inf
        ratio = RatioInterval(quotient, quotient)
    changed = changed_options(owner.method(target.method), target.options)
    guarantee = dict(owner.paper.guarantee(instance, target.method, changed))
    score = ratio.low
    if target.guarantee is not None:
        claim = owner.paper.guarantees[target.guarantee]
        guarantee = dict(claim.evaluate(instance, **changed))
        if claim.measure is not None:
            score = claim.measure(instance)
        elif guarantee["factor"]:
            score = over_claim(ratio, guarantee["factor"])
    return WorstCase(
        instance, target, solution, tuple(references), ratio, guarantee, score, score, 0, 0, 0.0,
        ((1, score),),
    )  # fmt: skip


def _references(target: Target, instance: Instance, time_limit: float) -> list[Solution]:
    """Solve an instance by what the target is compared with."""
    owner = family(target.family)
    names: Sequence[str] = (target.against,)
    if target.against == "exact":
        names = ("exact", *SECOND.get(target.family, ()))
    elif target.against == "bound":
        names = (*reference_names(target), "lp")
    found = []
    for name in names:
        method = owner.method(name)
        if method.unsupported_reason(instance) is None:
            try:
                found.append(solve(instance, name, time_limit=time_limit))
            except EngineUnavailableError:
                if len(names) == 1:
                    raise
    return found


def _named(target: Target, data: Mapping[str, Any]) -> Instance:
    """Return the instance with a name that says what it shows."""
    return from_data({**data, "name": f"{target.family}-{target.method}-worst-{target.seed}"})


def _annotated(found: WorstCase, workers: int) -> Instance:
    """Return the instance of a find with `meta.worst_case`, as in `instances/library`."""
    target, factor = found.target, found.guarantee.get("factor")
    values = [each.objective for each in found.references if each.objective is not None]
    pick = min if found.solution.sense == "min" else max
    facts: dict[str, Any] = {
        "method": target.method,
        "options": dict(target.options),
        "against": target.against,
        "objective": found.solution.objective,
        "reference": pick(values) if values else None,
        "ratio": _plain(found.ratio),
    }
    if factor is not None:
        facts["claimed"] = factor
    if found.refuted:
        facts |= {"refutes": target.guarantee, "score": found.score}
    facts["found"] = {
        "seed": target.seed,
        "workers": workers,
        "evaluations": found.evaluations,
        "seconds": round(found.seconds),
    }
    return found.instance.replace(meta={**found.instance.meta, "worst_case": facts})


# --- grids -----------------------------------------------------------------------------------


def worst_grid(
    family: str,
    methods: Sequence[str],
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
    methods : sequence of str
        Names of methods.
    time_limit, evaluations, jobs, seed, workers
        Of each pair, as in `worst_case`.
    out : path, optional
        Folder for the finds, `METHOD-vs-METHOD` each; a search that is there is continued.

    Returns
    -------
    pandas.DataFrame
        The ratios: one row for each method, one column for each method it is compared with. A
        number above 1 in a row says that the method of the row can be worse by this factor; NaN,
        that no instance with a ratio was found.

    References
    ----------
    J. Coleman, B. Krishnamachari, "PISA: An adversarial approach to comparing task graph scheduling
    algorithms", arXiv:2403.07120 (2024).
    """
    import pandas as pd

    for method in methods:
        _target(family, method, method, None, None, None, jobs, (), seed, {})  # or its error
        if list(methods).count(method) > 1:
            raise UsageError(f"method {method} is given twice")
    table = pd.DataFrame(math.nan, index=list(methods), columns=list(methods))
    table.index.name, table.columns.name = "method", "compared with"
    for method in methods:
        for other in methods:
            if method == other:
                table.loc[method, other] = 1.0
                continue
            place = None if out is None else Path(out) / f"{method}-vs-{other}"
            try:
                found = worst_case(
                    family, method, against=other, time_limit=time_limit, jobs=jobs,
                    evaluations=evaluations, seed=seed, workers=workers, out=place,
                )  # fmt: skip
            except UsageError as error:
                if not str(error).startswith("no instance found"):
                    raise
                continue
            table.loc[method, other] = found.ratio.low
    return table


def over_claim(ratio: RatioInterval, factor: float) -> float:
    """Return by what factor a ratio certainly exceeds a claimed one; above 1 refutes the claim.

    Parameters
    ----------
    ratio : RatioInterval
        The ratio to the optimum.
    factor : float
        The claimed factor, > 0.
    """
    return ratio.low / factor


def _plain(ratio: RatioInterval) -> list[float | None]:
    """Return the ends of an interval; None for an infinite one."""
    return [end if math.isfinite(end) else None for end in (ratio.low, ratio.high)]


def _folder(folder: PathLike) -> Path:
    """Return a folder, created if needed."""
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"cannot be written: {reason}", file=str(folder)) from None
    return place
