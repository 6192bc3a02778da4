"""Smaller instances of the same score; runs in a child process.

The search removes entries and simplifies numbers as long as the score stays above a floor. It ends
if no single change does so (1-minimality of delta debugging [1]).

References
----------
.. [1] A. Zeller, R. Hildebrandt, "Simplifying and isolating failure-inducing input", IEEE
   Transactions on Software Engineering 28 (2002) 183-200.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from schedgap.analysis.studies.scores import Evaluator
from schedgap.analysis.studies.targets import Target
from schedgap.instances.mutations import Space, leaves, valid, value_at, with_value, without_entry

_SIMPLE = (1, 2, 3, 4, 5, 10, 0)  # numbers that are tried first


def shrink(
    send: Callable[[object], None],
    target: Target,
    data: Mapping[str, Any],
    floor: float,
    evaluations: int,
    seconds: float,
) -> tuple[dict[str, Any], int]:
    """Return a smaller instance whose score is at least a floor, and the number of evaluations.

    `send`: receives the data of each smaller instance. `target`: what was searched. `data`: JSON
    data of the instance. `evaluations`: most evaluations. `seconds`: no evaluation begins later.
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
        count = len(data.get(name, ()))
        if count > 1:
            for index in reversed(range(count)):
                yield without_entry(data, name, index)


def _simpler(data: Mapping[str, Any], allowed: Space) -> Iterator[dict[str, Any]]:
    """Yield the data with one simpler number, for each number."""
    for path in leaves(data, allowed):
        for value in _simpler_numbers(value_at(data, path)):
            yield with_value(data, path, value)


def _simpler_numbers(value: float) -> Iterator[float]:
    """Yield numbers that are simpler than a value, of its type: small, whole, of fewer digits."""
    is_integer = isinstance(value, int)
    rounded = [float(f"{value:.{digits}g}") for digits in (1, 2, 3)]
    for new in (*_SIMPLE, value // 2, float(round(value)), *rounded):
        typed = round(new) if is_integer else float(new)
        if _complexity(typed) < _complexity(value) and abs(typed) <= max(1, abs(value)):
            yield typed


def _complexity(value: float) -> tuple[int, float]:
    """Return a key by which simpler numbers come first: fewer digits, smaller, 0 after 1."""
    text = f"{value:.12g}".lstrip("-")
    return len(text.strip("0.") or "0") + text.count("."), abs(value) or 1.5
