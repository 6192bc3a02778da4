"""The small instances of the quick comparison."""

from schedgap.instances.generate import generate
from schedgap.instances.instance import Instance


def suite() -> list[Instance]:
    """Return the toys, and random instances in which jobs may spread, or must."""
    return [
        generate("ring", preset="toy"),
        generate("ring", preset="toy-pcmax"),
        generate("ring", preset="toy-mixed"),
        generate("ring", preset="small", seed=1),
        generate("ring", preset="small-forced", seed=1, settings={"jobs": 4}),
    ]
