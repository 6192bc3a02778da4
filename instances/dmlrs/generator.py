"""The presets of family `dmlrs`: worked examples, small random instances, the paper's workload.

Order of draws (PCG64, uniform integers only): job by job, see `workload`. A job that cannot finish
is drawn again completely. For files, see `from_traces`.
"""

from dataclasses import replace

from schedgap.errors import UsageError
from schedgap.instances.dmlrs import examples, workload
from schedgap.instances.dmlrs.from_traces import NEEDED, REPLACED, machines_of, traced_jobs
from schedgap.instances.dmlrs.instance import MOST_SLOTS, MOST_WORKERS
from schedgap.instances.dmlrs.workload import HOUR, RESOURCES, Draft
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


def small(request: Request) -> Generated:
    """Return a few jobs on equal machines, whose work is a fraction of what the horizon admits."""
    value = request.values
    resources = RESOURCES[: value["resources"]]
    names = [f"j{n}" for n in range(1, value["jobs"] + 1)]
    drawn = [workload.small_job(request, name, resources) for name in names]
    jobs, horizon = _paced(request, drawn)
    fields = {
        "horizon": horizon,
        "ps_rule": value["ps_rule"],
        "resources": list(resources),
        "machines": workload.equal_machines(request, resources),
        "jobs": [job.to_data() for job in jobs],
    }
    return Generated(fields, f"drawn with seed {request.seed}: ranges of our choice", "slot")


def paper(request: Request) -> Generated:
    """Return the paper's workload, or one whose jobs or machines come from files."""
    check_settings(request, NEEDED, REPLACED)
    value, sources = request.values, []
    seconds, horizon = value["slot_seconds"], value["horizon"]
    if value["internal"][1] < value["external"][0]:
        raise UsageError("option internal: must be larger than external")
    if request.machines is None:
        machines = workload.equal_machines(request, RESOURCES)
    else:
        machines, sentence = machines_of(request)
        sources.append(sentence)
    if request.jobs is None:
        drafts = [
            workload.finishing_job(request, f"j{n}", horizon, seconds, 0)
            for n in range(1, value["jobs"] + 1)
        ]
        drafts, horizon = _paced(request, drafts)
        drafts.sort(key=lambda draft: draft.arrival)
        drafts = [replace(draft, id=f"j{n}") for n, draft in enumerate(drafts, 1)]
    else:
        drafts, sentence, horizon = traced_jobs(request, seconds)
        sources.insert(0, sentence)
    sources.append(
        f"{'all else ' if sources else ''}drawn with seed {request.seed}: the paper's ranges; "
        "capacities, bandwidths and arrivals of our choice"
    )
    fields = {
        "horizon": horizon,
        "ps_rule": value["ps_rule"],
        "resources": list(RESOURCES),
        "machines": machines,
        "jobs": [draft.to_data() for draft in drafts],
    }
    return Generated(fields, "; ".join(sources), slot_unit(seconds))


def _paced(request: Request, drafts: list[Draft]) -> tuple[list[Draft], int]:
    """Return the jobs with the request's pace of arrivals, and the horizon.

    A horizon that the user has not set grows by as many slots as the last arrival is later.
    """
    paced = [replace(draft, arrival=request.paced(draft.arrival)) for draft in drafts]
    last, before = (max((each.arrival for each in of), default=1) for of in (paced, drafts))
    horizon = request.values["horizon"]
    if "horizon" not in request.given:
        horizon += max(0, last - before)
        if horizon > MOST_SLOTS:
            text = f"arrivals up to slot {last}, but the horizon is at most {MOST_SLOTS}"
            raise UsageError(f"option load: needs {text}: take longer slots or fewer jobs")
        return paced, horizon
    if last > horizon:
        raise UsageError(f"option horizon={horizon}: under the load, a job arrives in slot {last}")
    return paced, horizon


# --- presets -----------------------------------------------------------------------------------


def _demand(kind: str, name: str, low: int, high: int) -> Option:
    what = "PS" if kind == "ps" else kind
    return Option(
        f"{kind}_{name}", "range", (low, high), f"{name} of one {what}",
        least=0 if name == "gpu" else 1, most=10**6,
    )  # fmt: skip


def _capacity(name: str, amount: int) -> Option:
    return Option(
        f"capacity_{name}", "int", amount, f"{name} of a machine", least=0, most=10**9
    )  # fmt: skip


