"""Figures 4-7 of the paper as experiments; the paper gives its bars without numbers."""

from collections.abc import Iterator, Sequence
from functools import cache, partial
from typing import Any

from schedgap.instances.generate import generate
from schedgap.instances.ring import RingInstance
from schedgap.models.figure import Experiment, Point, bars, curves, said

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
    seeds: Sequence[int] = (0, 1, 2),
    servers: Sequence[int] = SERVERS,
    jobs: int = 160,
    quick: bool = False,
) -> list[Experiment]:
    """Return Figures 4-7 on random instances of the paper's workload.

    Parameters
    ----------
    seeds : sequence of int
        Seeds of the instances, one draw each.
    servers : sequence of int
        Numbers of servers in Figure 6; the other figures use the last one.
    jobs : int
        Number of jobs, >= 1; their sizes keep the paper's proportions.

    Notes
    -----
    Source: Section 7. The horizon T is 1200, in Figure 6 1500. Figure 5 uses only the values of
    kappa at which some job passes from LBSGF to FA-FFP: the sizes that occur.
    """

    @cache
    def drawn(seed: int, number: int = servers[-1], **changes: object) -> RingInstance:
        settings = {"jobs": jobs, "servers": number, **changes}
        instance = generate("ring", preset="paper", seed=seed, settings=settings)
        assert isinstance(instance, RingInstance)
        return instance

    def thresholds() -> Iterator[Point]:
        for seed in seeds:
            instance = drawn(seed)
            for kappa in sorted({1, *(job.gpus for job in instance.jobs)}):
                yield Point(kappa, seed, "SJF-BCO", instance, f"sjf-bco:kappa={kappa}")

    common: dict[str, Any] = {
        "family": "ring",
        "objective": "makespan (slots)",
        "brackets": BRACKETS,
    }
    return [
        bars(
            seeds,
            drawn,
            POLICIES,
            figure="4",
            title="Makespan and average completion time of the policies",
            x="policy",
            claims=said("SJF-BCO is best in both"),
            metrics=("mean completion",),
            **common,
        ),
        Experiment(
            figure="5",
            title="SJF-BCO with a single kappa",
            x="kappa",
            claims=said("the makespan falls, rises and falls again"),
            series=("SJF-BCO",),
            draw=thresholds,
            **common,
        ),
        curves(
            servers,
            seeds,
            partial(drawn, horizon=1500),
            {name: POLICIES[name] for name in ("SJF-BCO", "FF", "LS")},
            figure="6",
            title="Makespan by the number of servers",
            x="servers",
            claims=said("all policies fall, FF most"),
            **common,
        ),
        curves(
            FACTORS,
            seeds,
            lambda seed, factor: drawn(seed, spread_factor=factor) if factor > 1 else drawn(seed),
            {"SJF-BCO": "sjf-bco:kappa=1"},
            figure="7",
            title="SJF-BCO by its server budget, kappa = 1",
            x="lambda",
            claims=said("the makespan falls as lambda grows"),
            **common,
        ),
    ]
