"""The presets of family `edge`: worked examples, small random networks, the paper's workload.

Only uniform integers are drawn (PCG64), each quantity from a stream of its own (see
`workload.STREAMS`). For files, see `from_traces`.
"""

from collections.abc import Sequence
from typing import Any

from schedgap.errors import UsageError
from schedgap.instances.edge import examples, workload
from schedgap.instances.edge.from_traces import NEEDED, REPLACED, servers_of, traced_volumes
from schedgap.instances.edge.workload import Records
from schedgap.instances.generate import (
    TRACE_OPTIONS,
    Generated,
    Generator,
    Preset,
    Request,
    check_settings,
    example,
    slot_unit,
    with_defaults,
)
from schedgap.instances.settings import Option
from schedgap.instances.traces.choice import TAKE

FILES = ("jobs", "machines")
ROOM = 4  # horizon over the last slot of a simple schedule, as guarantee G2 asks for
ROOM_AFTER = 8  # horizon over the last arrival: BatchSche waits 4 tau, and tau is up to twice that


def small(request: Request) -> Generated:
    """Return jobs of a given total load on a few servers with all types."""
    servers = workload.small_servers(request)
    jobs = workload.small_jobs(request, servers)
    return _generated(request, servers, jobs, [f"drawn with seed {request.seed}"])


def paper(request: Request) -> Generated:
    """Return the workload of Section VI, or one whose jobs or servers come from files."""
    check_settings(request, NEEDED, REPLACED)
    sources = []
    if request.machines is None:
        servers = workload.drawn_servers(request)
    else:
        servers, sentence = servers_of(request)
        sources.append(sentence)
    if request.jobs is None:
        volumes = workload.drawn_volumes(request, request.values["jobs"])
    else:
        volumes, sentence = traced_volumes(request)
        sources.insert(0, sentence)
    jobs = workload.paper_jobs(request, volumes, servers)
    sources.append(
        f"{'all else ' if sources else ''}drawn with seed {request.seed}: the ranges of Section VI;"
        " capacities, arrival horizon and cloud of our choice"
    )
    return _generated(request, servers, jobs, sources)


def _generated(
    request: Request, servers: Records, jobs: Records, sources: Sequence[str]
) -> Generated:
    """Return the instance; a horizon that the user has not set is doubled until it is long enough.

    Long enough is `ROOM` times the last slot of a simple schedule, and `ROOM_AFTER` times the last
    arrival. The rounds of A_online double, so it may need several times as long as a schedule that
    knows all jobs.
    """
    value = request.values
    horizon, seconds = value["horizon"], float(value["slot_seconds"])
    if "horizon" not in request.given:
        last = max(job["arrival"] for job in jobs)
        enough = max(ROOM * workload.last_end(servers, jobs, seconds), ROOM_AFTER * last)
        while horizon < enough:
            horizon *= 2
    late = next((job for job in jobs if job["arrival"] > horizon), None)
    if late is not None:
        text = f"job {late['id']} arrives in slot {late['arrival']}"
        raise UsageError(f"option horizon={horizon}: {text}")
    fields: dict[str, Any] = {
        "horizon": horizon,
        "slot_seconds": seconds,
        "worker_types": workload.worker_types(request),
        "ps_types": workload.ps_types(request),
        "servers": servers,
        "jobs": jobs,
    }
    caps = {"worker": value["worker_price_cap"], "parameter_server": value["ps_price_cap"]}
    if set(caps.values()) != {1.0}:
        fields["price_caps"] = caps
    if value["batch_round"] is not None:
        if 2 ** (value["batch_round"] - 1) >= horizon:
            raise UsageError(
                f"option batch_round={value['batch_round']}: the round starts after the horizon"
                f" {horizon}"
            )
        fields["batch_round"] = value["batch_round"]
    return Generated(fields, "; ".join(sources), slot_unit(seconds))


# --- presets -----------------------------------------------------------------------------------


