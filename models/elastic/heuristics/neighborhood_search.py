"""Search by lists in other orders, then by large neighborhoods with annealing.

First all jobs are listed anew in other orders; then a few jobs at a time are taken out and put back
in another order. A job comes back where weight x (completion) and a part of a relaxation's prices
are least: without prices it would take all that is free, and leave the next one nothing.
"""

import math
from collections.abc import Callable, Sequence
from itertools import product

import numpy as np

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.heuristics.list_schedules import (
    LpGuide,
    Stop,
    list_schedule,
    wspt_order,
)
from schedgap.models.elastic.heuristics.partial_schedule import PartialSchedule
from schedgap.models.elastic.placement import Floats
from schedgap.models.elastic.programs.columns import ElasticRun
from schedgap.models.elastic.time_windows import earliest

FACTORS = 0.2, 0.2, 0.5, 0.8, 1.0  # of the prices; one is drawn for each move
LIST_FACTORS = 0.3, 0.45, 0.6, 0.8, 1.0  # and for each list
POINTS = 0.0, 0.25, 0.5, 1.0  # of a job's time, from start to end, by which lists are ordered
BLURS = 0.0, 3.0, 10.0, 30.0  # slots by which these points are moved, in the mean square
SAME = 0.6  # of the lists are about the best one before, the others about the relaxation
MAX_REMOVED = 10  # jobs that a move takes out
HOT, COLD = 0.2, 2e-3  # of a mean job's part of the value: what a move may lose, first and last
BLUR = 10.0  # slots: spread of the times by which jobs are called near


def relist(
    instance: ElasticInstance,
    given: LpGuide,
    runs: Sequence[ElasticRun],
    *,
    rounds: int,
    patience: int,
    enough: float = -math.inf,
    seed: int = 0,
    stop: Stop = lambda: False,
    on_better: Callable[[list[ElasticRun], float], None] = lambda runs, value: None,
) -> list[ElasticRun]:
    """Return the best of `runs` and of lists of all jobs in orders about good ones.

    An order is by a point of each job's time in the relaxation, and each list has its own part of
    the prices: first all of these pairs, then some drawn, and the points moved a little, or taken
    from the best list so far. Parameters are those of `search`.
    """
    random = np.random.default_rng(seed)
    weight = np.array([job.weight for job in instance.jobs])
    best, found, last = _value(weight, runs), list(runs), 0
    known, plain = given, list(product(POINTS, LIST_FACTORS))
    for number in range(rounds):
        if number - last > patience or best <= enough * (1 + 1e-9) or stop():
            break
        source, blur = given, 0.0
        if number < len(plain):
            late, factor = plain[number]
        else:
            late, blur, factor = (random.choice(each) for each in (POINTS, BLURS, LIST_FACTORS))
            source = known if random.random() < SAME else given
        time = (1 - late) * source.start + late * source.end
        order = np.argsort(time + blur * random.standard_normal(len(time)), kind="stable")
        listing = list_schedule(instance, order.tolist(), given.price, float(factor), stop)
        if listing is not None and (value := _value(weight, listing)) < best * (1 - 1e-12):
            best, found, last = value, listing, number
            place = sorted(listing)
            spans = np.array([(run.start, run.end) for run in place], dtype=float)
            known = LpGuide(given.price, *spans.T)
            on_better(found, best)
    return found


def _value(weight: Floats, runs: Sequence[ElasticRun]) -> float:
    return math.fsum(weight[run.job] * run.end for run in runs)


def search(
    instance: ElasticInstance,
    given: LpGuide,
    runs: Sequence[ElasticRun],
    *,
    moves: int,
    patience: int | None = None,
    enough: float = -math.inf,
    seed: int = 0,
    stop: Stop = lambda: False,
    spent: Callable[[], float] = lambda: 0.0,
    on_better: Callable[[list[ElasticRun], float], None] = lambda runs, value: None,
) -> list[ElasticRun]:
    """Return the best schedule met, never worse than `runs`.

    Parameters
    ----------
    runs : sequence of Run
        All jobs, in a feasible schedule.
    moves : int
        After so many it ends. The same seed and number of moves give the same schedule, unless it
        is stopped.
    patience : int or None
        After so many without a better schedule it ends, too.
    enough : float
        Once the value is no more than this, as well: a bound, say.
    spent : callable
        Share in [0, 1] of the time that is gone: where there is a limit, it cools in time.
    """
    random = np.random.default_rng(seed)
    jobs = len(instance.jobs)
    weight = np.array([job.weight for job in instance.jobs])
    first = earliest(instance)
    assert first is not None
    alone = np.array(first)  # start + duration of each job by itself
    by_weight = np.lexsort((np.arange(jobs), -weight)).tolist()
    orders = (by_weight, wspt_order(instance), given.order())
    places = [{j: place for place, j in enumerate(order)} for order in orders]
    board = PartialSchedule(instance, _slots(instance, runs), given.price, runs)
    value = best = board.value()
    found, last = list(runs), 0
    for move in range(moves):
        late = patience is not None and move - last > patience
        if late or best <= enough * (1 + 1e-9) or stop():
            break
        heat = HOT * (COLD / HOT) ** max(move / moves, spent())
        limit = value - heat * value / jobs * math.log(1.0 - random.random())
        out = _near(board, random)
        before = [board.remove(j) for j in out]
        kind = int(random.integers(len(places) + 1))
        if kind < len(places):
            rank = places[kind]
            again = sorted(out, key=lambda j: rank[j])
        else:
            again = random.permutation(out).tolist()
        factor = FACTORS[int(random.integers(len(FACTORS)))]
        # What all of them may lose together, beside each by itself as early as can be.
        spare = limit - board.value() - float(weight[out] @ alone[out])
        for j in again:
            latest = int(min(alone[j] + spare / weight[j] + 1e-9, board.slots + 1))
            if spare < 0 or not board.insert(j, factor, latest):
                for k in again:
                    if k in board.runs:
                        board.remove(k)
                for run in before:
                    board.put(run)
                break
            spare -= weight[j] * (board.runs[j].end - alone[j])
        else:
            value = board.value()
            if value < best * (1 - 1e-12):
                best, found, last = value, list(board.runs.values()), move
                on_better(found, best)
    return found


def _slots(instance: ElasticInstance, runs: Sequence[ElasticRun]) -> int:
    if instance.last_end is not None:
        return instance.last_end - 1
    return max(run.end for run in runs) - 1


def _near(board: PartialSchedule, random: np.random.Generator) -> list[int]:
    """Return jobs that run at about the time of one of them, or start at about its end."""
    jobs = len(board.runs)
    count = min(jobs, int(random.integers(2, MAX_REMOVED + 1)))
    one = int(random.integers(jobs))
    start = np.array([board.runs[j].start for j in range(jobs)])
    end = np.array([board.runs[j].end for j in range(jobs)])
    kind = int(random.integers(3))
    if kind == 0:
        far = np.abs(start + end - start[one] - end[one]) / 2
    elif kind == 1:
        far = np.abs(start - end[one]).astype(float)
    else:
        far = np.maximum(start, start[one]) - np.minimum(end, end[one]).astype(float)
    far = far + BLUR * random.random(jobs)
    far[one] = -np.inf
    chosen: list[int] = np.argsort(far, kind="stable")[:count].tolist()
    return chosen
