"""The small instances of the quick comparison."""

from schedgap.instances.generate import generate
from schedgap.instances.instance import Instance


def suite() -> list[Instance]:
    """Return the toy, a counterexample to the printed relaxation, and random instances."""
    return [
        generate("hare", preset="toy"),
        generate("hare", preset="ce2"),
        generate("hare", preset="small", seed=1),
        generate("hare", preset="small", seed=2),
        generate("hare", preset="medium", seed=1),
    ]