COMMON = (
    Option("worker_price_cap", "float", 1.0, "F_1 of the paper's prices", least=1e-30, most=1e12),
    Option("ps_price_cap", "float", 1.0, "F_2 of the paper's prices", least=1e-30, most=1e12),
    Option(
        "batch_round",
        "int",
        None,
        "i, the round of the batch problem; by default the whole problem",
        least=1,
        most=40,
    ),
)
SMALL = (
    Option("jobs", "int", 5, "number of jobs", least=1, most=10_000),
    Option("edge_servers", "int", 2, "number of edge servers", least=1, most=1000),
    Option("worker_types", "int", 1, "number of worker types", least=1, most=100),
    Option("ps_types", "int", 1, "number of PS types", least=1, most=100),
    Option(
        "workers_per_server", "list", (2, 4),
        "workers of a type on an edge server, drawn from these", least=0, most=10_000,
    ),
    Option("ps_per_server", "range", (1, 2), "PSs of a type on an edge server", least=0),
    Option("cloud_workers", "int", 8, "workers of each type in the cloud", least=0, most=10**6),
    Option("cloud_ps", "int", 4, "PSs of each type in the cloud", least=0, most=10**6),
    Option(
        "horizon", "int", 24, "slots; if not set, doubled until all online methods fit",
        least=2, most=10**6,
    ),
    Option("slot_seconds", "float", 3600.0, "length of a slot", least=1e-3, most=1e9),
    Option(
        "load", "float", 0.5, "work of all jobs, as a multiple of 0.55 x capacity x horizon",
        least=0.001, most=100,
    ),
    Option(
        "arrival_span", "int", None, "latest arrival; by default half of the horizon",
        least=1,
    ),
    Option("epochs", "range", (1, 3), "E, epochs", least=1, most=10**6),
    Option("chunks", "range", (3, 8), "D, also the largest number of workers of a job", least=1,
    most=10**6), Option("minibatches", "range", (1, 4), "M, mini-batches of a chunk", least=1,
    most=10**6), Option(
        "exchange", "range", (0, 80), "extra time of split workers, in per cent",
        least=0, most=10**6,
    ),
    Option("edge_delay", "range", (1, 3), "slots to an edge server", least=0, most=10**6),
    Option(
        "cloud_delay", "range", None,
        "slots to the cloud; by default from 4 to a sixth of the horizon", least=0, most=10**6,
    ),
    *COMMON,
)  # fmt: skip
PAPER = (
    Option("jobs", "int", 200, "number of jobs", least=1, most=10_000),
    Option("edge_servers", "int", 200, "number of edge servers", least=1, most=10_000),
    Option("worker_types", "int", 9, "number of worker types", least=1, most=1000),
    Option("ps_types", "int", 9, "number of PS types", least=1, most=1000),
    Option(
        "workers_per_server", "list", (2, 4, 8, 8),
        "workers of an edge server, drawn from these", least=0, most=10_000,
    ),
    Option("ps_per_server", "range", (2, 8), "PSs of a type on an edge server", least=0),
    Option(
        "server_types", "choice", "one",
        "one: all workers of an edge server have one type, and it has PSs of all types; mixed: the "
        "type of every worker and every PS is drawn",
        ("one", "mixed"),
    ),
    Option("cloud_workers", "int", 64, "workers of each type in the cloud", least=0, most=10**6),
    Option("cloud_ps", "int", 64, "PSs of each type in the cloud", least=0, most=10**6),
    Option(
        "horizon", "int", 4096, "slots; if not set, doubled until all online methods fit",
        least=2, most=10**6,
    ),
    Option("arrival_horizon", "int", 384, "1.5 times the latest arrival", least=1, most=10**6),
    Option("epochs", "range", (50, 100), "E, epochs", least=1, most=10**6),
    Option(
        "chunks", "range", (20, 50), "D, also the largest number of workers of a job",
        least=1, most=10**6,
    ),
    Option("minibatches", "range", (10, 50), "M, mini-batches per chunk", least=1, most=10**6),
    Option(
        "compute", "range", (1, 50), "time per mini-batch, in thousandths of an hour", least=1
    ),
    Option("update", "range", (10, 100), "time per mini-batch, in milliseconds", least=0),
    Option("gradient", "range", (30, 575), "size of the gradients, MB", least=0),
    Option("worker_bandwidth", "range", (100, 5120), "bandwidth of a worker type, Mbit/s", least=1),
    Option("ps_bandwidth", "range", (5000, 20_000), "bandwidth of a PS type, Mbit/s", least=1),
    Option("edge_delay", "range", (1, 4), "slots to an edge server", least=0, most=10**6),
    Option("cloud_delay", "range", (10, 40), "slots to the cloud", least=0, most=10**6),
    *COMMON,
    *with_defaults(TRACE_OPTIONS, slot_seconds=3600.0),
    TAKE,
)  # fmt: skip


GENERATOR = Generator(
    (
        example("toy", examples.toy),
        example("toy-b", examples.toy_b),
        example("toy-c", examples.toy_c),
        example("toy-batch", examples.toy_batch),
        Preset("small", "5 jobs on 2 edge servers and a cloud: solved in seconds", small, SMALL),
        Preset(
            "medium",
            "12 jobs of 2 types on 3 edge servers and a cloud",
            small,
            with_defaults(SMALL, jobs=12, edge_servers=3, horizon=48, worker_types=2, ps_types=2),
        ),
        Preset(
            "loaded",
            "20 jobs on 5 edge servers and a cloud at load 0.8: bounds within a few per cent",
            small,
            with_defaults(
                SMALL, jobs=20, edge_servers=5, horizon=64, worker_types=2, ps_types=2, load=0.8
            ),
        ),
        Preset(
            "paper",
            "200 jobs on 200 edge servers and a cloud, 9 worker and 9 PS types (Section VI)",
            paper,
            PAPER,
            files=FILES,
        ),
    ),
    default="small",
    default_with_files="paper",
)
