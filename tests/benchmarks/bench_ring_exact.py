"""`exact` of family `ring`: value, bound, gap, seconds of each instance, and what proved it.

One thread; 60 s for each instance, or the first argument, twice that at the paper's size. Further
arguments choose classes by name. `forced`: few jobs fit into one server each, rings need not meet.
`contend`: jobs of 4-5 GPUs on servers of 3, where two rings at once meet or block a server.
"""

import sys

from schedgap.analysis.solving.solve import solve
from schedgap.instances.generate import generate

# (name, preset, settings, seeds, limits)
CLASSES: tuple[tuple[str, str, dict[str, object], range, int], ...] = (
    ("forced-14", "small", {"jobs": 14, "servers": 4}, range(8), 1),
    ("forced-20", "medium", {}, range(4), 1),
    ("forced-30", "medium", {"jobs": 30, "servers": 6}, range(4), 1),
    ("contend-6", "small-forced", {"jobs": 6}, range(8), 1),
    ("contend-8", "small-forced", {"jobs": 8, "servers": 4}, range(8), 1),
    ("contend-10", "small-forced", {"jobs": 10, "servers": 4}, range(4), 1),
    ("contend-12", "small-forced", {"jobs": 12, "servers": 4}, range(4), 1),
    ("paper", "paper", {}, range(10), 2),
    ("paper-10", "paper-10", {}, range(3), 2),
    ("contended", "contended", {}, range(3), 2),
)


def main(seconds: float, chosen: list[str]) -> None:
    """Print one row for each instance, and the number proved of each class."""
    print(f"ring: exact, one thread, {seconds:g} s ({2 * seconds:g} s at the paper's size)")
    print(f"{'instance':>13} | {'value':>5} {'bound':>5} {'gap':>6} {'s':>6} | proof")
    for name, preset, settings, seeds, limits in CLASSES:
        if chosen and name not in chosen:
            continue
        proved = 0
        for seed in seeds:
            instance = generate("ring", preset=preset, seed=seed, settings=settings)
            found = solve(instance, "exact", time_limit=limits * seconds)
            assert found.objective is not None and found.bound is not None
            proved += found.status == "optimal"
            gap = (found.objective - found.bound) / found.objective
            print(
                f"{name:>11}-{seed} | {found.objective:5g} {found.bound:5g} {gap:6.1%}"
                f" {found.seconds:6.1f} | {', '.join((found.trace or {}).get('proof', []))}",
                flush=True,
            )
        print(f"{name:>13} | {proved} of {len(seeds)} proved", flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0, sys.argv[2:])
