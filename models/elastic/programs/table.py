"""The programs of family `elastic`, and the names of what their indices stand for."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.method import Lazy
from schedgap.models.program import Narrowed, Program, by_name

_BOTH = by_name(  # shared by the printed program and its linearisation
    {
        "job": "eq_2a eq_7a eq_2d eq_2e",
        "job server": "psat cen eq_2d_all eq_2i",
        "job server worker_type": "y",
        "job server ps_type": "s lin_ps_on",
        "server resource slot": "eq_2h",
    }
)
_PRINTED = _BOTH | by_name(
    {
        "job": "d q some work lin_work eq_7b eq_2b eq_2g eq_2c eq_2f eq_2m eq_2k",
        "job slot": "x runs lin_started lin_ended",
        "job worker_type": "of_type",
        "job ps_type": "of_ps",
        "job server worker_type": "eq_2b_only",
        "job server ps_type": "eq_2c_only",
        "job server server": "eq_2d_ps",
    }
)
_LINEARISED = _BOTH | by_name(
    {
        "job mode slot": "X x",
        "job server resource slot": "USED u lin_usage",
        "job worker_type": "eq_2b",
        "job server ps_type": "eq_2c",
        "job server": "eq_2d_ps lin_ps_there",
        "job server resource": "cut_alone",
    }
)
_COLUMNS = {"x": "run", "eq_8a": "server resource slot", "eq_8b": "job", "eq_2a": "job"}
_DUAL = {"u": "job", "delta": "server resource slot", "eq_9a": "run"}


def index_names(instance: ElasticInstance) -> Mapping[str, list[tuple[Any, ...]]]:
    """Return the names of jobs, servers, types and resources.

    Slots count from 1; `mode` is the number of a mode of the job, in the order of
    `models.elastic.modes.modes`, and `run` the number of a run in `model.runs`.
    """
    return {
        "job": [(job.id,) for job in instance.jobs],
        "server": [(server.id,) for server in instance.servers],
        "worker_type": [(kind.id,) for kind in instance.worker_types],
        "ps_type": [(kind.id,) for kind in instance.ps_types],
        "resource": [(name,) for name in instance.resources],
    }


MAX_RUNS = 50_000  # columns of (8) in a file


def _program(
    kind: Any, name: str, summary: str, equations: str, indices: Mapping[str, str],
    settings: Mapping[str, object], **more: Any,
) -> Program[ElasticInstance, ElasticSchedule]:  # fmt: skip
    """Return a program; its builder is imported when it is first called.

    `name`, `settings`: of the builder, which also builds in the time windows of a list schedule.
    """
    build = partial(Lazy(f"schedgap.models.elastic.exact.build_programs:{name}"), **settings)
    heuristic = Lazy("schedgap.models.elastic.heuristics.initial:starting_schedule")
    narrow = Narrowed(build, heuristic)
    return Program(
        summary, kind, build, equations=equations, indices=indices, narrow=narrow, **more
    )


PROGRAMS: Mapping[str, Program[ElasticInstance, ElasticSchedule]] = {
    "paper-milp": _program(
        "exact", "paper_milp",
        "the paper's program, linearised: modes for the rates, big-M rows for running jobs",
        "(2), (7), (15), (16)", _LINEARISED, {"max_columns": None},
    ),
    "paper-miqcp": _program(
        "exact", "paper_miqcp",
        "the paper's program with its products as printed; tiny instances, for Gurobi",
        "(2), (7), (15), (16)", _PRINTED, {"max_columns": None}, also=("printed",),
        literal=Lazy("schedgap.models.elastic.programs.printed:literal"),
    ),
    "compact-exponential": _program(
        "exact", "compact_exponential",
        "the paper's compact-exponential program: one column for each run of each job",
        "(8), (17)", _COLUMNS, {"max_columns": MAX_RUNS}, also=("primal", "time-indexed"),
    ),
    "dual-lp": _program(
        "dual", "dual_lp",
        "the dual of the linear relaxation of `compact-exponential`: a row for each run",
        "(9), (18)", _DUAL, {}, also=("dual",),
    ),
}  # fmt: skip
