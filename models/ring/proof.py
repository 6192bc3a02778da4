"""What a proof of optimality for a ring instance is about: schedules as decisions slot by slot.

Written from the paper's constraints and the instance alone, like `rules.py`; it shares no code with
the searches and the simulator. All numbers are whole, so there is no tolerance.

Lemmas:

Slower is never better. With the same starts and placements, let a job be slower or stay longer.
Then no job ends earlier, because rates do not increase with the contention p_j[t]. That is checked
for each table of rates. So the active jobs of every slot after a change are a subset of those
before it.

Root. Take a schedule of makespan <= goal with the least sum of starts. Suppose that the GPUs of a
job were free in the slot before its start. If the job is spread, suppose also that no spread job
ran on its servers then. Let the job start a slot earlier with its placement. In that slot it makes
progress at its highest rate and slows nobody. So by the first lemma no job ends later, although the
sum of starts is less. Hence there are three cases. A job starts in slot 1, GPUs that it takes were
busy in the slot before, or a spread job ran on its servers then. Jobs with equal numbers may
exchange their names, so they start in the order of the file; servers with equal GPUs and the same
jobs, and alike in the slot before, may exchange what follows, so the first takes the most. Both
exchanges keep the sum of starts.

Excess. A configuration is a set of placed jobs that fit onto the servers at the same time. Give
each slot in which job j runs on n servers at contention p the worth a_jn rate_j(n, p) + b_jn. No
slot has more than the worth W of the best configuration. A job with `left` iterations to do needs
worth a_jn left + b_jn ceil(left / rate_j(n, 1)) or more. Here n is the cheapest one that still ends
in time. If all jobs together need more than the slots that are left are worth, no schedule ends by
the goal. A running job takes ceil(left / rate_j(n, 1)) slots or more; in these slots, only
configurations count in which it runs on as many servers.

Search. What follows on a region depends on the jobs that run, their progress left, the jobs that
wait and the slot before. Let all these be as in a region of the same or an earlier slot, but for an
exchange of servers. Then a schedule here would be one there, with the same decisions. So the search
skips this region. The search has divided the earlier region, of which one part then holds that
schedule, with one decision less to make. By induction on the decisions left, it finds a schedule if
there is one.
"""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from schedgap.instances.ring.instance import Job, RingInstance
from schedgap.solvers.proofs.checker import RefusedError, Searched, whole

MAX_STEPS = 40_000  # most steps of an enumeration of configurations
MAX_JOBS, MAX_SERVERS = 100, 20
KEPT_VECTORS = 1000
MAX_SEEN = 300_000  # regions that a search remembers
ROUNDS, MAX_SHARES = 300, 2_000_000  # limits of a search that computes prices

Counts = tuple[int, ...]  # [s] GPUs or workers
Jobs = tuple[int, ...]
Mode = tuple[int, int]  # job, number of servers
Active = tuple[int, int, int]  # job, servers and contention level of a job in a configuration


class Rates(NamedTuple):
    """One job: G_j, F_j in units of progress, and phi_j in units of progress per slot."""

    size: int
    need: int
    rate: tuple[Counts, ...]  # [n - 1][p - 1]; one entry for n = 1, where p = 0
    alone: tuple[tuple[int, float], ...]  # n, for which there are placements, and its least slots

    @property
    def least(self) -> float:
        """Slots that the job takes at least."""
        return min((slots for _, slots in self.alone), default=math.inf)


class Running(NamedTuple):
    """A job that runs in a slot, with the progress that is left before it."""

    job: int
    left: int
    servers: int
    workers: Counts


class Region(NamedTuple):
    """Schedules that begin alike: up to `slot`, where the first `asked` waiting jobs do not start.

    `busy` and `spread` are of the slot before: GPUs in use, and whether a spread job ran. `record`
    is (job, start, workers, what was before) or (job, end, None, what was before), or None.
    """

    slot: int
    running: tuple[Running, ...]
    waiting: tuple[int, ...]
    asked: int
    busy: Counts | None  # None: slot 1
    spread: tuple[bool, ...]
    record: Any = None


def goal(instance: RingInstance, objective: float | None) -> int:
    """Return the largest makespan that a proof of optimality excludes, in slots.

    `objective`: makespan of the schedule that is claimed to be optimal; None claims that there is
    none.

    Raises
    ------
    RefusedError
        For makespans that doubles do not tell apart.
    """
    if objective is None:
        return instance.horizon
    if abs(objective) >= 2**53:
        raise RefusedError("/goal", "makespans of this size are too large to be told apart")
    return math.ceil(objective) - 1


