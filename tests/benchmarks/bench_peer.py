"""`exact` next to PyJobShop on instances of 20 to 40 tasks: value, bound, gap, seconds of both.

Both get one thread and the same time limit, one after the other: 60 s, with `--quick` 10 s.
PyJobShop is given its best model of the problem: one renewable resource for each kind of GPUs with
their number as capacity, a mode for each kind, zero-length tasks as barriers, and an order of the
starts of alike tasks. Its engine is CP-SAT.
"""

import importlib.util
import random
import sys
from typing import Any

import schedgap as sg
from schedgap.instances.hare import HareInstance
from schedgap.solvers.children.processes import run_child

# (seed, jobs, tasks)
INSTANCES = ((1, 6, 20), (2, 8, 28), (3, 9, 32), (4, 9, 34), (5, 10, 36), (6, 10, 40))


def instance_of(seed: int, jobs: int, tasks: int) -> HareInstance:
    """Draw jobs of integer times 1-10 on 2 fast and 2 slow GPUs until they have so many tasks."""
    rng = random.Random(seed)
    while True:
        drawn: list[dict[str, Any]] = []
        for n in range(jobs):
            fast = rng.randint(1, 5)
            slow = min(10, max(1, round(fast * rng.uniform(1.5, 2.5))))
            sync = rng.choice([0, 0, 1, 1, 2])
            drawn.append(
                {
                    "id": f"J{n + 1}",
                    "arrival": rng.choice([0, 0, 0, rng.randint(1, 10)]),
                    "weight": rng.randint(1, 5),
                    "rounds": rng.randint(1, 4),
                    "tasks_per_round": rng.randint(1, 2),
                    "training_time": {"fast": fast, "slow": slow},
                    "synchronization_time": {"fast": sync, "slow": sync},
                }
            )
        if sum(job["rounds"] * job["tasks_per_round"] for job in drawn) == tasks:
            break
    return HareInstance.from_data(
        {
            "family": "hare",
            "version": 1,
            "name": f"{tasks} tasks, seed {seed}",
            "meta": {"time_unit": "s"},
            "gpu_kinds": [{"id": "fast"}, {"id": "slow"}],
            "gpus": [
                {"id": f"{kind}-{m}", "kind": kind} for kind in ("fast", "slow") for m in (1, 2)
            ],
            "jobs": drawn,
        }
    )


def pyjobshop(send: Any, instance: HareInstance, seconds: float) -> tuple[float, float, float]:
    """Return value, bound and seconds of PyJobShop."""
    from pyjobshop import Model

    model = Model()
    kinds = {
        kind.id: model.add_renewable(sum(gpu.kind == kind.id for gpu in instance.gpus))
        for kind in instance.gpu_kinds
    }
    waiting = model.add_renewable(0)  # barriers need a mode, and occupy nothing
    for job in instance.jobs:
        whole = model.add_job(weight=int(job.weight), release_date=int(job.arrival))
        previous = None
        for r in range(job.number_of_rounds):
            barrier = model.add_task(job=whole, earliest_start=int(job.arrival))
            model.add_mode(barrier, [waiting], duration=0, demands=[0])
            before = None
            for task in job.tasks_of(r):
                train = model.add_task(job=whole, earliest_start=int(job.arrival))
                for kind, resource in kinds.items():
                    length = int(task.training_time[kind])
                    model.add_mode(train, [resource], duration=length, demands=[1])
                sync = int((task.synchronization_time or {}).get("fast", 0))  # alike on all kinds
                model.add_end_before_start(train, barrier, delay=sync)
                if previous is not None:
                    model.add_end_before_start(previous, train)
                if before is not None:
                    model.add_start_before_start(before, train)
                before = train
            previous = barrier
    model.set_objective(weight_total_flow_time=1)
    result = model.solve(time_limit=seconds, display=False, num_workers=1)
    waited = sum(job.weight * job.arrival for job in instance.jobs)  # flow counts from the arrival
    return result.objective + waited, result.lower_bound + waited, result.runtime


def main(seconds: float) -> None:
    """Print one row for each instance."""
    print(f"hare: exact and PyJobShop, one thread, {seconds:g} s")
    print(f"{'instance':>18} | {'exact':>7} {'bound':>7} {'gap':>6} {'s':>5}", end=" | ")
    print(f"{'PyJobShop':>9} {'bound':>7} {'gap':>6} {'s':>5}")
    for seed, jobs, tasks in INSTANCES:
        instance = instance_of(seed, jobs, tasks)
        ours = sg.solve(instance, "exact", time_limit=seconds)
        assert ours.objective is not None and ours.bound is not None
        theirs = run_child(f"{__name__}:pyjobshop", instance, seconds, engine="cp-sat").result()
        rows = (ours.objective, ours.bound, ours.seconds), theirs
        cells = [
            f"{value:{width}g} {bound:7g} {(value - bound) / value:6.1%} {taken:5.1f}"
            for width, (value, bound, taken) in zip((7, 9), rows, strict=True)
        ]
        print(f"{instance.name:>18} | {cells[0]} | {cells[1]}", flush=True)


if __name__ == "__main__":
    if importlib.util.find_spec("pyjobshop") is None:
        sys.exit("bench_peer: needs PyJobShop: pip install 'schedgap[bench]'")
    # Children import this file by its name.
    import bench_peer

    bench_peer.main(10.0 if "--quick" in sys.argv else 60.0)
