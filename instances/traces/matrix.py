"""The matrix trace x load: for each family, jobs of each public trace under each offered load."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import floor, log10
from pathlib import Path
from typing import Any

from schedgap.errors import InputError, SchedgapError, UsageError
from schedgap.instances.arguments import a_function, a_path, checked, several, texts
from schedgap.instances.families import FAMILIES, unknown_family_message
from schedgap.instances.generate import generate
from schedgap.instances.instance import Instance
from schedgap.instances.loads import LOAD, TOLERANCE, cluster_time, machines_setting
from schedgap.instances.settings import whole_number
from schedgap.instances.traces import JOB_FORMATS, MACHINE_FORMATS, read_machines, recognize
from schedgap.instances.traces.table import read_text

LOADS = (0.5, 1.0, 2.0)
JOBS = 15
SOURCES = {  # format -> short name of the trace
    "philly": "philly",
    "gavel": "gavel",
    "gavel-throughputs": "gavel",
    "tiresias": "tiresias",
    "tiresias-cluster": "tiresias",
    "openb-pods": "openb",
    "openb-nodes": "openb",
    "pai-machines": "pai",
}


@dataclass(frozen=True, slots=True)
class Cluster:
    """The cluster of a family on which the jobs run, small enough for exact methods.

    A slot is so long that the whole cluster needs about `slots` slots for all jobs. `drawn` are
    settings for jobs that are not from a file. `reference` is a first length of a slot in seconds,
    from which the final length is computed; None if the times of the instance are seconds.
    """

    settings: Mapping[str, object]
    slots: int
    drawn: Mapping[str, object]
    reference: float | None = 3600.0


CLUSTERS = {
    "hare": Cluster(
        {"gpus": 4},
        1000,
        {f"rounds_{name}": "1-2" for name in ("cv", "nlp", "speech", "rec")},
        None,
    ),
    "elastic": Cluster({"servers": 4, "worker_types": 2, "ps_types": 2}, 50, {}),
    "edge": Cluster(
        {
            "edge_servers": 3,
            "worker_types": 1,
            "ps_types": 1,
            "cloud_workers": 4,
            "cloud_ps": 4,
        },
        50,
        {},
    ),
    "ring": Cluster({"servers": 32}, 100, {}, 6000.0),
    "dmlrs": Cluster({"machines": 2}, 12, {}),
}
OF_TRACES: Mapping[str, Mapping[str, object]] = {
    "hare": {"max_rounds": 2}
}  # settings for jobs from a file


@dataclass(frozen=True, slots=True)
class Trace:
    """The files of one trace; without jobs from a file, they are drawn."""

    name: str
    jobs: Path | None
    machines: Path | None
    rates: Path | None


@checked(folder=a_path, families=texts, loads=several, seeds=several, on_note=a_function)
def trace_instances(
    folder: str | os.PathLike[str],
    *,
    families: Sequence[str] | None = None,
    loads: Sequence[float | str] = LOADS,
    jobs: int = JOBS,
    seeds: Sequence[int] = (0,),
    on_note: Callable[[str], None] | None = None,
) -> list[Instance]:
    """Return instances of each family from each public trace in a folder, under each load.

    The clusters are small, because exact methods then prove much. The times between arrivals are
    such that the load is reached (see `schedgap.offered_load`); `meta.load` says how.

    Parameters
    ----------
    folder : path
        Folder with files of the formats in docs/traces.md, each recognised by its content.
    families : sequence of str, optional
        Names of families; by default all.
    loads : sequence of float
        Offered loads, from 0.01 to 100.
    jobs : int
        Number of jobs of an instance.
    seeds : sequence of int
        Random seeds; seed k takes the jobs from k x `jobs` + 1 on, by arrival.
    on_note : callable, optional
        Called with a line for each file that is not recognised, each instance that cannot be made,
        and each load that is not reached.

    Raises
    ------
    UsageError
        For a bad argument, or if there is no instance at all.
    InputError
        If the folder has no file of a known format, or a file is invalid.
    """
    note = on_note or (lambda line: None)
    seeds = list(seeds)
    names = list(FAMILIES) if families is None else list(families)
    for name in names:
        if name not in FAMILIES:
            raise UsageError(f"no family '{name}': {unknown_family_message(name)}")
    wanted = [LOAD.parse(load) for load in loads]
    if not wanted or not names or not seeds:
        raise UsageError("need at least one load, one family and one seed")
    if whole_number(jobs, "jobs") < 1:
        raise UsageError(f"jobs {jobs}: need an integer >= 1")
    found = [
        instance
        for trace in traces_in(folder, note)
        for name in names
        for seed in seeds
        for instance in _under_loads(name, trace, wanted, jobs, seed, len(seeds) > 1, note)
    ]
    if not found:
        raise UsageError(f"{folder}: no instance can be made of these traces")
    return found


def traces_in(folder: str | os.PathLike[str], note: Callable[[str], None]) -> list[Trace]:
    """Return the traces in a folder, in order of their names.

    `note`: called with a line for each file that is not used.

    Raises
    ------
    InputError
        If there is none.
    """
    root = Path(folder)
    if not root.is_dir():
        raise InputError("not a folder: need one with public trace files", file=str(folder))
    by_source: dict[str, dict[str, list[Path]]] = {}
    for file in sorted(root.glob("[!.]*")):
        if not file.is_file():
            continue
        form = _format(file)
        if form is None:
            note(f"{file}: not recognised as a trace, left out")
            continue
        roles = by_source.setdefault(SOURCES[form], {})
        roles.setdefault(_role(form), []).append(file)
    found = [trace for name in sorted(by_source) for trace in _grouped(name, by_source[name], note)]
    if not found:
        known = ", ".join(dict.fromkeys(SOURCES.values()))
        raise InputError(f"no trace in it: need files of {known}", file=str(folder))
    return found


def _format(file: Path) -> str | None:
    try:
        return recognize(read_text(file))
    except InputError:
        return None


def _role(form: str) -> str:
    return "jobs" if form in JOB_FORMATS else "machines" if form in MACHINE_FORMATS else "rates"


def _grouped(
    name: str, roles: Mapping[str, Sequence[Path]], note: Callable[[str], None]
) -> Iterator[Trace]:
    """Yield a trace for each file of jobs, each with the first file of machines and of rates."""
    machines, rates = (roles.get(role, ()) for role in ("machines", "rates"))
    for file in (*machines[1:], *rates[1:]):
        note(f"{file}: a second file of this kind, left out")
    beside = machines[0] if machines else None, rates[0] if rates else None
    jobs = roles.get("jobs", ())
    for file in jobs:
        yield Trace(name if len(jobs) == 1 else f"{name}-{file.stem}", file, *beside)
    if machines and not jobs:
        yield Trace(name, None, *beside)
    elif not jobs:
        note(f"{rates[0]}: rates without a file of jobs, left out")


def _under_loads(
    family: str,
    trace: Trace,
    loads: Sequence[float],
    jobs: int,
    seed: int,
    numbered: bool,
    note: Callable[[str], None],
) -> Iterator[Instance]:
    """Yield the instances of a family from a trace, each only once."""
    title = f"{family}-{trace.name}" + (f"-seed{seed}" if numbered else "")
    seen: dict[str, float] = {}
    faults: set[str] = set()
    for load in loads:
        name = f"{title}-load{load:g}"
        try:
            instance = _generated(family, trace, load, jobs, seed)
        except InputError:
            raise
        except SchedgapError as error:
            if str(error) not in faults:  # usually the same for every load
                note(f"{title}: left out: {error}")
            faults.add(str(error))
            continue
        reached = instance.meta["load"]["reached"]
        if instance.sha256 in seen:
            note(f"{name}: left out: it is the instance of load {seen[instance.sha256]:g}")
            continue
        seen[instance.sha256] = load
        if abs(reached / load - 1) > TOLERANCE:
            note(f"{name}: load {reached:g} instead of {load:g}")
        meta = {**instance.to_data()["meta"], "trace": trace.name}
        yield instance.replace(name=name, meta=meta)


def _generated(family: str, trace: Trace, load: float, jobs: int, seed: int) -> Instance:
    """Return the instance, with slots of which the whole cluster needs a given number."""
    cluster = CLUSTERS[family]
    files = {
        "jobs_from": trace.jobs,
        "machines_from": trace.machines,
        "rates_from": trace.rates if family == "hare" else None,
    }
    settings: dict[str, object] = {**cluster.settings, "jobs": jobs}
    if trace.jobs is None:
        settings |= cluster.drawn
    else:
        settings |= {"first": 1 + seed * jobs, **OF_TRACES.get(family, {})}
    if trace.machines is not None:
        number = machines_setting(family)
        settings[number] = min(int(str(settings[number])), _most(family, trace.machines))
    elif family == "ring":
        settings["server_gpus"] = "1,2,4"

    def make(**more: Any) -> Instance:
        return generate(family, preset="paper", seed=seed, settings={**settings, **more}, **files)

    if family == "ring" and trace.jobs is None:  # drawn jobs are in slots already
        return make(load=load)
    reference = cluster.reference
    first = make() if reference is None else make(slot_seconds=reference)
    seconds = cluster_time(first) * (reference or 1.0) / cluster.slots
    return make(slot_seconds=_rounded(seconds), load=load)


def _most(family: str, file: Path) -> int:
    """Return how many machines, or for hare GPUs, a family can take from a file."""
    gpus = [machine.gpus for machine in read_machines(file).machines]
    counts = {"hare": sum(gpus), "ring": sum(number > 0 for number in gpus)}
    return max(1, counts.get(family, len(gpus)))


def _rounded(seconds: float) -> float:
    """Return a length of a slot with two significant digits, at least a millisecond."""
    digits = 1 - floor(log10(max(seconds, 1e-3)))
    return max(1e-3, round(seconds, digits))
