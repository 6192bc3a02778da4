"""What a certificate assumes of an edge instance: prices leave out no run of a good schedule."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from schedgap.instances.edge.instance import EdgeInstance
from schedgap.models.edge.proof import Model


class Pooled(NamedTuple):
    """How many columns the pools leave out; the program with them is not stated."""

    left_out: int
    larger: None = None


def pooled(instance: EdgeInstance, goal: int, proof: Mapping[str, Any]) -> Pooled | None:
    """Return what the pools of a checked proof leave out; None without pools.

    `proof`: vectors with a key `p` are pools; those with a key `type` contain pools.
    """
    vectors = proof["vectors"]
    parts = [vector for vector in vectors if "type" in vector]
    parts = parts or [{"goal": goal, "pools": [vector for vector in vectors if "p" in vector]}]
    left_out = 0
    for part in parts:
        model = Model(instance, part["goal"], part.get("type"))
        model.write()
        left_out += len(model.columns)
        for pool in part["pools"]:
            model.reduce(pool)
        model.write()
        left_out -= len(model.columns)
    return Pooled(left_out) if any(part["pools"] for part in parts) else None
