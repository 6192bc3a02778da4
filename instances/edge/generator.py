"""The presets of family `edge`: worked examples, small random networks, the paper's workload.

Order of draws (PCG64; uniform whole numbers only): servers, then the jobs' volumes, then bandwidths
and types, then delays job by job (see `workload`); with files see `from_traces`.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from schedgap.errors import UsageError
from schedgap.instances.edge import examples, workload
from schedgap.instances.edge.from_traces import check_files, servers_of, traced_volumes
from schedgap.instances.edge.workload import Records
from schedgap.instances.generate import TRACE_OPTIONS, Generator, Made, Preset, Request
from schedgap.instances.settings import Option
from schedgap.instances.traces.choice import TAKE

FILES = ("jobs", "machines")


def small(request: Request) -> Made:
    """Return jobs of a given load on a few servers with all types."""
    servers = workload.small_servers(request)
    jobs = workload.small_jobs(request, servers)
    return _made(request, servers, jobs, [f"drawn with seed {request.seed}"])


def paper(request: Request) -> Made:
    """Return the workload of Section VI, or one whose jobs or servers come from files."""
    check_files(request)
    told = []
    if request.machines is None:
        servers = workload.drawn_servers(request)
    else:
        servers, sentence = servers_of(request)
        told.append(sentence)
    if request.jobs is None:
        volumes = workload.drawn_volumes(request, request.values["jobs"])
    else:
        volumes, sentence = traced_volumes(request)
        told.insert(0, sentence)
    jobs = workload.paper_jobs(request, volumes, servers)
    told.append(
        f"{'all else ' if told else ''}drawn with seed {request.seed}: the ranges of Section VI;"
        " capacities, arrival horizon and cloud of our choice"
    )
    return _made(request, servers, jobs, told)


def _made(request: Request, servers: Records, jobs: Records, told: Sequence[str]) -> Made:
    """Return the instance; a horizon that is not asked for is doubled until a schedule fits."""
    value = request.values
    horizon, seconds = value["horizon"], float(value["slot_seconds"])
    if "horizon" not in request.given:
        while horizon < workload.last_end(servers, jobs, seconds):
            horizon *= 2
    late = next((job for job in jobs if job["arrival"] > horizon), None)
    if late is not None:
        raise UsageError(f"option horizon={horizon}: job {late['id']} arrives in {late['arrival']}")
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
    unit = "slot of 1 h" if seconds == 3600 else f"slot of {seconds:g} s"
    return Made(fields, "; ".join(told), unit)


# --- presets -----------------------------------------------------------------------------------


def _options(table: Sequence[Option], **defaults: Any) -> tuple[Option, ...]:
    return tuple(replace(o, default=defaults.get(o.name, o.default)) for o in table)


COMMON = (
    Option("worker_price_cap", "float", 1.0, "F_1 of the paper's prices", least=1e-30, most=1e12),
    Option("ps_price_cap", "float", 1.0, "F_2 of the paper's prices", least=1e-30, most=1e12),
    Option(
        "batch_round", "int", None, "i: the batch problem of this round instead", least=1, most=40
    ),
)
SMALL = (
    Option("jobs", "int", 5, "number of jobs", least=1, most=10_000),
    Option("edge_servers", "int", 2, "number of edge servers", least=1, most=1000),
    Option("worker_types", "int", 1, "number of worker types", least=1, most=100),
    Option("ps_types", "int", 1, "number of PS types", least=1, most=100),
    Option(
        "workers_per_server", "list", (2, 4), "workers of a type on an edge server, one of these",
        least=0, most=10_000,
    ),
    Option("ps_per_server", "range", (1, 2), "PSs of a type on an edge server", least=0),
    Option("cloud_workers", "int", 8, "workers of each type in the cloud", least=0, most=10**6),
    Option("cloud_ps", "int", 4, "PSs of each type in the cloud", least=0, most=10**6),
    Option(
        "horizon", "int", 24, "slots; doubled until a schedule fits, unless set",
        least=2, most=10**6,
    ),
    Option("slot_seconds", "float", 3600.0, "length of a slot", least=1e-3, most=1e9),
    Option(
        "load", "float", 0.5, "work of all jobs, of 0.55 x capacity x horizon",
        least=0.001, most=100,
    ),
    Option(
        "arrival_span", "int", None, "arrivals lie in 1..this; else half of the horizon",
        least=1,
    ),
    Option("epochs", "range", (1, 3), "E", least=1, most=10**6),
    Option("chunks", "range", (3, 8), "D, the most workers of a job", least=1, most=10**6),
    Option("minibatches", "range", (1, 4), "M, mini-batches of a chunk", least=1, most=10**6),
    Option(
        "exchange", "range", (0, 80), "per cent that split workers take longer",
        least=0, most=10**6,
    ),
    Option("edge_delay", "range", (1, 3), "slots to an edge server", least=0, most=10**6),
    Option(
        "cloud_delay", "range", None, "slots to the cloud; else 4 to a sixth of the horizon",
        least=0, most=10**6,
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
        "workers of an edge server's one type, one of these", least=0, most=10_000,
    ),
    Option("ps_per_server", "range", (2, 8), "PSs of a type on an edge server", least=0),
    Option("cloud_workers", "int", 64, "workers of each type in the cloud", least=0, most=10**6),
    Option("cloud_ps", "int", 64, "PSs of each type in the cloud", least=0, most=10**6),
    Option(
        "horizon", "int", 4096, "slots; doubled until a schedule fits, unless set",
        least=2, most=10**6,
    ),
    Option("arrival_horizon", "int", 384, "arrivals lie in 1..this/1.5", least=1, most=10**6),
    Option("epochs", "range", (50, 100), "E", least=1, most=10**6),
    Option("chunks", "range", (20, 50), "D, the most workers of a job", least=1, most=10**6),
    Option("minibatches", "range", (10, 50), "M, mini-batches of a chunk", least=1, most=10**6),
    Option("compute", "range", (1, 50), "of a mini-batch, in thousandths of an hour", least=1),
    Option("update", "range", (10, 100), "of a mini-batch, in milliseconds", least=0),
    Option("gradient", "range", (30, 575), "size of the gradients, MB", least=0),
    Option("worker_bandwidth", "range", (100, 5120), "of a worker type, Mbit/s", least=1),
    Option("ps_bandwidth", "range", (5000, 20_000), "of a PS type, Mbit/s", least=1),
    Option("edge_delay", "range", (1, 4), "slots to an edge server", least=0, most=10**6),
    Option("cloud_delay", "range", (10, 40), "slots to the cloud", least=0, most=10**6),
    *COMMON,
    *_options(TRACE_OPTIONS, slot_seconds=3600.0),
    TAKE,
)  # fmt: skip


def _example(name: str, make: Any) -> Preset:
    summary = make.__doc__.partition("\n")[0].removeprefix("Return ")
    return Preset(name, summary, make, seeded=False)


GENERATOR = Generator(
    (
        _example("toy", examples.toy),
        _example("toy-b", examples.toy_b),
        _example("toy-c", examples.toy_c),
        _example("toy-batch", examples.toy_batch),
        Preset("small", "5 jobs on 2 edge servers and a cloud: solved in seconds", small, SMALL),
        Preset(
            "medium",
            "12 jobs of 2 types on 3 edge servers and a cloud",
            small,
            _options(SMALL, jobs=12, edge_servers=3, horizon=48, worker_types=2, ps_types=2),
        ),
        Preset(
            "loaded",
            "20 jobs on 5 edge servers and a cloud at load 0.8: bounds within a few per cent",
            small,
            _options(
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
