"""Worked examples of family `ring`; the values that tests assert of them are by hand."""

from typing import Any

from schedgap.instances.ring import RingInstance


def job(name: str, gpus: int, iterations: int, gradient_size: float = 0.0, **more: Any) -> Any:
    """Return a job whose passes take 0.06 slots for each iteration unless said otherwise."""
    plain = {"batch_size": 8, "forward_time_per_sample": 0.005, "backward_time": 0.02}
    found = {"id": name, "gpus": gpus, "iterations": iterations, "gradient_size": gradient_size}
    return found | plain | more


def instance_of(jobs: list[Any], servers: list[int], **fields: Any) -> RingInstance:
    """Return an instance on servers s1, s2, ... of these GPUs; constants are as in W1."""
    data: dict[str, Any] = {
        "family": "ring",
        "version": 1,
        "name": "test",
        "horizon": 30,
        "servers": [{"id": f"s{n}", "gpus": gpus} for n, gpus in enumerate(servers, 1)],
        "jobs": jobs,
        "bandwidth_between": 40.0,
        "bandwidth_within": 100.0,
        "compute_speed": 100.0,
        "contention_factor": 1.0,
        "overhead_per_server": 0.01,
        "degradation": {"kind": "linear", "alpha": 1.5},
    }
    return RingInstance.from_data(data | fields)


# two rings of 4 on three servers of 3: any two at once share a server
W1 = instance_of([job(name, 4, 24, 4 / 3) for name in "ab"], [3, 3, 3])

# one server of 2 GPUs, one iteration per slot: scheduling on two identical machines
W2 = instance_of(
    [
        job(
            name, 1, slots, batch_size=1, forward_time_per_sample=0.5, backward_time=0.25,
            estimated_slots=slots,
        )
        for name, slots in zip("abcde", (3, 3, 2, 2, 2), strict=True)
    ],
    [2],
    horizon=60,
    overhead_per_server=0.25,
)  # fmt: skip

# servers of 4 and 2; one job of one GPU, three of two, one of four
W3 = instance_of(
    [
        job("a", 1, 70, 1.0),
        job("b", 2, 60, 2.0),
        job("c", 2, 30, 2.0),
        job("d", 4, 30, 4 / 3),
        job("e", 1, 28, 1.0),
    ],
    [4, 2],
    horizon=40,
    degradation={"kind": "linear", "alpha": 0.5},
)
