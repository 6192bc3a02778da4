"""Kinds of answers: how each is graded, and what is said about a wrong one.

A grader takes an answer and returns "" if it is right, or else the reason why it is wrong. The
right answer is computed when the exercise is checked.
"""

import html
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from schedgap.analysis.results.verifying import verify
from schedgap.errors import SchedgapError
from schedgap.instances.instance import Instance

Grader = Callable[[Any], str]
RELATIVE = 2e-3  # answers may be rounded to three digits
SHOWN = 2  # violated rules in a reason


@dataclass(frozen=True)
class Feedback:
    """Whether an answer is right; true in conditions if it is.

    Attributes
    ----------
    exercise : str
        Name of the exercise.
    right : bool
        Whether the answer is right.
    reason : str
        Why the answer is wrong; empty if it is right.
    """

    exercise: str
    right: bool
    reason: str = ""

    def __bool__(self) -> bool:
        return self.right

    def __repr__(self) -> str:
        return f"{self.exercise}: {'right' if self.right else f'not yet. {self.reason}'}"

    def _repr_html_(self) -> str:
        mark = "&#10003; right" if self.right else f"not yet. {html.escape(self.reason)}"
        return f"<p><b>{html.escape(self.exercise)}</b>: {mark}</p>"


def as_number(answer: object) -> float | None:
    """Return a number as a float; None for anything else, also for NaN and truth values."""
    if isinstance(answer, bool | str):
        return None
    try:
        value = float(answer)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return None if math.isnan(value) else value


def close(left: float, right: float) -> bool:
    """Return whether two numbers agree to about three digits."""
    return math.isclose(left, right, rel_tol=RELATIVE, abs_tol=1e-9)


def number(truth: Callable[[], float], hint: str = "", **mistakes: Any) -> Grader:
    """Grade a number.

    `hint`: how to find the number. `mistakes`: each keyword names a typical mistake. Its value is a
    pair: the wrong number (or a function that returns it), and the sentence that explains the
    mistake.
    """

    def grade(answer: object) -> str:
        value = as_number(answer)
        if value is None:
            return "The answer is a number."
        right = truth()
        if close(value, right):
            return ""
        for wrong, why in mistakes.values():
            if close(value, wrong() if callable(wrong) else wrong):
                return str(why)
        return f"{value:g} is too {'small' if value < right else 'large'}. {hint}".strip()

    return grade


def pair(truth: Callable[[], tuple[float, float]], first: str, second: str) -> Grader:
    """Grade two numbers; `first` and `second` are how to find each."""

    def grade(answer: object) -> str:
        values = [as_number(part) for part in answer] if isinstance(answer, tuple | list) else []
        if len(values) != 2 or None in values:
            return "The answer is a pair of numbers: (low, high)."
        for value, right, hint in zip(values, truth(), (first, second), strict=True):
            if not close(float(value or 0), right):
                return f"{value:g} is wrong. {hint}"
        return ""

    return grade


def word(truth: Callable[[], str], among: Callable[[], Any], reasons: Mapping[str, str]) -> Grader:
    """Grade one of several words; `reasons` says why a wrong word is wrong, "" of any other."""

    def grade(answer: object) -> str:
        words = list(among())
        if answer not in words:
            return f"The answer is one of these: {', '.join(words)}."
        return "" if answer == truth() else reasons.get(str(answer)) or reasons[""]

    return grade


def schedule(instance: Callable[[], Instance], value: Callable[[], float], sense: str) -> Grader:
    """Grade a schedule, which must be feasible and at least as good as a value."""

    def grade(answer: Any) -> str:
        try:
            verdict = verify(instance(), getattr(answer, "schedule", answer))
        except SchedgapError as error:
            return f"The answer is no schedule: {error}"
        if not verdict.feasible:
            rules = "; ".join(f"{v.rule}: {v.message}" for v in verdict.violations[:SHOWN])
            return f"The schedule is not feasible. {rules}"
        found, wanted = verdict.objective, value()
        assert found is not None
        if close(found, wanted) or (found < wanted) == (sense == "min"):
            return ""
        return f"The schedule is feasible, but its objective is {found:g}. Reach {wanted:g}."

    return grade


def example(accept: Callable[[Instance], str]) -> Grader:
    """Grade an instance; `accept` returns why it does not do."""

    def grade(answer: object) -> str:
        if not isinstance(answer, Instance):
            return "The answer is an instance, as sg.load or instance.replace returns it."
        return accept(answer)

    return grade
