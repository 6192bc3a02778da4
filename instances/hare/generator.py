"""The presets of family `hare`: worked examples, small random instances, the paper's workloads.

Order of draws (PCG64, uniform integers and permutations only). `small`, `medium`: rounds and tasks
per round of all jobs, repeated until the number of tasks fits; then times on the fast kind, times
on the slow kind, synchronization times, arrivals, weights. `paper`, `testbed`: each property of the
jobs from a stream of its own (`drafts.STREAMS`), so that one setting changes one thing and fewer
jobs are the first of more. For files, see `from_traces`.
"""

import math

from schedgap.errors import UsageError
from schedgap.instances.generate import (
    TRACE_OPTIONS,
    Generated,
    Generator,
    Preset,
    Request,
    apportion,
    example,
    uniform,
    with_defaults,
)
from schedgap.instances.hare import examples
from schedgap.instances.hare.drafts import (
    Draft,
    arrivals,
    cluster,
    draw_jobs,
    instance_of,
    table_speed,
)
from schedgap.instances.hare.from_traces import check_files, from_traces
from schedgap.instances.hare.workload import CLASSES, KINDS, SCHEMES
from schedgap.instances.loads import LOAD
from schedgap.instances.settings import Option
from schedgap.instances.traces.choice import TAKE

FILES = ("jobs", "machines", "rates")
TRIES = 10_000  # draws of rounds and tasks before the range of tasks counts as impossible
MIXES = {  # shares of the kinds
    "low": {"V100": 1},
    "middle": {"K80": 1, "V100": 1},
    "high": dict.fromkeys(KINDS, 1),
    "testbed": {"K80": 1, "M60": 2, "T4": 4, "V100": 8},
}
ROUNDS = {"CV": (20, 40), "NLP": (30, 60), "Speech": (20, 40), "Rec": (10, 20)}


