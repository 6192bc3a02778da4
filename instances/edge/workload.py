"""Servers and jobs of generated `edge` instances, and the draws behind them.

From the paper (Section VI): all ranges of jobs, delays and bandwidths, the numbers of servers and
types, and the slot of an hour. Our choice: workers and parameter servers (PSs) per server, the size
of the cloud, and the arrival horizon. The bandwidth of a job is the smaller one of its two types,
which is our choice as well.

Every quantity has a separate random stream. So an instance with more jobs has the jobs of the
smaller one and further ones. The same holds for edge servers. Only the small presets scale the work
of all jobs with the capacity and the number of jobs.
"""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from schedgap.instances.edge.instance import Job
from schedgap.instances.generate import Request, uniform

Records = list[dict[str, Any]]  # servers or jobs of an instance file
MBIT = 8  # Mbit per megabyte
BANDWIDTH = 1000.0  # Mbit/s, in the small presets
STREAMS = (  # their positions are part of the seeds
    "server worker type", "server workers", "server PSs", "arrival", "epochs", "chunks",
    "minibatches", "compute", "update", "gradient", "exchange", "share", "worker type", "PS type",
    "worker bandwidth", "PS bandwidth", "edge delay", "cloud delay", "worker units", "PS units",
)  # fmt: skip


def drawn(
    request: Request, quantity: str, bounds: tuple[int, int], size: int, *, of: int = 0
) -> list[int]:
    """Draw uniform integers from the stream of a quantity; fewer of them are the first ones.

    `request`: input of the preset; its seed decides. `quantity`: one of `STREAMS`. `bounds`:
    smallest and largest value. `size`: how many to draw. `of`: which job, server or type the values
    belong to, if each has a stream.
    """
    key = np.random.SeedSequence(request.seed, spawn_key=(STREAMS.index(quantity), of))
    return uniform(np.random.Generator(np.random.PCG64(key)), bounds, size)


def worker_types(request: Request) -> list[str]:
    """Return the ids of the worker types."""
    return [f"gpu-{u}" for u in range(1, request.values["worker_types"] + 1)]


def ps_types(request: Request) -> list[str]:
    """Return the ids of the PS types."""
    return [f"cpu-{v}" for v in range(1, request.values["ps_types"] + 1)]


# --- servers -----------------------------------------------------------------------------------


def drawn_servers(request: Request) -> Records:
    """Draw the edge servers and add the cloud.

    With `server_types` = one, all workers of a server have one type and it has PSs of all types.
    With `mixed`, the type of each of these workers and PSs is drawn.
    """
    value, number = request.values, request.values["edge_servers"]
    sizes, types, ps_names = value["workers_per_server"], worker_types(request), ps_types(request)
    kinds = drawn(request, "server worker type", (0, len(types) - 1), number)
    picks = drawn(request, "server workers", (0, len(sizes) - 1), number)
    ps = _of_all_types(request, "server PSs", value["ps_per_server"], len(ps_names), number)
    servers = []
    for s in range(number):
        if value["server_types"] == "mixed":
            workers = _mixed(request, "worker units", types, sizes[picks[s]], s)
            own_ps = _mixed(request, "PS units", ps_names, sum(ps[s]), s)
        else:
            workers, own_ps = {types[kinds[s]]: sizes[picks[s]]}, _by(ps_names, ps[s])
        servers.append(_server(f"edge-{s + 1}", "edge", workers, own_ps))
    return [*servers, cloud(request)]


def _mixed(
    request: Request, quantity: str, names: Sequence[str], units: int, server: int
) -> dict[str, int]:
    """Return how many of a server's units are of each type, drawn for each unit."""
    kinds = drawn(request, quantity, (0, len(names) - 1), units, of=server)
    return {name: count for k, name in enumerate(names) if (count := kinds.count(k))}


def small_servers(request: Request) -> Records:
    """Draw edge servers with workers and PSs of all types, and add the cloud."""
    value, sizes = request.values, request.values["workers_per_server"]
    types, ps_names, number = worker_types(request), ps_types(request), value["edge_servers"]
    picks = _of_all_types(request, "server workers", (0, len(sizes) - 1), len(types), number)
    ps = _of_all_types(request, "server PSs", value["ps_per_server"], len(ps_names), number)
    servers = []
    for s in range(number):
        workers = _by(types, [sizes[k] for k in picks[s]])
        servers.append(_server(f"edge-{s + 1}", "edge", workers, _by(ps_names, ps[s])))
    return [*servers, cloud(request)]


