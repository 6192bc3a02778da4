"""CP-SAT's answers to many `ring` instances, for one child process: HiGHS cannot share it."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from schedgap.instances.ring import RingInstance
from schedgap.models.ring import program_cp_sat
from schedgap.models.ring.run_exact import METHODS
from strategies.ring_methods import run

BY_NAME = {method.name: method for method in METHODS}


class Answer(NamedTuple):
    """Bounds, and optima without and with the cuts; None for infeasible."""

    free: float | None
    pairs: float | None
    plain: float | None
    cut: float | None


def answers(send: Callable[[Any], None], instances: Sequence[RingInstance]) -> list[Answer]:
    """Return what the methods say of each instance."""
    return [
        Answer(
            _bound("contention-free", instance),
            _bound("pair-contention", instance),
            _optimum(instance, pair_cuts=False),
            _optimum(instance, pair_cuts=True),
        )
        for instance in instances
    ]


def _bound(name: str, instance: RingInstance) -> float | None:
    outcome = run(BY_NAME[name], instance)
    assert outcome.schedule is None
    return None if outcome.infeasible else outcome.bound


def _optimum(instance: RingInstance, *, pair_cuts: bool) -> float | None:
    outcome = run(BY_NAME["rar-ddls-cp"], instance, pair_cuts=pair_cuts)
    if outcome.infeasible:
        return None
    assert outcome.bound == outcome.schedule.makespan
    return outcome.bound


def is_built(send: Callable[[Any], None], instance: RingInstance, horizon: int) -> bool:
    """Return whether there is a program at all with this horizon."""
    return program_cp_sat.build(instance, horizon=horizon, detail="free") is not None
