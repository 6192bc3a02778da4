"""The small instances of the quick comparison."""

from schedgap.instances.generate import generate
from schedgap.instances.instance import Instance


def suite() -> list[Instance]:
    """Return worked examples and three random instances."""
    return [
        generate("dmlrs", preset="toy"),
        generate("dmlrs", preset="toy2"),
        generate("dmlrs", preset="small", seed=1),
        generate("dmlrs", preset="small", seed=2),
        generate("dmlrs", preset="small", seed=3),
    ]
