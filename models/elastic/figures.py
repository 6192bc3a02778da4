"""Figures 2-6 and 8-12 of the paper as experiments; the values on our axes are our own choice.

The values on the paper's axes are lost. Figure 7, the running time of A_online, is missing.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial

from schedgap.instances.elastic import ElasticInstance
from schedgap.instances.generate import generate
from schedgap.models.elastic.algorithms.a_maxweight import constants
from schedgap.models.figure import Experiment, curves, said

FRAMEWORKS = {"PS": "parameter_server", "RA": "ring_allreduce"}
POLICIES = {
    "A_online": "a-online",
    "FIFO": "fifo",
    "DRF": "drf",
    "AntMan": "antman",
    "Tiresias": "tiresias",
}
TYPES = {f"type {k}": f"a-online-fixed-type:worker_type={k}" for k in range(1, 5)}
JOBS, SERVERS = (50, 100, 150, 200, 250), (100, 125, 150, 175, 200)
FACTORS = (1, 10, 100, 1000)  # multiples of the default F
WORKERS = (1, 2, 4, 8, 16, 30)
DEADLINE = 128
SHARE = 0.5  # capacity as a share of the jobs' total demand, while the number of servers varies


def experiments(
    seeds: Sequence[int] = (0, 1, 2),
    jobs: Sequence[int] = JOBS,
    servers: Sequence[int] = SERVERS,
    quick: bool = False,
) -> list[Experiment]:
    """Return the figures on the paper's workload, several random draws of each.

    Parameters
    ----------
    seeds : sequence of int
        Seeds of the instances, one draw each.
    jobs, servers : sequence of int
        Numbers of jobs and of servers along the axes; elsewhere the one in the middle is used.

    Notes
    -----
    Source: Section 7. T is 300 in Figures 2-6, else 150. A batch problem has all jobs from slot 1.
    """

    @cache
    def drawn(seed: int, **settings: object) -> ElasticInstance:
        defaults = {"jobs": jobs[len(jobs) // 2], "servers": servers[len(servers) // 2]}
        instance = generate("elastic", preset="paper", seed=seed, settings=defaults | settings)
        assert isinstance(instance, ElasticInstance)
        return instance

    long = partial(drawn, horizon=300)
    batch = partial(drawn, objective="scheduled_weight", deadline=DEADLINE)
    value = partial(
        curves, seeds=seeds, family="elastic", objective="weighted completion time",
        brackets=("pooled-lp-coarse", "lp-guided"),
    )  # fmt: skip
    weight = partial(
        curves, seeds=seeds, family="elastic", objective="weight of the jobs in time",
        brackets=("pooled-lp-coarse",),
    )  # fmt: skip
    best = "A_online is better by 30 % at least; AntMan and Tiresias are worst"
    grows = "the value grows with the servers, the capacity being the same"
    return [
        value(figure="2", title="Five policies by the number of jobs, PS", x="jobs",
              claims=said(best),
              values=jobs, make=lambda seed, x: long(seed, jobs=x), methods=POLICIES),
        value(figure="3", title="Five policies by the number of servers, PS", x="servers",
              claims=said(grows), values=servers, methods=POLICIES,
              make=lambda seed, x: long(seed, servers=x, capacity_fraction=SHARE)),
        value(figure="4", title="A_online by F", x="F, in its default",
              claims=said("the larger F, the larger the value"), values=FACTORS,
              make=lambda seed, x: long(seed), methods={"A_online": _scaled("a-online")}),
        value(figure="5", title="Five policies by the number of jobs, Ring-AllReduce", x="jobs",
              claims=said(best), values=jobs, methods=POLICIES,
              make=lambda seed, x: long(seed, jobs=x, architecture=FRAMEWORKS["RA"])),
        value(figure="6", title="Five policies by the number of servers, Ring-AllReduce",
              x="servers", claims=said(grows), values=servers, methods=POLICIES,
              make=lambda seed, x: long(seed, servers=x, capacity_fraction=SHARE,
                                        architecture=FRAMEWORKS["RA"])),
        weight(figure="8", title="Weight in one batch by the number of jobs", x="jobs",
               claims=said("A_maxweight is much better"), values=jobs,
               make=lambda seed, x: batch(seed, jobs=x),
               methods={"A_maxweight": "a-maxweight", "deadline": "deadline-greedy"}),
        value(figure="9", title="A_online and four fixed types of workers", x="framework",
              claims=said("A_online is least"), values=FRAMEWORKS,
              make=lambda seed, x: drawn(seed, architecture=FRAMEWORKS[x]),
              methods={"A_online": "a-online", **TYPES}),
        value(figure="10", title="A fixed number of workers for all jobs", x="workers",
              claims=said("the value falls with their number"), values=WORKERS,
              make=lambda seed, x: drawn(seed),
              methods={"fixed number": lambda instance, x: f"a-online-fixed-number:workers={x}"}),
        weight(figure="11", title="Weight in one batch by F", x="F, in its default",
               claims=said("the smaller F, the larger the weight"), values=FACTORS,
               make=lambda seed, x: batch(seed), methods={"A_maxweight": _scaled("a-maxweight")}),
        weight(figure="12", title="Weight in one batch by the number of servers", x="servers",
               claims=said("the more servers of the same capacity, the smaller the weight"),
               values=servers, methods={"A_maxweight": "a-maxweight"},
               make=lambda seed, x: batch(seed, servers=x, capacity_fraction=SHARE)),
    ]  # fmt: skip


def _scaled(method: str) -> Callable[[ElasticInstance, float], str]:
    """Return a function that names the method with F set to a multiple of its default."""
    default = cache(lambda instance: constants(instance).F)
    return lambda instance, factor: f"{method}:F={factor * default(instance)!r}"
