"""Search over whole schedules: take a few jobs out, put them back in another order, anneal.

A job comes back where weight x (completion) and a part of a relaxation's prices are least: without
prices it would take all that is free, and leave the next one nothing.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.board import Board
from schedgap.models.elastic.columns import Run
from schedgap.models.elastic.lists import Guide, Stop, wspt_order
from schedgap.models.elastic.windows import earliest

FACTORS = 0.2, 0.2, 0.5, 0.8, 1.0  # of the prices; one is drawn for each move
MOST_OUT = 10  # jobs that a move takes out
HOT, COLD = 2e-3, 2e-5  # of the value: what a move may lose at first and at last, in the mean
BLUR = 10.0  # slots: spread of the times by which jobs are called near


def search(
    instance: ElasticInstance,
    given: Guide,
    runs: Sequence[Run],
    *,
    moves: int,
    seed: int = 0,
    stop: Stop = lambda: False,
    spent: Callable[[], float] = lambda: 0.0,
    on_better: Callable[[list[Run], float], None] = lambda runs, value: None,
) -> list[Run]:
    """Return the best schedule met, never worse than `runs`.

    Parameters
    ----------
    runs : sequence of Run
        All jobs, in a feasible schedule.
    moves : int
        After so many it ends. The same seed and number of moves give the same schedule, unless it
        is stopped.
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
    orders = (by_weight, wspt_order(instance), list(given.order))
    places = [{j: place for place, j in enumerate(order)} for order in orders]
    board = Board(instance, _slots(instance, runs), given.price, runs)
    value = best = board.value()
    found = list(runs)
    for move in range(moves):
        if stop():
            break
        heat = HOT * (COLD / HOT) ** max(move / moves, spent())
        limit = value - heat * value * math.log(1.0 - random.random())
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
                best, found = value, list(board.runs.values())
                on_better(found, best)
    return found


def _slots(instance: ElasticInstance, runs: Sequence[Run]) -> int:
    if instance.last_end is not None:
        return instance.last_end - 1
    return max(run.end for run in runs) - 1


def _near(board: Board, random: np.random.Generator) -> list[int]:
    """Return jobs that run at about the time of one of them, or start at about its end."""
    jobs = len(board.runs)
    count = min(jobs, int(random.integers(2, MOST_OUT + 1)))
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
