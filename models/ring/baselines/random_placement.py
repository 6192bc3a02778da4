"""Random placement (RAND): servers and GPUs drawn at random."""

import numpy as np

from schedgap.instances.ring import RingInstance
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.ring.baselines.within_limit import Order, allowed, jobs_in
from schedgap.models.ring.dispatch import Choose, Cluster, Ints, Trial, deliver, dispatch
from schedgap.models.ring.rates import RateTable, rate_table, refuted


def at_random(rng: np.random.Generator) -> Choose:
    """Return a choice that draws, for each worker, a server and then an idle GPU of it."""

    def choose(job: int, cluster: Cluster) -> Ints | None:
        gpus = allowed(job, cluster)
        if gpus is None:
            return None
        left: dict[int, list[int]] = {}
        for gpu, server in zip(gpus.tolist(), cluster.server[gpus].tolist(), strict=True):
            left.setdefault(server, []).append(gpu)
        chosen = []
        for _ in range(cluster.table.size[job]):
            servers = list(left)
            server = servers[rng.integers(len(servers))]
            chosen.append(left[server].pop(rng.integers(len(left[server]))))
            if not left[server]:
                del left[server]
        return np.array(chosen)

    return choose


def random_placement(table: RateTable, seed: int, order: Order = "list") -> Trial:
    """Place each job on GPUs drawn at random, with T as the limit.

    Notes
    -----
    Source: Section 7, 2), RAND.
    """
    choose = at_random(np.random.default_rng(seed))
    return dispatch(table, jobs_in(table, order), choose, limit=table.horizon)


def run_random(instance: RingInstance, call: RunContext) -> MethodResult:
    """Run `random`."""
    if proof := refuted(instance):
        return proof
    trial = random_placement(rate_table(instance), call.seed, call.options["order"])
    return deliver(instance, trial, {})