def excluded(instance: RingInstance, goal: int) -> tuple[str, Fraction]:
    """Return which objectives a goal excludes: "<=" or ">=", and a value."""
    return "<=", Fraction(goal)


def space(instance: RingInstance, goal: int, proof: Mapping[str, Any]) -> "RingSpace":
    """Return what a proof is about: the schedules that end by the end of slot `goal`.

    `proof`: it may hold no cuts.

    Raises
    ------
    RefusedError
        If there are too many configurations.
    """
    if proof.get("cuts") != []:
        raise RefusedError("/cuts", "needs an empty list")
    return RingSpace(instance, goal)


def search(instance: RingInstance, goal: int, *, seconds: float) -> Searched:
    """Search all schedules of makespan <= goal, without an engine.

    `goal`: slots, from `goal`. `seconds`: time limit.

    Raises
    ------
    RefusedError
        If there are too many configurations.
    """
    end, states = time.monotonic() + seconds, 0
    if seconds <= 0:
        return Searched(False)
    space = RingSpace(instance, goal)
    vector = space.simple_prices()
    seen: dict[object, int] = {}
    stack = [space.root()]
    while stack:
        if time.monotonic() > end:
            return Searched(False, states=states)
        region = stack.pop()
        states += 1
        if space.is_schedule(region):
            return Searched(True, space.schedule(instance, region), states)
        excess = space.excess(region, vector)
        if excess is None or excess > 0:
            continue
        if region.asked == 0:
            state = space.state(region)
            if seen.get(state, math.inf) <= region.slot:
                continue
            if len(seen) < MAX_SEEN:
                seen[state] = region.slot
        stack += reversed(space.split(region, ["next"]))
    return Searched(True, None, states)


