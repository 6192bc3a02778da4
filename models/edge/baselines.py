"""The schemes without preemption that the paper compares A_online with, completed by us.

The paper gives each a sentence: FIFO "in the order of arrival, to the server that can schedule it
earliest"; DRF max-min fair counts of workers and PSs; BatchSche the batch scheme of its sister
paper on elastic jobs. They see a job from its arrival on. A job that cannot end by T is left over
and does not hold up others. Ties: arrival, then list order.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from schedgap.instances.edge import EdgeInstance, EdgeSchedule, Placement, arrays
from schedgap.instances.edge.arrays import Ints
from schedgap.models.edge.algorithm import Arrivals
from schedgap.models.edge.batch import Arrived, Network, Variant, a_maxsche
from schedgap.models.edge.heuristics.timetable import Timetable
from schedgap.models.edge.modes import Mode
from schedgap.models.edge.placements import Run
from schedgap.models.edge.problem import Group

# --- FIFO ----------------------------------------------------------------------------------------


def fifo(instance: EdgeInstance) -> EdgeSchedule:
    """Start jobs in order of arrival on the single server that can start them earliest.

    Ours: as many workers as the server has, at most the chunks; no job starts before an earlier one
    of its worker type. A job for which no server has both workers and PSs takes all free workers at
    the first slot at which there are any, servers in list order.
    """
    timetable, arrivals = Timetable(instance), Arrivals(instance)
    not_before: dict[int, int] = {}  # by worker type, the last start
    for slot in sorted({job.arrival for job in instance.jobs}):
        for each in arrivals.until(slot):
            lower = max(slot, not_before.get(each.worker_type, 1))
            run = _fifo_run(timetable, each, lower)
            if run is not None:
                timetable.take(run)
                not_before[each.worker_type] = run.group.start
    return timetable.schedule()


def _fifo_run(timetable: Timetable, job: Arrived, lower: int) -> Run | None:
    view, last = arrays(timetable.instance), timetable.instance.horizon
    workers = view.workers[:, job.worker_type]
    both = np.flatnonzero((workers >= 1) & (view.ps[:, job.ps_type] >= 1)).tolist()
    if not both:
        return _fifo_split(timetable, job, lower)
    best: Run | None = None
    for s in both:
        n = min(job.job.chunks, int(workers[s]))
        mode = Mode(n, -(-job.needed[True] // n), True)
        for start in _moments(timetable, job, max(lower, int(job.ready[s])), [s]):
            end = start + mode.duration - 1
            if end > last or (best is not None and start >= best.group.start):
                break
            if (
                timetable.free_workers(job.worker_type, start, end)[s] >= n
                and timetable.hosts[job.ps_type].most_free(s, start, end) >= 1
            ):
                best = Run(Group(job.place, mode, start), ((s, n),), s)
                break
    return best


def _fifo_split(timetable: Timetable, job: Arrived, lower: int) -> Run | None:
    """Return the run on all free workers; none of its type starts later, so they stay free."""
    hosts = timetable.hosts[job.ps_type]
    servers = range(len(job.ready))
    for start in _moments(timetable, job, lower, servers):
        free = np.where(
            job.ready <= start, timetable.free_workers(job.worker_type, start, start), 0
        )
        n = min(job.job.chunks, int(free.sum()))
        if not n:
            continue
        mode = Mode(n, -(-job.needed[False] // n), False)
        end = start + mode.duration - 1
        able = (s for s in servers if job.ready[s] <= start and hosts.most_free(s, start, end) >= 1)
        host = next(able, None)
        if host is None:
            continue
        if end > timetable.instance.horizon:
            return None
        return Run(Group(job.place, mode, start), _in_list_order(free, n), host)
    return None


def _moments(timetable: Timetable, job: Arrived, lower: int, servers: Sequence[int]) -> list[int]:
    """Slots from the lower limit on at which servers can become ready or free."""
    hosts = timetable.hosts[job.ps_type]
    slots = {lower, *timetable.tables[job.worker_type].times.tolist()}
    slots |= {int(job.ready[s]) for s in servers}
    slots |= {after for s in servers for _, after in hosts.full(s)}
    return sorted(slot for slot in slots if slot >= lower)


def _in_list_order(free: Ints, n: int) -> tuple[tuple[int, int], ...]:
    taken = np.diff(np.minimum(np.cumsum(free), n), prepend=0)
    return tuple((int(s), int(taken[s])) for s in np.flatnonzero(taken))


# --- DRF -----------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Share:
    """What a waiting job gets in a slot."""

    job: Arrived
    workers: dict[int, int] = field(default_factory=dict)  # by server
    host: int = -1
    blocked: bool = False

    @property
    def number(self) -> int:
        return sum(self.workers.values())


def drf(instance: EdgeInstance) -> EdgeSchedule:
    """Share out workers one by one, each to the job with the least dominant share.

    The dominant share of a job is the larger one of its workers and its PS as parts of all workers
    and PSs of its types. Ours: when a job arrives, gets ready or ends, all waiting jobs take part;
    a job's workers stay together where they can, all of them on one server if one holds them; who
    has a worker then starts, and keeps what it has.
    """
    view, arrivals = arrays(instance), Arrivals(instance)
    moments = {int(slot) for slot in np.unique(view.arrival)}
    waiting: list[Arrived] = []
    running: list[Run] = []
    placed: list[Run] = []
    while moments:
        now = min(moments)
        moments.discard(now)
        running = [run for run in running if run.group.end >= now]
        new = arrivals.until(now)
        moments |= {int(slot) for each in new for slot in each.ready if now < slot}
        waiting += new
        free, ps = view.workers.copy(), view.ps.copy()
        for run in running:
            u, v = int(view.worker_type[run.group.job]), int(view.ps_type[run.group.job])
            for s, count in run.workers:
                free[s, u] -= count
            ps[run.host, v] -= 1
        for run in _drf_starts(instance, waiting, free, ps, now):
            running.append(run)
            placed.append(run)
            moments.add(run.group.end + 1)
        started = {run.group.job for run in running}
        waiting = [each for each in waiting if each.place not in started]
        moments = {slot for slot in moments if slot <= instance.horizon}
    timetable = Timetable(instance)
    timetable.runs = {run.group.job: run for run in placed}
    return timetable.schedule()


def _drf_starts(
    instance: EdgeInstance, waiting: Sequence[Arrived], free: Ints, ps: Ints, now: int
) -> list[Run]:
    """Return the runs that start in a slot; `free` [s, u] and `ps` [s, v] are used up."""
    view = arrays(instance)
    all_workers, all_ps = view.workers.sum(axis=0), view.ps.sum(axis=0)
    shares = [_Share(each) for each in waiting]

    def dominant(share: _Share) -> float:
        if not share.workers:
            return 0.0
        of_workers = share.number / int(all_workers[share.job.worker_type])
        return max(of_workers, 1 / int(all_ps[share.job.ps_type]))

    while open_to := [share for share in shares if not share.blocked]:
        share = min(open_to, key=dominant)
        share.blocked = share.number == share.job.job.chunks or not _grant(share, free, ps, now)
    runs = []
    for share in shares:
        if share.workers:
            _gather(share, free, ps, now)
            n, together = share.number, set(share.workers) == {share.host}
            mode = Mode(n, -(-share.job.needed[together] // n), together)
            if now + mode.duration - 1 <= instance.horizon:
                group = Group(share.job.place, mode, now)
                runs.append(Run(group, tuple(sorted(share.workers.items())), share.host))
    return runs


def _grant(share: _Share, free: Ints, ps: Ints, now: int) -> bool:
    """Give a job one worker more, and with the first one its PS; False where there is none."""
    job = share.job
    own = np.where(job.ready <= now, free[:, job.worker_type], 0)
    if not own.any():
        return False
    if not share.workers:
        hosts = np.where(job.ready <= now, ps[:, job.ps_type], 0)
        if not hosts.any():
            return False
        beside = np.where(hosts > 0, own, 0)
        s = int(np.argmax(beside if beside.any() else own))
        share.host = s if beside.any() else int(np.argmax(hosts))
        ps[share.host, job.ps_type] -= 1
    elif own[share.host]:
        s = share.host
    else:
        used = np.zeros_like(own)
        used[list(share.workers)] = own[list(share.workers)]
        s = int(np.argmax(used if used.any() else own))
    free[s, job.worker_type] -= 1
    share.workers[s] = share.workers.get(s, 0) + 1
    return True


def _gather(share: _Share, free: Ints, ps: Ints, now: int) -> None:
    """Move a job to the ready server that holds all of it with the fewest workers left over."""
    job, n = share.job, share.number
    u, v = job.worker_type, job.ps_type
    for s, count in share.workers.items():
        free[s, u] += count
    ps[share.host, v] += 1
    fits = np.flatnonzero((job.ready <= now) & (free[:, u] >= n) & (ps[:, v] >= 1))
    if len(fits):
        share.host = int(fits[np.argmin(free[fits, u])])
        share.workers = {share.host: n}
    for s, count in share.workers.items():
        free[s, u] -= count
    ps[share.host, v] -= 1


# --- BatchSche -----------------------------------------------------------------------------------


def _fewest_then_earliest(cost: float, mode: object, start: int) -> tuple[float, ...]:
    """Order by cost; among equal costs fewest workers, earliest start, then the single server."""
    assert isinstance(mode, Mode)
    return cost, mode.workers, start, not mode.together


BATCH_SCHE = Variant(ready="start", key=_fewest_then_earliest)


def batch_sche(instance: EdgeInstance, alpha: int = 4) -> EdgeSchedule:
    """Serve batches in alpha windows of their round's length, each filled at rising prices.

    At tau = 1, 2, 4, ... the jobs that have arrived by then and have no place are a batch. It gets
    the windows alpha tau + (k - 1) tau + 1..alpha tau + k tau, k = 1..alpha; in each of them jobs
    run whose cheapest schedule costs less than 1, with prices as in A_maxsche that start anew.
    Nothing runs before slot alpha + 1, and every batch waits alpha times as long as it gathered.
    """
    network, arrivals = Network.of(instance, BATCH_SCHE), Arrivals(instance)
    T = instance.horizon
    waiting: list[Arrived] = []
    placed: dict[str, Placement] = {}
    tau = 1
    while alpha * tau < T:
        waiting += arrivals.until(tau)
        for k in range(1, alpha + 1):
            first = alpha * tau + (k - 1) * tau
            if first < T and waiting:
                last = min(first + tau, T)
                able = [each for each in waiting if each.ready.min() <= last]
                served, _ = a_maxsche(network, able, first, BATCH_SCHE, last=last)
                placed |= served.placements
                waiting = [each for each in waiting if each.job.id not in placed]
        if not waiting and arrivals.all_here():
            break
        tau *= 2
    return EdgeSchedule(placed)
