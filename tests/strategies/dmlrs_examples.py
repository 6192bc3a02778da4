"""Worked examples of family `dmlrs`, and instances of a few numbers."""

from typing import Any

from schedgap.instances.dmlrs import DmlrsInstance

# c_int = 0.04 + 2/4 x 16/300 = 1/15, N_int = 60/15 = 4; c_ext = 0.04 + 2/4 x 16/100 = 0.12,
# N_ext = 7.2. A machine of 2 GPUs and 4 CPUs holds 2 workers and their PS: half a job in a slot.
JOB: dict[str, Any] = {
    "epochs": 2, "samples": 30, "batch_size": 4, "gradient_size": 8.0, "time_per_sample": 0.04,
    "worker_ps_ratio": 2.0, "internal_bandwidth": 300.0, "external_bandwidth": 100.0,
    "worker_demand": {"gpu": 1, "cpu": 1}, "ps_demand": {"gpu": 0, "cpu": 1},
}  # fmt: skip
MACHINE = {"gpu": 2, "cpu": 4}


def job(name: str, arrival: int, values: list[float], **changed: Any) -> dict[str, Any]:
    """Return a job of the worked examples with a table of utilities."""
    table = {"type": "table", "values": values}
    return {"id": name, "arrival": arrival, **JOB, "utility": table, **changed}


def instance_of(
    jobs: list[dict[str, Any]],
    machines: list[dict[str, float]] | None = None,
    horizon: int = 4,
    **fields: Any,
) -> DmlrsInstance:
    """Return an instance of GPUs and CPUs; by default two machines of the worked example."""
    rooms = [MACHINE, MACHINE] if machines is None else machines
    return DmlrsInstance.from_data(
        {
            "family": "dmlrs",
            "version": 1,
            "name": "t",
            "horizon": horizon,
            "resources": ["gpu", "cpu"],
            "machines": [{"id": f"m{h}", "capacity": room} for h, room in enumerate(rooms, 1)],
            "jobs": jobs,
            **fields,
        }
    )


PRICES = {"max_unit_utility": {"gpu": 8.0, "cpu": 4.0}, "min_unit_utility": 0.01}
TOY = instance_of(
    [
        job("j1", 1, [10.0, 8.0, 2.0, 0.0]),
        job("j2", 1, [3.0, 3.0, 3.0, 1.0]),
        job("j3", 2, [9.0, 9.0, 1.0, 0.0]),
    ],
    price_parameters=PRICES,
)
TOY_2 = instance_of(
    [job("j1", 1, [3.0, 3.0, 1.0, 1.0]), job("j3", 2, [9.0, 9.0, 0.0, 0.0])],
    [MACHINE],
    price_parameters=PRICES,
)


def row(name: str, slot: int, machine: str, workers: int = 2, ps: int = 1) -> dict[str, Any]:
    """Return an allocation of a solution file."""
    return {"job": name, "slot": slot, "machine": machine, "workers": workers, "ps": ps}


TOY_SCHEDULE: dict[str, Any] = {  # worth 8 + 3 + 9 = 20, the optimum
    "admitted": ["j1", "j2", "j3"],
    "allocations": [
        row("j1", 1, "m1"), row("j1", 2, "m1"),
        row("j2", 1, "m2"), row("j2", 3, "m1"),
        row("j3", 2, "m2"), row("j3", 3, "m2"),
    ],
}  # fmt: skip
