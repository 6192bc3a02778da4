"""The presets of family `ring`: worked examples, small random instances, the paper's workload.

Order of draws (PCG64, uniform integers and permutations only). Presets based on `small`: servers,
then sizes, rates, slots and data of all jobs. Presets based on `paper` have three streams
(`workload.stream`), so that another number of servers leaves the jobs as they are: sizes of the
servers; order of the sizes of the jobs; for each job the time per iteration and the number of
iterations. For files, see `from_traces`.
"""

import math
from collections.abc import Sequence

from schedgap.errors import UsageError
from schedgap.instances.generate import (
    TRACE_OPTIONS,
    Generated,
    Generator,
    Preset,
    Request,
    check_settings,
    example,
    with_defaults,
)
from schedgap.instances.ring import examples, workload
from schedgap.instances.ring.from_traces import (
    MINUTE,
    NEEDED,
    REPLACED,
    servers_of,
    traced_jobs,
)
from schedgap.instances.ring.instance import FINEST_SCALE, MOST_GPUS, MOST_SLOTS
from schedgap.instances.ring.workload import Draft
from schedgap.instances.settings import Option

FILES = ("jobs", "machines")


def small(request: Request) -> Generated:
    """Return jobs of a few slots on a few servers."""
    source = f"drawn with seed {request.seed}: small whole numbers"
    return Generated(workload.small(request), source, "slot")


def paper(request: Request) -> Generated:
    """Return the workload of Section 7, or one whose jobs or servers come from files."""
    check_settings(request, NEEDED, REPLACED)
    sources, horizon, seconds = [], request.values["horizon"], MINUTE
    if request.machines is None:
        servers = workload.drawn_servers(request)
    else:
        servers, sentence = servers_of(request)
        sources.append(sentence)
    gpus = sum(server["gpus"] for server in servers)
    if request.jobs is None:
        drafts = _drawn_jobs(request, gpus)
        if request.values["load"] is not None and "horizon" not in request.given:
            horizon = max(horizon, _enough(drafts, gpus))
    else:
        drafts, sentence, seconds, slots = traced_jobs(request, gpus)
        sources.insert(0, sentence)
        if "horizon" not in request.given:
            horizon = max(horizon, slots)
    sources.append(
        f"{'all else ' if sources else ''}drawn with seed {request.seed}: the ranges of Section 7; "
        "bandwidths, gradients and latency of our choice"
    )
    fields = workload.calibrated(request, servers, drafts, seconds)
    minutes = seconds / MINUTE
    unit = f"slot of {minutes:g} min" if minutes >= 1 else f"slot of {seconds:g} s"
    return Generated({"horizon": horizon, **fields}, "; ".join(sources), unit)


def _drawn_jobs(request: Request, gpus: int) -> list[Draft]:
    drafts, random = [], workload.stream(request, "lengths")
    for n, size in enumerate(workload.drawn_sizes(request), 1):
        length, iterations = workload.drawn_lengths(request.values["extra_share"], random)
        drafts.append(Draft(f"j{n}", size, iterations, length))
    largest = max(draft.gpus for draft in drafts)
    if largest > gpus:
        raise UsageError(
            f"option servers: a job requests {largest} GPUs, but the cluster has {gpus}: "
            "take more servers or another seed"
        )
    return drafts


def _enough(drafts: Sequence[Draft], gpus: int) -> int:
    """Return a number of slots that is sufficient for nearly every list schedule, as for traces."""
    lengths = [draft.iterations * draft.iteration_slots for draft in drafts]
    work = sum(draft.gpus * slots for draft, slots in zip(drafts, lengths, strict=True))
    return math.ceil(4 * (work / gpus + max(lengths)))


# --- presets -----------------------------------------------------------------------------------

