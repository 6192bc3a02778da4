"""A figure on random instances, whose workload is ours, and small instances."""

import schedgap.extend as sg

SERIES = {"AlloX": "allox", "best fit": "best-fit", "shortest queue": "shortest-queue",
          "shortest job": "shortest-first"}  # fmt: skip
OTHERS = tuple(SERIES)[1:]
ABSTRACT = "Abstract, Section 2"


def experiments(*, quick: bool = False) -> list[sg.Experiment]:
    """Return the figure: total completion time by the number of jobs that arrive in 30 slots."""
    values, brackets = ((10, 40), ()) if quick else ((10, 20, 30, 40), ("lp",))

    def instance(seed: int, jobs: int) -> sg.Instance:
        settings = {"jobs": jobs, "span": 30}
        return sg.generate("allox", preset="arrivals", seed=seed, settings=settings)

    def saved(draw: sg.Draw) -> float:
        x = draw.xs[-1]
        return 100 * (1 - draw.value("AlloX", x) / max(draw.value(each, x) for each in OTHERS))

    claims = (
        sg.best("AlloX", OTHERS, text="AlloX is better than each simpler policy", source=ABSTRACT),
        sg.Claim("it reduces completion times by up to 95 % when the load is high (here against "
                 "the worst policy, at the largest number of jobs)", ABSTRACT,
                 measure=saved, unit="%", threshold="ours"),
    )  # fmt: skip
    figure = sg.curves(values, range(10), instance, SERIES, family="allox", figure="load",
                       title="AlloX and simpler policies", x="jobs", brackets=brackets,
                       objective="total completion time (slots)", claims=claims)  # fmt: skip
    return [figure]


def suite() -> list[sg.Instance]:
    """Return small instances for the quick comparison."""
    presets = ("queued", "arrivals")
    return [sg.generate("allox", preset=name, seed=seed) for name in presets for seed in (1, 2)]
