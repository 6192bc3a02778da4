"""The presets of family `elastic`: worked examples, small random instances, the paper's workload.

Order of draws (PCG64, uniform integers only): servers, worker types, PS types, arrivals, then the
jobs (see `workload.draw_jobs`). In preset `paper` each of `workload.STREAMS` has a stream of its
own: an instance with more jobs or servers has those of the smaller one, and differs in nothing
else. For files, see `from_traces`.
"""

from collections.abc import Callable, Sequence

import numpy as np

from schedgap.errors import UsageError
from schedgap.instances.elastic import capacity, examples, workload
from schedgap.instances.elastic.from_traces import NEEDED, REPLACED, servers_of, traced_jobs
from schedgap.instances.elastic.workload import Draft, Kinds, Units
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
from schedgap.instances.loads import LOAD
from schedgap.instances.settings import Option
from schedgap.instances.traces.choice import TAKE

FILES = ("jobs", "machines")
HOUR = 3600.0


def small(request: Request) -> Generated:
    """Return jobs on a few servers, with resources in small integers."""
    servers = workload.small_servers(request)
    workers = workload.small_workers(request.random, request.values["worker_types"])
    ps = _ps_types(request, request.random, workload.small_ps)
    arrivals = sorted(workload.draw_arrivals(request, request.random, request.values["jobs"]))
    drafts = workload.draw_jobs(request, workload.common_draws(request), workers, ps, arrivals)
    source = f"drawn with seed {request.seed}: small whole numbers"
    if request.values["capacity_fraction"] is not None:
        servers = _scaled(request, servers, workers, ps, drafts, workload.SMALL_UNITS)
    fields = _fields(request, servers, workers, ps, drafts, workload.SMALL_UNITS)
    return Generated(fields, source, "slot")


def paper(request: Request) -> Generated:
    """Return the workload of Section 7, or one whose jobs or servers come from files."""
    check_settings(request, NEEDED, REPLACED)
    seconds = request.values["slot_seconds"] or HOUR
    units, draws = Units.of_slot(seconds), workload.separate_draws(request)
    if request.machines is None:
        servers, sources = workload.cloud_servers(draws("servers"), request.values["servers"]), []
    else:
        servers, sentence = servers_of(request)
        sources = [sentence]
    workers = _cloud_workers(request, draws("worker types"))
    ps = _ps_types(request, draws("PS types"), workload.cloud_ps)
    if "capacity_jobs" in request.given and request.values["capacity_fraction"] is None:
        raise UsageError("option capacity_jobs: only with capacity_fraction")
    if request.jobs is None:
        number = request.values["jobs"]
        most = max(number, request.values["capacity_jobs"] or number)
        arrivals = workload.draw_arrivals(request, draws("arrivals"), most)
        drawn = workload.draw_jobs(request, draws, workers, ps, arrivals)
        drafts = sorted(drawn[:number], key=lambda draft: draft.arrival)
        asking = drawn[: request.values["capacity_jobs"] or number]
    else:
        drafts, sentence = traced_jobs(request, draws, workers, ps, units, seconds)
        asking = drafts
        sources.insert(0, sentence)
    ours = ["memory of containers"]
    ours += ["sizes of the EC2 families"] if request.machines is None else []
    ours += ["arrivals"] if request.jobs is None else []
    sources.append(
        f"{'all else ' if sources else ''}drawn with seed {request.seed}: the ranges of Section 7; "
        f"of our choice: {', '.join(ours)}"
    )
    if request.values["capacity_fraction"] is not None:
        sizes = capacity.catalogue() if request.machines is None else None
        servers = _scaled(request, servers, workers, ps, asking, units, sizes)
    fields = _fields(request, servers, workers, ps, drafts, units)
    return Generated(fields, "; ".join(sources), slot_unit(seconds))


def _cloud_workers(request: Request, random: np.random.Generator) -> Kinds:
    """Draw the worker types, or take the EC2 sizes of Fig. 9."""
    if request.values["workers"] == "drawn":
        return workload.cloud_workers(random, request.values["worker_types"])
    if "worker_types" in request.given:
        raise UsageError("option worker_types: with workers=ec2 there are four")
    return workload.ec2_workers(random)


def _scaled(
    request: Request,
    servers: Kinds,
    workers: Kinds,
    ps: Kinds,
    drafts: Sequence[Draft],
    units: Units,
    sizes: capacity.Sizes | None = None,
) -> Kinds:
    """Scale the servers to `capacity_fraction` of what the drafts ask for."""
    jobs = [draft.to_data(workers, ps, units) for draft in drafts]
    return capacity.scaled(
        servers, workers, ps, jobs, request.values["capacity_fraction"], sizes=sizes
    )


def _ps_types(request: Request, random: np.random.Generator, draw: Callable[..., Kinds]) -> Kinds:
    """Draw the PS types; rings have none."""
    if request.values["architecture"] == "ring_allreduce":
        if "ps_types" in request.given:
            raise UsageError("option ps_types: Ring-AllReduce has no parameter servers")
        return []
    return draw(random, request.values["ps_types"])