COMMON = (
    Option("ps_rule", "choice", "at_least", "number of workers per PS, (2)", ("at_least", "exact")),
    Option("jobs", "int", 4, "number of jobs", least=0, most=10_000),
    Option("machines", "int", 2, "number of machines", least=1, most=10_000),
    Option("horizon", "int", 5, "slots", least=1, most=MOST_SLOTS),
    Option("epochs", "range", (1, 3), "E", least=1, most=10**9),
    Option("samples", "range", (10, 100), "K, of an epoch", least=1, most=10**9),
    Option("batch", "range", (2, 6), "F, largest number of workers", least=1, most=MOST_WORKERS),
    Option("ratio", "range", (1, 4), "gamma, workers per PS", least=1, most=10**6),
    Option("gradient", "range", (10, 100), "g, MB", least=1, most=10**9),
    Option("sensitivity", "range", (100, 1000), "theta_2, in thousandths", least=1, most=10**6),
)
SMALL = (
    *COMMON,
    Option("resources", "int", 3, "number of resources, of gpu, cpu, memory, storage", least=1,
    most=4), Option(
        "stretch", "range", (5, 100), "extra time of work across machines, in per cent", least=0,
        most=10**6,
    ),
    Option(
        "exchange", "range", (10, 60), "exchange, in per cent of a sample's time on one machine",
        least=1, most=99,
    ),
    _demand("worker", "gpu", 0, 4), _demand("worker", "cpu", 1, 6),
    _demand("worker", "memory", 2, 12), _demand("worker", "storage", 1, 8),
    _demand("ps", "cpu", 1, 6), _demand("ps", "memory", 2, 12), _demand("ps", "storage", 1, 8),
    _capacity("gpu", 8), _capacity("cpu", 24), _capacity("memory", 48), _capacity("storage", 40),
    LOAD,
)  # fmt: skip
PAPER = (
    *with_defaults(
        COMMON, jobs=50, machines=100, horizon=20, epochs=(50, 200), samples=(20_000, 500_000),
        batch=(1, 200), ratio=(1, 10), gradient=(30, 575), sensitivity=(10, 1000),
    ),
    Option("time", "range", (100, 1000), "tau, time per sample in 1e-7 hours", least=1, most=10**9),
    Option("external", "range", (1000, 10_000), "Mbit/s between machines", least=1, most=10**9),
    Option("internal", "range", (10_000, 50_000), "Mbit/s inside a machine", least=1, most=10**9),
    Option("arrive_within", "int", 100, "jobs arrive in the first slots, so many per cent of all",
           least=1, most=100),
    Option("finishable", "bool", True, "draw jobs again that cannot finish with F workers"),
    _demand("worker", "gpu", 0, 4), _demand("worker", "cpu", 1, 10),
    _demand("worker", "memory", 2, 32), _demand("worker", "storage", 5, 10),
    _demand("ps", "cpu", 1, 10), _demand("ps", "memory", 2, 32), _demand("ps", "storage", 5, 10),
    _capacity("gpu", 16), _capacity("cpu", 96), _capacity("memory", 384), _capacity("storage", 200),
    *with_defaults(TRACE_OPTIONS, slot_seconds=HOUR),
    TAKE,
)  # fmt: skip

GENERATOR = Generator(
    (
        example("toy", examples.toy),
        example("toy2", examples.toy2),
        Preset("small", "4 jobs on 2 machines, 5 slots: solved in a second", small, SMALL),
        Preset(
            "medium",
            "8 jobs on 4 machines, 10 slots: solved in about a minute",
            small,
            with_defaults(SMALL, jobs=8, machines=4, horizon=10),
        ),
        Preset(
            "paper", "50 jobs on 100 machines, 20 slots (Figs. 6, 7)", paper, PAPER, files=FILES
        ),
        Preset(
            "paper-half",
            "50 jobs on 50 machines, 20 slots (Fig. 8)",
            paper,
            with_defaults(PAPER, machines=50),
            files=FILES,
        ),
        Preset(
            "paper-long",
            "100 jobs on 30 machines, 80 slots (Figs. 9, 10)",
            paper,
            with_defaults(PAPER, jobs=100, machines=30, horizon=80),
            files=FILES,
        ),
    ),
    default="small",
    default_with_files="paper",
)
