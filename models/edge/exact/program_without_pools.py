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

    `proof`: vectors with a key `p` are pools.
    """
    pools = [vector for vector in proof["vectors"] if "p" in vector]
    if not pools:
        return None
    model = Model(instance, goal)
    model.write()
    before = len(model.columns)
    for pool in pools:
        model.reduce(pool)
    model.write()
    return Pooled(before - len(model.columns))
