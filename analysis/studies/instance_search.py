"""Search for an instance on which a method is far from another one; runs in child processes.

Simulated annealing over instance files [1]: a chain changes its instance at random
(`instances/mutations.py`) and accepts a lower score with a probability that falls over the chain's
steps; then it restarts from a new random instance, or from the best one. `shrink` removes entries
and simplifies numbers as long as a floor of the score is kept, until no single change does so
(1-minimality of delta debugging [2]).

A score counts only for schedules that the family's rules accept. For a minimised objective it is
the method's value over the least value of any schedule known, and hence at most the ratio to the
optimum, whatever else is not known.

References
----------
.. [1] J. Coleman, B. Krishnamachari, "PISA: An adversarial approach to comparing task graph
   scheduling algorithms", arXiv:2403.07120 (2024).
.. [2] A. Zeller, R. Hildebrandt, "Simplifying and isolating failure-inducing input", IEEE
   Transactions on Software Engineering 28 (2002) 183-200.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from schedgap.analysis.records.ratios import divide
from schedgap.errors import InputError, SchedgapError
from schedgap.instances.families import FAMILIES
from schedgap.instances.generate import generate, presets
from schedgap.instances.instance import Instance
from schedgap.instances.mutations import (
    Space,
    leaves,
    mutate,
    space,
    valid,
    value_at,
    with_value,
    without_entry,
)
from schedgap.instances.records import Record, validate
from schedgap.models.family import Family, family
from schedgap.models.method import Budget, Method, MethodResult, NullProgress, RunContext
from schedgap.solvers.children.clock import Clock

Options = Mapping[str, Any]

# Methods whose best schedule replaces the optimum during a search, fast ones first.
_REFERENCES: Mapping[str, tuple[tuple[str, Options], ...]] = {
    "dmlrs": (("density", {}), ("colgen-heuristic", {"moves": 1})),
    "edge": (("fifo", {}), ("list", {"moves": 10})),
    "elastic": (("wspt-list", {}), ("lp-guided", {})),
    "hare": (("list", {}), ("local-search", {"moves": 100})),
    "ring": (("lpt-pack", {}), ("branch-simulate", {})),
}
_METHOD_SECONDS = 5.0  # limit of one method on one instance
_STEPS = 150  # of a chain between two restarts
_HOT, _COLD = 0.15, 0.005  # temperature, of the logarithm of the score, at the start and the end
_STARTS = 8  # random instances from the best of which a chain starts
_STARTING_CHANGES = 4  # random moves from a generated instance to the start of a chain
_SIMPLE = (1, 2, 3, 4, 5, 10, 0)  # numbers that are tried first


@dataclass(frozen=True, slots=True)
class Target:
    """What a search maximises; plain data, as they are written to a file.

    Attributes
    ----------
    family, method : str
        The method, whose schedules should be bad.
    options : mapping
        Settings of the method.
    against : str
        "exact" or "bound", the optimum; or a method.
    guarantee : str or None
        Key of a claim of the paper: the score is then the ratio over the claimed factor.
    preset : str or None
        Of the instances from which chains start.
    settings : mapping
        Settings of the preset.
    jobs : int or None
        Largest number of jobs.
    fixed : tuple of str
        Keys of the instance file whose values stay as they are.
    seed : int
        Of the search.
    """

    family: str
    method: str
    options: Options
    against: str
    guarantee: str | None
    preset: str | None
    settings: Options
    jobs: int | None
    fixed: tuple[str, ...]
    seed: int

    def to_data(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return asdict(self) | {"fixed": list(self.fixed)}


class Score(NamedTuple):
    """Score of an instance: the ratio, or the ratio over the claimed factor."""

    score: float
    value: float  # of the method; of a claim that is measured, the measure
    reference: float


class Evaluator:
    """Runs the two sides of a target on instances, in this process where engines allow it.

    Parameters
    ----------
    target : Target
        What is searched.
    """

    def __init__(self, target: Target) -> None:
        self.target = target
        self.owner: Family = family(target.family)
        self.method: Method = self.owner.method(target.method)
        self.options = self.method.parse(target.options)
        self.space = allowed(target)
        self.faults: list[str] = []
        claims = self.owner.paper.guarantees
        self.claim = None if target.guarantee is None else claims[target.guarantee]
        self._engine = self.method.choose_engine(None)
        self._references = [
            (found, found.parse(options)) for found, options in _references(self.owner, target)
        ]

    def score(self, instance: Instance, need: float = -math.inf) -> Score | None:
        """Return the score of an instance; None if it has none, or if it is surely below `need`.

        Parameters
        ----------
        instance : Instance
            Of the target's family.
        need : float
            A score below this is not wanted.
        """
        try:
            return self._score(instance, need)
        except Exception as error:  # noqa: BLE001 - a method that fails is no find, but is told
            if not isinstance(error, SchedgapError):
                self.faults.append(f"{type(error).__name__}: {error}")
            return None

    def _score(self, instance: Instance, need: float) -> Score | None:
        if self.claim is not None and self.claim.measure is not None:
            measured = self.claim.measure(instance)
            return Score(measured, measured, 1.0) if measured > 0 else None
        factor = self._factor(instance)
        if factor is None:
            return None
        sense = self.owner.sense(instance)
        value = self._value(self.method, self.options, instance)
        if value is None:
            return None
        best: float | None = None
        if self.target.against in ("exact", "bound"):
            best = value
            bound = self._quick_bound(instance)
            if bound is not None and divide(value, bound, sense) < need * factor:
                return None
        pick = min if sense == "min" else max
        for method, options in self._references:
            if method.unsupported_reason(instance) is None:
                found = self._value(method, options, instance)
                if found is not None:
                    best = found if best is None else pick(best, found)
        if best is None:
            return None
        ratio = divide(value, best, sense)
        return Score(ratio / factor, value, best) if 0 < ratio < math.inf else None

    def _factor(self, instance: Instance) -> float | None:
        """Return by what a ratio is divided; None if the claim says nothing on the instance."""
        if self.claim is None:
            return 1.0
        said = self.claim.evaluate(instance, **changed_options(self.method, self.target.options))
        factor: float | None = said["factor"]
        return factor if said["holds"] or self.claim.ours else None

    def _quick_bound(self, instance: Instance) -> float | None:
        """Return the bound of the longest job alone."""
        if not any(method.name == "job-alone" for method in self.owner.methods):
            return None
        method = self.owner.method("job-alone")
        return self._run(method, method.parse({}), instance).bound

    def _value(self, method: Method, options: Options, instance: Instance) -> float | None:
        """Return the verified objective of a method's schedule; None without one.

        A schedule that omits rules counts for the method that is searched only.
        """
        schedule = self._run(method, options, instance).schedule
        if schedule is None:
            return None
        data = schedule.to_data(instance)
        broken = next(iter(self.owner.check(instance, data, options)), None)
        if broken is not None:
            raise RuntimeError(f"{method.name} breaks {broken.rule}: {broken.message}")
        return float(self.owner.objective(instance, data))

    def _run(self, method: Method, options: Options, instance: Instance) -> MethodResult:
        """Run a method here, or in a child process of its own if it needs another engine."""
        engine = method.choose_engine(None)
        if method.runs_children or engine in (None, self._engine) or self._engine is None:
            if not method.runs_children and engine is not None:
                self._engine = engine
            clock = Clock(_METHOD_SECONDS)
            call = RunContext(options, engine, Budget(clock, 0), NullProgress())
            return self.owner.run(method, instance, call)
        from schedgap.solvers.children.processes import run_child

        reply = run_child(
            "schedgap.analysis.solving.tasks:run_method",
            FAMILIES[self.owner.name].models,
            instance,
            method.name,
            options,
            engine,
            _METHOD_SECONDS,
            0,
            limit=_METHOD_SECONDS,
            engine=engine,
        )
        result: MethodResult = reply.result()[0]
        return result


def changed_options(method: Method, settings: Options) -> dict[str, Any]:
    """Return the options of a method that do not have their defaults.

    Parameters
    ----------
    method : Method
        The method.
    settings : mapping
        Settings of some options.
    """
    values = method.parse(settings)
    return {
        option.name: values[option.name]
        for option in method.options
        if values[option.name] != option.default
    }


def allowed(target: Target) -> Space:
    """Return what may change in the instances of a target.

    Parameters
    ----------
    target : Target
        What is searched.
    """
    given = space(target.family)
    lists = dict(given.lists) | ({} if target.jobs is None else {"jobs": target.jobs})
    return replace(given, lists=lists, fixed=given.fixed | frozenset(target.fixed))


def _references(owner: Family, target: Target) -> list[tuple[Method, Options]]:
    """Return the methods whose best schedule is compared with."""
    if target.against not in ("exact", "bound"):
        return [(owner.method(target.against), {})]
    if owner.name in _REFERENCES:
        return [(owner.method(name), options) for name, options in _REFERENCES[owner.name]]
    kinds = ("algorithm", "baseline")
    return [(each, each.parse({})) for each in owner.methods
            if each.kind in kinds and not each.engines]  # fmt: skip


# --- annealing -------------------------------------------------------------------------------


@dataclass(slots=True)
class Chain:
    """State of one chain of annealing; plain data but for the generator of random numbers.

    `curve` has the points (evaluations, score) at which the best score rose.
    """

    random: np.random.Generator
    current: dict[str, Any] | None = None
    score: float = 0.0
    step: int = -_STARTS
    restarts: int = 0
    evaluations: int = 0
    best: dict[str, Any] | None = None
    best_score: float = 0.0
    curve: list[tuple[int, float]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @classmethod
    def start(cls, seed: int, worker: int) -> "Chain":
        """Return a chain at its beginning.

        Parameters
        ----------
        seed, worker : int
            Of the search, and of the chain within it.
        """
        return cls(np.random.default_rng([seed, worker]))

    def to_data(self) -> dict[str, Any]:
        """Return plain JSON data from which `from_data` restores the chain."""
        plain = {name: getattr(self, name) for name in self.__slots__ if name != "random"}
        return plain | {"random": self.random.bit_generator.state}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> "Chain":
        """Return a chain from the data of `to_data`.

        Parameters
        ----------
        data : mapping
            Plain JSON data.

        Raises
        ------
        InputError
            If the data are no chain.
        """
        stored = validate(StoredChain, dict(data))
        random = np.random.default_rng()
        try:
            random.bit_generator.state = stored.random
            curve = [(int(count), float(score)) for count, score in stored.curve]
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"no state of a search: {error}") from None
        chain = cls(random, **{key: data[key] for key in cls.__slots__ if key != "random"})
        chain.curve = curve
        return chain


class StoredChain(Record):
    """A chain in a file."""

    random: dict[str, Any]
    current: dict[str, Any] | None
    score: float
    step: int
    restarts: int
    evaluations: int
    best: dict[str, Any] | None
    best_score: float
    curve: list[list[float]]
    faults: list[str]


def advance(
    send: Callable[[object], None],
    target: Target,
    chain: Chain,
    evaluations: int,
    seconds: float,
    enough: float,
) -> Chain:
    """Continue a chain for a number of evaluations, or for some seconds, and return it.

    Parameters
    ----------
    send : callable
        Receives (score, instance data, evaluations) whenever the best score rises.
    target : Target
        What is searched.
    chain : Chain
        Where it stands.
    evaluations : int
        Most evaluations.
    seconds : float
        No evaluation begins later.
    enough : float
        The chain ends at a score of at least this.
    """
    evaluator, until = Evaluator(target), time.monotonic() + seconds
    for _ in range(evaluations):
        if time.monotonic() > until or chain.best_score >= enough:
            break
        _step(chain, evaluator)
        if chain.current is not None and chain.score > chain.best_score:
            chain.best, chain.best_score = chain.current, chain.score
            chain.curve.append((chain.evaluations, chain.score))
            send((chain.score, chain.best, chain.evaluations))
    chain.faults = [*chain.faults, *evaluator.faults][:20]
    return chain


def _step(chain: Chain, evaluator: Evaluator) -> None:
    """Evaluate one instance, and accept or reject it."""
    chain.evaluations += 1
    if chain.step >= _STEPS:
        _restart(chain)
    if chain.step < 0 or chain.current is None:
        _draw(chain, evaluator)
        return
    temperature = _HOT * (_COLD / _HOT) ** (chain.step / _STEPS)
    chain.step += 1
    threshold = chain.score * math.exp(temperature * math.log(1 - chain.random.random()))
    candidate = mutate(chain.current, evaluator.space, chain.random)
    if candidate is None:
        return
    found = evaluator.score(candidate, threshold)
    if found is not None and found.score >= threshold:
        chain.current, chain.score = candidate.to_data(), found.score


def _restart(chain: Chain) -> None:
    """Start again: every third time from the best instance, otherwise from new random ones."""
    chain.restarts += 1
    if chain.best is not None and chain.restarts % 3 == 0:
        chain.current, chain.score, chain.step = chain.best, chain.best_score, _STEPS // 2
    else:
        chain.current, chain.score, chain.step = None, 0.0, -_STARTS


def _draw(chain: Chain, evaluator: Evaluator) -> None:
    """Evaluate a random instance; the chain starts from the best one of several."""
    chain.step = min(chain.step + 1, 0)
    instance = _random_instance(evaluator.target, chain.random)
    for _ in range(int(chain.random.integers(_STARTING_CHANGES + 1))):
        instance = mutate(instance.to_data(), evaluator.space, chain.random) or instance
    found = evaluator.score(instance, chain.score)
    if found is not None and found.score > chain.score:
        chain.current, chain.score = instance.to_data(), found.score


def _random_instance(target: Target, random: np.random.Generator) -> Instance:
    """Return a generated instance, with a random part of its jobs and machines."""
    settings, preset = dict(target.settings), target.preset or "small"
    known = {option.name for option in presets(target.family)[preset].options}
    if target.jobs is not None and "jobs" in known:
        settings.setdefault("jobs", target.jobs)
    seed, limits = int(random.integers(2**31)), allowed(target)
    data = generate(target.family, preset=preset, seed=seed, settings=settings).to_data()
    unit = {key: value for key, value in data["meta"].items() if key == "time_unit"}
    data |= {"name": target.family, "meta": unit}
    parts = {}
    for name, most in limits.lists.items():
        count = int(random.integers(min(len(data[name]), most))) + 1
        chosen = sorted(random.permutation(len(data[name]))[:count].tolist())
        parts[name] = [data[name][index] for index in chosen]
    whole = {name: data[name][:most] for name, most in limits.lists.items()}
    found = valid(data | parts, limits) or valid(data | whole, limits)
    assert found is not None
    return found


# --- shrinking -------------------------------------------------------------------------------


def shrink(
    send: Callable[[object], None],
    target: Target,
    data: Mapping[str, Any],
    floor: float,
    evaluations: int,
    seconds: float,
) -> tuple[dict[str, Any], int]:
    """Return a smaller instance whose score is at least a floor, and the number of evaluations.

    Parameters
    ----------
    send : callable
        Receives the data of each smaller instance.
    target : Target
        What was searched.
    data : mapping
        JSON data of the instance.
    floor : float
        The least score.
    evaluations : int
        Most evaluations.
    seconds : float
        No evaluation begins later.
    """
    evaluator, until = Evaluator(target), time.monotonic() + seconds
    current, used, before = dict(data), 0, None
    while current != before:
        before = current
        for stage in (_fewer, _simpler):
            tries = stage(current, evaluator.space)
            while used < evaluations and time.monotonic() < until:
                changed = next(tries, None)
                if changed is None:
                    break
                instance = valid(changed, evaluator.space)
                if instance is None or instance.to_data() == current:
                    continue
                used += 1
                found = evaluator.score(instance, floor)
                if found is not None and found.score >= floor:
                    current = instance.to_data()
                    send(current)
                    tries = stage(current, evaluator.space)
    return current, used


def _fewer(data: Mapping[str, Any], allowed: Space) -> Iterator[dict[str, Any]]:
    """Yield the data without one entry of a list, for each entry, the last ones first."""
    for name in allowed.lists:
        if len(data[name]) > 1:
            for index in reversed(range(len(data[name]))):
                yield without_entry(data, name, index)


def _simpler(data: Mapping[str, Any], allowed: Space) -> Iterator[dict[str, Any]]:
    """Yield the data with one simpler number, for each number."""
    for path in leaves(data, allowed):
        for value in _simpler_numbers(value_at(data, path)):
            yield with_value(data, path, value)


def _simpler_numbers(value: float) -> Iterator[float]:
    """Yield numbers that are simpler than a value, of its type: small, whole, of fewer digits."""
    whole = isinstance(value, int)
    rounded = [float(f"{value:.{digits}g}") for digits in (1, 2, 3)]
    for new in (*_SIMPLE, value // 2, float(round(value)), *rounded):
        typed = round(new) if whole else float(new)
        if _complexity(typed) < _complexity(value) and abs(typed) <= max(1, abs(value)):
            yield typed


def _complexity(value: float) -> tuple[int, float]:
    """Return a key by which simpler numbers come first: fewer digits, smaller, 0 after 1."""
    text = f"{value:.12g}".lstrip("-")
    return len(text.strip("0.") or "0") + text.count("."), abs(value) or 1.5


def reference_names(target: Target) -> list[str]:
    """Return the names of the methods whose best schedule replaces the optimum during the search.

    Parameters
    ----------
    target : Target
        What is searched.
    """
    return [method.name for method, _ in _references(family(target.family), target)]


def engine_of(target: Target) -> str | None:
    """Return the engine that a process for the target loads first, or None.

    Parameters
    ----------
    target : Target
        What is searched.
    """
    owner = family(target.family)
    methods = [owner.method(target.method), *(each for each, _ in _references(owner, target))]
    engines = (each.choose_engine(None) for each in methods if not each.runs_children)
    return next((engine for engine in engines if engine is not None), None)