def small(request: Request) -> Generated:
    """Return jobs with integer times on a fast and a slow kind of GPUs.

    The time of a job on the fast kind is uniform over the lower part of `times`; on the slow kind
    it is uniform between that and `speed_ratio` times it. Hence the machines are unrelated.
    """
    value, random, jobs = request.values, request.random, request.values["jobs"]
    rounds, tasks = _shape(request)
    low, high = value["times"]
    ratio = value["speed_ratio"]
    fast = uniform(random, (low, max(low, high // ratio)), jobs)
    slow = [uniform(random, (t, min(high, t * ratio)), 1)[0] for t in fast]
    sync = uniform(random, value["synchronization"], jobs)
    arrival = arrivals(random, value["arrival_span"], jobs)
    weight = uniform(random, value["weights"], jobs)
    halves = zip(("fast", "slow"), apportion(value["gpus"], (1, 1)), strict=True)
    kinds = {kind: count for kind, count in halves if count}
    times = {"fast": fast, "slow": slow}
    drafts = [
        Draft(
            id=f"J{n + 1}",
            arrival=int(arrival[n] * request.pace),
            weight=weight[n],
            rounds=rounds[n],
            tasks=tasks[n],
            training={kind: times[kind][n] for kind in kinds},
            sync=dict.fromkeys(kinds, min(sync[n], fast[n])),
        )
        for n in range(jobs)
    ]
    fields = {**cluster(kinds), "jobs": [draft.to_data() for draft in drafts]}
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
    shares = MIXES[mix] if isinstance(mix, str) else mix
    check_files(request)
    if request.jobs or request.machines or request.rates:
        return from_traces(request, shares)
    unknown = [kind for kind in shares if kind not in KINDS]
    if unknown:
        raise UsageError(
            f"option mix: no speeds for kind '{unknown[0]}': choose among {', '.join(KINDS)}"
        )
    counts = apportion(request.values["gpus"], list(shares.values()))
    kinds = {kind: count for kind, count in zip(shares, counts, strict=True) if count}
    source = (
        f"drawn with seed {request.seed}: models and batch sizes of Table 2, times on V100 from"
        " Table 3; other speeds, model sizes, rounds and arrivals of our choice"
    )
    drafts = draw_jobs(request, kinds, table_speed)
    return Generated(*instance_of(request, kinds, drafts, source))


# --- presets -----------------------------------------------------------------------------------


SMALL = (
    Option("jobs", "int", 6, "number of jobs", least=1, most=100_000),
    Option("gpus", "int", 4, "number of GPUs, half of them fast", least=1, most=1000),
    Option("rounds", "range", (1, 3), "rounds of a job", least=1),
    Option("tasks_per_round", "range", (1, 2), "tasks of each round of a job", least=1),
    Option("tasks", "range", (12, 20), "total number of tasks; drawn again until it fits", least=1),
    Option("times", "range", (1, 10), "training times", least=1),
    Option(
        "speed_ratio",
        "int",
        2,
        "largest factor by which the slow kind is slower",
        least=1,
        most=1000,
    ),
    Option(
        "synchronization",
        "range",
        (0, 2),
        "synchronization times, at most the training times",
        least=0,
    ),
    Option("arrival_span", "int", 10, "latest arrival", least=0),
    Option("weights", "range", (1, 5), "weights of jobs", least=0),
    LOAD,
)
PAPER = (
    Option("jobs", "int", 200, "number of jobs", least=1, most=100_000),
    Option("gpus", "int", 160, "number of GPUs", least=1, most=100_000),
    Option(
        "mix", "shares", "high", "kinds of GPUs and their shares (Fig. 16)", tuple(MIXES), least=0
    ),
    Option(
        "shares",
        "shares",
        None,
        "shares of CV, NLP, Speech, Rec; the others are equal (Fig. 17)",
        least=0,
    ),
    *(
        Option(f"rounds_{name.lower()}", "range", ROUNDS[name], f"rounds of {name} jobs", least=1)
        for name in CLASSES
    ),
    Option("tasks_per_round", "list", (1, 2, 4, 8), "tasks per round, drawn from these", least=1),
    Option("batches_per_task", "int", 20, "mini-batches per task", least=1),
    Option(
        "batch_factor",
        "float",
        1.0,
        "batch size relative to Table 2; larger batches, fewer rounds (Fig. 19)",
        least=1e-3,
    ),
    Option("bandwidth", "float", 25.0, "Gbit/s to the parameter server (Fig. 18)", least=1e-3),
    Option(
        "exchanges",
        "int",
        None,
        "exchanges of the model in the synchronization of a task; by default batches_per_task",
        least=1,
    ),
    Option("sync_cap", "bool", True, "limit T^s to the shortest T^c, as Section 5.1 assumes"),
    Option("arrival_span", "float", 600.0, "latest arrival, in seconds", least=0),
    Option("weights", "range", (1, 5), "weights of jobs", least=0),
    Option("switching", "bool", False, "add the switching times of Table 3"),
    Option(
        "completed_by",
        "list",
        None,
        "times in the unit of the instance; metrics show the share of jobs complete by then",
        least=1,
    ),
    *TRACE_OPTIONS,
    TAKE,
    Option(
        "max_rounds",
        "int",
        20,
        "largest number of rounds of a job from a file",
        least=1,
        most=10**6,
    ),
    Option("steps_per_round", "int", None, "steps per round, as far as max_rounds allows", least=1),
    Option(
        "placement",
        "choice",
        "spread",
        "use rates measured with workers on many servers, or on one",
        ("spread", "packed"),
    ),
)


GENERATOR = Generator(
    (
        example("toy", examples.toy),
        Preset("small", "6 jobs on 4 GPUs, 12-20 tasks: solved in seconds", small, SMALL),
        Preset(
            "medium",
            "12 jobs on 8 GPUs, 60-80 tasks: bounds within a few per cent",
            small,
            with_defaults(
                SMALL,
                jobs=12,
                gpus=8,
                rounds=(1, 4),
                tasks_per_round=(1, 3),
                tasks=(60, 80),
                arrival_span=20,
            ),
        ),
        Preset(
            "testbed",
            "40 jobs on the 15 GPUs of Section 7.2",
            paper,
            with_defaults(PAPER, jobs=40, gpus=15, mix="testbed"),
            files=FILES,
        ),
        Preset(
            "paper",
            "200 jobs on 160 GPUs, about 23,000 tasks (Section 7.3)",
            paper,
            PAPER,
            files=FILES,
        ),
        example("fig4", examples.fig4),
        example(
            "fig5",
            examples.fig5,
            Option("mix", "shares", {"K80": 2, "V100": 2}, "GPUs of each kind", least=0),
        ),
        example(
            "fig7",
            examples.fig7,
            Option("row", "choice", "default", "row of Table 3 that implies the times", SCHEMES),
        ),
        example("fig10", examples.fig10),
        example("ce1", examples.ce1),
        example("ce2", examples.ce2, Option("lights", "int", 10, "light jobs", least=1)),
        example("ce3", examples.ce3),
        example("ce4", examples.ce4),
    ),
    default="small",
    default_with_files="paper",
)
