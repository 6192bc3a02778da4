"""SJF-BCO (Algorithm 1) with its subroutines FA-FFP (Algorithm 2) and LBSGF (Algorithm 3)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from schedgap.models.ring.dispatch import Choose, Clock, Cluster, Ints, Trial, dispatch
from schedgap.models.ring.packing import pack
from schedgap.models.ring.rates import RateTable

Bisection = Literal["improvement", "feasibility", "scan"]


def fa_ffp(job: int, cluster: Cluster) -> Ints | None:
    """Choose the least loaded idle GPUs within the limit (Algorithm 2).

    Ties: servers that have had work before others, then global index.
    """
    size = cluster.table.size[job]  # A2 L1
    idle = np.flatnonzero(cluster.idle)
    if len(idle) < size:
        return None  # A2 L8-L10: fewer still within the limit
    gpus = cluster.within(job, idle)  # A2 L2
    if len(gpus) < size:  # A2 L3
        return None  # A2 L8-L10
    unopened = ~cluster.opened[cluster.server[gpus]]
    return gpus[np.lexsort((unopened, cluster.load[gpus]))[:size]]  # A2 L4, E19


def fa_ffp_pack(job: int, cluster: Cluster) -> Ints | None:
    """Choose GPUs as the name and the prose of Algorithm 2 say: shared servers first (ours, E19).

    One server where one can hold the job, one that has had work if possible, then one with the
    fewest GPUs left over; else servers with the most idle GPUs. Ties: list order.
    """
    return pack(job, cluster)


def lbsgf(job: int, cluster: Cluster, *, by_server: bool = False) -> Ints | None:
    """Choose the least loaded idle GPUs on the least loaded servers (Algorithm 3).

    Parameters
    ----------
    by_server : bool
        Server after server instead of the least loaded GPUs of all of them (E22).
    """
    table = cluster.table  # A3 L1
    size, wanted = table.size[job], cluster.table.instance.jobs[job].spread_factor
    mean = np.array(cluster.server_load) / table.room
    ranked = np.argsort(mean, kind="stable")
    room = np.cumsum(np.array(table.room)[ranked])
    number = int(np.searchsorted(room, wanted * size)) + 1  # A3 L2; all where never reached, E21
    selected = ranked[:number]
    if int(cluster.idle_on[selected].sum()) < size:
        return None  # A3 L11-L13
    rank = np.full(len(ranked), -1)  # A3 L3
    rank[selected] = np.arange(len(selected))  # A3 L4
    idle = np.flatnonzero(cluster.idle & (rank >= 0)[cluster.server])
    gpus = cluster.within(job, idle)  # A3 L5
    if len(gpus) < size:  # A3 L6
        return None  # A3 L11-L13
    load, place = cluster.load[gpus], rank[cluster.server[gpus]]
    keys = (load, place) if by_server else (place, load)  # the last key counts first
    return gpus[np.lexsort(keys)[:size]]  # A3 L7, E22


def smallest_first(table: RateTable) -> list[int]:
    """Return the jobs by G_j ascending, ties in list order (Algorithm 1, line 3)."""
    return sorted(range(len(table.size)), key=table.size.__getitem__)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One trial of the search: its limit, its threshold, and what came of it."""

    limit: int  # theta_u
    kappa: int | None  # None where the policy has no threshold
    trial: Trial


@dataclass(frozen=True, slots=True)
class Search:
    """What a search over limits found: the best attempt or None, and all of them in order."""

    best: Attempt | None
    attempts: tuple[Attempt, ...]


OnBetter = Callable[[Attempt], None]


class Trials:
    """Runs of the dispatcher by threshold and limit; a run that would be the same is not repeated.

    Loads start from 0 in each (E30).
    """

    def __init__(
        self,
        table: RateTable,
        order: list[int],
        policy: Callable[[int | None], Choose],
        clock: Clock = "actual",
    ) -> None:
        self._table, self._order, self._policy, self._clock = table, order, policy, clock
        self._known: dict[int | None, list[Trial]] = {}

    def __call__(self, limit: int, kappa: int | None) -> Trial:
        """Return the run with this limit and this threshold."""
        known = self._known.setdefault(kappa, [])
        for trial in reversed(known):
            if trial.holds_for(limit):
                return trial
        known.append(
            dispatch(
                self._table,
                self._order,
                self._policy(kappa),
                limit=limit,
                clock=self._clock,
            )
        )
        return known[-1]


def search_limit(
    horizon: int,
    trials: Callable[[int, int | None], Trial],
    kappas: Iterable[int | None],
    bisection: Bisection = "improvement",
    *,
    stop: Callable[[], bool] = lambda: False,
    on_better: OnBetter = lambda attempt: None,
) -> Search:
    """Search the limit theta_u, with all thresholds at each (Algorithm 1, lines 4-23).

    Parameters
    ----------
    horizon : int
        T.
    trials : callable
        (theta_u, kappa) -> run.
    kappas : iterable
        Thresholds in the order in which they are tried; of equal makespans the first is kept.
    bisection : "improvement", "feasibility" or "scan"
        The limit falls when the best makespan has improved (as printed, E17), or when some run is
        feasible; or every limit is tried.
    stop : callable
        Asked between two runs whether time is up.
    on_better : callable
        Called with every attempt that is better than all before it.

    Notes
    -----
    A run that found no schedule counts for nothing (E13), and a makespan of T is accepted (E14).
    """
    thresholds = list(kappas)
    best: Attempt | None = None  # A1 L4, E14
    attempts: list[Attempt] = []
    left, right = 1, horizon  # A1 L4
    while left <= right:  # A1 L5
        theta = left if bisection == "scan" else (left + right) // 2  # A1 L6, E18
        here: Attempt | None = None  # A1 L6 m_theta, y_theta
        for kappa in thresholds:  # A1 L7
            if stop():
                return Search(_better(best, here), tuple(attempts))
            attempt = Attempt(theta, kappa, trials(theta, kappa))  # A1 L8-L16
            attempts.append(attempt)
            here = _better(here, attempt)  # A1 L17-L18, E13, E15
            if here is attempt and _better(best, attempt) is attempt:
                on_better(attempt)
        last, best = best, _better(best, here)  # A1 L19-L20
        falls = best is not last if bisection == "improvement" else here is not None
        if falls and bisection != "scan":
            right = theta - 1  # A1 L21
        else:  # A1 L22
            left = theta + 1  # A1 L23
    return Search(best, tuple(attempts))


def _better(known: Attempt | None, new: Attempt | None) -> Attempt | None:
    """Return the known attempt unless the new one has a schedule, and a shorter one."""
    if new is None or not new.trial.feasible:
        return known
    if known is None or new.trial.makespan < known.trial.makespan:
        return new
    return known


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