def _of_all_types(
    request: Request, quantity: str, bounds: tuple[int, int], types: int, number: int
) -> list[list[int]]:
    """Draw a value for each server and type; each type has a stream."""
    columns = [drawn(request, quantity, bounds, number, of=k) for k in range(types)]
    return [[column[s] for column in columns] for s in range(number)]


def cloud(request: Request) -> dict[str, Any]:
    """Return the cloud, with the same number of workers, and of PSs, of every type."""
    value = request.values
    return _server(
        "cloud",
        "cloud",
        dict.fromkeys(worker_types(request), value["cloud_workers"]),
        dict.fromkeys(ps_types(request), value["cloud_ps"]),
    )


def _server(
    name: str, kind: str, workers: Mapping[str, int], ps: Mapping[str, int]
) -> dict[str, Any]:
    return {"id": name, "kind": kind, "workers": dict(workers), "parameter_servers": dict(ps)}


def _by(names: Sequence[str], counts: Sequence[int]) -> dict[str, int]:
    return dict(zip(names, counts, strict=True))


# --- jobs --------------------------------------------------------------------------------------


def drawn_jobs(request: Request, number: int) -> Records:
    """Draw jobs in the ranges of Section VI, in any order of their arrivals.

    The types, the bandwidth and the delays of the jobs are not in the records yet.

    `number`: number of jobs.
    """
    value = request.values
    last = max(1, int(value["arrival_horizon"] / 1.5))
    arrival = drawn(request, "arrival", (1, last), number)
    names = ("epochs", "chunks", "minibatches", "compute", "update", "gradient")
    columns = [drawn(request, name, value[name], number) for name in names]
    return [
        {
            "id": f"J{j + 1}",
            "arrival": request.paced(arrival[j]),
            "epochs": E,
            "chunks": D,
            "minibatches_per_chunk": M,
            "compute_seconds": round(3.6 * n, 9),
            "update_seconds": round(H / 1000, 9),
            "gradient_megabytes": float(k),
        }
        for j, (E, D, M, n, H, k) in enumerate(zip(*columns, strict=True))
    ]


def paper_jobs(request: Request, drafts: Records, servers: Records) -> Records:
    """Draw bandwidths of the types, types of the jobs, and delays by job and server.

    `drafts`: the jobs without types, bandwidth and delays. `servers`: JSON data of the servers.

    The result is the JSON data of the jobs in order of arrival.
    """
    value, number = request.values, len(drafts)
    workers, ps = worker_types(request), ps_types(request)
    of_workers = drawn(request, "worker bandwidth", value["worker_bandwidth"], len(workers))
    of_ps = drawn(request, "PS bandwidth", value["ps_bandwidth"], len(ps))
    u = drawn(request, "worker type", (0, len(workers) - 1), number)
    v = drawn(request, "PS type", (0, len(ps) - 1), number)
    delays = _delays(request, servers, number, value["cloud_delay"])
    in_order = dict.fromkeys(Job.model_fields)  # keys of a job as they are in a file
    jobs = [
        in_order
        | draft
        | {
            "worker_type": workers[u[j]],
            "ps_type": ps[v[j]],
            "bandwidth_mbps": float(min(of_workers[u[j]], of_ps[v[j]])),
            "transfer_delay": delays[j],
        }
        for j, draft in enumerate(drafts)
    ]
    return jobs if request.jobs is not None else _by_arrival(jobs)