COMMON = (
    Option("alpha", "float", 0.5, "alpha of the degradation factor f in (7)", least=0, most=10),
    Option("xi", "float", 1.0, "contention factor xi_1 in (7)", least=1e-3, most=1),
    Option(
        "degradation", "choice", "linear",
        "degradation factor: k + alpha (k - 1), or k^(1 + alpha)", ("linear", "power"),
    ),
    Option(
        "rate_scale", "int", 1, "progress is counted in iterations divided by this", least=1,
        most=FINEST_SCALE,
    ),
)  # fmt: skip
SMALL = (
    Option("jobs", "int", 6, "number of jobs", least=1, most=10_000),
    Option("servers", "int", 3, "number of servers", least=1, most=1000),
    Option("gpus_per_server", "range", (2, 4), "GPUs of a server", least=1, most=1000),
    Option("job_gpus", "range", (1, 6), "GPUs of a job", least=1, most=10_000),
    Option("rates", "range", (10, 20), "iterations per slot inside a server", least=1, most=20),
    Option(
        "slots",
        "range",
        (2, 8),
        "duration of a job inside one server, in slots",
        least=1,
        most=10_000,
    ),
    Option(
        "data", "range", (0, 4), "data that a worker sends, in quarters of a unit", least=0, most=4
    ),
    Option("horizon", "int", 200, "slots", least=1, most=MOST_SLOTS),
    *COMMON,
)
PAPER = (
    Option("jobs", "int", 160, "number of jobs", least=1, most=100_000),
    Option("servers", "int", 20, "number of servers", least=1, most=10_000),
    Option(
        "server_gpus", "list", (4, 8, 16, 32), "GPUs of a server, drawn from these", least=1,
        most=MOST_GPUS,
    ),
    Option(
        "job_gpus", "shares", {"1": 80, "2": 14, "4": 26, "8": 30, "16": 8, "32": 2},
        "GPUs of a job and their shares", least=0,
    ),
    Option("horizon", "int", 1200, "slots", least=1, most=MOST_SLOTS),
    Option(
        "extra_share", "float", 0.15, "share of contention and overhead in the reference state",
        least=0, most=0.999,
    ),
    Option(
        "reference_crowd", "int", 8,
        "rings on a server, and largest number of servers of a ring, in that state",
        least=2, most=10_000,
    ),
    Option("bandwidth_between", "float", 75.0, "GB per minute: 10 Gbit/s", least=1e-3, most=1e9),
    Option("bandwidth_within", "float", 6000.0, "GB per minute: 100 GB/s", least=1e-3, most=1e9),
    Option("compute_speed", "float", 30_000.0, "GB per minute: 500 GB/s", least=1e-3, most=1e9),
    Option("spread_factor", "float", 1.0, "lambda of Algorithm 3", least=1, most=1e6),
    *with_defaults(COMMON, alpha=0.2, xi=0.5),
    *TRACE_OPTIONS,
)  # fmt: skip

GENERATOR = Generator(
    (
        example("toy", examples.toy),
        example("toy-pcmax", examples.toy_pcmax),
        example("toy-mixed", examples.toy_mixed),
        Preset("small", "6 jobs of 1-6 GPUs on 3 servers of 2-4: solved in seconds", small, SMALL),
        Preset(
            "small-forced",
            "6 jobs of 4-5 GPUs on 3 servers of 3: any two concurrent jobs share a server",
            small,
            with_defaults(
                SMALL, gpus_per_server=(3, 3), job_gpus=(4, 5), slots=(2, 4), data=(2, 4)
            ),
        ),
        Preset(
            "medium",
            "20 jobs of 1-6 GPUs on 5 servers of 2-4: bounds within a few per cent",
            small,
            with_defaults(SMALL, jobs=20, servers=5, horizon=400),
        ),
        Preset(
            "paper", "160 jobs on 20 servers of 4-32 GPUs (Section 7)", paper, PAPER, files=FILES
        ),
        Preset(
            "paper-10",
            "160 jobs on 10 servers of 4-32 GPUs (Fig. 6)",
            paper,
            with_defaults(PAPER, servers=10, horizon=1500),
            files=FILES,
        ),
        Preset(
            "contended",
            "the paper's jobs; half of the time is lost where 4 rings share a server",
            paper,
            with_defaults(PAPER, extra_share=0.5, reference_crowd=4),
            files=FILES,
        ),
    ),
    default="small",
    default_with_files="paper",
)
