"""The baseline that preempts, shortest job first: schedules of program (2) without (2c) and (2d).

The paper: jobs with less left preempt others; it "ignores the time overhead of preemption" and the
upload delay, which leaves out (2i) as well. With overhead, a second variant, data have to be there,
and every run after an interruption loses slots. All else is ours. Online: every slot anew, with the
jobs that have arrived. Ties: arrival, then list order.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from schedgap.errors import ScaleError
from schedgap.instances.edge import EdgeInstance, EdgeSchedule, Placement, arrays
from schedgap.instances.edge.compiled import Ints
from schedgap.models.edge.algorithms.a_maxsche import Arrived
from schedgap.models.edge.algorithms.a_online import Arrivals
from schedgap.models.edge.modes import least_slots

MOST_SLOTS = 1_000_000  # of one job
_SLACK = 5e-7  # worker-slots: half of what the rules forgive


@dataclass(frozen=True)
class _Held:
    """Workers by server and the PS's server of a job in one slot, by index."""

    workers: tuple[tuple[int, int], ...]
    host: int

    @property
    def together(self) -> bool:
        return [s for s, _ in self.workers] == [self.host]


@dataclass(eq=False)
class _Active:
    """A job that has arrived and is not done."""

    arrived: Arrived
    work: tuple[float, float]  # worker-slots, split and together
    left: float = 1.0  # part of the job
    held: _Held | None = None  # in the slot before
    since: int = 0  # first slot of the current segment
    overhead: int = 0  # slots at its beginning without progress
    idle: int = 0  # how many of them are to come
    segments: list[tuple[_Held, int, int, int]] = field(default_factory=list)

    def rate(self, held: _Held) -> float:
        """Part of the job that is done in a slot, by (1)."""
        return sum(count for _, count in held.workers) / self.work[held.together]

    def slots(self, held: _Held) -> int:
        """Slots that are left at this rate."""
        slack = _SLACK / max(1.0, self.work[held.together])
        return max(1, math.ceil((self.left - slack) / self.rate(held)))

    def close(self, now: int) -> None:
        """End the current segment before a slot."""
        if self.held is not None:
            self.segments.append((self.held, self.since, now - 1, self.overhead))
            self.held = None


def preemptive(instance: EdgeInstance, overhead: int | None = None) -> EdgeSchedule:
    """Every slot, give the jobs with least left what they can use, one after the other.

    What is left of a job counts on as many workers as it can have together. A job runs on one
    server with a free PS if that is as fast as split over all free workers, or ends it at once.

    Parameters
    ----------
    overhead : int, optional
        Slots that a run loses after an interruption or a change; then data have to be there, and a
        job changes its place only where it ends sooner so. None: neither counts.

    Raises
    ------
    ScaleError
        When some job needs more slots than can be gone through one by one.
    """
    if (slots := least_slots(instance)) > MOST_SLOTS:
        raise ScaleError(f"a job needs {slots} slots or more, one by one: at most {MOST_SLOTS:.2g}")
    view, arrivals = arrays(instance), Arrivals(instance)
    most = np.maximum(1, np.minimum(view.chunks, view.workers.sum(axis=0)[view.worker_type]))
    active: list[_Active] = []
    done: dict[str, tuple[Placement, ...]] = {}
    moments = np.unique(view.arrival if overhead is None else [*view.arrival, *view.ready.ravel()])
    now = int(moments[0])
    while now <= instance.horizon:
        active += [
            _Active(each, (float(view.work[each.place, 0]), float(view.work[each.place, 1])))
            for each in arrivals.until(now)
        ]
        if not active and arrivals.all_here():
            break
        active.sort(key=lambda a: round(a.left * a.work[1] / int(most[a.arrived.place]), 9))
        free, ps = view.workers.copy(), view.ps.copy()
        for each in active:
            _serve(each, free, ps, now, overhead)
        at_work = any(each.held is not None for each in active)
        for each in [each for each in active if each.left * max(1.0, each.work[1]) <= _SLACK]:
            each.close(now + 1)
            done[each.arrived.job.id] = _placements(instance, each)
            active.remove(each)
        active.sort(key=lambda a: (a.arrived.job.arrival, a.arrived.place))
        later = moments[moments > now]
        if not at_work and not len(later):
            break
        now = now + 1 if at_work else int(later[0])
    relaxed = ("2c-2d", "2i") if overhead is None else ("2c-2d",)
    return EdgeSchedule(done, relaxed)


def _serve(each: _Active, free: Ints, ps: Ints, now: int, overhead: int | None) -> None:
    """Let a job run in a slot on what is free, and take that."""
    job = each.arrived
    ready = np.ones(len(free), dtype=bool) if overhead is None else job.ready <= now
    held = _best(
        each, np.where(ready, free[:, job.worker_type], 0), np.where(ready, ps[:, job.ps_type], 0)
    )
    old = each.held
    if overhead is not None and old is not None and held is not None and old != held:
        fits = ps[old.host, job.ps_type] >= 1 and all(
            free[s, job.worker_type] >= count for s, count in old.workers
        )
        if fits and not each.slots(held) + overhead < each.slots(old) + each.idle:
            held = old
    if held != old:
        each.close(now)
        if held is not None:
            each.held, each.since = held, now
            each.overhead = each.idle = (overhead or 0) if each.segments else 0
    if held is None:
        return
    for s, count in held.workers:
        free[s, job.worker_type] -= count
    ps[held.host, job.ps_type] -= 1
    if each.idle:
        each.idle -= 1
    else:
        each.left -= each.rate(held)


def _best(each: _Active, free: Ints, ps: Ints) -> _Held | None:
    """Return where a job runs in a slot: free workers [s] and free PSs [s] of its types."""
    hosts = np.flatnonzero(ps >= 1)
    if not len(hosts):
        return None
    split, near = each.work
    chunks = each.arrived.job.chunks
    use = [max(1, math.ceil(each.left * work - _SLACK)) for work in (split, near)]
    m = min(int(free[hosts].max()), chunks, use[1])
    n = min(int(free.sum()), chunks, use[0])
    if m >= 1 and (near / m <= split / n or m >= use[1]):
        able = hosts[free[hosts] >= m]
        s = int(able[np.argmin(free[able])])
        return _Held(((s, m),), s)
    if n < 1:
        return None
    workers = []
    for s in (-free).argsort(kind="stable").tolist():
        count = min(int(free[s]), n)
        if count:
            workers.append((s, count))
            n -= count
    return _Held(tuple(sorted(workers)), int(np.argmax(ps)))


def _placements(instance: EdgeInstance, each: _Active) -> tuple[Placement, ...]:
    names = [server.id for server in instance.servers]
    return tuple(
        Placement(
            start, end, {names[s]: count for s, count in held.workers}, names[held.host], overhead
        )
        for held, start, end, overhead in each.segments
    )
