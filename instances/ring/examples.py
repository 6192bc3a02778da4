"""Worked examples of family `ring`, small enough to solve by hand."""

from schedgap.instances.generate import Generated, Request


def toy(request: Request) -> Generated:
    """Return two rings of 4 on three servers of 3: the best start follows no event; optimum 7."""
    jobs = [_job(name, 4, 24, 4 / 3) for name in "ab"]
    fields = _fields([3, 3, 3], jobs, 30, 1.5)
    return Generated(fields, "two rings of our own, worked out by hand", "slot")


def toy_pcmax(request: Request) -> Generated:
    """Return five jobs of one GPU on one server of 2: two identical machines; optimum 6."""
    passes = {"batch_size": 1, "forward_time_per_sample": 0.5, "backward_time": 0.25}
    jobs = [
        _job(name, 1, slots, 0.0) | passes | {"estimated_slots": float(slots)}
        for name, slots in zip("abcde", (3, 3, 2, 2, 2), strict=True)
    ]
    fields = _fields([2], jobs, 60, 1.5) | {"overhead_per_server": 0.25}
    return Generated(fields, "a known case of two identical machines", "slot")


def toy_mixed(request: Request) -> Generated:
    """Return five jobs of 1, 2 and 4 GPUs on servers of 4 and 2; optimum 8."""
    jobs = [
        _job("a", 1, 70, 1.0),
        _job("b", 2, 60, 2.0),
        _job("c", 2, 30, 2.0),
        _job("d", 4, 30, 4 / 3),
        _job("e", 1, 28, 1.0),
    ]
    return Generated(
        _fields([4, 2], jobs, 40, 0.5), "five jobs of our own, worked out by hand", "slot"
    )


def _job(name: str, gpus: int, iterations: int, gradient_size: float) -> dict[str, object]:
    return {
        "id": name,
        "gpus": gpus,
        "iterations": iterations,
        "gradient_size": gradient_size,
        "batch_size": 8,
        "forward_time_per_sample": 0.005,
        "backward_time": 0.02,
    }


def _fields(
    servers: list[int], jobs: list[dict[str, object]], horizon: int, alpha: float
) -> dict[str, object]:
    return {
        "horizon": horizon,
        "servers": [{"id": f"s{n}", "gpus": gpus} for n, gpus in enumerate(servers, 1)],
        "jobs": jobs,
        "bandwidth_between": 40.0,
        "bandwidth_within": 100.0,
        "compute_speed": 100.0,
        "contention_factor": 1.0,
        "overhead_per_server": 0.01,
        "degradation": {"kind": "linear", "alpha": alpha},
        "clamp_contention": True,
        "rate_scale": 1,
    }
