"""The small instances of the quick comparison."""

from schedgap.instances.generate import generate
from schedgap.instances.instance import Instance


def suite() -> list[Instance]:
    """Return worked examples, one of them a batch, and two random instances."""
    return [
        generate("edge", preset="toy"),
        generate("edge", preset="toy-b"),
        generate("edge", preset="toy-batch"),
        generate("edge", preset="small", seed=1),
        generate("edge", preset="small", seed=2),
    ]
