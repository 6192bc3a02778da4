"""What a search for worst cases may change in an instance of family `dmlrs`."""

from typing import Any

from schedgap.instances.mutations import Space


def _repair(data: dict[str, Any]) -> None:
    """Round amounts to the three decimals of the file, and make utilities nonincreasing."""
    for machine in data["machines"]:
        machine["capacity"] = _rounded(machine["capacity"])
    for job in data["jobs"]:
        for key in ("worker_demand", "ps_demand"):
            job[key] = _rounded(job[key])
        if job["utility"]["type"] == "table":
            job["utility"]["values"].sort(reverse=True)


def _rounded(amounts: dict[str, float]) -> dict[str, float]:
    return {name: round(amount, 3) for name, amount in amounts.items()}


SPACE = Space(
    lists={"jobs": 5, "machines": 3},
    fixed=frozenset({"horizon", "ps_rule", "resources"}),
    repair=_repair,
)
