"""The small instances of the quick comparison."""

from schedgap.instances.generate import generate
from schedgap.instances.instance import Instance


def suite() -> list[Instance]:
    """Return the toy, random instances of both architectures, and a batch problem."""
    ring = {"architecture": "ring_allreduce"}
    return [
        generate("elastic", preset="toy"),
        generate("elastic", preset="toy-batch"),
        generate("elastic", preset="small", seed=1),
        generate("elastic", preset="small", seed=2, settings=ring),
    ]
