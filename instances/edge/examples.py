"""Worked examples of family `edge`, small enough to solve by hand; see `presets.toml`."""

from schedgap.instances.generate import Generated, Request


def toy(request: Request) -> Generated:
    """Return preset `toy`."""
    servers = [_server("edge-1", 2, 1), _server("edge-2", 2, 1), _server("cloud", 4, 2)]
    delays = {"edge-1": 1, "edge-2": 1, "cloud": 3}
    jobs = [
        _job("j1", 1, (2, 3, 2), 1200, delays, megabytes=3750),
        _job("j2", 1, (2, 4, 1), 1800, delays),
        _job("j3", 2, (1, 2, 2), 900, delays),
    ]
    return _generated(16, servers, jobs)


def toy_b(request: Request) -> Generated:
    """Return preset `toy-b`."""
    servers = [_server("edge-1", 2, 1), _server("cloud", 4, 1)]
    delays = {"edge-1": 1, "cloud": 3}
    jobs = [_job(f"j{n}", 1, (2, 4, 1), 1800, delays, megabytes=1125) for n in (1, 2, 3)]
    return _generated(16, servers, jobs)


def toy_c(request: Request) -> Generated:
    """Return preset `toy-c`."""
    delays = {"edge-1": 1}
    jobs = [_job("j1", 1, (4, 1, 1), 3600, delays), _job("j2", 1, (1, 1, 1), 3600, delays)]
    return _generated(8, [_server("edge-1", 1, 1)], jobs)


def toy_batch(request: Request) -> Generated:
    """Return preset `toy-batch`: the instance of `toy-b` as a batch problem."""
    generated = toy_b(request)
    return Generated({**generated.fields, "batch_round": 3}, generated.source, generated.time_unit)


def _server(name: str, workers: int, ps: int) -> dict[str, object]:
    return {
        "id": name,
        "kind": name.partition("-")[0],
        "workers": {"gpu": workers},
        "parameter_servers": {"cpu": ps},
    }


def _job(
    name: str,
    arrival: int,
    volume: tuple[int, int, int],
    seconds: float,
    delays: dict[str, int],
    megabytes: float = 0.0,
) -> dict[str, object]:
    epochs, chunks, minibatches = volume
    return {
        "id": name,
        "arrival": arrival,
        "worker_type": "gpu",
        "ps_type": "cpu",
        "epochs": epochs,
        "chunks": chunks,
        "minibatches_per_chunk": minibatches,
        "compute_seconds": float(seconds),
        "update_seconds": 0.0,
        "gradient_megabytes": float(megabytes),
        "bandwidth_mbps": 100.0,
        "transfer_delay": delays,
    }


def _generated(
    horizon: int, servers: list[dict[str, object]], jobs: list[dict[str, object]]
) -> Generated:
    fields = {
        "horizon": horizon,
        "slot_seconds": 3600,
        "worker_types": ["gpu"],
        "ps_types": ["cpu"],
        "servers": servers,
        "jobs": jobs,
    }
    return Generated(fields, "jobs of our own, worked out by hand", "slot of 1 h")
