"""The programs of family `ring`, and the names of what their indices stand for."""

from collections.abc import Mapping
from typing import Any

from schedgap.instances.ring import RingInstance, RingSchedule
from schedgap.models.method import Lazy
from schedgap.models.program import Narrowed, Program

_BUILD = "schedgap.models.ring.exact.build_programs"
_PRINTED = {
    "z": "job slot",
    "f": "job slot",
    "act": "job slot",
    "y": "job server",
    "use": "job server",
    "full": "job server",
    "num": "job number",
    "w": "job server slot",
    "cs": "job server slot",
    "L": "server slot level",
    "lev": "job slot level",
    "lin_makespan": "job",
    "lin_start": "job",
    "lin_last": "job",
    "eq_3_act": "job slot",
    "eq_1": "job",
    "eq_1_t": "job slot",
    "eq_3_w": "job server slot",
    "eq_4": "job server slot",
    "eq_2": "server slot",
    "eq_5_use": "job server",
    "eq_5_most": "job server",
    "eq_5_full": "job server",
    "eq_5_one": "job",
    "eq_5_num": "job",
    "eq_5_count": "job",
    "eq_6_c": "job server slot",
    "eq_6_L": "server slot level",
    "eq_6_lev": "job server slot level",
    "eq_6_lev_act": "job slot",
    "eq_6_lev_up": "job slot level",
    "eq_9_one": "job",
    "eq_9": "job number",
    "cut_length": "job",
    "cut_first": "job slot",
    "cut_last": "job slot",
    "cut_equal_jobs": "job job",
    "cut_equal_servers": "server server",
}
_POOL = {
    "J": "job",
    "x": "job schedule",
    "eq_11": "job",
    "eq_12": "job schedule",
    "eq_10": "job",
}


def index_names(instance: RingInstance) -> Mapping[str, list[tuple[Any, ...]]]:
    """Return the names of jobs and servers.

    Slots count from 1; `number` is a number of servers, `level` a contention level p, `schedule`
    the number of a schedule of the pool.
    """
    return {
        "job": [(job.id,) for job in instance.jobs],
        "server": [(server.id,) for server in instance.servers],
    }


PROGRAMS: Mapping[str, Program[RingInstance, RingSchedule]] = {
    "rar-ddls": Program(
        "the paper's program RAR-DDLS, linearised slot by slot",
        "exact",
        Lazy(f"{_BUILD}:rar_ddls"),
        equations="(1)-(9)",
        indices=_PRINTED,
        literal=Lazy("schedgap.models.ring.programs.printed:literal"),
        narrow=Narrowed(Lazy(f"{_BUILD}:rar_ddls"), Lazy(f"{_BUILD}:first_schedule")),
        symmetry=("cut_equal_jobs", "cut_equal_servers"),
        also=("printed",),
    ),
    "complete-pool": Program(
        "the choice from the pool of all schedules; tiny instances only",
        "exact",
        Lazy(f"{_BUILD}:complete_pool"),
        equations="(10)-(13)",
        indices=_POOL,
    ),
}
