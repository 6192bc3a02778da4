"""`exact` on heavily loaded instances: ring of 10 to 20 jobs, parameter servers of 8 to 14.

One thread, and 60 s each, or the first argument; further arguments choose instances by name. Three
worker types, two PS types, 3 servers of 2-4 GPUs (ring of 15 and more: 4), 2-4 epochs, and all jobs
arrive within as many slots as there are jobs.
"""

import sys

import schedgap as sg
from schedgap.instances.elastic import ElasticInstance
from schedgap.instances.generate import generate

SIZES = (("ring", 10), ("ring", 15), ("ring", 20), ("ps", 8), ("ps", 10), ("ps", 12), ("ps", 14))
SEEDS = (1, 2, 3)
ARCHITECTURE = {"ring": "ring_allreduce", "ps": "parameter_server"}


def instance_of(kind: str, jobs: int, seed: int) -> ElasticInstance:
    """Return one of the instances."""
    settings = {
        "architecture": ARCHITECTURE[kind],
        "jobs": jobs,
        "servers": 4 if kind == "ring" and jobs >= 15 else 3,
        "worker_types": 3,
        "epochs": (2, 4),
        "arrival_span": jobs,
        "horizon": 40,
    }
    if kind == "ps":
        settings["ps_types"] = 2
    instance = generate("elastic", preset="small", seed=seed, settings=settings)
    assert isinstance(instance, ElasticInstance)
    return instance


def main(seconds: float, chosen: list[str]) -> None:
    """Print one row for each instance."""
    print(f"elastic: exact, one thread, {seconds:g} s")
    print(
        f"{'instance':>10} {'value':>7} {'bound':>7} {'gap':>6} {'s':>6}  {'relaxation':>10} proof"
    )
    for kind, jobs in SIZES:
        for seed in SEEDS:
            name = f"{kind}-{jobs}-{seed}"
            if chosen and name not in chosen:
                continue
            found = sg.solve(instance_of(kind, jobs, seed), "exact", time_limit=seconds)
            assert found.objective is not None and found.bound is not None
            gap = (found.objective - found.bound) / found.objective
            trace = found.trace or {}
            print(
                f"{name:>10} {found.objective:7g} {found.bound:7g} {gap:6.1%} {found.seconds:6.1f}"
                f"  {trace.get('schedule-lp', {}).get('bound', float('nan')):10.1f}"
                f" {', '.join(trace.get('proof', []))}",
                flush=True,
            )


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0, sys.argv[2:])
