"""Figures 4-7 of the paper as experiments; the paper prints no numbers beside its bars."""

from collections.abc import Sequence

from schedgap.instances.generate import generate
from schedgap.instances.ring import RingInstance
from schedgap.models.experiment import Experiment, Point

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

    def drawn(seed: int, number: int = servers[-1], **more: object) -> RingInstance:
        settings = {"jobs": jobs, "servers": number, **more}
        made = generate("ring", preset="paper", seed=seed, settings=settings)
        assert isinstance(made, RingInstance)
        return made

    plain = {seed: drawn(seed) for seed in seeds}
    policies = [
        Point(name, seed, "policies", plain[seed], method)
        for seed in seeds
        for name, method in POLICIES.items()
    ]
    thresholds = [
        Point(kappa, seed, "SJF-BCO", plain[seed], f"sjf-bco:kappa={kappa}")
        for seed in seeds
        for kappa in sorted({1, *(job.gpus for job in plain[seed].jobs)})
    ]
    clusters = [
        Point(number, seed, name, instance, POLICIES[name])
        for seed in seeds
        for number in servers
        for instance in (drawn(seed, number, horizon=1500),)
        for name in ("SJF-BCO", "FF", "LS")
    ]
    budgets = [
        Point(factor, seed, "SJF-BCO", instance, "sjf-bco:kappa=1")
        for seed in seeds
        for factor in FACTORS
        for instance in (plain[seed] if factor == 1 else drawn(seed, spread_factor=factor),)
    ]
    return [
        Experiment(
            "4", "Makespan and average completion time of the policies", "policy",
            "makespan (slots)", "SJF-BCO is best in both", tuple(policies), BRACKETS,
            beside=("mean completion",),
        ),
        Experiment(
            "5", "SJF-BCO with a single kappa", "kappa", "makespan (slots)",
            "the makespan falls, rises and falls again", tuple(thresholds), BRACKETS,
        ),
        Experiment(
            "6", "Makespan by the number of servers", "servers", "makespan (slots)",
            "all policies fall, FF most", tuple(clusters), BRACKETS,
        ),
        Experiment(
            "7", "SJF-BCO by its server budget, kappa = 1", "lambda", "makespan (slots)",
            "the makespan falls as lambda grows", tuple(budgets), BRACKETS,
        ),
    ]  # fmt: skip
