"""`exact` (ours): local search for a schedule, then two complete searches of different kinds.

CP-SAT settles small instances; branch and price, whose bounds are sums of exact numbers and trust
no engine, the others. Each runs in a child process, for HiGHS and CP-SAT cannot share one.
"""

import math
from collections.abc import Callable
from typing import Any

from schedgap.errors import ContradictionError
from schedgap.instances.hare import HareInstance, HareSchedule, arrays
from schedgap.models.hare import program_cp_sat
from schedgap.models.hare.decode import to_steps, value_of
from schedgap.models.hare.search import local_search
from schedgap.models.hare.starting import starting_schedule
from schedgap.models.hare.tree import MOST_CELLS, Tree, cells
from schedgap.models.hare.windows import Synchronization, steps
from schedgap.models.method import Call, Outcome
from schedgap.solvers import Clock, solve
from schedgap.solvers.children import Reply, run_child

Send = Callable[[Any], None]

MOVES = 150  # of the local search, for each task
SEARCH_SHARE, SEARCH_SECONDS = 0.08, 4.0
CP_SAT_SHARE, CP_SAT_SECONDS = 0.3, 4.0  # a cold start of its process included
LAGRANGIAN_SHARE, LAGRANGIAN_SECONDS = 0.3, 60.0
MANY_CELLS = 2_000_000
MOST_TASKS = 5000  # larger ones are for the bounds and algorithms that scale


class Found:
    """The best schedule and bound so far, in grid steps; improvements are passed on."""

    def __init__(self, instance: HareInstance, call: Call, synchronization: Synchronization):
        self._instance, self._call, self._synchronization = instance, call, synchronization
        self.whole = steps(instance)
        self.schedule: HareSchedule | None = None
        self.upper: int | None = None
        self.lower = self.whole.least
        self.proofs: list[str] = []
        self.trace: dict[str, Any] = {"step": str(self.whole.step)}
        call.progress.bound(self.whole.real(self.lower))

    def offer(self, schedule: HareSchedule) -> None:
        """Keep a schedule if it is better."""
        begin = to_steps(self._instance, schedule, self._synchronization)
        value = value_of(self._instance, begin, schedule.gpu)
        if self.upper is None or value < self.upper:
            self.upper, self.schedule = value, schedule
            self._call.progress.incumbent(schedule, schedule.value(self._instance))

    def raise_lower(self, lower: int) -> None:
        """Keep a bound if it is better."""
        if lower > self.lower:
            self.lower = lower
            self._call.progress.bound(self.whole.real(lower))

    def hear(self, message: tuple[str, Any]) -> None:
        """Take what a child sends."""
        kind, content = message
        if kind == "schedule":
            self.offer(content)
        else:
            self.raise_lower(content)

    def judge(self, reply: Reply, name: str) -> bool:
        """Take what a child returns; True when it completed its search."""
        if reply.outcome == "error" and isinstance(reply.error, Exception):
            raise reply.error
        if reply.outcome != "done":
            self.trace[name] = f"{reply.outcome}: {str(reply.error)[-200:]}"
            return False
        if reply.value.pop("complete"):
            self.proofs.append(name)
        self.trace[name] = reply.value
        if self.upper is not None and self.lower > self.upper:
            raise ContradictionError(
                f"{name} proves {self.lower} grid steps, above a schedule of {self.upper}"
            )
        return name in self.proofs

    @property
    def closed(self) -> bool:
        """Whether the bounds meet."""
        return self.upper is not None and self.lower >= self.upper

    def outcome(self, note: str = "") -> Outcome:
        """Return the best of everything."""
        if self.closed:
            self.trace["proof"] = self.proofs or ["critical paths"]
        return Outcome(
            schedule=self.schedule, bound=self.whole.real(self.lower), note=note, trace=self.trace
        )


def hybrid(instance: HareInstance, call: Call) -> Outcome:
    """Run `exact`."""
    synchronization: Synchronization = call.options["synchronization"]
    found = Found(instance, call, synchronization)
    found.offer(starting_schedule(instance, synchronization))
    if arrays(instance).tasks > MOST_TASKS:
        _lagrangian(instance, call, found, call.clock)
        return found.outcome(f"too large for an exact search: over {MOST_TASKS} tasks")
    if synchronization == "fixed":
        return _fixed(instance, call, found)
    _search(instance, call, found, call.clock.share(SEARCH_SHARE, most=SEARCH_SECONDS), MOVES)
    if found.closed:
        return found.outcome()
    clock = call.clock.share(CP_SAT_SHARE, most=CP_SAT_SECONDS)
    if _cp_sat(instance, call, found, clock, synchronization):
        # A second proof, of another kind, where it costs little.
        clock = call.clock.share(0.5, most=2.0 + clock.elapsed())
        _tree(instance, call, found, clock)
        return found.outcome()
    if cells(instance, found.upper or 0) > MANY_CELLS:  # the tree's own first bound takes long
        _lagrangian(
            instance, call, found, call.clock.share(LAGRANGIAN_SHARE, most=LAGRANGIAN_SECONDS)
        )
    if _tree(instance, call, found, call.clock) is None:
        _search(instance, call, found, call.clock.share(0.5), 10 * MOVES)
        _cp_sat(instance, call, found, call.clock, synchronization)
    return found.outcome()


def _search(instance: HareInstance, call: Call, found: Found, clock: Clock, moves: int) -> None:
    """Run the local search with so many moves for each task."""
    call.progress.phase("local search")
    found.offer(
        local_search(
            instance,
            clock=clock,
            seed=call.seed,
            moves=moves * arrays(instance).tasks,
            on_improvement=lambda schedule, value: found.offer(schedule),
        )
    )


