"""Simulated annealing over instance files; runs in child processes.

A chain changes its instance at random (`instances/mutations.py`). It accepts a lower score with a
probability that falls over the chain's steps. Then it restarts from a new random instance, or from
the best one [1].

References
----------
.. [1] J. Coleman, B. Krishnamachari, "PISA: An adversarial approach to comparing task graph
   scheduling algorithms", arXiv:2403.07120 (2024).
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from schedgap.analysis.studies.scores import Evaluator
from schedgap.analysis.studies.targets import Target, allowed
from schedgap.errors import InputError
from schedgap.instances.generate import generate, presets, small_preset
from schedgap.instances.instance import Instance
from schedgap.instances.mutations import mutate, valid
from schedgap.instances.records import Record, validate

_STEPS = 150  # steps of a chain between two restarts
_HOT, _COLD = 0.15, 0.005  # temperature, of the logarithm of the score, at the start and the end
_STARTS = 8  # random instances from the best of which a chain starts
_STARTING_CHANGES = 4  # random moves from a generated instance to the start of a chain


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

        `seed`: random seed of the search. `worker`: number of the chain.
        """
        return cls(np.random.default_rng([seed, worker]))

    def reached(self, score: float) -> float:
        """Return after how many evaluations the best score was at least this; inf if never."""
        return next((count for count, value in self.curve if value >= score), math.inf)

    def interrupted(self, fault: str, found: Sequence[tuple[float, dict[str, Any], int]]) -> None:
        """Go on after the process of the chain was killed: from new instances, drawn differently.

        `fault`: what happened. `found`: what the process had sent.
        """
        for score, data, count in found:
            self.best, self.best_score, self.evaluations = data, score, count
            self.curve.append((count, score))
        self.evaluations += 1
        self.faults.append(fault)
        self.random = np.random.default_rng(self.random.integers(2**32, size=4))
        self.current, self.score, self.step = None, 0.0, -_STARTS

    def to_data(self) -> dict[str, Any]:
        """Return plain JSON data from which `from_data` restores the chain."""
        plain = {name: getattr(self, name) for name in self.__slots__ if name != "random"}
        return plain | {"random": self.random.bit_generator.state}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> "Chain":
        """Return a chain from the data of `to_data`.

        `data`: plain JSON data.

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
    sent: float | None = None,
) -> Chain:
    """Continue a chain for a number of evaluations, or for some seconds, and return it.

    `send`: receives (score, instance data, evaluations) whenever the best score rises. `target`:
    what is searched. `chain`: where it stands. `evaluations`: most evaluations. `seconds`: no
    evaluation but the first begins later. `enough`: the chain ends at a score of at least this.
    `sent`: `time.time()` of the call; the start of the process then counts as a part of `seconds`.
    """
    late = 0.0 if sent is None else max(0.0, time.time() - sent)
    evaluator, until = Evaluator(target), time.monotonic() + seconds - late
    for count in range(evaluations):
        if (count and time.monotonic() > until) or chain.best_score >= enough:
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
    settings, preset = dict(target.settings), target.preset or small_preset(target.family)
    known = {option.name for option in presets(target.family)[preset].options}
    if target.jobs is not None and "jobs" in known:
        settings.setdefault("jobs", target.jobs)
    seed, limits = int(random.integers(2**31)), allowed(target)
    data = generate(target.family, preset=preset, seed=seed, settings=settings).to_data()
    unit = {key: value for key, value in data["meta"].items() if key == "time_unit"}
    data |= {"name": target.family, "meta": unit}
    parts = {}
    lengths = {name: most for name, most in limits.lists.items() if data.get(name)}
    for name, most in lengths.items():
        count = int(random.integers(min(len(data[name]), most))) + 1
        chosen = sorted(random.permutation(len(data[name]))[:count].tolist())
        parts[name] = [data[name][index] for index in chosen]
    firsts = {name: data[name][:most] for name, most in lengths.items()}
    found = valid(data | parts, limits) or valid(data | firsts, limits)
    assert found is not None
    return found
