"""Certificates that are wrong in every way: refused in one line, and never a false bound."""

import json
import math
import time
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck

from schedgap.errors import InputError
from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge.bounds.certificates import KINDS, check_certificate
from strategies.edge import instance_of
from strategies.edge_examples import TOY_A, TOY_BATCH

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}
CELLS = {"slots": 16, "worker_prices": [[0, 0, 2, 0.5]], "ps_prices": [[0, 0, 2, 0.25]]}
ONE_TYPE = {
    "worker_type": "gpu", "slots": 8, "block": 2,
    "prices": {"edge": [[1, 0.5]], "cloud": []},
    "cuts": [{"workers": "all", "unit": 3, "prices": [[1, 0.25]]}],
}  # fmt: skip
LEAF = {key: ONE_TYPE[key] for key in ("prices", "cuts")}
TREE = {
    "worker_type": "gpu", "slots": 8, "block": 2,
    "tree": [{"job": "J1", "attribute": "end", "most": 3}, LEAF, LEAF],
}  # fmt: skip
GOOD: dict[str, dict[str, Any]] = {
    "cg-bound": {"kind": "cg-bound", **CELLS},
    "type-bound": {"kind": "type-bound", "types": [ONE_TYPE]},
    "job-bound": {"kind": "job-bound"},
    "batch-dual": {"kind": "batch-dual", **(CELLS | {"slots": 4})},
}
WRONG = (
    None, True, -1, 0.5, 1e308, -1e308, math.nan, math.inf, 10**40, "x", [], {}, [[]], [[0]],
    [[0, 0, 0, 0.0]], [[0, 0, 1, math.nan]], [[0, 0, 1, 1e308]], [[0, 0, 1, True]], [[10**30] * 4],
    10**9,
)  # fmt: skip


def changed(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield the data with one place after the other wrong, left out, or next to a strange key."""
    places = data.items() if isinstance(data, dict) else enumerate(data)
    for key, inner in list(places):
        for wrong in WRONG:
            other = data | {key: wrong} if isinstance(data, dict) else list(data)
            if isinstance(other, list):
                other[key] = wrong
            yield (*path, key), other
        if isinstance(data, dict):
            yield (*path, key), {k: v for k, v in data.items() if k != key}
            yield (*path, key), data | {"strange": 1}
        if isinstance(inner, (dict, list)):
            for where, new in changed(inner, (*path, key)):
                other = dict(data) if isinstance(data, dict) else list(data)
                other[key] = new
                yield where, other


def judge(instance: EdgeInstance, certificate: Any, optimum: float) -> bool:
    """Return whether a certificate proves something; what it proves is true."""
    began, refusal = time.monotonic(), None
    value = 0.0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            value = check_certificate(instance, certificate)
    except InputError as error:
        refusal = error
    assert time.monotonic() - began < 10
    if refusal is not None:
        assert (refusal.path or "").startswith("certificate") and "\n" not in str(refusal)
        return False
    assert value >= optimum if instance.is_batch else value <= optimum
    return True


@pytest.mark.parametrize("kind", GOOD)
def test_whatever_is_wrong_is_refused_or_proves_what_is_true(kind: str) -> None:
    instance, optimum = (TOY_BATCH, 3) if kind == "batch-dual" else (TOY_A, 5)
    good = GOOD[kind]
    assert judge(instance, json.loads(json.dumps(good)), optimum)
    refused = sum(not judge(instance, wrong, optimum) for _, wrong in changed(good))
    assert refused > 15


def test_every_kind_is_tried() -> None:
    assert set(GOOD) == set(KINDS)


@pytest.mark.parametrize("kind", ["cg-bound", "type-bound"])
def test_what_would_take_too_long_is_refused(kind: str) -> None:
    """An instance of 10^9 slots, and as many prices."""
    job = {"epochs": 10**8, "transfer_delay": {"s": 0}}
    servers = [{"id": "s", "kind": "edge", "workers": {"gpu": 1}, "parameter_servers": {"cpu": 1}}]
    instance = instance_of([job, {"transfer_delay": {"s": 0}}], servers=servers, horizon=10**9)
    empty = {"slots": 10**9, "worker_prices": [], "ps_prices": []}
    huge = {
        "cg-bound": {"kind": "cg-bound", **empty},
        "type-bound": {"kind": "type-bound", "types": [ONE_TYPE | {"slots": 10**9, "block": 1}]},
    }[kind]
    assert not judge(instance, huge, math.inf)
