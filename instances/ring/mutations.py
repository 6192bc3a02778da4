"""What a search for worst cases may change in an instance of family `ring`."""

from schedgap.instances.mutations import Space

SPACE = Space(
    lists={"jobs": 6, "servers": 4},
    fixed=frozenset({"horizon", "rate_scale", "spread_factor", "estimated_slots"}),
)
