"""The paper's baselines as methods, completed by us where it leaves them open."""

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.instances.dmlrs.arrays import Floats
from schedgap.models.dmlrs import baselines
from schedgap.models.dmlrs.dorm import Limits, dorm
from schedgap.models.dmlrs.oasis import oasis
from schedgap.models.method import Call, Method, Option, Outcome
from schedgap.solvers.clock import Clock
from schedgap.solvers.linear import LinearProgram

SOURCE = "Numerical results; completed by us"
EVENT_SECONDS = 2.0  # for one program of Dorm; the best placement by then is taken


def _fifo(instance: DmlrsInstance, call: Call) -> Outcome:
    workers, strict = call.options["fifo_workers"], call.options["strict"]
    return Outcome(schedule=baselines.fifo(instance, workers, strict=strict))


def _drf(instance: DmlrsInstance, call: Call) -> Outcome:
    return Outcome(schedule=baselines.drf(instance))


def _dorm(instance: DmlrsInstance, call: Call) -> Outcome:
    from schedgap.solvers.solve import solve

    programs = unproved = 0

    def values(program: LinearProgram) -> Floats | None:
        nonlocal programs, unproved
        clock = Clock(min(EVENT_SECONDS, call.clock.remaining()))
        result = solve(
            program, call.engine or "highs", clock=clock, threads=call.threads, seed=call.seed
        )
        programs += 1
        unproved += result.status not in ("optimal", "infeasible")
        found: Floats | None = result.values
        return found

    limits = Limits(call.options["theta_f"], call.options["theta_a"])
    schedule = dorm(instance, values, limits, call.clock)
    note = "stopped: placements stay as they were" if call.clock.expired() else ""
    return Outcome(schedule, note=note, trace={"programs": programs, "not_proved": unproved})


def _oasis(instance: DmlrsInstance, call: Call) -> Outcome:
    found = oasis(instance, **call.options, clock=call.clock)
    return Outcome(found.schedule, note=found.note(instance), trace=found.trace(instance))


METHODS: tuple[Method, ...] = (
    Method(
        "fifo",
        "baseline",
        _fifo,
        "jobs by arrival, each with as many workers as it can use",
        SOURCE,
        options=(
            Option("fifo_workers", "int", None, "most workers of a job; else its batch", least=1),
            Option("strict", "bool", False, "a job that gets nothing keeps later ones waiting"),
        ),
        online=True,
    ),
    Method(
        "drf",
        "baseline",
        _drf,
        "workers one by one to the job of the least dominant share",
        SOURCE,
        online=True,
    ),
    Method(
        "dorm",
        "baseline",
        _dorm,
        "at each arrival and completion the placement of the highest utilization",
        SOURCE,
        engines=("highs",),
        options=(
            Option("theta_f", "float", 0.1, "unfairness for each resource", least=0, most=1e6),
            Option("theta_a", "float", 0.2, "part of the jobs that may change", least=0, most=1),
        ),
        online=True,
    ),
    Method(
        "oasis",
        "baseline",
        _oasis,
        "PD-ORS with workers and parameter servers on different machines",
        SOURCE,
        options=(
            Option("worker_share", "float", 0.5, "part of machines for workers", least=0, most=1),
            Option(
                "prices",
                "choice",
                None,
                "U and L: declared in the file, else running; oracle knows all jobs",
                choices=("declared", "running", "oracle"),
            ),
            Option("price_floor", "float", 0.0, "least L of the prices (12)", least=0, most=1e12),
        ),
        online=True,
    ),
)
