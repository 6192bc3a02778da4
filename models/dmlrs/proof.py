"""What a proof of optimality for a dmlrs instance is about: a program with merged machines.

Written from the paper's constraints and the instance alone, like `rules.py`; it shares no code with
the programs that the searches solve. Machines are merged in the rows; what they cannot hold one by
one is added by cuts, for which this module searches itself.

Lemma (root). Take any schedule that the rules accept. Leave out jobs of utility 0, and PSs beyond
m(n). Then less is held, and no job ends later. A slot that is now on a single machine does more
work, since N_int <= N_ext. Where n workers do all the work of the job in one slot, let it have the
fewest such n there. What is left is a solution of the program. It has f, the last slot, and in each
slot a *bundle*. A bundle is n workers of the job with m(n) PSs, on a single machine (internal) or
on any machines. The work (3) depends on integers A and B of worker-slots, internal and not. The
sufficient pairs are those with B >= least[A], and rows of (3) are the edges of their lower hull.

Lemma (slot cut). A bundle can be replaced by one of fewer workers, or by one on any machines: the
machines of the slot hold that, too. Let each bundle of a slot count as the best named one it can
become. Then the bundles are worth no more than the best of the named bundles that the machines hold
together.
"""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from schedgap.instances.dmlrs.instance import STEP, DmlrsInstance, Job
from schedgap.instances.scaling import as_fraction
from schedgap.solvers.proofs.bins import BinCompletion, OutOfTimeError
from schedgap.solvers.proofs.checker import (
    CUTS,
    Cut,
    IntegerProgram,
    ProgramSpace,
    RefusedError,
    Row,
    whole,
    with_cuts,
)

MAX_COLUMNS = 100_000
MAX_ENTRIES = 4_000_000
MAX_POINTS = 200_000  # pairs of worker-slots, of all jobs
MAX_STATES = 200_000  # nodes of the search for one cut; then the cut is weaker
SHORT = 2_000  # nodes of the search for one bundle
MAX_PACKINGS = 200_000  # that are cached
WITHIN = Fraction(5, 10**7)  # relative: a better schedule may be better by less
_SLACK = Fraction(1, 10**8)  # relative to `WITHIN`: the rules add utilities in doubles
_FULL = 1 - Fraction(1, 10**9) - Fraction(1, 10**12)  # the rules: 1 - 1e-9, in doubles

Vector = tuple[int, ...]  # amounts by resource, in thousandths


class Bundle(NamedTuple):
    """n workers of a job with m(n) PSs, on a single machine (internal) or on any machines."""

    job: int
    internal: bool
    workers: int

    def becomes(self, other: "Bundle") -> bool:
        """Return whether the machines that hold this bundle can hold the other one instead.

        `other`: of the same or another job.
        """
        smaller = self.job == other.job and self.workers >= other.workers
        return smaller and (self.internal or not other.internal)


class Pair(NamedTuple):
    """Worker-slots on single machines and not."""

    internal: int
    external: int


class Edge(NamedTuple):
    """The row `internal * A + external * B >= least` on the worker-slots of a job."""

    internal: int
    external: int
    least: int


def goal(instance: DmlrsInstance, objective: float | None) -> int:
    """Return the largest value that a proof of optimality excludes: minus a sum of utilities.

    Values are in units of 2^-k, of which all utilities are multiples. Sums that exceed the
    objective by a factor of at least 1 + `WITHIN` are excluded, or all above 0 if it is 0.

    `objective`: of the schedule that is claimed to be optimal.

    Raises
    ------
    RefusedError
        For None, as there always is a schedule; and if the program is too large.
    """
    if objective is None:
        raise RefusedError("/goal", "there always is a schedule")
    _limit(size(instance), MAX_COLUMNS)
    least = Fraction(objective) * (1 + WITHIN * (1 - _SLACK)) * units(instance)
    return -max(1, math.ceil(least))


def excluded(instance: DmlrsInstance, goal: int) -> tuple[str, Fraction]:
    """Return which objectives a goal excludes: "<=" or ">=", and a value."""
    return ">=", Fraction(-goal, units(instance))


def within(instance: DmlrsInstance, objective: float) -> Fraction:
    """Return the relative width `WITHIN`, by which a better schedule is left open.

    `objective`: not used.
    """
    return WITHIN


def units(instance: DmlrsInstance) -> int:
    """Return the number of units in a utility of 1, a power of two."""
    numbers = [u for job in instance.jobs for u in _utilities(instance, job)]
    return max((u.as_integer_ratio()[1] for u in numbers), default=1)