def _fields(
    request: Request,
    servers: Kinds,
    workers: Kinds,
    ps: Kinds,
    drafts: Sequence[Draft],
    units: Units,
) -> dict[str, object]:
    """Return the fields of an instance; raise UsageError if no job fits on the servers."""
    value = request.values
    jobs = [draft.to_data(workers, ps, units) for draft in drafts]
    if not capacity.runs_somewhere(servers, workers, ps):
        needs = "a worker" if not ps else "a worker and its parameter servers"
        raise UsageError(f"no server has room for {needs}: change servers, capacity or the seed")
    horizon = value["horizon"]
    if "horizon" not in request.given:  # a trace may have later arrivals
        horizon = max(horizon, *(draft.arrival for draft in drafts))
    fields = {
        "architecture": value["architecture"],
        "objective": value["objective"],
        "horizon": horizon,
        "horizon_policy": value["horizon_policy"],
        "resources": list(servers[0]["capacity"]),
        "bandwidth_resource": "bandwidth",
        "servers": servers,
        "worker_types": workers,
        "ps_types": ps,
        "jobs": jobs,
    }
    if value["objective"] == "scheduled_weight":
        fields["deadline"] = value["deadline"] or horizon
    elif "deadline" in request.given:
        raise UsageError("option deadline: only with objective=scheduled_weight")
    return fields


# --- presets -----------------------------------------------------------------------------------


COMMON = (
    Option(
        "architecture", "choice", "parameter_server", "how jobs exchange gradients",
        ("parameter_server", "ring_allreduce"),
    ),
    Option(
        "objective", "choice", "weighted_completion", "program (2) or the batch problem (7)",
        ("weighted_completion", "scheduled_weight"),
    ),
    Option("deadline", "int", None, "deadline of scheduled_weight; by default the horizon", least=2,
    most=10**9), Option(
        "horizon_policy", "choice", "open", "closed: no job runs after the horizon",
        ("open", "closed"),
    ),
    Option(
        "arrival_span", "int", None, "latest arrival; by default half of the horizon", least=1,
        most=10**9,
    ),
    Option(
        "capacity_fraction", "float", None,
        "scale each resource to this fraction of the total demand of the jobs",
        least=0.001, most=100,
    ),
)  # fmt: skip
SMALL = (
    Option("jobs", "int", 6, "number of jobs", least=1, most=10_000),
    Option("servers", "int", 3, "number of servers", least=1, most=1000),
    Option("gpus_per_server", "range", (2, 4), "GPUs of a server", least=1, most=1000),
    Option("worker_types", "int", 2, "number of worker types", least=1, most=100),
    Option("ps_types", "int", 2, "number of PS types", least=1, most=100),
    Option("horizon", "int", 16, "slots", least=2, most=10**9),
    Option("weights", "range", (1, 9), "weights of jobs", least=1, most=10**9),
    Option("epochs", "range", (1, 3), "E, epochs", least=1, most=10**6),
    Option(
        "chunks",
        "range",
        (2, 4),
        "D, also the largest number of workers of a job",
        least=1,
        most=10**6,
    ),
    Option("batches_per_chunk", "range", (1, 4), "K, mini-batches per chunk", least=1, most=10**6),
    Option("train_time", "range", (4, 20), "time per mini-batch, in twentieths of a slot", least=0),
    Option("update_time", "range", (0, 10), "time of an update, in hundredths of a slot", least=0),
    Option(
        "gradient",
        "range",
        (0, 5),
        "size of the gradients, in tenths of a bandwidth unit times slots",
        least=0,
    ),
    *COMMON,
    LOAD,
)
PAPER = (
    Option("jobs", "int", 100, "number of jobs", least=1, most=10_000),
    Option("servers", "int", 150, "number of servers", least=1, most=10_000),
    Option("worker_types", "int", 8, "number of worker types", least=1, most=1000),
    Option("ps_types", "int", 10, "number of PS types", least=1, most=1000),
    Option("horizon", "int", 150, "slots", least=2, most=10**9),
    Option("weights", "range", (200, 5000), "weights of jobs", least=1, most=10**9),
    Option("epochs", "range", (50, 100), "E, epochs", least=1, most=10**6),
    Option(
        "chunks",
        "range",
        (5, 50),
        "D, also the largest number of workers of a job",
        least=1,
        most=10**6,
    ),
    Option(
        "batches_per_chunk", "range", (10, 50), "K, mini-batches per chunk", least=1, most=10**6
    ),
    Option(
        "train_time", "range", (1, 50), "time per mini-batch, in thousandths of an hour", least=0
    ),
    Option("update_time", "range", (10, 100), "time of an update, in milliseconds", least=0),
    Option("gradient", "range", (30, 575), "size of the gradients, MB", least=0),
    *COMMON,
    Option(
        "capacity_jobs",
        "int",
        None,
        "the first jobs that capacity_fraction counts, drawn or not; by default those drawn",
        least=1,
        most=10_000,
    ),
    Option(
        "workers",
        "choice",
        "drawn",
        "drawn worker types, or the four EC2 sizes of Figure 9",
        ("drawn", "ec2"),
    ),
    *TRACE_OPTIONS,
    TAKE,
)


GENERATOR = Generator(
    (
        example("introduction", examples.introduction),
        example("toy", examples.toy),
        example("toy-batch", examples.batch),
        example("toy-ring", examples.ring),
        Preset("small", "6 jobs on 3 servers of 2-4 GPUs: solved in seconds", small, SMALL),
        Preset(
            "medium",
            "15 jobs on 4 servers of 2-4 GPUs: bounds within a few per cent",
            small,
            with_defaults(SMALL, jobs=15, servers=4, worker_types=3, horizon=40),
        ),
        Preset(
            "paper",
            "100 jobs on 150 EC2 servers, 8 worker and 10 PS types (Section 7)",
            paper,
            PAPER,
            files=FILES,
        ),
    ),
    default="small",
    default_with_files="paper",
)
