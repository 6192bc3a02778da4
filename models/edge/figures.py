"""Figures 3-14 of the paper as experiments; its text quotes no number of theirs."""

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

from schedgap.instances.edge import EdgeInstance
from schedgap.instances.generate import generate
from schedgap.models.figure import Experiment, curves

OWN = {"A_online": "a-online"}
POLICIES = {**OWN, "FIFO": "fifo", "DRF": "drf", "BatchSche": "batch-sche"}
FREE = {**OWN, "Preemptive": "preemptive"}
PAID = {**OWN, "Preemptive": "preemptive-overhead"}
SIZES = (100, 150, 200, 250, 300)  # the paper: 100 to 300, of jobs and of edge servers
USUAL = 200
CAPS = tuple(10.0**power for power in range(-12, 1))  # near 1 a single worker closes a server (G4)
GRADIENTS = (30, 139, 248, 357, 466, 575)  # MB; the paper: 30 to 575
SMALL_JOBS, SMALL_SERVERS = (4, 8, 12, 16, 20), (3, 5, 8)


def experiments(
    seeds: Sequence[int] = (0, 1, 2),
    sizes: Sequence[int] = SIZES,
    usual: int = USUAL,
    small_jobs: Sequence[int] = SMALL_JOBS,
) -> list[Experiment]:
    """Return Figures 3-14 on the paper's workload, some draws of each.

    Parameters
    ----------
    seeds : sequence
        Of the instances.
    sizes : sequence
        Numbers of jobs, or of edge servers, along the axes.
    usual : int
        Jobs and edge servers where they do not vary.
    small_jobs : sequence
        Jobs of Figure 14, whose optima are to be proved.

    Notes
    -----
    Source: Section 5. Objective (2): the sum of c_j - a_j. Figure 6 is A_online of Figure 4.
    """

    @cache
    def drawn(seed: int, jobs: int = usual, servers: int = usual, **more: object) -> EdgeInstance:
        settings = {"jobs": jobs, "edge_servers": servers, **more}
        made = generate("edge", preset="paper", seed=seed, settings=settings)
        assert isinstance(made, EdgeInstance)
        return made

    by_jobs: dict[str, Any] = {
        "values": sizes, "make": lambda seed, x: drawn(seed, jobs=x), "x": "jobs",
    }  # fmt: skip
    by_servers: dict[str, Any] = {
        "values": sizes, "make": lambda seed, x: drawn(seed, servers=x), "x": "edge servers",
    }  # fmt: skip
    by_cap: dict[str, Any] = {
        "values": CAPS, "x": "F_1 = F_2",
        "make": lambda seed, x: drawn(seed, worker_price_cap=x, ps_price_cap=x),
    }  # fmt: skip
    by_gradient: dict[str, Any] = {
        "values": GRADIENTS, "make": lambda seed, x: drawn(seed, gradient=str(x)), "x": "MB",
    }  # fmt: skip
    curve = partial(
        curves, seeds=seeds, family="edge", objective="total completion time (slots)",
        brackets=("type-bound", "list"),
    )  # fmt: skip
    worse = "Preemptive is better"
    idle = "workers lie idle in fragments, more so with more servers"
    return [
        curve(methods=POLICIES, figure="3", title="Four policies by the number of jobs",
              claim="it grows with the jobs; A_online is best", **by_jobs),
        curve(methods=POLICIES, figure="4", title="Four policies by the number of edge servers",
              claim="it falls with the servers; A_online is best", **by_servers),
        curve(methods=OWN, figure="5", title="A_online by the caps of its prices",
              claim="the larger F, the larger the value; the explanation says smaller", **by_cap),
        curve(methods=OWN, figure="6", title="A_online by the number of edge servers",
              claim="it falls with the servers", **by_servers),
        curve(methods=FREE, figure="7", title="Preemption without overhead, by jobs",
              claim=worse, **by_jobs),
        curve(methods=FREE, figure="8", title="Preemption without overhead, by servers",
              claim=worse, **by_servers),
        curve(methods=PAID, figure="9", title="Preemption with overhead, by jobs",
              claim="A_online is slightly better", **by_jobs),
        curve(methods=PAID, figure="10", title="Preemption with overhead, by servers",
              claim="A_online is slightly better", **by_servers),
        curve(methods=FREE, figure="11", title="Preemption by the size of the gradients",
              claim="Preemptive is clearly better as gradients grow", **by_gradient),
        curve(methods=FREE, figure="12", title="Utilization of workers by the number of jobs",
              claim=idle, metrics=("worker utilization",), **by_jobs),
        curve(methods=FREE, figure="13", title="Utilization of workers by the number of servers",
              claim=idle, metrics=("worker utilization",), **by_servers),
        *(
            curves(small_jobs, seeds, partial(small, servers), OWN, family="edge",
                   figure=f"14-{servers}", x="jobs", objective="total completion time (slots)",
                   title=f"A_online and the optimum, {servers} edge servers",
                   claim="the ratio is close to 1; it grows with the jobs and with the servers",
                   brackets=("exact",))
            for servers in SMALL_SERVERS
        ),
    ]  # fmt: skip


def small(servers: int, seed: int, jobs: int) -> EdgeInstance:
    """Return an instance of Figure 14: the work of a job is alike for all numbers of servers."""
    settings = {
        "jobs": jobs,
        "edge_servers": servers,
        "horizon": 256,
        "load": 0.028 * jobs / (servers + 1),
        "arrival_span": 12,
        "cloud_delay": "6-10",
    }
    made = generate("edge", preset="small", seed=seed, settings=settings)
    assert isinstance(made, EdgeInstance)
    return made
