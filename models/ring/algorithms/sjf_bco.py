"""SJF-BCO (Algorithm 1): smallest jobs first, each by FA-FFP or, above a size kappa, by LBSGF."""

from collections.abc import Callable

from schedgap.models.ring.algorithms.fa_ffp import fa_ffp, fa_ffp_pack
from schedgap.models.ring.algorithms.lbsgf import lbsgf
from schedgap.models.ring.algorithms.limit_search import (
    Bisection,
    OnBetter,
    Search,
    Trials,
    search_limit,
)
from schedgap.models.ring.dispatch import Choose, Clock, Cluster, Ints
from schedgap.models.ring.rates import RateTable


def smallest_first(table: RateTable) -> list[int]:
    """Return the jobs by G_j ascending, ties in list order (Algorithm 1, line 3)."""
    return sorted(range(len(table.size)), key=table.size.__getitem__)


def sjf_bco(
    table: RateTable,
    *,
    bisection: Bisection = "improvement",
    kappa: int | None = None,
    pack_shared: bool = False,
    by_server: bool = False,
    clock: Clock = "actual",
    stop: Callable[[], bool] = lambda: False,
    on_better: OnBetter = lambda attempt: None,
) -> Search:
    """Run SJF-BCO (Algorithm 1).

    Parameters
    ----------
    table : RateTable
        Of an instance that `no_schedule` does not refute.
    bisection : "improvement", "feasibility" or "scan"
        See `search_limit`.
    kappa : int, optional
        This threshold alone; otherwise all of 1..max G_j that make a difference.
    pack_shared, by_server : bool
        `fa_ffp_pack` for `fa_ffp` (E19); `lbsgf` server after server (E22).
    clock : "actual" or "estimated"
        See `dispatch`.
    stop, on_better : callable
        See `search_limit`.

    Notes
    -----
    Source: Algorithm 1; kappa is a threshold on G_j (E23). Guarantee: see `guarantees`.
    Time: trials x jobs x O(N log N), and the simulation (Theorem 6 leaves that out).
    """
    small = fa_ffp_pack if pack_shared else fa_ffp  # A1 L1

    def large(job: int, cluster: Cluster) -> Ints | None:
        return lbsgf(job, cluster, by_server=by_server)

    def policy(threshold: int | None) -> Choose:
        assert threshold is not None

        def choose(job: int, cluster: Cluster) -> Ints | None:
            if table.size[job] <= threshold:  # A1 L10
                return small(job, cluster)  # A1 L11
            return large(job, cluster)  # A1 L12-L13

        return choose

    order = smallest_first(table)  # A1 L3
    trials = Trials(table, order, policy, clock)  # A1 L2: U = 0 in each
    # A1 L7: a run depends on kappa only through which jobs are at most as large
    kappas = [kappa] if kappa is not None else sorted({1, *table.size})
    return search_limit(  # A1 L5-L24
        table.horizon, trials, kappas, bisection, stop=stop, on_better=on_better
    )
