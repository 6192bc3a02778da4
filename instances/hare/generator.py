"""Random instances of family `hare`: small ones, and the paper's workloads; see `presets.toml`.

Order of draws (PCG64, uniform integers and permutations only). `small`, `medium`: rounds and tasks
per round of all jobs, repeated until the number of tasks fits; then times on the fast kind, times
on the slow kind, synchronization times, arrivals, weights. `paper`, `testbed`: each property of the
jobs from a separate stream (`workload.STREAMS`), so one setting changes one thing, and fewer jobs
are the first of more. For files, see `from_traces`.
"""

import math

from schedgap.errors import UsageError
from schedgap.instances.generate import Generated, Request, apportion, uniform
from schedgap.instances.hare.from_traces import from_traces
from schedgap.instances.hare.workload import KINDS, cluster, in_units

TRIES = 10_000  # draws of rounds and tasks before the range of tasks counts as impossible
MIXES = {  # shares of the kinds, for setting `mix`
    "low": {"V100": 1},
    "middle": {"K80": 1, "V100": 1},
    "high": dict.fromkeys(KINDS, 1),
    "testbed": {"K80": 1, "M60": 2, "T4": 4, "V100": 8},
}


def small(request: Request) -> Generated:
    """Return jobs with integer times on a fast and a slow kind of GPUs.

    The time of a job on the fast kind is uniform over the lower part of `times`. On the slow kind
    it is uniform between that and `speed_ratio` times it. Hence the machines are unrelated.
    """
    value, random, jobs = request.values, request.random, request.values["jobs"]
    rounds, tasks = _shape(request)
    low, high = value["times"]
    ratio = value["speed_ratio"]
    fast = uniform(random, (low, max(low, high // ratio)), jobs)
    slow = [uniform(random, (t, min(high, t * ratio)), 1)[0] for t in fast]
    sync = uniform(random, value["synchronization"], jobs)
    arrival = sorted(uniform(random, (0, value["arrival_span"]), jobs))
    weight = uniform(random, value["weights"], jobs)
    halves = zip(("fast", "slow"), apportion(value["gpus"], (1, 1)), strict=True)
    kinds = {kind: count for kind, count in halves if count}
    times = {"fast": fast, "slow": slow}
    drafts = [
        {
            "id": f"J{n + 1}",
            "arrival": int(arrival[n] * request.pace),
            "weight": weight[n],
            "rounds": rounds[n],
            "tasks_per_round": tasks[n],
            "training_time": {kind: times[kind][n] for kind in kinds},
            "synchronization_time": dict.fromkeys(kinds, min(sync[n], fast[n])),
        }
        for n in range(jobs)
    ]
    fields = {**cluster(kinds), "jobs": [in_units(draft, None) for draft in drafts]}
    return Generated(
        fields, f"drawn with seed {request.seed}: whole times, two kinds of GPUs", "slot"
    )


def _shape(request: Request) -> tuple[list[int], list[int]]:
    """Draw rounds and tasks per round [n] until the number of tasks is in the range `tasks`.

    The preset's range is ignored if the user has set jobs, rounds or tasks per round.
    """
    value, random = request.values, request.random
    bounded = "tasks" in request.given or not request.given & {"jobs", "rounds", "tasks_per_round"}
    low, high = value["tasks"] if bounded else (0, math.inf)
    for _ in range(TRIES):
        rounds = uniform(random, value["rounds"], value["jobs"])
        tasks = uniform(random, value["tasks_per_round"], value["jobs"])
        if low <= sum(r * k for r, k in zip(rounds, tasks, strict=True)) <= high:
            return rounds, tasks
    raise UsageError(
        f"no instance of {low}-{high} tasks in {TRIES} draws:"
        " change tasks, jobs, rounds or tasks_per_round"
    )


def paper(request: Request) -> Generated:
    """Return the workload of Section 7.1, or one whose jobs, GPUs or rates come from files."""
    mix = request.values["mix"]
    return from_traces(request, MIXES[mix] if isinstance(mix, str) else mix)
