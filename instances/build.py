"""Instances from Python data: keywords, lists of dicts, and pandas tables."""

from collections.abc import Callable, Mapping
from typing import Any, get_args

from schedgap.instances.families import instance_class
from schedgap.instances.instance import Instance
from schedgap.instances.records import Record, plain

PREFIXES = {  # list of an instance -> prefix of the ids of its records
    "jobs": "j",
    "gpus": "gpu",
    "servers": "s",
    "machines": "m",
    "worker_types": "w",
    "ps_types": "p",
}


def instance(family: str, /, **keys: object) -> Instance:
    """Return an instance from its keys; family, version, name, ids and the time unit are filled in.

    Parameters
    ----------
    family : str
        Name of the family, such as "hare".
    **keys
        The keys of the instance file (`schedgap schema FAMILY`). The values are numbers, lists of
        dicts or of records, or pandas tables with a row for each job or machine. A column
        `training_time.fast` stands for the key `fast` of `training_time`. Jobs without ids are
        called j1, j2, ... Lists of names that follow from the other keys may be left out:
        `gpu_kinds` of hare, `worker_types` and `ps_types` of edge, and `resources`. A GPU of hare
        may be given by its kind alone.

    Raises
    ------
    UsageError
        If there is no such family.
    InputError
        If the data are invalid; names the JSON path of the first fault.

    Examples
    --------
    >>> import schedgap as sg
    >>> toy = sg.instance(
    ...     "hare",
    ...     gpus=["fast", "slow"],
    ...     jobs=[
    ...         {"arrival": 0, "weight": 2, "rounds": 2, "tasks_per_round": 1,
    ...          "training_time": {"fast": 1, "slow": 3}},
    ...         {"arrival": 1, "weight": 1, "rounds": 1, "tasks_per_round": 2,
    ...          "training_time": {"fast": 2, "slow": 2}},
    ...     ],
    ... )
    >>> [job.id for job in toy.jobs], [gpu.id for gpu in toy.gpus]
    (['j1', 'j2'], ['gpu1', 'gpu2'])
    """
    cls = instance_class(family)
    data = {"family": family, "version": 1, "name": family} | plain(keys)
    unit = "s" if family == "hare" else "slot"
    if isinstance(data.setdefault("meta", {}), dict):
        data["meta"] = {"time_unit": unit} | data["meta"]
    if family == "hare" and isinstance(data.get("gpus"), list):
        data["gpus"] = [{"kind": gpu} if isinstance(gpu, str) else gpu for gpu in data["gpus"]]
    for key, prefix in PREFIXES.items():
        if _has_ids(cls, key) and isinstance(data.get(key), list):
            data[key] = _with_ids(data[key], prefix)
    for key, (lists, follow) in _FOLLOWING.items():
        if key in cls.model_fields and key not in data and any(name in data for name in lists):
            data[key] = follow(data) or [{"id": "any"}]  # replaced by the fault of the list
    return cls.from_data(data)


def _has_ids(cls: type[Instance], key: str) -> bool:
    """Return whether a key of the instances is a list of records with ids."""
    field = cls.model_fields.get(key)
    kinds = get_args(field.annotation) if field else ()
    return any(
        isinstance(kind, type) and issubclass(kind, Record) and "id" in kind.model_fields
        for kind in kinds
    )


def _with_ids(rows: list[Any], prefix: str) -> list[Any]:
    """Return records with ids; those that are given stay, and none is given twice."""
    taken = {row["id"] for row in rows if isinstance(row, dict) and isinstance(row.get("id"), str)}
    filled = []
    for number, row in enumerate(rows, 1):
        if isinstance(row, dict) and "id" not in row:
            name = f"{prefix}{number}"
            while name in taken:
                name += "_"
            taken.add(name)
            row = {"id": name} | row
        filled.append(row)
    return filled


def _names(data: Mapping[str, Any], lists: str, key: str) -> list[Any]:
    """Return the different values of a key of records, or its keys where it is an object."""
    found: dict[Any, None] = {}
    rows = data.get(lists)
    for row in rows if isinstance(rows, list) else ():
        value = row.get(key) if isinstance(row, dict) else None
        names = value if isinstance(value, dict) else [value]
        found |= dict.fromkeys(name for name in names if name and isinstance(name, str))
    return list(found)


_FOLLOWING: dict[str, tuple[tuple[str, ...], Callable[[Mapping[str, Any]], list[Any]]]] = {
    "gpu_kinds": (
        ("gpus",),
        lambda data: [{"id": kind} for kind in _names(data, "gpus", "kind")],
    ),
    "worker_types": (("jobs",), lambda data: _names(data, "jobs", "worker_type")),
    "ps_types": (("jobs",), lambda data: _names(data, "jobs", "ps_type")),
    "resources": (
        ("servers", "machines"),
        lambda data: _names(data, "servers", "capacity") or _names(data, "machines", "capacity"),
    ),
}
