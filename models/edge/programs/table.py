"""The programs of family `edge`, and the names of what their indices stand for."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.models.method import Lazy
from schedgap.models.program import Program

_BUILD = "schedgap.models.edge.exact.build_programs"
MAX_RUNS = 50_000  # columns of (4) in a file
_PRINTED = {
    "run": "job slot",
    "beg": "job slot",
    "end": "job slot",
    "y": "job server",
    "z": "job server",
    "xi": "job",
    "x": "job",
    "yt": "job server slot",
    "zt": "job server slot",
    "eq_2j": "job",
    "eq_2k": "job",
    "eq_2c_run": "job slot",
    "eq_2c_last": "job",
    "eq_2a": "job",
    "eq_2a_some": "job",
    "eq_2b": "job",
    "eq_2c": "job server slot",
    "eq_2c_most": "job server slot",
    "eq_2c_all": "job server slot",
    "eq_2d": "job server slot",
    "eq_2e": "job",
    "eq_2f": "job server",
    "eq_2i": "job server slot",
    "eq_2i_ps": "job server slot",
    "eq_2g": "server worker_type slot",
    "eq_2h": "server ps_type slot",
}
_MODES = {
    "X1": "job slot number server",
    "X": "job slot number",
    "w": "job slot number server",
    "q": "job slot number server",
}
_COLUMNS = {
    "chi": "run",
    "eq_4a": "server worker_type slot",
    "eq_4b": "server ps_type slot",
    "eq_4c": "job",
}


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
