"""A proof as a prover or a search writes it; `checker.py` says what it means."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Proof:
    """A proof: vectors of dual values, cuts, and the nodes of the tree in preorder.

    `goal`: what it excludes, if that is more than its claim needs.
    """

    vectors: list[dict[str, Any]]
    cuts: list[Mapping[str, Any]]
    tree: list[dict[str, Any]]
    goal: int | None = None