def size(instance: DmlrsInstance) -> int:
    """Return at least the number of columns of the program."""
    T = instance.horizon
    return sum((T - job.arrival + 1) * (2 * job.batch_size + 1) for job in instance.jobs)


def _utilities(instance: DmlrsInstance, job: Job) -> list[float]:
    """Return the largest utility of a job that completes in slot a, ..., T or later."""
    found = [job.utility.at(delay) for delay in range(instance.horizon - job.arrival + 1)]
    return list(accumulate(reversed(found), max))[::-1]


def space(instance: DmlrsInstance, goal: int, proof: Mapping[str, Any]) -> ProgramSpace:
    """Return the set that a proof shows to be empty: the schedules of value <= goal.

    `goal`: from `goal`. `proof`: its `cuts` are derived again.
    """
    model = Model(instance, goal)
    return ProgramSpace(with_cuts(model.program, proof.get("cuts"), model.kinds))


class Model:
    """The program of an instance, and the packings of its slots.

    Columns: y_if, job i completes in slot f, and v_itqn, it has this bundle in slot t.

    `goal`: from `goal`.

    Raises
    ------
    RefusedError
        If the program is too large to be written down.
    """

    def __init__(self, instance: DmlrsInstance, goal: int) -> None:
        T = instance.horizon
        _limit(size(instance), MAX_COLUMNS)
        self.instance = instance
        self.machines = [_milli(instance, machine.capacity) for machine in instance.machines]
        self.bins = list(Counter(self.machines).items())
        self.worker = [_milli(instance, job.worker_demand) for job in instance.jobs]
        self.ps = [_milli(instance, job.ps_demand) for job in instance.jobs]
        self.ps_of = [_bundles(instance, job) for job in instance.jobs]
        self.completions: list[dict[int, int]] = [{} for _ in instance.jobs]  # columns y, by slot
        self.bundles: list[dict[int, Bundle]] = [{} for _ in range(T + 1)]  # [slot][column v]
        self._cost: list[int] = []
        self._rows: list[Row] = []
        self._entries = self._points = 0
        self._packed: dict[frozenset[Bundle], tuple[bool, int]] = {}
        scale = units(instance)
        for i in range(len(instance.jobs)):
            self._add_job(i, scale)
        total = tuple(map(sum, zip(*self.machines, strict=True)))
        for own in self.bundles[1:]:  # (5), all machines together
            demand = {j: self._demand(bundle) for j, bundle in own.items()}
            for r, amount in enumerate(total):
                self._row({j: d[r] for j, d in demand.items() if d[r]}, None, amount)
        n = len(self._cost)
        self.program = IntegerProgram(self._cost, [0] * n, [1] * n, self._rows, goal)
        self.kinds: Mapping[str, Cut] = {**CUTS, "slot": self._slot_cut}

    def _add_job(self, i: int, scale: int) -> None:
        """Add the columns of a job, and its rows (3), (4), (6) and (7)."""
        job, T = self.instance.jobs[i], self.instance.horizon
        choices = self._choices(i)
        most = tuple(
            max((b.workers for b in choices if b.internal == internal), default=0)
            for internal in (True, False)
        )
        edges: dict[int, list[Edge]] = {}
        for f in range(job.arrival, T + 1):
            slots = f - job.arrival + 1
            self._points += min(math.ceil(_FULL * _worker_slots(job, True)), slots * most[0]) + 1
            _limit(self._points, MAX_POINTS)
            found = work_edges(job, slots, most)
            if found is not None:
                edges[f] = found
        utility = dict(enumerate(_utilities(self.instance, job), job.arrival))
        completions = {
            f: self._column(-int(Fraction(utility[f]) * scale)) for f in edges if utility[f]
        }
        self.completions[i] = completions
        if not completions:
            return
        self._row(dict.fromkeys(completions.values(), 1), None, 1)  # admitted at most once
        work: dict[int, Bundle] = {}
        for t in range(job.arrival, max(completions) + 1):
            own = {self._column(0): bundle for bundle in choices}
            self.bundles[t] |= own
            self._row(dict.fromkeys(own, 1), None, 1)
            later = {y: -1 for f, y in completions.items() if f >= t}
            self._row(dict.fromkeys(own, 1) | later, None, 0)  # (6): none after f
            work |= own
            if t not in completions:
                continue
            complete = [y for f, y in completions.items() if f <= t]
            for edge in edges[t]:  # (3): what is complete by t has done its work
                entries = {
                    j: b.workers * (edge.internal if b.internal else edge.external)
                    for j, b in work.items()
                }
                entries = {j: a for j, a in entries.items() if a}
                self._row(entries | dict.fromkeys(complete, -edge.least), 0, None)

    def _choices(self, i: int) -> list[Bundle]:
        """Return the bundles of a job that empty machines may hold, by mode up to a whole job."""
        job, found = self.instance.jobs[i], []
        for internal in (True, False) if len(self.instance.machines) > 1 else (True,):
            enough = math.ceil(_FULL * _worker_slots(job, internal))
            own = [Bundle(i, internal, n) for n in self.ps_of[i]]
            own = own[: bisect_left(own, enough, key=lambda bundle: bundle.workers) + 1]
            found += own[: bisect_left(own, True, key=lambda b: not self._search([b], SHORT)[0])]
        return found

    def _demand(self, bundle: Bundle) -> Vector:
        """Return the demand of a bundle."""
        i, n, m = bundle.job, bundle.workers, self.ps_of[bundle.job][bundle.workers]
        return tuple(n * a + m * b for a, b in zip(self.worker[i], self.ps[i], strict=True))

    def _column(self, cost: int) -> int:
        self._cost.append(cost)
        return len(self._cost) - 1

    def _row(self, entries: dict[int, int], low: int | None, high: int | None) -> None:
        self._entries += len(entries)
        _limit(self._entries, MAX_ENTRIES)
        self._rows.append((entries, low, high))

    # --- what a slot holds ------------------------------------------------------------------------

    def _slot_cut(self, program: IntegerProgram, data: Mapping[str, Any]) -> Row:
        """Return the cut of a slot: named bundles are worth no more than the best that it holds.

        `program`: not used. `data`: `slot`, and `worth`: for each named bundle [job, 1 if internal,
        workers, worth].
        """
        slot, worth = whole(data.get("slot"), "/slot"), data.get("worth")
        if not 1 <= slot < len(self.bundles):
            raise RefusedError("/slot", f"there is no slot {slot}")
        if not isinstance(worth, list):
            raise RefusedError("/worth", "needs a list")
        named: dict[Bundle, int] = {}
        for item in worth:
            if not isinstance(item, list) or len(item) != 4:
                raise RefusedError("/worth", "needs a job, 0 or 1, workers, and a worth")
            i, internal, n, value = (whole(number, "/worth") for number in item)
            if not (0 <= i < len(self.ps_of) and n in self.ps_of[i] and value > 0):
                raise RefusedError("/worth", f"no bundle of {n} workers of job {i}, or no worth")
            if internal not in (0, 1):
                raise RefusedError("/worth", "needs 1 for a single machine, else 0")
            named[Bundle(i, internal == 1, n)] = value
        entries = {}
        for j, bundle in self.bundles[slot].items():
            value = max((w for b, w in named.items() if bundle.becomes(b)), default=0)
            if value:
                entries[j] = value
        present = {b.job for b in self.bundles[slot].values()}
        return entries, None, self.best({b: w for b, w in named.items() if b.job in present})[0]

    def best(self, worth: Mapping[Bundle, int]) -> tuple[int, tuple[Bundle, ...]]:
        """Return at least the largest worth of bundles of different jobs that a slot holds.

        `worth`: by bundle, > 0.

        The worth is the largest, unless the search was too long; then it is the sum over all jobs.
        The bundles are the best that were found.
        """
        by_job: dict[int, list[tuple[int, Bundle]]] = {}
        for bundle, value in worth.items():
            by_job.setdefault(bundle.job, []).append((value, bundle))
        jobs = sorted((sorted(own, reverse=True) for own in by_job.values()), reverse=True)
        rest = [0]  # what the jobs from one on are worth at most
        for own in reversed(jobs):
            rest.append(rest[-1] + own[0][0])
        rest.reverse()
        best, chosen, states = 0, tuple[Bundle, ...](), 0
        stack = [(0, 0, chosen)]
        while stack and states <= MAX_STATES:
            k, value, held = stack.pop()
            if value > best:
                best, chosen = value, held
            if value + rest[k] <= best:
                continue
            stack.append((k + 1, value, held))
            for more, bundle in reversed(jobs[k]):
                if states > MAX_STATES:  # something is left on the stack
                    break
                if value + more + rest[k + 1] > best:
                    fits, searched = self._holds((*held, bundle))
                    states += 1 + searched
                    if fits:
                        stack.append((k + 1, value + more, (*held, bundle)))
        return rest[0] if stack else best, chosen

    def _holds(self, bundles: Sequence[Bundle]) -> tuple[bool, int]:
        """Return whether a slot may hold bundles of different jobs, and the nodes searched."""
        key = frozenset(bundles)
        if key not in self._packed:
            if len(self._packed) >= MAX_PACKINGS:
                self._packed.clear()
            self._packed[key] = self._search(bundles, MAX_STATES)
        return self._packed[key]

    def units(self, bundles: Sequence[Bundle]) -> tuple[list[Vector], list[int]]:
        """Return the demand of each kind of unit, and the number of units of the kind.

        A unit is the whole of an internal bundle, or one worker or PS.
        """
        units: list[Vector] = []
        numbers: list[int] = []
        for bundle in bundles:
            i, n = bundle.job, bundle.workers
            if bundle.internal:
                units.append(self._demand(bundle))
                numbers.append(1)
            else:
                units += [self.worker[i], self.ps[i]]
                numbers += [n, self.ps_of[i][n]]
        return units, numbers

    def _search(self, bundles: Sequence[Bundle], most: int) -> tuple[bool, int]:
        """Return the same; `most` nodes are searched."""
        units, numbers = self.units(bundles)
        search = BinCompletion(units, self.bins, lambda nodes: nodes > most)
        try:
            return search.run(numbers) is not None, search.nodes
        except OutOfTimeError:
            return True, search.nodes


