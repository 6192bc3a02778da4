"""`exact` (ours): prices by column generation, CP-SAT on intervals, and enumeration between them.

The intervals settle light loads and find good schedules; the prices bound; between the two bounds
lie few runs of each job, and a packing over these decides. Each engine runs in a child process, for
HiGHS and CP-SAT cannot share one.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from schedgap.errors import ContradictionError, ScaleError
from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic import pooled, program_cp_sat, schedule_lp
from schedgap.models.elastic.columns import Run, fits_together, runs_from, schedule_of
from schedgap.models.elastic.enumeration import price_and_enumerate
from schedgap.models.elastic.modes import modes
from schedgap.models.elastic.program_compact import check_whole, whole_weights
from schedgap.models.elastic.schedule_lp import Prices
from schedgap.models.elastic.starting import dispatch, starting_schedule
from schedgap.models.elastic.windows import no_schedule, value_step, windows
from schedgap.models.method import Call, Outcome
from schedgap.solvers import Clock, solve
from schedgap.solvers.children import Reply, run_child

Send = Callable[[Any], None]

LP_SHARE = 0.4
CP_SAT_SHARE, CP_SAT_SECONDS = 0.25, 20.0
GUIDED_SHARE, GUIDED_SECONDS = 0.15, 10.0
GUIDES = (1.0, 0.6, 0.3, 0.1)  # of the prices, where they guide a list
LISTS = 60  # without a better schedule, for each job
NOISE = 0.15  # of the mean distance of ends, where lists are shaken
COARSE_BLOCK = 5  # slots that share a price where all else is too large
MOST_MODE_STARTS = 3_000_000  # jobs x modes x slots that are priced one by one


class Found:
    """The best schedule and bound so far; improvements are passed on.

    Values are those of the minimisation: of a batch problem minus the weight.
    """

    def __init__(self, instance: ElasticInstance, call: Call) -> None:
        self.instance, self._call = instance, call
        self.sign = -1.0 if instance.is_batch else 1.0
        self.step = value_step(instance)
        self.schedule: ElasticSchedule | None = None
        self.upper: float | None = None
        self.lower = -math.inf
        self.trace: dict[str, Any] = {}
        self.proofs: list[str] = []
        self.no_schedule = False

    def offer(self, schedule: ElasticSchedule) -> None:
        """Keep a schedule if it is better."""
        value = self.sign * schedule.value(self.instance)
        if self.upper is None or value < self.upper - 1e-9 * max(1.0, abs(value)):
            self.upper, self.schedule = value, schedule
            self._call.progress.incumbent(schedule, self.sign * value)

    def offer_runs(self, runs: Sequence[Run]) -> None:
        """Keep runs if they fit and are better."""
        if fits_together(self.instance, runs):
            self.offer(schedule_of(self.instance, runs))

    def raise_lower(self, lower: float) -> None:
        """Keep a bound if it is better, rounded up to the step of all values."""
        if self.step is not None:
            lower = math.ceil(lower / self.step - 1e-6) * self.step
        if lower > self.lower:
            self.lower = lower
            self._call.progress.bound(self.sign * lower)

    def hear(self, message: tuple[str, Any]) -> None:
        """Take what a child sends."""
        kind, content = message
        if kind == "runs":
            self.offer_runs(content)
        else:
            self.raise_lower(content)

    def take(self, reply: Reply, name: str) -> dict[str, Any]:
        """Return what a child returns; empty when it was stopped."""
        if reply.outcome == "error" and isinstance(reply.error, Exception):
            raise reply.error
        if reply.outcome != "done":
            self.trace[name] = f"{reply.outcome}: {str(reply.error)[-200:]}"
            return {}
        value: dict[str, Any] = reply.value
        if value.pop("infeasible", False):
            self.no_schedule = True
        if value.pop("complete", False):
            self.proofs.append(name)
        if self.upper is not None:
            over = self.lower - self.upper
            if over > 1e-6 * max(1.0, abs(self.upper)) or self.no_schedule:
                raise ContradictionError(f"{name} proves {self.lower} beside {self.upper}")
        return value

    @property
    def closed(self) -> bool:
        """Whether nothing is left to prove."""
        if self.no_schedule:
            return True
        return self.upper is not None and self.lower >= self.upper - 1e-9 * max(1, abs(self.upper))

    def outcome(self, note: str = "") -> Outcome:
        """Return the best of everything."""
        if self.no_schedule:
            return Outcome(infeasible=True, note="complete search", trace=self.trace)
        if self.proofs:
            self.trace["proof"] = self.proofs
        bound = self.sign * self.lower if math.isfinite(self.lower) else None
        return Outcome(schedule=self.schedule, bound=bound, note=note, trace=self.trace)


def exact(instance: ElasticInstance, call: Call) -> Outcome:
    """Run `exact`."""
    if reason := no_schedule(instance):
        return Outcome(infeasible=True, note=reason)
    found = Found(instance, call)
    found.raise_lower(found.sign * pooled.no_contention(instance))
    start = starting_schedule(instance)
    if start is not None:
        found.offer(start)
    if found.closed:
        return found.outcome()
    slots = schedule_lp.priced_slots(instance, found.schedule)
    size = slots * sum(len(modes(instance, j)) for j in range(len(instance.jobs)))
    if schedule_lp.too_large(instance, slots) or size > MOST_MODE_STARTS:
        _coarse(instance, call, found)
        return found.outcome("too large for an exact search")
    prices = _price(instance, call, found, call.clock.share(LP_SHARE))
    if found.closed:
        return found.outcome()
    whole = _is_whole(instance)
    if whole:
        _intervals(instance, call, found, call.clock.share(CP_SAT_SHARE, most=CP_SAT_SECONDS))
        if found.closed:
            return found.outcome()
    if prices is not None:
        _enumerate(instance, call, found, prices, "cp-sat" if whole else "highs")
    if whole and not found.closed and not call.clock.expired():
        _intervals(instance, call, found, call.clock)
    return found.outcome()


def _is_whole(instance: ElasticInstance) -> bool:
    """Whether CP-SAT can have the instance in whole numbers."""
    try:
        check_whole(instance)
        whole_weights(instance)
    except ScaleError:
        return False
    return True


def _price(instance: ElasticInstance, call: Call, found: Found, clock: Clock) -> Prices | None:
    """Solve the relaxation, and let its prices guide lists of jobs."""
    call.progress.phase("generating columns")
    reply = run_child(
        "schedgap.models.elastic.exact:price_child",
        instance,
        found.schedule,
        limit=_seconds(clock),
        on_message=found.hear,
        engine="highs",
        seconds=_seconds(clock),
        seed=call.seed,
        threads=call.threads,
    )
    value = found.take(reply, "schedule-lp")
    if not value:
        return None
    found.trace["schedule-lp"] = value["trace"]
    prices: Prices | None = value["prices"]
    if prices is not None and not found.closed:
        call.progress.phase("lists by prices")
        clock = call.clock.share(GUIDED_SHARE, most=GUIDED_SECONDS)
        found.trace["lists"] = _guided(instance, found, prices, value["runs"], clock, call.seed)
    return prices


def _coarse(instance: ElasticInstance, call: Call, found: Found) -> None:
    """Bound what is too large for all else."""
    call.progress.phase("coarse bound")
    reply = run_child(
        "schedgap.models.elastic.exact:coarse_child",
        instance,
        limit=_seconds(call.clock),
        on_message=found.hear,
        engine="highs",
        seconds=_seconds(call.clock),
        seed=call.seed,
        threads=call.threads,
    )
    if value := found.take(reply, "pooled-lp-coarse"):
        found.trace["pooled-lp-coarse"] = value


def _guided(
    instance: ElasticInstance,
    found: Found,
    prices: Prices,
    runs: Sequence[tuple[Run, float]],
    clock: Clock,
    seed: int,
) -> int:
    """Dispatch the jobs by their mean ends in the relaxation, under its prices; shake the list.

    Returns the number of lists that were tried.
    """
    jobs = [j for j in range(len(instance.jobs)) if modes(instance, j)]
    own: dict[int, list[tuple[int, float]]] = {j: [] for j in jobs}
    for run, share in runs:
        own[run.job].append((run.end, share))
    late = max((run.end for run, _ in runs), default=0) + 1.0
    key = {
        j: sum(end * share for end, share in ends) / sum(share for _, share in ends)
        if ends
        else late
        for j, ends in own.items()
    }
    price = prices.per_demand(instance)
    random = np.random.default_rng(seed)
    tried = failed = 0
    while not clock.expired() and not found.closed and failed < LISTS * len(jobs):
        shaken = dict(key)
        factor = GUIDES[tried % len(GUIDES)]
        if tried >= len(GUIDES):
            spread = NOISE * (max(key.values()) - min(key.values()) + 1.0)
            scale = spread * random.uniform(0.1, 1.0)
            shaken = {j: end + scale * random.standard_normal() for j, end in key.items()}
            factor = random.choice(GUIDES) * random.uniform(0.5, 1.2)
        listed = dispatch(instance, sorted(jobs, key=lambda j: (shaken[j], j)), factor * price)
        tried, failed = tried + 1, failed + 1
        before = found.upper
        if listed is not None:
            found.offer_runs(listed)
        if found.upper != before and listed is not None:
            failed = 0
            if tried > len(GUIDES):  # shake the better list from now on
                key |= {run.job: float(run.end) for run in listed}
    return tried


def _intervals(instance: ElasticInstance, call: Call, found: Found, clock: Clock) -> None:
    call.progress.phase("CP-SAT on intervals")
    reply = run_child(
        "schedgap.models.elastic.exact:interval_child",
        instance,
        found.schedule,
        found.lower,
        limit=_seconds(clock),
        on_message=found.hear,
        engine="cp-sat",
        seconds=_seconds(clock),
        seed=call.seed,
        threads=call.threads,
    )
    if value := found.take(reply, "cp-sat"):
        found.trace["cp-sat"] = value


def _enumerate(
    instance: ElasticInstance, call: Call, found: Found, prices: Prices, engine: str
) -> None:
    call.progress.phase("enumerating runs")
    clock = call.clock
    reply = run_child(
        "schedgap.models.elastic.exact:enumerate_child",
        instance,
        prices,
        found.upper,
        limit=_seconds(clock),
        on_message=found.hear,
        engine=engine,
        seconds=_seconds(clock),
        seed=call.seed,
        threads=call.threads,
        with_engine=engine,
    )
    if value := found.take(reply, "price-and-enumerate"):
        found.trace["price-and-enumerate"] = value


def _seconds(clock: Clock) -> float | None:
    return None if clock.limit is None else clock.remaining()


# --- in the children -------------------------------------------------------------------------


def price_child(
    send: Send,
    instance: ElasticInstance,
    schedule: ElasticSchedule | None,
    *,
    seconds: float | None,
    seed: int,
    threads: int,
) -> dict[str, Any]:
    """Solve the relaxation over pools of servers."""
    clock = Clock(seconds)
    lp = schedule_lp.solve_lp(
        instance,
        schedule,
        pooled=True,
        clock=clock,
        seed=seed,
        threads=threads,
        on_bound=lambda bound: send(("bound", bound)),
    )
    trace: dict[str, Any] = {"bound": lp.bound, "seconds": round(clock.elapsed(), 3)}
    if lp.result is not None:
        trace |= {
            "master": lp.result.objective,
            "rounds": lp.result.rounds,
            "columns": len(lp.result.tags),
        }
    return {"prices": lp.prices, "runs": lp.runs, "infeasible": lp.infeasible, "trace": trace}


def coarse_child(
    send: Send, instance: ElasticInstance, *, seconds: float | None, seed: int, threads: int
) -> dict[str, Any]:
    """Solve the relaxation on one pool of servers."""
    lp = pooled.solve_coarse(
        instance,
        block=COARSE_BLOCK,
        clock=Clock(seconds),
        seed=seed,
        threads=threads,
        on_bound=lambda bound: send(("bound", bound)),
    )
    return {"bound": lp.bound, "rounds": lp.rounds, "columns": lp.columns}


def interval_child(
    send: Send,
    instance: ElasticInstance,
    schedule: ElasticSchedule | None,
    lower: float,
    *,
    seconds: float | None,
    seed: int,
    threads: int,
) -> dict[str, Any]:
    """Search with CP-SAT over intervals, from a schedule and a bound."""
    clock, step = Clock(seconds), value_step(instance)
    assert step is not None
    value = None if schedule is None else schedule.value(instance)
    span = windows(instance, value)
    signed = None if value is None else (-value if instance.is_batch else value)
    model = program_cp_sat.build(
        instance,
        span=span,
        least=math.ceil(lower / step - 1e-6) if math.isfinite(lower) else None,
        most=None if signed is None else round(signed / step),
    )

    def better(objective: float, values: Any) -> None:
        send(("runs", runs_from(instance, program_cp_sat.read(model, values, instance))))

    result = solve(
        model,
        "cp-sat",
        clock=clock,
        seed=seed,
        threads=threads,
        grid=1,
        start=None if schedule is None else program_cp_sat.start_from(model, instance, schedule),
        on_incumbent=better,
        on_bound=lambda bound: send(("bound", bound * step)),
    )
    if result.values is not None:
        better(0.0, result.values)
    if result.bound is not None:
        send(("bound", result.bound * step))
    return {
        "complete": result.status == "optimal",
        "infeasible": result.status == "infeasible",
        "seconds": round(clock.elapsed(), 3),
    }


def enumerate_child(
    send: Send,
    instance: ElasticInstance,
    prices: Prices,
    upper: float | None,
    *,
    seconds: float | None,
    seed: int,
    threads: int,
    with_engine: str,
) -> dict[str, Any]:
    """Enumerate the runs between the bound of the prices and a known schedule, and pack them."""
    clock = Clock(seconds)
    result = price_and_enumerate(
        instance,
        prices,
        upper,
        engine=with_engine,
        clock=clock,
        seed=seed,
        threads=threads,
        on_schedule=lambda runs: send(("runs", runs)),
        on_bound=lambda bound: send(("bound", bound)),
    )
    if result.runs is not None:
        send(("runs", result.runs))
    send(("bound", result.lower))
    return {
        "complete": result.complete,
        "infeasible": result.infeasible,
        "gap": result.gap,
        "columns": result.columns,
        "note": result.note,
        "seconds": round(clock.elapsed(), 3),
    }
