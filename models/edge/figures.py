"""Figures 3-14 of the paper as experiments; the text of the paper quotes no values from them."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

from schedgap.instances.edge import EdgeInstance
from schedgap.instances.generate import generate
from schedgap.models.figure import Experiment, curves, said

OWN = {"A_online": "a-online"}
POLICIES = {**OWN, "FIFO": "fifo", "DRF": "drf", "BatchSche": "batch-sche"}
FREE = {**OWN, "Preemptive": "preemptive"}
PAID = {**OWN, "Preemptive": "preemptive-overhead"}
SIZES = (100, 150, 200, 250, 300)  # the paper: 100 to 300, of jobs and of edge servers
USUAL = 200
CAPS = tuple(10.0**power for power in range(-12, 1))  # near 1 one busy worker closes a server (G4)
GRADIENTS = (30, 139, 248, 357, 466, 575)  # MB; the paper: 30 to 575
SMALL_JOBS, SMALL_SERVERS = (4, 8, 12, 16, 20), (3, 5, 8)
# Name of an axis, its values, and the instance for a seed and a value.
Axis = tuple[str, Sequence[float], Callable[[int, Any], EdgeInstance]]


def experiments(
    seeds: Sequence[int] = (0, 1, 2),
    sizes: Sequence[int] = SIZES,
    usual: int = USUAL,
    small_jobs: Sequence[int] = SMALL_JOBS,
    quick: bool = False,
) -> list[Experiment]:
    """Return the experiments for Figures 3-14.

    Parameters
    ----------
    seeds : sequence of int
        One instance is drawn for each seed and point.
    sizes : sequence of int
        Numbers of jobs or of edge servers along the axes.
    usual : int
        Number of jobs and of edge servers where the figure does not vary them.
    small_jobs : sequence of int
        Numbers of jobs in Figure 14, which compares with proved optima.

    Notes
    -----
    Source: Section VI. Objective (2): the sum of c_j - a_j. Figures 3-13 use preset `paper`.
    Figure 6 repeats A_online of Figure 4. Figure 14 uses preset `small` with delays and volumes of
    ours, and shows objective values where the paper shows their ratio.
    """

    @cache
    def draw(seed: int, **changed: object) -> EdgeInstance:
        return _generated("paper", seed, {"jobs": usual, "edge_servers": usual, **changed})

    by_jobs: Axis = "jobs", sizes, lambda seed, x: draw(seed, jobs=x)
    by_servers: Axis = "edge servers", sizes, lambda seed, x: draw(seed, edge_servers=x)
    by_cap: Axis = (
        "F_1 = F_2", CAPS, lambda seed, x: draw(seed, worker_price_cap=x, ps_price_cap=x),
    )  # fmt: skip
    by_gradient: Axis = "MB", GRADIENTS, lambda seed, x: draw(seed, gradient=str(x))
    better = "Preemptive is better"
    idle = "workers lie idle in fragments, more so with more servers"
    slightly = "A_online is slightly better"
    use = ("worker utilization",)
    rows: list[tuple[str, str, str, Mapping[str, str], Axis, tuple[str, ...]]] = [
        ("3", "Four policies by the number of jobs",
         "it grows with the jobs; A_online is best", POLICIES, by_jobs, ()),
        ("4", "Four policies by the number of edge servers",
         "it falls with the servers; A_online is best", POLICIES, by_servers, ()),
        ("5", "A_online by the caps of its prices",
         "the larger F, the larger the value; the explanation says smaller", OWN, by_cap, ()),
        ("6", "A_online by the number of edge servers",
         "it falls with the servers", OWN, by_servers, ()),
        ("7", "Preemption without overhead, by jobs", better, FREE, by_jobs, ()),
        ("8", "Preemption without overhead, by servers", better, FREE, by_servers, ()),
        ("9", "Preemption with overhead, by jobs", slightly, PAID, by_jobs, ()),
        ("10", "Preemption with overhead, by servers", slightly, PAID, by_servers, ()),
        ("11", "Preemption by the size of the gradients",
         "Preemptive is clearly better as gradients grow", FREE, by_gradient, ()),
        ("12", "Utilization of workers by the number of jobs", idle, FREE, by_jobs, use),
        ("13", "Utilization of workers by the number of servers", idle, FREE, by_servers, use),
    ]  # fmt: skip
    objective = "total completion time (slots)"
    return [
        curves(
            values, seeds, make, methods, family="edge", figure=figure, title=title, x=x,
            claims=said(claim), objective=objective,
            brackets=("type-bound", "list"), metrics=metrics,
        )
        for figure, title, claim, methods, (x, values, make), metrics in rows
    ] + [
        curves(
            small_jobs, seeds, partial(small, servers), OWN, family="edge",
            figure=f"14-{servers}", title=f"A_online and the optimum, {servers} edge servers",
            x="jobs",
            claims=said("the ratio is close to 1; it grows with the jobs and with the servers"),
            objective=objective, brackets=("exact",),
        )
        for servers in SMALL_SERVERS
    ]  # fmt: skip


def small(servers: int, seed: int, jobs: int) -> EdgeInstance:
    """Return an instance of Figure 14; the mean work of a job is the same for all `servers`.

    Parameters
    ----------
    servers : int
        Number of edge servers.
    seed : int
        Of the generator.
    jobs : int
        Number of jobs.
    """
    settings = {
        "jobs": jobs,
        "edge_servers": servers,
        "horizon": 256,
        "load": 0.028 * jobs / (servers + 1),
        "arrival_span": 12,
        "cloud_delay": "6-10",
    }
    return _generated("small", seed, settings)


def _generated(preset: str, seed: int, settings: Mapping[str, object]) -> EdgeInstance:
    """Return an instance of a preset with some settings changed."""
    instance = generate("edge", preset=preset, seed=seed, settings=settings)
    assert isinstance(instance, EdgeInstance)
    return instance