def _fixed(instance: HareInstance, call: Call, found: Found) -> Outcome:
    """Solve the scale-fixed variant: CP-SAT, helped by a bound of the relaxed problem."""
    if _cp_sat(instance, call, found, call.clock.share(0.3, most=10.0), "fixed"):
        return found.outcome()
    relaxed = Found(instance, call, "relaxed")
    relaxed.offer = lambda schedule: None  # type: ignore[method-assign]  # not of this variant
    relaxed.schedule = starting_schedule(instance)
    _tree(instance, call, relaxed, call.clock.share(0.3, most=20.0))
    found.raise_lower(relaxed.lower)
    _cp_sat(instance, call, found, call.clock, "fixed")
    return found.outcome()


def _cp_sat(
    instance: HareInstance,
    call: Call,
    found: Found,
    clock: Clock,
    synchronization: Synchronization,
) -> bool:
    call.progress.phase("CP-SAT")
    reply = run_child(
        "schedgap.models.hare.hybrid:cp_sat_child",
        instance,
        found.schedule,
        found.lower,
        synchronization,
        limit=_seconds(clock),
        on_message=found.hear,
        engine="cp-sat",
        clock=clock,
        seed=call.seed,
        threads=call.threads,
    )
    return found.judge(reply, "cp-sat")


def _tree(instance: HareInstance, call: Call, found: Found, clock: Clock) -> bool | None:
    """Run branch and price; None when its tables would not fit."""
    call.progress.phase("branch and price")
    reply = run_child(
        "schedgap.models.hare.hybrid:tree_child",
        instance,
        found.schedule,
        limit=_seconds(clock),
        on_message=found.hear,
        engine="highs",
        clock=clock,
        seed=call.seed,
    )
    complete = found.judge(reply, "branch-and-price")
    return None if reply.outcome == "done" and "too_large" in reply.value else complete


def _lagrangian(instance: HareInstance, call: Call, found: Found, clock: Clock) -> None:
    call.progress.phase("pricing GPU time")
    reply = run_child(
        "schedgap.models.hare.hybrid:lagrangian_child",
        instance,
        limit=_seconds(clock),
        on_message=found.hear,
        engine="highs",
        clock=clock,
    )
    found.judge(reply, "lagrangian")


def _seconds(clock: Clock) -> float | None:
    return None if clock.limit is None else clock.remaining()


# --- in the children, by the clock of the caller: the monotonic time of one machine is one ------


def cp_sat_child(
    send: Send,
    instance: HareInstance,
    schedule: HareSchedule,
    lower: int,
    synchronization: Synchronization,
    *,
    clock: Clock,
    seed: int,
    threads: int,
) -> dict[str, Any]:
    """Search with CP-SAT from a schedule and a bound in grid steps."""
    begin = to_steps(instance, schedule, synchronization)
    upper = value_of(instance, begin, schedule.gpu)
    model = program_cp_sat.build(
        instance, synchronization=synchronization, upper=upper, lower=lower
    )
    result = solve(
        model,
        "cp-sat",
        clock=clock,
        threads=threads,
        seed=seed,
        grid=1,
        start=program_cp_sat.start_from(instance, schedule, synchronization=synchronization),
        on_incumbent=lambda value, values: send(
            ("schedule", program_cp_sat.read(values, instance))
        ),
        on_bound=lambda bound: send(("bound", round(bound))),
    )
    if result.values is not None:
        send(("schedule", program_cp_sat.read(result.values, instance)))
    if result.bound is not None:
        send(("bound", round(result.bound)))
    return {"complete": result.status == "optimal", "seconds": round(result.seconds, 3)}


def tree_child(
    send: Send,
    instance: HareInstance,
    schedule: HareSchedule,
    *,
    clock: Clock,
    seed: int,
) -> dict[str, Any]:
    """Run branch and price from a schedule."""
    upper = value_of(instance, to_steps(instance, schedule), schedule.gpu)
    if cells(instance, upper) > MOST_CELLS:
        return {"complete": False, "too_large": True}
    tree = Tree(
        instance,
        schedule,
        clock=clock,
        seed=seed,
        on_incumbent=lambda schedule: send(("schedule", schedule)),
        on_bound=lambda lower: send(("bound", lower)),
    )
    result = tree.run()
    return {
        "complete": result.lower >= result.upper,
        "root_bound": steps(instance).real(result.root),
        "nodes": result.nodes,
        "columns": result.columns,
        "seconds": round(clock.elapsed(), 3),  # from the call on
    }


def lagrangian_child(send: Send, instance: HareInstance, *, clock: Clock) -> dict[str, Any]:
    """Find the bound that scales; what is proved on the way is sent at once."""
    from schedgap.models.hare.run_bounds import METHODS

    [method] = [method for method in METHODS if method.name == "lagrangian"]
    progress = _Bounds(send, float(steps(instance).grid))
    outcome = method.run(instance, Call(method.parse({}), "highs", clock, 0, progress))
    if outcome.bound is not None:
        progress.bound(outcome.bound)
    return {"complete": False, "bound": outcome.bound}


class _Bounds:
    """Progress of a method of which only the bounds are passed on, in whole grid steps."""

    def __init__(self, send: Send, grid: float) -> None:
        self._send, self._grid = send, grid

    def incumbent(self, schedule: Any, objective: float) -> None:
        """Say nothing."""

    def bound(self, value: float) -> None:
        """Pass a bound on, rounded up to the grid with room for round-off."""
        self._send(("bound", math.ceil(value / self._grid * (1 - 1e-9) - 1e-6)))

    def phase(self, text: str) -> None:
        """Say nothing."""
