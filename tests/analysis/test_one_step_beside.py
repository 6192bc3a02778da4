"""Claims one step away from the truth, of every family, from small to large values."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import schedgap as sg
from schedgap.analysis.results.bounds import Scale
from schedgap.models.family import family

MAGNITUDES = (1, 10**6, 9 * 10**8, 3 * 10**9, 10**12)


def edge(size: int) -> dict[str, Any]:
    """Return four jobs whose data take a quarter of `size` slots to arrive; two share a worker."""
    delay = max(1, size // 4)
    common = {
        "arrival": 1, "ps_type": "p", "epochs": 1, "chunks": 1, "minibatches_per_chunk": 1,
        "compute_seconds": 1.0, "update_seconds": 0.0, "gradient_megabytes": 0.0,
        "bandwidth_mbps": 1.0, "transfer_delay": {"s": delay},
    }  # fmt: skip
    workers = {"u": 1, "v": 1, "w": 1}
    return {
        "horizon": delay + 100, "slot_seconds": 1.0, "worker_types": list(workers),
        "ps_types": ["p"],
        "servers": [
            {"id": "s", "kind": "edge", "workers": workers, "parameter_servers": {"p": 10}}
        ],
        "jobs": [{"id": f"j{k}", "worker_type": u, **common} for k, u in enumerate("uuvw")],
    }  # fmt: skip


def hare(size: int) -> dict[str, Any]:
    """Return a long job and a short one on two GPUs, in steps of a thousandth."""
    head = {"arrival": 0.0, "weight": 1.0, "rounds": 1, "tasks_per_round": 1}
    return {
        "gpu_kinds": [{"id": "A"}], "gpus": [{"id": "g", "kind": "A"}, {"id": "h", "kind": "A"}],
        "jobs": [
            {"id": "j", **head, "training_time": {"A": size / 1000}},
            {"id": "k", **head, "training_time": {"A": 0.001}},
        ],
    }  # fmt: skip


def elastic(size: int) -> dict[str, Any]:
    """Return one job of weight `size`."""
    data = sg.generate("elastic", preset="small", seed=1, settings={"jobs": 1}).to_data()
    data["jobs"][0]["weight"] = size
    return data


def dmlrs(size: int) -> dict[str, Any]:
    """Return one job of utility `size`; utilities are on no grid."""
    job = {
        "id": "j", "arrival": 1, "epochs": 1, "samples": 1, "batch_size": 1,
        "gradient_size": 0.001, "time_per_sample": 0.5, "worker_ps_ratio": 1.0,
        "internal_bandwidth": 1.0, "external_bandwidth": 1.0, "worker_demand": {"g": 1.0},
        "ps_demand": {"g": 1.0}, "utility": {"type": "table", "values": [float(size)]},
    }  # fmt: skip
    machine = {"id": "m", "capacity": {"g": 2.0}}
    return {"horizon": 1, "resources": ["g"], "machines": [machine], "jobs": [job]}


def ring(size: int) -> dict[str, Any]:
    """Return one job; its values are slots, and few."""
    return sg.generate("ring", preset="small", seed=1, settings={"jobs": 1}).to_data()


def cases() -> Iterator[Any]:
    makers: tuple[tuple[Callable[[int], dict[str, Any]], int], ...] = (
        (edge, 3 * 10**9), (hare, 3 * 10**9), (elastic, 10**12), (dmlrs, 10**12), (ring, 1),
    )  # fmt: skip
    for make, largest in makers:
        for size in MAGNITUDES:
            if size <= largest:
                yield pytest.param(make, size, id=f"{make.__name__}-{size}")


@pytest.mark.parametrize(("make", "size"), list(cases()))
def test_only_the_truth_is_accepted(make: Callable[[int], dict[str, Any]], size: int) -> None:
    name = make.__name__
    instance = sg.instance(name, **{"name": "beside", **make(size)})
    owner, scale = family(name), Scale.of(instance)
    known = sg.solve(instance, "job-alone")
    best = sg.solve(instance, "cp-sat", time_limit=60, proof="off")
    assert best.objective is not None and known.bound is not None
    assert owner.check_certificate is not None and known.certificate is not None
    step = scale.grid or 3e-9 * best.objective
    sign = 1 if best.sense == "min" else -1
    truth = best.to_data() | {"bound": known.bound, "status": "feasible", "proof": None}
    assert sg.verify(instance, truth, known.certificate).complete
    beside = known.bound + sign * step
    stronger = sg.verify(instance, truth | {"bound": beside}, known.certificate)
    assert stronger.bound_status == "refuted", (beside, stronger)
    past = sg.verify(instance, truth | {"bound": best.objective + sign * step})
    assert "bound" in [item.rule for item in past.violations]
    for value in (best.objective - step, best.objective + step):
        wrong = sg.verify(instance, truth | {"objective": value}, known.certificate)
        assert [item.rule for item in wrong.violations] == ["objective"]
    if scale.grid is not None:
        weaker = truth | {"bound": best.objective - sign * step, "status": "optimal"}
        assert "status" in [item.rule for item in sg.verify(instance, weaker).violations]
