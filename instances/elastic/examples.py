"""Worked examples of family `elastic`, small enough to solve by hand."""

from schedgap.instances.generate import Generated, Request


def introduction(request: Request) -> Generated:
    """Return the introduction's two jobs on three GPUs; optimum 13.5, 12.5 ms and a slot."""
    jobs = [
        _job(name, 1, 0.5, 1, 1, 1)
        | {"gradient_size": 0, "train_time": {"one": 15, "two": 10}, "update_time": {"ps": 0}}
        for name in ("A", "B")
    ]
    capacity = {"gpu": 3, "bandwidth": 4}
    fields = _fields(jobs, 1) | {
        "horizon": 30,
        "resources": list(capacity),
        "servers": [{"id": "server", "capacity": capacity}],
        "worker_types": [
            {"id": "one", "demand": {"gpu": 1, "bandwidth": 1}},
            {"id": "two", "demand": {"gpu": 2, "bandwidth": 1}},
        ],
        "ps_types": [{"id": "ps", "demand": {"bandwidth": 1}}],
    }
    return Generated(fields, "Section 1: a mini-batch takes 15 ms on a GPU, 10 ms on two", "ms")


def toy(request: Request) -> Generated:
    """Return two parameter-server jobs on two servers of 2 GPUs; optimum 27."""
    return Generated(_fields(_jobs(), 2), "two jobs of our own, worked out by hand", "slot")


def batch(request: Request) -> Generated:
    """Return the toy's jobs on one server with deadline 4: one excludes the other; optimum 5."""
    jobs = [job | {"arrival": 1} for job in _jobs()]
    fields = _fields(jobs, 1) | {"objective": "scheduled_weight", "deadline": 4}
    return Generated(fields, "the toy's jobs on its first server, at once", "slot")


def ring(request: Request) -> Generated:
    """Return one ring job that gets slower with more workers; optimum 5, two on one server."""
    job = _job("j1", 1, 1, 3, 4, 1) | {"gradient_size": 0.5, "update_time": 0.2}
    fields = _fields([job], 2) | {"architecture": "ring_allreduce", "ps_types": []}
    return Generated(fields, "one job of our own, worked out by hand", "slot")


def _jobs() -> list[dict[str, object]]:
    return [_job("j1", 1, 3, 2, 3, 2), _job("j2", 2, 5, 1, 2, 2)]


def _job(
    name: str, arrival: int, weight: float, epochs: int, chunks: int, batches: int
) -> dict[str, object]:
    return {
        "id": name,
        "arrival": arrival,
        "weight": weight,
        "epochs": epochs,
        "chunks": chunks,
        "batches_per_chunk": batches,
        "gradient_size": 0.25,
        "train_time": {"w1": 0.5},
        "update_time": {"p1": 0.0},
    }


def _fields(jobs: list[dict[str, object]], servers: int) -> dict[str, object]:
    capacity = {"gpu": 2, "cpu": 8, "bandwidth": 6}
    return {
        "architecture": "parameter_server",
        "objective": "weighted_completion",
        "horizon": 10,
        "horizon_policy": "open",
        "resources": list(capacity),
        "bandwidth_resource": "bandwidth",
        "servers": [{"id": f"s{h}", "capacity": capacity} for h in range(1, servers + 1)],
        "worker_types": [{"id": "w1", "demand": {"gpu": 1, "cpu": 2, "bandwidth": 1}}],
        "ps_types": [{"id": "p1", "demand": {"cpu": 2, "bandwidth": 3}}],
        "jobs": jobs,
    }