def small_jobs(request: Request, servers: Records) -> Records:
    """Draw jobs such that each worker type has a given load; return them by arrival.

    The work of all jobs of a type, with workers at their PSs, is given in worker-slots. It is
    `load` x 0.55 T x the number of workers of the type. The share of each job is drawn, and so is
    the extra work due to the exchange.

    `servers`: JSON data of the servers.
    """
    value = request.values
    number, T, types = value["jobs"], value["horizon"], worker_types(request)
    ps_names = ps_types(request)
    arrival = drawn(request, "arrival", (1, value["arrival_span"] or max(1, T // 2)), number)
    kinds = drawn(request, "worker type", (0, len(types) - 1), number)
    names = ("epochs", "chunks", "minibatches", "exchange")
    E, D, M, percent = (drawn(request, name, value[name], number) for name in names)
    share = drawn(request, "share", (1, 100), number)
    v = drawn(request, "PS type", (0, len(ps_names) - 1), number)
    delays = _delays(request, servers, number, value["cloud_delay"] or (4, max(4, T // 6)))
    jobs = []
    for j in range(number):
        workers = sum(server["workers"][types[kinds[j]]] for server in servers)
        whole = sum(share[i] for i in range(number) if kinds[i] == kinds[j])
        slots = value["load"] * 0.55 * T * workers * share[j] / whole  # worker-slots
        seconds = round(slots * value["slot_seconds"] / (E[j] * D[j] * M[j]), 3)
        megabytes = round(percent[j] / 100 * seconds * BANDWIDTH / (2 * MBIT), 3)
        jobs.append(
            {
                "id": f"J{j + 1}",
                "arrival": arrival[j],
                "worker_type": types[kinds[j]],
                "ps_type": ps_names[v[j]],
                "epochs": E[j],
                "chunks": D[j],
                "minibatches_per_chunk": M[j],
                "compute_seconds": max(seconds, 0.001),
                "update_seconds": 0.0,
                "gradient_megabytes": megabytes,
                "bandwidth_mbps": BANDWIDTH,
                "transfer_delay": delays[j],
            }
        )
    return _by_arrival(jobs)


def _by_arrival(jobs: Records) -> Records:
    """Return the jobs in order of arrival, numbered in that order."""
    ordered = sorted(jobs, key=itemgetter("arrival"))
    return [job | {"id": f"J{k + 1}"} for k, job in enumerate(ordered)]


def _delays(
    request: Request, servers: Records, number: int, to_cloud: tuple[int, int]
) -> list[dict[str, int]]:
    far = drawn(request, "cloud delay", to_cloud, number)
    delays = []
    for j in range(number):
        near = drawn(request, "edge delay", request.values["edge_delay"], len(servers) - 1, of=j)
        delays.append(_by([server["id"] for server in servers], [*near, far[j]]))
    return delays


# --- horizon -----------------------------------------------------------------------------------


def last_end(servers: Records, jobs: Records, slot_seconds: float) -> int:
    """Return the last slot of a simple schedule, which is a sufficient horizon.

    The jobs are scheduled by arrival, each on the one server where it ends first. A job has as many
    workers as possible, and exclusive use of its worker type there. A job that fits on no single
    server is skipped.

    `servers`, `jobs`: JSON data of the servers and jobs. `slot_seconds`: length of a slot.
    """
    workers_free: dict[tuple[str, str], int] = {}  # server, worker type -> first free slot
    ps_free: dict[tuple[str, str], list[int]] = {}  # server, PS type -> first free slot of each PS
    for server in servers:
        workers_free |= {(server["id"], u): 1 for u, count in server["workers"].items() if count}
        ps = server["parameter_servers"]
        ps_free |= {
            (server["id"], v): [1] * min(count, len(jobs)) for v, count in ps.items() if count
        }
    last = 1
    for job in sorted(jobs, key=lambda job: job["arrival"]):
        batches = job["epochs"] * job["chunks"] * job["minibatches_per_chunk"]
        work = batches * (job["compute_seconds"] + job["update_seconds"]) / slot_seconds
        ends = []
        for server in servers:
            u, v = (server["id"], job["worker_type"]), (server["id"], job["ps_type"])
            if u in workers_free and v in ps_free:
                workers = min(job["chunks"], server["workers"][job["worker_type"]])
                ready = job["arrival"] + job["transfer_delay"][server["id"]]
                start = max(ready, workers_free[u], min(ps_free[v]))
                ends.append((start + int(work / workers), u, v))
        if ends:
            end, u, v = min(ends)
            workers_free[u] = end + 1
            ps_free[v].remove(min(ps_free[v]))
            ps_free[v].append(end + 1)
            last = max(last, end)
    return last
