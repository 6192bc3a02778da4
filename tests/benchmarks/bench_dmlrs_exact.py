"""`exact` of family `dmlrs` on instances of growing size: value, bound, gap, seconds of each.

One thread; 60 s for each instance, or the first argument. Jobs as in the preset `medium`.
"""

import sys

import schedgap as sg

# jobs, slots, machines; seeds
SIZES = (
    (6, 8, 3, (1, 2, 3)),
    (8, 10, 4, (1, 2, 3, 4, 5)),
    (12, 12, 4, (1, 2, 3, 4, 5)),
    (14, 14, 4, (1, 2, 3)),
)


def main(seconds: float) -> None:
    """Print one row for each instance."""
    print(f"dmlrs: exact, one thread, {seconds:g} s")
    print(f"{'instance':>12} {'seed':>4} | {'value':>8} {'bound':>8} {'gap':>6} {'s':>5}")
    for jobs, horizon, machines, seeds in SIZES:
        for seed in seeds:
            settings: dict[str, object] = {"jobs": jobs, "horizon": horizon, "machines": machines}
            instance = sg.generate("dmlrs", preset="medium", seed=seed, settings=settings)
            found = sg.solve(instance, "exact", time_limit=seconds)
            assert found.objective is not None and found.bound is not None
            gap = found.bound / found.objective - 1
            print(
                f"{f'{jobs} x {horizon} x {machines}':>12} {seed:4} | {found.objective:8.3f}"
                f" {found.bound:8.3f} {gap:6.2%} {found.seconds:5.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0)
