"""`exact` of family `edge` on networks of growing size: value, bound, gap, seconds of each.

One thread; 60 s for each instance, or the first argument. Batches are rounds of the medium ones.
"""

import sys
from collections.abc import Iterator

import schedgap as sg
from schedgap.instances.edge import EdgeInstance

# (name, preset, settings, seeds)
CLASSES: tuple[tuple[str, str, dict[str, object], range], ...] = (
    ("small", "small", {}, range(6)),
    ("medium", "medium", {}, range(6)),
    ("17 jobs, 6 servers", "loaded", {"jobs": 17, "edge_servers": 5}, range(3)),
    ("20 jobs, 6 servers", "loaded", {}, range(3)),
    ("40 jobs, 8 servers", "loaded", {"jobs": 40, "edge_servers": 7, "horizon": 128}, range(2)),
    ("batches", "medium", {"batch_round": 5}, range(6)),
    ("crowded batches", "loaded", {"batch_round": 6, "jobs": 40}, range(3)),
)


def instances() -> Iterator[tuple[str, int, EdgeInstance]]:
    """Yield class, seed and instance."""
    for name, preset, settings, seeds in CLASSES:
        for seed in seeds:
            yield name, seed, sg.generate("edge", preset=preset, seed=seed, settings=settings)


def main(seconds: float) -> None:
    """Print one row for each instance."""
    print(f"edge: exact, one thread, {seconds:g} s")
    print(f"{'instance':>20} {'seed':>4} | {'value':>6} {'bound':>6} {'gap':>6} {'s':>5}")
    for name, seed, instance in instances():
        found = sg.solve(instance, "exact", time_limit=seconds)
        assert found.objective is not None and found.bound is not None
        gap = abs(found.objective - found.bound) / max(1.0, found.objective)
        print(
            f"{name:>20} {seed:4} | {found.objective:6g} {found.bound:6g}"
            f" {gap:6.1%} {found.seconds:5.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0)
