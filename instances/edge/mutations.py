"""What a search for worst cases may change in an instance of family `edge`."""

from typing import Any

from schedgap.instances.mutations import Space


def _repair(data: dict[str, Any]) -> None:
    """Give every job a transfer delay for each server that there is, and for no other."""
    servers = [server["id"] for server in data["servers"]]
    for job in data["jobs"]:
        given = job["transfer_delay"]
        usual = next(iter(given.values()), 1)
        job["transfer_delay"] = {name: given.get(name, usual) for name in servers}


SPACE = Space(
    lists={"jobs": 6, "servers": 4},
    fixed=frozenset({"horizon", "slot_seconds", "worker_types", "ps_types", "batch_round"}),
    repair=_repair,
)
