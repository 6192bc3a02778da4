"""What a search for worst cases may change in an instance of family `elastic`."""

from schedgap.instances.mutations import Space

SPACE = Space(
    lists={"jobs": 6, "servers": 3},
    fixed=frozenset({
        "architecture", "objective", "horizon", "horizon_policy", "resources", "bandwidth_resource",
    }),
)  # fmt: skip
