"""A pool of schedules to choose from: runs of the algorithms and baselines (ours)."""

from collections.abc import Callable
from functools import partial

from schedgap.instances.ring import RingInstance, RingSchedule
from schedgap.models.ring.algorithms.packing import lpt_pack
from schedgap.models.ring.algorithms.sjf_bco import search_runs
from schedgap.models.ring.baselines.first_fit import first_fit
from schedgap.models.ring.baselines.list_scheduling import list_scheduling
from schedgap.models.ring.baselines.random_placement import random_placement
from schedgap.models.ring.baselines.within_limit import search_with
from schedgap.models.ring.dispatch import Trial, trial_schedule
from schedgap.models.ring.rates import rate_table

RANDOM_RUNS = 50


def default_pool(
    instance: RingInstance, seed: int = 0, stop: Callable[[], bool] = lambda: False
) -> list[RingSchedule]:
    """Return the feasible runs of SJF-BCO, `lpt-pack` and the baselines, one per vector of ends.

    Parameters
    ----------
    instance : RingInstance
        Not refuted by `no_schedule`.
    stop : callable
        Asked between two runs whether time is up.
    """
    table = rate_table(instance)
    trials = [lpt_pack(table)]
    for search in (
        partial(search_runs, table, stop=stop),
        partial(search_with, table, first_fit, stop=stop),
        partial(search_with, table, list_scheduling, stop=stop),
    ):
        trials += [attempt.trial for attempt in search().attempts]
    for number in range(RANDOM_RUNS):
        if stop():
            break
        trials.append(random_placement(table, seed + number))
    distinct: dict[tuple[int, ...], Trial] = {}
    for trial in trials:
        if trial.feasible:
            distinct.setdefault(trial.ends, trial)
    return [trial_schedule(instance, trial) for trial in distinct.values()]