def _milli(instance: DmlrsInstance, amounts: Mapping[str, float]) -> Vector:
    """Return amounts of all resources in whole thousandths."""
    return tuple(int(as_fraction(amounts[name]) * STEP) for name in instance.resources)


def _bundles(instance: DmlrsInstance, job: Job) -> dict[int, int]:
    """Return m(n) for the numbers n of workers that (2) and (4) allow, as the rules decide it."""
    found = {}
    for n in range(1, job.batch_size + 1):
        share = n / job.worker_ps_ratio
        if instance.ps_rule == "at_least":
            found[n] = max(1, math.ceil(share - 1e-9))
        elif abs(share - max(1, round(share))) < 1e-9:
            found[n] = round(share)
    return found


def work_edges(job: Job, slots: int, most: Sequence[int]) -> list[Edge] | None:
    """Return the edges of the hull of the pairs that complete a job; None if there are none.

    Of the sufficient pairs with the least B for their A, those that so many slots can hold. `most`:
    workers in a slot, on a single machine and not.
    """
    needed = _worker_slots(job, True), _worker_slots(job, False)
    hull: list[Pair] = []
    for a in range(min(math.ceil(_FULL * needed[0]), slots * most[0]) + 1):
        b = max(0, math.ceil((_FULL - a / needed[0]) * needed[1]))
        if any(n and not width for width, n in zip(most, (a, b), strict=True)):
            continue
        if sum(-(-n // width) for width, n in zip(most, (a, b), strict=True) if n) > slots:
            continue
        point = Pair(a, b)
        while len(hull) > 1 and not _turns_left(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    if not hull:
        return None
    rows = [Edge(1, 0, hull[0].internal), Edge(0, 1, hull[-1].external)]
    for (a, b), (c, d) in pairwise(hull):
        step = math.gcd(b - d, c - a)
        p, q = (b - d) // step, (c - a) // step
        rows.append(Edge(p, q, p * a + q * b))
    return [row for row in rows if row.least]


def _worker_slots(job: Job, internal: bool) -> Fraction:
    """Return N = E K (tau + (gamma / F) (2 g / b)), the worker-slots of the job in a mode."""
    bandwidth = job.internal_bandwidth if internal else job.external_bandwidth
    exchange = 2 * Fraction(job.gradient_size) / Fraction(bandwidth)
    exchange *= Fraction(job.worker_ps_ratio) / job.batch_size
    return job.epochs * job.samples * (Fraction(job.time_per_sample) + exchange)


def _turns_left(a: Pair, b: Pair, c: Pair) -> bool:
    """Return whether the path from a over b to c turns left: b is below the line."""
    return (b.internal - a.internal) * (c.external - a.external) > (b.external - a.external) * (
        c.internal - a.internal
    )


def _limit(number: int, most: int) -> None:
    if number > most:
        raise RefusedError("/model", "the program is too large to be written down")
