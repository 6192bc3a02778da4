"""Worked examples of family `dmlrs`, small enough to solve by hand; see `presets.toml`."""

from collections.abc import Mapping, Sequence

from schedgap.instances.generate import Generated, Request


def toy(request: Request) -> Generated:
    """Return preset `toy`."""
    jobs = [
        _job("j1", 1, [10, 8, 2, 0]),
        _job("j2", 1, [3, 3, 3, 1]),
        _job("j3", 2, [9, 9, 1, 0]),
    ]
    return _generated(["m1", "m2"], jobs)


def toy2(request: Request) -> Generated:
    """Return preset `toy2`."""
    return _generated(["m1"], [_job("j1", 1, [3, 3, 1, 1]), _job("j3", 2, [9, 9, 0, 0])])


def _job(name: str, arrival: int, values: Sequence[int]) -> dict[str, object]:
    """Return a job that needs 4 worker-slots on one machine and 7.2 across machines."""
    return {
        "id": name,
        "arrival": arrival,
        "epochs": 2,
        "samples": 30,
        "batch_size": 4,
        "gradient_size": 8.0,
        "time_per_sample": 0.04,
        "worker_ps_ratio": 2.0,
        "internal_bandwidth": 300.0,
        "external_bandwidth": 100.0,
        "worker_demand": {"gpu": 1.0, "cpu": 1.0},
        "ps_demand": {"gpu": 0.0, "cpu": 1.0},
        "utility": {"type": "table", "values": [float(value) for value in values]},
    }


def _generated(machines: Sequence[str], jobs: Sequence[Mapping[str, object]]) -> Generated:
    fields = {
        "horizon": 4,
        "resources": ["gpu", "cpu"],
        "machines": [{"id": name, "capacity": {"gpu": 2.0, "cpu": 4.0}} for name in machines],
        "jobs": list(jobs),
        "price_parameters": {
            "max_unit_utility": {"gpu": 8.0, "cpu": 4.0},
            "min_unit_utility": 0.01,
        },
    }
    return Generated(fields, "jobs of our own, worked out by hand", "slot of 1 h")
