"""Figures 4-7 of the paper as experiments; the paper prints no numbers beside its bars."""

from collections.abc import Iterator, Sequence
from functools import cache, partial
from typing import Any

from schedgap.instances.generate import generate
from schedgap.instances.ring import RingInstance
from schedgap.models.figure import Experiment, Point, bars, curves

POLICIES = {
    "SJF-BCO": "sjf-bco",
    "FF": "first-fit",
    "LS": "list-scheduling",
    "RAND": "random",
}
SERVERS = (10, 12, 14, 16, 18, 20)  # the paper: 10 to 20
FACTORS = (1, 2, 4, 8)
BRACKETS = ("pattern-lp", "local-search")


def experiments(
    seeds: Sequence[int] = (0, 1, 2), servers: Sequence[int] = SERVERS, jobs: int = 160
) -> list[Experiment]:
    """Return Figures 4-7 on the paper's workload, some draws of each.

    Parameters
    ----------
    seeds : sequence
        Of the instances.
    servers : sequence
        Numbers of servers in Figure 6; the last is that of the other figures.
    jobs : int
        Their sizes keep the paper's proportions.

    Notes
    -----
    Source: Section 7. T is 1200, in Figure 6 1500. In Figure 5 only those kappa are tried at which
    a job changes sides: the sizes that occur.
    """

    @cache
    def drawn(seed: int, number: int = servers[-1], **more: object) -> RingInstance:
        settings = {"jobs": jobs, "servers": number, **more}
        made = generate("ring", preset="paper", seed=seed, settings=settings)
        assert isinstance(made, RingInstance)
        return made

    def thresholds() -> Iterator[Point]:
        for seed in seeds:
            instance = drawn(seed)
            for kappa in sorted({1, *(job.gpus for job in instance.jobs)}):
                yield Point(kappa, seed, "SJF-BCO", instance, f"sjf-bco:kappa={kappa}")

    same: dict[str, Any] = {"family": "ring", "objective": "makespan (slots)", "brackets": BRACKETS}
    return [
        bars(
            seeds,
            drawn,
            POLICIES,
            figure="4",
            title="Makespan and average completion time of the policies",
            x="policy",
            claim="SJF-BCO is best in both",
            metrics=("mean completion",),
            **same,
        ),
        Experiment(
            figure="5",
            title="SJF-BCO with a single kappa",
            x="kappa",
            claim="the makespan falls, rises and falls again",
            series=("SJF-BCO",),
            draw=thresholds,
            family="ring",
            objective="makespan (slots)",
            brackets=BRACKETS,
        ),
        curves(
            servers,
            seeds,
            partial(drawn, horizon=1500),
            {name: POLICIES[name] for name in ("SJF-BCO", "FF", "LS")},
            figure="6",
            title="Makespan by the number of servers",
            x="servers",
            claim="all policies fall, FF most",
            **same,
        ),
        curves(
            FACTORS,
            seeds,
            lambda seed, factor: drawn(seed, spread_factor=factor) if factor > 1 else drawn(seed),
            {"SJF-BCO": "sjf-bco:kappa=1"},
            figure="7",
            title="SJF-BCO by its server budget, kappa = 1",
            x="lambda",
            claim="the makespan falls as lambda grows",
            **same,
        ),
    ]