class RingSpace:
    """The schedules of an instance with a makespan of `goal` or less, decided slot by slot.

    A vector is `{"p": [[j, n, a, b], ...]}`. A slot in which job j runs on n servers is worth a for
    each unit of progress, and b for the slot. Both are 0 if not named. The only branch is
    `["next"]`: the next waiting job starts in this slot in one of its placements, or does not.
    """

    def __init__(self, instance: RingInstance, goal: int) -> None:
        self.goal = min(goal, instance.horizon)  # V5
        self.gpus = tuple(server.gpus for server in instance.servers)
        self.jobs = _rates(instance)
        self.alike = [  # [j] the last earlier job with equal numbers
            max((i for i in range(j) if self.jobs[i] == job), default=None)
            for j, job in enumerate(self.jobs)
        ]
        self._least = [job.least for job in self.jobs]
        self.configurations = self._configurations()
        self._prepared: dict[int, tuple[Mapping[str, Any], _Prices]] = {}

    def root(self) -> Region:
        """Return the region before the first decision."""
        largest_first = sorted(range(len(self.jobs)), key=lambda j: -self.jobs[j].size)
        return Region(1, (), tuple(largest_first), 0, None, (False,) * len(self.gpus))

    def is_schedule(self, region: Region) -> bool:
        """Return whether a region holds a complete schedule: nothing runs, and nothing waits."""
        return not region.running and not region.waiting and region.slot <= self.goal + 1

    def split(self, region: Region, branch: Sequence[Any]) -> tuple[Region, ...]:
        """Return the regions of all decisions on the next waiting job, but for empty ones.

        `branch`: as in a proof file.
        """
        if list(branch) != ["next"]:
            raise RefusedError("/b", 'a branch is ["next"]')
        if region.asked >= len(region.waiting):
            raise RefusedError("/b", "no job is left to start")
        j = region.waiting[region.asked]
        later = region._replace(asked=region.asked + 1)
        parts = [self._settled(later)]
        i = self.alike[j]
        if i is None or i not in region.waiting:
            rest = region.waiting[: region.asked] + region.waiting[region.asked + 1 :]
            for workers in self._placements(region, j):
                n = sum(count > 0 for count in workers)
                if self._starts_late(region, workers, n):
                    running = (*region.running, Running(j, self.jobs[j].need, n, workers))
                    record = (j, region.slot, workers, region.record)
                    part = region._replace(running=running, waiting=rest, record=record)
                    parts.append(self._settled(part))
        return tuple(part for part in parts if not self._is_empty(part))

    def excess(self, region: Region, vector: Mapping[str, Any]) -> int | None:
        """Return the worth that all jobs need, less the worth of the slots that are left.

        `vector`: prices, as in a proof file; without any they are 0.
        """
        if self._is_empty(region):
            return None
        return self.missing(region, vector) if vector else 0

    def missing(self, region: Region, vector: Mapping[str, Any]) -> int:
        """Return `excess` of a region that has been found not to be empty.

        `vector`: prices, as in a proof file.
        """
        prices = self._evaluate(vector)
        slots = self.goal - region.slot + 1
        total = sum(map(prices.needs(self.jobs, slots).__getitem__, region.waiting))
        ends = []
        for j, left, n, _ in region.running:
            a, b = prices.price.get((j, n), (0, 0))
            length = -(-left // self.jobs[j].rate[n - 1][0])
            total += a * left + b * length
            ends.append((length, (j, n)))
        ends.sort()
        passed = 0
        for k, (length, _) in enumerate(ends):
            total -= (length - passed) * prices.most(frozenset(mode for _, mode in ends[k:]))
            passed = length
        return total - (slots - passed) * prices.most(frozenset())

    def reduce(self, region: Region, vector: Mapping[str, Any]) -> Region:
        """Return the region itself: nothing is removed by prices."""
        return region

    def _evaluate(self, vector: Mapping[str, Any]) -> "_Prices":
        """Return the prices of a vector, and what they say of the configurations."""
        if id(vector) in self._prepared:  # it is stored, so its id is unique
            return self._prepared[id(vector)][1]
        entries = vector.get("p")
        if set(vector) != {"p"} or not isinstance(entries, list):
            raise RefusedError("/p", "needs a list of prices")
        price: dict[Mode, tuple[int, int]] = {}
        for entry in entries:
            if not isinstance(entry, list) or len(entry) != 4:
                raise RefusedError("/p", "needs [job, servers, price, price]")
            j, n, a, b = (whole(number, "/p") for number in entry)
            if (j, n) in price or a < 0 or b < 0:
                raise RefusedError("/p", "prices are >= 0, and given once")
            price[j, n] = a, b
        ranked = []
        for active in self.configurations:
            worth = 0
            for j, n, p in active:
                a, b = price.get((j, n), (0, 0))
                worth += a * self.jobs[j].rate[n - 1][p - 1] + b
            ranked.append((worth, frozenset((j, n) for j, n, _ in active)))
        ranked.sort(key=lambda item: -item[0])
        if len(self._prepared) >= KEPT_VECTORS:
            self._prepared.clear()
        self._prepared[id(vector)] = vector, _Prices(price, ranked)
        return self._prepared[id(vector)][1]

    # --- search ---------------------------------------------------------------------------------

    def simple_prices(self) -> Mapping[str, Any]:
        """Return prices that spread the worth of the best configurations evenly over the jobs.

        In each round, the jobs of the best configuration lose worth in proportion to their
        progress in it; the best of all rounds counts (multiplicative weights).
        """
        worth = [job.size * min(self._least[j], 1e9) for j, job in enumerate(self.jobs)]
        shares = [[(j, self._share(j, n, p)) for j, n, p in each] for each in self.configurations]
        best, chosen = 0.0, worth
        for _ in range(min(ROUNDS, MAX_SHARES // (1 + sum(map(len, shares))))):
            most, active = max((sum(worth[j] * part for j, part in each), each) for each in shares)
            if most == 0:
                break
            if sum(worth) / most > best:
                best, chosen = sum(worth) / most, list(worth)
            for j, part in active:
                worth[j] *= math.exp(-0.1 * part * self._least[j])
        unit = 2**40 / max(chosen)
        entries = []
        for j, job in enumerate(self.jobs):
            for n, slots in job.alone:
                if slots <= self.goal:
                    a, b = (0.0, 1 / slots) if n == 1 else (1 / job.need, 0.0)
                    entries.append([j, n, *(int(unit * chosen[j] * price) for price in (a, b))])
        return {"p": entries}

    def _share(self, j: int, n: int, p: int) -> float:
        """Return the share of a job that a slot completes, rounded up for one server."""
        job = self.jobs[j]
        return 1 / -(-job.need // job.rate[0][0]) if n == 1 else job.rate[n - 1][p - 1] / job.need

    def state(self, region: Region) -> object:
        """Return what the schedules of a region depend on, but for the slot."""
        running = sorted(region.running)
        servers = sorted(
            (
                gpus,
                region.busy and region.busy[s],
                region.spread[s],
                *(r.workers[s] for r in running),
            )
            for s, gpus in enumerate(self.gpus)
        )
        jobs = tuple((r.job, r.left) for r in running)
        return jobs, tuple(sorted(region.waiting)), tuple(servers)

    def schedule(self, instance: RingInstance, region: Region) -> dict[str, Any]:
        """Return the JSON data of the schedule of a region that `is_schedule`."""
        rows: dict[int, dict[str, Any]] = {}
        record = region.record
        while record is not None:
            j, slot, workers, record = record
            row = rows.setdefault(j, {"job": instance.jobs[j].id})
            if workers is None:
                row["end"] = slot
            else:
                placed = zip(instance.servers, workers, strict=True)
                row["start"] = slot
                row["placement"] = {server.id: count for server, count in placed if count}
        return {"jobs": [rows[j] for j in sorted(rows)]}

    # --- time ----------------------------------------------------------------------------------

    def _is_empty(self, region: Region) -> bool:
        """Return whether some job cannot end by the goal, even alone on the fewest servers."""
        done = region.slot - 1
        for j, left, n, _ in region.running:
            if left > (self.goal - done) * self.jobs[j].rate[n - 1][0]:
                return True
        for k, j in enumerate(region.waiting):
            if done + (k < region.asked) + self._least[j] > self.goal:
                return True
        return done > self.goal

    def _settled(self, region: Region) -> Region:
        """Let time pass while there is nothing to decide."""
        while (
            region.asked == len(region.waiting)
            and (region.running or region.waiting)
            and region.slot <= self.goal
        ):
            region = self._after(region)
        return region

    def _after(self, region: Region) -> Region:
        """Return the region in the next slot in which a job may start; (3), (6)-(9)."""
        on = [sum(r.servers > 1 and r.workers[s] > 0 for r in region.running)
              for s in range(len(self.gpus))]  # fmt: skip
        rates = []
        for r in region.running:
            contention = max(p for p, count in zip(on, r.workers, strict=True) if count)  # (6)
            rates.append(
                self.jobs[r.job].rate[r.servers - 1][contention - 1 if r.servers > 1 else 0]
            )
        ends = [-(-r.left // rate) for r, rate in zip(region.running, rates, strict=True) if rate]
        slots = min(ends, default=self.goal + 1)
        if any(on) and any(len(self.jobs[j].rate) > 1 for j in region.waiting):
            slots = 1  # a job may start where it meets a spread one
        running = tuple(
            r._replace(left=r.left - slots * rate)
            for r, rate in zip(region.running, rates, strict=True)
            if r.left > slots * rate
        )
        busy = tuple(sum(r.workers[s] for r in region.running) for s in range(len(self.gpus)))
        record = region.record
        for r, rate in zip(region.running, rates, strict=True):
            if r.left <= slots * rate:
                record = (r.job, region.slot + slots - 1, None, record)  # (9)
        spread = tuple(number > 0 for number in on)
        return Region(region.slot + slots, running, region.waiting, 0, busy, spread, record)

    # --- placements ----------------------------------------------------------------------------

    def _starts_late(self, region: Region, workers: Counts, n: int) -> bool:
        """Return whether a job has a reason not to have started a slot earlier (root lemma)."""
        if region.busy is None:
            return True
        return any(
            count and (count + busy > gpus or (n > 1 and spread))
            for count, busy, gpus, spread in zip(
                workers, region.busy, self.gpus, region.spread, strict=True
            )
        )

    def _placements(self, region: Region, j: int) -> Iterator[Counts]:
        """Return the workers [s] of a job on free GPUs, up to an exchange of servers; (1), (2)."""
        used = [[r.workers[s] for r in region.running] for s in range(len(self.gpus))]
        free = [gpus - sum(workers) for gpus, workers in zip(self.gpus, used, strict=True)]
        alike: list[int | None] = []  # [s] the last earlier server with the same GPUs and jobs
        seen: dict[object, int] = {}
        for s, gpus in enumerate(self.gpus):
            before = None if region.busy is None else (region.busy[s], region.spread[s])
            key = gpus, before, *used[s]
            alike.append(seen.get(key))
            seen[key] = s
        return _ways(self.jobs[j].size, free, alike, ())

    def _configurations(self) -> list[tuple[Active, ...]]:
        """Return the sets of placed jobs that fit onto the servers; (1), (2), (6).

        Servers with the same free GPUs and the same spread jobs are interchangeable.
        """
        servers: list[tuple[int, Jobs]] = [(gpus, ()) for gpus in self.gpus]
        states: dict[tuple[Any, Jobs], None] = {(tuple(sorted(servers)), ()): None}
        steps = 0
        for j, job in enumerate(self.jobs):
            for on, inside in list(states):
                alike = [s - 1 if s and on[s] == on[s - 1] else None for s in range(len(on))]
                for workers in _ways(job.size, [free for free, _ in on], alike, ()):
                    steps += 1
                    if steps > MAX_STEPS:
                        raise RefusedError("/model", "too many jobs can run at the same time")
                    n = sum(map(bool, workers))
                    if job.rate[n - 1][0] * self.goal < job.need:
                        continue
                    after = tuple(
                        sorted(
                            (free - count, (*rings, j) if n > 1 and count else rings)
                            for (free, rings), count in zip(on, workers, strict=True)
                        )
                    )
                    states[after, (*inside, j) if n == 1 else inside] = None
        found = set()
        for on, inside in states:
            active = [(j, 1, 1) for j in inside]
            for j in {j for _, rings in on for j in rings}:
                contention = [len(rings) for _, rings in on if j in rings]
                active.append((j, len(contention), max(contention)))
            found.add(tuple(sorted(active)))
        return sorted(found)


class _Prices:
    """The prices of a vector by job and number of servers; configurations by their worth."""

    def __init__(
        self, price: Mapping[Mode, tuple[int, int]], ranked: Sequence[tuple[int, frozenset[Mode]]]
    ) -> None:
        self.price, self.ranked = price, ranked  # the most worthy configuration first
        self._most: dict[frozenset[Mode], int] = {}
        self._needs: dict[int, list[int]] = {}

    def most(self, running: frozenset[Mode]) -> int:
        """Return the most that a slot is worth in which these jobs run."""
        if running not in self._most:
            found = (worth for worth, modes in self.ranked if running <= modes)
            self._most[running] = next(found, 0)
        return self._most[running]

    def needs(self, jobs: Sequence[Rates], slots: int) -> list[int]:
        """Return the worth [j] that each job needs at least, if it ends within so many slots."""
        if slots not in self._needs:
            self._needs[slots] = [
                min(
                    (
                        self.price.get((j, n), (0, 0))[0] * job.need
                        + self.price.get((j, n), (0, 0))[1] * int(length)
                        for n, length in job.alone
                        if length <= slots
                    ),
                    default=0,
                )
                for j, job in enumerate(jobs)
            ]
        return self._needs[slots]


def _ways(
    left: int, free: Sequence[int], alike: Sequence[int | None], workers: Counts
) -> Iterator[Counts]:
    """Yield the ways to place so many workers more on the servers after those with `workers`.

    A server takes no more of them than the one before that is alike.
    """
    s = len(workers)
    if s == len(free):
        yield workers
        return
    before = alike[s]
    most = min(left, free[s], left if before is None else workers[before])
    for count in range(most, max(0, left - sum(free[s + 1 :])) - 1, -1):
        yield from _ways(left - count, free, alike, (*workers, count))


# --- rates ----------------------------------------------------------------------------------------


def _rates(instance: RingInstance) -> list[Rates]:
    """Return the table of rates of each job, (7) and (8)."""
    sizes = sorted((server.gpus for server in instance.servers), reverse=True)
    rings = sum(job.gpus > 1 for job in instance.jobs)
    most = max(1, min(rings, sizes[0]))  # contention level
    servers = len(sizes)
    if len(instance.jobs) > MAX_JOBS or servers > MAX_SERVERS:
        raise RefusedError("/model", f"more than {MAX_JOBS} jobs, or {MAX_SERVERS} servers")
    found = []
    for job in instance.jobs:
        rows = []
        for n in range(1, min(job.gpus, servers) + 1):
            levels = range(1, most + 1 if n > 1 else 2)
            rows.append(tuple(_rate(instance, job, n, p) for p in levels))
            if list(rows[-1]) != sorted(rows[-1], reverse=True):
                raise RefusedError("/model", f"{job.id} is faster where more jobs contend")
        need = job.iterations * instance.rate_scale
        alone = tuple(
            (n, -(-need // row[0]) if row[0] else math.inf)
            for n, row in enumerate(rows, 1)
            if sum(sizes[:n]) >= job.gpus
        )
        found.append(Rates(job.gpus, need, tuple(rows), alone))
    return found


def _rate(instance: RingInstance, job: Job, n: int, p: int) -> int:
    """Return phi_j in units of 1 / rate_scale iterations; p is not read for n = 1."""
    bandwidth = instance.bandwidth_within
    if n > 1:
        bandwidth = instance.bandwidth_between / instance.degradation_factor(p)  # (7)
    exchanged = job.gradient_size / job.gpus * (job.gpus - 1)
    tau = (  # (8)
        2 * exchanged / bandwidth
        + exchanged / instance.compute_speed
        + instance.overhead_per_server * n
        + job.forward_time_per_sample * job.batch_size
        + job.backward_time
    )
    need = job.iterations * instance.rate_scale
    return math.floor(min(instance.rate_scale / tau + 1e-9, need))
