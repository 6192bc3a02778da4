"""The programs of family `edge`, and the names of what their indices stand for."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.models.method import Lazy
from schedgap.models.program import Program, by_name

_BUILD = "schedgap.models.edge.exact.build_programs"
MAX_RUNS = 50_000  # columns of (4) in a file
_PRINTED = by_name(
    {
        "job slot": "run beg end eq_2c_run",
        "job server": "y z eq_2f",
        "job": "xi x eq_2j eq_2k eq_2c_last eq_2a eq_2a_some eq_2b eq_2e",
        "job server slot": "yt zt eq_2c eq_2c_most eq_2c_all eq_2d eq_2i eq_2i_ps",
        "server worker_type slot": "eq_2g",
        "server ps_type slot": "eq_2h",
    }
)
_MODES = by_name(
    {
        "job slot number server": "X1 w q",
        "job slot number": "X",
    }
)
_COLUMNS = by_name(
    {
        "run": "chi",
        "server worker_type slot": "eq_4a",
        "server ps_type slot": "eq_4b",
        "job": "eq_4c",
    }
)


def index_names(instance: EdgeInstance) -> Mapping[str, list[tuple[Any, ...]]]:
    """Return the names of jobs, servers and types.

    Slots count from 1; `number` is a number of workers, and `run` the number of a run in
    `model.runs`.
    """
    return {
        "job": [(job.id,) for job in instance.jobs],
        "server": [(server.id,) for server in instance.servers],
        "worker_type": [(name,) for name in instance.worker_types],
        "ps_type": [(name,) for name in instance.ps_types],
    }


PROGRAMS: Mapping[str, Program[EdgeInstance, EdgeSchedule]] = {
    "milp-literal": Program(
        "the paper's program (2), or (3) for a batch, linearised constraint by constraint",
        "exact",
        partial(Lazy(f"{_BUILD}:milp_literal"), max_columns=None),
        equations="(2), (3)",
        indices=_PRINTED,
        literal=Lazy("schedgap.models.edge.programs.printed:literal"),
        also=("printed",),
    ),
    "milp-mode": Program(
        "time-indexed program over starts and modes; its relaxation is as strong as that of (4)",
        "exact",
        partial(Lazy(f"{_BUILD}:milp_mode"), max_columns=None),
        indices=_MODES,
    ),
    "set-packing": Program(
        "program (4), with a column for each run of each job; objective (2) or (4)",
        "exact",
        partial(Lazy(f"{_BUILD}:set_packing"), max_columns=MAX_RUNS),
        equations="(4)",
        indices=_COLUMNS,
    ),
}
