"""Random placement (RAND), Section 7, 2): servers and GPUs drawn at random."""

import numpy as np

from schedgap.instances.ring import RingInstance
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.ring.baselines.within_limit import Order, job_order
from schedgap.models.ring.dispatch import Choose, ClusterState, Ints, Trial, dispatch, trial_result
from schedgap.models.ring.rates import RateTable, rate_table


def random_choice(rng: np.random.Generator) -> Choose:
    """Return a choice that draws, for each worker, a server and then an idle GPU of it.

    `rng`: source of the draws.
    """

    def choose(job: int, cluster: ClusterState) -> Ints | None:
        gpus = cluster.available(job)
        if gpus is None:
            return None
        idle_on: dict[int, list[int]] = {}  # server -> its GPUs that are not drawn yet
        for gpu, server in zip(gpus.tolist(), cluster.server[gpus].tolist(), strict=True):
            idle_on.setdefault(server, []).append(gpu)
        chosen = []
        for _ in range(cluster.table.size[job]):
            servers = list(idle_on)
            server = servers[rng.integers(len(servers))]
            chosen.append(idle_on[server].pop(rng.integers(len(idle_on[server]))))
            if not idle_on[server]:
                del idle_on[server]
        return np.array(chosen)

    return choose


def random_placement(table: RateTable, seed: int, order: Order = "list") -> Trial:
    """Dispatch the jobs on GPUs drawn at random, with T as the limit on loads.

    `table`: of an instance that `no_schedule` does not refute. `order`: order of the jobs.
    """
    choose = random_choice(np.random.default_rng(seed))
    return dispatch(table, job_order(table, order), choose, limit=table.horizon)


def run_random(instance: RingInstance, call: RunContext, *, order: Order = "list") -> MethodResult:
    """Run method `random`."""
    trial = random_placement(rate_table(instance), call.seed, order)
    return trial_result(instance, trial, {})
