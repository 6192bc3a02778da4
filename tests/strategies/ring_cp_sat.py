"""Results of CP-SAT for many `ring` instances, in one child process without HiGHS."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from schedgap.instances.ring import RingInstance
from schedgap.models.ring.heuristics.initial import starting_schedule
from schedgap.models.ring.methods import METHODS
from schedgap.models.ring.programs import intervals
from schedgap.models.ring.rates import no_schedule
from schedgap.models.ring.simulator import schedule_of
from schedgap.solvers import Clock, solve
from strategies.ring_methods import run

BY_NAME = {method.name: method for method in METHODS}


class Answer(NamedTuple):
    """Optima of relaxations and of the whole program in three forms; None: infeasible."""

    free: float | None
    pairs: float | None
    plain: float | None
    cut: float | None
    sets: float | None


def answers(send: Callable[[Any], None], instances: Sequence[RingInstance]) -> list[Answer]:
    """Return the optima of each instance."""
    return [
        Answer(
            optimum_of(instance, "free"),
            optimum_of(instance, "pairs"),
            _optimum(instance, pair_cuts=False),
            _optimum(instance, pair_cuts=True),
            optimum_of(instance, "sets"),
        )
        for instance in instances
    ]


def _optimum(instance: RingInstance, *, pair_cuts: bool) -> float | None:
    outcome = run(BY_NAME["rar-ddls-cp"], instance, pair_cuts=pair_cuts)
    if outcome.infeasible:
        return None
    assert outcome.bound == outcome.schedule.makespan
    return outcome.bound


def optimum_of(instance: RingInstance, detail: intervals.Detail) -> float | None:
    """Return the optimum of an interval program; for the whole one, the value of its schedule."""
    if no_schedule(instance):
        return None
    known = starting_schedule(instance)
    horizon = instance.horizon if known is None else known.makespan
    program = intervals.build(instance, horizon=horizon, detail=detail, lower=1)
    if program is None:
        return None
    result = solve(program.model, "cp-sat", clock=Clock())
    if result.status == "infeasible":
        return None
    if detail == "sets":
        schedule = schedule_of(instance, *program.plan(result.values))
        assert schedule is not None and schedule.makespan == result.objective == result.bound
    return result.objective


def ends_by(
    send: Callable[[Any], None], instance: RingInstance, horizon: int, **program: Any
) -> bool | None:
    """Return whether some plan of the program ends by the horizon; None where there is none."""
    made = intervals.build(instance, horizon=horizon, **program)
    if made is None:
        return None
    return solve(made.model, "cp-sat", clock=Clock()).values is not None
